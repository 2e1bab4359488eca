/* Allocations of one owner, which are released together. */
#include "support/testing.h"

#include "base/allocs.h"

#include <string.h>

enum { KIB = 1024 };

static void all_are_released_together(void **state)
{
    (void)state;
    struct og_budget *b = og__budget_new(0);
    struct og_allocs a = og__allocs(b, "tables");
    const uint32_t *zeros = og__allocs_take(&a, 3 * KIB, NULL);
    assert_non_null(og__allocs_take(&a, 0, NULL));
    assert_non_null(og__allocs_take(&a, 5 * KIB, NULL));
    assert_int_equal(og__allocs_taken(&a), 0);
    assert_int_equal(zeros[KIB / 2], 0);
    assert_int_equal(og__budget_used(b), 8 * KIB);
    for (int twice = 0; twice < 2; twice++)
        og__allocs_release(&a);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

/* What fits after the failure is not taken either, and the first message stays. */
static void one_failure_is_that_of_all(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(8 * KIB);
    struct og_allocs a = og__allocs(b, "tables");
    assert_non_null(og__allocs_take(&a, 3 * KIB, &err));
    assert_null(og__allocs_take(&a, 6 * KIB, &err));
    assert_non_null(strstr(err.message, "tables"));
    assert_null(og__allocs_take(&a, 1 * KIB, NULL));
    assert_int_equal(og__allocs_taken(&a), -ENOMEM);
    assert_int_equal(og__budget_used(b), 0);
    assert_non_null(og__allocs_take(&a, 6 * KIB, &err));
    assert_int_equal(og__allocs_taken(&a), 0);
    og__allocs_release(&a);
    og__budget_free(b);
}

static void taken_for_more_items_only(void **state)
{
    (void)state;
    struct og_budget *b = og__budget_new(0);
    struct og_allocs a = og__allocs(b, "tables");
    assert_false(og__allocs_fit(&a, 0));
    for (uint64_t n = 100; n < 300; n += 100) {
        assert_false(og__allocs_fit(&a, n));
        assert_int_equal(og__budget_used(b), 0);
        assert_non_null(og__allocs_take(&a, n, NULL));
        assert_int_equal(og__allocs_taken(&a), 0);
        assert_true(og__allocs_fit(&a, n));
        assert_true(og__allocs_fit(&a, 1));
    }
    og__allocs_release(&a);
    assert_false(og__allocs_fit(&a, 1));
    og__budget_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_released_together),
        cmocka_unit_test(one_failure_is_that_of_all),
        cmocka_unit_test(taken_for_more_items_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
