/* One layer at a time, over all nodes with all neighbours, for inference.
 *
 *     transform   input rows ──────────────────────────> sources    in order of nodes, block by
 *                 block
 *     combine     sources of a block, own input rows ──> output     as many nodes as memory holds
 *
 * Convolutions are those of batches. Products before aggregation run once per node, in a pass of
 * their own. The whole graph decides which layers do that. Rows of every pass come in groups of
 * OG__WHOLE_ROWS for any size of blocks, so results do not depend on memory. */
#ifndef OG_NN_WHOLE_H
#define OG_NN_WHOLE_H

#include "nn/nn.h"

/* Blocks begin at multiples of this. */
enum { OG__WHOLE_ROWS = 64 };

struct og_whole_layer {
    bool transforms; /* has the first pass; else sources are the layer's input */
    bool prefix;     /* combine requires the block's destinations before all other sources */
    bool own;        /* and also the input rows of its destinations */
    bool degrees;    /* and in-degrees of the sources: og_block.degree; if sums of weights,
                        mean_weight too, followed by loop_weight */
    int n_in, n_source, n_out;
};
/* n_nodes < 2^32 */
struct og_whole_layer og__whole_layer(const struct og_model_config *c, int l, uint64_t n_nodes,
                                      uint64_t n_edges);

/* Maxima of a block. */
struct og_whole_caps {
    uint32_t n_dst, n_src;
    uint64_t n_edges;
};
/* Bytes that reserve charges ("activations"), without input and output rows. */
size_t og__whole_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                       const struct og_whole_caps *caps, int threads);
/* For layer l; the parameters must not change afterwards. */
OG_MUST_CHECK int og__whole_reserve(struct og_model *m, int l, const struct og_whole_caps *caps,
                                    struct og_err *err);
void og__whole_release(struct og_model *m); /* frees what reserve allocated */

/* out [x.n, n_source] */
OG_MUST_CHECK int og__whole_transform(struct og_model *m, int l, struct og_rows x, float *out,
                                      struct og_err *err);
/* s: sources of this layer; own: [n_dst] input rows, if the layer requires them. Else the
 * destinations are the first sources. edges: of the block's edges, for a model that sees them. out
 * [n_dst, n_out] */
OG_MUST_CHECK int og__whole_combine(struct og_model *m, int l, const struct og_whole_layer *s,
                                    const struct og_block *block, struct og_rows sources,
                                    struct og_rows own, const struct og_edge_rows *edges,
                                    float *out, struct og_err *err);

/* Loss and counts of metrics for n <= OG__WHOLE_ROWS rows of logits. */
OG_MUST_CHECK int og__whole_loss(struct og_model *m, const float *logits, const void *labels,
                                 uint32_t n, struct og_metrics *out, struct og_err *err);

#endif
