/* The operators as one would write them on a board: the oracle for every backend. Sums are kept
 * in double, so that what a test sees is the other side's rounding. */
#include "oracles/ops_reference.h"

#include "nn/kernels.h"
#include "oracles/ops_reference_parts.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double og__ref_element(const struct og_rows *x, uint32_t r, int j)
{
    float value;
    og__row_widen(&value, x, og__row(x, r), (size_t)j, 1);
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
        sum = (1 + (s->eps ? (double)*s->eps : 0)) * (s->loop ? (double)s->loop[r] : 1) *
              scale_at(s->right, s->n_right, r) * og__ref_element(x, r, j);
    for (uint32_t e = s->indptr[r]; e < s->indptr[r + 1]; e++) {
        uint32_t u = s->col[e];
        if (r < s->n_loops && !s->diagonal && u == r)
            continue;
        double weight = s->weight ? (double)s->weight[s->edge ? s->edge[e] : e] : 1;
        sum += weight * scale_at(s->right, s->n_right, u) * og__ref_element(x, u, j);
    }
    return sum * scale_at(s->left, s->n_left, r);
}

/* x[r][j], or (through * x)[r][j]. */
static double operand(const struct og_input *in, uint32_t r, int j)
{
    return in->through ? aggregated(in->through, &in->x, r, j) : og__ref_element(&in->x, r, j);
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
                    sum += (double)dy[r * step] * og__ref_element(&op->input[k], r, j);
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
            sum += (double)op->a[(size_t)r * (size_t)op->x.dim + (size_t)j] *
                   og__ref_element(&op->x, r, j);
    *op->out = (float)sum;
}

/* ==== rows to places ==== */

static void ref_put(struct og_nn_backend *be, const struct og_put *op)
{
    (void)be;
    for (uint32_t i = 0; i < op->n; i++)
        for (int j = 0; j < op->x.dim; j++)
            op->to[op->place[i] * (size_t)op->x.dim + (size_t)j] =
                (float)og__ref_element(&op->x, i, j);
}

/* ==== matrices mixed of others ==== */

static void ref_mix(struct og_nn_backend *be, const struct og_mix *op)
{
    (void)be;
    for (uint32_t k = 0; k < op->n_made; k++)
        for (size_t i = 0; i < op->n; i++) {
            double sum = 0;
            for (uint32_t b = 0; b < op->n_base; b++)
                sum += (double)op->weight[op->row[k] * op->n_base + b] *
                       (double)op->base[b * op->n + i];
            op->made[k * op->n + i] = (float)sum;
        }
}

static void ref_mix_back(struct og_nn_backend *be, const struct og_mix_back *op)
{
    (void)be;
    const struct og_mix *f = op->forward;
    for (uint32_t b = 0; b < f->n_base; b++)
        for (size_t i = 0; i < f->n; i++) {
            double sum = (double)op->dbase[b * f->n + i];
            for (uint32_t k = 0; k < f->n_made; k++)
                sum +=
                    (double)f->weight[f->row[k] * f->n_base + b] * (double)op->dmade[k * f->n + i];
            op->dbase[b * f->n + i] = (float)sum;
        }
    for (uint32_t k = 0; k < f->n_made; k++)
        for (uint32_t b = 0; b < f->n_base; b++) {
            double sum = 0;
            for (size_t i = 0; i < f->n; i++)
                sum += (double)f->base[b * f->n + i] * (double)op->dmade[k * f->n + i];
            op->dweight[f->row[k] * f->n_base + b] = (float)sum;
        }
}

/* ==== rows blended along the edges ==== */

static void ref_blend_sort(struct og_nn_backend *be, const struct og_blend_sort *op)
{
    (void)be;
    const struct og_block *b = op->block;
    uint32_t n = 0;
    for (uint32_t row = 0; row < op->out.n_rows; row++) {
        op->out.first[row] = n;
        for (uint32_t kind = 0; kind < b->n_relations; kind++)
            for (uint32_t k = b->relation[kind]; k < b->relation[kind + 1]; k++)
                for (uint32_t e = b->indptr[k]; e < b->indptr[k + 1]; e++) {
                    const float scale = 1 / (float)(b->indptr[k + 1] - b->indptr[k]);
                    if (b->dst[k] == row)
                        op->out.edge[n++] = (struct og_blend_edge){b->src[e], row, kind, scale};
                }
    }
    op->out.first[op->out.n_rows] = n;
}

static double coefficient(const struct og_blend *op, const struct og_blend_edge *e, uint32_t b)
{
    return (double)op->weight[e->kind * op->n_base + b] * (double)e->scale;
}

static void ref_blend(struct og_nn_backend *be, const struct og_blend *op)
{
    (void)be;
    const size_t dim = (size_t)op->dim;
    for (uint32_t v = 0; v < op->edges.n_rows; v++)
        for (uint32_t b = 0; b < op->n_base; b++)
            for (size_t j = 0; j < dim; j++) {
                double sum = 0;
                for (uint32_t i = op->edges.first[v]; i < op->edges.first[v + 1]; i++) {
                    const struct og_blend_edge *e = &op->edges.edge[i];
                    sum += coefficient(op, e, b) * (double)op->x[e->row * dim + j];
                }
                op->z[(v * op->n_base + b) * dim + j] = (float)sum;
            }
}

static void ref_blend_weights(struct og_nn_backend *be, const struct og_blend_weights *op)
{
    (void)be;
    const struct og_blend *f = op->forward;
    const size_t dim = (size_t)f->dim;
    for (uint32_t kind = 0; kind < f->n_kinds; kind++)
        for (uint32_t b = 0; b < f->n_base; b++) {
            double sum = 0;
            for (uint32_t v = 0; v < f->edges.n_rows; v++)
                for (uint32_t i = f->edges.first[v]; i < f->edges.first[v + 1]; i++) {
                    const struct og_blend_edge *e = &f->edges.edge[i];
                    for (size_t j = 0; e->kind == kind && j < dim; j++)
                        sum += (double)e->scale * (double)f->x[e->row * dim + j] *
                               (double)op->dz[(v * f->n_base + b) * dim + j];
                }
            op->dweight[kind * f->n_base + b] = (float)sum;
        }
}

static void ref_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op)
{
    (void)be;
    const struct og_blend *f = op->forward;
    const size_t dim = (size_t)f->dim;
    for (uint32_t u = 0; u < f->n_src; u++)
        for (size_t j = 0; j < dim; j++) {
            double sum = 0;
            for (uint32_t i = 0; i < f->edges.first[f->edges.n_rows]; i++) {
                const struct og_blend_edge *e = &f->edges.edge[i];
                for (uint32_t b = 0; e->row == u && b < f->n_base; b++)
                    sum += coefficient(f, e, b) * (double)op->dz[(e->to * f->n_base + b) * dim + j];
            }
            op->dx[u * dim + j] = (float)sum;
        }
}

/* ==== the largest of the neighbours ==== */

/* Edge e, in the dtype that it is compared in. */
static float ref_weighed(const struct og_pool_max *op, uint32_t e, size_t j)
{
    const struct og_block *b = op->block;
    const float x = (float)og__ref_element(&op->x, b->src[e], (int)j);
    return b->weight ? b->weight[e] * x : x;
}

static void ref_pool_max(struct og_nn_backend *be, const struct og_pool_max *op)
{
    (void)be;
    const struct og_block *b = op->block;
    size_t n = (size_t)op->x.dim;
    for (uint32_t v = 0; v < b->n_dst; v++)
        for (size_t j = 0; j < n; j++) {
            uint32_t best = OG__NOWHERE;
            for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++)
                if (best == OG__NOWHERE || isnan(ref_weighed(op, e, j)) ||
                    ref_weighed(op, e, j) > ref_weighed(op, best, j))
                    best = e;
            op->y[v * n + j] = best == OG__NOWHERE ? 0 : ref_weighed(op, best, j);
            if (op->from)
                op->from[v * n + j] = best == OG__NOWHERE || b->weight ? best : b->src[best];
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
                if (op->weight && op->from[v * n + j] == op->edge[e])
                    sum += (double)op->weight[op->edge[e]] * (double)op->dy[v * n + j];
                if (!op->weight && !again && op->from[v * n + j] == u)
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

static double ref_weighed_degree(const struct og_block *b, uint32_t v, double edges)
{
    return b->mean_weight ? (double)b->loop_weight[v] + (double)b->mean_weight[v] * edges
                          : 1 + edges;
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
        return sqrt(ref_weighed_degree(
            b, v, v < b->n_dst ? ref_degree(b, v, true) : b->degree[v - b->n_dst]));
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

/* ==== losses ==== */

static double of_class(const struct og_loss *op, int c)
{
    return op->class_weight ? (double)op->class_weight[c] : 1;
}

static double of_row(const struct og_loss *op, uint32_t r)
{
    return op->row_weight ? (double)op->row_weight[r] : 1;
}

/* The loss where what the label says has probability p, l = -log p. Also its derivative by log p,
 * negated. */
static double of_probability(const struct og_loss *op, double p, double l, double *slope)
{
    const double gamma = (double)op->gamma;
    *slope = 1;
    if (op->loss != OG_LOSS_FOCAL)
        return l;
    const double factor = pow(1 - p, gamma);
    *slope = factor + (gamma > 0 ? gamma * pow(1 - p, gamma - 1) * p * l : 0);
    return factor * l;
}

static void ref_softmax_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    const int32_t *labels = op->labels;
    double all = 0;
    *out = (struct og_metrics){0};
    for (uint32_t r = 0; r < op->rows; r++)
        if (labels[r] >= 0 && labels[r] < op->cols) {
            out->counted++;
            out->weight += of_row(op, r) * of_class(op, labels[r]);
        }
    for (int j = 0; j < op->cols; j++)
        all += of_class(op, j);
    for (uint32_t r = 0; r < op->rows; r++) {
        const float *x = op->logits + (size_t)r * (size_t)op->cols;
        bool counts = labels[r] >= 0 && labels[r] < op->cols;
        int best = 0;
        double sum = 0;
        for (int j = 0; j < op->cols; j++) {
            sum += exp((double)x[j]);
            best = x[j] > x[best] ? j : best;
        }
        const double e = (double)op->smoothing, spread = e / op->cols;
        double slope = 0, loss = 0, own = 0;
        if (counts) {
            own = of_class(op, labels[r]) * (1 - e);
            loss = own * of_probability(op, exp((double)x[labels[r]]) / sum,
                                        log(sum) - (double)x[labels[r]], &slope);
            for (int j = 0; j < op->cols; j++)
                loss += spread * of_class(op, j) * (log(sum) - (double)x[j]);
            out->loss_sum += of_row(op, r) * loss;
            out->correct += best == labels[r] && !isnan(loss);
        }
        for (int j = 0; op->grad && j < op->cols; j++) {
            const double p = exp((double)x[j]) / sum;
            const double g =
                own * slope * (p - (j == labels[r])) + spread * (all * p - of_class(op, j));
            op->grad[(size_t)r * (size_t)op->cols + (size_t)j] =
                counts && out->weight > 0 ? (float)(of_row(op, r) * g / out->weight) : 0;
        }
    }
}

static void ref_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    *out = (struct og_metrics){0};
    size_t n = (size_t)op->rows * (size_t)op->cols, row = SIZE_MAX;
    double known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(((const float *)op->labels)[i]))
            known += of_row(op, (uint32_t)(i / (size_t)op->cols));
    out->weight = known / (double)op->cols;
    for (size_t i = 0; i < n; i++) {
        if (isnan(((const float *)op->labels)[i])) {
            if (op->grad)
                op->grad[i] = 0;
            continue;
        }
        out->counted += row != i / (size_t)op->cols;
        row = i / (size_t)op->cols;
        double x = (double)op->logits[i], y = (double)((const float *)op->labels)[i];
        double p = 1 / (1 + exp(-x));
        const bool on = y > 0.5;
        const double w =
            of_row(op, (uint32_t)row) * (on ? of_class(op, (int)(i % (size_t)op->cols)) : 1);
        double slope;
        out->loss_sum += w * of_probability(op, on ? p : 1 - p, on ? -log(p) : -log1p(-p), &slope) /
                         (double)op->cols;
        out->true_positive += x > 0 && y > 0.5;
        out->false_positive += x > 0 && y <= 0.5;
        out->false_negative += x <= 0 && y > 0.5;
        if (op->grad)
            op->grad[i] = (float)(known > 0 ? w * slope * (p - y) / known : 0);
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

static void ref_value_loss(struct og_nn_backend *be, const struct og_loss *l)
{
    (void)be;
    struct og_metrics *out = l->out;
    size_t cols = (size_t)l->cols, n = l->rows * cols;
    const float *labels = l->labels;
    *out = (struct og_metrics){0};
    for (size_t i = 0; i < n; i++) {
        out->values += !isnan(labels[i]);
        out->weight += isnan(labels[i]) ? 0 : of_row(l, (uint32_t)(i / cols));
    }
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
            double slope = 0, loss = loss_of_error(l->loss, d, &slope);
            if (there)
                out->loss_sum += of_row(l, r) * loss;
            if (l->grad)
                l->grad[i] =
                    there && out->weight > 0 ? (float)(of_row(l, r) * slope / out->weight) : 0;
        }
        out->counted += any;
    }
}

/* The mean discount of the places that class c may have. */
static double discount_of(const float *score, int n, int c)
{
    int above = 0, alike = 0;
    double sum = 0;
    for (int j = 0; j < n; j++) {
        above += score[j] > score[c];
        alike += score[j] == score[c];
    }
    for (int place = above; place < above + alike && place < 10; place++)
        sum += 1 / log2(place + 2);
    return sum / alike;
}

static double ndcg_of(const float *score, const float *share, int n)
{
    double gain = 0, most = 0;
    for (int c = 0; c < n; c++) {
        gain += (double)share[c] * discount_of(score, n, c);
        most += (double)share[c] * discount_of(share, n, c);
    }
    return most > 0 ? gain / most : 0;
}

static bool knows_all(const float *share, int n)
{
    int unknown = 0;
    for (int c = 0; c < n; c++)
        unknown += isnan(share[c]);
    return unknown == 0;
}

/* Adds a row. Its slopes go to `grad`, or nowhere. */
static void ref_shares_of_row(const struct og_loss *l, uint32_t r, double weight, float *grad,
                              struct og_metrics *out)
{
    const bool soft = l->loss == OG_LOSS_CROSS_ENTROPY;
    const int n = l->cols;
    const float *x = l->logits + r * (size_t)n, *y = (const float *)l->labels + r * (size_t)n;
    double sum = 0, all = 0, most = -INFINITY;
    for (int c = 0; c < n; c++) {
        most = fmax(most, (double)x[c]);
        all += (double)y[c];
    }
    for (int c = 0; c < n; c++)
        sum += exp((double)x[c] - most);
    for (int c = 0; c < n; c++) {
        const double p = exp((double)x[c] - most) / sum, share = (double)y[c];
        const double d = (soft ? p : (double)x[c]) - share;
        double slope = 0, loss = loss_of_error(l->loss, d, &slope);
        if (soft) {
            loss = share * (log(sum) + most - (double)x[c]);
            slope = p * all - share;
        }
        if (grad)
            grad[c] = weight > 0 ? (float)(of_row(l, r) * slope / weight) : 0;
        out->loss_sum += of_row(l, r) * loss;
        out->values++;
        out->absolute += fabs(d);
        out->squared += d * d;
        out->value_sum += share;
        out->value_squares += share * share;
    }
    out->counted++;
    out->ndcg += ndcg_of(x, y, n);
}

static void ref_share_loss(struct og_nn_backend *be, const struct og_loss *l)
{
    (void)be;
    struct og_metrics *out = l->out;
    const bool soft = l->loss == OG_LOSS_CROSS_ENTROPY;
    const size_t n = (size_t)l->cols;
    *out = (struct og_metrics){0};
    for (uint32_t r = 0; r < l->rows; r++)
        if (knows_all((const float *)l->labels + r * n, l->cols))
            out->weight += of_row(l, r) * (soft ? 1 : l->cols);
    for (uint32_t r = 0; r < l->rows; r++) {
        float *grad = l->grad ? l->grad + r * n : NULL;
        if (knows_all((const float *)l->labels + r * n, l->cols))
            ref_shares_of_row(l, r, out->weight, grad, out);
        else if (grad)
            memset(grad, 0, n * sizeof(*grad));
    }
}

/* ==== pairs ==== */

static void ref_pair_product(struct og_nn_backend *be, const struct og_pair_op *op)
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

static void ref_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op)
{
    (void)be;
    for (uint32_t p = 0; p < op->n; p++) {
        const struct triple t = triple_of(op, p);
        op->out[p] = (float)score_of(&t, op->decoder, NULL, NULL, NULL);
        free(t.a);
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

static void ref_pair_back(struct og_nn_backend *be, const struct og_pair_back *op)
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

static void ref_pair_kinds(struct og_nn_backend *be, const struct og_pair_kinds *op)
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
    out->weight = op->n_edges;
}

static void ref_adam(struct og_nn_backend *be, const struct og_update *op)
{
    (void)be;
    for (size_t i = 0; i < op->n; i++) {
        const double old = op->shrink * (double)op->value[i];
        double g = op->scale * (double)op->grad[i] + op->weight_decay * old;
        double m = op->beta1 * (double)op->m[i] + (1 - op->beta1) * g;
        double v = op->beta2 * (double)op->v[i] + (1 - op->beta2) * g * g;
        op->m[i] = (float)m;
        op->v[i] = (float)v;
        op->value[i] = (float)(old - op->rate * m / (sqrt(v) / op->root + op->epsilon));
    }
}

static void ref_sgd(struct og_nn_backend *be, const struct og_update *op)
{
    (void)be;
    for (size_t i = 0; i < op->n; i++) {
        const double old = op->shrink * (double)op->value[i];
        double g = op->scale * (double)op->grad[i] + op->weight_decay * old;
        op->value[i] = (float)(old - op->rate * g);
    }
}

OG__NEVER_FAILS(ref_scale, og_scale)
OG__NEVER_FAILS(ref_transpose, og_transpose)
OG__NEVER_FAILS(og__ref_track, og_track)
OG__NEVER_FAILS(og__ref_rstd, og_rstd)
OG__NEVER_FAILS(ref_pair_list, og_pair_list)
OG__NEVER_FAILS(ref_rank, og_rank)
OG__NEVER_FAILS(ref_dot, og_dot)
OG__NEVER_FAILS(og__ref_attend, og_attend)
OG__NEVER_FAILS(og__ref_attend_back, og_attend_back)
OG__NEVER_FAILS(og__ref_edge_fill, og_edge_fill)
OG__NEVER_FAILS(og__ref_edge_sum, og_edge_sum)
OG__NEVER_FAILS(og__ref_edge_sum_back, og_edge_sum_back)
OG__NEVER_FAILS(og__ref_dots, og_dots)
OG__NEVER_FAILS(og__ref_dots_back, og_dots_back)
OG__NEVER_FAILS(og__ref_fold, og_fold)
OG__NEVER_FAILS(og__ref_fold_back, og_fold_back)
OG__NEVER_FAILS(ref_put, og_put)
OG__NEVER_FAILS(ref_mix, og_mix)
OG__NEVER_FAILS(ref_mix_back, og_mix_back)
OG__NEVER_FAILS(ref_blend_sort, og_blend_sort)
OG__NEVER_FAILS(ref_blend, og_blend)
OG__NEVER_FAILS(ref_blend_weights, og_blend_weights)
OG__NEVER_FAILS(ref_blend_rows, og_blend_rows)
OG__NEVER_FAILS(ref_pool_max, og_pool_max)
OG__NEVER_FAILS(ref_pool_max_back, og_pool_max_back)
OG__NEVER_FAILS(og__ref_moments, og_moments)
OG__NEVER_FAILS(og__ref_finish, og_finish)
OG__NEVER_FAILS(og__ref_finish_back, og_finish_back)
OG__NEVER_FAILS(ref_softmax_loss, og_loss)
OG__NEVER_FAILS(ref_sigmoid_loss, og_loss)
OG__NEVER_FAILS(ref_value_loss, og_loss)
OG__NEVER_FAILS(ref_share_loss, og_loss)
OG__NEVER_FAILS(ref_pair_dot, og_pair_op)
OG__NEVER_FAILS(ref_pair_product, og_pair_op)
OG__NEVER_FAILS(ref_pair_back, og_pair_back)
OG__NEVER_FAILS(ref_pair_kinds, og_pair_kinds)
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
                                            .attend = og__ref_attend_op,
                                            .attend_back = og__ref_attend_back_op,
                                            .edge_fill = og__ref_edge_fill_op,
                                            .edge_sum = og__ref_edge_sum_op,
                                            .edge_sum_back = og__ref_edge_sum_back_op,
                                            .dots = og__ref_dots_op,
                                            .dots_back = og__ref_dots_back_op,
                                            .fold = og__ref_fold_op,
                                            .fold_back = og__ref_fold_back_op,
                                            .put = ref_put_op,
                                            .mix = ref_mix_op,
                                            .mix_back = ref_mix_back_op,
                                            .blend_sort = ref_blend_sort_op,
                                            .blend = ref_blend_op,
                                            .blend_weights = ref_blend_weights_op,
                                            .blend_rows = ref_blend_rows_op,
                                            .pool_max = ref_pool_max_op,
                                            .pool_max_back = ref_pool_max_back_op,
                                            .moments = og__ref_moments_op,
                                            .track = og__ref_track_op,
                                            .rstd = og__ref_rstd_op,
                                            .finish = og__ref_finish_op,
                                            .finish_back = og__ref_finish_back_op,
                                            .softmax_loss = ref_softmax_loss_op,
                                            .sigmoid_loss = ref_sigmoid_loss_op,
                                            .value_loss = ref_value_loss_op,
                                            .share_loss = ref_share_loss_op,
                                            .pair_dot = ref_pair_dot_op,
                                            .pair_product = ref_pair_product_op,
                                            .pair_list = ref_pair_list_op,
                                            .pair_back = ref_pair_back_op,
                                            .pair_kinds = ref_pair_kinds_op,
                                            .link_loss = ref_link_loss_op,
                                            .rank = ref_rank_op,
                                            .adam = ref_adam_op,
                                            .sgd = ref_sgd_op};
