/* Plans that were made with their superbatch: read back, four bytes a row, and decoded. */
#include "flow/source.h"

static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_stored_plans *p = self;
    struct og_plan *plan = &w->plan;
    uint64_t bytes = 0;
    int rc;
    OG_TRY(og__planned_ids_of(w, p->types, err));
    const uint32_t n = w->planned.n;
    OG_TRY(og__plan_reserve(plan, n, OG_MIN(n, p->n_slots), err));
    OG_TRY(og__spill_read(p->codes, p->ahead[w->number].codes_at, plan->place,
                          n * sizeof(*plan->place), &bytes, err));
out:
    w->trace_read.reads += bytes > 0;
    w->trace_read.bytes += bytes;
    return rc < 0 ? rc
                  : og__plan_decode(p->planner, plan->place, w->planned.ids, w->planned.n,
                                    p->n_slots, plan, err);
}

struct og_plan_source og__plans_stored(struct og_stored_plans *p)
{
    return (struct og_plan_source){p, make};
}
