/* Samples, packs, and runs on them. */
#ifndef OG_OFFLINE_FIXTURE_H
#define OG_OFFLINE_FIXTURE_H

#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/files.h"
#include "support/runs.h"
#include "support/small_graph.h"
#include "support/testing.h"

#include "base/file.h"
#include "flow/offline.h"
#include "flow/packs.h"
#include "support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <outgrow/outgrow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 24 };

typedef const char *const pairs_t[PAIRS]; /* option, value, ..., NULL */

static char root[TEST_PATH];

static const char *const base[] = {"fanout", "5,4", "batch", "128",  "hidden",  "16", "epochs", "3",
                                   "memory", "96M", "lr",    "0.01", "threads", "2",  NULL};

static inline void make_graph(const char *name, int64_t seed)
{
    struct og_generate g;
    small_graph_init(&g);
    g.seed = seed;
    assert_int_equal(og_generate(name, &g, NULL, NULL), 0);
}

static inline int set_up(void **state)
{
    (void)state;
    setenv("TMPDIR", "/tmp", 0); /* on a disk, which is read around the page cache */
    assert_non_null(test_folder(root, "offline"));
    assert_int_equal(chdir(root), 0);
    setenv("XDG_CACHE_HOME", root, 1);
    make_graph("graph", 1);
    make_graph("other", 2);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    test_shell("rm -r %s%s", root, "");
    return 0;
}

static inline void set_options(struct og_options *opt, pairs_t pairs)
{
    const char *const *const lists[] = {base, pairs};
    og__options_init(opt);
    for (size_t l = 0; l < 2; l++)
        for (const char *const *p = lists[l]; p && *p; p += 2)
            assert_int_equal(og_options_set(opt, p[0], p[1], NULL), 0);
}

/* ---- runs ---- */

struct outcome {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
    struct test_said said;
};

static inline void finish(struct outcome *o, char *summary)
{
    o->summary = json_loads(summary, 0, NULL);
    assert_non_null(o->summary);
    assert_int_equal(
        og__read_text("run/checkpoint.safetensors", 1 << 24, &o->checkpoint, &o->bytes, NULL), 0);
    free(summary);
    test_shell("rm -r %s%s", "run", "");
}

static inline struct outcome train(pairs_t pairs)
{
    struct outcome o = {0};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &o.said, .message = test_note_message};
    struct og_options opt;
    struct og_err err = {0};
    char *summary = NULL;
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    if (og_train("graph", &opt, &seen, &summary, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    finish(&o, summary);
    return o;
}

static inline void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static inline const json_t *epoch_of(const struct outcome *o, size_t e)
{
    return json_array_get(json_object_get(o->summary, "epochs"), e);
}

static inline void assert_same(const struct outcome *a, const struct outcome *b)
{
    size_t n = json_array_size(json_object_get(a->summary, "epochs"));
    assert_int_equal(n, json_array_size(json_object_get(b->summary, "epochs")));
    for (size_t e = 0; e < n; e++)
        assert_true(json_equal(json_object_get(epoch_of(a, e), "loss"),
                               json_object_get(epoch_of(b, e), "loss")));
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->checkpoint, b->checkpoint, a->bytes);
    assert_true(json_equal(json_object_get(a->summary, "test_acc"),
                           json_object_get(b->summary, "test_acc")));
}

static inline void sample(const char *out, pairs_t pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, pairs);
    if (og_sample("graph", out, false, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
}

static inline int try_pack(pairs_t pairs, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, pairs);
    int rc = og_pack("graph", &opt, NULL, &text, err);
    assert_true((rc == 0) == (text != NULL));
    og__options_release(&opt);
    free(text);
    return rc;
}

static inline void pack(pairs_t pairs)
{
    struct og_err err = {0};
    if (try_pack(pairs, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

#endif
