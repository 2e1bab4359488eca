/* PyTorch's ReduceLROnPlateau, whose threshold is the least improvement of --min-delta. */
#include "nn/rates.h"

#define LEAST_CHANGE 1e-8 /* as its eps: a smaller reduction is left out */

static double at(const struct og_rate *r, uint64_t step, uint32_t epoch)
{
    (void)step;
    (void)epoch;
    return r->reduced;
}

static void evaluated(struct og_rate *r, bool improved)
{
    r->bad = improved ? 0 : r->bad + 1;
    if (r->bad <= r->patience)
        return;
    const double next = OG_MAX(r->reduced * r->factor, r->min);
    if (r->reduced - next > LEAST_CHANGE)
        r->reduced = next;
    r->bad = 0;
}

static const char *const parameters[] = {"lr-factor", "lr-patience", "lr-min", NULL};

const struct og_rate_schedule og__rate_plateau = {
    .parameters = parameters, .at = at, .evaluated = evaluated};
