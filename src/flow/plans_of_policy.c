/* Plans that a policy makes as batches come. */
#include "flow/source.h"

static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_policy_plans *p = self;
    const int rc = og__planned_ids_of(w, p->types, err);
    return rc < 0 ? rc
                  : og__policy_plan(p->policy, p->planner, w->planned.ids, w->planned.n, &w->plan,
                                    err);
}

struct og_plan_source og__plans_of_policy(struct og_policy_plans *p)
{
    return (struct og_plan_source){p, make};
}
