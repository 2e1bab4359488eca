/* Plans of a device's cache over the host's. */
#include "train/source.h"
#include "train/tiers_spill.h"

/* ---- each batch by itself ---- */

/* Nothing enters either cache but by batches: what is to be there at first was put there before. */
static int prepare(struct og_tiers *t, const struct og_batch *batch, struct og_err *err)
{
    const uint64_t ptr[] = {0, batch->n_ids};
    const struct og_trace alone = {1, (uint64_t *)ptr, batch->ids};
    return og__tiers_prepare(t, &alone, 1, err);
}

static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_tiered_plans *p = self;
    const struct og_batch *batch = &w->sampled.batch;
    int rc;
    OG_TRY(prepare(p->tiers, batch, err));
    OG_TRY(og__tiers_plan(p->tiers, p->planner, batch->ids, batch->n_ids, &w->tiers, err));
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
    const struct og_batch *batch = &w->sampled.batch;
    const int rc = og__tiers_get(p->plans, p->ahead[w->number].codes_at, p->tiers, batch->ids,
                                 batch->n_ids, &w->tiers, &w->trace_read, err);
    w->plan = w->tiers.plan;
    return rc;
}

struct og_plan_source og__plans_of_tiers_stored(struct og_stored_tiered_plans *p)
{
    return (struct og_plan_source){p, read_back};
}
