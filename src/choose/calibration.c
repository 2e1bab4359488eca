#include "choose/calibration.h"

#include "choose/measure.h"

#include <math.h>

/* ---- how many groups ---- */

int og__calibration_choose(const struct og_trainer_time *tried, int n)
{
    const double chance = 0.05;
    double most = 0;
    int chosen = 1;
    for (int i = 0; i < n; i++)
        if (tried[i].seconds > 0)
            most = OG_MAX(most, tried[i].trainers / tried[i].seconds);
    for (int i = n - 1; i >= 0; i--)
        if (tried[i].seconds > 0 && tried[i].trainers / tried[i].seconds >= (1 - chance) * most)
            chosen = tried[i].trainers;
    return chosen;
}

/* Measuring takes some mini-batches' time: a run that is not much longer does without. */
static bool may_measure(const struct og_config *config, const struct og_workload *f)
{
    enum { LEAST_BATCHES = 64 };
    const struct og_options *opt = &config->opt;
    const uint64_t batches =
        og__schedule_batches(&f->schedule, OG__TRAIN) * (uint64_t)OG_MAX(opt->epochs, 0);
    return config->want & OG__WANT_TRAINING && opt->executors.samplers == 0 && opt->threads > 1 &&
           batches >= LEAST_BATCHES;
}

bool og__calibration_requested(const struct og_config *config, const struct og_workload *f)
{
    return may_measure(config, f) && config->opt.executors.trainers == 0 &&
           og__trainers_useful(&config->opt) > 1;
}

/* A device trains with executors of its own. */
bool og__calibration_ruled(const struct og_config *config, const struct og_workload *f)
{
    return may_measure(config, f) && config->opt.preset == OG_PRESET_FGNN &&
           config->opt.device == OG_DEVICE_CPU;
}

/* Numbers beyond what memory holds were not measured. */
static int time_groups(const struct og_learner *l, const struct og_structure *g,
                       struct og_trainer_time *t, struct og_err *err)
{
    struct og_err why = {0};
    int rc = og__time_trainers(l, g, t->trainers, t->threads, &t->seconds, &why);
    if (rc == -ENOMEM)
        t->seconds = 0;
    return rc < 0 && rc != -ENOMEM ? og__fail(err, rc, why.hint, "%s", why.message) : 0;
}

int og__calibration_try(struct og_calibration *h, const struct og_learner *l,
                        const struct og_structure *g, int threads, int most, struct og_err *err)
{
    h->n_tried = 0;
    for (int n = 1; n <= OG_MIN(threads, most) && h->n_tried < OG__MOST_TRIED; n *= 2) {
        struct og_trainer_time *t = &h->tried[h->n_tried++];
        *t = (struct og_trainer_time){.trainers = n, .threads = threads / n};
        OG_DO(time_groups(l, g, t, err));
        if (t->seconds == 0) /* nor is there room for more */
            break;
    }
    return 0;
}

/* Where memory has no room for the measurement it stays at half. */
int og__calibration_rule(struct og_calibration *h, const struct og_learner *l,
                         const struct og_structure *g, int threads, struct og_err *err)
{
    struct og_trainer_time one = {1, 1, 0};
    OG_DO(time_groups(l, g, &one, err));
    h->sample = g->given.workload->profiling_seconds;
    h->train = one.seconds;
    if (one.seconds > 0)
        h->by_rule = og__executors_samplers(threads, h->sample, h->train);
    return 0;
}

/* ---- what executors will take ---- */

int og__calibration_time(struct og_calibration *h, const struct og_learner *l,
                         const struct og_structure *g, struct og_err *err)
{
    const struct og_trainers_setup s = og__trainers_setup(&g->given.config->opt);
    struct og_trainer_time trainers = {s.n, s.threads, 0};
    struct og_trainer_time standby = {1, 1, 0};
    if (s.n > 0)
        OG_DO(time_groups(l, g, &trainers, err));
    if (s.standby > 0)
        OG_DO(time_groups(l, g, &standby, err));
    h->train = trainers.seconds;
    h->standby = standby.seconds;
    h->sample = g->given.workload->profiling_seconds;
    h->known = (s.n == 0 || h->train > 0) && (s.standby == 0 || h->standby > 0);
    return 0;
}

/* The mini-batches of one worker in a step, as indices are. */
static uint64_t own_of_step(const struct og_options *opt)
{
    return (uint64_t)(opt->accumulate / OG_MAX(opt->workers, 1));
}

/* Batches that are sampled ahead are sampled by all threads, before any is trained. */
void og__calibration_predict(const struct og_calibration *h, const struct og_options *opt,
                             const struct og_exec_plan *exec, uint64_t n_batches, bool switches,
                             struct og_executed *out)
{
    const struct og_trainers_setup s = og__trainers_setup(opt);
    const bool ahead = og__samples_ahead(exec);
    const int samplers = OG_MAX(opt->executors.samplers, 1);
    struct og_executor executor[OG__MOST_EXECUTORS];
    for (int i = 0; i < samplers + s.n; i++)
        executor[i] = (struct og_executor){i < samplers, ahead ? 0 : h->sample,
                                           i < samplers ? h->standby : h->train};
    for (int i = s.standby; i < samplers; i++) /* no more than can be used stand in */
        executor[i].train = HUGE_VAL;
    const struct og_executors e = {.executor = executor,
                                   .n = samplers + s.n,
                                   .switches = switches && s.standby > 0,
                                   .n_batches = n_batches,
                                   .queue = ahead ? 0 : (uint64_t)og__works(exec),
                                   .accumulate = own_of_step(opt),
                                   .staleness = (uint64_t)opt->staleness};
    og__executors_run(&e, out);
    if (ahead)
        out->seconds += (double)n_batches * h->sample / og__samplers(exec);
}
