/* A device's cache over the host's, by any pair of policies and of sizes. Slots of each group are a
 * pair by themselves (plan/tiers.h, ranges). */
#ifndef OG_RUN_SIMULATE_PAIRS_H
#define OG_RUN_SIMULATE_PAIRS_H

#include "run/simulator.h"

/* Simulates all sizes of the device policies that are paired with host policy number i. Each adds a
 * row to the results. */
OG_MUST_CHECK int og__simulate_pairs(struct simulator *m, int i, json_t *results,
                                     struct og_err *err);
/* Bytes of the budget that takes at most. */
size_t og__simulate_pairs_bytes(const struct simulator *m, int i);

#endif
