/* A device's cache over the host's, by any pair of policies and of sizes. */
#ifndef OG_RUN_SIMULATE_PAIRS_H
#define OG_RUN_SIMULATE_PAIRS_H

#include "run/simulator.h"

/* What a pair is simulated over: the shorter superbatch of what each would have by itself; and, of
 * several workers, what each prepares. */
struct og_simulation og__simulation_of_pair(const struct simulator *m,
                                            const struct asked_policy *host,
                                            const struct asked_policy *device);
struct og_dealt og__dealt_of_pair(const struct simulator *m, const struct asked_policy *host,
                                  const struct asked_policy *device);
/* Both policies over so many nodes, and the rings; no slots, and nobody is ranked. */
struct og_tiers_setup og__simulated_pair(const struct simulator *m, const struct asked_policy *host,
                                         const struct asked_policy *device, uint64_t n_nodes);
/* Of device policies that are paired with host policy number i all sizes, behind the results. */
OG_MUST_CHECK int og__simulate_pairs(struct simulator *m, int i, json_t *results,
                                     struct og_err *err);
/* What that takes of the budget at most. */
size_t og__simulate_pairs_bytes(const struct simulator *m, int i);

#endif
