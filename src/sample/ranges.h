/* ranges: wanted blocks of an array on disk, front to back, as many at a time as a range holds. A
 * thread of its own reads one range while the caller looks at another.
 *
 *   wanted blocks   | range 0, so many of them | range 1 | ... | the last, fewer |          */
#ifndef OG_SAMPLE_RANGES_H
#define OG_SAMPLE_RANGES_H

#include "dataset/on_disk.h"

/* Which blocks; the rank of each by `wanted` says in which range it is, and where there. */
struct og_wanted_blocks {
    const struct og_blocks *of;
    const uint64_t *bits; /* over of->n_blocks */
    uint32_t n;
    unsigned shift; /* a range holds 2^shift of them */
};

static inline uint32_t og__ranges_of(const struct og_wanted_blocks *w)
{
    return (uint32_t)(((uint64_t)w->n + ((uint64_t)1 << w->shift) - 1) >> w->shift);
}

struct og_range {
    uint32_t number, n;
    uint32_t *block; /* [n] ascending */
    char *data;      /* [n] of OG__LIST_BLOCK bytes */
};

struct og_ranges;

/* All memory from the budget as "sampler". `wanted` stays as it is until stop. */
OG_MUST_CHECK int og__ranges_start(struct og_ranges **out, const struct og_wanted_blocks *wanted,
                                   const struct og_reader_options *opt, struct og_budget *b,
                                   struct og_err *err);
/* What that takes. */
size_t og__ranges_bytes(unsigned shift, const struct og_reader_options *opt);
/* The next of og__ranges_of(wanted): the caller's until it is put back. */
OG_MUST_CHECK int og__ranges_next(struct og_ranges *r, const struct og_range **out,
                                  struct og_err *err);
void og__ranges_put(struct og_ranges *r, const struct og_range *range);
/* Ends the thread, whatever it is at; *read is added to. Accepts NULL. */
void og__ranges_stop(struct og_ranges *r, struct og_io_counts *read);

#endif
