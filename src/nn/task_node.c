/* Classes of nodes: one per node, or several labels. */
#include "nn/tasks.h"

#include <math.h>

/* ==== one class ==== */

static int by_softmax(const struct og_nn_ops *ops, struct og_nn_backend *be,
                      const struct og_loss *op, struct og_err *err)
{
    return ops->softmax_loss(be, op, err);
}

/* Micro-F1 of one class per row is the same. */
static double accuracy(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return sum->counted ? (double)sum->correct / (double)sum->counted : 0;
}

static double f1(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)sum;
    return pass->f1;
}

static const struct og_figure of_classes[] = {
    {OG_BEST_ACC, accuracy, OG__FROM_SUMS},
    {OG_BEST_F1, f1, OG__FROM_TWO_CLASSES},
    {OG_BEST_MACRO_F1, og__macro_f1, OG__FROM_COUNTS},
    {OG_BEST_MICRO_F1, accuracy, OG__FROM_SUMS},
    {OG_BEST_WEIGHTED_F1, og__weighted_f1, OG__FROM_COUNTS},
    {OG_BEST_AUC, og__auc, OG__FROM_SCORES},
    {OG_BEST_AP, og__ap, OG__FROM_SCORES},
    {OG_BEST_AUTO, NULL, OG__FROM_SUMS}};

static uint32_t lists_of_classes(const struct og_model_config *c)
{
    if (c->n_classes <= 2)
        return c->n_classes == 2;
    return c->class_scores && c->n_classes <= OG__MOST_COUNTED ? (uint32_t)c->n_classes : 0;
}

/* log of the sum of exp(z) over all classes but one */
static double log_sum_without(const float *z, int n, int without)
{
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < n; k++)
        most = k != without ? fmax(most, (double)z[k]) : most;
    for (int k = 0; k < n; k++)
        sum += k != without ? exp((double)z[k] - most) : 0;
    return most + log(sum);
}

/* Scores are the margin of the second of two classes, or the log odds of each of more. Log odds
 * rank as probabilities do. The largest class has its own sum: the rest of the whole is inexact. */
static void score_classes(const struct og_model_config *c, const void *targets, size_t i,
                          const float *made, float *score, int8_t *high)
{
    const int32_t label = ((const int32_t *)targets)[i];
    const int n = c->n_classes;
    double part[OG__MOST_COUNTED], sum = 0;
    int best = 0;
    if (n == 2) {
        *score = made[1] - made[0];
        *high = (int8_t)(label < 0 ? -1 : label == 1);
        return;
    }
    for (int k = 1; k < n; k++)
        best = made[k] > made[best] ? k : best;
    const double most = (double)made[best];
    for (int k = 0; k < n; k++)
        sum += part[k] = exp((double)made[k] - most);
    for (int k = 0; k < n; k++) {
        const double rest = k == best ? log_sum_without(made, n, k) : most + log(sum - part[k]);
        score[k] = (float)((double)made[k] - rest);
        high[k] = (int8_t)(label < 0 ? -1 : label == k);
    }
}

/* ==== several labels ==== */

static int by_sigmoid(const struct og_nn_ops *ops, struct og_nn_backend *be,
                      const struct og_loss *op, struct og_err *err)
{
    return ops->sigmoid_loss(be, op, err);
}

static double micro_f1(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    double right = 2 * (double)sum->true_positive;
    double all = right + (double)sum->false_positive + (double)sum->false_negative;
    return all > 0 ? right / all : 0;
}

static double macro_auc(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)sum;
    return pass->macro_auc;
}

static double macro_ap(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)sum;
    return pass->macro_ap;
}

static const struct og_figure of_labels[] = {
    {OG_BEST_MACRO_F1, og__macro_f1, OG__FROM_COUNTS},
    {OG_BEST_MICRO_F1, micro_f1, OG__FROM_SUMS},
    {OG_BEST_WEIGHTED_F1, og__weighted_f1, OG__FROM_COUNTS},
    {OG_BEST_AUC, og__auc, OG__FROM_SCORES},
    {OG_BEST_AP, og__ap, OG__FROM_SCORES},
    {OG_BEST_MACRO_AUC, macro_auc, OG__FROM_SCORES},
    {OG_BEST_MACRO_AP, macro_ap, OG__FROM_SCORES},
    {OG_BEST_AUTO, NULL, OG__FROM_SUMS}};

static uint32_t a_list_each(const struct og_model_config *c)
{
    return (uint32_t)c->n_classes;
}

static void score_labels(const struct og_model_config *c, const void *targets, size_t i,
                         const float *made, float *score, int8_t *high)
{
    const float *label = (const float *)targets + i * (size_t)c->n_classes;
    for (int k = 0; k < c->n_classes; k++) {
        score[k] = made[k];
        high[k] = (int8_t)(isnan(label[k]) ? -1 : label[k] > 0.5f);
    }
}

static const struct og_task labels = {
    .targets = OG__OF_LABELS,
    .of_values = OG_TASK_REGRESSION,
    .rows = by_sigmoid,
    .chief = micro_f1,
    .best = OG_BEST_MICRO_F1,
    .figures = of_labels,
    .counts = true,
    .lists = a_list_each,
    .pools = true,
    .score = score_labels,
};

const struct og_task og__task_node = {
    .targets = OG__OF_CLASSES,
    .of_labels = &labels,
    .of_values = OG_TASK_REGRESSION,
    .rows = by_softmax,
    .chief = accuracy,
    .best = OG_BEST_ACC,
    .figures = of_classes,
    .counts = true,
    .lists = lists_of_classes,
    .score = score_classes,
};
