/* Inside of a model; see nn.h for the outside.
 *
 *   "model", one arena     | value grad m v of each parameter | packed weights |
 *   "activations", another, carved anew for every batch:
 *       scratch | partial sums | transposed block | layer 0: scale a h | layer 1: ... | dlogits
 *
 *   h  the layer's output; on the way back its gradient takes the same place
 *   a  what was aggregated, before the product (D x F_in) or after it (S x F_out); on the way
 *      back the gradient of the same */
#ifndef OG_NN_MODEL_H
#define OG_NN_MODEL_H

#include "nn/ops.h"

struct og_layer {
    int n_in, n_out;
    struct og_weight neighbour, self; /* self: SAGE only */
    struct og_param *neighbour_param, *self_param, *bias_param;
};

/* A layer's share of the batch at hand. */
struct og_layer_work {
    const struct og_block *block;
    bool transform_first;
    float *scale, *a, *h;
};

struct og_model {
    struct og_model_config config;
    int optimizer;
    struct og_budget *budget;
    const struct og_nn_ops *ops;
    struct og_nn_backend backend;
    struct og_arena memory, workspace;
    struct og_param param[3 * OG_MAX_HOPS];
    size_t n_params;
    struct og_layer layer[OG_MAX_HOPS];
    struct og_batch_caps caps; /* what the workspace was taken for */
    bool training;
    /* the batch at hand; owner thread only */
    struct og_layer_work work[OG_MAX_HOPS];
    uint32_t *back_indptr, *back_col;
    float *dlogits;
    struct og_metrics *loss_blocks;
};

/* Whether to multiply before aggregating: it then moves F_out instead of F_in wide rows along the
 * edges, but multiplies all S sources instead of D destinations. Whichever moves fewer bytes; and
 * only where its matrix fits the place of the other's, so that memory can be planned. */
bool og__transform_first(const struct og_block *b, int n_in, int n_out);

int og__layer_in(const struct og_model_config *c, int layer);
int og__layer_out(const struct og_model_config *c, int layer);

/* Carve the workspace for a batch; NULL pointers in `m` where the arena is too small. */
OG_MUST_CHECK int og__workspace_carve(struct og_model *m, const struct og_batch *batch,
                                      struct og_err *err);

#endif
