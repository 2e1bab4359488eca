#include "run/simulate_pairs.h"

#include "base/json.h"
#include "budget/slots.h"
#include "run/simulator_groups.h"

#include <string.h>

/* A pair of policies. */
struct pair {
    const struct simulator *m;
    const struct requested_policy *host, *device;
    struct og_simulation sim; /* of a group but for its batches and how it is read */
    struct og_partitioned partitioned;
    /* while it is simulated */
    uint32_t *worth, *device_worth; /* [N] of rows to each, which may be the same */
    struct group_batches batches;
};

/* ---- what a pair is ---- */

/* Is device policy number k simulated over the host's number i? */
static bool is_pair(const struct simulator *m, int i, int k)
{
    return !m->device_is_paired || i == k;
}

int og__simulator_keepers(const struct simulator *m)
{
    return m->workers > 1 ? 1 : og__trainers_keepers(m->s ? &m->s->config.opt : &m->opt);
}

/* Both look ahead by the shorter superbatch of what each would have by itself. */
static struct pair pair_of(const struct simulator *m, const struct requested_policy *host,
                           const struct requested_policy *device)
{
    const struct og_simulation other = og__simulation_of(m, device);
    const bool keeps = og__simulator_keeps(m, host->kind) && og__simulator_keeps(m, device->kind);
    struct pair p = {.m = m,
                     .host = host,
                     .device = device,
                     .sim = og__simulation_of(m, host),
                     .partitioned = og__simulator_partitioned(m, keeps, false),
                     .batches = {.m = m}};
    p.sim.superbatch = OG_MIN(p.sim.superbatch, other.superbatch);
    p.sim.epoch = m->epoch;
    return p;
}

/* Both policies over group k, with so many slots and a victim buffer; without rankings. */
static struct og_tiers_setup setup_of(const struct pair *p, uint32_t k, uint64_t slots,
                                      uint64_t device_slots)
{
    const struct simulator *m = p->m;
    const uint64_t n_nodes = m->group[k].n_nodes;
    struct og_tiers_setup setup = {.device =
                                       og__policy_setup(&p->device->opt, p->device->kind, n_nodes),
                                   .host = og__policy_setup(&p->host->opt, p->host->kind, n_nodes),
                                   .victim = og__victim_setup(&m->victim, &p->device->opt, n_nodes),
                                   .keepers = (uint32_t)og__simulator_keepers(m)};
    setup.host.n_slots = (uint32_t)slots;
    setup.device.n_slots = (uint32_t)device_slots;
    return setup;
}

/* ---- open and close ---- */

static bool ranks_alike(const struct pair *p)
{
    return strcmp(p->host->name, p->device->name) == 0;
}

static int open_pair(struct pair *p, struct og_err *err)
{
    OG_DO(og__simulator_find_worth(p->m, p->host, &p->worth, err));
    p->device_worth = p->worth;
    if (!ranks_alike(p)) {
        p->device_worth = NULL;
        OG_DO(og__simulator_find_worth(p->m, p->device, &p->device_worth, err));
    }
    return og__group_batches_open(&p->batches, p->m, err);
}

static void close_pair(struct pair *p)
{
    og__group_batches_close(&p->batches);
    if (p->device_worth != p->worth)
        og__simulator_release_worth(p->m, p->device, p->device_worth);
    og__simulator_release_worth(p->m, p->host, p->worth);
}

/* ---- slots ---- */

/* The device's, and what the host has to know of them, as in a run. */
static int plan_upper_tier(const struct pair *p, const struct og_amount *cache,
                           struct og_upper_tier *upper, struct og_err *err)
{
    const struct simulator *m = p->m;
    const struct og_upper_tier nothing = {0};
    *upper = nothing;
    if (!og__policy_caches(p->device->kind))
        return 0;
    OG_DO(og__amount_slots(p->device_worth, cache, m->bytes, m->n_groups, &nothing, m->sim.budget,
                           upper->slots, err));
    for (uint32_t k = 0; k < m->n_groups; k++) {
        upper->rows += upper->slots[k];
        upper->bytes += (size_t)upper->slots[k] * m->bytes[k].row_bytes;
    }
    upper->stay = og__policy_is_static(p->device->kind) && og__policy_is_static(p->host->kind);
    upper->first = upper->stay && m->device_is_paired && p->device->kind == p->host->kind;
    return 0;
}

/* ---- one pair of sizes ---- */

static int count_group(const struct pair *p, uint32_t k, uint64_t slots, uint64_t device_slots,
                       struct og_counted_pair *out, struct og_err *err)
{
    const struct simulator *m = p->m;
    const uint64_t first = m->group[k].first;
    struct og_tiers_setup setup = setup_of(p, k, slots, device_slots);
    struct og_simulation sim = p->sim;
    struct og_simulated_tiers of;
    sim.n_nodes = m->group[k].n_nodes;
    sim.rule = m->group[k].rule;
    sim.trace = og__group_batches_of(&p->batches, k);
    setup.host.hotness = p->worth ? p->worth + first : NULL;
    setup.device.hotness = p->device_worth ? p->device_worth + first : NULL;
    const int rc = og__simulate_tiers_partitioned(&sim, &setup, &p->partitioned, &of, err);
    if (rc == 0)
        *out = og__counted_pair(&setup, m->bytes[k].row_bytes, &of);
    return rc;
}

/* *groups: a row each; *sum: of them all. */
static int count_groups(const struct pair *p, const uint64_t *slots, const uint64_t *device_slots,
                        struct og_counted_pair *sum, struct group_rows *groups, struct og_err *err)
{
    const struct simulator *m = p->m;
    int rc = 0;
    for (uint32_t k = 0; k < m->n_groups; k++) {
        struct og_counted_pair own;
        if (!og__simulator_has_rows(m, k))
            continue;
        OG_TRY(count_group(p, k, slots[k], device_slots[k], &own, err));
        og__counted_pair_add(sum, &own);
        json_t *row = json_pack("{s:s}", "name", m->group[k].name);
        og__group_rows_add(groups, &m->group[k],
                           og__json_joined(row, og__counted_pair_counts_json(&own)));
    }
out:
    return rc;
}

static int simulate_sizes(const struct pair *p, const struct requested_cache *cache,
                          const struct requested_cache *device, const struct og_upper_tier *upper,
                          json_t *results, struct og_err *err)
{
    const struct simulator *m = p->m;
    const struct og_tiers_names names = {p->host->name, cache->name, p->device->name, device->name,
                                         m->victim.name};
    uint64_t slots[OG_MOST_TYPES] = {0};
    struct og_counted_pair sum = {0};
    struct group_rows groups = og__group_rows();
    int rc = 0;
    if (og__policy_caches(p->host->kind))
        OG_TRY(og__amount_slots(p->worth, &cache->amount, m->bytes, m->n_groups, upper,
                                m->sim.budget, slots, err));
    OG_TRY(count_groups(p, slots, upper->slots, &sum, &groups, err));
    json_t *row = og__with_group_rows(og__counted_pair_json(&names, &sum), groups);
    groups = (struct group_rows){NULL, NULL};
    if (json_array_append_new(results, row) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulate"));
out:
    json_decref(groups.nodes);
    json_decref(groups.edges);
    return rc;
}

static int simulate_pair(const struct simulator *m, const struct requested_policy *host,
                         const struct requested_policy *device, json_t *results, struct og_err *err)
{
    struct pair p = pair_of(m, host, device);
    struct og_upper_tier upper;
    int rc;
    OG_TRY(open_pair(&p, err));
    for (int k = 0; k < m->device->n_caches; k++) {
        OG_TRY(plan_upper_tier(&p, &m->device->cache[k].amount, &upper, err));
        for (int i = 0; i < m->n_caches; i++)
            OG_TRY(simulate_sizes(&p, &m->cache[i], &m->device->cache[k], &upper, results, err));
    }
out:
    close_pair(&p);
    return rc;
}

/* ---- memory ---- */

static uint32_t most_slots(const struct simulator *m, const struct simulator *lists, uint32_t k)
{
    uint32_t most = 0;
    for (int i = 0; i < lists->n_caches; i++)
        most = OG_MAX(most, og__simulator_most_slots(m, &lists->cache[i].amount, k));
    return most;
}

static size_t running_bytes(const struct pair *p, uint32_t k)
{
    const struct simulator *m = p->m;
    const struct og_tiers_setup setup =
        setup_of(p, k, most_slots(m, m, k), most_slots(m, m->device, k));
    struct og_simulation sim = p->sim;
    sim.n_nodes = m->group[k].n_nodes;
    return og__simulate_tiers_partitioned_bytes(&sim, &setup, &p->partitioned, m->most_batches,
                                                m->most_rows, OG_MIN(m->longest, sim.n_nodes));
}

static size_t pair_bytes(const struct simulator *m, const struct requested_policy *host,
                         const struct requested_policy *device)
{
    const struct pair p = pair_of(m, host, device);
    const size_t ranking =
        OG_MAX(og__simulator_ranking_bytes(m, host), og__simulator_ranking_bytes(m, device));
    size_t running = 0;
    for (uint32_t k = 0; k < m->n_groups; k++)
        if (og__simulator_has_rows(m, k))
            running = OG_MAX(running, running_bytes(&p, k));
    return og__simulator_worth_bytes(m, host) + og__simulator_worth_bytes(m, device) +
           OG_MAX(ranking, og__group_batches_bytes(m) + running);
}

/* ---- all pairs ---- */

int og__simulate_pairs(struct simulator *m, int i, json_t *results, struct og_err *err)
{
    int rc = 0;
    for (int k = 0; k < m->device->n_policies; k++)
        if (is_pair(m, i, k))
            OG_TRY(simulate_pair(m, &m->policy[i], &m->device->policy[k], results, err));
out:
    return rc;
}

size_t og__simulate_pairs_bytes(const struct simulator *m, int i)
{
    size_t most = 0;
    for (int k = 0; m->device && k < m->device->n_policies; k++)
        if (is_pair(m, i, k))
            most = OG_MAX(most, pair_bytes(m, &m->policy[i], &m->device->policy[k]));
    return most;
}
