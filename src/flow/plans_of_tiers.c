/* Plans of a device's cache over the host's. */
#include "flow/source.h"
#include "flow/tiers_spill.h"

/* ---- each batch by itself ---- */

/* Nothing enters either cache but by batches: what is to be there at first was put there before. */
static int prepare(struct og_tiers *t, const uint32_t *ids, uint32_t n, struct og_err *err)
{
    const uint64_t ptr[] = {0, n};
    const struct og_trace alone = {1, (uint64_t *)ptr, ids};
    return og__tiers_prepare(t, &alone, 1, err);
}

static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_tiered_plans *p = self;
    int rc;
    OG_TRY(og__planned_ids_of(w, p->types, err));
    const uint32_t *ids = w->planned.ids;
    const uint32_t n = w->planned.n;
    OG_TRY(prepare(p->tiers, ids, n, err));
    OG_TRY(og__tiers_plan(p->tiers, p->planner, ids, n, &w->tiers, err));
    w->plan = w->tiers.plan;
out:
    return rc;
}

struct og_plan_source og__plans_of_tiers(struct og_tiered_plans *p)
{
    return (struct og_plan_source){p, make};
}

/* ---- made with their superbatch ---- */

static int read_back(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_stored_tiered_plans *p = self;
    int rc;
    OG_TRY(og__planned_ids_of(w, p->types, err));
    OG_TRY(og__tiers_get(p->plans, p->ahead[w->number].codes_at, p->tiers, w->planned.ids,
                         w->planned.n, &w->tiers, &w->trace_read, err));
    w->plan = w->tiers.plan;
out:
    return rc;
}

struct og_plan_source og__plans_of_tiers_stored(struct og_stored_tiered_plans *p)
{
    return (struct og_plan_source){p, read_back};
}
