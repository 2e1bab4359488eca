/* Hotness by which policies rank a session's nodes. */
#ifndef OG_TRAIN_HOTNESS_H
#define OG_TRAIN_HOTNESS_H

#include "train/session.h"

/* Visits of each node in so many epochs sampled for nothing else, from a random stream of
 * their own (Yang et al. 2022, §6.3). hotness[N] is zeroed on entry. */
OG_MUST_CHECK int og__hotness_presc(struct og_session *s, int epochs, uint32_t *hotness,
                                    struct og_err *err);

/* Scores by which a policy (random, degree, presc, pagerank, hybrid) ranks the session's nodes.
 * hotness[N] is zeroed on entry. */
OG_MUST_CHECK int og__hotness_of(struct og_session *s, int policy, int presc_epochs,
                                 uint32_t *hotness, struct og_err *err);
/* What finding it takes of the budget meanwhile. */
size_t og__hotness_bytes(const struct og_session *s, int policy);

#endif
