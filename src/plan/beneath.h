/* beneath: Belady's cache below another cache, which it never repeats. It is told what that one
 * misses, and gets what leaves it:
 *
 *   the cache above   | ............ |      a row that enters it leaves the one beneath
 *                      ^           v
 *   beneath           | ............ |      a row that leaves it may enter: of all rows that are
 *                      ^                    at hand those stay that the cache above misses soonest
 *   misses
 *
 * With Belady's cache above, both are Belady's within a superbatch: of g and h slots, the cache
 * above misses as few rows as any of g slots could, both together as few as any of g + h. For of
 * two caches that keep the rows wanted soonest of what they held and what came, the larger holds
 * all that the smaller does (Mattson et al. 1970), and this one keeps the difference. */
#ifndef OG_BENEATH_H
#define OG_BENEATH_H

#include "plan/slot_lists.h"

struct og_beneath {
    uint32_t n_slots;
    struct og_next_uses uses;   /* of what the cache above misses */
    uint16_t *next;             /* [distinct] by rank: the next batch that misses it above */
    uint32_t *slot_of;          /* [distinct] by rank, or OG_NO_SLOT */
    uint64_t n_distinct;        /* capacity of the two */
    uint32_t *held;             /* [n_slots] node, or OG_NO_SLOT */
    struct og_slot_lists lists; /* list: [n_keys] */
    uint32_t *arrival;          /* [n_keys] first of what may enter */
    uint64_t n_keys;            /* capacity of the two */
    uint32_t *arrival_link;     /* [n_arrivals] */
    uint64_t n_arrivals;
    uint32_t batch;
    uint64_t row;
    uint64_t prefill_node;
    uint32_t prefill_rank, prefill_left;
    struct og_budget *budget;
};

/* Memory "policy" from the budget. */
OG_MUST_CHECK int og__beneath_open(struct og_beneath *s, uint64_t n_nodes, uint32_t n_slots,
                                   struct og_budget *b, struct og_err *err);
void og__beneath_close(struct og_beneath *s); /* accepts what open left when it failed, and zeros */
/* All that grows with the superbatch goes; and slots from `first` on have lost their rows. */
void og__beneath_trim(struct og_beneath *s);
void og__beneath_invalidate(struct og_beneath *s, uint32_t first);
/* For superbatches of up to so many rows, `longest` in one batch. */
struct og_beneath_size {
    uint64_t rows, longest, batches, distinct;
};
size_t og__beneath_bytes(uint64_t n_nodes, uint32_t n_slots, const struct og_beneath_size *of);

/* The coming batches, of each just what the cache above misses; above[n_above]: what it holds
 * before the first, OG_NO_SLOT where nothing. *n_prefill: rows to be put into slots now. */
OG_MUST_CHECK int og__beneath_prepare(struct og_beneath *s, const struct og_trace *missed,
                                      const uint32_t *above, uint32_t n_above, uint32_t *n_prefill,
                                      struct og_err *err);
/* As og__policy_prefill. */
uint32_t og__beneath_prefill(struct og_beneath *s, uint32_t *nodes, uint32_t *slots, uint32_t most);

/* A batch: what the cache above misses of it, and what leaves that one with it. */
struct og_beneath_batch {
    const uint32_t *ids; /* [n] */
    const bool *taken;   /* [n] it enters the cache above */
    uint32_t n;
    const uint32_t *leavers; /* [n_leavers] nodes */
    uint32_t n_leavers;
    uint32_t *to; /* [n_leavers] out: the slot that each enters, or OG_NO_SLOT */
};
/* out: place[i] = slot of ids[i], or OG_NO_SLOT; changes: rows that enter slots. It has room for n
 * of both. */
OG_MUST_CHECK int og__beneath_step(struct og_beneath *s, const struct og_beneath_batch *in,
                                   struct og_plan *out, struct og_err *err);

#endif
