/* simulate: against the plainest simulation there is, and against the policies and readers that
 * runs use. Then the command as a whole against the data path that it simulates. */
#include "bench/bench.h"
#include "dataset/generate/options.h"
#include "io/io_fixture.h"
#include "options/fields.h"
#include "support/own_folder.h"

#include "base/random.h"
#include "plan/simulate.h"
#include "support/runs.h"

#include <jansson.h>

enum { MOST_NODES = 60, MOST_BATCHES = 12 };

/* ---- random traces ---- */

struct random_trace {
    uint32_t n_nodes;
    uint32_t ids[MOST_BATCHES * MOST_NODES];
    uint64_t ptr[MOST_BATCHES + 1];
    struct og_trace trace;
};

static void draw_trace(struct random_trace *t, struct og_rng *rng)
{
    t->n_nodes = 1 + og__rng_below(rng, MOST_NODES);
    t->trace = (struct og_trace){1 + og__rng_below(rng, MOST_BATCHES), t->ptr, t->ids};
    for (uint32_t b = 0; b < t->trace.n_batches; b++) {
        struct og_permutation order;
        og__permutation_init(&order, t->n_nodes, og__rng_u32(rng), b);
        uint32_t n = 1 + og__rng_below(rng, t->n_nodes);
        if (b % 3 == 0)
            n = 1 + og__rng_below(rng, n); /* short ones as well */
        for (uint32_t i = 0; i < n; i++)
            t->ids[t->ptr[b] + i] = (uint32_t)og__permutation_at(&order, i);
        t->ptr[b + 1] = t->ptr[b] + n;
    }
}

/* Every size that matters, some of them twice. */
static uint32_t draw_sizes(uint32_t n_nodes, uint32_t size[OG__MOST_SIZES])
{
    uint32_t n = 0;
    for (uint32_t c = 0; c <= n_nodes; c++)
        size[n++] = c;
    size[n++] = n_nodes;
    return n;
}

static struct og_simulation simulation_of(const struct random_trace *t, const uint32_t *size,
                                          uint32_t n_sizes, struct og_pool *pool,
                                          struct og_budget *b)
{
    return (struct og_simulation){
        .trace = t->trace,
        .n_nodes = t->n_nodes,
        .superbatch = MOST_BATCHES,
        .size = size,
        .n_sizes = n_sizes,
        .rule = {.row_bytes = 48, .align = 512, .gap = 100, .max_request = 65536},
        .pool = pool,
        .budget = b,
    };
}

/* ---- the plainest simulations ---- */

/* A list, the row used last in front, of at most `size` rows. */
static uint64_t plain_lru_misses(const struct og_trace *t, uint32_t size)
{
    uint32_t list[2 * MOST_NODES];
    uint32_t n = 0;
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            bool held = false;
            for (uint32_t k = 0; k < n; k++)
                held |= list[k] == t->ids[i];
            misses += !held;
        }
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            uint32_t at = 0;
            while (at < n && list[at] != t->ids[i])
                at++;
            n += at == n;
            memmove(list + 1, list, at * sizeof(*list));
            list[0] = t->ids[i];
        }
        n = OG_MIN(n, size);
    }
    return misses;
}

/* A node is cached when fewer than `size` others are hotter, or as hot with a smaller id. */
static uint64_t plain_static_misses(const struct og_trace *t, uint32_t n_nodes,
                                    const uint32_t *hotness, uint32_t size)
{
    uint64_t misses = 0;
    for (uint64_t i = 0; i < t->ptr[t->n_batches]; i++) {
        uint32_t v = t->ids[i];
        uint32_t rank = 0;
        for (uint32_t u = 0; u < n_nodes; u++)
            rank += hotness[u] > hotness[v] || (hotness[u] == hotness[v] && u < v);
        misses += rank >= size;
    }
    return misses;
}

static void assert_counts(const struct og_simulated *s, uint64_t rows, uint64_t misses,
                          uint64_t prefill)
{
    assert_int_equal(s->cost.rows, rows);
    assert_int_equal(s->cost.misses, misses);
    assert_int_equal(s->cost.hits, rows - misses);
    assert_int_equal(s->prefill, prefill);
}

static void levels_agree_with_plain_simulation(void **state)
{
    (void)state;
    static struct random_trace t;
    struct og_rng rng;
    og__rng_at(&rng, 11, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct og_pool *pool;
    assert_int_equal(og__pool_open(&pool, 3, NULL), 0);
    struct og_budget *b = og__budget_new(0);
    const int draws = 120 / (int)test_ways_step();
    for (int draw = 0; draw < draws; draw++) {
        uint32_t hotness[MOST_NODES];
        uint32_t size[OG__MOST_SIZES];
        struct og_simulated out[OG__MOST_SIZES];
        draw_trace(&t, &rng);
        for (uint32_t v = 0; v < t.n_nodes; v++)
            hotness[v] = draw % 2 ? og__rng_below(&rng, 4) : og__rng_u32(&rng);
        uint32_t n = draw_sizes(t.n_nodes, size);
        uint64_t rows = t.ptr[t.trace.n_batches];
        struct og_simulation sim = simulation_of(&t, size, n, draw % 3 ? pool : NULL, b);
        struct og_policy_setup setup = {
            .kind = OG_POLICY_LRU, .n_nodes = t.n_nodes, .hotness = hotness};
        assert_int_equal(og__simulate(&sim, &setup, out, NULL), 0);
        for (uint32_t k = 0; k < n; k++)
            assert_counts(&out[k], rows, plain_lru_misses(&t.trace, size[k]), 0);
        setup.kind = OG_POLICY_DEGREE;
        assert_int_equal(og__simulate(&sim, &setup, out, NULL), 0);
        for (uint32_t k = 0; k < n; k++)
            assert_counts(&out[k], rows, plain_static_misses(&t.trace, t.n_nodes, hotness, size[k]),
                          size[k]);
        setup.kind = OG_POLICY_NONE;
        assert_int_equal(og__simulate(&sim, &setup, out, NULL), 0);
        assert_counts(&out[n - 1], rows, rows, 0);
    }
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__pool_close(pool);
}

/* ---- against the policies and the reader themselves ---- */

struct real_run {
    struct og_reader *reader;
    struct og_planner planner;
    struct og_plan plan;
};

/* The first n batches of t; those after them are a tail. */
static void run_batches(struct real_run *r, struct og_policy *p, const struct og_trace *t,
                        uint32_t n_batches, struct og_simulated *sum)
{
    uint32_t nodes[16];
    uint32_t slots[16];
    uint32_t prefill = 0;
    assert_int_equal(og__policy_prepare(p, t, &prefill, NULL), 0);
    for (uint32_t b = 0; b < n_batches; b++) {
        for (uint32_t n; (n = og__policy_prefill(p, nodes, slots, 16)) > 0;)
            sum->prefill += n;
        uint32_t n = (uint32_t)(t->ptr[b + 1] - t->ptr[b]);
        assert_int_equal(og__policy_plan(p, &r->planner, t->ids + t->ptr[b], n, &r->plan, NULL), 0);
        struct og_io_counts io = og__reader_predict(r->reader, r->plan.misses, r->plan.n_misses);
        const struct og_plan_cost cost = {n, n - r->plan.n_misses, r->plan.n_misses, io.reads,
                                          io.bytes};
        og__plan_cost_add(&sum->cost, &cost);
    }
}

static struct og_simulated run_for_real(struct real_run *r, const struct og_simulation *sim,
                                        struct og_policy_setup setup, uint32_t size)
{
    struct og_simulated sum = {0};
    struct og_policy *p;
    const struct og_trace *t = &sim->trace;
    setup.n_slots = size;
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    for (uint32_t first = 0; first < t->n_batches; first += sim->superbatch) {
        uint32_t n = OG_MIN(sim->superbatch, t->n_batches - first);
        uint32_t seen = OG_MIN(n + og__policy_tail(&setup), t->n_batches - first);
        uint64_t ptr[MOST_BATCHES + 1];
        for (uint32_t b = 0; b <= seen; b++)
            ptr[b] = t->ptr[first + b] - t->ptr[first];
        const struct og_trace part = {seen, ptr, t->ids + t->ptr[first]};
        run_batches(r, p, &part, n, &sum);
    }
    og__policy_close(p);
    return sum;
}

static void every_policy_is_counted_as_it_runs(void **state)
{
    (void)state;
    static const int kinds[] = {
        OG_POLICY_NONE, OG_POLICY_DEGREE, OG_POLICY_RANDOM, OG_POLICY_PRESC,  OG_POLICY_FREQUENCY,
        OG_POLICY_LRU,  OG_POLICY_RR,     OG_POLICY_BELADY, OG_POLICY_HYBRID, OG_POLICY_SWEEP};
    static struct random_trace t;
    static const int ios[] = {OG_IO_PREAD, OG_IO_MMAP};
    struct scratch file;
    struct og_rng rng;
    og__rng_at(&rng, 12, OG__STREAM_BENCH, 0, 0, 0, 0);
    scratch_open(&file, 300000);
    struct og_budget *b = og__budget_new(0);
    const int draws = 160 / (int)test_ways_step();
    for (int draw = 0; draw < draws; draw++) {
        uint32_t hotness[MOST_NODES];
        uint32_t size[5];
        struct og_simulated out[5];
        struct real_run real = {0};
        struct og_reader_options opt = {.io = ios[draw % 2], .profile = test_profile};
        opt.profile.bandwidth = draw % 4 < 2 ? 1e9 : 3e7; /* gaps of 10 kB and of 300 bytes */
        og__planner_init(&real.planner, NULL);
        og__plan_init(&real.plan, NULL);
        assert_int_equal(og__reader_open(&real.reader, file.path, 4096 + (unsigned)draw,
                                         draw % 5 ? 200 : 1400, MOST_NODES, &opt, NULL, NULL),
                         0);
        draw_trace(&t, &rng);
        for (uint32_t v = 0; v < t.n_nodes; v++)
            hotness[v] = og__rng_below(&rng, 50);
        for (uint32_t k = 0; k < 5; k++)
            size[k] = k * t.n_nodes / 4;
        struct og_simulation sim = simulation_of(&t, size, 5, NULL, b);
        sim.rule = og__reader_rule(real.reader);
        sim.superbatch = 1 + og__rng_below(&rng, 8);
        for (size_t i = 0; i < OG_COUNT(kinds); i++) {
            struct og_policy_setup setup = {.kind = kinds[i],
                                            .n_nodes = t.n_nodes,
                                            .hotness = hotness,
                                            .ways = 4,
                                            .window = 4,
                                            .update = 2};
            assert_int_equal(og__simulate(&sim, &setup, out, NULL), 0);
            for (uint32_t k = 0; k < 5; k++) {
                const struct og_simulated want = run_for_real(&real, &sim, setup, size[k]);
                assert_memory_equal(&out[k].cost, &want.cost, sizeof(want.cost));
                assert_int_equal(out[k].prefill, want.prefill);
            }
        }
        og__reader_close(real.reader);
        og__planner_release(&real.planner);
        og__plan_release(&real.plan);
    }
    og__budget_free(b);
    scratch_close(&file);
}

/* ---- the command: what it says is what a run counts ---- */

struct og_made {
    char dataset[300], trace[300];
};

static int make_dataset(void **state)
{
    static struct og_made made;
    struct og_generate g;
    assert_int_equal(make_folder(state), 0);
    snprintf(made.dataset, sizeof(made.dataset), "%s/d", folder);
    snprintf(made.trace, sizeof(made.trace), "%s/t", folder);
    og__generate_init(&g);
    g.nodes = 3000;
    g.dim = 70; /* rows that straddle blocks */
    g.degree = 6;
    assert_int_equal(og_generate(made.dataset, &g, NULL, NULL), 0);
    *state = &made;
    return 0;
}

static void small_run(struct og_options *opt)
{
    og__options_init(opt);
    test_set(opt, "fanout", "4,3");
    test_set(opt, "batch", "40");
    test_set(opt, "epochs", "3");
    test_set(opt, "memory", "400M");
    test_set(opt, "threads", "2");
    test_set(opt, "window", "5");
    test_set(opt, "update", "2");
}

static int64_t sum_of(const json_t *epochs, const char *key)
{
    int64_t sum = 0;
    size_t i;
    json_t *e;
    json_array_foreach((json_t *)epochs, i, e) sum += json_integer_value(json_object_get(e, key));
    return sum;
}

/* One result against `bench epoch` with the same policy and cache. */
static void assert_as_measured(const char *dataset, const struct og_options *base,
                               const json_t *result)
{
    static const char *const keys[] = {"rows", "hits", "misses", "reads", "bytes_read"};
    const char *policy = json_string_value(json_object_get(result, "policy"));
    const char *cache = json_string_value(json_object_get(result, "cache"));
    struct og_options opt = *base; /* no strings in it */
    char *text = NULL;
    test_set(&opt, "policy", policy);
    test_set(&opt, "cache", cache);
    assert_int_equal(og__bench_epoch(dataset, &opt, NULL, &text, NULL), 0);
    json_t *run = json_loads(text, 0, NULL);
    const json_t *epochs = json_object_get(run, "epochs");
    for (size_t k = 0; k < OG_COUNT(keys); k++)
        if (sum_of(epochs, keys[k]) != json_integer_value(json_object_get(result, keys[k])))
            fail_msg("%s %s: %s: %lld measured, %lld simulated", policy, cache, keys[k],
                     (long long)sum_of(epochs, keys[k]),
                     (long long)json_integer_value(json_object_get(result, keys[k])));
    int64_t prefill =
        json_integer_value(json_object_get(json_object_get(run, "prepare"), "prefill"));
    assert_int_equal(prefill + sum_of(epochs, "prefill"),
                     json_integer_value(json_object_get(result, "prefill")));
    json_decref(run);
    free(text);
}

static void a_simulation_tells_what_a_run_counts(void **state)
{
    const struct og_made *made = *state;
    /* of 8 batches an epoch; epochs with the same batches */
    static const char *const requested[][2] = {{"all", "1"}, {"3", "1"}, {"10", "1"}, {"3", "2"}};
    for (size_t s = 0; s < OG_COUNT(requested); s++) {
        struct og_options opt;
        char *text = NULL;
        small_run(&opt);
        test_set(&opt, "superbatch", requested[s][0]);
        test_set(&opt, "resample-every", requested[s][1]);
        assert_int_equal(og_simulate(made->dataset,
                                     "none,random,degree,presc,presc:2,pagerank,frequency,lru,rr,"
                                     "hybrid,hybrid:static,hybrid:dynamic,belady",
                                     "10%,2%,100K", NULL, &opt, NULL, &text, NULL),
                         0);
        json_t *root = json_loads(text, 0, NULL);
        const json_t *results = json_object_get(root, "results");
        assert_int_equal(json_array_size(results), 13 * 3);
        size_t i;
        json_t *r;
        json_array_foreach((json_t *)results, i, r) assert_as_measured(made->dataset, &opt, r);
        json_decref(root);
        free(text);
        og__options_release(&opt);
    }
}

/* ---- two tiers ---- */

static json_t *simulated(const char *source, const char *policies, const char *caches,
                         const struct og_tiers_asked *tiers, const struct og_options *opt)
{
    struct og_err err = {0};
    char *text = NULL;
    if (og_simulate(source, policies, caches, tiers, opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    return root;
}

static int64_t count_of(const json_t *root, size_t i, const char *key)
{
    return json_integer_value(
        json_object_get(json_array_get(json_object_get(root, "results"), i), key));
}

static void assert_sums(const json_t *r)
{
    static const char *const served[] = {"device_hits", "host_hits", "victim_hits"};
    const int64_t row_bytes = 70 * 4;
    int64_t hits = 0;
    for (size_t k = 0; k < OG_COUNT(served); k++)
        hits += json_integer_value(json_object_get(r, served[k]));
    const int64_t rows = json_integer_value(json_object_get(r, "rows"));
    const int64_t device = json_integer_value(json_object_get(r, "device_hits"));
    const int64_t moved = json_integer_value(json_object_get(r, "demoted")) +
                          json_integer_value(json_object_get(r, "victim_pushed"));
    assert_true(rows > 0);
    assert_int_equal(hits, json_integer_value(json_object_get(r, "hits")));
    assert_int_equal(hits + json_integer_value(json_object_get(r, "misses")), rows);
    assert_int_equal(json_integer_value(json_object_get(r, "link_bytes")),
                     (rows - device) * row_bytes);
    assert_int_equal(json_integer_value(json_object_get(r, "link_bytes_back")), moved * row_bytes);
}

/* The device serves what its cache would serve alone. Both caches together serve what one of their
 * size would. */
static void two_caches_of_a_kind_are_one(void **state)
{
    const struct og_made *made = *state;
    static const char *const policies[] = {"degree", "pagerank", "presc:2", "belady"};
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        const struct og_tiers_asked tiers = {
            .size = sizeof(tiers), .policies = policies[p], .memory = "5%,20%"};
        struct og_options opt;
        small_run(&opt);
        test_set(&opt, "epochs", "1");
        json_t *both = simulated(made->dataset, policies[p], "10%,0%", &tiers, &opt);
        json_t *one = simulated(made->dataset, policies[p], "5%,20%,15%,30%", NULL, &opt);
        for (size_t i = 0; i < 4; i++) {
            const size_t device = i / 2;
            const size_t all = i % 2 ? device : device + 2;
            assert_sums(json_array_get(json_object_get(both, "results"), i));
            assert_int_equal(count_of(both, i, "device_hits"), count_of(one, device, "hits"));
            assert_int_equal(count_of(both, i, "misses"), count_of(one, all, "misses"));
        }
        json_decref(both);
        json_decref(one);
        og__options_release(&opt);
    }
}

static void pairs_stand_as_asked_for(void **state)
{
    const struct og_made *made = *state;
    struct og_tiers_asked tiers = {.size = sizeof(tiers),
                                   .policies = "hybrid,rr",
                                   .memory = "3%,1%",
                                   .victim = "pvp:depth=20"};
    struct og_options opt;
    small_run(&opt);
    json_t *root = simulated(made->dataset, "lru,presc", "5%,50%", &tiers, &opt);
    const json_t *results = json_object_get(root, "results");
    static const char *const keys[] = {"policy", "device_policy", "device_memory", "cache"};
    static const char *const words[][2] = {
        {"lru", "presc"}, {"hybrid", "rr"}, {"3%", "1%"}, {"5%", "50%"}};
    int64_t pushed = 0;
    assert_int_equal(json_array_size(results), 16);
    for (size_t i = 0; i < 16; i++) {
        const json_t *r = json_array_get(results, i);
        assert_sums(r);
        for (size_t k = 0; k < 4; k++)
            assert_string_equal(json_string_value(json_object_get(r, keys[k])),
                                words[k][i >> (3 - k) & 1]);
        assert_int_equal(count_of(root, i, "device_rows"), i & 2 ? 30 : 90);
        assert_int_equal(count_of(root, i, "cache_rows"), i & 1 ? 1500 : 150);
        assert_int_equal(count_of(root, i, "victim_rows"), 5 * 20);
        assert_int_equal(count_of(root, i, "victim_bytes"), 5 * 20 * (70 * 4 + 8));
        pushed += count_of(root, i, "victim_hits");
    }
    assert_true(pushed > 0);
    json_decref(root);
    /* by the rankings of the host's, one each */
    tiers = (struct og_tiers_asked){.size = sizeof(tiers), .memory = "2%"};
    root = simulated(made->dataset, "presc:2,hybrid,lru", "5%", &tiers, &opt);
    static const char *const ranked[] = {"presc:2", "pagerank", "degree"};
    assert_int_equal(json_array_size(json_object_get(root, "results")), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(json_object_get(root, "results"), i),
                                              "device_policy")),
            ranked[i]);
    json_decref(root);
    og__options_release(&opt);
}

static void pairs_that_cannot_be_are_refused(void **state)
{
    const struct og_made *made = *state;
    static const struct {
        const char *device, *memory, *victim, *message, *hint;
    } cases[] = {
        {"best", "1%", NULL, "policy: 'best'", ""},
        {"auto", "1%", NULL, "simulate does not take auto", "name policies"},
        {"lru", "", NULL, "cache: no size", ""},
        {"lru", "1%", "pvp:16", "victim: 'pvp:16' given", "pvp:depth=N"},
        {"lru", "1%", "pvp:depth=0", "victim: 'pvp:depth=0' given", "pvp:depth=N"},
        {"lru", "1%", "pvp:depth=-1", "victim: 'pvp:depth=-1' given", "pvp:depth=N"},
        {"lru", "1%", "pvp:depth=9x", "victim: 'pvp:depth=9x' given", "pvp:depth=N"},
        {"presc", "1%", "pvp", "victim: the device policy", "--device-policy hybrid"},
        {NULL, "1%", "pvp", "victim: the device policy", "--device-policy hybrid"},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const struct og_tiers_asked tiers = {
            .size = sizeof(tiers), cases[i].device, cases[i].memory, cases[i].victim};
        struct og_options opt;
        struct og_err err = {0};
        char *text = NULL;
        small_run(&opt);
        assert_int_equal(og_simulate(made->dataset, "lru", "1%", &tiers, &opt, NULL, &text, &err),
                         -EINVAL);
        assert_null(text);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_non_null(strstr(err.hint, cases[i].hint));
        og__options_release(&opt);
    }
}

static void results_stand_as_asked_for(void **state)
{
    const struct og_made *made = *state;
    struct og_options opt;
    char *text = NULL;
    small_run(&opt);
    assert_int_equal(og_simulate(made->dataset, "lru,degree,lru", "100%,0%,1%,1%", NULL, &opt, NULL,
                                 &text, NULL),
                     0);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *results = json_object_get(root, "results");
    static const char *const policies[] = {"lru", "degree", "lru"};
    static const char *const caches[] = {"100%", "0%", "1%", "1%"};
    static const int rows[] = {3000, 0, 30, 30};
    assert_int_equal(json_array_size(results), 12);
    for (size_t i = 0; i < 12; i++) {
        const json_t *r = json_array_get(results, i);
        int64_t n = json_integer_value(json_object_get(r, "rows"));
        int64_t hits = json_integer_value(json_object_get(r, "hits"));
        int64_t misses = json_integer_value(json_object_get(r, "misses"));
        int64_t prefill = json_integer_value(json_object_get(r, "prefill"));
        assert_string_equal(json_string_value(json_object_get(r, "policy")), policies[i / 4]);
        assert_string_equal(json_string_value(json_object_get(r, "cache")), caches[i % 4]);
        assert_int_equal(json_integer_value(json_object_get(r, "cache_rows")), rows[i % 4]);
        assert_true(json_real_value(json_object_get(r, "hit_rate")) == (double)hits / (double)n);
        assert_true(json_real_value(json_object_get(r, "hit_rate_with_prefill")) ==
                    1 - (double)(misses + prefill) / (double)n);
    }
    assert_int_equal(json_integer_value(json_object_get(json_array_get(results, 4), "misses")),
                     0); /* degree, 100 % */
    json_decref(root);
    free(text);
    og__options_release(&opt);
}

/* The same batches, sampled first and read back. */
static void a_trace_gives_what_its_dataset_gives(void **state)
{
    const struct og_made *made = *state;
    static const char policies[] = "none,random,frequency,lru,rr,belady";
    json_t *root[2];
    struct og_options opt;
    small_run(&opt);
    assert_int_equal(og_sample(made->dataset, made->trace, false, &opt, NULL, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        assert_int_equal(og_simulate(i ? made->trace : made->dataset, policies, "3%,20%,40K", NULL,
                                     &opt, NULL, &text, NULL),
                         0);
        root[i] = json_loads(text, 0, NULL);
        free(text);
    }
    static const char *const keys[] = {"dataset", "num_nodes", "row_bytes", "epochs",
                                       "batches", "rows",      "superbatch"};
    for (size_t k = 0; k < OG_COUNT(keys); k++)
        assert_true(
            json_equal(json_object_get(root[0], keys[k]), json_object_get(root[1], keys[k])));
    const json_t *results = json_object_get(root[1], "results");
    assert_int_equal(json_array_size(results), 18);
    for (size_t i = 0; i < 18; i++) {
        static const char *const counts[] = {"policy", "cache",  "cache_rows", "rows",
                                             "hits",   "misses", "prefill"};
        const json_t *a = json_array_get(json_object_get(root[0], "results"), i);
        for (size_t k = 0; k < OG_COUNT(counts); k++)
            assert_true(json_equal(json_object_get(a, counts[k]),
                                   json_object_get(json_array_get(results, i), counts[k])));
    }
    json_decref(root[0]);
    json_decref(root[1]);
    static const char *const of_the_graph[] = {"degree", "presc:2", "pagerank", "lru,hybrid"};
    for (size_t i = 0; i < OG_COUNT(of_the_graph); i++) {
        struct og_err err = {0};
        char *text = NULL;
        assert_int_equal(
            og_simulate(made->trace, of_the_graph[i], "3%", NULL, &opt, NULL, &text, &err),
            -EINVAL);
        assert_non_null(strstr(err.message, "ranks nodes by their edges"));
        assert_non_null(strstr(err.hint, "give both"));
    }
    og__options_release(&opt);
}

static void what_cannot_be_is_refused(void **state)
{
    const struct og_made *made = *state;
    static const struct {
        const char *policies, *caches, *option, *value, *message, *hint;
        int code;
    } cases[] = {
        {"best", "1%", NULL, NULL, "policy: 'best'", "", -EINVAL},
        {"auto", "1%", NULL, NULL, "simulate does not take auto", "name policies", -EINVAL},
        {"", "1%", NULL, NULL, "policy: none given", "", -EINVAL},
        {"lru", "", NULL, NULL, "cache: no size", "", -EINVAL},
        {"lru", "1x", NULL, NULL, "cache: '1x'", "", -EINVAL},
        {"lru", "1%", "epochs", "0", "no batches", "--epochs", -EINVAL},
        {"lru", "1%", "epochs", "100000", "too little", "the smallest that would do is", -ENOMEM},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_options opt;
        struct og_err err = {0};
        char *text = NULL;
        small_run(&opt);
        if (cases[i].option)
            test_set(&opt, cases[i].option, cases[i].value);
        assert_int_equal(og_simulate(made->dataset, cases[i].policies, cases[i].caches, NULL, &opt,
                                     NULL, &text, &err),
                         cases[i].code);
        assert_null(text);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_non_null(strstr(err.hint, cases[i].hint));
        og__options_release(&opt);
    }
}

/* What it says would do does, and a little less does not. */
static void the_smallest_memory_named_is_enough(void **state)
{
    const struct og_made *made = *state;
    enum { SIZE = sizeof(struct og_tiers_asked) };
    static const struct og_tiers_asked pairs[] = {{SIZE, NULL, "5%", NULL},
                                                  {SIZE, "hybrid,rr", "5%", "pvp:depth=500"},
                                                  {SIZE, "belady,sweep", "5%", NULL}};
    for (int policy = 0; policy < 7; policy += (int)test_ways_step_of(3)) {
        static const char *const policies[] = {"lru",     "belady",       "presc,hybrid", "lru,rr",
                                               "presc:1", "belady,presc", "belady,lru"};
        const struct og_tiers_asked *tiers = policy < 4 ? NULL : &pairs[policy - 4];
        const char *source = policy == 3 ? made->trace : made->dataset;
        struct og_options opt;
        struct og_err err = {0};
        char *text = NULL;
        static const char words[] = "the smallest that would do is --memory ";
        small_run(&opt);
        test_set(&opt, "epochs", "2000");
        test_set(&opt, "memory", "30M");
        assert_int_equal(
            og_simulate(made->dataset, policies[policy], "5%", tiers, &opt, NULL, &text, &err),
            -ENOMEM);
        assert_int_equal(strncmp(err.hint, words, strlen(words)), 0);
        char size[16];
        snprintf(size, sizeof(size), "%.*s", (int)strspn(err.hint + strlen(words), "0123456789M"),
                 err.hint + strlen(words));
        test_set(&opt, "memory", size);
        err = (struct og_err){0};
        if (og_simulate(source, policies[policy], "5%", tiers, &opt, NULL, &text, &err) < 0)
            fail_msg("%s: %s", size, err.message);
        free(text);
        og__options_release(&opt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_agree_with_plain_simulation),
        cmocka_unit_test(every_policy_is_counted_as_it_runs),
        cmocka_unit_test(a_simulation_tells_what_a_run_counts),
        cmocka_unit_test(two_caches_of_a_kind_are_one),
        cmocka_unit_test(pairs_stand_as_asked_for),
        cmocka_unit_test(pairs_that_cannot_be_are_refused),
        cmocka_unit_test(results_stand_as_asked_for),
        cmocka_unit_test(a_trace_gives_what_its_dataset_gives),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_smallest_memory_named_is_enough),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
