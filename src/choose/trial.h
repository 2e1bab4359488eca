/* Trials: execution plans with the memory that they would have. */
#ifndef OG_CHOOSE_TRIAL_H
#define OG_CHOOSE_TRIAL_H

#include "choose/choose.h"

struct og_trial {
    struct og_exec_plan exec;
    struct og_memory_plan memory;
    bool fits;
    struct og_tiers_setup tiers;         /* with a device's cache */
    struct og_group_slots *host, *there; /* [groups] of both, where rows are of several */
    struct og_err refused;               /* why not */
};

/* Is the topology in memory, and may it leave it? Where workers share it, each has but a part to
 * win, and what one measures another may not. */
bool og__structure_may_move(const struct og_choice_inputs *in);
/* What is counted of a trial. It points into the trial and to `hotness`. */
struct og_candidate og__trial_candidate(const struct og_choice_inputs *in, struct og_trial *t,
                                        const uint32_t *hotness);

#endif
