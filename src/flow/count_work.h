/* What batches took and read, added to the counters of an epoch. */
#ifndef OG_COUNT_WORK_H
#define OG_COUNT_WORK_H

#include "flow/flow.h"
#include "report/counters.h"

/* Add what one training batch took and read. */
void og__count_work(struct og_epoch_counters *c, const struct og_work *w);
void og__count_lookahead(struct og_epoch_counters *c, const struct og_lookahead_counts *lookahead);
/* Rows by tier. */
void og__count_tiers(struct og_tier_counters *c, const struct og_work *w);
/* And what one batch of an evaluation read. */
void og__count_evaluated(struct og_epoch_counters *c, const struct og_work *w);

#endif
