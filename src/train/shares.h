/* shares: the sum of a step's gradients, where ranks computed its mini-batches. Each rank adds a
 * slice of all of them, in the order of the schedule, so the sum is the one that a process makes
 * alone, whatever the number of ranks; then it has the other slices from the others.
 *
 *   a round    rank 0   g0 ─┬─> slice 0 of g0, g1, ...  ──add──┐
 *              rank 1   g1 ─┴─> slice 1 of g0, g1, ...  ──add──┤
 *   the end of the step                                        └──> the sum, in every rank
 *
 * A round is as many mini-batches as there are ranks, at most: one of each. What travels of a rank
 * is at most one vector of the model's size a round and one a step, whatever their number. */
#ifndef OG_SHARES_H
#define OG_SHARES_H

#include "comm/comm.h"
#include "train/steps.h"

struct og_shares {
    struct og_comm *comm;
    struct og_steps *steps;
    struct og_budget *budget;
    size_t slice; /* numbers of the longest */
    size_t n_moments;
    float *own;     /* [n] the gradient that this rank computed */
    float *theirs;  /* [ranks, slice] */
    float *moments; /* [ranks, n_moments] NULL: no batch norm */
};

/* What open takes: "model". */
size_t og__shares_bytes(const struct og_model_config *model, int ranks);
OG_MUST_CHECK int og__shares_open(struct og_shares *h, struct og_comm *comm, struct og_steps *steps,
                                  struct og_budget *b, struct og_err *err);
void og__shares_close(struct og_shares *h);

/* Mini-batches of one step, one behind the other: those of ranks first .. last - 1. */
struct og_round {
    int first, last;
    uint32_t size;                  /* of the step */
    uint64_t terms[OG__MOST_RANKS]; /* by rank */
};
/* Their gradients into the sum of the step, their statistics into the running ones. made: the model
 * that computed this rank's; NULL where it has none in the round. */
OG_MUST_CHECK int og__shares_add(struct og_shares *h, const struct og_round *round,
                                 struct og_model *made, struct og_err *err);
/* The sum so far, in every rank: before it is used, or saved. */
OG_MUST_CHECK int og__shares_sum(struct og_shares *h, struct og_err *err);

#endif
