/* plan: placements against sorting, plans against the verifier, the verifier against false
 * plans. */
#include "support/testing.h"

#include "base/random.h"
#include "dataset/topology.h"
#include "oracles/verifier.h"

#include <stdlib.h>

struct scored {
    uint32_t score, node;
};

static int hotter(const void *a, const void *b)
{
    const struct scored *x = a;
    const struct scored *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->node < y->node ? -1 : 1;
}

/* Against qsort, over sizes around the word and rank borders, with many ties and with none. */
static void placement_holds_the_hottest(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 63, 64, 65, 511, 512, 513, 5000};
    struct og_rng rng;
    og__rng_at(&rng, 1, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (size_t k = 0; k < OG_COUNT(sizes) * 12; k++) {
        uint64_t n = sizes[k % OG_COUNT(sizes)];
        uint32_t *hotness = calloc(n, sizeof(*hotness));
        struct scored *order = calloc(n, sizeof(*order));
        for (uint64_t v = 0; v < n; v++) {
            hotness[v] = k % 3 ? og__rng_u32(&rng) >> (k % 5 * 7) : og__rng_below(&rng, 3);
            order[v] = (struct scored){hotness[v], (uint32_t)v};
        }
        qsort(order, n, sizeof(*order), hotter);
        uint64_t capacity = k % 4 == 3 ? n + 5 : og__rng_below(&rng, (uint32_t)n + 1);
        struct og_placement p;
        assert_int_equal(og__placement_build(&p, hotness, n, capacity, NULL, NULL), 0);
        assert_int_equal(p.n_slots, OG_MIN(capacity, n));
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(og__placement_has(&p, order[i].node), i < capacity);
        uint32_t *nodes = calloc(n + 1, sizeof(*nodes));
        uint64_t cursor = 0;
        og__placement_nodes(&p, &cursor, nodes, p.n_slots / 2);
        og__placement_nodes(&p, &cursor, nodes + p.n_slots / 2, p.n_slots - p.n_slots / 2);
        for (uint32_t s = 0; s < p.n_slots; s++)
            assert_int_equal(og__placement_slot(&p, nodes[s]), s);
        og__placement_release(&p);
        free(nodes);
        free(order);
        free(hotness);
    }
}

static void degree_counts_how_often_a_node_can_be_drawn(void **state)
{
    (void)state;
    const int64_t indptr[] = {0, 2, 2, 5};
    const int32_t indices[] = {1, 2, 0, 1, 2};
    struct og_topology t = {.n_nodes = 3, .n_edges = 5, .indptr = indptr, .indices32 = indices};
    uint32_t hotness[3] = {9, 9, 9};
    assert_int_equal(og__topology_out_degrees(&t, hotness, NULL), 0);
    assert_int_equal(hotness[0], 1);
    assert_int_equal(hotness[1], 2);
    assert_int_equal(hotness[2], 2);
}

static void the_verifier_finds_lies(void **state)
{
    (void)state;
    const uint32_t ids[4] = {10, 11, 12, 13};
    uint32_t place[4] = {0, 2, 1, 3};
    uint32_t misses[2] = {11, 13};
    uint32_t row = 1;
    uint32_t slot = 0;
    struct og_plan plan = {.n = 4,
                           .place = place,
                           .n_misses = 2,
                           .misses = misses,
                           .n_changes = 1,
                           .change_row = &row,
                           .change_slot = &slot};
    struct og_verifier v;
    assert_int_equal(og__verifier_open(&v, 2, NULL), 0);
    assert_int_equal(og__verifier_prefill(&v, 0, 10, NULL), 0);
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL); /* slot 1 is empty */
    assert_int_equal(og__verifier_prefill(&v, 1, 12, NULL), 0);
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), 0);
    /* the changeset put 11 where 10 was */
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    assert_int_equal(og__verifier_prefill(&v, 0, 10, NULL), 0);
    plan.n_changes = 0;
    place[3] = 2; /* two rows from one miss, the other read for nothing */
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    place[3] = 3;
    misses[1] = 14; /* the wrong node */
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    misses[1] = 13;
    plan.n_changes = 1;
    row = 0; /* in a slot already: nothing was read that could enter */
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    plan.n_changes = 0;
    plan.n = 3;
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    plan.n = 4;
    place[0] = 4; /* beyond every tier */
    assert_int_equal(og__verifier_check(&v, ids, 4, &plan, NULL), -EINVAL);
    assert_int_equal(og__verifier_prefill(&v, 2, 1, NULL), -EINVAL);
    og__verifier_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_holds_the_hottest),
        cmocka_unit_test(degree_counts_how_often_a_node_can_be_drawn),
        cmocka_unit_test(the_verifier_finds_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
