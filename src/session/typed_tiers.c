/* A device's cache of rows of several widths: which of them it has slots for, and what the pilot's
 * batches tell of it over the host's. */
#include "session/typed_tiers.h"

#include "budget/device_plan.h"
#include "choose/predict.h"
#include "session/session_parts.h"

#include <stdlib.h>

static const char pilot_part[] = "pilot";

/* ---- slots ---- */

/* Are both caches thresholds of one ranking? */
static bool ranks_alike(const struct og_premises *p)
{
    return p->way->device_policy == p->way->policy && !p->config->opt.device_policy;
}

static int weigh_there(struct og_session *s, const uint32_t **worth, struct og_err *err)
{
    int rc = 0;
    *worth = s->hotness;
    if (ranks_alike(&s->given))
        return 0;
    s->device_hotness =
        og__alloc(s->budget, s->facts.n_nodes * sizeof(*s->device_hotness), "hotness", err);
    OG_TRY(s->device_hotness ? 0 : -ENOMEM);
    OG_TRY(
        og__typed_cache_weigh(s, s->way.device_policy, &s->config.above, s->device_hotness, err));
    *worth = s->device_hotness;
out:
    return rc;
}

static bool caches_there(const struct og_way *way)
{
    return way->tiers && og__policy_caches(way->device_policy);
}

int og__typed_tiers_plan(const struct og_premises *p, const uint32_t *worth, struct og_budget *b,
                         struct og_typed_above *above, struct og_err *err)
{
    const uint32_t n_types = p->facts->graph->n_groups;
    struct og_width *width = NULL;
    int rc = 0;
    *above = (struct og_typed_above){0};
    if (!caches_there(p->way))
        return 0;
    width = og__typed_widths(p->facts->graph);
    OG_TRY(width ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__widths_fit(worth, width, n_types, og__device_plan(p).slots, b, &above->rows, err));
    OG_TRY(
        og__widths_count(worth, width, n_types, above->rows, b, &above->bytes, above->slots, err));
    above->stay =
        og__policy_is_static(p->way->device_policy) && og__policy_is_static(p->way->policy);
    above->first = above->stay && ranks_alike(p);
out:
    free(width);
    return rc;
}

int og__typed_tiers_size(struct og_session *s, struct og_typed_above *above, struct og_err *err)
{
    const uint32_t *worth = NULL;
    int rc;
    OG_TRY(caches_there(&s->way) ? weigh_there(s, &worth, err) : 0);
    OG_TRY(og__typed_tiers_plan(&s->given, worth, s->budget, above, err));
    for (uint32_t t = 0; t < s->facts.graph->n_groups; t++)
        s->told[t].there = above->slots[t];
out:
    return rc;
}

void og__typed_tiers_ranges(const struct og_session *s, struct og_slot_range ranges[OG_MOST_TYPES])
{
    uint32_t n = 0;
    for (uint32_t t = 0; n < s->facts.n_ranges; t++) {
        if (s->told[t].row_bytes == 0)
            continue;
        ranges[n] = s->facts.ranges[n];
        ranges[n++].n_slots = (uint32_t)s->told[t].there;
    }
}

/* ---- what the pilot's batches tell ---- */

struct telling {
    struct og_session *s;
    uint64_t *ptr; /* [pilot->n + 1] batches of a type, */
    uint32_t *ids; /* [pilot->rows] by its numbers */
    struct og_simulated_tiers sum;
};

/* Part k, whose rows are of the type that is told. */
static int tell_part(struct telling *t, const struct og_pilot *pilot, uint32_t k,
                     const struct og_tiers_setup *setup, struct og_typed_told *told,
                     struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_slot_range *range = &s->facts.ranges[k];
    const struct og_trace all = {pilot->n, pilot->ptr, pilot->ids};
    const struct og_simulation sim = {.trace = {pilot->n, t->ptr, t->ids},
                                      .n_nodes = setup->host.n_nodes,
                                      .superbatch = OG_MAX(pilot->n, 1u),
                                      .rule = told->rule,
                                      .budget = s->budget};
    struct og_simulated_tiers counted;
    int rc;
    (void)og__trace_of_range(&all, range->first, range->end, t->ptr, t->ids);
    OG_TRY(og__simulate_tiers(&sim, setup, NULL, NULL, &counted, err));
    told->seen = counted.cost;
    told->seen_tiers = counted.tiers;
    og__plan_cost_add(&t->sum.cost, &counted.cost);
    og__tiers_cost_sum(&t->sum.tiers, &counted.tiers);
out:
    return rc;
}

static int tell_parts(struct telling *t, const struct og_pilot *pilot,
                      const struct og_tiers_setup *setup, struct og_err *err)
{
    struct og_session *s = t->s;
    int rc = 0;
    for (uint32_t type = 0, k = 0; k < s->facts.n_ranges; type++) {
        if (s->told[type].row_bytes == 0)
            continue;
        const struct og_tiers_setup of = og__tiers_of_range(setup, k);
        OG_TRY(tell_part(t, pilot, k, &of, &s->told[type], err));
        k++;
    }
out:
    return rc;
}

int og__typed_tiers_tell(struct og_session *s, const struct og_pilot *pilot,
                         const struct og_tiers_setup *setup, struct og_err *err)
{
    struct telling t = {.s = s};
    const size_t ptr_bytes = ((size_t)pilot->n + 1) * sizeof(*t.ptr);
    const size_t ids_bytes = OG_MAX((size_t)pilot->rows, (size_t)1) * sizeof(*t.ids);
    int rc;
    t.ptr = og__alloc(s->budget, ptr_bytes, pilot_part, err);
    t.ids = t.ptr ? og__alloc(s->budget, ids_bytes, pilot_part, err) : NULL;
    OG_TRY(t.ids ? tell_parts(&t, pilot, setup, err) : -ENOMEM);
    OG_TRY(og__predict_from(&s->path, pilot, &t.sum.cost, &t.sum.tiers, err));
out:
    og__release(s->budget, t.ids, ids_bytes, pilot_part);
    og__release(s->budget, t.ptr, ptr_bytes, pilot_part);
    return rc;
}
