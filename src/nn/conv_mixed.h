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

#endif
