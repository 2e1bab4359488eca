/* The operators as one would write them on a board: the oracle for every backend. Sums are kept
 * in double, so that what a test sees is the other side's rounding. */
#include "oracles/ops_reference.h"

#include "nn/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x[r][j], or (through * x)[r][j]. */
static double element(const struct og_rows *x, uint32_t r, int j)
{
    float value;
    og__widen(&value, og__row(x, r), x->dtype, (size_t)j, 1);
    return (double)value;
}

static double scale_at(const float *scale, uint32_t n, uint32_t i)
{
    return i < n ? (double)scale[i] : 1.0;
}

static double aggregated(const struct og_sparse *s, const struct og_rows *x, uint32_t r, int j)
{
    double sum = 0;
    if (r < s->n_loops)
        sum = (1 + (s->eps ? (double)*s->eps : 0)) * scale_at(s->right, s->n_right, r) *
              element(x, r, j);
    for (uint32_t e = s->indptr[r]; e < s->indptr[r + 1]; e++) {
        uint32_t u = s->col[e];
        if (r < s->n_loops && !s->diagonal && u == r)
            continue;
        double weight = s->weight ? (double)s->weight[s->edge ? s->edge[e] : e] : 1;
        sum += weight * scale_at(s->right, s->n_right, u) * element(x, u, j);
    }
    return sum * scale_at(s->left, s->n_left, r);
}

static double operand(const struct og_input *in, uint32_t r, int j)
{
    return in->through ? aggregated(in->through, &in->x, r, j) : element(&in->x, r, j);
}

static double weight_at(const struct og_input *in, int j, int i)
{
    const struct og_weight *w = in->weight;
    if (!w)
        return i == j;
    size_t at = in->direction == OG__FORWARD ? (size_t)i * (size_t)w->n_in + (size_t)j
                                             : (size_t)j * (size_t)w->n_in + (size_t)i;
    return (double)w->value[at];
}

static int ref_pack(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err)
{
    (void)be, (void)w, (void)n, (void)err;
    return 0;
}

static double affine_at(const struct og_affine *op, uint32_t r, int i)
{
    double sum = op->bias ? (double)op->bias[i] : 0;
    for (int k = 0; k < op->n_inputs; k++)
        for (int j = 0; r < op->input[k].n && j < op->input[k].x.dim; j++)
            sum += operand(&op->input[k], r, j) * weight_at(&op->input[k], j, i);
    if (op->plus_through)
        sum += aggregated(op->plus_through, &op->plus, r, i);
    return op->relu && sum < 0 ? 0 : sum;
}

static void keep_aggregate(const struct og_input *in)
{
    for (uint32_t r = 0; in->keep && r < in->n; r++)
        for (int j = 0; j < in->x.dim; j++)
            in->keep[(size_t)r * (size_t)in->x.dim + (size_t)j] = (float)operand(in, r, j);
}

static int ref_affine(struct og_nn_backend *be, const struct og_affine *op, struct og_err *err)
{
    (void)be, (void)err;
    for (uint32_t r = 0; r < op->rows; r++) {
        float *y = op->y + (size_t)r * (size_t)(op->ld ? op->ld : op->cols);
        for (int i = 0; i < op->cols; i++) {
            double sum = affine_at(op, r, i) + (op->add ? (double)y[i] : 0);
            if (op->gated)
                sum = y[i] > 0 ? (double)op->gate_scale * sum : 0;
            y[i] = (float)sum;
        }
        if (op->dropout)
            og__dropout_row(op->dropout, r, y, (size_t)op->cols);
    }
    for (int k = 0; k < op->n_inputs; k++)
        keep_aggregate(&op->input[k]);
    return 0;
}

static int ref_weight_grad(struct og_nn_backend *be, const struct og_weight_grad *op,
                           struct og_err *err)
{
    (void)be, (void)err;
    for (int i = 0; i < op->n_out; i++) {
        const float *dy = op->dy + i; /* column i */
        size_t step = (size_t)(op->ld ? op->ld : op->n_out);
        for (int k = 0; k < op->n_inputs; k++)
            for (int j = 0; j < op->input[k].dim; j++) {
                double sum = 0;
                for (uint32_t r = 0; r < op->rows; r++)
                    sum += (double)dy[r * step] * element(&op->input[k], r, j);
                op->grad[k][(size_t)i * (size_t)op->input[k].dim + (size_t)j] = (float)sum;
            }
        double sum = 0;
        for (uint32_t r = 0; r < op->rows; r++)
            sum += (double)dy[r * step];
        if (op->bias_grad)
            op->bias_grad[i] = (float)sum;
    }
    return 0;
}

static void ref_dot(struct og_nn_backend *be, const struct og_dot *op)
{
    (void)be;
    double sum = 0;
    for (uint32_t r = 0; r < op->rows; r++)
        for (int j = 0; j < op->x.dim; j++)
            sum += (double)op->a[(size_t)r * (size_t)op->x.dim + (size_t)j] * element(&op->x, r, j);
    *op->out = (float)sum;
}

/* ==== attention ==== */

/* z[u, h, j] */
static double source_at_head(const struct og_attend *op, uint32_t u, int h, size_t j)
{
    return element(&op->z, u, (op->shared ? 0 : h * op->width) + (int)j);
}

/* z[u, h] . att[h] */
static double score_part(const struct og_attend *op, const float *att, uint32_t u, int h)
{
    double sum = 0;
    size_t width = (size_t)op->width;
    for (size_t j = 0; j < width; j++)
        sum += source_at_head(op, u, h, j) * (double)att[(size_t)h * width + j];
    return sum;
}

/* The source of coefficient i of v; false when the loop stands for that edge. */
static bool source_at(const struct og_attend *op, uint32_t v, uint32_t i, uint32_t *u)
{
    const struct og_block *b = op->block;
    uint32_t degree = b->indptr[v + 1] - b->indptr[v];
    *u = i < degree ? b->src[b->indptr[v] + i] : v;
    return i == degree || *u != v || op->apart;
}

static uint32_t coefficients_of(const struct og_attend *op, uint32_t v)
{
    return op->block->indptr[v + 1] - op->block->indptr[v] + !op->apart;
}

/* z[v, h] . att_dst[h] */
static double own_part(const struct og_attend *op, uint32_t v, int h)
{
    return op->apart ? (double)op->score_dst[(size_t)v * (size_t)op->heads + (size_t)h]
                     : score_part(op, op->att_dst, v, h);
}

static size_t coefficient_at(const struct og_attend *op, uint32_t v, uint32_t i, int h)
{
    return ((size_t)op->block->indptr[v] + v + i) * (size_t)op->heads + (size_t)h;
}

static size_t n_coefficients(const struct og_attend *op)
{
    return ((size_t)op->block->indptr[op->block->n_dst] + op->block->n_dst) * (size_t)op->heads;
}

static void ref_softmax(const struct og_attend *op, uint32_t v, int h)
{
    uint32_t n = coefficients_of(op, v), u;
    double sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            double score = 0;
            if (source_at(op, v, i, &u)) {
                score = score_part(op, op->att_src, u, h) + own_part(op, v, h);
                score = exp(score > 0 ? score : (double)OG__LEAK * score);
            }
            sum += pass == 0 ? score : 0;
            if (pass == 1)
                op->alpha[coefficient_at(op, v, i, h)] = (float)(score / sum);
        }
    }
}

static double attended(const struct og_attend *op, uint32_t v, int h, int j)
{
    const float *alpha = op->dropout ? op->dropped : op->alpha;
    uint32_t n = coefficients_of(op, v), u;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (source_at(op, v, i, &u))
            sum += (double)alpha[coefficient_at(op, v, i, h)] * source_at_head(op, u, h, (size_t)j);
    return sum;
}

/* All coefficients of p through dropout. */
static void ref_drop(const struct og_attend *op, float *p)
{
    for (uint32_t v = 0; op->dropout && v < op->block->n_dst; v++)
        og__dropout_attention(op, v, p + coefficient_at(op, v, 0, 0));
}

static void ref_scores(const struct og_attend *op)
{
    for (uint32_t u = 0; u < op->block->n_src; u++)
        for (int h = 0; h < op->heads; h++) {
            size_t at = (size_t)u * (size_t)op->heads + (size_t)h;
            op->score_src[at] = (float)score_part(op, op->att_src, u, h);
            if (u < op->block->n_dst && !op->apart)
                op->score_dst[at] = (float)score_part(op, op->att_dst, u, h);
        }
}

static void ref_attend_row(const struct og_attend *op, uint32_t v)
{
    int cols = op->average ? op->width : op->heads * op->width;
    for (int j = 0; j < cols; j++) {
        float *y = &op->y[(size_t)v * (size_t)cols + (size_t)j];
        double sum = (op->bias ? (double)op->bias[j] : 0) + (op->add ? (double)*y : 0);
        for (int h = 0; op->average && h < op->heads; h++)
            sum += attended(op, v, h, j) / op->heads;
        if (!op->average)
            sum += attended(op, v, j / op->width, j % op->width);
        *y = (float)sum;
    }
}

static void ref_attend(struct og_nn_backend *be, const struct og_attend *op)
{
    (void)be;
    uint32_t n_dst = op->block->n_dst;
    ref_scores(op);
    for (uint32_t v = 0; v < n_dst; v++)
        for (int h = 0; h < op->heads; h++)
            ref_softmax(op, v, h);
    if (op->dropout)
        memcpy(op->dropped, op->alpha, n_coefficients(op) * sizeof(float));
    ref_drop(op, op->dropped);
    for (uint32_t v = 0; v < n_dst; v++)
        ref_attend_row(op, v);
}

/* How much of each coefficient counts: 1, or what dropout makes of it. The caller frees it. */
static float *kept_of(const struct og_attend *op)
{
    size_t n = n_coefficients(op);
    float *kept = calloc(n, sizeof(*kept));
    for (size_t i = 0; i < n; i++)
        kept[i] = 1;
    ref_drop(op, kept);
    return kept;
}

/* dL/d of coefficient i as it counts: dy[v, h] . z[u, h] */
static double alpha_slope(const struct og_attend_back *op, uint32_t v, uint32_t u, int h)
{
    const struct og_attend *fwd = op->forward;
    size_t width = (size_t)fwd->width, heads = (size_t)fwd->heads;
    const float *dy = op->dy + v * (fwd->average ? width : heads * width);
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum +=
            (double)dy[(fwd->average ? 0 : (size_t)h * width) + j] * source_at_head(fwd, u, h, j);
    return fwd->average ? sum / fwd->heads : sum;
}

static void ref_score_slopes(const struct og_attend_back *op, const float *kept, uint32_t v, int h)
{
    const struct og_attend *fwd = op->forward;
    uint32_t n = coefficients_of(fwd, v), u;
    double mean = 0, sum = 0;
    float *to = &fwd->score_dst[(size_t)v * (size_t)fwd->heads + (size_t)h];
    for (uint32_t i = 0; i < n; i++) {
        size_t at = coefficient_at(fwd, v, i, h);
        if (source_at(fwd, v, i, &u))
            mean += (double)fwd->alpha[at] * (double)kept[at] * alpha_slope(op, v, u, h);
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t at = coefficient_at(fwd, v, i, h);
        source_at(fwd, v, i, &u);
        double score = (double)fwd->score_src[(size_t)u * (size_t)fwd->heads + (size_t)h];
        double leak = score + (double)*to > 0 ? 1 : (double)OG__LEAK;
        double of_alpha = (double)kept[at] * alpha_slope(op, v, u, h);
        double slope = leak * (double)fwd->alpha[at] * (of_alpha - mean);
        op->dscore[at] = (float)slope;
        sum += slope;
    }
    *to = (float)sum;
}

/* Everything that flows into z[u, h] along coefficient `at` of destination v. */
static void add_flow(const struct og_attend_back *op, const float *kept, uint32_t v, size_t at,
                     int h, double *dz, double *dscore)
{
    const struct og_attend *fwd = op->forward;
    size_t width = (size_t)fwd->width, heads = (size_t)fwd->heads;
    const float *dy = op->dy + v * (fwd->average ? width : heads * width);
    double share = fwd->average ? 1.0 / fwd->heads : 1;
    double weight = share * (double)fwd->alpha[at] * (double)kept[at];
    for (size_t j = 0; j < width; j++)
        dz[j] += weight * (double)dy[(fwd->average ? 0 : (size_t)h * width) + j];
    *dscore += (double)op->dscore[at];
}

/* dz of one head, and its share of datt. */
static void ref_source(const struct og_attend_back *op, const float *kept, uint32_t u, int h,
                       double *dz, double *datt)
{
    const struct og_attend *fwd = op->forward;
    const struct og_block *b = fwd->block;
    size_t width = (size_t)fwd->width, heads = (size_t)fwd->heads;
    double from = 0, to = 0;
    memset(dz, 0, width * sizeof(*dz));
    for (uint32_t e = op->indptr[u]; e < op->indptr[u + 1]; e++) {
        size_t at = ((size_t)op->edge[e] + op->col[e]) * heads + (size_t)h;
        add_flow(op, kept, op->col[e], at, h, dz, &from);
    }
    if (u < b->n_dst && !fwd->apart) {
        size_t at = coefficient_at(fwd, u, b->indptr[u + 1] - b->indptr[u], h);
        add_flow(op, kept, u, at, h, dz, &from);
        to = (double)fwd->score_dst[u * heads + (size_t)h];
    }
    for (size_t j = 0; j < width; j++) {
        size_t k = (size_t)h * width + j;
        double z = source_at_head(fwd, u, h, j);
        datt[k] += from * z;
        datt[heads * width + k] += to * z;
        dz[j] += from * (double)fwd->att_src[k] + (fwd->apart ? 0 : to * (double)fwd->att_dst[k]);
    }
}

/* dz has a part for each head, or their sum where they share. */
static void ref_attend_back(struct og_nn_backend *be, const struct og_attend_back *op)
{
    (void)be;
    const struct og_attend *fwd = op->forward;
    const struct og_block *b = fwd->block;
    size_t heads = (size_t)fwd->heads, width = (size_t)fwd->width, f = heads * width;
    double *datt = calloc(4 * f, sizeof(*datt)), *dz = datt + 2 * f;
    float *kept = kept_of(fwd);
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (int h = 0; h < fwd->heads; h++)
            ref_score_slopes(op, kept, v, h);
    for (uint32_t u = 0; u < b->n_src; u++) {
        for (int h = 0; h < fwd->heads; h++)
            ref_source(op, kept, u, h, dz + (size_t)h * width, datt);
        for (size_t h = 1; fwd->shared && h < heads; h++)
            for (size_t j = 0; j < width; j++)
                dz[j] += dz[h * width + j];
        size_t cols = fwd->shared ? width : f;
        for (size_t j = 0; op->dz && j < cols; j++)
            op->dz[u * cols + j] = (float)dz[j];
    }
    for (size_t k = 0; k < f; k++) {
        op->datt_src[k] = (float)datt[k];
        if (!fwd->apart)
            op->datt_dst[k] = (float)datt[f + k];
    }
    free(kept);
    free(datt);
}

static void ref_fold(struct og_nn_backend *be, const struct og_fold *op)
{
    (void)be;
    size_t n = (size_t)op->n_in, width = (size_t)op->width;
    for (size_t h = 0; h < (size_t)op->heads; h++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t c = h * width; c < (h + 1) * width; c++)
                sum += (double)op->att[c] * (double)op->weight[c * n + j];
            op->out[h * n + j] = (float)sum;
        }
}

static void ref_fold_back(struct og_nn_backend *be, const struct og_fold_back *op)
{
    (void)be;
    const struct og_fold *fwd = op->forward;
    size_t n = (size_t)fwd->n_in, width = (size_t)fwd->width;
    for (size_t c = 0; c < (size_t)fwd->heads * width; c++) {
        const float *dout = op->dout + c / width * n;
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            sum += (double)fwd->weight[c * n + j] * (double)dout[j];
            op->dweight[c * n + j] += (float)((double)fwd->att[c] * (double)dout[j]);
        }
        op->datt[c] = (float)sum;
    }
}

/* ==== the largest of the neighbours ==== */

static void ref_pool_max(struct og_nn_backend *be, const struct og_pool_max *op)
{
    (void)be;
    const struct og_block *b = op->block;
    size_t n = (size_t)op->x.dim;
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (size_t j = 0; j < n; j++) {
            uint32_t best = OG__NOWHERE;
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
                if (best == OG__NOWHERE || isnan(element(&op->x, b->src[e], (int)j)) ||
                    element(&op->x, b->src[e], (int)j) > element(&op->x, best, (int)j))
                    best = b->src[e];
            op->y[v * n + j] = best == OG__NOWHERE ? 0 : (float)element(&op->x, best, (int)j);
            if (op->from)
                op->from[v * n + j] = best;
        }
}

static void ref_pool_max_back(struct og_nn_backend *be, const struct og_pool_max_back *op)
{
    (void)be;
    size_t n = (size_t)op->dim;
    for (uint32_t u = 0; u < op->n_src; u++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint32_t e = op->indptr[u]; e < op->indptr[u + 1]; e++) {
                uint32_t v = op->col[e];
                bool again = e > op->indptr[u] && op->col[e - 1] == v;
                if (!again && op->from[v * n + j] == u)
                    sum += (double)op->dy[v * n + j];
            }
            float *x = &op->x[u * n + j];
            *x = *x > 0 ? (float)sum : 0;
        }
}

/* ==== blocks ==== */

/* By definition: the size of a neighbourhood, of which `without` says what does not count. */
static double ref_degree(const struct og_block *b, uint32_t v, bool without_self)
{
    double degree = 0;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        degree += !(without_self && b->src[e] == v);
    return degree;
}

static double ref_weights(const struct og_block *b, uint32_t v)
{
    double sum = 0;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        sum += b->weight ? (double)b->weight[e] : 1;
    return sum;
}

static double ref_divisor(const struct og_scale *op, uint32_t v)
{
    const struct og_block *b = op->block;
    switch (op->kind) {
    case OG__SYMMETRIC:
        return sqrt(1 + (v < b->n_dst ? ref_degree(b, v, true) : b->degree[v - b->n_dst]));
    case OG__MEAN:
        return ref_degree(b, v, false);
    case OG__MEAN_AND_SELF:
        return 1 + ref_degree(b, v, true);
    case OG__WEIGHTED_MEAN:
        return ref_weights(b, v);
    default:
        return 1;
    }
}

static void ref_scale(struct og_nn_backend *be, const struct og_scale *op)
{
    (void)be;
    bool all = op->kind == OG__SYMMETRIC && op->block->degree;
    for (uint32_t v = 0; v < (all ? op->block->n_src : op->block->n_dst); v++) {
        double divisor = ref_divisor(op, v);
        op->scale[v] = divisor > 0 ? (float)(1 / divisor) : 0;
    }
}

static void ref_transpose(struct og_nn_backend *be, const struct og_transpose *op)
{
    (void)be;
    const struct og_block *b = op->block;
    uint32_t n = 0;
    op->indptr[0] = 0;
    for (uint32_t u = 0; u < b->n_src; u++) {
        for (uint32_t v = 0; v < b->n_dst; v++)
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
                if (b->src[e] == u) {
                    op->col[n] = v;
                    if (op->edge)
                        op->edge[n] = e;
                    n++;
                }
        op->indptr[u + 1] = n;
    }
}

/* ==== the end of a hidden layer ==== */

static void ref_track(struct og_nn_backend *be, const struct og_track *op)
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

static void ref_rstd(struct og_nn_backend *be, const struct og_rstd *op)
{
    (void)be;
    for (int j = 0; j < op->cols; j++)
        op->rstd[j] = (float)(1 / sqrt((double)op->var[j] + (double)OG__NORM_EPS));
}

static void ref_moments(struct og_nn_backend *be, const struct og_moments *op)
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

static void ref_finish(struct og_nn_backend *be, const struct og_finish *op)
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

static void ref_finish_back(struct og_nn_backend *be, const struct og_finish_back *back)
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

/* ==== losses ==== */

static void ref_softmax_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    const int32_t *labels = op->labels;
    *out = (struct og_metrics){0};
    for (uint32_t r = 0; r < op->rows; r++)
        out->counted += labels[r] >= 0 && labels[r] < op->cols;
    for (uint32_t r = 0; r < op->rows; r++) {
        const float *x = op->logits + (size_t)r * (size_t)op->cols;
        bool counts = labels[r] >= 0 && labels[r] < op->cols;
        int best = 0;
        double sum = 0;
        for (int j = 0; j < op->cols; j++) {
            sum += exp((double)x[j]);
            best = x[j] > x[best] ? j : best;
        }
        if (counts) {
            double loss = log(sum) - (double)x[labels[r]];
            out->loss_sum += loss;
            out->correct += best == labels[r] && !isnan(loss);
        }
        for (int j = 0; op->grad && j < op->cols; j++) {
            double share = exp((double)x[j]) / sum - (j == labels[r]);
            op->grad[(size_t)r * (size_t)op->cols + (size_t)j] =
                counts ? (float)(share / (double)out->counted) : 0;
        }
    }
}

static void ref_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    *out = (struct og_metrics){.counted = op->rows};
    size_t n = (size_t)op->rows * (size_t)op->cols;
    for (size_t i = 0; i < n; i++) {
        double x = (double)op->logits[i], y = (double)((const float *)op->labels)[i];
        double p = 1 / (1 + exp(-x));
        out->loss_sum -= (y * log(p) + (1 - y) * log1p(-p)) / (double)op->cols;
        out->true_positive += x > 0 && y > 0.5;
        out->false_positive += x > 0 && y <= 0.5;
        out->false_negative += x <= 0 && y > 0.5;
        if (op->grad)
            op->grad[i] = (float)((p - y) / (double)n);
    }
}

static double loss_of_error(int loss, double d, double *slope)
{
    const bool near = fabs(d) <= 1;
    switch (loss) {
    case OG_LOSS_MAE:
        *slope = (double)((d > 0) - (d < 0));
        return fabs(d);
    case OG_LOSS_HUBER:
        *slope = near ? d : copysign(1, d);
        return near ? d * d / 2 : fabs(d) - 0.5;
    default:
        *slope = 2 * d;
        return d * d;
    }
}

static void ref_value_loss(struct og_nn_backend *be, const struct og_value_loss *op)
{
    (void)be;
    struct og_metrics *out = op->rows.out;
    const struct og_loss *l = &op->rows;
    size_t cols = (size_t)l->cols, n = l->rows * cols;
    const float *labels = l->labels;
    *out = (struct og_metrics){0};
    for (size_t i = 0; i < n; i++)
        out->values += !isnan(labels[i]);
    for (uint32_t r = 0; r < l->rows; r++) {
        bool any = false;
        for (size_t i = r * cols; i < (r + 1) * cols; i++) {
            double y = (double)labels[i], d = (double)l->logits[i] - y;
            bool there = !isnan(y);
            any |= there;
            if (there) {
                out->absolute += fabs(d);
                out->squared += d * d;
                out->value_sum += y;
                out->value_squares += y * y;
            }
            double slope = 0, loss = loss_of_error(op->loss, d, &slope);
            if (there)
                out->loss_sum += loss;
            if (l->grad)
                l->grad[i] = there ? (float)(slope / (double)out->values) : 0;
        }
        out->counted += any;
    }
}

/* ==== pairs ==== */

static void ref_pair_product(struct og_nn_backend *be, const struct og_pair_op *op)
{
    (void)be;
    size_t dim = (size_t)op->dim;
    for (uint32_t p = 0; p < op->n; p++)
        for (size_t j = 0; j < dim; j++)
            op->out[p * dim + j] = op->h[op->a[p] * dim + j] * op->h[op->b[p] * dim + j];
}

static void ref_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op)
{
    (void)be;
    size_t dim = (size_t)op->dim;
    for (uint32_t p = 0; p < op->n; p++) {
        double sum = 0;
        for (size_t j = 0; j < dim; j++)
            sum += (double)op->h[op->a[p] * dim + j] * (double)op->h[op->b[p] * dim + j];
        op->out[p] = (float)sum;
    }
}

static void ref_pair_list(struct og_nn_backend *be, const struct og_pair_list *op)
{
    (void)be;
    uint32_t n = 0;
    for (uint32_t r = 0; r < op->n_rows; r++) {
        op->first[r] = n;
        for (uint32_t p = 0; p < op->n; p++) {
            if (op->a[p] == r)
                op->pair[n++] = 2 * p;
            if (op->b[p] == r)
                op->pair[n++] = 2 * p + 1;
        }
    }
    op->first[op->n_rows] = n;
}

static void ref_rank(struct og_nn_backend *be, const struct og_rank *op)
{
    (void)be;
    const struct og_pairs *p = op->pairs;
    for (uint32_t i = 0; i < p->n_edges; i++) {
        double rank = isnan(op->score[i]) ? NAN : 1;
        for (uint32_t k = 0; k < p->n_rivals; k++) {
            uint32_t r = p->n_edges + p->n_negatives + i * p->n_rivals + k;
            if (p->b[r] != p->a[i] && p->b[r] != p->b[i])
                rank += isnan(op->score[r])            ? NAN
                        : op->score[r] > op->score[i]  ? 1
                        : op->score[r] == op->score[i] ? 0.5
                                                       : 0;
        }
        op->out->ranked++;
        op->out->reciprocal_ranks += 1 / rank;
        for (int k = 0; k < OG__HITS; k++)
            op->out->hits[k] += rank <= og__hits_at[k];
    }
}

static void ref_pair_back(struct og_nn_backend *be, const struct og_pair_back *op)
{
    (void)be;
    const struct og_pair_op *f = op->forward;
    size_t dim = (size_t)f->dim, n = op->n_rows * dim;
    double *sum = calloc(n + 1, sizeof(*sum));
    for (uint32_t p = 0; p < f->n; p++)
        for (size_t j = 0; j < dim; j++) {
            double g = (double)(op->wide ? op->g[p * dim + j] : op->g[p]);
            sum[f->a[p] * dim + j] += g * (double)f->h[f->b[p] * dim + j];
            sum[f->b[p] * dim + j] += g * (double)f->h[f->a[p] * dim + j];
        }
    for (size_t i = 0; i < n; i++)
        op->dh[i] = (float)sum[i];
    free(sum);
}

static void ref_link_loss(struct og_nn_backend *be, const struct og_link_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    uint32_t n_negatives = op->n_edges * op->each, n = op->n_edges + n_negatives;
    double loss = 0;
    *out = (struct og_metrics){.counted = op->n_edges, .compared = n_negatives};
    for (uint32_t p = 0; op->grad && p < n; p++)
        op->grad[p] = 0;
    for (uint32_t p = 0; op->loss == OG_LOSS_BCE && p < n; p++) {
        double s = (double)op->score[p], sign = p < op->n_edges ? -1 : 1;
        double share = 0.5 / (p < op->n_edges ? op->n_edges : n_negatives);
        loss += share * log1p(exp(sign * s));
        if (op->grad)
            op->grad[p] = (float)(share * sign / (1 + exp(-sign * s)));
    }
    for (uint32_t k = 0; k < n_negatives; k++) {
        uint32_t i = k / op->each, p = op->n_edges + k;
        double above = (double)op->score[i] - (double)op->score[p];
        out->twice_ordered += above > 0 ? 2 : above == 0;
        if (op->loss != OG_LOSS_MARGIN || above >= 1)
            continue;
        loss += (1 - above) / n_negatives;
        if (op->grad) {
            op->grad[i] -= 1.0f / (float)n_negatives;
            op->grad[p] += 1.0f / (float)n_negatives;
        }
    }
    out->loss_sum = loss * op->n_edges;
}

static void ref_adam(struct og_nn_backend *be, const struct og_update *op)
{
    (void)be;
    for (size_t i = 0; i < op->n; i++) {
        double g = (double)op->grad[i] + op->weight_decay * (double)op->value[i];
        double m = 0.9 * (double)op->m[i] + 0.1 * g;
        double v = 0.999 * (double)op->v[i] + 0.001 * g * g;
        op->m[i] = (float)m;
        op->v[i] = (float)v;
        op->value[i] -= (float)(op->rate * m / (sqrt(v) / op->root + 1e-8));
    }
}

static void ref_sgd(struct og_nn_backend *be, const struct og_update *op)
{
    (void)be;
    for (size_t i = 0; i < op->n; i++) {
        double g = (double)op->grad[i] + op->weight_decay * (double)op->value[i];
        op->value[i] -= (float)(op->rate * g);
    }
}

OG__NEVER_FAILS(ref_scale, og_scale)
OG__NEVER_FAILS(ref_transpose, og_transpose)
OG__NEVER_FAILS(ref_track, og_track)
OG__NEVER_FAILS(ref_rstd, og_rstd)
OG__NEVER_FAILS(ref_pair_list, og_pair_list)
OG__NEVER_FAILS(ref_rank, og_rank)
OG__NEVER_FAILS(ref_dot, og_dot)
OG__NEVER_FAILS(ref_attend, og_attend)
OG__NEVER_FAILS(ref_attend_back, og_attend_back)
OG__NEVER_FAILS(ref_fold, og_fold)
OG__NEVER_FAILS(ref_fold_back, og_fold_back)
OG__NEVER_FAILS(ref_pool_max, og_pool_max)
OG__NEVER_FAILS(ref_pool_max_back, og_pool_max_back)
OG__NEVER_FAILS(ref_moments, og_moments)
OG__NEVER_FAILS(ref_finish, og_finish)
OG__NEVER_FAILS(ref_finish_back, og_finish_back)
OG__NEVER_FAILS(ref_softmax_loss, og_loss)
OG__NEVER_FAILS(ref_sigmoid_loss, og_loss)
OG__NEVER_FAILS(ref_value_loss, og_value_loss)
OG__NEVER_FAILS(ref_pair_dot, og_pair_op)
OG__NEVER_FAILS(ref_pair_product, og_pair_op)
OG__NEVER_FAILS(ref_pair_back, og_pair_back)
OG__NEVER_FAILS(ref_link_loss, og_link_loss)
OG__NEVER_FAILS(ref_adam, og_update)
OG__NEVER_FAILS(ref_sgd, og_update)

const struct og_nn_ops og__ops_reference = {.name = "reference",
                                            .pack = ref_pack,
                                            .scale = ref_scale_op,
                                            .transpose = ref_transpose_op,
                                            .affine = ref_affine,
                                            .weight_grad = ref_weight_grad,
                                            .dot = ref_dot_op,
                                            .attend = ref_attend_op,
                                            .attend_back = ref_attend_back_op,
                                            .fold = ref_fold_op,
                                            .fold_back = ref_fold_back_op,
                                            .pool_max = ref_pool_max_op,
                                            .pool_max_back = ref_pool_max_back_op,
                                            .moments = ref_moments_op,
                                            .track = ref_track_op,
                                            .rstd = ref_rstd_op,
                                            .finish = ref_finish_op,
                                            .finish_back = ref_finish_back_op,
                                            .softmax_loss = ref_softmax_loss_op,
                                            .sigmoid_loss = ref_sigmoid_loss_op,
                                            .value_loss = ref_value_loss_op,
                                            .pair_dot = ref_pair_dot_op,
                                            .pair_product = ref_pair_product_op,
                                            .pair_list = ref_pair_list_op,
                                            .pair_back = ref_pair_back_op,
                                            .link_loss = ref_link_loss_op,
                                            .rank = ref_rank_op,
                                            .adam = ref_adam_op,
                                            .sgd = ref_sgd_op};
