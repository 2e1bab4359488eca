/* Rows of edges on the CPU: as a matrix, and in GINE's sum.
 *
 *     forward    destinations ──> relu(x_u + row) of their edges, added
 *     backward   destinations ──> gradients of their edges' rows, in place
 *                sources      ──> sums of these over the transposed block */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"

#include <string.h>

/* ==== rows as a matrix ==== */

/* The mean of the n rows from x on that are no loops of v. */
static void loop_row(const struct og_edge_fill *op, uint32_t v, const float *x, float *mean)
{
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->rows->dim;
    const uint32_t n = b->indptr[v + 1] - b->indptr[v];
    uint32_t others = 0;
    memset(mean, 0, dim * sizeof(*mean));
    if (op->apart)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (b->src[b->indptr[v] + i] != v) {
            og__add(mean, x + i * dim, dim);
            others++;
        }
    for (size_t j = 0; others > 0 && j < dim; j++)
        mean[j] /= (float)others;
}

static void fill_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_edge_fill *op = arg;
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->rows->dim;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t v = r0; v < r0 + og__rows_in_block(b->n_dst, block); v++) {
        float *x = op->x + ((size_t)b->indptr[v] + (op->loops ? v : 0)) * dim, *to = x;
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++, to += dim)
            og__row_widen(to, &op->rows->units, og__edge_row(op->rows, b->edge[e]), 0, dim);
        if (op->loops)
            loop_row(op, v, x, to);
    }
}

void og__cpu_edge_fill(struct og_nn_backend *be, const struct og_edge_fill *op)
{
    og__pool_run(be->pool, og__n_blocks(op->block->n_dst), fill_block, (void *)op);
}

/* ==== GINE's sum ==== */

OG_CLONES static void add_relu(float *restrict y, const float *restrict x, const float *restrict e,
                               size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += x[j] + e[j] < 0 ? 0 : x[j] + e[j]; /* NaN stays NaN */
}

/* e = x + e > 0 ? dy : 0 */
OG_CLONES static void relu_slopes(float *restrict e, const float *restrict x,
                                  const float *restrict dy, size_t n)
{
    for (size_t j = 0; j < n; j++)
        e[j] = x[j] + e[j] > 0 ? dy[j] : 0;
}

struct edge_run {
    const struct og_edge_sum *op;
    const struct og_edge_sum_back *back;
    const struct og_nn_backend *be;
};

static void sum_block(void *arg, size_t block, int thread)
{
    const struct edge_run *run = arg;
    const struct og_edge_sum *op = run->op;
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->x.dim;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    float *row = og__scratch_of(run->be, thread).row;
    for (uint32_t v = r0; v < r0 + og__rows_in_block(b->n_dst, block); v++) {
        float *y = op->y + v * dim;
        og__row_widen(row, &op->own, og__row(&op->own, v), 0, dim);
        memset(y, 0, dim * sizeof(*y));
        og__add_scaled(y, 1 + *op->eps, row, dim);
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
            og__row_widen(row, &op->x, og__row(&op->x, b->src[e]), 0, dim);
            add_relu(y, row, op->by_edge + e * dim, dim);
        }
    }
}

void og__cpu_edge_sum(struct og_nn_backend *be, const struct og_edge_sum *op)
{
    struct edge_run run = {.op = op, .be = be};
    og__pool_run(be->pool, og__n_blocks(op->block->n_dst), sum_block, &run);
}

static void slopes_block(void *arg, size_t block, int thread)
{
    const struct edge_run *run = arg;
    const struct og_edge_sum *op = run->op;
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->x.dim;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    float *row = og__scratch_of(run->be, thread).row;
    for (uint32_t v = r0; v < r0 + og__rows_in_block(b->n_dst, block); v++)
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
            og__row_widen(row, &op->x, og__row(&op->x, b->src[e]), 0, dim);
            relu_slopes(op->by_edge + e * dim, row, run->back->dy + v * dim, dim);
        }
}

static void sources_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct edge_run *run = arg;
    const struct og_edge_sum *op = run->op;
    const struct og_edge_sum_back *back = run->back;
    const size_t dim = (size_t)op->x.dim;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t u = r0; u < r0 + og__rows_in_block(op->block->n_src, block); u++) {
        float *dx = back->dx + u * dim;
        memset(dx, 0, dim * sizeof(*dx));
        if (back->own && u < op->block->n_dst)
            og__add_scaled(dx, 1 + *op->eps, back->dy + u * dim, dim);
        for (uint32_t e = back->indptr[u]; e < back->indptr[u + 1]; e++)
            og__add(dx, op->by_edge + back->edge[e] * dim, dim);
    }
}

void og__cpu_edge_sum_back(struct og_nn_backend *be, const struct og_edge_sum_back *op)
{
    struct edge_run run = {op->forward, op, be};
    const struct og_block *b = op->forward->block;
    og__pool_run(be->pool, og__n_blocks(b->n_dst), slopes_block, &run);
    if (op->dx)
        og__pool_run(be->pool, og__n_blocks(b->n_src), sources_block, &run);
}
