/* trainers: several mini-batches at a time, each computed by one of them. Samplers stand in as
 * trainers while they have no batch (Yang et al. 2022, section 5.3).
 *
 *   flow ──> consumer ──give──> trainer 0          each has a copy of the mini-batch,
 *    │         ^        │       trainer 1          parameters and gradients
 *    │         │        └─────> standby trainer 0  while sampler 0 rests, if that pays
 *    │         └──take──┘                          parts come back in the order they were given
 *    └─ rest, resume of sampler 0, 1, ... (og_idle_hooks)
 *
 * A consumer may return a mini-batch to the flow at once: the trainer copies all that it reads. So
 * the cache may change while it is computed. Any trainer that is free takes the next; whoever takes
 * the parts adds them in order, so the sums are the same whoever the trainers are.
 *
 * One thread gives and takes; samplers call rest and resume. */
#ifndef OG_TRAINERS_H
#define OG_TRAINERS_H

#include "learn/trainer_kind.h"
#include "options/trainer_count.h"
#include "plan/executors.h"

struct og_trainers;

/* What opening them takes: "model" and "activations". */
size_t og__trainers_model_bytes(const struct og_nn_ops *ops, const struct og_workload *f,
                                const struct og_trainers_setup *s);
size_t og__trainers_activation_bytes(const struct og_nn_ops *ops, const struct og_workload *f,
                                     const struct og_trainers_setup *s);

/* rows: that come to their devices, of whose memory each has so many bytes; NULL: from the host. */
OG_MUST_CHECK int og__trainers_open(struct og_trainers **out, const struct og_learner *l,
                                    const struct og_workload *f, const struct og_trainers_setup *s,
                                    struct og_device_rows *rows, size_t bound, struct og_budget *b,
                                    struct og_err *err);
/* What they are computing is finished, and dropped. NULL: nothing. */
void og__trainers_close(struct og_trainers *t);

/* Picks a trainer for a mini-batch when `remaining` of the epoch wait, itself included. Returns -1
 * where the oldest that was given is to be taken first. Waits for one of the two. `keeper`: the
 * device that has its rows; -1: none. */
int og__trainers_pick(struct og_trainers *t, uint64_t remaining, int keeper);
/* A mini-batch to the one that was picked, with the parameters that its step is to see
 * (og__steps_show). The pool's threads copy it. */
OG_MUST_CHECK int og__trainers_give(struct og_trainers *t, int one, const struct og_work *w,
                                    const struct og_steps *steps, int ended, struct og_pool *pool,
                                    struct og_err *err);
/* The part of the oldest one that was given; waits for it. It stays until the next give. */
OG_MUST_CHECK int og__trainers_take(struct og_trainers *t, struct og_part *part,
                                    struct og_err *err);

/* What the flow's samplers call. Stays while the trainers do. */
const struct og_idle_hooks *og__trainers_idle_hooks(struct og_trainers *t);

/* What each did so far: samplers, whether they stand in or not, then trainers. */
struct og_trainers_did {
    int samplers, trainers;
    struct og_executor_did {
        int device;                /* that trains, its number; of CPUs 0 */
        uint64_t sampled, trained; /* mini-batches */
        double sample_seconds, train_seconds;
    } did[OG__MOST_EXECUTORS];
};
void og__trainers_tell(struct og_trainers *t, struct og_trainers_did *out);

#endif
