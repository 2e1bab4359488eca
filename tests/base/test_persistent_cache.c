/* Files kept between runs have a bound and an age. The longest unused goes first, never one that a
 * process holds, and nothing that is not ours. `cache` shows and clears them. */
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_graph.h"

#include "base/file.h"
#include "base/persistent_cache.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 24 * 3600 };
static const struct og_persistent_cache_kind kind = {"neighbors-",
                                                     {"neighbors.json", "nodes.npy", "ids.npy"}};

static char *path_of(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void put(const char *name, size_t bytes)
{
    char text[4096] = {0};
    assert_true(bytes <= sizeof(text));
    assert_int_equal(og__write_text(path_of(name), text, bytes, NULL), 0);
}

/* Folder number i, 1000 bytes of arrays, last used so many days ago. */
static void keep(char name[64], int i, int days)
{
    char file[128];
    snprintf(name, 64, "neighbors-%016x", (unsigned)i);
    assert_int_equal(og__make_dirs(path_of(name), NULL), 0);
    snprintf(file, sizeof(file), "%s/ids.npy", name);
    put(file, 900);
    snprintf(file, sizeof(file), "%s/nodes.npy.tmp-17-0", name);
    put(file, 100);
    const struct timespec then = {.tv_sec = time(NULL) - days * DAY};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void the_longest_unused_goes_first(void **state)
{
    (void)state;
    enum { N = 6 };
    char name[N][64];
    char mine[1024];
    for (int i = 0; i < N; i++)
        keep(name[i], i, 10 * (N - i)); /* 60, 50, ... 10 days */
    snprintf(mine, sizeof(mine), "%s", path_of(name[0]));
    int held = og__persistent_cache_hold(path_of(name[1]));
    assert_true(held > 0);
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 70 * DAY},
                                    {.tv_sec = time(NULL) - 70 * DAY}};
    assert_int_equal(utimensat(AT_FDCWD, path_of(name[1]), old, 0), 0);
    /* age: all but what is ours and what is held */
    og__persistent_cache_trim(mine, &kind, UINT64_MAX, 35 * DAY, NULL);
    const bool after_age[N] = {true, true, false, true, true, true};
    for (int i = 0; i < N; i++)
        assert_int_equal(is_there(name[i]), after_age[i]);
    /* bound: 5000 bytes lie there */
    og__persistent_cache_trim(mine, &kind, 4000, 1000L * DAY, NULL);
    const bool after_bound[N] = {true, true, false, false, true, true};
    for (int i = 0; i < N; i++)
        assert_int_equal(is_there(name[i]), after_bound[i]);
    /* as far as it goes without what is ours and what is held */
    og__persistent_cache_trim(mine, &kind, 0, 1000L * DAY, NULL);
    for (int i = 0; i < N; i++)
        assert_int_equal(is_there(name[i]), i < 2);
    close(held);
    assert_true(og__persistent_cache_remove(folder, &kind, name[1]));
    assert_true(og__persistent_cache_remove(folder, &kind, name[0]));
    assert_false(og__persistent_cache_remove(folder, &kind, name[0]));
}

static void use_makes_it_young(void **state)
{
    (void)state;
    struct og_persistent_cache *list;
    size_t n;
    char old[64];
    char young[64];
    keep(old, 7, 40);
    keep(young, 8, 20);
    int held = og__persistent_cache_hold(path_of(old));
    assert_int_equal(og__persistent_cache_list(folder, &kind, &list, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(list[0].name, young);
    assert_false(list[0].in_use);
    assert_true(list[1].in_use && list[1].used >= time(NULL) - 60 && list[1].bytes == 1000);
    free(list);
    close(held);
    assert_true(og__persistent_cache_remove(folder, &kind, old) &&
                og__persistent_cache_remove(folder, &kind, young));
    assert_int_equal(og__persistent_cache_hold(path_of(old)), 0);
    assert_int_equal(og__persistent_cache_list(path_of("nowhere"), &kind, &list, &n, NULL), 0);
    assert_int_equal(n, 0);
}

/* ---- the command ---- */

static json_t *cache(bool clear)
{
    char *text = NULL;
    struct og_err err = {0};
    if (og_cache(folder, clear, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static int64_t number(const json_t *root, const char *key)
{
    return json_integer_value(json_object_get(root, key));
}

static void train(void)
{
    struct og_options opt;
    struct og_err err = {0};
    static int runs;
    char run[1100];
    og__options_init(&opt);
    snprintf(run, sizeof(run), "%s/run%d", folder, runs++);
    assert_int_equal(og_options_set(&opt, "run", run, NULL), 0);
    const char *const pairs[] = {"topology", "disk", "neighbor-cache", "20K", "fanout", "3,3",
                                 "epochs",   "1",    "memory",         "96M", "hidden", "8",
                                 "threads",  "1",    "scratch",        folder};
    for (size_t i = 0; i < OG_COUNT(pairs); i += 2)
        assert_int_equal(og_options_set(&opt, pairs[i], pairs[i + 1], NULL), 0);
    if (og_train(path_of("graph"), &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
}

static void cache_shows_and_clears(void **state)
{
    (void)state;
    struct og_generate g;
    char held_name[64];
    small_graph_init(&g);
    assert_int_equal(og_generate(path_of("graph"), &g, NULL, NULL), 0);
    train();
    json_t *root = cache(false);
    const json_t *row = json_array_get(json_object_get(root, "kept"), 0);
    assert_int_equal(json_array_size(json_object_get(root, "kept")), 1);
    assert_string_equal(json_string_value(json_object_get(row, "kind")), "neighbour cache");
    assert_non_null(strstr(json_string_value(json_object_get(row, "dataset")), "/graph"));
    assert_true(number(row, "bytes") > 4096 && number(root, "bytes") == number(row, "bytes"));
    assert_true(number(root, "limit_bytes") > 0 && number(row, "idle_seconds") < 600);
    json_decref(root);
    /* what others put there, under names like ours, stays */
    assert_int_equal(og__make_dirs(path_of("neighbors-0123456789abcdef"), NULL), 0);
    put("neighbors-0123456789abcdef/thesis.txt", 10);
    assert_int_equal(og__make_dirs(path_of("neighbors-and-friends"), NULL), 0);
    put("neighbors-and-friends/ids.npy", 10);
    put("neighbors-00000000000000ff", 10);
    keep(held_name, 9, 100);
    int held = og__persistent_cache_hold(path_of(held_name));
    root = cache(true);
    assert_true(number(root, "removed_bytes") > 4096);
    assert_int_equal(number(root, "bytes"), 1000);
    json_decref(root);
    assert_true(is_there(held_name) && is_there("neighbors-0123456789abcdef/thesis.txt") &&
                is_there("neighbors-and-friends/ids.npy") && is_there("graph/indices.npy"));
    close(held);
    root = cache(true);
    assert_false(is_there(held_name));
    json_decref(root);
    train(); /* it is made again */
    root = cache(false);
    assert_true(number(root, "bytes") > 4096);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_unused_goes_first),
        cmocka_unit_test(use_makes_it_young),
        cmocka_unit_test(cache_shows_and_clears),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
