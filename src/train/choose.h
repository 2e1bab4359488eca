/* choose: how the features come to the batches, where the user left that to the program
 * (--policy auto).
 *
 *   pilot ──> some of the run's batches, sampled ──> candidates, each with the cache that the
 * memory (an epoch where that is quick)          plan has for it ──> the fastest, and why
 */
#ifndef OG_CHOOSE_H
#define OG_CHOOSE_H

#include "train/pilot.h"

/* Sets the session's policy, layout and turns, and s->choice. With topology, samplers' caps and the
 * fixed part of the memory plan; what it tries out of that plan is to be made again. */
OG_MUST_CHECK int og__choose(struct og_session *s, const struct og_pilot *pilot, unsigned want,
                             struct og_err *err);

#endif
