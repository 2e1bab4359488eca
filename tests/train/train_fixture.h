/* What the tests of whole training runs share: a small generated graph, runs of it and their files.
 * One program, one graph. */
#ifndef OG_TESTS_TRAIN_FIXTURE_H
#define OG_TESTS_TRAIN_FIXTURE_H

#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/runs.h"
#include "support/small_graph.h"
#include "support/testing.h"

#include "base/file.h"
#include "base/temporary.h"
#include "support/folder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static char root[TEST_PATH];
static char dataset[64];

static inline void in_root(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", root, name);
}

static inline int make_dataset(void **state)
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

static inline int remove_all(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

/* Options given as "name", "value", ..., NULL over a small default. */
static inline void set_options(struct og_options *opt, const char *run, const char *const *pairs)
{
    static const char *const base[] = {"fanout", "5,4",    "batch",   "128", "hidden",
                                       "16",     "epochs", "3",       "lr",  "0.01",
                                       "memory", "96M",    "threads", "2",   NULL};
    const char *const *const lists[] = {base, pairs};
    char path[128];
    og__options_init(opt);
    for (size_t l = 0; l < OG_COUNT(lists); l++)
        for (const char *const *p = lists[l]; *p; p += 2) {
            struct og_err err = {0};
            if (og_options_set(opt, p[0], p[1], &err) < 0)
                fail_msg("%s: %s", err.message, err.hint);
        }
    in_root(path, run);
    assert_int_equal(og_options_set(opt, "run", path, NULL), 0);
}

/* The kinds of model, with ends and residuals between them. */
static const char *const model_kinds[][7] = {
    {"model", "gat"},
    {"model", "gat", "norm", "batch", "residual", "true"},
    {"model", "gat", "input-dropout", "0.2", "attention-dropout", "0.4"},
    {"model", "gatv2", "residual", "true", "attention-dropout", "0.4"},
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

struct outcome {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
};

static inline void read_checkpoint(const char *run, struct outcome *o)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s/checkpoint.safetensors", root, run);
    assert_int_equal(og__read_text(path, 1 << 24, &o->checkpoint, &o->bytes, NULL), 0);
}

static inline struct outcome train_seen(const char *run, const char *const *pairs,
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
    og__options_release(&opt);
    in_root(path, run);
    og__remove_tree(path);
    return o;
}

static inline struct outcome train(const char *run, const char *const *pairs)
{
    return train_seen(run, pairs, NULL);
}

static inline void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static inline double loss_of(const struct outcome *o, size_t epoch)
{
    return json_real_value(
        json_object_get(json_array_get(json_object_get(o->summary, "epochs"), epoch), "loss"));
}

static inline void assert_same(const struct outcome *a, const struct outcome *b)
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

static inline void check_counts(const struct outcome *o)
{
    const json_t *epochs = json_object_get(o->summary, "epochs");
    size_t i;
    json_t *e;
    json_array_foreach(epochs, i, e)
        assert_int_equal(json_integer_value(json_object_get(e, "rows")),
                         json_integer_value(json_object_get(e, "hits")) +
                             json_integer_value(json_object_get(e, "misses")));
}

/* A run that is stopped after so many batches. */
static inline void interrupt(const char *name, const char *const *pairs, int at)
{
    struct test_stopper s = {.at = at};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, name, pairs);
    assert_int_equal(og_train(dataset, &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og__options_release(&opt);
}

#endif
