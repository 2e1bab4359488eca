/* future cache: a cache with a known future. Its slots are listed by their rows' next use. belady.c
 * has one, and lower_belady.c one below another cache.
 *
 *   key:   batch 0   1   2  ...  S-1 | last use over: 256 lists by visits | not in the superbatch
 *           [5,9]  [2]  [] ...  [7]  |  often used .............. once    |  [1, 3]
 *                    soonest  ──────────────────────────────────────────────>  leaves first
 *
 * At batch i all slots of list i are hit. Each moves to the list of its next use, so lists are
 * never searched. */
#ifndef OG_FUTURE_CACHE_H
#define OG_FUTURE_CACHE_H

#include "plan/policy_ops.h"

enum { OG__DONE_LISTS = 256 };

struct og_slot_lists {
    uint32_t *link;     /* [n_slots] next slot of its list */
    uint32_t *list;     /* [keys] first slot, or OG_NO_SLOT */
    uint32_t n_batches; /* of the superbatch */
    uint32_t farthest;  /* no list beyond is filled */
};

static inline uint64_t og__slot_keys(uint64_t batches)
{
    return batches + OG__DONE_LISTS + 1;
}

/* The key of a slot whose row is not in the superbatch. */
static inline uint32_t og__key_absent(const struct og_slot_lists *s)
{
    return s->n_batches + OG__DONE_LISTS;
}

/* next: the batch of its next use, or OG__NEVER: then the key depends on its visits. */
static inline uint32_t og__key_of(const struct og_slot_lists *s, uint16_t next, uint16_t visits)
{
    if (next != OG__NEVER)
        return next;
    return s->n_batches + OG__DONE_LISTS - 1 - OG_MIN(visits, (uint16_t)(OG__DONE_LISTS - 1));
}

static inline void og__hang(struct og_slot_lists *s, uint32_t slot, uint32_t key)
{
    s->link[slot] = s->list[key];
    s->list[key] = slot;
    s->farthest = OG_MAX(s->farthest, key);
}

/* The slot that leaves first, if it leaves before `key`; else OG_NO_SLOT. */
static inline uint32_t og__take_beyond(struct og_slot_lists *s, uint32_t key)
{
    while (s->farthest > key && s->list[s->farthest] == OG_NO_SLOT)
        s->farthest--;
    if (s->farthest <= key)
        return OG_NO_SLOT;
    const uint32_t slot = s->list[s->farthest];
    s->list[s->farthest] = s->link[slot];
    if (s->link[slot] != OG_NO_SLOT)
        __builtin_prefetch(&s->link[s->link[slot]]);
    return slot;
}

struct og_future_cache {
    uint32_t n_slots;
    struct og_next_uses uses;
    uint32_t *slot_of;          /* [distinct] by rank: slot, or OG_NO_SLOT */
    uint64_t n_distinct;        /* its capacity */
    uint32_t *held;             /* [n_slots] node, or OG_NO_SLOT */
    struct og_slot_lists lists; /* list: [n_keys] */
    uint32_t *arrival;      /* [n_keys] what may enter, by key: first of a list, or OG_NO_SLOT */
    uint64_t n_keys;        /* capacity of the two */
    uint32_t *arrival_link; /* [n_arrivals] of a batch, numbered by the owner */
    uint64_t n_arrivals;    /* its capacity */
    uint64_t row;           /* of the superbatch: the first of the next batch */
    uint32_t batch;         /* of the superbatch: the next one */
    uint64_t prefill_node;
    uint32_t prefill_rank, prefill_left;
    struct og_budget *budget;
};

static inline uint32_t og__future_key(const struct og_future_cache *s, uint16_t next, uint32_t rank)
{
    return og__key_of(&s->lists, next, s->uses.node[rank].visits);
}

/* Memory "policy" from the budget. To be closed also if it fails. */
OG_MUST_CHECK int og__future_open(struct og_future_cache *s, uint64_t n_nodes, uint32_t n_slots,
                                  struct og_budget *b, struct og_err *err);
void og__future_close(struct og_future_cache *s); /* accepts zeros */
/* Keeps the rows in the slots only. */
void og__future_trim(struct og_future_cache *s);
void og__future_release_links(struct og_future_cache *s); /* of slots, until the next superbatch */
/* Marks slots from `first` on as empty. */
void og__future_invalidate(struct og_future_cache *s, uint32_t first);
/* A superbatch: puts the cache's rows into lists, and chooses rows for idle slots. One bit a node,
 * or NULL, says which are elsewhere: none of these is kept or chosen. */
OG_MUST_CHECK int og__future_prepare(struct og_future_cache *s, const struct og_trace *trace,
                                     const uint64_t *elsewhere, uint32_t *n_prefill,
                                     struct og_err *err);
/* As og__policy_prefill: fills the idle slots, in file order. */
uint32_t og__future_prefill(struct og_future_cache *s, uint32_t *nodes, uint32_t *slots,
                            uint32_t most);
/* Links for n arrivals, emptied when they grow. */
OG_MUST_CHECK int og__future_reserve_arrivals(struct og_future_cache *s, uint64_t n,
                                              struct og_err *err);
/* No list has an arrival. */
void og__future_clear_arrivals(struct og_future_cache *s);

#endif
