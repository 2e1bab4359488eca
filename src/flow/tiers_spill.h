/* tiers spill: plans of a device's cache over the host's, spilled until their batches come.
 *
 *   | head | a place for each row | changes: rows, places | moves: from, to |
 *
 * of each part, consecutively. Misses are not written: they are the rows whose places come after
 * all others, in the order of these. */
#ifndef OG_TIERS_SPILL_H
#define OG_TIERS_SPILL_H

#include "base/spill.h"
#include "io/io.h"
#include "plan/tiers.h"

OG_MUST_CHECK int og__tiers_put(struct og_spill *to, const struct og_tiers_plan *p,
                                struct og_err *err);

/* The plan of a batch of these ids, from `at` of the spill. *read: of files, added to. */
OG_MUST_CHECK int og__tiers_get(struct og_spill *from, uint64_t at, const struct og_tiers *tiers,
                                const uint32_t *ids, uint32_t n, struct og_tiers_plan *out,
                                struct og_io_counts *read, struct og_err *err);
/* Reads from the kernel where none of it is in memory: all bytes that were spilled. */
struct og_io_counts og__tiers_get_asks(const struct og_tiers_plan *p);

#endif
