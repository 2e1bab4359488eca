#include "options/trainer_count.h"

#include "base/base.h"
#include "options/devices.h"

int og__trainers_useful(const struct og_options *opt)
{
    if (opt->pipeline == OG_PIPELINE_NONE)
        return 1;
    const int64_t own = opt->accumulate / OG_MAX(opt->workers, 1);
    const int64_t at_a_time = own * (opt->staleness + 1);
    return (int)OG_MIN(at_a_time, (int64_t)OG__MOST_TRAINERS);
}

struct og_trainers_setup og__trainers_setup(const struct og_options *opt)
{
    const int samplers = opt->executors.samplers;
    const int useful = og__trainers_useful(opt);
    struct og_trainers_setup s = {.n = opt->executors.trainers > 1 ? opt->executors.trainers : 0};
    if (samplers > 0) {
        s.n = OG_MIN(opt->executors.trainers, useful);
        s.standby = OG_MIN(samplers, useful - s.n);
        /* If all ranks synchronize in each round, the trainer of a batch must not depend on timing.
         * And without trainers there is one round at a time. */
        if (opt->exchange && opt->workers > 1)
            s.standby = s.n > 0 ? 0 : 1;
    }
    s.threads = s.n > 0 ? OG_MAX((opt->threads - samplers) / s.n, 1) : 0;
    return s;
}

int og__trainers_keepers(const struct og_options *opt)
{
    const struct og_trainers_setup s = og__trainers_setup(opt);
    return OG_MIN(og__devices_requested(opt).n, OG_MAX(s.n, 1));
}
