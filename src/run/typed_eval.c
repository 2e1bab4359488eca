#include "run/typed_eval.h"
#include "flow/count_work.h"

#include "ahead/ahead.h"
#include "learn/checkpoint.h"
#include "learn/scores.h"
#include "learn/targets.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session_of_checkpoint.h"

#include <stdio.h>

struct evaluation {
    struct og_session *s;
    const char *checkpoint;
    enum og__split split;
    void *labels;
    struct og_metrics metrics;
    struct og_epoch_counters counters;
};

static int eval_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct evaluation *e = arg;
    struct og_metrics part = {0};
    const void *targets = og__work_targets(&e->s->facts, w, e->labels);
    int rc;
    OG_TRY(og__model_forward(e->s->learner.model, &w->sampled.batch, w->rows, targets, &part, err));
    if (og__metrics_undefined(&part))
        OG_TRY(og__fail(err, -EDOM, og__diverged_hint,
                        "%s: batch %u: the %s is not a finite number", e->checkpoint,
                        w->descriptor.batch + 1, og__metrics_undefined(&part)));
    og__metrics_add(&e->metrics, &part);
    og__count_work(&e->counters, w);
    struct og_progress told = {.size = sizeof(told),
                               .stage = "eval",
                               .done = w->descriptor.batch + 1,
                               .total = og__schedule_batches(&e->s->facts.schedule, e->split)};
    og__observe(e->s->config.seen, &told);
out:
    return rc;
}

static const char *const splits[OG__SPLITS] = {"train", "valid", "test"};

static json_t *result_json(const struct evaluation *e)
{
    const struct og_session *s = e->s;
    const struct og_epoch_counters *c = &e->counters;
    const struct og_model_config *config = &s->facts.shape;
    return json_pack("{s:I s:f s:I s:I s:I s:I s:I s:I s:I s:s s:o s:I s:o s:o s:o}", "nodes",
                     (json_int_t)s->facts.graph->n_nodes, "seconds", og__now() - s->opened, "rows",
                     (json_int_t)c->rows, "hits", (json_int_t)c->hits, "misses",
                     (json_int_t)c->misses, "bytes_read", (json_int_t)c->bytes_read,
                     "prepare_bytes_read", (json_int_t)s->prepare.bytes_read, "peak_rss_bytes",
                     (json_int_t)og__session_peak_rss(s), "memory_budget_bytes",
                     (json_int_t)s->memory.limit, "split", splits[e->split], "checkpoint",
                     og__json_text(e->checkpoint), "labelled", (json_int_t)e->metrics.counted,
                     "loss", og__json_real(og__metrics_loss(&e->metrics)), "acc",
                     og__json_real(og__metrics_acc(&e->metrics, config)), "metrics",
                     og__metrics_json(config, &e->metrics));
}

/* All neighbours, in as many layers as the checkpoint has. */
static int take_all(struct og_options *opt, const char *checkpoint, struct og_err *err)
{
    struct og_model_config shape;
    char fanout[3 * OG_MAX_HOPS + 1] = "";
    size_t used = 0;
    int rc;
    OG_TRY(og__checkpoint_shape(checkpoint, &shape, err));
    for (int l = 0; l < shape.layers; l++)
        used += (size_t)snprintf(fanout + used, sizeof(fanout) - used, "%s-1", l ? "," : "");
    static const char *const others[] = {"sampler", "fanout", "relation-fanout", "draw"};
    for (size_t i = 0; i < OG_COUNT(others); i++)
        if (og_options_given(opt, others[i]))
            return og__fail(err, -EINVAL, "leave it out",
                            "--%s: eval --full takes all neighbours there are", others[i]);
    OG_TRY(og_options_set(opt, "fanout", fanout, err));
    rc = og_options_set(opt, "sampler", "uniform", err);
out:
    return rc;
}

static int evaluate(struct evaluation *e, char **out, struct og_err *err)
{
    struct og_session *s = e->s;
    int rc;
    if (s->facts.seeds.edges)
        return og__fail(err, -EINVAL,
                        "leave out --full: edges are judged by all neighbours with --fanout -1",
                        "%s: a model of links", e->checkpoint);
    OG_TRY(og__targets_check_split(s->facts.graph, &s->facts.shape, &s->facts.split[e->split],
                                   splits[e->split], err));
    OG_TRY(og__checkpoint_load(e->checkpoint, s->learner.model, err));
    OG_TRY(og__run_batches(&s->path, e->split, 0,
                           og__schedule_batches(&s->facts.schedule, e->split), eval_sink, e, err));
    rc = og__json_deliver(result_json(e), NULL, out, err);
out:
    return rc;
}

int og__typed_eval_full(const char *dataset, const char *checkpoint, enum og__split split,
                        const struct og_options *opt, const struct og_observer *seen, char **out,
                        struct og_err *err)
{
    struct evaluation e = {.checkpoint = checkpoint, .split = split};
    struct og_options own = {0};
    size_t bytes = 0;
    int rc;
    OG_TRY(og__options_copy(&own, opt, err));
    OG_TRY(take_all(&own, checkpoint, err));
    OG_TRY(og__session_of_checkpoint(&e.s, dataset, checkpoint, &own, 0, seen, err));
    bytes = og__targets_bytes(&e.s->facts);
    e.labels = og__alloc(e.s->budget, bytes, "batches", err);
    OG_TRY(e.labels ? evaluate(&e, out, err) : -ENOMEM);
out:
    if (e.s)
        og__release(e.s->budget, e.labels, bytes, "batches");
    og__session_close(e.s);
    og__options_release(&own);
    return rc;
}
