/* plan inputs: what a plan follows from, numbers alone, and what follows from that without a plan.
 * The lowest file of the budget: device_plan.h, tables.c, ledger.c and the parts of the memory plan
 * are above it, in this order. */
#ifndef OG_PLAN_INPUTS_H
#define OG_PLAN_INPUTS_H

#include "budget/config.h"
#include "budget/exec_plan.h"
#include "budget/workload.h"

enum { OG__MOST_STAGING = 2 }; /* areas: one batch is read while one is trained */

struct og_plan_inputs {
    const struct og_config *config;
    const struct og_workload *workload;
    const struct og_exec_plan *exec;
};

/* Do ranks read exchanged rows in shared memory, where the owner puts them, instead of receiving
 * them? For that, all ranks are on one machine. Each row of two rounds of each owner, and of its
 * cache, has a number there, in units of og__row_unit. */
static inline bool og__exchanges_in_place(const struct og_config *config,
                                          const struct og_workload *f)
{
    return og__exchanges(config) && config->sharing.shared_memory &&
           config->sharing.n == (int)config->share.ranks &&
           f->bytes.files / og__row_unit(f->graph) < UINT32_MAX / 4;
}

/* Are both caches thresholds of one ranking? */
static inline bool og__ranks_alike(const struct og_plan_inputs *p)
{
    return p->exec->device_policy == p->exec->policy && !p->config->opt.device_policy;
}

/* The policy of an execution plan, without a cache yet. */
struct og_policy_setup og__plan_inputs_policy(const struct og_plan_inputs *p);

/* Items of an epoch, or of the test that follows the run; and of the whole run. */
uint64_t og__longest_epoch(const struct og_plan_inputs *p);
uint64_t og__longest_superbatch(const struct og_plan_inputs *p);

/* The most slots that so much memory may hold. How many it holds depends on all else. */
uint32_t og__most_slots(const struct og_workload *f, size_t memory);

/* Staging areas needed at the start of a run. Every row of a batch may have to be read then. */
int og__first_staging(const struct og_exec_plan *exec);

#endif
