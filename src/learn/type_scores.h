/* Metrics of each node type, where nodes of several types have labels. The loss of a batch is
 * computed again from its logits for each type, with labels of other types unknown. */
#ifndef OG_TYPE_SCORES_H
#define OG_TYPE_SCORES_H

#include "learn/scores.h"
#include "learn/targets.h"

struct og_type_score {
    const char *name;
    uint32_t type;
    struct og_metrics sum;
    struct og_scores scores;
};

struct og_type_scores {
    const struct og_workload *workload; /* borrowed, as the model is */
    struct og_model *model;
    struct og_budget *budget;
    int ranks, rank; /* that evaluate a share each; the own one */
    uint32_t n;      /* types with seeds; 0: one, whose metrics are those of all */
    struct og_type_score *of;
    struct og_metrics *part; /* [ranks][n] of a batch of each rank */
    void *targets;           /* of a batch */
};

/* What passes over held-out nodes keep ("labels"); 0: seeds are of one type. */
size_t og__type_scores_bytes(const struct og_workload *f, int ranks);
OG_MUST_CHECK int og__type_scores_open(struct og_type_scores *c, const struct og_workload *f,
                                       struct og_model *model, int ranks, int rank,
                                       struct og_budget *b, struct og_err *err);
void og__type_scores_close(struct og_type_scores *c);
void og__type_scores_clear(struct og_type_scores *c);

/* After the model's forward pass over a batch with these targets: the own part. */
OG_MUST_CHECK int og__type_scores_add(struct og_type_scores *c, const struct og_work *w,
                                      const void *targets, struct og_err *err);
/* Counts the part of a rank, in the order of the schedule. */
void og__type_scores_take(struct og_type_scores *c, int rank);
/* At the end of a pass. */
void og__type_scores_rank(struct og_type_scores *c);
/* Per type `nodes` and its metrics; null if seeds are of one type. */
json_t *og__type_scores_json(const struct og_type_scores *c);

#endif
