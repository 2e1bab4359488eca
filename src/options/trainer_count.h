/* How many trainers there are, and of which size, by options that are resolved (learn/trainers.h).
 */
#ifndef OG_TRAINER_COUNT_H
#define OG_TRAINER_COUNT_H

#include "options/fields.h"

enum { OG__MOST_TRAINERS = 64 };

/* So many have something to do: no more than the mini-batches that may be computed at a time. */
int og__trainers_useful(const struct og_options *opt);

/* Who trains; all 0: the model itself does. */
struct og_trainers_setup {
    int n;       /* trainers */
    int threads; /* of each */
    int standby; /* samplers that stand in, with one thread each */
};
struct og_trainers_setup og__trainers_setup(const struct og_options *opt);
static inline int og__trainers_all(const struct og_trainers_setup *s)
{
    return s->n + s->standby;
}

/* Of several devices so many keep rows, where any do: those with trainers, or the model's. */
int og__trainers_keepers(const struct og_options *opt);

#endif
