/* Hotness that takes sampling to find. */
#ifndef OG_TRAIN_HOTNESS_H
#define OG_TRAIN_HOTNESS_H

#include "train/session.h"

/* Visits of each node in --presc-epochs epochs sampled for nothing else, from a random stream of
 * their own (fgnn.txt §6.3). hotness[N] is zeroed on entry. */
OG_MUST_CHECK int og__hotness_presc(struct og_session *s, uint32_t *hotness, struct og_err *err);

#endif
