/* Files made from a dataset are used for that dataset alone. If any array is replaced or written
 * to, they are refused or made again. Then the run has the bytes of one without them. A copy is the
 * same dataset wherever it is. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/file.h"
#include "dataset/graph.h"
#include "support/files.h"
#include "support/folder.h"
#include "support/runs.h"

#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <outgrow/outgrow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef const char *const pairs_t[16]; /* option, value, ..., NULL */

static char root[TEST_PATH];
static const char *const base[] = {"fanout",   "5,4",  "batch",          "512",  "hidden", "16",
                                   "topology", "disk", "neighbor-cache", "200K", "memory", "96M",
                                   "lr",       "0.01", "threads",        "2",    NULL};

/* Arrays of more than a MiB: not all of them is looked at when they are opened. */
static int set_up(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "identity"));
    assert_int_equal(chdir(root), 0);
    setenv("XDG_CACHE_HOME", root, 1);
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = 20000;
    g.degree = 20;
    g.dim = 32;
    g.classes = 5;
    g.train_fraction = 0.1;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 2;
    assert_int_equal(og_generate("graph", &g, NULL, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    test_shell("rm -r %s", root);
    return 0;
}

/* ---- calls ---- */

static struct test_said said;
static const struct og_observer seen = {
    .size = sizeof(seen), .arg = &said, .message = test_note_message};

static void set_options(struct og_options *opt, pairs_t pairs)
{
    const char *const *const lists[] = {base, pairs};
    og__options_init(opt);
    for (size_t l = 0; l < 2; l++)
        for (const char *const *p = lists[l]; p && *p; p += 2)
            assert_int_equal(og_options_set(opt, p[0], p[1], NULL), 0);
    said.text[0] = 0;
}

static int train(const char *dataset, pairs_t pairs, struct og_err *err)
{
    struct og_options opt;
    char *summary = NULL;
    set_options(&opt, pairs);
    *err = (struct og_err){0};
    int rc = og_train(dataset, &opt, &seen, &summary, err);
    free(summary);
    og__options_release(&opt);
    return rc;
}

static void sample(const char *dataset, const char *dir)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, (pairs_t){"epochs", "1"});
    if (og_sample(dataset, dir, false, &opt, &seen, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
}

static void pack(const char *dataset, const char *dir)
{
    struct og_options opt;
    struct og_err err = {0};
    char *out = NULL;
    set_options(&opt, (pairs_t){"epochs", "1", "samples", dir, "cache", "100"});
    if (og_pack(dataset, &opt, &seen, &out, &err) < 0)
        fail_msg("%s", err.message);
    free(out);
    og__options_release(&opt);
}

/* Stopped at the first place where it may: what is computed by then is kept. */
static int predict(const char *dataset, const char *out, bool stop, bool resume)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    static const volatile sig_atomic_t now = 1;
    struct og_observer o = seen;
    o.stop = stop ? &now : NULL;
    set_options(&opt, (pairs_t){"resume", resume ? "true" : "false"});
    int rc = og_predict(dataset, "start/checkpoint.safetensors", out, NULL, &opt, &o, &text, &err);
    if (rc < 0 && !stop)
        fail_msg("%s", err.message);
    free(text);
    og__options_release(&opt);
    return rc;
}

static void assert_same_file(const char *a, const char *b)
{
    uint64_t one = 0;
    uint64_t other = 1;
    assert_int_equal(og__file_checksum(a, &one, NULL), 0);
    assert_int_equal(og__file_checksum(b, &other, NULL), 0);
    assert_true(one == other);
}

/* ---- arrays that change ---- */

static char *read_array(const char *path, size_t *bytes)
{
    char *data = NULL;
    assert_int_equal(og__read_text(path, 1 << 26, &data, bytes, NULL), 0);
    return data;
}

static void negate(char *data, size_t bytes)
{
    float *x = (float *)data;
    for (size_t i = 0; i < bytes / 4; i++)
        x[i] = -x[i];
}

static void move_ids(char *data, size_t bytes)
{
    int32_t *id = (int32_t *)data;
    for (size_t i = 0; i < bytes / 4; i++)
        id[i] = 19999 - id[i];
}

/* One edge more in the second list, one less in the third. */
static void move_bound(char *data, size_t bytes)
{
    int64_t *p = (int64_t *)data;
    (void)bytes;
    size_t v = 2;
    while (p[v + 1] == p[v])
        v++;
    for (size_t i = 2; i <= v; i++)
        p[i]++;
}

static void other_class(char *data, size_t bytes)
{
    int64_t *label = (int64_t *)data;
    for (size_t i = 0; i < bytes / 8; i++)
        label[i] = (label[i] + 1) % 5;
}

static void turn_round(char *data, size_t bytes)
{
    int64_t *id = (int64_t *)data;
    for (size_t i = 0, j = bytes / 8 - 1; i < j; i++, j--) {
        int64_t t = id[i];
        id[i] = id[j];
        id[j] = t;
    }
}

static const struct array {
    const char *name;
    void (*change)(char *data, size_t bytes);
    bool structure;
} arrays[] = {
    {"features", negate, false},    {"indices", move_ids, true},  {"indptr", move_bound, true},
    {"labels", other_class, false}, {"train", turn_round, false}, {"valid", turn_round, false},
    {"test", turn_round, false},
};

/* Another file of the same size in its place; meta.json, with its checksums, stays. */
static void replace(const char *dataset, const struct array *a)
{
    char path[256];
    size_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s.npy", dataset, a->name);
    char *data = read_array(path, &bytes);
    a->change(data + 4096, bytes - 4096);
    assert_int_equal(og__write_text(path, data, bytes, NULL), 0);
    free(data);
}

static void make_all(const char *dataset)
{
    struct og_err err;
    test_shell("rm -rf outgrow/neighbors-* samples run start right out.npy* outgrow-infer-*");
    sample(dataset, "samples");
    pack(dataset, "samples");
    assert_int_equal(train(dataset, (pairs_t){"epochs", "1", "run", "start"}, &err), 0);
    test_shell("cp -r start run");
    assert_int_equal(predict(dataset, "out.npy", true, false), OG_INTERRUPTED);
}

static void assert_refused(const char *dataset, pairs_t pairs, const char *why)
{
    struct og_err err;
    int rc = train(dataset, pairs, &err);
    if (rc >= 0 || !strstr(err.message, why) || !err.hint[0])
        fail_msg("%s: %d: '%s' (%s)", why, rc, err.message, err.hint);
}

/* Leaves what a run gives that nothing was made for: right/checkpoint.safetensors. */
static void check_neighbors(const char *dataset, bool stale)
{
    struct og_err err;
    assert_int_equal(train(dataset, (pairs_t){"epochs", "1", "run", "with"}, &err), 0);
    const bool built = strstr(said.text, "building the neighbour cache again") != NULL;
    if (built != stale)
        fail_msg("built anew: %d, stale: %d: %s", built, stale, said.text);
    pairs_t afresh = {"epochs", "1", "run", "right", "scratch", "fresh"};
    assert_int_equal(train(dataset, afresh, &err), 0);
    assert_same_file("with/checkpoint.safetensors", "right/checkpoint.safetensors");
    test_shell("rm -r with fresh");
}

/* Packs of before with samples of now. */
static void check_packs(const char *dataset, bool stale)
{
    struct og_err err;
    sample(dataset, "anew");
    test_shell("mv samples/pack anew/pack");
    pairs_t with = {"epochs", "1", "samples", "anew", "cache", "100", "run", "with"};
    assert_int_equal(train(dataset, with, &err), 0);
    const bool left = strstr(said.text, "anew/pack: ") && strstr(said.text, "ignored");
    if (left != stale)
        fail_msg("ignored: %d, stale: %d: %s", left, stale, said.text);
    assert_same_file("with/checkpoint.safetensors", "right/checkpoint.safetensors");
    test_shell("rm -r with anew");
}

static void check_inference(const char *dataset, bool stale)
{
    assert_int_equal(predict(dataset, "out.npy", false, true), 0);
    const bool anew = strstr(said.text, "starting over") != NULL;
    if (anew != stale)
        fail_msg("started anew: %d, stale: %d: %s", anew, stale, said.text);
    assert_int_equal(predict(dataset, "right.npy", false, false), 0);
    assert_same_file("out.npy", "right.npy");
    test_shell("rm out.npy right.npy");
}

static void what_was_made_of_other_arrays_is_not_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        print_message("%s\n", arrays[i].name);
        test_shell("rm -rf g; cp -a graph g");
        make_all("g");
        replace("g", &arrays[i]);
        check_neighbors("g", arrays[i].structure); /* first: any run mends it */
        assert_refused("g", (pairs_t){"epochs", "1", "samples", "samples"}, "--samples samples: ");
        pairs_t on = {"epochs", "2", "run", "run", "resume", "true"};
        assert_refused("g", on, "run/resume.safetensors: ");
        check_packs("g", true);
        check_inference("g", true);
    }
}

/* ---- what is in a place between those that are looked at ---- */

/* The first byte whose change is not seen in what is sampled of the array. */
static off_t unseen_byte(const char *dataset, const char *path)
{
    struct og_graph *ds;
    struct stat st;
    assert_int_equal(og__graph_open(dataset, &ds, NULL), 0);
    const uint64_t before = ds->identity.contents;
    og__graph_close(ds);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    off_t found = 0;
    for (off_t at = 4096 + 2048; !found && at < st.st_size; at += 4096) {
        char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = (char)(byte ^ 1);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        assert_int_equal(og__graph_open(dataset, &ds, NULL), 0);
        found = ds->identity.contents == before ? at : 0;
        og__graph_close(ds);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    assert_true(found > 0);
    return found;
}

static void change_byte(const char *path, off_t at)
{
    char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* In place, or in another file that takes its place. */
static void one_byte_changed_is_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *path, *why;
        bool structure, another;
    } cases[] = {{"g/features.npy", "features.npy was written to since", false, false},
                 {"g/indices.npy", "indices.npy was written to since", true, false},
                 {"g/features.npy", "features.npy was replaced since", false, true},
                 {"g/indices.npy", "indices.npy was replaced since", true, true}};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const char *why = cases[i].why;
        print_message("%s\n", why);
        test_shell("rm -rf g; cp -a graph g");
        off_t at = unseen_byte("g", cases[i].path);
        make_all("g");
        if (cases[i].another)
            test_shell("cp %s other; mv other %s", cases[i].path, cases[i].path);
        change_byte(cases[i].path, at);
        check_neighbors("g", cases[i].structure);
        pairs_t offline = {"epochs", "1", "samples", "samples"};
        assert_refused("g", offline, why);
        pairs_t on = {"epochs", "2", "run", "run", "resume", "true"};
        assert_refused("g", on, why);
        check_packs("g", true);
        check_inference("g", true);
    }
}

/* ---- copies ---- */

/* What was made of a dataset is accepted for a copy of it. Only files that are kept for one path
 * are made again. */
static void a_copy_is_the_same_dataset(void **state)
{
    (void)state;
    static const char *const copies[] = {"cp -a graph g", "cp -r graph g && touch g/*.npy",
                                         "tar c graph | tar x -m --transform s/^graph/g/",
                                         "mkdir g && cp -a graph/* g && echo >> g/meta.json"};
    for (size_t i = 0; i < OG_COUNT(copies); i++) {
        struct og_err err;
        make_all("graph");
        test_shell("rm -rf g; %s", copies[i]);
        pairs_t offline = {"epochs", "1", "samples", "samples", "cache", "100", "run", "offline"};
        if (train("g", offline, &err) < 0)
            fail_msg("%s: %s", copies[i], err.message);
        assert_null(strstr(said.text, "ignored"));
        assert_same_file("offline/checkpoint.safetensors", "start/checkpoint.safetensors");
        pairs_t on = {"epochs", "2", "run", "run", "resume", "true"};
        if (train("g", on, &err) < 0)
            fail_msg("%s: %s", copies[i], err.message);
        check_inference("g", true); /* rows of a place of its own */
        test_shell("rm -r offline");
    }
}

/* ---- folders of neighbour caches ---- */

/* Names that fit patterns with blanks between them. */
static int count_folders(const char *patterns)
{
    char one[128];
    int n = 0;
    for (const char *p = patterns; *p; p += strcspn(p, " "), p += *p == ' ') {
        glob_t found;
        snprintf(one, sizeof(one), "%.*s", (int)strcspn(p, " "), p);
        if (glob(one, 0, NULL, &found) == 0)
            n += (int)found.gl_pathc;
        globfree(&found);
    }
    return n;
}

static void datasets_of_one_name_have_caches_of_their_own(void **state)
{
    (void)state;
    struct og_err err;
    test_shell("rm -rf outgrow/neighbors-* a b; mkdir a b; cp -a graph a/knn; cp -a graph b/knn");
    for (int turn = 0; turn < 2; turn++)
        for (const char *const *d = (const char *const[]){"a/knn", "b/knn", NULL}; *d; d++) {
            assert_int_equal(train(*d, (pairs_t){"epochs", "1"}, &err), 0);
            assert_true(!strstr(said.text, "building the neighbour cache") == (turn == 1));
        }
    assert_int_equal(count_folders("outgrow/neighbors-*"), 2);
    test_shell("rm -r a b");
}

static void set_name(const char *dataset, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/meta.json", dataset);
    json_t *meta = json_load_file(path, 0, NULL);
    assert_non_null(meta);
    assert_int_equal(json_object_set_new(meta, "name", json_string(name)), 0);
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

/* A name is shown and no more: it leads nowhere. */
static void a_name_is_no_path(void **state)
{
    (void)state;
    struct og_err err;
    static const char *const names[] = {"x/../../evil", "../evil", "/evil", "", "."};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        test_shell("rm -rf outgrow/neighbors-* g deep; mkdir -p deep/cache; cp -a graph g");
        set_name("g", names[i]);
        pairs_t under = {"epochs", "1", "scratch", "deep/cache"};
        assert_int_equal(train("g", under, &err), 0);
        assert_int_equal(count_folders("deep/cache/neighbors-*/neighbors.json"), 1);
        assert_int_equal(count_folders("deep/* deep/cache/*"), 2);
        assert_int_equal(count_folders("*evil* deep/*evil*"), 0);
    }
}

/* ---- verify ---- */

struct findings {
    int n;
    char last[512];
};

static void note_finding(void *arg, const char *text, const char *hint)
{
    struct findings *f = arg;
    (void)hint;
    f->n++;
    snprintf(f->last, sizeof(f->last), "%s", text);
}

static void a_checksum_of_a_file_elsewhere_is_a_finding(void **state)
{
    (void)state;
    struct findings f = {0};
    test_shell("rm -rf g; cp -a graph g");
    json_t *meta = json_load_file("g/meta.json", 0, NULL);
    json_t *sums = json_object_get(meta, "checksums");
    assert_int_equal(json_object_set_new(sums, "../graph/meta.json", json_string("x")), 0);
    assert_int_equal(json_dump_file(meta, "g/meta.json", 0), 0);
    json_decref(meta);
    assert_int_equal(og_verify("g", note_finding, &f, NULL, NULL), 1);
    assert_non_null(strstr(f.last, "../graph/meta.json is not in the folder"));
}

/* The graph that is left to sample is in a scratch folder, another in every run. */
static void samples_of_links_are_of_the_dataset(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    struct findings f = {0};
    test_shell("rm -rf links g; cp -a graph g; rm -rf outgrow");
    pairs_t links = {"task", "link", "epochs", "1", "batch", "8000", "edge-split", "60/20/20"};
    set_options(&opt, links);
    if (og_sample("graph", "links", false, &opt, &seen, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
    assert_int_equal(og_verify_samples("links", "graph", note_finding, &f, NULL, NULL), 0);
    assert_int_equal(og_verify_samples("links", "g", note_finding, &f, NULL, NULL), 0);
    pairs_t with = {"task",       "link",     "epochs",  "1",     "batch", "8000",
                    "edge-split", "60/20/20", "samples", "links", NULL};
    if (train("g", with, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(count_folders("outgrow/*"), 0); /* no cache of a graph that is gone */
    replace("g", &arrays[1]);
    assert_refused("g", with, "--samples links: not samples of g: indices.npy has other contents");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_of_other_arrays_is_not_used),
        cmocka_unit_test(one_byte_changed_is_noticed),
        cmocka_unit_test(a_copy_is_the_same_dataset),
        cmocka_unit_test(datasets_of_one_name_have_caches_of_their_own),
        cmocka_unit_test(a_name_is_no_path),
        cmocka_unit_test(a_checksum_of_a_file_elsewhere_is_a_finding),
        cmocka_unit_test(samples_of_links_are_of_the_dataset),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
