/* What simulate says of a device's cache over the host's. */
#ifndef OG_RUN_SIMULATE_TIERS_H
#define OG_RUN_SIMULATE_TIERS_H

#include "budget/config.h"
#include "plan/simulate.h"

#include <outgrow/outgrow.h>

#include <jansson.h>

struct og_tiers_names {
    const char *policy, *cache, *device_policy, *device_memory, *victim;
};
/* Counts of a pair of caches; of rows of several sizes their sum. */
struct og_counted_pair {
    uint64_t cache_rows, device_rows, victim_rows, victim_bytes;
    uint64_t link_bytes, link_bytes_back, peer_bytes;
    struct og_simulated_tiers of;
};
/* row_bytes: of a row in memory. */
struct og_counted_pair og__counted_pair(const struct og_tiers_setup *setup, size_t row_bytes,
                                        const struct og_simulated_tiers *of);
void og__counted_pair_add(struct og_counted_pair *sum, const struct og_counted_pair *of);
/* The counts alone, and one result; NULL on lack of memory. */
json_t *og__counted_pair_counts_json(const struct og_counted_pair *p);
json_t *og__counted_pair_json(const struct og_tiers_names *names, const struct og_counted_pair *p);

#endif
