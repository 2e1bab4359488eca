#include "choose/profiling_groups.h"

#include "gather/gather.h"

#include <stdlib.h>

static int know_growth(struct og_cost_group *w, struct og_budget *b, struct og_err *err)
{
    struct og_profiling own = {
        .ids = (uint32_t *)w->trace.ids, .ptr = (uint64_t *)w->trace.ptr, .n = w->trace.n_batches};
    const int rc = og__profiling_growth(&own, w->n_nodes, b, err);
    w->distinct = own.growth.distinct;
    w->growth = own.growth.power;
    w->slowing = own.growth.slowing;
    return rc;
}

/* A group into the next group; *used of the ids are. */
static int add_groups(struct og_profiling_groups *out, const struct og_profiling *p,
                      const struct og_structure *g, const struct og_group *group, uint64_t *used,
                      struct og_budget *b, struct og_err *err)
{
    const struct og_trace all = {p->n, p->ptr, p->ids};
    const uint64_t first = (uint64_t)group->first;
    struct og_cost_group *w = &out->group[out->n];
    uint64_t *ptr = out->ptr + (size_t)out->n * (p->n + 1);
    *w = (struct og_cost_group){.trace = {p->n, ptr, out->ids + *used},
                                .n_nodes = (uint64_t)group->n_nodes,
                                .most_requested = og__group_known(g->given.config, group),
                                .row_bytes = og__row_bytes(group)};
    *used += og__trace_of_group(&all, first, first + w->n_nodes, ptr, out->ids + *used);
    OG_DO(know_growth(w, b, err));
    OG_DO(og__gather_read_rule(group, g->given.config->opt.io, b, &w->rule, err));
    out->n++;
    return 0;
}

int og__profiling_groups(struct og_profiling_groups *out, const struct og_profiling *p,
                         const struct og_structure *g, struct og_budget *b, struct og_err *err)
{
    const struct og_graph *graph = g->given.workload->row_graph;
    uint64_t used = 0;
    int rc;
    *out = (struct og_profiling_groups){0};
    if (!og__shares_slots(g->given.workload))
        return 0;
    out->bytes = OG_MAX(p->rows, (uint64_t)1) * sizeof(*out->ids);
    out->group = calloc(graph->n_groups, sizeof(*out->group));
    out->ptr = calloc((size_t)graph->n_groups * (p->n + 1), sizeof(*out->ptr));
    OG_TRY(out->group && out->ptr ? 0 : og__fail_errno(err, -ENOMEM, NULL, "pilot"));
    OG_TRY((out->ids = og__alloc(b, out->bytes, "pilot", err)) ? 0 : -ENOMEM);
    for (uint32_t k = 0; k < graph->n_groups; k++)
        if (graph->group[k].dim > 0)
            OG_TRY(add_groups(out, p, g, &graph->group[k], &used, b, err));
out:
    if (rc < 0)
        og__profiling_groups_release(out, b);
    return rc;
}

void og__profiling_groups_release(struct og_profiling_groups *w, struct og_budget *b)
{
    og__release(b, w->ids, w->bytes, "pilot");
    free(w->ptr);
    free(w->group);
    *w = (struct og_profiling_groups){0};
}
