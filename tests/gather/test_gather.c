/* gather: every row of every batch, from whichever tier, against the file itself. */
#include "support/testing.h"

#include "base/random.h"
#include "base/shared_memory.h"
#include "flow/filling.h"
#include "flow/source.h"
#include "gather/gather.h"
#include "plan/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { N = 3000, DIM = 33 }; /* rows of 132 bytes: no alignment helps */

struct fixture {
    char path[64];
    struct og_group ds;
    float *features;
};

/* A headerless file, as a foreign memory map would be, starting at an odd place. */
static int make_features(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    snprintf(f->path, sizeof(f->path), "/tmp/og-gather-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    f->features = calloc((size_t)N * DIM, sizeof(float));
    for (int i = 0; i < N * DIM; i++)
        f->features[i] = (float)i;
    assert_int_equal(pwrite(fd, f->features, sizeof(float) * N * DIM, 77), sizeof(float) * N * DIM);
    f->ds = (struct og_group){.n_nodes = N, .dim = DIM, .stored = OG_F32};
    f->ds.rows = (struct og_npy){.fd = fd,
                                 .path = f->path,
                                 .type = OG__NPY_F32,
                                 .ndim = 2,
                                 .shape = {N, DIM},
                                 .offset = 77,
                                 .bytes = (int64_t)sizeof(float) * N * DIM};
    *state = f;
    return 0;
}

static int drop_features(void **state)
{
    struct fixture *f = *state;
    close(f->ds.rows.fd);
    unlink(f->path);
    free(f->features);
    free(f);
    return 0;
}

static void check_rows(const struct fixture *f, const struct og_rows *rows, const uint32_t *ids)
{
    for (uint32_t i = 0; i < rows->n; i++)
        assert_memory_equal(og__row(rows, i), f->features + (size_t)ids[i] * DIM,
                            DIM * sizeof(float));
}

struct batch {
    uint32_t ids[N];
    uint32_t n;
    struct og_plan plan;
};

static void draw(struct batch *b, uint64_t seed, uint32_t n)
{
    struct og_permutation p;
    og__permutation_init(&p, N, seed, 0);
    b->n = n;
    for (uint32_t i = 0; i < n; i++)
        b->ids[i] = (uint32_t)og__permutation_at(&p, i);
}

/* Two batches in flight at a time, as the loader does it. */
static void run_batches(struct fixture *f, struct og_gather *g, struct og_policy *policy,
                        uint64_t *misses, struct og_io_counts *total)
{
    struct og_planner planner;
    struct batch *b = calloc(2, sizeof(*b));
    og__planner_init(&planner, NULL);
    for (int i = 0; i < 2; i++)
        og__plan_init(&b[i].plan, NULL);
    for (uint32_t turn = 0; turn <= 12; turn++) {
        struct batch *now = &b[turn % 2];
        struct batch *before = &b[(turn + 1) % 2];
        if (turn < 12) {
            draw(now, turn, turn == 7 ? 0 : 1 + turn * 120);
            assert_int_equal(og__policy_plan(policy, &planner, now->ids, now->n, &now->plan, NULL),
                             0);
            *misses += now->plan.n_misses;
            assert_int_equal(og__gather_begin(g, (int)(turn % 2), &now->plan, NULL, 0, NULL), 0);
        }
        if (turn > 0) {
            const struct og_rows *rows;
            struct og_io_counts counts;
            assert_int_equal(og__gather_finish(g, (int)((turn + 1) % 2), &rows, &counts, NULL), 0);
            assert_int_equal(rows->n, before->n);
            check_rows(f, rows, before->ids);
            total->reads += counts.reads;
            total->bytes += counts.bytes;
        }
    }
    for (int i = 0; i < 2; i++)
        og__plan_release(&b[i].plan);
    og__planner_release(&planner);
    free(b);
}

/* What the policy wants in the cache, in pieces. */
static void fill(struct og_gather *g, struct og_policy *policy, struct og_io_counts *counts)
{
    uint32_t nodes[700];
    uint32_t slots[700];
    for (uint32_t n; (n = og__policy_prefill(policy, nodes, slots, 700)) > 0;)
        assert_int_equal(og__gather_fill(g, nodes, slots, n, counts, NULL), 0);
    assert_int_equal(og__gather_fill_end(g, counts, NULL), 0);
}

static void rows_are_the_files_rows(void **state)
{
    struct fixture *f = *state;
    static const int engines[] = {OG_IO_AUTO, OG_IO_PREAD, OG_IO_MMAP};
    static const uint32_t capacities[] = {0, 1, 700, N};
    uint32_t hotness[N];
    og__hotness_random(5, N, hotness);
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        for (size_t c = 0; c < OG_COUNT(capacities); c++) {
            struct og_budget *budget = og__budget_new(0);
            struct og_policy *policy;
            struct og_gather *g;
            struct og_policy_setup setup = {.kind = OG_POLICY_RANDOM,
                                            .n_nodes = N,
                                            .n_slots = capacities[c],
                                            .hotness = hotness};
            uint32_t n_prefill;
            assert_int_equal(og__policy_open(&policy, &setup, budget, NULL), 0);
            assert_int_equal(og__policy_prepare(policy, NULL, &n_prefill, NULL), 0);
            assert_int_equal(n_prefill, capacities[c]);
            struct og_gather_options opt = {
                .n_slots = (const uint32_t[]){capacities[c]},
                .staging_rows = (const uint32_t[]){10}, /* less than any batch needs */
                .n_staging = 2,
                .reader = {.io = engines[e]}};
            og__profile_load(f->path, &opt.reader.profile);
            assert_int_equal(og__gather_open(&g, &f->ds, 1, &opt, budget, NULL), 0);
            struct og_io_counts prefill = {0};
            struct og_io_counts total = {0};
            fill(g, policy, &prefill);
            uint64_t misses = 0;
            run_batches(f, g, policy, &misses, &total);
            if (engines[e] != OG_IO_MMAP) {
                assert_true(total.bytes >= misses * DIM * sizeof(float));
                assert_int_equal(total.reads == 0, misses == 0);
                assert_int_equal(prefill.reads == 0, capacities[c] == 0);
            }
            og__gather_close(g);
            og__policy_close(policy);
            assert_int_equal(og__budget_used(budget), 0);
            og__budget_free(budget);
        }
    }
}

/* Each batch sees the file's rows under a policy that moves rows in and out of the cache. Rows
 * enter slots by prefill at once, by prefill through staging, and by changes. */
static void rows_that_move_are_the_files_rows(void **state)
{
    struct fixture *f = *state;
    static const int kinds[] = {OG_POLICY_LRU,       OG_POLICY_RR,     OG_POLICY_BELADY,
                                OG_POLICY_FREQUENCY, OG_POLICY_HYBRID, OG_POLICY_SWEEP};
    enum { BATCHES = 12, ROWS = 400 };
    struct batch *b = calloc(1, sizeof(*b));
    uint32_t *ids = calloc((size_t)BATCHES * ROWS, sizeof(*ids));
    uint64_t ptr[BATCHES + 1];
    for (uint32_t i = 0; i <= BATCHES; i++)
        ptr[i] = (uint64_t)i * ROWS;
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        struct og_policy_setup setup = {
            .kind = kinds[k], .n_nodes = N, .n_slots = 300, .ways = 8, .window = 4, .update = 2};
        struct og_gather_options opt = {.n_slots = (const uint32_t[]){300},
                                        .staging_rows = (const uint32_t[]){10},
                                        .n_staging = 1 + k % 2,
                                        .fills_during_training = kinds[k] == OG_POLICY_SWEEP};
        struct og_policy *policy;
        struct og_planner planner;
        struct og_gather *g;
        og__profile_load(f->path, &opt.reader.profile);
        assert_int_equal(og__policy_open(&policy, &setup, NULL, NULL), 0);
        assert_int_equal(og__gather_open(&g, &f->ds, 1, &opt, NULL, NULL), 0);
        og__planner_init(&planner, NULL);
        og__plan_init(&b->plan, NULL);
        for (uint32_t super = 0; super < 3; super++) {
            struct og_trace trace = {BATCHES, ptr, ids};
            struct og_io_counts counts = {0};
            uint32_t n_prefill;
            for (uint32_t i = 0; i < BATCHES; i++) {
                draw(b, super * 100 + i / 2 + i % 2, ROWS); /* neighbours share rows */
                memcpy(ids + ptr[i], b->ids, ROWS * sizeof(*ids));
            }
            if (super == 2 && og__policy_looks_ahead(kinds[k])) { /* the last slots lose theirs */
                og__gather_release_slots(g, 200);
                og__policy_invalidate(policy, 100);
                assert_int_equal(og__gather_reclaim(g, 0, NULL), 0);
            }
            assert_int_equal(og__policy_prepare(policy, &trace, &n_prefill, NULL), 0);
            for (uint32_t i = 0; i < BATCHES; i++) {
                const struct og_rows *rows;
                fill(g, policy, &counts);
                assert_int_equal(
                    og__policy_plan(policy, &planner, ids + ptr[i], ROWS, &b->plan, NULL), 0);
                assert_int_equal(og__gather_begin(g, 0, &b->plan, NULL, 0, NULL), 0);
                assert_int_equal(og__gather_finish(g, 0, &rows, &counts, NULL), 0);
                check_rows(f, rows, ids + ptr[i]);
                og__gather_change(g, &b->plan, rows);
            }
        }
        og__plan_release(&b->plan);
        og__planner_release(&planner);
        og__gather_close(g);
        og__policy_close(policy);
    }
    free(ids);
    free(b);
}

/* Places run through tiers that lie anywhere, in any order of their own. */
static void rows_are_found_through_any_number_of_tiers(void **state)
{
    (void)state;
    static const uint32_t backwards[] = {2, 1, 0};
    static const uint32_t index[] = {0, 9, 4, 1, 6, 2, 8, 3, 7, 5};
    static const float slots[] = {0, 10}, host[] = {40, 30, 20}, victims[] = {50},
                       missed[] = {60, 70, 80, 90};
    const struct og_rows rows = {.base = (const char *)slots,
                                 .index = index,
                                 .stride = sizeof(float),
                                 .n = OG_COUNT(index),
                                 .dim = 1,
                                 .n_more = 3,
                                 .more = {{(const char *)host, 2, backwards},
                                          {(const char *)victims, 5, NULL},
                                          {(const char *)missed, 6, NULL}}};
    _Static_assert(OG_MAX_TIERS >= 4, "slots of a device, of the host, victims, misses");
    for (uint32_t i = 0; i < rows.n; i++)
        assert_true(*(const float *)og__row(&rows, i) == 10 * (float)index[i]);
}

/* Staging grows within the budget and is refused beyond it, with nothing lost. */
static void a_batch_that_does_not_fit_is_refused(void **state)
{
    struct fixture *f = *state;
    struct og_gather_options opt = {
        .n_slots = (const uint32_t[]){0}, .staging_rows = (const uint32_t[]){10}, .n_staging = 1};
    og__profile_load(f->path, &opt.reader.profile);
    struct og_budget *budget = og__budget_new(og__reader_bytes(&opt.reader) + 2 * OG_MIB);
    struct og_policy_setup setup = {.kind = OG_POLICY_NONE, .n_nodes = N};
    struct og_policy *policy;
    struct og_planner planner;
    struct og_gather *g;
    struct batch *b = calloc(1, sizeof(*b));
    assert_int_equal(og__policy_open(&policy, &setup, NULL, NULL), 0);
    assert_int_equal(og__gather_open(&g, &f->ds, 1, &opt, budget, NULL), 0);
    size_t room = og__budget_left(budget);
    assert_int_equal(og__budget_charge(budget, room - 100 * DIM * sizeof(float), "other", NULL), 0);
    og__planner_init(&planner, NULL);
    og__plan_init(&b->plan, NULL);
    draw(b, 1, 200);
    assert_int_equal(og__policy_plan(policy, &planner, b->ids, b->n, &b->plan, NULL), 0);
    struct og_err err = {0};
    assert_int_equal(og__gather_begin(g, 0, &b->plan, NULL, 0, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "staging"));
    draw(b, 1, 90);
    assert_int_equal(og__policy_plan(policy, &planner, b->ids, b->n, &b->plan, NULL), 0);
    const struct og_rows *rows;
    struct og_io_counts counts;
    assert_int_equal(og__gather_begin(g, 0, &b->plan, NULL, 0, NULL), 0);
    assert_int_equal(og__gather_finish(g, 0, &rows, &counts, NULL), 0);
    check_rows(f, rows, b->ids);
    og__gather_close(g);
    og__plan_release(&b->plan);
    og__planner_release(&planner);
    og__policy_close(policy);
    og__budget_free(budget);
    free(b);
}

static double monotonic(void)
{
    struct timespec ts;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Rows that a thread put into the cache during the batches, and its time, are counted once. */
static void filling_tells_what_it_took(void **state)
{
    struct fixture *f = *state;
    enum { SLOTS = 700 };
    const struct og_spill_options kept = {
        .scratch = OG__ONE_PLACE("/tmp"), .memory = 1 << 20, .part = "plan"};
    uint32_t hotness[N];
    uint32_t *list = malloc(2 * OG__FILL_ROWS * sizeof(*list));
    og__hotness_random(5, N, hotness);
    struct og_policy_setup setup = {
        .kind = OG_POLICY_RANDOM, .n_nodes = N, .n_slots = SLOTS, .hotness = hotness};
    struct og_gather_options opt = {.n_slots = (const uint32_t[]){SLOTS},
                                    .staging_rows = (const uint32_t[]){10},
                                    .n_staging = 1,
                                    .fills_during_training = true,
                                    .reader = {.io = OG_IO_PREAD}};
    struct og_fill_windows windows = {0};
    struct og_filled first, second;
    struct og_filling *filling;
    struct og_policy *policy;
    struct og_gather *g;
    struct og_spill *spill;
    uint32_t n_prefill;
    assert_non_null(list);
    assert_int_equal(og__policy_open(&policy, &setup, NULL, NULL), 0);
    assert_int_equal(og__policy_prepare(policy, NULL, &n_prefill, NULL), 0);
    assert_int_equal(og__gather_open(&g, &f->ds, 1, &opt, NULL, NULL), 0);
    assert_int_equal(og__spill_open(&spill, &kept, NULL, NULL), 0);
    assert_int_equal(og__fill_windows_begin(&windows, 1, NULL, NULL), 0);
    assert_int_equal(og__filling_put(&windows, policy, 0, spill, list, NULL), 0);
    assert_int_equal(windows.rows, SLOTS);
    const struct og_filling_options how = {
        .windows = &windows, .from = spill, .to = og__rows_gathered(g)};
    const double start = monotonic();
    assert_int_equal(og__filling_start(&filling, &how, NULL), 0);
    assert_int_equal(og__filling_await(filling, 0, &first, NULL), 0);
    const double took = monotonic() - start;
    assert_int_equal(og__filling_await(filling, 0, &second, NULL), 0);
    og__filling_end(filling);
    assert_true(first.read.reads > 0 && first.read.bytes >= SLOTS * DIM * sizeof(float));
    assert_true(first.seconds > 0 && first.seconds <= took);
    assert_true(second.read.reads == 0 && second.read.bytes == 0 && second.seconds == 0);
    og__fill_windows_release(&windows);
    og__spill_close(spill);
    og__gather_close(g);
    og__policy_close(policy);
    free(list);
}

/* ---- shared by several, which here are of one process ---- */

struct process {
    struct og_budget *budget;
    struct og_policy *policy;
    struct og_gather *gather;
    int fills;
};

static int fill_shared(void *arg, void *at, struct og_err *err)
{
    struct process *s = arg;
    struct og_io_counts counts = {0};
    (void)at, (void)err;
    s->fills++;
    fill(s->gather, s->policy, &counts);
    return 0;
}

static void open_with(struct process *s, struct fixture *f, uint32_t *hotness, uint32_t n_slots,
                      int n_processes)
{
    const struct og_policy_setup setup = {
        .kind = OG_POLICY_RANDOM, .n_nodes = N, .n_slots = n_slots, .hotness = hotness};
    const struct og_gather_options opt = {.n_slots = (const uint32_t[]){n_slots},
                                          .staging_rows = (const uint32_t[]){64},
                                          .n_staging = 2,
                                          .n_processes = n_processes,
                                          .reader = {.io = OG_IO_PREAD}};
    uint32_t n_prefill;
    *s = (struct process){.budget = og__budget_new(0)};
    assert_int_equal(og__policy_open(&s->policy, &setup, s->budget, NULL), 0);
    assert_int_equal(og__policy_prepare(s->policy, NULL, &n_prefill, NULL), 0);
    const size_t before = og__budget_used(s->budget);
    assert_int_equal(og__gather_open(&s->gather, &f->ds, 1, &opt, s->budget, NULL), 0);
    assert_true(og__budget_used(s->budget) - before >=
                n_slots * DIM * sizeof(float) / (size_t)n_processes);
}

static void open_process(struct process *s, struct fixture *f,
                         struct og_shared_memory *shared_memory, uint32_t *hotness,
                         uint32_t n_slots)
{
    open_with(s, f, hotness, n_slots, 3);
    assert_int_equal(og__gather_share(s->gather, shared_memory, 9, fill_shared, s, NULL), 0);
    const size_t all = n_slots * DIM * sizeof(float);
    assert_int_equal(og__gather_counted_elsewhere(s->gather), all - (all + 2) / 3);
}

static void close_process(struct process *s)
{
    og__gather_close(s->gather);
    og__policy_close(s->policy);
    assert_int_equal(og__budget_used(s->budget), 0);
    og__budget_free(s->budget);
}

static void a_shared_cache_is_filled_once(void **state)
{
    struct fixture *f = *state;
    static const uint32_t capacities[] = {1, 700, N};
    uint32_t hotness[N];
    og__hotness_random(5, N, hotness);
    for (size_t c = 0; c < OG_COUNT(capacities); c++) {
        struct og_shared_memory *shared_memory;
        struct process s[3];
        uint64_t misses[3] = {0};
        struct og_io_counts counts = {0};
        assert_int_equal(og__shared_memory_make(&shared_memory, NULL), 0);
        for (int i = 0; i < 3; i++) {
            open_process(&s[i], f, shared_memory, hotness, capacities[c]);
            assert_int_equal(s[i].fills, i == 0);
        }
        for (int i = 0; i < 3; i++) /* staging areas of one are not those of another */
            run_batches(f, s[i].gather, s[i].policy, &misses[i], &counts);
        assert_true(misses[0] == misses[1] && misses[0] == misses[2]);
        assert_true((misses[0] == 0) == (capacities[c] == N));
        for (int i = 0; i < 3; i++)
            close_process(&s[i]);
        og__shared_memory_close(shared_memory);
    }
}

/* Whoever maps it has the rows, at the slots of the plans. */
static void a_cache_that_is_shown_is_seen(void **state)
{
    struct fixture *f = *state;
    enum { SLOTS = 700 };
    const size_t row = DIM * sizeof(float);
    struct process s;
    struct og_shared_memory *shared_memory;
    struct og_shared_memory_piece seen;
    struct og_io_counts counts = {0};
    struct og_planner planner;
    struct batch *all = calloc(1, sizeof(*all));
    uint32_t hotness[N];
    uint32_t there = 0;
    uint64_t misses = 0;
    og__hotness_random(5, N, hotness);
    assert_int_equal(og__shared_memory_make(&shared_memory, NULL), 0);
    open_with(&s, f, hotness, SLOTS, 1);
    assert_int_equal(og__gather_show(s.gather, shared_memory, 9, NULL), 0);
    assert_int_equal(og__gather_counted_elsewhere(s.gather), 0);
    fill(s.gather, s.policy, &counts);
    assert_int_equal(og__shared_memory_area(shared_memory, 9, SLOTS * row, NULL, &seen, NULL), 0);
    og__planner_init(&planner, NULL);
    og__plan_init(&all->plan, NULL);
    draw(all, 1, N);
    assert_int_equal(og__policy_plan(s.policy, &planner, all->ids, N, &all->plan, NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t place = all->plan.place[i];
        if (place >= SLOTS)
            continue;
        assert_memory_equal((const char *)seen.at + place * row,
                            f->features + (size_t)all->ids[i] * DIM, row);
        there++;
    }
    assert_int_equal(there, SLOTS);
    run_batches(f, s.gather, s.policy, &misses, &counts);
    og__plan_release(&all->plan);
    og__planner_release(&planner);
    free(all);
    og__shared_memory_give(&seen);
    close_process(&s);
    og__shared_memory_close(shared_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_through_any_number_of_tiers),
        cmocka_unit_test_setup_teardown(rows_are_the_files_rows, make_features, drop_features),
        cmocka_unit_test_setup_teardown(rows_that_move_are_the_files_rows, make_features,
                                        drop_features),
        cmocka_unit_test_setup_teardown(a_batch_that_does_not_fit_is_refused, make_features,
                                        drop_features),
        cmocka_unit_test_setup_teardown(filling_tells_what_it_took, make_features, drop_features),
        cmocka_unit_test_setup_teardown(a_shared_cache_is_filled_once, make_features,
                                        drop_features),
        cmocka_unit_test_setup_teardown(a_cache_that_is_shown_is_seen, make_features,
                                        drop_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
