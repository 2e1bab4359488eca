/* The memory plan is a function of numbers: no dataset, no disk, nothing measured. */
#include "support/testing.h"

#include "budget/slots.h"
#include "plan/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known: a graph, its batches, what profiling says of what a cache would miss ---- */

static struct og_workload some_workload(void)
{
    struct og_workload f = {
        .n_nodes = 400000,
        .list_bytes = 32 * OG_MIB,
        .group_sampling = {.n_lists = 1,
                           .steps = 1,
                           .words = 1,
                           .n_arrays = 1,
                           .array = {{.bytes = 32 * OG_MIB, .size = 4}}},
        .scratch_disks = 1,
        .row_bytes = 512,
        .cache_rows = 400000,
        .trace = {.n_hops = 2, .n_nodes = 400000},
        .schedule = {.n_seeds = {40000, 4000, 4000},
                     .batch_size = 500,
                     .epochs = 3,
                     .eval_every = 1,
                     .resample_every = 1},
        .bytes = {.structure = 36 * OG_MIB,
                  .neighbors_least = OG_MIB,
                  .neighbors_most = 34 * OG_MIB,
                  .seeds = 200000,
                  .labels = 200000,
                  .sampler = 2 * OG_MIB,
                  .batch = OG_MIB,
                  .model = 300000,
                  .activations = 5 * OG_MIB,
                  .targets = 2000,
                  .input = 20000 * 512,
                  .read = 20000 * 512,
                  .widest = 512,
                  .files = 400000 * 512},
        .profiling_batches = 8,
        .profiling_rows = 18000,
        .group_rows = 20000,
        .growth = {.distinct = 100000, .power = 0.8, .slowing = 0.9},
    };
    f.caps.n_hops = 2;
    f.caps.hop[0].n_dst = 500;
    f.caps.hop[0].n_src = f.caps.hop[1].n_dst = 4500;
    f.caps.hop[0].n_edges = 5000;
    f.caps.hop[1].n_src = 20000;
    f.caps.hop[1].n_edges = 45000;
    return f;
}

/* A batch of 20000 rows: cached ones are missed no more, the hot ones first. */
static int misses_of(const void *arg, const uint64_t *slots, uint64_t *rows, struct og_err *err)
{
    const double held = (double)*slots / 400000;
    (void)arg;
    (void)err;
    *rows = (uint64_t)(20000 * (1 - held) * (1 - held));
    return 0;
}

static struct og_group_size planned; /* last */
static const struct og_misses misses = {misses_of, NULL};

static struct og_graph graph;
static struct og_group group = {.graph = &graph, .name = "", .n_nodes = 400000, .dim = 128};
static struct og_graph graph = {.n_nodes = 400000, .n_groups = 1, .group = &group};

struct row {
    int policy, layout, topology;
    bool alternate;
    int resample_every, memory; /* MiB */
    const char *cache;          /* NULL = as much as there is room for */
    int n_handed;               /* batches of 6 MiB that a caller has */
    /* what is planned */
    int smallest; /* MiB */
    uint32_t n_slots, superbatch;
    int n_staging;
    size_t neighbors; /* MiB */
    uint32_t group_sampling;
};

/* And of the disk. */
static struct {
    uint64_t bytes;    /* 0 = as many as are needed */
    const char *lists; /* --neighbor-cache; NULL = as much as there is room for */
    uint32_t folders;  /* of --scratch; 0 = one */
    uint64_t away;     /* what the plan made last takes */
} disk;

enum { HANDED = 6 }; /* MiB of a batch that a caller has */

static int plan(const struct row *r, size_t limit, struct og_memory_plan *m, struct og_err *err)
{
    struct og_config config = {.want = OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING};
    struct og_workload workload = some_workload();
    struct og_rows_known rows = {.row_bytes = 512, .rows = 20000, .read = 20000};
    const struct og_upper_tier nothing = {0};
    const struct og_slots_given given = {.misses = &misses, .upper = &nothing};
    const struct og_exec_plan exec = {.policy = r->policy,
                                      .layout = r->layout,
                                      .topology = r->topology,
                                      .alternate = r->alternate,
                                      .reuses = r->resample_every > 1,
                                      .models = true,
                                      .threads = 4};
    const struct og_plan_inputs plan_inputs = {&config, &workload, &exec};
    config.handover.n = r->n_handed;
    workload.bytes.handed = HANDED * OG_MIB;
    workload.bytes.sampler_reading = r->topology == OG_TOPOLOGY_DISK ? 4 * OG_MIB : 0;
    workload.bytes.structure_training = r->topology == OG_TOPOLOGY_DISK ? OG_MIB : 0;
    og__options_init(&config.opt);
    config.opt.epochs = 3;
    config.opt.n_fanout = 2;
    config.opt.io = OG_IO_PREAD;
    config.opt.memory = (struct og_amount){OG_BYTES, (double)limit};
    workload.bytes.reader = og__reader_bytes(&(struct og_reader_options){.io = OG_IO_PREAD});
    workload.graph = workload.row_graph = &graph;
    workload.group = &rows;
    workload.n_groups = 1;
    config.disk = disk.bytes ? disk.bytes : 1000000000000;
    config.whole.times = workload.scratch_disks = OG_MAX(disk.folders, 1u);
    if (disk.lists)
        assert_int_equal(og_options_set(&config.opt, "neighbor-cache", disk.lists, NULL), 0);
    config.opt.resample_every = workload.schedule.resample_every = r->resample_every;
    if (r->cache)
        assert_int_equal(og_options_set(&config.opt, "cache", r->cache, NULL), 0);
    workload.cache_rows = og__cache_rows(&config.opt.cache, workload.n_nodes, workload.row_bytes);
    int rc = og__memory_plan(m, &plan_inputs, &given, &planned, err);
    disk.away = og__memory_plan_away(m, &plan_inputs);
    og__options_release(&config.opt);
    return rc;
}

/* ---- tables ---- */

enum { RAW = OG_LAYOUT_RAW, PACKED = OG_LAYOUT_PACKED, SEGMENTED = OG_LAYOUT_SEGMENTED };
enum { MEMORY = OG_TOPOLOGY_MEMORY, DISK = OG_TOPOLOGY_DISK };

static const struct row rows[] = {
    {OG_POLICY_DEGREE, RAW, MEMORY, false, 1, 120, NULL, 0, 74, 81520, 0, 2, 0, 0},
    {OG_POLICY_DEGREE, RAW, MEMORY, false, 1, 400, NULL, 0, 74, 400000, 0, 2, 0, 0},
    {OG_POLICY_DEGREE, RAW, MEMORY, false, 1, 400, "10%", 0, 74, 40000, 0, 2, 0, 0},
    {OG_POLICY_DEGREE, RAW, MEMORY, false, 1, 400, "1M", 0, 74, 2048, 0, 2, 0, 0},
    {OG_POLICY_NONE, RAW, MEMORY, false, 1, 400, NULL, 0, 74, 0, 0, 2, 0, 0},
    {OG_POLICY_DEGREE, RAW, DISK, false, 1, 120, NULL, 0, 82, 40573, 0, 2, 0, 80},
    {OG_POLICY_BELADY, RAW, DISK, true, 1, 120, NULL, 0, 101, 164053, 168, 2, 0, 168},
    {OG_POLICY_BELADY, RAW, MEMORY, false, 1, 200, NULL, 0, 84, 207723, 88, 2, 0, 0},
    {OG_POLICY_FREQUENCY, PACKED, MEMORY, true, 1, 200, NULL, 0, 84, 335282, 264, 2, 0, 0},
    {OG_POLICY_FREQUENCY, PACKED, MEMORY, false, 2, 200, NULL, 0, 115, 132940, 88, 2, 0, 0},
    {OG_POLICY_BELADY, SEGMENTED, MEMORY, true, 1, 200, NULL, 0, 85, 334633, 264, 2, 0, 0},
    {OG_POLICY_HYBRID, RAW, MEMORY, true, 1, 200, NULL, 0, 98, 326580, 264, 2, 0, 0},
    {OG_POLICY_SWEEP, RAW, MEMORY, false, 1, 200, NULL, 0, 94, 199538, 88, 2, 0, 0},
};

static int print_row(const struct row *r)
{
    struct og_memory_plan m;
    struct og_err err = {0};
    int rc = plan(r, (size_t)r->memory * OG_MIB, &m, &err);
    print_message("    {%d, %d, %d, %d, %d, %d, %s, 0, %zu, %u, %llu, %d, %zu, %u},  %s\n",
                  r->policy, r->layout, r->topology, r->alternate, r->resample_every, r->memory,
                  r->cache ? r->cache : "NULL", m.smallest / OG_MIB, m.n_slots,
                  (unsigned long long)m.superbatch, m.n_staging, m.neighbors / OG_MIB,
                  m.sample_group.batches, err.message);
    return rc;
}

static void sizes_are_those_of_the_table(void **state)
{
    (void)state;
    int differ = 0;
    for (size_t i = 0; i < OG_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        struct og_memory_plan m;
        struct og_err err = {0};
        if (plan(r, (size_t)r->memory * OG_MIB, &m, &err) < 0 ||
            m.smallest / OG_MIB != (size_t)r->smallest || m.n_slots != r->n_slots ||
            m.superbatch != r->superbatch || m.n_staging != r->n_staging ||
            m.neighbors / OG_MIB != r->neighbors || m.sample_group.batches != r->group_sampling) {
            print_row(r);
            differ++;
        }
    }
    assert_int_equal(differ, 0);
}

/* Batches that a caller has are as much more, and as many rows fewer are cached. */
static void batches_handed_over_are_planned_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(rows); i++) {
        struct row r = rows[i];
        struct og_memory_plan none, some;
        struct og_err err = {0};
        const size_t limit = (size_t)(r.memory + 100) * OG_MIB;
        assert_int_equal(plan(&r, limit, &none, NULL), 0);
        r.n_handed = 3;
        assert_int_equal(plan(&r, limit, &some, NULL), 0);
        assert_int_equal(some.handed, (size_t)3 * HANDED * OG_MIB);
        assert_in_range(some.smallest, none.smallest + some.handed - some.handed_released,
                        none.smallest + some.handed + 2 * OG_MIB); /* margins are shares of it */
        assert_true(some.n_slots <= none.n_slots);
        assert_true(og__memory_plan_sum(&some) <= limit);
        assert_int_equal(plan(&r, none.smallest, &some, &err), -ENOMEM);
        assert_non_null(strstr(err.message, "batches handed over 18.00 MiB"));
    }
}

/* What prepares a superbatch has the memory of one. So the cache loses less than half of it. Not
 * with phased memory: the cache has gone then. */
static void a_superbatch_is_prepared_in_the_memory_of_a_batch(void **state)
{
    (void)state;
    int looked = 0;
    for (size_t i = 0; i < OG_COUNT(rows); i++) {
        struct row r = rows[i];
        struct og_memory_plan one, none, less;
        const size_t limit = (size_t)r.memory * OG_MIB;
        assert_int_equal(plan(&r, limit, &none, NULL), 0);
        assert_int_equal(plan(&r, limit - HANDED * OG_MIB, &less, NULL), 0);
        r.n_handed = 1;
        assert_int_equal(plan(&r, limit, &one, NULL), 0);
        assert_int_equal(one.handed_released, r.superbatch > 0 ? one.handed : 0);
        if (r.superbatch == 0 || r.alternate)
            continue;
        assert_in_range(one.n_slots, (less.n_slots + none.n_slots) / 2, none.n_slots);
        looked += less.n_slots < none.n_slots;
    }
    assert_int_equal(looked, 3);
}

/* ---- of any execution plan ---- */

static const int policies[] = {OG_POLICY_NONE,   OG_POLICY_DEGREE, OG_POLICY_PAGERANK,
                               OG_POLICY_LRU,    OG_POLICY_RR,     OG_POLICY_FREQUENCY,
                               OG_POLICY_BELADY, OG_POLICY_HYBRID, OG_POLICY_SWEEP};

/* Every execution plan there is, and whether batches are drawn again. */
static void each_way(void (*look)(const struct row *r))
{
    for (size_t p = 0; p < OG_COUNT(policies); p++)
        for (int layout = RAW; layout <= SEGMENTED; layout++)
            for (int topology = MEMORY; topology <= DISK; topology++)
                for (int more = 0; more < 4; more++) {
                    const struct row r = {.policy = policies[p],
                                          .layout = layout,
                                          .topology = topology,
                                          .alternate = more & 1,
                                          .resample_every = more & 2 ? 2 : 1};
                    look(&r);
                }
}

static int failures;

static void complain(const struct row *r, size_t limit, const char *what, const char *message)
{
    print_message("policy %d, layout %d, topology %d, alternate %d, resample %d, %zu MiB: %s %s\n",
                  r->policy, r->layout, r->topology, r->alternate, r->resample_every,
                  limit / OG_MIB, what, message);
    failures++;
}

static void look_at_the_smallest(const struct row *r)
{
    struct og_memory_plan m;
    struct og_err err = {0};
    assert_int_not_equal(plan(r, OG_MIB, &m, &err), 0);
    const size_t least = m.smallest;
    err = (struct og_err){0};
    if (plan(r, least, &m, &err) < 0)
        complain(r, least, "the smallest is not enough:", err.message);
    if (plan(r, least - OG_MIB, &m, &err) == 0)
        complain(r, least, "less is enough", "");
}

static void the_smallest_that_is_named_is_enough(void **state)
{
    (void)state;
    failures = 0;
    each_way(look_at_the_smallest);
    assert_int_equal(failures, 0);
}

/* More memory never caches less, and what is planned is no more than there is. */
static void look_at_more(const struct row *r)
{
    struct og_memory_plan m;
    struct og_err err = {0};
    for (size_t limit = 64 * OG_MIB; limit <= 2048 * OG_MIB; limit += limit / 4) {
        if (plan(r, limit, &m, &err) < 0)
            continue;
        if (og__memory_plan_sum(&m) > limit)
            complain(r, limit, "it plans more than there is", "");
        if (m.n_slots > 400000 || planned.staging_rows > 20000)
            complain(r, limit, "it plans more rows than there are", "");
        if (limit > 1500 * OG_MIB && m.n_slots < 400000 && r->policy != OG_POLICY_NONE)
            complain(r, limit, "it has room for all rows, and caches fewer", "");
    }
}

static void plans_keep_to_the_limit(void **state)
{
    (void)state;
    failures = 0;
    each_way(look_at_more);
    assert_int_equal(failures, 0);
}

/* Tables of policies that let single rows in double at powers of two. What a policy takes when it
 * is opened with the planned slots is no more than was planned for it. */
static size_t bytes_when_open(int kind, uint32_t n_slots)
{
    const struct og_policy_setup setup = {.kind = kind, .n_nodes = 400000, .n_slots = n_slots};
    struct og_budget *budget = og__budget_new(SIZE_MAX / 2);
    struct og_policy *policy;
    assert_non_null(budget);
    assert_int_equal(og__policy_open(&policy, &setup, budget, NULL), 0);
    const size_t bytes = SIZE_MAX / 2 - og__budget_left(budget);
    og__policy_close(policy);
    og__budget_free(budget);
    return bytes;
}

static bool is_above_a_power_of_two(uint32_t n)
{
    uint32_t power = 1u << 16;
    while (2 * power < n)
        power *= 2;
    return n > power && n < power + power / 16;
}

static void tables_that_double_are_planned_for(void **state)
{
    (void)state;
    static const int kinds[] = {OG_POLICY_LRU, OG_POLICY_CLOCK, OG_POLICY_SIEVE, OG_POLICY_TINYLFU,
                                OG_POLICY_S3FIFO};
    int looked = 0;
    failures = 0;
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (size_t limit = 90 * OG_MIB; limit < 300 * OG_MIB; limit += OG_MIB) {
            const struct row r = {.policy = kinds[k], .resample_every = 1};
            struct og_memory_plan m;
            assert_int_equal(plan(&r, limit, &m, NULL), 0);
            if (!is_above_a_power_of_two(m.n_slots))
                continue;
            const size_t others = og__memory_plan_sum(&m) - m.policy - m.policy_slots;
            if (others + bytes_when_open(kinds[k], m.n_slots) + m.slack > limit)
                complain(&r, limit, "the policy takes more than was planned", "");
            looked++;
        }
    assert_int_equal(failures, 0);
    assert_true(looked > 20);
}

/* ---- packing ---- */

/* With phased memory, misses are written over the ids of batches. So nearly as many batches are
 * prepared at a time as without packing, which takes 2 MiB for nodes and buffers, whatever the
 * batches. */
static void packing_takes_no_batches_away(void **state)
{
    (void)state;
    static const int ahead[] = {OG_POLICY_FREQUENCY, OG_POLICY_BELADY};
    for (size_t i = 0; i < OG_COUNT(ahead); i++)
        for (size_t limit = 100; limit < 160; limit += 10) {
            const struct row raw = {.policy = ahead[i], .alternate = true, .resample_every = 1};
            struct row packed = raw;
            struct og_memory_plan one, other;
            packed.layout = PACKED;
            assert_int_equal(plan(&raw, limit * OG_MIB, &one, NULL), 0);
            assert_int_equal(plan(&packed, (limit + 2) * OG_MIB, &other, NULL), 0);
            assert_true(other.superbatch >= one.superbatch);
        }
}

/* ---- --disk ---- */

/* A persistent cache of lists is whole in the first folder, so equal shares have less left each.
 * One with an explicit size larger than all lists is as large as they are. */
static void lists_that_are_kept_leave_room_on_the_disk(void **state)
{
    (void)state;
    static const char *const requested[] = {"20M", "34M", "1G"};
    static const struct row r = {
        .policy = OG_POLICY_BELADY, .topology = DISK, .alternate = true, .resample_every = 1};
    failures = 0;
    for (disk.bytes = 60 * OG_MIB; disk.bytes <= 480 * OG_MIB; disk.bytes *= 2)
        for (size_t i = 0; i < OG_COUNT(requested); i++)
            for (disk.folders = 1; disk.folders <= 3; disk.folders++) {
                struct og_memory_plan m;
                disk.lists = requested[i];
                assert_int_equal(plan(&r, 400 * OG_MIB, &m, NULL), 0);
                const uint64_t lists = m.neighbors * disk.folders;
                assert_true(lists > 0 && disk.away > 0);
                if (lists <= disk.bytes && m.superbatch > 1 && disk.away + lists > disk.bytes)
                    complain(&r, disk.bytes, "more than --disk is planned beside lists",
                             requested[i]);
            }
    memset(&disk, 0, sizeof(disk));
    assert_int_equal(failures, 0);
}

/* Arrays of batches lie whole in one folder or another: what the fullest may have is a share. */
static void uneven_shares_are_planned_for(void **state)
{
    (void)state;
    static const struct row r = {
        .policy = OG_POLICY_BELADY, .alternate = true, .resample_every = 1};
    struct og_memory_plan one, two;
    disk.bytes = 60 * OG_MIB;
    assert_int_equal(plan(&r, 200 * OG_MIB, &one, NULL), 0);
    const uint64_t each = disk.away / one.superbatch;
    disk.folders = 2;
    assert_int_equal(plan(&r, 200 * OG_MIB, &two, NULL), 0);
    assert_true(two.superbatch < one.superbatch);
    assert_true(disk.away / two.superbatch > each + each / 20);
    assert_true(disk.away <= disk.bytes);
    memset(&disk, 0, sizeof(disk));
}

/* ---- --cache ---- */

static void a_cache_is_read_in_one_way(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t n_nodes;
        size_t row_bytes;
        uint64_t rows;
    } table[] = {
        {"", 10, 4, 10},         {"0", 10, 4, 0},      {"100%", 10, 4, 10}, {"25%", 10, 4, 2},
        {"99.99%", 10, 4, 9},    {"1K", 1000, 4, 256}, {"1K", 10, 4, 10},   {"1K", 1000, 1000, 1},
        {"1023", 1000, 1024, 0}, {"0%", 1000, 1, 0},
    };
    for (size_t i = 0; i < OG_COUNT(table); i++) {
        struct og_options opt;
        og__options_init(&opt);
        if (*table[i].text)
            assert_int_equal(og_options_set(&opt, "cache", table[i].text, NULL), 0);
        assert_int_equal(og__cache_rows(&opt.cache, table[i].n_nodes, table[i].row_bytes),
                         table[i].rows);
        og__options_release(&opt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_the_table),
        cmocka_unit_test(batches_handed_over_are_planned_for),
        cmocka_unit_test(a_superbatch_is_prepared_in_the_memory_of_a_batch),
        cmocka_unit_test(the_smallest_that_is_named_is_enough),
        cmocka_unit_test(plans_keep_to_the_limit),
        cmocka_unit_test(tables_that_double_are_planned_for),
        cmocka_unit_test(packing_takes_no_batches_away),
        cmocka_unit_test(lists_that_are_kept_leave_room_on_the_disk),
        cmocka_unit_test(uneven_shares_are_planned_for),
        cmocka_unit_test(a_cache_is_read_in_one_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
