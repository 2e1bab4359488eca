/* The smaller commands on a session: plan and eval. */
#include "ahead/ahead.h"
#include "base/json.h"
#include "base/sized.h"
#include "flow/count_work.h"
#include "learn/checkpoint.h"
#include "learn/scores.h"
#include "learn/targets.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "report/json.h"
#include "run/plan_exchange.h"
#include "run/plan_json.h"
#include "session/session.h"
#include "session/session_of_checkpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int og__plan(const char *dataset, const struct og_options *opt, bool quick,
             const struct og_observer *seen, char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    struct og_session *s = NULL;
    json_t *exchange = NULL;
    json_t *plan;
    unsigned want = OG__WANT_FEATURES | OG__WANT_PLAN_ONLY | OG__WANT_TYPES | og__learner_wants() |
                    (quick ? OG__WANT_QUICK : 0u);
    int rc;
    struct og_session_use use = {.want = want, /* of several workers the first one's plan */
                                 .share = {0, opt->workers > 1 ? (uint32_t)opt->workers : 0},
                                 .here = opt->workers};
    if (opt->workers > 1)
        (void)!og__common_make(&use.common, NULL); /* as workers do, which go on without, too */
    OG_TRY(og__session_open_for(&s, dataset, opt, &use, seen, err));
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
    og__common_close(use.common);
    return rc;
}

int og_plan(const char *dataset, const struct og_options *opt, const struct og_observer *seen,
            char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    int rc = OG_SIZED(seen, "og_observer", err);
    return rc < 0 ? rc : og__plan(dataset, opt, false, seen, out, err);
}

/* ---- eval ---- */

struct evaluation {
    struct og_session *s;
    const char *checkpoint, *split;
    void *labels;
    struct og_metrics metrics;
    struct og_scores scores;
    struct og_epoch_counters counters;
};

static int eval_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct evaluation *e = arg;
    struct og_metrics part = {0};
    const void *targets = og__work_targets(&e->s->facts, w, e->labels);
    int rc =
        og__model_forward(e->s->learner.model, &w->sampled.batch, w->rows, targets, &part, err);
    if (rc < 0)
        return rc;
    const char *what = og__metrics_undefined(&part);
    if (what)
        return og__fail(err, -EDOM, og__diverged_hint,
                        "%s: %s batch %u: the %s is not a finite number", e->checkpoint, e->split,
                        w->descriptor.batch + 1, what);
    og__metrics_add(&e->metrics, &part);
    rc = og__scores_add(&e->scores, &w->sampled.batch, targets, err);
    og__count_work(&e->counters, w);
    struct og_progress p = {.size = sizeof(p),
                            .stage = "eval",
                            .done = w->descriptor.batch + 1,
                            .total =
                                og__schedule_batches(&e->s->facts.schedule, w->descriptor.split)};
    og__observe(e->s->config.seen, &p);
    return rc;
}

static int evaluate(struct evaluation *e, enum og__split split, char **out, struct og_err *err)
{
    struct og_session *s = e->s;
    int rc = og__targets_check_split(s->facts.graph, &s->facts.shape, &s->facts.split[split],
                                     e->split, err);
    if (rc < 0)
        return rc;
    rc = og__checkpoint_load(e->checkpoint, s->learner.model, err);
    if (rc < 0)
        return rc;
    og__session_count_prepared(s);
    double start = og__now();
    rc = og__run_batches(&s->path, split, 0, og__schedule_batches(&s->facts.schedule, split),
                         eval_sink, e, err);
    if (rc < 0)
        return rc;
    const struct og_epoch_counters *c = &e->counters;
    og__scores_rank(&e->scores);
    json_t *root = json_pack(
        "{s:s s:s s:I s:o s:o s:o s:o s:f s:I s:I s:I s:I s:I s:I s:I s:I s:I}", "split", e->split,
        "checkpoint", e->checkpoint, "nodes", (json_int_t)e->metrics.counted, "loss",
        og__json_real(og__metrics_loss(&e->metrics)), "acc",
        og__json_real(og__scores_chief(&e->scores, &e->metrics)), "metrics",
        og__scores_json(&e->scores, &e->metrics), "prepare", og__prepare_counters_json(&s->prepare),
        "seconds", og__now() - start, "rows", (json_int_t)c->rows, "hits", (json_int_t)c->hits,
        "misses", (json_int_t)c->misses, "prefill", (json_int_t)c->prefill, "reads",
        (json_int_t)c->reads, "bytes_read", (json_int_t)c->bytes_read, "prepare_reads",
        (json_int_t)c->prepare_reads, "prepare_bytes_read", (json_int_t)c->prepare_bytes_read,
        "bytes_written", (json_int_t)c->bytes_written);
    return og__json_deliver(root, NULL, out, err);
}

static int find_split(const char *name, enum og__split *split, struct og_err *err)
{
    static const char *const names[OG__SPLITS] = {"train", "valid", "test"};
    for (int i = OG__VALID; i < OG__SPLITS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *split = (enum og__split)i;
            return 0;
        }
    }
    return og__fail(err, -EINVAL, "valid or test", "--split %s: no such split", name);
}

int og_eval(const char *dataset, const char *checkpoint, const char *split,
            const struct og_options *opt, const struct og_observer *seen, char **out,
            struct og_err *err)
{
    if (out)
        *out = NULL;
    enum og__split which = OG__TEST;
    struct evaluation e = {.checkpoint = checkpoint, .split = split};
    int rc = find_split(split, &which, err);
    rc = rc < 0 ? rc : OG_SIZED(seen, "og_observer", err);
    if (rc < 0)
        return rc;
    rc = og__session_of_checkpoint(&e.s, dataset, checkpoint, opt, 0, seen, err);
    if (rc < 0)
        return rc;
    struct og_session *s = e.s;
    assert(s);
    const size_t bytes = og__targets_bytes(&s->facts);
    e.labels = og__alloc(s->budget, bytes, "batches", err);
    OG_TRY(e.labels ? og__scores_open(&e.scores, &s->facts, s->learner.model, s->budget, err)
                    : -ENOMEM);
    OG_TRY(evaluate(&e, which, out, err));
out:
    og__release(s->budget, e.labels, bytes, "batches");
    og__scores_close(&e.scores);
    og__session_close(s);
    return rc;
}
