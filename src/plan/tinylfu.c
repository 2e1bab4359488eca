/* TinyLFU (Einziger, Friedman, Manes 2017): a row replaces another only if it was used more often
 * recently. A sketch counts uses: four rows of counters up to 15, with one counter of a node in
 * each; the minimum counts. After so many uses for each slot all counters are halved, so that old
 * uses fade.
 *
 *   node ──> counter in row 0, row 1, row 2, row 3 ──> the minimum: its frequency
 *   hand ──> the next slot that the batch does not use: compared with the missed row
 *
 * The hand selects the row to compare with, moving from slot to slot as in CLOCK. A row that wins
 * stays until the hand returns. The cache before a batch decides where its rows are read from. Then
 * the batch is counted, and its misses are tried in order. */
#include "plan/policy_ops.h"
#include "plan/slots.h"

enum { ROWS = 4, MOST = 15, COUNTERS_A_SLOT = 4, LEAST_COUNTERS = 64, USES_A_SLOT = 32 };

struct tinylfu {
    struct og_slots slots;
    uint8_t *counters; /* [ROWS, width / 2] two in a byte */
    uint64_t width;    /* of a row, a power of two */
    uint64_t uses;     /* counted since counters were halved; half of them then */
    uint32_t hand;
};

static uint64_t width_for(uint32_t n_slots)
{
    uint64_t width = LEAST_COUNTERS;
    while (width < (uint64_t)n_slots * COUNTERS_A_SLOT)
        width *= 2;
    return width;
}

static size_t bytes_tinylfu(const struct og_policy_setup *setup,
                            const struct og_superbatch_size *most)
{
    (void)most;
    return og__slots_bytes(setup->n_slots, true, 0) + ROWS * (size_t)width_for(setup->n_slots) / 2;
}

static int open_tinylfu(struct og_policy *p, struct og_err *err)
{
    struct tinylfu *t = p->state;
    t->width = width_for(p->setup.n_slots);
    t->counters = og__allocs_take(&p->tables, ROWS * t->width / 2, err);
    return og__slots_open(&t->slots, p->setup.n_slots, true, 0, &p->tables, err);
}

/* ---- how often a node was used ---- */

/* Number of a node's counter among all. */
static uint64_t counter_of(const struct tinylfu *t, uint32_t node, unsigned row)
{
    static const uint64_t mix[ROWS] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu,
                                       0x165667B19E3779F9u, 0xD6E8FEB86659FD93u};
    const uint64_t hash = ((uint64_t)node + 1) * mix[row];
    return row * t->width + ((hash >> 32) & (t->width - 1));
}

static unsigned count_at(const struct tinylfu *t, uint64_t counter)
{
    return t->counters[counter / 2] >> counter % 2 * 4 & MOST;
}

static unsigned often(const struct tinylfu *t, uint32_t node)
{
    unsigned least = MOST;
    for (unsigned row = 0; row < ROWS; row++)
        least = OG_MIN(least, count_at(t, counter_of(t, node, row)));
    return least;
}

/* Increments the node's smallest counters: others count other nodes too. */
static void count_use(struct tinylfu *t, uint32_t node)
{
    const unsigned least = often(t, node);
    for (unsigned row = 0; least < MOST && row < ROWS; row++) {
        const uint64_t counter = counter_of(t, node, row);
        if (count_at(t, counter) == least)
            t->counters[counter / 2] += (uint8_t)(1u << counter % 2 * 4);
    }
}

static void count_batch(struct tinylfu *t, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        count_use(t, ids[i]);
    t->uses += n;
    if (t->uses < (uint64_t)t->slots.n * USES_A_SLOT)
        return;
    for (uint64_t i = 0; i < ROWS * t->width / 2; i++)
        t->counters[i] = t->counters[i] >> 1 & 0x77;
    t->uses /= 2;
}

/* ---- admission ---- */

/* The slot that a missed row may have; some slot is not pinned. */
static uint32_t candidate(struct tinylfu *t)
{
    uint32_t slot;
    do {
        slot = t->hand;
        t->hand = slot + 1 == t->slots.n ? 0 : slot + 1;
    } while (t->slots.mark[slot] & OG__PINNED);
    return slot;
}

static void admit(struct tinylfu *t, uint32_t pinned, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n && pinned < t->slots.n; i++) {
        if (out->place[i] != OG_NO_SLOT)
            continue;
        uint32_t slot = t->slots.n_filled;
        if (slot < t->slots.n) {
            t->slots.n_filled++;
        } else {
            slot = candidate(t);
            if (often(t, ids[i]) <= often(t, t->slots.node[slot]))
                continue;
            og__slots_drop(&t->slots, slot);
        }
        og__slots_put(&t->slots, slot, ids[i]);
        t->slots.mark[slot] = OG__PINNED;
        pinned++;
        og__plan_change(out, i, slot);
    }
}

static int step_tinylfu(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                        struct og_err *err)
{
    struct tinylfu *t = p->state;
    (void)err;
    const uint32_t pinned = og__slots_pin_hits(&t->slots, OG__PINNED, ids, out);
    count_batch(t, ids, out->n);
    admit(t, pinned, ids, out);
    og__slots_unpin(&t->slots, out);
    return 0;
}

static void invalidate_tinylfu(struct og_policy *p, uint32_t first)
{
    struct tinylfu *t = p->state;
    og__slots_cut(&t->slots, first);
}

const struct og_policy_ops og__policy_tinylfu = {
    .admits = true,
    .state_bytes = sizeof(struct tinylfu),
    .open = open_tinylfu,
    .step = step_tinylfu,
    .bytes = bytes_tinylfu,
    .invalidate = invalidate_tinylfu,
};
