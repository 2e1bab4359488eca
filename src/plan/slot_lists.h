/* slot lists: the slots of a cache with a known future, listed by their rows' next use. For belady,
 * also in a lower cache.
 *
 *   key:   batch 0   1   2  ...  S-1 | last use over: 256 lists by visits | not in the superbatch
 *           [5,9]  [2]  [] ...  [7]  |  often used .............. once    |  [1, 3]
 *                    soonest  ──────────────────────────────────────────────>  leaves first
 *
 * At batch i all slots of list i are hit. Each moves to the list of its next use, so lists are
 * never searched. */
#ifndef OG_SLOT_LISTS_H
#define OG_SLOT_LISTS_H

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

#endif
