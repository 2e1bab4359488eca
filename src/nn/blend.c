/* Rows blended along the edges on processors: blocks of 64 destinations, or sources, are tasks.
 *
 *   edges of v, four at a time ──> z[v, 0], z[v, 1] ...     a few KiB that stay in cache
 *
 * The four rows are read from memory for the first of the sums, and from cache for the others. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <string.h>

/* ==== edges by destination, by source ==== */

/* Where the next edge of each row goes: first[row + 1], until all are there. */
static void count_rows(const struct og_blend_sort *op)
{
    const struct og_block *b = op->block;
    uint32_t *first = op->out.first;
    memset(first, 0, ((size_t)op->out.n_rows + 1) * sizeof(*first));
    for (uint32_t k = 0; k < b->n_lists; k++)
        if (!op->by_source)
            first[b->dst[k] + 1] += b->indptr[k + 1] - b->indptr[k];
    for (uint64_t e = 0; op->by_source && e < b->n_edges; e++)
        first[b->src[e] + 1]++;
    for (uint32_t before = 0, r = 0; r < op->out.n_rows; r++) {
        const uint32_t n = first[r + 1];
        first[r + 1] = before;
        before += n;
    }
}

void og__cpu_blend_sort(struct og_nn_backend *be, const struct og_blend_sort *op)
{
    (void)be;
    const struct og_block *b = op->block;
    uint32_t *next = op->out.first + 1;
    count_rows(op);
    for (uint32_t kind = 0; kind < b->n_relations; kind++)
        for (uint32_t k = b->relation[kind]; k < b->relation[kind + 1]; k++) {
            const float scale = 1 / (float)(b->indptr[k + 1] - b->indptr[k]);
            for (uint32_t e = b->indptr[k]; e < b->indptr[k + 1]; e++) {
                const uint32_t from = b->src[e], to = b->dst[k];
                op->out.edge[next[op->by_source ? from : to]++] =
                    (struct og_blend_edge){op->by_source ? to : from, kind, scale};
            }
        }
}

static void fetch_ahead(const struct og_blend_edges *edges, const struct og_rows *x, uint32_t e)
{
    enum { ROWS = 12 };
    if (e + ROWS < edges->first[edges->n_rows])
        og__fetch_row(x, edges->edge[e + ROWS].row);
}

/* ==== forward ==== */

/* Up to four edges, from e on: how many. */
static int add_edges(const struct og_blend *op, uint32_t e, uint32_t end, float *z)
{
    const struct og_blend_edge *edge = op->edges.edge + e;
    const size_t dim = (size_t)op->dim;
    const int n = (int)OG_MIN(end - e, (uint32_t)OG__BUNCH);
    const float *row[OG__BUNCH] = {0};
    for (int i = 0; i < n; i++)
        row[i] = op->x + edge[i].row * dim;
    for (uint32_t b = 0; b < op->n_base; b++) {
        float by[OG__BUNCH] = {0};
        for (int i = 0; i < n; i++)
            by[i] = op->weight[(size_t)edge[i].kind * op->n_base + b] * edge[i].scale;
        og__add_bunch(z + b * dim, row, by, n, dim);
    }
    return n;
}

static void blend_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_blend *op = arg;
    const struct og_blend_edges *edges = &op->edges;
    const size_t wide = op->n_base * (size_t)op->dim;
    const struct og_rows x = og__dense(op->x, op->n_src, op->dim);
    const uint32_t v0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t v = v0; v < v0 + og__rows_in_block(edges->n_rows, block); v++) {
        memset(op->z + v * wide, 0, wide * sizeof(float));
        for (uint32_t e = edges->first[v]; e < edges->first[v + 1];) {
            const int n = add_edges(op, e, edges->first[v + 1], op->z + v * wide);
            for (int i = 0; i < n; i++)
                fetch_ahead(edges, &x, e + (uint32_t)i);
            e += (uint32_t)n;
        }
    }
}

void og__cpu_blend(struct og_nn_backend *be, const struct og_blend *op)
{
    og__pool_run(be->pool, og__n_blocks(op->edges.n_rows), blend_block, (void *)op);
}

/* ==== back: coefficients ==== */

_Static_assert((int)OG__LANES == OG__BLEND_LANES, "there is room for lanes");

/* Products are added up lane by lane: lanes become one number at the end, not for every edge. */
OG_CLONES static void add_lanes(const float *row, float scale, const float *dz, uint32_t n_base,
                                size_t dim, float *sum)
{
    const size_t whole = dim / OG__LANES * OG__LANES;
    for (uint32_t b = 0; b < n_base; b++, dz += dim, sum += OG__LANES) {
        struct og__lanes lanes = {0};
        og__half_lanes *to = (og__half_lanes *)sum;
        for (size_t j = 0; j < whole; j += OG__LANES)
            og__add_products(&lanes, row + j, dz + j);
        to[0] += scale * lanes.low;
        to[1] += scale * lanes.high;
        for (size_t j = whole; j < dim; j++)
            sum[j - whole] += scale * (row[j] * dz[j]);
    }
}

OG_CLONES static float sum_lanes(const float *sum)
{
    const struct og__lanes lanes = {og__halves(sum)[0], og__halves(sum)[1]};
    return og__sum_lanes(&lanes);
}

struct weights_run {
    const struct og_nn_backend *be;
    const struct og_blend_weights *op;
};

static void weights_part(void *arg, size_t number, int thread)
{
    (void)thread;
    const struct weights_run *run = arg;
    const struct og_blend *f = run->op->forward;
    const size_t dim = (size_t)f->dim, columns = og__blend_columns(f->n_kinds, (int)f->n_base);
    const struct og_rows x = og__dense(f->x, f->n_src, f->dim);
    const struct og__part part = og__part_of(run->be, f->edges.n_rows, columns, number);
    for (uint32_t v = part.first; v < part.last; v++)
        for (uint32_t e = f->edges.first[v]; e < f->edges.first[v + 1]; e++) {
            const struct og_blend_edge *edge = &f->edges.edge[e];
            fetch_ahead(&f->edges, &x, e);
            add_lanes(f->x + edge->row * dim, edge->scale, run->op->dz + v * (f->n_base * dim),
                      f->n_base, dim, part.sum + (size_t)edge->kind * f->n_base * OG__LANES);
        }
}

void og__cpu_blend_weights(struct og_nn_backend *be, const struct og_blend_weights *op)
{
    const uint32_t rows = op->forward->edges.n_rows;
    const size_t columns = (size_t)op->forward->n_kinds * op->forward->n_base;
    struct weights_run run = {be, op};
    og__pool_run(be->pool, og__n_parts(rows), weights_part, &run);
    for (size_t i = 0; i < columns; i++) {
        float lanes[OG__LANES];
        og__add_parts(be, rows, columns * OG__LANES, i * OG__LANES, OG__LANES, lanes);
        op->dweight[i] = sum_lanes(lanes);
    }
}

/* ==== back: rows ==== */

/* What goes back along an edge: the sums of its destination, four at a time. */
static void add_sums(const struct og_blend_rows *op, const struct og_blend_edge *edge, float *dx)
{
    const struct og_blend *f = op->forward;
    const size_t dim = (size_t)f->dim;
    const float *dz = op->dz + edge->row * (f->n_base * dim);
    const float *weight = f->weight + (size_t)edge->kind * f->n_base;
    for (uint32_t b = 0; b < f->n_base; b += OG__BUNCH) {
        const float *row[OG__BUNCH] = {0};
        float by[OG__BUNCH] = {0};
        const int n = (int)OG_MIN(f->n_base - b, (uint32_t)OG__BUNCH);
        for (int i = 0; i < n; i++) {
            row[i] = dz + (b + (uint32_t)i) * dim;
            by[i] = weight[b + (uint32_t)i] * edge->scale;
        }
        og__add_bunch(dx, row, by, n, dim);
    }
}

static void rows_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_blend_rows *op = arg;
    const struct og_blend *f = op->forward;
    const struct og_blend_edges *edges = &op->edges;
    const size_t dim = (size_t)f->dim;
    const struct og_rows dz = og__dense(op->dz, f->edges.n_rows, (int)f->n_base * f->dim);
    const uint32_t u0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t u = u0; u < u0 + og__rows_in_block(edges->n_rows, block); u++) {
        memset(op->dx + u * dim, 0, dim * sizeof(float));
        for (uint32_t e = edges->first[u]; e < edges->first[u + 1]; e++) {
            fetch_ahead(edges, &dz, e);
            add_sums(op, &edges->edge[e], op->dx + u * dim);
        }
    }
}

void og__cpu_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op)
{
    og__pool_run(be->pool, og__n_blocks(op->edges.n_rows), rows_block, (void *)op);
}
