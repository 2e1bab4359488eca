/* The memory plan: what it may choose itself it chooses so that it fits. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/base.h"
#include "base/temporary.h"
#include "bench/bench.h"
#include "support/folder.h"

#include <outgrow/outgrow.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[TEST_PATH];
static char graph[64];

/* Topology, batches and staging all of the same order, tens of megabytes of each. */
static int make_graph(void **state)
{
    (void)state;
    struct og_generate g;
    og__generate_init(&g);
    assert_non_null(test_folder(root, "memory-plan"));
    setenv("XDG_CACHE_HOME", root, 1);
    snprintf(graph, sizeof(graph), "%s/graph", root);
    g.model = OG_RMAT;
    g.nodes = 60000;
    g.degree = 16;
    g.dim = 128;
    g.classes = 4;
    g.train_fraction = 0.2;
    g.threads = 2;
    return og_generate(graph, &g, NULL, NULL);
}

static int remove_graph(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

static void set_options(struct og_options *opt, const char *const *pairs, int memory)
{
    char limit[16];
    og__options_init(opt);
    snprintf(limit, sizeof(limit), "%dM", memory);
    for (; *pairs; pairs += 2)
        assert_int_equal(og_options_set(opt, pairs[0], pairs[1], NULL), 0);
    assert_int_equal(og_options_set(opt, "memory", limit, NULL), 0);
}

static json_t *plan_of(const char *path, const char *const *pairs, int memory, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, pairs, memory);
    json_t *plan = og_plan(path, &opt, NULL, &text, err) < 0 ? NULL : json_loads(text, 0, NULL);
    og__options_release(&opt);
    free(text);
    return plan;
}

static json_t *plan_with(const char *const *pairs, int memory, struct og_err *err)
{
    return plan_of(graph, pairs, memory, err);
}

/* MiB that the hint names. */
static int named_smallest(const struct og_err *err)
{
    static const char words[] = "the smallest that would do is --memory ";
    const char *named = strstr(err->hint, words);
    if (!named)
        fail_msg("%s; %s", err->message, err->hint);
    return (int)strtol(named + strlen(words), NULL, 10);
}

static int smallest(const char *const *pairs)
{
    struct og_err err = {0};
    json_t *plan = plan_with(pairs, 16, &err);
    assert_null(plan);
    return named_smallest(&err);
}

/* Also where not even seeds and labels fit. */
static void the_smallest_is_named_before_there_is_a_plan(void **state)
{
    (void)state;
    static const char *const pairs[] = {"fanout", "3,3", "hidden", "8", NULL};
    struct og_generate g;
    struct og_err err[2] = {{0}, {0}};
    char wide[80];
    og__generate_init(&g);
    snprintf(wide, sizeof(wide), "%s/many-seeds", root);
    g.model = OG_RMAT;
    g.nodes = 400000;
    g.degree = 2;
    g.dim = 4;
    g.classes = 4;
    g.train_fraction = 0.3;
    g.threads = 2;
    if (og_generate(wide, &g, NULL, &err[0]) < 0)
        fail_msg("%s", err[0].message);
    for (int i = 0; i < 2; i++) /* in 16 MiB they fit, not the rest */
        assert_null(plan_of(wide, pairs, i ? 16 : 1, &err[i]));
    assert_int_equal(named_smallest(&err[0]), named_smallest(&err[1]));
}

static void superbatches_that_it_chooses_fit(void **state)
{
    (void)state;
    static const char *const ways[][3] = {
        {"belady", "raw", "memory"},  {"belady", "packed", "memory"},
        {"belady", "packed", "disk"}, {"frequency", "packed", "memory"},
        {"sweep", "raw", "memory"},   {"hybrid", "raw", "memory"},
        {"hybrid", "raw", "disk"},    {"belady", "segmented", "memory"},
    };
    static const int more[] = {0, 6, 37}; /* MiB: from one batch to all of the run's */
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        const char *const pairs[] = {"policy",    ways[w][0], "layout", ways[w][1], "topology",
                                     ways[w][2],  "batch",    "300",    "fanout",   "10,10",
                                     "alternate", "true",     "epochs", "8",        NULL};
        const int least = smallest(pairs);
        for (size_t i = 0; i < OG_COUNT(more); i++) {
            struct og_err err = {0};
            json_t *plan = plan_with(pairs, least + more[i], &err);
            if (!plan)
                fail_msg("%s, %s, topology %s, --memory %dM: %s; %s", ways[w][0], ways[w][1],
                         ways[w][2], least + more[i], err.message, err.hint);
            json_decref(plan);
        }
    }
}

/* Buffers that do not grow with batches are no reason for short superbatches. */
static void superbatches_are_long_in_little_memory(void **state)
{
    (void)state;
    const char *const pairs[] = {"policy", "belady", "layout", "raw", "topology", "memory",
                                 "batch",  "100",    "fanout", "5,5", NULL};
    static const int more[] = {6, 8, 10, 14};
    const int least = smallest(pairs);
    for (size_t i = 0; i < OG_COUNT(more); i++) {
        struct og_err err = {0};
        json_t *plan = plan_with(pairs, least + more[i], &err);
        if (!plan)
            fail_msg("--memory %dM: %s; %s", least + more[i], err.message, err.hint);
        const json_int_t batches = json_integer_value(json_object_get(plan, "superbatch"));
        if (batches < 16)
            fail_msg("--memory %dM: superbatches of %d", least + more[i], (int)batches);
        json_decref(plan);
    }
}

static json_int_t number_of(const json_t *plan, const char *group, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(plan, group), name));
}

/* A superbatch is an even part of an epoch. It takes no memory that a longer one would need. */
static void superbatches_take_what_they_need(void **state)
{
    (void)state;
    const char *pairs[] = {"policy", "belady", "layout", "raw", "topology", "memory", "batch",
                           "100",    "fanout", "5,5",    NULL,  NULL,       NULL};
    enum { ADDED = 10 };
    const int least = smallest(pairs);
    for (int more = 6; more <= 14; more += 2) {
        struct og_err err = {0};
        char batches[24];
        pairs[ADDED] = NULL;
        json_t *chosen = plan_with(pairs, least + more, &err);
        assert_non_null(chosen);
        snprintf(batches, sizeof(batches), "%d",
                 (int)json_integer_value(json_object_get(chosen, "superbatch")));
        pairs[ADDED] = "superbatch";
        pairs[ADDED + 1] = batches;
        json_t *given = plan_with(pairs, least + more, &err);
        assert_non_null(given);
        assert_int_equal(number_of(chosen, "memory", "trace"), number_of(given, "memory", "trace"));
        json_decref(given);
        json_decref(chosen);
    }
}

/* Phased memory: where batches are, and their sizes, outlives planning. So the cache has less. */
static void tables_of_batches_stay_until_they_are_trained(void **state)
{
    (void)state;
    const char *pairs[] = {"policy",    "belady", "layout",     "raw",    "topology",
                           "memory",    "batch",  "1",          "fanout", "2,2",
                           "alternate", "true",   "superbatch", "1",      NULL};
    enum { SUPERBATCH = 13, BATCHES = 5000 };
    const int least = smallest(pairs);
    json_int_t room[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct og_err err = {0};
        pairs[SUPERBATCH] = i == 0 ? "1" : "5000";
        json_t *plan = plan_with(pairs, least + 5, &err);
        if (!plan)
            fail_msg("%s; %s", err.message, err.hint);
        room[i] = number_of(plan, "memory", "feature cache") +
                  number_of(plan, "memory", "staging") + number_of(plan, "memory", "slack");
        json_decref(plan);
    }
    assert_true(room[0] - room[1] > 56 * BATCHES);
}

/* Tables of all nodes have the room of the structure, of which little is edges. */
static void tables_of_nodes_are_made_where_the_structure_was(void **state)
{
    (void)state;
    static const char *const policies[] = {"sweep", "belady", "frequency"};
    struct og_generate g;
    struct og_err err = {0};
    char path[64];
    snprintf(path, sizeof(path), "%s/many-nodes", root);
    og__generate_init(&g);
    g.model = OG_RMAT;
    g.nodes = 4000000;
    g.degree = 1;
    g.dim = 1;
    g.classes = 2;
    g.train_fraction = 0.001;
    g.threads = 2;
    if (og_generate(path, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < OG_COUNT(policies); i++) {
        const char *const pairs[] = {"policy", policies[i], "alternate", "true",   "topology",
                                     "memory", "batch",     "100",       "fanout", "3,3",
                                     "epochs", "1",         NULL};
        assert_null(plan_of(path, pairs, 16, &err));
        const int least = named_smallest(&err);
        err = (struct og_err){0};
        json_t *plan = plan_of(path, pairs, least, &err);
        if (!plan)
            fail_msg("%s, --memory %dM: %s; %s", policies[i], least, err.message, err.hint);
        json_decref(plan);
    }
    og__remove_tree(path);
}

/* ---- the smallest is enough ---- */

static void make_tiny(const char *path, int64_t nodes)
{
    struct og_generate g;
    struct og_err err = {0};
    og__generate_init(&g);
    g.nodes = nodes;
    g.degree = 4;
    g.dim = 4;
    g.classes = 2;
    g.train_fraction = 0.3;
    g.threads = 1;
    if (og_generate(path, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static int train_at(const char *path, const char *const *pairs, int memory, struct og_err *err)
{
    struct og_options opt;
    char run[128];
    snprintf(run, sizeof(run), "%s/run", root);
    set_options(&opt, pairs, memory);
    assert_int_equal(og_options_set(&opt, "run", run, NULL), 0);
    int rc = og_train(path, &opt, NULL, NULL, err);
    og__options_release(&opt);
    og__remove_tree(run);
    return rc;
}

static int sample_at(const char *path, const char *const *pairs, int memory, struct og_err *err)
{
    struct og_options opt;
    char out[128];
    snprintf(out, sizeof(out), "%s/samples", root);
    set_options(&opt, pairs, memory);
    int rc = og_sample(path, out, true, &opt, NULL, NULL, err);
    og__options_release(&opt);
    og__remove_tree(out);
    return rc;
}

typedef int run_fn(const char *path, const char *const *pairs, int memory, struct og_err *err);

static int runs_at_the_smallest(run_fn *run, const char *path, const char *what,
                                const char *const *pairs)
{
    struct og_err err = {0};
    assert_int_not_equal(run(path, pairs, 1, &err), 0);
    const int least = named_smallest(&err);
    err = (struct og_err){0};
    if (run(path, pairs, least, &err) == 0)
        return 0;
    print_message("%s, %s, --memory %dM: %s; %s\n", what, path + strlen(root) + 1, least,
                  err.message, err.hint);
    return 1;
}

/* Graphs whose growing parts are small against the fixed ones. */
static void the_smallest_that_is_named_is_enough(void **state)
{
    (void)state;
    static const int64_t nodes[] = {2, 40, 1500};
    static const char *const ways[][6] = {
        /* policy, layout, alternate, sampler, topology, model */
        {"belady", "raw", "true", "walk", "memory", "gcn"},
        {"belady", "raw", "false", "walk", "memory", "gcn"},
        {"belady", "raw", "true", "uniform", "disk", "sage"},
        {"sweep", "raw", "false", "labor", "memory", "sage"},
        {"hybrid", "raw", "true", "uniform", "memory", "sage"},
        {"hybrid", "raw", "false", "uniform", "disk", "gcn"},
        {"frequency", "packed", "true", "walk", "memory", "gcn"},
        {"frequency", "packed", "false", "uniform", "memory", "gat"},
        {"belady", "segmented", "true", "uniform", "disk", "gcn"},
        {"lru", "raw", "true", "uniform", "memory", "gcn"},
        {"degree", "raw", "false", "walk", "memory", "gcn"},
    };
    int failures = 0;
    for (size_t n = 0; n < OG_COUNT(nodes); n++) {
        char path[64];
        snprintf(path, sizeof(path), "%s/%d-nodes", root, (int)nodes[n]);
        make_tiny(path, nodes[n]);
        for (size_t w = 0; w < OG_COUNT(ways); w++) {
            const char *const *way = ways[w];
            char what[128];
            const char *const pairs[] = {"policy",  way[0],    "layout", way[1],     "alternate",
                                         way[2],    "sampler", way[3],   "topology", way[4],
                                         "model",   way[5],    "fanout", "-1,-1,1",  "batch",
                                         "16",      "epochs",  "3",      "hidden",   "8",
                                         "threads", "1",       "io",     "pread",    NULL};
            snprintf(what, sizeof(what), "%s, %s, alternate %s, %s, topology %s, %s", way[0],
                     way[1], way[2], way[3], way[4], way[5]);
            failures += runs_at_the_smallest(train_at, path, what, pairs);
        }
    }
    assert_int_equal(failures, 0);
}

/* What is not trained keeps no batches, whatever the options say of reusing them. */
static void a_simulation_asks_for_nothing_that_training_keeps(void **state)
{
    (void)state;
    static const char *const epochs[] = {"1", "6"};
    int least[2];
    for (int i = 0; i < 2; i++) {
        const char *const pairs[] = {"preset", "diskgnn", "resample-every", epochs[i], "epochs",
                                     "6",      "fanout",  "10,10",          "batch",   "300",
                                     NULL};
        struct og_err err = {0};
        struct og_options opt;
        char *figures = NULL;
        set_options(&opt, pairs, 1);
        assert_int_not_equal(og_simulate(graph, "lru", "5%", NULL, &opt, NULL, &figures, &err), 0);
        og__options_release(&opt);
        least[i] = named_smallest(&err);
    }
    assert_int_equal(least[0], least[1]);
}

/* A buffer for each array that is written: at least four a hop. */
static void samples_count_what_they_are_written_through(void **state)
{
    (void)state;
    static const char *const fanouts[] = {"2", "2,2,2,2,2,2,2"};
    enum { HOPS = 6, BUFFER = 128 }; /* hops between the two, KiB */
    char path[64];
    int least[2];
    snprintf(path, sizeof(path), "%s/sampled", root);
    make_tiny(path, 40);
    for (int i = 0; i < 2; i++) {
        const char *const pairs[] = {"fanout",  fanouts[i], "batch", "16", "epochs",
                                     "1",       "threads",  "1",     "io", "pread",
                                     "sampler", "walk",     NULL};
        struct og_err err = {0};
        assert_int_not_equal(sample_at(path, pairs, 1, &err), 0);
        least[i] = named_smallest(&err);
        assert_int_equal(runs_at_the_smallest(sample_at, path, fanouts[i], pairs), 0);
    }
    print_message("--memory %dM, and %dM with %d more hops\n", least[0], least[1], HOPS);
    assert_in_range(least[1] - least[0], HOPS * 4 * BUFFER / 1024, 12);
}

/* The rows of one batch, or of two, are in memory in addition to the cache. */
static void staging_is_what_memory_has_room_for(void **state)
{
    (void)state;
    const char *const pairs[] = {"policy", "none", "batch",   "300", "fanout", "10,10",
                                 "epochs", "1",    "threads", "2",   NULL};
    struct og_err err = {0};
    const int least = smallest(pairs);
    json_t *at_least = plan_with(pairs, least, &err);
    json_t *more = plan_with(pairs, 4 * least, &err);
    assert_true(at_least && more);
    assert_int_equal(json_integer_value(json_object_get(at_least, "staging_batches")), 1);
    assert_int_equal(json_integer_value(json_object_get(more, "staging_batches")), 2);
    json_decref(at_least);
    json_decref(more);
}

static int bench_train(const char *memory, const char *preset, struct og_err *err)
{
    static const char *const pairs[][2] = {
        {"batch", "600"}, {"fanout", "4,4"}, {"hidden", "4"}, {"threads", "2"}};
    struct og_options opt;
    char *text = NULL;
    og__options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(&opt, pairs[i][0], pairs[i][1], NULL), 0);
    assert_int_equal(og_options_set(&opt, "memory", memory, NULL), 0);
    if (preset)
        assert_int_equal(og_options_set(&opt, "preset", preset, NULL), 0);
    int rc = og__bench_train(graph, &opt, NULL, &text, err);
    assert_true((rc == 0) == (text != NULL));
    og__options_release(&opt);
    free(text);
    return rc;
}

/* What is measured is training with all features in memory, unless another plan is requested. */
static void training_is_measured_in_memory(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(bench_train("40M", NULL, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "60000 rows"));
    assert_int_equal(bench_train("40M", "pyg+", &err), 0);
    assert_int_equal(bench_train("80M", NULL, &err), 0);
}

/* A model far larger than memory is not made where none is trained, not even to be timed. */
static void an_epoch_without_a_model_has_none(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"batch", "300"},    {"fanout", "10,10"},
                                           {"epochs", "1"},     {"threads", "2"},
                                           {"hidden", "60000"}, {"memory", "45M"}};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    og__options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(&opt, pairs[i][0], pairs[i][1], NULL), 0);
    if (og__bench_epoch(graph, &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    free(text);
    text = NULL;
    assert_int_equal(og__bench_train(graph, &opt, NULL, &text, NULL), -ENOMEM);
    assert_null(text);
    og__options_release(&opt);
}

/* Where all rows fit once they are there once, if the policy leaves them where they are. */
static void rows_that_workers_share_are_counted_once(void **state)
{
    (void)state;
    enum { WORKERS = 4, FEATURES = 60000 * 128 * 4 };
    static const struct {
        const char *policy;
        int more; /* MiB */
        bool whole;
    } cases[] = {
        {"degree", 40, true}, {"random", 40, true}, {"degree", 10, false}, {"belady", 40, false}};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const char *const pairs[] = {"policy", cases[i].policy, "layout", "raw",   "workers", "4",
                                     "batch",  "300",           "fanout", "10,10", NULL};
        struct og_err err = {0};
        json_t *plan = plan_with(pairs, smallest(pairs) + cases[i].more, &err);
        if (!plan)
            fail_msg("%s: %s; %s", cases[i].policy, err.message, err.hint);
        const json_int_t cache = number_of(plan, "memory", "feature cache");
        const json_int_t misses = number_of(plan, "predicted", "misses");
        if ((cache == FEATURES / WORKERS) != cases[i].whole || (cases[i].whole && misses > 0))
            fail_msg("%s, %d MiB: a cache of %" JSON_INTEGER_FORMAT " bytes, %" JSON_INTEGER_FORMAT
                     " misses",
                     cases[i].policy, cases[i].more, cache, misses);
        json_decref(plan);
    }
}

/* ---- sizes that nobody gave ---- */

static size_t part_of(const json_t *plan, const char *part)
{
    return (size_t)json_integer_value(json_object_get(json_object_get(plan, "memory"), part));
}

/* Rings take a share of what is free, and are refused with their option if they were explicit. */
static void rings_follow_the_budget(void **state)
{
    (void)state;
    static const char *deep = "pvp:depth=16384";
    const char *pairs[] = {"policy",  "degree",        "device-policy", "hybrid", "device",
                           "virtual", "device-memory", "256M",          "batch",  "300",
                           "fanout",  "5,5",           "victim",        "pvp",    NULL};
    static const int more[] = {0, 1, 100, 2000};
    const int least = smallest(pairs);
    size_t before = 0;
    struct og_err err = {0};
    for (size_t i = 0; i < OG_COUNT(more); i++) {
        json_t *plan = plan_with(pairs, least + more[i], &err);
        if (!plan)
            fail_msg("--memory %dM: %s; %s", least + more[i], err.message, err.hint);
        const size_t rings = part_of(plan, "victims");
        assert_true(rings >= before && rings > 0);
        assert_true(i == 0 || rings < (size_t)(more[i] + 4) * OG_MIB / 4);
        before = rings;
        json_decref(plan);
    }
    assert_true(before < 256 * (size_t)16384 * 520); /* a batch has fewer rows */
    pairs[13] = deep;
    assert_null(plan_with(pairs, least + 100, &err));
    assert_non_null(strstr(err.hint, "--victim pvp"));
}

/* A reader of the topology has buffers no larger than that. */
static void a_tiny_structure_is_read_through_small_buffers(void **state)
{
    (void)state;
    char tiny[TEST_PATH + 8];
    struct og_generate g;
    struct og_err err = {0};
    const char *pairs[] = {"topology", "disk", "policy", "degree", "batch", "5", NULL};
    og__generate_init(&g);
    g.nodes = 20;
    g.degree = 3;
    g.dim = 1;
    g.classes = 2;
    g.threads = 1;
    snprintf(tiny, sizeof(tiny), "%s/tiny", root);
    assert_int_equal(og_generate(tiny, &g, NULL, NULL), 0);
    assert_null(plan_of(tiny, pairs, 8, &err));
    const int on_disk = named_smallest(&err);
    pairs[1] = "memory";
    assert_null(plan_of(tiny, pairs, 8, &err));
    assert_true(on_disk - named_smallest(&err) < 6); /* a reader's own memory is 4 MiB */
    pairs[1] = "disk";
    json_t *plan = plan_of(tiny, pairs, on_disk, &err);
    assert_non_null(plan);
    json_decref(plan);
}

/* A model that was made before has the width that it has. */
static void a_refusal_names_options_that_help(void **state)
{
    (void)state;
    char run[TEST_PATH + 8], checkpoint[TEST_PATH + 32];
    struct og_err err = {0};
    struct og_options opt;
    const char *const pairs[] = {"hidden", "1000",   "epochs", "0", "batch",
                                 "10",     "fanout", "2,2",    NULL};
    assert_null(plan_with(pairs, 16, &err));
    assert_non_null(strstr(err.hint, "--hidden"));
    snprintf(run, sizeof(run), "%s/wide", root);
    snprintf(checkpoint, sizeof(checkpoint), "%s/checkpoint.safetensors", run);
    set_options(&opt, pairs, 400);
    assert_int_equal(og_options_set(&opt, "run", run, NULL), 0);
    assert_int_equal(og_train(graph, &opt, NULL, NULL, &err), 0);
    og__options_release(&opt);
    set_options(&opt, pairs + 4, 16);
    assert_int_equal(og_eval(graph, checkpoint, "test", &opt, NULL, NULL, &err), -ENOMEM);
    og__options_release(&opt);
    assert_null(strstr(err.hint, "--hidden"));
}

/* Nor does packing a few rows take more than they do, and it works in that. */
static void few_rows_are_packed_in_little_memory(void **state)
{
    (void)state;
    static const char *const layouts[] = {"packed", "segmented"};
    char tiny[TEST_PATH + 8], run[TEST_PATH + 8];
    struct og_err err = {0};
    const char *pairs[] = {"policy", "frequency", "layout", "raw", "batch",  "5",   "cache", "10%",
                           "epochs", "3",         "hidden", "4",   "fanout", "2,2", NULL};
    snprintf(tiny, sizeof(tiny), "%s/tiny", root);
    assert_null(plan_of(tiny, pairs, 8, &err));
    const int raw = named_smallest(&err);
    for (size_t i = 0; i < OG_COUNT(layouts); i++) {
        struct og_options opt;
        pairs[3] = layouts[i];
        assert_null(plan_of(tiny, pairs, 8, &err));
        const int packed = named_smallest(&err);
        if (packed - raw > 12) /* readers' own memory is 4 MiB each */
            fail_msg("--memory %dM, and %dM for %s", raw, packed, layouts[i]);
        set_options(&opt, pairs, packed);
        snprintf(run, sizeof(run), "%s/%s", root, layouts[i]);
        assert_int_equal(og_options_set(&opt, "run", run, NULL), 0);
        if (og_train(tiny, &opt, NULL, NULL, &err) < 0)
            fail_msg("%s, --memory %dM: %s; %s", layouts[i], packed, err.message, err.hint);
        og__options_release(&opt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_is_named_before_there_is_a_plan),
        cmocka_unit_test(superbatches_that_it_chooses_fit),
        cmocka_unit_test(superbatches_are_long_in_little_memory),
        cmocka_unit_test(superbatches_take_what_they_need),
        cmocka_unit_test(tables_of_batches_stay_until_they_are_trained),
        cmocka_unit_test(tables_of_nodes_are_made_where_the_structure_was),
        cmocka_unit_test(the_smallest_that_is_named_is_enough),
        cmocka_unit_test(a_simulation_asks_for_nothing_that_training_keeps),
        cmocka_unit_test(samples_count_what_they_are_written_through),
        cmocka_unit_test(staging_is_what_memory_has_room_for),
        cmocka_unit_test(training_is_measured_in_memory),
        cmocka_unit_test(an_epoch_without_a_model_has_none),
        cmocka_unit_test(rows_that_workers_share_are_counted_once),
        cmocka_unit_test(rings_follow_the_budget),
        cmocka_unit_test(a_tiny_structure_is_read_through_small_buffers),
        cmocka_unit_test(a_refusal_names_options_that_help),
        cmocka_unit_test(few_rows_are_packed_in_little_memory),
    };
    return cmocka_run_group_tests(tests, make_graph, remove_graph);
}
