/* Maximum over neighbours on the CPU: by destination, and backward by source. The rows of a
 * source's destinations have the elements that came from it. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"

#include <string.h>

/* ==== forward ==== */

OG_CLONES static void raise_row(float *restrict y, uint32_t *restrict from, const float *restrict x,
                                uint32_t u, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        bool more = x[j] > y[j] || x[j] != x[j]; /* NaN stays NaN */
        y[j] = more ? x[j] : y[j];
        from[j] = more ? u : from[j];
    }
}

OG_CLONES static void raise_values(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = x[j] > y[j] || x[j] != x[j] ? x[j] : y[j];
}

static void pool_row(const struct og_pool_max *op, uint32_t v)
{
    const struct og_block *b = op->block;
    const struct og_rows *x = &op->x;
    size_t n = (size_t)x->dim;
    uint32_t ahead = og__rows_ahead(x), last = b->indptr[b->n_dst];
    uint32_t first = b->indptr[v], end = b->indptr[v + 1];
    float *y = op->y + v * n;
    uint32_t *from = op->from ? op->from + v * n : NULL;
    if (first == end)
        memset(y, 0, n * sizeof(*y));
    else
        memcpy(y, og__row(x, b->src[first]), n * sizeof(*y));
    for (size_t j = 0; from && j < n; j++)
        from[j] = first == end ? (uint32_t)OG__NOWHERE : b->src[first];
    for (uint32_t e = first; e < end; e++) {
        const float *row = og__row(x, b->src[e]);
        if (last - e > ahead)
            og__fetch_row(x, b->src[e + ahead]);
        if (from)
            raise_row(y, from, row, b->src[e], n);
        else
            raise_values(y, row, n);
    }
}

static void pool_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_pool_max *op = *(const struct og_pool_max **)arg;
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(op->block->n_dst, block);
    for (uint32_t v = r0; v < end; v++)
        pool_row(op, v);
}

void og__cpu_pool_max(struct og_nn_backend *be, const struct og_pool_max *op)
{
    og__pool_run(be->pool, og__n_blocks(op->block->n_dst), pool_block, &op);
}

/* ==== backward ==== */

OG_CLONES static void take_own(float *restrict sum, const float *restrict dy,
                               const uint32_t *restrict from, uint32_t u, size_t n)
{
    for (size_t j = 0; j < n; j++)
        sum[j] += from[j] == u ? dy[j] : 0;
}

OG_CLONES static void gate_in_place(float *restrict x, const float *restrict sum, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = x[j] > 0 ? sum[j] : 0;
}

/* Duplicate edges are adjacent, and count once. */
static void pool_back_row(const struct og_pool_max_back *op, uint32_t u, float *sum)
{
    size_t n = (size_t)op->dim;
    uint32_t before = OG__NOWHERE;
    memset(sum, 0, n * sizeof(*sum));
    for (uint32_t e = op->indptr[u]; e < op->indptr[u + 1]; e++) {
        uint32_t v = op->col[e];
        if (v != before)
            take_own(sum, op->dy + v * n, op->from + v * n, u, n);
        before = v;
    }
    gate_in_place(op->x + u * n, sum, n);
}

struct pool_back_run {
    const struct og_pool_max_back *op;
    const struct og_nn_backend *be;
};

static void pool_back_block(void *arg, size_t block, int thread)
{
    const struct pool_back_run *run = arg;
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(run->op->n_src, block);
    float *sum = og__scratch_of(run->be, thread).row;
    for (uint32_t u = r0; u < end; u++)
        pool_back_row(run->op, u, sum);
}

void og__cpu_pool_max_back(struct og_nn_backend *be, const struct og_pool_max_back *op)
{
    struct pool_back_run run = {op, be};
    og__pool_run(be->pool, og__n_blocks(op->n_src), pool_back_block, &run);
}
