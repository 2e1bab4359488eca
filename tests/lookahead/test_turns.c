/* --phased-memory: sampling and training use one memory in phases, whatever the policy. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"

#include "base/base.h"
#include "base/file.h"
#include "io/io.h"

#include <jansson.h>
#include <math.h>
#include <outgrow/outgrow.h>
#include <unistd.h>

static char dataset[300], run_path[300];

enum { DIM = 768 };

static int make_dataset(void **state)
{
    struct og_generate g;
    struct og_err err = {0};
    if (make_folder(state) < 0)
        return -1;
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    snprintf(run_path, sizeof(run_path), "%s/run", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    og__generate_init(&g);
    g.nodes = 3000;
    g.degree = 200;
    g.dim = DIM;
    g.classes = 4;
    g.train_fraction = 0.2;
    g.threads = 2;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    if (og_generate(dataset, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

/* ---- runs ---- */

struct result {
    json_t *root;
    char *checkpoint;
    size_t bytes;
};

static void set_all(struct og_options *opt, const char *const *pairs)
{
    struct og_err err = {0};
    for (; *pairs; pairs += 2)
        if (og_options_set(opt, pairs[0], pairs[1], &err) < 0)
            fail_msg("%s", err.message);
}

static struct og_options options(const char *const *pairs)
{
    static const char *const base[] = {"fanout", "4,4",    "batch", "64",      "hidden",
                                       "8",      "epochs", "2",     "threads", "2",
                                       "memory", "200M",   NULL};
    struct og_options opt;
    og__options_init(&opt);
    set_all(&opt, base);
    set_all(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", run_path, NULL), 0);
    return opt;
}

static struct result train_with(struct og_options *opt)
{
    struct result r = {0};
    struct og_err err = {0};
    char *text = NULL, path[400];
    if (og_train(dataset, opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    r.root = json_loads(text, 0, NULL);
    assert_non_null(r.root);
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(og__read_text(path, 1 << 24, &r.checkpoint, &r.bytes, NULL), 0);
    og__remove_tree(run_path);
    free(text);
    og__options_release(opt);
    return r;
}

static struct result train(const char *const *pairs)
{
    struct og_options opt = options(pairs);
    return train_with(&opt);
}

static void drop(struct result *r)
{
    json_decref(r->root);
    free(r->checkpoint);
}

static bool same_bits(const struct result *a, const struct result *b)
{
    return a->bytes == b->bytes && memcmp(a->checkpoint, b->checkpoint, a->bytes) == 0;
}

static int64_t of_plan(const struct result *r, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(r->root, "plan"), key));
}

static bool in_turns(const struct result *r)
{
    return json_is_true(json_object_get(json_object_get(r->root, "plan"), "alternates"));
}

static int64_t of_memory(const struct result *r, const char *key)
{
    const json_t *plan = json_object_get(r->root, "plan");
    return json_integer_value(json_object_get(json_object_get(plan, "memory"), key));
}

static int64_t of_epoch(const struct result *r, size_t epoch, const char *key)
{
    const json_t *epochs = json_object_get(r->root, "epochs");
    return json_integer_value(json_object_get(json_array_get(epochs, epoch), key));
}

/* The least memory that would do, and so much more, in bytes. */
static void set_tight(struct og_options *opt, int64_t more)
{
    struct og_err err = {0};
    char *text = NULL, size[32];
    if (og_plan(dataset, opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    json_t *plan = json_loads(text, 0, NULL);
    int64_t least =
        json_integer_value(json_object_get(json_object_get(plan, "memory"), "smallest"));
    assert_true(least > 0);
    snprintf(size, sizeof(size), "%lld", (long long)(least + more));
    assert_int_equal(og_options_set(opt, "memory", size, NULL), 0);
    json_decref(plan);
    free(text);
}

/* ---- tests ---- */

/* Ginex-PG: a static cache, whose hits are the same in phased memory. */
static void static_policies_take_turns(void **state)
{
    (void)state;
    static const char *const policies[] = {"none", "random", "degree", "presc", "pagerank"};
    for (size_t i = 0; i < OG_COUNT(policies); i++) {
        struct result a = train((const char *const[]){"policy", policies[i], "cache", "25%", NULL});
        struct result b = train((const char *const[]){"policy", policies[i], "cache", "25%",
                                                      "alternate", "true", NULL});
        assert_false(in_turns(&a));
        assert_true(in_turns(&b));
        assert_int_equal(of_plan(&a, "superbatch"), 0);
        assert_true(of_plan(&b, "superbatch") > 0);
        assert_int_equal(of_plan(&a, "cache_rows"), of_plan(&b, "cache_rows"));
        for (size_t e = 0; e < 2; e++) {
            assert_int_equal(of_epoch(&a, e, "hits"), of_epoch(&b, e, "hits"));
            assert_int_equal(of_epoch(&a, e, "misses"), of_epoch(&b, e, "misses"));
        }
        assert_int_equal(of_epoch(&b, 0, "prefill"), of_plan(&b, "cache_rows"));
        assert_true(same_bits(&a, &b));
        drop(&a);
        drop(&b);
    }
}

/* The reads of an epoch are predicted exactly, those of spilled batches included. */
static void a_static_run_in_turns_is_predicted(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "hits", "misses", "reads", "bytes_read", "feature_bytes_read", "trace_bytes_read"};
    struct result r = train((const char *const[]){"policy", "degree", "cache", "25%", "alternate",
                                                  "true", "superbatch", "all", NULL});
    const json_t *told = json_object_get(json_object_get(r.root, "plan"), "predicted");
    for (size_t k = 0; k < OG_COUNT(keys); k++)
        assert_int_equal(json_integer_value(json_object_get(told, keys[k])),
                         of_epoch(&r, 0, keys[k]));
    assert_true(of_epoch(&r, 0, "trace_bytes_read") > 0);
    drop(&r);
}

static json_t *plan_of(const char *const *pairs)
{
    struct og_options opt = options(pairs);
    struct og_err err = {0};
    char *text = NULL;
    if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    json_t *plan = json_loads(text, 0, NULL);
    assert_non_null(plan);
    free(text);
    return plan;
}

static double number(const json_t *of, const char *key)
{
    assert_true(json_is_number(json_object_get(of, key)));
    return json_number_value(json_object_get(of, key));
}

/* An explicit execution plan has the predicted seconds that it has as a candidate. The disk is so
 * slow that it takes nearly all of them. */
static void a_given_way_takes_as_long_as_it_does_beside_others(void **state)
{
    (void)state;
    enum { EPOCHS = 2 }; /* of options() */
    const struct og_disk_profile slow = {.iops = 500,
                                         .bandwidth = 20e6,
                                         .fresh = 20e6,
                                         .write = 20e6,
                                         .depth = 64,
                                         .fault_threads = 8,
                                         .measured = true};
    char *file;
    assert_int_equal(og__profile_save(dataset, &slow, &file, NULL), 0);
    json_t *all = plan_of((const char *const[]){"cache", "20%", NULL});
    const json_t *ways = json_object_get(all, "candidates");
    size_t n = 0, compared = 0, i;
    json_t *way;
    json_array_foreach(ways, i, way)
    {
        const double told = number(way, "seconds") - number(way, "prepare_seconds") / EPOCHS;
        if (!json_is_true(json_object_get(way, "possible")))
            continue;
        const bool turns = json_is_true(json_object_get(way, "alternates"));
        const char *policy = json_string_value(json_object_get(way, "policy"));
        const char *layout = json_string_value(json_object_get(way, "layout"));
        json_t *one =
            plan_of((const char *const[]){"cache", "20%", "policy", policy, "layout", layout,
                                          "alternate", turns ? "true" : "false", NULL});
        const json_t *predicted = json_object_get(one, "predicted");
        const double alone = number(predicted, "seconds");
        const double reads = number(way, "reads");
        if (strcmp(policy, "belady") == 0 && strcmp(layout, "raw") == 0) { /* counted as it runs */
            compared++;
            if (fabs(reads / number(predicted, "reads") - 1) > 0.05)
                fail_msg("%s, %d: %.0f reads, of %.0f beside others", policy, turns,
                         number(predicted, "reads"), reads);
        }
        if (alone < 0.75 * told || alone > told / 0.75)
            fail_msg("%s, %s, %d: %.3f s, of %.3f s beside others", policy, layout, turns, alone,
                     told);
        json_decref(one);
        n++;
    }
    assert_true(n >= 4);
    assert_int_equal(compared, 2);
    const json_t *best = json_array_get(ways, 0);
    const double epoch = number(best, "seconds") - number(best, "prepare_seconds") / EPOCHS;
    assert_true(fabs(number(json_object_get(all, "predicted"), "seconds") - epoch) < 1e-6 * epoch);
    json_decref(all);
    unlink(file);
    free(file);
}

/* Rows have the memory of the graph's structure while they are trained on. */
static void turns_leave_more_to_the_rows(void **state)
{
    (void)state;
    struct og_options straight = options((const char *const[]){"policy", "degree", NULL});
    struct og_options turns =
        options((const char *const[]){"policy", "degree", "alternate", "true", NULL});
    set_tight(&turns, 0); /* with more it would have all rows */
    straight.memory = turns.memory;
    struct result a = train_with(&straight);
    struct result b = train_with(&turns);
    int64_t rows_a = of_memory(&a, "feature cache") + of_memory(&a, "staging");
    int64_t rows_b = of_memory(&b, "feature cache") + of_memory(&b, "staging");
    assert_true(rows_b > rows_a + of_memory(&b, "topology") / 4);
    assert_true(same_bits(&a, &b));
    drop(&a);
    drop(&b);
}

/* Samplers that read from a disk leave their memory to the rows, and so do offsets of lists. All
 * rows fit in the smallest memory then. */
static void samplers_from_disk_give_way_to_the_rows(void **state)
{
    (void)state;
    struct result first = train((const char *const[]){"policy", "degree", NULL});
    for (int group = 1; group <= 8; group += 7) {
        char together[4];
        snprintf(together, sizeof(together), "%d", group);
        struct og_options opt = options((const char *const[]){
            "policy", "frequency", "topology", "disk", "alternate", "true", "superbatch", "6",
            "neighbor-cache", "0", "together", together, NULL});
        set_tight(&opt, 0);
        struct result r = train_with(&opt);
        const int64_t beside = of_memory(&r, "process") + of_memory(&r, "batches") +
                               of_memory(&r, "plans") + of_memory(&r, "read buffers") +
                               of_memory(&r, "model") + of_memory(&r, "activations");
        const int64_t rows = of_memory(&r, "feature cache");
        assert_int_equal(of_plan(&r, "cache_rows"), 3000);
        if (group == 1) /* samplers of groups are smaller */
            assert_true(beside + rows + of_memory(&r, "samplers") > of_memory(&r, "limit"));
        assert_true(same_bits(&first, &r));
        drop(&r);
    }
    drop(&first);
}

/* While the next batches are sampled the cache's last slots lose their rows: whatever the policy,
 * it knows. */
static void no_policy_believes_in_slots_that_were_yielded(void **state)
{
    (void)state;
    static const char *const policies[] = {"none",     "random",    "degree", "presc",
                                           "pagerank", "frequency", "lru",    "rr",
                                           "belady",   "hybrid",    "sweep"};
    static const char *const layouts[] = {"raw", "packed"};
    struct result first = train((const char *const[]){"policy", "degree", NULL});
    for (size_t i = 0; i < OG_COUNT(policies) * OG_COUNT(layouts); i++) {
        const char *policy = policies[i / 2];
        struct og_options opt =
            options((const char *const[]){"policy", policy, "layout", layouts[i % 2], "alternate",
                                          "true", "superbatch", "3", NULL});
        set_tight(&opt, 1 << 20);
        struct result r = train_with(&opt);
        if (strcmp(policy, "degree") == 0) /* rows that were released are filled again */
            assert_true(of_epoch(&r, 1, "prefill") > 0);
        if (!same_bits(&first, &r))
            fail_msg("%s, %s: other numbers", policy, layouts[i % 2]);
        drop(&r);
    }
    drop(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_policies_take_turns),
        cmocka_unit_test(a_static_run_in_turns_is_predicted),
        cmocka_unit_test(a_given_way_takes_as_long_as_it_does_beside_others),
        cmocka_unit_test(turns_leave_more_to_the_rows),
        cmocka_unit_test(samplers_from_disk_give_way_to_the_rows),
        cmocka_unit_test(no_policy_believes_in_slots_that_were_yielded),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
