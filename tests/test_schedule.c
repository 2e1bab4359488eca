/* The schedule against a plain loop over epochs and batches. */
#include "testing.h"

#include "train/schedule.h"

#include <stdlib.h>

static void items_run_through_epochs_as_a_loop_would(void **state)
{
    (void)state;
    for (int epochs = 0; epochs <= 7; epochs++) {
        for (int every = 0; every <= 4; every++) {
            struct og_schedule s = {.n_seeds = {23, 9, 5},
                                    .batch_size = 5,
                                    .epochs = epochs,
                                    .eval_every = every,
                                    .seed = 3,
                                    .shuffle = true};
            uint64_t item = 0;
            for (int e = 1; e <= epochs; e++) {
                bool evaluates = every && (e % every == 0 || e == epochs);
                assert_int_equal(og__schedule_evaluates(&s, (uint32_t)e), evaluates);
                int n_items = 5 + (evaluates ? 2 : 0);
                for (int i = 0; i < n_items; i++, item++) {
                    struct og_turn t = og__schedule_at(&s, item);
                    assert_int_equal(t.split, i < 5 ? OG__TRAIN : OG__VALID);
                    assert_int_equal(t.epoch, e);
                    assert_int_equal(t.batch, i < 5 ? i : i - 5);
                    uint32_t expect = i == 4 ? 3 : i == 6 ? 4 : 5;
                    assert_int_equal(t.n_seeds, expect);
                    assert_int_equal(t.last_of_epoch, i == n_items - 1);
                }
            }
            assert_int_equal(og__schedule_items(&s), item);
        }
    }
}

static void every_epoch_visits_every_seed_once_in_another_order(void **state)
{
    (void)state;
    struct og_schedule s = {
        .n_seeds = {103, 0, 0}, .batch_size = 10, .epochs = 3, .seed = 3, .shuffle = true};
    uint64_t order[3][103] = {{0}};
    for (uint64_t item = 0; item < og__schedule_items(&s); item++) {
        struct og_turn t = og__schedule_at(&s, item);
        og__schedule_places(&s, &t, &order[t.epoch - 1][t.first]);
    }
    for (int e = 0; e < 3; e++) {
        char seen[103] = {0};
        for (int i = 0; i < 103; i++)
            assert_int_equal(seen[order[e][i]]++, 0);
        if (e > 0)
            assert_true(memcmp(order[e], order[0], sizeof(order[0])) != 0);
    }
    s.shuffle = false;
    uint64_t place[10];
    struct og_turn t = og__schedule_at(&s, 1);
    og__schedule_places(&s, &t, place);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(place[i], 10 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_run_through_epochs_as_a_loop_would),
        cmocka_unit_test(every_epoch_visits_every_seed_once_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
