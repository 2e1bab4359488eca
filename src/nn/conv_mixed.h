/* Memory of convolutions that have a matrix for each relation (conv_mixed.c). */
#ifndef OG_NN_CONV_MIXED_H
#define OG_NN_CONV_MIXED_H

#include "nn/model.h"

/* As those of workspace.c: of a layer, and what layers have one after another. */
void og__carve_mixed_layer(const struct og_model_config *c, int l, const struct og_block *b,
                           struct og_arena *arena, struct og_layer_work *w);
void og__carve_mixing(const struct og_nn_ops *ops, const struct og_model_config *c,
                      const struct og_batch *batch, bool training, struct og_arena *arena,
                      struct og_mixing *out);

/* ---- what both orders share ---- */

/* A matrix, for products of that direction. As it lies, [rows, cols], rows are multiplied by it as
 * on the way back of others: OG__BACKWARD is our way forward. */
OG_MUST_CHECK int og__pack_matrix(struct og_model *m, const float *value, int rows, int cols,
                                  enum og__direction direction, struct og_weight *out,
                                  struct og_err *err);
/* Of the own rows' matrix, and of the bias. */
OG_MUST_CHECK int og__own_gradients(struct og_model *m, int l, struct og_rows own, const float *dy,
                                    struct og_err *err);

/* ---- coefficients along the edges first (conv_blended.c) ---- */

OG_MUST_CHECK int og__combine_blended(struct og_model *m, int l, struct og_rows sources,
                                      struct og_rows own, struct og_err *err);
OG_MUST_CHECK int og__blended_backward(struct og_model *m, int l, struct og_rows in,
                                       struct og_rows own, const float *dy, struct og_err *err);

#endif
