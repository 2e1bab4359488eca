/* Options that have no effect with others. They are reported, once, when all is decided. */
#ifndef OG_OPTION_EFFECTS_H
#define OG_OPTION_EFFECTS_H

#include "budget/memory_plan.h"

/* Options with another value than their own default. */
struct og_option_set og__options_set_apart(const struct og_options *opt);

/* Reports each requested option that a session, with all that was decided for it, does not use.
 * Those without bearing on the command as a whole are not reported. */
void og__log_idle_options(const struct og_plan_inputs *p);

/* Who makes nothing of options that train or sample for training. */
enum og__unused {
    OG__UNUSED_BATCHES = 1, /* batches are drawn, and no model is made */
    OG__UNUSED_JUDGING = 2, /* a checkpoint's model is applied to batches */
    OG__UNUSED_WHOLE = 4,   /* and to every node with all its neighbours, layer by layer */
    OG__UNUSED_ROWLESS = 8, /* batches are written without rows of features */
    OG__UNUSED_HOPS = 16,   /* features are propagated, without a model */
    OG__UNUSED_SMOOTH = 32, /* or predictions are smoothed */
};
/* Reports in one line the requested options that such commands do not use. */
void og__log_unused_options(const struct og_log *log, const struct og_option_set *requested,
                            enum og__unused by);
/* --task, where a checkpoint's wins. */
void og__log_other_task(const struct og_log *log, const struct og_options *opt, int task);

/* One such line; before: what it begins with, "" = nothing. */
void og__log_without_effect(const struct og_log *log, const char *before, const char *name,
                            const char *other, const char *value, const char *why);

#endif
