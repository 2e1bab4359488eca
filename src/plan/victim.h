/* victim: a victim buffer in host memory, made of rings. It takes rows that leave a device's cache
 * and have a known next use (Park et al. 2024, §4.3).
 *
 *   leaves with batch b, next used by t ──> ring t % n_rings ──> returns while batch t - 1 is
 *                                           full: dropped        trained; then the ring is empty
 *
 * A row's next use is known from the last look into a window of n_rings batches. Looks are `update`
 * batches apart, as in hybrid. The next use of rows that entered or were used since is unknown. A
 * row takes its bytes in a ring and 8 more, for the batch and the row of the batch. This file moves
 * nodes; its caller moves rows. */
#ifndef OG_VICTIM_H
#define OG_VICTIM_H

#include "plan/policy_ops.h"

enum { OG__VICTIM_META_BYTES = 8 };

struct og_victim_setup {
    uint32_t n_rings; /* window in batches; 0 = no rings */
    uint32_t depth;   /* rows a ring */
    uint32_t update;  /* batches between looks, at least 1 */
};

struct og_victim {
    struct og_victim_setup setup;
    uint32_t n_slots;         /* of the cache above */
    struct og_next_uses uses; /* of a superbatch and its tail */
    struct og_victim_slot {
        uint32_t node;     /* or OG_NO_SLOT */
        uint32_t next;     /* batch of the next use, or UINT32_MAX: none foreseen */
        uint32_t used;     /* batch that last brought or used it, plus 1; 0 = before all */
    } * slot;              /* [n_slots] */
    uint32_t *filled;      /* [n_rings] */
    uint32_t *node;        /* [n_rings * depth] by place */
    uint32_t *place_of;    /* [distinct] by rank: the node's place in the rings, or OG_NO_SLOT */
    uint32_t first, batch; /* of the run: the superbatch's, the next one */
    uint64_t row;          /* of the superbatch */
    struct og_allocs tables, of_ranks;
};

OG_MUST_CHECK int og__victim_open(struct og_victim *v, const struct og_victim_setup *setup,
                                  uint64_t n_nodes, uint32_t n_slots, struct og_budget *b,
                                  struct og_err *err);
void og__victim_close(struct og_victim *v); /* accepts zeros, and the state after a failed open */
void og__victim_trim(struct og_victim *v);  /* releases memory that grows with the superbatch */
size_t og__victim_bytes(const struct og_victim_setup *setup, uint64_t n_nodes, uint32_t n_slots,
                        uint64_t rows, uint64_t distinct);

static inline uint64_t og__victim_places(const struct og_victim_setup *setup)
{
    return (uint64_t)setup->n_rings * setup->depth;
}

/* Takes the coming batches, followed by a tail of n_rings more if the run has them. */
OG_MUST_CHECK int og__victim_prepare(struct og_victim *v, const struct og_trace *trace,
                                     struct og_err *err);
/* Records a row that was put into a slot outside a batch. */
void og__victim_prefill(struct og_victim *v, uint32_t slot, uint32_t node);

/* The changes of the rings by one batch. */
struct og_victim_batch {
    uint32_t *from; /* [rows] place in the rings of a row that comes from there, else OG_NO_SLOT */
    /* [rows] for a row that enters the cache: the ring place of the row it replaces, or
     * OG_NO_SLOT */
    uint32_t *to;
    uint32_t dropped; /* rows whose ring was full */
};
/* `plan`: of the upper cache, misses not numbered yet. */
void og__victim_step(struct og_victim *v, const uint32_t *ids, const struct og_plan *plan,
                     struct og_victim_batch *out);

#endif
