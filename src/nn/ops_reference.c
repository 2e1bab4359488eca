/* The operators as one would write them on a board: the oracle for every backend. Sums are kept
 * in double, so that what a test sees is the other side's rounding. */
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
        sum = scale_at(s->right, s->n_right, r) * element(x, r, j);
    for (uint32_t e = s->indptr[r]; e < s->indptr[r + 1]; e++) {
        uint32_t u = s->col[e];
        if (r < s->n_loops && u == r)
            continue;
        sum += scale_at(s->right, s->n_right, u) * element(x, u, j);
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
        float *y = op->y + (size_t)r * (size_t)op->cols;
        for (int i = 0; i < op->cols; i++) {
            double sum = affine_at(op, r, i);
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
        size_t step = (size_t)op->n_out;
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

static void ref_softmax_loss(struct og_nn_backend *be, const struct og_loss *op,
                             struct og_metrics *out)
{
    (void)be;
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
            out->loss_sum += log(sum) - (double)x[labels[r]];
            out->correct += best == labels[r];
        }
        for (int j = 0; op->grad && j < op->cols; j++) {
            double share = exp((double)x[j]) / sum - (j == labels[r]);
            op->grad[(size_t)r * (size_t)op->cols + (size_t)j] =
                counts ? (float)(share / (double)out->counted) : 0;
        }
    }
}

static void ref_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op,
                             struct og_metrics *out)
{
    (void)be;
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

const struct og_nn_ops og__ops_reference = {"reference",     ref_pack,         ref_affine,
                                            ref_weight_grad, ref_softmax_loss, ref_sigmoid_loss,
                                            ref_adam,        ref_sgd};
