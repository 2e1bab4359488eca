/* LSM-GNN's cache (Park et al. 2024, §4.2): set-associative; every miss enters. The lowest class of
 * its set leaves, by knowledge of the coming batches:
 *
 *   class 0   not used within the window
 *         1   used in it, but not soon
 *         2   entered or used since the last look: nothing is known yet
 *         3   used soon, within the threshold
 *
 * Within a class the row of lowest static score leaves first. The paper scans the cache every few
 * batches to look at the window. Here each slot stores the exact next use of its row and the time
 * of recording. From these, the result of a look is computed on demand.
 *
 * The window slides: a superbatch also sees the first batches of the next one, a window of them. So
 * plans do not depend on its end.
 *
 *   look ....... superbatch | tail            position 0 is the last look before or at its start:
 *   0 .. lead    own batches| of the next     looks are at positions 0, update, 2 update, ... */
#include "plan/policy_ops.h"

#include "base/choices.h"

#include <string.h>

enum { AHEAD = 16 };

struct slot_use {
    uint32_t score; /* static; the hotter the higher */
    uint16_t next;  /* batch of the superbatch or its tail that uses it next, or OG__NEVER */
    uint16_t noted; /* position of the batch that brought or used it last, plus 1; 0 = before all */
};

struct hybrid {
    struct og_sets sets;
    struct og_next_uses uses;
    uint32_t *held;            /* [n_slots] node, or OG_NO_SLOT */
    struct slot_use *slot_use; /* [n_slots] */
    uint16_t *changed;         /* [n_slots] batch of the superbatch that filled the slot, plus 1 */
    uint64_t row;
    uint32_t batch; /* of the superbatch: the next one */
    uint32_t lead;  /* position of its first; < update */
};

/* ---- memory ---- */

static size_t bytes_hybrid(const struct og_policy_setup *setup,
                           const struct og_superbatch_size *most)
{
    return og__next_uses_bytes(setup->n_nodes, most->rows, most->distinct) +
           (size_t)setup->n_slots * (4 + sizeof(struct slot_use) + 2);
}

static int open_hybrid(struct og_policy *p, struct og_err *err)
{
    const size_t n = p->setup.n_slots;
    struct hybrid *s = p->state;
    if (p->setup.update > OG__MOST_UPDATE)
        return og__fail(err, -EINVAL, NULL, "hybrid: looks every %u batches, at most %d",
                        p->setup.update, OG__MOST_UPDATE);
    if (p->setup.threshold == 0)
        p->setup.threshold = OG_MAX(p->setup.window / 8, 1u);
    p->setup.update = OG_MAX(p->setup.update, 1u);
    s->sets = og__sets(p->setup.n_slots, p->setup.ways);
    s->held = og__allocs_take(&p->tables, n * sizeof(*s->held), err);
    s->slot_use = og__allocs_take(&p->tables, n * sizeof(*s->slot_use), err);
    s->changed = og__allocs_take(&p->tables, n * sizeof(*s->changed), err);
    if (og__allocs_taken(&p->tables) < 0)
        return -ENOMEM;
    memset(s->held, 0xff, n * sizeof(*s->held));
    return og__next_uses_open(&s->uses, p->setup.n_nodes, p->budget, err);
}

static void close_hybrid(struct og_policy *p)
{
    struct hybrid *s = p->state;
    og__next_uses_close(&s->uses);
}

static void trim_hybrid(struct og_policy *p)
{
    struct hybrid *s = p->state;
    og__next_uses_trim(&s->uses);
}

static void invalidate_hybrid(struct og_policy *p, uint32_t first)
{
    struct hybrid *s = p->state;
    for (uint32_t slot = first; slot < p->setup.n_slots; slot++)
        s->held[slot] = OG_NO_SLOT;
}

/* ---- a superbatch ---- */

static uint32_t tail_hybrid(const struct og_policy_setup *setup)
{
    return setup->window;
}

/* Renumbers positions from the last look; returns the shift. */
static uint32_t move_on(struct og_policy *p)
{
    struct hybrid *s = p->state;
    const uint32_t position = s->lead + s->batch;
    s->lead = position % p->setup.update;
    s->row = s->batch = 0;
    return position - s->lead;
}

static int prepare_hybrid(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                          struct og_err *err)
{
    struct hybrid *s = p->state;
    const struct og_placement *nodes = &s->uses.nodes;
    OG_DO(og__next_uses_find(&s->uses, trace, err));
    *n_prefill = 0; /* it starts empty */
    const uint32_t shift = move_on(p);
    memset(s->changed, 0, p->setup.n_slots * sizeof(*s->changed));
    for (uint32_t slot = 0; slot < p->setup.n_slots; slot++) {
        uint32_t node = s->held[slot];
        bool wanted = node != OG_NO_SLOT && og__placement_has(nodes, node);
        s->slot_use[slot].next =
            wanted ? s->uses.node[og__placement_rank(nodes, node)].first : OG__NEVER;
        s->slot_use[slot].noted -= (uint16_t)OG_MIN((uint32_t)s->slot_use[slot].noted, shift);
    }
    return 0;
}

/* ---- eviction ---- */

enum { CLASSES = 4, UNKNOWN = 2 };

/* The last look knows what had been noted before it. */
static uint32_t class_of(const struct og_policy *p, const struct slot_use *w)
{
    const struct hybrid *s = p->state;
    const uint32_t position = s->lead + s->batch;
    const uint32_t look = position - position % p->setup.update;
    if (w->noted > look)
        return UNKNOWN;
    if (w->next == OG__NEVER || s->lead + w->next > look + p->setup.window)
        return 0;
    return w->next > s->batch + p->setup.threshold ? 1 : 3;
}

/* The lower the earlier it leaves. */
static uint64_t rank_of(const struct og_policy *p, const struct slot_use *w)
{
    if (p->setup.evict == OG_EVICT_STATIC)
        return w->score;
    uint32_t class = class_of(p, w);
    bool known = class != 0 && class != UNKNOWN;
    if (p->setup.has_victims && p->setup.evict == OG_EVICT_HYBRID && class < UNKNOWN)
        class = 1 - class;
    uint32_t within =
        p->setup.evict == OG_EVICT_HYBRID ? w->score : (known ? UINT16_MAX - (uint32_t)w->next : 0);
    return (uint64_t) class << 32 | within;
}

/* The slot of the set that leaves first, among those not filled by this batch, or OG_NO_SLOT. */
static uint32_t choose(const struct og_policy *p, uint32_t start, uint32_t end)
{
    const struct hybrid *s = p->state;
    uint32_t best = OG_NO_SLOT;
    uint64_t least = UINT64_MAX;
    for (uint32_t slot = start; slot < end; slot++) {
        if (s->held[slot] == OG_NO_SLOT)
            return slot;
        if (s->changed[slot] == s->batch + 1)
            continue;
        uint64_t rank = rank_of(p, &s->slot_use[slot]);
        if (rank < least) {
            least = rank;
            best = slot;
        }
    }
    return best;
}

/* ---- a batch ---- */

OG_CLONES static void look_up(struct hybrid *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            __builtin_prefetch(
                &s->held[og__set_start(&s->sets, og__set_of(&s->sets, ids[i + AHEAD]))]);
        uint32_t set = og__set_of(&s->sets, ids[i]);
        uint32_t slot = og__set_find(s->held, og__set_start(&s->sets, set),
                                     og__set_start(&s->sets, set + 1), ids[i]);
        out->place[i] = slot;
        if (slot == OG_NO_SLOT)
            continue;
        s->slot_use[slot].next = s->uses.next[s->row + i];
        s->slot_use[slot].noted = (uint16_t)(s->lead + s->batch + 1);
    }
}

static int step_hybrid(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                       struct og_err *err)
{
    struct hybrid *s = p->state;
    (void)err;
    look_up(s, ids, out);
    for (uint32_t i = 0; i < out->n && p->setup.n_slots > 0; i++) {
        if (out->place[i] != OG_NO_SLOT)
            continue;
        uint32_t set = og__set_of(&s->sets, ids[i]);
        uint32_t slot = choose(p, og__set_start(&s->sets, set), og__set_start(&s->sets, set + 1));
        if (slot == OG_NO_SLOT)
            continue;
        s->held[slot] = ids[i];
        s->changed[slot] = (uint16_t)(s->batch + 1);
        s->slot_use[slot] =
            (struct slot_use){.score = p->setup.hotness ? p->setup.hotness[ids[i]] : 0,
                              .next = s->uses.next[s->row + i],
                              .noted = (uint16_t)(s->lead + s->batch + 1)};
        og__plan_change(out, i, slot);
    }
    s->row += out->n;
    s->batch++;
    return 0;
}

static const char *const parameters[] = {"evict", "ways", "window", "update", "threshold", NULL};

const struct og_policy_ops og__policy_hybrid = {
    .looks_ahead = true,
    .admits = true,
    .lists_uses = true,
    .hotness = OG__HOTNESS_PAGERANK,
    .keeps_hotness = true,
    .parameters = parameters,
    .state_bytes = sizeof(struct hybrid),
    .open = open_hybrid,
    .close = close_hybrid,
    .prepare = prepare_hybrid,
    .step = step_hybrid,
    .bytes = bytes_hybrid,
    .tail = tail_hybrid,
    .trim = trim_hybrid,
    .invalidate = invalidate_hybrid,
};
