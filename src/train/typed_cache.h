/* Which rows of a typed graph are kept in memory: of all types those that a byte saves most by
 * (plan/widths.h), as many as are left of --memory, or --cache allows. */
#ifndef OG_TRAIN_TYPED_CACHE_H
#define OG_TRAIN_TYPED_CACHE_H

#include "plan/plan.h"
#include "train/session.h"

/* Does a policy rank rows so? -ENOTSUP for those that do it otherwise. */
OG_MUST_CHECK int og__typed_cache_check(int policy, struct og_err *err);
/* *out is to be released; without slots where nothing is kept. */
OG_MUST_CHECK int og__typed_cache_place(struct og_session *s, struct og_placement *out,
                                        struct og_err *err);

/* For a session that gathers them: staging areas and the cache are sized, into s->memory, and
 * s->hotness is what rows are worth, to be dropped by the caller. */
OG_MUST_CHECK int og__typed_cache_size(struct og_session *s, struct og_err *err);

#endif
