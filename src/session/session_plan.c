/* What memory holds of a session, from values alone. Sizes are known from a few batches that were
 * sampled. With these the budget is refused or divided. */
#include "session/session_parts.h"

#include "choose/exec_plans.h"

/* By default victim rings are as deep as what is left has room for (memory_plan.h). While a policy
 * is open, the plainest counts. */
void og__session_resolve_victims(struct og_config *config, const struct og_plan_inputs *given)
{
    struct og_exec_plan plainest = *given->exec;
    const struct og_plan_inputs inputs = {given->config, given->workload, &plainest};
    if (!config->victim.fitted)
        return;
    og__plainest_exec_plan(&plainest);
    config->victim.depth = og__memory_plan_victim_buffer(&inputs);
}

int og__session_plan_fixed(struct og_memory_plan *m, const struct og_plan_inputs *given,
                           struct og_err *err)
{
    const struct og_device_plan device = og__device_plan(given);
    og__memory_plan_fixed(m, given);
    const int rc = og__device_plan_check(&device, err);
    return rc < 0 ? rc : og__memory_plan_check(m, err);
}

int og__session_plan(struct og_memory_plan *m, const struct og_plan_inputs *given,
                     struct og_err *err)
{
    OG_DO(og__session_plan_fixed(m, given, err));
    if (given->config->want & OG__WANT_FEATURES)
        OG_DO(og__memory_plan_batches(m, given, err));
    else
        og__memory_plan_sample_groups(m, given);
    return 0;
}
