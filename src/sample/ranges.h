/* ranges: reads requested blocks of an array on disk front to back, in ranges. Or of several arrays
 * with an element an edge each: neighbours, and the weights or times of their edges. A thread reads
 * one range while the caller processes another.
 *
 *   requested blocks   | range 0 | range 1 | ... |          of each array */
#ifndef OG_SAMPLE_RANGES_H
#define OG_SAMPLE_RANGES_H

#include "base/bits.h"
#include "dataset/on_disk.h"

enum { OG__PASS_ARRAYS = 3 };

/* The requested blocks of an array; the rank gives a block's position in its range. */
struct og_requested_blocks {
    const struct og_blocks *of;
    uint64_t n_blocks; /* its */
    uint64_t *bits;    /* over these */
    uint32_t *rank;    /* of them */
    uint32_t n;
    bool tail;   /* what follows the blocks is requested too */
    size_t most; /* in a range, but for the tail */
};

/* Requested blocks from `low` to `high`, which may be the tail; none if low > high. Stretches of an
 * array ascend, and may overlap. */
struct og_stretch {
    uint32_t low, high;
};

struct og_block_requests {
    uint32_t n_arrays;
    struct og_requested_blocks array[OG__PASS_ARRAYS];
    uint32_t n_ranges;
    struct og_stretch *stretch[OG__PASS_ARRAYS]; /* [n_ranges] */
};

struct og_range {
    uint32_t number;
    struct og_range_part {
        struct og_stretch stretch;
        uint32_t before, n; /* requested blocks before it; in it */
        uint32_t *block;    /* [n] ascending */
        char *data;         /* [n] of OG__LIST_BLOCK bytes; then the tail, if requested */
    } part[OG__PASS_ARRAYS];
};

/* The address of a byte of the part; its block must be in it, and requested. */
static inline const char *og__range_at(const struct og_range_part *p,
                                       const struct og_requested_blocks *w, struct og_list_place at)
{
    const uint32_t i =
        at.block < w->n_blocks ? og__bits_rank(w->bits, w->rank, at.block) - p->before : p->n;
    return p->data + (size_t)i * OG__LIST_BLOCK + at.within;
}

struct og_ranges;

/* Starts reading; all memory from the budget as "sampler". `requested` must stay unchanged until
 * stop. */
OG_MUST_CHECK int og__ranges_start(struct og_ranges **out,
                                   const struct og_block_requests *requested,
                                   const struct og_reader_options *opt, struct og_budget *b,
                                   struct og_err *err);
/* The memory of that, with at most `most` requested blocks of an array in a range. */
size_t og__ranges_bytes(uint64_t most, const struct og_reader_options *opt);
/* Returns the next of requested->n_ranges; the caller has it until it is put back. */
OG_MUST_CHECK int og__ranges_next(struct og_ranges *r, const struct og_range **out,
                                  struct og_err *err);
void og__ranges_put(struct og_ranges *r, const struct og_range *range);
/* Stops the thread at any point; adds its reads to *read. Accepts NULL. */
void og__ranges_stop(struct og_ranges *r, struct og_io_counts *read);

#endif
