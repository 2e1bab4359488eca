/* Classes of nodes: one per node, or several labels. */
#include "nn/tasks.h"

#include <math.h>

/* ==== one class ==== */

static int by_softmax(const struct og_nn_ops *ops, struct og_nn_backend *be,
                      const struct og_loss *op, struct og_err *err)
{
    return ops->softmax_loss(be, op, err);
}

static double accuracy(const struct og_metrics *sum, const struct og_ranking *areas)
{
    (void)areas;
    return sum->counted ? (double)sum->correct / (double)sum->counted : 0;
}

static const struct og_figure of_classes[] = {{OG_BEST_ACC, accuracy, false},
                                              {OG_BEST_F1, og__f1, true},
                                              {OG_BEST_AUC, og__auc, true},
                                              {OG_BEST_AP, og__ap, true},
                                              {OG_BEST_AUTO, NULL, false}};

static size_t of_two_classes(int n_classes, size_t n)
{
    return n_classes == 2 ? n : 0;
}

/* Margin of the second class. */
static int score_class(const void *targets, size_t i, const float *made, float *score)
{
    const int32_t label = ((const int32_t *)targets)[i];
    *score = made[1] - made[0];
    return label < 0 ? -1 : label == 1;
}

/* ==== several labels ==== */

static int by_sigmoid(const struct og_nn_ops *ops, struct og_nn_backend *be,
                      const struct og_loss *op, struct og_err *err)
{
    return ops->sigmoid_loss(be, op, err);
}

static double micro_f1(const struct og_metrics *sum, const struct og_ranking *areas)
{
    (void)areas;
    double right = 2 * (double)sum->true_positive;
    double all = right + (double)sum->false_positive + (double)sum->false_negative;
    return all > 0 ? right / all : 0;
}

static const struct og_figure of_labels[] = {{OG_BEST_MICRO_F1, micro_f1, false},
                                             {OG_BEST_AUC, og__auc, true},
                                             {OG_BEST_AP, og__ap, true},
                                             {OG_BEST_AUTO, NULL, false}};

static size_t of_all(int n_classes, size_t n)
{
    return n * (size_t)n_classes;
}

static int score_label(const void *targets, size_t i, const float *made, float *score)
{
    const float label = ((const float *)targets)[i];
    *score = *made;
    return isnan(label) ? -1 : label > 0.5f;
}

static const struct og_task labels = {
    .targets = OG__OF_LABELS,
    .of_values = OG_TASK_REGRESSION,
    .rows = by_sigmoid,
    .chief = micro_f1,
    .best = OG_BEST_MICRO_F1,
    .figures = of_labels,
    .n_scores = of_all,
    .score_width = 1,
    .score = score_label,
};

const struct og_task og__task_node = {
    .targets = OG__OF_CLASSES,
    .of_labels = &labels,
    .of_values = OG_TASK_REGRESSION,
    .rows = by_softmax,
    .chief = accuracy,
    .best = OG_BEST_ACC,
    .figures = of_classes,
    .n_scores = of_two_classes,
    .score_width = 2,
    .score = score_class,
};
