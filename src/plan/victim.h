/* victim: rings in the host's memory for rows that leave a device's cache while it is known which
 * batch wants them next (Park et al. 2024, §4.3).
 *
 *   leaves with batch b, wanted by batch t ──> ring t % n_rings ──> comes back while batch t - 1 is
 *                                              full: dropped        trained; then the ring is empty
 *
 * What is known is what the last look into a window of n_rings batches found, every `update`
 * batches, as hybrid has it: of a row that came or was used since then nothing is. A row takes its
 * bytes in a ring and 8 more, which say the batch and the row of the batch. Here just nodes move;
 * who carries it out moves rows. */
#ifndef OG_VICTIM_H
#define OG_VICTIM_H

#include "plan/policy_ops.h"

enum { OG__VICTIM_META_BYTES = 8 };

struct og_victim_setup {
    uint32_t n_rings; /* batches that are looked ahead; 0 = there are no rings */
    uint32_t depth;   /* rows a ring */
    uint32_t update;  /* batches between looks, at least 1 */
};

struct og_victim {
    struct og_victim_setup setup;
    uint32_t n_slots;         /* of the cache above */
    struct og_next_uses uses; /* of a superbatch and its tail */
    struct og_victim_slot {
        uint32_t node;  /* or OG_NO_SLOT */
        uint32_t next;  /* batch that wants it, or UINT32_MAX: none that is foreseen */
        uint32_t used;  /* batch that brought or used it last, plus 1; 0 = before all */
    } * slot;           /* [n_slots] */
    uint32_t *filled;   /* [n_rings] */
    uint32_t *node;     /* [n_rings * depth] by place */
    uint32_t *place_of; /* [distinct] by rank: where the node lies in the rings, or OG_NO_SLOT */
    uint64_t n_distinct;
    uint32_t first, batch; /* of the run: the superbatch's, the next one */
    uint64_t row;          /* of the superbatch */
    struct og_budget *budget;
};

OG_MUST_CHECK int og__victim_open(struct og_victim *v, const struct og_victim_setup *setup,
                                  uint64_t n_nodes, uint32_t n_slots, struct og_budget *b,
                                  struct og_err *err);
void og__victim_close(struct og_victim *v); /* accepts what open left when it failed, and zeros */
void og__victim_trim(struct og_victim *v);  /* all that grows with the superbatch goes */
size_t og__victim_bytes(const struct og_victim_setup *setup, uint64_t n_nodes, uint32_t n_slots,
                        uint64_t rows, uint64_t distinct);

/* Places in the rings. */
static inline uint64_t og__victim_places(const struct og_victim_setup *setup)
{
    return (uint64_t)setup->n_rings * setup->depth;
}

/* The coming batches, behind them a tail of n_rings more where the run has them. */
OG_MUST_CHECK int og__victim_prepare(struct og_victim *v, const struct og_trace *trace,
                                     struct og_err *err);
/* A row was put into a slot outside a batch. */
void og__victim_prefill(struct og_victim *v, uint32_t slot, uint32_t node);

/* What one batch does to the rings. */
struct og_victim_batch {
    uint32_t *from; /* [rows] place in the rings of a row that comes from there, else OG_NO_SLOT */
    uint32_t *to;   /* [rows] of a row that enters the cache: the place that what was in its slot
                       goes to, else OG_NO_SLOT */
    uint32_t dropped; /* rows whose ring was full */
};
/* `plan`: of the cache above, misses not numbered yet. */
void og__victim_step(struct og_victim *v, const uint32_t *ids, const struct og_plan *plan,
                     struct og_victim_batch *out);

#endif
