/* Losses, on the host and on devices: formulas, and the rows of a batch. A row adds to the metrics,
 * and stores its slopes. */
#ifndef OG_NN_LOSS_TERMS_H
#define OG_NN_LOSS_TERMS_H

#include "nn/ndcg.h"
#include "nn/operands.h"

#include <math.h>

OG_ON_DEVICE void og_metrics_add(struct og_metrics *sum, const struct og_metrics *part)
{
    sum->loss_sum += part->loss_sum;
    sum->weight += part->weight;
    sum->counted += part->counted;
    sum->correct += part->correct;
    sum->true_positive += part->true_positive;
    sum->false_positive += part->false_positive;
    sum->false_negative += part->false_negative;
    sum->compared += part->compared;
    sum->twice_ordered += part->twice_ordered;
    sum->ranked += part->ranked;
    for (int k = 0; k < OG__HITS; k++)
        sum->hits[k] += part->hits[k];
    sum->reciprocal_ranks += part->reciprocal_ranks;
    sum->values += part->values;
    sum->absolute += part->absolute;
    sum->squared += part->squared;
    sum->value_sum += part->value_sum;
    sum->value_squares += part->value_squares;
    sum->ndcg += part->ndcg;
}

/* ---- one class ---- */

OG_ON_DEVICE bool og_is_class(const struct og_loss *op, uint32_t r)
{
    const int32_t label = ((const int32_t *)op->labels)[r];
    return label >= 0 && label < op->cols;
}

OG_ON_DEVICE float og_weight_of(const float *weight, size_t i)
{
    return weight ? weight[i] : 1;
}

OG_ON_DEVICE float og_term_weight(const struct og_loss *op, uint32_t r)
{
    const int32_t label = ((const int32_t *)op->labels)[r];
    return og_is_class(op, r)
               ? og_weight_of(op->row_weight, r) * og_weight_of(op->class_weight, (size_t)label)
               : 0;
}

/* By l = -log p, where p is the probability of what the label says. The factor of l's own
 * derivative goes to *slope. The focal loss (Lin et al. 2017) is (1 - p)^gamma l: easy examples
 * count little.
 */
OG_ON_DEVICE double og_class_loss(const struct og_loss *op, double l, float *slope)
{
    *slope = 1;
    if (op->loss != OG_LOSS_FOCAL)
        return l;
    const double p = exp(-l), rest = -expm1(-l), gamma = (double)op->gamma;
    const double factor = rest > 0 ? pow(rest, gamma) : gamma == 0;
    *slope = (float)(rest > 0 ? factor * (1 + gamma * p * l / rest) : factor);
    return factor * l;
}

/* ---- labels ---- */

/* log(1 + exp(-|x|)) + max(x, 0) - x y, without overflow: l of the element. */
OG_ON_DEVICE void og_sigmoid_row(const struct og_loss *op, uint32_t r, double all_known,
                                 struct og_metrics *m)
{
    const uint32_t cols = (uint32_t)op->cols;
    const float *x = op->logits + (size_t)r * cols;
    const float *label = (const float *)op->labels + (size_t)r * cols;
    float *grad = op->grad ? op->grad + (size_t)r * cols : NULL;
    const float share = all_known > 0 ? 1.0f / (float)all_known : 0;
    const float own = og_weight_of(op->row_weight, r);
    double sum = 0, known = 0;
    for (uint32_t j = 0; j < cols; j++) {
        if (label[j] != label[j]) { /* not known */
            if (grad)
                grad[j] = 0;
            continue;
        }
        known++;
        const float e = expf(-fabsf(x[j]));
        const bool on = label[j] > 0.5f, said = x[j] > 0;
        const float weight = own * (on ? og_weight_of(op->class_weight, j) : 1);
        const float l = log1pf(e) + fmaxf(x[j], 0) - x[j] * label[j];
        float slope;
        sum += (double)weight * og_class_loss(op, (double)l, &slope);
        m->true_positive += on && said;
        m->false_positive += !on && said;
        m->false_negative += on && !said;
        if (grad)
            grad[j] = share * ((x[j] >= 0 ? 1 : e) / (1 + e) - label[j]) * (weight * slope);
    }
    m->counted += known > 0;
    m->weight += (double)own * known / (double)cols;
    m->loss_sum += sum / (double)cols;
}

/* ---- values ---- */

/* By the error. The Huber loss (1964) is squared near 0, absolute beyond 1, as PyTorch's
 * SmoothL1Loss and HuberLoss with beta or delta of 1. */
OG_ON_DEVICE double og_value_loss(int loss, float d, float *slope)
{
    const float size = fabsf(d);
    if (loss == OG_LOSS_MSE) {
        *slope = 2 * d;
        return (double)d * (double)d;
    }
    if (loss == OG_LOSS_MAE || size > 1) {
        *slope = (float)((d > 0) - (d < 0));
        return loss == OG_LOSS_MAE ? (double)size : (double)size - 0.5;
    }
    *slope = d; /* also NaN */
    return 0.5 * (double)d * (double)d;
}

OG_ON_DEVICE void og_value_row(const struct og_loss *op, uint32_t r, double all_weight,
                               struct og_metrics *m)
{
    const size_t first = (size_t)r * (size_t)op->cols;
    const float share = all_weight > 0 ? 1 / (float)all_weight : 0;
    const float own = og_weight_of(op->row_weight, r);
    bool any = false;
    for (size_t i = first; i < first + (size_t)op->cols; i++) {
        const float y = ((const float *)op->labels)[i], d = op->logits[i] - y;
        const bool there = y == y;
        float slope = 0;
        if (there) {
            any = true;
            m->values++;
            m->weight += (double)own;
            m->loss_sum += (double)own * og_value_loss(op->loss, d, &slope);
            m->absolute += (double)fabsf(d);
            m->squared += (double)d * (double)d;
            m->value_sum += (double)y;
            m->value_squares += (double)y * (double)y;
        }
        if (op->grad)
            op->grad[i] = there ? share * own * slope : 0;
    }
    m->counted += any;
}

/* ---- shares of classes ---- */

OG_ON_DEVICE bool og_shares_known(const struct og_loss *op, uint32_t r)
{
    const float *share = (const float *)op->labels + (size_t)r * (size_t)op->cols;
    bool known = true;
    for (int j = 0; j < op->cols; j++)
        known = known && share[j] == share[j];
    return known;
}

OG_ON_DEVICE void og_add_share_error(struct og_metrics *m, float made, float share)
{
    const double d = (double)made - (double)share;
    m->values++;
    m->absolute += fabs(d);
    m->squared += d * d;
    m->value_sum += (double)share;
    m->value_squares += (double)share * (double)share;
}

/* Cross-entropy: the sum over c of y_c (log sum exp x - x_c). Its slope is p sum y - y; stored
 * times `by`. */
OG_ON_DEVICE double og_share_entropy(const struct og_loss *op, uint32_t r, float by,
                                     struct og_metrics *m)
{
    const uint32_t cols = (uint32_t)op->cols;
    const size_t first = (size_t)r * cols;
    const float *x = op->logits + first, *share = (const float *)op->labels + first;
    float most = x[0];
    double sum = 0, all = 0, loss = 0;
    for (uint32_t j = 1; j < cols; j++)
        most = x[j] > most ? x[j] : most;
    for (uint32_t j = 0; j < cols; j++) {
        sum += (double)expf(x[j] - most);
        all += (double)share[j];
    }
    const double log_sum = log(sum) + (double)most;
    for (uint32_t j = 0; j < cols; j++) {
        const float p = (float)((double)expf(x[j] - most) / sum);
        loss += (double)share[j] * (log_sum - (double)x[j]);
        og_add_share_error(m, p, share[j]);
        if (op->grad)
            op->grad[first + j] = by * (float)((double)p * all - (double)share[j]);
    }
    return loss;
}

OG_ON_DEVICE double og_share_by_value(const struct og_loss *op, uint32_t r, float by,
                                      struct og_metrics *m)
{
    const size_t first = (size_t)r * (size_t)op->cols;
    double loss = 0;
    for (size_t i = first; i < first + (size_t)op->cols; i++) {
        const float share = ((const float *)op->labels)[i];
        float slope;
        loss += og_value_loss(op->loss, op->logits[i] - share, &slope);
        og_add_share_error(m, op->logits[i], share);
        if (op->grad)
            op->grad[i] = by * slope;
    }
    return loss;
}

/* The weight of a row's terms. */
OG_ON_DEVICE double og_share_weight(const struct og_loss *op, uint32_t r)
{
    return (double)og_weight_of(op->row_weight, r) *
           (op->loss == OG_LOSS_CROSS_ENTROPY ? 1 : op->cols);
}

OG_ON_DEVICE void og_share_row(const struct og_loss *op, uint32_t r, double all_weight,
                               struct og_metrics *m)
{
    const uint32_t cols = (uint32_t)op->cols;
    const float own = og_weight_of(op->row_weight, r);
    const float by = all_weight > 0 ? own / (float)all_weight : 0;
    const double loss = op->loss == OG_LOSS_CROSS_ENTROPY ? og_share_entropy(op, r, by, m)
                                                          : og_share_by_value(op, r, by, m);
    m->counted++;
    m->weight += og_share_weight(op, r);
    m->loss_sum += (double)own * loss;
    m->ndcg +=
        og_ndcg(op->logits + (size_t)r * cols, (const float *)op->labels + (size_t)r * cols, cols);
}

/* ---- pairs ---- */

/* log(1 + exp(x)) and its derivative, without overflow. */
OG_ON_DEVICE double og_softplus(float x, float *slope)
{
    const float e = expf(-fabsf(x));
    *slope = (x >= 0 ? 1 : e) / (1 + e);
    return (double)(log1pf(e) + fmaxf(x, 0));
}

#endif
