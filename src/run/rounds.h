/* rounds: how results of mini-batches enter a run, in the order of the schedule. They enter steps,
 * sums and the log, and at its end the epoch's row and the best model. A round is one mini-batch.
 * If ranks train together it is one of each of them, in which all meet, whether they have one or
 * not:
 *
 *   batch    0  1  2  3 | 4  5  6  7 | 8  9       batch b is of rank b % 4
 *            round 1      round 2      round 3    ranks 2 and 3 have none in the last
 *
 * A run that resumes within a round begins with the rest of it. The number of ranks may be another.
 *
 * Rounds begin one after another, and are taken in one after another. Meanwhile trainers may
 * compute those of several. With --exchange ranks meet at either, so which comes when follows from
 * the schedule alone, never from who is ready. */
#ifndef OG_ROUNDS_H
#define OG_ROUNDS_H

#include "run/trainer.h"

uint32_t og__rounds_ranks(const struct og_trainer *t);

/* The next item to begin is the first that is not taken in, of the run or test. */
void og__rounds_start(struct og_trainer *t);
/* Has a round to be taken in before the next one may begin? */
bool og__round_waits(const struct og_trainer *t);
/* The next round begins: with --exchange its rows come to all ranks. Before what this rank has of
 * it is computed. */
OG_MUST_CHECK int og__round_begin(struct og_trainer *t, struct og_err *err);
/* Does the next one to begin end before that item of the whole run, or test, does? */
bool og__round_before(const struct og_trainer *t, uint64_t item);
/* The next round to be taken in, which has begun. This rank brings `own`; for training, `made` is
 * the model that has its gradients. */
OG_MUST_CHECK int og__round_take(struct og_trainer *t, struct og_rank_report *own,
                                 struct og_model *made, struct og_err *err);
/* Which item a mini-batch is. */
uint64_t og__round_item(const struct og_trainer *t, const struct og_descriptor *d);
/* Has this rank a mini-batch in the next round to be taken in? */
bool og__round_has_own(const struct og_trainer *t);
/* Steps before that of a mini-batch that are not made yet. */
int og__rounds_behind(const struct og_trainer *t, const struct og_descriptor *d);

#endif
