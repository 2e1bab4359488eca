/* Keeps the most recently used rows. The cache before a batch decides where its rows are read from.
 * After it the batch's rows are the most recent, later rows more so. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

#include <stdlib.h>

static const char part[] = "policy";
#define NONE OG_NO_SLOT

struct lru {
    struct og_slots slots;
    struct og_link *link; /* [n_slots + 1] by recency; the last one is the head */
    uint32_t *spare;      /* [n_slots] slots that have left in this batch */
    uint32_t n_spare;
};

static size_t bytes_lru(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct)
{
    (void)rows;
    (void)batches;
    (void)distinct;
    return og__slots_bytes(setup->n_slots) + (size_t)setup->n_slots * 12 + 8;
}

static int open_lru(struct og_policy *p, struct og_err *err)
{
    uint32_t n = p->setup.n_slots;
    struct lru *s = calloc(1, sizeof(*s));
    p->state = s;
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "lru");
    int rc = og__slots_open(&s->slots, n, p->budget, err);
    if (rc < 0)
        return rc;
    s->spare = og__alloc(p->budget, n * sizeof(*s->spare), part, err);
    s->link = og__alloc(p->budget, ((size_t)n + 1) * sizeof(*s->link), part, err);
    if (!s->spare || !s->link)
        return -ENOMEM;
    og__queue_init(s->link, n);
    return 0;
}

static void close_lru(struct og_policy *p)
{
    struct lru *s = p->state;
    if (!s)
        return;
    size_t n = p->setup.n_slots;
    og__slots_close(&s->slots);
    og__release(p->budget, s->spare, n * sizeof(*s->spare), part);
    og__release(p->budget, s->link, (n + 1) * sizeof(*s->link), part);
    free(s);
}

/* Hits leave the queue, to come back as the newest. */
static uint32_t take_hits(struct lru *s, const uint32_t *ids, struct og_plan *out)
{
    uint32_t hits = 0;
    og__slots_look_up(&s->slots, ids, out);
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->place[i] == NONE)
            continue;
        og__queue_take_out(s->link, out->place[i]);
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
        uint32_t oldest = s->link[n_slots].newer;
        og__queue_take_out(s->link, oldest);
        evict(s, oldest);
    }
    for (uint32_t i = first; i < out->n; i++) {
        uint32_t slot = out->place[i];
        if (slot == NONE) {
            slot = s->slots.n_filled < n_slots ? s->slots.n_filled++ : s->spare[--s->n_spare];
            og__slots_put(&s->slots, slot, ids[i]);
            og__plan_change(out, i, slot);
        }
        og__queue_push(s->link, n_slots, slot);
    }
    return 0;
}

/* Slots below n_filled all hold rows; those from `first` on are filled next. */
static void invalidate_lru(struct og_policy *p, uint32_t first)
{
    struct lru *s = p->state;
    for (; s->slots.n_filled > first; s->slots.n_filled--) {
        const uint32_t slot = s->slots.n_filled - 1;
        og__queue_take_out(s->link, slot);
        og__slots_drop(&s->slots, slot);
    }
}

const struct og_policy_ops og__policy_lru = {
    .admits = true,
    .is_stack = true,
    .open = open_lru,
    .close = close_lru,
    .step = step_lru,
    .bytes = bytes_lru,
    .invalidate = invalidate_lru,
};
