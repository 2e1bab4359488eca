/* Policies with a fixed cache: the hottest nodes, in the order of their ids. */
#include "plan/policy_ops.h"

#include "base/choices.h"

enum { AHEAD = 16 };

struct still {
    struct og_placement placement;
    uint32_t kept; /* slots below hold their rows */
    uint64_t node; /* prefill: the next one to look at */
    uint32_t slot;
};

static int open_static(struct og_policy *p, struct og_err *err)
{
    struct still *s = p->state;
    return og__placement_build_without(&s->placement, p->setup.hotness, p->setup.without,
                                       p->setup.n_nodes, p->setup.n_slots, p->budget, err);
}

static void close_static(struct og_policy *p)
{
    struct still *s = p->state;
    og__placement_release(&s->placement);
}

static size_t bytes_static(const struct og_policy_setup *setup,
                           const struct og_superbatch_size *most)
{
    (void)most;
    return og__placement_bytes(setup->n_nodes);
}

static uint32_t next_nodes(struct still *s, uint32_t *nodes, uint32_t most)
{
    uint32_t n = OG_MIN(most, s->placement.n_slots - s->slot);
    og__placement_nodes(&s->placement, &s->node, nodes, n);
    s->slot += n;
    return n;
}

static int prepare_static(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                          struct og_err *err)
{
    enum { SOME = 256 };
    struct still *s = p->state;
    uint32_t held[SOME];
    (void)trace;
    (void)err;
    *n_prefill = s->placement.n_slots - s->kept;
    s->node = s->slot = 0;
    while (s->slot < s->kept)
        (void)next_nodes(s, held, OG_MIN(s->kept - s->slot, (uint32_t)SOME));
    s->kept = s->placement.n_slots;
    return 0;
}

static void invalidate_static(struct og_policy *p, uint32_t first)
{
    struct still *s = p->state;
    s->kept = OG_MIN(s->kept, first);
}

static uint32_t prefill_static(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    struct still *s = p->state;
    uint32_t first = s->slot;
    uint32_t n = next_nodes(s, nodes, most);
    for (uint32_t i = 0; i < n; i++)
        slots[i] = first + i;
    return n;
}

OG_CLONES static void look_up(const struct og_placement *placement, const uint32_t *ids,
                              struct og_plan *out)
{
    for (uint32_t i = 0; i < out->n; i++) {
        if (i + AHEAD < out->n)
            __builtin_prefetch(&placement->bits[ids[i + AHEAD] >> 6]);
        bool cached = og__placement_has(placement, ids[i]);
        out->place[i] = cached ? og__placement_rank(placement, ids[i]) : OG_NO_SLOT;
    }
}

static int step_static(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                       struct og_err *err)
{
    const struct still *s = p->state;
    (void)err;
    look_up(&s->placement, ids, out);
    return 0;
}

/* ---- the rows: they differ in the ranking of nodes ---- */

#define STATIC                                                                   \
    .is_static = true, .state_bytes = sizeof(struct still), .open = open_static, \
    .close = close_static, .prepare = prepare_static, .prefill = prefill_static, \
    .step = step_static, .bytes = bytes_static, .invalidate = invalidate_static

static const struct og_policy_exec execs[] = {{OG_LAYOUT_RAW, false}};
static const char *const scores[] = {"scores", NULL};
static const char *const epochs[] = {"presc-epochs", NULL};

const struct og_policy_ops og__policy_none = {STATIC, .caches_nothing = true};
const struct og_policy_ops og__policy_random = {STATIC, .hotness = OG__HOTNESS_NOISE};
const struct og_policy_ops og__policy_degree = {STATIC, .hotness = OG__HOTNESS_DEGREE,
                                                .execs = execs, .n_execs = OG_COUNT(execs)};
const struct og_policy_ops og__policy_presc = {STATIC, .hotness = OG__HOTNESS_VISITS,
                                               .parameters = epochs};
const struct og_policy_ops og__policy_file = {STATIC, .hotness = OG__HOTNESS_SCORES,
                                              .parameters = scores};
const struct og_policy_ops og__policy_pagerank = {STATIC, .hotness = OG__HOTNESS_PAGERANK};
