/* Candidates: counts against the policies and layouts themselves, run plainly; and what the ranking
 * promises. */
#include "plan/candidate_plain.h"

static void counts_are_those_of_plain_runs(void **state)
{
    (void)state;
    enum { N = 24 };
    static struct random_trace t;
    struct og_rng rng;
    struct og_pool *pool;
    og__rng_at(&rng, 21, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__pool_open(&pool, 3, NULL), 0);
    for (int draw = 0; draw < 60; draw++) {
        struct og_candidate c[N];
        struct og_estimate out[N];
        struct og_cost_inputs g;
        struct og_budget *b = og__budget_new(0);
        draw_trace(&t, &rng, &g);
        g.pool = draw % 2 ? pool : NULL;
        g.budget = b;
        for (uint32_t i = 0; i < N; i++) {
            c[i] = draw_candidate(&t, &rng);
            if (i % 3 == 2) /* passes are shared */
                c[i].policy = c[i - 1].policy;
            if (c[i].superbatch == 0 && og__policy_looks_ahead(c[i].policy.kind))
                c[i].superbatch = MOST_BATCHES;
        }
        assert_int_equal(og__candidates_count(&g, c, N, out, NULL), 0);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(out[i].possible && out[i].counted);
            assert_int_equal(out[i].candidate, i);
            const struct og_candidate_counts want = run_plainly(&g, &c[i]);
            assert_same_counts(&out[i].counts, &want, &c[i]);
        }
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__pool_close(pool);
}

/* ---- whatever the threads and the memory ---- */

static void assert_same_estimate(const struct og_estimate *a, const struct og_estimate *b)
{
    assert_int_equal(a->candidate, b->candidate);
    assert_int_equal(a->possible, b->possible);
    assert_same_counts(&a->counts, &b->counts, &(struct og_candidate){.layout = OG__RAW});
    assert_memory_equal(a->term, b->term, sizeof(a->term));
    assert_true(a->epoch == b->epoch && a->prepare == b->prepare && a->seconds == b->seconds);
    assert_int_equal(a->reads, b->reads);
    assert_int_equal(a->bytes_read, b->bytes_read);
    assert_int_equal(a->bytes_written, b->bytes_written);
    assert_string_equal(a->why, b->why);
}

static void threads_and_memory_change_nothing(void **state)
{
    (void)state;
    enum { N = 30 };
    static struct random_trace t;
    static struct og_estimate one[N], other[N];
    struct og_rng rng;
    struct og_pool *pool;
    og__rng_at(&rng, 22, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__pool_open(&pool, 4, NULL), 0);
    for (int draw = 0; draw < 30; draw++) {
        struct og_candidate c[N];
        struct og_cost_inputs g;
        draw_trace(&t, &rng, &g);
        g.disk_limit = 30000;
        for (uint32_t i = 0; i < N; i++)
            c[i] = draw_candidate(&t, &rng);
        assert_int_equal(og__candidates_rank(&g, c, N, one, NULL), 0);
        g.pool = pool;
        g.budget = og__budget_new(draw % 2 ? 4 * OG_MIB : 0);
        assert_int_equal(og__candidates_rank(&g, c, N, other, NULL), 0);
        for (uint32_t i = 0; i < N; i++) {
            assert_same_estimate(&one[i], &other[i]);
            if (i > 0 && one[i].possible) {
                assert_true(one[i - 1].possible);
                assert_true(one[i - 1].seconds <= one[i].seconds);
            }
        }
        og__budget_free(g.budget);
    }
    og__pool_close(pool);
}

static void too_little_memory_is_an_error(void **state)
{
    (void)state;
    static struct random_trace t;
    struct og_rng rng;
    struct og_cost_inputs g;
    int failed = 0;
    og__rng_at(&rng, 23, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (size_t limit = 0; limit < 1 << 21; limit += 30011) {
        struct og_estimate out[4];
        struct og_candidate c[4];
        struct og_err err = {0};
        draw_trace(&t, &rng, &g);
        g.budget = og__budget_new(limit + 1);
        for (uint32_t i = 0; i < 4; i++)
            c[i] = draw_candidate(&t, &rng);
        int rc = og__candidates_rank(&g, c, 4, out, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        failed += rc < 0;
        assert_int_equal(og__budget_used(g.budget), 0);
        og__budget_free(g.budget);
    }
    assert_in_range(failed, 5, 65);
}

/* ---- what may be expected of any ---- */

static void more_is_never_worse(void **state)
{
    (void)state;
    static struct random_trace t;
    struct og_rng rng;
    og__rng_at(&rng, 24, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 100; draw++) {
        struct og_cost_inputs g;
        draw_trace(&t, &rng, &g);
        struct og_candidate c = draw_candidate(&t, &rng);
        const struct og_estimate base = estimate(&g, c);
        struct og_cost_inputs better = g;
        better.disk.bandwidth *= 2;
        better.disk.iops *= 2;
        assert_true(estimate(&better, c).seconds <= base.seconds);
        better = g;
        better.times.model *= 3;
        assert_true(estimate(&better, c).seconds >= base.seconds);
        better = g;
        better.times.samplers = better.times.threads = 4;
        assert_true(estimate(&better, c).seconds <= base.seconds);
        struct og_candidate more = c;
        if (og__policy_is_static(c.policy.kind) || c.policy.kind == OG_POLICY_LRU) {
            more.policy.n_slots = t.n_nodes;
            assert_true(estimate(&g, more).counts.misses <= base.counts.misses);
        }
        more = c;
        if (c.policy.kind == OG_POLICY_SWEEP) {
            more.policy.n_slots = t.n_nodes;
            assert_true(estimate(&g, more).counts.windows <= base.counts.windows);
        }
        more = c;
        more.resample_every = 3;
        const struct og_estimate reused = estimate(&g, more);
        assert_true(!reused.possible || reused.seconds <= base.seconds + 1e-12);
    }
}

static void the_best_come_first_and_the_impossible_last(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.memory_limit = 1000;
    h.g.disk_limit = 20000;
    const struct og_candidate raw = {.policy = {.kind = OG_POLICY_NONE, .n_nodes = 80},
                                     .resample_every = 1};
    struct og_candidate c[10];
    for (size_t i = 0; i < OG_COUNT(c); i++)
        c[i] = raw;
    c[0].layout = OG__SEGMENTED; /* straight */
    c[1].memory = 1001;
    c[2].layout = OG__PACKED; /* 24576 bytes */
    c[2].superbatch = 4;
    c[2].sweep_memory = OG_MIB;
    c[3].policy.kind = OG_POLICY_DEGREE;
    c[3].policy.n_slots = 80;
    c[3].memory = 1000;
    c[4].policy.kind = OG_POLICY_BELADY; /* straight */
    c[5].layout = OG__PACKED;
    c[5].superbatch = 4;
    c[5].sweep_memory = 100;
    c[6] = c[2];
    c[6].policy.kind = OG_POLICY_LRU;
    c[6].resample_every = 2;
    c[7].resample_every = 0;
    c[8] = c[2];
    c[8].resample_every = 2;
    c[8].superbatch = 2;
    static const char *const reasons[] = {
        [0] = "this layout needs batches sampled ahead",
        [1] = "needs 1001 B of memory, 1000 B are available",
        [2] = "takes 24.00 KiB of disk, 19.53 KiB are allowed",
        [4] = "this policy needs batches sampled ahead",
        [5] = "packing 4 batches takes at least 42.48 KiB of memory",
        [6] = "needs a cache that stays as it is",
        [7] = "trained at least once",
        [8] = "has to hold all batches",
    };
    struct og_estimate out[10];
    assert_int_equal(og__candidates_rank(&h.g, c, OG_COUNT(c), out, NULL), 0);
    assert_int_equal(out[0].candidate, 3);
    assert_int_equal(out[1].candidate, 9);
    uint32_t before = 0;
    for (size_t i = 2; i < OG_COUNT(out); i++) {
        assert_false(out[i].possible);
        assert_true(i == 2 || out[i].candidate > before);
        before = out[i].candidate;
        if (!strstr(out[i].why, reasons[before]))
            fail_msg("candidate %u: %s", before, out[i].why);
        assert_int_equal(out[i].counted, before == 1 || before == 2);
    }
    /* batches that miss the same rows have room on the disk in segments */
    struct og_candidate segmented = c[2];
    segmented.layout = OG__SEGMENTED;
    h.g.disk_limit = 21000;
    for (size_t i = 0; i < 12; i++)
        h.ids[i] = (uint32_t)(i % 3 * 10);
    assert_false(estimate(&h.g, c[2]).possible);
    struct og_estimate e = estimate(&h.g, segmented);
    assert_true(e.possible);
    assert_int_equal(e.counts.segment, 2);
    const uint64_t orders = 4 * (12 + 12); /* of 12 rows, all of them shared */
    assert_int_equal(e.counts.disk, (3 + 2) * 4096 + orders);
    assert_int_equal(e.counts.batches.bytes, 4 * 3 * 1024 + orders);
    h.g.disk_limit = 5000;
    e = estimate(&h.g, segmented);
    assert_false(e.possible);
    assert_non_null(strstr(e.why, "segments take at least"));
    struct og_candidate many[OG__MOST_SIZES + 1] = {{.resample_every = 0}};
    struct og_estimate none[1];
    assert_int_equal(og__candidates_rank(&h.g, many, OG_COUNT(many), none, NULL), -EINVAL);
    assert_int_equal(og__candidates_rank(&h.g, many, 0, none, NULL), 0);
}

static void assert_takes(struct by_hand *h, struct og_candidate c, uint64_t disk)
{
    h->g.disk_limit = disk;
    assert_true(estimate(&h->g, c).possible);
    h->g.disk_limit = disk - 1;
    assert_false(estimate(&h->g, c).possible);
}

/* A head, its table, and a chunk of a block for each of four batches. Others are like these. */
static void the_disk_has_to_have_room_for_all_batches(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.disk_margin = 0.25;
    h.g.epoch_batches = 12;
    struct og_candidate c = {
        .policy = {.kind = OG_POLICY_NONE}, .layout = OG__PACKED, .superbatch = 4};
    const uint64_t shown = 6 * 4096;
    assert_takes(&h, c, shown);
    c.spilled_bytes = 1000;
    assert_takes(&h, c, shown + 1000);
    c.written_batches = 6; /* two of validation */
    assert_takes(&h, c, shown + shown / 2 * 5 / 4 + 1000);
    c.superbatch = c.written_batches = 12;
    assert_takes(&h, c, shown + 2 * shown * 5 / 4 + 1000);
    c.spilled_bytes = 0;
    c.superbatch = 2; /* two of them at a time */
    c.written_batches = 0;
    assert_takes(&h, c, 4 * 4096);
    /* nothing is packed */
    c = (struct og_candidate){.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 2},
                              .superbatch = 12,
                              .spilled_bytes = 1234};
    assert_takes(&h, c, 1234);
}

static void what_cannot_be_prepared_is_refused(void **state)
{
    (void)state;
    enum { N = OG__MOST_FORESEEN + 1 };
    uint32_t *ids = calloc(N, sizeof(*ids));
    uint64_t *ptr = calloc(N + 1, sizeof(*ptr));
    struct by_hand h;
    set_by_hand(&h);
    for (uint32_t b = 0; b < N; b++)
        ptr[b + 1] = b + 1;
    h.g.trace = (struct og_trace){N, ptr, ids};
    struct og_candidate c = {.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 1},
                             .superbatch = N};
    assert_non_null(strstr(estimate(&h.g, c).why, "cannot be prepared"));
    c.superbatch--;
    assert_true(estimate(&h.g, c).possible);
    free(ids);
    free(ptr);
}

static void stopping_is_heard(void **state)
{
    (void)state;
    struct by_hand h;
    volatile sig_atomic_t stop = 1;
    set_by_hand(&h);
    h.g.stop = &stop;
    struct og_candidate c[2] = {
        {.policy = {.kind = OG_POLICY_NONE, .n_nodes = 80}, .resample_every = 1}};
    struct og_estimate out[2];
    c[1] = c[0];
    c[1].superbatch = 2;
    assert_int_equal(og__candidates_rank(&h.g, c, 1, out, NULL), OG_INTERRUPTED);
    assert_int_equal(og__candidates_rank(&h.g, c + 1, 1, out, NULL), OG_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_plain_runs),
        cmocka_unit_test(threads_and_memory_change_nothing),
        cmocka_unit_test(too_little_memory_is_an_error),
        cmocka_unit_test(more_is_never_worse),
        cmocka_unit_test(the_best_come_first_and_the_impossible_last),
        cmocka_unit_test(the_disk_has_to_have_room_for_all_batches),
        cmocka_unit_test(what_cannot_be_prepared_is_refused),
        cmocka_unit_test(stopping_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
