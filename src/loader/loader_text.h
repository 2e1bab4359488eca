/* State, plan and counters of a loader, as text. */
#ifndef OG_LOADER_LOADER_TEXT_H
#define OG_LOADER_LOADER_TEXT_H

#include "loader/loader.h"

/* ---- the position (place.c) ---- */

struct og_place {
    uint32_t epoch;
    uint64_t batch; /* the epoch's number of batches: its end */
};
OG_MUST_CHECK int og__place_print(const struct og_loader *l, struct og_place place, char **out,
                                  struct og_err *err);
/* -EINVAL if it belongs to another dataset, other seeds or other batches. */
OG_MUST_CHECK int og__place_parse(const struct og_loader *l, const char *text,
                                  struct og_place *place, struct og_err *err);

/* ---- plan and counters (counts.c) ---- */

/* Start the sums of an epoch, or restart them. Caller holds the lock. */
OG_MUST_CHECK int og__loader_begin_sums(struct og_loader *l, uint32_t epoch, struct og_err *err);
/* The text of the plan after opening; and again, by the run's thread, when reads can be predicted.
 */
OG_MUST_CHECK int og__loader_plan_text(struct og_loader *l, char **out, struct og_err *err);
void og__loader_note_plan(struct og_loader *l);

#endif
