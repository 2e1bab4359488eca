/* The operators as one would write them on a board: the oracle for every backend. Sums are kept
 * in double, so that what a test sees is the other side's rounding. */
#include "oracles/ops_reference.h"

#include "nn/kernels.h"
#include "oracles/ops_reference_parts.h"

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

static int og__ref_affine_op(struct og_nn_backend *be, const struct og_affine *op,
                             struct og_err *err)
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

static int og__ref_weight_grad_op(struct og_nn_backend *be, const struct og_weight_grad *op,
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

void og__ref_dot(struct og_nn_backend *be, const struct og_dot *op)
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

void og__ref_put(struct og_nn_backend *be, const struct og_put *op)
{
    (void)be;
    for (uint32_t i = 0; i < op->n; i++)
        for (int j = 0; j < op->x.dim; j++)
            op->to[op->place[i] * (size_t)op->x.dim + (size_t)j] =
                (float)og__ref_element(&op->x, i, j);
}

/* ==== matrices mixed of others ==== */

void og__ref_mix(struct og_nn_backend *be, const struct og_mix *op)
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

void og__ref_mix_back(struct og_nn_backend *be, const struct og_mix_back *op)
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

void og__ref_blend_sort(struct og_nn_backend *be, const struct og_blend_sort *op)
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

void og__ref_blend(struct og_nn_backend *be, const struct og_blend *op)
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

void og__ref_blend_weights(struct og_nn_backend *be, const struct og_blend_weights *op)
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

void og__ref_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op)
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

void og__ref_pool_max(struct og_nn_backend *be, const struct og_pool_max *op)
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

void og__ref_pool_max_back(struct og_nn_backend *be, const struct og_pool_max_back *op)
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

void og__ref_scale(struct og_nn_backend *be, const struct og_scale *op)
{
    (void)be;
    bool all = op->kind == OG__SYMMETRIC && op->block->degree;
    for (uint32_t v = 0; v < (all ? op->block->n_src : op->block->n_dst); v++) {
        double divisor = ref_divisor(op, v);
        op->scale[v] = divisor > 0 ? (float)(1 / divisor) : 0;
    }
}

void og__ref_transpose(struct og_nn_backend *be, const struct og_transpose *op)
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

/* ==== optimisers ==== */

void og__ref_adam(struct og_nn_backend *be, const struct og_update *op)
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

void og__ref_sgd(struct og_nn_backend *be, const struct og_update *op)
{
    (void)be;
    for (size_t i = 0; i < op->n; i++) {
        const double old = op->shrink * (double)op->value[i];
        double g = op->scale * (double)op->grad[i] + op->weight_decay * old;
        op->value[i] = (float)(old - op->rate * g);
    }
}

#define NEVER_FAILS(name, operands) OG__NEVER_FAILS(og__ref_##name, operands)
OG__PLAIN_OPS(NEVER_FAILS)
OG__EDGE_OPS(NEVER_FAILS)

#define FIELD(name, operands) .name = og__ref_##name##_op,
const struct og_nn_ops og__ops_reference = {.name = "reference",
                                            .pack = ref_pack,
                                            OG__PRODUCT_OPS(FIELD) OG__PLAIN_OPS(FIELD)
                                                OG__EDGE_OPS(FIELD)};
