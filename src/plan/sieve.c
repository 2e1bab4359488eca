/* SIEVE (Zhang et al. 2024, §3): rows are in the order of arrival. A hand moves from the oldest to
 * the newest, then starts again. A row used since the hand's last visit stays in place and loses
 * its mark; the first unmarked row leaves. A row enters unmarked, as the newest. Unlike in CLOCK,
 * new rows are soon sifted while rows of proven use stay after the hand.
 *
 * The cache before a batch decides where its rows are read from; then its misses enter in order.
 * The hand skips rows of the batch. Once nothing else is left, misses do not enter. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "policy";
enum { USED = 1 };

struct sieve {
    struct og_slots slots;
    struct og_link *link; /* [n_slots + 1] by age; the last one is the head */
    uint8_t *mark;        /* [n_slots] USED, OG__PINNED */
    uint32_t hand;        /* the slot that is looked at next; the head = the oldest */
};

static size_t bytes_sieve(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                          uint64_t distinct)
{
    (void)rows;
    (void)batches;
    (void)distinct;
    return og__slots_bytes(setup->n_slots) + (size_t)setup->n_slots * 9 + 8;
}

static int open_sieve(struct og_policy *p, struct og_err *err)
{
    const uint32_t n = p->setup.n_slots;
    struct sieve *s = calloc(1, sizeof(*s));
    p->state = s;
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "sieve");
    int rc = og__slots_open(&s->slots, n, p->budget, err);
    if (rc < 0)
        return rc;
    s->mark = og__alloc(p->budget, n, part, err);
    s->link = og__alloc(p->budget, ((size_t)n + 1) * sizeof(*s->link), part, err);
    if (!s->mark || !s->link)
        return -ENOMEM;
    memset(s->mark, 0, n);
    og__queue_init(s->link, n);
    s->hand = n;
    return 0;
}

static void close_sieve(struct og_policy *p)
{
    struct sieve *s = p->state;
    if (!s)
        return;
    const size_t n = p->setup.n_slots;
    og__slots_close(&s->slots);
    og__release(p->budget, s->mark, n, part);
    og__release(p->budget, s->link, (n + 1) * sizeof(*s->link), part);
    free(s);
}

static void take_out(struct sieve *s, uint32_t slot)
{
    if (s->hand == slot)
        s->hand = s->link[slot].newer;
    og__queue_take_out(s->link, slot);
    og__slots_drop(&s->slots, slot);
    s->mark[slot] = 0;
}

/* Some slot is not pinned. */
static uint32_t evict(void *policy)
{
    struct sieve *s = policy;
    for (;; s->hand = s->link[s->hand].newer) {
        const uint32_t slot = s->hand;
        if (slot == s->slots.n || s->mark[slot] & OG__PINNED) /* after the head comes the oldest */
            continue;
        if (!s->mark[slot]) {
            take_out(s, slot);
            return slot;
        }
        s->mark[slot] = 0;
    }
}

static void enter(void *policy, uint32_t slot, uint32_t node)
{
    struct sieve *s = policy;
    (void)node;
    og__queue_push(s->link, s->slots.n, slot);
    s->mark[slot] = OG__PINNED;
}

static int step_sieve(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                      struct og_err *err)
{
    struct sieve *s = p->state;
    (void)err;
    og__slots_step(&s->slots, s->mark, USED, ids, out, &(struct og_admission){evict, enter, s});
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
    .open = open_sieve,
    .close = close_sieve,
    .step = step_sieve,
    .bytes = bytes_sieve,
    .invalidate = invalidate_sieve,
};
