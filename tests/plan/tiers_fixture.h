/* A run of two caches and a victim buffer whose every plan is verified. */
#ifndef OG_TIERS_FIXTURE_H
#define OG_TIERS_FIXTURE_H

#include "plan/policy_fixture.h"

#include "oracles/tiers_verifier.h"

struct tiers_tally {
    uint64_t rows, device_hits, host_hits, victim_hits, misses;
    uint64_t pushed, dropped, demoted, left_in_rings;
};

/* Gets each plan before it is verified; may be NULL. */
typedef void look_at_plan(void *arg, const struct og_tiers_verifier *v,
                          const struct og_tiers_plan *p);

struct tiers_run {
    const struct og_tiers_setup *setup;
    const struct og_trace *trace;
    struct og_tiers *tiers;
    struct og_planner planner;
    struct og_tiers_plan plan;
    struct og_tiers_verifier v;
    look_at_plan *look;
    void *arg;
    struct tiers_tally sum;
};

static inline void take_tiers_prefill(struct tiers_run *r)
{
    uint32_t nodes[7];
    uint32_t places[7];
    for (uint32_t n; (n = og__tiers_prefill(r->tiers, nodes, places, OG_COUNT(nodes))) > 0;)
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(og__tiers_verifier_prefill(&r->v, places[i], nodes[i], NULL), 0);
}

static inline void run_tiers_batch(struct tiers_run *r, uint32_t b)
{
    const uint32_t *ids = r->trace->ids + r->trace->ptr[b];
    const uint32_t n = (uint32_t)(r->trace->ptr[b + 1] - r->trace->ptr[b]);
    struct og_err err = {0};
    take_tiers_prefill(r);
    assert_int_equal(og__tiers_plan(r->tiers, &r->planner, ids, n, &r->plan, &err), 0);
    if (r->look)
        r->look(r->arg, &r->v, &r->plan);
    if (og__tiers_verifier_check(&r->v, &r->plan, &err) < 0)
        fail_msg("%s over %s, rings %u of %u, batch %u: %s", og__policy_word(r->setup->device.kind),
                 og__policy_word(r->setup->host.kind), r->setup->victim.n_rings,
                 r->setup->victim.depth, b, err.message);
    r->sum.rows += n;
    r->sum.dropped += r->plan.n_dropped;
}

/* In superbatches of `s` batches. */
static inline struct tiers_tally run_tiers_and(const struct og_tiers_setup *setup,
                                               const struct og_trace *trace, uint32_t s,
                                               look_at_plan *look, void *arg)
{
    struct og_budget *budget = og__budget_new(0);
    struct tiers_run r = {.setup = setup, .trace = trace, .look = look, .arg = arg};
    og__planner_init(&r.planner, budget);
    og__tiers_plan_init(&r.plan, budget);
    assert_int_equal(og__tiers_open(&r.tiers, setup, budget, NULL), 0);
    assert_int_equal(
        og__tiers_verifier_open(&r.v, trace, setup, og__tiers_places(r.tiers, 0), NULL), 0);
    for (uint32_t first = 0; first < trace->n_batches; first += s) {
        const uint32_t n = OG_MIN(s, trace->n_batches - first);
        const uint32_t seen = OG_MIN(n + og__tiers_tail(setup), trace->n_batches - first);
        uint64_t *ptr = calloc(seen + 1, sizeof(*ptr));
        for (uint32_t b = 0; b <= seen; b++)
            ptr[b] = trace->ptr[first + b] - trace->ptr[first];
        const struct og_trace part = {seen, ptr, trace->ids + trace->ptr[first]};
        assert_int_equal(og__tiers_prepare(r.tiers, &part, n, NULL), 0);
        free(ptr);
        for (uint32_t b = first; b < first + n; b++)
            run_tiers_batch(&r, b);
        struct og_err err = {0};
        if (og__tiers_verifier_end(&r.v, &err) < 0)
            fail_msg("%s over %s, up to batch %u: %s", og__policy_word(setup->device.kind),
                     og__policy_word(setup->host.kind), first + n, err.message);
    }
    r.sum.device_hits = r.v.device_hits;
    r.sum.host_hits = r.v.host_hits;
    r.sum.victim_hits = r.v.victim_hits;
    r.sum.misses = r.v.misses;
    r.sum.pushed = r.v.pushed;
    r.sum.demoted = r.v.demoted;
    for (uint32_t ring = 0; ring < setup->victim.n_rings; ring++)
        r.sum.left_in_rings += r.v.filled[ring];
    og__tiers_verifier_close(&r.v);
    og__tiers_plan_release(&r.plan);
    og__planner_release(&r.planner);
    og__tiers_close(r.tiers);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
    return r.sum;
}

static inline struct tiers_tally run_tiers(const struct og_tiers_setup *setup,
                                           const struct og_trace *trace, uint32_t s)
{
    return run_tiers_and(setup, trace, s, NULL, NULL);
}

#endif
