/* Blocks as sparse matrices: a block's aggregation, and its transpose for the backward pass. */
#ifndef OG_NN_SPARSE_H
#define OG_NN_SPARSE_H

#include "nn/ops.h"

/* Number of scales; beyond it a scale is 1, as in og_sparse beyond n_left, n_right. */
static inline uint32_t og__n_scales(const struct og_block *b, enum og__aggregate kind)
{
    return kind == OG__SYMMETRIC && b->degree ? b->n_src : b->n_dst;
}

/* scale: from operator `scale`. `edge` is required if edges have weights. */
struct og_sparse og__aggregation(const struct og_block *b, enum og__aggregate kind,
                                 const float *scale);
struct og_sparse og__aggregation_back(const struct og_block *b, enum og__aggregate kind,
                                      const float *scale, const uint32_t *indptr,
                                      const uint32_t *col, const uint32_t *edge);

#endif
