/* Tables by id against a plain array: what was put is found, what was removed is not. */
#include "support/testing.h"

#include "base/id_table.h"
#include "base/random.h"

#include <stdlib.h>

enum { IDS = 300, SLOTS = 40, STEPS = 3000, NOWHERE = -1 };

/* Ids that crowd the same homes as well as those far apart. */
static uint32_t id_of(uint32_t i)
{
    return i % 2 ? i : UINT32_MAX - 1 - i * 64;
}

static void ids_keep_the_place_they_got_first(void **state)
{
    struct og_id_table t;
    (void)state;
    assert_int_equal(og__id_table_open(&t, og__id_table_size(IDS), sizeof(struct og_id_place), NULL,
                                       "test", NULL),
                     0);
    assert_true(og__id_table_room(&t) >= IDS);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < IDS; i++)
            assert_int_equal(og__id_place(&t, id_of(i), i + round * IDS), i);
    og__id_table_clear(&t, sizeof(struct og_id_place));
    assert_int_equal(og__id_place(&t, id_of(7), 99), 99);
    og__id_table_close(&t, sizeof(struct og_id_place), NULL, "test");
}

static void a_table_that_grows_keeps_its_entries(void **state)
{
    struct wide {
        uint32_t id;
        double x, y;
    };
    struct og_id_table t;
    (void)state;
    assert_int_equal(og__id_table_open(&t, 64, sizeof(struct wide), NULL, "test", NULL), 0);
    for (uint32_t i = 0; i < IDS; i++) {
        struct wide *e = og__id_find(&t, sizeof(*e), NULL, id_of(i));
        assert_int_equal(e->id, OG__NO_ID);
        *e = (struct wide){id_of(i), i, -(double)i};
        if (i + 1 > og__id_table_room(&t))
            assert_int_equal(og__id_table_grow(&t, sizeof(*e), NULL, "test", NULL), 0);
    }
    assert_true(og__id_table_room(&t) >= IDS);
    for (uint32_t i = 0; i < IDS; i++) {
        const struct wide *e = og__id_find(&t, sizeof(*e), NULL, id_of(i));
        assert_true(e->id == id_of(i) && e->x == i && e->y == -(double)i);
    }
    og__id_table_close(&t, sizeof(struct wide), NULL, "test");
}

/* Slots by what they hold, as a cache that evicts has them. */
static void a_gap_hides_nothing_behind_it(void **state)
{
    uint32_t held[SLOTS];
    int where[IDS];
    struct og_id_table t;
    struct og_rng rng;
    (void)state;
    og__rng_at(&rng, 1, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__id_table_open(&t, og__id_table_size(SLOTS), 4, NULL, "test", NULL), 0);
    for (uint32_t i = 0; i < SLOTS; i++)
        held[i] = OG__NO_ID;
    for (uint32_t i = 0; i < IDS; i++)
        where[i] = NOWHERE;
    for (int step = 0; step < STEPS; step++) {
        const uint32_t slot = og__rng_below(&rng, SLOTS), in = og__rng_below(&rng, IDS);
        for (uint32_t i = 0; i < IDS; i++) {
            const uint32_t found = *(uint32_t *)og__id_find(&t, 4, held, id_of(i));
            assert_true(found == (where[i] == NOWHERE ? OG__NO_ID : (uint32_t)where[i]));
        }
        for (uint32_t i = 0; i < IDS; i++) {
            if (where[i] != (int)slot)
                continue;
            og__id_remove(&t, 4, held, id_of(i));
            where[i] = NOWHERE;
        }
        held[slot] = OG__NO_ID;
        if (where[in] != NOWHERE)
            continue;
        held[slot] = id_of(in);
        where[in] = (int)slot;
        *(uint32_t *)og__id_find(&t, 4, held, id_of(in)) = slot;
    }
    og__id_table_close(&t, 4, NULL, "test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_keep_the_place_they_got_first),
        cmocka_unit_test(a_table_that_grows_keeps_its_entries),
        cmocka_unit_test(a_gap_hides_nothing_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
