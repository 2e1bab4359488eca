/* Small runs of steps of several mini-batches, and whether two of them are the same. */
#ifndef OG_STEPS_FIXTURE_H
#define OG_STEPS_FIXTURE_H

#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_run.h"

#include "base/file.h"
#include "support/runs.h"

#include <jansson.h>
#include <stdlib.h>

/* 51 training nodes make 9 batches of 6 an epoch. Steps of 4 mini-batches are then of 4, 4 and
 * 1. */
static const char *const base[] = {"batch", "6", "epochs", "2", "hidden", "8", "lr", "0.02", NULL};

static inline int make_graph(void **state)
{
    const struct og_generate g = small_graph(OG_PLANTED);
    char graph[TEST_PATH + 16];
    if (make_folder(state) < 0)
        return -1;
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    return og_generate(graph, &g, NULL, NULL);
}

static inline const char *in_folder(const char *name)
{
    static char path[4][TEST_PATH + 64];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", folder, name);
    return path[at];
}

/* Lists of names and values, later ones win; ends with NULL. */
static inline void set_options(struct og_options *opt, const char *run,
                               const char *const *const *lists)
{
    small_run(opt, in_folder(run));
    for (const char *const *p = base; *p; p += 2)
        test_set(opt, p[0], p[1]);
    for (; *lists; lists++)
        for (const char *const *p = *lists; *p; p += 2)
            test_set(opt, p[0], p[1]);
}

#define LISTS(...) ((const char *const *const[]){__VA_ARGS__, NULL})
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void train(const char *run, const char *const *const *lists)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, run, lists);
    if (og_train(in_folder("graph"), &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
}

static inline void forget(const char *run)
{
    og__remove_tree(in_folder(run));
}

static inline char *bytes_of(const char *run, const char *name, size_t *n)
{
    char path[TEST_PATH + 96], *bytes = NULL;
    snprintf(path, sizeof(path), "%s/%s/%s", folder, run, name);
    assert_int_equal(og__read_text(path, (size_t)1 << 24, &bytes, n, NULL), 0);
    return bytes;
}

static inline void assert_same_file(const char *one, const char *other, const char *name)
{
    size_t n, m;
    char *a = bytes_of(one, name, &n), *b = bytes_of(other, name, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static inline json_t *summary_of(const char *run)
{
    size_t n;
    char *text = bytes_of(run, "summary.json", &n);
    json_t *root = json_loadb(text, n, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

/* Losses and figures of all epochs, and the parameters of the last and of the best. */
static inline void assert_same_run(const char *one, const char *other)
{
    json_t *a = summary_of(one), *b = summary_of(other);
    const json_t *epochs = json_object_get(a, "epochs");
    const json_t *others = json_object_get(b, "epochs");
    static const char *const figures[] = {"loss", "train_acc", "valid_acc"};
    assert_int_equal(json_array_size(epochs), json_array_size(others));
    for (size_t e = 0; e < json_array_size(epochs); e++)
        for (size_t f = 0; f < OG_COUNT(figures); f++)
            assert_true(json_equal(json_object_get(json_array_get(epochs, e), figures[f]),
                                   json_object_get(json_array_get(others, e), figures[f])));
    json_decref(a);
    json_decref(b);
    assert_same_file(one, other, "checkpoint.safetensors");
    assert_same_file(one, other, "best.safetensors");
}

#endif
