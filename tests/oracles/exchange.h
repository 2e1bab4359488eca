/* Follows what all owners of nodes plan for a round of mini-batches. Each row of each mini-batch
 * must be served once, by the owner of its node, from a slot that holds it or from what that owner
 * reads for the round. Nothing may be read that nobody requested. */
#ifndef OG_ORACLE_EXCHANGE_H
#define OG_ORACLE_EXCHANGE_H

#include "oracles/verifier.h"

enum { OG__MOST_OWNERS = 8 };

struct og_exchange_verifier {
    uint32_t owners;
    struct og_verifier cache[OG__MOST_OWNERS]; /* of own numbers */
};

/* A mini-batch, and at[o][i]: where owner o serves the i-th of those rows that it owns. */
struct og_asking {
    const uint32_t *ids;
    uint32_t n;
    const uint32_t *at[OG__MOST_OWNERS];
    uint32_t n_at[OG__MOST_OWNERS];
};

/* What an owner serves: its nodes by own numbers, and its plan of them. */
struct og_serving {
    const uint32_t *ids;
    uint32_t n;
    const struct og_plan *plan;
};

/* -EINVAL with the first thing that is wrong. serving[v->owners] */
OG_MUST_CHECK int og__exchange_check(struct og_exchange_verifier *v, const struct og_asking *asking,
                                     uint32_t n_asking, const struct og_serving *serving,
                                     struct og_err *err);

#endif
