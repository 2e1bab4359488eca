/* Losses of values, one at a time; and of shares, a row at a time (share_losses.c). */
#include "nn/tasks.h"

#include <math.h>

static double mse(float made, float wanted, float *slope)
{
    const float d = made - wanted;
    *slope = 2 * d;
    return (double)d * (double)d;
}

static double mae(float made, float wanted, float *slope)
{
    const float d = made - wanted;
    *slope = (float)((d > 0) - (d < 0));
    return (double)fabsf(d);
}

/* Squared near 0, absolute beyond 1 (Huber, 1964). As PyTorch's SmoothL1Loss and HuberLoss with
 * beta or delta of 1. */
static double huber(float made, float wanted, float *slope)
{
    const float d = made - wanted, size = fabsf(d);
    if (size > 1) {
        *slope = copysignf(1, d);
        return (double)size - 0.5;
    }
    *slope = d; /* also NaN */
    return 0.5 * (double)d * (double)d;
}

/* Tasks of values. */
#define VALUES (1u << OG_TASK_REGRESSION | 1u << OG_TASK_EDGE_REGRESSION)

const struct og_loss_ops og__loss_mse = {.tasks = VALUES, .value = mse};
const struct og_loss_ops og__loss_mae = {.tasks = VALUES, .value = mae};
const struct og_loss_ops og__loss_huber = {.tasks = VALUES, .value = huber};
const struct og_loss_ops og__loss_cross_entropy = {.tasks = 1u << OG_TASK_REGRESSION, .rows = true};
