/* Loads all rows of a batch into the cache before it, by sequential scans of the feature file.
 *
 *   batches    | window 0             | window 1             | window 2      ...
 *   reading    window 0 | window 1             | window 2             | ...
 *
 * A window is as many batches as have no more distinct rows than there are slots. While one is
 * trained, the missing rows of the next arrive in file order, each into the slot that is free
 * first. Free slots are those of rows that the next window does not use, by their last use. At any
 * time the cache holds the rest of one window and the first part of the next. So reading and
 * training run in parallel in the memory of one. */
#include "plan/policy_ops.h"

#include "base/choices.h"

#include <string.h>

enum { AHEAD = 16 };
#define NO_NODE UINT32_MAX

struct sweep {
    uint32_t *held; /* [n_slots] the node in each slot */
    struct og_trace trace;
    struct og_allocs tables;
    /* while a superbatch is planned, else NULL */
    uint32_t *slot_of; /* [N] or OG_NO_SLOT */
    uint32_t *last;    /* [N] the last batch that uses it, up to the window's end, counted from 1 */
    uint32_t *free;    /* [n_slots] slots that the window does not use, the earliest free first */
    uint32_t *start;   /* [batches + 2] where the slots begin in there that a batch frees */
    uint32_t first, end; /* the window's batches */
    uint32_t next;       /* batch to be planned */
    /* prefill of the window */
    uint64_t node;
    uint32_t n_free, n_taken, free_after;
};

static size_t table_bytes(const struct og_policy_setup *setup)
{
    return (size_t)setup->n_nodes * sizeof(uint32_t);
}

static size_t slot_bytes(const struct og_policy_setup *setup)
{
    return (size_t)setup->n_slots * sizeof(uint32_t);
}

static size_t planned_bytes_sweep(const struct og_policy_setup *setup)
{
    return slot_bytes(setup);
}

static size_t bytes_sweep(const struct og_policy_setup *setup,
                          const struct og_superbatch_size *most)
{
    return 2 * table_bytes(setup) + 2 * slot_bytes(setup) +
           (size_t)(most->batches + 2) * sizeof(uint32_t);
}

static int open_sweep(struct og_policy *p, struct og_err *err)
{
    struct sweep *s = p->state;
    s->held = og__allocs_take(&p->tables, slot_bytes(&p->setup), err);
    if (!s->held)
        return -ENOMEM;
    memset(s->held, 0xff, slot_bytes(&p->setup));
    return 0;
}

static void trim_sweep(struct og_policy *p)
{
    struct sweep *s = p->state;
    og__allocs_release(&s->tables);
}

static void invalidate_sweep(struct og_policy *p, uint32_t first)
{
    struct sweep *s = p->state;
    for (uint32_t slot = first; slot < p->setup.n_slots; slot++)
        s->held[slot] = NO_NODE;
}

/* ---- windows ---- */

/* Nodes that no batch of the window has used so far. */
OG_CLONES static uint32_t count_new(const struct sweep *s, const uint32_t *ids, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&s->last[ids[i + AHEAD]], 1);
        found += s->last[ids[i]] <= s->first;
    }
    return found;
}

/* The window grows from s->first as long as its rows fit; one batch it has at least. Returns its
 * distinct nodes. */
OG_CLONES static uint64_t grow_window(struct sweep *s, uint32_t n_slots)
{
    const struct og_trace *t = &s->trace;
    uint64_t distinct = 0;
    for (s->end = s->first; s->end < t->n_batches; s->end++) {
        const uint32_t *ids = t->ids + t->ptr[s->end];
        uint32_t n = (uint32_t)(t->ptr[s->end + 1] - t->ptr[s->end]);
        uint32_t more = count_new(s, ids, n);
        if (s->end > s->first && distinct + more > n_slots)
            break;
        distinct += more;
        for (uint32_t i = 0; i < n; i++)
            s->last[ids[i]] = s->end + 1;
    }
    return distinct;
}

/* The batches after which the slot is free, or UINT32_MAX: the window uses its row. */
static uint32_t freed_by(const struct sweep *s, uint32_t slot)
{
    uint32_t node = s->held[slot];
    uint32_t last = node == NO_NODE ? 0 : s->last[node];
    return last > s->first ? UINT32_MAX : last;
}

/* A counting sort. */
OG_CLONES static void list_free(struct sweep *s, uint32_t n_slots)
{
    memset(s->start, 0, ((size_t)s->first + 2) * sizeof(*s->start));
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        uint32_t after = freed_by(s, slot);
        if (after != UINT32_MAX)
            s->start[after + 1]++;
    }
    for (uint32_t b = 0; b <= s->first; b++)
        s->start[b + 1] += s->start[b];
    s->n_free = s->start[s->first + 1];
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        uint32_t after = freed_by(s, slot);
        if (after != UINT32_MAX)
            s->free[s->start[after]++] = slot;
    }
}

/* Returns the number of its rows that are missing. More than there are free slots if a single batch
 * exceeds the cache. */
static uint64_t next_window(struct og_policy *p)
{
    struct sweep *s = p->state;
    s->first = s->end;
    uint64_t distinct = grow_window(s, p->setup.n_slots);
    list_free(s, p->setup.n_slots);
    s->node = 0;
    s->n_taken = s->free_after = 0;
    return distinct - (p->setup.n_slots - s->n_free);
}

/* ---- a superbatch ---- */

static int open_tables(struct og_policy *p, uint32_t n_batches, struct og_err *err)
{
    struct sweep *s = p->state;
    trim_sweep(p);
    s->tables = og__allocs(p->budget, p->tables.part);
    s->slot_of = og__allocs_take(&s->tables, table_bytes(&p->setup), err);
    s->last = og__allocs_take(&s->tables, table_bytes(&p->setup), err);
    s->free = og__allocs_take(&s->tables, slot_bytes(&p->setup), err);
    s->start = og__allocs_take(&s->tables, ((size_t)n_batches + 2) * sizeof(*s->start), err);
    if (og__allocs_taken(&s->tables) < 0)
        return -ENOMEM;
    memset(s->slot_of, 0xff, table_bytes(&p->setup));
    memset(s->last, 0, table_bytes(&p->setup));
    return 0;
}

static int prepare_sweep(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                         struct og_err *err)
{
    struct sweep *s = p->state;
    OG_DO(open_tables(p, trace->n_batches, err));
    for (uint32_t slot = 0; slot < p->setup.n_slots; slot++)
        if (s->held[slot] != NO_NODE)
            s->slot_of[s->held[slot]] = slot;
    s->trace = *trace;
    s->end = s->next = 0;
    uint64_t wanted = next_window(p);
    *n_prefill = (uint32_t)OG_MIN(wanted, (uint64_t)s->n_free);
    return 0;
}

static void put_in_slot(struct sweep *s, uint32_t node, uint32_t slot)
{
    uint32_t before = s->held[slot];
    if (before != NO_NODE) {
        s->slot_of[before] = OG_NO_SLOT;
        s->free_after = OG_MAX(s->free_after, s->last[before]);
    }
    s->held[slot] = node;
    s->slot_of[node] = slot;
}

static uint32_t prefill_sweep(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    struct sweep *s = p->state;
    uint32_t n = 0;
    for (; n < most && s->n_taken < s->n_free && s->node < p->setup.n_nodes; s->node++) {
        if (s->last[s->node] <= s->first || s->slot_of[s->node] != OG_NO_SLOT)
            continue;
        nodes[n] = (uint32_t)s->node;
        slots[n] = s->free[s->n_taken++];
        put_in_slot(s, nodes[n], slots[n]);
        n++;
    }
    return n;
}

static uint32_t free_after_sweep(const struct og_policy *p)
{
    const struct sweep *s = p->state;
    return s->free_after;
}

OG_CLONES static int step_sweep(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                                struct og_err *err)
{
    struct sweep *s = p->state;
    (void)err;
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            __builtin_prefetch(&s->slot_of[ids[i + AHEAD]]);
        out->place[i] = s->slot_of[ids[i]];
    }
    s->next++;
    if (s->next == s->end && s->next < s->trace.n_batches)
        next_window(p);
    return 0;
}

static const struct og_policy_exec execs[] = {{OG_LAYOUT_RAW, false}, {OG_LAYOUT_RAW, true}};

const struct og_policy_ops og__policy_sweep = {
    .looks_ahead = true,
    .execs = execs,
    .n_execs = OG_COUNT(execs),
    .state_bytes = sizeof(struct sweep),
    .open = open_sweep,
    .close = trim_sweep,
    .prepare = prepare_sweep,
    .prefill = prefill_sweep,
    .free_after = free_after_sweep,
    .step = step_sweep,
    .bytes = bytes_sweep,
    .trim = trim_sweep,
    .invalidate = invalidate_sweep,
    .planned_bytes = planned_bytes_sweep,
};
