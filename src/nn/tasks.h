/* Tasks and losses: a table each, in the order of enum og_task_kind and enum og_loss_kind. A row
 * names the struct of its traits and functions, og__task_<name> or og__loss_<name>. The common
 * parts of tasks on rows, or on pairs of rows, are in step.c and links.c. */
#ifndef OG_NN_TASKS_H
#define OG_NN_TASKS_H

#include "nn/ops.h"

/* clang-format off */
#define OG__TASKS(row) \
    row(NODE, node) \
    row(LINK, link) \
    row(REGRESSION, regression)

#define OG__LOSSES(row) \
    row(BCE, bce) \
    row(MARGIN, margin) \
    row(MSE, mse) \
    row(MAE, mae) \
    row(HUBER, huber) \
    row(FOCAL, focal)
/* clang-format on */

/* ---- tasks ---- */

/* Targets of a task. */
enum og__targets {
    OG__OF_CLASSES, /* int32 [B], -1 = none; then float32 [B] if seeds have weights */
    OG__OF_LABELS,  /* f32 [B, C] of 0 and 1, NaN = none */
    OG__OF_VALUES,  /* f32 [B, C], NaN = none */
    OG__OF_PAIRS,   /* a struct og_pairs: edges and negatives */
};

/* A metric of a task, named og__best_words[kind]. Scores of a pass give `areas`, or NULL; without
 * them a metric `of_areas` is left out. */
struct og_figure {
    int kind; /* enum og_best_kind */
    double (*of)(const struct og_metrics *sum, const struct og_ranking *areas);
    bool of_areas;
};

struct og_task {
    enum og__targets targets;
    bool embeds; /* the output is an embedding, as wide as --hidden; else it has C columns */
    /* The labels decide the task. With several labels per node it is this one; NULL: unchanged.
     * With values it is the task of this kind. */
    const struct og_task *of_labels;
    int of_values;
    int loss;                      /* enum og_loss_kind, the default; OG_LOSS_AUTO: the only loss */
    const char *const *parameters; /* options; ends with NULL; NULL: none */
    /* Loss of rows of logits; not for pairs. */
    int (*rows)(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_loss *op,
                struct og_err *err);
    /* The chief metric, larger is better; approximated if areas are NULL. */
    double (*chief)(const struct og_metrics *sum, const struct og_ranking *areas);
    int best; /* enum og_best_kind: the chief metric, which selects the best epoch */
    const struct og_figure *figures; /* in addition to the loss; ends with OG_BEST_AUTO */
    /* Number of scores for areas of n items (rows or edges) with C output columns. Each score is
     * made from `score_width` numbers; NULL: none. */
    size_t (*n_scores)(int n_classes, size_t n);
    int score_width;
    /* Score i from the numbers at `made`. Returns 1 if positive, 0 if negative, -1 if it does not
     * count. */
    int (*score)(const void *targets, size_t i, const float *made, float *score);
};
/* Metrics of several tasks. */
double og__auc(const struct og_metrics *m, const struct og_ranking *areas);
double og__ap(const struct og_metrics *m, const struct og_ranking *areas);
double og__f1(const struct og_metrics *m, const struct og_ranking *areas);

#define OG__TASK_DECLARED(NAME, name) extern const struct og_task og__task_##name;
OG__TASKS(OG__TASK_DECLARED)

/* A row of the table; and the task of a configuration, which depends on the labels too. */
const struct og_task *og__task(int kind);
const struct og_task *og__task_of(const struct og_model_config *c);
static inline bool og__of_pairs(const struct og_model_config *c)
{
    return og__task_of(c)->targets == OG__OF_PAIRS;
}
/* The kind of task that `kind` becomes if labels are values, or are not. */
int og__task_by_labels(int kind, bool values);

/* ---- the best epoch ---- */

/* Whether the scores of a pass are kept, so that metrics of areas are known. */
bool og__keeps_scores(const struct og_model_config *c);
/* The metric that --best-by names for the task: its own for auto, and its F1 for f1. */
int og__best_of(const struct og_model_config *c, int best_by);
/* -EINVAL if the task has no such metric; `err` lists the metrics that it has. */
OG_MUST_CHECK int og__best_check(const struct og_model_config *c, int best_by, struct og_err *err);
/* The larger the better; NaN, an undefined score, is the worst. */
double og__best_worth(int kind, double value);

/* ---- losses ---- */

struct og_loss_ops {
    unsigned tasks; /* tasks with this loss: bits 1 << enum og_task_kind */
    const char *const
        *parameters; /* options, in the order after the colon; ends with NULL; or NULL */
    /* For classes and labels: the loss by l = -log p, p the probability of what the label says.
     * *slope: the factor of l's own derivative by a logit. */
    double (*classes)(float gamma, double l, float *slope);
    /* For values: the loss of one, and its derivative. */
    double (*value)(float made, float wanted, float *slope);
    /* For pairs: the mean; fills op->grad unless it is NULL. */
    double (*pairs)(const struct og_link_loss *op, uint32_t n_negatives);
};
#define OG__LOSS_DECLARED(NAME, name) extern const struct og_loss_ops og__loss_##name;
OG__LOSSES(OG__LOSS_DECLARED)

/* A row of the table; not for OG_LOSS_AUTO. */
const struct og_loss_ops *og__loss(int kind);
/* The loss of a configuration; the default of its task if it has none that the task accepts. */
int og__loss_of(const struct og_model_config *c);

#endif
