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

const struct og_loss_ops og__loss_mse = {.tasks = 1u << OG_TASK_REGRESSION, .value = mse};
const struct og_loss_ops og__loss_mae = {.tasks = 1u << OG_TASK_REGRESSION, .value = mae};
