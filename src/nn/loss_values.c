/* Losses of values, one at a time. */
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

/* Squares near 0, absolutes beyond 1 (Huber, 1964), as PyTorch's SmoothL1Loss and HuberLoss have it
 * with beta, or delta, of 1. */
static double huber(float made, float wanted, float *slope)
{
    const float d = made - wanted, size = fabsf(d);
    if (size > 1) {
        *slope = copysignf(1, d);
        return (double)size - 0.5;
    }
    *slope = d; /* NaN as well */
    return 0.5 * (double)d * (double)d;
}

const struct og_loss_ops og__loss_mse = {.tasks = 1u << OG_TASK_REGRESSION, .value = mse};
const struct og_loss_ops og__loss_mae = {.tasks = 1u << OG_TASK_REGRESSION, .value = mae};
const struct og_loss_ops og__loss_huber = {.tasks = 1u << OG_TASK_REGRESSION, .value = huber};
