#include "run/simulate_typed_pairs.h"

#include "base/json.h"
#include "budget/slots.h"
#include "run/simulate_pairs.h"
#include "run/simulate_types.h"
#include "session/typed_cache.h"

#include <string.h>

/* A pair of policies. */
struct pair {
    const struct simulator *m;
    const struct asked_policy *host, *device;
    struct og_simulation sim; /* of a type but for its batches and how it is read */
    struct og_dealt dealt;
    uint32_t *worth, *worth_there; /* [N] what rows are worth to each, which may be the same */
    uint64_t *ptr;                 /* batches of a type, */
    uint32_t *ids;                 /* by its numbers */
};

/* ---- open and close ---- */

static size_t worth_bytes(const struct simulator *m)
{
    return m->sim.n_nodes * sizeof(uint32_t);
}

static size_t ptr_bytes(const struct simulator *m)
{
    return ((size_t)m->sim.trace.n_batches + 1) * sizeof(uint64_t);
}

static size_t ids_bytes(const struct simulator *m)
{
    return OG_MAX(m->rows, (uint64_t)1) * sizeof(uint32_t);
}

static int weigh_both(struct pair *p, struct og_err *err)
{
    const struct simulator *m = p->m;
    int rc;
    p->worth = og__alloc(m->sim.budget, worth_bytes(m), "hotness", err);
    OG_TRY(p->worth ? og__simulated_worth(m, p->host, p->worth, err) : -ENOMEM);
    p->worth_there = p->worth;
    if (strcmp(p->host->name, p->device->name) == 0)
        return 0;
    p->worth_there = og__alloc(m->sim.budget, worth_bytes(m), "hotness", err);
    OG_TRY(p->worth_there ? og__simulated_worth(m, p->device, p->worth_there, err) : -ENOMEM);
out:
    return rc;
}

static int open_pair(struct pair *p, struct og_err *err)
{
    const struct simulator *m = p->m;
    int rc;
    p->sim = og__simulation_of_pair(m, p->host, p->device);
    p->dealt = og__dealt_of_pair(m, p->host, p->device);
    OG_TRY(weigh_both(p, err));
    p->ptr = og__alloc(m->sim.budget, ptr_bytes(m), "trace", err);
    p->ids = p->ptr ? og__alloc(m->sim.budget, ids_bytes(m), "trace", err) : NULL;
    OG_TRY(p->ids ? 0 : -ENOMEM);
out:
    return rc;
}

static void close_pair(struct pair *p)
{
    struct og_budget *b = p->m->sim.budget;
    og__release(b, p->ids, ids_bytes(p->m), "trace");
    og__release(b, p->ptr, ptr_bytes(p->m), "trace");
    if (p->worth_there != p->worth)
        og__release(b, p->worth_there, worth_bytes(p->m), "hotness");
    og__release(b, p->worth, worth_bytes(p->m), "hotness");
}

/* ---- slots ---- */

/* Of the device, and what the host has to know of it, as in a run. */
static int share_out_there(const struct pair *p, const struct og_amount *cache,
                           struct og_upper_tier *above, struct og_err *err)
{
    const struct simulator *m = p->m;
    const struct og_upper_tier nothing = {0};
    int rc;
    *above = nothing;
    if (!og__policy_caches(p->device->kind))
        return 0;
    OG_TRY(og__amount_slots(p->worth_there, cache, m->width, m->types->n_types, &nothing,
                            m->sim.budget, above->slots, err));
    for (uint32_t t = 0; t < m->types->n_types; t++) {
        above->rows += above->slots[t];
        above->bytes += (size_t)above->slots[t] * m->width[t].row_bytes;
    }
    above->stay = og__policy_is_static(p->device->kind) && og__policy_is_static(p->host->kind);
    above->first = above->stay && m->device_is_paired && p->device->kind == p->host->kind;
out:
    return rc;
}

/* ---- one pair of sizes ---- */

static int count_type(const struct pair *p, uint32_t t, uint64_t slots, uint64_t there,
                      struct og_counted_pair *out, struct og_err *err)
{
    const struct simulator *m = p->m;
    const uint32_t first = og__first_id(m->types, t);
    struct og_tiers_setup setup =
        og__simulated_pair(m, p->host, p->device, og__simulated_nodes(m, t));
    struct og_simulation sim = p->sim;
    struct og_simulated_tiers of;
    sim.n_nodes = setup.host.n_nodes;
    sim.rule = m->rule_of[t];
    sim.trace = (struct og_trace){m->sim.trace.n_batches, p->ptr, p->ids};
    setup.host.n_slots = (uint32_t)slots;
    setup.device.n_slots = (uint32_t)there;
    setup.host.hotness = p->worth + first;
    setup.device.hotness = p->worth_there + first;
    (void)og__trace_of_range(&m->sim.trace, first, m->types->type[t].end, p->ptr, p->ids);
    const int rc = og__simulate_tiers_dealt(&sim, &setup, &p->dealt, &of, err);
    if (rc == 0)
        *out = og__counted_pair(&setup, m->width[t].row_bytes, &of);
    return rc;
}

/* *types: a row each; *sum: of them all. */
static int count_types(const struct pair *p, const uint64_t *slots, const uint64_t *there,
                       struct og_counted_pair *sum, json_t **types, struct og_err *err)
{
    const struct og_graph_types *g = p->m->types;
    int rc = 0;
    for (uint32_t t = 0; t < g->n_types; t++) {
        struct og_counted_pair own;
        if (!og__has_features(&g->type[t]))
            continue;
        OG_TRY(count_type(p, t, slots[t], there[t], &own, err));
        og__counted_pair_add(sum, &own);
        json_t *row = json_pack("{s:s}", "name", g->type[t].name);
        *types = og__json_append(*types, og__json_joined(row, og__counted_pair_counts_json(&own)));
    }
out:
    return rc;
}

static int simulate_sizes(const struct pair *p, const struct asked_cache *cache,
                          const struct asked_cache *there, const struct og_upper_tier *above,
                          json_t *results, struct og_err *err)
{
    const struct simulator *m = p->m;
    const struct og_tiers_names names = {p->host->name, cache->name, p->device->name, there->name,
                                         m->victim.name};
    uint64_t slots[OG_MOST_TYPES] = {0};
    struct og_counted_pair sum = {0};
    json_t *types = json_array();
    int rc = 0;
    if (og__policy_caches(p->host->kind))
        OG_TRY(og__amount_slots(p->worth, &cache->amount, m->width, m->types->n_types, above,
                                m->sim.budget, slots, err));
    OG_TRY(count_types(p, slots, above->slots, &sum, &types, err));
    json_t *row = og__json_with(og__counted_pair_json(&names, &sum), "types", types);
    types = NULL;
    if (json_array_append_new(results, row) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulate"));
out:
    json_decref(types);
    return rc;
}

int og__simulate_typed_pair(const struct simulator *m, const struct asked_policy *host,
                            const struct asked_policy *device, json_t *results, struct og_err *err)
{
    struct pair p = {.m = m, .host = host, .device = device};
    struct og_upper_tier above;
    int rc;
    OG_TRY(open_pair(&p, err));
    for (int k = 0; k < m->device->n_caches; k++) {
        OG_TRY(share_out_there(&p, &m->device->cache[k].amount, &above, err));
        for (int i = 0; i < m->n_caches; i++)
            OG_TRY(simulate_sizes(&p, &m->cache[i], &m->device->cache[k], &above, results, err));
    }
out:
    close_pair(&p);
    return rc;
}

/* ---- memory ---- */

static size_t running_bytes(const struct simulator *m, const struct asked_policy *host,
                            const struct asked_policy *device, uint32_t t)
{
    const uint64_t n_nodes = og__simulated_nodes(m, t);
    const struct og_dealt dealt = og__dealt_of_pair(m, host, device);
    struct og_simulation sim = og__simulation_of_pair(m, host, device);
    struct og_tiers_setup setup = og__simulated_pair(m, host, device, n_nodes);
    sim.n_nodes = n_nodes;
    setup.host.n_slots = og__simulated_slots(m, m, t);
    setup.device.n_slots = og__simulated_slots(m, m->device, t);
    return og__simulate_tiers_dealt_bytes(&sim, &setup, &dealt, m->most_batches, m->most_rows,
                                          OG_MIN(m->longest, n_nodes));
}

size_t og__simulate_typed_pair_bytes(const struct simulator *m, const struct asked_policy *host,
                                     const struct asked_policy *device)
{
    const size_t ranking =
        OG_MAX(og__simulated_ranking_bytes(m, host), og__simulated_ranking_bytes(m, device));
    size_t running = 0;
    for (uint32_t t = 0; t < m->types->n_types; t++)
        if (og__has_features(&m->types->type[t]))
            running = OG_MAX(running, running_bytes(m, host, device, t));
    return 2 * worth_bytes(m) + OG_MAX(ranking, og__simulated_batches_bytes(m) + running);
}
