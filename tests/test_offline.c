/* Offline samples and packs: runs on batches made beforehand give the same bits as runs that
 * sample, whatever is moved or damaged is refused or done without, and packing leaves all or
 * nothing. */
#include "small_graph.h"
#include "support/files.h"
#include "support/runs.h"
#include "testing.h"

#include "base/file.h"
#include "support/folder.h"
#include "train/offline.h"
#include "train/packs.h"

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

static void make_graph(const char *name, int64_t seed)
{
    struct og_generate g;
    small_graph_init(&g);
    g.seed = seed;
    assert_int_equal(og_generate(name, &g, NULL, NULL), 0);
}

static int set_up(void **state)
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

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    test_shell("rm -r %s%s", root, "");
    return 0;
}

static void set_options(struct og_options *opt, pairs_t pairs)
{
    const char *const *const lists[] = {base, pairs};
    og_options_init(opt);
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

static void finish(struct outcome *o, char *summary)
{
    o->summary = json_loads(summary, 0, NULL);
    assert_non_null(o->summary);
    assert_int_equal(
        og__read_text("run/checkpoint.safetensors", 1 << 24, &o->checkpoint, &o->bytes, NULL), 0);
    free(summary);
    test_shell("rm -r %s%s", "run", "");
}

static struct outcome train(pairs_t pairs)
{
    struct outcome o = {0};
    const struct og_observer seen = {.arg = &o.said, .message = test_note_message};
    struct og_options opt;
    struct og_err err = {0};
    char *summary = NULL;
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    if (og_train("graph", &opt, &seen, &summary, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og_options_release(&opt);
    finish(&o, summary);
    return o;
}

static void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static const json_t *epoch_of(const struct outcome *o, size_t e)
{
    return json_array_get(json_object_get(o->summary, "epochs"), e);
}

static int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void assert_same(const struct outcome *a, const struct outcome *b)
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

static void sample(const char *out, pairs_t pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, pairs);
    if (og_sample("graph", out, false, &opt, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og_options_release(&opt);
}

static int try_pack(pairs_t pairs, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, pairs);
    int rc = og_pack("graph", &opt, NULL, &text, err);
    assert_true((rc == 0) == (text != NULL));
    og_options_release(&opt);
    free(text);
    return rc;
}

static void pack(pairs_t pairs)
{
    struct og_err err = {0};
    if (try_pack(pairs, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

/* -EINVAL, no run begun, saying `message` and `hint`. */
static void refused(pairs_t pairs, const char *message, const char *hint)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EINVAL);
    if (!strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(access("run", F_OK), -1);
    og_options_release(&opt);
}

/* ---- samples ---- */

static void a_run_on_samples_is_the_same(void **state)
{
    (void)state;
    static pairs_t moves[] = {
        {"policy", "none"},
        {"policy", "degree", "cache", "10%"},
        {"policy", "degree", "cache", "5%", "layout", "packed", "superbatch", "4"},
        {"policy", "lru", "cache", "10%", "io", "pread"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "hybrid", "cache", "10%", "topology", "disk"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "diskgnn", "cache", "10%", "threads", "1"},
        {"preset", "fgnn", "cache", "10%"},
        {"preset", "helios", "cache", "10%", "threads", "3"},
        {"preset", "lsm-gnn"},
        {"preset", "memory", "eval-every", "2"},
        {"memory", "84M"},
        {NULL},
    };
    static pairs_t none = {NULL};
    sample("s", none);
    struct outcome first = train(none);
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[PAIRS] = {"samples", "s"};
        memcpy(pairs + 2, moves[i], (PAIRS - 2) * sizeof(*pairs));
        struct outcome other = train(pairs);
        bool evaluates_less = i == 11;
        if (!evaluates_less)
            assert_same(&first, &other);
        assert_true(json_equal(json_object_get(epoch_of(&first, 2), "loss"),
                               json_object_get(epoch_of(&other, 2), "loss")));
        assert_true(number(epoch_of(&other, 1), "trace_bytes_read") > 0);
        assert_int_equal(number(epoch_of(&other, 1), "topology_bytes_read"), 0);
        drop(&other);
    }
    drop(&first);
}

static void every_model_and_sampler_finds_what_it_needs(void **state)
{
    (void)state;
    static pairs_t kinds[] = {
        {"model", "gcn"},
        {"model", "gat", "hidden", "16", "heads", "2"},
        {"model", "pinsage", "sampler", "walk", "neighbors", "3"},
        {"sampler", "labor"},
        {"sampler", "ladies", "model", "gin"},
    };
    for (size_t i = 0; i < OG_COUNT(kinds); i++) {
        const char *pairs[PAIRS];
        memcpy(pairs, kinds[i], sizeof(pairs));
        sample("k", pairs);
        struct outcome first = train(pairs);
        size_t n = 0;
        while (pairs[n])
            n++;
        memcpy(pairs + n, ((const char *const[]){"samples", "k", NULL}), 3 * sizeof(*pairs));
        struct outcome straight = train(pairs);
        assert_same(&first, &straight);
        memcpy(
            pairs + n + 2,
            ((const char *const[]){"policy", "belady", "cache", "10%", "alternate", "true", NULL}),
            7 * sizeof(*pairs));
        struct outcome ahead = train(pairs);
        assert_same(&first, &ahead);
        drop(&ahead);
        drop(&straight);
        drop(&first);
        test_shell("rm -r %s%s", "k", "");
    }
}

static size_t rows_of(const char *folder)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    json_t *root_json = json_load_file(path, 0, NULL);
    size_t n = (size_t)number(root_json, "batches");
    json_decref(root_json);
    return n;
}

static void epochs_that_reuse_write_nothing(void **state)
{
    (void)state;
    static pairs_t five = {"resample-every", "2", "epochs", "5"};
    static pairs_t diskgnn = {"resample-every", "2",       "epochs", "5",  "samples", "s2",
                              "preset",         "diskgnn", "cache",  "10%"};
    static pairs_t straight = {"resample-every", "2", "epochs", "5", "samples", "s2"};
    static pairs_t fours = {"resample-every", "4", "epochs", "5"};
    static pairs_t fours_of_twos = {"resample-every", "4", "epochs", "5", "samples", "s2"};
    sample("s2", five);
    assert_int_equal(rows_of("s2"), 3 * 5);
    struct outcome first = train(five);
    struct outcome other = train(diskgnn);
    assert_same(&first, &other);
    drop(&other);
    other = train(straight);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
    /* of the draws for epochs 1, 3 and 5 those for 1 and 5 */
    first = train(fours);
    other = train(fours_of_twos);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
}

static void others_are_refused(void **state)
{
    (void)state;
    static pairs_t seed = {"samples", "s", "seed", "2"};
    static pairs_t fanout = {"samples", "s", "fanout", "5,5"};
    static pairs_t batch = {"samples", "s", "batch", "100"};
    static pairs_t sampler = {"samples", "s", "sampler", "labor"};
    static pairs_t order = {"samples", "s", "no-shuffle", "true"};
    static pairs_t degrees = {"samples", "s", "model", "gcn"};
    static pairs_t longer = {"samples", "s", "epochs", "7"};
    static pairs_t sparse = {"samples", "s2", "epochs", "8"};
    static pairs_t nowhere = {"samples", "nowhere"};
    refused(seed, "another --seed (1, this run has 2)", "options it was sampled with");
    refused(fanout, "another --fanout ([5,4], this run has [5,5])", "sampled with");
    refused(batch, "another --batch", "sampled with");
    refused(sampler, "another --sampler", "sampled with");
    refused(order, "another --no-shuffle", "sampled with");
    refused(degrees, "without the degrees that --model gcn needs", "the same --model");
    refused(longer, "no batches for epoch 4", "--resample-every 7 would do");
    refused(sparse, "no batches for epoch 2", "--resample-every 4 would do");
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, nowhere);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -ENOENT);
    og_options_release(&opt);
    /* another graph of the same shape */
    set_options(&opt, (pairs_t){"samples", "s"});
    assert_int_equal(og_train("other", &opt, NULL, NULL, &err), -EINVAL);
    og_options_release(&opt);
}

/* No epoch draws batches: there would be nothing that training could take. */
static void no_epochs_are_no_samples(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, (pairs_t){"epochs", "0"});
    assert_int_equal(og_sample("graph", "none", false, &opt, NULL, &err), -EINVAL);
    og_options_release(&opt);
    assert_non_null(strstr(err.message, "--epochs 0"));
    assert_true(err.hint[0]);
    assert_int_equal(access("none", F_OK), -1);
}

static void a_moved_folder_serves_and_a_damaged_one_is_named(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t moved = {"samples", "away/there/s"};
    static pairs_t damaged[] = {{"samples", "d", "policy", "degree"},
                                {"samples", "d", "policy", "belady", "cache", "10%"}};
    struct outcome first = train(none);
    test_shell("mkdir -p %s && cp -r s %s", "away/there", "away/there");
    struct outcome other = train(moved);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
    /* another seed, which no other check would find */
    for (size_t i = 0; i < OG_COUNT(damaged); i++) {
        struct og_options opt;
        struct og_err err = {0};
        test_shell("rm -rf %s && cp -r s %s", "d", "d");
        test_flip("d/ids.npy", 4096);
        set_options(&opt, damaged[i]);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_true(og_train("graph", &opt, NULL, NULL, &err) < 0);
        assert_non_null(strstr(err.hint, "make it anew"));
        og_options_release(&opt);
        test_shell("rm -rf %s%s", "run", "");
    }
}

/* ---- stopping ---- */

static void cut(pairs_t pairs, int at)
{
    struct test_stopper s = {.at = at};
    const struct og_observer seen = {.arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og_options_release(&opt);
}

/* Begun with samples and ended without, and the other way round. */
static void an_interrupted_run_goes_on_with_or_without(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t with = {"samples", "s", "preset", "diskgnn", "cache", "10%"};
    static pairs_t on_with = {"samples", "s", "resume", "true", "policy", "belady"};
    static pairs_t on_without = {"resume", "true"};
    static const int moments[] = {2, 7, 12};
    struct outcome whole = train(none);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        cut(with, moments[i]);
        struct outcome resumed = train(i % 2 ? on_without : on_with);
        assert_same(&whole, &resumed);
        drop(&resumed);
        cut(none, moments[i]);
        resumed = train(on_with);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

/* ---- packs ---- */

static int64_t written(const struct outcome *o)
{
    return number(epoch_of(o, 0), "bytes_written") + number(epoch_of(o, 1), "bytes_written") +
           number(epoch_of(o, 2), "bytes_written");
}

static void packs_serve_a_cache_as_large(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t own = {"preset", "diskgnn", "cache", "10%", "epochs", "3"};
    static pairs_t packed = {"samples", "s", "cache", "10%"};
    static pairs_t same = {"samples", "s", "preset", "diskgnn", "cache", "10%"};
    static pairs_t resumed = {"samples", "s",   "preset", "diskgnn",
                              "cache",   "10%", "resume", "true"};
    static pairs_t larger = {"samples", "s", "preset", "diskgnn", "cache", "12%"};
    static pairs_t smaller = {"samples", "s", "preset", "diskgnn", "cache", "5%"};
    static pairs_t never = {"samples", "s",     "policy", "frequency",  "layout",
                            "packed",  "cache", "10%",    "eval-every", "0"};
    static pairs_t open = {"samples", "s", "cache", "12%"};
    static pairs_t open_smaller = {"samples", "s", "cache", "5%"};
    struct outcome whole = train(none);
    struct outcome alone = train(own);
    pack(packed);
    assert_true(test_is_there("s/pack/pack.json") && test_is_there("s/pack/draw2.pack"));
    struct outcome used = train(same);
    assert_same(&whole, &used);
    assert_true(written(&used) * 3 < written(&alone));
    assert_string_equal(used.said.text, "");
    drop(&used);
    drop(&alone);
    cut(same, 8); /* in the middle of a draw */
    used = train(resumed);
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    drop(&used);
    used = train(larger);
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    drop(&used);
    used = train(never);
    assert_string_equal(used.said.text, "");
    assert_int_equal(number(epoch_of(&used, 1), "bytes_written"), 0);
    drop(&used);
    used = train(smaller);
    assert_same(&whole, &used);
    assert_non_null(
        strstr(used.said.text, "for a cache of 300 rows, this run's has 150: it does without"));
    drop(&used);
    used = train(open); /* what is there is taken */
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    const json_t *plan = json_object_get(used.summary, "plan");
    assert_string_equal(json_string_value(json_object_get(plan, "layout")), "packed");
    assert_int_equal(number(plan, "cache_rows"), 360);
    drop(&used);
    used = train(open_smaller);
    assert_same(&whole, &used);
    assert_non_null(strstr(used.said.text, "it does without"));
    assert_int_equal(number(json_object_get(used.summary, "plan"), "cache_rows"), 150);
    drop(&used);
    drop(&whole);
}

static void packs_of_reused_draws_serve(void **state)
{
    (void)state;
    static pairs_t five = {"resample-every", "2", "epochs", "5"};
    static pairs_t packed = {"samples", "s2", "cache", "10%", "eval-every", "0"};
    static pairs_t used = {"resample-every", "2",       "epochs", "5",  "samples", "s2",
                           "preset",         "diskgnn", "cache",  "10%"};
    pack(packed); /* without validation batches: those are read raw */
    struct outcome first = train(five);
    struct outcome other = train(used);
    assert_same(&first, &other);
    assert_string_equal(other.said.text, "");
    drop(&other);
    drop(&first);
}

static void damaged_packs_are_done_without(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t use = {"samples", "p", "preset", "diskgnn", "cache", "10%"};
    static const struct {
        const char *file, *says;
        off_t at;
    } cases[] = {
        {"p/pack/pack.json", "pack.json: damaged: its bytes have the checksum", 4},
        {"p/pack/draw1_cached.npy", "this run packs for itself", 4096 + 7},
        {"p/pack/draw1_cached.npy", "this run packs for itself", 200}, /* padding: by checksum */
        {"p/pack/draw0.pack", "this run packs for itself", 40},
        {"p/pack/draw2.pack", "this run packs for itself", 4096 + 16},
    };
    struct outcome whole = train(none);
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        test_shell("rm -rf %s && cp -r s %s", "p", "p");
        test_flip(cases[i].file, cases[i].at);
        struct outcome o = train(use);
        assert_same(&whole, &o);
        if (!strstr(o.said.text, cases[i].says))
            fail_msg("%s: %s", cases[i].file, o.said.text);
        drop(&o);
    }
    /* lists of other draws, of a pack without checksums: then chunks are not what batches miss */
    test_shell("rm -rf %s && cp -r s %s", "p", "p");
    test_shell("sed -i -e s/%s/%s/ -e s/xxh3/none/ p/pack/pack.json", "cached_checksums", "other");
    test_shell("cp p/pack/%s p/pack/%s", "draw0_cached.npy", "draw1_cached.npy");
    struct outcome o = train(use);
    assert_same(&whole, &o);
    assert_non_null(strstr(o.said.text, "does not hold what batch"));
    drop(&o);
    /* what is packed instead may be more than --disk has room for */
    static pairs_t little = {"samples", "p", "cache", "10%", "disk", "500K"};
    test_shell("rm -rf %s && cp -r s %s", "p", "p");
    test_flip("p/pack/draw1.pack", 40);
    o = train(little);
    assert_same(&whole, &o);
    assert_non_null(strstr(o.said.text, "this run packs for itself"));
    assert_non_null(strstr(o.said.text, "the others read the feature file"));
    drop(&o);
    drop(&whole);
}

/* ---- damage that only checksums tell ---- */

static uint64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Where the chunks begin, by the format's description. */
static off_t rows_at(const char *path)
{
    uint64_t batches;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &batches, sizeof(batches), 24), sizeof(batches));
    close(fd);
    return (off_t)(4096 + (batches * 32 + 4095) / 4096 * 4096);
}

static void damaged_rows_end_the_run(void **state)
{
    (void)state;
    static pairs_t use = {"samples", "p", "preset", "diskgnn", "cache", "10%"};
    static const char file[] = "p/pack/draw1.pack";
    const off_t places[] = {0, 4095, 96 * 7 + 1, -1}; /* of the rows; the last block's padding */
    for (size_t i = 0; i < OG_COUNT(places); i++) {
        struct og_options opt;
        struct og_err err = {0};
        test_shell("rm -rf %s && cp -r s %s", "p", "p");
        test_flip(file, places[i] < 0 ? (off_t)size_of(file) - 1 : rows_at(file) + places[i]);
        set_options(&opt, use);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EIO);
        assert_non_null(strstr(err.message, "draw1.pack: chunk "));
        assert_non_null(strstr(err.message, "is not what was written"));
        assert_non_null(strstr(err.hint, "make it anew with `outgrow pack`"));
        og_options_release(&opt);
        test_shell("rm -rf %s%s", "run", "");
    }
}

/* A byte of each chunk, or of each shared row, where the run keeps them. */
static void damage_scratch(const char *file)
{
    uint64_t head[9];
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof(pattern), "scr/*/%s", file);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    int fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
    const bool shared = strcmp(file, "shared") == 0;
    const uint64_t n = shared ? head[4] : head[3];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 4096 + i * 24 * 4;
        if (!shared)
            assert_int_equal(pread(fd, &at, sizeof(at), (off_t)(4096 + 32 * i)), sizeof(at));
        test_flip(found.gl_pathv[0], (off_t)at);
    }
    close(fd);
    globfree(&found);
}

static void on_first_epoch(void *arg, const char *json)
{
    const char **file = arg;
    (void)json;
    if (*file)
        damage_scratch(*file);
    *file = NULL;
}

static void what_the_disk_loses_during_a_run_ends_it(void **state)
{
    (void)state;
    static pairs_t ways[] = {
        {"layout", "packed", "policy", "none", "resample-every", "3", "scratch", "scr"},
        {"layout", "segmented", "policy", "none", "resample-every", "3", "scratch", "scr", "disk",
         "900K"}};
    static const char *const files[] = {"pack", "shared"};
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        const char *file = files[i];
        const struct og_observer seen = {.arg = &file, .epoch = on_first_epoch};
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, ways[i]);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train("graph", &opt, &seen, NULL, &err), -EIO);
        assert_null(file);
        assert_non_null(strstr(err.message, "not what w"));
        assert_non_null(strstr(err.message, "scr/"));
        assert_non_null(strstr(err.hint, "--scratch"));
        og_options_release(&opt);
        test_shell("rm -rf %s %s", "run", "scr");
    }
}

struct findings {
    int n;
    char text[4096];
};

static void note_finding(void *arg, const char *text, const char *hint)
{
    struct findings *f = arg;
    assert_true(text[0] != 0);
    f->n++;
    snprintf(f->text + strlen(f->text), sizeof(f->text) - strlen(f->text), "%s: %s\n", text, hint);
}

static int verify(const char *dir, const char *dataset, struct findings *f)
{
    struct og_err err = {0};
    *f = (struct findings){0};
    int n = og_verify_samples(dir, dataset, note_finding, f, NULL, &err);
    if (n < 0)
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(n, f->n);
    return n;
}

/* Somewhere among the elements of an array, or in any place of a container. */
static void verify_finds(const char *file, off_t at)
{
    char path[160];
    struct findings f;
    snprintf(path, sizeof(path), "v/%s", file);
    test_flip(path, at);
    if (verify("v", NULL, &f) == 0)
        fail_msg("%s: byte %lld is not missed", file, (long long)at);
    test_flip(path, at);
}

static void verify_finds_all_damage(void **state)
{
    (void)state;
    static const char *const arrays[] = {"seeds",    "seeds_ptr", "ids",        "ids_ptr",
                                         "hop1_src", "hop1_dst",  "hop1_ptr",   "hop2_src",
                                         "hop2_dst", "hop2_ptr",  "hop2_nodes", "check",
                                         "labels",   "features",  "hop1_nodes"};
    static pairs_t none = {NULL};
    static pairs_t packed = {"samples", "v", "cache", "10%", "epochs", "3"};
    struct findings f;
    struct og_options opt;
    set_options(&opt, none);
    assert_int_equal(og_sample("graph", "v", true, &opt, NULL, NULL), 0);
    og_options_release(&opt);
    pack(packed);
    assert_int_equal(verify("v", NULL, &f), 0);
    assert_int_equal(verify("v", "graph", &f), 0);
    assert_int_equal(verify("v", "other", &f), 1);
    assert_non_null(strstr(f.text, "not samples of other: of another dataset"));
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        char file[64];
        char path[80];
        snprintf(file, sizeof(file), "%s.npy", arrays[i]);
        snprintf(path, sizeof(path), "v/%s", file);
        const off_t size = (off_t)size_of(path);
        verify_finds(file, 4096);
        verify_finds(file, 4096 + (size - 4096) / 3);
        verify_finds(file, size - 1);
    }
    for (int draw = 0; draw < 3; draw++) {
        char file[64];
        char path[80];
        snprintf(file, sizeof(file), "pack/draw%d_cached.npy", draw);
        verify_finds(file, 4096 + 11);
        snprintf(file, sizeof(file), "pack/draw%d.pack", draw);
        snprintf(path, sizeof(path), "v/%s", file);
        const off_t size = (off_t)size_of(path);
        const off_t places[] = {0,
                                9,
                                20,
                                30,
                                53,
                                57,
                                4095,
                                4096,
                                5000,
                                8191,
                                rows_at(path),
                                size / 2 + 1,
                                size - 4096,
                                size - 1};
        for (size_t i = 0; i < OG_COUNT(places); i++)
            verify_finds(file, places[i]);
    }
    verify_finds("pack/pack.json", 4);
    verify_finds("trace.json", 4);
}

/* ---- damage of what describes them ---- */

static void put_byte(const char *path, size_t at, char byte)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

/* Does a description say what it said, whatever the checksum is called now? */
static bool same_but_for_its_seal(const json_t *whole, const json_t *now)
{
    const char *key;
    json_t *value;
    bool same = json_object_size(whole) == json_object_size(now);
    json_object_foreach((json_t *)whole, key, value) same =
        same && (strcmp(key, "xxh3") == 0 || json_equal(value, json_object_get(now, key)));
    return same;
}

static void no_byte_of_trace_json_changes_unnoticed(void **state)
{
    (void)state;
    static const char flips[] = {1, 4, 0x20};
    static const char file[] = "v/trace.json";
    size_t len;
    size_t believed = 0;
    struct og_trace_description whole;
    char *text = test_read(file, &len);
    assert_int_equal(og__trace_describe(&whole, "v", NULL), 0);
    for (size_t i = 0; i < len * sizeof(flips); i++) {
        struct og_err err = {0};
        struct og_trace_description now;
        const size_t at = i / sizeof(flips);
        put_byte(file, at, (char)(text[at] ^ flips[i % sizeof(flips)]));
        if (og__trace_describe(&now, "v", &err) == 0) {
            believed++;
            if (!same_but_for_its_seal(whole.root, now.root))
                fail_msg("byte %zu is not missed", at);
        } else {
            assert_non_null(strstr(err.message, file));
            assert_non_null(strstr(err.hint, "make it anew with `outgrow sample`"));
        }
        og__trace_description_release(&now);
        put_byte(file, at, text[at]);
    }
    assert_true(believed <= strlen("xxh3") * sizeof(flips));
    og__trace_description_release(&whole);
    free(text);
}

static void no_byte_of_pack_json_changes_unnoticed(void **state)
{
    (void)state;
    static const char flips[] = {1, 4, 0x20};
    static const char file[] = "v/pack/pack.json";
    struct og_dataset *ds;
    size_t len;
    char *text = test_read(file, &len);
    assert_int_equal(og__dataset_open("graph", &ds, NULL), 0);
    struct og_packs *whole = og__packs_open("v", ds, NULL);
    assert_non_null(whole);
    for (size_t i = 0; i < len * sizeof(flips); i++) {
        struct test_said said = {{0}};
        const struct og_log log = {test_note_message, &said};
        const size_t at = i / sizeof(flips);
        put_byte(file, at, (char)(text[at] ^ flips[i % sizeof(flips)]));
        struct og_packs *p = og__packs_open("v", ds, &log);
        if (p && (p->draws != whole->draws || p->cache_rows != whole->cache_rows ||
                  !json_equal(p->checksums, whole->checksums)))
            fail_msg("byte %zu is not missed", at);
        if (!p && !strstr(said.text, "make it anew with `outgrow pack`"))
            fail_msg("byte %zu: %s", at, said.text);
        og__packs_close(p);
        put_byte(file, at, text[at]);
    }
    og__packs_close(whole);
    og__dataset_close(ds);
    free(text);
}

/* The last digit of a number that nothing else is held against. */
static void change_digit(const char *file, const char *key)
{
    static const char digits[] = "0123456789";
    size_t len;
    char *text = test_read(file, &len);
    size_t at = 0;
    while (at < len && strncmp(text + at, key, strlen(key)) != 0)
        at++;
    at += strcspn(text + at, digits);
    at += strspn(text + at, digits);
    assert_true(at < len);
    put_byte(file, at - 1, (char)(text[at - 1] ^ 1));
    free(text);
}

static void assert_damaged(int rc, const struct og_err *err)
{
    assert_int_equal(rc, -EINVAL);
    assert_non_null(strstr(err->message, "trace.json: damaged: its bytes have the checksum"));
    assert_non_null(strstr(err->hint, "`outgrow sample`"));
}

static void a_damaged_description_is_refused_by_all(void **state)
{
    (void)state;
    static pairs_t use = {"samples", "w", "run", "run"};
    struct findings f;
    struct og_options opt;
    char *out = NULL;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    change_digit("w/trace.json", "\"rows\"");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "w/trace.json: damaged: "));
    set_options(&opt, use);
    struct og_err err = {0};
    assert_damaged(og_train("graph", &opt, NULL, NULL, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_plan("graph", &opt, NULL, &out, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_pack("graph", &opt, NULL, &out, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_simulate("w", "degree", "10%", &opt, NULL, &out, &err), &err);
    og_options_release(&opt);
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    change_digit("w/pack/pack.json", "\"cache_rows\"");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "w/pack/pack.json: damaged: "));
    test_shell("rm -rf %s %s", "w", "run");
}

/* As older versions wrote them, and other programs do. */
static void descriptions_without_a_checksum_are_taken(void **state)
{
    (void)state;
    struct findings f;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("sed -i s/xxh3/none/ %s/trace.json %s/pack/pack.json", "w", "w");
    assert_int_equal(verify("w", "graph", &f), 0);
    change_digit("w/trace.json", "\"rows\"");
    assert_int_equal(verify("w", "graph", &f), 0);
    test_shell("rm -rf %s%s", "w", "");
}

/* Whole files, each sound, that do not belong together. */
static void verify_compares_what_belongs_together(void **state)
{
    (void)state;
    struct findings f;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("cp %s %s", "v/pack/draw0.pack", "w/pack/draw1.pack");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "draw1.pack: chunk 0 does not hold what batch 0 misses"));
    assert_non_null(strstr(f.text, "more like it"));
    test_shell("rm -rf %s%s", "w/pack/draw2.pack", "");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "draw2.pack: cannot open"));
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("rm %s%s", "w/hop1_src.npy", "");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "hop1_src.npy"));
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("rm %s%s", "w/pack/pack.json", "");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "pack.json: missing"));
    /* features of the same description that are others */
    test_shell("rm -rf %s && cp -r graph %s", "x", "x");
    test_flip("x/features.npy", 4096 + 24 * 4 * 1500);
    test_flip("x/features.npy", 4096 + 24 * 4 * 700);
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    assert_int_equal(verify("w", NULL, &f), 0);
    assert_true(verify("w", "x", &f) > 0);
    assert_non_null(strstr(f.text, "not samples of x: features.npy is another since"));
    assert_non_null(strstr(f.text, "rows are not those of x"));
}

static bool left_over(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    bool found = false;
    while (dir && (e = readdir(dir)))
        found = found || strncmp(e->d_name, "pack", 4) == 0 || strstr(e->d_name, "scratch");
    if (dir)
        closedir(dir);
    return found;
}

static void packing_leaves_all_or_nothing(void **state)
{
    (void)state;
    static pairs_t again = {"samples", "s"};
    static pairs_t no_room = {"samples", "n", "disk", "300K", "cache", "5%"};
    static pairs_t fresh = {"samples", "n", "cache", "5%"};
    static pairs_t nothing = {NULL};
    struct og_err err = {0};
    assert_int_equal(try_pack(again, &err), -EEXIST);
    assert_int_equal(try_pack(nothing, NULL), -EINVAL);
    test_shell("cp -r s %s && rm -r %s/pack", "n", "n");
    assert_int_equal(try_pack(no_room, NULL), -ENOSPC);
    assert_false(left_over("n"));
    for (int at = 1; at <= 2; at++) {
        struct test_stopper s = {.at = at};
        const struct og_observer seen = {.arg = &s, .progress = test_count_batch, .stop = &s.stop};
        struct og_options opt;
        char *text = NULL;
        set_options(&opt, fresh);
        assert_int_equal(og_pack("graph", &opt, &seen, &text, NULL), OG_INTERRUPTED);
        assert_null(text);
        og_options_release(&opt);
        assert_false(left_over("n"));
    }
    pid_t pid = fork();
    if (pid == 0) { /* a file may not grow */
        const struct rlimit limit = {200 * 1024, 200 * 1024};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(try_pack(fresh, NULL) == 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(left_over("n"));
    pack(fresh);
    assert_true(left_over("n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_on_samples_is_the_same),
        cmocka_unit_test(every_model_and_sampler_finds_what_it_needs),
        cmocka_unit_test(epochs_that_reuse_write_nothing),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(no_epochs_are_no_samples),
        cmocka_unit_test(a_moved_folder_serves_and_a_damaged_one_is_named),
        cmocka_unit_test(an_interrupted_run_goes_on_with_or_without),
        cmocka_unit_test(packs_serve_a_cache_as_large),
        cmocka_unit_test(packs_of_reused_draws_serve),
        cmocka_unit_test(damaged_packs_are_done_without),
        cmocka_unit_test(damaged_rows_end_the_run),
        cmocka_unit_test(what_the_disk_loses_during_a_run_ends_it),
        cmocka_unit_test(verify_finds_all_damage),
        cmocka_unit_test(no_byte_of_trace_json_changes_unnoticed),
        cmocka_unit_test(no_byte_of_pack_json_changes_unnoticed),
        cmocka_unit_test(a_damaged_description_is_refused_by_all),
        cmocka_unit_test(descriptions_without_a_checksum_are_taken),
        cmocka_unit_test(verify_compares_what_belongs_together),
        cmocka_unit_test(packing_leaves_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
