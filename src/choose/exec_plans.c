#include "choose/exec_plans.h"

/* Does --policy auto compare it, with each batch straight from the feature file? */
static bool reads_straight(int policy)
{
    int n;
    const struct og_policy_exec *its = og__policy_execs(policy, &n);
    while (n > 0 && (its[n - 1].layout != OG_LAYOUT_RAW || its[n - 1].alternate))
        n--;
    return n > 0 && !og__policy_fills_during_training(policy);
}

/* What is learnt of the coming batches is learnt of both tiers' rows, or of none. */
static bool is_pair(int device, int host)
{
    const bool learnt = (og__policy_looks_ahead(device) && og__policy_is_steady(device)) ||
                        (og__policy_looks_ahead(host) && og__policy_is_steady(host));
    return device == host || (reads_straight(device) && !learnt);
}

/* A device's cache over the host's: the same policy twice, or one over another. An explicit device
 * policy is over each. */
static int list_pairs(const struct og_exec_plan *requested,
                      struct og_exec_plan out[OG__MOST_EXEC_PLANS])
{
    const bool open = requested->device_policy == OG_POLICY_AUTO;
    int n_all = 0;
    for (int host = 0; host < OG_POLICY_AUTO; host++)
        for (int device = 0; device < OG_POLICY_AUTO && reads_straight(host); device++) {
            const bool fits = open ? is_pair(device, host) : device == requested->device_policy;
            if (!fits || n_all == OG__MOST_EXEC_PLANS ||
                (requested->has_victim_buffer && !og__policy_admits(device)))
                continue;
            out[n_all] = *requested;
            out[n_all].policy = host;
            out[n_all++].device_policy = device;
        }
    return n_all;
}

int og__exec_plans_list(const struct og_exec_plan *requested,
                        struct og_exec_plan out[OG__MOST_EXEC_PLANS])
{
    if (requested->tiers)
        return list_pairs(requested, out);
    int n_all = 0;
    for (int policy = 0; policy < OG_POLICY_AUTO; policy++) {
        int n;
        const struct og_policy_exec *its = og__policy_execs(policy, &n);
        for (int i = 0; i < n && n_all < OG__MOST_EXEC_PLANS; i++) {
            struct og_exec_plan *exec = &out[n_all++];
            *exec = *requested;
            exec->policy = policy;
            exec->layout = its[i].layout;
            exec->alternate = its[i].alternate;
        }
    }
    return n_all;
}

void og__plainest_exec_plan(struct og_exec_plan *exec)
{
    struct og_exec_plan execs[OG__MOST_EXEC_PLANS];
    if (exec->policy == OG_POLICY_AUTO && og__exec_plans_list(exec, execs) > 0)
        *exec = execs[0];
}

bool og__exec_plan_allowed(const struct og_config *config, const struct og_exec_plan *exec)
{
    const struct og_options *opt = &config->opt;
    if (og_options_given(opt, "phased-memory") && opt->alternate != exec->alternate)
        return false;
    if (config->stores_rows && /* as session_learnt.c refuses it */
        (exec->alternate || og__policy_fills_during_training(exec->policy)))
        return false;
    return opt->layout == OG_LAYOUT_AUTO || opt->layout == exec->layout;
}
