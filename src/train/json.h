/* What the commands share in telling their results. */
#ifndef OG_TRAIN_JSON_H
#define OG_TRAIN_JSON_H

#include "train/session.h"

/* Text of `root` (its reference is taken) into *text unless NULL and into file `path` unless NULL.
 * Reals keep 17 digits: what is read back is what was. */
OG_MUST_CHECK int og__json_deliver(json_t *root, const char *path, char **text, struct og_err *err);

/* Add what one training batch took and read. */
void og__count_work(struct og_epoch_counters *c, const struct og_work *w);
void og__count_ahead(struct og_epoch_counters *c, const struct og_ahead_counts *ahead);
/* Of its rows, which tier they came from. */
void og__count_tiers(struct og_tier_counters *c, const struct og_work *w);
/* And what one batch of an evaluation read. */
void og__count_evaluated(struct og_epoch_counters *c, const struct og_work *w);

#endif
