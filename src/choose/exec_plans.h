/* Candidate execution plans, for what the user left open: a policy, a layout, phased memory or not.
 * With a device's cache they have a pair of policies. */
#ifndef OG_TRAIN_EXEC_PLANS_H
#define OG_TRAIN_EXEC_PLANS_H

#include "budget/config.h"
#include "budget/exec_plan.h"

enum { OG__MOST_EXEC_PLANS = 32 };

/* What the table of policies has, in its order, in place of what was left open; how many. */
int og__exec_plans_list(const struct og_exec_plan *requested,
                        struct og_exec_plan out[OG__MOST_EXEC_PLANS]);
/* What is left open becomes the plainest execution plan there is. */
void og__plainest_exec_plan(struct og_exec_plan *exec);
/* What the user said holds. */
bool og__exec_plan_allowed(const struct og_config *config, const struct og_exec_plan *exec);

#endif
