/* Blocks as sparse matrices: degrees, normalisation, transposition. */
#ifndef OG_NN_SPARSE_H
#define OG_NN_SPARSE_H

#include "nn/ops.h"

/* scale[n_dst]: 1 / in-degree (0 for no neighbours). */
void og__mean_scale(const struct og_block *b, float *scale);
/* scale[n_dst]: 1 / sqrt(1 + in-degree without self-edges). Sources that are no destinations have
 * 1, which is what og_sparse gives entries beyond n_left and n_right. */
void og__gcn_scale(const struct og_block *b, float *scale);

/* The aggregation of a block, and the way back through it. */
struct og_sparse og__aggregation(const struct og_block *b, int kind, const float *scale);
struct og_sparse og__aggregation_back(const struct og_block *b, int kind, const float *scale,
                                      const uint32_t *indptr, const uint32_t *col);

/* Counting sort of the edges by source, destinations ascending within one: indptr[n_src + 1],
 * col[n_edges]. */
void og__block_transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col);

#endif
