/* Belady's cache with a known future (Park et al. 2022, §3.3). After each batch the cache holds, of
 * its rows and the batch's, those used soonest.
 *
 * Slots hang in one list per batch of their next use (slot_lists.h).
 *
 * At batch i all slots of list i are hit. Each moves to the list of its next use, so lists are
 * never searched. A batch costs O(its rows) and a superbatch O(rows); rescanning the cache for each
 * batch costs O(batches * capacity). Among rows without further use, those visited most stay: ties
 * are free, and the next superbatch resembles this one. */
#include "plan/slot_lists.h"

#include "base/choices.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE   OG_NO_SLOT
#define CHOSEN (OG_NO_SLOT - 1) /* to be prefilled; its slot is not known yet */

struct belady {
    struct og_next_uses uses;
    uint32_t *slot_of;          /* [distinct] by rank: slot, or NONE */
    uint64_t n_distinct;        /* capacity of slot_of */
    uint32_t *held;             /* [n_slots] node, or NONE */
    struct og_slot_lists lists; /* list: [n_keys] */
    uint32_t *arrival;          /* [n_keys] the batch's misses by key: first of a list, or NONE */
    uint64_t n_keys;            /* capacity of the two */
    uint32_t *miss_row, *miss_link;
    uint64_t n_misses; /* capacity of the two */
    uint64_t row;      /* of the superbatch: the first of the next batch */
    uint32_t batch;    /* of the superbatch: the next one */
    uint64_t prefill_node;
    uint32_t prefill_rank, prefill_left;
};

static inline uint32_t key_of(const struct belady *s, uint16_t next, uint32_t rank)
{
    return og__key_of(&s->lists, next, s->uses.node[rank].visits);
}

/* ---- memory ---- */

static int open_belady(struct og_policy *p, struct og_err *err)
{
    struct belady *s = calloc(1, sizeof(*s));
    p->state = s;
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "belady");
    size_t bytes = p->setup.n_slots * sizeof(uint32_t);
    s->held = og__alloc(p->budget, bytes, part, err);
    if (!s->held)
        return -ENOMEM;
    memset(s->held, 0xff, bytes);
    return og__next_uses_open(&s->uses, p->setup.n_nodes, p->budget, err);
}

static void release_pair(struct og_policy *p, uint32_t **a, uint32_t **b, uint64_t *n)
{
    og__release(p->budget, *a, *n * sizeof(**a), part);
    og__release(p->budget, *b, *n * sizeof(**b), part);
    *a = *b = NULL;
    *n = 0;
}

/* Two arrays of at least n, emptied when they grow. */
static int reserve_pair(struct og_policy *p, uint32_t **a, uint32_t **b, uint64_t *capacity,
                        uint64_t n, struct og_err *err)
{
    if (n <= *capacity)
        return 0;
    release_pair(p, a, b, capacity);
    *a = og__alloc(p->budget, n * sizeof(**a), part, err);
    *b = *a ? og__alloc(p->budget, n * sizeof(**b), part, err) : NULL;
    if (*b) {
        *capacity = n;
        return 0;
    }
    og__release(p->budget, *a, n * sizeof(**a), part);
    *a = NULL;
    return -ENOMEM;
}

/* Keeps only the cache's contents. */
static void trim_belady(struct og_policy *p)
{
    struct belady *s = p->state;
    release_pair(p, &s->lists.list, &s->arrival, &s->n_keys);
    release_pair(p, &s->miss_row, &s->miss_link, &s->n_misses);
    og__release(p->budget, s->slot_of, s->n_distinct * sizeof(*s->slot_of), part);
    og__release(p->budget, s->lists.link, p->setup.n_slots * sizeof(*s->lists.link), part);
    s->slot_of = s->lists.link = NULL;
    s->n_distinct = 0;
    og__next_uses_trim(&s->uses);
}

static void close_belady(struct og_policy *p)
{
    struct belady *s = p->state;
    if (!s)
        return;
    trim_belady(p);
    og__release(p->budget, s->held, p->setup.n_slots * sizeof(*s->held), part);
    og__next_uses_close(&s->uses);
    free(s);
}

static void invalidate_belady(struct og_policy *p, uint32_t first)
{
    struct belady *s = p->state;
    for (uint32_t slot = first; slot < p->setup.n_slots; slot++)
        s->held[slot] = NONE;
}

static size_t planned_bytes_belady(const struct og_policy_setup *setup)
{
    return og__placement_bytes(setup->n_nodes) + (size_t)setup->n_slots * 4;
}

static size_t bytes_belady(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                           uint64_t distinct)
{
    uint64_t a_batch = batches ? 2 * rows / batches : 0;
    return og__next_uses_bytes(setup->n_nodes, rows, distinct) + distinct * 4 +
           (size_t)setup->n_slots * 8 + og__slot_keys(batches) * 8 + a_batch * 8;
}

static int reserve(struct og_policy *p, const struct og_trace *trace, struct og_err *err)
{
    struct belady *s = p->state;
    uint64_t distinct = s->uses.nodes.n_slots;
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    if (distinct > s->n_distinct) {
        og__release(p->budget, s->slot_of, s->n_distinct * sizeof(*s->slot_of), part);
        s->n_distinct = 0;
        s->slot_of = og__alloc(p->budget, distinct * sizeof(*s->slot_of), part, err);
        if (!s->slot_of)
            return -ENOMEM;
        s->n_distinct = distinct;
    }
    if (!s->lists.link)
        s->lists.link = og__alloc(p->budget, p->setup.n_slots * sizeof(*s->lists.link), part, err);
    if (!s->lists.link)
        return -ENOMEM;
    int rc = reserve_pair(p, &s->lists.list, &s->arrival, &s->n_keys, og__key_absent(&s->lists) + 1,
                          err);
    return rc < 0 ? rc : reserve_pair(p, &s->miss_row, &s->miss_link, &s->n_misses, longest, err);
}

/* ---- a superbatch ---- */

/* Puts the cache's rows into lists by next use. Returns the number of slots without a row of the
 * superbatch. */
OG_CLONES static uint32_t hang_all(struct og_policy *p)
{
    struct belady *s = p->state;
    const struct og_next_uses *u = &s->uses;
    memset(s->lists.list, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->lists.list));
    memset(s->arrival, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->arrival));
    for (uint32_t rank = 0; rank < u->nodes.n_slots; rank++)
        s->slot_of[rank] = NONE;
    s->lists.farthest = 0;
    uint32_t idle = 0;
    for (uint32_t slot = p->setup.n_slots; slot-- > 0;) { /* from the back: low slots go first */
        uint32_t node = s->held[slot];
        if (node == NONE || !og__placement_has(&u->nodes, node)) {
            og__hang(&s->lists, slot, og__key_absent(&s->lists));
            idle++;
            continue;
        }
        uint32_t rank = og__placement_rank(&u->nodes, node);
        s->slot_of[rank] = slot;
        og__hang(&s->lists, slot, key_of(s, u->node[rank].first, rank));
    }
    return idle;
}

/* Assigns idle slots to the first distinct nodes that are not cached. Never takes a slot whose row
 * the superbatch uses: that row would have to be read again. */
OG_CLONES static uint32_t choose_prefill(struct belady *s, const struct og_trace *trace,
                                         uint32_t idle)
{
    uint32_t chosen = 0;
    uint64_t rows = trace->ptr[trace->n_batches];
    for (uint64_t i = 0; i < rows && chosen < idle; i++) {
        if (i + AHEAD < rows)
            og__placement_prefetch(&s->uses.nodes, trace->ids[i + AHEAD]);
        uint32_t *slot = &s->slot_of[og__placement_rank(&s->uses.nodes, trace->ids[i])];
        chosen += *slot == NONE;
        *slot = *slot == NONE ? CHOSEN : *slot;
    }
    return chosen;
}

static int prepare_belady(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                          struct og_err *err)
{
    struct belady *s = p->state;
    int rc;
    OG_TRY(og__next_uses_find(&s->uses, trace, err));
    s->lists.n_batches = trace->n_batches;
    s->row = s->batch = 0;
    OG_TRY(reserve(p, trace, err));
    s->prefill_left = *n_prefill = choose_prefill(s, trace, hang_all(p));
    s->prefill_node = s->prefill_rank = 0;
    return 0;
out:
    return rc;
}

/* Fills the idle slots, in file order. */
static uint32_t prefill_belady(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    struct belady *s = p->state;
    uint32_t n = 0;
    while (n < most && s->prefill_left > 0) {
        uint32_t node;
        og__placement_nodes(&s->uses.nodes, &s->prefill_node, &node, 1);
        uint32_t rank = s->prefill_rank++;
        if (s->slot_of[rank] != CHOSEN)
            continue;
        uint32_t slot = s->lists.list[og__key_absent(&s->lists)];
        s->lists.list[og__key_absent(&s->lists)] = s->lists.link[slot];
        s->slot_of[rank] = slot;
        s->held[slot] = node;
        og__hang(&s->lists, slot, key_of(s, s->uses.node[rank].first, rank));
        nodes[n] = node;
        slots[n++] = slot;
        s->prefill_left--;
    }
    return n;
}

/* ---- a batch ---- */

/* Processes a row of the batch: a hit's slot moves to the list of its next use. A miss is recorded
 * by key. */
static inline void look_up(struct belady *s, struct og_plan *out, uint32_t row, uint32_t rank,
                           uint32_t slot, uint32_t *n_misses)
{
    uint32_t key = key_of(s, s->uses.next[s->row + row], rank);
    out->place[row] = slot;
    if (slot != NONE) {
        og__hang(&s->lists, slot, key);
        return;
    }
    uint32_t m = (*n_misses)++;
    s->miss_row[m] = row;
    s->miss_link[m] = s->arrival[key];
    s->arrival[key] = m;
}

/* In steps that each prefetch for the next: a node's bit, its rank, its slot, the slot's list. */
OG_CLONES static void look_up_all(struct belady *s, const uint32_t *ids, struct og_plan *out)
{
    enum { RING = 4 * AHEAD }; /* what is under way at most, and a power of two */
    uint32_t rank[RING];
    uint32_t slot[RING];
    uint32_t n_misses = 0;
    for (uint32_t i = 0; i < out->n + 2 * AHEAD; i++) {
        if (i >= 2 * AHEAD) {
            uint32_t row = i - 2 * AHEAD;
            look_up(s, out, row, rank[row % RING], slot[row % RING], &n_misses);
        }
        if (i >= AHEAD && i < out->n + AHEAD) {
            uint32_t k = (i - AHEAD) % RING;
            slot[k] = s->slot_of[rank[k]];
            if (slot[k] != NONE)
                __builtin_prefetch(&s->lists.link[slot[k]], 1);
        }
        if (i + AHEAD < out->n)
            og__placement_prefetch(&s->uses.nodes, ids[i + AHEAD]);
        if (i < out->n) {
            uint32_t r = og__placement_rank(&s->uses.nodes, ids[i]);
            rank[i % RING] = r;
            __builtin_prefetch(&s->slot_of[r]);
            if (s->uses.next[s->row + i] == OG__NEVER)
                __builtin_prefetch(&s->uses.node[r]);
        }
    }
}

/* Misses enter in the order of their next use while a row used later can leave. So none that has
 * entered leaves again. */
static void choose_slots(struct belady *s, struct og_plan *out)
{
    uint32_t slot = 0;
    for (uint32_t key = 0; key < s->lists.farthest && slot != NONE; key++) {
        for (uint32_t m = s->arrival[key]; m != NONE; m = s->miss_link[m]) {
            slot = og__take_beyond(&s->lists, key);
            if (slot == NONE)
                break;
            __builtin_prefetch(&s->held[slot], 1);
            og__plan_change(out, s->miss_row[m], slot);
        }
    }
    memset(s->arrival, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->arrival));
}

/* The rank of the row that leaves a slot; NONE if it is not in this superbatch. */
static inline uint32_t rank_leaving(const struct belady *s, uint32_t slot)
{
    uint32_t node = s->held[slot];
    bool known = node != NONE && og__placement_has(&s->uses.nodes, node);
    return known ? og__placement_rank(&s->uses.nodes, node) : NONE;
}

OG_CLONES static void let_in(struct belady *s, const uint32_t *ids, struct og_plan *out)
{
    uint32_t leaves[AHEAD];
    uint32_t comes[AHEAD];
    for (uint32_t c = 0; c < out->n_changes + AHEAD; c++) {
        if (c >= AHEAD) {
            uint32_t slot = out->change_slot[c - AHEAD];
            if (leaves[c % AHEAD] != NONE)
                s->slot_of[leaves[c % AHEAD]] = NONE;
            s->slot_of[comes[c % AHEAD]] = slot;
            s->held[slot] = ids[out->change_row[c - AHEAD]];
            uint16_t next = s->uses.next[s->row + out->change_row[c - AHEAD]];
            og__hang(&s->lists, slot, key_of(s, next, comes[c % AHEAD]));
        }
        if (c >= out->n_changes)
            continue;
        uint32_t k = c % AHEAD;
        leaves[k] = rank_leaving(s, out->change_slot[c]);
        comes[k] = og__placement_rank(&s->uses.nodes, ids[out->change_row[c]]);
        if (leaves[k] != NONE)
            __builtin_prefetch(&s->slot_of[leaves[k]], 1);
        __builtin_prefetch(&s->slot_of[comes[k]], 1);
    }
}

static int step_belady(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                       struct og_err *err)
{
    struct belady *s = p->state;
    (void)err;
    s->lists.list[s->batch++] = NONE; /* every slot of this list was hit and has moved */
    look_up_all(s, ids, out);
    choose_slots(s, out);
    let_in(s, ids, out);
    s->row += out->n;
    return 0;
}

static const struct og_policy_exec execs[] = {{OG_LAYOUT_RAW, false},
                                              {OG_LAYOUT_RAW, true},
                                              {OG_LAYOUT_PACKED, true},
                                              {OG_LAYOUT_SEGMENTED, true}};

const struct og_policy_ops og__policy_belady = {
    .looks_ahead = true,
    .lists_uses = true,
    .serves_as_lower = true,
    .execs = execs,
    .n_execs = OG_COUNT(execs),
    .admits = true,
    .open = open_belady,
    .close = close_belady,
    .prepare = prepare_belady,
    .prefill = prefill_belady,
    .step = step_belady,
    .bytes = bytes_belady,
    .trim = trim_belady,
    .invalidate = invalidate_belady,
    .planned_bytes = planned_bytes_belady,
};
