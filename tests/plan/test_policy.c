/* Policies against the verifier and against slow implementations that share no code with them. */
#include "plan/policy_fixture.h"

/* Rows enter free slots while batches of the window before are trained. A row may enter once the
 * batch with number `after` is reached; no batch from there on may need what the slot held. */
static void sweep_fills_only_what_is_free(void **state)
{
    (void)state;
    enum { NODES = 60, BATCHES = 30, ROWS = 20 };
    struct og_rng rng;
    uint32_t early = 0;
    og__rng_at(&rng, 31, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 200; draw++) {
        uint32_t held[NODES];
        struct trace t = draw_trace(&rng, NODES, 1 + og__rng_below(&rng, BATCHES), ROWS);
        struct og_policy_setup setup = {.kind = OG_POLICY_SWEEP,
                                        .n_nodes = NODES,
                                        .n_slots =
                                            ROWS / 2 + og__rng_below(&rng, NODES - ROWS / 2)};
        struct og_planner planner;
        struct og_policy *p;
        struct og_plan plan;
        uint32_t ignored;
        og__planner_init(&planner, NULL);
        og__plan_init(&plan, NULL);
        memset(held, 0xff, sizeof(held));
        assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
        assert_int_equal(og__policy_prepare(p, &t.view, &ignored, NULL), 0);
        for (uint32_t b = 0; b < t.view.n_batches; b++) {
            uint32_t node;
            uint32_t slot;
            uint32_t last = 0;
            while (og__policy_prefill(p, &node, &slot, 1) > 0) {
                uint32_t after = og__policy_free_after(p);
                assert_true(after >= last && after <= b);
                for (uint32_t k = after; k < b; k++)
                    assert_false(has(&t.view, k, held[slot]));
                held[slot] = node;
                last = after;
                early += after < b;
            }
            uint32_t n = (uint32_t)(t.ptr[b + 1] - t.ptr[b]);
            assert_int_equal(og__policy_plan(p, &planner, t.ids + t.ptr[b], n, &plan, NULL), 0);
            if (n <= setup.n_slots)
                assert_int_equal(plan.n_misses, 0);
        }
        og__policy_close(p);
        og__planner_release(&planner);
        og__plan_release(&plan);
        drop_trace(&t);
    }
    assert_true(early > 1000);
}

static void every_plan_passes_the_verifier(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 1, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 200; draw++) {
        uint32_t n_nodes = 1 + og__rng_below(&rng, draw % 2 ? 3000 : 60);
        uint32_t *hotness = calloc(n_nodes, sizeof(*hotness));
        og__hotness_random(og__rng_u32(&rng), n_nodes, hotness);
        struct trace t = draw_trace(&rng, n_nodes, 1 + og__rng_below(&rng, 12),
                                    1 + og__rng_below(&rng, 2 * n_nodes));
        uint32_t n_slots = og__rng_below(&rng, n_nodes + 3);
        for (int kind = 0; kind < OG_POLICY_AUTO; kind++) {
            struct og_policy_setup setup = draw_setup(&rng, kind, n_nodes, n_slots, hotness);
            run_policy(&setup, &t.view, 1 + og__rng_below(&rng, 8));
            run_yielding(&setup, &t.view, 1 + og__rng_below(&rng, 4),
                         og__rng_below(&rng, n_slots + 1));
        }
        drop_trace(&t);
        free(hotness);
    }
}

/* A superbatch never reads a row that is cached and needed. The second run of the same batches
 * needs less prefill than the first. */
static void what_is_cached_carries_over(void **state)
{
    (void)state;
    static const int carriers[] = {OG_POLICY_BELADY, OG_POLICY_FREQUENCY};
    struct og_rng rng;
    og__rng_at(&rng, 4, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace once = draw_trace(&rng, 2000, 10, 800);
    struct trace twice = {.ptr = calloc(21, sizeof(uint64_t)),
                          .ids = malloc(2 * once.ptr[10] * sizeof(uint32_t) + 1)};
    for (uint32_t b = 0; b <= 20; b++)
        twice.ptr[b] = b <= 10 ? once.ptr[b] : once.ptr[10] + once.ptr[b - 10];
    memcpy(twice.ids, once.ids, once.ptr[10] * sizeof(uint32_t));
    memcpy(twice.ids + once.ptr[10], once.ids, once.ptr[10] * sizeof(uint32_t));
    twice.view = (struct og_trace){20, twice.ptr, twice.ids};
    for (size_t i = 0; i < OG_COUNT(carriers); i++) {
        struct og_policy_setup setup = {.kind = carriers[i], .n_nodes = 2000, .n_slots = 300};
        struct tally one = run_policy(&setup, &once.view, 10);
        struct tally two = run_policy(&setup, &twice.view, 10);
        assert_int_equal(one.prefill, 300);
        assert_true(two.prefill < one.prefill + 200);
        if (carriers[i] == OG_POLICY_FREQUENCY)
            assert_int_equal(two.prefill, one.prefill);
    }
    drop_trace(&once);
    drop_trace(&twice);
}

/* ---- the others ---- */

/* Recency as a list that is searched from its front. */
static uint64_t slow_lru(const struct og_trace *t, uint32_t capacity)
{
    uint64_t rows = t->ptr[t->n_batches];
    uint32_t *list = malloc((rows + 1) * sizeof(*list));
    uint32_t n = 0;
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            uint32_t at = 0;
            while (at < n && list[at] != t->ids[i])
                at++;
            misses += at >= OG_MIN(n, capacity);
        }
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            uint32_t at = 0;
            while (at < n && list[at] != t->ids[i])
                at++;
            n += at == n;
            memmove(list + 1, list, at * sizeof(*list));
            list[0] = t->ids[i];
        }
        n = OG_MIN(n, capacity);
    }
    free(list);
    return misses;
}

static void lru_equals_a_slow_one(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 5, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 100; draw++) {
        uint32_t n_nodes = 2 + og__rng_below(&rng, 300);
        struct trace t = draw_trace(&rng, n_nodes, 12, n_nodes);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_LRU, .n_nodes = n_nodes, .n_slots = og__rng_below(&rng, n_nodes)};
        struct tally sum = run_policy(&setup, &t.view, 3);
        assert_int_equal(sum.misses, slow_lru(&t.view, setup.n_slots));
        drop_trace(&t);
    }
}

/* With one set as large as the cache round robin is first in, first out. */
static void rr_with_one_set_is_fifo(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 6, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, 200, 30, 40);
    uint32_t n_slots = 50;
    struct og_policy_setup setup = {
        .kind = OG_POLICY_RR, .n_nodes = 200, .n_slots = n_slots, .ways = n_slots};
    struct tally sum = run_policy(&setup, &t.view, 30);
    uint32_t queue[50];
    uint32_t turn = 0;
    uint64_t misses = 0;
    memset(queue, 0xff, sizeof(queue));
    for (uint32_t b = 0; b < 30; b++) {
        bool missed[200] = {false};
        for (uint64_t i = t.ptr[b]; i < t.ptr[b + 1]; i++) {
            bool found = false;
            for (uint32_t s = 0; s < n_slots; s++)
                found |= queue[s] == t.ids[i];
            missed[t.ids[i]] = !found;
            misses += !found;
        }
        for (uint64_t i = t.ptr[b]; i < t.ptr[b + 1]; i++)
            if (missed[t.ids[i]])
                queue[turn++ % n_slots] = t.ids[i];
    }
    assert_int_equal(sum.misses, misses);
    drop_trace(&t);
}

static int compare_counts(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

static void frequency_keeps_what_is_visited_most(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 7, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 50; draw++) {
        uint32_t visits[300] = {0};
        struct trace t = draw_trace(&rng, 300, 20, 200);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_FREQUENCY, .n_nodes = 300, .n_slots = og__rng_below(&rng, 301)};
        for (uint64_t i = 0; i < t.ptr[20]; i++)
            visits[t.ids[i]]++;
        qsort(visits, 300, sizeof(*visits), compare_counts);
        uint64_t hits = 0;
        uint32_t held = 0;
        for (uint32_t v = 0; v < setup.n_slots; v++) {
            hits += visits[v];
            held += visits[v] > 0;
        }
        struct tally sum = run_policy(&setup, &t.view, 20);
        assert_int_equal(sum.rows - sum.misses, hits);
        assert_int_equal(sum.prefill, held);
        drop_trace(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_passes_the_verifier),
        cmocka_unit_test(sweep_fills_only_what_is_free),
        cmocka_unit_test(what_is_cached_carries_over),
        cmocka_unit_test(lru_equals_a_slow_one),
        cmocka_unit_test(rr_with_one_set_is_fifo),
        cmocka_unit_test(frequency_keeps_what_is_visited_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
