/* plan: placements against sorting, plans against the verifier, the verifier against false
 * plans. */
#include "support/testing.h"

#include "base/random.h"
#include "dataset/topology.h"
#include "oracles/verifier.h"
#include "plan/worth.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- rows of several widths ---- */

enum { ROWS = 3000, GROUPS = 4 };
static const struct og_group_bytes group[GROUPS] = {
    {700, 128, 128}, {1500, 0, 0}, {1501, 32, 32}, {ROWS, 512, 512}};

/* One after another, until one does not fit. */
static void fit_in_order(const struct scored *order, uint32_t n, struct og_capacity left,
                         uint64_t *fit)
{
    memset(fit, 0, GROUPS * sizeof(*fit));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t v = order[i].node, g = v < 700 ? 0 : v < 1501 ? 2 : 3;
        if (group[g].row_bytes > left.bytes || left.rows == 0)
            return;
        left.bytes -= group[g].row_bytes;
        left.rows--;
        fit[g]++;
    }
}

/* Sums stay known from one room to the next. */
static void check_rooms(const uint32_t *worth, const struct scored *order, uint32_t n,
                        struct og_rng *rng)
{
    struct og_err err = {0};
    struct og_worth_sums *sums = og__worth_sums_open(NULL, &err);
    assert_non_null(sums);
    for (int k = 0; k < 60; k++) {
        const struct og_capacity room = {k % 5 == 4 ? UINT64_MAX
                                                    : og__rng_below(rng, 1 << 20) >> k % 7,
                                         k % 3 ? UINT64_MAX : og__rng_below(rng, ROWS)};
        uint64_t want[GROUPS], got[GROUPS];
        fit_in_order(order, n, room, want);
        const int rc =
            og__worth_fit(worth, group, GROUPS, &room, k % 2 ? sums : NULL, NULL, got, &err);
        assert_int_equal(rc, 0);
        assert_memory_equal(got, want, sizeof(want));
    }
    og__worth_sums_close(sums, NULL);
}

static void the_worthiest_rows_fit(void **state)
{
    (void)state;
    static uint32_t worth[ROWS];
    static struct scored order[ROWS];
    struct og_rng rng;
    og__rng_at(&rng, 2, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int kind = 0; kind < 4; kind++) {
        uint32_t n = 0;
        for (uint32_t v = 0; v < ROWS; v++) {
            worth[v] = kind ? og__rng_u32(&rng) >> (10 * kind) : og__rng_below(&rng, 3);
            if (v < group[0].end || v >= group[1].end)
                order[n++] = (struct scored){worth[v], v};
        }
        qsort(order, n, sizeof(*order), hotter);
        check_rooms(worth, order, n, &rng);
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
        cmocka_unit_test(the_worthiest_rows_fit),
        cmocka_unit_test(degree_counts_how_often_a_node_can_be_drawn),
        cmocka_unit_test(the_verifier_finds_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
