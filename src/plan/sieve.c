/* SIEVE (Zhang et al. 2024, §3): rows are in the order of arrival. A hand moves from the oldest to
 * the newest, then starts again. A row used since the hand's last visit stays in place and loses
 * its mark; the first unmarked row leaves. A row enters unmarked, as the newest. Unlike in CLOCK,
 * new rows are soon sifted while rows of proven use stay after the hand.
 *
 * The cache before a batch decides where its rows are read from; then its misses enter in order.
 * The hand skips rows of the batch. Once nothing else is left, misses do not enter. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

enum { USED = 1 };

struct sieve {
    struct og_slots slots; /* one queue, by age; mark: USED, OG__PINNED */
    uint32_t hand;         /* the slot that is looked at next; the head = the oldest */
};

static size_t bytes_sieve(const struct og_policy_setup *setup,
                          const struct og_superbatch_size *most)
{
    (void)most;
    return og__slots_bytes(setup->n_slots, true, 1);
}

static int open_sieve(struct og_policy *p, struct og_err *err)
{
    struct sieve *s = p->state;
    s->hand = p->setup.n_slots;
    return og__slots_open(&s->slots, p->setup.n_slots, true, 1, &p->tables, err);
}

static void take_out(struct sieve *s, uint32_t slot)
{
    if (s->hand == slot)
        s->hand = s->slots.link[slot].newer;
    og__ring_take_out(s->slots.link, slot);
    og__slots_drop(&s->slots, slot);
}

/* Some slot is not pinned. */
static uint32_t evict(void *policy)
{
    struct sieve *s = policy;
    for (;; s->hand = s->slots.link[s->hand].newer) {
        const uint32_t slot = s->hand;
        if (slot == s->slots.n ||
            s->slots.mark[slot] & OG__PINNED) /* after the head comes the oldest */
            continue;
        if (!s->slots.mark[slot]) {
            take_out(s, slot);
            return slot;
        }
        s->slots.mark[slot] = 0;
    }
}

static void enter(void *policy, uint32_t slot, uint32_t node)
{
    struct sieve *s = policy;
    (void)node;
    og__ring_push(s->slots.link, s->slots.n, slot);
    s->slots.mark[slot] = OG__PINNED;
}

static int step_sieve(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                      struct og_err *err)
{
    struct sieve *s = p->state;
    (void)err;
    og__slots_step(&s->slots, USED, ids, out, &(struct og_admission){evict, enter, s});
    return 0;
}

/* Slots below n_filled all hold rows; those from `first` on are filled next. */
static void invalidate_sieve(struct og_policy *p, uint32_t first)
{
    struct sieve *s = p->state;
    for (; s->slots.n_filled > first; s->slots.n_filled--)
        take_out(s, s->slots.n_filled - 1);
}

const struct og_policy_ops og__policy_sieve = {
    .admits = true,
    .state_bytes = sizeof(struct sieve),
    .open = open_sieve,
    .step = step_sieve,
    .bytes = bytes_sieve,
    .invalidate = invalidate_sieve,
};
