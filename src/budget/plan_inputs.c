#include "budget/plan_inputs.h"

struct og_policy_setup og__plan_inputs_policy(const struct og_plan_inputs *p)
{
    struct og_policy_setup setup = og__policy_setup(
        &p->config->opt, p->exec->policy, og__nodes_known(p->config, p->workload->n_nodes));
    setup.groups = p->workload->group_slots;
    setup.n_groups = p->workload->n_group_slots;
    return setup;
}

uint64_t og__longest_epoch(const struct og_plan_inputs *p)
{
    const struct og_schedule *s = &p->workload->schedule;
    uint64_t train = og__schedule_batches(s, OG__TRAIN);
    uint64_t valid = s->eval_every ? og__schedule_batches(s, OG__VALID) : 0;
    return OG_MAX(train + valid, og__schedule_batches(s, OG__TEST));
}

uint64_t og__longest_superbatch(const struct og_plan_inputs *p)
{
    return OG_MAX(og__schedule_stretch(&p->workload->schedule, 0), og__longest_epoch(p));
}

uint32_t og__most_slots(const struct og_workload *f, size_t memory)
{
    return f->row_bytes > 0 ? (uint32_t)OG_MIN(memory / f->row_bytes, (size_t)f->n_nodes) : 0;
}

/* Two for a policy that looks ahead and starts empty, with phased memory; else one. Nothing is
 * cached then, and two batches are in flight. */
int og__first_staging(const struct og_exec_plan *exec)
{
    const bool empty = exec->alternate && og__policy_looks_ahead(exec->policy) &&
                       !og__policy_prefills(exec->policy);
    return empty ? OG__MOST_STAGING : 1;
}
