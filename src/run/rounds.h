/* rounds: how what was computed of mini-batches goes into a run, in the order of the schedule,
 * whoever computed it: into steps, sums, the log, and where one ends the epoch's row and the best
 * model. A round is one mini-batch or, of ranks that train together, one of each of them, in which
 * all meet, whether they have one or not:
 *
 *   batch    0  1  2  3 | 4  5  6  7 | 8  9       4 ranks; batch b is of rank b modulo 4
 *            round 1      round 2      round 3    ranks 2 and 3 have none in the last
 *
 * A run that goes on within a round, as when it had another number of ranks, begins with the rest
 * of it. */
#ifndef OG_ROUNDS_H
#define OG_ROUNDS_H

#include "run/trainer.h"

/* 1 where it works alone. */
uint32_t og__rounds_ranks(const struct og_trainer *t);

/* The next round begins: with --exchange its rows come to all ranks. Before what this rank has of
 * it is computed. */
OG_MUST_CHECK int og__round_begin(struct og_trainer *t, struct og_err *err);
/* The next round. own: what this rank brings; made: the model that has its gradients, of training.
 */
OG_MUST_CHECK int og__round_take(struct og_trainer *t, struct og_told *own, struct og_model *made,
                                 struct og_err *err);
/* Rounds before that of item `item` of the whole run, or test, in which this rank has none. */
OG_MUST_CHECK int og__rounds_pass(struct og_trainer *t, uint64_t item, struct og_err *err);
/* Which item a mini-batch is. */
uint64_t og__round_item(const struct og_trainer *t, const struct og_descriptor *d);
/* Has this rank a mini-batch in the next round? */
bool og__round_has_own(const struct og_trainer *t);
/* Steps before that of a mini-batch that are not made yet. */
int og__rounds_behind(const struct og_trainer *t, const struct og_descriptor *d);

#endif
