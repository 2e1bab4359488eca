/* Whole runs on a small generated graph: the same bits however bytes move, resuming, refusing. */
#include "base/temporary.h"
#include "small_graph.h"
#include "support/files.h"
#include "support/runs.h"
#include "testing.h"
#include "whole_tensors.h"

#include "base/file.h"
#include "dataset/dataset.h"
#include "nn/nn.h"
#include "support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[TEST_PATH];
static char dataset[64];

static void in_root(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", root, name);
}

static int make_dataset(void **state)
{
    (void)state;
    struct og_generate g;
    struct og_err err = {0};
    assert_non_null(test_folder(root, "train"));
    snprintf(dataset, sizeof(dataset), "%s/graph", root);
    setenv("XDG_CACHE_HOME", root, 1);
    small_graph_init(&g);
    if (og_generate(dataset, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

/* Options given as "name", "value", ..., NULL over a small default. */
static void set_options(struct og_options *opt, const char *run, const char *const *pairs)
{
    static const char *const base[] = {"fanout", "5,4",    "batch",   "128", "hidden",
                                       "16",     "epochs", "3",       "lr",  "0.01",
                                       "memory", "96M",    "threads", "2",   NULL};
    const char *const *const lists[] = {base, pairs};
    char path[128];
    og_options_init(opt);
    for (size_t l = 0; l < OG_COUNT(lists); l++)
        for (const char *const *p = lists[l]; *p; p += 2) {
            struct og_err err = {0};
            if (og_options_set(opt, p[0], p[1], &err) < 0)
                fail_msg("%s: %s", err.message, err.hint);
        }
    in_root(path, run);
    assert_int_equal(og_options_set(opt, "run", path, NULL), 0);
}

struct outcome {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
};

static void read_checkpoint(const char *run, struct outcome *o)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s/checkpoint.safetensors", root, run);
    assert_int_equal(og__read_text(path, 1 << 24, &o->checkpoint, &o->bytes, NULL), 0);
}

static struct outcome train_seen(const char *run, const char *const *pairs,
                                 const struct og_observer *seen)
{
    struct og_options opt;
    struct og_err err = {0};
    struct outcome o;
    char *text = NULL;
    char path[128];
    set_options(&opt, run, pairs);
    if (og_train(dataset, &opt, seen, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    o.summary = json_loads(text, 0, NULL);
    assert_non_null(o.summary);
    read_checkpoint(run, &o);
    free(text);
    og_options_release(&opt);
    in_root(path, run);
    og__remove_tree(path);
    return o;
}

static struct outcome train(const char *run, const char *const *pairs)
{
    return train_seen(run, pairs, NULL);
}

static void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static double loss_of(const struct outcome *o, size_t epoch)
{
    return json_real_value(
        json_object_get(json_array_get(json_object_get(o->summary, "epochs"), epoch), "loss"));
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    const json_t *epochs = json_object_get(a->summary, "epochs");
    assert_int_equal(json_array_size(epochs),
                     json_array_size(json_object_get(b->summary, "epochs")));
    for (size_t e = 0; e < json_array_size(epochs); e++)
        assert_true(loss_of(a, e) == loss_of(b, e));
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->checkpoint, b->checkpoint, a->bytes);
    assert_true(json_real_value(json_object_get(a->summary, "test_acc")) ==
                json_real_value(json_object_get(b->summary, "test_acc")));
}

static void check_counts(const struct outcome *o)
{
    const json_t *epochs = json_object_get(o->summary, "epochs");
    size_t i;
    json_t *e;
    json_array_foreach(epochs, i, e)
        assert_int_equal(json_integer_value(json_object_get(e, "rows")),
                         json_integer_value(json_object_get(e, "hits")) +
                             json_integer_value(json_object_get(e, "misses")));
}

static void bytes_move_values_do_not(void **state)
{
    (void)state;
    static const char *const models[] = {"sage", "gcn"};
    static const char *const moves[][9] = {
        {"cache", "5%"},
        {"policy", "none"},
        {"policy", "random", "cache", "10%"},
        {"io", "pread", "cache", "5%"},
        {"io", "mmap", "policy", "none"},
        {"preset", "pyg+"},
        {"preset", "memory"},
        {"threads", "1", "cache", "30%"},
        {"threads", "3", "cache", "30%"},
        {"memory", "48M"},
        {"policy", "presc:2", "cache", "10%"},
        {"policy", "pagerank", "cache", "10%"},
        {"policy", "frequency", "cache", "10%"},
        {"policy", "lru", "cache", "10%"},
        {"policy", "rr", "cache", "10%"},
        {"policy", "hybrid", "cache", "10%"},
        {"policy", "belady", "cache", "5%"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "belady", "cache", "10%", "superbatch", "all"},
        {"policy", "belady", "cache", "10%", "alternate", "true"},
        {"policy", "belady", "memory", "48M", "alternate", "true"},
        {"policy", "frequency", "cache", "7%", "superbatch", "5", "io", "mmap"},
        {"policy", "sweep", "cache", "50%"},
        {"policy", "sweep", "cache", "10%"},
        {"policy", "sweep", "cache", "50%", "superbatch", "7", "io", "mmap"},
        {"policy", "sweep", "memory", "48M", "alternate", "true", "io", "pread"},
        {"topology", "disk", "cache", "10%"},
        {"topology", "disk", "neighbor-cache", "0", "io", "pread"},
        {"preset", "ali+pg", "cache", "10%"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "ginex", "superbatch", "4", "memory", "52M"},
        {"preset", "fgnn", "cache", "10%"},
        {"preset", "lsm-gnn", "cache", "10%"},
        {"preset", "helios", "cache", "10%"},
        {"policy", "none", "threads", "3"},
        {"cache", "10%", "io", "mmap"},
        {"layout", "packed", "cache", "10%"},
        {"layout", "packed", "policy", "none", "superbatch", "3", "io", "mmap"},
        {"layout", "packed", "policy", "belady", "cache", "5%", "superbatch", "4"},
        {"layout", "packed", "policy", "belady", "memory", "84M", "alternate", "true"},
        {"preset", "diskgnn", "cache", "10%", "io", "pread"},
        {"layout", "segmented", "policy", "belady", "disk", "600K", "superbatch", "all"},
        {"layout", "segmented", "policy", "none", "disk", "900K", "io", "mmap"},
        {"layout", "segmented", "policy", "degree", "cache", "10%", "superbatch", "3"},
        {"layout", "segmented", "policy", "belady", "memory", "96M", "alternate", "true"},
        {"preset", "diskgnn", "layout", "segmented", "disk", "700K", "cache", "10%"},
    };
    for (size_t m = 0; m < OG_COUNT(models); m++) {
        const char *plain[] = {"model", models[m], NULL};
        struct outcome first = train("first", plain);
        assert_true(loss_of(&first, 2) < loss_of(&first, 0));
        for (size_t i = 0; i < OG_COUNT(moves); i++) {
            const char *pairs[12] = {"model", models[m]};
            memcpy(pairs + 2, moves[i], sizeof(moves[i]));
            struct outcome other = train("other", pairs);
            assert_same(&first, &other);
            check_counts(&other);
            drop(&other);
        }
        const char *another[] = {"model", models[m], "seed", "2", NULL};
        struct outcome other = train("other", another);
        assert_true(loss_of(&first, 0) != loss_of(&other, 0));
        drop(&other);
        drop(&first);
    }
}

static void reused_batches_give_the_same_in_any_way(void **state)
{
    (void)state;
    static const char *const moves[][9] = {
        {"policy", "none"},
        {"policy", "belady", "cache", "10%"},
        {"policy", "belady", "cache", "10%", "layout", "packed", "superbatch", "4"},
        {"policy", "frequency", "cache", "5%"},
        {"policy", "frequency", "cache", "5%", "io", "mmap", "topology", "disk"},
        {"policy", "degree", "cache", "10%", "layout", "packed"},
        {"policy", "none", "layout", "packed", "threads", "1"},
        {"policy", "none", "layout", "segmented", "disk", "700K"},
        {"policy", "belady", "cache", "10%", "layout", "segmented", "disk", "500K"},
        {"preset", "diskgnn", "layout", "segmented", "disk", "800K", "cache", "5%"},
        {"preset", "diskgnn", "cache", "10%"},
        {"preset", "diskgnn", "memory", "84M", "threads", "3"},
        {"preset", "ginex", "cache", "10%"},
    };
    static const char *const reuse[] = {"resample-every", "2", "model", "gcn", NULL};
    static const char *const fresh[] = {"resample-every", "1", "model", "gcn", NULL};
    struct outcome first = train("first", reuse);
    struct outcome other = train("other", fresh);
    assert_true(loss_of(&first, 0) == loss_of(&other, 0));
    assert_true(loss_of(&first, 1) != loss_of(&other, 1));
    drop(&other);
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[14] = {"resample-every", "2", "model", "gcn"};
        memcpy(pairs + 4, moves[i], sizeof(moves[i]));
        other = train("other", pairs);
        assert_same(&first, &other);
        check_counts(&other);
        drop(&other);
    }
    drop(&first);
}

/* ---- every sampler ---- */

static char weighted[64]; /* the same graph with weights */

static void link_file(const char *name)
{
    char from[128];
    char to[128];
    snprintf(from, sizeof(from), "%s/%s", dataset, name);
    snprintf(to, sizeof(to), "%s/%s", weighted, name);
    assert_int_equal(symlink(from, to), 0);
}

/* Weights that make a difference, in a folder beside. */
static void make_weighted(void)
{
    static const char *const names[] = {"meta.json",  "indptr.npy", "indices.npy", "features.npy",
                                        "labels.npy", "train.npy",  "valid.npy",   "test.npy"};
    char path[128];
    struct og_dataset *ds;
    char head[4096];
    snprintf(weighted, sizeof(weighted), "%s/weighted", root);
    assert_int_equal(mkdir(weighted, 0755), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        link_file(names[i]);
    assert_int_equal(og__dataset_open(dataset, &ds, NULL), 0);
    const int64_t shape[2] = {ds->n_edges, 1};
    snprintf(path, sizeof(path), "%s/weights.npy", weighted);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    size_t n = og__npy_header(head, OG__NPY_F32, 1, shape, 4096);
    assert_int_equal(fwrite(head, 1, n, f), n);
    for (int64_t e = 0; e < ds->n_edges; e++)
        assert_int_equal(fwrite(&(float){(float)(e % 9)}, 4, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    og__dataset_close(ds);
}

static void every_sampler_trains_the_same_in_any_way(void **state)
{
    (void)state;
    static const char *const kinds[][6] = {
        {"sampler", "weighted"},
        {"sampler", "walk", "model", "pinsage"},
        {"sampler", "walk", "model", "gcn", "walks", "6"},
        {"sampler", "labor"},
        {"sampler", "labor", "model", "gcn"},
        {"sampler", "ladies", "model", "pinsage"},
    };
    static const char *const moves[][8] = {
        {"cache", "5%", "threads", "1"},
        {"policy", "presc:2", "cache", "10%"},
        {"policy", "hybrid", "cache", "10%"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "belady", "cache", "10%", "alternate", "true"},
        {"policy", "frequency", "cache", "7%", "superbatch", "5", "io", "mmap"},
        {"policy", "sweep", "cache", "50%", "alternate", "true"},
        {"topology", "disk", "cache", "5%", "neighbor-cache", "20%"},
        {"preset", "ginex", "cache", "10%", "neighbor-cache", "0"},
    };
    static const char *const none[] = {NULL};
    make_weighted();
    char plain[64];
    memcpy(plain, dataset, sizeof(plain));
    memcpy(dataset, weighted, sizeof(dataset));
    struct outcome uniform = train("uniform", none);
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        const char *pairs[16] = {NULL};
        size_t n = 0;
        for (; n < 6 && kinds[k][n]; n++)
            pairs[n] = kinds[k][n];
        struct outcome first = train("first", pairs);
        assert_true(loss_of(&first, 2) < loss_of(&first, 0));
        assert_true(loss_of(&first, 0) != loss_of(&uniform, 0));
        for (size_t i = 0; i < OG_COUNT(moves); i++) {
            memcpy(pairs + n, moves[i], sizeof(moves[i]));
            struct outcome other = train("other", pairs);
            assert_same(&first, &other);
            check_counts(&other);
            drop(&other);
        }
        drop(&first);
    }
    drop(&uniform);
    memcpy(dataset, plain, sizeof(dataset));
    og__remove_tree(weighted);
}

static void refused(const char *const *pairs, const char *says)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, "refused", pairs);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, says));
    assert_true(err.hint[0]);
    og_options_release(&opt);
}

static void samplers_say_what_they_need(void **state)
{
    (void)state;
    static const char *const unweighted[] = {"sampler", "weighted", NULL};
    refused(unweighted, "no edge weights");
}

/* ---- stopping and going on ---- */

/* A run that is stopped after so many batches. */
static void interrupt(const char *name, const char *const *pairs, int at)
{
    struct test_stopper s = {.at = at};
    const struct og_observer seen = {.arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, name, pairs);
    assert_int_equal(og_train(dataset, &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og_options_release(&opt);
}

static void an_interrupted_run_ends_with_the_same_bytes(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const int moments[] = {1, 4, 5, 6, 11, 17};
    struct outcome whole = train("whole", none);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", none, moments[i]);
        /* goes on elsewhere: other memory, policy and threads */
        static const char *const policies[] = {"random", "belady", "hybrid"};
        const char *on[] = {"resume",        "true",    "cache", "20%", "policy",
                            policies[i % 3], "threads", "1",     NULL};
        struct outcome resumed = train("cut", on);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

static void reused_batches_are_resumed(void **state)
{
    (void)state;
    static const char *const reuse[] = {"resample-every", "2", NULL};
    static const char *const diskgnn[] = {"resample-every", "2",   "preset", "diskgnn",
                                          "cache",          "10%", NULL};
    static const char *const on[] = {"resample-every", "2",    "preset", "diskgnn", "cache", "20%",
                                     "resume",         "true", NULL};
    static const int moments[] = {2, 6, 9, 13, 16, 17, 18, 23}; /* some while it validates */
    struct outcome whole = train("whole", reuse);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", diskgnn, moments[i]);
        struct outcome resumed = train("cut", on);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

static void a_run_is_not_overwritten_nor_resumed_as_another(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const other[] = {"resume", "true", "lr", "0.02", NULL};
    static const char *const same[] = {"resume", "true", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, "kept", none);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), 0);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EEXIST);
    assert_true(err.hint[0]);
    og_options_release(&opt);
    err = (struct og_err){0};
    set_options(&opt, "kept", other);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "started with another --lr (0.01, this run has 0.02)"));
    og_options_release(&opt);
    set_options(&opt, "kept", same); /* nothing is left to do: the same summary again */
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    in_root(path, "kept");
    og__remove_tree(path);
}

static void two_processes_do_not_train_in_one_folder(void **state)
{
    (void)state;
    static const char *const on[] = {"resume", "true", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    in_root(path, "shared");
    assert_int_equal(mkdir(path, 0777), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    set_options(&opt, "shared", on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.message, path));
    assert_true(err.hint[0]);
    close(fd);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    og__remove_tree(path);
}

/* How often a batch of an epoch, or 0, its own line, stands in metrics.jsonl; negative when a line
 * is broken. */
static int lines_of(const char *run, int epoch, int batch)
{
    char path[160];
    char *text;
    size_t len;
    int found = 0;
    snprintf(path, sizeof(path), "%s/%s/metrics.jsonl", root, run);
    assert_int_equal(og__read_text(path, 1 << 20, &text, &len, NULL), 0);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *row = json_loads(line, 0, NULL);
        if (!row)
            found = -100;
        found += json_integer_value(json_object_get(row, "epoch")) == epoch &&
                 json_integer_value(json_object_get(row, "batch")) == batch;
        json_decref(row);
    }
    free(text);
    return found;
}

/* A kill comes at any time after the last checkpoint: what was written since is written again. */
static void files_of_a_killed_run_follow_its_checkpoint(void **state)
{
    (void)state;
    static const char *const log[] = {"log-every", "1", NULL};
    static const char *const on[] = {"log-every", "1", "resume", "true", NULL};
    static const char *const files[] = {"best.safetensors", "checkpoint.safetensors",
                                        "plan.json.tmp-77-0", "resume.safetensors.tmp-77-0"};
    char path[160];
    interrupt("cut", log, 12);
    snprintf(path, sizeof(path), "%s/cut/metrics.jsonl", root);
    FILE *f = fopen(path, "a");
    fputs("{\"epoch\": 2, \"batch\": 4}\n{\"epoch\": 2, \"loss\": 1, \"valid_metrics\": {}}\n"
          "{\"epoch\": 3, \"batch\": 1}\n{\"epo",
          f);
    fclose(f);
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/cut/%s", root, files[i]);
        f = fopen(path, "w");
        fputs("torn", f);
        fclose(f);
    }
    interrupt("cut", on, 1);
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        char *text;
        size_t len;
        snprintf(path, sizeof(path), "%s/cut/%s", root, files[i]);
        int rc = og__read_text(path, 1 << 24, &text, &len, NULL);
        assert_int_equal(rc, i < 2 ? 0 : -ENOENT);
        if (rc == 0) {
            assert_true(len > 100);
            free(text);
        }
    }
    struct og_options opt;
    set_options(&opt, "cut", on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    for (int epoch = 1; epoch <= 3; epoch++)
        for (int batch = 0; batch <= 5; batch++)
            assert_int_equal(lines_of("cut", epoch, batch), 1);
    in_root(path, "cut");
    og__remove_tree(path);
}

/* Without an option: what the summary has of each epoch, validated or not. */
static void every_epoch_is_logged(void **state)
{
    (void)state;
    static const char *const odd[] = {"epochs", "3", "eval-every", "2", NULL};
    static const char *const same[] = {"epoch", "loss",          "train_acc", "valid_acc",
                                       "rows",  "valid_metrics", "hits",      "bytes_read"};
    char path[160];
    struct og_options opt;
    set_options(&opt, "logged", odd);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    snprintf(path, sizeof(path), "%s/logged/summary.json", root);
    json_t *summary = json_load_file(path, 0, NULL);
    const json_t *epochs = json_object_get(summary, "epochs");
    snprintf(path, sizeof(path), "%s/logged/metrics.jsonl", root);
    FILE *f = fopen(path, "r");
    for (size_t i = 0; i < 3; i++) {
        json_t *line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(line);
        for (size_t k = 0; k < OG_COUNT(same); k++) {
            const json_t *logged = json_object_get(line, same[k]);
            assert_non_null(logged);
            assert_true(json_equal(logged, json_object_get(json_array_get(epochs, i), same[k])));
        }
        assert_int_equal(json_is_null(json_object_get(line, "valid_acc")), i == 0);
        json_decref(line);
    }
    assert_int_equal(fgetc(f), '\n');
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    json_decref(summary);
    in_root(path, "logged");
    og__remove_tree(path);
}

static void a_run_may_be_made_longer_where_its_batches_stay(void **state)
{
    (void)state;
    static const char *const three[] = {"epochs", "3", NULL};
    static const char *const two[] = {"epochs", "2", NULL};
    static const char *const on[] = {"epochs", "3", "resume", "true", NULL};
    static const char *const odd[] = {"epochs", "3", "eval-every", "2", NULL};
    static const char *const odd_on[] = {"epochs", "5", "resume", "true", "eval-every", "2", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    struct outcome whole = train("whole", three);
    set_options(&opt, "longer", two);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    struct outcome longer = train("longer", on);
    assert_same(&whole, &longer);
    drop(&whole);
    drop(&longer);
    set_options(&opt, "odd", odd); /* it was evaluated once more, at its end */
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og_options_release(&opt);
    set_options(&opt, "odd", odd_on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "--epochs"));
    og_options_release(&opt);
    in_root(path, "odd");
    og__remove_tree(path);
}

/* ---- every model ---- */

/* The kinds of model, with ends and residuals between them. */
static const char *const kinds[][7] = {
    {"model", "gat"},
    {"model", "gat", "norm", "batch", "residual", "true"},
    {"model", "gat", "input-dropout", "0.2", "attention-dropout", "0.4"},
    {"model", "gin", "norm", "batch"},
    {"model", "gin"},
    {"model", "pinsage"},
    {"model", "pinsage", "sampler", "walk"},
    {"sampler", "labor"},
    {"aggregator", "max", "norm", "layer"},
    {"aggregator", "gcn", "residual", "true"},
    {"model", "gcn", "norm", "batch", "fanout", "4,4,4"},
    {"task", "link", "batch", "1024"},
    {"task", "link", "batch", "1024", "decoder", "mlp"},
};

static void every_model_learns_the_same_in_any_way(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        const char *pairs[14] = {NULL};
        size_t n = 0;
        for (; kinds[k][n]; n++)
            pairs[n] = kinds[k][n];
        struct outcome whole = train("whole", pairs);
        assert_true(loss_of(&whole, 2) < loss_of(&whole, 0));
        interrupt("cut", pairs, 12);
        static const char *const on[] = {"resume", "true", "cache", "20%", "threads", "1", NULL};
        memcpy(pairs + n, on, sizeof(on));
        struct outcome resumed = train("cut", pairs);
        assert_same(&whole, &resumed);
        drop(&resumed);
        drop(&whole);
    }
}

/* ---- links ---- */

/* All that the test was measured by, and the losses. */
static void assert_same_metrics(const struct outcome *a, const struct outcome *b)
{
    assert_same(a, b);
    assert_true(json_equal(json_object_get(a->summary, "test_metrics"),
                           json_object_get(b->summary, "test_metrics")));
    assert_true(json_equal(json_object_get(a->summary, "valid_metrics"),
                           json_object_get(b->summary, "valid_metrics")));
}

static const char *const links[] = {
    "task",      "link", "batch",          "256", "model",      "gcn",      "loss", "margin",
    "negatives", "3",    "eval-negatives", "30",  "edge-split", "60/20/20", NULL};

static void links_with(const char *pairs[32], const char *const *more)
{
    size_t n = 0;
    for (; links[n]; n++)
        pairs[n] = links[n];
    while ((pairs[n++] = *more++))
        ;
}

static void links_are_the_same_however_bytes_move(void **state)
{
    (void)state;
    static const char *const moves[][9] = {
        {"policy", "none", "threads", "3"},
        {"cache", "10%", "io", "pread", "threads", "1"},
        {"topology", "disk", "cache", "10%", "neighbor-cache", "0"},
        {"policy", "belady", "cache", "10%", "superbatch", "7"},
        {"policy", "presc:1", "cache", "10%"},
        {"policy", "pagerank", "cache", "10%"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "helios", "cache", "10%"},
    };
    struct outcome first = train("first", links);
    assert_true(loss_of(&first, 2) < loss_of(&first, 0));
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[32];
        links_with(pairs, moves[i]);
        struct outcome other = train("other", pairs);
        assert_same_metrics(&first, &other);
        check_counts(&other);
        drop(&other);
    }
    static const char *const others[][3] = {{"edge-split", "60/21/19"}, {"eval-negatives", "31"}};
    for (size_t i = 0; i < OG_COUNT(others); i++) {
        const char *pairs[32];
        links_with(pairs, others[i]);
        struct outcome other = train("other", pairs);
        assert_false(json_equal(json_object_get(first.summary, "test_metrics"),
                                json_object_get(other.summary, "test_metrics")));
        drop(&other);
    }
    drop(&first);
}

/* In training, in the midst of an evaluation, whose scores are made again, and at its ends. */
static void an_interrupted_run_of_links_ends_with_the_same_bytes(void **state)
{
    (void)state;
    struct outcome whole = train("whole", links);
    const json_t *epochs = json_object_get(whole.summary, "epochs");
    assert_int_equal(json_array_size(epochs), 3);
    static const int moments[] = {3, 34, 35, 38, 41, 46, 47, 48};
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", links, moments[i]);
        static const char *const on[] = {"resume", "true", "threads", "1", NULL};
        const char *pairs[32];
        links_with(pairs, on);
        struct outcome resumed = train("cut", pairs);
        assert_same_metrics(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

/* ---- values and labels ---- */

enum { N_VALUES = 3000, WIDE = 3 };

static void write_labels(const char *folder, const float *labels)
{
    char path[256];
    char head[4096];
    const int64_t shape[2] = {N_VALUES, WIDE};
    snprintf(path, sizeof(path), "%s/labels.npy", folder);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t n = og__npy_header(head, OG__NPY_F32, 2, shape, 64);
    assert_int_equal(fwrite(head, 1, n, f), n);
    assert_int_equal(fwrite(labels, sizeof(float), N_VALUES * WIDE, f), N_VALUES * WIDE);
    fclose(f);
}

/* The same graph with other labels: the first features of a node, or whether they are positive. */
static void relabel(char folder[64], bool values)
{
    static const char *const arrays[] = {"indptr", "indices", "features", "train", "valid", "test"};
    struct og_dataset *ds;
    char path[256];
    snprintf(folder, 64, "%s/%s", root, values ? "values" : "labels");
    assert_int_equal(og__make_dirs(folder, NULL), 0);
    assert_int_equal(og__dataset_open(dataset, &ds, NULL), 0);
    float *x = calloc((size_t)ds->dim, sizeof(*x)), *y = calloc(N_VALUES * WIDE, sizeof(*y));
    for (int64_t v = 0; v < N_VALUES; v++) {
        assert_int_equal(og__npy_read(&ds->features, v, 1, x, NULL), 0);
        for (int j = 0; j < WIDE; j++)
            y[v * WIDE + j] = !values ? x[j] > 0 : (v + j) % 11 ? 5 + 2 * x[j] - x[j + 1] : NAN;
    }
    og__dataset_close(ds);
    write_labels(folder, y);
    free(x);
    free(y);
    json_t *files = json_object();
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        snprintf(path, sizeof(path), "%s/%s.npy", dataset, arrays[i]);
        json_object_set_new(files, arrays[i], json_pack("{s:s}", "path", path));
    }
    json_t *meta = json_pack("{s:i s:i s:s s:o}", "format", 1, "num_classes", WIDE, "task",
                             values ? "node regression" : "node classification", "files", files);
    snprintf(path, sizeof(path), "%s/meta.json", folder);
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

static double metric(const struct outcome *o, const char *key)
{
    const json_t *value = json_object_get(json_object_get(o->summary, "test_metrics"), key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Trained whole and cut short in the evaluation: 5 + 5 batches an epoch. */
static struct outcome train_other(bool values, const char *const *pairs)
{
    char own[64];
    char graph[64];
    memcpy(graph, dataset, sizeof(graph));
    relabel(own, values);
    memcpy(dataset, own, sizeof(dataset));
    struct outcome whole = train("whole", pairs);
    interrupt("cut", pairs, 28);
    const char *on[16] = {"resume", "true", "threads", "3", "policy", "lru", "cache", "10%"};
    for (size_t i = 0; pairs[i]; i++)
        on[8 + i] = pairs[i];
    struct outcome resumed = train("cut", on);
    assert_same_metrics(&whole, &resumed);
    drop(&resumed);
    memcpy(dataset, graph, sizeof(graph));
    og__remove_tree(own);
    return whole;
}

static void values_are_learnt(void **state)
{
    (void)state;
    static const char *const mse[] = {"epochs", "20", "dropout", "0", NULL};
    static const char *const mae[] = {"epochs", "20", "dropout", "0", "loss", "mae", NULL};
    struct outcome a = train_other(true, mse);
    struct outcome b = train_other(true, mae);
    assert_true(metric(&a, "r2") > 0.8 && metric(&b, "r2") > 0.8);
    assert_true(metric(&a, "loss") == metric(&a, "mse"));
    assert_true(metric(&b, "loss") == metric(&b, "mae"));
    assert_true(json_number_value(json_object_get(a.summary, "test_acc")) == metric(&a, "r2"));
    drop(&a);
    drop(&b);
}

static void labels_are_learnt(void **state)
{
    (void)state;
    static const char *const some[] = {"epochs", "8", "dropout", "0", NULL};
    struct outcome a = train_other(false, some);
    assert_true(metric(&a, "micro_f1") > 0.8 && metric(&a, "auc") > 0.85 && metric(&a, "ap") > 0.8);
    assert_true(json_number_value(json_object_get(a.summary, "test_acc")) ==
                metric(&a, "micro_f1"));
    drop(&a);
}

/* Of two classes there is an area, and whichever way bytes move it is the same. */
static void two_classes_have_an_area(void **state)
{
    (void)state;
    static const char *const plain[] = {"epochs", "6", NULL};
    static const char *const moved[] = {"epochs", "6",       "policy", "lru", "cache",
                                        "5%",     "threads", "1",      NULL};
    char graph[64];
    struct og_generate g;
    og_generate_init(&g);
    g.nodes = 1500;
    g.dim = 16;
    g.classes = 2;
    g.train_fraction = 0.3;
    memcpy(graph, dataset, sizeof(graph));
    snprintf(dataset, sizeof(dataset), "%s/two", root);
    assert_int_equal(og_generate(dataset, &g, NULL, NULL), 0);
    struct outcome a = train("a", plain);
    struct outcome b = train("b", moved);
    assert_same_metrics(&a, &b);
    assert_true(metric(&a, "auc") > 0.8 && metric(&a, "auc") < 1);
    assert_true(metric(&a, "acc") > 0.7 && metric(&a, "ap") > 0.7);
    drop(&a);
    drop(&b);
    og__remove_tree(dataset);
    memcpy(dataset, graph, sizeof(graph));
}

static void losses_are_those_of_the_task(void **state)
{
    (void)state;
    static const char *const bad[][5] = {{"loss", "mse"},
                                         {"loss", "bce"},
                                         {"task", "link", "loss", "mae"},
                                         {"task", "regression"},
                                         {"task", "link", "edge-split", "80/10/20"}};
    for (size_t i = 0; i < OG_COUNT(bad); i++) {
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, "refused", bad[i]);
        assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
        assert_true(err.hint[0]);
        og_options_release(&opt);
    }
}

/* ---- memory ---- */

static void the_budget_named_does(const char *const *kind)
{
    const char *little[9] = {"memory", "4M"};
    for (size_t i = 0; kind[i]; i++)
        little[2 + i] = kind[i];
    struct og_options opt;
    struct og_err err = {0};
    char path[128];
    set_options(&opt, "small", little);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    og_options_release(&opt);
    in_root(path, "small");
    assert_int_not_equal(access(path, F_OK), 0); /* nothing was begun */
    const char *number = strstr(err.hint, "--memory ");
    assert_non_null(number);
    char named[32];
    snprintf(named, sizeof(named), "%.*s", (int)strcspn(number + 9, ";"), number + 9);
    const char *enough[9];
    memcpy(enough, little, sizeof(enough));
    enough[1] = named;
    struct outcome o = train("small", enough);
    drop(&o);
    snprintf(named, sizeof(named), "%ldM", strtol(number + 9, NULL, 10) - 1);
    set_options(&opt, "small", enough);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), -ENOMEM);
    og_options_release(&opt);
}

static void a_budget_that_cannot_do_is_refused_and_the_named_one_does(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL};
    the_budget_named_does(plain);
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        the_budget_named_does(kinds[k]);
}

/* ---- eval, plan, sample ---- */

/* The model's shape and sampler come from the checkpoint: eval is told nothing of them. */
static void eval_finds_what_training_with(const char *const *kind)
{
    static const char *const none[] = {NULL};
    struct og_options opt;
    char *summary = NULL;
    char *found = NULL;
    char path[160];
    set_options(&opt, "run", kind);
    assert_int_equal(og_train(dataset, &opt, NULL, &summary, NULL), 0);
    og_options_release(&opt);
    set_options(&opt, "run", none);
    for (size_t i = 0; kind[i]; i += 2)
        if (strcmp(kind[i], "fanout") == 0 || strcmp(kind[i], "batch") == 0)
            assert_int_equal(og_options_set(&opt, kind[i], kind[i + 1], NULL), 0);
    snprintf(path, sizeof(path), "%s/run/best.safetensors", root);
    assert_int_equal(og_eval(dataset, path, "test", &opt, NULL, &found, NULL), 0);
    json_t *a = json_loads(summary, 0, NULL);
    json_t *b = json_loads(found, 0, NULL);
    assert_true(json_real_value(json_object_get(a, "test_acc")) ==
                json_real_value(json_object_get(b, "acc")));
    assert_true(json_real_value(json_object_get(b, "acc")) > 0.4); /* chance is 0.2 */
    json_decref(a);
    json_decref(b);
    free(summary);
    free(found);
    og_options_release(&opt);
    in_root(path, "run");
    og__remove_tree(path);
}

static void eval_finds_what_training_found(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL};
    eval_finds_what_training_with(plain);
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        eval_finds_what_training_with(kinds[k]);
}

/* A state_dict of PyTorch's: no metadata, the count of batches an int64 scalar. */
static void a_state_dict_is_taken(void **state)
{
    (void)state;
    static const char *const kind[] = {"model", "gin", "norm", "batch", "epochs", "1", NULL};
    struct og_options opt;
    struct og_tensors t;
    struct og_err err = {0};
    static const int64_t count[1] = {7};
    char path[160];
    char theirs[160];
    char *found[2] = {NULL, NULL};
    set_options(&opt, "run", kind);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    snprintf(path, sizeof(path), "%s/run/checkpoint.safetensors", root);
    snprintf(theirs, sizeof(theirs), "%s/run/theirs.safetensors", root);
    char *bytes = whole_tensors(path, &t);
    bool seen = false;
    for (size_t i = 0; i < t.n; i++) {
        if (!strstr(t.tensor[i].name, "num_batches_tracked"))
            continue;
        seen = true;
        assert_true(*(const float *)t.tensor[i].data == 5); /* batches of the epoch */
        t.tensor[i].dtype = OG_TENSOR_I64;
        t.tensor[i].data = count;
        t.tensor[i].bytes = sizeof(count);
    }
    assert_true(seen);
    struct og_tensors bare = {.tensor = t.tensor, .n = t.n};
    assert_int_equal(og__tensors_write(theirs, &bare, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
    const char *const files[] = {path, theirs};
    json_t *acc[2];
    for (int i = 0; i < 2; i++) {
        if (og_eval(dataset, files[i], "test", &opt, NULL, &found[i], &err) < 0)
            fail_msg("%s", err.message);
        json_t *j = json_loads(found[i], 0, NULL);
        acc[i] = json_incref(json_object_get(j, "loss"));
        json_decref(j);
        free(found[i]);
    }
    assert_true(json_equal(acc[0], acc[1]));
    json_decref(acc[0]);
    json_decref(acc[1]);
    og_options_release(&opt);
    in_root(path, "run");
    og__remove_tree(path);
}

/* ---- the sampler, told by the checkpoint ---- */

static const char *const of_walks[][2] = {{"sampler", "walk"},
                                          {"walks", "6"},
                                          {"walk-length", "2"},
                                          {"walk-restart", "0.25"},
                                          {"neighbors", "4"}};

/* With these pairs and those of of_walks but the first `known`. */
static const char *const *with_walks(const char *pairs[20], size_t n, size_t known)
{
    for (size_t i = known; i < OG_COUNT(of_walks); i++) {
        pairs[n++] = of_walks[i][0];
        pairs[n++] = of_walks[i][1];
    }
    pairs[n] = NULL;
    return pairs;
}

/* The checkpoint of a run with these options at `path`. */
static void train_to(const char path[128], const char *const *pairs)
{
    struct outcome o = train("first", pairs);
    assert_int_equal(og__write_text(path, o.checkpoint, o.bytes, NULL), 0);
    drop(&o);
}

/* The file with `key` said to be `value`; NULL = not said; key NULL = nothing said at all. */
static void rewrite(const char *from, const char *to, const char *key, const char *value)
{
    struct og_tensors t;
    char *bytes = whole_tensors(from, &t);
    const size_t n = t.n_metadata;
    struct og_metadata own[32];
    assert_true(n <= OG_COUNT(own));
    struct og_tensors changed = {.tensor = t.tensor, .n = t.n, .metadata = own};
    for (size_t i = 0; key && i < n; i++) {
        bool this = strcmp(t.metadata[i].key, key) == 0;
        if (this && !value)
            continue;
        own[changed.n_metadata] = t.metadata[i];
        if (this)
            own[changed.n_metadata].value = (char *)value;
        changed.n_metadata++;
    }
    assert_int_equal(og__tensors_write(to, &changed, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
}

/* What the file says of a sampler, as "name=value ...". */
static void said_sampler(const char *path, char out[200])
{
    struct og_tensors t;
    char *bytes = whole_tensors(path, &t);
    out[0] = 0;
    for (size_t i = 0; i < t.n_metadata; i++)
        for (size_t k = 0; k < OG_COUNT(of_walks); k++)
            if (strcmp(t.metadata[i].key, of_walks[k][0]) == 0)
                snprintf(out + strlen(out), 200 - strlen(out), "%s=%s ", t.metadata[i].key,
                         t.metadata[i].value);
    og__tensors_release(&t);
    free(bytes);
}

static void the_checkpoint_says_how_it_was_sampled(void **state)
{
    (void)state;
    static const char *const one[] = {"epochs", "1", NULL};
    static const char *const labor[] = {"epochs", "1", "sampler", "labor", "walks", "9", NULL};
    const char *pairs[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char said[200];
    in_root(path, "said.safetensors");
    train_to(path, one);
    said_sampler(path, said);
    assert_string_equal(said, "sampler=uniform ");
    train_to(path, labor); /* walks are nothing to it */
    said_sampler(path, said);
    assert_string_equal(said, "sampler=labor ");
    train_to(path, with_walks(pairs, 4, 0));
    said_sampler(path, said);
    assert_string_equal(said, "sampler=walk walks=6 walk-length=2 walk-restart=0.25 neighbors=4 ");
    unlink(path);
}

/* Two runs with these options are the same to the last bit, the checkpoint's name for its sampler
 * included. */
static void same_runs(const char *const *a, const char *const *b)
{
    struct outcome first = train("first", a);
    struct outcome other = train("other", b);
    assert_same(&first, &other);
    drop(&first);
    drop(&other);
}

static void training_goes_on_with_the_sampler_of_its_start(void **state)
{
    (void)state;
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char bare[128];
    in_root(path, "start.safetensors");
    in_root(bare, "bare.safetensors");
    train_to(path, with_walks(told, 4, 0));
    rewrite(path, bare, NULL, NULL);
    const char *const found[] = {"epochs", "2", "model", "pinsage", "init", path, NULL};
    const char *all[20] = {"epochs", "2", "model", "pinsage", "init", bare};
    same_runs(found, with_walks(all, 6, 0));
    /* what is given wins, one by one */
    const char *const fewer[] = {"epochs", "2",     "model", "pinsage", "init",
                                 path,     "walks", "3",     NULL};
    const char *rest[20] = {"epochs", "2",     "model", "pinsage", "init",
                            bare,     "walks", "3",     "sampler", "walk"};
    same_runs(fewer, with_walks(rest, 10, 2));
    const char *const plain[] = {"epochs", "2", "model", "pinsage", "init", bare, NULL};
    const char *const uniform[] = {"epochs", "2",       "model",   "pinsage", "init",
                                   path,     "sampler", "uniform", NULL};
    same_runs(plain, uniform);
    struct outcome walked = train("first", found);
    struct outcome drawn = train("other", plain);
    assert_true(loss_of(&walked, 0) != loss_of(&drawn, 0));
    drop(&drawn);
    /* an interrupted run goes on in the same way */
    interrupt("cut", found, 7);
    const char *const on[] = {"epochs", "2",      "model", "pinsage", "init",
                              path,     "resume", "true",  NULL};
    struct outcome resumed = train("cut", on);
    assert_same(&walked, &resumed);
    drop(&resumed);
    drop(&walked);
    unlink(path);
    unlink(bare);
}

static double eval_loss(const char *path, const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_options(&opt, "none", pairs);
    if (og_eval(dataset, path, "test", &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *found = json_loads(text, 0, NULL);
    double loss = json_real_value(json_object_get(found, "loss"));
    json_decref(found);
    free(text);
    og_options_release(&opt);
    return loss;
}

static void eval_samples_as_the_checkpoint_says(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const uniform[] = {"sampler", "uniform", NULL};
    static const char *const narrow[] = {"neighbors", "1", NULL};
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    const char *walks[20];
    const char *narrow_walks[20] = {"neighbors", "1"};
    char path[128];
    char bare[128];
    in_root(path, "start.safetensors");
    in_root(bare, "bare.safetensors");
    train_to(path, with_walks(told, 4, 0));
    rewrite(path, bare, NULL, NULL);
    double found = eval_loss(path, none);
    assert_true(found == eval_loss(bare, with_walks(walks, 0, 0)));
    assert_true(found != eval_loss(path, uniform));
    assert_true(eval_loss(path, uniform) == eval_loss(bare, none));
    with_walks(narrow_walks, 2, 0);
    narrow_walks[10] = NULL; /* all but the other --neighbors */
    assert_true(eval_loss(path, narrow) == eval_loss(bare, narrow_walks));
    assert_true(eval_loss(path, narrow) != found);
    rewrite(path, bare, "walks", NULL); /* what it does not say is as ever */
    const char *const four[] = {"walks", "4", NULL};
    assert_true(eval_loss(bare, none) == eval_loss(path, four));
    unlink(path);
    unlink(bare);
}

static void a_sampler_unheard_of_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *own;
    } wrong[] = {{"sampler", "teleport", "uniform"},
                 {"walks", "0", "2"},
                 {"walk-restart", "nan", "0.5"},
                 {"neighbors", "", "3"}};
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char odd[128];
    char hint[32];
    in_root(path, "start.safetensors");
    in_root(odd, "odd.safetensors");
    train_to(path, with_walks(told, 4, 0));
    for (size_t i = 0; i < OG_COUNT(wrong); i++) {
        const char *const pairs[] = {"model", "pinsage", "init", odd, NULL};
        const char *const own[] = {wrong[i].name, wrong[i].own, NULL};
        struct og_options opt;
        struct og_err err = {0};
        rewrite(path, odd, wrong[i].name, wrong[i].value);
        set_options(&opt, "never", pairs);
        assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.message, odd));
        snprintf(hint, sizeof(hint), "--%s", wrong[i].name);
        assert_non_null(strstr(err.hint, hint));
        og_options_release(&opt);
        eval_loss(odd, own); /* not looked at */
    }
    unlink(path);
    unlink(odd);
}

/* Exact where all batches are known beforehand: five, all of them in the pilot; or a superbatch. */
static void predictions_come_true(void **state)
{
    (void)state;
    static const char *const some[][15] = {
        {"policy", "degree", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "belady", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"preset", "ginex", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "frequency", "cache", "5%", "epochs", "1", "eval-every", "0"},
        {"policy", "lru", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "belady", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "packed"},
        {"policy", "degree", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "packed"},
        {"policy", "belady", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented",
         "disk", "450K", "superbatch", "all"},
        {"policy", "degree", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented",
         "disk", "500K", "superbatch", "all"},
        {"policy", "none", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented"},
    };
    static const char *const keys[] = {"rows",
                                       "hits",
                                       "misses",
                                       "reads",
                                       "bytes_read",
                                       "feature_bytes_read",
                                       "topology_bytes_read"};
    for (size_t k = 0; k < OG_COUNT(some); k++) {
        struct og_options opt;
        char *plan = NULL;
        set_options(&opt, "unused", some[k]);
        assert_int_equal(og_plan(dataset, &opt, NULL, &plan, NULL), 0);
        og_options_release(&opt);
        json_t *predicted = json_loads(plan, 0, NULL);
        struct outcome o = train("run", some[k]);
        const json_t *said = json_object_get(predicted, "predicted");
        const json_t *was = json_array_get(json_object_get(o.summary, "epochs"), 0);
        bool puts_away = k == 2; /* what comes back of that is told to a batch's share */
        for (size_t i = 0; i < OG_COUNT(keys); i++)
            if (!puts_away || (i != 3 && i != 4))
                assert_int_equal(json_integer_value(json_object_get(said, keys[i])),
                                 json_integer_value(json_object_get(was, keys[i])));
        json_decref(predicted);
        free(plan);
        drop(&o);
    }
}

/* There is nothing to predict, and a plan nevertheless. */
static void no_epochs_are_planned(void **state)
{
    (void)state;
    static const char *const some[][7] = {
        {"epochs", "0", "policy", "belady"},
        {"epochs", "0", "policy", "lru"},
        {"epochs", "0", "policy", "frequency", "layout", "packed"},
        {"epochs", "0", "policy", "degree", "layout", "segmented"},
    };
    for (size_t k = 0; k < OG_COUNT(some); k++) {
        struct og_options opt;
        struct og_err err = {0};
        char *plan = NULL;
        set_options(&opt, "unused", some[k]);
        if (og_plan(dataset, &opt, NULL, &plan, &err) < 0)
            fail_msg("%s: %s", err.message, err.hint);
        og_options_release(&opt);
        assert_non_null(strstr(plan, "\"predicted\": null"));
        free(plan);
    }
}

/* ---- killed while it had put much away ---- */

static size_t count_scratch(void)
{
    char path[128];
    size_t n = 0;
    in_root(path, "killed");
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strncmp(e->d_name, "outgrow-scratch", 15) == 0;
    if (dir)
        closedir(dir);
    return n;
}

static void killed_with(const char *preset, const char *layout, const char *disk)
{
    const char *const ahead[] = {"preset", preset,   "epochs", "400",  "superbatch", "50", "cache",
                                 "10%",    "layout", layout,   "disk", disk,         NULL};
    const char *const again[] = {"preset", preset,  "epochs", "400",    "superbatch",
                                 "50",     "cache", "10%",    "layout", layout,
                                 "disk",   disk,    "resume", "true",   NULL};
    size_t found = 0;
    for (int i = 0; i < 6 || (found == 0 && i < 100); i++) { /* later where all is slow */
        pid_t child = fork();
        if (child == 0) {
            struct og_options opt;
            set_options(&opt, "killed", i ? again : ahead);
            _exit(og_train(dataset, &opt, NULL, NULL, NULL) == 0 ? 0 : 1);
        }
        usleep(60000 + 25000 * (unsigned)i);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        found += count_scratch();
    }
    assert_true(found > 0); /* it was killed in the middle at least once */
    static const char *const last[] = {"policy", "degree", "resume", "true", "epochs", "400", NULL};
    interrupt("killed", last, 1);
    assert_int_equal(count_scratch(), 0);
    char path[128];
    in_root(path, "killed");
    og__remove_tree(path);
}

static void a_killed_run_leaves_nothing_after_the_next_start(void **state)
{
    (void)state;
    killed_with("ginex", "raw", "1G");
    killed_with("diskgnn", "packed", "1G");    /* killed while it packs, too */
    killed_with("diskgnn", "segmented", "3M"); /* while it writes shared rows */
}

/* By the run, and by a plan of it. */
static void refused_for_disk(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    struct og_err planned = {0};
    char *plan = NULL;
    set_options(&opt, "killed", pairs);
    assert_int_equal(og_plan(dataset, &opt, NULL, &plan, &planned), -ENOSPC);
    assert_null(plan);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOSPC);
    og_options_release(&opt);
    assert_non_null(strstr(err.message, "--disk"));
    assert_true(err.hint[0]);
    assert_non_null(strstr(planned.message, "--disk"));
    assert_int_equal(count_scratch(), 0);
    char path[128];
    in_root(path, "killed");
    og__remove_tree(path);
}

static void a_pack_beyond_the_disk_allowed_is_refused(void **state)
{
    (void)state;
    static const char *const little[][15] = {
        {"preset", "diskgnn", "resample-every", "3", "disk", "600K", "cache", "1%", "layout",
         "packed"},
        {"preset", "diskgnn", "resample-every", "3", "disk", "100K", "cache", "1%", "layout",
         "segmented"},
        {"policy", "belady", "superbatch", "1", "disk", "30K", "cache", "1%", "layout", "packed"},
    };
    for (size_t k = 0; k < OG_COUNT(little); k++)
        refused_for_disk(little[k]);
}

/* Rows are read where they are, but what is sampled ahead is put away. */
static void batches_beyond_the_disk_allowed_are_refused(void **state)
{
    (void)state;
    static const char *const little[][15] = {
        {"policy", "belady", "cache", "5%", "superbatch", "all", "disk", "150K", "alternate",
         "true"},
        {"policy", "sweep", "cache", "10%", "superbatch", "all", "disk", "0", "alternate", "true"},
        {"policy", "belady", "cache", "100%", "superbatch", "3", "disk", "4K", "alternate", "true",
         "layout", "segmented"},
        {"policy", "frequency", "cache", "5%", "resample-every", "3", "disk", "100K", "alternate",
         "true"},
    };
    for (size_t k = 0; k < OG_COUNT(little); k++)
        refused_for_disk(little[k]);
}

/* The most that lay in a scratch folder while batches were trained. */
struct disk_watch {
    char scratch[128];
    uint64_t most;
};

static void look_at_disk(void *arg, const struct og_progress *p)
{
    struct disk_watch *w = arg;
    (void)p;
    w->most = OG_MAX(w->most, test_bytes_under(w->scratch));
}

/* Trains with --disk, and returns the most that lay there. */
static uint64_t most_on_disk(const char *const *pairs, struct outcome *o)
{
    struct disk_watch w = {.most = 0};
    const struct og_observer seen = {.arg = &w, .progress = look_at_disk};
    const char *all[24] = {"scratch", w.scratch};
    size_t n = 2;
    in_root(w.scratch, "scratch");
    assert_int_equal(mkdir(w.scratch, 0700), 0);
    while (*pairs && n + 2 < OG_COUNT(all))
        all[n++] = *pairs++;
    assert_null(*pairs);
    *o = train_seen("run", all, &seen);
    assert_int_equal(rmdir(w.scratch), 0); /* and nothing stays */
    return w.most;
}

/* As many batches as there is room for, whatever the policy puts away beside them. Hybrid keeps a
 * tail of the coming batches, which goes piece by piece while its superbatch is trained. */
static void batches_sampled_ahead_keep_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const policies[] = {"belady", "frequency", "sweep", "hybrid"};
    static const char *const limits[] = {"100K", "200K", "300K"}; /* all: 360K */
    for (size_t k = 0; k < OG_COUNT(policies) * OG_COUNT(limits); k++) {
        const char *const pairs[] = {"policy", policies[k / 3], "cache",       "20%", "alternate",
                                     "true",   "disk",          limits[k % 3], NULL};
        const uint64_t limit = strtoull(limits[k % 3], NULL, 10) << 10;
        struct outcome o;
        const uint64_t most = most_on_disk(pairs, &o);
        const uint64_t least = strcmp(policies[k / 3], "hybrid") == 0 ? limit / 3 : limit / 2;
        if (most > limit || most < least)
            fail_msg("%s, %s: %llu bytes on disk", policies[k / 3], limits[k % 3],
                     (unsigned long long)most);
        drop(&o);
    }
}

/* It is kept for the next run where there is room, else not. */
static void a_neighbour_cache_keeps_to_the_disk_allowed(void **state)
{
    (void)state;
    char scratch[128];
    in_root(scratch, "scratch");
    for (int room = 0; room < 2; room++) {
        const char *const pairs[] = {"topology", "disk", "neighbor-cache",      "40K", "scratch",
                                     scratch,    "disk", room ? "100K" : "10K", NULL};
        assert_int_equal(mkdir(scratch, 0700), 0);
        struct outcome o = train("run", pairs);
        drop(&o);
        assert_int_equal(rmdir(scratch) == 0, !room);
        og__remove_tree(scratch);
    }
}

/* More than there are is all of them. */
static void a_superbatch_ends_with_the_run(void **state)
{
    (void)state;
    static const char *const many[] = {"policy", "belady", "superbatch", "1000000000", NULL};
    static const char *const few[] = {"policy", "belady", "superbatch", "24", NULL};
    struct outcome a = train("run", many);
    struct outcome b = train("run", few);
    const json_t *plan = json_object_get(a.summary, "plan");
    assert_true(json_integer_value(json_object_get(plan, "superbatch")) <= 100);
    assert_same(&a, &b);
    drop(&a);
    drop(&b);
}

/* Where packing every batch is refused segments do it, and keep to what they may take. */
static void segments_keep_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const limits[] = {"850K", "1000K", "1200K"};
    for (size_t i = 0; i < OG_COUNT(limits); i++) {
        const char *const pairs[] = {
            "preset", "diskgnn", "resample-every", "3",       "layout", "segmented",
            "cache",  "1%",      "disk",           limits[i], NULL};
        struct outcome o;
        const uint64_t most = most_on_disk(pairs, &o);
        assert_in_range(most, 1, strtoull(limits[i], NULL, 10) << 10);
        const json_t *first = json_array_get(json_object_get(o.summary, "epochs"), 0);
        double written = (double)json_integer_value(json_object_get(first, "bytes_written"));
        assert_true(written <= 1.01 * 1024 * strtod(limits[i], NULL));
        assert_true(written > 0);
        drop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_move_values_do_not),
        cmocka_unit_test(reused_batches_give_the_same_in_any_way),
        cmocka_unit_test(every_sampler_trains_the_same_in_any_way),
        cmocka_unit_test(samplers_say_what_they_need),
        cmocka_unit_test(the_checkpoint_says_how_it_was_sampled),
        cmocka_unit_test(training_goes_on_with_the_sampler_of_its_start),
        cmocka_unit_test(eval_samples_as_the_checkpoint_says),
        cmocka_unit_test(a_sampler_unheard_of_is_refused),
        cmocka_unit_test(an_interrupted_run_ends_with_the_same_bytes),
        cmocka_unit_test(reused_batches_are_resumed),
        cmocka_unit_test(every_model_learns_the_same_in_any_way),
        cmocka_unit_test(links_are_the_same_however_bytes_move),
        cmocka_unit_test(an_interrupted_run_of_links_ends_with_the_same_bytes),
        cmocka_unit_test(values_are_learnt),
        cmocka_unit_test(labels_are_learnt),
        cmocka_unit_test(two_classes_have_an_area),
        cmocka_unit_test(losses_are_those_of_the_task),
        cmocka_unit_test(a_run_is_not_overwritten_nor_resumed_as_another),
        cmocka_unit_test(two_processes_do_not_train_in_one_folder),
        cmocka_unit_test(files_of_a_killed_run_follow_its_checkpoint),
        cmocka_unit_test(every_epoch_is_logged),
        cmocka_unit_test(a_run_may_be_made_longer_where_its_batches_stay),
        cmocka_unit_test(a_budget_that_cannot_do_is_refused_and_the_named_one_does),
        cmocka_unit_test(eval_finds_what_training_found),
        cmocka_unit_test(a_state_dict_is_taken),
        cmocka_unit_test(predictions_come_true),
        cmocka_unit_test(no_epochs_are_planned),
        cmocka_unit_test(a_killed_run_leaves_nothing_after_the_next_start),
        cmocka_unit_test(a_pack_beyond_the_disk_allowed_is_refused),
        cmocka_unit_test(batches_beyond_the_disk_allowed_are_refused),
        cmocka_unit_test(batches_sampled_ahead_keep_to_the_disk_allowed),
        cmocka_unit_test(a_neighbour_cache_keeps_to_the_disk_allowed),
        cmocka_unit_test(a_superbatch_ends_with_the_run),
        cmocka_unit_test(segments_keep_to_the_disk_allowed),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_dataset, remove_all);
}
