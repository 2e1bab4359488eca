/* Learning rates that are known in advance: functions of steps and epochs. */
#include "nn/rates.h"

#include <math.h>

static double constant(const struct og_rate *r, uint64_t step, uint32_t epoch)
{
    (void)step;
    (void)epoch;
    return r->lr;
}

/* PyTorch's CosineAnnealingLR: after `steps` it rises again. */
static double cosine(const struct og_rate *r, uint64_t step, uint32_t epoch)
{
    (void)epoch;
    const double turn = M_PI * (double)step / (double)OG_MAX(r->steps, (uint64_t)1);
    return r->min + (r->lr - r->min) * (1 + cos(turn)) / 2;
}

/* PyTorch's StepLR. */
static double by_epochs(const struct og_rate *r, uint64_t step, uint32_t epoch)
{
    (void)step;
    const uint32_t times = epoch / (uint32_t)r->every;
    return r->lr * pow(r->factor, times);
}

static const char *const none[] = {NULL};
static const char *const of_cosine[] = {"lr-steps", "lr-min", NULL};
static const char *const of_step[] = {"lr-every", "lr-factor", NULL};

const struct og_rate_schedule og__rate_constant = {.parameters = none, .at = constant};
const struct og_rate_schedule og__rate_cosine = {.parameters = of_cosine, .at = cosine};
const struct og_rate_schedule og__rate_step = {.parameters = of_step, .at = by_epochs};
