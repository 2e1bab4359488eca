/* A disk that fills up: during import and during training. What was there before stays, the message
 * says where and what to do, and with room again the run resumes to the bytes of an unbroken one.
 * On a tmpfs of 3 MiB in a mount namespace of its own; skipped where mounting is not allowed. */
#include "dataset/generate/options.h"
#include "dataset/import/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/file.h"
#include "base/temporary.h"
#include "support/runs.h"

#include <dirent.h>
#include <outgrow/outgrow.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/og-full-XXXXXX";
static char disk[64], graph[64], filler[80], run_dir[80];

static bool mount_disk(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", disk, "tmpfs", 0, "size=3m") == 0;
}

static int prepare(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("XDG_CACHE_HOME", root, 1);
    snprintf(disk, sizeof(disk), "%s/disk", root);
    snprintf(graph, sizeof(graph), "%s/graph", root);
    snprintf(filler, sizeof(filler), "%s/filler", disk);
    snprintf(run_dir, sizeof(run_dir), "%s/run", disk);
    assert_int_equal(mkdir(disk, 0777), 0);
    if (!mount_disk()) {
        og__remove_tree(root);
        print_message("skipped: a tmpfs cannot be mounted here\n");
        exit(77);
    }
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = 3000;
    g.dim = 64;
    g.classes = 4;
    g.train_fraction = 0.2;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 1;
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    umount(disk);
    og__remove_tree(root);
    return 0;
}

/* Leaves `bytes` free. */
static void fill(uint64_t bytes)
{
    uint64_t room = og__disk_free(disk);
    assert_true(room > bytes);
    FILE *f = fopen(filler, "w");
    assert_non_null(f);
    for (uint64_t i = 0; i < room - bytes; i += 4096) {
        static const char block[4096];
        if (fwrite(block, sizeof(block), 1, f) != 1)
            break;
    }
    fclose(f);
}

static size_t count_entries(void)
{
    DIR *dir = opendir(disk);
    size_t n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void says_what_to_do(const struct og_err *err)
{
    assert_non_null(strstr(err->message, disk));
    assert_true(strstr(err->message, "No space left") || strstr(err->message, "are free"));
    assert_non_null(strstr(err->hint, "free space"));
}

/* ---- making datasets ---- */

static void a_dataset_that_does_not_fit_is_not_begun(void **state)
{
    (void)state;
    struct og_generate g;
    struct og_err err = {0};
    char out[80];
    snprintf(out, sizeof(out), "%s/out", disk);
    assert_int_equal(og__write_text(filler, "kept", 4, NULL), 0);
    og__generate_init(&g);
    g.nodes = 20000; /* 10 MB of features */
    g.threads = 1;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    assert_int_equal(og_generate(out, &g, NULL, &err), -ENOSPC);
    says_what_to_do(&err);
    char *text;
    size_t len;
    assert_int_equal(og__read_text(filler, 100, &text, &len, NULL), 0);
    assert_string_equal(text, "kept");
    free(text);
    assert_int_equal(count_entries(), 1);
    unlink(filler);
}

static void copy(const char *from, const char *folder, const char *name)
{
    char path[160];
    char *text;
    size_t len;
    snprintf(path, sizeof(path), "%s/%s", graph, from);
    assert_int_equal(og__read_text(path, 1 << 24, &text, &len, NULL), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(og__write_text(path, text, len, NULL), 0);
    free(text);
}

static void an_import_that_does_not_fit_leaves_nothing(void **state)
{
    (void)state;
    char source[80], out[80], path[120];
    struct og_import opt;
    struct og_err err = {0};
    snprintf(source, sizeof(source), "%s/source", root);
    snprintf(out, sizeof(out), "%s/out", disk);
    assert_int_equal(mkdir(source, 0777), 0);
    copy("features.npy", source, "feat.npy");
    copy("labels.npy", source, "label.npy");
    copy("train.npy", source, "train.npy");
    /* a ring */
    enum { EDGES = 3000 };
    static char edges[128 + 16 * EDGES];
    memset(edges, ' ', 128);
    memcpy(edges, "\x93NUMPY\x01\x00\x76\x00", 10);
    static const char header[] = "{'descr': '<i8', 'fortran_order': False, 'shape': (3000, 2), }";
    memcpy(edges + 10, header, sizeof(header) - 1);
    edges[127] = '\n';
    for (int64_t i = 0; i < EDGES; i++) {
        const int64_t ends[2] = {i, (i + 1) % EDGES};
        memcpy(edges + 128 + 16 * i, ends, sizeof(ends));
    }
    snprintf(path, sizeof(path), "%s/edges.npy", source);
    assert_int_equal(og__write_text(path, edges, sizeof(edges), NULL), 0);
    og__import_init(&opt);
    opt.threads = 1;
    opt.memory = (struct og_amount){OG_BYTES, 64 << 20};
    static const uint64_t rooms[] = {4096, 16 << 10, 50 << 10, 100 << 10, 400 << 10, 700 << 10};
    for (size_t i = 0; i < OG_COUNT(rooms); i++) {
        fill(rooms[i]);
        err = (struct og_err){0};
        assert_int_equal(og_import("npy", source, out, &opt, NULL, &err), -ENOSPC);
        says_what_to_do(&err);
        assert_int_equal(count_entries(), 1);
        unlink(filler);
    }
    assert_int_equal(og_import("npy", source, out, &opt, NULL, &err), 0);
    og__remove_tree(out);
}

/* ---- training ---- */

static void set_options(struct og_options *opt, const char *run)
{
    static const char *const pairs[][2] = {
        {"fanout", "4,4"}, {"batch", "100"}, {"hidden", "64"},     {"epochs", "3"},
        {"memory", "96M"}, {"threads", "1"}, {"policy", "degree"}, {"resume", "true"}};
    og__options_init(opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(opt, pairs[i][0], pairs[i][1], NULL), 0);
    assert_int_equal(og_options_set(opt, "run", run, NULL), 0);
}

static void read_file(const char *folder, const char *name, char **text, size_t *len)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(og__read_text(path, 1 << 24, text, len, NULL), 0);
}

static void a_checkpoint_that_does_not_fit_leaves_the_one_before(void **state)
{
    (void)state;
    char whole[80];
    struct og_options opt;
    struct og_err err = {0};
    snprintf(whole, sizeof(whole), "%s/whole", root);
    set_options(&opt, whole);
    assert_int_equal(og_train(graph, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);

    struct test_stopper s = {.at = 4};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
    set_options(&opt, run_dir);
    assert_int_equal(og_train(graph, &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    char *before, *after;
    size_t n, m;
    read_file(run_dir, "resume.safetensors", &before, &n);
    /* enough for the small files, then for the parameters too, but not for what resumes */
    const uint64_t rooms[] = {0, 12 << 10, n - 4096};
    for (size_t i = 0; i < OG_COUNT(rooms); i++) {
        fill(rooms[i]);
        err = (struct og_err){0};
        assert_int_equal(og_train(graph, &opt, NULL, NULL, &err), -ENOSPC);
        says_what_to_do(&err);
        read_file(run_dir, "resume.safetensors", &after, &m);
        assert_int_equal(n, m);
        assert_memory_equal(before, after, n);
        free(after);
        unlink(filler);
    }
    assert_int_equal(og_train(graph, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    free(before);
    static const char *const files[] = {"checkpoint.safetensors", "best.safetensors"};
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        read_file(whole, files[i], &before, &n);
        read_file(run_dir, files[i], &after, &m);
        assert_int_equal(n, m);
        assert_memory_equal(before, after, n);
        free(before);
        free(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_that_does_not_fit_is_not_begun),
        cmocka_unit_test(an_import_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(a_checkpoint_that_does_not_fit_leaves_the_one_before),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
