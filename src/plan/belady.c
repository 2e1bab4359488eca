/* Belady's cache with a known future (Park et al. 2022, §3.3). After each batch the cache holds, of
 * its rows and the batch's, those used soonest.
 *
 * Slots hang in one list per batch of their next use (future_cache.h).
 *
 * At batch i all slots of list i are hit. Each moves to the list of its next use, so lists are
 * never searched. A batch costs O(its rows) and a superbatch O(rows); rescanning the cache for each
 * batch costs O(batches * capacity). Among rows without further use, those visited most stay: ties
 * are free, and the next superbatch resembles this one. */
#include "plan/future_cache.h"

#include "base/choices.h"

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE OG_NO_SLOT

struct belady {
    struct og_future_cache cache; /* arrivals: the batch's misses */
    uint32_t *miss_row;           /* [n_misses] */
    uint64_t n_misses;            /* its capacity */
};

/* ---- memory ---- */

static int open_belady(struct og_policy *p, struct og_err *err)
{
    struct belady *s = p->state;
    return og__future_open(&s->cache, p->setup.n_nodes, p->setup.n_slots, p->budget, err);
}

static void trim_belady(struct og_policy *p)
{
    struct belady *s = p->state;
    og__release(p->budget, s->miss_row, s->n_misses * sizeof(*s->miss_row), part);
    s->miss_row = NULL;
    s->n_misses = 0;
    og__future_trim(&s->cache);
    og__future_release_links(&s->cache);
}

static void close_belady(struct og_policy *p)
{
    struct belady *s = p->state;
    trim_belady(p);
    og__future_close(&s->cache);
}

static void invalidate_belady(struct og_policy *p, uint32_t first)
{
    struct belady *s = p->state;
    og__future_invalidate(&s->cache, first);
}

static size_t planned_bytes_belady(const struct og_policy_setup *setup)
{
    return og__placement_bytes(setup->n_nodes) + (size_t)setup->n_slots * 4;
}

static size_t bytes_belady(const struct og_policy_setup *setup,
                           const struct og_superbatch_size *most)
{
    const uint64_t a_batch = most->batches ? 2 * most->rows / most->batches : 0;
    return og__next_uses_bytes(setup->n_nodes, most->rows, most->distinct) + most->distinct * 4 +
           (size_t)setup->n_slots * 8 + og__slot_keys(most->batches) * 8 + a_batch * 8;
}

static int reserve_misses(struct og_policy *p, const struct og_trace *trace, struct og_err *err)
{
    struct belady *s = p->state;
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    if (longest > s->n_misses) {
        og__release(p->budget, s->miss_row, s->n_misses * sizeof(*s->miss_row), part);
        s->miss_row = og__alloc(p->budget, longest * sizeof(*s->miss_row), part, err);
        s->n_misses = s->miss_row ? longest : 0;
    }
    return longest > s->n_misses ? -ENOMEM : og__future_reserve_arrivals(&s->cache, longest, err);
}

/* ---- a superbatch ---- */

static int prepare_belady(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                          struct og_err *err)
{
    struct belady *s = p->state;
    const int rc = reserve_misses(p, trace, err);
    return rc < 0 ? rc : og__future_prepare(&s->cache, trace, NULL, n_prefill, err);
}

static uint32_t prefill_belady(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    struct belady *s = p->state;
    return og__future_prefill(&s->cache, nodes, slots, most);
}

/* ---- a batch ---- */

/* Processes a row of the batch: a hit's slot moves to the list of its next use. A miss is recorded
 * by key. */
static inline void look_up(struct belady *b, struct og_plan *out, uint32_t row, uint32_t rank,
                           uint32_t slot, uint32_t *n_misses)
{
    struct og_future_cache *s = &b->cache;
    uint32_t key = og__future_key(s, s->uses.next[s->row + row], rank);
    out->place[row] = slot;
    if (slot != NONE) {
        og__hang(&s->lists, slot, key);
        return;
    }
    uint32_t m = (*n_misses)++;
    b->miss_row[m] = row;
    s->arrival_link[m] = s->arrival[key];
    s->arrival[key] = m;
}

/* In steps that each prefetch for the next: a node's bit, its rank, its slot, the slot's list. */
OG_CLONES static void look_up_all(struct belady *b, const uint32_t *ids, struct og_plan *out)
{
    enum { RING = 4 * AHEAD }; /* what is under way at most, and a power of two */
    uint32_t rank[RING];
    uint32_t slot[RING];
    uint32_t n_misses = 0;
    const struct og_future_cache *s = &b->cache;
    for (uint32_t i = 0; i < out->n + 2 * AHEAD; i++) {
        if (i >= 2 * AHEAD) {
            uint32_t row = i - 2 * AHEAD;
            look_up(b, out, row, rank[row % RING], slot[row % RING], &n_misses);
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
static void choose_slots(struct belady *b, struct og_plan *out)
{
    struct og_future_cache *s = &b->cache;
    uint32_t slot = 0;
    for (uint32_t key = 0; key < s->lists.farthest && slot != NONE; key++) {
        for (uint32_t m = s->arrival[key]; m != NONE; m = s->arrival_link[m]) {
            slot = og__take_beyond(&s->lists, key);
            if (slot == NONE)
                break;
            __builtin_prefetch(&s->held[slot], 1);
            og__plan_change(out, b->miss_row[m], slot);
        }
    }
    og__future_clear_arrivals(s);
}

/* The rank of the row that leaves a slot; NONE if it is not in this superbatch. */
static inline uint32_t rank_leaving(const struct og_future_cache *s, uint32_t slot)
{
    uint32_t node = s->held[slot];
    bool known = node != NONE && og__placement_has(&s->uses.nodes, node);
    return known ? og__placement_rank(&s->uses.nodes, node) : NONE;
}

OG_CLONES static void let_in(struct og_future_cache *s, const uint32_t *ids, struct og_plan *out)
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
            og__hang(&s->lists, slot, og__future_key(s, next, comes[c % AHEAD]));
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
    struct belady *b = p->state;
    struct og_future_cache *s = &b->cache;
    (void)err;
    s->lists.list[s->batch++] = NONE; /* every slot of this list was hit and has moved */
    look_up_all(b, ids, out);
    choose_slots(b, out);
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
    .state_bytes = sizeof(struct belady),
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
