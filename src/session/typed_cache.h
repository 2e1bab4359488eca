/* Which rows of a typed graph are kept in memory: of all types those that a byte saves most by
 * (plan/widths.h), as many as are left of --memory, or --cache allows. */
#ifndef OG_TRAIN_TYPED_CACHE_H
#define OG_TRAIN_TYPED_CACHE_H

#include "session/session.h"

/* Where rows that are kept stay: -ENOTSUP of a policy whose cache changes. */
OG_MUST_CHECK int og__typed_cache_check(int policy, struct og_err *err);
/* What rows are worth, by uses as the policy ranks nodes by them; degrees, where it ranks none.
 * opt: its parameters; worth[N]. */
OG_MUST_CHECK int og__typed_cache_weigh(const struct og_session *s, int policy,
                                        const struct og_options *opt, uint32_t *worth,
                                        struct og_err *err);
/* Slots of each group of one of the session's ranks, which keeps rows of its own nodes alone:
 * worth[N] is of all. As that rank would have them, but for what its batches take of memory that
 * others' do not.
 */
OG_MUST_CHECK int og__typed_owned_slots(const struct og_session *s, const uint32_t *worth,
                                        uint32_t rank, uint64_t *slots, struct og_err *err);
size_t og__typed_owned_bytes(const struct og_session *s); /* meanwhile */
/* *out is to be released; without slots where nothing is kept. */
OG_MUST_CHECK int og__typed_cache_place(struct og_session *s, struct og_placement *out,
                                        struct og_err *err);

#endif
