/* --alternate with a cache on a device: what samples has the memory of the host's slots, all of it,
 * and rows enter both caches when these are there again. */
#include "device_run.h"

#include "device/virtual.h"

#include <string.h>

struct pair {
    const char *device, *host, *victim, *superbatch, *layout;
};

static const struct pair pairs[] = {
    {"degree", "degree", "off", "9", "raw"},
    {"lru", "degree", "off", "7", "packed"},
    {"degree", "lru", "off", "5", "raw"},
    {"clock", "sieve", "off", "5", "raw"},
    {"s3fifo", "rr", "off", "6", "segmented"},
    {"belady", "belady", "off", "11", "packed"},
    {"lru", "belady", "off", "5", "raw"},
    {"belady", "lru", "off", "9", "raw"},
    {"frequency", "frequency", "off", "13", "packed"},
    {"hybrid:window=8,update=2", "none", "pvp:depth=20", "7", "raw"},
    {"hybrid:window=8,update=2", "hybrid:window=4", "pvp:depth=3", "7", "raw"},
};

enum { WORDS = 24 };

static const char **way_of(const struct pair *p, const char *memory)
{
    static const char *way[WORDS];
    const char *const words[] = {
        "device-policy", p->device, "policy",  p->host,         "victim", p->victim,   "superbatch",
        p->superbatch,   "layout",  p->layout, "device-memory", memory,   "alternate", "true",
        "cache",         "8%",      NULL};
    memcpy(way, words, sizeof(words));
    return way;
}

static bool in_turns(const struct result *r)
{
    return json_is_true(json_object_get(json_object_get(r->summary, "plan"), "alternates"));
}

static long long of_epoch(const struct result *r, size_t e, const char *key)
{
    return json_integer_value(json_object_get(epoch_of(r, e), key));
}

static void become(size_t i)
{
    struct og_virtual v = og__virtual_usual;
    v.pace = (enum og__pace)(i % OG__PACES);
    v.order = (enum og__order)(i % OG__ORDERS);
    v.seed = i;
    og__virtual_become(&v);
}

/* The same bytes as without a cache there; rows by tier as `simulate` counts them, and as the same
 * run has them that takes no turns. */
static void turns_change_neither_numbers_nor_rows(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        const struct pair *p = &pairs[i];
        const char **way = way_of(p, memory);
        const struct og_tiers_asked asked = {.policies = p->device, .victim = p->victim};
        const char *const simulated[] = {"superbatch", p->superbatch, NULL};
        become(i);
        struct result turns = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_true(in_turns(&turns));
        assert_same_numbers(&turns, &without);
        assert_as_told(&turns, simulated, p->host, "8%", &asked);
        assert_true(sum(&turns, "device_hits") > 0 && sum(&turns, "misses") > 0);
        drop(&turns);
    }
    drop(&without);
}

/* By `plan` and by the run itself. */
static void what_turns_read_is_told(void **state)
{
    (void)state;
    static const char *const read[] = {"feature_bytes_read", NULL};
    char memory[32];
    memory_for(200, memory);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        struct pair p = pairs[i];
        p.superbatch = "all";
        const char **way = way_of(&p, memory);
        struct result run = train(way);
        json_t *plan = plan_of(way);
        assert_predicted(&run, plan, p.layout, read);
        /* what was spilled is told in whole bytes a batch */
        enum { BATCHES = 20 };
        const json_int_t bytes = of_epoch(&run, 0, "bytes_read");
        const json_int_t told_bytes =
            json_integer_value(json_object_get(json_object_get(plan, "predicted"), "bytes_read"));
        assert_true(llabs(bytes - told_bytes) < BATCHES);
        json_decref(plan);
        drop(&run);
    }
}

/* So much more than the least --memory. */
static void tight(const char **way, long more, char out[32])
{
    json_t *plan = plan_of(way);
    const json_t *least = json_object_get(json_object_get(plan, "memory"), "smallest");
    snprintf(out, 32, "%lld", (long long)json_integer_value(least) + more);
    json_decref(plan);
    int n = 0;
    while (way[n])
        n++;
    way[n] = "memory";
    way[n + 1] = out;
    way[n + 2] = NULL;
}

/* Where memory is short the host's slots lose their rows while the next batches are sampled, and
 * no policy believes in them; those of a static one are filled again. */
static void slots_that_were_lent_are_filled_again(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        char little[32];
        struct pair p = pairs[i];
        p.superbatch = "3";
        const char **way = way_of(&p, memory);
        way[14] = NULL; /* as much cache as there is room */
        tight(way, 256 << 10, little);
        become(i);
        struct result r = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_same_numbers(&r, &without);
        if (i == 0)
            assert_true(of_epoch(&r, 1, "prefill") > 0);
        assert_int_equal(sum(&r, "device_hits") + sum(&r, "host_hits") + sum(&r, "victim_hits") +
                             sum(&r, "misses"),
                         sum(&r, "rows"));
        drop(&r);
    }
    drop(&without);
}

/* Presets that take turns, and --policy auto. */
static void presets_and_auto_take_turns(void **state)
{
    (void)state;
    static const char *const ways[][2] = {
        {"preset", "ginex"}, {"preset", "diskgnn"}, {"policy", "auto"}};
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        const char *const way[] = {ways[i][0], ways[i][1],  "device-memory",
                                   memory,     "alternate", "true",
                                   "cache",    "8%",        NULL};
        struct result r = train(way);
        assert_true(in_turns(&r));
        assert_true(sum(&r, "device_hits") > 0);
        assert_same_numbers(&r, &without);
        drop(&r);
    }
    drop(&without);
}

/* Anywhere; what goes on takes no turns, or other ones. */
static void a_stopped_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (int at = 5; at < 40; at += 16) {
        struct test_stopper stopper = {.at = at};
        const struct og_observer seen = {
            .arg = &stopper, .progress = test_count_batch, .stop = &stopper.stop};
        const char *const *way = way_of(&pairs[at % 3], memory);
        const char *const resumed[] = {"device-policy",
                                       "lru",
                                       "policy",
                                       "degree",
                                       "device-memory",
                                       memory,
                                       "alternate",
                                       at > 10 ? "true" : "false",
                                       "cache",
                                       "8%",
                                       "resume",
                                       "true",
                                       NULL};
        struct og_options opt;
        struct og_err err = {0};
        common(&opt, way);
        assert_int_equal(og_train(dataset, &opt, &seen, NULL, &err), OG_INTERRUPTED);
        og_options_release(&opt);
        struct result with = train(resumed);
        assert_same_numbers(&with, &without);
        drop(&with);
    }
    drop(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_change_neither_numbers_nor_rows),
        cmocka_unit_test(what_turns_read_is_told),
        cmocka_unit_test(slots_that_were_lent_are_filled_again),
        cmocka_unit_test(presets_and_auto_take_turns),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
