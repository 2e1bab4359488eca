/* The rows used last stay. Where a row is read from is decided by the cache before its batch; after
 * it the rows of the batch are the most recent ones, later rows more so.
 *
 *   newest <─> slot <─> slot <─> ... <─> oldest        a ring through slot n_slots
 *   table: node -> slot */
#include "plan/policy_ops.h"

#include "base/id_table.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE OG_NO_SLOT

struct lru {
    uint32_t *held; /* [n_slots] node, or NONE */
    struct {
        uint32_t newer, older;
    } * ring; /* [n_slots + 1] the last one is the ring's head: its older is the newest slot */
    struct og_id_table table; /* of slots, by what they hold */
    uint32_t n_filled;
    uint32_t *spare; /* [n_slots] slots that have left in this batch */
    uint32_t n_spare;
};

/* ---- node -> slot ---- */

/* Half full: each look at a place is one at what its slot holds, too. */
static size_t table_size_for(uint32_t n_slots)
{
    return og__id_table_size((uint64_t)n_slots * 5 / 4);
}

/* The place of the slot that holds `node`, or of the one that is to. */
static uint32_t *find(const struct lru *s, uint32_t node)
{
    return og__id_find(&s->table, sizeof(uint32_t), s->held, node);
}

static void forget(struct lru *s, uint32_t node)
{
    og__id_remove(&s->table, sizeof(uint32_t), s->held, node);
}

/* ---- the ring ---- */

static void unlink_slot(struct lru *s, uint32_t slot)
{
    s->ring[s->ring[slot].newer].older = s->ring[slot].older;
    s->ring[s->ring[slot].older].newer = s->ring[slot].newer;
}

static void link_newest(struct lru *s, uint32_t head, uint32_t slot)
{
    s->ring[slot].newer = head;
    s->ring[slot].older = s->ring[head].older;
    s->ring[s->ring[head].older].newer = slot;
    s->ring[head].older = slot;
}

/* ---- the policy ---- */

static size_t bytes_lru(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct)
{
    (void)rows;
    (void)batches;
    (void)distinct;
    return (size_t)setup->n_slots * 16 + 8 + table_size_for(setup->n_slots) * sizeof(uint32_t);
}

static int open_lru(struct og_policy *p, struct og_err *err)
{
    uint32_t n = p->setup.n_slots;
    struct lru *s = calloc(1, sizeof(*s));
    p->state = s;
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "lru");
    s->held = og__alloc(p->budget, n * sizeof(*s->held), part, err);
    s->spare = og__alloc(p->budget, n * sizeof(*s->spare), part, err);
    s->ring = og__alloc(p->budget, ((size_t)n + 1) * sizeof(*s->ring), part, err);
    if (!s->held || !s->spare || !s->ring)
        return -ENOMEM;
    s->ring[n].newer = s->ring[n].older = n;
    return og__id_table_open(&s->table, table_size_for(n), sizeof(uint32_t), p->budget, part, err);
}

static void close_lru(struct og_policy *p)
{
    struct lru *s = p->state;
    if (!s)
        return;
    size_t n = p->setup.n_slots;
    og__release(p->budget, s->held, n * sizeof(*s->held), part);
    og__release(p->budget, s->spare, n * sizeof(*s->spare), part);
    og__release(p->budget, s->ring, (n + 1) * sizeof(*s->ring), part);
    og__id_table_close(&s->table, sizeof(uint32_t), p->budget, part);
    free(s);
}

/* Hits leave the ring, to come back as the newest. */
static uint32_t take_hits(struct lru *s, const uint32_t *ids, struct og_plan *out)
{
    uint32_t hits = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            og__id_prefetch(&s->table, sizeof(uint32_t), ids[i + AHEAD]);
        uint32_t slot = *find(s, ids[i]);
        out->place[i] = slot;
        if (slot == NONE)
            continue;
        unlink_slot(s, slot);
        hits++;
    }
    return hits;
}

static void evict(struct lru *s, uint32_t slot)
{
    forget(s, s->held[slot]);
    s->held[slot] = NONE;
    s->spare[s->n_spare++] = slot;
}

static int step_lru(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                    struct og_err *err)
{
    struct lru *s = p->state;
    uint32_t n_slots = p->setup.n_slots;
    (void)err;
    uint32_t hits = take_hits(s, ids, out);
    if (n_slots == 0)
        return 0;
    /* Of a batch larger than the cache the last rows stay; hits before them go. */
    uint32_t first = out->n > n_slots ? out->n - n_slots : 0;
    s->n_spare = 0;
    for (uint32_t i = 0; i < first; i++)
        if (out->place[i] != NONE)
            evict(s, out->place[i]);
    uint32_t stays = out->n - first;
    for (uint32_t others = s->n_filled - hits; others + stays > n_slots; others--) {
        uint32_t oldest = s->ring[n_slots].newer;
        unlink_slot(s, oldest);
        evict(s, oldest);
    }
    for (uint32_t i = first; i < out->n; i++) {
        uint32_t slot = out->place[i];
        if (slot == NONE) {
            slot = s->n_filled < n_slots ? s->n_filled++ : s->spare[--s->n_spare];
            s->held[slot] = ids[i];
            *find(s, ids[i]) = slot;
            og__plan_change(out, i, slot);
        }
        link_newest(s, n_slots, slot);
    }
    return 0;
}

/* Slots below n_filled are all held: those from `first` on are the next to be filled. */
static void forget_lru(struct og_policy *p, uint32_t first)
{
    struct lru *s = p->state;
    for (; s->n_filled > first; s->n_filled--) {
        const uint32_t slot = s->n_filled - 1;
        unlink_slot(s, slot);
        forget(s, s->held[slot]);
        s->held[slot] = NONE;
    }
}

const struct og_policy_ops og__policy_lru = {
    .admits = true,
    .is_stack = true,
    .open = open_lru,
    .close = close_lru,
    .step = step_lru,
    .bytes = bytes_lru,
    .forget = forget_lru,
};
