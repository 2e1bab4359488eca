/* Short runs with a cache of rows on the virtual device, and what they wrote. */
#ifndef DEVICE_RUN_H
#define DEVICE_RUN_H

#include "dataset/generate/options.h"
#include "device/tested_device.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/runs.h"
#include "support/small_run.h"

#include "base/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROW_BYTES = 96 * 4, EPOCHS = 2 };

static char dataset[300], run_path[300];

static inline int make_dataset(void **state)
{
    struct og_err err = {0};
    if (make_folder(state) < 0)
        return -1;
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    snprintf(run_path, sizeof(run_path), "%s/run", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    struct og_generate g = small_graph(OG_RMAT);
    g.nodes = 4000;
    g.degree = 10;
    g.dim = ROW_BYTES / 4;
    g.train_fraction = 0.12;
    if (og_generate(dataset, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

struct result {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
};

/* way: words of options, ended by NULL. */
static inline void common(struct og_options *opt, const char *const *way)
{
    char epochs[8];
    snprintf(epochs, sizeof(epochs), "%d", EPOCHS);
    small_run(opt, run_path);
    test_set(opt, "batch", "24");
    test_set(opt, "epochs", epochs);
    test_set(opt, "threads", "3");
    test_set(opt, "eval-every", "0");
    test_set(opt, "dropout", "0.3");
    test_set(opt, "device", tested_device());
    for (; *way; way += 2)
        test_set(opt, way[0], way[1]);
}

static inline struct result train(const char *const *way)
{
    struct result r = {0};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL, path[400];
    common(&opt, way);
    if (og_train(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    r.summary = json_loads(text, 0, NULL);
    assert_non_null(r.summary);
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(og__read_text(path, 1 << 24, &r.checkpoint, &r.bytes, NULL), 0);
    og__remove_tree(run_path);
    og__options_release(&opt);
    free(text);
    return r;
}

static inline void drop(struct result *r)
{
    json_decref(r->summary);
    free(r->checkpoint);
}

static inline void assert_same_numbers(const struct result *a, const struct result *b)
{
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->checkpoint, b->checkpoint, a->bytes);
    for (size_t e = 0; e < EPOCHS; e++) {
        const json_t *x = json_array_get(json_object_get(a->summary, "epochs"), e);
        const json_t *y = json_array_get(json_object_get(b->summary, "epochs"), e);
        assert_true(json_real_value(json_object_get(x, "loss")) ==
                    json_real_value(json_object_get(y, "loss")));
    }
    assert_true(json_equal(json_object_get(a->summary, "test_acc"),
                           json_object_get(b->summary, "test_acc")));
}

static inline long long sum(const struct result *r, const char *key)
{
    size_t e;
    json_t *epoch;
    long long n = 0;
    json_array_foreach(json_object_get(r->summary, "epochs"), e, epoch) n +=
        json_integer_value(json_object_get(epoch, key));
    return n;
}

/* What `plan` predicts of that run, to be given back. */
static inline json_t *plan_of(const char *const *way)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    common(&opt, way);
    if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    json_t *plan = json_loads(text, 0, NULL);
    free(text);
    og__options_release(&opt);
    return plan;
}

static inline const json_t *epoch_of(const struct result *r, size_t e)
{
    return json_array_get(json_object_get(r->summary, "epochs"), e);
}

static const char *const tier_keys[] = {
    "rows",    "hits",          "misses",         "device_hits", "host_hits",      "victim_hits",
    "demoted", "victim_pushed", "victim_dropped", "link_bytes",  "link_bytes_back"};

/* Rows by tier of the first epoch are those that `plan` and the run itself predicted. So are the
 * figures of these keys. */
static inline void assert_predicted(const struct result *run, const json_t *plan, const char *what,
                                    const char *const *keys)
{
    const json_t *told = json_object_get(plan, "predicted");
    const json_t *said = json_object_get(json_object_get(run->summary, "plan"), "predicted");
    for (size_t k = 0; k < OG_COUNT(tier_keys) || *keys; k++) {
        const char *key = k < OG_COUNT(tier_keys) ? tier_keys[k] : *keys++;
        const json_t *was = json_object_get(epoch_of(run, 0), key);
        if (!json_equal(was, json_object_get(told, key)) ||
            !json_equal(was, json_object_get(said, key)))
            fail_msg("%s: %s is %lld, told %lld and %lld", what, key, json_integer_value(was),
                     json_integer_value(json_object_get(told, key)),
                     json_integer_value(json_object_get(said, key)));
    }
}

static inline const json_t *device_of(const struct result *r)
{
    return json_object_get(json_object_get(r->summary, "plan"), "device");
}

/* The least --device-memory, as a refusal names it; and one page less is refused. */
static inline long smallest_memory(void)
{
    static const char *const little[] = {"device-memory", "1K", NULL};
    struct og_options opt;
    struct og_err err = {0};
    common(&opt, little);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    og__options_release(&opt);
    const char *at = strstr(err.hint, "--device-memory ");
    if (!at)
        fail_msg("%s: %s", err.message, err.hint);
    assert_true(access(run_path, F_OK) < 0);
    return strtol(at + strlen("--device-memory "), NULL, 10);
}

/* The --device-memory with which about `slots` rows stay on all devices together. `way` has the
 * other options. */
static inline void memory_of(const char *const *way, long slots, char out[32])
{
    struct og_options opt;
    char *text = NULL;
    common(&opt, way);
    test_set(&opt, "device-memory", "128M");
    assert_int_equal(og_plan(dataset, &opt, NULL, &text, NULL), 0);
    json_t *plan = json_loads(text, 0, NULL);
    const json_t *device = json_object_get(plan, "device");
    const json_t *memory = json_object_get(device, "memory");
    const double rooms = json_number_value(json_object_get(memory, "batches"));
    const double room = rooms / json_number_value(json_object_get(device, "batches"));
    const double fixed = json_number_value(json_object_get(memory, "model")) +
                         json_number_value(json_object_get(memory, "activations"));
    const double rows =
        (double)slots * ROW_BYTES / json_number_value(json_object_get(device, "devices"));
    int n = 3;
    double all = (fixed + n * room + rows) * 32 / 31;
    for (; n > 1 && n * room > (all - fixed) / 2; n--)
        all = (fixed + (n - 1) * room + rows) * 32 / 31;
    snprintf(out, 32, "%.0f", all);
    json_decref(plan);
    free(text);
    og__options_release(&opt);
}

static inline void memory_for(long slots, char out[32])
{
    static const char *const degree[] = {"policy", "degree", NULL};
    memory_of(degree, slots, out);
}

/* What the simulation counts of the same batches, with as many slots. */
static inline void assert_as_told(const struct result *r, const char *const *way,
                                  const char *policy, const char *cache,
                                  const struct og_tiers_asked *requested)
{
    static const char *const keys[] = {
        "rows",        "hits",       "device_hits",     "host_hits",
        "victim_hits", "misses",     "victim_pushed",   "victim_dropped",
        "demoted",     "link_bytes", "link_bytes_back", "peer_hits",
        "peer_bytes"};
    struct og_options opt;
    struct og_err err = {0};
    struct og_tiers_asked tiers = *requested;
    char *text = NULL, slots[32];
    const json_int_t rows = json_integer_value(json_object_get(device_of(r), "cache_rows"));
    snprintf(slots, sizeof(slots), "%lld", (long long)rows * ROW_BYTES);
    tiers.memory = slots;
    common(&opt, way);
    if (og_simulate(dataset, policy, cache, &tiers, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *told = json_array_get(json_object_get(root, "results"), 0);
    assert_int_equal(json_integer_value(json_object_get(told, "device_rows")), rows);
    for (size_t i = 0; i < OG_COUNT(keys); i++)
        if (sum(r, keys[i]) != json_integer_value(json_object_get(told, keys[i])))
            fail_msg("%s over %s: %s is %lld, told %lld",
                     requested->policies ? requested->policies : "-", policy, keys[i],
                     sum(r, keys[i]),
                     (long long)json_integer_value(json_object_get(told, keys[i])));
    assert_int_equal(sum(r, "device_hits") + sum(r, "host_hits") + sum(r, "victim_hits") +
                         sum(r, "misses"),
                     sum(r, "rows"));
    json_decref(root);
    free(text);
    og__options_release(&opt);
}

#endif
