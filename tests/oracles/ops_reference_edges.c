/* Rows of edges, GINE's sum and attention by dot products, as plain loops. */
#include "oracles/ops_reference_parts.h"

#include "dataset/convert.h"
#include "nn/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== rows as a matrix ==== */

static double edge_element(const struct og_edge_rows *rows, uint32_t i, int j)
{
    float x;
    og__row_widen(&x, &rows->units, og__edge_row(rows, i), (size_t)j, 1);
    return (double)x;
}

void og__ref_edge_fill(struct og_nn_backend *be, const struct og_edge_fill *op)
{
    (void)be;
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->rows->dim;
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (size_t j = 0; j < dim; j++) {
            double sum = 0;
            uint32_t n = 0;
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
                const double x = edge_element(op->rows, b->edge[e], (int)j);
                op->x[(e + (op->loops ? v : 0)) * dim + j] = (float)x;
                sum += op->apart || b->src[e] == v ? 0 : x;
                n += b->src[e] != v;
            }
            if (op->loops)
                op->x[((size_t)b->indptr[v + 1] + v) * dim + j] = n ? (float)(sum / n) : 0;
        }
}

/* ==== GINE's sum ==== */

void og__ref_edge_sum(struct og_nn_backend *be, const struct og_edge_sum *op)
{
    (void)be;
    const struct og_block *b = op->block;
    const size_t dim = (size_t)op->x.dim;
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (size_t j = 0; j < dim; j++) {
            double sum = (1 + (double)*op->eps) * og__ref_element(&op->own, v, (int)j);
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
                sum += fmax(0, og__ref_element(&op->x, b->src[e], (int)j) +
                                   (double)op->by_edge[e * dim + j]);
            op->y[v * dim + j] = (float)sum;
        }
}

void og__ref_edge_sum_back(struct og_nn_backend *be, const struct og_edge_sum_back *op)
{
    (void)be;
    const struct og_edge_sum *fwd = op->forward;
    const struct og_block *b = fwd->block;
    const size_t dim = (size_t)fwd->x.dim;
    for (size_t j = 0; j < dim; j++) {
        double *dx = calloc(b->n_src, sizeof(*dx));
        for (uint32_t v = 0; v < b->n_dst; v++) {
            const double dy = (double)op->dy[v * dim + j];
            dx[v] += op->own ? (1 + (double)*fwd->eps) * dy : 0;
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
                float *x = &fwd->by_edge[e * dim + j];
                const bool flows = og__ref_element(&fwd->x, b->src[e], (int)j) + (double)*x > 0;
                *x = flows ? (float)dy : 0;
                dx[b->src[e]] += flows ? dy : 0;
            }
        }
        for (uint32_t u = 0; op->dx && u < b->n_src; u++)
            op->dx[u * dim + j] = (float)dx[u];
        free(dx);
    }
}

/* ==== attention by dot products ==== */

static size_t all_heads(const struct og_dots *op)
{
    return (size_t)op->heads * (size_t)op->width;
}

/* Key (side 0) or value (1) of edge e, with its own term. j counts through the heads. */
static double message_of(const struct og_dots *op, uint32_t e, int side, size_t j)
{
    const size_t f = all_heads(op);
    return og__ref_element(&op->z, op->block->src[e], (int)((size_t)side * f + j)) +
           (op->by_edge ? (double)op->by_edge[e * f + j] : 0);
}

static double score_at(const struct og_dots *op, uint32_t v, uint32_t e, size_t h)
{
    const size_t width = (size_t)op->width;
    double sum = 0;
    for (size_t j = h * width; j < (h + 1) * width; j++)
        sum += (double)op->query[v * all_heads(op) + j] * message_of(op, e, 0, j);
    return sum / sqrt((double)width);
}

/* What dropout makes of n ones. The caller frees it. */
static float *kept_coefficients(const struct og_dots *op)
{
    const struct og_block *b = op->block;
    const size_t heads = (size_t)op->heads;
    float *kept = malloc((b->n_edges * heads + 1) * sizeof(*kept));
    for (size_t i = 0; i < b->n_edges * heads; i++)
        kept[i] = 1;
    for (uint32_t v = 0; op->dropout && v < b->n_dst; v++)
        og__dropout_coefficients(op->dropout, b->indptr[v], b->indptr[v + 1] - b->indptr[v], heads,
                                 kept + b->indptr[v] * heads);
    return kept;
}

/* Coefficients of head h of v, and its share of y. */
static void dots_of_head(const struct og_dots *op, const float *kept, uint32_t v, size_t h,
                         double *y)
{
    const struct og_block *b = op->block;
    const size_t heads = (size_t)op->heads, width = (size_t)op->width;
    double sum = 0;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        sum += exp(score_at(op, v, e, h));
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
        const double alpha = exp(score_at(op, v, e, h)) / sum;
        const double counts = alpha * (double)kept[e * heads + h];
        op->alpha[e * heads + h] = (float)alpha;
        if (op->dropout)
            op->dropped[e * heads + h] = (float)counts;
        for (size_t j = 0; j < width; j++)
            y[op->average ? j : h * width + j] +=
                counts * message_of(op, e, 1, h * width + j) / (op->average ? op->heads : 1);
    }
}

void og__ref_dots(struct og_nn_backend *be, const struct og_dots *op)
{
    (void)be;
    const size_t cols = op->average ? (size_t)op->width : all_heads(op);
    float *kept = kept_coefficients(op);
    double *y = malloc(all_heads(op) * sizeof(*y));
    for (uint32_t v = 0; v < op->block->n_dst; v++) {
        for (size_t j = 0; j < cols; j++)
            y[j] = op->add ? (double)op->y[v * cols + j] : 0;
        for (size_t h = 0; h < (size_t)op->heads; h++)
            dots_of_head(op, kept, v, h, y);
        for (size_t j = 0; j < cols; j++)
            op->y[v * cols + j] = (float)y[j];
    }
    free(y);
    free(kept);
}

/* The gradient of y[v, j], of a head's part of the row. */
static double dots_slope(const struct og_dots_back *op, uint32_t v, size_t h, size_t j)
{
    const struct og_dots *fwd = op->forward;
    const size_t width = (size_t)fwd->width;
    return fwd->average ? (double)op->dy[v * width + j] / fwd->heads
                        : (double)op->dy[v * all_heads(fwd) + h * width + j];
}

/* Gradients of the scores of v in head h, into d by edge. */
static void score_gradients(const struct og_dots_back *op, const float *kept, uint32_t v, size_t h,
                            double *d)
{
    const struct og_dots *fwd = op->forward;
    const struct og_block *b = fwd->block;
    const size_t heads = (size_t)fwd->heads, width = (size_t)fwd->width;
    double mean = 0;
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
        d[e] = 0;
        for (size_t j = 0; j < width; j++)
            d[e] += dots_slope(op, v, h, j) * message_of(fwd, e, 1, h * width + j);
        d[e] *= (double)kept[e * heads + h];
        mean += (double)fwd->alpha[e * heads + h] * d[e];
    }
    for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
        d[e] = (double)fwd->alpha[e * heads + h] * (d[e] - mean) / sqrt((double)width);
}

/* All sums are by edge, in the order of destinations; the transposed block is not needed. */
void og__ref_dots_back(struct og_nn_backend *be, const struct og_dots_back *op)
{
    (void)be;
    const struct og_dots *fwd = op->forward;
    const struct og_block *b = fwd->block;
    const size_t heads = (size_t)fwd->heads, width = (size_t)fwd->width, f = all_heads(fwd);
    float *kept = kept_coefficients(fwd);
    double *d = malloc((b->n_edges + 1) * sizeof(*d));
    double *dz = calloc(b->n_src * 2 * f, sizeof(*dz)),
           *de = calloc(b->n_edges * f + 1, sizeof(*de));
    double *dq = calloc(b->n_dst * f, sizeof(*dq));
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (size_t h = 0; h < heads; h++) {
            score_gradients(op, kept, v, h, d);
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
                for (size_t j = 0; j < width; j++) {
                    const size_t k = h * width + j;
                    const double p =
                        (double)fwd->alpha[e * heads + h] * (double)kept[e * heads + h];
                    const double to_key = d[e] * (double)fwd->query[v * f + k];
                    const double to_value = p * dots_slope(op, v, h, j);
                    dq[v * f + k] += d[e] * message_of(fwd, e, 0, k);
                    dz[b->src[e] * 2 * f + k] += to_key;
                    dz[b->src[e] * 2 * f + f + k] += to_value;
                    de[e * f + k] = to_key + to_value;
                }
        }
    for (size_t i = 0; i < b->n_src * 2 * f; i++)
        op->dz[i] = (float)dz[i];
    for (size_t i = 0; i < b->n_dst * f; i++)
        op->dquery[i] = (float)dq[i];
    for (size_t i = 0; fwd->by_edge && i < b->n_edges * f; i++)
        fwd->by_edge[i] = (float)de[i];
    free(kept);
    free(d);
    free(dz);
    free(de);
    free(dq);
}
