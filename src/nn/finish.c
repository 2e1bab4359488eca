/* Normalisation, activation and dropout on the CPU: one pass over the rows. The backward pass has a
 * second one for batch norm, whose statistics depend on every row. Only y is stored for it; the
 * rest is recomputed row by row, in cache. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <math.h>

struct finish_run {
    const struct og_finish *op;
    const struct og_finish_back *back;
    const struct og_nn_backend *be;
};

/* ==== one row ==== */

OG_CLONES static void standardize(float *restrict x, const float *restrict y,
                                  const float *restrict mean, const float *restrict rstd, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = (y[j] - mean[j]) * rstd[j];
}

/* x = (y - mean) rstd with the row's statistics; returns rstd. */
OG_CLONES static float standardize_row(float *x, const float *y, size_t n)
{
    float mean = og__sum_of(y, n) / (float)n;
    for (size_t j = 0; j < n; j++)
        x[j] = y[j] - mean;
    float rstd = 1 / sqrtf(og__dot_product(x, x, n) / (float)n + OG__NORM_EPS);
    for (size_t j = 0; j < n; j++)
        x[j] *= rstd;
    return rstd;
}

/* a = act(x weight + bias), without norm act(x). */
OG_CLONES static void activate(float *a, const float *x, const float *weight, const float *bias,
                               bool elu, size_t n)
{
    for (size_t j = 0; j < n; j++)
        a[j] = weight ? x[j] * weight[j] + bias[j] : x[j];
    if (elu) {
        for (size_t j = 0; j < n; j++) {
            float below = og__exp(a[j]) - 1;
            a[j] = a[j] > 0 ? a[j] : below;
        }
    } else {
        for (size_t j = 0; j < n; j++)
            a[j] = a[j] <= 0 ? 0 : a[j]; /* NaN stays NaN */
    }
}

OG_CLONES static float length_of(const float *a, size_t n)
{
    return sqrtf(og__dot_product(a, a, n));
}

OG_CLONES static void divide(float *a, float by, size_t n)
{
    for (size_t j = 0; j < n; j++)
        a[j] /= by;
}

/* x = norm(y) before weight and bias, a = the activated row. Returns layer norm's rstd. x may be y,
 * a may be x. */
static float make_row(const struct og_finish *op, const float *y, float *x, float *a)
{
    size_t n = (size_t)op->cols;
    float rstd = 1;
    bool norm = op->norm != OG_NORM_NONE;
    if (op->norm == OG_NORM_BATCH)
        standardize(x, y, op->mean, op->rstd, n);
    else if (op->norm == OG_NORM_LAYER)
        rstd = standardize_row(x, y, n);
    activate(a, norm ? x : y, norm ? op->weight : NULL, op->bias, op->activation == OG__ELU, n);
    return rstd;
}

/* ==== forward ==== */

static void finish_block(void *arg, size_t block, int thread)
{
    const struct finish_run *run = arg;
    const struct og_finish *op = run->op;
    size_t n = (size_t)op->cols;
    float *x = og__scratch_of(run->be, thread).row;
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(op->rows, block);
    for (uint32_t r = r0; r < end; r++) {
        float *h = op->h + r * n;
        make_row(op, op->y + r * n, x, h);
        float length = op->unit ? length_of(h, n) : 0;
        if (length > 0)
            divide(h, length, n);
        if (op->dropout)
            og__dropout_row(op->dropout, r, h, n);
    }
}

void og__cpu_finish(struct og_nn_backend *be, const struct og_finish *op)
{
    struct finish_run run = {.op = op, .be = be};
    og__pool_run(be->pool, og__n_blocks(op->rows), finish_block, &run);
}

/* ==== backward pass ==== */

/* g through a / length; the component along the row has no effect. */
OG_CLONES static void back_through_unit(float *restrict g, const float *restrict a, float length,
                                        size_t n)
{
    float along = og__dot_product(g, a, n) / (length * length);
    for (size_t j = 0; j < n; j++)
        g[j] = (g[j] - along * a[j]) / length;
}

OG_CLONES static void back_through_activation(float *restrict g, const float *restrict a, bool elu,
                                              size_t n)
{
    if (elu)
        for (size_t j = 0; j < n; j++)
            g[j] *= a[j] > 0 ? 1 : a[j] + 1;
    else
        for (size_t j = 0; j < n; j++)
            g[j] = a[j] > 0 ? g[j] : 0;
}

OG_CLONES static void add_norm_slopes(float *restrict dweight, float *restrict dbias,
                                      const float *restrict g, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        dweight[j] += g[j] * x[j];
        dbias[j] += g[j];
    }
}

/* g = rstd (w g - mean(w g) - x mean(w g x)), means over the row. */
OG_CLONES static void back_through_layer_norm(float *restrict g, const float *restrict x,
                                              const float *restrict weight, float rstd, size_t n)
{
    for (size_t j = 0; j < n; j++)
        g[j] *= weight[j];
    float mean = og__sum_of(g, n) / (float)n, along = og__dot_product(g, x, n) / (float)n;
    for (size_t j = 0; j < n; j++)
        g[j] = rstd * (g[j] - mean - x[j] * along);
}

static void back_row(const struct finish_run *run, uint32_t r, const struct og__scratch *s,
                     float *sum)
{
    const struct og_finish *op = run->op;
    size_t n = (size_t)op->cols;
    float *g = run->back->g + r * n, *x = s->in, *a = s->out;
    float rstd = make_row(op, op->y + r * n, x, a);
    float length = op->unit ? length_of(a, n) : 0;
    if (op->dropout)
        og__dropout_row(op->dropout, r, g, n);
    if (length > 0)
        back_through_unit(g, a, length, n);
    back_through_activation(g, a, op->activation == OG__ELU, n);
    if (op->norm == OG_NORM_NONE)
        return;
    add_norm_slopes(sum, sum + n, g, x, n);
    if (op->norm == OG_NORM_LAYER)
        back_through_layer_norm(g, x, op->weight, rstd, n);
}

static void back_part(void *arg, size_t number, int thread)
{
    const struct finish_run *run = arg;
    struct og__scratch s = og__scratch_of(run->be, thread);
    struct og__part part = og__part_of(run->be, run->op->rows, 2 * (size_t)run->op->cols, number);
    for (uint32_t r = part.first; r < part.last; r++)
        back_row(run, r, &s, part.sum);
}

/* g = weight rstd (g - mean(g) - x mean(g x)), means over the rows. */
OG_CLONES static void back_through_batch_norm(const struct og_finish_back *back, uint32_t r,
                                              size_t n)
{
    const struct og_finish *op = back->forward;
    float *restrict g = back->g + r * n;
    const float *restrict y = op->y + r * n;
    float share = 1 / (float)op->rows;
    for (size_t j = 0; j < n; j++) {
        float x = (y[j] - op->mean[j]) * op->rstd[j];
        float rest = g[j] - share * (back->dbias[j] + x * back->dweight[j]);
        g[j] = op->weight[j] * op->rstd[j] * rest;
    }
}

static void back_batch_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct finish_run *run = arg;
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r0 + og__rows_in_block(run->op->rows, block);
    for (uint32_t r = r0; r < end; r++)
        back_through_batch_norm(run->back, r, (size_t)run->op->cols);
}

void og__cpu_finish_back(struct og_nn_backend *be, const struct og_finish_back *op)
{
    struct finish_run run = {op->forward, op, be};
    uint32_t rows = op->forward->rows;
    size_t n = (size_t)op->forward->cols;
    og__pool_run(be->pool, og__n_parts(rows), back_part, &run);
    if (op->forward->norm == OG_NORM_NONE)
        return;
    og__add_parts(be, rows, 2 * n, 0, n, op->dweight);
    og__add_parts(be, rows, 2 * n, n, n, op->dbias);
    if (op->forward->norm == OG_NORM_BATCH)
        og__pool_run(be->pool, og__n_blocks(rows), back_batch_block, &run);
}

/* ==== moments ==== */

struct moments_run {
    const struct og_moments *op;
    const struct og_nn_backend *be;
    bool squares; /* of the distance from the mean */
};

OG_CLONES static void add_squares(float *restrict sum, const float *restrict y,
                                  const float *restrict mean, size_t n)
{
    for (size_t j = 0; j < n; j++)
        sum[j] += (y[j] - mean[j]) * (y[j] - mean[j]);
}

/* Blocks are summed separately: a long sum would lose the digits of a row. */
static void moments_part(void *arg, size_t number, int thread)
{
    const struct moments_run *run = arg;
    const struct og_moments *op = run->op;
    size_t n = (size_t)op->cols;
    float *sum = og__scratch_of(run->be, thread).row;
    struct og__part part = og__part_of(run->be, op->rows, n, number);
    for (uint32_t r0 = part.first; r0 < part.last; r0 += OG__BLOCK_ROWS) {
        memset(sum, 0, n * sizeof(*sum));
        for (uint32_t r = r0; r < OG_MIN(r0 + OG__BLOCK_ROWS, part.last); r++) {
            if (run->squares)
                add_squares(sum, op->y + r * n, op->mean, n);
            else
                og__add(sum, op->y + r * n, n);
        }
        og__add(part.sum, sum, n);
    }
}

void og__cpu_moments(struct og_nn_backend *be, const struct og_moments *op)
{
    size_t n = (size_t)op->cols;
    for (int squares = 0; squares < 2; squares++) {
        struct moments_run run = {op, be, squares};
        float *out = squares ? op->var : op->mean;
        og__pool_run(be->pool, og__n_parts(op->rows), moments_part, &run);
        og__add_parts(be, op->rows, n, 0, n, out);
        for (size_t j = 0; j < n; j++)
            out[j] /= (float)op->rows;
    }
}

/* ==== running statistics ==== */

void og__cpu_track(struct og_nn_backend *be, const struct og_track *op)
{
    (void)be;
    const float momentum = 0.1f, unbiased = (float)op->rows / (float)OG_MAX(op->rows - 1, 1u);
    for (int j = 0; j < op->cols; j++) {
        op->running_mean[j] += momentum * (op->mean[j] - op->running_mean[j]);
        op->running_var[j] += momentum * (unbiased * op->var[j] - op->running_var[j]);
    }
    ++*op->count;
}

void og__cpu_rstd(struct og_nn_backend *be, const struct og_rstd *op)
{
    (void)be;
    for (int j = 0; j < op->cols; j++)
        op->rstd[j] = 1 / sqrtf(op->var[j] + OG__NORM_EPS);
}
