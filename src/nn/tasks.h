/* What is learnt, and by which loss: a row of a table each, in the order of enum og_task_kind and
 * enum og_loss_kind. A row names the struct of its traits and functions, og__task_<name> or
 * og__loss_<name>; what is common to those who learn from rows, or from pairs of them, is in step.c
 * and links.c. */
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
    row(HUBER, huber)
/* clang-format on */

/* ---- tasks ---- */

/* What is learnt from. */
enum og__targets {
    OG__OF_CLASSES, /* int32 [B], -1 = none */
    OG__OF_LABELS,  /* f32 [B, C] of 0 and 1, none missing */
    OG__OF_VALUES,  /* f32 [B, C], NaN = none */
    OG__OF_PAIRS,   /* a struct og_pairs: edges, and pairs without one */
};

/* A number that a task is measured by, named og__best_words[kind]. areas: of the scores of a pass,
 * NULL where none were kept; then a figure `of_areas` is left out. */
struct og_figure {
    int kind; /* enum og_best_kind */
    double (*of)(const struct og_metrics *sum, const struct og_ranking *areas);
    bool of_areas;
};

struct og_task {
    enum og__targets targets;
    bool embeds; /* the output is an embedding, as wide as --hidden; else it is C wide */
    /* Labels decide which task it is. Where a node may have several: this one, NULL: the same.
     * Where they are values: the task of this kind. */
    const struct og_task *of_labels;
    int of_values;
    int loss; /* enum og_loss_kind, unless given; OG_LOSS_AUTO: there is one, and no choice */
    const char *const *parameters; /* options, ends with NULL; NULL: none */
    /* Loss of rows of logits, by `loss` of its own; not of pairs. */
    int (*rows)(const struct og_nn_ops *ops, struct og_nn_backend *be, int loss,
                const struct og_loss *op, struct og_err *err);
    /* One number, the more the better; without areas something like it. */
    double (*chief)(const struct og_metrics *sum, const struct og_ranking *areas);
    int best; /* enum og_best_kind: the figure that chief is, by which the best epoch is chosen */
    const struct og_figure *figures; /* beside the loss; ends with OG_BEST_AUTO */
    /* Scores that areas are made of: so many of n items (rows, or edges) of an output C wide, each
     * of `score_width` numbers; NULL: none. */
    size_t (*n_scores)(int n_classes, size_t n);
    int score_width;
    /* Score i, made of the numbers at `made`: 1 it should be high, 0 low, -1 it does not count. */
    int (*score)(const void *targets, size_t i, const float *made, float *score);
};
/* Figures of several tasks. */
double og__auc(const struct og_metrics *m, const struct og_ranking *areas);
double og__ap(const struct og_metrics *m, const struct og_ranking *areas);
double og__f1(const struct og_metrics *m, const struct og_ranking *areas);

#define OG__TASK_DECLARED(NAME, name) extern const struct og_task og__task_##name;
OG__TASKS(OG__TASK_DECLARED)

/* A row of the table; and what a model learns, which its labels decide as well. */
const struct og_task *og__task(int kind);
const struct og_task *og__task_of(const struct og_model_config *c);
static inline bool og__of_pairs(const struct og_model_config *c)
{
    return og__task_of(c)->targets == OG__OF_PAIRS;
}
/* The kind of task that `kind` is where labels are values, or are not. */
int og__task_by_labels(int kind, bool values);

/* ---- the best epoch ---- */

/* Are scores of a pass kept, so that figures of areas are known? */
bool og__keeps_scores(const struct og_model_config *c);
/* Which figure --best-by means for the task: its own for auto, and f1 is whichever F1 it has. */
int og__best_of(const struct og_model_config *c, int best_by);
/* -EINVAL, with those that the task has, where it has no such figure. */
OG_MUST_CHECK int og__best_check(const struct og_model_config *c, int best_by, struct og_err *err);
/* Is less of it better? */
bool og__best_is_less(int kind);

/* ---- losses ---- */

struct og_loss_ops {
    unsigned tasks; /* that take it: bits 1 << enum og_task_kind */
    /* Of values: the loss of one, and its slope by what was made. */
    double (*value)(float made, float wanted, float *slope);
    /* Of pairs: the mean; fills op->grad, unless it is NULL. */
    double (*pairs)(const struct og_link_loss *op, uint32_t n_negatives);
};
#define OG__LOSS_DECLARED(NAME, name) extern const struct og_loss_ops og__loss_##name;
OG__LOSSES(OG__LOSS_DECLARED)

/* A row of the table; not of OG_LOSS_AUTO. */
const struct og_loss_ops *og__loss(int kind);
/* What a model is trained by: its task's own where it has none that the task takes. */
int og__loss_of(const struct og_model_config *c);

#endif
