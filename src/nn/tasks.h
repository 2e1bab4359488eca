/* Tasks and losses: a table each, in the order of enum og_task_kind and enum og_loss_kind. A row
 * names the struct of its traits and functions, og__task_<name> or og__loss_<name>. The common
 * parts of tasks on rows, or on pairs of rows, are in step.c and links.c. */
#ifndef OG_NN_TASKS_H
#define OG_NN_TASKS_H

#include "nn/decoders.h"
#include "nn/ops.h"

/* clang-format off */
#define OG__TASKS(row) \
    row(NODE, node) \
    row(LINK, link) \
    row(REGRESSION, regression) \
    row(EDGE, edge) \
    row(EDGE_REGRESSION, edge_regression)

#define OG__LOSSES(row) \
    row(BCE, bce) \
    row(MARGIN, margin) \
    row(MSE, mse) \
    row(MAE, mae) \
    row(HUBER, huber) \
    row(FOCAL, focal) \
    row(CROSS_ENTROPY, cross_entropy)
/* clang-format on */

/* ---- tasks ---- */

/* Targets of a task. If seeds have weights these follow the first three, f32 [B]. */
enum og__targets {
    OG__OF_CLASSES, /* int32 [B], -1 = none */
    OG__OF_LABELS,  /* f32 [B, C] of 0 and 1, NaN = none */
    OG__OF_VALUES,  /* f32 [B, C], NaN = none */
    OG__OF_PAIRS,   /* a struct og_pairs: edges and negatives */
};

/* Metrics that need a whole pass over a split; NAN: not defined. With two classes `auc`, `ap` and
 * `f1` are those of class 1. With more they are means over classes, each against the rest. With
 * several labels `auc` and `ap` are over all pairs of row and label, `macro_*` means over labels.
 */
struct og_pass_metrics {
    double auc, ap, f1, macro_auc, macro_ap;
    double macro_f1, weighted_f1; /* mean over classes; weighted by their rows */
    bool ranked;                  /* edges are, among negatives given for all of them: */
    struct og_ranks_among given;
};

/* Results of a pass over n items (rows or edges): scores to rank, and counts of classes. */
enum {
    OG__MOST_COUNTED = 4096,  /* more classes or labels are not counted */
    OG__MOST_CONFUSED = 256,  /* more classes have no confusion matrix */
    OG__FEW_SCORES = 1 << 21, /* of more than two classes, kept even if --best-by needs none */
};
struct og_score_list {
    size_t n_high, n_low;
    struct og_ranking ranking;
};
struct og_class_counts {
    uint64_t known;                   /* rows of which the label is known */
    uint64_t there, predicted, right; /* rows that have it; that the model says have it; both */
};
struct og_pass_sizes {
    uint32_t lists;    /* of scores, ranked one by one */
    size_t most;       /* scores of a list */
    uint32_t classes;  /* counted; 0: none */
    uint32_t confused; /* rows and columns of the confusion matrix; 0: none */
    uint32_t wide;     /* numbers of an item, if they are more than OG__MOST_COUNTED; else 0 */
};
struct og_pass_sizes og__pass_sizes(const struct og_model_config *c, size_t n);
size_t og__pass_bytes(const struct og_pass_sizes *s);

/* A metric of a task, named og__best_words[kind]. */
struct og_figure {
    int kind; /* enum og_best_kind */
    double (*of)(const struct og_metrics *sum, const struct og_pass_metrics *pass);
    enum og__figure_source {
        OG__FROM_SUMS,
        OG__FROM_SCORES,
        OG__FROM_COUNTS,
        OG__FROM_TWO_CLASSES
    } from;
};
/* Is it measured for this configuration? */
bool og__figure_there(const struct og_model_config *c, const struct og_figure *f);

struct og_task {
    /* Seeds are edges: pairs of rows. Otherwise they are rows. */
    bool pairs;
    bool embeds; /* the output is an embedding, as wide as --hidden; else it has C columns */
    /* Pairs have this task's targets, loss and metrics, which are not set here; NULL: own ones. */
    const struct og_task *as;
    enum og__targets targets;
    /* The labels decide the task. With several labels per node, or with shares of classes, it is
     * one of these two; NULL: unchanged. With values it is the task of this kind. */
    const struct og_task *of_labels, *of_shares;
    int of_values;
    int loss;                      /* enum og_loss_kind, the default; OG_LOSS_AUTO: the only loss */
    const char *const *parameters; /* options; ends with NULL; NULL: none */
    /* Loss of rows of logits; not for pairs. */
    int (*rows)(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_loss *op,
                struct og_err *err);
    /* The chief metric, larger is better; approximated if `pass` is NULL. */
    double (*chief)(const struct og_metrics *sum, const struct og_pass_metrics *pass);
    int best; /* enum og_best_kind: the chief metric, which selects the best epoch */
    const struct og_figure *figures; /* in addition to the loss; ends with OG_BEST_AUTO */
    bool counts;                     /* classes or labels are counted */
    /* Number of lists of scores that are ranked. A list has high and low ones. NULL: none. */
    uint32_t (*lists)(const struct og_model_config *c);
    bool pools; /* all lists together are ranked too */
    /* Makes the score of item i for each list, from its row or its pair's score.
     *
     * high[l]: 1 if it should be high, 0 if low, -1 if it does not count */
    void (*score)(const struct og_model_config *c, const void *targets, size_t i, const float *made,
                  float *score, int8_t *high);
};
/* Metrics of several tasks. */
double og__auc(const struct og_metrics *m, const struct og_pass_metrics *pass);
double og__ap(const struct og_metrics *m, const struct og_pass_metrics *pass);
double og__macro_f1(const struct og_metrics *m, const struct og_pass_metrics *pass);
double og__weighted_f1(const struct og_metrics *m, const struct og_pass_metrics *pass);

#define OG__TASK_DECLARED(NAME, name) extern const struct og_task og__task_##name;
OG__TASKS(OG__TASK_DECLARED)

/* A row of the table; and the task of a configuration, which depends on the labels too. */
const struct og_task *og__task(int kind);
const struct og_task *og__task_of(const struct og_model_config *c);
static inline bool og__of_pairs(const struct og_model_config *c)
{
    return og__task(c->task)->pairs;
}
/* Whether pairs have labels or values, to which a decoder maps both embeddings (links.c). */
static inline bool og__labels_pairs(const struct og_model_config *c)
{
    return og__of_pairs(c) && og__task_of(c)->targets != OG__OF_PAIRS;
}
/* Widths: of a seed's output; of what the decoder reads of a pair; of an item's scores. */
static inline int og__model_width(const struct og_model_config *c)
{
    return og__labels_pairs(c) ? c->hidden : c->n_classes;
}
static inline int og__pair_width(const struct og_model_config *c)
{
    return og__labels_pairs(c) ? 2 * c->hidden + c->pair_dim : c->n_classes;
}
static inline int og__score_width(const struct og_model_config *c)
{
    return og__task_of(c)->targets == OG__OF_PAIRS ? 1 : c->n_classes;
}
/* Whether an MLP scores pairs. */
static inline bool og__perceives(const struct og_model_config *c)
{
    return og__of_pairs(c) && (og__labels_pairs(c) || og__scoring(c->decoder)->perceives);
}
/* Whether a vector of each relation is learned. */
static inline bool og__relates(const struct og_model_config *c)
{
    return og__of_pairs(c) && !og__labels_pairs(c) && og__scoring(c->decoder)->relates;
}
/* The targets of a kind of task, unless there are several labels. */
enum og__targets og__targets_of_task(int kind);
/* The kind of task that `kind` becomes if labels are values, or are not. */
int og__task_by_labels(int kind, bool values);

/* ---- the best epoch ---- */

/* Decides whether the scores of more than two classes are kept. They are if a split of n rows has
 * few, or if --best-by needs them. */
void og__keep_class_scores(struct og_model_config *c, int best_by, size_t n);
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
    /* For pairs: the mean; fills op->grad unless it is NULL. */
    double (*pairs)(const struct og_link_loss *op, uint32_t n_negatives);
    bool rows; /* of a row's shares and its softmax (og_loss); not for other values */
};
#define OG__LOSS_DECLARED(NAME, name) extern const struct og_loss_ops og__loss_##name;
OG__LOSSES(OG__LOSS_DECLARED)

/* A row of the table; not for OG_LOSS_AUTO. */
const struct og_loss_ops *og__loss(int kind);
/* The loss of a configuration; the default of its task if it has none that the task accepts. */
int og__loss_of(const struct og_model_config *c);

#endif
