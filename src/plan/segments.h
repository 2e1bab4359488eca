/* segments: packs batches whose separate chunks would take too much disk (Liu et al. 2025, §5.1).
 * Pure: no I/O.
 *
 *     batches    | 0 1 2 ... s-1 | s ... 2s-1 | ...        a segment is a run of `size` batches
 *
 *     of each    rows that two or more of its batches miss: stored once, for all of them
 *     segment    rows that one batch misses: packed in that batch's chunk, as without segments
 *
 * Remaining disk space takes shared rows back into chunks, a copy for each batch. Rows shared by
 * the fewest batches go first. Reason: a chunk is read without gaps.
 *
 * Shared rows are ordered by MinHash signature: rows used by the same batches become neighbours. So
 * a batch touches few pages. Rows are stored without padding; a batch reads each page with any of
 * its rows once. */
#ifndef OG_SEGMENTS_H
#define OG_SEGMENTS_H

#include "plan/packing.h"

/* Batches in all: a signature holds two batch numbers in 32 bits. */
enum { OG__MOST_SEGMENTED = 65535 };

enum og__segment_order {
    OG__BY_SIGNATURE,
    OG__BY_NODE, /* the order of the file, for comparison */
};

struct og_segment_cost {
    uint64_t shared, once; /* rows stored */
    uint64_t disk_bytes;   /* shared and packed rows, padded to blocks */
    uint64_t shared_reads; /* reads of shared rows, over all batches */
    uint64_t pages;        /* of shared rows, read by all batches */
    uint64_t bytes_read;   /* those pages and the chunks */
};

/* Operates on one finished packing, owned by the caller. */
struct og_segments {
    const struct og_packing *packing;
    /* Rows missed by fewer batches of a segment are packed. So are the first `given_back` rows of
     * the segment missed by exactly this many; set by og__segments_choose. */
    uint32_t least; /* >= 2 */
    uint32_t given_back;
    /* of the last segment */
    uint32_t first, last; /* its batches [first, last) */
    uint32_t n_shared;
    uint32_t *order; /* [n_shared] node ids as stored */
    /* by rank of the packing's distinct nodes */
    uint32_t *position;  /* [n_distinct] in `order`; OG__ONCE or OG__NO_BATCH if not there */
    uint32_t *signature; /* [n_distinct] scratch */
    uint32_t *spare;     /* [n_distinct] scratch */
    uint32_t *touched;   /* [n_pages] 1 + the batch that touched the page last */
    uint16_t *hash[2];   /* [batches] two permutations */
    uint64_t n_pages;
    struct og_allocs memory;
};
#define OG__NO_BATCH UINT32_MAX       /* no batch of the segment misses it */
#define OG__ONCE     (UINT32_MAX - 1) /* those that do have it in their chunks */

/* From the budget as "packing": 16 bytes a distinct row, 4 a page of them. */
size_t og__segments_bytes(uint64_t n_distinct, uint32_t n_batches, size_t row_bytes);
OG_MUST_CHECK int og__segments_open(struct og_segments *s, const struct og_packing *p,
                                    struct og_budget *b, struct og_err *err);
void og__segments_close(struct og_segments *s);

/* Lays out one segment: `order` and `position` give each row's place. O(rows of its batches). */
OG_MUST_CHECK int og__segments_lay_out(struct og_segments *s, uint32_t first, uint32_t last,
                                       enum og__segment_order order, struct og_err *err);

/* Locates a batch's rows in the segment of the last og__segments_lay_out. The batch reads its
 * shared rows in stored order, then its chunk; miss i becomes row where[i] of these. `positions`
 * are those of its shared rows in `order`, ascending. Returns their number. Both arrays need room
 * for all its misses. */
uint32_t og__segments_batch(struct og_segments *s, uint32_t batch, uint32_t *where,
                            uint32_t *positions);

/* The space of all segments of `size` batches, without the cost of reading: pages and bytes_read
 * are 0. */
void og__segments_space(struct og_segments *s, uint32_t size, struct og_segment_cost *out);
/* Their space, and the cost of reading them once. */
OG_MUST_CHECK int og__segments_cost(struct og_segments *s, uint32_t size,
                                    enum og__segment_order order, struct og_segment_cost *out,
                                    struct og_err *err);

/* Finds the smallest size whose space fits `disk_bytes`. It estimates from the first segment as
 * that grows, visiting each batch once (Algorithm 2), then corrects by counting. Remaining space
 * takes rows back into chunks. -ENOSPC, with the required minimum, if one segment of all batches is
 * too large. */
OG_MUST_CHECK int og__segments_choose(struct og_segments *s, uint64_t disk_bytes, uint32_t *size,
                                      struct og_err *err);

#endif
