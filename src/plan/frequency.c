/* The rows that the superbatch itself visits most. No static placement can hit more (Liu et al.
 * 2025, §4). Between superbatches, rows that stay keep their slots; only the difference is
 * prefilled. */
#include "plan/policy_ops.h"

#include "base/choices.h"

#include <string.h>

static const char part[] = "policy";
enum { AHEAD = 16 };

struct frequency {
    struct og_placement nodes; /* those cached */
    uint32_t *slot;            /* [n_slots] by rank in nodes */
    uint32_t *before;          /* [n_slots] the same, of the superbatch before */
    uint32_t kept_slots;       /* slots below hold their rows */
    /* prefill */
    uint64_t node;
    uint32_t rank, prefill_left;
    uint32_t *fresh; /* one bit a rank: to be filled */
};

static size_t bytes_frequency(const struct og_policy_setup *setup,
                              const struct og_superbatch_size *most)
{
    (void)most;
    /* two placements and the visits live side by side while a superbatch is prepared */
    return 2 * og__placement_bytes(setup->n_nodes) + (size_t)setup->n_nodes * 4 +
           (size_t)setup->n_slots * 9 + (size_t)(setup->n_slots / 32 + 1) * 4;
}

static size_t planned_bytes_frequency(const struct og_policy_setup *setup)
{
    return og__placement_bytes(setup->n_nodes) + (size_t)setup->n_slots * 8 +
           (size_t)(setup->n_slots / 32 + 1) * 4;
}

static size_t fresh_bytes(const struct og_policy *p)
{
    return (size_t)(p->setup.n_slots / 32 + 1) * 4;
}

static int open_frequency(struct og_policy *p, struct og_err *err)
{
    const size_t bytes = p->setup.n_slots * sizeof(uint32_t);
    struct frequency *s = p->state;
    s->slot = og__allocs_take(&p->tables, bytes, err);
    s->before = og__allocs_take(&p->tables, bytes, err);
    s->fresh = og__allocs_take(&p->tables, fresh_bytes(p), err);
    if (og__allocs_taken(&p->tables) < 0)
        return -ENOMEM;
    return og__placement_build(&s->nodes, NULL, p->setup.n_nodes, 0, p->budget, err);
}

static void close_frequency(struct og_policy *p)
{
    struct frequency *s = p->state;
    og__placement_release(&s->nodes);
}

/* ---- a superbatch ---- */

OG_CLONES static void count_visits(const struct og_trace *trace, uint32_t *visits)
{
    uint64_t rows = trace->ptr[trace->n_batches];
    for (uint64_t i = 0; i < rows; i++) {
        if (i + AHEAD < rows)
            __builtin_prefetch(&visits[trace->ids[i + AHEAD]], 1);
        visits[trace->ids[i]]++;
    }
}

static int rank_nodes(struct og_policy *p, const struct og_trace *trace, struct og_placement *out,
                      struct og_err *err)
{
    size_t bytes = p->setup.n_nodes * sizeof(uint32_t);
    uint32_t *visits = og__alloc(p->budget, bytes, part, err);
    if (!visits)
        return -ENOMEM;
    count_visits(trace, visits);
    uint64_t visited = 0;
    for (uint64_t v = 0; v < p->setup.n_nodes; v++)
        visited += visits[v] > 0;
    uint64_t capacity = OG_MIN(visited, (uint64_t)p->setup.n_slots);
    int rc = og__placement_build(out, visits, p->setup.n_nodes, capacity, p->budget, err);
    og__release(p->budget, visits, bytes, part);
    return rc;
}

/* Rows in slots from `first` on must be read again: they count as absent. */
static void invalidate_frequency(struct og_policy *p, uint32_t first)
{
    struct frequency *s = p->state;
    s->kept_slots = first;
}

/* Slots of nodes that stay, then the free ones for those that come. taken[n_slots] is all false. */
static uint32_t assign_slots(struct og_policy *p, const struct og_placement *before, bool *taken)
{
    struct frequency *s = p->state;
    uint32_t n = s->nodes.n_slots;
    uint64_t node = 0;
    uint32_t fresh = 0;
    memset(s->fresh, 0, fresh_bytes(p));
    for (uint32_t rank = 0; rank < n; rank++) {
        uint32_t v;
        og__placement_nodes(&s->nodes, &node, &v, 1);
        uint32_t slot =
            og__placement_has(before, v) ? s->before[og__placement_rank(before, v)] : OG_NO_SLOT;
        bool stays = slot < s->kept_slots;
        s->slot[rank] = stays ? slot : OG_NO_SLOT;
        if (stays)
            taken[s->slot[rank]] = true;
        else
            s->fresh[rank / 32] |= 1u << rank % 32;
        fresh += !stays;
    }
    uint32_t next = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        if (s->slot[rank] != OG_NO_SLOT)
            continue;
        while (taken[next])
            next++;
        s->slot[rank] = next++;
    }
    return fresh;
}

/* Sets the contents to the nodes of `after`, and takes ownership of it. */
static int hold(struct og_policy *p, struct og_placement after, uint32_t *n_prefill,
                struct og_err *err)
{
    struct frequency *s = p->state;
    bool *taken = og__alloc(p->budget, p->setup.n_slots, part, err);
    struct og_placement before = s->nodes;
    uint32_t *slots = s->before;
    s->nodes = after;
    s->before = s->slot;
    s->slot = slots;
    s->node = s->rank = 0;
    if (taken)
        *n_prefill = s->prefill_left = assign_slots(p, &before, taken);
    og__release(p->budget, taken, p->setup.n_slots, part);
    og__placement_release(&before);
    s->kept_slots = p->setup.n_slots;
    return taken ? 0 : -ENOMEM;
}

static int prepare_frequency(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                             struct og_err *err)
{
    struct og_placement after;
    int rc = rank_nodes(p, trace, &after, err);
    return rc < 0 ? rc : hold(p, after, n_prefill, err);
}

static int adopt_frequency(struct og_policy *p, uint32_t *nodes, uint32_t n, uint32_t *n_prefill,
                           struct og_err *err)
{
    struct og_placement after;
    OG_DO(og__placement_build(&after, NULL, p->setup.n_nodes, 0, p->budget, err));
    for (uint32_t i = 0; i < n; i++)
        og__bits_add(after.bits, nodes[i]);
    og__placement_count(&after);
    return hold(p, after, n_prefill, err);
}

static uint32_t prefill_frequency(struct og_policy *p, uint32_t *nodes, uint32_t *slots,
                                  uint32_t most)
{
    struct frequency *s = p->state;
    uint32_t n = 0;
    while (n < most && s->prefill_left > 0) {
        uint32_t node;
        og__placement_nodes(&s->nodes, &s->node, &node, 1);
        uint32_t rank = s->rank++;
        if (!(s->fresh[rank / 32] >> rank % 32 & 1))
            continue;
        nodes[n] = node;
        slots[n++] = s->slot[rank];
        s->prefill_left--;
    }
    return n;
}

OG_CLONES static void look_up(const struct frequency *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            __builtin_prefetch(&s->nodes.bits[ids[i + AHEAD] >> 6]);
        bool cached = og__placement_has(&s->nodes, ids[i]);
        out->place[i] = cached ? s->slot[og__placement_rank(&s->nodes, ids[i])] : OG_NO_SLOT;
    }
}

static int step_frequency(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                          struct og_err *err)
{
    (void)err;
    look_up(p->state, ids, out);
    return 0;
}

static const struct og_policy_exec execs[] = {{OG_LAYOUT_RAW, false},
                                              {OG_LAYOUT_RAW, true},
                                              {OG_LAYOUT_PACKED, true},
                                              {OG_LAYOUT_SEGMENTED, true}};

const struct og_policy_ops og__policy_frequency = {
    .looks_ahead = true,
    .execs = execs,
    .n_execs = OG_COUNT(execs),
    .is_steady = true,
    .state_bytes = sizeof(struct frequency),
    .open = open_frequency,
    .close = close_frequency,
    .prepare = prepare_frequency,
    .adopt = adopt_frequency,
    .prefill = prefill_frequency,
    .step = step_frequency,
    .bytes = bytes_frequency,
    .invalidate = invalidate_frequency,
    .planned_bytes = planned_bytes_frequency,
};
