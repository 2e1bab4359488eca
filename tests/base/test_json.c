/* JSON that is whole or none; with memory that fails: test_faults.c. */
#include "support/testing.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static void what_lacks_something_is_nothing(void **state)
{
    (void)state;
    json_t *value = json_integer(1);
    json_t *held = json_incref(value);
    assert_null(og__json_with(NULL, "key", value)); /* its reference is taken all the same */
    assert_int_equal(held->refcount, 1);
    json_decref(held);
    json_t *object = json_object();
    held = json_incref(object);
    assert_null(og__json_with(object, "key", NULL));
    assert_int_equal(held->refcount, 1);
    json_decref(held);
    assert_null(og__json_append(json_array(), NULL));
    assert_null(og__json_append(NULL, json_null()));
    assert_null(og__json_print(NULL, 0));
}

static void text_is_that_of_jansson(void **state)
{
    (void)state;
    static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(2) | JSON_SORT_KEYS};
    json_t *root = og__json_with(json_object(), "b", og__json_append(json_array(), json_real(0.5)));
    root = og__json_with(root, "a key longer than sixteen bytes", json_string("\"quoted\"\n"));
    assert_non_null(root);
    for (size_t i = 0; i < OG_COUNT(flags); i++) {
        char *theirs = json_dumps(root, flags[i]), *ours = og__json_print(root, flags[i]);
        assert_string_equal(ours, theirs);
        free(theirs);
        free(ours);
    }
    json_decref(root);
}

static void what_json_has_not_is_replaced(void **state)
{
    (void)state;
    json_t *name = og__json_text("f\xfcr.npy"), *number = og__json_real(0.25);
    assert_string_equal(json_string_value(name), "f?r.npy");
    assert_true(json_real_value(number) == 0.25);
    assert_true(json_is_null(og__json_real(NAN)) && json_is_null(og__json_real(-INFINITY)));
    json_decref(name);
    json_decref(number);
}

static void what_is_no_json_is_told_with_its_line(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": 1,\n \"a\": 2}";
    struct og_err err = {0};
    json_t *root = json_null();
    assert_int_equal(og__json_parse(&root, text, sizeof(text) - 1, "file", "hint", &err), -EINVAL);
    assert_null(root);
    assert_int_equal(strncmp(err.message, "file: line 2: ", 14), 0);
    assert_string_equal(err.hint, "hint");
    assert_int_equal(og__json_parse(&root, text, 7, "file", NULL, NULL), -EINVAL);
    assert_int_equal(og__json_parse(&root, "[1]", 3, "file", NULL, NULL), 0);
    assert_int_equal(json_array_size(root), 1);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lacks_something_is_nothing),
        cmocka_unit_test(text_is_that_of_jansson),
        cmocka_unit_test(what_json_has_not_is_replaced),
        cmocka_unit_test(what_is_no_json_is_told_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
