/* Keeps the most recently used rows. The cache before a batch decides where its rows are read from.
 * After it the batch's rows are the most recent, later rows more so. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

#define NONE OG_NO_SLOT

struct lru {
    struct og_slots slots; /* one queue, by recency */
    uint32_t *spare;       /* [n_slots] slots that have left in this batch */
    uint32_t n_spare;
};

static size_t bytes_lru(const struct og_policy_setup *setup, const struct og_superbatch_size *most)
{
    (void)most;
    return og__slots_bytes(setup->n_slots, false, 1) + (size_t)setup->n_slots * sizeof(uint32_t);
}

static int open_lru(struct og_policy *p, struct og_err *err)
{
    struct lru *s = p->state;
    s->spare = og__allocs_take(&p->tables, p->setup.n_slots * sizeof(*s->spare), err);
    return og__slots_open(&s->slots, p->setup.n_slots, false, 1, &p->tables, err);
}

/* Hits leave the queue, to come back as the newest. */
static uint32_t take_hits(struct lru *s, const uint32_t *ids, struct og_plan *out)
{
    uint32_t hits = 0;
    og__slots_look_up(&s->slots, ids, out);
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->place[i] == NONE)
            continue;
        og__ring_take_out(s->slots.link, out->place[i]);
        hits++;
    }
    return hits;
}

static void evict(struct lru *s, uint32_t slot)
{
    og__slots_drop(&s->slots, slot);
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
    /* If the batch exceeds the cache, its last rows stay, and hits before them leave. */
    uint32_t first = out->n > n_slots ? out->n - n_slots : 0;
    s->n_spare = 0;
    for (uint32_t i = 0; i < first; i++)
        if (out->place[i] != NONE)
            evict(s, out->place[i]);
    uint32_t stays = out->n - first;
    for (uint32_t others = s->slots.n_filled - hits; others + stays > n_slots; others--) {
        uint32_t oldest = s->slots.link[n_slots].newer;
        og__ring_take_out(s->slots.link, oldest);
        evict(s, oldest);
    }
    for (uint32_t i = first; i < out->n; i++) {
        uint32_t slot = out->place[i];
        if (slot == NONE) {
            slot = s->slots.n_filled < n_slots ? s->slots.n_filled++ : s->spare[--s->n_spare];
            og__slots_put(&s->slots, slot, ids[i]);
            og__plan_change(out, i, slot);
        }
        og__ring_push(s->slots.link, n_slots, slot);
    }
    return 0;
}

static void invalidate_lru(struct og_policy *p, uint32_t first)
{
    struct lru *s = p->state;
    for (uint32_t slot = first; slot < s->slots.n_filled; slot++)
        og__ring_take_out(s->slots.link, slot);
    og__slots_cut(&s->slots, first);
}

const struct og_policy_ops og__policy_lru = {
    .admits = true,
    .is_stack = true,
    .state_bytes = sizeof(struct lru),
    .open = open_lru,
    .step = step_lru,
    .bytes = bytes_lru,
    .invalidate = invalidate_lru,
};
