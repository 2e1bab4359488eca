/* The ways there are to bring rows to batches, as far as the user left that open: a policy, a
 * layout, in turns or not; with a device's cache a pair of policies. */
#ifndef OG_TRAIN_WAYS_H
#define OG_TRAIN_WAYS_H

#include "budget/config.h"
#include "budget/way.h"

enum { OG__MOST_WAYS = 32 };

/* What the table of policies has, in its order, in place of what was left open; how many. */
int og__ways_list(const struct og_way *asked, struct og_way out[OG__MOST_WAYS]);
/* What is left open becomes the plainest way there is. */
void og__plainest_way(struct og_way *way);
/* What the user said holds. */
bool og__way_allowed(const struct og_config *config, const struct og_way *way);

#endif
