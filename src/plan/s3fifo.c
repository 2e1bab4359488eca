/* S3-FIFO (Yang et al. 2023, §4): three queues in the order of arrival.
 *
 *   new rows ──> small (a tenth) ── used twice or more ──> main ── used? once more round ──┐
 *                    │                                      ^  └──────────────────────────┘
 *                    └─ else: leaves, recorded in ──> ghost ┘  came again: enters main
 *
 * Uses are counted up to 3, and from 0 on entering main; each round of main subtracts one. Most
 * rows used only once leave before they affect main. The ghost holds only ids, of the last rows
 * that left small: as many as main has rows. If a slot is needed, small gives one if it exceeds its
 * tenth, else main.
 *
 * The cache before a batch decides where its rows are read from; then its misses enter in order.
 * Rows of the batch do not leave: at the end of their queue they go round once more. Once nothing
 * else is left, misses do not enter. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

enum { USES = 3, MAIN = 4 }; /* in a mark: a count of uses, and which queue */

enum { SMALL_QUEUE, MAIN_QUEUE, QUEUES };
struct s3fifo {
    struct og_slots slots; /* queues: small and main; mark: uses, MAIN, OG__PINNED */
    uint32_t size[QUEUES], pinned[QUEUES];
    uint32_t small_share;
    struct og_slots ghost; /* its slots are used in turn: a ring */
    uint32_t ghost_next;
};

static uint32_t small_share(uint32_t n_slots)
{
    return OG_MAX(n_slots / 10, 1u);
}

static uint32_t ghost_size(uint32_t n_slots)
{
    return OG_MAX(n_slots - OG_MIN(n_slots, small_share(n_slots)), 1u);
}

/* ---- memory ---- */

static size_t bytes_s3fifo(const struct og_policy_setup *setup,
                           const struct og_superbatch_size *most)
{
    const uint32_t n = setup->n_slots;
    (void)most;
    return og__slots_bytes(n, true, QUEUES) + og__slots_bytes(ghost_size(n), false, 0);
}

static int open_s3fifo(struct og_policy *p, struct og_err *err)
{
    const uint32_t n = p->setup.n_slots;
    struct s3fifo *s = p->state;
    const int rc = og__slots_open(&s->slots, n, true, QUEUES, &p->tables, err);
    s->small_share = small_share(n);
    return rc < 0 ? rc : og__slots_open(&s->ghost, ghost_size(n), false, 0, &p->tables, err);
}

/* ---- the queues ---- */

static int queue_of(const struct s3fifo *s, uint32_t slot)
{
    return s->slots.mark[slot] & MAIN ? MAIN_QUEUE : SMALL_QUEUE;
}

static void take_out(struct s3fifo *s, uint32_t slot)
{
    const int queue = queue_of(s, slot);
    og__ring_take_out(s->slots.link, slot);
    s->size[queue]--;
    s->pinned[queue] -= (s->slots.mark[slot] & OG__PINNED) != 0;
}

static void push(struct s3fifo *s, uint32_t slot, uint8_t mark)
{
    s->slots.mark[slot] = mark;
    const int queue = queue_of(s, slot);
    og__ring_push(s->slots.link, s->slots.n + (uint32_t)queue, slot);
    s->size[queue]++;
    s->pinned[queue] += (mark & OG__PINNED) != 0;
}

/* ---- the ghost ---- */

static void note(struct s3fifo *s, uint32_t node)
{
    struct og_slots *g = &s->ghost;
    if (g->node[s->ghost_next] != OG_NO_SLOT)
        og__slots_drop(g, s->ghost_next);
    og__slots_put(g, s->ghost_next, node);
    s->ghost_next = s->ghost_next + 1 < g->n ? s->ghost_next + 1 : 0;
}

static bool take_note(struct s3fifo *s, uint32_t node)
{
    const uint32_t there = og__slots_of(&s->ghost, node);
    if (there != OG_NO_SLOT)
        og__slots_drop(&s->ghost, there);
    return there != OG_NO_SLOT;
}

/* ---- eviction ---- */

/* Handles the oldest row of a queue: it goes round once more, moves to main, or leaves (true). */
static bool look_at(struct s3fifo *s, int queue, uint32_t slot)
{
    const uint8_t mark = s->slots.mark[slot];
    const uint8_t pin = mark & OG__PINNED;
    const uint8_t uses = mark & USES;
    take_out(s, slot);
    if (queue == SMALL_QUEUE && uses > 1)
        push(s, slot, (uint8_t)(pin | MAIN));
    else if (pin)
        push(s, slot, mark);
    else if (queue == MAIN_QUEUE && uses > 0)
        push(s, slot, (uint8_t)(MAIN | (uses - 1)));
    else
        return true;
    return false;
}

/* Some slot is not pinned. */
static uint32_t evict(void *policy)
{
    struct s3fifo *s = policy;
    for (;;) {
        const bool from_main = s->size[MAIN_QUEUE] > s->pinned[MAIN_QUEUE];
        const bool from_small = s->size[SMALL_QUEUE] > s->pinned[SMALL_QUEUE];
        const bool small = from_small && (s->size[SMALL_QUEUE] >= s->small_share || !from_main);
        const int queue = small ? SMALL_QUEUE : MAIN_QUEUE;
        const uint32_t slot = s->slots.link[s->slots.n + (uint32_t)queue].newer;
        if (!look_at(s, queue, slot))
            continue;
        if (small)
            note(s, s->slots.node[slot]);
        og__slots_drop(&s->slots, slot);
        return slot;
    }
}

/* ---- a batch ---- */

static void count_uses(struct s3fifo *s, const struct og_plan *out)
{
    s->pinned[SMALL_QUEUE] = s->pinned[MAIN_QUEUE] = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        const uint32_t slot = out->place[i];
        if (slot == OG_NO_SLOT)
            continue;
        s->slots.mark[slot] =
            (uint8_t)(s->slots.mark[slot] + ((s->slots.mark[slot] & USES) < USES));
        s->pinned[queue_of(s, slot)]++;
    }
}

static void enter(void *policy, uint32_t slot, uint32_t node)
{
    struct s3fifo *s = policy;
    const uint8_t queue = take_note(s, node) ? MAIN : 0;
    push(s, slot, (uint8_t)(queue | OG__PINNED));
}

static int step_s3fifo(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                       struct og_err *err)
{
    struct s3fifo *s = p->state;
    (void)err;
    const uint32_t pinned = og__slots_pin_hits(&s->slots, OG__PINNED, ids, out);
    count_uses(s, out);
    og__slots_admit(&s->slots, pinned, ids, out, &(struct og_admission){evict, enter, s});
    og__slots_unpin(&s->slots, out);
    s->pinned[SMALL_QUEUE] = s->pinned[MAIN_QUEUE] = 0;
    return 0;
}

static void invalidate_s3fifo(struct og_policy *p, uint32_t first)
{
    struct s3fifo *s = p->state;
    for (uint32_t slot = first; slot < s->slots.n_filled; slot++)
        take_out(s, slot);
    og__slots_cut(&s->slots, first);
}

const struct og_policy_ops og__policy_s3fifo = {
    .admits = true,
    .state_bytes = sizeof(struct s3fifo),
    .open = open_s3fifo,
    .step = step_s3fifo,
    .bytes = bytes_s3fifo,
    .invalidate = invalidate_s3fifo,
};
