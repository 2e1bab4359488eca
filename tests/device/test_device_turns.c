/* --phased-memory with a cache on a device: sampling has all memory of the host's slots. Rows enter
 * both caches when these are there again. */
#include "device/device_run.h"

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

enum { WORDS = 32 };

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

static void append(const char **way, const char *name, const char *value)
{
    int n = 0;
    while (way[n])
        n++;
    assert_true(n + 3 <= WORDS);
    way[n] = name;
    way[n + 1] = value;
    way[n + 2] = NULL;
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

/* Bit-identical to a run without a cache there. Rows by tier as `simulate` counts them, and as in
 * the same run without phased memory. */
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
        const struct og_tiers_asked requested = {
            .size = sizeof(requested), .policies = p->device, .victim = p->victim};
        const char *const simulated[] = {"superbatch", p->superbatch, NULL};
        become(i);
        struct result turns = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_true(in_turns(&turns));
        assert_same_numbers(&turns, &without);
        assert_as_told(&turns, simulated, p->host, "8%", &requested);
        assert_true(sum(&turns, "device_hits") > 0 && sum(&turns, "misses") > 0);
        drop(&turns);
    }
    drop(&without);
}

/* By `plan` and by the run itself. */
static void what_turns_read_is_told(void **state)
{
    (void)state;
    static const char *const read[] = {"reads", "bytes_read", "feature_bytes_read",
                                       "trace_bytes_read", NULL};
    char memory[32];
    memory_for(200, memory);
    for (size_t i = 0; i < OG_COUNT(pairs); i += test_ways_step()) {
        struct pair p = pairs[i];
        p.superbatch = "all";
        const char **way = way_of(&p, memory);
        struct result run = train(way);
        json_t *plan = plan_of(way);
        assert_predicted(&run, plan, p.layout, read);
        assert_true(of_epoch(&run, 0, "trace_bytes_read") > 0);
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
    append(way, "memory", out);
}

/* All rows of the host's slots are released, and `simulate` counts the same. `by` is the option, or
 * a preset that sets it. */
static void assert_told_as_lent(const struct result *r, const struct pair *p,
                                const char **simulated, const char *by)
{
    const struct og_tiers_asked requested = {
        .size = sizeof(requested), .policies = p->device, .victim = p->victim};
    const json_t *plan = json_object_get(r->summary, "plan");
    const json_int_t rows = json_integer_value(json_object_get(plan, "cache_rows"));
    char cache[32];
    snprintf(cache, sizeof(cache), "%lld", (long long)rows * ROW_BYTES);
    append(simulated, "superbatch", p->superbatch);
    append(simulated, by, strcmp(by, "alternate") == 0 ? "true" : "ginex");
    assert_true(rows > 0 || strcmp(p->host, "none") == 0);
    assert_int_equal(json_integer_value(json_object_get(plan, "lent_rows")), rows);
    assert_as_told(r, simulated, p->host, cache, &requested);
}

/* Where memory is short, the host's slots lose their rows while the next batches are sampled. No
 * policy relies on them then; those of a static one are filled again. */
static void slots_that_were_lent_are_filled_again(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i += test_ways_step_of(3)) {
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
        const char *simulated[WORDS] = {NULL};
        assert_told_as_lent(&r, &p, simulated, i % 2 == 0 ? "alternate" : "preset");
        drop(&r);
    }
    drop(&without);
}

/* Who trains, of mini-batches of four a step. */
struct hands {
    const char *device, *name, *value, *staleness;
};

static const struct hands hands[] = {
    {"virtual:2", NULL, NULL, "0"},        {"virtual:4", NULL, NULL, "1"},
    {"virtual", "trainers", "3", "0"},     {"virtual:2", "trainers", "4", "1"},
    {"virtual", "executors", "1:2", "0"},  {"virtual:2", "executors", "2:1", "1"},
    {"virtual:2", "executors", "1:2", "0"}};

static void append_hands(const char **way, const struct hands *h)
{
    append(way, "device", h->device);
    append(way, "accumulate", "4");
    append(way, "memory", "256M");
    append(way, "staleness", h->staleness);
    if (h->name)
        append(way, h->name, h->value);
}

static struct result train_without(const struct hands *h)
{
    const char *plain[WORDS] = {"policy", "degree", "accumulate", "4", NULL};
    append(plain, "staleness", h->staleness);
    return train(plain);
}

/* Trains with phased memory, on pre-sampled batches unless `samples` is NULL. The run is
 * bit-identical to `without`, with rows by tier as `simulate` counts them. Returns the rows that
 * devices had of one another. */
static long long train_in_turns(const struct hands *h, const struct pair *p, const char *samples,
                                const struct result *without)
{
    const struct og_tiers_asked requested = {
        .size = sizeof(requested), .policies = p->device, .victim = p->victim};
    const char *simulated[WORDS] = {"superbatch", p->superbatch, NULL};
    const char *sizes[WORDS] = {NULL};
    char memory[32];
    append_hands(sizes, h);
    memory_of(sizes, 300, memory);
    const char **way = way_of(p, memory);
    append_hands(way, h);
    append_hands(simulated, h);
    if (samples)
        append(way, "samples", samples);
    struct result turns = train(way);
    assert_true(in_turns(&turns));
    assert_same_numbers(&turns, without);
    assert_as_told(&turns, simulated, p->host, "8%", &requested);
    assert_true(sum(&turns, "device_hits") > 0 && sum(&turns, "misses") > 0);
    const long long peers = sum(&turns, "peer_hits");
    drop(&turns);
    return peers;
}

/* Several devices, and several trainers. */
static void whoever_trains_takes_turns(void **state)
{
    (void)state;
    of_a_virtual_device();
    long long peers = 0;
    for (size_t i = 0; i < OG_COUNT(hands); i++) {
        struct result without = train_without(&hands[i]);
        for (size_t k = i; k < OG_COUNT(pairs); k += 6 * test_ways_step()) {
            become(i + k);
            peers += train_in_turns(&hands[i], &pairs[k], NULL, &without);
            og__virtual_become(&og__virtual_usual);
        }
        drop(&without);
    }
    assert_true(peers > 0);
}

/* And where the slots of the host are released meanwhile. */
static void whoever_trains_lends_slots(void **state)
{
    (void)state;
    of_a_virtual_device();
    for (size_t i = 0; i < OG_COUNT(hands); i += test_ways_step_of(3)) {
        struct result without = train_without(&hands[i]);
        struct pair p = pairs[i % 2 ? i : 0];
        const char *sizes[WORDS] = {NULL};
        char memory[32], little[32];
        p.superbatch = "3";
        append_hands(sizes, &hands[i]);
        memory_of(sizes, 300, memory);
        const char **way = way_of(&p, memory);
        way[14] = NULL; /* as much cache as there is room */
        append_hands(way, &hands[i]);
        tight(way, 256 << 10, little);
        become(i);
        struct result r = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_same_numbers(&r, &without);
        if (i % 2 == 0) /* what stays is filled again */
            assert_true(of_epoch(&r, 1, "prefill") > 0);
        const char *simulated[WORDS] = {NULL};
        append_hands(simulated, &hands[i]);
        assert_told_as_lent(&r, &p, simulated, "alternate");
        drop(&r);
        drop(&without);
    }
}

static void samples_made_beforehand_take_turns(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const sampling[] = {"policy", "degree", NULL};
    char samples[400];
    struct og_options opt;
    snprintf(samples, sizeof(samples), "%s/samples", folder);
    common(&opt, sampling);
    assert_int_equal(og_sample(dataset, samples, false, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    for (size_t i = 0; i < OG_COUNT(hands); i += 3) {
        struct result without = train_without(&hands[i]);
        for (size_t k = i / 3; k < OG_COUNT(pairs); k += 6 * test_ways_step())
            (void)train_in_turns(&hands[i], &pairs[k], samples, &without);
        drop(&without);
    }
}

/* What draws on the device has the structure there; the host's copy takes turns with its rows. */
static void batches_drawn_there_take_turns(void **state)
{
    (void)state;
    static const char *const models[] = {"sage", "gcn"}; /* gcn reads degrees of the host's copy */
    for (size_t i = 0; i < 4; i++) {
        const char *const plain[] = {"policy", "degree", "model", models[i / 2], NULL};
        const char *way[WORDS] = {"policy",     "belady", "model",     models[i / 2],
                                  "superbatch", "3",      "alternate", "true",
                                  "sample-on",  "device", NULL};
        char little[32];
        if (i % 2 == 1)
            append(way, "device-memory", "128M");
        if (i % 2 == 1)
            append(way, "device-policy", "none");
        tight(way, 256 << 10, little);
        struct result without = train(plain);
        become(i);
        struct result r = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_true(in_turns(&r));
        assert_true(json_integer_value(
                        json_object_get(json_object_get(r.summary, "plan"), "lent_rows")) > 0);
        assert_true(sum(&r, "hits") > 0);
        assert_same_numbers(&r, &without);
        drop(&r);
        drop(&without);
    }
}

/* Presets with phased memory, and --policy auto. */
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

/* Anywhere; the resumed run has no phased memory, or other phases. */
static void a_stopped_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (int at = 5; at < 40; at += 16) {
        struct test_stopper stopper = {.at = at};
        const struct og_observer seen = {.size = sizeof(seen),
                                         .arg = &stopper,
                                         .progress = test_count_batch,
                                         .stop = &stopper.stop};
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
        og__options_release(&opt);
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
        cmocka_unit_test(whoever_trains_takes_turns),
        cmocka_unit_test(whoever_trains_lends_slots),
        cmocka_unit_test(samples_made_beforehand_take_turns),
        cmocka_unit_test(batches_drawn_there_take_turns),
        cmocka_unit_test(presets_and_auto_take_turns),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
