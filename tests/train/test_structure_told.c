/* What an epoch reads of a topology on disk. `plan` and the run itself predict it, and are compared
 * with what the run then reads. */
#include "train/train_fixture.h"

#include "base/base.h"
#include "io/io.h"
#include "support/files.h"

#include <math.h>

/* A graph with 3 MB of topology, of which an epoch's first hop reads scattered blocks. The disk
 * reads them one by one. */
static int make_of(void **state, char *types, char *relations)
{
    const struct og_disk_profile disk = {.iops = 2e6,
                                         .bandwidth = 1e9,
                                         .fresh = 1e9,
                                         .write = 1e9,
                                         .depth = 64,
                                         .fault_threads = 8,
                                         .measured = true};
    struct og_generate g;
    if (make_dataset(state) < 0)
        return -1;
    snprintf(dataset, sizeof(dataset), "%s/large", root);
    og__generate_init(&g);
    g.types = types;
    g.relations = relations;
    g.nodes = 40000;
    g.degree = 20;
    g.dim = 16;
    g.classes = 4;
    g.train_fraction = 0.02;
    g.threads = 2;
    if (og_generate(dataset, &g, NULL, NULL) < 0)
        return -1;
    return og__profile_save(dataset, &disk, NULL, NULL);
}

static int make_large(void **state)
{
    return make_of(state, NULL, NULL);
}

/* The same in three relations, two of them there and back. */
static int make_large_typed(void **state)
{
    static char types[] = "paper:25000:16,author:15000:12";
    static char relations[] =
        "paper:cites:paper:16,author:writes:paper:8,paper:rev_writes:author:13.3333";
    return make_of(state, types, relations);
}

static json_t *plan_of(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_options(&opt, "unused", pairs);
    if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    json_t *plan = json_loads(text, 0, NULL);
    free(text);
    return plan;
}

static double told(const json_t *plan, const char *key)
{
    return json_number_value(json_object_get(json_object_get(plan, "predicted"), key));
}

static double read_in(const struct outcome *o, size_t epoch, const char *key)
{
    const json_t *e = json_array_get(json_object_get(o->summary, "epochs"), epoch);
    return json_number_value(json_object_get(e, key));
}

static void compare(size_t k, const char *what, const char *key, double told, double done,
                    double within)
{
    if (getenv("TEST_SHOW"))
        printf("%zu: %s %s: %.0f told, %.0f done\n", k, what, key, told, done);
    if (fabs(told - done) > within * done)
        fail_msg("%zu: %s %s: %.0f told, %.0f done", k, what, key, told, done);
}

struct shape {
    double within, hops;
    const char *pairs[16];
};

/* Predictions for groups of whole epochs are exact in the first epoch. They are close in later
 * ones, whose batches differ. The first of shorter groups stands for all. */
static void compare_shape(size_t k, const struct shape *shape)
{
    const double file = 40000.0 * 20 * 4;
    const char *pairs[22] = {"topology", "disk", "neighbor-cache", "0"};
    for (size_t i = 0; shape->pairs[i]; i++)
        pairs[4 + i] = shape->pairs[i];
    json_t *plan = plan_of(pairs);
    struct outcome o = train("run", pairs);
    const json_t *own = json_object_get(o.summary, "plan");
    const double done = read_in(&o, 0, "topology_bytes_read");
    assert_true(done > 0.05 * file && done < shape->hops * 0.8 * file); /* no whole passes */
    compare(k, "plan,", "topology_bytes_read", told(plan, "topology_bytes_read"), done,
            shape->within);
    compare(k, "run,", "topology_bytes_read", told(own, "topology_bytes_read"), done,
            shape->within);
    compare(k, "later,", "topology_bytes_read", told(plan, "topology_bytes_read"),
            read_in(&o, 2, "topology_bytes_read"), 0.05);
    compare(k, "plan,", "bytes_read", told(plan, "bytes_read"), read_in(&o, 0, "bytes_read"), 0.10);
    json_decref(plan);
    drop(&o);
}

static void bytes_told_are_bytes_read(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {0.002, 2, {"policy", "degree", "cache", "10%"}},
        {0.002, 3, {"policy", "none", "fanout", "3,3,3", "eval-every", "0"}},
        {0.002, 1, {"policy", "degree", "cache", "10%", "fanout", "10", "batch", "64"}},
        {0.05, 2, {"policy", "degree", "cache", "10%", "together", "2"}},
        {0.05, 2, {"policy", "random", "cache", "10%", "batch", "32", "together", "5"}},
        {0.002, 2, {"policy", "degree", "cache", "10%", "sampler", "labor"}},
        {0.002, 2, {"policy", "degree", "cache", "10%", "model", "gcn"}},
        {0.05, 2, {"policy", "degree", "cache", "10%", "neighbor-cache", "300K"}},
        {0.002, 2, {"policy", "belady", "cache", "10%", "eval-every", "0"}},
        {0.002, 2, {"policy", "sweep", "cache", "20%", "eval-every", "0"}},
        {0.002, 2, {"policy", "belady", "cache", "5%", "layout", "packed", "eval-every", "0"}},
        {0.05, 2, {"policy", "hybrid", "cache", "10%", "eval-every", "0"}},
    };
    for (size_t k = 0; k < OG_COUNT(shapes); k++)
        compare_shape(k, &shapes[k]);
}

static void and_so_they_are_of_relations(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {0.002, 2, {"memory", "256M", "policy", "degree", "cache", "10%"}},
        {0.002, 3, {"memory", "256M", "policy", "none", "fanout", "3,3,3", "eval-every", "0"}},
        {0.05, 2, {"memory", "256M", "policy", "degree", "cache", "10%", "together", "2"}},
        {0.002, 2, {"memory", "256M", "policy", "degree", "cache", "10%", "sampler", "labor"}},
        {0.05, 2, {"memory", "256M", "policy", "degree", "cache", "10%", "neighbor-cache", "300K"}},
        {0.002, 2, {"memory", "256M", "policy", "belady", "cache", "10%", "eval-every", "0"}},
    };
    for (size_t k = 0; k < OG_COUNT(shapes); k++)
        compare_shape(k, &shapes[k]);
}

/* The first group of the resumed run has the last batch of an epoch. It also has one of a few nodes
 * that are validated on. */
static void a_resumed_run_tells_of_training(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        "topology", "disk", "neighbor-cache", "0",   "policy",           "degree", "cache", "10%",
        "fanout",   "10",   "batch",          "400", "checkpoint-every", "0",      NULL};
    static const char *const again[] = {
        "topology", "disk", "neighbor-cache", "0",   "policy", "degree", "cache", "10%",
        "fanout",   "10",   "batch",          "400", "resume", "true",   NULL};
    struct test_stopper stopper = {.at = 1};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &stopper, .progress = test_count_batch, .stop = &stopper.stop};
    const int64_t few[] = {39990, 39991, 39992, 39993, 39994};
    struct og_options opt;
    test_write_npy(dataset, "valid.npy", OG__NPY_I64, 1, OG_COUNT(few), 1, few);
    set_options(&opt, "cut", pairs);
    assert_int_equal(og_train(dataset, &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og__options_release(&opt);
    struct outcome o = train("cut", again);
    compare(0, "resumed,", "topology_bytes_read",
            told(json_object_get(o.summary, "plan"), "topology_bytes_read"),
            read_in(&o, 1, "topology_bytes_read"), 0.01);
    drop(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_told_are_bytes_read),
        cmocka_unit_test(a_resumed_run_tells_of_training),
    };
    const struct CMUnitTest typed[] = {cmocka_unit_test(and_so_they_are_of_relations)};
    const int failed = cmocka_run_group_tests(tests, make_large, remove_all);
    return failed + cmocka_run_group_tests(typed, make_large_typed, remove_all);
}
