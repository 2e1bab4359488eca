/* JSON that carries its own checksum: XXH3 of the file with the digits as zeros, whatever its
 * layout. No byte of it changes unnoticed but in the name of the checksum. */
#include "support/testing.h"

#include "base/file.h"
#include "base/self_checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/og-seal-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static json_t *sample(void)
{
    return json_pack("{s:i s:s s:[i i] s:f}", "format", 1, "name", "a \"xxh3\": \"0\" \\", "list",
                     7, 4711, "share", 0.1);
}

static char *write_sample(size_t *len)
{
    char *text;
    assert_int_equal(og__self_checksum_write(path, sample(), NULL), 0);
    assert_int_equal(og__read_text(path, 4096, &text, len, NULL), 0);
    return text;
}

static void the_digits_are_of_the_file_without_them(void **state)
{
    (void)state;
    size_t len;
    char expected[17];
    char *text = write_sample(&len);
    char *digits = strstr(text, "\n  \"xxh3\": \"") + 12;
    char said[17] = {0};
    memcpy(said, digits, 16);
    memset(digits, '0', 16);
    snprintf(expected, sizeof(expected), "%016llx", (unsigned long long)XXH3_64bits(text, len));
    assert_string_equal(said, expected);
    assert_int_equal(og__self_checksum_again(text, len, NULL), 0);
    assert_memory_equal(digits, expected, 16);
    free(text);
}

/* All that it says but the checksum. */
static bool says_the_same(const json_t *root)
{
    json_t *whole = sample();
    const char *key;
    json_t *value;
    bool same = json_object_size(root) == json_object_size(whole) + 1;
    json_object_foreach(whole, key, value) same =
        same && json_equal(value, json_object_get(root, key));
    json_decref(whole);
    return same;
}

static void every_bit_counts(void **state)
{
    (void)state;
    size_t len;
    size_t believed = 0;
    char *text = write_sample(&len);
    for (size_t i = 0; i < len * 8; i++) {
        struct og_err err = {0};
        json_t *root;
        text[i / 8] ^= (char)(1 << i % 8);
        if (og__self_checksum_parse(&root, text, len, path, "a hint", &err) == 0) {
            believed++;
            if (!says_the_same(root) || strstr(text, "\"xxh3\":"))
                fail_msg("bit %zu is not missed", i);
        } else if (root || !strstr(err.message, path) || strcmp(err.hint, "a hint") != 0) {
            fail_msg("bit %zu: %s (%s)", i, err.message, err.hint);
        }
        json_decref(root);
        text[i / 8] ^= (char)(1 << i % 8);
    }
    assert_true(believed <= strlen("xxh3") * 8);
    free(text);
}

static void layouts_and_files_without_it_are_taken(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        "{\"a\":1}",
        "{\"xxh3\":\"%s\"}",
        "{\"xxh3\" \t:\r\n \"%s\", \"a\": 2}",
        "{\"a\": \"\\\"xxh3\\\": \\\"0123456789abcdef\\\"\"}",
        "{\"a\": \"xxh3\"}",
        "{\"a\": \"xxh3\", \"xxh3\": \"%s\"}",
        "{\"xxh3\": 5}",
        "{\"xxh3\": null}",
    };
    for (size_t i = 0; i < OG_COUNT(good); i++) {
        char text[128];
        json_t *root;
        snprintf(text, sizeof(text), good[i], "fedcba9876543210");
        assert_int_equal(og__self_checksum_again(text, strlen(text), NULL), 0);
        if (og__self_checksum_parse(&root, text, strlen(text), "x", NULL, NULL) < 0)
            fail_msg("%s", text);
        json_decref(root);
    }
}

static void what_is_cut_or_other_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"xxh3\": \"0123456789abcdef\"}",
                                      "{\"a\": \"xxh3\", \"xxh3\": \"0123456789abcdef\"}",
                                      "{\"xxh3\": \"01234\", \"a\": \"more than sixteen\"}",
                                      "{\"xxh3\": \"0123456789abcdef",
                                      "{\"xxh3\": \"0123",
                                      "{\"xxh3\"",
                                      "{\"xxh3\":",
                                      ""};
    for (size_t i = 0; i < OG_COUNT(bad); i++) {
        struct og_err err = {0};
        json_t *root;
        if (og__self_checksum_parse(&root, bad[i], strlen(bad[i]), "x", "a hint", &err) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
        assert_null(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digits_are_of_the_file_without_them),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(layouts_and_files_without_it_are_taken),
        cmocka_unit_test(what_is_cut_or_other_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
