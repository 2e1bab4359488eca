/* Norm, activation, unit length and dropout of a row, forward and backward: one warp per row. */
#include "nn/device/common.h"

/* Statistics that normalise a row. */
struct by {
    float mean, rstd;
};

/* Statistics of layer norm, from the row itself; all lanes must call it. */
OG_ON_DEVICE struct by own_norm(const struct og_finish *f, uint32_t r OG_HERE)
{
    const float *y = f->y + (size_t)r * (size_t)f->cols;
    struct by by;
    float sum = 0, squares = 0;
    for (uint32_t j = og_lane(); j < (uint32_t)f->cols; j += OG_LANES)
        sum += y[j];
    by.mean = og_warp_sum(sum) / (float)f->cols;
    for (uint32_t j = og_lane(); j < (uint32_t)f->cols; j += OG_LANES)
        squares += (y[j] - by.mean) * (y[j] - by.mean);
    by.rstd = 1 / sqrtf(og_warp_sum(squares) / (float)f->cols + OG__NORM_EPS);
    return by;
}

/* Element j before weight and bias. */
OG_ON_DEVICE float normed(const struct og_finish *f, uint32_t r, uint32_t j, const struct by *by)
{
    const float y = f->y[(size_t)r * (size_t)f->cols + j];
    if (f->norm == OG_NORM_BATCH)
        return (y - f->mean[j]) * f->rstd[j];
    return f->norm == OG_NORM_LAYER ? (y - by->mean) * by->rstd : y;
}

OG_ON_DEVICE float activated(const struct og_finish *f, uint32_t r, uint32_t j, const struct by *by)
{
    float a = normed(f, r, j, by);
    if (f->norm != OG_NORM_NONE)
        a = a * f->weight[j] + f->bias[j];
    if (f->activation == OG__ELU)
        return a > 0 ? a : expf(a) - 1;
    return a <= 0 ? 0 : a; /* NaN stays NaN */
}

/* ==== forward ==== */

OG_KERNEL(og__k_finish, og_k_finish)
{
    const struct og_finish *f = &op->op;
    const uint32_t r = og_warp(), cols = (uint32_t)f->cols;
    struct by by = {0, 1};
    float squares = 0;
    if (r >= f->rows)
        return; /* all lanes of the warp */
    if (f->norm == OG_NORM_LAYER)
        by = own_norm(f, r OG_PASS);
    float *h = f->h + (size_t)r * cols;
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        h[j] = activated(f, r, j, &by);
        squares += h[j] * h[j];
    }
    const float length = f->unit ? sqrtf(og_warp_sum(squares)) : 0;
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        const float x = length > 0 ? h[j] / length : h[j];
        h[j] = op->drops ? og_drop(&op->dropout, r, j, x) : x;
    }
}

/* ==== back ==== */

/* g: gradient of h, then before the activation; stores the statistics of layer norm. */
OG_KERNEL(og__k_finish_back, og_k_finish)
{
    const struct og_finish *f = &op->op;
    const uint32_t r = og_warp(), cols = (uint32_t)f->cols;
    struct by by = {0, 1};
    float squares = 0, along = 0;
    if (r >= f->rows)
        return; /* all lanes of the warp */
    if (f->norm == OG_NORM_LAYER) {
        by = own_norm(f, r OG_PASS);
        if (og_lane() == 0) {
            op->row[2 * (size_t)r] = by.mean;
            op->row[2 * (size_t)r + 1] = by.rstd;
        }
    }
    float *g = op->g + (size_t)r * cols;
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        const float a = activated(f, r, j, &by);
        g[j] = op->drops ? og_drop(&op->dropout, r, j, g[j]) : g[j];
        squares += a * a;
        along += g[j] * a;
    }
    if (f->unit) {
        squares = og_warp_sum(squares);
        along = og_warp_sum(along);
    }
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        const float a = activated(f, r, j, &by);
        if (f->unit && squares > 0) /* the component along the row has no effect */
            g[j] = (g[j] - along / squares * a) / sqrtf(squares);
        if (f->activation == OG__ELU)
            g[j] *= a > 0 ? 1 : a + 1;
        else
            g[j] = a > 0 ? g[j] : 0;
    }
}

/* After the sums over columns: means over the rows, or over the row. */
OG_KERNEL(og__k_norm_back, og_k_finish)
{
    const struct og_finish *f = &op->op;
    const uint32_t r = og_warp(), cols = (uint32_t)f->cols;
    const bool layer = f->norm == OG_NORM_LAYER;
    struct by by = {0, 1};
    float mean = 0, along = 0;
    if (r >= f->rows)
        return; /* all lanes of the warp */
    float *g = op->g + (size_t)r * cols;
    if (layer) {
        by.mean = op->row[2 * (size_t)r];
        by.rstd = op->row[2 * (size_t)r + 1];
        for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
            mean += g[j] * f->weight[j];
            along += g[j] * f->weight[j] * normed(f, r, j, &by);
        }
        mean = og_warp_sum(mean) / (float)cols;
        along = og_warp_sum(along) / (float)cols;
    }
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        const float x = normed(f, r, j, &by);
        if (layer)
            g[j] = by.rstd * (g[j] * f->weight[j] - mean - x * along);
        else
            g[j] = f->weight[j] * f->rstd[j] *
                   (g[j] - (op->dbias[j] + x * op->dweight[j]) / (float)f->rows);
    }
}

/* ==== running statistics ==== */

OG_KERNEL(og__k_track, og_track)
{
    const uint32_t j = og_item(), rest = op->rows > 1 ? op->rows - 1 : 1;
    const float momentum = 0.1f, unbiased = (float)op->rows / (float)rest;
    if (j >= (uint32_t)op->cols)
        return;
    op->running_mean[j] += momentum * (op->mean[j] - op->running_mean[j]);
    op->running_var[j] += momentum * (unbiased * op->var[j] - op->running_var[j]);
    if (j == 0)
        *op->count += 1;
}

OG_KERNEL(og__k_rstd, og_rstd)
{
    const uint32_t j = og_item();
    if (j < (uint32_t)op->cols)
        op->rstd[j] = 1 / sqrtf(op->var[j] + OG__NORM_EPS);
}
