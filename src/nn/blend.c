/* Sums of rows along the edges on the CPU, for R-GCN's bases. Tasks are blocks of 64 destinations,
 * or ranges of sources.
 *
 *     edges of v, four at a time ──> z[v, 0], z[v, 1] ...     a few KiB that stay in cache
 *
 * The four rows are read from memory for the first sum, and from cache for the others. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <string.h>

/* ==== edges by destination ==== */

/* Turns counts in first[i + 1] into start positions, which advance as edges are placed. */
static void begin_rows(uint32_t *first, uint32_t n_rows)
{
    for (uint32_t before = 0, r = 0; r < n_rows; r++) {
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
    memset(op->out.first, 0, ((size_t)op->out.n_rows + 1) * sizeof(*op->out.first));
    for (uint32_t k = 0; k < b->n_lists; k++)
        next[b->dst[k]] += b->indptr[k + 1] - b->indptr[k];
    begin_rows(op->out.first, op->out.n_rows);
    for (uint32_t kind = 0; kind < b->n_relations; kind++)
        for (uint32_t k = b->relation[kind]; k < b->relation[kind + 1]; k++) {
            const float scale = 1 / (float)(b->indptr[k + 1] - b->indptr[k]);
            for (uint32_t e = b->indptr[k]; e < b->indptr[k + 1]; e++)
                op->out.edge[next[b->dst[k]]++] =
                    (struct og_blend_edge){b->src[e], b->dst[k], kind, scale};
        }
}

static void fetch_ahead(const struct og_blend_edges *edges, const struct og_rows *x, uint32_t e)
{
    enum { ROWS = 12 };
    if (e + ROWS < edges->first[edges->n_rows])
        og__fetch_row(x, edges->edge[e + ROWS].row);
}

/* ==== forward ==== */

/* Adds up to four edges, from e on; returns their number. */
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

/* ==== backward pass: coefficients ==== */

_Static_assert((int)OG__LANES == OG__BLEND_LANES, "there is room for lanes");

/* Products are summed lane by lane; lanes are added once at the end, not per edge. */
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

/* ==== backward pass: rows ====
 *
 *     destinations ─────────────────────────────────────────> each of their rows once per range
 *     sources, range 0   edges in the order of destinations    whose gradients stay in cache
 *              range 1   ...
 *
 * Rows of destinations are as wide as all bases. By source, each edge would read one from memory.
 */

enum { RANGE_BYTES = 1 << 20 };

static uint32_t rows_of_range(const struct og_blend *f)
{
    return (uint32_t)OG_MAX(RANGE_BYTES / ((size_t)f->dim * sizeof(float)), (size_t)OG__BLOCK_ROWS);
}

static uint32_t n_ranges(const struct og_blend_rows *op)
{
    const uint32_t rows = rows_of_range(op->forward);
    return (op->turned.n_rows + rows - 1) / rows;
}

/* Sorts the edges by range of sources, each range in the order of destinations. */
static void turn_edges(const struct og_blend_rows *op)
{
    const struct og_blend_edges *edges = &op->forward->edges;
    const uint32_t n = edges->first[edges->n_rows], rows = rows_of_range(op->forward);
    uint32_t *next = op->turned.first + 1;
    memset(op->turned.first, 0, ((size_t)n_ranges(op) + 1) * sizeof(*op->turned.first));
    for (uint32_t e = 0; e < n; e++)
        next[edges->edge[e].row / rows]++;
    begin_rows(op->turned.first, n_ranges(op));
    for (uint32_t e = 0; e < n; e++)
        op->turned.edge[next[edges->edge[e].row / rows]++] = edges->edge[e];
}

/* Adds the gradient along an edge: the sums of its destination, four at a time. */
static void add_sums(const struct og_blend_rows *op, const struct og_blend_edge *edge)
{
    const struct og_blend *f = op->forward;
    const size_t dim = (size_t)f->dim;
    const float *dz = op->dz + edge->to * (f->n_base * dim);
    const float *weight = f->weight + (size_t)edge->kind * f->n_base;
    for (uint32_t b = 0; b < f->n_base; b += OG__BUNCH) {
        const float *row[OG__BUNCH] = {0};
        float by[OG__BUNCH] = {0};
        const int n = (int)OG_MIN(f->n_base - b, (uint32_t)OG__BUNCH);
        for (int i = 0; i < n; i++) {
            row[i] = dz + (b + (uint32_t)i) * dim;
            by[i] = weight[b + (uint32_t)i] * edge->scale;
        }
        og__add_bunch(op->dx + edge->row * dim, row, by, n, dim);
    }
}

static void rows_range(void *arg, size_t range, int thread)
{
    (void)thread;
    const struct og_blend_rows *op = arg;
    const struct og_blend *f = op->forward;
    const struct og_blend_edge *edge = op->turned.edge;
    const uint32_t end = op->turned.first[range + 1];
    const struct og_rows dz = og__dense(op->dz, f->edges.n_rows, (int)f->n_base * f->dim);
    const uint32_t ahead = og__prefetch_distance(&dz), rows = rows_of_range(f);
    const size_t u0 = range * rows, n = OG_MIN(rows, op->turned.n_rows - u0);
    memset(op->dx + u0 * (size_t)f->dim, 0, n * (size_t)f->dim * sizeof(float));
    for (uint32_t e = op->turned.first[range]; e < end; e++) {
        if (e + ahead < end && edge[e + ahead].to != edge[e + ahead - 1].to)
            og__fetch_row(&dz, edge[e + ahead].to);
        add_sums(op, &edge[e]);
    }
}

void og__cpu_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op)
{
    turn_edges(op);
    og__pool_run(be->pool, n_ranges(op), rows_range, (void *)op);
}
