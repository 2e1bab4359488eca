/* trainers: several mini-batches at a time, each computed by a group of threads of its own.
 *
 *   flow ──> consumer ──give──> trainer 0   a copy of the mini-batch, parameters, gradients
 *               ^               trainer 1
 *               └─────take────── ...        parts come back in the order in which they were given
 *
 * A consumer gives a mini-batch away and may return it to the flow at once, because the trainer has
 * a copy of all that it reads: the cache may change beneath the rows of one that is still computed.
 * Whoever takes the parts adds them in order, so the sums are the same for any number of trainers.
 *
 * One thread gives and takes. */
#ifndef OG_TRAINERS_H
#define OG_TRAINERS_H

#include "train/flow.h"
#include "train/learner.h"
#include "train/steps.h"

struct og_trainers;

/* What a trainer made of a mini-batch. */
struct og_part {
    const struct og_work *work; /* its copy: what was counted of it, batch and rows */
    struct og_model *model;     /* has the gradients, and the mini-batch's statistics */
    struct og_metrics metrics;
    double seconds;
};

enum { OG__MOST_TRAINERS = 64 };

/* So many have something to do: no more than the mini-batches that may be computed at a time. */
int og__trainers_useful(const struct og_options *opt);

/* What opening n of them takes: "model" and "activations". */
size_t og__trainers_model_bytes(const struct og_nn_ops *ops, const struct og_facts *f, int n);
size_t og__trainers_activation_bytes(const struct og_nn_ops *ops, const struct og_facts *f,
                                     int threads, int n);

/* n of them share `threads`. */
OG_MUST_CHECK int og__trainers_open(struct og_trainers **out, const struct og_learner *l,
                                    const struct og_facts *f, int threads, int n,
                                    struct og_budget *b, struct og_err *err);
/* What they are computing is finished, and dropped. NULL: nothing. */
void og__trainers_close(struct og_trainers *t);

int og__trainers_busy(const struct og_trainers *t); /* given and not taken */
bool og__trainers_full(const struct og_trainers *t);

/* A mini-batch with the parameters that its step is to see (og__steps_show); not while full. The
 * pool's threads copy it. */
OG_MUST_CHECK int og__trainers_give(struct og_trainers *t, const struct og_work *w,
                                    const struct og_steps *steps, int ended, struct og_pool *pool,
                                    struct og_err *err);
/* The part of the oldest one that was given; waits for it. It stays until the next give. */
OG_MUST_CHECK int og__trainers_take(struct og_trainers *t, struct og_part *part,
                                    struct og_err *err);

#endif
