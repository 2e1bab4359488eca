#include "choose/pilot_widths.h"

#include "gather/gather.h"

#include <stdlib.h>

static int know_growth(struct og_choice_width *w, struct og_budget *b, struct og_err *err)
{
    struct og_pilot own = {
        .ids = (uint32_t *)w->trace.ids, .ptr = (uint64_t *)w->trace.ptr, .n = w->trace.n_batches};
    const int rc = og__pilot_growth(&own, w->n_nodes, b, err);
    w->distinct = own.growth.distinct;
    w->growth = own.growth.power;
    w->slowing = own.growth.slowing;
    return rc;
}

/* Type t into the next width; *used of the ids are. */
static int add_width(struct og_pilot_widths *out, const struct og_pilot *p,
                     const struct og_structure *g, uint32_t t, uint64_t *used, struct og_budget *b,
                     struct og_err *err)
{
    const struct og_facts *f = g->given.facts;
    const struct og_group *type = &f->graph->group[t];
    const struct og_trace all = {p->n, p->ptr, p->ids};
    const uint32_t first = og__first_id(f->types, t);
    const uint32_t end = f->types->type[t].end;
    struct og_choice_width *w = &out->width[out->n];
    uint64_t *ptr = out->ptr + (size_t)out->n * (p->n + 1);
    int rc;
    *w = (struct og_choice_width){.trace = {p->n, ptr, out->ids + *used},
                                  .n_nodes = (uint64_t)type->n_nodes,
                                  .row_bytes = og__row_bytes(type)};
    *used += og__trace_of_range(&all, first, end, ptr, out->ids + *used);
    OG_TRY(know_growth(w, b, err));
    OG_TRY(og__gather_read_rule(type, g->given.config->opt.io, b, &w->rule, err));
    out->n++;
out:
    return rc;
}

int og__pilot_widths(struct og_pilot_widths *out, const struct og_pilot *p,
                     const struct og_structure *g, struct og_budget *b, struct og_err *err)
{
    const struct og_graph_types *types = g->given.facts->types;
    uint64_t used = 0;
    int rc;
    *out = (struct og_pilot_widths){0};
    if (!og__shares_slots(g->given.facts))
        return 0;
    out->bytes = OG_MAX(p->rows, (uint64_t)1) * sizeof(*out->ids);
    out->width = calloc(types->n_types, sizeof(*out->width));
    out->ptr = calloc((size_t)types->n_types * (p->n + 1), sizeof(*out->ptr));
    OG_TRY(out->width && out->ptr ? 0 : og__fail_errno(err, -ENOMEM, NULL, "pilot"));
    OG_TRY((out->ids = og__alloc(b, out->bytes, "pilot", err)) ? 0 : -ENOMEM);
    for (uint32_t t = 0; t < types->n_types; t++)
        if (og__has_features(&types->type[t]))
            OG_TRY(add_width(out, p, g, t, &used, b, err));
out:
    if (rc < 0)
        og__pilot_widths_release(out, b);
    return rc;
}

void og__pilot_widths_release(struct og_pilot_widths *w, struct og_budget *b)
{
    og__release(b, w->ids, w->bytes, "pilot");
    free(w->ptr);
    free(w->width);
    *w = (struct og_pilot_widths){0};
}
