/* Follows plans of two caches and rings of victims over a whole run, as the verifier follows those
 * of one. It knows which node each place holds, so each row must come from the fastest tier that
 * has it; and it knows the run, so a row that goes to a ring must go to that of its next use. */
#ifndef OG_ORACLE_TIERS_VERIFIER_H
#define OG_ORACLE_TIERS_VERIFIER_H

#include "plan/tiers.h"

struct og_tiers_verifier {
    const struct og_trace *run;
    uint64_t n_nodes;
    struct og_victim_setup victim; /* no rings: depth 0 */
    struct og_tiers_places at;
    bool exclusive;   /* no node may be in both caches */
    bool strict;      /* nor in two places of one; rows come from the fastest place */
    uint32_t *held;   /* [at.misses] node, or OG_NO_SLOT */
    uint32_t *filled; /* [n_rings] */
    uint32_t *before; /* [n_rings] as the batch's moves begin */
    uint32_t *where;  /* [n_nodes] scratch */
    uint32_t batch;
    uint64_t device_hits, host_hits, victim_hits, misses, pushed, demoted;
};
OG_MUST_CHECK int og__tiers_verifier_open(struct og_tiers_verifier *v, const struct og_trace *run,
                                          const struct og_tiers_setup *setup,
                                          struct og_tiers_places at, struct og_err *err);
void og__tiers_verifier_close(struct og_tiers_verifier *v);
OG_MUST_CHECK int og__tiers_verifier_prefill(struct og_tiers_verifier *v, uint32_t place,
                                             uint32_t node, struct og_err *err);
/* The run's next batch. -EINVAL with the first thing that is wrong. */
OG_MUST_CHECK int og__tiers_verifier_check(struct og_tiers_verifier *v,
                                           const struct og_tiers_plan *plan, struct og_err *err);

#endif
