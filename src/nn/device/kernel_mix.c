/* Linear combinations of relations' matrices (nn/ops.h), and sums of rows along the edges with the
 * same coefficients. */
#include "nn/device/common.h"

/* ==== matrices ==== */

OG_ON_DEVICE float weight_in(const struct og_mix *m, uint32_t k, uint32_t b)
{
    return m->weight[(size_t)m->row[k] * m->n_base + b];
}

/* One thread per element of a matrix. */
OG_KERNEL(og__k_mix, og_k_mix)
{
    const struct og_mix *m = &op->op;
    const size_t k = og_item() / m->n, i = og_item() % m->n;
    if (k >= m->n_made)
        return;
    float sum = 0;
    for (uint32_t b = 0; b < m->n_base; b++)
        sum += weight_in(m, (uint32_t)k, b) * m->base[b * m->n + i];
    m->made[k * m->n + i] = sum;
}

/* One thread per element of a base. */
OG_KERNEL(og__k_mix_bases, og_k_mix)
{
    const struct og_mix *m = &op->op;
    const size_t b = og_item() / m->n, i = og_item() % m->n;
    if (b >= m->n_base)
        return;
    float sum = op->dbase[b * m->n + i];
    for (uint32_t k = 0; k < m->n_made; k++)
        sum += weight_in(m, k, (uint32_t)b) * op->dmade[k * m->n + i];
    op->dbase[b * m->n + i] = sum;
}

/* One thread per coefficient and part of a matrix. */
OG_KERNEL(og__k_mix_parts, og_k_mix)
{
    const struct og_mix *m = &op->op;
    const uint32_t columns = m->n_made * m->n_base;
    const uint32_t part = og_item() / columns, c = og_item() % columns;
    if (part >= op->n_parts)
        return;
    const float *base = m->base + c % m->n_base * m->n, *dmade = op->dmade + c / m->n_base * m->n;
    const size_t end = m->n * (part + 1) / op->n_parts;
    double sum = 0;
    for (size_t i = m->n * part / op->n_parts; i < end; i++)
        sum += (double)(base[i] * dmade[i]);
    op->part[og_item()] = sum;
}

OG_KERNEL(og__k_mix_weights, og_k_mix)
{
    const struct og_mix *m = &op->op;
    const uint32_t c = og_item(), columns = m->n_made * m->n_base;
    if (c >= columns)
        return;
    double sum = 0;
    for (uint32_t part = 0; part < op->n_parts; part++)
        sum += op->part[(size_t)part * columns + c];
    op->dweight[(size_t)m->row[c / m->n_base] * m->n_base + c % m->n_base] = (float)sum;
}

/* ==== edges by their ends ==== */

OG_KERNEL(og__k_blend_keys, og_k_blend_sort)
{
    const struct og_block *b = &op->block;
    const uint32_t e = og_item();
    if (e < b->n_edges)
        op->key[e] = op->by_source ? b->src[e] : b->dst[og_owner(b->indptr, b->n_lists, e)];
}

OG_KERNEL(og__k_blend_edges, og_k_blend_sort)
{
    const struct og_block *b = &op->block;
    const uint32_t i = og_item();
    if (i >= b->n_edges)
        return;
    const uint32_t e = op->moved[i], list = og_owner(b->indptr, b->n_lists, e);
    struct og_blend_edge *edge = &op->edge[i];
    edge->row = b->src[e];
    edge->to = b->dst[list];
    edge->kind = og_owner(b->relation, b->n_relations, list);
    edge->scale = 1 / (float)(b->indptr[list + 1] - b->indptr[list]);
}

/* ==== rows ==== */

OG_ON_DEVICE float coefficient_of(const struct og_blend *f, const struct og_blend_edge *e,
                                  uint32_t b)
{
    return f->weight[(size_t)e->kind * f->n_base + b] * e->scale;
}

/* One warp per destination. */
OG_KERNEL(og__k_blend, og_k_blend)
{
    const struct og_blend *f = &op->op;
    const uint32_t v = og_warp(), dim = (uint32_t)f->dim, wide = f->n_base * dim;
    if (v >= f->edges.n_rows)
        return;
    for (uint32_t j = og_lane(); j < wide; j += OG_LANES) {
        float sum = 0;
        for (uint32_t i = f->edges.first[v]; i < f->edges.first[v + 1]; i++) {
            const struct og_blend_edge *e = &f->edges.edge[i];
            sum += coefficient_of(f, e, j / dim) * f->x[(size_t)e->row * dim + j % dim];
        }
        f->z[(size_t)v * wide + j] = sum;
    }
}

/* One warp per source. */
OG_KERNEL(og__k_blend_rows, og_k_blend)
{
    const struct og_blend *f = &op->op;
    const uint32_t u = og_warp(), dim = (uint32_t)f->dim;
    if (u >= op->source.n_rows)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float sum = 0;
        for (uint32_t i = op->source.first[u]; i < op->source.first[u + 1]; i++) {
            const struct og_blend_edge *e = &op->source.edge[i];
            const float *dz = op->dz + (size_t)e->to * f->n_base * dim + j;
            for (uint32_t b = 0; b < f->n_base; b++)
                sum += coefficient_of(f, e, b) * dz[(size_t)b * dim];
        }
        op->dx[(size_t)u * dim + j] = sum;
    }
}

/* ==== coefficients ==== */

OG_KERNEL(og__k_blend_kinds, og_k_blend)
{
    const uint32_t i = og_item();
    if (i < op->n_edges)
        op->kind[i] = op->op.edges.edge[i].kind;
}

/* One warp per coefficient and part of its kind's edges, edge by edge. Its lanes are along the
 * rows. */
OG_KERNEL(og__k_blend_parts, og_k_blend)
{
    const struct og_blend *f = &op->op;
    const uint32_t columns = f->n_kinds * f->n_base, dim = (uint32_t)f->dim;
    const uint32_t part = og_warp() / columns, c = og_warp() % columns;
    if (part >= op->n_parts)
        return; /* all lanes of the warp */
    const uint32_t b = c % f->n_base, kind = c / f->n_base;
    const uint32_t first = op->first[kind], n = op->first[kind + 1] - first;
    const uint32_t end = first + og_part_start(n, op->n_parts, part + 1);
    float sum = 0;
    for (uint32_t i = first + og_part_start(n, op->n_parts, part); i < end; i++) {
        const struct og_blend_edge *e = &f->edges.edge[op->of_kind[i]];
        const float *x = f->x + (size_t)e->row * dim;
        const float *dz = op->dz + ((size_t)e->to * f->n_base + b) * dim;
        for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
            sum += e->scale * (x[j] * dz[j]);
    }
    sum = og_warp_sum(sum);
    if (og_lane() == 0)
        op->part[(size_t)part * columns + c] = (double)sum;
}
