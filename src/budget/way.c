#include "budget/way.h"

#include "options/fields.h"
#include "plan/policy.h"

bool og__samples_ahead(const struct og_way *way)
{
    return og__policy_looks_ahead(way->policy) || og__packs(way) || way->alternate ||
           og__policy_looks_ahead(way->device_policy);
}

bool og__packs(const struct og_way *way)
{
    return way->layout == OG_LAYOUT_PACKED || way->layout == OG_LAYOUT_SEGMENTED;
}

bool og__keeps_batches(const struct og_way *way)
{
    bool kept = way->reuses || way->whole_draws;
    return kept && !way->tiers && og__samples_ahead(way) && og__policy_is_steady(way->policy);
}

/* Sampling is a small part of a training step: half the threads keep ahead of the model, unless
 * --executors says how many. With no model, or none at work while batches are sampled ahead, there
 * is nothing to leave the other half to. A batch is sampled by one thread, so where there is one at
 * a time others would wait. */
int og__samplers(const struct og_way *way)
{
    if (way->one_by_one && !og__samples_ahead(way))
        return 1;
    const bool beside = way->models && !og__samples_ahead(way);
    const int asked = way->samplers > 0 ? way->samplers : (way->threads + 1) / 2;
    const int n = beside ? asked : way->threads;
    return OG_MIN(OG_MAX(n, 1), OG__MOST_SAMPLERS);
}

/* One in each sampler, one planned, one read, one trained. */
int og__works(const struct og_way *way)
{
    return og__samplers(way) + 3;
}

int og__works_trained(const struct og_way *way)
{
    return way->one_by_one ? 1 : og__works(way);
}
