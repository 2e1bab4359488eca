/* Blocks as sparse matrices: degrees, normalisation, transposition. */
#ifndef OG_NN_SPARSE_H
#define OG_NN_SPARSE_H

#include "nn/ops.h"

/* What a layer makes of a destination v and its sources u. */
enum og__aggregate {
    OG__SYMMETRIC,     /* sum of x_u / sqrt(d_u d_v), v among the sources: GCN */
    OG__MEAN,          /* mean of x_u: SAGE */
    OG__MEAN_AND_SELF, /* mean of x_u and x_v: SAGE's gcn */
    OG__SUM_AND_SELF,  /* sum of x_u, and loop_weight x_v: GIN, which sets loop_weight */
    OG__WEIGHTED_MEAN, /* sum of w_uv x_u / sum of w_uv: PinSAGE */
};

/* Scales of a block: [n_dst], [n_src] where sources have degrees (symmetric). Degrees leave out
 * self-edges where a node counts among its own sources.
 *
 * Symmetric: a source that is no destination has no in-edges in the block; its degree is what the
 * block says it would have (then full fanout on a symmetric graph gives exactly the convolution on
 * the whole graph), or, where the block does not say, 0 (then a block is a graph of its own to
 * PyTorch Geometric's GCNConv). */
void og__aggregate_scale(const struct og_block *b, enum og__aggregate kind, float *scale);

/* The aggregation of a block, and the way back through it. `edge` is needed where edges have
 * weights. */
struct og_sparse og__aggregation(const struct og_block *b, enum og__aggregate kind,
                                 const float *scale);
struct og_sparse og__aggregation_back(const struct og_block *b, enum og__aggregate kind,
                                      const float *scale, const uint32_t *indptr,
                                      const uint32_t *col, const uint32_t *edge);

/* Counting sort of the edges by source, destinations ascending within one: indptr[n_src + 1],
 * col[n_edges] and, unless NULL, which edge of the block each was: edge[n_edges]. */
void og__block_transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col, uint32_t *edge);

#endif
