/* shares: the sum of a step's gradients, where ranks computed its mini-batches. Each rank adds a
 * slice of all of them, in the order of the schedule, then receives the other slices. So the sum is
 * the one that a process makes alone, for any number of ranks.
 *
 *   a round    rank 0   g0 ─┬─> slice 0 of g0, g1, ...  ──add──┐
 *              rank 1   g1 ─┴─> slice 1 of g0, g1, ...  ──add──┤
 *   the end of the step                                        └──> the sum, in every rank
 *
 * A round is as many mini-batches as there are ranks, at most: one of each. What travels of a rank
 * is at most one vector of the model's size a round and one a step, whatever their number.
 *
 * Slices go from device to device if each rank has a device, and these form a group
 * (device/device.h). They are added there, in the same order. Otherwise they go through the hosts,
 * over the comm. All ranks use one transport (shares_transport.c); the only one of a process adds
 * where gradients lie. */
#ifndef OG_SHARES_H
#define OG_SHARES_H

#include "base/base.h"
#include "comm/comm.h"
#include "learn/steps.h"

/* Mini-batches of one step, consecutive: those of ranks first .. last - 1. */
struct og_round {
    int first, last;
    uint32_t size;                 /* of the step */
    double weight[OG__MOST_RANKS]; /* of the terms of its loss, by rank */
};

/* A transport of gradients: a table, whose functions are called by all ranks. */
struct og_shares;
struct og_shares_transport {
    const char *word; /* "gradients" of summary.json; NULL: they go nowhere */
    /* Adds gradients of a round to the sum of the step, their statistics to the running ones. The
     * model that computed this rank's is `made`; NULL where it has none in the round. */
    int (*add)(struct og_shares *h, const struct og_round *round, struct og_model *made,
               struct og_err *err);
    /* The sum so far, in every rank: before it is used; saves: steps->sum has it, too. */
    int (*sum)(struct og_shares *h, bool saves, struct og_err *err);
    /* The sum that was read of a step in progress; the step adds to it from now on. */
    int (*resume)(struct og_shares *h, struct og_err *err);
    void (*close)(struct og_shares *h);
};

struct og_shares {
    const struct og_shares_transport *transport;
    struct og_comm *comm;
    struct og_steps *steps;
    struct og_budget *budget;
    size_t slice;   /* numbers of the longest */
    size_t bytes;   /* of the following, consecutive; with devices the last alone */
    float *own;     /* [n] the gradient that this rank computed */
    float *moments; /* [ranks, n_moments] 0 without batch norm */
    size_t n_moments;
};

/* What open takes: "model", through the hosts, which is more; and of a device's memory. */
size_t og__shares_bytes(const struct og_model_config *model, int ranks);
size_t og__shares_device_bytes(const struct og_nn_ops *ops, const struct og_model_config *model,
                               int ranks);
/* By all ranks. ops: of the steps' model. */
OG_MUST_CHECK int og__shares_open(struct og_shares *h, struct og_comm *comm, struct og_steps *steps,
                                  const struct og_nn_ops *ops, const struct og_log *log,
                                  struct og_budget *b, struct og_err *err);
void og__shares_close(struct og_shares *h);
/* By all ranks: which transport they use; steps->sums is there if from device to device. Why not,
 * where they have devices, is said (shares_transport.c). */
OG_MUST_CHECK int og__shares_find_transport(struct og_shares *h, const struct og_nn_ops *ops,
                                            const struct og_log *log, struct og_err *err);

#endif
