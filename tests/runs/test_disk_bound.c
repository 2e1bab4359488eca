/* --disk: what a run has on the disk at any moment, all of it together. Whatever grows there goes
 * again, so the maximum is there just before something is removed or cut short: these calls look at
 * the folders first. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/file.h"
#include "base/places.h"
#include "base/temporary.h"
#include "support/files.h"
#include "support/folder.h"

#include <dirent.h>
#include <jansson.h>
#include <outgrow/outgrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[TEST_PATH];
static char graph[TEST_PATH + 16];
static char scratch[2][TEST_PATH + 16];

/* ---- looking ---- */

static struct {
    bool on;
    uint64_t bytes, blocks, files; /* of the files, and as the disk has them; how many */
    uint64_t in_one;               /* bytes of a single folder */
} now, most;

static void add_folder(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    struct stat st;
    char inner[512];
    while (dir && (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (lstat(inner, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            add_folder(inner);
        } else if (strcmp(e->d_name, "lock") != 0) { /* which has a host's name in it */
            now.bytes += (uint64_t)st.st_size;
            now.blocks += (uint64_t)st.st_blocks * 512;
            now.files++;
        }
    }
    if (dir)
        closedir(dir);
}

static void look(void)
{
    if (!most.on)
        return;
    const int error = errno;
    now.bytes = now.blocks = now.files = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t before = now.bytes;
        add_folder(scratch[i]);
        most.in_one = OG_MAX(most.in_one, now.bytes - before);
    }
    most.bytes = OG_MAX(most.bytes, now.bytes);
    if (now.blocks > most.blocks) {
        most.blocks = now.blocks;
        most.files = now.files;
    }
    errno = error;
}

int unlink(const char *path)
{
    look();
    return (int)syscall(SYS_unlink, path);
}

int unlinkat(int fd, const char *path, int flags)
{
    look();
    return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int ftruncate(int fd, off_t length)
{
    look();
    return (int)syscall(SYS_ftruncate, fd, length);
}

/* ---- runs ---- */

static int set_up(void **state)
{
    (void)state;
    struct og_generate g;
    assert_non_null(test_folder(root, "bound"));
    snprintf(graph, sizeof(graph), "%s/graph", root);
    snprintf(scratch[0], sizeof(scratch[0]), "%s/one", root);
    snprintf(scratch[1], sizeof(scratch[1]), "%s/two", root);
    setenv("XDG_CACHE_HOME", root, 1);
    og__generate_init(&g);
    g.nodes = 8000;
    g.degree = 12;
    g.dim = 32;
    g.train_fraction = 0.33;
    return og_generate(graph, &g, NULL, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    most.on = false;
    og__remove_tree(root);
    return 0;
}

static void set_all(struct og_options *opt, const char *const *pairs)
{
    static const char *const base[] = {"fanout", "12,12", "batch",   "160", "hidden", "8",
                                       "epochs", "2",     "threads", "2",   NULL};
    const char *const *const lists[] = {base, pairs};
    struct og_err err = {0};
    char run[TEST_PATH + 16];
    og__options_init(opt);
    for (size_t l = 0; l < OG_COUNT(lists); l++)
        for (const char *const *p = lists[l]; *p; p += 2)
            if (og_options_set(opt, p[0], p[1], &err) < 0)
                fail_msg("%s", err.message);
    snprintf(run, sizeof(run), "%s/run", root);
    assert_int_equal(og_options_set(opt, "run", run, NULL), 0);
}

/* The least memory that such a run has, and a little. */
static uint64_t least_memory(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_all(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "memory", "512M", NULL), 0);
    if (og_plan(graph, &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *plan = json_loads(text, 0, NULL);
    const json_t *memory = json_object_get(plan, "memory");
    const uint64_t least = (uint64_t)json_integer_value(json_object_get(memory, "smallest"));
    json_decref(plan);
    free(text);
    og__options_release(&opt);
    return least;
}

static int train(const char *const *pairs, uint64_t memory, uint64_t disk, bool both,
                 struct og_err *err)
{
    struct og_options opt;
    char text[2 * sizeof(scratch[0]) + 2];
    char run[TEST_PATH + 16];
    set_all(&opt, pairs);
    snprintf(text, sizeof(text), both ? "%s,%s" : "%s", scratch[0], scratch[1]);
    assert_int_equal(og_options_set(&opt, "scratch", text, NULL), 0);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)disk);
    assert_int_equal(og_options_set(&opt, "disk", text, NULL), 0);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)memory);
    assert_int_equal(og_options_set(&opt, "memory", text, NULL), 0);
    memset(&most, 0, sizeof(most));
    most.on = true;
    int rc = og_train(graph, &opt, NULL, NULL, err);
    look(); /* what is kept for later runs stays */
    most.on = false;
    og__options_release(&opt);
    snprintf(run, sizeof(run), "%s/run", root);
    og__remove_tree(run);
    for (int i = 0; i < 2; i++)
        og__remove_tree(scratch[i]);
    return rc;
}

/* With little memory, so that much is spilled; false: --disk is refused. */
static bool train_within(const char *const *pairs, uint64_t least, uint64_t disk, bool both)
{
    struct og_err err = {0};
    int rc = -ENOMEM;
    for (uint64_t more = 2; rc == -ENOMEM && more <= 64; more *= 2) {
        err = (struct og_err){0};
        rc = train(pairs, least + more * OG_MIB, disk, both, &err);
    }
    if (rc < 0 && rc != -ENOSPC)
        fail_msg("%s", err.message);
    return rc == 0;
}

/* Checks that files fit --disk, and that each of several folders has an equal share. Shares may
 * differ by the last unit of what is stored in units. */
static void check(size_t way, uint64_t disk, bool both)
{
    enum { UNIT = 1024 * 1024 };
    const bool whole = most.bytes <= disk && most.blocks <= disk + most.files * 4096;
    if (getenv("TEST_SHOW"))
        printf("%zu: %llu: %llu bytes, %llu in blocks of %llu files, %llu in one folder\n", way,
               (unsigned long long)disk, (unsigned long long)most.bytes,
               (unsigned long long)most.blocks, (unsigned long long)most.files,
               (unsigned long long)most.in_one);
    if (!whole || (both && most.in_one > disk / 2 + UNIT))
        fail_msg("way %zu, --disk %llu: %llu bytes, %llu in blocks of %llu files, %llu in one "
                 "folder",
                 way, (unsigned long long)disk, (unsigned long long)most.bytes,
                 (unsigned long long)most.blocks, (unsigned long long)most.files,
                 (unsigned long long)most.in_one);
}

static void all_of_it_keeps_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const ways[][14] = {
        {"policy", "belady", "cache", "1%", "alternate", "true"},
        {"policy", "belady", "cache", "1%", "layout", "packed"},
        {"policy", "belady", "cache", "1%", "layout", "segmented", "superbatch", "10"},
        {"policy", "belady", "cache", "1%", "superbatch", "10", "topology", "disk",
         "neighbor-cache", "0", "alternate", "true"},
        {"policy", "belady", "cache", "1%", "superbatch", "10", "layout", "segmented", "topology",
         "disk"},
        {"policy", "hybrid", "cache", "20%", "topology", "disk", "neighbor-cache", "120K"},
        {"policy", "belady", "cache", "1%", "topology", "disk", "neighbor-cache", "1G", "alternate",
         "true"},
        {"policy", "degree", "cache", "1%", "topology", "disk", "neighbor-cache", "60%"},
    };
    static const uint64_t disks[] = {2400000, 3200000, 4800000, 16000000};
    enum { SIZES = OG_COUNT(disks), RUNS = OG_COUNT(ways) * SIZES };
    int all = 0;
    for (size_t k = 0; k < OG_COUNT(ways); k++) {
        const uint64_t least = least_memory(ways[k]);
        uint64_t largest = 0;
        int ran = 0;
        for (size_t i = 0; i < SIZES; i++) {
            const bool both = (i + k) % 2;
            if (!train_within(ways[k], least, disks[i], both))
                continue;
            check(k, disks[i], both);
            largest = OG_MAX(largest, most.bytes);
            ran++;
        }
        if (2 * ran < SIZES || largest == 0) /* and it was looked at */
            fail_msg("way %zu: %d of %d sizes ran, at most %llu bytes", k, ran, (int)SIZES,
                     (unsigned long long)largest);
        all += ran;
    }
    print_message("%d of %d sizes ran, the others were refused\n", all, (int)RUNS);
    assert_true(4 * all >= 3 * RUNS);
}

/* Without --scratch, so that what is kept as a whole is in the user's cache folder. */
static void train_beside(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char run[TEST_PATH + 16];
    set_all(&opt, pairs);
    if (og_train(graph, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
    snprintf(run, sizeof(run), "%s/run", root);
    og__remove_tree(run);
}

/* --disk is what batches may take where the run is. */
static void what_lies_on_another_disk_is_no_part_of_it(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "policy", "degree", "topology", "disk", "neighbor-cache", "120K", "disk", "50K", "together",
        "1",      "memory", "64M",      NULL};
    static const char *const edges[] = {"task",  "link", "policy", "degree", "disk", "50K",
                                        "batch", "4000", "memory", "96M",    NULL};
    char in_memory[] = "/dev/shm/outgrow-cache-XXXXXX";
    char on_disk[] = "/tmp/outgrow-cache-XXXXXX";
    char *cache = og__same_file_system("/dev/shm", root) ? on_disk : in_memory;
    if (!mkdtemp(cache) || og__same_file_system(cache, root)) {
        rmdir(cache);
        skip();
    }
    setenv("XDG_CACHE_HOME", cache, 1);
    train_beside(edges);
    assert_int_equal(test_bytes_under(cache), 0);
    train_beside(lists);
    assert_true(test_bytes_under(cache) > 60000);
    setenv("XDG_CACHE_HOME", root, 1);
    og__remove_tree(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_on_another_disk_is_no_part_of_it),
        cmocka_unit_test(all_of_it_keeps_to_the_disk_allowed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
