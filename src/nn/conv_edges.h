/* Common parts of convolutions whose messages depend on the edge's own row (conv_edges.c). */
#ifndef OG_NN_CONV_EDGES_H
#define OG_NN_CONV_EDGES_H

#include "nn/model.h"

/* ---- by the configuration alone ---- */

/* Whether layers read rows of edges. */
static inline bool og__sees_edges(const struct og_model_config *c)
{
    return c->edge_dim > 0 && og__conv_of(c)->edge_cols;
}
/* Columns of what a row of an edge becomes in a layer; 0: nothing. */
int og__edge_cols(const struct og_model_config *c, int layer);
/* Rows of a block's matrices of edges: one per edge, or per coefficient of attention with loops. */
uint64_t og__edge_places(const struct og_model_config *c, const struct og_block *b);
/* Memory of layer l on block b: the rows, and what they become. */
void og__suballoc_edges(const struct og_model_config *c, int l, const struct og_block *b,
                        struct og_arena *arena, struct og_layer_work *w);
/* -EINVAL unless the model sees edges exactly if it has to, and its backend can. */
OG_MUST_CHECK int og__model_check_edges(const struct og_model_config *c, struct og_err *err);
OG_MUST_CHECK int og__model_check_backend(const struct og_model_config *c,
                                          const struct og_nn_ops *ops, struct og_err *err);

/* ---- a layer ---- */

/* Fill w->edge_row from the batch's rows, and multiply them: w->by_edge = edge_row W^T + bias. */
OG_MUST_CHECK int og__multiply_edges(struct og_model *m, int l, const struct og_weight *weight,
                                     const struct og_param *bias, struct og_err *err);
/* Gradients of that product, from the gradient dy of its result. */
OG_MUST_CHECK int og__edge_gradients(struct og_model *m, int l, const float *dy, float *grad,
                                     const struct og_param *bias, struct og_err *err);

#endif
