/* How well a model does on a split that was held out: what its task is measured by.
 *
 *   classes   acc, macro_f1, micro_f1, weighted_f1; auc, ap; f1, auc, ap of class 1 where there are
 *             two
 *   labels    micro_f1, macro_f1, weighted_f1, auc, ap over all (node, class), macro_auc, macro_ap
 *   values    mse, mae, r2
 *   links     auc, ap, mrr, hits@K
 *
 * Areas need every score of a pass. A list has those that should be high from the front and the
 * others from the back, and is sorted when the pass is over. F1 needs counts of classes. */
#ifndef OG_SCORES_H
#define OG_SCORES_H

#include "base/json.h"
#include "nn/tasks.h"

struct og_scores {
    const struct og_model_config *config; /* borrowed */
    struct og_model *model;
    struct og_budget *budget;
    struct og_pass_sizes sizes;
    float *value;                  /* [lists][most] */
    struct og_score_list *list;    /* [lists] */
    struct og_class_counts *count; /* [classes] */
    uint64_t *confusion;           /* [confused][confused]: of rows by truth and prediction */
    float *row, *score;            /* of one item: [C] if that is wide; [lists] */
    int8_t *high;                  /* [lists] */
    struct og_pass_metrics pass;
};

/* Memory ("labels") for passes over at most n items. model: has the outputs that og__scores_add
 * reads, or NULL. */
OG_MUST_CHECK int og__scores_open(struct og_scores *c, const struct og_model_config *config,
                                  struct og_model *model, size_t n, struct og_budget *b,
                                  struct og_err *err);
void og__scores_close(struct og_scores *c);
void og__scores_clear(struct og_scores *c);

/* After the model's forward pass over n seeds, or pairs, with these targets. */
OG_MUST_CHECK int og__scores_add(struct og_scores *c, uint32_t n, const void *targets,
                                 struct og_err *err);
/* The same of rows of outputs in host memory, [n, C]. */
void og__scores_put(struct og_scores *c, const float *made, uint32_t n, const void *targets);
/* At the end of a pass: makes the metrics that need all of it. */
void og__scores_rank(struct og_scores *c);
/* Is anything kept besides og_metrics? Then an interrupted pass begins again. */
bool og__scores_keep(const struct og_scores *c);
/* Counts as one array, for sums over ranks. */
uint64_t *og__scores_counts(const struct og_scores *c, size_t *n);

/* One number, the more the better. As og__metrics_acc, but the area for links. */
double og__scores_chief(const struct og_scores *c, const struct og_metrics *sum);
/* A figure that the task has (og__best_check); NaN where no score gives it. */
double og__scores_figure(const struct og_scores *c, const struct og_metrics *sum, int kind);
/* All that the task is measured by. */
json_t *og__scores_json(const struct og_scores *c, const struct og_metrics *sum);
/* A row per class or label, and the confusion matrix; null where they are not counted. The
 * dataset's meta.json may name classes. */
json_t *og__scores_classes_json(const struct og_scores *c, const json_t *meta);
json_t *og__scores_confusion_json(const struct og_scores *c);

#endif
