/* Round robin in a set-associative cache, the baseline of Park et al. 2024, §5. Every miss enters
 * its set and replaces the next slot in turn. Slots filled for this batch are skipped; if the whole
 * set has been, the miss does not enter. */
#include "plan/policy_ops.h"

#include <string.h>

enum { AHEAD = 16 };

struct round_robin {
    struct og_sets sets;
    uint32_t *held;       /* [n_slots] node, or OG_NO_SLOT */
    uint32_t *descriptor; /* [n_sets] the slot that leaves next, counted from the set's first */
    uint32_t *filled;     /* [n_sets] slots filled by this batch; one turn round is all */
};

static size_t bytes_rr(const struct og_policy_setup *setup, const struct og_superbatch_size *most)
{
    struct og_sets sets = og__sets(setup->n_slots, setup->ways);
    (void)most;
    return ((size_t)setup->n_slots + 2 * (size_t)sets.n_sets) * 4;
}

static int open_rr(struct og_policy *p, struct og_err *err)
{
    struct round_robin *s = p->state;
    const size_t held_bytes = p->setup.n_slots * sizeof(*s->held);
    s->sets = og__sets(p->setup.n_slots, p->setup.ways);
    s->held = og__allocs_take(&p->tables, held_bytes, err);
    s->descriptor = og__allocs_take(&p->tables, s->sets.n_sets * sizeof(*s->descriptor), err);
    s->filled = og__allocs_take(&p->tables, s->sets.n_sets * sizeof(*s->filled), err);
    if (s->held)
        memset(s->held, 0xff, held_bytes);
    return og__allocs_taken(&p->tables);
}

OG_CLONES static void look_up(const struct round_robin *s, const uint32_t *ids, struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            __builtin_prefetch(
                &s->held[og__set_start(&s->sets, og__set_of(&s->sets, ids[i + AHEAD]))]);
        uint32_t set = og__set_of(&s->sets, ids[i]);
        out->place[i] = og__set_find(s->held, og__set_start(&s->sets, set),
                                     og__set_start(&s->sets, set + 1), ids[i]);
    }
}

static int step_rr(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                   struct og_err *err)
{
    struct round_robin *s = p->state;
    (void)err;
    look_up(s, ids, out);
    memset(s->filled, 0, s->sets.n_sets * sizeof(*s->filled));
    for (uint32_t i = 0; i < out->n && p->setup.n_slots > 0; i++) {
        uint32_t set = og__set_of(&s->sets, ids[i]);
        uint32_t start = og__set_start(&s->sets, set);
        uint32_t size = og__set_start(&s->sets, set + 1) - start;
        if (out->place[i] != OG_NO_SLOT || s->filled[set] == size)
            continue;
        uint32_t slot = start + s->descriptor[set];
        s->descriptor[set] = (s->descriptor[set] + 1) % size;
        s->filled[set]++;
        s->held[slot] = ids[i];
        og__plan_change(out, i, slot);
    }
    return 0;
}

static void invalidate_rr(struct og_policy *p, uint32_t first)
{
    struct round_robin *s = p->state;
    for (uint32_t slot = first; slot < p->setup.n_slots; slot++)
        s->held[slot] = OG_NO_SLOT;
}

static const char *const parameters[] = {"", "ways", NULL};

const struct og_policy_ops og__policy_rr = {
    .admits = true,
    .parameters = parameters,
    .state_bytes = sizeof(struct round_robin),
    .open = open_rr,
    .step = step_rr,
    .bytes = bytes_rr,
    .invalidate = invalidate_rr,
};
