/* targets: what a model learns a batch from. */
#ifndef OG_TARGETS_H
#define OG_TARGETS_H

#include "budget/workload.h"
#include "flow/flow.h"

/* May a checkpoint's model be applied to features `dim` wide? -EINVAL, naming both. */
OG_MUST_CHECK int og__features_check(const struct og_model_config *c, const char *dataset, int dim,
                                     struct og_err *err);
/* Names of the model's classes or labels, as the graph has them; NULL: none that fit. */
const json_t *og__class_names(const struct og_graph *ds, const struct og_model_config *c);
/* May its outputs be judged by these labels? Not of links. c->task: as its file says it, or
 * -1. A graph may have fewer classes than the model. */
OG_MUST_CHECK int og__targets_check(const struct og_graph *ds, const struct og_model_config *c,
                                    struct og_err *err);
/* The same of a split that was loaded: it has nodes with labels, and none of another class. */
OG_MUST_CHECK int og__targets_check_split(const struct og_graph *ds,
                                          const struct og_model_config *c,
                                          const struct og_split *split, const char *name,
                                          struct og_err *err);
/* Nodes of a split that have a label, or a value. */
int64_t og__labelled(const struct og_graph *ds, const struct og_split *split);
/* Makes the label of node k of a split unknown. */
void og__forget_label(const struct og_graph *ds, void *labels, int64_t k);

/* Gathers labels of a work's turn, which may list a node twice, or of its distinct seeds. Into
 * `out` (og__labels_bytes of the batch size). */
void og__work_labels(const struct og_workload *f, const struct og_work *w, void *out);
void og__seed_labels(const struct og_workload *f, const struct og_work *w, void *out);
/* Gathers the own rows of a work's edges into `out`; NULL: they have none. */
void og__work_rows(const struct og_workload *f, struct og_work *w, float *out);
/* Where they are in the targets of n edges. */
static inline float *og__own_rows_in(const struct og_workload *f, uint32_t n, void *targets)
{
    const size_t bytes = n * (size_t)f->shape.pair_dim * sizeof(float);
    return (float *)(void *)((char *)targets + og__seed_targets_bytes(f, n) - bytes);
}
/* Labels of the seeds, followed by the seeds' weights, if any. These are --seed-weights times how
 * often the turn lists each. Into `out` (og__targets_bytes). For
 * edges it returns the work's pairs, which point to `out` if they have labels. */
const void *og__work_targets(const struct og_workload *f, struct og_work *w, void *out);

#endif
