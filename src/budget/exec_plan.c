#include "budget/exec_plan.h"

#include "plan/policy.h"

bool og__samples_ahead(const struct og_exec_plan *exec)
{
    return og__policy_looks_ahead(exec->policy) || og__packs(exec) || exec->alternate ||
           og__policy_looks_ahead(exec->device_policy);
}

bool og__packs(const struct og_exec_plan *exec)
{
    return exec->layout == OG_LAYOUT_PACKED || exec->layout == OG_LAYOUT_SEGMENTED;
}

bool og__keeps_batches(const struct og_exec_plan *exec)
{
    bool kept = exec->reuses || exec->whole_draws;
    return kept && !exec->tiers && og__samples_ahead(exec) && og__policy_is_steady(exec->policy);
}

/* Sampling is a small part of a training step. So half the threads keep ahead of the model, unless
 * --executors says how many. With no model, or none at work while batches are sampled ahead, there
 * is nothing to leave the other half to. A batch is sampled by one thread, so where there is one at
 * a time others would wait. */
int og__samplers(const struct og_exec_plan *exec)
{
    if (exec->one_by_one && !og__samples_ahead(exec))
        return 1;
    const bool parallel = exec->models && !og__samples_ahead(exec);
    const int requested = exec->samplers > 0 ? exec->samplers : (exec->threads + 1) / 2;
    const int n = parallel ? requested : exec->threads;
    return OG_MIN(OG_MAX(n, 1), OG__MOST_SAMPLERS);
}

/* One in each sampler, one planned, one read, one trained. */
int og__works(const struct og_exec_plan *exec)
{
    return og__samplers(exec) + 3;
}

int og__works_trained(const struct og_exec_plan *exec)
{
    return exec->one_by_one ? 1 : og__works(exec);
}
