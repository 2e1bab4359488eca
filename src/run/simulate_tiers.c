#include "run/simulate_tiers.h"

#include "base/json.h"

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

struct og_counted_pair og__counted_pair(const struct og_tiers_setup *setup, size_t row_bytes,
                                        const struct og_simulated_tiers *of)
{
    const uint64_t ring_rows = og__victim_places(&setup->victim);
    return (struct og_counted_pair){
        .cache_rows = setup->host.n_slots,
        .device_rows = setup->device.n_slots,
        .victim_rows = ring_rows,
        .victim_bytes = ring_rows * (row_bytes + OG__VICTIM_META_BYTES),
        .link_bytes = og__tiers_linked(&of->tiers, of->cost.rows) * row_bytes,
        .link_bytes_back = og__tiers_linked_back(&of->tiers) * row_bytes,
        .peer_bytes = og__tiers_to_peers(&of->tiers) * row_bytes,
        .of = *of,
    };
}

void og__counted_pair_add(struct og_counted_pair *sum, const struct og_counted_pair *of)
{
    sum->cache_rows += of->cache_rows;
    sum->device_rows += of->device_rows;
    sum->victim_rows += of->victim_rows;
    sum->victim_bytes += of->victim_bytes;
    sum->link_bytes += of->link_bytes;
    sum->link_bytes_back += of->link_bytes_back;
    sum->peer_bytes += of->peer_bytes;
    sum->of.prefill += of->of.prefill;
    sum->of.device_prefill += of->of.device_prefill;
    og__plan_cost_add(&sum->of.cost, &of->of.cost);
    og__tiers_cost_sum(&sum->of.tiers, &of->of.tiers);
}

static int set_count(json_t *row, const char *key, uint64_t n)
{
    return json_object_set_new(row, key, json_integer((json_int_t)n));
}

json_t *og__counted_pair_counts_json(const struct og_counted_pair *p)
{
    const struct og_plan_cost *cost = &p->of.cost;
    const struct og_tiers_cost *tiers = &p->of.tiers;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"cache_rows", p->cache_rows},
        {"device_rows", p->device_rows},
        {"victim_rows", p->victim_rows},
        {"victim_bytes", p->victim_bytes},
        {"rows", cost->rows},
        {"hits", cost->hits},
        {"device_hits", tiers->device_hits},
        {"host_hits", tiers->host_hits},
        {"victim_hits", tiers->victim_hits},
        {"misses", cost->misses},
        {"prefill", p->of.prefill},
        {"device_prefill", p->of.device_prefill},
        {"reads", cost->reads},
        {"bytes_read", cost->bytes},
        {"link_bytes", p->link_bytes},
        {"link_bytes_back", p->link_bytes_back},
        {"peer_hits", tiers->peer_hits},
        {"peer_bytes", p->peer_bytes},
        {"demoted", tiers->demoted},
        {"victim_pushed", tiers->victim_pushed},
        {"victim_dropped", tiers->victim_dropped},
    };
    json_t *row = json_object();
    for (size_t i = 0; row && i < OG_COUNT(counts); i++) {
        if (set_count(row, counts[i].key, counts[i].value) == 0)
            continue;
        json_decref(row);
        row = NULL;
    }
    return row;
}

json_t *og__counted_pair_json(const struct og_tiers_names *names, const struct og_counted_pair *p)
{
    const struct og_plan_cost *cost = &p->of.cost;
    json_t *row =
        json_pack("{s:s s:s s:s s:s s:s s:f s:f}", "policy", names->policy, "cache", names->cache,
                  "device_policy", names->device_policy, "device_memory", names->device_memory,
                  "victim", names->victim, "hit_rate", share(cost->hits, cost->rows),
                  "hit_rate_with_prefill", 1 - share(cost->misses + p->of.prefill, cost->rows));
    return og__json_joined(row, og__counted_pair_counts_json(p));
}
