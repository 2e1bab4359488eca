/* levels: for static policies and lru, a row's level is the number of sizes that miss it. One pass
 * then counts all sizes. */
#ifndef OG_LEVELS_H
#define OG_LEVELS_H

#include "plan/simulate.h"

OG_MUST_CHECK int og__simulate_static(const struct og_simulation *sim,
                                      const struct og_policy_setup *setup, struct og_simulated *out,
                                      struct og_err *err);
OG_MUST_CHECK int og__simulate_stack(const struct og_simulation *sim, struct og_simulated *out,
                                     struct og_err *err);

#endif
