/* Scores, ranks and losses of pairs as plain loops. */
#include "oracles/ops_reference_parts.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void og__ref_pair_product(struct og_nn_backend *be, const struct og_pair_op *op)
{
    (void)be;
    size_t dim = (size_t)op->dim;
    for (uint32_t p = 0; p < op->n; p++)
        for (size_t j = 0; j < dim; j++) {
            const float a = op->h[op->a[p] * dim + j], b = op->h[op->b[p] * dim + j];
            if (op->joins) {
                op->out[2 * p * dim + j] = a;
                op->out[(2 * p + 1) * dim + j] = b;
            } else {
                op->out[p * dim + j] = a * b;
            }
        }
}

/* A pair's rows and the vector of its kind, 1 where the decoder has none. */
struct triple {
    size_t dim;
    double *a, *b, *w;
};

static struct triple triple_of(const struct og_pair_op *op, uint32_t p)
{
    struct triple t = {.dim = (size_t)op->dim};
    t.a = calloc(3 * t.dim, sizeof(*t.a));
    t.b = t.a + t.dim;
    t.w = t.b + t.dim;
    for (size_t j = 0; j < t.dim; j++) {
        t.a[j] = (double)op->h[op->a[p] * t.dim + j];
        t.b[j] = (double)op->h[op->b[p] * t.dim + j];
        t.w[j] = op->by ? (double)op->by[(op->kind ? op->kind[p] : 0) * t.dim + j] : 1;
    }
    return t;
}

static double length_of(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++)
        sum += fabs(x[j]);
    return fmax(sum, 1e-12);
}

/* The score; and its slopes by a, b and w, unless they are NULL. */
static double score_of(const struct triple *t, int decoder, double *da, double *db, double *dw)
{
    const size_t n = t->dim, half = n / 2;
    const double la = length_of(t->a, n), lb = length_of(t->b, n);
    double sum = 0;
    for (size_t j = 0; j < n && decoder < OG_DECODER_COMPLEX; j++) {
        sum += t->a[j] * t->w[j] * t->b[j];
        if (da) {
            da[j] = t->w[j] * t->b[j];
            db[j] = t->w[j] * t->a[j];
            dw[j] = t->a[j] * t->b[j];
        }
    }
    for (size_t j = 0; j < half && decoder == OG_DECODER_COMPLEX; j++) {
        const double complex a = CMPLX(t->a[j], t->a[half + j]), b = CMPLX(t->b[j], t->b[half + j]),
                             w = CMPLX(t->w[j], t->w[half + j]);
        sum += creal(a * w * conj(b));
        if (da) {
            da[j] = creal(w * conj(b));
            da[half + j] = -cimag(w * conj(b));
            db[j] = creal(a * w);
            db[half + j] = cimag(a * w);
            dw[j] = creal(a * conj(b));
            dw[half + j] = -cimag(a * conj(b));
        }
    }
    for (size_t j = 0; j < n && decoder == OG_DECODER_TRANSE; j++) {
        const double u = t->a[j] / la + t->w[j] - t->b[j] / lb;
        sum -= fabs(u);
        if (!da)
            continue;
        const double slope = u > 0 ? -1 : u < 0 ? 1 : 0;
        dw[j] = slope;
        for (size_t i = 0; i < n; i++) { /* of a[j] / la by a[i] */
            da[i] += slope * ((i == j) / la - t->a[j] * copysign(1, t->a[i]) / (la * la));
            db[i] -= slope * ((i == j) / lb - t->b[j] * copysign(1, t->b[i]) / (lb * lb));
        }
    }
    return sum;
}

void og__ref_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op)
{
    (void)be;
    for (uint32_t p = 0; p < op->n; p++) {
        const struct triple t = triple_of(op, p);
        op->out[p] = (float)score_of(&t, op->decoder, NULL, NULL, NULL);
        free(t.a);
    }
}

void og__ref_pair_list(struct og_nn_backend *be, const struct og_pair_list *op)
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

void og__ref_rank(struct og_nn_backend *be, const struct og_rank *op)
{
    (void)be;
    const struct og_pairs *p = op->pairs;
    for (uint32_t turn = 0; turn < p->n_edges * (p->both_ends ? 2 : 1); turn++) {
        const uint32_t i = turn % p->n_edges;
        const uint32_t *end = turn >= p->n_edges ? p->a : p->b; /* the one that is replaced */
        double rank = isnan(op->score[i]) ? NAN : 1;
        for (uint32_t k = 0; k < p->n_rank_negatives; k++) {
            uint32_t r = p->n_edges + p->n_negatives + turn * p->n_rank_negatives + k;
            if (p->ranks_given || (end[r] != p->a[i] && end[r] != p->b[i]))
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

void og__ref_pair_back(struct og_nn_backend *be, const struct og_pair_back *op)
{
    (void)be;
    const struct og_pair_op *f = op->forward;
    size_t dim = (size_t)f->dim, n = op->n_rows * dim;
    double *sum = calloc(n + 1, sizeof(*sum));
    for (uint32_t p = 0; p < f->n; p++) {
        const struct triple t = triple_of(f, p);
        double *slope = calloc(3 * dim, sizeof(*slope));
        score_of(&t, op->wide ? OG_DECODER_DOT : f->decoder, slope, slope + dim, slope + 2 * dim);
        for (size_t j = 0; j < dim; j++) {
            if (f->joins) {
                sum[f->a[p] * dim + j] += (double)op->g[2 * p * dim + j];
                sum[f->b[p] * dim + j] += (double)op->g[(2 * p + 1) * dim + j];
                continue;
            }
            const double g = (double)(op->wide ? op->g[p * dim + j] : op->g[p]);
            sum[f->a[p] * dim + j] += g * slope[j];
            sum[f->b[p] * dim + j] += g * slope[dim + j];
        }
        free(slope);
        free(t.a);
    }
    for (size_t i = 0; i < n; i++)
        op->dh[i] = (float)sum[i];
    free(sum);
}

void og__ref_pair_kinds(struct og_nn_backend *be, const struct og_pair_kinds *op)
{
    (void)be;
    const struct og_pair_op *f = op->forward;
    const size_t dim = (size_t)f->dim, n = op->n_kinds * dim;
    double *sum = calloc(n, sizeof(*sum));
    for (uint32_t p = 0; p < f->n; p++) {
        const struct triple t = triple_of(f, p);
        double *slope = calloc(3 * dim, sizeof(*slope));
        score_of(&t, f->decoder, slope, slope + dim, slope + 2 * dim);
        for (size_t j = 0; j < dim; j++)
            sum[(f->kind ? f->kind[p] : 0) * dim + j] += (double)op->g[p] * slope[2 * dim + j];
        free(slope);
        free(t.a);
    }
    for (size_t i = 0; i < n; i++)
        op->dby[i] = (float)sum[i];
    free(sum);
}

void og__ref_link_loss(struct og_nn_backend *be, const struct og_link_loss *op)
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
    out->weight = op->n_edges;
}
