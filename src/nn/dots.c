/* Attention by dot products on the CPU.
 *
 *     forward    destinations ──> scores of their edges, softmax ──> alpha ──> sum of alpha times
 *                values and rows of edges
 *     backward   destinations ──> gradients of their scores, of their query and of rows of edges
 *                sources      ──> sums over the transposed block: of keys and values */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <math.h>

struct dots_run {
    const struct og_dots *op;
    const struct og_dots_back *back;
    const struct og_nn_backend *be;
};

static size_t dot_features(const struct og_dots *op)
{
    return (size_t)op->heads * (size_t)op->width;
}

static float scale_of(const struct og_dots *op)
{
    return 1 / sqrtf((float)op->width);
}

/* The gradient of y[v, h]. */
static const float *slope_at(const struct og_dots *op, const float *dy, uint32_t v, size_t h)
{
    const size_t width = (size_t)op->width;
    return op->average ? dy + v * width : dy + v * dot_features(op) + h * width;
}

/* The share of a head in y. */
static float share_of(const struct og_dots *op)
{
    return op->average ? 1 / (float)op->heads : 1;
}

/* out[h] = by * (y[h] . (x[h] + e[h])), without e if that is NULL. `step` is from one head of y to
 * the next. */
OG_CLONES static void dot_heads(const struct og_dots *op, const float *x, const float *e,
                                const float *y, size_t step, float by, float *out)
{
    const size_t width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        float sum = og__dot_product(x + h * width, y + h * step, width);
        if (e)
            sum += og__dot_product(e + h * width, y + h * step, width);
        out[h] = by * sum;
    }
}

/* y[h] += by[h] (x[h] + e[h]) */
static void add_heads(const struct og_dots *op, const float *x, const float *e, const float *by,
                      float *y)
{
    const size_t width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        og__add_scaled(y + h * width, by[h], x + h * width, width);
        if (e)
            og__add_scaled(y + h * width, by[h], e + h * width, width);
    }
}

static const float *keys_of(const struct og_dots *op, uint32_t u)
{
    return og__row(&op->z, u);
}

static const float *values_of(const struct og_dots *op, uint32_t u)
{
    return keys_of(op, u) + dot_features(op);
}

static float *row_of_edge(const struct og_dots *op, uint32_t e)
{
    return op->by_edge ? op->by_edge + e * dot_features(op) : NULL;
}

/* ==== forward ==== */

/* y = y + sum, of heads next to each other or their mean */
static void end_row(const struct og_dots *op, const float *sum, float *y)
{
    const size_t width = (size_t)op->width, n = op->average ? width : dot_features(op);
    if (!op->add)
        memset(y, 0, n * sizeof(*y));
    for (size_t h = 0; h < (size_t)op->heads; h++)
        og__add_scaled(op->average ? y : y + h * width, share_of(op), sum + h * width, width);
}

static void attend_destination(const struct dots_run *run, uint32_t v, float *sum)
{
    const struct og_dots *op = run->op;
    const struct og_block *b = op->block;
    const size_t heads = (size_t)op->heads, f = dot_features(op);
    const uint32_t first = b->indptr[v], n = b->indptr[v + 1] - first;
    float *alpha = op->alpha + first * heads, *p = alpha;
    for (uint32_t e = first; e < first + n; e++)
        dot_heads(op, keys_of(op, b->src[e]), row_of_edge(op, e), op->query + v * f,
                  (size_t)op->width, scale_of(op), op->alpha + e * heads);
    if (n > 0)
        og__softmax(alpha, n, heads);
    if (op->dropout) {
        p = op->dropped + first * heads;
        memcpy(p, alpha, n * heads * sizeof(*p));
        og__dropout_coefficients(op->dropout, first, n, heads, p);
    }
    memset(sum, 0, f * sizeof(*sum));
    for (uint32_t i = 0; i < n; i++)
        add_heads(op, values_of(op, b->src[first + i]), row_of_edge(op, first + i), p + i * heads,
                  sum);
    end_row(op, sum, op->y + v * (op->average ? (size_t)op->width : f));
}

static void attend_rows(void *arg, size_t block, int thread)
{
    const struct dots_run *run = arg;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    float *sum = og__scratch_of(run->be, thread).row;
    for (uint32_t v = r0; v < r0 + og__rows_in_block(run->op->block->n_dst, block); v++)
        attend_destination(run, v, sum);
}

void og__cpu_dots(struct og_nn_backend *be, const struct og_dots *op)
{
    struct dots_run run = {.op = op, .be = be};
    og__pool_run(be->pool, og__n_blocks(op->block->n_dst), attend_rows, &run);
}

/* ==== backward ==== */

/* e[h] = d[h] q[h] + p[h] dy[h], the gradient of an edge's row */
static void edge_slopes(const struct og_dots *op, const float *d, const float *p, const float *q,
                        const float *dy, size_t step, float *e)
{
    const size_t width = (size_t)op->width;
    memset(e, 0, dot_features(op) * sizeof(*e));
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        og__add_scaled(e + h * width, d[h], q + h * width, width);
        og__add_scaled(e + h * width, p[h] * share_of(op), dy + h * step, width);
    }
}

/* d: in, gradients of n coefficients; out, of the dot products. */
static void softmax_slopes(const struct og_dots *op, const float *p, float *d, uint32_t n)
{
    const size_t heads = (size_t)op->heads;
    float mean[OG__MAX_HEADS] = {0};
    for (size_t i = 0; i < n * heads; i++)
        mean[i % heads] += p[i] * d[i];
    for (size_t i = 0; i < n * heads; i++)
        d[i] = scale_of(op) * p[i] * (d[i] - mean[i % heads]);
}

static void destination_slopes(const struct dots_run *run, uint32_t v)
{
    const struct og_dots *op = run->op;
    const struct og_block *b = op->block;
    const size_t heads = (size_t)op->heads, f = dot_features(op);
    const size_t step = op->average ? 0 : (size_t)op->width;
    const uint32_t first = b->indptr[v], n = b->indptr[v + 1] - first;
    const float *q = op->query + v * f, *dy = slope_at(op, run->back->dy, v, 0);
    float *p = op->alpha + first * heads, *d = run->back->dscore + first * heads;
    float *dq = run->back->dquery + v * f;
    for (uint32_t i = 0; i < n; i++)
        dot_heads(op, values_of(op, b->src[first + i]), row_of_edge(op, first + i), dy, step,
                  share_of(op), d + i * heads);
    if (op->dropout)
        og__dropout_coefficients(op->dropout, first, n, heads, d);
    softmax_slopes(op, p, d, n);
    if (op->dropout) /* from here on, what counts of them */
        og__dropout_coefficients(op->dropout, first, n, heads, p);
    memset(dq, 0, f * sizeof(*dq));
    for (uint32_t i = 0; i < n; i++) {
        float *e = row_of_edge(op, first + i);
        add_heads(op, keys_of(op, b->src[first + i]), e, d + i * heads, dq);
        if (e)
            edge_slopes(op, d + i * heads, p + i * heads, q, dy, step, e);
    }
}

static void destinations_of_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct dots_run *run = arg;
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t v = r0; v < r0 + og__rows_in_block(run->op->block->n_dst, block); v++)
        destination_slopes(run, v);
}

static void source_slopes_of(const struct dots_run *run, uint32_t u, float *dz)
{
    const struct og_dots *op = run->op;
    const struct og_dots_back *back = run->back;
    const size_t heads = (size_t)op->heads, width = (size_t)op->width, f = heads * width;
    memset(dz, 0, 2 * f * sizeof(*dz));
    for (uint32_t i = back->indptr[u]; i < back->indptr[u + 1]; i++) {
        const uint32_t v = back->col[i];
        const size_t at = back->edge[i] * heads;
        for (size_t h = 0; h < heads; h++) {
            og__add_scaled(dz + h * width, back->dscore[at + h], op->query + v * f + h * width,
                           width);
            og__add_scaled(dz + f + h * width, op->alpha[at + h] * share_of(op),
                           slope_at(op, back->dy, v, h), width);
        }
    }
}

static void sources_of_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct dots_run *run = arg;
    const size_t wide = 2 * dot_features(run->op);
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t u = r0; u < r0 + og__rows_in_block(run->op->block->n_src, block); u++)
        source_slopes_of(run, u, run->back->dz + u * wide);
}

void og__cpu_dots_back(struct og_nn_backend *be, const struct og_dots_back *op)
{
    struct dots_run run = {op->forward, op, be};
    const struct og_block *b = op->forward->block;
    og__pool_run(be->pool, og__n_blocks(b->n_dst), destinations_of_block, &run);
    og__pool_run(be->pool, og__n_blocks(b->n_src), sources_of_block, &run);
}
