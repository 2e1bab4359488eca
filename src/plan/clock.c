/* CLOCK (Corbató 1968), also called FIFO with reinsertion: slots form a circle with a rotating
 * hand. A row used since the hand's last visit stays and loses its mark; the first unmarked row
 * leaves. A row enters unmarked, just after the hand.
 *
 * The cache before a batch decides where its rows are read from; then its misses enter in order.
 * The hand skips rows of the batch. Once nothing else is left, misses do not enter. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

enum { USED = 1 };

struct clock {
    struct og_slots slots; /* mark: USED, OG__PINNED */
    uint32_t hand;
};

static size_t bytes_clock(const struct og_policy_setup *setup,
                          const struct og_superbatch_size *most)
{
    (void)most;
    return og__slots_bytes(setup->n_slots, true, 0);
}

static int open_clock(struct og_policy *p, struct og_err *err)
{
    struct clock *s = p->state;
    return og__slots_open(&s->slots, p->setup.n_slots, true, 0, &p->tables, err);
}

/* Some slot is not pinned. */
static uint32_t evict(void *policy)
{
    struct clock *s = policy;
    for (;;) {
        const uint32_t slot = s->hand;
        s->hand = slot + 1 < s->slots.n ? slot + 1 : 0;
        if (s->slots.mark[slot] & OG__PINNED)
            continue;
        if (!s->slots.mark[slot]) {
            og__slots_drop(&s->slots, slot);
            return slot;
        }
        s->slots.mark[slot] = 0;
    }
}

static void enter(void *policy, uint32_t slot, uint32_t node)
{
    struct clock *s = policy;
    (void)node;
    s->slots.mark[slot] = OG__PINNED;
}

static int step_clock(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                      struct og_err *err)
{
    struct clock *s = p->state;
    (void)err;
    og__slots_step(&s->slots, USED, ids, out, &(struct og_admission){evict, enter, s});
    return 0;
}

static void invalidate_clock(struct og_policy *p, uint32_t first)
{
    struct clock *s = p->state;
    og__slots_cut(&s->slots, first);
}

const struct og_policy_ops og__policy_clock = {
    .admits = true,
    .state_bytes = sizeof(struct clock),
    .open = open_clock,
    .step = step_clock,
    .bytes = bytes_clock,
    .invalidate = invalidate_clock,
};
