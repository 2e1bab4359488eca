/* Attention, and vectors through a matrix, as plain loops. */
#include "oracles/ops_reference_parts.h"

#include "nn/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* z[u, h, j] */
static double source_at_head(const struct og_attend *op, uint32_t u, int h, size_t j)
{
    return og__ref_element(&op->z, u, (op->shared ? 0 : h * op->width) + (int)j);
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

static double leaky(double x)
{
    return x > 0 ? x : (double)OG__LEAK * x;
}

/* The term of coefficient i of v, in column k of `cols`. */
static double edge_term(const struct og_attend *op, uint32_t v, uint32_t i, size_t cols, size_t k)
{
    const size_t at = (size_t)op->block->indptr[v] + v + i;
    return op->by_edge ? (double)op->by_edge[at * cols + k] : 0;
}

/* z[u, h, j] + z_dst[v, h, j], which is part of coefficient i's term if there are such terms. */
static double sum_at(const struct og_attend *op, uint32_t v, uint32_t i, uint32_t u, int h,
                     size_t j)
{
    size_t width = (size_t)op->width, f = (size_t)op->heads * width, k = (size_t)h * width + j;
    double own = op->by_edge ? edge_term(op, v, i, f, k) : (double)op->z_dst[v * f + k];
    return source_at_head(op, u, h, j) + own;
}

static double score_of(const struct og_attend *op, uint32_t v, uint32_t i, uint32_t u, int h)
{
    size_t width = (size_t)op->width;
    double sum = 0;
    if (op->scoring == OG__BY_ENDS)
        return leaky(
            score_part(op, op->att_src, u, h) +
            (op->by_edge ? edge_term(op, v, i, (size_t)op->heads, (size_t)h) : own_part(op, v, h)));
    for (size_t j = 0; j < width; j++)
        sum += (double)op->att_src[(size_t)h * width + j] * leaky(sum_at(op, v, i, u, h, j));
    return sum;
}

/* Adds the destinations' terms to those of their coefficients. */
static void add_own_terms(const struct og_attend *op)
{
    const bool by_ends = op->scoring == OG__BY_ENDS;
    const size_t heads = (size_t)op->heads;
    const size_t cols = by_ends ? heads : heads * (size_t)op->width;
    for (uint32_t v = 0; op->by_edge && v < op->block->n_dst; v++)
        for (uint32_t i = 0; i < coefficients_of(op, v); i++)
            for (size_t k = 0; k < cols; k++)
                op->by_edge[((size_t)op->block->indptr[v] + v + i) * cols + k] +=
                    by_ends ? (float)own_part(op, v, (int)k) : op->z_dst[v * cols + k];
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
            double score = source_at(op, v, i, &u) ? exp(score_of(op, v, i, u, h)) : 0;
            sum += pass == 0 ? score : 0;
            if (pass == 1)
                op->alpha[coefficient_at(op, v, i, h)] = (float)(score / sum);
        }
    }
}

static bool thins(const struct og_attend *op)
{
    return op->dropout || op->block->weight;
}

static double attended(const struct og_attend *op, uint32_t v, int h, int j)
{
    const float *alpha = thins(op) ? op->dropped : op->alpha;
    uint32_t n = coefficients_of(op, v), u;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (source_at(op, v, i, &u))
            sum += (double)alpha[coefficient_at(op, v, i, h)] * source_at_head(op, u, h, (size_t)j);
    return sum;
}

/* All coefficients of p through dropout, and those of edges times their weights. */
static void ref_drop(const struct og_attend *op, float *p)
{
    for (uint32_t v = 0; op->dropout && v < op->block->n_dst; v++)
        og__dropout_attention(op, v, p + coefficient_at(op, v, 0, 0));
    const struct og_block *b = op->block;
    for (uint32_t v = 0; b->weight && v < b->n_dst; v++)
        for (uint32_t i = 0; i < b->indptr[v + 1] - b->indptr[v]; i++)
            for (int h = 0; h < op->heads; h++)
                p[coefficient_at(op, v, i, h)] *= b->weight[b->indptr[v] + i];
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

void og__ref_attend(struct og_nn_backend *be, const struct og_attend *op)
{
    (void)be;
    uint32_t n_dst = op->block->n_dst;
    if (op->scoring == OG__BY_ENDS)
        ref_scores(op);
    add_own_terms(op);
    for (uint32_t v = 0; v < n_dst; v++)
        for (int h = 0; h < op->heads; h++)
            ref_softmax(op, v, h);
    if (thins(op))
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

/* By ends: the slope of the leaky ReLU that the score of u and v ends in. */
static double leak_of(const struct og_attend *op, uint32_t v, uint32_t i, uint32_t u, int h)
{
    size_t heads = (size_t)op->heads, head = (size_t)h;
    if (op->scoring != OG__BY_ENDS)
        return 1;
    double score = (double)op->score_src[u * heads + head];
    score +=
        op->by_edge ? edge_term(op, v, i, heads, head) : (double)op->score_dst[v * heads + head];
    return score > 0 ? 1 : (double)OG__LEAK;
}

static void ref_score_slopes(const struct og_attend_back *op, const float *kept, uint32_t v, int h)
{
    const struct og_attend *fwd = op->forward;
    uint32_t n = coefficients_of(fwd, v), u;
    double mean = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = coefficient_at(fwd, v, i, h);
        if (source_at(fwd, v, i, &u))
            mean += (double)fwd->alpha[at] * (double)kept[at] * alpha_slope(op, v, u, h);
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t at = coefficient_at(fwd, v, i, h);
        source_at(fwd, v, i, &u);
        double of_alpha = (double)kept[at] * alpha_slope(op, v, u, h);
        double slope = leak_of(fwd, v, i, u, h) * (double)fwd->alpha[at] * (of_alpha - mean);
        op->dscore[at] = (float)slope;
        sum += slope;
    }
    if (fwd->scoring == OG__BY_ENDS)
        fwd->score_dst[(size_t)v * (size_t)fwd->heads + (size_t)h] = (float)sum;
}

/* Adds what the score of coefficient `at`, of u and v, passes on to both rows and att. Scores are
 * of sums. */
static void hand_on(const struct og_attend_back *op, uint32_t v, uint32_t u, size_t at, int h,
                    double *dz, double *dz_dst, double *datt)
{
    const struct og_attend *fwd = op->forward;
    size_t width = (size_t)fwd->width;
    const uint32_t i = (uint32_t)(at / (size_t)fwd->heads - ((size_t)fwd->block->indptr[v] + v));
    double slope = (double)op->dscore[at];
    for (size_t j = 0; j < width; j++) {
        size_t k = (size_t)h * width + j;
        double sum = sum_at(fwd, v, i, u, h, j);
        double of_sum = slope * (double)fwd->att_src[k] * (sum > 0 ? 1 : (double)OG__LEAK);
        if (dz)
            dz[j] += of_sum;
        if (dz_dst)
            dz_dst[j] += of_sum;
        if (datt)
            datt[k] += slope * leaky(sum);
    }
}

static void ref_destination(const struct og_attend_back *op, uint32_t v, int h, double *dz_dst)
{
    const struct og_attend *fwd = op->forward;
    size_t width = (size_t)fwd->width, f = (size_t)fwd->heads * width;
    uint32_t n = coefficients_of(fwd, v), u;
    memset(dz_dst, 0, width * sizeof(*dz_dst));
    for (uint32_t i = 0; i < n; i++)
        if (source_at(fwd, v, i, &u))
            hand_on(op, v, u, coefficient_at(fwd, v, i, h), h, NULL, dz_dst, NULL);
    for (size_t j = 0; j < width; j++)
        op->dz_dst[v * f + (size_t)h * width + j] = (float)dz_dst[j];
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
    const bool by_ends = fwd->scoring == OG__BY_ENDS;
    for (uint32_t e = op->indptr[u]; e < op->indptr[u + 1]; e++) {
        size_t at = ((size_t)op->edge[e] + op->col[e]) * heads + (size_t)h;
        add_flow(op, kept, op->col[e], at, h, dz, &from);
        if (!by_ends)
            hand_on(op, op->col[e], u, at, h, dz, NULL, datt);
    }
    if (u < b->n_dst && !fwd->apart) {
        size_t at = coefficient_at(fwd, u, b->indptr[u + 1] - b->indptr[u], h);
        add_flow(op, kept, u, at, h, dz, &from);
        to = by_ends ? (double)fwd->score_dst[u * heads + (size_t)h] : 0;
        if (!by_ends)
            hand_on(op, u, u, at, h, dz, NULL, datt);
    }
    if (!by_ends)
        return;
    for (size_t j = 0; j < width; j++) {
        size_t k = (size_t)h * width + j;
        double z = source_at_head(fwd, u, h, j);
        datt[k] += from * z;
        datt[heads * width + k] += to * z;
        dz[j] += from * (double)fwd->att_src[k] + (fwd->apart ? 0 : to * (double)fwd->att_dst[k]);
    }
}

/* Terms of edges become their gradients by sums. By ends dscore has them, and 0 where there is no
 * coefficient. */
static void replace_terms(const struct og_attend_back *op)
{
    const struct og_attend *fwd = op->forward;
    const size_t heads = (size_t)fwd->heads, width = (size_t)fwd->width, f = heads * width;
    for (uint32_t v = 0; fwd->by_edge && v < fwd->block->n_dst; v++) {
        const uint32_t n = coefficients_of(fwd, v);
        for (size_t h = 0; h < heads; h++) {
            for (uint32_t i = 0; fwd->scoring == OG__BY_SUMS && i < n; i++) {
                const size_t at = coefficient_at(fwd, v, i, (int)h);
                uint32_t u;
                source_at(fwd, v, i, &u);
                for (size_t j = 0; j < width; j++) {
                    const double sum = sum_at(fwd, v, i, u, (int)h, j);
                    fwd->by_edge[at / heads * f + h * width + j] =
                        (float)((double)op->dscore[at] * (double)fwd->att_src[h * width + j] *
                                (sum > 0 ? 1 : (double)OG__LEAK));
                }
            }
            if (fwd->apart && fwd->scoring == OG__BY_ENDS)
                op->dscore[coefficient_at(fwd, v, n, (int)h)] = 0;
        }
    }
}

/* dz has a part for each head, or their sum where they share. */
void og__ref_attend_back(struct og_nn_backend *be, const struct og_attend_back *op)
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
    for (uint32_t v = 0; fwd->scoring == OG__BY_SUMS && v < b->n_dst; v++)
        for (int h = 0; h < fwd->heads; h++)
            ref_destination(op, v, h, dz);
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
        if (fwd->scoring == OG__BY_ENDS && !fwd->apart)
            op->datt_dst[k] = (float)datt[f + k];
    }
    replace_terms(op);
    free(kept);
    free(datt);
}

void og__ref_fold(struct og_nn_backend *be, const struct og_fold *op)
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

void og__ref_fold_back(struct og_nn_backend *be, const struct og_fold_back *op)
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
