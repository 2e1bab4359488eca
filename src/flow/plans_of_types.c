/* Plans of those nodes of a batch that have features. */
#include "flow/source.h"

static const char part[] = "batches";

int og__planned_ids_reserve(struct og_planned_ids *p, uint32_t n, struct og_err *err)
{
    if (n <= p->capacity)
        return 0;
    og__planned_ids_release(p);
    p->ids = og__alloc(p->budget, n * sizeof(*p->ids), part, err);
    p->capacity = p->ids ? n : 0;
    return p->ids ? 0 : -ENOMEM;
}

void og__planned_ids_release(struct og_planned_ids *p)
{
    og__release(p->budget, p->ids, p->capacity * sizeof(*p->ids), part);
    p->ids = NULL;
    p->n = p->capacity = 0;
}

int og__planned_ids_list(struct og_planned_ids *p, const struct og_graph_types *types,
                         const uint32_t *ids, uint32_t n, struct og_err *err)
{
    uint32_t n_of[OG_MOST_TYPES];
    int rc = og__planned_ids_reserve(p, n, err);
    if (rc == 0)
        p->n = og__ids_with_features(types, ids, n, p->ids, n_of);
    return rc;
}

static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_typed_plans *p = self;
    const struct og_batch *batch = &w->sampled.batch;
    int rc;
    OG_TRY(og__planned_ids_list(&w->planned, p->types, batch->ids, batch->n_ids, err));
    OG_TRY(og__policy_plan(p->of_policy.policy, p->of_policy.planner, w->planned.ids, w->planned.n,
                           &w->plan, err));
out:
    return rc;
}

struct og_plan_source og__plans_of_types(struct og_typed_plans *p)
{
    return (struct og_plan_source){p, make};
}
