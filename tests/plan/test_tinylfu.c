/* tinylfu against a cache that counts every node exactly. Nodes are few, so that no counter of the
 * sketch stands for two of them in all rows. Also against other caches, where few nodes are used
 * often. */
#include "support/testing.h"

#include "base/random.h"
#include "plan/policy.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_NODES = 12, BATCHES = 300, MOST = 15, USES_A_SLOT = 32 };

/* ---- by exact counts ---- */

struct exact {
    uint32_t n_slots, n_filled, hand;
    uint32_t node[FEW_NODES + 2]; /* by slot */
    unsigned count[FEW_NODES];
    uint64_t uses;
};

static bool is_in(const uint32_t *ids, uint32_t n, uint32_t node)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == node)
            return true;
    return false;
}

static void count_batch(struct exact *e, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        e->count[ids[i]] += e->count[ids[i]] < MOST;
    e->uses += n;
    if (e->uses < (uint64_t)e->n_slots * USES_A_SLOT)
        return;
    for (uint32_t v = 0; v < FEW_NODES; v++)
        e->count[v] /= 2;
    e->uses /= 2;
}

/* The batch's own rows stay. Returns the misses. */
static uint32_t exact_batch(struct exact *e, const uint32_t *ids, uint32_t n)
{
    bool hit[FEW_NODES];
    uint32_t misses = 0;
    for (uint32_t i = 0; i < n; i++) {
        hit[i] = is_in(e->node, e->n_filled, ids[i]);
        misses += !hit[i];
    }
    count_batch(e, ids, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t taken = 0;
        for (uint32_t s = 0; s < e->n_filled; s++)
            taken += is_in(ids, n, e->node[s]);
        if (hit[i] || e->n_slots == 0 || taken == e->n_slots)
            continue;
        if (e->n_filled < e->n_slots) {
            e->node[e->n_filled++] = ids[i];
            continue;
        }
        while (is_in(ids, n, e->node[e->hand]))
            e->hand = (e->hand + 1) % e->n_slots;
        uint32_t *there = &e->node[e->hand];
        e->hand = (e->hand + 1) % e->n_slots;
        if (e->count[ids[i]] > e->count[*there])
            *there = ids[i];
    }
    return misses;
}

static uint32_t draw_batch(struct og_rng *rng, uint32_t n_nodes, uint32_t *ids)
{
    uint32_t n = 0;
    for (uint32_t tries = 1 + og__rng_below(rng, 6); tries > 0; tries--) {
        const uint32_t v = og__rng_below(rng, 1 + og__rng_below(rng, n_nodes));
        if (!is_in(ids, n, v))
            ids[n++] = v;
    }
    return n;
}

static void follow(uint32_t n_slots, struct og_rng *rng, uint64_t *refused)
{
    struct og_policy_setup setup = {
        .kind = OG_POLICY_TINYLFU, .n_nodes = FEW_NODES, .n_slots = n_slots};
    struct exact e = {.n_slots = OG_MIN(n_slots, FEW_NODES)};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    uint32_t ids[FEW_NODES];
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        const uint32_t n = draw_batch(rng, FEW_NODES, ids);
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        assert_int_equal(plan.n_misses, exact_batch(&e, ids, n));
        *refused += plan.n_misses - plan.n_changes;
        for (uint32_t c = 0; c < plan.n_changes; c++)
            assert_int_equal(e.node[plan.change_slot[c]], ids[plan.change_row[c]]);
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
}

static void the_cache_is_that_of_exact_counts(void **state)
{
    (void)state;
    struct og_rng rng;
    uint64_t refused = 0;
    og__rng_at(&rng, 52, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t n_slots = 0; n_slots < FEW_NODES + 2; n_slots++)
        for (int draw = 0; draw < 10; draw++)
            follow(n_slots, &rng, &refused);
    assert_true(refused > 5000);
}

/* ---- what it is for ---- */

/* Few of 20000 nodes are used often: a node is drawn below one that was drawn, three times. */
static uint64_t misses_of(int kind, uint32_t n_slots)
{
    enum { NODES = 20000, ROWS = 1000, EPOCH = 100 };
    struct og_policy_setup setup = {.kind = kind, .n_nodes = NODES, .n_slots = n_slots};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    struct og_rng rng;
    uint32_t *ids = malloc(ROWS * sizeof(*ids));
    uint8_t *seen = malloc(NODES);
    uint64_t misses = 0;
    og__rng_at(&rng, 53, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    for (int batch = 0; batch < EPOCH; batch++) {
        uint32_t n = 0;
        memset(seen, 0, NODES);
        while (n < ROWS) {
            uint32_t v = NODES;
            for (int i = 0; i < 3; i++)
                v = og__rng_below(&rng, v) + 1;
            if (!seen[v - 1]++)
                ids[n++] = v - 1;
        }
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        misses += plan.n_misses;
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
    free(seen);
    free(ids);
    return misses;
}

static void rows_that_come_once_do_not_push_out_those_that_come_often(void **state)
{
    (void)state;
    static const int others[] = {OG_POLICY_LRU, OG_POLICY_CLOCK, OG_POLICY_SIEVE, OG_POLICY_S3FIFO};
    for (uint32_t n_slots = 200; n_slots <= 2000; n_slots *= 10) {
        const uint64_t own = misses_of(OG_POLICY_TINYLFU, n_slots);
        for (size_t i = 0; i < OG_COUNT(others); i++)
            assert_true(own < misses_of(others[i], n_slots));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_is_that_of_exact_counts),
        cmocka_unit_test(rows_that_come_once_do_not_push_out_those_that_come_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
