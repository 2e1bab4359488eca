/* Policies with a window, in whole runs: plans are the same wherever superbatches end. So are the
 * counts of `simulate`, `plan`, `bench epoch` and `train`; a tail is sampled once and keeps to the
 * disk allowed. */
#include "bench/bench.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_graph.h"

#include "base/file.h"
#include "support/files.h"

#include <dirent.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static char dataset[300];

static int make_dataset(void **state)
{
    struct og_generate g;
    int rc = make_folder(state);
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    small_graph_init(&g);
    return rc < 0 ? rc : og_generate(dataset, &g, NULL, NULL);
}

/* ---- runs ---- */

enum { EPOCHS = 3, PAIRS = 24 }; /* of 15 training batches */
typedef const char *pairs_t[PAIRS];

static void set_options(struct og_options *opt, const char *run, const char *const *pairs)
{
    static const char *const base[] = {"fanout",  "5,4", "batch",  "40",     "hidden", "8",
                                       "epochs",  "3",   "lr",     "0.01",   "memory", "96M",
                                       "cache",   "7%",  "policy", "hybrid", "update", "4",
                                       "threads", "2",   "ways",   "8",      NULL};
    const char *const *const lists[] = {base, pairs};
    char path[400];
    og__options_init(opt);
    for (size_t l = 0; l < OG_COUNT(lists); l++)
        for (const char *const *p = lists[l]; *p; p += 2)
            assert_int_equal(og_options_set(opt, p[0], p[1], NULL), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, run);
    assert_int_equal(og_options_set(opt, "run", path, NULL), 0);
    snprintf(path, sizeof(path), "%s/scratch", folder);
    assert_int_equal(og_options_set(opt, "scratch", path, NULL), 0);
}

struct outcome {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
};

static struct outcome train_seen(const char *const *pairs, const struct og_observer *seen)
{
    struct og_options opt;
    struct og_err err = {0};
    struct outcome o;
    char *text = NULL;
    char path[400];
    set_options(&opt, "run", pairs);
    if (og_train(dataset, &opt, seen, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    o.summary = json_loads(text, 0, NULL);
    free(text);
    snprintf(path, sizeof(path), "%s/run/checkpoint.safetensors", folder);
    assert_int_equal(og__read_text(path, 1 << 24, &o.checkpoint, &o.bytes, NULL), 0);
    snprintf(path, sizeof(path), "%s/run", folder);
    og__remove_tree(path);
    return o;
}

static struct outcome train(const char *const *pairs)
{
    return train_seen(pairs, NULL);
}

static void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static int64_t told(const json_t *from, const char *key)
{
    assert_true(json_is_integer(json_object_get(from, key)));
    return json_integer_value(json_object_get(from, key));
}

static const json_t *epoch_of(const json_t *result, size_t epoch)
{
    return json_array_get(json_object_get(result, "epochs"), epoch);
}

static int64_t sum_of(const json_t *result, const char *key)
{
    int64_t sum = 0;
    for (size_t e = 0; e < EPOCHS; e++)
        sum += told(epoch_of(result, e), key);
    return sum;
}

static json_t *simulated(const char *const *pairs)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, "unused", pairs);
    assert_int_equal(og_simulate(dataset, "hybrid", "7%", NULL, &opt, NULL, &text, NULL), 0);
    og__options_release(&opt);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    return root;
}

static json_t *bench(const char *const *pairs)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, "unused", pairs);
    assert_int_equal(og__bench_epoch(dataset, &opt, NULL, &text, NULL), 0);
    og__options_release(&opt);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    return root;
}

static json_t *planned(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_options(&opt, "unused", pairs);
    if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    return root;
}

/* ---- the same wherever superbatches end ---- */

static const char *const superbatches[] = {"1", "3", "7", "all", "auto", "1000"};

static void a_cut_is_not_seen(void **state)
{
    (void)state;
    static const char *const windows[] = {"2", "9", "256"}; /* of 15 batches an epoch, 45 in all */
    for (size_t w = 0; w < OG_COUNT(windows); w++) {
        int64_t misses[EPOCHS] = {0};
        struct outcome first = {0};
        for (size_t s = 0; s < OG_COUNT(superbatches); s++) {
            const pairs_t pairs = {"window", windows[w],   "eval-every",
                                   "0",      "superbatch", superbatches[s]};
            struct outcome o = train(pairs);
            json_t *measured = bench(pairs);
            json_t *root = simulated(pairs);
            const json_t *counted = json_array_get(json_object_get(root, "results"), 0);
            for (size_t e = 0; e < EPOCHS; e++) {
                const int64_t here = told(epoch_of(o.summary, e), "misses");
                if (s > 0 && here != misses[e])
                    fail_msg("window %s, epoch %zu: %lld misses with superbatches of %s, %lld of 1",
                             windows[w], e + 1, (long long)here, superbatches[s],
                             (long long)misses[e]);
                assert_int_equal(told(epoch_of(measured, e), "misses"), here);
                misses[e] = here;
            }
            assert_int_equal(told(counted, "misses"), sum_of(o.summary, "misses"));
            assert_int_equal(told(counted, "reads"), sum_of(measured, "reads"));
            if (s == 0)
                first = o;
            assert_int_equal(o.bytes, first.bytes);
            assert_memory_equal(o.checkpoint, first.checkpoint, o.bytes);
            if (s > 0)
                drop(&o);
            json_decref(root);
            json_decref(measured);
        }
        drop(&first);
    }
}

/* The window continues over validation batches and into the next epoch. */
static void a_window_sees_the_next_epoch(void **state)
{
    (void)state;
    int64_t misses[EPOCHS] = {0};
    for (size_t s = 0; s < OG_COUNT(superbatches); s++) {
        const pairs_t pairs = {"window",         "20", "eval-every", "2",
                               "resample-every", "2",  "superbatch", superbatches[s]};
        struct outcome o = train(pairs);
        for (size_t e = 0; e < EPOCHS; e++) {
            if (s == 0)
                misses[e] = told(epoch_of(o.summary, e), "misses");
            assert_int_equal(told(epoch_of(o.summary, e), "misses"), misses[e]);
        }
        drop(&o);
    }
}

/* A superbatch that is an epoch predicts what that epoch reads. */
static void what_is_planned_is_what_is_read(void **state)
{
    (void)state;
    static const char *const windows[] = {"5", "256"};
    static const char *const keys[] = {"rows", "hits", "misses", "feature_bytes_read",
                                       "bytes_read"};
    for (size_t w = 0; w < OG_COUNT(windows); w++) {
        const pairs_t pairs = {"window",     windows[w], "eval-every", "0",
                               "superbatch", "all",      "layout",     "raw"};
        json_t *plan = planned(pairs);
        struct outcome o = train(pairs);
        const json_t *said = json_object_get(plan, "predicted");
        assert_int_equal(told(plan, "tail"), w == 0 ? 5 : 2 * 15); /* that is the rest of the run */
        for (size_t k = 0; k < OG_COUNT(keys); k++)
            if (told(said, keys[k]) != told(epoch_of(o.summary, 0), keys[k]))
                fail_msg("window %s, %s: planned %lld, read %lld", windows[w], keys[k],
                         (long long)told(said, keys[k]),
                         (long long)told(epoch_of(o.summary, 0), keys[k]));
        drop(&o);
        json_decref(plan);
    }
}

/* ---- where what is sampled ahead goes ---- */

struct watched {
    uint64_t most; /* bytes in the scratch folder */
    bool short_tail;
};

static void look(void *arg, const struct og_progress *p)
{
    struct watched *w = arg;
    char path[400];
    (void)p;
    snprintf(path, sizeof(path), "%s/scratch", folder);
    w->most = OG_MAX(w->most, test_bytes_under(path));
}

static void listen(void *arg, int level, const char *text)
{
    struct watched *w = arg;
    (void)level;
    w->short_tail |= strstr(text, "looks ahead after a superbatch") != NULL;
}

/* With phased memory, and with topology on disk, batches and plans are spilled; pre-sampled batches
 * are elsewhere. Nothing of that changes a bit, and nothing stays. */
static void wherever_batches_are_put_the_bits_are_the_same(void **state)
{
    (void)state;
    static const pairs_t ways[] = {
        {"alternate", "true", "superbatch", "1"},
        {"alternate", "true", "superbatch", "4", "window", "3"},
        {"alternate", "true", "superbatch", "4", "window", "30"},
        {"alternate", "true", "superbatch", "all", "model", "sage"},
        {"memory", "58M", "superbatch", "2", "topology", "disk", "neighbor-cache", "0"},
        {"memory", "58M", "superbatch", "5", "layout", "packed"},
        {"superbatch", "4", "layout", "segmented", "alternate", "true"},
        {"samples", "SAMPLES", "superbatch", "2", "alternate", "true"},
        {"samples", "SAMPLES", "superbatch", "4"},
    };
    static const pairs_t plain = {"policy", "none"};
    static const pairs_t none = {NULL};
    char samples[400];
    struct og_options opt;
    snprintf(samples, sizeof(samples), "%s/samples", folder);
    set_options(&opt, "unused", none);
    assert_int_equal(og_sample(dataset, samples, false, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    struct outcome first = train(plain);
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        pairs_t pairs;
        char path[400];
        memcpy(pairs, ways[i], sizeof(pairs));
        for (size_t k = 0; k < PAIRS; k++)
            if (pairs[k] && strcmp(pairs[k], "SAMPLES") == 0)
                pairs[k] = samples;
        struct watched w = {0};
        const struct og_observer seen = {
            .size = sizeof(seen), .arg = &w, .progress = look, .message = listen};
        struct outcome o = train_seen(pairs, &seen);
        assert_int_equal(o.bytes, first.bytes);
        assert_memory_equal(o.checkpoint, first.checkpoint, o.bytes);
        if (strcmp(pairs[0], "alternate") == 0 && w.most == 0)
            fail_msg("way %zu: nothing was put away", i);
        snprintf(path, sizeof(path), "%s/scratch", folder);
        if (test_bytes_under(path) > 0)
            fail_msg("way %zu: %llu bytes are left", i, (unsigned long long)test_bytes_under(path));
        drop(&o);
    }
    drop(&first);
    og__remove_tree(samples);
}

/* Whatever --disk is, spilled bytes stay within it, of a tail too. A message says where a window
 * has no room. */
static void a_tail_keeps_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const sizes[] = {"1", "4", "7"};
    static const uint64_t limits[] = {300000, 400000, 500000, 700000, 1 << 30};
    for (size_t s = 0; s < OG_COUNT(sizes); s++) {
        int64_t tail = 0;
        struct watched w = {0};
        for (size_t i = 0; i < OG_COUNT(limits); i++) {
            char disk[32];
            snprintf(disk, sizeof(disk), "%llu", (unsigned long long)limits[i]);
            const pairs_t pairs = {"alternate", "true", "superbatch", sizes[s],
                                   "window",    "12",   "disk",       disk};
            const struct og_observer seen = {
                .size = sizeof(seen), .arg = &w, .progress = look, .message = listen};
            w = (struct watched){0};
            struct outcome o = train_seen(pairs, &seen);
            if (w.most > limits[i])
                fail_msg("superbatches of %s: %llu bytes on disk, %s allowed", sizes[s],
                         (unsigned long long)w.most, disk);
            const int64_t here = told(json_object_get(o.summary, "plan"), "tail");
            assert_int_equal(w.short_tail, here < 12);
            assert_true(here >= tail && here < (i == 0 ? 12 : 13));
            tail = here;
            drop(&o);
        }
        assert_int_equal(tail, 12);
        assert_true(w.most > limits[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_is_not_seen),
        cmocka_unit_test(a_window_sees_the_next_epoch),
        cmocka_unit_test(what_is_planned_is_what_is_read),
        cmocka_unit_test(wherever_batches_are_put_the_bits_are_the_same),
        cmocka_unit_test(a_tail_keeps_to_the_disk_allowed),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
