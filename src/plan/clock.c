/* CLOCK (Corbató 1968), also called FIFO with reinsertion: slots form a circle with a rotating
 * hand. A row used since the hand's last visit stays and loses its mark; the first unmarked row
 * leaves. A row enters unmarked, just after the hand.
 *
 * The cache before a batch decides where its rows are read from; then its misses enter in order.
 * The hand skips rows of the batch. Once nothing else is left, misses do not enter. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "policy";
enum { USED = 1 };

struct clock {
    struct og_slots slots;
    uint8_t *mark; /* [n_slots] USED, OG__PINNED */
    uint32_t hand;
};

static size_t bytes_clock(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                          uint64_t distinct)
{
    (void)rows;
    (void)batches;
    (void)distinct;
    return og__slots_bytes(setup->n_slots) + setup->n_slots;
}

static int open_clock(struct og_policy *p, struct og_err *err)
{
    struct clock *s = calloc(1, sizeof(*s));
    p->state = s;
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "clock");
    int rc = og__slots_open(&s->slots, p->setup.n_slots, p->budget, err);
    if (rc < 0)
        return rc;
    s->mark = og__alloc(p->budget, p->setup.n_slots, part, err);
    if (!s->mark)
        return -ENOMEM;
    memset(s->mark, 0, p->setup.n_slots);
    return 0;
}

static void close_clock(struct og_policy *p)
{
    struct clock *s = p->state;
    if (!s)
        return;
    og__slots_close(&s->slots);
    og__release(p->budget, s->mark, p->setup.n_slots, part);
    free(s);
}

/* Some slot is not pinned. */
static uint32_t evict(void *policy)
{
    struct clock *s = policy;
    for (;;) {
        const uint32_t slot = s->hand;
        s->hand = slot + 1 < s->slots.n ? slot + 1 : 0;
        if (s->mark[slot] & OG__PINNED)
            continue;
        if (!s->mark[slot]) {
            og__slots_drop(&s->slots, slot);
            return slot;
        }
        s->mark[slot] = 0;
    }
}

static void enter(void *policy, uint32_t slot, uint32_t node)
{
    struct clock *s = policy;
    (void)node;
    s->mark[slot] = OG__PINNED;
}

static int step_clock(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                      struct og_err *err)
{
    struct clock *s = p->state;
    (void)err;
    og__slots_step(&s->slots, s->mark, USED, ids, out, &(struct og_admission){evict, enter, s});
    return 0;
}

/* Slots below n_filled all hold rows; those from `first` on are filled next. */
static void invalidate_clock(struct og_policy *p, uint32_t first)
{
    struct clock *s = p->state;
    for (; s->slots.n_filled > first; s->slots.n_filled--) {
        og__slots_drop(&s->slots, s->slots.n_filled - 1);
        s->mark[s->slots.n_filled - 1] = 0;
    }
}

const struct og_policy_ops og__policy_clock = {
    .admits = true,
    .open = open_clock,
    .close = close_clock,
    .step = step_clock,
    .bytes = bytes_clock,
    .invalidate = invalidate_clock,
};
