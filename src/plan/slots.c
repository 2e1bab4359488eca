#include "plan/slots.h"

#include "plan/policy_ops.h"

#include <string.h>

enum { AHEAD = 16 };
#define NONE OG_NO_SLOT

/* Half full: each look at a place is one at what its slot holds, too. */
static size_t table_size_for(uint32_t n)
{
    return og__id_table_size((uint64_t)n * 5 / 4);
}

size_t og__slots_bytes(uint32_t n, bool marks, uint32_t heads)
{
    const size_t links = heads > 0 ? (size_t)n + heads : 0;
    return (n + table_size_for(n)) * sizeof(uint32_t) + (marks ? n : 0) +
           links * sizeof(struct og_link);
}

int og__slots_open(struct og_slots *s, uint32_t n, bool marks, uint32_t heads, struct og_allocs *a,
                   struct og_err *err)
{
    *s = (struct og_slots){.n = n};
    s->node = og__allocs_take(a, n * sizeof(*s->node), err);
    og__id_table_take(&s->table, table_size_for(n), sizeof(uint32_t), a, err);
    if (marks)
        s->mark = og__allocs_take(a, n, err);
    if (heads > 0)
        s->link = og__allocs_take(a, ((size_t)n + heads) * sizeof(*s->link), err);
    if (og__allocs_taken(a) < 0)
        return -ENOMEM;
    memset(s->node, 0xff, n * sizeof(*s->node));
    for (uint32_t i = 0; i < heads; i++)
        og__ring_init(s->link, n + i);
    return 0;
}

void og__slots_put(struct og_slots *s, uint32_t slot, uint32_t node)
{
    uint32_t *place = og__id_find(&s->table, sizeof(uint32_t), s->node, node);
    s->node[slot] = node;
    *place = slot;
}

void og__slots_drop(struct og_slots *s, uint32_t slot)
{
    og__id_remove(&s->table, sizeof(uint32_t), s->node, s->node[slot]);
    s->node[slot] = NONE;
    if (s->mark)
        s->mark[slot] = 0;
}

void og__slots_cut(struct og_slots *s, uint32_t first)
{
    for (; s->n_filled > first; s->n_filled--)
        og__slots_drop(s, s->n_filled - 1);
}

OG_CLONES void og__slots_look_up(const struct og_slots *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            og__id_prefetch(&s->table, sizeof(uint32_t), ids[i + AHEAD]);
        out->place[i] = og__slots_of(s, ids[i]);
    }
}

uint32_t og__slots_pin_hits(const struct og_slots *s, uint8_t bits, const uint32_t *ids,
                            struct og_plan *out)
{
    uint32_t hits = 0;
    og__slots_look_up(s, ids, out);
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->place[i] == NONE)
            continue;
        s->mark[out->place[i]] |= bits;
        hits++;
    }
    return hits;
}

void og__slots_unpin(const struct og_slots *s, const struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (out->place[i] != NONE)
            s->mark[out->place[i]] &= (uint8_t)~OG__PINNED;
    for (uint32_t c = 0; c < out->n_changes; c++)
        s->mark[out->change_slot[c]] &= (uint8_t)~OG__PINNED;
}

void og__slots_admit(struct og_slots *s, uint32_t pinned, const uint32_t *ids, struct og_plan *out,
                     const struct og_admission *how)
{
    for (uint32_t i = 0; i < out->n && pinned < s->n; i++) {
        if (out->place[i] != NONE)
            continue;
        const uint32_t slot = s->n_filled < s->n ? s->n_filled++ : how->evict(how->policy);
        og__slots_put(s, slot, ids[i]);
        how->enter(how->policy, slot, ids[i]);
        pinned++;
        og__plan_change(out, i, slot);
    }
}

void og__slots_step(struct og_slots *s, uint8_t used, const uint32_t *ids, struct og_plan *out,
                    const struct og_admission *how)
{
    const uint32_t pinned = og__slots_pin_hits(s, used | OG__PINNED, ids, out);
    og__slots_admit(s, pinned, ids, out, how);
    og__slots_unpin(s, out);
}
