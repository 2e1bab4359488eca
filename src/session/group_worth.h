/* What rows of several groups are worth to a policy. Groups get slots by it (plan/worth.h). */
#ifndef OG_GROUP_WORTH_H
#define OG_GROUP_WORTH_H

#include "session/session.h"

/* What rows are worth, by uses as the policy ranks nodes by them. Degrees, where it ranks none.
 * opt: its parameters; worth[N]. */
OG_MUST_CHECK int og__weigh_groups(const struct og_session *s, int policy,
                                   const struct og_options *opt, uint32_t *worth,
                                   struct og_err *err);
/* Slots of each group of one of the session's ranks, which keeps rows of its own nodes alone. The
 * array worth[N] is of all. As that rank would have them, but for what its batches take of memory
 * that others' do not. */
OG_MUST_CHECK int og__owned_slots(const struct og_session *s, const uint32_t *worth, uint32_t rank,
                                  uint64_t *slots, struct og_err *err);
size_t
og__owned_slots_bytes(const struct og_session *s); /* bytes of the budget it takes meanwhile */

#endif
