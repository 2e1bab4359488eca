/* One layer at a time, over all nodes with all neighbours: what inference computes with.
 *
 *   transform   input rows ──────────────────────────> sources    in order of nodes, block by block
 *   combine     sources of a block, own input rows ──> output     as many nodes as memory holds
 *
 * The convolutions are those of batches. What they multiply first, every node passes once, in a
 * pass of its own; which layers do follows from the whole graph. Rows of every pass come in groups
 * of OG__WHOLE_ROWS, the same for any size of the blocks, so the bits do not depend on memory. */
#ifndef OG_NN_WHOLE_H
#define OG_NN_WHOLE_H

#include "nn/nn.h"

/* Blocks begin at multiples of it. */
enum { OG__WHOLE_ROWS = 64 };

struct og_whole_layer {
    bool transforms; /* there is a first pass; else sources are the layer's input */
    bool prefix;     /* combine wants the block's destinations before all other sources */
    bool own;        /* and, beside them, the input of its destinations */
    bool degrees;    /* and in-degrees of the sources: og_block.degree */
    int n_in, n_source, n_out;
};
/* n_nodes < 2^32 */
struct og_whole_layer og__whole_layer(const struct og_model_config *c, int l, uint64_t n_nodes,
                                      uint64_t n_edges);

/* The most that a block has. */
struct og_whole_caps {
    uint32_t n_dst, n_src;
    uint64_t n_edges;
};
/* What reserve takes ("activations"), but not the rows that go in and come out. */
size_t og__whole_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                       const struct og_whole_caps *caps, int threads);
/* For layer l; the parameters are as they will stay. */
OG_MUST_CHECK int og__whole_reserve(struct og_model *m, int l, const struct og_whole_caps *caps,
                                    struct og_err *err);
void og__whole_release(struct og_model *m); /* what reserve took */

/* out [x.n, n_source] */
OG_MUST_CHECK int og__whole_transform(struct og_model *m, int l, struct og_rows x, float *out,
                                      struct og_err *err);
/* s: of this layer; own: [n_dst] input rows, where s wants them. Else its destinations are
 * the first of the sources. out [n_dst, n_out] */
OG_MUST_CHECK int og__whole_combine(struct og_model *m, int l, const struct og_whole_layer *s,
                                    const struct og_block *block, struct og_rows sources,
                                    struct og_rows own, float *out, struct og_err *err);

/* Loss and what the metrics count, of n <= OG__WHOLE_ROWS rows of logits. */
OG_MUST_CHECK int og__whole_loss(struct og_model *m, const float *logits, const void *labels,
                                 uint32_t n, struct og_metrics *out, struct og_err *err);

#endif
