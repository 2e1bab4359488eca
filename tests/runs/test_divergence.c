/* A model with numbers that are not finite is reported wherever it is met. That is in training, at
 * the ends of epochs, in eval, with all neighbours and in predict. One signal ends an
 * evaluation. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/files.h"
#include "support/own_folder.h"
#include "support/runs.h"
#include "support/whole_tensors.h"

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <signal.h>
#include <unistd.h>

static char graph[300], run[300], checkpoint[340];

static void options(struct og_options *opt, const char *const *more)
{
    static const char *const pairs[][2] = {{"hidden", "16"},   {"fanout", "3,3"}, {"epochs", "1"},
                                           {"memory", "300M"}, {"threads", "1"},  {"batch", "100"}};
    og__options_init(opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        test_set(opt, pairs[i][0], pairs[i][1]);
    for (; more && *more; more += 2)
        test_set(opt, more[0], more[1]);
    test_set(opt, "run", run);
    test_set(opt, "scratch", folder);
}

static void make_graph(int classes)
{
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = 2000;
    g.dim = 16;
    g.classes = classes;
    g.train_fraction = 0.1;
    g.threads = 1;
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    snprintf(run, sizeof(run), "%s/run", folder);
    snprintf(checkpoint, sizeof(checkpoint), "%s/checkpoint.safetensors", run);
    og__remove_tree(graph);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
}

/* What training says of it; "" where it went well. */
static struct og_err try_train(const char *const *more)
{
    struct og_options opt;
    struct og_err err = {0};
    char *summary = NULL;
    og__remove_tree(run);
    options(&opt, more);
    alarm(120);
    int rc = og_train(graph, &opt, NULL, &summary, &err);
    alarm(0);
    assert_int_equal(rc, err.message[0] ? -EDOM : 0);
    assert_int_equal(summary != NULL, rc == 0);
    free(summary);
    og__options_release(&opt);
    return err;
}

static void assert_says(const struct og_err *err, const char *what, const char *hint)
{
    if (!strstr(err->message, what) || !strstr(err->hint, hint))
        fail_msg("'%s' expected, '%s' (%s) said", what, err->message, err->hint);
}

/* One step with a rate that leaves nothing of the model: all its batch has is trained before. */
static void an_epoch_that_cannot_be_judged_ends_the_run(void **state)
{
    (void)state;
    static const char *const kinds[][20] = {
        {"lr", "1e6", "fanout", "2,2,2,2,2,2,2", "hidden", "256", "batch", "1000"},
        {"lr", "1e6", "fanout", "2,2,2,2,2,2,2", "hidden", "256", "batch", "1000", "aggregator",
         "max"},
        {"lr", "1e6", "fanout", "2,2,2,2", "hidden", "64", "batch", "100000", "task", "link",
         "eval-negatives", "5"}};
    for (int classes = 2; classes <= 5; classes += 3)
        for (size_t i = 0; i < OG_COUNT(kinds); i++) {
            char best[320];
            make_graph(classes);
            struct og_err err = try_train(kinds[i]);
            assert_says(&err, "epoch 1, valid batch 1: the loss is not a finite number", "--lr");
            snprintf(best, sizeof(best), "%s/best.safetensors", run);
            assert_false(test_is_there(best)); /* nor is it the best */
            assert_false(test_is_there(checkpoint));
        }
}

/* Where no epoch is judged, the test is what meets it. */
static void a_test_that_cannot_be_judged_ends_the_run(void **state)
{
    (void)state;
    static const char *const more[] = {"lr",         "1e6", "fanout", "2,2,2,2,2,2,2",
                                       "hidden",     "256", "batch",  "1000",
                                       "eval-every", "0",   NULL};
    make_graph(2);
    struct og_err err = try_train(more);
    assert_says(&err, "epoch 1, test batch 1: the loss is not a finite number", "--lr");
}

/* Each of the run's four steps makes the weights 1e12 times as large. The last one makes them
 * infinite, which no loss sees. */
static void parameters_that_are_no_numbers_are_not_written(void **state)
{
    (void)state;
    static const char *const more[] = {
        "model",        "gcn", "fanout",     "3",   "optimizer", "sgd",
        "weight-decay", "1e6", "lr",         "1e6", "batch",     "50",
        "dropout",      "0",   "eval-every", "0",   NULL};
    make_graph(2);
    struct og_err err = try_train(more);
    assert_says(&err, "epoch 1: a value of convs.0.", "--lr");
    assert_says(&err, "is not a finite number", "");
    assert_false(test_is_there(checkpoint));
}

/* ---- a checkpoint that was good once ---- */

/* Every parameter of the run's checkpoint becomes `value` times as large. */
static void blow_up(float by)
{
    struct og_tensors t;
    char *bytes = whole_tensors(checkpoint, &t);
    for (size_t i = 0; i < t.n; i++) {
        float *value = (float *)(void *)(bytes + ((const char *)t.tensor[i].data - bytes));
        for (size_t k = 0; k < t.tensor[i].bytes / sizeof(float); k++)
            value[k] *= by;
    }
    assert_int_equal(og__tensors_write(checkpoint, &t, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
}

enum command { EVAL, FULL, PREDICT, COMMANDS };

static int execute(enum command command, const struct og_options *opt, const char *out,
                   const struct og_observer *seen, struct og_err *err)
{
    char *text = NULL;
    alarm(120);
    int rc = command == EVAL   ? og_eval(graph, checkpoint, "test", opt, seen, &text, err)
             : command == FULL ? og_eval_full(graph, checkpoint, "test", opt, seen, &text, err)
                               : og_predict(graph, checkpoint, out, NULL, opt, seen, &text, err);
    alarm(0);
    assert_int_equal(text != NULL, rc == 0);
    free(text);
    return rc;
}

static void a_checkpoint_that_cannot_be_judged_is_told_of(void **state)
{
    (void)state;
    static const char *const tasks[] = {"node", "link"};
    char out[320];
    make_graph(2);
    snprintf(out, sizeof(out), "%s/out.npy", folder);
    for (size_t k = 0; k < OG_COUNT(tasks); k++) {
        const char *const more[] = {"task", tasks[k], "eval-negatives", "5", NULL};
        struct og_options opt;
        try_train(more);
        options(&opt, more);
        blow_up(1e25f);
        for (enum command c = EVAL; c < COMMANDS; c++) {
            struct og_err err = {0};
            if (c == FULL && k == 1) /* not of links */
                continue;
            assert_int_equal(execute(c, &opt, out, NULL, &err), -EDOM);
            assert_says(&err, "not a finite number", "diverged");
            assert_says(
                &err, c == EVAL ? "test batch 1: the loss" : "layer 2, node 0: the output is", "");
            assert_false(test_is_there(out));
        }
        og__options_release(&opt);
    }
}

/* ---- signals ---- */

struct watch {
    const char *stage;
    volatile sig_atomic_t stop;
    int steps; /* after the signal */
};

static void on_progress(void *arg, const struct og_progress *p)
{
    struct watch *w = arg;
    w->steps += w->stop;
    if (strcmp(p->stage, w->stage) == 0)
        test_ask_stop(&w->stop);
}

static struct og_observer observer(struct watch *w)
{
    return (struct og_observer){
        .size = sizeof(struct og_observer), .arg = w, .progress = on_progress, .stop = &w->stop};
}

/* Its first batch is its last. */
static void a_signal_ends_an_evaluation(void **state)
{
    (void)state;
    static const char *const small[] = {"batch", "10", NULL};
    static const char *const stages[] = {"valid", "test"};
    struct og_options opt;
    make_graph(2);
    for (size_t i = 0; i < OG_COUNT(stages); i++) {
        struct watch w = {.stage = stages[i]};
        struct og_observer seen = observer(&w);
        og__remove_tree(run);
        options(&opt, small);
        struct og_err err = {0};
        assert_int_equal(og_train(graph, &opt, &seen, NULL, &err), OG_INTERRUPTED);
        assert_says(&err, "interrupted", "--resume");
        assert_int_equal(w.steps, 0);
        og__options_release(&opt);
    }
    struct watch w = {.stage = "eval"};
    struct og_observer seen = observer(&w);
    try_train(small);
    options(&opt, small);
    struct og_err err = {0};
    assert_int_equal(execute(EVAL, &opt, NULL, &seen, &err), OG_INTERRUPTED);
    assert_null(strstr(err.hint, "--resume")); /* which it has not */
    assert_int_equal(w.steps, 0);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_that_cannot_be_judged_ends_the_run),
        cmocka_unit_test(a_test_that_cannot_be_judged_ends_the_run),
        cmocka_unit_test(parameters_that_are_no_numbers_are_not_written),
        cmocka_unit_test(a_checkpoint_that_cannot_be_judged_is_told_of),
        cmocka_unit_test(a_signal_ends_an_evaluation),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
