#include "run/simulate_pairs.h"

#include "choose/hotness.h"
#include "learn/trainers.h"
#include "options/options.h"
#include "report/json.h"
#include "run/simulate_typed_pairs.h"

#include <string.h>

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

struct og_tiers_setup og__simulated_pair(const struct simulator *m, const struct asked_policy *host,
                                         const struct asked_policy *device, uint64_t n_nodes)
{
    return (struct og_tiers_setup){.device = og__policy_setup(&device->opt, device->kind, n_nodes),
                                   .host = og__policy_setup(&host->opt, host->kind, n_nodes),
                                   .victim = og__victim_setup(&m->victim, &device->opt, n_nodes),
                                   .keepers = (uint32_t)og__simulator_keepers(m)};
}

struct og_simulation og__simulation_of_pair(const struct simulator *m,
                                            const struct asked_policy *host,
                                            const struct asked_policy *device)
{
    const struct og_simulation there = og__simulation_of(m, device);
    struct og_simulation sim = og__simulation_of(m, host);
    sim.superbatch = OG_MIN(sim.superbatch, there.superbatch);
    sim.epoch = m->epoch;
    return sim;
}

struct og_dealt og__dealt_of_pair(const struct simulator *m, const struct asked_policy *host,
                                  const struct asked_policy *device)
{
    const bool keeps = og__simulator_keeps(m, host->kind) && og__simulator_keeps(m, device->kind);
    return og__simulator_dealt(m, keeps, false);
}

/* ---- all rows of one width ---- */

static size_t pair_bytes(const struct simulator *m, const struct asked_policy *host,
                         const struct asked_policy *device)
{
    const struct og_simulation sim = og__simulation_of_pair(m, host, device);
    const struct og_dealt dealt = og__dealt_of_pair(m, host, device);
    struct og_tiers_setup s = og__simulated_pair(m, host, device, m->sim.n_nodes);
    size_t ranking = 0;
    for (int i = 0; i < m->n_caches; i++)
        s.host.n_slots = OG_MAX(s.host.n_slots, m->size[i]);
    for (int i = 0; i < m->device->n_caches; i++)
        s.device.n_slots = OG_MAX(s.device.n_slots, m->device->size[i]);
    if (m->s)
        ranking = OG_MAX(og__hotness_bytes(&m->s->facts, host->kind),
                         og__hotness_bytes(&m->s->facts, device->kind));
    return og__simulator_hotness_bytes(m, host) + og__simulator_hotness_bytes(m, device) +
           OG_MAX(ranking, og__simulate_tiers_dealt_bytes(&sim, &s, &dealt, m->most_batches,
                                                          m->most_rows, m->longest));
}

static int find_one(struct simulator *m, const struct asked_policy *p, uint32_t **hotness,
                    struct og_err *err)
{
    const size_t bytes = og__simulator_hotness_bytes(m, p);
    if (bytes == 0)
        return 0;
    *hotness = og__alloc(m->sim.budget, bytes, "hotness", err);
    return *hotness ? og__simulator_find_hotness(m, p, *hotness, err) : -ENOMEM;
}

/* Both rankings, which may be the same one: *hotness of the host's, *above of the device's. */
static int find_both(struct simulator *m, const struct asked_policy *host,
                     const struct asked_policy *device, uint32_t **hotness, uint32_t **above,
                     struct og_err *err)
{
    const int rc = find_one(m, host, hotness, err);
    *above = *hotness;
    if (rc < 0 || strcmp(host->name, device->name) == 0)
        return rc;
    *above = NULL;
    return find_one(m, device, above, err);
}

static int simulate_pair(struct simulator *m, const struct asked_policy *host,
                         const struct asked_policy *device, json_t *results, struct og_err *err)
{
    const struct og_simulation sim = og__simulation_of_pair(m, host, device);
    const struct og_dealt dealt = og__dealt_of_pair(m, host, device);
    struct og_tiers_setup setup = og__simulated_pair(m, host, device, m->sim.n_nodes);
    uint32_t *hotness = NULL;
    uint32_t *above = NULL;
    int rc;
    OG_TRY(find_both(m, host, device, &hotness, &above, err));
    setup.host.hotness = hotness;
    setup.device.hotness = above;
    for (int k = 0; k < m->device->n_caches; k++) {
        for (int i = 0; i < m->n_caches; i++) {
            const struct og_tiers_names names = {host->name, m->cache[i].name, device->name,
                                                 m->device->cache[k].name, m->victim.name};
            struct og_simulated_tiers of;
            setup.device.n_slots = m->device->size[k];
            setup.host.n_slots = m->size[m->cache[i].place];
            OG_TRY(og__simulate_tiers_dealt(&sim, &setup, &dealt, &of, err));
            const struct og_counted_pair counted =
                og__counted_pair(&setup, og__simulator_row_bytes(m), &of);
            if (json_array_append_new(results, og__counted_pair_json(&names, &counted)) < 0)
                OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulate"));
        }
    }
out:
    if (above != hotness)
        og__release(m->sim.budget, above, og__simulator_hotness_bytes(m, device), "hotness");
    og__release(m->sim.budget, hotness, og__simulator_hotness_bytes(m, host), "hotness");
    return rc;
}

/* ---- all pairs ---- */

int og__simulate_pairs(struct simulator *m, int i, json_t *results, struct og_err *err)
{
    const struct asked_policy *host = &m->policy[i];
    int rc = 0;
    for (int k = 0; k < m->device->n_policies; k++) {
        const struct asked_policy *device = &m->device->policy[k];
        if (is_pair(m, i, k))
            OG_TRY(og__simulates_types(m) ? og__simulate_typed_pair(m, host, device, results, err)
                                          : simulate_pair(m, host, device, results, err));
    }
out:
    return rc;
}

size_t og__simulate_pairs_bytes(const struct simulator *m, int i)
{
    const struct asked_policy *host = &m->policy[i];
    size_t most = 0;
    for (int k = 0; m->device && k < m->device->n_policies; k++) {
        const struct asked_policy *device = &m->device->policy[k];
        if (is_pair(m, i, k))
            most =
                OG_MAX(most, og__simulates_types(m) ? og__simulate_typed_pair_bytes(m, host, device)
                                                    : pair_bytes(m, host, device));
    }
    return most;
}
