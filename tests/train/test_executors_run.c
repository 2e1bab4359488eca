/* Executors of a run are bit-identical whoever samples and trains. Also what is reported of them,
 * and how many trainers there are where the program chooses. */
#include "train/steps_fixture.h"

#include "choose/calibration.h"

static const char *const late[] = {"accumulate", "2", "staleness", "1", NULL};

static json_int_t whole(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* As config.yaml would have it: a number of trainers, or a split. */
static const char *executors_of(const json_t *summary)
{
    return json_string_value(json_object_get(json_object_get(summary, "config"), "executors"));
}

/* ---- equal bytes ---- */

static void any_split_makes_the_same(void **state)
{
    (void)state;
    static const char *const sage[] = {"model", "sage", "norm", "batch", NULL};
    static const char *const gat[] = {"model", "gat", "heads", "2", "attention-dropout",
                                      "0.3",   NULL};
    static const char *const link[] = {"task", "link", "batch", "30", "epochs", "1", NULL};
    static const char *const *const kinds[] = {sage, gat, link};
    const char *const *const hows[] = {WORDS("accumulate", "1"), late,
                                       WORDS("accumulate", "4", "staleness", "0"),
                                       WORDS("staleness", "3")};
    static const char *const splits[] = {"1:1", "1:0", "3:0", "2:1", "1:3", "2:2"};
    const char *const *const moves[] = {
        WORDS("policy", "degree", "cache", "10%"),
        WORDS("policy", "lru", "cache", "10%", "threads", "4"),
        WORDS("policy", "belady", "cache", "10%", "superbatch", "3", "threads", "2"),
        WORDS("policy", "sweep", "cache", "20%", "topology", "disk"),
        WORDS("policy", "belady", "cache", "10%", "layout", "packed")};
    size_t turn = 0;
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (size_t i = 0; i < OG_COUNT(hows); i++) {
            train("first", LISTS(kinds[k], hows[i], WORDS("trainers", "1")));
            for (size_t w = 0; w < OG_COUNT(splits); w++) {
                const char *const *move = moves[turn++ % OG_COUNT(moves)];
                train("other", LISTS(kinds[k], hows[i], move, WORDS("executors", splits[w])));
                assert_same_run("first", "other");
                forget("other");
            }
            forget("first");
        }
}

/* Stopped under one split, and going on under another. */
static void a_run_goes_on_with_others(void **state)
{
    (void)state;
    train("whole", LISTS(late));
    for (int at = 2; at < 14; at += 3) {
        struct test_stopper s = {.at = at};
        const struct og_observer seen = {
            .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
        struct og_options opt;
        set_options(&opt, "cut", LISTS(late, WORDS("executors", "2:1")));
        assert_int_equal(og_train(in_folder("graph"), &opt, &seen, NULL, NULL), OG_INTERRUPTED);
        og__options_release(&opt);
        train("cut", LISTS(late, WORDS("executors", at % 2 ? "1:0" : "1:2", "resume", "true")));
        assert_same_run("whole", "cut");
        forget("cut");
    }
    forget("whole");
}

/* ---- reports ---- */

/* 9 mini-batches an epoch, two epochs; and what was predicted. */
static void assert_told(const char *split, int samplers, int trainers, int standby)
{
    train("run", LISTS(late, WORDS("executors", split, "policy", "degree", "cache", "10%")));
    json_t *summary = summary_of("run");
    const json_t *did = json_object_get(summary, "executors");
    const json_t *told = json_object_get(json_object_get(summary, "plan"), "executors");
    const json_t *each = json_object_get(did, "each");
    json_int_t trained = 0;
    json_int_t stood_in = 0;
    json_int_t sampled = 0;
    assert_int_equal(whole(did, "samplers"), samplers);
    assert_int_equal(whole(did, "trainers"), trainers);
    assert_int_equal(json_array_size(each), samplers + trainers);
    for (size_t i = 0; i < json_array_size(each); i++) {
        const json_t *one = json_array_get(each, i);
        const bool samples =
            strcmp(json_string_value(json_object_get(one, "role")), "sampler") == 0;
        assert_true(samples == (i < (size_t)samplers));
        trained += whole(one, "trained");
        stood_in += samples ? whole(one, "trained") : 0;
        sampled += whole(one, "sampled");
        assert_true(samples || whole(one, "sampled") == 0);
    }
    assert_int_equal(trained, 2 * 9);
    assert_true(sampled > 2 * 9); /* and those of validation */
    assert_int_equal(whole(did, "switched"), stood_in);
    assert_true(trainers > 0 || stood_in == 2 * 9);
    assert_int_equal(whole(told, "samplers"), samplers);
    assert_int_equal(whole(told, "trainers"), trainers);
    assert_int_equal(whole(told, "standby"), standby);
    const double sample = json_number_value(json_object_get(told, "sample_seconds_each"));
    const char *const key = trainers > 0 ? "train_seconds_each" : "standby_seconds_each";
    const double train_one = json_number_value(json_object_get(told, key));
    assert_true(sample > 0 && train_one > 0);
    assert_int_equal(whole(told, "samplers_by_rule"),
                     og__executors_samplers(samplers + trainers, sample, train_one));
    assert_true(json_is_number(json_object_get(told, "seconds")));
    json_decref(summary);
    forget("run");
}

static void a_run_tells_who_did_what(void **state)
{
    (void)state;
    assert_told("1:1", 1, 1, 1);
    assert_told("2:0", 2, 0, 2);
    assert_told("1:3", 1, 3, 1);
    assert_told("3:2", 3, 2, 2); /* four at a time: two stand in */
}

/* FGNN's rule says how many threads sample, in its preset, where nothing else does. */
static void the_rule_of_fgnn_is_applied(void **state)
{
    (void)state;
    static const char *const many[] = {"batch", "2",     "epochs", "3", "threads",
                                       "8",     "cache", "10%",    NULL};
    train("half", LISTS(many, WORDS("policy", "presc")));
    train("ruled", LISTS(many, WORDS("preset", "fgnn")));
    train("said", LISTS(many, WORDS("preset", "fgnn", "executors", "3:1")));
    assert_same_run("half", "ruled");
    assert_same_run("half", "said");
    json_t *half = summary_of("half");
    json_t *ruled = summary_of("ruled");
    json_t *said = summary_of("said");
    const json_t *plan = json_object_get(ruled, "plan");
    const json_t *rule = json_object_get(plan, "samplers_rule");
    const double sample = json_number_value(json_object_get(rule, "sample_seconds"));
    const double train_one = json_number_value(json_object_get(rule, "train_seconds"));
    assert_true(sample > 0 && train_one > 0);
    assert_int_equal(whole(plan, "samplers"), og__executors_samplers(8, sample, train_one));
    assert_int_equal(whole(json_object_get(half, "plan"), "samplers"), 4);
    assert_int_equal(whole(json_object_get(said, "plan"), "samplers"), 3);
    assert_true(json_is_null(json_object_get(json_object_get(half, "plan"), "samplers_rule")) &&
                json_is_null(json_object_get(json_object_get(said, "plan"), "samplers_rule")));
    json_decref(half);
    json_decref(ruled);
    json_decref(said);
    forget("half");
    forget("ruled");
    forget("said");
}

static void who_trains_follows_from_the_options(void **state)
{
    (void)state;
    static const struct {
        int accumulate, staleness, threads;
        struct og_executor_split split;
        struct og_trainers_setup is;
    } cases[] = {
        {1, 0, 8, {0, 1}, {0, 0, 0}}, {4, 0, 8, {0, 4}, {4, 2, 0}}, {1, 0, 8, {2, 1}, {1, 6, 0}},
        {4, 0, 8, {2, 3}, {3, 2, 1}}, {4, 1, 8, {2, 3}, {3, 2, 2}}, {4, 0, 8, {8, 0}, {0, 0, 4}},
        {1, 0, 1, {1, 0}, {0, 0, 1}}, {8, 0, 2, {1, 2}, {2, 1, 1}},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const struct og_options opt = {.pipeline = OG_PIPELINE_BATCHES,
                                       .accumulate = cases[i].accumulate,
                                       .staleness = cases[i].staleness,
                                       .threads = cases[i].threads,
                                       .executors = cases[i].split};
        const struct og_trainers_setup s = og__trainers_setup(&opt);
        assert_int_equal(s.n, cases[i].is.n);
        assert_int_equal(s.threads, cases[i].is.threads);
        assert_int_equal(s.standby, cases[i].is.standby);
    }
}

static void executors_are_trainers_or_a_split(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",     "0",     "65",   "1:",   ":1",  "0:1", "1:33",
                                        "33:1", "1:1:1", "-1:2", "1:-1", "a:b", "-1"};
    struct og_options opt;
    og__options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(wrong); i++)
        assert_int_equal(og_options_set(&opt, "executors", wrong[i], NULL), -EINVAL);
    assert_int_equal(og_options_set(&opt, "executors", "64", NULL), 0);
    assert_int_equal(opt.executors.samplers, 0);
    assert_int_equal(opt.executors.trainers, 64);
    assert_int_equal(og_options_set(&opt, "trainers", "3", NULL), 0); /* its former name */
    assert_int_equal(opt.executors.trainers, 3);
    assert_int_equal(og_options_set(&opt, "executors", "auto", NULL), 0);
    assert_int_equal(opt.executors.samplers, 0);
    assert_int_equal(opt.executors.trainers, 0);
    og__options_release(&opt);
}

/* ---- --trainers auto ---- */

static void choice_follows_what_was_measured(void **state)
{
    (void)state;
    /* Twice as many trainers in the time of one; the same rate; a bit better. Then worse; no room
     * for four; one alone without a time; none */
    static const struct {
        struct og_trainer_time tried[4];
        int n, is;
    } cases[] = {
        {{{1, 8, 1.0}, {2, 4, 1.0}, {4, 2, 1.0}, {8, 1, 1.0}}, 4, 8},
        {{{1, 8, 1.0}, {2, 4, 2.0}, {4, 2, 4.0}, {8, 1, 8.0}}, 4, 1},
        {{{1, 8, 1.0}, {2, 4, 1.2}, {4, 2, 2.35}, {8, 1, 4.8}}, 4, 2},
        {{{1, 8, 1.0}, {2, 4, 3.0}}, 2, 1},
        {{{1, 8, 1.0}, {2, 4, 1.0}, {4, 2, 0}}, 3, 2},
        {{{1, 8, 0}}, 1, 1},
        {{{0}}, 0, 1},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++)
        assert_int_equal(og__calibration_choose(cases[i].tried, cases[i].n), cases[i].is);
}

/* What a run measured, and what it chose by that. */
static void a_run_takes_what_it_measured(void **state)
{
    (void)state;
    static const char *const many[] = {"batch", "1", "threads", "4", "hidden", "32", NULL};
    struct og_calibration h = {0};
    train("first", LISTS(late, many, WORDS("trainers", "1")));
    train("auto", LISTS(late, many));
    json_t *summary = summary_of("auto");
    const json_t *tried = json_object_get(json_object_get(summary, "plan"), "trainers");
    assert_int_equal(json_array_size(tried), 3); /* 1, 2 and 4 groups: four at a time */
    for (int i = 0; i < 3; i++) {
        const json_t *one = json_array_get(tried, (size_t)i);
        h.tried[i].trainers = (int)whole(one, "trainers");
        h.tried[i].seconds = json_number_value(json_object_get(one, "seconds"));
        assert_int_equal(h.tried[i].trainers, 1 << i);
        assert_int_equal(whole(one, "threads_each"), 4 >> i);
        assert_true(h.tried[i].seconds > 0);
    }
    char chosen[16];
    snprintf(chosen, sizeof(chosen), "%d", og__calibration_choose(h.tried, 3));
    assert_string_equal(executors_of(summary), chosen);
    json_decref(summary);
    assert_same_run("first", "auto");
    forget("first");
    forget("auto");
}

/* One thread, or a mini-batch at a time: there is nothing to measure. */
static void nothing_is_measured_for_nothing(void **state)
{
    (void)state;
    const char *const *const hows[] = {
        WORDS("batch", "1", "threads", "1", "accumulate", "2"), WORDS("batch", "1", "threads", "2"),
        WORDS("threads", "2", "accumulate", "2"),
        WORDS("batch", "1", "threads", "2", "accumulate", "2", "trainers", "2")};
    for (size_t i = 0; i < OG_COUNT(hows); i++) {
        train("run", LISTS(hows[i]));
        json_t *summary = summary_of("run");
        const json_t *tried = json_object_get(json_object_get(summary, "plan"), "trainers");
        assert_int_equal(json_array_size(tried), 0);
        assert_string_equal(executors_of(summary), i == 3 ? "2" : "1");
        json_decref(summary);
        forget("run");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split_makes_the_same),
        cmocka_unit_test(a_run_goes_on_with_others),
        cmocka_unit_test(a_run_tells_who_did_what),
        cmocka_unit_test(the_rule_of_fgnn_is_applied),
        cmocka_unit_test(who_trains_follows_from_the_options),
        cmocka_unit_test(executors_are_trainers_or_a_split),
        cmocka_unit_test(choice_follows_what_was_measured),
        cmocka_unit_test(a_run_takes_what_it_measured),
        cmocka_unit_test(nothing_is_measured_for_nothing),
    };
    return cmocka_run_group_tests(tests, make_graph, remove_folder);
}
