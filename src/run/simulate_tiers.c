#include "run/simulate_tiers.h"

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

static int set_count(json_t *row, const char *key, uint64_t n)
{
    return json_object_set_new(row, key, json_integer((json_int_t)n));
}

json_t *og__tiers_json(const struct og_tiers_names *names, const struct og_tiers_setup *setup,
                       size_t row_bytes, const struct og_simulated_tiers *counted)
{
    const struct og_plan_cost *cost = &counted->cost;
    const struct og_tiers_cost *tiers = &counted->tiers;
    const uint64_t ring_rows = og__victim_places(&setup->victim);
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"cache_rows", setup->host.n_slots},
        {"device_rows", setup->device.n_slots},
        {"victim_rows", ring_rows},
        {"victim_bytes", ring_rows * (row_bytes + OG__VICTIM_META_BYTES)},
        {"rows", cost->rows},
        {"hits", cost->hits},
        {"device_hits", tiers->device_hits},
        {"host_hits", tiers->host_hits},
        {"victim_hits", tiers->victim_hits},
        {"misses", cost->misses},
        {"prefill", counted->prefill},
        {"device_prefill", counted->device_prefill},
        {"reads", cost->reads},
        {"bytes_read", cost->bytes},
        {"link_bytes", og__tiers_linked(tiers, cost->rows) * row_bytes},
        {"link_bytes_back", og__tiers_linked_back(tiers) * row_bytes},
        {"peer_hits", tiers->peer_hits},
        {"peer_bytes", og__tiers_to_peers(tiers) * row_bytes},
        {"demoted", tiers->demoted},
        {"victim_pushed", tiers->victim_pushed},
        {"victim_dropped", tiers->victim_dropped},
    };
    json_t *row =
        json_pack("{s:s s:s s:s s:s s:s s:f s:f}", "policy", names->policy, "cache", names->cache,
                  "device_policy", names->device_policy, "device_memory", names->device_memory,
                  "victim", names->victim, "hit_rate", share(cost->hits, cost->rows),
                  "hit_rate_with_prefill", 1 - share(cost->misses + counted->prefill, cost->rows));
    for (size_t i = 0; row && i < OG_COUNT(counts); i++) {
        if (set_count(row, counts[i].key, counts[i].value) == 0)
            continue;
        json_decref(row);
        row = NULL;
    }
    return row;
}
