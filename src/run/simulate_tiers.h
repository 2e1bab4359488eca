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
/* One result; NULL on lack of memory. row_bytes: of a row in memory. */
json_t *og__tiers_json(const struct og_tiers_names *names, const struct og_tiers_setup *setup,
                       size_t row_bytes, const struct og_simulated_tiers *counted);

#endif
