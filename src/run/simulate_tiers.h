/* What simulate says of a device's cache over the host's. */
#ifndef OG_RUN_SIMULATE_TIERS_H
#define OG_RUN_SIMULATE_TIERS_H

#include "plan/simulate.h"

#include <outgrow/outgrow.h>

#include <jansson.h>

struct og_victim_asked {
    char name[32];  /* as given */
    uint32_t depth; /* rows a ring; 0 = off */
};

/* "off", "pvp", "pvp:depth=N"; NULL is off. */
OG_MUST_CHECK int og__victim_read(struct og_victim_asked *v, const char *text, struct og_err *err);
/* As many rings as the device's policy looks ahead. */
struct og_victim_setup og__victim_setup(const struct og_victim_asked *v,
                                        const struct og_options *device);

struct og_tiers_names {
    const char *policy, *cache, *device_policy, *device_memory, *victim;
};
/* One result; NULL on lack of memory. row_bytes: of a row in memory. */
json_t *og__tiers_json(const struct og_tiers_names *names, const struct og_tiers_setup *setup,
                       size_t row_bytes, const struct og_simulated_tiers *counted);

#endif
