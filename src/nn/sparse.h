/* Blocks as sparse matrices: degrees, normalisation, transposition. */
#ifndef OG_NN_SPARSE_H
#define OG_NN_SPARSE_H

#include "nn/ops.h"

/* scale[n_dst]: 1 / in-degree (0 for no neighbours). */
void og__mean_scale(const struct og_block *b, float *scale);
/* scale: 1 / sqrt(1 + in-degree without self-edges). A source that is no destination has no
 * in-edges in the block; its degree is what the block says it would have (then full fanout on a
 * symmetric graph gives exactly the convolution on the whole graph), or, where the block does not
 * say, 0 (then a block is a graph of its own to PyTorch Geometric's GCNConv). */
void og__gcn_scale(const struct og_block *b, float *scale);
/* Entries of scale; beyond them it is 1, which is what og_sparse takes beyond n_left, n_right. */
uint32_t og__n_scales(const struct og_block *b, int kind);

/* The aggregation of a block, and the way back through it. */
struct og_sparse og__aggregation(const struct og_block *b, int kind, const float *scale);
struct og_sparse og__aggregation_back(const struct og_block *b, int kind, const float *scale,
                                      const uint32_t *indptr, const uint32_t *col);

/* Counting sort of the edges by source, destinations ascending within one: indptr[n_src + 1],
 * col[n_edges]. */
void og__block_transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col);

#endif
