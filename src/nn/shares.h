/* A row of shares of classes, on the host and on devices: its cross-entropy and errors. */
#ifndef OG_NN_SHARES_H
#define OG_NN_SHARES_H

#include "nn/ndcg.h"
#include "nn/operands.h"

#include <math.h>

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

#endif
