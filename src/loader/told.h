/* What a loader tells of itself, and takes back, as text. */
#ifndef OG_LOADER_TOLD_H
#define OG_LOADER_TOLD_H

#include "loader/loader.h"

/* ---- which batch is next (place.c) ---- */

struct og_place {
    uint32_t epoch;
    uint64_t batch; /* as many as the epoch has: its end */
};
OG_MUST_CHECK int og__place_print(const struct og_loader *l, struct og_place place, char **out,
                                  struct og_err *err);
/* -EINVAL where it is of another dataset, other seeds or other batches. */
OG_MUST_CHECK int og__place_parse(const struct og_loader *l, const char *text,
                                  struct og_place *place, struct og_err *err);

/* ---- plan and counters (counts.c) ---- */

/* The sums of an epoch begin, or those of an epoch that is begun again anew. Caller holds the
 * lock. */
OG_MUST_CHECK int og__loader_begin_sums(struct og_loader *l, uint32_t epoch, struct og_err *err);
/* The plan once it is open; and again, by the run's thread, once it is known what will be read. */
OG_MUST_CHECK int og__loader_plan_text(struct og_loader *l, char **out, struct og_err *err);
void og__loader_note_plan(struct og_loader *l);

#endif
