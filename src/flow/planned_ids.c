#include "flow/source.h"

static const char part[] = "batches";

int og__planned_ids_reserve(struct og_planned_ids *p, const struct og_graph_types *groups,
                            uint32_t n, struct og_err *err)
{
    if (!groups || n <= p->capacity)
        return 0;
    og__planned_ids_release(p);
    p->own = og__alloc(p->budget, n * sizeof(*p->own), part, err);
    p->capacity = p->own ? n : 0;
    return p->own ? 0 : -ENOMEM;
}

void og__planned_ids_release(struct og_planned_ids *p)
{
    og__release(p->budget, p->own, p->capacity * sizeof(*p->own), part);
    p->ids = p->own = NULL;
    p->n = p->capacity = 0;
}

int og__planned_ids_list(struct og_planned_ids *p, const struct og_graph_types *groups,
                         const uint32_t *ids, uint32_t n, struct og_err *err)
{
    uint32_t n_of[OG_MOST_TYPES];
    OG_DO(og__planned_ids_reserve(p, groups, n, err));
    p->ids = groups ? p->own : ids;
    p->n = groups ? og__ids_with_features(groups, ids, n, p->own, n_of) : n;
    return 0;
}

int og__planned_ids_batch(struct og_planned_ids *p, const struct og_graph_types *groups,
                          const struct og_batch *batch, struct og_err *err)
{
    uint32_t n_of[OG_MOST_TYPES];
    if (!groups || groups->n_unit_groups == 0)
        return og__planned_ids_list(p, groups, batch->ids, batch->n_ids, err);
    OG_DO(og__planned_ids_reserve(p, groups, batch->n_ids + batch->n_units, err));
    p->n = og__ids_with_features(groups, batch->ids, batch->n_ids, p->own, n_of);
    p->n += og__ids_with_features(groups, batch->units, batch->n_units, p->own + p->n, n_of);
    p->ids = p->own;
    return 0;
}

int og__planned_ids_of(struct og_work *w, const struct og_graph_types *groups, struct og_err *err)
{
    return og__planned_ids_batch(&w->planned, groups, &w->sampled.batch, err);
}
