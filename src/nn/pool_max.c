/* Maximum over neighbours on the CPU: by destination, and backward by source. The rows of a
 * source's destinations have the elements that came from it. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"

#include <string.h>

/* ==== forward ==== */

OG_CLONES static void raise_row(float *restrict y, uint32_t *restrict from, const float *restrict x,
                                float w, uint32_t u, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const float z = w * x[j];
        bool more = z > y[j] || z != z; /* NaN stays NaN */
        y[j] = more ? z : y[j];
        from[j] = more ? u : from[j];
    }
}

OG_CLONES static void raise_values(float *restrict y, const float *restrict x, float w, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const float z = w * x[j];
        y[j] = z > y[j] || z != z ? z : y[j];
    }
}

/* How much an edge counts, and what it is called: with weights by its own number. */
static float weight_of(const struct og_block *b, uint32_t e)
{
    return b->weight ? b->weight[e] : 1;
}

static uint32_t name_of(const struct og_block *b, uint32_t e)
{
    return b->weight ? e : b->src[e];
}

static void pool_row(const struct og_pool_max *op, uint32_t v)
{
    const struct og_block *b = op->block;
    const struct og_rows *x = &op->x;
    size_t n = (size_t)x->dim;
    uint32_t ahead = og__prefetch_distance(x), last = b->indptr[b->n_dst];
    uint32_t first = b->indptr[v], end = b->indptr[v + 1];
    float *y = op->y + v * n;
    uint32_t *from = op->from ? op->from + v * n : NULL;
    memset(y, 0, n * sizeof(*y));
    if (first < end)
        og__add_scaled(y, weight_of(b, first), og__row(x, b->src[first]), n);
    for (size_t j = 0; from && j < n; j++)
        from[j] = first == end ? (uint32_t)OG__NOWHERE : name_of(b, first);
    for (uint32_t e = first; e < end; e++) {
        const float *row = og__row(x, b->src[e]);
        if (last - e > ahead)
            og__fetch_row(x, b->src[e + ahead]);
        if (from)
            raise_row(y, from, row, weight_of(b, e), name_of(b, e), n);
        else
            raise_values(y, row, weight_of(b, e), n);
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

OG_CLONES static void take_own(float *restrict sum, float w, const float *restrict dy,
                               const uint32_t *restrict from, uint32_t u, size_t n)
{
    for (size_t j = 0; j < n; j++)
        sum[j] += from[j] == u ? w * dy[j] : 0;
}

OG_CLONES static void gate_in_place(float *restrict x, const float *restrict sum, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = x[j] > 0 ? sum[j] : 0;
}

/* Duplicate edges are adjacent, and count once; with weights they differ. */
static void pool_back_row(const struct og_pool_max_back *op, uint32_t u, float *sum)
{
    size_t n = (size_t)op->dim;
    uint32_t before = OG__NOWHERE;
    memset(sum, 0, n * sizeof(*sum));
    for (uint32_t e = op->indptr[u]; e < op->indptr[u + 1]; e++) {
        uint32_t v = op->col[e];
        if (op->weight)
            take_own(sum, op->weight[op->edge[e]], op->dy + v * n, op->from + v * n, op->edge[e],
                     n);
        else if (v != before)
            take_own(sum, 1, op->dy + v * n, op->from + v * n, u, n);
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
