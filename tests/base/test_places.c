/* base: several folders for scratch, a disk each. Tests their list, what is spilled over them, and
 * what goes wrong with one. */
#include "support/testing.h"

#include "base/file.h"
#include "base/places.h"
#include "base/random.h"
#include "base/scratch.h"
#include "base/spill.h"
#include "support/files.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[TEST_PATH];

static int make_root(void **state)
{
    (void)state;
    return test_folder(root, "places") ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return rmdir(root); /* every test leaves it empty */
}

enum { MOST = 4 };

/* root/0, root/1, ... */
struct folders {
    char name[MOST][TEST_PATH + 16];
    const char *path[MOST];
    struct og_places at;
};

static void name_folders(struct folders *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        snprintf(f->name[i], sizeof(f->name[i]), "%s/%u", root, i);
        f->path[i] = f->name[i];
    }
    f->at = (struct og_places){n, f->path};
}

/* ---- lists ---- */

static void a_list_is_cut_at_commas(void **state)
{
    (void)state;
    struct og_places p;
    struct og_places in;
    assert_int_equal(og__places_split(&p, "/a b,c/d,e", "scratch", NULL), 0);
    assert_int_equal(p.n, 3);
    assert_string_equal(p.path[0], "/a b");
    assert_string_equal(p.path[1], "c/d");
    assert_string_equal(p.path[2], "e");
    assert_int_equal(og__places_in(&in, p, "x", NULL), 0);
    assert_string_equal(in.path[1], "c/d/x");
    og__places_free(&in);
    og__places_free(&p);
    assert_int_equal(og__places_split(&p, "one", "scratch", NULL), 0);
    assert_int_equal(p.n, 1);
    assert_string_equal(p.path[0], "one");
    og__places_free(&p);
}

static void refuse(const char *list, const char *why)
{
    struct og_places p;
    struct og_err err = {0};
    int rc = og__places_split(&p, list, "scratch", &err);
    if (rc == 0) {
        rc = og__places_check(p, "scratch", &err);
        og__places_free(&p);
    }
    if (rc >= 0 || !strstr(err.message, why) || !strstr(err.message, "--scratch"))
        fail_msg("%s: %d: %s", list, rc, err.message);
    assert_true(err.hint[0]);
}

static void accept(const char *list)
{
    struct og_places p;
    struct og_err err = {0};
    assert_int_equal(og__places_split(&p, list, "scratch", NULL), 0);
    if (og__places_check(p, "scratch", &err) < 0)
        fail_msg("%s: %s", list, err.message);
    og__places_free(&p);
}

static void folders_that_are_none_are_named(void **state)
{
    (void)state;
    struct folders f;
    char list[4 * TEST_PATH];
    char file[TEST_PATH + 8];
    char link[TEST_PATH + 8];
    name_folders(&f, 2);
    snprintf(file, sizeof(file), "%s/file", root);
    snprintf(link, sizeof(link), "%s/link", root);
    refuse("a,,b", "without a name");
    refuse("a,b,", "without a name");
    refuse("", "without a name");
    refuse("a,b,a", "a is there twice");
    assert_int_equal(mkdir(f.path[0], 0700), 0);
    assert_int_equal(symlink(f.path[0], link), 0);
    snprintf(list, sizeof(list), "%s,%s", f.path[0], link);
    refuse(list, "are one folder");
    snprintf(list, sizeof(list), "%s/new/a,%s//new/./a/", f.path[0], link); /* none is there yet */
    refuse(list, "are one folder");
    snprintf(list, sizeof(list), "%s/new/a,%s/new/b", f.path[0], link);
    accept(list);
    accept("new,.new");
    refuse("new,./new", "are one folder");
    refuse(".new/x,.new//x", "are one folder");
    refuse("new/../other,other", "leads through a folder that is not there");
    accept("..,.");
    assert_int_equal(og__write_text(file, "x", 1, NULL), 0);
    snprintf(list, sizeof(list), "%s,%s", f.path[0], file);
    refuse(list, "file is no folder");
    snprintf(list, sizeof(list), "%s,%s/inner", f.path[0], file);
    refuse(list, "file");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(f.path[0]), 0);
}

static void room_is_that_of_equal_shares(void **state)
{
    (void)state;
    struct folders f;
    name_folders(&f, 3);
    const uint64_t one = og__places_room((struct og_places){1, f.path});
    const uint64_t all = og__places_room(f.at); /* of one file system: no more than that */
    assert_true(one > 0);
    assert_true(all <= one + one / 16 && all + one / 16 >= one);
    assert_int_equal(og__places_room((struct og_places){0, NULL}), 0);
}

/* ---- scratch ---- */

static void a_scratch_folder_is_one_in_each(void **state)
{
    (void)state;
    struct folders f;
    struct og_scratch *s;
    char path[3 * TEST_PATH];
    name_folders(&f, 3);
    assert_int_equal(og__scratch_open(&s, f.at, NULL), 0);
    const struct og_places at = og__scratch_places(s);
    assert_int_equal(at.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(strncmp(at.path[i], f.path[i], strlen(f.path[i])), 0);
        snprintf(path, sizeof(path), "%s/data", at.path[i]);
        assert_int_equal(og__write_text(path, "x", 1, NULL), 0);
    }
    og__scratch_clear(s);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(test_entries(at.path[i]), 1); /* the lock */
    og__scratch_close(s);
    assert_int_equal(test_entries(root), 0); /* it had made all of them */
}

static void one_that_fails_takes_the_others_away(void **state)
{
    (void)state;
    struct folders f;
    struct og_scratch *s;
    struct og_err err = {0};
    name_folders(&f, 3);
    assert_int_equal(og__write_text(f.path[1], "x", 1, NULL), 0);
    assert_int_equal(og__scratch_open(&s, f.at, &err), -ENOTDIR);
    assert_non_null(strstr(err.message, f.path[1]));
    assert_null(s);
    assert_int_equal(test_entries(root), 1);
    assert_int_equal(unlink(f.path[1]), 0);
}

/* ---- a spill ---- */

static uint64_t bytes_of_part(uint32_t i)
{
    char path[TEST_PATH + 16];
    snprintf(path, sizeof(path), "%s/%u", root, i);
    return test_bytes_under(path);
}

/* Appends of any length, read back from anywhere: as from an array. */
static void spill_over(uint32_t n, size_t memory)
{
    enum { ALL = 7 * 1024 * 1024 + 12345, LONGEST = 3 * 1024 * 1024 };
    struct folders f;
    struct og_spill *s;
    struct og_err err = {0};
    char *bytes = malloc(ALL);
    char *out = malloc(LONGEST);
    uint64_t read = 0;
    struct og_rng rng;
    name_folders(&f, n);
    og__rng_at(&rng, 7, OG__STREAM_BENCH, 0, n, (uint32_t)memory, 0);
    for (size_t i = 0; i < ALL; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    const struct og_spill_options opt = {.scratch = f.at, .memory = memory, .part = "test"};
    if (og__spill_open(&s, &opt, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0, k; at < ALL; at += k) {
            k = og__rng_below(&rng, (uint32_t)(LONGEST / (1 + at % 40))) + (size_t)1;
            k = OG_MIN((size_t)ALL - at, k);
            assert_int_equal(og__spill_append(s, bytes + at, k, &err), 0);
        }
        for (int i = 0; i < 60; i++) {
            const size_t at = og__rng_below(&rng, ALL);
            const size_t wanted = og__rng_below(&rng, i % 3 ? LONGEST : 5000);
            const size_t k = OG_MIN((size_t)ALL - at, wanted);
            assert_int_equal(og__spill_read(s, at, out, k, &read, &err), 0);
            assert_memory_equal(out, bytes + at, k);
        }
        assert_int_equal(og__spill_size(s), ALL);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            sum += bytes_of_part(i);
            assert_true(bytes_of_part(i) + OG_MIB + 4096 >= (ALL - memory) / n); /* equal shares */
        }
        assert_in_range(sum, ALL - memory, ALL - memory + (uint64_t)n * 256); /* and locks */
        og__spill_clear(s);
        assert_int_equal(og__spill_size(s), 0);
    }
    assert_int_equal(og__spill_written(s), 2 * (ALL - memory));
    og__spill_close(s);
    assert_int_equal(test_entries(root), 0);
    free(out);
    free(bytes);
}

static void a_spill_is_dealt_out(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        spill_over(n, 0);
        spill_over(n, 2 * OG_MIB + 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_cut_at_commas),
        cmocka_unit_test(folders_that_are_none_are_named),
        cmocka_unit_test(room_is_that_of_equal_shares),
        cmocka_unit_test(a_scratch_folder_is_one_in_each),
        cmocka_unit_test(one_that_fails_takes_the_others_away),
        cmocka_unit_test(a_spill_is_dealt_out),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
