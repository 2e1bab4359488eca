/* Attention on the CPU.
 *
 *     forward    rows of z ──────> score_src, score_dst (by ends)
 *                destinations ───> scores of their edges, softmax ──> alpha ──> sum of alpha z
 *     backward   destinations ───> gradients of their scores (z of every source times dy), their
 *                sum
 *                sources ────────> sum of alpha dy over the transposed block, and the scores' part
 *
 * Two tables have the functions of each kind of scores (enum og__scoring).
 *
 * Both passes over edges read whole rows from random memory. So rows are prefetched, and four are
 * added per pass. Coefficients of a destination are consecutive: softmax treats them as one
 * array. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <math.h>

static size_t features(const struct og_attend *op)
{
    return (size_t)op->heads * (size_t)op->width;
}

/* Distance between the elements of two heads in a row of z. */
static size_t head_step(const struct og_attend *op)
{
    return op->shared ? 0 : (size_t)op->width;
}

/* Row u of z, or a widened copy in `room`. */
OG_INLINE const float *row_of(const struct og_rows *z, uint32_t u, float *room)
{
    const void *row = og__row(z, u);
    if (z->dtype == OG_F32 && !z->sparse && (uintptr_t)row % sizeof(float) == 0)
        return row;
    og__row_widen(room, z, row, 0, (size_t)z->dim);
    return room;
}

/* First coefficient of destination v: its edges', then its loop's. */
static size_t first_coefficient(const struct og_attend *op, uint32_t v)
{
    return ((size_t)op->block->indptr[v] + v) * (size_t)op->heads;
}

/* Number of its coefficients; without a loop, its place is unused. */
static uint32_t n_coefficients(const struct og_attend *op, uint32_t v)
{
    return op->block->indptr[v + 1] - op->block->indptr[v] + !op->apart;
}

/* Source of the i-th coefficient of v; false for an edge that the loop replaces. */
OG_INLINE bool source_of(const struct og_attend *op, uint32_t v, uint32_t i, uint32_t *u)
{
    const struct og_block *b = op->block;
    bool loop = i == b->indptr[v + 1] - b->indptr[v];
    *u = loop ? v : b->src[b->indptr[v] + i];
    return loop || *u != v || op->apart;
}

/* Columns of a coefficient's own term. */
static size_t edge_columns(const struct og_attend *op)
{
    return op->scoring == OG__BY_ENDS ? (size_t)op->heads : features(op);
}

/* What the coefficient at `at` of v adds to the source's term. The destination's term, or with
 * terms of edges their sum. */
OG_INLINE const float *added_to(const struct og_attend *op, uint32_t v, size_t at)
{
    const size_t n = edge_columns(op);
    if (op->by_edge)
        return op->by_edge + at * n;
    return (op->scoring == OG__BY_ENDS ? op->score_dst : op->z_dst) + v * n;
}

/* Adds the destination's term to those of its coefficients. */
static void add_destination(const struct og_attend *op, uint32_t v)
{
    const size_t n = edge_columns(op), at = (size_t)op->block->indptr[v] + v;
    const float *own = (op->scoring == OG__BY_ENDS ? op->score_dst : op->z_dst) + v * n;
    for (uint32_t i = 0; i < n_coefficients(op, v); i++)
        og__add(op->by_edge + (at + i) * n, own, n);
}

/* Prefetches the row of the edge `ahead` positions on. */
OG_INLINE void look_ahead(const struct og_rows *x, const uint32_t *col, uint32_t e, uint32_t ahead,
                          uint32_t last)
{
    if (last - e > ahead)
        og__fetch_row(x, col[e + ahead]);
}

/* ==== scores ==== */

/* out[h] = z[h] . y[h] */
OG_CLONES static void head_dots(const float *z, size_t step, const float *y, size_t heads,
                                size_t width, float *out)
{
    size_t h = 0;
    for (; h + 4 <= heads; h += 4)
        og__four_dots(z + h * step, step, y + h * width, width, out + h);
    for (; h < heads; h++)
        out[h] = og__dot_product(z + h * step, y + h * width, width);
}

struct attend_run {
    const struct og_attend *op;
    const struct og_nn_backend *be;
};

static void score_block(void *arg, size_t block, int thread)
{
    const struct attend_run *run = arg;
    const struct og_attend *op = run->op;
    float *room = og__scratch_of(run->be, thread).in;
    size_t heads = (size_t)op->heads, width = (size_t)op->width, step = head_step(op);
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(op->block->n_src, block);
    uint32_t ahead = og__prefetch_distance(&op->z);
    for (uint32_t u = r0; u < end; u++) {
        if (op->z.index && u + ahead < end)
            og__fetch_row(&op->z, u + ahead);
        const float *z = row_of(&op->z, u, room);
        head_dots(z, step, op->att_src, heads, width, op->score_src + u * heads);
        if (u < op->block->n_dst && !op->apart)
            head_dots(z, step, op->att_dst, heads, width, op->score_dst + u * heads);
    }
}

/* p: scores of the coefficients of v, -inf for those that do not count. */
static void scores_by_ends(const struct attend_run *run, uint32_t v, float *p, int thread)
{
    (void)thread;
    const struct og_attend *op = run->op;
    size_t heads = (size_t)op->heads;
    uint32_t n = n_coefficients(op, v);
    const size_t first = first_coefficient(op, v) / heads;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        bool counts = source_of(op, v, i, &u);
        const float *from = op->score_src + u * heads, *to = added_to(op, v, first + i);
        for (size_t h = 0; h < heads; h++) {
            float score = from[h] + to[h];
            p[i * heads + h] = !counts ? -INFINITY : score > 0 ? score : OG__LEAK * score;
        }
    }
}

/* sum = leaky_relu(x + y) */
OG_CLONES static void leaky_sum(const float *restrict x, const float *restrict y,
                                float *restrict sum, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        float both = x[j] + y[j];
        sum[j] = both > 0 ? both : OG__LEAK * both;
    }
}

static void scores_by_sums(const struct attend_run *run, uint32_t v, float *p, int thread)
{
    const struct og_attend *op = run->op;
    const struct og_block *b = op->block;
    struct og__scratch scratch = og__scratch_of(run->be, thread);
    size_t heads = (size_t)op->heads, width = (size_t)op->width, f = features(op);
    uint32_t n = n_coefficients(op, v), last = b->indptr[b->n_dst];
    uint32_t ahead = og__prefetch_distance(&op->z);
    const size_t first = first_coefficient(op, v) / heads;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        if (i + 1 < n)
            look_ahead(&op->z, b->src, b->indptr[v] + i, ahead, last);
        if (source_of(op, v, i, &u)) {
            leaky_sum(row_of(&op->z, u, scratch.in), added_to(op, v, first + i), scratch.out, f);
            head_dots(scratch.out, width, op->att_src, heads, width, p + i * heads);
            continue;
        }
        for (size_t h = 0; h < heads; h++)
            p[i * heads + h] = -INFINITY;
    }
}

static const struct scoring {
    void (*of_sources)(void *run, size_t block, int thread); /* runs before; NULL: none */
    void (*of_edges)(const struct attend_run *run, uint32_t v, float *p, int thread);
} scorings[] = {
    [OG__BY_ENDS] = {score_block, scores_by_ends}, [OG__BY_SUMS] = {NULL, scores_by_sums}};

/* ==== softmax ==== */

OG_CLONES void og__softmax(float *p, size_t n, size_t heads)
{
    float top[OG__MAX_HEADS], sum[OG__MAX_HEADS];
    for (size_t h = 0; h < heads; h++) {
        top[h] = -INFINITY;
        sum[h] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            top[h] = p[i * heads + h] > top[h] ? p[i * heads + h] : top[h];
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            p[i * heads + h] -= top[h];
    for (size_t i = 0; i < n * heads; i++)
        p[i] = og__exp(p[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            sum[h] += p[i * heads + h];
    for (size_t h = 0; h < heads; h++)
        sum[h] = 1 / sum[h];
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            p[i * heads + h] *= sum[h];
}

/* ==== weighted sums of rows ==== */

enum { BUNCH = 4 };

struct bunch {
    const float *row[BUNCH], *weight[BUNCH]; /* one weight per head */
    int n;
};

struct sum {
    float *y; /* [heads * width] */
    size_t heads, width;
    size_t step; /* distance between two heads in a row: width, or 0 = shared */
    struct bunch bunch;
};

OG_CLONES static void flush(struct sum *s)
{
    const struct bunch *b = &s->bunch;
    size_t width = s->width;
    for (size_t h = 0; h < s->heads; h++) {
        float *restrict y = s->y + h * width;
        if (b->n == BUNCH) {
            const float *r0 = b->row[0] + h * s->step, *r1 = b->row[1] + h * s->step;
            const float *r2 = b->row[2] + h * s->step, *r3 = b->row[3] + h * s->step;
            float w0 = b->weight[0][h], w1 = b->weight[1][h];
            float w2 = b->weight[2][h], w3 = b->weight[3][h];
            for (size_t j = 0; j < width; j++)
                y[j] = y[j] + w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j];
            continue;
        }
        for (int i = 0; i < b->n; i++) {
            const float *r = b->row[i] + h * s->step;
            float w = b->weight[i][h];
            for (size_t j = 0; j < width; j++)
                y[j] += w * r[j];
        }
    }
    s->bunch.n = 0;
}

OG_INLINE void push(struct sum *s, const float *row, const float *weight)
{
    s->bunch.row[s->bunch.n] = row;
    s->bunch.weight[s->bunch.n] = weight;
    if (++s->bunch.n == BUNCH)
        flush(s);
}

/* ==== forward ==== */

OG_CLONES static void finish_row(const struct og_attend *op, const float *restrict sum,
                                 float *restrict y)
{
    size_t width = (size_t)op->width, n = op->average ? width : features(op);
    const float *bias = op->bias;
    float share = op->average ? 1.0f / (float)op->heads : 1;
    bool add = op->add;
    for (size_t j = 0; j < n; j++)
        y[j] = (add ? y[j] : 0) + (bias ? bias[j] : 0) + share * sum[j];
    for (size_t h = 1; op->average && h < (size_t)op->heads; h++)
        for (size_t j = 0; j < n; j++)
            y[j] += share * sum[h * width + j];
}

/* Whether coefficients are used unchanged. */
OG_INLINE bool counts_all(const struct og_attend *op)
{
    return !op->dropout && !op->block->weight;
}

/* Applies dropout and edge weights to p, the coefficients of v; loops have weight 1. */
static void thin(const struct og_attend *op, uint32_t v, float *p)
{
    const struct og_block *b = op->block;
    const size_t heads = (size_t)op->heads;
    if (op->dropout)
        og__dropout_attention(op, v, p);
    for (uint32_t e = b->indptr[v]; b->weight && e < b->indptr[v + 1]; e++)
        for (size_t h = 0; h < heads; h++)
            *p++ *= b->weight[e];
}

/* Returns the coefficients of v after dropout and weights. */
static const float *drop(const struct og_attend *op, uint32_t v, uint32_t n)
{
    size_t at = first_coefficient(op, v);
    memcpy(op->dropped + at, op->alpha + at, n * (size_t)op->heads * sizeof(float));
    thin(op, v, op->dropped + at);
    return op->dropped + at;
}

/* Rows of a bunch are widened into adjacent memory. */
static void attend_row(const struct attend_run *run, uint32_t v, struct sum *s, int thread)
{
    const struct og_attend *op = run->op;
    const struct og_block *b = op->block;
    float *alpha = op->alpha + first_coefficient(op, v);
    float *room = og__scratch_of(run->be, thread).in;
    uint32_t n = n_coefficients(op, v), last = b->indptr[b->n_dst];
    uint32_t ahead = og__prefetch_distance(&op->z);
    if (op->by_edge)
        add_destination(op, v);
    scorings[op->scoring].of_edges(run, v, alpha, thread);
    if (n > 0)
        og__softmax(alpha, n, s->heads);
    const float *p = counts_all(op) ? alpha : drop(op, v, n);
    memset(s->y, 0, features(op) * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        if (i + 1 < n)
            look_ahead(&op->z, b->src, b->indptr[v] + i, ahead, last);
        if (source_of(op, v, i, &u))
            push(s, row_of(&op->z, u, room + (size_t)s->bunch.n * (size_t)op->z.dim),
                 p + i * s->heads);
    }
    flush(s);
}

static void attend_block(void *arg, size_t block, int thread)
{
    const struct attend_run *run = arg;
    const struct og_attend *op = run->op;
    struct og__scratch scratch = og__scratch_of(run->be, thread);
    size_t cols = op->average ? (size_t)op->width : features(op);
    struct sum s = {.y = scratch.row,
                    .heads = (size_t)op->heads,
                    .width = (size_t)op->width,
                    .step = head_step(op)};
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(op->block->n_dst, block);
    for (uint32_t v = r0; v < end; v++) {
        attend_row(run, v, &s, thread);
        finish_row(op, s.y, op->y + v * cols);
    }
}

void og__cpu_attend(struct og_nn_backend *be, const struct og_attend *op)
{
    struct attend_run run = {op, be};
    const struct scoring *scoring = &scorings[op->scoring];
    if (scoring->of_sources)
        og__pool_run(be->pool, og__n_blocks(op->block->n_src), scoring->of_sources, &run);
    og__pool_run(be->pool, og__n_blocks(op->block->n_dst), attend_block, &run);
}

/* ==== backward pass by destination ==== */

struct back_run {
    const struct og_attend_back *op;
    const struct og_nn_backend *be;
};

/* mean[h] += sum of p d over the n coefficients of head h */
OG_INLINE void add_means(const float *p, const float *d, uint32_t n, size_t heads, float *mean)
{
    for (uint32_t i = 0; i < n; i++)
        for (size_t h = 0; h < heads; h++)
            mean[h] += p[i * heads + h] * d[i * heads + h];
}

/* d: in, gradients of the coefficients; out, of the scores before the leaky ReLU. Their sum
 * replaces the destination's score. */
OG_CLONES static void slopes_by_ends(const struct og_attend_back *back, uint32_t v, float *d,
                                     float *room)
{
    (void)room;
    const struct og_attend *op = back->forward;
    size_t heads = (size_t)op->heads;
    uint32_t n = n_coefficients(op, v);
    const float *p = op->alpha + first_coefficient(op, v);
    const size_t first = first_coefficient(op, v) / heads;
    float mean[OG__MAX_HEADS] = {0}, sum[OG__MAX_HEADS] = {0};
    add_means(p, d, n, heads, mean);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        source_of(op, v, i, &u);
        const float *from = op->score_src + u * heads, *to = added_to(op, v, first + i);
        for (size_t h = 0; h < heads; h++) {
            float leak = from[h] + to[h] > 0 ? 1 : OG__LEAK;
            d[i * heads + h] = leak * p[i * heads + h] * (d[i * heads + h] - mean[h]);
            sum[h] += d[i * heads + h];
        }
    }
    memcpy(op->score_dst + v * heads, sum, heads * sizeof(*sum));
    if (op->apart && op->by_edge) /* the place of its loop */
        memset(d + n * heads, 0, heads * sizeof(*d));
}

/* y[h] += by[h] times the derivative of the leaky ReLU of x + to */
OG_CLONES static void add_leaks(const struct og_attend *op, const float *by, const float *x,
                                const float *to, float *y)
{
    size_t width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        const float *restrict a = x + h * width, *restrict b = to + h * width;
        float *restrict sum = y + h * width;
        for (size_t j = 0; j < width; j++)
            sum[j] += a[j] + b[j] > 0 ? by[h] : OG__LEAK * by[h];
    }
}

/* d: in, gradients of the coefficients; out, of the scores. Also the destination's gradient. */
static void slopes_by_sums(const struct og_attend_back *back, uint32_t v, float *d, float *room)
{
    const struct og_attend *op = back->forward;
    size_t heads = (size_t)op->heads, f = features(op);
    uint32_t n = n_coefficients(op, v);
    const size_t first = first_coefficient(op, v);
    const float *p = op->alpha + first;
    float mean[OG__MAX_HEADS] = {0}, *dz_dst = back->dz_dst + v * f;
    add_means(p, d, n, heads, mean);
    memset(dz_dst, 0, f * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        for (size_t h = 0; h < heads; h++)
            d[i * heads + h] = p[i * heads + h] * (d[i * heads + h] - mean[h]);
        if (source_of(op, v, i, &u))
            add_leaks(op, d + i * heads, row_of(&op->z, u, room),
                      added_to(op, v, first / heads + i), dz_dst);
    }
    for (size_t j = 0; j < f; j++)
        dz_dst[j] *= op->att_src[j];
}

static void (*const slopes[])(const struct og_attend_back *back, uint32_t v, float *d,
                              float *room) = {
    [OG__BY_ENDS] = slopes_by_ends, [OG__BY_SUMS] = slopes_by_sums};

OG_CLONES static void spread_heads(const float *dy, float *out, size_t heads, size_t width)
{
    float share = 1.0f / (float)heads;
    for (size_t h = 0; h < heads; h++)
        for (size_t j = 0; j < width; j++)
            out[h * width + j] = share * dy[j];
}

static void destination_block(void *arg, size_t block, int thread)
{
    const struct back_run *run = arg;
    const struct og_attend *op = run->op->forward;
    const struct og_block *b = op->block;
    struct og__scratch scratch = og__scratch_of(run->be, thread);
    size_t heads = (size_t)op->heads, width = (size_t)op->width, f = heads * width;
    uint32_t ahead = og__prefetch_distance(&op->z), last = b->indptr[b->n_dst];
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(b->n_dst, block);
    for (uint32_t v = r0; v < end; v++) {
        float *d = run->op->dscore + first_coefficient(op, v);
        const float *dy = run->op->dy + v * (op->average ? width : f);
        uint32_t n = n_coefficients(op, v);
        if (op->average) {
            spread_heads(dy, scratch.row, heads, width);
            dy = scratch.row;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t u;
            if (i + 1 < n)
                look_ahead(&op->z, b->src, b->indptr[v] + i, ahead, last);
            if (source_of(op, v, i, &u))
                head_dots(row_of(&op->z, u, scratch.in), head_step(op), dy, heads, width,
                          d + i * heads);
            else
                memset(d + i * heads, 0, heads * sizeof(float));
        }
        if (!counts_all(op))
            thin(op, v, d);
        slopes[op->scoring](run->op, v, d, scratch.in);
        if (!counts_all(op)) /* for the pass by source */
            thin(op, v, op->alpha + first_coefficient(op, v));
    }
}

/* ==== backward pass by source ==== */

OG_INLINE void add_scaled(float *restrict y, float a, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += a * x[j];
}

/* Gradients of the attention vectors from the scores of source u. `from` has gradients of its
 * scores as a source, `to`, unless NULL, as a destination. */
OG_CLONES static void attention_slopes(const struct og_attend *op, const float *from,
                                       const float *to, const float *z, float *datt)
{
    size_t width = (size_t)op->width, step = head_step(op), f = features(op);
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        add_scaled(datt + h * width, from[h], z + h * step, width);
        if (to)
            add_scaled(datt + f + h * width, to[h], z + h * step, width);
    }
}

/* dz = share * spread, through the coefficients, plus the gradient through the scores. Heads that
 * share a row are summed. */
OG_CLONES static void source_slopes(const struct og_attend *op, const float *from, const float *to,
                                    float share, const float *restrict spread, float *restrict dz)
{
    size_t width = (size_t)op->width, step = head_step(op);
    memset(dz, 0, (size_t)op->z.dim * sizeof(float));
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        float *restrict row = dz + h * step;
        const float *restrict s = spread + h * width;
        const float *restrict src = op->att_src + h * width;
        for (size_t j = 0; j < width; j++)
            row[j] += share * s[j] + from[h] * src[j];
        if (to)
            add_scaled(row, to[h], op->att_dst + h * width, width);
    }
}

/* The destination and coefficients of the transposed block's edge e from source u. After its last
 * edge comes its loop; false: no loop. */
OG_INLINE bool destination_of(const struct og_attend_back *op, uint32_t u, uint32_t e, uint32_t *v,
                              size_t *at)
{
    const struct og_attend *fwd = op->forward;
    bool loop = e == op->indptr[u + 1];
    if (loop && (u >= fwd->block->n_dst || fwd->apart))
        return false;
    *v = loop ? u : op->col[e];
    *at = ((size_t)(loop ? fwd->block->indptr[u + 1] : op->edge[e]) + *v) * (size_t)fwd->heads;
    return true;
}

/* Sum of the scores' gradients and, if dz is required, of alpha dy over the destinations of u. */
static void gather_source(const struct og_attend_back *op, uint32_t u, const struct og_rows *dy,
                          struct sum *s, float *dscore)
{
    const struct og_attend *fwd = op->forward;
    size_t heads = s->heads, cols = (size_t)dy->dim;
    uint32_t ahead = og__prefetch_distance(dy), end = op->indptr[u + 1];
    uint32_t last = op->indptr[fwd->block->n_src];
    memset(s->y, 0, heads * s->width * sizeof(float));
    memset(dscore, 0, heads * sizeof(float));
    uint32_t v;
    size_t at;
    for (uint32_t e = op->indptr[u]; e <= end && destination_of(op, u, e, &v, &at); e++) {
        for (size_t h = 0; h < heads; h++)
            dscore[h] += op->dscore[at + h];
        if (!op->dz)
            continue;
        if (e < end)
            look_ahead(dy, op->col, e, ahead, last);
        push(s, op->dy + v * cols, fwd->alpha + at);
    }
    flush(s);
}

static void sources_by_ends(void *arg, size_t number, int thread)
{
    const struct back_run *run = arg;
    const struct og_attend *op = run->op->forward;
    const struct og_block *b = op->block;
    struct og__scratch scratch = og__scratch_of(run->be, thread);
    size_t heads = (size_t)op->heads, width = (size_t)op->width, f = heads * width;
    struct og__part part = og__part_of(run->be, b->n_src, 2 * f, number);
    struct og_rows dy = og__dense(run->op->dy, b->n_dst, (int)(op->average ? width : f));
    struct sum s = {
        .y = scratch.row, .heads = heads, .width = width, .step = op->average ? 0 : width};
    float from[OG__MAX_HEADS], share = op->average ? 1.0f / (float)op->heads : 1;
    uint32_t ahead = og__prefetch_distance(&op->z);
    for (uint32_t u = part.first; u < part.last; u++) {
        if (op->z.index && u + ahead < part.last)
            og__fetch_row(&op->z, u + ahead);
        const float *to = u < b->n_dst && !op->apart ? op->score_dst + u * heads : NULL;
        gather_source(run->op, u, &dy, &s, from);
        attention_slopes(op, from, to, row_of(&op->z, u, scratch.in), part.sum);
        if (run->op->dz)
            source_slopes(op, from, to, share, s.y, run->op->dz + u * (size_t)op->z.dim);
    }
}

/* datt += by[h] times the leaky ReLU of z + to, for each head */
OG_CLONES static void add_scored(const struct og_attend *op, const float *by, const float *z,
                                 const float *to, float *datt)
{
    size_t width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        const float *restrict a = z + h * width, *restrict b = to + h * width;
        float *restrict sum = datt + h * width;
        for (size_t j = 0; j < width; j++) {
            float both = a[j] + b[j];
            sum[j] += by[h] * (both > 0 ? both : OG__LEAK * both);
        }
    }
}

/* to = by[h] att times the derivative of the leaky ReLU of z + to, for each head */
OG_CLONES static void turn_to_slopes(const struct og_attend *op, const float *by, const float *z,
                                     float *to)
{
    size_t width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++) {
        const float *restrict a = z + h * width, *restrict att = op->att_src + h * width;
        float *restrict b = to + h * width;
        for (size_t j = 0; j < width; j++)
            b[j] = att[j] * (a[j] + b[j] > 0 ? by[h] : OG__LEAK * by[h]);
    }
}

/* dz = share * spread, through the coefficients, and att * leaks, through the scores. */
OG_CLONES static void add_sides(float share, const float *restrict spread,
                                const float *restrict att, const float *restrict leaks,
                                float *restrict dz, size_t n)
{
    for (size_t j = 0; j < n; j++)
        dz[j] = share * spread[j] + att[j] * leaks[j];
}

static void sources_by_sums(void *arg, size_t number, int thread)
{
    const struct back_run *run = arg;
    const struct og_attend_back *back = run->op;
    const struct og_attend *op = back->forward;
    const struct og_block *b = op->block;
    struct og__scratch scratch = og__scratch_of(run->be, thread);
    size_t heads = (size_t)op->heads, width = (size_t)op->width, f = heads * width;
    struct og__part part = og__part_of(run->be, b->n_src, f, number);
    struct og_rows dy = og__dense(back->dy, b->n_dst, (int)(op->average ? width : f));
    struct og_rows to = og__dense(op->z_dst, b->n_dst, (int)f);
    struct sum s = {
        .y = scratch.row, .heads = heads, .width = width, .step = op->average ? 0 : width};
    float share = op->average ? 1.0f / (float)op->heads : 1;
    uint32_t ahead = og__prefetch_distance(&dy), last = back->indptr[b->n_src];
    for (uint32_t u = part.first; u < part.last; u++) {
        const float *z = row_of(&op->z, u, scratch.in);
        const uint32_t end = back->indptr[u + 1];
        uint32_t v;
        size_t at;
        memset(s.y, 0, f * sizeof(float));
        memset(scratch.out, 0, f * sizeof(float));
        for (uint32_t e = back->indptr[u]; e <= end && destination_of(back, u, e, &v, &at); e++) {
            const float *by = back->dscore + at;
            if (e < end)
                look_ahead(&dy, back->col, e, ahead, last);
            if (e < end)
                look_ahead(&to, back->col, e, ahead, last);
            const float *added = added_to(op, v, at / heads);
            add_scored(op, by, z, added, part.sum);
            add_leaks(op, by, z, added, scratch.out);
            if (op->by_edge)
                turn_to_slopes(op, by, z, op->by_edge + at / heads * f);
            push(&s, back->dy + v * (size_t)dy.dim, op->alpha + at);
        }
        flush(&s);
        if (back->dz)
            add_sides(share, s.y, op->att_src, scratch.out, back->dz + u * f, f);
    }
}

/* vectors: number of vectors of F whose gradients are sums over sources: att_src's, then att_dst's.
 */
static const struct by_source {
    void (*part)(void *run, size_t number, int thread);
    size_t vectors;
} by_source[] = {[OG__BY_ENDS] = {sources_by_ends, 2}, [OG__BY_SUMS] = {sources_by_sums, 1}};

void og__cpu_attend_back(struct og_nn_backend *be, const struct og_attend_back *op)
{
    struct back_run run = {op, be};
    const struct og_block *b = op->forward->block;
    const struct by_source *walk = &by_source[op->forward->scoring];
    size_t f = features(op->forward), cols = walk->vectors * f;
    og__pool_run(be->pool, og__n_blocks(b->n_dst), destination_block, &run);
    og__pool_run(be->pool, og__n_parts(b->n_src), walk->part, &run);
    og__add_parts(be, b->n_src, cols, 0, f, op->datt_src);
    if (cols > f && !op->forward->apart)
        og__add_parts(be, b->n_src, cols, f, f, op->datt_dst);
}
