/* steps: how mini-batches become updates. These numbers decide what is learnt, whoever computes.
 *
 *   --accumulate G   a step takes G consecutive mini-batches of the schedule. The last one of an
 *                    epoch takes those that are left
 *
 *        epoch 1                      epoch 2
 *        | b b b b | b b b b | b b |  | b b b b | ...                               G = 4
 *          step 1    step 2    3        4
 *
 *     Its gradient is that of the mean loss over all of it: the sum, in the order of the schedule,
 *     of w g, divided by the sum of w; g is the gradient of a mini-batch's mean loss, w the weight
 *     of its terms (og_metrics). A step of one mini-batch has that one's g as it is.
 *
 *   --staleness s    gradients of step i are those at the parameters after step i - 1 - s. Before
 *                    that at the initial ones; updates are applied in the order of steps
 *
 *   --clip C         that gradient g becomes g min(1, C / (|g| + 1e-6)), |g| over all parameters
 *
 * Outside of og__steps_gradients the model has the parameters after all steps that were made. Its
 * running statistics take in every mini-batch, whichever parameters it was computed with. */
#ifndef OG_STEPS_H
#define OG_STEPS_H

#include "nn/nn.h"
#include "nn/ops.h"
#include "sample/schedule.h"

struct og_learnt;
struct og_places_view;
struct og_steps {
    struct og_model *model;
    struct og_learnt *learnt;            /* rows outside of it; NULL: none */
    const struct og_rows *rows;          /* of the batch whose gradients it has */
    const struct og_places_view *places; /* by which it saw them */
    struct og_budget *budget;
    const struct og_options *opt;
    size_t n;     /* numbers that training changes; vectors are those of all parameters in order */
    float *sum;   /* [n] of w g of the step under way, else 0; NULL: steps are of one mini-batch.
                     Where ranks add, each has its slice alone until they share the sum */
    float *older; /* [staleness, n] parameters after earlier steps, a ring; NULL: none */
    int oldest;   /* where it begins */
    bool whole;   /* sum is the gradient of a step of one mini-batch, as it is */
    /* where ranks add on their devices the sum is there, and here when it was fetched; NULL */
    const struct og_sums_ops *sums_ops;
    struct og_sums *sums;
};

/* What open takes, for the memory plan: "model". */
size_t og__steps_bytes(const struct og_model_config *model, const struct og_options *opt);
/* The model's parameters are the initial ones. opt must outlive it. */
OG_MUST_CHECK int og__steps_open(struct og_steps *s, struct og_model *model,
                                 const struct og_options *opt, struct og_budget *b,
                                 struct og_err *err);
void og__steps_close(struct og_steps *s);

/* How many mini-batches the step of a training mini-batch has; and is it the last of them? */
uint32_t og__step_size(const struct og_options *opt, const struct og_schedule *schedule,
                       uint32_t batch);
bool og__step_ends(const struct og_options *opt, const struct og_schedule *schedule,
                   uint32_t batch);

/* og__model_part at the parameters that the step is to see: running statistics are as they were. */
OG_MUST_CHECK int og__steps_part(struct og_steps *s, const struct og_batch *batch,
                                 const struct og_rows *x, const struct og_edge_rows *edges,
                                 const void *labels, const struct og_step *key,
                                 struct og_metrics *out, struct og_err *err);
/* Adds gradients of the mean over terms of `weight` to the sum of a step. `from` has them, the
 * model or one that computed for it; the step has `size` mini-batches. In the order of the
 * schedule. */
OG_MUST_CHECK int og__steps_add(struct og_steps *s, struct og_model *from, uint32_t size,
                                double weight, struct og_err *err);
/* Adds numbers [first, first + n) of a gradient that was fetched. For sums in slices, also of one
 * mini-batch. */
OG_MUST_CHECK int og__steps_fetch(const struct og_steps *s, struct og_model *from, float *gradient,
                                  struct og_err *err);
void og__steps_add_slice(struct og_steps *s, const float *gradient, size_t first, size_t n,
                         uint32_t size, double weight);
/* And to where it is added on devices. */
OG_MUST_CHECK int og__steps_take(const struct og_steps *s, struct og_model *from,
                                 struct og_err *err);
/* A step's inputs besides gradients, by the options. */
struct og_pace og__steps_pace(const struct og_options *opt, double lr);
/* Updates when the step's mini-batches, of `weight` in all, are there. `number` counts updates from
 * 1; `lr` is the learning rate. */
OG_MUST_CHECK int og__steps_update(struct og_steps *s, uint32_t size, double weight,
                                   uint64_t number, double lr, struct og_err *err);

/* Copies the parameters that a step is to see into a model that computes for it. Then `ended`
 * counts steps before it that are not made yet, though all their mini-batches were given out; at
 * most the staleness. */
OG_MUST_CHECK int og__steps_show(const struct og_steps *s, int ended, struct og_model *to,
                                 struct og_err *err);

/* Parameters after the step k steps after the oldest that is kept, k < staleness. */
float *og__steps_older(const struct og_steps *s, int k);

#endif
