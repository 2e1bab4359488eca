#include "plan/future_cache.h"

#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE   OG_NO_SLOT
#define CHOSEN (OG_NO_SLOT - 1) /* to be prefilled; its slot is not known yet */

/* ---- memory ---- */

int og__future_open(struct og_future_cache *s, uint64_t n_nodes, uint32_t n_slots,
                    struct og_budget *b, struct og_err *err)
{
    const size_t bytes = n_slots * sizeof(*s->held);
    *s = (struct og_future_cache){.n_slots = n_slots, .budget = b};
    s->held = og__alloc(b, bytes, part, err);
    if (!s->held)
        return -ENOMEM;
    memset(s->held, 0xff, bytes);
    return og__next_uses_open(&s->uses, n_nodes, b, err);
}

static void release(struct og_future_cache *s, uint32_t **p, uint64_t n)
{
    og__release(s->budget, *p, n * sizeof(**p), part);
    *p = NULL;
}

/* Capacities become 0 too, so that the next superbatch allocates again. */
static void release_keys(struct og_future_cache *s)
{
    release(s, &s->lists.list, s->n_keys);
    release(s, &s->arrival, s->n_keys);
    s->n_keys = 0;
}

static void release_array(struct og_future_cache *s, uint32_t **p, uint64_t *n)
{
    release(s, p, *n);
    *n = 0;
}

/* Emptied when it grows. */
static int reserve(struct og_future_cache *s, uint32_t **p, uint64_t *capacity, uint64_t n,
                   struct og_err *err)
{
    if (n <= *capacity)
        return 0;
    release_array(s, p, capacity);
    *p = og__alloc(s->budget, n * sizeof(**p), part, err);
    *capacity = *p ? n : 0;
    return *p ? 0 : -ENOMEM;
}

static int reserve_keys(struct og_future_cache *s, struct og_err *err)
{
    const uint64_t n = og__slot_keys(s->lists.n_batches);
    if (n <= s->n_keys)
        return 0;
    release_keys(s);
    s->n_keys = n;
    s->lists.list = og__alloc(s->budget, n * sizeof(*s->lists.list), part, err);
    s->arrival = s->lists.list ? og__alloc(s->budget, n * sizeof(*s->arrival), part, err) : NULL;
    if (s->arrival)
        return 0;
    release_keys(s);
    return -ENOMEM;
}

int og__future_reserve_arrivals(struct og_future_cache *s, uint64_t n, struct og_err *err)
{
    return reserve(s, &s->arrival_link, &s->n_arrivals, n, err);
}

void og__future_release_links(struct og_future_cache *s)
{
    release(s, &s->lists.link, s->n_slots);
}

void og__future_trim(struct og_future_cache *s)
{
    release_keys(s);
    release_array(s, &s->arrival_link, &s->n_arrivals);
    release_array(s, &s->slot_of, &s->n_distinct);
    s->prefill_left = 0;
    og__next_uses_trim(&s->uses);
}

void og__future_close(struct og_future_cache *s)
{
    og__future_trim(s);
    og__future_release_links(s);
    release(s, &s->held, s->n_slots);
    og__next_uses_close(&s->uses);
    *s = (struct og_future_cache){0};
}

void og__future_invalidate(struct og_future_cache *s, uint32_t first)
{
    for (uint32_t slot = first; slot < s->n_slots; slot++)
        s->held[slot] = NONE;
}

void og__future_clear_arrivals(struct og_future_cache *s)
{
    memset(s->arrival, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->arrival));
}

/* ---- a superbatch ---- */

/* Puts the cache's rows into lists by next use. Returns the number of slots without a row of the
 * superbatch, or with one that is elsewhere. */
OG_CLONES static uint32_t hang_all(struct og_future_cache *s, const uint64_t *elsewhere)
{
    const struct og_next_uses *u = &s->uses;
    uint32_t idle = 0;
    memset(s->lists.list, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->lists.list));
    for (uint32_t rank = 0; rank < u->nodes.n_slots; rank++)
        s->slot_of[rank] = NONE;
    s->lists.farthest = 0;
    for (uint32_t slot = s->n_slots; slot-- > 0;) { /* from the back: low slots go first */
        if (elsewhere && s->held[slot] != NONE && og__bits_has(elsewhere, s->held[slot]))
            s->held[slot] = NONE;
        const uint32_t node = s->held[slot];
        if (node == NONE || !og__placement_has(&u->nodes, node)) {
            og__hang(&s->lists, slot, og__key_absent(&s->lists));
            idle++;
            continue;
        }
        const uint32_t rank = og__placement_rank(&u->nodes, node);
        s->slot_of[rank] = slot;
        og__hang(&s->lists, slot, og__future_key(s, u->node[rank].first, rank));
    }
    return idle;
}

/* Assigns idle slots to the first distinct nodes that are not cached. Never takes a slot whose row
 * the superbatch uses: that row would have to be read again. */
OG_CLONES static uint32_t choose_prefill(struct og_future_cache *s, const struct og_trace *trace,
                                         const uint64_t *elsewhere, uint32_t idle)
{
    const uint64_t rows = trace->ptr[trace->n_batches];
    uint32_t chosen = 0;
    for (uint64_t i = 0; i < rows && chosen < idle; i++) {
        if (i + AHEAD < rows)
            og__placement_prefetch(&s->uses.nodes, trace->ids[i + AHEAD]);
        uint32_t *slot = &s->slot_of[og__placement_rank(&s->uses.nodes, trace->ids[i])];
        const bool choose = *slot == NONE && !(elsewhere && og__bits_has(elsewhere, trace->ids[i]));
        chosen += choose;
        *slot = choose ? CHOSEN : *slot;
    }
    return chosen;
}

int og__future_prepare(struct og_future_cache *s, const struct og_trace *trace,
                       const uint64_t *elsewhere, uint32_t *n_prefill, struct og_err *err)
{
    OG_DO(og__next_uses_find(&s->uses, trace, err));
    s->lists.n_batches = trace->n_batches;
    s->row = s->batch = 0;
    OG_DO(reserve(s, &s->slot_of, &s->n_distinct, s->uses.nodes.n_slots, err));
    if (!s->lists.link)
        s->lists.link = og__alloc(s->budget, s->n_slots * sizeof(*s->lists.link), part, err);
    OG_DO(s->lists.link ? reserve_keys(s, err) : -ENOMEM);
    og__future_clear_arrivals(s);
    s->prefill_left = *n_prefill = choose_prefill(s, trace, elsewhere, hang_all(s, elsewhere));
    s->prefill_node = s->prefill_rank = 0;
    return 0;
}

uint32_t og__future_prefill(struct og_future_cache *s, uint32_t *nodes, uint32_t *slots,
                            uint32_t most)
{
    uint32_t n = 0;
    while (n < most && s->prefill_left > 0) {
        uint32_t node;
        og__placement_nodes(&s->uses.nodes, &s->prefill_node, &node, 1);
        const uint32_t rank = s->prefill_rank++;
        if (s->slot_of[rank] != CHOSEN)
            continue;
        const uint32_t slot = s->lists.list[og__key_absent(&s->lists)];
        s->lists.list[og__key_absent(&s->lists)] = s->lists.link[slot];
        s->slot_of[rank] = slot;
        s->held[slot] = node;
        og__hang(&s->lists, slot, og__future_key(s, s->uses.node[rank].first, rank));
        nodes[n] = node;
        slots[n++] = slot;
        s->prefill_left--;
    }
    return n;
}
