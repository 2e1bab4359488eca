#include "plan/slots.h"

#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };
#define NONE OG_NO_SLOT

static uint32_t table_size_for(uint32_t n)
{
    uint32_t size = 64;
    while (size / 2 < n)
        size *= 2;
    return size;
}

size_t og__slots_bytes(uint32_t n)
{
    return ((size_t)n + table_size_for(n)) * 4;
}

int og__slots_open(struct og_slots *s, uint32_t n, struct og_budget *b, struct og_err *err)
{
    *s = (struct og_slots){.n = n, .budget = b, .table_size = table_size_for(n)};
    s->shift = 64 - (unsigned)__builtin_ctz(s->table_size);
    s->node = og__alloc(b, n * sizeof(*s->node), part, err);
    s->table = og__alloc(b, s->table_size * sizeof(*s->table), part, err);
    if (!s->node || !s->table)
        return -ENOMEM;
    memset(s->node, 0xff, n * sizeof(*s->node));
    memset(s->table, 0xff, s->table_size * sizeof(*s->table));
    return 0;
}

void og__slots_close(struct og_slots *s)
{
    og__release(s->budget, s->node, s->n * sizeof(*s->node), part);
    og__release(s->budget, s->table, s->table_size * sizeof(*s->table), part);
    *s = (struct og_slots){0};
}

void og__slots_put(struct og_slots *s, uint32_t slot, uint32_t node)
{
    s->node[slot] = node;
    s->table[og__slots_find(s, node)] = slot;
}

/* Closes the gap in the table: what follows and would be missed moves up. */
void og__slots_drop(struct og_slots *s, uint32_t slot)
{
    uint32_t gap = og__slots_find(s, s->node[slot]);
    uint32_t mask = s->table_size - 1;
    for (uint32_t i = (gap + 1) & mask; s->table[i] != NONE; i = (i + 1) & mask) {
        uint32_t own = og__slots_place(s, s->node[s->table[i]]);
        if (((i - own) & mask) < ((i - gap) & mask))
            continue;
        s->table[gap] = s->table[i];
        gap = i;
    }
    s->table[gap] = NONE;
    s->node[slot] = NONE;
}

OG_CLONES void og__slots_look_up(const struct og_slots *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            og__slots_prefetch(s, ids[i + AHEAD]);
        out->place[i] = og__slots_of(s, ids[i]);
    }
}

uint32_t og__slots_pin_hits(const struct og_slots *s, uint8_t *mark, const uint32_t *ids,
                            struct og_plan *out)
{
    uint32_t hits = 0;
    og__slots_look_up(s, ids, out);
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->place[i] == NONE)
            continue;
        mark[out->place[i]] |= OG__PINNED;
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
