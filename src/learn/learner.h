/* learner: what learns in a session, a model and the operators that it computes with. Nothing else
 * calls either while a session opens: a session without OG__WANT_MODEL has none, and a build
 * without operators says so here. */
#ifndef OG_LEARNER_H
#define OG_LEARNER_H

#include "budget/memory_plan.h"
#include "nn/nn.h"
#include "options/devices.h"

struct og_learner {
    const struct og_nn_ops *ops;
    struct og_devices devices;  /* that it computes on; the model is on the first */
    struct og_model *model;     /* NULL: not opened */
    struct og_edge_rows *edges; /* [n_relations] of a batch; NULL: none */
};

/* ---- before there is one ---- */

/* OG__WANT_* of a session that plans for one that trains; none in a build without models. */
unsigned og__learner_wants(void);

/* Takes options of --init into config->opt as far as `requested` has no others. They are the
 * sampler's, and of links those that say which edges were trained on. */
OG_MUST_CHECK int og__learner_adopt(struct og_config *config, const struct og_options *requested,
                                    struct og_err *err);
/* Are batches read by a model of ours? Who computes with those that are handed over has another. */
bool og__reads_as_a_model(const struct og_config *config);
/* Are there labels to learn from, or to judge the given model by, where that is done? */
OG_MUST_CHECK int og__learner_check_labels(const struct og_workload *f,
                                           const struct og_config *config,
                                           const struct og_model_config *given, struct og_err *err);
/* f->shape: `given` where a checkpoint has one, which must fit the dataset; NULL = as options and
 * dataset say. It is checked where it is read by (og__reads_as_a_model). */
OG_MUST_CHECK int og__learner_shape(struct og_workload *f, const struct og_config *config,
                                    const struct og_model_config *given, struct og_err *err);
/* What a model of this shape needs of batches: OG__WITH_DEGREES, or nothing. */
unsigned og__learner_extras(const struct og_workload *f);

/* Its operators, on --device; what the libraries below take of memory once and for all is taken
 * now. */
OG_MUST_CHECK int og__learner_begin(struct og_learner *l, const struct og_config *config,
                                    struct og_pool *pool, struct og_err *err);
/* What it will take with batches of f->caps: into f->bytes. */
void og__learner_sizes(const struct og_learner *l, struct og_workload *f,
                       const struct og_config *config);

/* What computes on the k-th of its devices, and what that takes of the device's memory. */
struct og_device_use {
    int trainers; /* 0: the model alone, or nobody */
    size_t model, activations;
    size_t library; /* of activations */
};
struct og_device_use og__learner_device_use(const struct og_learner *l, const struct og_workload *f,
                                            const struct og_config *config, int k);

/* ---- while there is one ---- */

/* With parameters as --seed draws them, for batches of the caps; gradients where the session wants
 * training. */
OG_MUST_CHECK int og__learner_open(struct og_learner *l, const struct og_plan_inputs *p,
                                   struct og_pool *pool, struct og_budget *b, struct og_err *err);
void og__learner_close(struct og_learner *l);

/* Memory for a batch's rows of edges, if batches have them: the caller frees it. The second fills
 * it from the rows of a work. */
OG_MUST_CHECK int og__learner_edges(struct og_edge_rows **room, const struct og_workload *f,
                                    struct og_err *err);
const struct og_edge_rows *og__learner_view(struct og_edge_rows *room, const struct og_workload *f,
                                            const struct og_rows *rows);

/* Seconds of one step on the batch, by a model that is opened for it alone. Rows are all zero. */
OG_MUST_CHECK int og__learner_time(const struct og_learner *l, const struct og_plan_inputs *p,
                                   const struct og_batch *batch, const struct og_pairs *pairs,
                                   struct og_pool *pool, struct og_budget *b, double *seconds,
                                   struct og_err *err);

/* Seconds in which n groups of `threads` compute a mini-batch each, all at the same time: the
 * slowest. For sessions that train. */
struct og_groups {
    int n, threads;
};
OG_MUST_CHECK int og__learner_time_groups(const struct og_learner *l,
                                          const struct og_plan_inputs *p,
                                          const struct og_batch *batch,
                                          const struct og_pairs *pairs,
                                          const struct og_groups *groups, struct og_budget *b,
                                          double *seconds, struct og_err *err);

#endif
