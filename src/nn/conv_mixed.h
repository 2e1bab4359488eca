/* Memory of convolutions with a matrix per relation (conv_mixed.c). */
#ifndef OG_NN_CONV_MIXED_H
#define OG_NN_CONV_MIXED_H

#include "nn/model.h"

/* Like those of workspace.c: memory of one layer, and memory that layers use one after another. */
void og__suballoc_mixed_layer(const struct og_model_config *c, int l, const struct og_block *b,
                              struct og_arena *arena, struct og_layer_work *w);
void og__suballoc_mixing(const struct og_nn_ops *ops, const struct og_model_config *c,
                         const struct og_batch *batch, bool training, struct og_arena *arena,
                         struct og_mixing *out);

/* ---- common to both orders ---- */

/* Pack a matrix for products of a direction. Rows are multiplied by the matrix as stored, [rows,
 * cols]. Other layers do that in the backward pass, so our forward pass uses OG__BACKWARD. */
OG_MUST_CHECK int og__pack_matrix(struct og_model *m, const float *value, int rows, int cols,
                                  enum og__direction direction, struct og_weight *out,
                                  struct og_err *err);
/* Gradients of the own rows' matrix and of the bias. */
OG_MUST_CHECK int og__own_gradients(struct og_model *m, int l, struct og_rows own, const float *dy,
                                    struct og_err *err);

/* ---- coefficients summed along the edges first (conv_blended.c) ---- */

OG_MUST_CHECK int og__combine_blended(struct og_model *m, int l, struct og_rows sources,
                                      struct og_rows own, struct og_err *err);
OG_MUST_CHECK int og__blended_backward(struct og_model *m, int l, struct og_rows in,
                                       struct og_rows own, const float *dy, struct og_err *err);

#endif
