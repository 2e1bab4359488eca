/* A bit is set at each node's last use. The number of bits after a node's own is the number of
 * others used since. All rows of a batch are looked up before any moves, so ranks of bits are
 * computed once a batch, without a tree. */
#include "plan/stack_distance.h"

#include "plan/lanes.h"
#include "plan/policy_ops.h"

#include <string.h>

static const char part[] = "simulation";
#define NEVER UINT32_MAX

struct stack {
    struct og_placement nodes;   /* numbers the nodes of the trace */
    struct og_placement moments; /* a bit where some node was used last */
    uint32_t *last;              /* [distinct] the moment of its last use, or NEVER */
    uint32_t *number;            /* [longest batch] */
    uint32_t now;                /* the next moment */
    uint32_t longest;
    struct og_budget *budget;
};

/* Moments until the ranks are renumbered. Twice the distinct nodes make that rare: once in as many
 * rows. */
static uint64_t moments_for(uint64_t distinct, uint64_t longest)
{
    return OG_MIN(2 * distinct + longest, (uint64_t)NEVER);
}

static void close_stack(struct stack *s)
{
    size_t distinct = s->nodes.n_slots;
    og__release(s->budget, s->last, distinct * sizeof(*s->last), part);
    og__release(s->budget, s->number, s->longest * sizeof(*s->number), part);
    og__placement_release(&s->moments);
    og__placement_release(&s->nodes);
}

static int open_stack(struct stack *s, const struct og_simulation *sim, struct og_err *err)
{
    *s = (struct stack){.budget = sim->budget, .longest = og__longest_batch(&sim->trace)};
    OG_DO(og__placement_build(&s->nodes, NULL, sim->n_nodes, 0, sim->budget, err));
    og__placement_mark(&s->nodes, &sim->trace);
    og__placement_count(&s->nodes);
    const uint64_t distinct = s->nodes.n_slots;
    if (distinct + s->longest > NEVER)
        return og__fail(err, -EINVAL, NULL, "lru: %llu distinct nodes are too many",
                        (unsigned long long)distinct);
    s->last = og__alloc(sim->budget, distinct * sizeof(*s->last), part, err);
    s->number = og__alloc(sim->budget, s->longest * sizeof(*s->number), part, err);
    if (!s->last || !s->number)
        return -ENOMEM;
    memset(s->last, 0xff, distinct * sizeof(*s->last));
    return og__placement_build(&s->moments, NULL, moments_for(distinct, s->longest), 0, sim->budget,
                               err);
}

static void set_bit(struct og_placement *p, uint32_t i)
{
    p->bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

static void clear_bit(struct og_placement *p, uint32_t i)
{
    p->bits[i >> 6] &= ~((uint64_t)1 << (i & 63));
}

/* The moments of last uses become 0, 1, 2, ... in their order. */
static void renumber(struct stack *s)
{
    og__placement_count(&s->moments);
    s->now = s->moments.n_slots;
    for (uint32_t v = 0; v < s->nodes.n_slots; v++)
        if (s->last[v] != NEVER)
            s->last[v] = og__placement_rank(&s->moments, s->last[v]);
    og__placement_clear(&s->moments);
    for (uint32_t i = 0; i < s->now; i++)
        set_bit(&s->moments, i);
}

/* The number of sizes that miss a row at this stack distance. */
static uint8_t level_of(const struct og_simulation *sim, uint32_t distance)
{
    uint32_t k = 0;
    while (k < sim->n_sizes && sim->size[k] <= distance)
        k++;
    return (uint8_t)k;
}

OG_CLONES static void stack_batch(struct stack *s, const struct og_simulation *sim,
                                  const uint32_t *ids, uint32_t n, uint8_t *level)
{
    enum { AHEAD = 16 };
    if ((uint64_t)s->now + n > s->moments.n_nodes)
        renumber(s);
    og__placement_count(&s->moments);
    for (uint32_t i = 0; i < n; i++) {
        s->number[i] = og__placement_rank(&s->nodes, ids[i]);
        __builtin_prefetch(&s->last[s->number[i]], 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = s->last[s->number[i]];
        if (i + AHEAD < n && s->last[s->number[i + AHEAD]] != NEVER)
            __builtin_prefetch(&s->moments.bits[s->last[s->number[i + AHEAD]] >> 6], 1);
        uint32_t before = last == NEVER ? 0 : og__placement_rank(&s->moments, last);
        level[i] = level_of(sim, last == NEVER ? NEVER : s->moments.n_slots - 1 - before);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *last = &s->last[s->number[i]];
        if (*last != NEVER)
            clear_bit(&s->moments, *last);
        *last = s->now++;
        set_bit(&s->moments, *last);
    }
}

int og__stack_levels(const struct og_simulation *sim, uint8_t *of_row, struct og_err *err)
{
    const struct og_trace *t = &sim->trace;
    struct stack s;
    int rc;
    OG_TRY(open_stack(&s, sim, err));
    for (uint32_t b = 0; b < t->n_batches && !og__sim_stopped(sim); b++)
        stack_batch(&s, sim, t->ids + t->ptr[b], og__trace_rows(t, b), of_row + t->ptr[b]);
out:
    close_stack(&s);
    return rc;
}

size_t og__stack_bytes(uint64_t n_nodes, uint64_t rows, uint64_t longest)
{
    const uint64_t distinct = OG_MIN(rows, n_nodes);
    return og__placement_bytes(n_nodes) + 4 * distinct + 4 * longest +
           og__placement_bytes(moments_for(distinct, longest));
}
