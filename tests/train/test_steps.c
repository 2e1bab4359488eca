/* Steps of several mini-batches, and gradients of earlier parameters. Tested are what they are,
 * that nothing which moves bytes changes them, and that a run resumes in the middle of one. */
#include "train/steps_fixture.h"

#include "learn/checkpoint.h"
#include "learn/targets.h"
#include "lookahead/lookahead.h"
#include "oracles/steps.h"
#include "session/session.h"

#include <math.h>

/* ---- every model and task ---- */

static const char *const plain[] = {NULL};
static const char *const sage_batch[] = {"model", "sage", "norm", "batch", NULL};
static const char *const gcn[] = {"model", "gcn", "dropout", "0.2", "optimizer", "sgd", NULL};
static const char *const gat[] = {"model", "gat", "heads", "2", "attention-dropout", "0.3", NULL};
static const char *const gatv2[] = {"model", "gatv2", "heads", "2", "attention-dropout",
                                    "0.3",   NULL};
static const char *const gin[] = {"model", "gin",          "norm", "layer", "residual",
                                  "true",  "weight-decay", "0.01", NULL};
static const char *const tuned[] = {"optimizer", "adamw",       "weight-decay", "0.02",     "clip",
                                    "0.2",       "lr-schedule", "cosine",       "lr-steps", "11",
                                    "warmup",    "3",           "lr-min",       "0.001",    NULL};
static const char *const uneven[] = {"class-weights", "balanced", "oversample", "balanced",
                                     "loss",          "focal:2",  NULL};
static const char *const link_dot[] = {"task", "link", "batch", "30", "epochs", "1", NULL};
static const char *const link_mlp[] = {"task",      "link",  "decoder", "mlp",    "loss",
                                       "margin",    "batch", "30",      "epochs", "1",
                                       "optimizer", "sgd",   "norm",    "batch",  NULL};
static const char *const *const kinds[] = {plain, sage_batch, gcn,    gat,      gatv2,
                                           gin,   tuned,      uneven, link_dot, link_mlp};

static const char *const *const steps[] = {
    WORDS("accumulate", "4"),
    WORDS("staleness", "1"),
    WORDS("staleness", "3"),
    WORDS("accumulate", "2", "staleness", "2"),
    WORDS("accumulate", "4", "staleness", "3"),
    WORDS("accumulate", "1000", "staleness", "1"),
};

/* ---- against the oracle ---- */

struct follower {
    struct og_session *s;
    struct og_oracle_steps oracle;
    void *labels;
};

/* The rate of step t, from 0. */
static double rate_of(const struct og_options *opt, int t)
{
    const double pi = 3.14159265358979323846;
    if (t < opt->warmup)
        return opt->lr * (t + 1) / opt->warmup;
    return opt->lr_schedule == OG_RATE_CONSTANT
               ? opt->lr
               : opt->lr_min +
                     (opt->lr - opt->lr_min) * (1 + cos(pi * t / (double)opt->lr_steps)) / 2;
}

static int follow(void *arg, struct og_work *w, struct og_err *err)
{
    struct follower *f = arg;
    (void)err;
    const struct og_options *opt = &f->s->config.opt;
    const uint32_t batch = w->descriptor.batch, most = (uint32_t)opt->accumulate;
    const struct og_step key = {(uint64_t)opt->seed, w->descriptor.epoch, batch};
    if (w->descriptor.split != OG__TRAIN)
        return 0;
    const uint64_t batches = og__schedule_batches(&f->s->workload.schedule, OG__TRAIN);
    f->oracle.lr = rate_of(opt, f->oracle.steps);
    f->oracle.clip = opt->clip;
    return og__oracle_batch(&f->oracle, &w->sampled.batch, w->rows,
                            og__work_targets(&f->s->workload, w, f->labels), &key,
                            batch % most == most - 1 || batch + 1 == batches);
}

static void assert_as_oracle(const char *run, const char *const *kind, const char *const *how)
{
    struct og_options opt;
    struct og_err err = {0};
    struct follower f = {0};
    char checkpoint[TEST_PATH + 64];
    snprintf(checkpoint, sizeof(checkpoint), "%s/%s/checkpoint.safetensors", folder, run);
    set_options(&opt, "followed", LISTS(kind, how));
    if (og__session_open(&f.s, in_folder("graph"), &opt,
                         OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING, NULL, NULL,
                         &err) < 0)
        fail_msg("%s", err.message);
    struct og_model *model = f.s->learner.model;
    f.labels = malloc(og__targets_bytes(&f.s->workload) + 1);
    og__oracle_begin(&f.oracle, model, opt.staleness, opt.lr, opt.weight_decay);
    assert_int_equal(og__run_batches(&f.s->path, OG__SPLITS, 0,
                                     og__schedule_items(&f.s->workload.schedule), follow, &f, &err),
                     0);
    size_t n;
    const struct og_param *p = og__model_params(model, &n);
    float *values[64];
    for (size_t i = 0; i < n; i++) {
        values[i] = malloc(og__param_count(&p[i]) * sizeof(float));
        memcpy(values[i], p[i].value, og__param_count(&p[i]) * sizeof(float));
    }
    assert_int_equal(og__checkpoint_load(checkpoint, model, &err), 0);
    for (size_t i = 0; i < n; i++) {
        assert_memory_equal(values[i], p[i].value, og__param_count(&p[i]) * sizeof(float));
        free(values[i]);
    }
    og__oracle_end(&f.oracle);
    free(f.labels);
    og__session_close(f.s);
    og__options_release(&opt);
}

static void steps_are_as_defined(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (size_t i = 0; i < OG_COUNT(steps); i++) {
            train("run", LISTS(kinds[k], steps[i]));
            assert_as_oracle("run", kinds[k], steps[i]);
            forget("run");
        }
}

/* ---- against one large mini-batch ---- */

/* The largest difference of a parameter of two runs, as a share of the largest one. */
static double difference(const char *const *kind, const char *one, const char *other)
{
    struct og_options opt;
    struct og_session *s;
    size_t n;
    double most = 0, largest = 0;
    static float first[1 << 16];
    set_options(&opt, "looked", LISTS(kind));
    assert_int_equal(
        og__session_open(&s, in_folder("graph"), &opt, OG__WANT_MODEL, NULL, NULL, NULL), 0);
    const struct og_param *p = og__model_params(s->learner.model, &n);
    for (int round = 0; round < 2; round++) {
        char path[TEST_PATH + 64];
        snprintf(path, sizeof(path), "%s/%s/checkpoint.safetensors", folder, round ? other : one);
        assert_int_equal(og__checkpoint_load(path, s->learner.model, NULL), 0);
        size_t at = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < og__param_count(&p[i]); j++, at++) {
                assert_true(at < OG_COUNT(first));
                largest = fmax(largest, fabs((double)p[i].value[j]));
                if (round == 0)
                    first[at] = p[i].value[j];
                else
                    most = fmax(most, fabs((double)first[at] - (double)p[i].value[j]));
            }
    }
    og__session_close(s);
    og__options_release(&opt);
    return most / largest;
}

static void several_small_ones_are_one_large_one(void **state)
{
    (void)state;
    static const char *const common[] = {"fanout",    "-1,-1", "dropout", "0",   "epochs", "6",
                                         "optimizer", "sgd",   "lr",      "0.2", NULL};
    const char *const *const models[] = {
        WORDS("model", "sage"),
        WORDS("model", "gcn", "norm", "layer"),
        WORDS("model", "gat", "heads", "2"),
        WORDS("model", "sage", "weight-decay", "0.01"),
        WORDS("model", "sage", "class-weights", "balanced", "label-smoothing", "0.2"),
        WORDS("model", "sage", "class-weights", "balanced", "oversample", "balanced"),
        WORDS("model", "sage", "loss", "focal:1.5", "clip", "0.5")};
    for (size_t k = 0; k < OG_COUNT(models); k++) {
        train("small", LISTS(common, models[k], WORDS("accumulate", "4")));
        train("large", LISTS(common, models[k], WORDS("batch", "24")));
        train("single", LISTS(common, models[k]));
        assert_true(difference(models[k], "small", "large") <= 1e-5);
        assert_true(difference(models[k], "single", "large") > 1e-3); /* it would be seen */
        forget("small");
        forget("large");
        forget("single");
    }
}

/* ---- one of one is as ever ---- */

static void one_mini_batch_a_step_is_the_standard(void **state)
{
    (void)state;
    train("plain", LISTS(plain));
    train("said", LISTS(WORDS("accumulate", "1", "staleness", "0")));
    train("more", LISTS(WORDS("accumulate", "2")));
    assert_same_run("plain", "said");
    size_t n, m;
    char *a = bytes_of("plain", "checkpoint.safetensors", &n);
    char *b = bytes_of("more", "checkpoint.safetensors", &m);
    assert_true(n == m && memcmp(a, b, n) != 0);
    free(a);
    free(b);
    forget("plain");
    forget("said");
    forget("more");
}

/* ---- what moves bytes ---- */

static const char *const *const moves[] = {
    WORDS("policy", "degree", "cache", "10%"),
    WORDS("policy", "belady", "cache", "10%", "superbatch", "3"),
    WORDS("policy", "belady", "cache", "10%", "layout", "packed"),
    WORDS("policy", "sweep", "cache", "20%", "topology", "disk"),
    WORDS("policy", "lru", "cache", "10%", "threads", "3"),
    WORDS("policy", "belady", "cache", "10%", "trainers", "2", "threads", "3"),
    WORDS("policy", "hybrid", "cache", "10%", "trainers", "4"),
};

static void bytes_move_values_do_not(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (size_t i = 3; i < OG_COUNT(steps); i++) {
            train("first", LISTS(kinds[k], steps[i]));
            const size_t one = (k + i) % OG_COUNT(moves);
            train("other", LISTS(kinds[k], steps[i], moves[one]));
            assert_same_run("first", "other");
            forget("other");
            if (k == 1)
                for (size_t w = 0; w < OG_COUNT(moves); w++) {
                    train("other", LISTS(kinds[k], steps[i], moves[w]));
                    assert_same_run("first", "other");
                    forget("other");
                }
            forget("first");
        }
}

/* ---- trainers ---- */

/* Every kind, by any number of trainers, below whose mini-batches the cache changes. */
static void trainers_make_the_same(void **state)
{
    (void)state;
    static const char *const sets[] = {"accumulate", "4", "staleness", "0", NULL};
    static const char *const late[] = {"accumulate", "4", "staleness", "3", NULL};
    static const char *const lags[] = {"staleness", "2", NULL};
    const char *const *const hows[] = {sets, late, lags};
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (size_t i = 0; i < OG_COUNT(hows); i++) {
            train("first", LISTS(kinds[k], hows[i], WORDS("trainers", "1")));
            for (size_t w = (3 * k + i) % test_ways_step(); w < 2 * 5; w += test_ways_step()) {
                const char *const *trainers = WORDS("trainers", w % 2 ? "4" : "2");
                train("other", LISTS(kinds[k], hows[i], moves[w / 2], trainers));
                assert_same_run("first", "other");
                forget("other");
            }
            forget("first");
        }
}

static void no_more_trainers_than_mini_batches(void **state)
{
    (void)state;
    train("run", LISTS(WORDS("accumulate", "2", "staleness", "1", "trainers", "7")));
    json_t *summary = summary_of("run");
    const json_t *config = json_object_get(summary, "config");
    assert_string_equal(json_string_value(json_object_get(config, "executors")), "4");
    json_decref(summary);
    forget("run");
}

/* ---- stopped, and going on ---- */

static void interrupt(const char *run, const char *const *const *lists, int at)
{
    struct test_stopper s = {.at = at};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, run, lists);
    if (og_train(in_folder("graph"), &opt, &seen, NULL, NULL) != OG_INTERRUPTED)
        fail_msg("%s: not interrupted at batch %d", run, at);
    og__options_release(&opt);
}

static void a_run_goes_on_within_a_step(void **state)
{
    (void)state;
    static const char *const *const whole[] = {sage_batch, gcn, gat, link_mlp, tuned, uneven};
    for (size_t k = 0; k < OG_COUNT(whole); k++)
        for (size_t i = 2; i < OG_COUNT(steps); i++) {
            train("whole", LISTS(whole[k], steps[i]));
            const int first = 1 + (int)((k + i) % test_ways_step());
            for (int at = first; at < 14; at += (1 + (int)(k + i) % 3) * (int)test_ways_step()) {
                const char *const *move = moves[(size_t)at % OG_COUNT(moves)];
                const char *const *before = moves[(size_t)(at + 3) % OG_COUNT(moves)];
                interrupt("cut", LISTS(whole[k], steps[i], before), at);
                train("cut", LISTS(whole[k], steps[i], move, WORDS("resume", "true")));
                assert_same_run("whole", "cut");
                forget("cut");
            }
            forget("whole");
        }
}

/* Twice in one step, and once more before it began to see its own parameters. */
static void a_run_goes_on_several_times(void **state)
{
    (void)state;
    static const char *const how[] = {"accumulate", "4", "staleness", "3", NULL};
    train("whole", LISTS(sage_batch, how));
    interrupt("cut", LISTS(sage_batch, how), 2);
    interrupt("cut", LISTS(sage_batch, how, WORDS("resume", "true")), 1);
    interrupt("cut", LISTS(sage_batch, how, WORDS("resume", "true")), 4);
    train("cut", LISTS(sage_batch, how, WORDS("resume", "true")));
    assert_same_run("whole", "cut");
    forget("cut");
    forget("whole");
}

static void refused(const char *run, const char *const *list, const char *says)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, run, LISTS(list));
    assert_int_equal(og_train(in_folder("graph"), &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, says));
    assert_true(err.hint[0]);
    og__options_release(&opt);
}

static void they_decide_the_numbers(void **state)
{
    (void)state;
    struct og_options opt;
    interrupt("cut", LISTS(WORDS("accumulate", "2", "staleness", "1")), 3);
    refused("cut", WORDS("resume", "true", "staleness", "1"), "--accumulate");
    refused("cut", WORDS("resume", "true", "accumulate", "2"), "--staleness");
    forget("cut");
    og__options_init(&opt);
    assert_int_equal(og_options_set(&opt, "accumulate", "0", NULL), -EINVAL);
    assert_int_equal(og_options_set(&opt, "staleness", "-1", NULL), -EINVAL);
    og__options_release(&opt);
}

/* ---- memory ---- */

static json_int_t planned(const char *const *list)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, "planned", LISTS(list));
    assert_int_equal(og_plan(in_folder("graph"), &opt, NULL, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    json_int_t bytes =
        json_integer_value(json_object_get(json_object_get(root, "memory"), "model"));
    assert_true(bytes > 0);
    json_decref(root);
    free(text);
    og__options_release(&opt);
    return bytes;
}

static void memory_is_planned_to_the_byte(void **state)
{
    (void)state;
    /* two layers of SAGE, 8 features, 8 hidden, 3 classes: two matrices and a bias each */
    const json_int_t copy = 4 * ((2 * 8 * 8 + 8) + (2 * 8 * 3 + 3));
    const json_int_t none = planned(plain);
    assert_int_equal(planned(WORDS("accumulate", "2")) - none, copy);
    assert_int_equal(planned(WORDS("accumulate", "9")) - none, copy);
    assert_int_equal(planned(WORDS("staleness", "5")) - none, 5 * copy);
    assert_int_equal(planned(WORDS("accumulate", "2", "staleness", "7")) - none, 8 * copy);
}

/* The smallest that would do, as a refusal names it. */
static const char *smallest(const char *const *const *lists)
{
    static char text[32];
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, "refused", lists);
    test_set(&opt, "memory", "1M");
    assert_int_equal(og_train(in_folder("graph"), &opt, NULL, NULL, &err), -ENOMEM);
    const char *at = strstr(err.hint, "--memory ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "--memory %31[0-9M]", text), 1);
    og__options_release(&opt);
    return text;
}

static void the_smallest_memory_is_enough(void **state)
{
    (void)state;
    static const char *const how[] = {"accumulate", "4", "staleness", "3", NULL};
    static const char *const wide[] = {"hidden", "512", "norm", "batch", NULL};
    for (int n = 1; n <= 4; n *= 2) {
        char trainers[16];
        snprintf(trainers, sizeof(trainers), "%d", n);
        const char *const *const *lists = LISTS(wide, how, WORDS("trainers", trainers));
        const char *memory = smallest(lists);
        train("run", LISTS(wide, how, WORDS("trainers", trainers, "memory", memory)));
        forget("run");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_as_defined),
        cmocka_unit_test(several_small_ones_are_one_large_one),
        cmocka_unit_test(one_mini_batch_a_step_is_the_standard),
        cmocka_unit_test(bytes_move_values_do_not),
        cmocka_unit_test(trainers_make_the_same),
        cmocka_unit_test(no_more_trainers_than_mini_batches),
        cmocka_unit_test(a_run_goes_on_within_a_step),
        cmocka_unit_test(a_run_goes_on_several_times),
        cmocka_unit_test(they_decide_the_numbers),
        cmocka_unit_test(memory_is_planned_to_the_byte),
        cmocka_unit_test(the_smallest_memory_is_enough),
    };
    return cmocka_run_group_tests(tests, make_graph, remove_folder);
}
