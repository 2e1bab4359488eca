/* Pairs of caches where nodes have types: a device's cache of all types over the host's, each
 * type's slots a pair by itself (plan/tiers.h, ranges), so each type is simulated like a graph of
 * its own. */
#ifndef OG_RUN_SIMULATE_TYPED_PAIRS_H
#define OG_RUN_SIMULATE_TYPED_PAIRS_H

#include "run/simulator.h"

/* One pair of policies, each pair of whose sizes adds a row to the results. */
OG_MUST_CHECK int og__simulate_typed_pair(const struct simulator *m,
                                          const struct asked_policy *host,
                                          const struct asked_policy *device, json_t *results,
                                          struct og_err *err);
/* What that takes of the budget, beside the batches. */
size_t og__simulate_typed_pair_bytes(const struct simulator *m, const struct asked_policy *host,
                                     const struct asked_policy *device);

#endif
