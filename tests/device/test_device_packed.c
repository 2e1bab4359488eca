/* What two caches miss, packed before it is read. Runs are bit-identical to reads from the feature
 * file, with the same rows by tier, and the plan knows what is read back. */
#include "device/device_run.h"

#include "device/virtual.h"

#include <string.h>

static const char *const layouts[] = {"packed", "segmented"};
static void assert_same_rows(const struct result *a, const struct result *b, const char *what)
{
    for (size_t k = 0; k < OG_COUNT(tier_keys); k++)
        if (sum(a, tier_keys[k]) != sum(b, tier_keys[k]))
            fail_msg("%s: %s is %lld, raw %lld", what, tier_keys[k], sum(a, tier_keys[k]),
                     sum(b, tier_keys[k]));
}

struct pair {
    const char *device, *host, *victim, *superbatch;
};

static const char **way_of(const struct pair *p, const char *layout, const char *memory)
{
    static const char *way[15];
    const char *const words[] = {"device-policy", p->device,    "policy",      p->host,  "victim",
                                 p->victim,       "superbatch", p->superbatch, "layout", layout,
                                 "device-memory", memory,       "cache",       "8%",     NULL};
    memcpy(way, words, sizeof(words));
    return way;
}

/* Whatever the caches do, over superbatches that end anywhere. */
static void packs_hold_what_both_caches_miss(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"degree", "degree", "off", "9"},
        {"lru", "degree", "off", "7"},
        {"degree", "lru", "off", "all"},
        {"belady", "belady", "off", "11"},
        {"frequency", "frequency", "off", "13"},
        {"clock", "hybrid:window=4", "off", "5"},
        {"hybrid:window=8,update=2", "none", "pvp:depth=20", "7"},
    };
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        struct result raw = train(way_of(&pairs[i], "raw", memory));
        for (size_t l = 0; l < OG_COUNT(layouts); l++) {
            struct og_virtual v = og__virtual_usual;
            v.pace = (enum og__pace)((i + l) % OG__PACES);
            v.order = (enum og__order)((i + l) % OG__ORDERS);
            og__virtual_become(&v);
            struct result with = train(way_of(&pairs[i], layouts[l], memory));
            og__virtual_become(&og__virtual_usual);
            assert_same_numbers(&with, &without);
            assert_same_rows(&with, &raw, layouts[l]);
            assert_true(sum(&with, "misses") > 0);
            assert_true(sum(&with, "bytes_written") > 0);
            assert_true(sum(&with, "reads") < sum(&raw, "reads"));
            drop(&with);
        }
        drop(&raw);
    }
    drop(&without);
}

/* Before the run by `plan`, and by the run itself, to the last byte. */
static void what_is_read_back_is_told(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"degree", "degree", "off", "all"},
        {"lru", "degree", "off", "all"},
        {"belady", "belady", "off", "all"},
        {"hybrid:window=8,update=2", "none", "pvp:depth=20", "all"},
    };
    static const char *const read[] = {"reads", "bytes_read", "feature_bytes_read", NULL};
    char memory[32];
    memory_for(200, memory);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        for (size_t l = 0; l < OG_COUNT(layouts); l++) {
            const char *const *way = way_of(&pairs[i], layouts[l], memory);
            struct result run = train(way);
            json_t *plan = plan_of(way);
            assert_predicted(&run, plan, layouts[l], read);
            json_decref(plan);
            drop(&run);
        }
}

/* --policy auto compares pairs that all have the layout. */
static void pairs_are_compared_with_the_layout(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(200, memory);
    struct result without = train(plain);
    for (size_t l = 0; l < OG_COUNT(layouts); l++) {
        const char *const way[] = {"policy", "auto",   "device-memory", memory, "cache",
                                   "8%",     "layout", layouts[l],      NULL};
        struct result with = train(way);
        size_t i, n = 0;
        const json_t *plan = json_object_get(with.summary, "plan");
        json_t *c;
        json_array_foreach(json_object_get(plan, "candidates"), i, c)
        {
            assert_string_equal(json_string_value(json_object_get(c, "layout")), layouts[l]);
            n += json_is_true(json_object_get(c, "possible")) &&
                 json_integer_value(json_object_get(c, "bytes_read")) > 0;
        }
        assert_true(n >= 3);
        assert_string_equal(json_string_value(json_object_get(plan, "layout")), layouts[l]);
        assert_same_numbers(&with, &without);
        drop(&with);
    }
    drop(&without);
}

/* Where --disk has no room for what a superbatch misses, that is said before anything is trained.
 */
static void a_disk_too_small_is_refused(void **state)
{
    (void)state;
    char memory[32];
    memory_for(200, memory);
    const char *const way[] = {
        "policy", "lru",    "device-policy", "lru", "device-memory", memory, "cache", "2%",
        "layout", "packed", "superbatch",    "all", "disk",          "200K", NULL};
    struct og_options opt;
    struct og_err err = {0};
    common(&opt, way);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOSPC);
    assert_non_null(strstr(err.hint, "--disk"));
    og__options_release(&opt);
    og__remove_tree(run_path);
}

/* Anywhere; the resumed run has other caches, another layout and superbatches that begin
 * elsewhere. */
static void a_stopped_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    static const struct pair before = {"lru", "belady", "off", "9"};
    static const struct pair after = {"belady", "degree", "off", "7"};
    char memory[32], more[32];
    memory_for(200, memory);
    memory_for(300, more);
    struct result without = train(plain);
    for (int at = 3; at < 40; at += 12) {
        const char *layout = layouts[at / 12 % 2];
        struct test_stopper stopper = {.at = at};
        const struct og_observer seen = {.size = sizeof(seen),
                                         .arg = &stopper,
                                         .progress = test_count_batch,
                                         .stop = &stopper.stop};
        const char *const *way = way_of(&before, layout, memory);
        const char *resumed[20];
        struct og_options opt;
        struct og_err err = {0};
        common(&opt, way);
        assert_int_equal(og_train(dataset, &opt, &seen, NULL, &err), OG_INTERRUPTED);
        og__options_release(&opt);
        memcpy(resumed, way_of(&after, layouts[at / 12 % 2 == 0], more), 14 * sizeof(*resumed));
        resumed[14] = "resume";
        resumed[15] = "true";
        resumed[16] = NULL;
        struct result with = train(resumed);
        assert_same_numbers(&with, &without);
        drop(&with);
    }
    drop(&without);
}

/* Each call fails in turn: the run fails, or is the same. */
static void a_call_that_fails_ends_the_run(void **state)
{
    (void)state;
    char memory[32], path[400], *whole, *some;
    size_t bytes, n;
    memory_for(200, memory);
    const char *const way[] = {"policy", "lru",    "device-policy", "lru",        "device-memory",
                               memory,   "layout", "segmented",     "superbatch", "9",
                               "cache",  "8%",     "epochs",        "1",          NULL};
    struct og_virtual v = og__virtual_usual;
    struct og_options opt;
    og__virtual_become(&v);
    common(&opt, way);
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    assert_int_equal(og__read_text(path, 1 << 24, &whole, &bytes, NULL), 0);
    og__remove_tree(run_path);
    const uint64_t calls = og__virtual_calls();
    for (v.fail = calls / 9; v.fail < calls; v.fail += calls / 9) {
        struct og_err err = {0};
        og__virtual_become(&v);
        const int rc = og_train(dataset, &opt, NULL, NULL, &err);
        if ((rc < 0) != (err.code < 0) || (rc < 0 && !strstr(err.message, "was to fail")))
            fail_msg("call %llu: %d, '%s'", (unsigned long long)v.fail, rc, err.message);
        if (rc == 0) {
            assert_int_equal(og__read_text(path, 1 << 24, &some, &n, NULL), 0);
            assert_int_equal(n, bytes);
            assert_memory_equal(some, whole, bytes);
            free(some);
        }
        og__remove_tree(run_path);
    }
    free(whole);
    og__virtual_become(&og__virtual_usual);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_hold_what_both_caches_miss),
        cmocka_unit_test(what_is_read_back_is_told),
        cmocka_unit_test(pairs_are_compared_with_the_layout),
        cmocka_unit_test(a_disk_too_small_is_refused),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bits),
        cmocka_unit_test(a_call_that_fails_ends_the_run),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
