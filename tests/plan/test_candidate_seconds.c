/* Seconds of a candidate, computed by hand. */
#include "plan/candidate_fixture.h"

/* ---- seconds, by hand ---- */

static void assert_seconds(double is, double want)
{
    if (fabs(is - want) > 1e-9)
        fail_msg("%g seconds, not %g", is, want);
}

static void straight_is_as_slow_as_its_slowest_stage(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {.policy = {.kind = OG_POLICY_NONE}};
    struct og_estimate e = estimate(&h.g, c);
    /* 12 rows of a KiB at a KiB a second; requests cost nothing here */
    assert_seconds(e.term[OG__READING], 12);
    assert_seconds(e.term[OG__SAMPLING], 4); /* 8 core-seconds, two samplers */
    assert_seconds(e.term[OG__PLANNING], 3);
    assert_seconds(e.term[OG__TRAINING], 4);
    assert_seconds(e.term[OG__CORES], (8 + 3) / 2.0 + 4);
    /* and the first batch through the others */
    assert_seconds(e.epoch, 12 + (4 + 3 + 4) / 4.0);
    assert_int_equal(e.reads, 12);
    assert_int_equal(e.bytes_read, 12 * 1024);
    assert_string_equal(e.why,
                        "reading what batches miss takes 12 of 14.8 s: 12.00 KiB in 12 reads");
    h.g.disk.iops = 0.5; /* here they do */
    assert_seconds(estimate(&h.g, c).term[OG__READING], 12 + 24);
    /* a cache that stays is filled once */
    set_by_hand(&h);
    h.g.epochs = 4;
    c.policy = (struct og_policy_setup){.kind = OG_POLICY_DEGREE, .n_slots = 11};
    e = estimate(&h.g, c); /* nodes 0 to 10 are consecutive */
    assert_seconds(e.prepare, 11);
    assert_int_equal(e.counts.misses, 8);
    assert_seconds(e.epoch, 9.5 + (4 + 3 + 8 + 4) / 4.0); /* now the cores are slowest */
    assert_seconds(e.seconds, e.epoch + 11 / 4.0);
    assert_int_equal(e.bytes_read, 8 * 1024);
    assert_non_null(strstr(e.why, "all work of the cores takes 9.5 of 14"));
    /* an epoch twice as long as the trace, and edges that are read as well */
    h.g.epoch_batches = 8;
    h.g.topology = (struct og_io_counts){3, 40960};
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__READING], 16);
    assert_seconds(e.term[OG__SAMPLING], 40);
    assert_seconds(e.term[OG__DISK], 56);
    assert_int_equal(e.bytes_read, 40960 + 16 * 1024);
    assert_int_equal(e.reads, 3 + 16);
    /* three groups of up to three batches, two hops: at most six passes over the file */
    h.g.structure_bytes = 5000;
    h.g.hops = 2;
    assert_int_equal(estimate(&h.g, c).bytes_read, 40960 + 16 * 1024);
    c.group_sampling = 3;
    assert_int_equal(estimate(&h.g, c).bytes_read, 6 * 5000 + 16 * 1024);
    h.g.structure_bytes = 10000;
    assert_int_equal(estimate(&h.g, c).bytes_read, 40960 + 16 * 1024);
}

/* The trace came from memory: all passes are counted, and read from the topology's own disk. No
 * batch begins before all are sampled. */
static void structure_that_moves_is_read_in_passes(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.structure_bytes = 5000;
    h.g.hops = 2;
    h.g.times.group_sampling = 3;
    struct og_candidate c = {
        .policy = {.kind = OG_POLICY_NONE}, .group_sampling = 3, .moves = true};
    struct og_estimate e = estimate(&h.g, c); /* two groups */
    assert_int_equal(e.bytes_read, 4 * 5000 + 12 * 1024);
    assert_seconds(e.term[OG__SAMPLING], 4 * 5000 / 1024.0);
    h.g.structure_disk = (struct og_disk_profile){.iops = 1e15, .bandwidth = 5000};
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__SAMPLING], 3 * 8 / 2.0);
    assert_seconds(e.term[OG__READING], 12);
    assert_seconds(e.epoch, 12 + (12 + (3 + 4) / 4.0));
    assert_non_null(strstr(e.why, "of 25.8 s"));
    c.moves = false; /* it was there already: by the trace, which read nothing */
    assert_int_equal(estimate(&h.g, c).bytes_read, 12 * 1024);
}

/* What the cache holds costs what it does there, the rest as the trace's batches took. */
static void cached_lists_are_drawn_faster(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {.policy = {.kind = OG_POLICY_NONE}, .lists_cached = 0.75};
    assert_seconds(estimate(&h.g, c).term[OG__SAMPLING], 4); /* not known how much */
    h.g.times.cached = 0.5;
    assert_seconds(estimate(&h.g, c).term[OG__SAMPLING], 4 * (0.25 + 0.75 * 0.5));
    c.lists_cached = 0;
    assert_seconds(estimate(&h.g, c).term[OG__SAMPLING], 4);
}

/* One batch after another: the times of all stages, and one thread that samples. */
static void one_by_one_is_as_slow_as_all_stages(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.one_by_one = true;
    struct og_candidate c = {.policy = {.kind = OG_POLICY_NONE}};
    struct og_estimate e = estimate(&h.g, c);
    assert_seconds(e.term[OG__SAMPLING], 8);
    assert_seconds(e.epoch, 8 + 3 + 12 + 4);
    /* a superbatch is sampled on all threads; sweep and chunks before, reading them and training */
    c = (struct og_candidate){
        .policy = {.kind = OG_POLICY_NONE}, .layout = OG__PACKED, .superbatch = 4};
    e = estimate(&h.g, c);
    assert_seconds(e.epoch, 4 + 3 + (8 + 48) + (4 + 4));
}

static void packing_comes_before_training(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {
        .policy = {.kind = OG_POLICY_NONE}, .layout = OG__PACKED, .superbatch = 4};
    struct og_estimate e = estimate(&h.g, c);
    /* eight rows are missed by any; four chunks of 3 KiB, each a block, after head and table */
    assert_seconds(e.term[OG__SWEEPING], 8);
    assert_seconds(e.term[OG__WRITING], (4 + 2) * 8);
    assert_seconds(e.term[OG__READING], 4); /* what was just written comes faster */
    assert_seconds(e.term[OG__COPYING], 12 / 3.0);
    assert_seconds(e.epoch, 4 + 3 + (8 + 48) + (4 + 4 / 4.0)); /* one disk for both */
    assert_seconds(e.prepare, 0);
    assert_int_equal(e.bytes_written, 6 * 4096);
    assert_int_equal(e.counts.disk, 6 * 4096);
    assert_non_null(strstr(e.why, "writing takes 48 of 68 s"));
    h.g.apart = true; /* a disk for each */
    assert_seconds(estimate(&h.g, c).epoch, 4 + 3 + 48 + (4 + 4 / 4.0));
    h.g.apart = false;
    h.g.row_bytes = 512; /* narrower than the file's: less is copied, as much is swept */
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__SWEEPING], 8);
    assert_seconds(e.term[OG__COPYING], 6 / 3.0);
}

static void reuse_shares_preparation(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 2},
                             .layout = OG__PACKED,
                             .resample_every = 4,
                             .superbatch = 4,
                             .spill_bytes = 4096};
    struct og_estimate e = estimate(&h.g, c);
    /* nodes 0 and 10 are kept: of those that come twice, 40, 50, 0 and 10, the smaller */
    assert_int_equal(e.counts.prefill, 2);
    assert_int_equal(e.counts.misses, 8);
    double spilled = 8;            /* longer than sampling, 4 */
    double pack = 6 + (4 + 2) * 8; /* the sweep; chunks */
    double once = spilled + 12 * 0.375 + pack + 2;
    double each = 5 + 4 / 4.0; /* reading chunks and blocks; training */
    assert_seconds(e.term[OG__READING], 4 + 1);
    assert_seconds(e.epoch, once / 4 + each);
    /* six epochs need two samples */
    h.g.epochs = 6;
    e = estimate(&h.g, c);
    assert_seconds(e.epoch, once * 2 / 6 + each);
    /* plans that hold in any order are kept as well where rows are read raw */
    h.g.epochs = 0;
    c.layout = OG__RAW;
    e = estimate(&h.g, c);
    assert_seconds(e.epoch, (8 + 4.5 + 2) / 4.0 + (8 + 1) + 4 / 4.0);
}

/* Two superbatches, each with a cache of its own; and released rows are read again. */
static void every_superbatch_fills_the_cache(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 2},
                             .superbatch = 2,
                             .reload_bytes = 5 * 1024};
    struct og_estimate e = estimate(&h.g, c);
    assert_int_equal(e.counts.prefill, 4); /* 0 and 10; 40 and 50 */
    assert_seconds(e.term[OG__FILLING], 4);
    assert_seconds(e.term[OG__SAMPLING], 2 * 5);
    assert_seconds(e.epoch, 10 + 4.5 + 4 + (4 + 4.0 * 2 / 4));
    assert_int_equal(e.bytes_read, (10 + 4 + 4) * 1024);
    h.g.epoch_batches = 8;
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__FILLING], 8);
    assert_seconds(e.term[OG__SAMPLING], 4 * 5);
    /* a cache that stays fills the slots that it had released; half of them here */
    set_by_hand(&h);
    c.policy = (struct og_policy_setup){.kind = OG_POLICY_DEGREE, .n_slots = 10};
    c.superbatch = 4;
    c.n_released = 5;
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__FILLING], 5);
    assert_seconds(e.prepare, 10);
}

/* A superbatch of more batches than the trace. What it scans and fills grows with its nodes, and
 * ends with the file. */
static void longer_superbatches_read_the_file_once(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.epochs = 4;
    h.g.distinct = 8;
    h.g.growth = 1;
    struct og_candidate c = {
        .policy = {.kind = OG_POLICY_NONE}, .layout = OG__PACKED, .superbatch = 16};
    /* eight rows in four batches, 32 in 16, which are all four epochs */
    assert_seconds(estimate(&h.g, c).term[OG__SWEEPING], 32 / 4.0);
    /* twice as many nodes for the first four batches more, then 2^(1/2), 2^(1/4) ... times */
    h.g.slowing = 0.5;
    assert_seconds(estimate(&h.g, c).term[OG__SWEEPING], 8 * exp2(0.5 + 0.25) / 4);
    h.g.slowing = 0;
    h.g.n_nodes = 80;
    h.g.growth = 2; /* 128 rows: more than there are */
    assert_seconds(estimate(&h.g, c).term[OG__SWEEPING], 80 / 4.0);
    /* two epochs that share a sample need no more rows than one */
    h.g.growth = 1;
    c.policy = (struct og_policy_setup){.kind = OG_POLICY_BELADY};
    c.layout = OG__RAW;
    c.policy.n_slots = 40;
    c.resample_every = 2;
    struct og_estimate e = estimate(&h.g, c);
    assert_seconds(e.term[OG__FILLING], 16 / 4.0);
    assert_seconds(e.term[OG__READING], 0);
    c.resample_every = 4;
    assert_seconds(estimate(&h.g, c).term[OG__FILLING], 8 / 4.0);
    /* and where a cache has but room for some, the others are missed */
    c.resample_every = 1;
    c.policy.n_slots = 12;
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__FILLING], 12 / 4.0);
    assert_seconds(e.term[OG__READING], (32 - 12) / 4.0);
    /* or packed: they are swept up, written and read in one run */
    c.layout = OG__PACKED;
    const double written = (double)estimate(&h.g, c).counts.written / 512;
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__SWEEPING], (32 - 12) / 4.0);
    assert_seconds(e.term[OG__WRITING], written + (32 - 12) / 4.0 * 2);
    assert_seconds(e.term[OG__READING], (32 - 12) / 4.0 / 4);
    h.g.rule.gap = 4096; /* so near one another that all of the file is read, but once: the same */
    e = estimate(&h.g, c); /* sweep fills the cache */
    assert_seconds(e.term[OG__FILLING], 12 / 4.0);
    assert_seconds(e.term[OG__SWEEPING], (80 - 12) / 4.0);
}

/* Bytes read for so many rows anywhere in the file, on average. */
static double drawn_bytes(const struct og_cost_inputs *g, uint32_t rows)
{
    enum { DRAWS = 4000, MOST = 16 };
    double sum = 0;
    for (uint32_t d = 0; d < DRAWS; d++) {
        struct og_permutation order;
        uint32_t drawn[MOST];
        uint32_t spare[MOST];
        og__permutation_init(&order, g->n_nodes, 27, d);
        for (uint32_t i = 0; i < rows; i++)
            drawn[i] = (uint32_t)og__permutation_at(&order, i);
        og__sort_ids(drawn, spare, rows);
        sum += (double)og__read_rule_predict(&g->rule, spare, rows).bytes;
    }
    return sum / DRAWS;
}

/* The first superbatch of a run fills the cache, later ones with what their batches bring. */
static void later_superbatches_keep_what_they_need(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.epochs = 4;
    h.g.distinct = 8;
    h.g.growth = 0.5;
    struct og_candidate c = {.policy = {.kind = OG_POLICY_BELADY, .n_slots = 8}, .superbatch = 4};
    const double anew = exp2(0.5) - 1;
    assert_seconds(estimate(&h.g, c).term[OG__FILLING], (8 + 3 * anew * 8) / 4);
    c.resample_every = 4; /* the same rows, all of them there */
    assert_seconds(estimate(&h.g, c).term[OG__FILLING], (8 + 3 * anew / 4 * 8) / 4);
    c.n_released = 4; /* but half of them gave way */
    c.resample_every = 1;
    assert_seconds(estimate(&h.g, c).term[OG__FILLING], (8 + 3 * (0.5 + anew / 2) * 8) / 4);
    /* half as many rows take less than half of the reading, since gaps between near ones are
     * read */
    c.n_released = 0;
    h.g.growth = log2(1.5); /* four of eight are new */
    h.g.rule.gap = 4096;
    const double among = drawn_bytes(&h.g, 4) / drawn_bytes(&h.g, 8);
    const struct og_estimate near = estimate(&h.g, c);
    const double first = (double)near.counts.first_fill.bytes / 1024;
    assert_true(among < 0.45);
    assert_true(fabs(near.term[OG__FILLING] / ((1 + 3 * among) * first / 4) - 1) < 0.03);
    /* seconds that opening took are a run's, once */
    const struct og_estimate none = estimate(&h.g, c);
    h.g.times.before = 6;
    const struct og_estimate some = estimate(&h.g, c);
    assert_seconds(some.prepare, none.prepare + 6);
    assert_seconds(some.seconds, none.seconds + 6 / 4.0);
    assert_seconds(some.epoch, none.epoch);
}

/* ---- from a few batches to many ---- */

/* Batches of nodes whose visits fall like a power of their rank, as on graphs. */
static void draw_skewed(uint32_t *ids, uint64_t *ptr)
{
    struct og_rng rng;
    bool seen[VISITED];
    og__rng_at(&rng, 26, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t b = 0; b < LONG; b++) {
        uint32_t n = 0;
        memset(seen, 0, sizeof(seen));
        while (n < BATCH) {
            const double u = og__rng_u32(&rng) / 4294967296.0;
            const uint32_t v = (uint32_t)(VISITED * u * u * u);
            if (!seen[v])
                ids[ptr[b] + n++] = v;
            seen[v] = true;
        }
        ptr[b + 1] = ptr[b] + n;
    }
}

/* One batch, by the visits of all the others; equally visited nodes share what is left. */
static double hits_by_others(const uint32_t *ids, const uint64_t *ptr, uint32_t out, uint32_t slots)
{
    uint32_t visits[VISITED] = {0};
    double there[SHORT + 1] = {0};
    double hits = 0;
    for (uint32_t b = 0; b < SHORT; b++)
        for (uint64_t i = ptr[b]; b != out && i < ptr[b + 1]; i++)
            visits[ids[i]]++;
    for (uint32_t v = 0; v < VISITED; v++)
        there[visits[v]]++;
    double left = slots;
    for (uint32_t k = SHORT; k > 0; k--) {
        const double held = OG_MIN(there[k], left);
        for (uint64_t i = ptr[out]; i < ptr[out + 1]; i++)
            hits += visits[ids[i]] == k ? held / there[k] : 0;
        left -= held;
    }
    return hits;
}

/* Misses in many batches of a cache chosen by visits, predicted from a few of them. */
static void a_few_batches_tell_of_many(void **state)
{
    (void)state;
    static uint32_t ids[LONG * BATCH];
    static uint64_t ptr[LONG + 1];
    const uint32_t sizes[] = {100, 300, 600};
    draw_skewed(ids, ptr);
    struct by_hand h;
    set_by_hand(&h);
    h.g.n_nodes = VISITED;
    h.g.epoch_batches = LONG;
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        const struct og_candidate c = {.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = sizes[i]},
                                       .layout = OG__PACKED,
                                       .resample_every = 1,
                                       .superbatch = LONG,
                                       .sweep_memory = 1 << 22};
        h.g.trace = (struct og_trace){SHORT, ptr, ids};
        const struct og_estimate told = estimate(&h.g, c);
        double out = 0;
        for (uint32_t b = 0; b < SHORT; b++)
            out += BATCH - hits_by_others(ids, ptr, b, sizes[i]);
        assert_true(fabs((double)told.counts.held_out / out - 1) < 0.005);
        h.g.trace = (struct og_trace){LONG, ptr, ids};
        const struct og_estimate counted = estimate(&h.g, c);
        const double few = (double)told.counts.misses * LONG / SHORT;
        const double many = (double)counted.counts.misses;
        const double off = (double)told.bytes_written / (double)counted.bytes_written - 1;
        assert_true(few < 0.97 * many); /* what was drawn does not decide by itself */
        assert_true(fabs(off) < 0.08 && fabs(off) < fabs(few / many - 1) / 2);
        /* of a superbatch as long as the trace it does */
        h.g.trace = (struct og_trace){SHORT, ptr, ids};
        struct og_candidate brief = c;
        brief.superbatch = SHORT;
        const struct og_estimate exact = estimate(&h.g, brief);
        assert_int_equal(exact.bytes_written, exact.counts.written * (LONG / SHORT));
    }
}

/* Places stand for the placement of a cache of any size. */
static void places_keep_what_a_placement_keeps(void **state)
{
    (void)state;
    enum { N = 300 };
    struct og_budget *budget = og__budget_new(SIZE_MAX);
    uint32_t hotness[N];
    uint32_t place[N];
    struct og_rng rng;
    enum { ROWS = 2 * N };
    uint32_t ids[ROWS];
    struct og_profiling profiling = {.ids = ids, .rows = ROWS};
    og__rng_at(&rng, 25, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t v = 0; v < N; v++)
        place[v] = hotness[v] = og__rng_below(&rng, 20);
    for (uint32_t i = 0; i < ROWS; i++)
        ids[i] = og__rng_below(&rng, N);
    assert_int_equal(og__profiling_rank(&profiling, N, place, budget, NULL), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(profiling.place[i], place[ids[i]]);
    for (uint32_t slots = 0; slots <= N; slots++) {
        struct og_placement kept;
        assert_int_equal(og__placement_build(&kept, hotness, N, slots, budget, NULL), 0);
        for (uint32_t v = 0; v < N; v++)
            assert_int_equal(place[v] >= N - slots, og__placement_has(&kept, v));
        og__placement_release(&kept);
    }
    og__profiling_unrank(&profiling, budget);
    og__budget_free(budget);
}

static void rows_of_later_batches_come_beside_training(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    struct og_candidate c = {.policy = {.kind = OG_POLICY_SWEEP, .n_slots = 4}, .superbatch = 4};
    struct og_estimate e = estimate(&h.g, c); /* two batches a window */
    assert_int_equal(e.counts.windows, 2);
    assert_int_equal(e.counts.hits, 12);
    assert_int_equal(e.bytes_read, 8 * 1024);
    assert_int_equal(e.bytes_written, 0);
    assert_seconds(e.term[OG__FILLING], 4);
    assert_seconds(e.term[OG__SWEEPING], 4);
    assert_seconds(e.epoch, 4 + 4.5 + 4 + 4 + 4 / 4.0);
    c.policy.n_slots = 3; /* each batch is one */
    e = estimate(&h.g, c);
    assert_int_equal(e.counts.windows, 4);
    assert_int_equal(e.bytes_read, 8 * 1024);
    assert_seconds(e.term[OG__FILLING], 3);
    c.policy.n_slots = 2; /* a batch has more rows than the cache */
    e = estimate(&h.g, c);
    assert_int_equal(e.counts.misses, 4);
    /* all batches are one window. In a superbatch twice as long the next window needs what two need
     * and one does not */
    c.policy.n_slots = 8;
    c.superbatch = 8;
    h.g.distinct = 8;
    h.g.growth = 0.5;
    h.g.epochs = 2;
    e = estimate(&h.g, c);
    assert_int_equal(e.counts.windows, 1);
    assert_seconds(e.term[OG__FILLING], 8 / 2.0);
    assert_true(e.term[OG__SWEEPING] > 0 && e.term[OG__SWEEPING] < 8 / 2.0);
    /* unless its second half is the first again */
    c.resample_every = 2;
    e = estimate(&h.g, c);
    assert_seconds(e.term[OG__FILLING], 8 / 2.0);
    assert_seconds(e.term[OG__SWEEPING], 0);
}

/* 12 rows: looked up, or counted as well, or put into lists. */
static void planning_takes_what_a_policy_keeps(void **state)
{
    static const struct {
        int policy;
        uint32_t superbatch;
        double seconds;
    } expected[] = {{OG_POLICY_DEGREE, 0, 3},  {OG_POLICY_DEGREE, 4, 3},
                    {OG_POLICY_LRU, 0, 3},     {OG_POLICY_FREQUENCY, 4, 4.5},
                    {OG_POLICY_SWEEP, 4, 4.5}, {OG_POLICY_BELADY, 4, 9},
                    {OG_POLICY_HYBRID, 4, 9}};
    struct by_hand h;
    (void)state;
    set_by_hand(&h);
    for (size_t i = 0; i < OG_COUNT(expected); i++) {
        const struct og_candidate c = {.policy = {.kind = expected[i].policy, .n_slots = 32},
                                       .superbatch = expected[i].superbatch};
        assert_seconds(estimate(&h.g, c).term[OG__PLANNING], expected[i].seconds);
    }
}

/* Lists that are cached are read once, before the run, and not by batches. */
static void cached_lists_are_read_once(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.topology = (struct og_io_counts){.reads = 4000, .bytes = 4000 * 4096};
    h.g.epochs = 2;
    struct og_candidate c = {.policy = {.kind = OG_POLICY_NONE}};
    const struct og_estimate none = estimate(&h.g, c);
    c.lists_cached = 0.75;
    const struct og_estimate most = estimate(&h.g, c);
    assert_int_equal(none.reads - most.reads, 3000);
    assert_int_equal(none.bytes_read - most.bytes_read, 3000 * 4096);
    assert_seconds(none.term[OG__SAMPLING], 4 * 4000.0);
    assert_seconds(most.term[OG__SAMPLING], 4 * 1000.0);
    c.lists_cached = 1;
    const struct og_estimate all = estimate(&h.g, c);
    assert_int_equal(none.reads - all.reads, 4000);
    c.load_bytes = 4096;
    const struct og_estimate loaded = estimate(&h.g, c);
    assert_seconds(loaded.prepare - all.prepare, 4);
    assert_int_equal(loaded.bytes_read, all.bytes_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_is_as_slow_as_its_slowest_stage),
        cmocka_unit_test(structure_that_moves_is_read_in_passes),
        cmocka_unit_test(cached_lists_are_drawn_faster),
        cmocka_unit_test(one_by_one_is_as_slow_as_all_stages),
        cmocka_unit_test(packing_comes_before_training),
        cmocka_unit_test(reuse_shares_preparation),
        cmocka_unit_test(every_superbatch_fills_the_cache),
        cmocka_unit_test(longer_superbatches_read_the_file_once),
        cmocka_unit_test(a_few_batches_tell_of_many),
        cmocka_unit_test(later_superbatches_keep_what_they_need),
        cmocka_unit_test(places_keep_what_a_placement_keeps),
        cmocka_unit_test(rows_of_later_batches_come_beside_training),
        cmocka_unit_test(cached_lists_are_read_once),
        cmocka_unit_test(planning_takes_what_a_policy_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
