/* The focal loss (Lin et al. 2017): (1 - p)^gamma l, so easy examples count little. */
#include "nn/tasks.h"

#include <math.h>

static double focal(float gamma, double l, float *slope)
{
    const double p = exp(-l), rest = -expm1(-l);
    const double factor = rest > 0 ? pow(rest, (double)gamma) : gamma == 0;
    *slope = (float)(rest > 0 ? factor * (1 + (double)gamma * p * l / rest) : factor);
    return factor * l;
}

static const char *const parameters[] = {"focal-gamma", NULL};

const struct og_loss_ops og__loss_focal = {
    .tasks = 1u << OG_TASK_NODE | 1u << OG_TASK_EDGE, .parameters = parameters, .classes = focal};
