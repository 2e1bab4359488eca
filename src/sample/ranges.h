/* ranges: wanted blocks of an array on disk, or of two with an element an edge each, front to back,
 * as many at a time as a range holds. A thread of its own reads one range while the caller looks at
 * another.
 *
 *   wanted blocks   | range 0 | range 1 | ... |          of each array
 */
#ifndef OG_SAMPLE_RANGES_H
#define OG_SAMPLE_RANGES_H

#include "base/bits.h"
#include "dataset/on_disk.h"

enum { OG__PASS_ARRAYS = 2 };

/* Which blocks of an array; the rank of each tells where in its range it is. */
struct og_wanted_blocks {
    const struct og_blocks *of;
    uint64_t n_blocks; /* its */
    uint64_t *bits;    /* over these */
    uint32_t *rank;    /* of them */
    uint32_t n;
    size_t most; /* in a range, but for the tail */
};

/* Wanted blocks from `low` to `high`, which may be the tail; none where low > high. Stretches of
 * one array are in order, and may overlap. */
struct og_stretch {
    uint32_t low, high;
};

struct og_wanted {
    uint32_t n_arrays;
    struct og_wanted_blocks array[OG__PASS_ARRAYS];
    uint32_t n_ranges;
    struct og_stretch *stretch[OG__PASS_ARRAYS]; /* [n_ranges] */
};

struct og_range {
    uint32_t number;
    struct og_range_part {
        struct og_stretch stretch;
        uint32_t before, n; /* wanted blocks before it; in it */
        uint32_t *block;    /* [n] ascending */
        char *data;         /* [n] of OG__LIST_BLOCK bytes; the tail behind them, if it is in */
    } part[OG__PASS_ARRAYS];
};

/* Where in memory a byte of the part is: its block is in it, and wanted. */
static inline const char *og__range_at(const struct og_range_part *p,
                                       const struct og_wanted_blocks *w, struct og_list_place at)
{
    const uint32_t i =
        at.block < w->n_blocks ? og__bits_rank(w->bits, w->rank, at.block) - p->before : p->n;
    return p->data + (size_t)i * OG__LIST_BLOCK + at.within;
}

struct og_ranges;

/* All memory from the budget as "sampler". `wanted` stays as it is until stop. */
OG_MUST_CHECK int og__ranges_start(struct og_ranges **out, const struct og_wanted *wanted,
                                   const struct og_reader_options *opt, struct og_budget *b,
                                   struct og_err *err);
/* What that takes, where an array has at most so many wanted blocks in a range. */
size_t og__ranges_bytes(uint64_t most, const struct og_reader_options *opt);
/* The next of wanted->n_ranges: the caller's until it is put back. */
OG_MUST_CHECK int og__ranges_next(struct og_ranges *r, const struct og_range **out,
                                  struct og_err *err);
void og__ranges_put(struct og_ranges *r, const struct og_range *range);
/* Ends the thread, whatever it is at; *read is added to. Accepts NULL. */
void og__ranges_stop(struct og_ranges *r, struct og_io_counts *read);

#endif
