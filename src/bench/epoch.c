/* `bench epoch`: the data path alone. */
#include "bench/bench.h"
#include "flow/count_work.h"
#include "lookahead/lookahead.h"
#include "report/json.h"
#include "run/plan_json.h"
#include "session/session.h"

struct delivery {
    struct og_session *s;
    struct og_epoch_counters counters;
    json_t *epochs;
    double lap;
};

static int deliver_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct delivery *d = arg;
    og__count_work(&d->counters, w);
    double now = og__now();
    d->counters.seconds += now - d->lap;
    d->lap = now;
    struct og_progress p = {.size = sizeof(p),
                            .stage = "bench",
                            .epoch = (int)w->descriptor.epoch,
                            .epochs = d->s->config.opt.epochs,
                            .done = w->descriptor.batch + 1,
                            .total = og__schedule_batches(&d->s->workload.schedule, OG__TRAIN)};
    og__observe(d->s->config.observer, &p);
    if (!w->descriptor.last_of_epoch)
        return 0;
    json_t *row = json_pack("{s:i}", "epoch", (int)w->descriptor.epoch);
    row = og__epoch_counters_json(&d->counters, row);
    d->counters = (struct og_epoch_counters){0};
    return json_array_append_new(d->epochs, row) == 0
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "figures of epoch %u", w->descriptor.epoch);
}

int og__bench_epoch(const char *dataset, const struct og_options *opt,
                    const struct og_observer *observer, char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    struct delivery d = {0};
    int rc = og__session_open(&d.s, dataset, opt, OG__WANT_FEATURES | OG__WANT_UNEVALUATED, NULL,
                              observer, err);
    if (rc < 0)
        return rc;
    struct og_session *s = d.s;
    d.epochs = json_array();
    d.lap = og__now();
    OG_TRY(og__run_batches(&s->path, OG__SPLITS, 0, og__schedule_items(&s->workload.schedule),
                           deliver_sink, &d, err));
    json_t *root = json_pack("{s:o s:o s:O s:s s:I s:I}", "plan", og__session_plan_json(s),
                             "prepare", og__prepare_counters_json(&s->prepare), "epochs", d.epochs,
                             "io", s->path.rows.ops->engine(s->path.rows.self), "peak_rss_bytes",
                             (json_int_t)og__session_peak_rss(s), "memory_budget_bytes",
                             (json_int_t)s->memory.limit);
    OG_TRY(og__json_deliver(root, NULL, out, err));
    rc = og__timeline_close(s->path.timeline, err);
    s->path.timeline = NULL;
out:
    json_decref(d.epochs);
    og__session_close(s);
    return rc;
}
