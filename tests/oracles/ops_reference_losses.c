/* Losses as plain loops. */
#include "oracles/ops_reference_parts.h"

#include <math.h>
#include <string.h>

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

void og__ref_softmax_loss(struct og_nn_backend *be, const struct og_loss *op)
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

void og__ref_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op)
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

void og__ref_value_loss(struct og_nn_backend *be, const struct og_loss *l)
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

void og__ref_share_loss(struct og_nn_backend *be, const struct og_loss *l)
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
