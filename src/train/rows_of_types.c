/* Rows of several widths, and the plans of them: of those nodes of a batch that have features. */
#include "train/source.h"

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

static bool has_features(const struct og_typed_plans *p, uint32_t id)
{
    const struct og_graph_type *of = &p->types->type[og__graph_type(p->types, id)];
    return of->dim > 0 && !of->trained;
}

/* In place of the batch's ids, where some have none. */
static int make(void *self, struct og_work *w, struct og_err *err)
{
    const struct og_typed_plans *p = self;
    const struct og_batch *batch = &w->sampled.batch;
    int rc = og__planned_ids_reserve(&w->planned, batch->n_ids, err);
    if (rc < 0)
        return rc;
    w->planned.n = 0;
    for (uint32_t i = 0; i < batch->n_ids; i++)
        if (has_features(p, batch->ids[i]))
            w->planned.ids[w->planned.n++] = batch->ids[i];
    return og__policy_plan(p->of_policy.policy, p->of_policy.planner, w->planned.ids, w->planned.n,
                           &w->plan, err);
}

struct og_plan_source og__plans_of_types(struct og_typed_plans *p)
{
    return (struct og_plan_source){p, make};
}

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    return og__typed_gather_begin(self, w->staging, &w->plan, w->planned.ids, err);
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    return og__typed_gather_finish(self, w->staging, &w->rows, &w->read, err);
}

static void give_up(void *self, struct og_work *w)
{
    og__typed_gather_give_up(self, w->staging);
}

/* A cache of rows of several widths stays as it was filled. */
static void end(void *self, struct og_work *w)
{
    (void)self;
    (void)w;
}

struct og_row_source og__rows_of_types(struct og_typed_gather *g)
{
    return (struct og_row_source){g, begin, finish, give_up, end};
}
