/* plan: what a run would do. */
#include "base/sized.h"
#include "choose/profiling.h"
#include "lookahead/lookahead.h"
#include "report/json.h"
#include "run/plan_exchange.h"
#include "run/plan_json.h"
#include "session/session.h"

/* ---- what chunks of seeds save ---- */

/* The mean of the first batches. */
static int rows_of_batches(struct og_session *s, uint32_t locality, double *rows,
                           struct og_err *err)
{
    enum { BATCHES = 8 };
    struct og_schedule *schedule = &s->workload.schedule;
    const uint32_t own = schedule->locality;
    const struct og_profiling_limits limits = {
        .epoch = 1,
        .batches = (uint32_t)OG_MIN(og__profiling_epoch(&s->structure), (uint64_t)BATCHES)};
    struct og_profiling p;
    schedule->locality = locality;
    const int rc = og__profiling_sample(&p, &s->structure, &limits, s->budget, err);
    schedule->locality = own;
    if (rc < 0)
        return rc;
    *rows = (double)p.rows / OG_MAX(p.n, 1u);
    og__profiling_release(&p, s->budget);
    return 0;
}

/* Are batches sampled, and of seeds in random order? */
static bool may_have_chunks(const struct og_session *s, uint32_t size)
{
    const struct og_schedule *schedule = &s->workload.schedule;
    return schedule->shuffle && !s->workload.seeds.balanced && !s->offline &&
           schedule->n_seeds[OG__TRAIN] >= size && og__profiling_epoch(&s->structure) > 1;
}

/* NULL: not known. */
static int plan_locality(struct og_session *s, json_t **out, struct og_err *err)
{
    enum { CHUNK = 10 };
    const uint32_t own = s->workload.schedule.locality;
    const uint32_t size = own > 1 ? own : (uint32_t)CHUNK;
    double rows, shuffled;
    bool alike;
    if (!may_have_chunks(s, size))
        return 0;
    OG_DO(rows_of_batches(s, size, &rows, err));
    OG_DO(rows_of_batches(s, 1, &shuffled, err));
    const double one_class = og__session_one_class(s, size, &alike);
    *out = json_pack("{s:I s:b s:f s:f s:o s:b}", "chunk", (json_int_t)size, "used", own > 1,
                     "rows", rows, "rows_shuffled", shuffled, "one_class",
                     one_class < 0 ? json_null() : json_real(one_class), "sorted", alike);
    return 0;
}

int og__plan(const char *dataset, const struct og_options *opt, bool quick,
             const struct og_observer *observer, char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    struct og_session *s = NULL;
    json_t *exchange = NULL, *locality = NULL;
    json_t *plan;
    unsigned want = OG__WANT_FEATURES | OG__WANT_PLAN_ONLY | og__learner_wants() |
                    (quick ? OG__WANT_QUICK : 0u);
    int rc;
    struct og_session_use use = {.want = want, /* of several workers the first one's plan */
                                 .share = {0, (uint32_t)opt->workers},
                                 .n_local = opt->workers};
    if (opt->workers > 1)
        (void)!og__shared_memory_make(&use.shared_memory,
                                      NULL); /* as workers do, which go on without, too */
    OG_TRY(og__session_open_for(&s, dataset, opt, &use, observer, err));
    if (!quick)
        OG_TRY(plan_locality(s, &locality, err));
    if (!quick || !s->predicted.known)
        OG_TRY(og__predict_run(&s->path, err));
    if (og__exchanges(&s->config))
        OG_TRY(og__plan_exchange(s, &exchange, err));
    plan = og__session_plan_json(s);
    if (exchange)
        plan = og__json_with(plan, "exchange", exchange);
    if (locality)
        plan = og__json_with(plan, "locality", locality);
    locality = NULL;
    OG_TRY(og__json_deliver(plan, NULL, out, err));
out:
    json_decref(locality);
    og__session_close(s);
    og__shared_memory_close(use.shared_memory);
    return rc;
}

int og_plan(const char *dataset, const struct og_options *opt, const struct og_observer *observer,
            char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    return rc < 0 ? rc : og__plan(dataset, opt, false, observer, out, err);
}
