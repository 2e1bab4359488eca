/* The tables of tasks and losses, row by row. One more is tested as soon as it has a row. */
#include "support/testing.h"

#include "base/random.h"
#include "nn/loss_terms.h"
#include "nn/tasks.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>

static int n_tasks(void)
{
    int n = 0;
    while (og__task_words[n])
        n++;
    return n;
}

static int n_losses(void)
{
    int n = 0;
    while (og__loss_words[n])
        n++;
    return n;
}

/* ==== tasks ==== */

static void words_are_those_of_the_enums(void **state)
{
    (void)state;
    struct og_options opt;
    og__options_init(&opt);
    for (int task = 0; task < n_tasks(); task++) {
        assert_int_equal(og_options_set(&opt, "task", og__task_words[task], NULL), 0);
        assert_int_equal(opt.task, task);
        assert_true(og__is_task(task));
    }
    for (int loss = 0; loss < n_losses(); loss++) {
        assert_int_equal(og_options_set(&opt, "loss", og__loss_words[loss], NULL), 0);
        assert_int_equal(opt.loss, loss);
    }
    og__options_release(&opt);
    assert_false(og__is_task(-1));
    assert_false(og__is_task(n_tasks()));
}

static void a_task_becomes_one_of_values_where_labels_are(void **state)
{
    (void)state;
    for (int task = 0; task < n_tasks(); task++) {
        assert_int_equal(og__task_by_labels(task, false), task);
        const int other = og__task_by_labels(task, true);
        assert_true(other == task || og__targets_of_task(task) == OG__OF_CLASSES);
        assert_int_not_equal(og__targets_of_task(other), OG__OF_CLASSES);
    }
}

/* Every figure of sums that hold something is a number, and the chief one is 0 of nothing. */
static void a_task_has_figures(void **state)
{
    (void)state;
    const struct og_metrics some = {.counted = 8,
                                    .correct = 2,
                                    .true_positive = 3,
                                    .compared = 5,
                                    .twice_ordered = 9,
                                    .ranked = 5,
                                    .hits = {1, 2, 3, 3, 4, 5},
                                    .reciprocal_ranks = 2.5,
                                    .values = 4,
                                    .absolute = 2,
                                    .squared = 1,
                                    .value_sum = 10,
                                    .value_squares = 30,
                                    .ndcg = 4};
    const struct og_metrics none = {0};
    const struct og_pass_metrics pass = {.auc = 0.75,
                                         .ap = 0.5,
                                         .f1 = 0.6,
                                         .macro_auc = 0.7,
                                         .macro_ap = 0.4,
                                         .macro_f1 = 0.3,
                                         .weighted_f1 = 0.35};
    for (int task = 0; task < n_tasks(); task++)
        for (int form = 0; form < 3; form++) {
            const struct og_model_config c = {
                .task = task, .multi_label = form == 1, .shares = form == 2};
            const struct og_task *t = og__task_of(&c);
            assert_true(t->chief(&none, NULL) == 0);
            assert_true(t->chief(&some, &pass) > 0);
            for (const struct og_figure *f = t->figures; f->kind != OG_BEST_AUTO; f++)
                assert_true(f->of(&some, &pass) > 0 && f->of(&some, &pass) < 1.5);
            assert_true(!t->lists || t->score);
        }
}

/* ==== the best epoch ==== */

/* Which figures a task has for --best-by. The word f1 stands for its own F1, and the rest is
 * refused with those that there are. */
static void a_task_chooses_by_its_figures(void **state)
{
    (void)state;
    static const struct {
        struct og_model_config c;
        int usual, f1;
        const char *has;
    } tasks[] = {
        {{.task = OG_TASK_NODE, .n_classes = 2},
         OG_BEST_ACC,
         OG_BEST_F1,
         "loss, acc, f1, macro_f1, micro_f1, weighted_f1, auc, ap"},
        {{.task = OG_TASK_NODE, .n_classes = 3},
         OG_BEST_ACC,
         OG_BEST_MICRO_F1,
         "loss, acc, macro_f1, micro_f1, weighted_f1"},
        {{.task = OG_TASK_NODE, .n_classes = 3, .class_scores = true},
         OG_BEST_ACC,
         OG_BEST_MICRO_F1,
         "loss, acc, macro_f1, micro_f1, weighted_f1, auc, ap"},
        {{.task = OG_TASK_NODE, .n_classes = OG__MOST_COUNTED + 1, .class_scores = true},
         OG_BEST_ACC,
         OG_BEST_MICRO_F1,
         "loss, acc, micro_f1"},
        {{.task = OG_TASK_NODE, .n_classes = 3, .multi_label = true},
         OG_BEST_MICRO_F1,
         OG_BEST_MICRO_F1,
         "loss, macro_f1, micro_f1, weighted_f1, auc, ap, macro_auc, macro_ap"},
        {{.task = OG_TASK_LINK, .n_classes = 8},
         OG_BEST_AUC,
         -1,
         "loss, auc, ap, mrr, hits@1, hits@3, hits@10, hits@20, hits@50, hits@100"},
        {{.task = OG_TASK_REGRESSION, .n_classes = 1}, OG_BEST_R2, -1, "loss, mse, mae, r2"},
        {{.task = OG_TASK_REGRESSION, .n_classes = 12, .shares = true},
         OG_BEST_NDCG_10,
         -1,
         "loss, mse, mae, r2, ndcg@10"},
    };
    for (size_t i = 0; i < OG_COUNT(tasks); i++) {
        const struct og_model_config *c = &tasks[i].c;
        assert_int_equal(og__best_of(c, OG_BEST_AUTO), tasks[i].usual);
        assert_int_equal(og__best_check(c, OG_BEST_AUTO, NULL), 0);
        assert_true(tasks[i].f1 < 0 || og__best_of(c, OG_BEST_F1) == tasks[i].f1);
        for (int kind = 1; og__best_words[kind]; kind++) {
            struct og_err err = {0};
            char hint[192];
            snprintf(hint, sizeof(hint), "validation has %s", tasks[i].has);
            if (og__best_check(c, kind, &err) == 0)
                continue;
            assert_string_equal(err.hint, hint);
            assert_non_null(strstr(err.message, og__best_words[kind]));
        }
    }
}

/* More scores than a few are kept where --best-by needs them. */
static void few_scores_are_kept(void **state)
{
    (void)state;
    struct og_model_config c = {.task = OG_TASK_NODE, .n_classes = 8};
    const size_t few = OG__FEW_SCORES / 8;
    for (int more = 0; more < 2; more++) {
        og__keep_class_scores(&c, OG_BEST_AUTO, few + (size_t)more);
        assert_int_equal(og__pass_sizes(&c, few).lists, more ? 0 : 8);
    }
    og__keep_class_scores(&c, OG_BEST_AUC, few + 1);
    assert_int_equal(og__pass_sizes(&c, few).lists, 8);
}

/* ==== losses ==== */

static void a_task_takes_its_losses(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * n_tasks(); i++) {
        const int task = i / 2;
        const bool shares = i % 2;
        const bool chooses = og__task(task)->loss != OG_LOSS_AUTO;
        const bool softens = shares && task == OG_TASK_REGRESSION;
        int own = OG_LOSS_AUTO;
        assert_int_equal(og__loss_resolve(task, shares, OG_DECODER_DOT, &own, NULL), 0);
        assert_int_equal(own, softens ? OG_LOSS_CROSS_ENTROPY : og__task(task)->loss);
        assert_true(!chooses || og__loss(own)->tasks >> task & 1);
        for (int loss = 1; loss < n_losses(); loss++) {
            struct og_err err = {0};
            const struct og_model_config c = {.task = task, .loss = loss, .shares = shares};
            const bool fits = og__loss(loss)->tasks >> task & 1;
            const bool takes = fits && (softens || loss != OG_LOSS_CROSS_ENTROPY);
            int given = loss;
            assert_int_equal(og__loss_resolve(task, shares, OG_DECODER_DOT, &given, &err),
                             takes ? 0 : -EINVAL);
            assert_int_equal(given, loss);
            assert_int_equal(og__loss_of(&c), takes ? loss : own);
            if (takes)
                continue;
            assert_non_null(strstr(err.message, og__loss_words[loss]));
            assert_non_null(strstr(err.message, fits ? "not shares" : og__task_words[task]));
            assert_non_null(strstr(err.hint, fits      ? "node shares"
                                             : chooses ? og__loss_words[own]
                                                       : "leave out --loss"));
        }
    }
}

static void slopes_of_values_are_those_of_the_loss(void **state)
{
    (void)state;
    static const float made[] = {-3, -1.3f, -0.6f, 0.45f, 0.8f, 2.5f}, wanted[] = {0, 1, 4};
    const float step = 1.0f / 256;
    int n = 0;
    for (int loss = 1; loss < n_losses(); loss++) {
        const bool of_values = og__loss(loss)->tasks >> OG_TASK_REGRESSION & 1;
        for (size_t i = 0; i < OG_COUNT(made) * OG_COUNT(wanted); i++) {
            const float d = made[i / OG_COUNT(wanted)] - wanted[i % OG_COUNT(wanted)];
            float slope, unused;
            if (!of_values || og__loss(loss)->rows)
                continue;
            assert_true(isfinite(og_value_loss(loss, d, &slope)));
            const double up = og_value_loss(loss, d + step, &unused);
            const double down = og_value_loss(loss, d - step, &unused);
            assert_true(fabs((up - down) / (2 * (double)step) - (double)slope) <
                        1e-3 * (1 + fabs((double)slope)));
            n++;
        }
    }
    assert_true(n > 0);
}

/* By the logit of a label that is 1, whose l is log(1 + exp(-x)): l' = p - 1. */
static void slopes_of_classes_are_those_of_the_loss(void **state)
{
    (void)state;
    const double step = 1e-4;
    for (double x = -6; x <= 6; x += 0.37)
        for (int halves = 0; halves < 8; halves++) {
            const struct og_loss op = {.loss = OG_LOSS_FOCAL, .gamma = (float)halves / 2};
            float slope, unused;
            const double up = og_class_loss(&op, log1p(exp(-x - step)), &unused);
            const double down = og_class_loss(&op, log1p(exp(-x + step)), &unused);
            const double value = og_class_loss(&op, log1p(exp(-x)), &slope);
            const double want = (up - down) / (2 * step);
            assert_true(fabs(want + (double)slope / (1 + exp(x))) < 1e-6 * (1 + value));
            assert_true(halves > 0 || value == log1p(exp(-x)));
        }
}

static void slopes_of_pairs_are_those_of_the_loss(void **state)
{
    (void)state;
    enum { EDGES = 7, EACH = 3, N = EDGES * (1 + EACH) };
    const float step = 1.0f / 256;
    float score[N], grad[N];
    struct og_rng r;
    int n = 0;
    og__rng_at(&r, 5, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int i = 0; i < N; i++)
        score[i] = 2 * og__rng_normal(&r);
    for (int loss = 1; loss < n_losses(); loss++) {
        struct og_link_loss op = {
            .n_edges = EDGES, .each = EACH, .loss = loss, .score = score, .grad = grad};
        if (!og__loss(loss)->pairs)
            continue;
        (void)og__loss(loss)->pairs(&op, EDGES * EACH);
        op.grad = NULL;
        for (int i = 0; i < N; i++) {
            const float x = score[i];
            score[i] = x + step;
            const double up = og__loss(loss)->pairs(&op, EDGES * EACH);
            score[i] = x - step;
            const double down = og__loss(loss)->pairs(&op, EDGES * EACH);
            score[i] = x;
            assert_true(fabs((up - down) / (2 * (double)step) - (double)grad[i]) < 1e-3);
        }
        n++;
    }
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_enums),
        cmocka_unit_test(a_task_becomes_one_of_values_where_labels_are),
        cmocka_unit_test(a_task_has_figures),
        cmocka_unit_test(a_task_chooses_by_its_figures),
        cmocka_unit_test(few_scores_are_kept),
        cmocka_unit_test(a_task_takes_its_losses),
        cmocka_unit_test(slopes_of_values_are_those_of_the_loss),
        cmocka_unit_test(slopes_of_classes_are_those_of_the_loss),
        cmocka_unit_test(slopes_of_pairs_are_those_of_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
