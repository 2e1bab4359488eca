#include "plan/slots.h"

#include "plan/policy_ops.h"

#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE OG_NO_SLOT

/* Half full: each look at a place is one at what its slot holds, too. */
static size_t table_size_for(uint32_t n)
{
    return og__id_table_size((uint64_t)n * 5 / 4);
}

size_t og__slots_bytes(uint32_t n)
{
    return (n + table_size_for(n)) * sizeof(uint32_t);
}

int og__slots_open(struct og_slots *s, uint32_t n, struct og_budget *b, struct og_err *err)
{
    *s = (struct og_slots){.n = n, .budget = b};
    s->node = og__alloc(b, n * sizeof(*s->node), part, err);
    if (!s->node)
        return -ENOMEM;
    memset(s->node, 0xff, n * sizeof(*s->node));
    return og__id_table_open(&s->table, table_size_for(n), sizeof(uint32_t), b, part, err);
}

void og__slots_close(struct og_slots *s)
{
    og__release(s->budget, s->node, s->n * sizeof(*s->node), part);
    og__id_table_close(&s->table, sizeof(uint32_t), s->budget, part);
    *s = (struct og_slots){0};
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
}

OG_CLONES void og__slots_look_up(const struct og_slots *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            og__id_prefetch(&s->table, sizeof(uint32_t), ids[i + AHEAD]);
        out->place[i] = og__slots_of(s, ids[i]);
    }
}

uint32_t og__slots_pin_hits(const struct og_slots *s, uint8_t *mark, uint8_t bits,
                            const uint32_t *ids, struct og_plan *out)
{
    uint32_t hits = 0;
    og__slots_look_up(s, ids, out);
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->place[i] == NONE)
            continue;
        mark[out->place[i]] |= bits;
        hits++;
    }
    return hits;
}

void og__slots_unpin(uint8_t *mark, const struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (out->place[i] != NONE)
            mark[out->place[i]] &= (uint8_t)~OG__PINNED;
    for (uint32_t c = 0; c < out->n_changes; c++)
        mark[out->change_slot[c]] &= (uint8_t)~OG__PINNED;
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

void og__slots_step(struct og_slots *s, uint8_t *mark, uint8_t used, const uint32_t *ids,
                    struct og_plan *out, const struct og_admission *how)
{
    const uint32_t pinned = og__slots_pin_hits(s, mark, used | OG__PINNED, ids, out);
    og__slots_admit(s, pinned, ids, out, how);
    og__slots_unpin(mark, out);
}
