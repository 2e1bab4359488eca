/* Kernels on blocks and pairs only: degrees, and lists from sorted keys. */
#include "nn/device/common.h"

OG_ON_DEVICE uint32_t degree_with_loop(const struct og_block *b, uint32_t v)
{
    uint32_t degree = 1;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        degree += b->src[e] != v;
    return degree;
}

OG_ON_DEVICE float weight_sum(const struct og_block *b, uint32_t v)
{
    float sum = b->weight ? 0 : (float)(b->indptr[v + 1] - b->indptr[v]);
    for (uint32_t e = b->indptr[v]; b->weight && e < b->indptr[v + 1]; e++)
        sum += b->weight[e];
    return sum;
}

/* The value for v with k edges besides its loop. */
OG_ON_DEVICE float degree_at(const struct og_block *b, uint32_t v, uint32_t k)
{
    return b->mean_weight ? b->loop_weight[v] + b->mean_weight[v] * (float)k : (float)k + 1;
}

OG_KERNEL(og__k_scale, og_k_scale)
{
    const struct og_block *b = &op->block;
    const uint32_t v = og_item();
    float sum = 1;
    if (v >= op->n)
        return;
    if (v >= b->n_dst)
        sum = sqrtf(degree_at(b, v, b->degree[v - b->n_dst]));
    else if (op->kind == OG__SYMMETRIC)
        sum = sqrtf(degree_at(b, v, degree_with_loop(b, v) - 1));
    else if (op->kind == OG__MEAN)
        sum = (float)(b->indptr[v + 1] - b->indptr[v]);
    else if (op->kind == OG__MEAN_AND_SELF)
        sum = (float)degree_with_loop(b, v);
    else if (op->kind == OG__WEIGHTED_MEAN)
        sum = weight_sum(b, v);
    op->scale[v] = sum > 0 ? 1.0f / sum : 0.0f;
}

OG_KERNEL(og__k_count_up, og_k_count_up)
{
    const uint32_t i = og_item();
    if (i < op->n)
        op->out[i] = i;
}

OG_KERNEL(og__k_pair_keys, og_k_pair_keys)
{
    const uint32_t p = og_item();
    if (p >= op->n)
        return;
    op->key[2 * p] = op->a[p];
    op->key[2 * p + 1] = op->b[p];
}

OG_KERNEL(og__k_starts, og_k_starts)
{
    const uint32_t r = og_item();
    if (r <= op->n)
        op->first[r] = og_n_below(op->key, op->n_keys, r);
}

OG_KERNEL(og__k_owners, og_k_owners)
{
    const uint32_t i = og_item();
    if (i < op->n_edges)
        op->owner[i] = og_owner(op->indptr, op->n_rows, op->edge[i]);
}
