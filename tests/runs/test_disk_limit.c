/* --disk: `plan` refuses what `train` refuses, byte for byte, and says what would do. Defaults are
 * never refused, and no run ends because a later superbatch takes more than its first. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/files.h"
#include "support/small_graph.h"
#include "support/testing.h"

#include "base/base.h"
#include "support/folder.h"

#include <inttypes.h>
#include <jansson.h>
#include <outgrow/outgrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIRS = 20 };
typedef const char *const pairs_t[PAIRS]; /* option, value, ..., NULL */

static char root[TEST_PATH];
static const char *const base[] = {"fanout",  "5,4", "batch", "32",   "hidden", "8",
                                   "epochs",  "2",   "lr",    "0.01", "memory", "96M",
                                   "threads", "2",   "cache", "5%",   NULL};

static int set_up(void **state)
{
    (void)state;
    struct og_generate g;
    assert_non_null(test_folder(root, "disk"));
    assert_int_equal(chdir(root), 0);
    setenv("XDG_CACHE_HOME", root, 1);
    small_graph_init(&g);
    return og_generate("graph", &g, NULL, NULL);
}

static int tear_down(void **state)
{
    char line[64];
    (void)state;
    assert_int_equal(chdir("/"), 0);
    snprintf(line, sizeof(line), "rm -r %s", root);
    return system(line);
}

static void set_options(struct og_options *opt, pairs_t pairs, uint64_t disk)
{
    const char *const *const lists[] = {base, pairs};
    char text[32];
    og__options_init(opt);
    for (size_t l = 0; l < 2; l++)
        for (const char *const *p = lists[l]; *p; p += 2)
            assert_int_equal(og_options_set(opt, p[0], p[1], NULL), 0);
    snprintf(text, sizeof(text), "%" PRIu64, disk);
    assert_int_equal(og_options_set(opt, "disk", text, NULL), 0);
    assert_int_equal(og_options_set(opt, "run", "run", NULL), 0);
}

static int plan(pairs_t pairs, uint64_t disk, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL;
    *err = (struct og_err){0};
    set_options(&opt, pairs, disk);
    int rc = og_plan("graph", &opt, NULL, &text, err);
    og__options_release(&opt);
    free(text);
    return rc;
}

struct seen {
    int epochs;
    bool shortened;
};

static void note_epoch(void *arg, const char *json)
{
    (void)json;
    ((struct seen *)arg)->epochs++;
}

static void note_message(void *arg, int level, const char *text)
{
    (void)level;
    ((struct seen *)arg)->shortened |= strstr(text, "the others read the feature file") != NULL;
}

/* The summary, or NULL with err filled. */
static json_t *train(pairs_t pairs, uint64_t disk, struct seen *seen, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL;
    *seen = (struct seen){0};
    *err = (struct og_err){0};
    const struct og_observer observer = {
        .size = sizeof(observer), .arg = seen, .epoch = note_epoch, .message = note_message};
    set_options(&opt, pairs, disk);
    int rc = og_train("graph", &opt, &observer, &text, err);
    og__options_release(&opt);
    test_shell("rm -rf run");
    json_t *summary = rc == 0 ? json_loads(text, 0, NULL) : NULL;
    assert_true(rc == 0 ? summary != NULL : rc == -ENOSPC);
    free(text);
    return summary;
}

static const json_t *epochs_of(const json_t *summary)
{
    return json_object_get(summary, "epochs");
}

static void assert_same_numbers(const json_t *a, const json_t *b)
{
    assert_int_equal(json_array_size(epochs_of(a)), json_array_size(epochs_of(b)));
    for (size_t i = 0; i < json_array_size(epochs_of(a)); i++)
        assert_true(json_equal(json_object_get(json_array_get(epochs_of(a), i), "loss"),
                               json_object_get(json_array_get(epochs_of(b), i), "loss")));
    assert_true(json_equal(json_object_get(a, "test_acc"), json_object_get(b, "test_acc")));
}

enum { PLENTY = 1 << 30 };

/* The smallest --disk that plan takes. */
static uint64_t least_planned(pairs_t pairs)
{
    struct og_err err;
    uint64_t no = 0; /* refused, or not tried */
    uint64_t yes = PLENTY;
    assert_int_equal(plan(pairs, yes, &err), 0);
    while (yes - no > 1) {
        uint64_t middle = no + (yes - no) / 2;
        int rc = plan(pairs, middle, &err);
        assert_true(rc == 0 || rc == -ENOSPC);
        if (rc == 0)
            yes = middle;
        else
            no = middle;
    }
    return yes;
}

static uint64_t hinted(const struct og_err *err)
{
    static const char option[] = "--disk ";
    const char *at = strstr(err->hint, option);
    char *unit = NULL;
    uint64_t n = at ? strtoull(at + strlen(option), &unit, 10) : 0;
    if (n == 0 || (*unit != 'K' && *unit != 'M'))
        fail_msg("%s (%s)", err->message, err->hint);
    return n << (*unit == 'K' ? 10 : 20);
}

static const pairs_t fixed[] = {
    {"policy", "degree", "layout", "packed", "superbatch", "all"},
    {"policy", "degree", "layout", "packed", "resample-every", "2", "epochs", "4"},
    {"policy", "none", "layout", "packed", "superbatch", "all", "alternate", "true"},
    {"policy", "frequency", "layout", "packed", "resample-every", "2", "epochs", "4"},
    {"policy", "pagerank", "layout", "packed", "superbatch", "9", "alternate", "true", "model",
     "gcn"},
    {"policy", "belady", "layout", "packed", "superbatch", "11", "alternate", "true"},
    {"policy", "degree", "layout", "packed", "superbatch", "all", "alternate", "true", "sampler",
     "walk"},
    {"policy", "degree", "layout", "segmented", "superbatch", "all"},
    {"policy", "belady", "layout", "segmented", "superbatch", "all", "alternate", "true"},
};

static void plan_and_train_agree(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(fixed); k++) {
        struct og_err err;
        struct seen seen;
        const uint64_t least = least_planned(fixed[k]);
        assert_true(least > 4096);
        assert_int_equal(plan(fixed[k], least - 1, &err), -ENOSPC);
        const uint64_t told = hinted(&err);
        if (told < least || told >= least + 1024)
            fail_msg("way %zu: %" PRIu64 " would do, told %" PRIu64, k, least, told);
        json_t *enough = train(fixed[k], least, &seen, &err);
        if (!enough)
            fail_msg("way %zu: plan takes %" PRIu64 ", train: %s", k, least, err.message);
        json_t *plenty = train(fixed[k], PLENTY, &seen, &err);
        assert_non_null(plenty);
        assert_false(seen.shortened);
        assert_same_numbers(enough, plenty);
        json_decref(enough);
        json_decref(plenty);
        if (train(fixed[k], least - 1, &seen, &err))
            fail_msg("way %zu: plan refuses %" PRIu64 ", train does not", k, least - 1);
        assert_int_equal(seen.epochs, 0);
        assert_int_equal(hinted(&err), told);
    }
}

/* Nothing is packed: spilled bytes count alone, a little more where others follow. */
static void what_is_spilled_is_predicted(void **state)
{
    (void)state;
    static const pairs_t ways[] = {
        {"policy", "frequency", "resample-every", "2", "alternate", "true"},
        {"policy", "frequency", "resample-every", "2", "alternate", "true", "epochs", "8"},
        {"policy", "belady", "superbatch", "all", "alternate", "true", "epochs", "1", "model",
         "gcn"},
        {"policy", "sweep", "superbatch", "all", "alternate", "true", "epochs", "1"},
    };
    for (size_t k = 0; k < OG_COUNT(ways); k++) {
        struct og_err err;
        struct seen seen;
        const uint64_t least = least_planned(ways[k]);
        assert_int_equal(plan(ways[k], least - 1, &err), -ENOSPC);
        const uint64_t told = hinted(&err);
        assert_true(told >= least && told < least + 1024);
        json_t *enough = train(ways[k], least, &seen, &err);
        if (!enough)
            fail_msg("way %zu: plan takes %" PRIu64 ", train: %s", k, least, err.message);
        json_decref(enough);
        assert_null(train(ways[k], least - 1, &seen, &err));
        assert_int_equal(seen.epochs, 0);
    }
}

/* A later superbatch packs what there is room for. */
static void a_run_that_began_goes_on(void **state)
{
    (void)state;
    static const pairs_t way = {"policy", "frequency",  "layout", "packed", "resample-every",
                                "1",      "superbatch", "all",    "epochs", "8"};
    struct og_err err;
    struct seen seen;
    json_t *plenty = train(way, PLENTY, &seen, &err);
    json_t *enough = train(way, least_planned(way), &seen, &err);
    assert_non_null(enough);
    assert_true(seen.shortened);
    assert_int_equal(seen.epochs, 8);
    assert_same_numbers(enough, plenty);
    json_decref(enough);
    json_decref(plenty);
}

/* Whatever the limit: where one way does not fit there is another. */
static void what_is_left_open_is_never_refused(void **state)
{
    (void)state;
    static const pairs_t ways[] = {
        {"resample-every", "4", "epochs", "4"},
        {"resample-every", "2", "epochs", "4", "cache", "1%"},
        {"epochs", "2", "cache", "1%"},
    };
    static const uint64_t limits[] = {0, 1 << 15, 1 << 18, 1 << 19, 800000, 1 << 20, 2u << 20};
    for (size_t k = 0; k < OG_COUNT(ways); k++) {
        struct og_err err;
        struct seen seen;
        json_t *plenty = train(ways[k], PLENTY, &seen, &err);
        for (size_t i = 0; i < OG_COUNT(limits); i++) {
            if (plan(ways[k], limits[i], &err) < 0)
                fail_msg("way %zu, %" PRIu64 ": %s", k, limits[i], err.message);
            json_t *here = train(ways[k], limits[i], &seen, &err);
            if (!here)
                fail_msg("way %zu, %" PRIu64 ": %s", k, limits[i], err.message);
            assert_same_numbers(here, plenty);
            json_decref(here);
        }
        json_decref(plenty);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_and_train_agree),
        cmocka_unit_test(what_is_spilled_is_predicted),
        cmocka_unit_test(a_run_that_began_goes_on),
        cmocka_unit_test(what_is_left_open_is_never_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
