/* The memory plan: what it may choose itself it chooses so that it fits. */
#include "testing.h"

#include "base/base.h"
#include "base/temporary.h"

#include <outgrow/outgrow.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[] = "/tmp/og-memory-plan-XXXXXX";
static char graph[64];

/* Topology, batches and staging all of the same order, tens of megabytes of each. */
static int make_graph(void **state)
{
    (void)state;
    struct og_generate g;
    og_generate_init(&g);
    assert_non_null(mkdtemp(root));
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

static json_t *plan_with(const char *const *pairs, int memory, struct og_err *err)
{
    struct og_options opt;
    char limit[16];
    char *text = NULL;
    og_options_init(&opt);
    snprintf(limit, sizeof(limit), "%dM", memory);
    for (; *pairs; pairs += 2)
        assert_int_equal(og_options_set(&opt, pairs[0], pairs[1], NULL), 0);
    assert_int_equal(og_options_set(&opt, "memory", limit, NULL), 0);
    json_t *plan = og_plan(graph, &opt, NULL, &text, err) < 0 ? NULL : json_loads(text, 0, NULL);
    og_options_release(&opt);
    free(text);
    return plan;
}

/* MiB that the hint names. */
static int smallest(const char *const *pairs)
{
    static const char words[] = "the smallest that would do is --memory ";
    struct og_err err = {0};
    json_t *plan = plan_with(pairs, 16, &err);
    assert_null(plan);
    const char *named = strstr(err.hint, words);
    assert_non_null(named);
    return (int)strtol(named + strlen(words), NULL, 10);
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
    enum { STEPS = 6 }; /* from one batch to all of the run's */
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        const char *const pairs[] = {"policy",    ways[w][0], "layout", ways[w][1], "topology",
                                     ways[w][2],  "batch",    "300",    "fanout",   "10,10",
                                     "alternate", "true",     "epochs", "8",        NULL};
        const int least = smallest(pairs);
        for (int i = 0; i < STEPS; i++) {
            struct og_err err = {0};
            json_t *plan = plan_with(pairs, least + i * i * 3 / 2, &err);
            if (!plan)
                fail_msg("%s, %s, topology %s, --memory %dM: %s; %s", ways[w][0], ways[w][1],
                         ways[w][2], least + i * i * 3 / 2, err.message, err.hint);
            json_decref(plan);
        }
    }
}

/* The rows of one batch, or of two, lie in memory beside the cache; asked for while they are found,
 * those of all batches that are under way. */
static void staging_is_what_memory_has_room_for(void **state)
{
    (void)state;
    const char *const late[] = {"policy", "none", "batch",   "300", "fanout", "10,10",
                                "epochs", "1",    "threads", "2",   NULL};
    const char *const early[] = {"policy",      "none",   "batch", "300",     "fanout",
                                 "10,10",       "epochs", "1",     "threads", "2",
                                 "early-reads", "true",   NULL};
    struct og_err err = {0};
    const int least = smallest(late), least_early = smallest(early);
    json_t *at_least = plan_with(late, least, &err);
    json_t *more = plan_with(late, 4 * least, &err);
    json_t *at_least_early = plan_with(early, least_early, &err);
    assert_true(at_least && more && at_least_early);
    assert_int_equal(json_integer_value(json_object_get(at_least, "staging_batches")), 1);
    assert_int_equal(json_integer_value(json_object_get(more, "staging_batches")), 2);
    assert_true(json_integer_value(json_object_get(at_least_early, "staging_batches")) > 2);
    assert_true(least_early > least);
    json_decref(at_least);
    json_decref(more);
    json_decref(at_least_early);
}

static int bench_train(const char *memory, const char *preset, struct og_err *err)
{
    static const char *const pairs[][2] = {
        {"batch", "600"}, {"fanout", "4,4"}, {"hidden", "4"}, {"threads", "2"}};
    struct og_options opt;
    char *text = NULL;
    og_options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(&opt, pairs[i][0], pairs[i][1], NULL), 0);
    assert_int_equal(og_options_set(&opt, "memory", memory, NULL), 0);
    if (preset)
        assert_int_equal(og_options_set(&opt, "preset", preset, NULL), 0);
    int rc = og_bench_train(graph, &opt, NULL, &text, err);
    assert_true((rc == 0) == (text != NULL));
    og_options_release(&opt);
    free(text);
    return rc;
}

/* What is measured is training with all features in memory, unless another way is asked for. */
static void training_is_measured_in_memory(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(bench_train("40M", NULL, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "60000 rows"));
    assert_int_equal(bench_train("40M", "pyg+", &err), 0);
    assert_int_equal(bench_train("80M", NULL, &err), 0);
}

/* A model that would fill memory many times is not made where none is trained, not even to be
 * timed. */
static void an_epoch_without_a_model_has_none(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"batch", "300"},    {"fanout", "10,10"},
                                           {"epochs", "1"},     {"threads", "2"},
                                           {"hidden", "60000"}, {"memory", "45M"}};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    og_options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(&opt, pairs[i][0], pairs[i][1], NULL), 0);
    if (og_bench_epoch(graph, &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    free(text);
    text = NULL;
    assert_int_equal(og_bench_train(graph, &opt, NULL, &text, NULL), -ENOMEM);
    assert_null(text);
    og_options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superbatches_that_it_chooses_fit),
        cmocka_unit_test(staging_is_what_memory_has_room_for),
        cmocka_unit_test(training_is_measured_in_memory),
        cmocka_unit_test(an_epoch_without_a_model_has_none),
    };
    return cmocka_run_group_tests(tests, make_graph, remove_graph);
}
