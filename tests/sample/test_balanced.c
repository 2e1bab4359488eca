/* Seeds drawn with replacement, each class equally often, against the definition. */
#include "support/testing.h"

#include "base/random.h"
#include "sample/seeds.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000, CLASSES = 7, EPOCH = 40000 };

/* Class 0 has most, class 3 none, class 6 one member; some have no class. */
static int32_t label_of(uint32_t i)
{
    if (i == 777)
        return 6;
    if (i % 50 == 9)
        return -1;
    return i % 10 < 7 ? 0 : (int32_t[]){1, 2, 4, 5}[i % 4];
}

static struct og_balanced open_balanced(int32_t labels[N], uint64_t seed)
{
    struct og_balanced b;
    for (uint32_t i = 0; i < N; i++)
        labels[i] = label_of(i);
    assert_int_equal(og__balanced_open(&b, labels, N, CLASSES, seed, NULL, NULL), 0);
    return b;
}

/* Place i has the class and the member that its own random words say. */
static void places_are_as_defined(void **state)
{
    (void)state;
    int32_t labels[N];
    struct og_balanced b = open_balanced(labels, 42);
    const int32_t classes[] = {0, 1, 2, 4, 5, 6};
    uint64_t place[64];
    for (uint32_t epoch = 1; epoch < 4; epoch++)
        for (uint64_t first = 0; first < 640; first += 64) {
            og__balanced_places(&b, epoch, first, 64, place);
            for (uint32_t k = 0; k < 64; k++) {
                uint32_t word[4], members[N], n = 0;
                og__philox(42, (enum og__stream)25, epoch, 0, 0, (uint32_t)first + k, 0, word);
                const int32_t c = classes[(uint64_t)word[0] * 6 >> 32];
                for (uint32_t i = 0; i < N; i++)
                    if (labels[i] == c)
                        members[n++] = i;
                assert_int_equal(place[k], members[(uint64_t)word[1] * n >> 32]);
            }
        }
    og__balanced_close(&b);
}

/* However an epoch is cut into batches. */
static void a_place_depends_on_its_number_alone(void **state)
{
    (void)state;
    int32_t labels[N];
    struct og_balanced b = open_balanced(labels, 7);
    uint64_t whole[300], part[300];
    og__balanced_places(&b, 5, 0, 300, whole);
    for (uint32_t size = 1; size <= 300; size += 23)
        for (uint32_t first = 0, n; first < 300; first += n) {
            n = OG_MIN(300 - first, size);
            og__balanced_places(&b, 5, first, n, part + first);
            assert_memory_equal(part + first, whole + first, n * sizeof(*part));
        }
    og__balanced_places(&b, 6, 0, 300, part);
    assert_memory_not_equal(part, whole, sizeof(whole));
    og__balanced_places(&b, 5, (uint64_t)1 << 32, 300, part); /* far beyond 32 bits */
    assert_memory_not_equal(part, whole, sizeof(whole));
    og__balanced_close(&b);
}

/* Chi squared of classes, and of the members of one. */
static void classes_and_members_come_equally_often(void **state)
{
    (void)state;
    int32_t labels[N];
    struct og_balanced b = open_balanced(labels, 3);
    uint64_t *place = malloc(EPOCH * sizeof(*place));
    double of_class[CLASSES] = {0}, of_member[N] = {0}, chi = 0, chi_members = 0, n = 0;
    og__balanced_places(&b, 1, 0, EPOCH, place);
    for (int i = 0; i < EPOCH; i++) {
        assert_true(labels[place[i]] >= 0);
        of_class[labels[place[i]]]++;
        of_member[place[i]]++;
    }
    for (int c = 0; c < CLASSES; c++)
        if (c != 3)
            chi += (of_class[c] - EPOCH / 6.0) * (of_class[c] - EPOCH / 6.0) / (EPOCH / 6.0);
    assert_true(of_class[3] == 0);
    assert_true(chi < 25); /* of 5 degrees of freedom: one in 7000 is larger */
    for (uint32_t i = 0; i < N; i++)
        n += labels[i] == 0;
    for (uint32_t i = 0; i < N; i++)
        if (labels[i] == 0) {
            const double each = of_class[0] / n;
            chi_members += (of_member[i] - each) * (of_member[i] - each) / each;
        }
    assert_true(chi_members < n + 5 * 1.42 * 27); /* mean n, deviation sqrt(2 n), 27^2 > n */
    free(place);
    og__balanced_close(&b);
}

/* A seed that a batch draws several times is one node of it. All of its positions are known. */
static void a_batch_has_each_node_once(void **state)
{
    (void)state;
    int32_t labels[N];
    uint32_t ids[N];
    struct og_balanced b = open_balanced(labels, 9);
    struct og_schedule schedule = {
        .n_seeds = {N, 0, 0}, .batch_size = 200, .epochs = 2, .seed = 9, .shuffle = true};
    struct og_seed_source source = {
        .schedule = &schedule, .split = {ids}, .repeats = true, .balanced = &b};
    struct og_seeds s;
    for (uint32_t i = 0; i < N; i++)
        ids[i] = 5 * i + 2;
    assert_int_equal(og__seeds_open(&s, &source, NULL, NULL), 0);
    for (uint64_t item = 0; item < og__schedule_items(&schedule); item++) {
        const struct og_descriptor d = og__schedule_at(&schedule, item);
        uint32_t places = 0;
        og__seeds_take(&s, &source, &d);
        assert_true(s.n < d.n_seeds && s.repeating == s.n); /* class 6 is one node */
        for (uint32_t i = 0; i < s.n; i++) {
            for (uint32_t j = 0; j < i; j++)
                assert_int_not_equal(s.node[i], s.node[j]);
            for (uint32_t v = s.first[i]; v != OG__NO_ID; v = s.next[v], places++)
                assert_int_equal(ids[s.place[v]], s.node[i]);
        }
        assert_int_equal(places, d.n_seeds);
    }
    og__seeds_close(&s);
    og__balanced_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_as_defined),
        cmocka_unit_test(a_place_depends_on_its_number_alone),
        cmocka_unit_test(classes_and_members_come_equally_often),
        cmocka_unit_test(a_batch_has_each_node_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
