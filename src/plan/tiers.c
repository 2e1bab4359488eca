/* Tiers by groups of nodes: each group has a pair of caches (pair.h). Its part of a plan follows
 * those of earlier groups. Without groups one pair has all nodes. */
#include "plan/pair.h"

#include <stdlib.h>

static const char part[] = "tiers";

struct og_tiers {
    struct og_tiers_setup setup;  /* groups: its own copies */
    struct og_group_slots *group; /* [n] nodes */
    struct og_pair **of;          /* [n] */
    uint32_t n;
    uint32_t filling; /* prefill: the next group */
    uint32_t *own;    /* [capacity] ids of a group in a batch, by its numbers */
    uint32_t capacity;
    struct og_budget *budget;
};

/* ---- groups ---- */

static uint32_t groups_of(const struct og_tiers_setup *s)
{
    return OG_MAX(s->host.n_groups, 1u);
}

struct og_tiers_setup og__tiers_of_group(const struct og_tiers_setup *all, uint32_t k)
{
    struct og_tiers_setup of = *all;
    if (all->host.n_groups == 0)
        return of;
    of.device = og__policy_of_group(&all->device, k);
    of.host = og__policy_of_group(&all->host, k);
    return of;
}

static struct og_group_slots group_of(const struct og_tiers_setup *s, uint32_t k)
{
    return s->host.n_groups > 0 ? s->host.groups[k]
                                : (struct og_group_slots){0, s->host.n_nodes, 0};
}

/* Are ids a group's own numbers as they are? */
static bool has_all(const struct og_tiers *t)
{
    return t->setup.host.n_groups == 0;
}

/* ---- open and close ---- */

/* Slots as policies have them. */
static void count_slots(struct og_tiers *t)
{
    t->setup.device.n_slots = t->setup.host.n_slots = 0;
    t->setup.device.groups = t->setup.host.groups = t->group;
    for (uint32_t k = 0; k < t->n; k++) {
        const struct og_tiers_setup *of = og__pair_setup(t->of[k]);
        t->setup.device.n_slots += of->device.n_slots;
        t->setup.host.n_slots += of->host.n_slots;
    }
}

int og__tiers_open(struct og_tiers **out, const struct og_tiers_setup *setup, struct og_budget *b,
                   struct og_err *err)
{
    struct og_tiers *t = calloc(1, sizeof(*t));
    const uint32_t n = groups_of(setup);
    int rc = 0;
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "tiers");
    t->setup = *setup;
    t->budget = b;
    t->group = calloc(n, sizeof(*t->group));
    t->of = calloc(n, sizeof(struct og_pair *));
    if (!t->group || !t->of)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "tiers"));
    for (; t->n < n; t->n++) {
        const struct og_tiers_setup of = og__tiers_of_group(setup, t->n);
        OG_TRY(og__pair_open(&t->of[t->n], &of, b, err));
        t->group[t->n] = group_of(setup, t->n);
    }
    count_slots(t);
    *out = t;
    return 0;
out:
    og__tiers_close(t);
    return rc;
}

static void release_own(struct og_tiers *t)
{
    og__release(t->budget, t->own, t->capacity * sizeof(*t->own), part);
    t->own = NULL;
    t->capacity = 0;
}

void og__tiers_close(struct og_tiers *t)
{
    if (!t)
        return;
    for (uint32_t k = 0; t->of && k < t->n; k++)
        og__pair_close(t->of[k]);
    release_own(t);
    free(t->of);
    free(t->group);
    free(t);
}

const struct og_tiers_setup *og__tiers_setup(const struct og_tiers *t)
{
    return &t->setup;
}

uint32_t og__tiers_parts(const struct og_tiers *t)
{
    return t->n;
}

const struct og_tiers_setup *og__tiers_part_setup(const struct og_tiers *t, uint32_t k)
{
    return og__pair_setup(t->of[k]);
}

struct og_tiers_places og__tiers_places(const struct og_tiers *t, uint32_t k)
{
    return og__pair_places(t->of[k]);
}

uint32_t og__tiers_first(const struct og_tiers *t, uint32_t k)
{
    return (uint32_t)t->group[k].first;
}

/* ---- the coming batches ---- */

static size_t ptr_bytes(uint64_t batches)
{
    return (size_t)(batches + 1) * sizeof(uint64_t);
}

static size_t ids_bytes(uint64_t rows)
{
    return (size_t)OG_MAX(rows, (uint64_t)1) * sizeof(uint32_t);
}

int og__tiers_prepare(struct og_tiers *t, const struct og_trace *trace, uint32_t n,
                      struct og_err *err)
{
    t->filling = 0;
    if (has_all(t))
        return og__pair_prepare(t->of[0], trace, n, err);
    const uint64_t rows = trace->ptr[trace->n_batches];
    uint64_t *ptr = og__alloc(t->budget, ptr_bytes(trace->n_batches), part, err);
    uint32_t *ids = ptr ? og__alloc(t->budget, ids_bytes(rows), part, err) : NULL;
    const struct og_trace own = {trace->n_batches, ptr, ids};
    int rc = ids ? 0 : -ENOMEM;
    for (uint32_t k = 0; rc == 0 && k < t->n; k++) {
        (void)og__trace_of_group(trace, t->group[k].first, t->group[k].end, ptr, ids);
        rc = og__pair_prepare(t->of[k], &own, n, err);
    }
    if (ids)
        og__release(t->budget, ids, ids_bytes(rows), part);
    if (ptr)
        og__release(t->budget, ptr, ptr_bytes(trace->n_batches), part);
    return rc;
}

uint32_t og__tiers_prefill(struct og_tiers *t, uint32_t *nodes, uint32_t *places, uint32_t most)
{
    uint32_t n = 0;
    while (t->filling < t->n && (n = og__pair_prefill(t->of[t->filling], nodes, places, most)) == 0)
        t->filling++;
    if (n == 0) /* before the next batch from the first on */
        t->filling = 0;
    for (uint32_t i = 0; i < n; i++)
        nodes[i] += (uint32_t)t->group[t->filling].first;
    return n;
}

void og__tiers_set_threshold(struct og_tiers *t, uint32_t batches)
{
    t->setup.device.threshold = batches;
    for (uint32_t k = 0; k < t->n; k++)
        og__pair_set_threshold(t->of[k], batches);
}

void og__tiers_trim(struct og_tiers *t)
{
    release_own(t);
    for (uint32_t k = 0; k < t->n; k++)
        og__pair_trim(t->of[k]);
}

void og__tiers_invalidate(struct og_tiers *t, uint32_t first)
{
    for (uint32_t k = 0; k < t->n; k++) {
        const uint32_t of = OG_MIN(first, og__pair_setup(t->of[k])->host.n_slots);
        og__pair_invalidate(t->of[k], of);
        first -= of;
    }
}

/* ---- a batch ---- */

static int reserve_own(struct og_tiers *t, uint32_t n, struct og_err *err)
{
    if (n <= t->capacity)
        return 0;
    release_own(t);
    t->own = og__alloc(t->budget, n * sizeof(*t->own), part, err);
    t->capacity = t->own ? n : 0;
    return t->own ? 0 : -ENOMEM;
}

/* The ids of group k at the head of ids[n], by its numbers, and how many they are. */
static const uint32_t *next_of(struct og_tiers *t, uint32_t k, const uint32_t *ids, uint32_t n,
                               uint32_t *some)
{
    const struct og_group_slots *group = &t->group[k];
    *some = n;
    if (has_all(t))
        return ids;
    for (*some = 0; *some < n && ids[*some] >= group->first && ids[*some] < group->end; ++*some)
        t->own[*some] = ids[*some] - (uint32_t)group->first;
    return t->own;
}

int og__tiers_plan(struct og_tiers *t, struct og_planner *planner, const uint32_t *ids, uint32_t n,
                   struct og_tiers_plan *out, struct og_err *err)
{
    uint32_t row = 0;
    OG_DO(has_all(t) ? 0 : reserve_own(t, n, err));
    OG_DO(og__tiers_plan_reserve(out, &t->setup, n, err));
    og__tiers_plan_empty(out);
    for (uint32_t k = 0, some; k < t->n; k++, row += some) {
        const uint32_t *own = next_of(t, k, ids + row, n - row, &some);
        struct og_tiers_plan of = og__tiers_plan_part(out, k);
        OG_DO(og__pair_plan(t->of[k], planner, own, some, &of, err));
        og__tiers_plan_add(out, k, &of);
    }
    if (row < n)
        return og__fail(err, -EINVAL, NULL, "a batch whose ids do not come group by group");
    return 0;
}

/* ---- what it takes ---- */

/* Any group may have nearly all rows. */
size_t og__tiers_bytes(const struct og_tiers_setup *setup, uint64_t rows, uint64_t longest,
                       uint64_t batches, uint64_t distinct)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < groups_of(setup); k++) {
        const struct og_tiers_setup of = og__tiers_of_group(setup, k);
        const uint64_t nodes = of.host.n_nodes;
        bytes += og__pair_bytes(&of, OG_MIN(rows, nodes * batches), OG_MIN(longest, nodes), batches,
                                OG_MIN(distinct, nodes));
    }
    if (setup->host.n_groups > 0)
        bytes += ids_bytes(rows) + ptr_bytes(batches) + longest * sizeof(uint32_t);
    return bytes;
}

size_t og__tiers_trimmed_bytes(const struct og_tiers_setup *setup)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < groups_of(setup); k++) {
        const struct og_tiers_setup of = og__tiers_of_group(setup, k);
        bytes += og__pair_trimmed_bytes(&of);
    }
    return bytes;
}
