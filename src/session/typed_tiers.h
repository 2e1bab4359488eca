/* A device's cache of rows of several widths, over the host's: of all types those that a byte saves
 * most by (plan/widths.h), as many as --device-memory has room for. */
#ifndef OG_TRAIN_TYPED_TIERS_H
#define OG_TRAIN_TYPED_TIERS_H

#include "session/session.h"
#include "session/typed_cache.h"

/* Its slots of each type, by what rows are worth[N] to its policy. Without a device's cache there
 * is nothing above. Looks at nothing but numbers. */
OG_MUST_CHECK int og__typed_tiers_plan(const struct og_premises *p, const uint32_t *worth,
                                       struct og_budget *b, struct og_typed_above *above,
                                       struct og_err *err);
/* The same for a session that gathers them, into s->told. s->hotness is what rows are worth to the
 * host's policy, and s->device_hotness becomes what they are worth to the device's, where that is
 * another ranking. */
OG_MUST_CHECK int og__typed_tiers_size(struct og_session *s, struct og_typed_above *above,
                                       struct og_err *err);
/* Ranges with these slots. */
void og__typed_tiers_ranges(const struct og_session *s, struct og_slot_range ranges[OG_MOST_TYPES]);
/* By the pilot's batches, where both caches stay as they are: into s->told and s->predicted. */
OG_MUST_CHECK int og__typed_tiers_tell(struct og_session *s, const struct og_pilot *pilot,
                                       const struct og_tiers_setup *setup, struct og_err *err);

#endif
