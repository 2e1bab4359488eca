/* lower_belady: Belady's policy for a lower cache, which never holds a row of the upper one. It
 * plans from the upper cache's misses and receives the rows that leave it:
 *
 *     upper cache   | ............ |      a row that enters it leaves the lower cache
 *                    ^           v
 *     lower cache   | ............ |      a row that leaves the upper cache may enter; the rows
 *                    ^                    that the upper cache misses soonest stay
 *     misses
 *
 * With Belady's policy above, both are optimal within a superbatch. With g and h slots, the upper
 * cache misses as few rows as any of g slots could. Both together miss as few as any of g + h.
 * Reason: of two caches that keep the rows used soonest, the larger holds all rows of the smaller
 * (Mattson et al. 1970). This one holds the difference. */
#ifndef OG_LOWER_BELADY_H
#define OG_LOWER_BELADY_H

#include "plan/future_cache.h"

struct og_lower_belady {
    struct og_future_cache cache; /* of what the cache above misses */
    uint16_t *next;               /* [distinct] by rank: the next miss in the upper cache */
    uint64_t n_next;              /* its capacity */
};

/* Memory "policy" from the budget. */
OG_MUST_CHECK int og__lower_belady_open(struct og_lower_belady *s, uint64_t n_nodes,
                                        uint32_t n_slots, struct og_budget *b, struct og_err *err);
void og__lower_belady_close(
    struct og_lower_belady *s); /* accepts zeros, and the state after a failed open */
/* Releases memory that grows with the superbatch. */
void og__lower_belady_trim(struct og_lower_belady *s);
/* For superbatches of at most so many rows, `longest` in one batch. */
struct og_lower_belady_size {
    uint64_t rows, longest, batches, distinct;
};
size_t og__lower_belady_bytes(uint64_t n_nodes, uint32_t n_slots,
                              const struct og_lower_belady_size *of);

/* Takes the upper cache's misses in the coming batches, and its contents before them. Empty slots
 * of upper[n_upper] are OG_NO_SLOT. Stores the number of rows to prefill now in *n_prefill. */
OG_MUST_CHECK int og__lower_belady_prepare(struct og_lower_belady *s, const struct og_trace *missed,
                                           const uint32_t *upper, uint32_t n_upper,
                                           uint32_t *n_prefill, struct og_err *err);
/* A batch: its misses in the upper cache, and the rows that leave that cache with it. */
struct og_lower_belady_batch {
    const uint32_t *ids; /* [n] */
    const bool *taken;   /* [n] it enters the cache above */
    uint32_t n;
    const uint32_t *leavers; /* [n_leavers] nodes */
    uint32_t n_leavers;
    uint32_t *to; /* [n_leavers] out: the slot that each enters, or OG_NO_SLOT */
};
/* out: place[i] = slot of ids[i], or OG_NO_SLOT; changes: rows that enter slots. Both have room for
 * n. */
OG_MUST_CHECK int og__lower_belady_step(struct og_lower_belady *s,
                                        const struct og_lower_belady_batch *in, struct og_plan *out,
                                        struct og_err *err);

#endif
