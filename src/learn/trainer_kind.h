/* trainer kinds: what computes a mini-batch, as a table of functions. Who takes which mini-batch,
 * and when, is the same for all of them (trainers.h). */
#ifndef OG_TRAINER_KIND_H
#define OG_TRAINER_KIND_H

#include "flow/device_rows.h"
#include "learn/learner.h"
#include "learn/steps.h"

/* What a trainer made of a mini-batch. */
struct og_part {
    const struct og_work *work; /* its copy: what was counted of it, batch and rows */
    struct og_model *model;     /* has the gradients, and the mini-batch's statistics */
    struct og_metrics metrics;
    double seconds;
};

struct og_trainer_given {
    const struct og_learner *learner;
    const struct og_workload *workload;
    int threads;
    int device, keeper;          /* its number, and which of the devices that is */
    struct og_device_rows *rows; /* that come to devices; NULL: they are copied from the host's */
    size_t bound;                /* of the device's memory then */
    struct og_budget *budget;
};

struct og_trainer_kind {
    const char *name;
    /* What opening one takes: "model" and "activations". */
    size_t (*model_bytes)(const struct og_nn_ops *ops, const struct og_workload *f);
    size_t (*activation_bytes)(const struct og_nn_ops *ops, const struct og_workload *f,
                               int threads);
    /* A model of its own, and room for a mini-batch. To be closed even if it fails, unless *self is
     * NULL. */
    int (*open)(void **self, const struct og_trainer_given *given, struct og_err *err);
    void (*close)(void *self);
    /* Copies all that it reads of a mini-batch, and the parameters that its step uses. Except rows
     * on its device, which it keeps until they are computed. Runs in the giver's thread, with the
     * pool's threads. */
    int (*bring)(void *self, const struct og_work *w, const struct og_steps *steps, int ended,
                 struct og_pool *pool, struct og_err *err);
    /* Gradients of what was brought last, in a thread of its own. The part stays until the next
     * bring. */
    int (*compute)(void *self, struct og_part *part, struct og_err *err);
};

/* A group of threads. */
extern const struct og_trainer_kind og__trainer_threads;

#endif
