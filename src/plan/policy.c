#include "plan/policy_ops.h"

#include "base/choices.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

#define POINTER(NAME, name) [OG_POLICY_##NAME] = &og__policy_##name,
#define WORD(NAME, name)    [OG_POLICY_##NAME] = #name,
static const struct og_policy_ops *const table[] = {OG__POLICIES(POINTER)};
const char *const og__policy_words[] = {OG__POLICIES(WORD)[OG_POLICY_AUTO] = "auto", NULL};
_Static_assert(OG_COUNT(table) == OG_POLICY_AUTO, "a row for each policy of outgrow.h");

/* A policy that is not chosen yet counts with the smallest memory of all policies. */
static size_t least_bytes(const struct og_policy_setup *setup,
                          const struct og_superbatch_size *most)
{
    return og__policy_degree.bytes(setup, most);
}

static const struct og_policy_ops *ops_of(int kind)
{
    static const struct og_policy_ops undecided = {.is_static = true, .bytes = least_bytes};
    return kind == OG_POLICY_AUTO ? &undecided : table[kind];
}

static const struct og_policy_ops *functions_of(const struct og_policy_setup *setup)
{
    return setup->n_groups > 0 ? &og__policy_of_groups : ops_of(setup->kind);
}

/* ---- traits ---- */

const char *og__policy_word(int kind)
{
    return og__policy_words[kind];
}

bool og__policy_looks_ahead(int kind)
{
    return ops_of(kind)->looks_ahead;
}

bool og__policy_is_static(int kind)
{
    return ops_of(kind)->is_static;
}

bool og__policy_is_steady(int kind)
{
    return ops_of(kind)->is_static || ops_of(kind)->is_steady;
}

bool og__policy_admits(int kind)
{
    return ops_of(kind)->admits;
}

bool og__policy_caches(int kind)
{
    return !ops_of(kind)->caches_nothing;
}

bool og__policy_prefills(int kind)
{
    return ops_of(kind)->prefill;
}

bool og__policy_fills_during_training(int kind)
{
    return ops_of(kind)->free_after;
}

bool og__policy_is_stack(int kind)
{
    return ops_of(kind)->is_stack;
}

bool og__policy_lists_uses(int kind)
{
    return ops_of(kind)->lists_uses;
}

bool og__policy_serves_as_lower(int kind)
{
    return ops_of(kind)->serves_as_lower;
}

bool og__policy_adopts(int kind)
{
    return ops_of(kind)->adopt;
}

int og__policy_that_adopts(void)
{
    int kind = 0;
    while (!og__policy_adopts(kind))
        kind++;
    return kind;
}

uint32_t og__policy_tail(const struct og_policy_setup *setup)
{
    const struct og_policy_ops *ops = ops_of(setup->kind);
    return ops->tail ? ops->tail(setup) : 0;
}

enum og_hotness og__policy_hotness(int kind)
{
    return ops_of(kind)->hotness;
}

bool og__policy_wants_hotness(int kind)
{
    return ops_of(kind)->hotness != OG__HOTNESS_NONE;
}

bool og__policy_keeps_hotness(int kind)
{
    return ops_of(kind)->keeps_hotness;
}

int og__policy_ranked_like(int kind)
{
    for (int k = 0; k < OG_POLICY_AUTO && og__policy_wants_hotness(kind); k++)
        if (table[k]->is_static && table[k]->hotness == og__policy_hotness(kind))
            return k;
    return OG_POLICY_DEGREE;
}

const struct og_policy_exec *og__policy_execs(int kind, int *n)
{
    *n = ops_of(kind)->n_execs;
    return ops_of(kind)->execs;
}

/* ---- parameters ---- */

bool og__policy_takes(int kind, const char *option)
{
    const char *const *name = ops_of(kind)->parameters;
    for (; name && *name; name++)
        if (strcmp(*name, option) == 0)
            return true;
    return false;
}

const char *og__policy_colon(int kind, int place)
{
    const char *const *name = ops_of(kind)->parameters;
    return place == 0 && name && **name ? *name : NULL;
}

/* ---- a policy ---- */

int og__policy_open(struct og_policy **out, const struct og_policy_setup *setup,
                    struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    const struct og_policy_ops *ops = functions_of(setup);
    if (!ops_of(setup->kind)->open)
        return og__fail(err, -EINVAL, NULL, "policy: still to be chosen");
    struct og_policy *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "policy");
    p->ops = ops;
    p->setup = *setup;
    p->setup.n_slots = (uint32_t)OG_MIN((uint64_t)setup->n_slots, setup->n_nodes);
    if (!og__policy_caches(setup->kind))
        p->setup.n_slots = 0;
    p->budget = b;
    p->tables = og__allocs(b, "policy");
    p->state = calloc(1, ops->state_bytes);
    int rc;
    OG_TRY(p->state ? ops->open(p, err) : og__fail_errno(err, -ENOMEM, NULL, "policy"));
    *out = p;
    return 0;
out:
    og__policy_close(p);
    return rc;
}

void og__policy_close(struct og_policy *p)
{
    if (!p)
        return;
    if (p->state && p->ops->close)
        p->ops->close(p);
    og__allocs_release(&p->tables);
    free(p->state);
    free(p);
}

const struct og_group_slots *og__policy_groups(const struct og_policy *p, uint32_t *n)
{
    *n = p->setup.n_groups;
    return p->setup.groups;
}

int og__policy_prepare(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                       struct og_err *err)
{
    *n_prefill = 0;
    return p->ops->prepare ? p->ops->prepare(p, trace, n_prefill, err) : 0;
}

int og__policy_adopt(struct og_policy *p, uint32_t *nodes, uint32_t n, uint32_t *n_prefill,
                     struct og_err *err)
{
    *n_prefill = 0;
    return p->ops->adopt ? p->ops->adopt(p, nodes, n, n_prefill, err)
                         : og__fail(err, -ENOTSUP, NULL, "this policy keeps what it chooses");
}

uint32_t og__policy_prefill(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    return p->ops->prefill ? p->ops->prefill(p, nodes, slots, most) : 0;
}

uint32_t og__policy_free_after(const struct og_policy *p)
{
    return p->ops->free_after ? p->ops->free_after(p) : 0;
}

static int step(struct og_policy *p, const uint32_t *ids, uint32_t n, struct og_plan *out,
                struct og_err *err)
{
    const bool admits = og__policy_admits(p->setup.kind);
    OG_DO(og__plan_reserve(out, n, admits ? OG_MIN(n, p->setup.n_slots) : 0, err));
    out->n = n;
    out->n_misses = out->n_changes = 0;
    return p->ops->step(p, ids, out, err);
}

int og__policy_plan(struct og_policy *p, struct og_planner *planner, const uint32_t *ids,
                    uint32_t n, struct og_plan *out, struct og_err *err)
{
    int rc = step(p, ids, n, out, err);
    return rc < 0 ? rc : og__plan_misses(planner, ids, p->setup.n_slots, out, err);
}

int og__policy_code(struct og_policy *p, const uint32_t *ids, uint32_t n, struct og_plan *scratch,
                    uint32_t *codes, struct og_err *err)
{
    OG_DO(step(p, ids, n, scratch, err));
    og__plan_encode(scratch, codes);
    return 0;
}

void og__policy_set_threshold(struct og_policy *p, uint32_t batches)
{
    p->setup.threshold = batches;
}

void og__policy_trim(struct og_policy *p)
{
    if (p->ops->trim)
        p->ops->trim(p);
}

void og__policy_invalidate(struct og_policy *p, uint32_t first)
{
    p->ops->invalidate(p, first);
}

size_t og__policy_trimmed_bytes(const struct og_policy_setup *setup)
{
    const struct og_policy_ops *ops = functions_of(setup);
    const struct og_superbatch_size none = {0};
    return ops->planned_bytes ? ops->planned_bytes(setup) : ops->bytes(setup, &none);
}

size_t og__policy_bytes(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct)
{
    const struct og_superbatch_size most = {rows, batches, distinct};
    return functions_of(setup)->bytes(setup, &most);
}
