/* Rows of several widths, and the plans of them: of those nodes of a batch that have features. */
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

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    return og__typed_gather_begin(self, w->staging, &w->plan, w->planned.ids, w->number, err);
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    return og__typed_gather_finish(self, w->staging, &w->rows, &w->read, err);
}

static void give_up(void *self, struct og_work *w)
{
    og__typed_gather_give_up(self, w->staging);
}

static void end(void *self, struct og_work *w)
{
    og__typed_gather_change(self, w->staging, &w->plan, w->planned.ids);
}

struct og_row_source og__rows_of_types(struct og_typed_gather *g)
{
    return (struct og_row_source){g, begin, finish, give_up, end};
}

static int fill(void *self, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                struct og_io_counts *counts, struct og_err *err)
{
    return og__typed_gather_fill(self, nodes, slots, n, counts, err);
}

static int fill_end(void *self, struct og_io_counts *counts, struct og_err *err)
{
    (void)self;
    (void)counts;
    (void)err;
    return 0;
}

struct og_fill_to og__fills_types(struct og_typed_gather *g)
{
    return (struct og_fill_to){g, fill, fill_end};
}
