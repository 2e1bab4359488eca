/* The schedule against a plain loop over epochs and batches. */
#include "support/testing.h"

#include "sample/schedule.h"

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
                    struct og_descriptor t = og__schedule_at(&s, item);
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

/* Three epochs train on the batches of the first, each batch once, in orders of their own. */
static void epochs_share_batches(void **state)
{
    (void)state;
    enum { BATCHES = 11, EPOCHS = 7 };
    struct og_schedule s = {.n_seeds = {103, 20, 0},
                            .batch_size = 10,
                            .epochs = EPOCHS,
                            .eval_every = 2,
                            .resample_every = 3,
                            .seed = 3,
                            .shuffle = true};
    uint32_t order[EPOCHS][BATCHES] = {{0}};
    for (uint64_t item = 0; item < og__schedule_items(&s); item++) {
        struct og_descriptor t = og__schedule_at(&s, item);
        assert_int_equal(t.drawn_epoch, t.split == OG__TRAIN ? (t.epoch - 1) / 3 * 3 + 1 : t.epoch);
        if (t.split != OG__TRAIN)
            continue;
        uint64_t home = og__schedule_start(&s, t.drawn_epoch) + t.drawn_batch;
        struct og_descriptor own = og__schedule_at(&s, home);
        uint64_t place[10];
        uint64_t same[10];
        og__schedule_places(&s, &t, place);
        og__schedule_places(&s, &own, same);
        assert_int_equal(t.n_seeds, own.n_seeds);
        assert_memory_equal(place, same, t.n_seeds * sizeof(*place));
        order[t.epoch - 1][t.batch] = t.drawn_batch;
    }
    for (int e = 0; e < EPOCHS; e++) {
        unsigned seen = 0;
        for (int b = 0; b < BATCHES; b++)
            seen |= 1u << order[e][b];
        assert_int_equal(seen, (1u << BATCHES) - 1);
        if (e % 3 > 0)
            assert_true(memcmp(order[e], order[e - 1], sizeof(order[e])) != 0);
    }
    s.shuffle = false;
    assert_int_equal(og__schedule_at(&s, og__schedule_start(&s, 2) + 4).drawn_batch, 4);
}

static void every_epoch_visits_every_seed_once_in_another_order(void **state)
{
    (void)state;
    struct og_schedule s = {
        .n_seeds = {103, 0, 0}, .batch_size = 10, .epochs = 3, .seed = 3, .shuffle = true};
    uint64_t order[3][103] = {{0}};
    for (uint64_t item = 0; item < og__schedule_items(&s); item++) {
        struct og_descriptor t = og__schedule_at(&s, item);
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
    struct og_descriptor t = og__schedule_at(&s, 1);
    og__schedule_places(&s, &t, place);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(place[i], 10 + i);
}

/* Each place of every epoch is that of the definition, whatever the chunks and the batches. */
static void chunks_are_as_defined(void **state)
{
    (void)state;
    enum { N = 103, EPOCHS = 5 };
    uint32_t order[N];
    for (uint32_t i = 0; i < N; i++)
        order[i] = i * 31 % N;
    for (uint32_t size = 2; size <= N; size += 1 + size / 3) {
        struct og_schedule s = {.n_seeds = {N, 0, 0},
                                .batch_size = 1 + size * 7 % 29,
                                .epochs = EPOCHS,
                                .seed = size,
                                .shuffle = true,
                                .locality = size,
                                .order = size % 2 ? order : NULL};
        char seen[EPOCHS][N] = {{0}};
        for (uint64_t item = 0; item < og__schedule_items(&s); item++) {
            const struct og_descriptor t = og__schedule_at(&s, item);
            struct og_permutation chunks;
            uint64_t place[32];
            uint32_t word[4];
            og__schedule_places(&s, &t, place);
            og__philox(size, (enum og__stream)24, t.epoch, 0, 0, 0, 0, word);
            og__permutation_init(&chunks, N / size, size, t.epoch);
            for (uint64_t i = 0; i < t.n_seeds; i++) {
                const uint64_t q = t.first + i, offset = ((uint64_t)word[0] << 32 | word[1]) % N;
                const uint64_t chunk =
                    q < N / size * size ? og__permutation_at(&chunks, q / size) : q / size;
                const uint64_t at = (chunk * size + q % size + offset) % N;
                assert_int_equal(place[i], s.order ? order[at] : at);
                assert_int_equal(seen[t.epoch - 1][place[i]]++, 0);
            }
        }
    }
}

/* Chi squared of where a seed comes in an epoch. Chunks, their bounds and the rest are random. */
static void chunks_begin_and_come_anywhere(void **state)
{
    (void)state;
    enum { N = 23, SIZE = 5, EPOCHS = 40000 };
    struct og_schedule s = {.n_seeds = {N, 0, 0},
                            .batch_size = N,
                            .epochs = EPOCHS,
                            .seed = 7,
                            .shuffle = true,
                            .locality = SIZE};
    static uint32_t came[N][N];
    uint64_t place[N];
    for (uint64_t item = 0; item < EPOCHS; item++) {
        const struct og_descriptor t = og__schedule_at(&s, item);
        og__schedule_places(&s, &t, place);
        for (int i = 0; i < N; i++)
            came[place[i]][i]++;
    }
    for (int i = 0; i < N; i++) {
        double of_place = 0;
        for (int v = 0; v < N; v++)
            of_place += (came[v][i] - (double)EPOCHS / N) * (came[v][i] - (double)EPOCHS / N) /
                        ((double)EPOCHS / N);
        assert_true(of_place < 60); /* of 22 degrees of freedom: one in 50 000 is larger */
    }
}

/* Batches are numbered in 32 bits, which randomness is keyed by. */
static void more_batches_than_have_numbers_are_refused(void **state)
{
    (void)state;
    struct og_schedule s = {.n_seeds = {5, (uint64_t)7 << 32, 0}, .batch_size = 7};
    struct og_err err = {0};
    assert_int_equal(og__schedule_check(&s, NULL), 0);
    s.n_seeds[OG__VALID]++;
    assert_int_equal(og__schedule_check(&s, &err), -EOVERFLOW);
    assert_non_null(strstr(err.hint, "--batch"));
}

/* Shares of several ranks, taken in turn, are the whole: by number modulo the ranks. */
static void shares_are_every_so_manieth_batch(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 4; ranks++) {
        const struct og_schedule whole = {.n_seeds = {43, 9, 17},
                                          .batch_size = 4,
                                          .epochs = 5,
                                          .eval_every = 2,
                                          .seed = 3,
                                          .shuffle = true};
        uint64_t next[4] = {0};
        uint64_t tests = 0;
        for (uint64_t item = 0; item < og__schedule_items(&whole); item++) {
            const struct og_descriptor d = og__schedule_at(&whole, item);
            const uint32_t rank = d.batch % ranks;
            for (uint32_t r = 0; r < ranks; r++) {
                struct og_schedule share = whole;
                share.share = (struct og_share){r, ranks};
                assert_int_equal(og__share_item(&share, item), next[r]);
            }
            struct og_schedule own = whole;
            own.share = (struct og_share){rank, ranks};
            const struct og_descriptor e = og__schedule_at(&own, next[rank]++);
            assert_true(e.split == d.split && e.epoch == d.epoch && e.batch == d.batch);
            assert_true(e.first == d.first && e.n_seeds == d.n_seeds);
            assert_int_equal(e.drawn_batch, d.drawn_batch);
            const struct og_descriptor after =
                next[rank] < og__schedule_items(&own) ? og__schedule_at(&own, next[rank]) : e;
            const bool last = after.epoch != e.epoch || next[rank] == og__schedule_items(&own);
            assert_int_equal(e.last_of_epoch, last);
        }
        for (uint32_t r = 0; r < ranks; r++) {
            struct og_schedule share = whole;
            share.share = (struct og_share){r, ranks};
            assert_int_equal(og__schedule_items(&share), next[r]);
            assert_int_equal(og__share_item(&share, og__schedule_items(&whole)), next[r]);
            const struct og_items items = {&share, OG__TEST, 0, 0};
            for (uint64_t i = 0; i < og__schedule_batches(&share, OG__TEST); i++, tests++)
                assert_int_equal(og__item_at(&items, i).batch, r + i * ranks);
        }
        assert_int_equal(tests, og__schedule_batches(&whole, OG__TEST));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_run_through_epochs_as_a_loop_would),
        cmocka_unit_test(epochs_share_batches),
        cmocka_unit_test(every_epoch_visits_every_seed_once_in_another_order),
        cmocka_unit_test(chunks_are_as_defined),
        cmocka_unit_test(chunks_begin_and_come_anywhere),
        cmocka_unit_test(more_batches_than_have_numbers_are_refused),
        cmocka_unit_test(shares_are_every_so_manieth_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
