/* Plans of one cache, and of a device's over the host's. They are made as batches come, or read
 * back that were made with their superbatch. */
#include "flow/data_path.h"
#include "flow/tiers_spill.h"

/* ---- of one cache ---- */

int og__plan_by_policy(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_plans *p = self;
    struct og_data_path *d = p->path;
    const int rc = og__planned_ids_of(w, d->workload->planned_groups, err);
    return rc < 0 ? rc
                  : og__policy_plan(d->policy, &d->planner, w->planned.ids, w->planned.n, &w->plan,
                                    err);
}

/* Four bytes a row, decoded. */
int og__read_back_codes(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_plans *p = self;
    struct og_data_path *d = p->path;
    struct og_plan *plan = &w->plan;
    const uint32_t n_slots = d->memory->n_slots;
    uint64_t bytes = 0;
    int rc;
    OG_TRY(og__planned_ids_of(w, d->workload->planned_groups, err));
    const uint32_t n = w->planned.n;
    OG_TRY(og__plan_reserve(plan, n, OG_MIN(n, n_slots), err));
    OG_TRY(og__spill_read(d->stores.codes, p->lookahead[w->number].codes_at, plan->place,
                          n * sizeof(*plan->place), &bytes, err));
out:
    w->trace_read.reads += bytes > 0;
    w->trace_read.bytes += bytes;
    return rc < 0 ? rc
                  : og__plan_decode(&d->planner, plan->place, w->planned.ids, w->planned.n, n_slots,
                                    plan, err);
}

/* ---- of a device's over the host's ---- */

/* Nothing enters either cache but by batches: what is to be there at first was put there before. */
static int prepare(struct og_tiers *t, const uint32_t *ids, uint32_t n, struct og_err *err)
{
    const uint64_t ptr[] = {0, n};
    const struct og_trace alone = {1, (uint64_t *)ptr, ids};
    return og__tiers_prepare(t, &alone, 1, err);
}

int og__plan_by_tiers(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_plans *p = self;
    struct og_data_path *d = p->path;
    OG_DO(og__planned_ids_of(w, d->workload->planned_groups, err));
    OG_DO(prepare(d->tiers, w->planned.ids, w->planned.n, err));
    OG_DO(og__tiers_plan(d->tiers, &d->planner, w->planned.ids, w->planned.n, &w->tiers, err));
    w->plan = w->tiers.plan;
    return 0;
}

int og__read_back_tiers(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_plans *p = self;
    struct og_data_path *d = p->path;
    OG_DO(og__planned_ids_of(w, d->workload->planned_groups, err));
    OG_DO(og__tiers_get(d->stores.codes, p->lookahead[w->number].codes_at, d->tiers, w->planned.ids,
                        w->planned.n, &w->tiers, &w->trace_read, err));
    w->plan = w->tiers.plan;
    return 0;
}
