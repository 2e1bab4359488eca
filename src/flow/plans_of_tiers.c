/* Plans of a device's cache over the host's. */
#include "flow/source.h"
#include "flow/tiers_spill.h"

/* Of a batch's ids those that have rows. */
static int list_ids(const struct og_graph_types *types, struct og_work *w, const uint32_t **ids,
                    uint32_t *n, struct og_err *err)
{
    const struct og_batch *batch = &w->sampled.batch;
    *ids = batch->ids;
    *n = batch->n_ids;
    if (!types)
        return 0;
    const int rc = og__planned_ids_list(&w->planned, types, *ids, *n, err);
    *ids = w->planned.ids;
    *n = w->planned.n;
    return rc;
}

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
    const uint32_t *ids;
    uint32_t n;
    int rc;
    OG_TRY(list_ids(p->types, w, &ids, &n, err));
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
    const uint32_t *ids;
    uint32_t n;
    int rc;
    OG_TRY(list_ids(p->types, w, &ids, &n, err));
    OG_TRY(og__tiers_get(p->plans, p->ahead[w->number].codes_at, p->tiers, ids, n, &w->tiers,
                         &w->trace_read, err));
    w->plan = w->tiers.plan;
out:
    return rc;
}

struct og_plan_source og__plans_of_tiers_stored(struct og_stored_tiered_plans *p)
{
    return (struct og_plan_source){p, read_back};
}
