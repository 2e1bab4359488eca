/* Number and threads of trainers, from resolved options (learn/trainers.h). */
#ifndef OG_TRAINER_COUNT_H
#define OG_TRAINER_COUNT_H

#include "options/fields.h"

enum { OG__MOST_TRAINERS = 64 };

/* Trainers with work: at most the mini-batches computed at a time. */
int og__trainers_useful(const struct og_options *opt);

/* Trainers; all 0: the model itself trains. */
struct og_trainers_setup {
    int n;       /* trainers */
    int threads; /* of each */
    int standby; /* standby trainers: samplers with one thread each */
};
struct og_trainers_setup og__trainers_setup(const struct og_options *opt);
static inline int og__trainers_all(const struct og_trainers_setup *s)
{
    return s->n + s->standby;
}

/* Number of devices that cache rows, if any do: those with trainers, or the model's. */
int og__trainers_keepers(const struct og_options *opt);

#endif
