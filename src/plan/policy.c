#include "plan/policy_ops.h"

#include <outgrow/outgrow.h>

#include <stdlib.h>

static const struct og_policy_ops *ops_of(int kind)
{
    switch (kind) {
    case OG_POLICY_FREQUENCY:
        return &og__policy_frequency;
    case OG_POLICY_LRU:
        return &og__policy_lru;
    case OG_POLICY_RR:
        return &og__policy_rr;
    case OG_POLICY_BELADY:
        return &og__policy_belady;
    case OG_POLICY_HYBRID:
        return &og__policy_hybrid;
    case OG_POLICY_SWEEP:
        return &og__policy_sweep;
    default:
        return &og__policy_static;
    }
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

uint32_t og__policy_tail(const struct og_policy_setup *setup)
{
    const struct og_policy_ops *ops = ops_of(setup->kind);
    return ops->tail ? ops->tail(setup) : 0;
}

bool og__policy_wants_hotness(int kind)
{
    return kind == OG_POLICY_RANDOM || kind == OG_POLICY_DEGREE || kind == OG_POLICY_PRESC ||
           kind == OG_POLICY_PAGERANK || kind == OG_POLICY_HYBRID;
}

int og__policy_open(struct og_policy **out, const struct og_policy_setup *setup,
                    struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_policy *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "policy");
    p->ops = ops_of(setup->kind);
    p->setup = *setup;
    p->setup.n_slots = (uint32_t)OG_MIN((uint64_t)setup->n_slots, setup->n_nodes);
    if (setup->kind == OG_POLICY_NONE)
        p->setup.n_slots = 0;
    p->budget = b;
    int rc = p->ops->open(p, err);
    if (rc == 0)
        *out = p;
    else
        og__policy_close(p);
    return rc;
}

void og__policy_close(struct og_policy *p)
{
    if (!p)
        return;
    p->ops->close(p);
    free(p);
}

int og__policy_foresee(struct og_policy *p, const struct og_trace *trace, uint32_t *n_prefill,
                       struct og_err *err)
{
    return p->ops->foresee(p, trace, n_prefill, err);
}

int og__policy_adopt(struct og_policy *p, const uint32_t *nodes, uint32_t n, uint32_t *n_prefill,
                     struct og_err *err)
{
    return p->ops->adopt ? p->ops->adopt(p, nodes, n, n_prefill, err)
                         : og__fail(err, -ENOTSUP, NULL, "this policy keeps what it chooses");
}

uint32_t og__policy_prefill(struct og_policy *p, uint32_t *nodes, uint32_t *slots, uint32_t most)
{
    return p->ops->prefill(p, nodes, slots, most);
}

uint32_t og__policy_free_after(const struct og_policy *p)
{
    return p->ops->free_after ? p->ops->free_after(p) : 0;
}

static int step(struct og_policy *p, const uint32_t *ids, uint32_t n, struct og_plan *out,
                struct og_err *err)
{
    int rc = og__plan_reserve(out, n, p->ops->admits ? OG_MIN(n, p->setup.n_slots) : 0, err);
    if (rc < 0)
        return rc;
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
    int rc = step(p, ids, n, scratch, err);
    if (rc == 0)
        og__plan_encode(scratch, codes);
    return rc;
}

void og__policy_rest(struct og_policy *p)
{
    if (p->ops->rest)
        p->ops->rest(p);
}

void og__policy_forget(struct og_policy *p, uint32_t first)
{
    p->ops->forget(p, first);
}

size_t og__policy_rest_bytes(const struct og_policy_setup *setup)
{
    const struct og_policy_ops *ops = ops_of(setup->kind);
    return ops->rest_bytes ? ops->rest_bytes(setup) : ops->bytes(setup, 0, 0, 0);
}

size_t og__policy_bytes(const struct og_policy_setup *setup, uint64_t rows, uint64_t batches,
                        uint64_t distinct)
{
    return ops_of(setup->kind)->bytes(setup, rows, batches, distinct);
}
