/* Random traces, and a policy over them whose every plan is verified. */
#ifndef OG_POLICY_FIXTURE_H
#define OG_POLICY_FIXTURE_H

#include "support/testing.h"

#include "base/file.h"
#include "base/random.h"
#include "oracles/verifier.h"
#include "plan/policy.h"
#include "sample/sample.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- random traces ---- */

struct trace {
    struct og_trace view;
    uint64_t *ptr;
    uint32_t *ids;
};

/* Batches of up to `most` distinct nodes, low ids more often than high ones. */
static inline struct trace draw_trace(struct og_rng *rng, uint32_t n_nodes, uint32_t n_batches,
                                      uint32_t most)
{
    struct trace t = {.ptr = calloc(n_batches + 1, sizeof(*t.ptr)),
                      .ids = calloc((size_t)n_batches * most + 1, sizeof(*t.ids))};
    bool *in = calloc(n_nodes, sizeof(*in));
    for (uint32_t b = 0; b < n_batches; b++) {
        uint64_t end = t.ptr[b];
        uint32_t tries = og__rng_below(rng, most + 1);
        memset(in, 0, n_nodes);
        for (uint32_t i = 0; i < tries; i++) {
            uint32_t v = og__rng_below(rng, 1 + og__rng_below(rng, n_nodes));
            if (in[v])
                continue;
            in[v] = true;
            t.ids[end++] = v;
        }
        t.ptr[b + 1] = end;
    }
    free(in);
    t.view = (struct og_trace){n_batches, t.ptr, t.ids};
    return t;
}

static inline void drop_trace(struct trace *t)
{
    free(t->ptr);
    free(t->ids);
}

/* ---- a run of a policy: every plan is verified ---- */

struct tally {
    uint64_t rows, misses, prefill;
};

/* `expected`: rows before the first batch. */
static inline void prefill_slots(struct og_policy *p, struct og_verifier *v,
                                 const uint32_t *expected, struct tally *sum)
{
    uint32_t nodes[7];
    uint32_t slots[7];
    uint32_t last = 0;
    uint32_t total = 0;
    for (uint32_t n; (n = og__policy_prefill(p, nodes, slots, OG_COUNT(nodes))) > 0; total += n) {
        for (uint32_t i = 0; i < n; i++) {
            assert_true(total + i == 0 || nodes[i] > last);
            last = nodes[i];
            assert_int_equal(og__verifier_prefill(v, slots[i], nodes[i], NULL), 0);
        }
    }
    if (expected)
        assert_int_equal(total, *expected);
    sum->prefill += total;
}

static inline bool has(const struct og_trace *t, uint32_t batch, uint32_t node)
{
    for (uint64_t i = t->ptr[batch]; i < t->ptr[batch + 1]; i++)
        if (t->ids[i] == node)
            return true;
    return false;
}

/* Superbatch [first, first + s) is prepared, and the tail that the policy requires after it. */
struct prepared {
    uint64_t *ptr; /* to be freed once its batches are planned */
    uint32_t n;    /* batches to be planned */
    uint32_t n_prefill;
};
static inline struct prepared prepare(struct og_policy *p, const struct og_policy_setup *setup,
                                      const struct og_trace *t, uint32_t first, uint32_t s)
{
    struct prepared f = {.n = OG_MIN(s, t->n_batches - first)};
    const uint32_t seen = OG_MIN(f.n + og__policy_tail(setup), t->n_batches - first);
    /* its own ids, as a superbatch has them: ptr starts at 0 */
    f.ptr = calloc(seen + 1, sizeof(*f.ptr));
    for (uint32_t b = 0; b <= seen; b++)
        f.ptr[b] = t->ptr[first + b] - t->ptr[first];
    const struct og_trace part = {seen, f.ptr, t->ids + t->ptr[first]};
    assert_int_equal(og__policy_prepare(p, &part, &f.n_prefill, NULL), 0);
    return f;
}

/* In superbatches of `s` batches, between which slots from `kept` on lose their rows. */
static inline struct tally run_yielding(const struct og_policy_setup *setup,
                                        const struct og_trace *trace, uint32_t s, uint32_t kept)
{
    struct tally sum = {0};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    struct og_verifier v;
    struct og_budget *budget = og__budget_new(0);
    og__planner_init(&planner, budget);
    og__plan_init(&plan, budget);
    assert_int_equal(og__policy_open(&p, setup, budget, NULL), 0);
    uint32_t n_slots = (uint32_t)OG_MIN((uint64_t)setup->n_slots, setup->n_nodes);
    assert_int_equal(og__verifier_open(&v, setup->kind == OG_POLICY_NONE ? 0 : n_slots, NULL), 0);
    for (uint32_t first = 0; first < trace->n_batches; first += s) {
        struct prepared f = prepare(p, setup, trace, first, s);
        for (uint32_t b = first; b < first + f.n; b++) {
            prefill_slots(p, &v, b == first ? &f.n_prefill : NULL, &sum);
            const uint32_t *ids = trace->ids + trace->ptr[b];
            uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
            struct og_err err = {0};
            assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, &err), 0);
            if (og__verifier_check(&v, ids, n, &plan, &err) < 0)
                fail_msg("policy %d, batch %u: %s", setup->kind, b, err.message);
            sum.rows += n;
            sum.misses += plan.n_misses;
        }
        free(f.ptr);
        og__policy_trim(p);
        og__policy_invalidate(p, OG_MIN(kept, n_slots));
        for (uint32_t slot = kept; slot < v.n_slots; slot++)
            v.held[slot] = OG_NO_SLOT;
    }
    og__verifier_close(&v);
    og__plan_release(&plan);
    og__planner_release(&planner);
    og__policy_close(p);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
    return sum;
}

static inline struct tally run_policy(const struct og_policy_setup *setup,
                                      const struct og_trace *trace, uint32_t s)
{
    return run_yielding(setup, trace, s, UINT32_MAX);
}

static inline struct og_policy_setup draw_setup(struct og_rng *rng, int kind, uint32_t n_nodes,
                                                uint32_t n_slots, const uint32_t *hotness)
{
    return (struct og_policy_setup){.kind = kind,
                                    .n_nodes = n_nodes,
                                    .n_slots = n_slots,
                                    .hotness = hotness,
                                    .ways = 1 + og__rng_below(rng, 40),
                                    .window = 1 + og__rng_below(rng, 20),
                                    .update = 1 + og__rng_below(rng, 5),
                                    .threshold = og__rng_below(rng, 6),
                                    .evict = (int)og__rng_below(rng, 3)};
}

#endif
