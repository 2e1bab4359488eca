/* How many trainers and samplers a session has, where that was left open. They are timed once. */
#include "session/session_parts.h"

#include "choose/exec_plans.h"

/* Is there room for so many trainers? From then on sizes are those with them. */
static bool has_room(struct og_session *s, int trainers)
{
    const struct og_exec_plan exec = s->exec;
    struct og_memory_plan m = s->memory;
    struct og_err ignored = {0};
    s->config.opt.executors.trainers = trainers;
    og__learner_sizes(&s->learner, &s->workload, &s->config);
    og__plainest_exec_plan(&s->exec);
    og__memory_plan_fixed(&m, &s->given);
    s->exec = exec;
    return og__memory_plan_check(&m, &ignored) == 0;
}

/* For --executors auto: as fast as measured, as many as memory holds. What was measured stays when
 * a plan is tried another way. */
static int resolve_trainers(struct og_session *s, struct og_err *err)
{
    struct og_calibration *h = &s->calibration;
    if (h->n_tried == 0 && og__calibration_requested(&s->config, &s->workload))
        OG_DO(og__calibration_try(h, &s->learner, &s->structure, s->config.opt.threads,
                                  og__trainers_useful(&s->config.opt), err));
    for (int n = h->n_tried; n > 0; n--) {
        const int trainers = og__calibration_choose(h->tried, n);
        if (has_room(s, trainers) || trainers == 1)
            break;
    }
    if (s->config.opt.executors.trainers == 0 && s->config.opt.executors.samplers == 0)
        s->config.opt.executors.trainers = 1;
    return 0;
}

/* For --preset fgnn; measured once, as above. */
static int resolve_samplers(struct og_session *s, struct og_err *err)
{
    struct og_calibration *h = &s->calibration;
    int rc = 0;
    if (h->by_rule == 0 && og__calibration_ruled(&s->config, &s->workload))
        rc = og__calibration_rule(h, &s->learner, &s->structure, s->config.opt.threads, err);
    s->exec.samplers = h->by_rule;
    return rc;
}

int og__session_calibrate(struct og_session *s, struct og_err *err)
{
    const struct og_trainers_setup setup = og__trainers_setup(&s->config.opt);
    if (s->config.opt.executors.samplers == 0) {
        const int rc = resolve_trainers(s, err);
        return rc < 0 ? rc : resolve_samplers(s, err);
    }
    return s->config.want & OG__WANT_TRAINING && !s->calibration.known &&
                   og__trainers_all(&setup) > 0
               ? og__calibration_time(&s->calibration, &s->learner, &s->structure, err)
               : 0;
}
