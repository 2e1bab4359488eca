/* segmented: a superbatch's misses when a chunk for each batch would take more than --disk
 * (plan/segments.h, gather/shared.h). */
#ifndef OG_SEGMENTED_H
#define OG_SEGMENTED_H

#include "gather/shared.h"
#include "plan/segments.h"

/* What segments of the finished packing take at least, all files together, each in so many parts.
 */
OG_MUST_CHECK int og__segmented_least(uint64_t *least, const struct og_packing *p, uint32_t parts,
                                      struct og_budget *b, struct og_err *err);
/* Chooses as few segments as `disk` bytes allow, and how many batches each has. `out` is closed on
 * failure. */
OG_MUST_CHECK int og__segmented_choose(struct og_segments *out, uint32_t *size,
                                       const struct og_packing *p, uint64_t disk, uint32_t parts,
                                       struct og_budget *b, struct og_err *err);

/* Write the shared rows; the packing keeps the others. Closes the segments, also on failure. */
OG_MUST_CHECK int og__segmented_write(struct og_segments *segments, uint32_t size,
                                      const struct og_group *group, struct og_packing *p,
                                      const struct og_pack_options *opt, struct og_budget *b,
                                      struct og_pack_counts *counts, struct og_err *err);

#endif
