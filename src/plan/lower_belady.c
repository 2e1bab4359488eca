#include "plan/lower_belady.h"

#include <string.h>

static const char part[] = "policy";
#define NONE OG_NO_SLOT

static bool is_missed(const struct og_future_cache *s, uint32_t node, uint32_t *rank)
{
    if (node == NONE || !og__placement_has(&s->uses.nodes, node))
        return false;
    *rank = og__placement_rank(&s->uses.nodes, node);
    return true;
}

/* ---- memory ---- */

int og__lower_belady_open(struct og_lower_belady *s, uint64_t n_nodes, uint32_t n_slots,
                          struct og_budget *b, struct og_err *err)
{
    *s = (struct og_lower_belady){0};
    return og__future_open(&s->cache, n_nodes, n_slots, b, err);
}

/* Each row of a batch may bring two arrivals. It arrives from the disk itself, and the row that it
 * replaces arrives from the upper cache. */
size_t og__lower_belady_bytes(uint64_t n_nodes, uint32_t n_slots,
                              const struct og_lower_belady_size *of)
{
    return og__next_uses_bytes(n_nodes, of->rows, of->distinct) + n_nodes / 8 + 8 +
           of->distinct * 6 + (size_t)n_slots * 8 + og__slot_keys(of->batches) * 8 +
           of->longest * 8;
}

void og__lower_belady_trim(struct og_lower_belady *s)
{
    og__release(s->cache.budget, s->next, s->n_next * sizeof(*s->next), part);
    s->next = NULL;
    s->n_next = 0;
    og__future_trim(&s->cache);
}

void og__lower_belady_close(struct og_lower_belady *s)
{
    og__lower_belady_trim(s);
    og__future_close(&s->cache);
}

/* ---- a superbatch ---- */

/* The first misses of all nodes. */
static int begin_next(struct og_lower_belady *s, struct og_err *err)
{
    const struct og_next_uses *u = &s->cache.uses;
    const uint64_t n = u->nodes.n_slots;
    if (n > s->n_next) {
        og__release(s->cache.budget, s->next, s->n_next * sizeof(*s->next), part);
        s->next = og__alloc(s->cache.budget, n * sizeof(*s->next), part, err);
        s->n_next = s->next ? n : 0;
    }
    for (uint32_t r = 0; s->next && r < n; r++)
        s->next[r] = u->node[r].first;
    return n > s->n_next ? -ENOMEM : 0;
}

int og__lower_belady_prepare(struct og_lower_belady *s, const struct og_trace *missed,
                             const uint32_t *upper, uint32_t n_upper, uint32_t *n_prefill,
                             struct og_err *err)
{
    struct og_future_cache *c = &s->cache;
    const size_t bytes = og__bits_words(c->uses.nodes.n_nodes) * sizeof(uint64_t);
    uint64_t *is_upper = og__alloc(c->budget, bytes, part, err);
    int rc;
    OG_TRY(is_upper ? 0 : -ENOMEM);
    for (uint32_t i = 0; i < n_upper; i++)
        if (upper[i] != NONE)
            og__bits_add(is_upper, upper[i]);
    OG_TRY(og__future_prepare(c, missed, is_upper, n_prefill, err));
    rc = begin_next(s, err);
out:
    og__release(c->budget, is_upper, bytes, part);
    return rc;
}

/* ---- a batch ---- */

static void arrive(struct og_future_cache *s, uint32_t arrival, uint32_t key)
{
    s->arrival_link[arrival] = s->arrival[key];
    s->arrival[key] = arrival;
}

/* Records rows that leave the upper cache and have a next use. They enter last among rows with the
 * same next use: the batch's own rows need no copy from above. */
static void note_leavers(struct og_lower_belady *l, const struct og_lower_belady_batch *in)
{
    struct og_future_cache *s = &l->cache;
    uint32_t rank;
    for (uint32_t i = 0; i < in->n_leavers; i++) {
        in->to[i] = NONE;
        if (is_missed(s, in->leavers[i], &rank) && l->next[rank] != OG__NEVER &&
            s->slot_of[rank] == NONE)
            arrive(s, in->n + i, l->next[rank]);
    }
}

static void look_up(struct og_lower_belady *l, const struct og_lower_belady_batch *in,
                    struct og_plan *out)
{
    struct og_future_cache *s = &l->cache;
    const uint16_t *next = s->uses.next + s->row;
    for (uint32_t i = 0; i < in->n; i++) {
        const uint32_t rank = og__placement_rank(&s->uses.nodes, in->ids[i]);
        const uint32_t slot = s->slot_of[rank];
        const uint32_t key = og__future_key(s, next[i], rank);
        l->next[rank] = next[i];
        out->place[i] = slot;
        if (slot == NONE && !in->taken[i])
            arrive(s, i, key);
        if (slot == NONE)
            continue;
        og__hang(&s->lists, slot, in->taken[i] ? og__key_absent(&s->lists) : key);
        if (in->taken[i])
            s->held[slot] = s->slot_of[rank] = NONE;
    }
}

static void let_in(struct og_future_cache *s, uint32_t slot, uint32_t node, uint32_t key)
{
    uint32_t rank;
    if (is_missed(s, s->held[slot], &rank))
        s->slot_of[rank] = NONE;
    if (is_missed(s, node, &rank))
        s->slot_of[rank] = slot;
    s->held[slot] = node;
    og__hang(&s->lists, slot, key);
}

/* In the order of their next use, while a row used later can leave. */
static void choose_slots(struct og_future_cache *s, const struct og_lower_belady_batch *in,
                         struct og_plan *out)
{
    uint32_t slot = 0;
    for (uint32_t key = 0; key < s->lists.farthest && slot != NONE; key++) {
        for (uint32_t a = s->arrival[key]; a != NONE; a = s->arrival_link[a]) {
            slot = og__take_beyond(&s->lists, key);
            if (slot == NONE)
                break;
            if (a < in->n)
                og__plan_change(out, a, slot);
            else
                in->to[a - in->n] = slot;
            let_in(s, slot, a < in->n ? in->ids[a] : in->leavers[a - in->n], key);
        }
    }
    og__future_clear_arrivals(s);
}

int og__lower_belady_step(struct og_lower_belady *s, const struct og_lower_belady_batch *in,
                          struct og_plan *out, struct og_err *err)
{
    struct og_future_cache *c = &s->cache;
    OG_DO(og__future_reserve_arrivals(c, (uint64_t)in->n + in->n_leavers, err));
    c->lists.list[c->batch++] = NONE; /* every slot of this list was hit and has moved */
    out->n = in->n;
    out->n_misses = out->n_changes = 0;
    note_leavers(s, in);
    look_up(s, in, out);
    choose_slots(c, in, out);
    c->row += in->n;
    return 0;
}
