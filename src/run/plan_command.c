/* plan: what a run would do. */
#include "base/sized.h"
#include "lookahead/lookahead.h"
#include "report/json.h"
#include "run/plan_exchange.h"
#include "run/plan_json.h"
#include "session/session.h"

int og__plan(const char *dataset, const struct og_options *opt, bool quick,
             const struct og_observer *observer, char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    struct og_session *s = NULL;
    json_t *exchange = NULL;
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
    if (!quick || !s->predicted.known)
        OG_TRY(og__predict_run(&s->path, err));
    if (og__exchanges(&s->config))
        OG_TRY(og__plan_exchange(s, &exchange, err));
    plan = og__session_plan_json(s);
    if (exchange)
        plan = og__json_with(plan, "exchange", exchange);
    OG_TRY(og__json_deliver(plan, NULL, out, err));
out:
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
