/* Kernels on blocks and pairs only: degrees, and lists from sorted keys. */
#include "nn/device/common.h"

#include "nn/scales.h"

OG_KERNEL(og__k_scale, og_k_scale)
{
    const uint32_t v = og_item();
    if (v < op->n)
        op->scale[v] = og_scale_of(&op->block, op->kind, v);
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
