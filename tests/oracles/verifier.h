/* Follows any policy's plans batch by batch and knows at each moment which node each slot holds. No
 * row may be read from a slot that does not hold it, no miss be read twice, no slot be beyond the
 * capacity. Every row of every batch has to be served exactly once. */
#ifndef OG_ORACLE_VERIFIER_H
#define OG_ORACLE_VERIFIER_H

#include "plan/plan.h"

struct og_verifier {
    uint32_t n_slots;
    uint32_t *held; /* [n_slots] node in the slot, or OG_NO_SLOT */
};
OG_MUST_CHECK int og__verifier_open(struct og_verifier *v, uint32_t n_slots, struct og_err *err);
void og__verifier_close(struct og_verifier *v);
/* A row put into a slot outside any batch. */
OG_MUST_CHECK int og__verifier_prefill(struct og_verifier *v, uint32_t slot, uint32_t node,
                                       struct og_err *err);
/* -EINVAL with the first thing that is wrong. */
OG_MUST_CHECK int og__verifier_check(struct og_verifier *v, const uint32_t *ids, uint32_t n,
                                     const struct og_plan *plan, struct og_err *err);

#endif
