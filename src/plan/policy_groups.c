/* Node groups with slots of their own. Each has a policy of the same kind, which numbers its nodes
 * and slots from 0. Places are numbered across all groups:
 *
 *   nodes   | of group 0 |   | of group 1 | ... |     other nodes do not occur
 *   slots   | of 0 | of 1 | ... | misses of all |
 *
 * A batch has its ids group by group, so a group's part of a plan is contiguous. */
#include "plan/policy_ops.h"

#include <stdlib.h>

static const char tables_part[] = "policy", ids_part[] = "plans";

struct groups {
    struct og_group_slots *group; /* [n] */
    struct og_policy **of;        /* [n] */
    uint32_t n;
    uint32_t *ids; /* [capacity] of a group in a batch, numbered from its first node */
    uint32_t capacity;
    uint32_t filling; /* prefill: the next group; */
    uint32_t first;   /* its first slot */
    /* the superbatch, group by group, for policies that look ahead */
    struct og_allocs coming;
    uint64_t *ptr;         /* [n_ptr] batches of each group, in sequence */
    uint32_t *ahead;       /* [n_ahead] ids */
    size_t n_ptr, n_ahead; /* capacity */
};

size_t og__policy_ids_bytes(uint64_t rows)
{
    return (size_t)rows * sizeof(uint32_t);
}

/* ---- one group ---- */

uint64_t og__trace_of_group(const struct og_trace *t, uint64_t first, uint64_t end, uint64_t *ptr,
                            uint32_t *ids)
{
    uint64_t n = 0;
    ptr[0] = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++)
            if (t->ids[i] >= first && t->ids[i] < end)
                ids[n++] = t->ids[i] - (uint32_t)first;
        ptr[b + 1] = n;
    }
    return n;
}

struct og_policy_setup og__policy_of_group(const struct og_policy_setup *all, uint32_t k)
{
    const struct og_group_slots *group = &all->groups[k];
    struct og_policy_setup of = *all;
    of.groups = NULL;
    of.n_groups = 0;
    of.n_nodes = group->end - group->first;
    of.n_slots = group->n_slots;
    of.hotness = all->hotness ? all->hotness + group->first : NULL;
    return of;
}

/* ---- open and close ---- */

static int open_groups(struct og_policy *p, struct og_err *err)
{
    const uint32_t n = p->setup.n_groups;
    struct groups *s = p->state;
    s->group = calloc(n, sizeof(*s->group));
    s->of = calloc(n, sizeof(struct og_policy *));
    if (!s->group || !s->of)
        return og__fail_errno(err, -ENOMEM, NULL, "policy");
    p->setup.n_slots = 0;
    for (; s->n < n; s->n++) {
        const struct og_policy_setup of = og__policy_of_group(&p->setup, s->n);
        OG_DO(og__policy_open(&s->of[s->n], &of, p->budget, err));
        s->group[s->n] = p->setup.groups[s->n];
        s->group[s->n].n_slots = s->of[s->n]->setup.n_slots;
        p->setup.n_slots += s->group[s->n].n_slots;
    }
    p->setup.groups = s->group;
    return 0;
}

static void close_groups(struct og_policy *p)
{
    struct groups *s = p->state;
    for (uint32_t k = 0; k < s->n; k++)
        og__policy_close(s->of[k]);
    og__allocs_release(&s->coming);
    og__release(p->budget, s->ids, og__policy_ids_bytes(s->capacity), ids_part);
    free(s->group);
    free(s->of);
}

static size_t bytes_groups(const struct og_policy_setup *setup,
                           const struct og_superbatch_size *most)
{
    const bool ahead = og__policy_looks_ahead(setup->kind) && most->batches > 0;
    size_t sum = ahead ? (size_t)most->rows * sizeof(uint32_t) +
                             (size_t)(most->batches + 1) * setup->n_groups * sizeof(uint64_t)
                       : 0;
    for (uint32_t k = 0; k < setup->n_groups; k++) { /* any may have nearly all rows */
        const struct og_policy_setup of = og__policy_of_group(setup, k);
        sum += og__policy_bytes(&of, most->rows, most->batches, OG_MIN(most->distinct, of.n_nodes));
    }
    return sum;
}

static size_t planned_groups(const struct og_policy_setup *setup)
{
    size_t sum = 0;
    for (uint32_t k = 0; k < setup->n_groups; k++) {
        const struct og_policy_setup of = og__policy_of_group(setup, k);
        sum += og__policy_trimmed_bytes(&of);
    }
    return sum;
}

/* ---- the coming batches of each ---- */

static int reserve_ahead(struct og_policy *p, size_t n_ptr, size_t n_ahead, struct og_err *err)
{
    struct groups *s = p->state;
    if (s->coming.n > 0 && n_ptr <= s->n_ptr && n_ahead <= s->n_ahead)
        return 0;
    og__allocs_release(&s->coming);
    s->coming = og__allocs(p->budget, tables_part);
    s->n_ptr = n_ptr;
    s->n_ahead = n_ahead;
    s->ptr = og__allocs_take(&s->coming, n_ptr * sizeof(*s->ptr), err);
    s->ahead = og__allocs_take(&s->coming, n_ahead * sizeof(*s->ahead), err);
    return og__allocs_taken(&s->coming);
}

static int prepare_ahead(struct og_policy *p, const struct og_trace *t, uint32_t *n_prefill,
                         struct og_err *err)
{
    struct groups *s = p->state;
    const size_t n_ptr = (size_t)t->n_batches + 1;
    uint64_t at = 0;
    OG_DO(reserve_ahead(p, n_ptr * s->n, OG_MAX(t->ptr[t->n_batches], (uint64_t)1), err));
    for (uint32_t k = 0; k < s->n; k++) {
        const struct og_trace own = {t->n_batches, s->ptr + k * n_ptr, s->ahead + at};
        uint32_t n = 0;
        at += og__trace_of_group(t, s->group[k].first, s->group[k].end, s->ptr + k * n_ptr,
                                 s->ahead + at);
        OG_DO(og__policy_prepare(s->of[k], &own, &n, err));
        *n_prefill += n;
    }
    return 0;
}

static void trim_groups(struct og_policy *p)
{
    struct groups *s = p->state;
    for (uint32_t k = 0; k < s->n; k++)
        og__policy_trim(s->of[k]);
    og__allocs_release(&s->coming);
}

/* ---- prefill ---- */

static int prepare_groups(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                          struct og_err *err)
{
    struct groups *s = p->state;
    s->filling = s->first = 0;
    if (og__policy_looks_ahead(p->setup.kind))
        return prepare_ahead(p, trace, n_prefill, err);
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t n = 0;
        OG_DO(og__policy_prepare(s->of[k], trace, &n, err));
        *n_prefill += n;
    }
    return 0;
}

static int adopt_groups(struct og_policy *p, uint32_t *nodes, uint32_t n, uint32_t *n_prefill,
                        struct og_err *err)
{
    struct groups *s = p->state;
    uint32_t at = 0;
    s->filling = s->first = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        const struct og_group_slots *group = &s->group[k];
        uint32_t *own = nodes + at, some = 0, fresh = 0;
        while (at < n && nodes[at] >= group->first && nodes[at] < group->end) {
            nodes[at++] -= (uint32_t)group->first;
            some++;
        }
        if (some > group->n_slots)
            return og__fail(err, -EINVAL, NULL, "more nodes of a group than it has slots");
        OG_DO(og__policy_adopt(s->of[k], own, some, &fresh, err));
        *n_prefill += fresh;
    }
    if (at < n)
        return og__fail(err, -EINVAL, NULL, "nodes of no group, or not group by group");
    return 0;
}

static uint32_t prefill_groups(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    struct groups *s = p->state;
    uint32_t n = 0;
    while (s->filling < s->n &&
           (n = og__policy_prefill(s->of[s->filling], nodes, slots, most)) == 0)
        s->first += s->group[s->filling++].n_slots;
    if (n == 0) /* before the next batch from the first on */
        s->filling = s->first = 0;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] += (uint32_t)s->group[s->filling].first;
        slots[i] += s->first;
    }
    return n;
}

/* For the group of the last prefilled rows. */
static uint32_t free_after_groups(const struct og_policy *p)
{
    const struct groups *s = p->state;
    return s->n > 0 ? og__policy_free_after(s->of[s->filling]) : 0;
}

static void invalidate_groups(struct og_policy *p, uint32_t first)
{
    struct groups *s = p->state;
    for (uint32_t k = 0; k < s->n; k++) {
        og__policy_invalidate(s->of[k], OG_MIN(first, s->group[k].n_slots));
        first -= OG_MIN(first, s->group[k].n_slots);
    }
}

/* ---- a batch ---- */

static int reserve_ids(struct og_policy *p, uint32_t n, struct og_err *err)
{
    struct groups *s = p->state;
    if (n <= s->capacity)
        return 0;
    og__release(p->budget, s->ids, og__policy_ids_bytes(s->capacity), ids_part);
    s->ids = og__alloc(p->budget, og__policy_ids_bytes(n), ids_part, err);
    s->capacity = s->ids ? n : 0;
    return s->ids ? 0 : -ENOMEM;
}

/* For an array that may be NULL if it is empty. */
static uint32_t *from(uint32_t *array, uint32_t i)
{
    return array ? array + i : NULL;
}

/* The part of the plan that its rows from `row` on have, slots numbered from `first`. */
static int step_group(struct groups *s, uint32_t k, uint32_t row, uint32_t n, uint32_t first,
                      struct og_plan *out, struct og_err *err)
{
    struct og_policy *of = s->of[k];
    struct og_plan part = {.n = n,
                           .place = from(out->place, row),
                           .change_row = from(out->change_row, out->n_changes),
                           .change_slot = from(out->change_slot, out->n_changes)};
    OG_DO(of->ops->step(of, s->ids, &part, err));
    for (uint32_t i = 0; i < n; i++)
        part.place[i] += part.place[i] == OG_NO_SLOT ? 0 : first;
    for (uint32_t c = 0; c < part.n_changes; c++) {
        part.change_row[c] += row;
        part.change_slot[c] += first;
    }
    out->n_changes += part.n_changes;
    return 0;
}

/* Each sees every batch, also one that has none of its nodes. */
static int step_groups(struct og_policy *p, const uint32_t *ids, struct og_plan *out,
                       struct og_err *err)
{
    struct groups *s = p->state;
    uint32_t row = 0;
    uint32_t first = 0;
    OG_DO(reserve_ids(p, out->n, err));
    for (uint32_t k = 0; k < s->n; first += s->group[k++].n_slots) {
        const struct og_group_slots *group = &s->group[k];
        uint32_t n = 0;
        while (row + n < out->n && ids[row + n] >= group->first && ids[row + n] < group->end) {
            s->ids[n] = ids[row + n] - (uint32_t)group->first;
            n++;
        }
        OG_DO(step_group(s, k, row, n, first, out, err));
        row += n;
    }
    if (row < out->n)
        return og__fail(err, -EINVAL, NULL, "a batch whose ids do not come group by group");
    return 0;
}

const struct og_policy_ops og__policy_of_groups = {.state_bytes = sizeof(struct groups),
                                                   .open = open_groups,
                                                   .close = close_groups,
                                                   .prepare = prepare_groups,
                                                   .adopt = adopt_groups,
                                                   .prefill = prefill_groups,
                                                   .free_after = free_after_groups,
                                                   .step = step_groups,
                                                   .bytes = bytes_groups,
                                                   .invalidate = invalidate_groups,
                                                   .trim = trim_groups,
                                                   .planned_bytes = planned_groups};
