/* Follows plans of two caches and a victim buffer over a whole run, as og_verifier follows one
 * cache. It knows which node each place holds, so each row must come from the fastest tier that has
 * it. It knows the run, so a row that goes to a ring must go to that of its next use. */
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
    /* of caches that hold what a superbatch visits most, since it began */
    struct og_most_visited {
        bool is_one;
        uint64_t *requested; /* [n_nodes] how often for each */
        uint64_t hits;
    } most[2]; /* the device's, the host's */
};
OG_MUST_CHECK int og__tiers_verifier_open(struct og_tiers_verifier *v, const struct og_trace *run,
                                          const struct og_tiers_setup *setup,
                                          struct og_tiers_places at, struct og_err *err);
void og__tiers_verifier_close(struct og_tiers_verifier *v);
OG_MUST_CHECK int og__tiers_verifier_prefill(struct og_tiers_verifier *v, uint32_t place,
                                             uint32_t node, struct og_err *err);
/* Ends a superbatch of which all batches were checked. A cache that holds what is visited most has
 * had as many hits as its number of nodes with the most visits. */
OG_MUST_CHECK int og__tiers_verifier_end(struct og_tiers_verifier *v, struct og_err *err);
/* The run's next batch. -EINVAL with the first thing that is wrong. */
OG_MUST_CHECK int og__tiers_verifier_check(struct og_tiers_verifier *v,
                                           const struct og_tiers_plan *plan, struct og_err *err);

#endif
