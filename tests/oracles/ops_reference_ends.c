/* The end of a hidden layer as plain loops. */
#include "oracles/ops_reference_parts.h"

#include "nn/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void og__ref_track(struct og_nn_backend *be, const struct og_track *op)
{
    (void)be;
    double unbiased = op->rows > 1 ? (double)op->rows / (op->rows - 1) : 1;
    for (int j = 0; j < op->cols; j++) {
        op->running_mean[j] =
            (float)(0.9 * (double)op->running_mean[j] + 0.1 * (double)op->mean[j]);
        op->running_var[j] =
            (float)(0.9 * (double)op->running_var[j] + 0.1 * unbiased * (double)op->var[j]);
    }
    *op->count += 1;
}

void og__ref_rstd(struct og_nn_backend *be, const struct og_rstd *op)
{
    (void)be;
    for (int j = 0; j < op->cols; j++)
        op->rstd[j] = (float)(1 / sqrt((double)op->var[j] + (double)OG__NORM_EPS));
}

void og__ref_moments(struct og_nn_backend *be, const struct og_moments *op)
{
    (void)be;
    size_t n = (size_t)op->cols;
    for (size_t j = 0; j < n; j++) {
        double mean = 0, var = 0;
        for (uint32_t r = 0; r < op->rows; r++)
            mean += (double)op->y[r * n + j] / op->rows;
        for (uint32_t r = 0; r < op->rows; r++)
            var += pow((double)op->y[r * n + j] - mean, 2) / op->rows;
        op->mean[j] = (float)mean;
        op->var[j] = (float)var;
    }
}

/* What a row is on its way: x = norm(y) before weight and bias, a = act(z), length of a. */
struct row {
    double *x, *a, rstd, length;
};

static void ref_row(const struct og_finish *op, uint32_t r, struct row *row)
{
    size_t n = (size_t)op->cols;
    const float *y = op->y + r * n;
    double mean = 0, var = 0, square = 0;
    for (size_t j = 0; j < n; j++)
        mean += (double)y[j] / (double)n;
    for (size_t j = 0; j < n; j++)
        var += pow((double)y[j] - mean, 2) / (double)n;
    row->rstd = 1 / sqrt(var + (double)OG__NORM_EPS);
    for (size_t j = 0; j < n; j++) {
        double z = row->x[j] = (double)y[j];
        if (op->norm == OG_NORM_LAYER)
            row->x[j] = ((double)y[j] - mean) * row->rstd;
        else if (op->norm == OG_NORM_BATCH)
            row->x[j] = ((double)y[j] - (double)op->mean[j]) * (double)op->rstd[j];
        if (op->norm != OG_NORM_NONE)
            z = row->x[j] * (double)op->weight[j] + (double)op->bias[j];
        row->a[j] = !(z <= 0) ? z : op->activation == OG__ELU ? expm1(z) : 0;
        square += row->a[j] * row->a[j];
    }
    row->length = op->unit && square > 0 ? sqrt(square) : 1;
}

void og__ref_finish(struct og_nn_backend *be, const struct og_finish *op)
{
    (void)be;
    size_t n = (size_t)op->cols;
    struct row row = {calloc(n, sizeof(double)), calloc(n, sizeof(double)), 0, 0};
    for (uint32_t r = 0; r < op->rows; r++) {
        ref_row(op, r, &row);
        for (size_t j = 0; j < n; j++)
            op->h[r * n + j] = (float)(row.a[j] / row.length);
        if (op->dropout)
            og__dropout_row(op->dropout, r, op->h + r * n, n);
    }
    free(row.x);
    free(row.a);
}

/* g through dropout, length and activation. */
static void ref_activation_back(const struct og_finish *op, uint32_t r, float *g,
                                const struct row *row)
{
    size_t n = (size_t)op->cols;
    double along = 0;
    if (op->dropout)
        og__dropout_row(op->dropout, r, g, n);
    for (size_t j = 0; op->unit && j < n; j++)
        along += (double)g[j] * row->a[j] / row->length;
    for (size_t j = 0; j < n; j++) {
        double d = ((double)g[j] - along * row->a[j] / row->length) / row->length;
        double below = op->activation == OG__ELU ? row->a[j] + 1 : 0;
        g[j] = (float)(row->a[j] > 0 ? d : d * below);
    }
}

/* g through y -> norm(y), where `sum_g` and `sum_gx` are sums over the n things normed together. */
static float norm_slope(double weighted, double x, double sum_g, double sum_gx, double n,
                        double rstd)
{
    return (float)(rstd * (weighted - sum_g / n - x * sum_gx / n));
}

static void ref_layer_norm_back(const struct og_finish *op, float *g, const struct row *row)
{
    size_t n = (size_t)op->cols;
    double sum_g = 0, sum_gx = 0;
    for (size_t j = 0; j < n; j++) {
        sum_g += (double)g[j] * (double)op->weight[j];
        sum_gx += (double)g[j] * (double)op->weight[j] * row->x[j];
    }
    for (size_t j = 0; j < n; j++)
        g[j] = norm_slope((double)g[j] * (double)op->weight[j], row->x[j], sum_g, sum_gx, (double)n,
                          row->rstd);
}

void og__ref_finish_back(struct og_nn_backend *be, const struct og_finish_back *back)
{
    (void)be;
    const struct og_finish *op = back->forward;
    size_t n = (size_t)op->cols;
    struct row row = {calloc(n, sizeof(double)), calloc(n, sizeof(double)), 0, 0};
    double *dweight = calloc(2 * n, sizeof(double)), *dbias = dweight + n;
    for (uint32_t r = 0; r < op->rows; r++) {
        float *g = back->g + r * n;
        ref_row(op, r, &row);
        ref_activation_back(op, r, g, &row);
        for (size_t j = 0; j < n; j++) {
            dweight[j] += (double)g[j] * row.x[j];
            dbias[j] += (double)g[j];
        }
        if (op->norm == OG_NORM_LAYER)
            ref_layer_norm_back(op, g, &row);
    }
    for (uint32_t r = 0; op->norm == OG_NORM_BATCH && r < op->rows; r++) {
        ref_row(op, r, &row);
        for (size_t j = 0; j < n; j++) {
            float *g = back->g + r * n + j;
            double w = (double)op->weight[j];
            *g = norm_slope(w * (double)*g, row.x[j], w * dbias[j], w * dweight[j],
                            (double)op->rows, (double)op->rstd[j]);
        }
    }
    for (size_t j = 0; op->norm != OG_NORM_NONE && j < n; j++) {
        back->dweight[j] = (float)dweight[j];
        back->dbias[j] = (float)dbias[j];
    }
    free(row.x);
    free(row.a);
    free(dweight);
}
