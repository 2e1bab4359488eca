/* How well a model does on a split that was held out: what its task is measured by.
 *
 *   classes   acc; f1, auc, ap of class 1 where there are two
 *   labels    micro_f1, auc, ap over all (node, class)
 *   values    mse, mae, r2
 *   links     auc, ap, mrr, hits@K
 *
 * Areas need every score of a pass. One array has those that should be high from the front and the
 * others from the back. It is sorted when the pass is over. */
#ifndef OG_SCORES_H
#define OG_SCORES_H

#include "base/json.h"
#include "budget/workload.h"

struct og_scores {
    const struct og_workload *workload;
    struct og_model *model;
    struct og_budget *budget;
    float *value; /* [most]; NULL where the task needs none */
    size_t most, n_high, n_low;
    struct og_ranking ranking;
};

OG_MUST_CHECK int og__scores_open(struct og_scores *c, const struct og_workload *f,
                                  struct og_model *model, struct og_budget *b, struct og_err *err);
void og__scores_close(struct og_scores *c);
void og__scores_clear(struct og_scores *c);

/* After the model's forward pass over a batch with these targets. */
OG_MUST_CHECK int og__scores_add(struct og_scores *c, const struct og_batch *batch,
                                 const void *targets, struct og_err *err);
/* At the end of a pass: makes the areas. */
void og__scores_rank(struct og_scores *c);

/* One number, the more the better. As og__metrics_acc, but the area for links. */
double og__scores_chief(const struct og_scores *c, const struct og_metrics *sum);
/* A figure that the task has (og__best_check); NaN where no score gives it. */
double og__scores_figure(const struct og_scores *c, const struct og_metrics *sum, int kind);
/* The node metrics that follow from sums alone: loss, and acc, micro_f1, or mse, mae and r2. */
json_t *og__metrics_json(const struct og_model_config *config, const struct og_metrics *sum);
/* All that the task is measured by. */
json_t *og__scores_json(const struct og_scores *c, const struct og_metrics *sum);

#endif
