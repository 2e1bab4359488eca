/* Blocks as sparse matrices: the aggregation of a block, and the way back through it. */
#ifndef OG_NN_SPARSE_H
#define OG_NN_SPARSE_H

#include "nn/ops.h"

/* Beyond them a scale is 1, which is what og_sparse takes beyond n_left, n_right. */
static inline uint32_t og__n_scales(const struct og_block *b, enum og__aggregate kind)
{
    return kind == OG__SYMMETRIC && b->degree ? b->n_src : b->n_dst;
}

/* scale: of the operator `scale`. `edge` is needed where edges have weights. */
struct og_sparse og__aggregation(const struct og_block *b, enum og__aggregate kind,
                                 const float *scale);
struct og_sparse og__aggregation_back(const struct og_block *b, enum og__aggregate kind,
                                      const float *scale, const uint32_t *indptr,
                                      const uint32_t *col, const uint32_t *edge);

#endif
