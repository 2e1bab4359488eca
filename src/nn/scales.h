/* The scale of a row of a block, on the host and on devices. */
#ifndef OG_NN_SCALES_H
#define OG_NN_SCALES_H

#include "device/kernel.h"
#include "nn/operands.h"

#include <math.h>

OG_ON_DEVICE uint32_t og_degree_with_loop(const struct og_block *b, uint32_t v)
{
    uint32_t degree = 1;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        degree += b->src[e] != v;
    return degree;
}

OG_ON_DEVICE float og_weight_sum(const struct og_block *b, uint32_t v)
{
    float sum = b->weight ? 0 : (float)(b->indptr[v + 1] - b->indptr[v]);
    for (uint32_t e = b->indptr[v]; b->weight && e < b->indptr[v + 1]; e++)
        sum += b->weight[e];
    return sum;
}

/* The value for v with k edges besides its loop. */
OG_ON_DEVICE float og_degree_at(const struct og_block *b, uint32_t v, uint32_t k)
{
    return b->mean_weight ? b->loop_weight[v] + b->mean_weight[v] * (float)k : (float)k + 1;
}

OG_ON_DEVICE float og_scale_of(const struct og_block *b, enum og__aggregate kind, uint32_t v)
{
    float sum = 1;
    if (v >= b->n_dst)
        sum = sqrtf(og_degree_at(b, v, b->degree[v - b->n_dst]));
    else if (kind == OG__SYMMETRIC)
        sum = sqrtf(og_degree_at(b, v, og_degree_with_loop(b, v) - 1));
    else if (kind == OG__MEAN)
        sum = (float)(b->indptr[v + 1] - b->indptr[v]);
    else if (kind == OG__MEAN_AND_SELF)
        sum = (float)og_degree_with_loop(b, v);
    else if (kind == OG__WEIGHTED_MEAN)
        sum = og_weight_sum(b, v);
    return sum > 0 ? 1.0f / sum : 0.0f;
}

#endif
