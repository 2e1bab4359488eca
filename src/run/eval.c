/* eval: a checkpoint's model on the nodes or edges of a split, a batch at a time. */
#include "base/json.h"
#include "base/sized.h"
#include "flow/count_work.h"
#include "infer/whole_graph.h"
#include "learn/checkpoint.h"
#include "learn/scores.h"
#include "learn/targets.h"
#include "learn/type_scores.h"
#include "lookahead/lookahead.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session_of_checkpoint.h"

#include <stdio.h>
#include <string.h>

struct evaluation {
    struct og_session *s;
    const char *checkpoint, *name; /* name: of the split, maybe with a type: "test:paper" */
    enum og__split split;
    const char *type; /* of the nodes that count; NULL: all */
    char named[160];  /* what `name` points to, if it is an alias */
    void *labels;
    struct og_metrics metrics;
    struct og_scores scores;
    struct og_type_scores by_type;
    struct og_epoch_counters counters;
};

static int eval_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct evaluation *e = arg;
    struct og_metrics part = {0};
    const void *targets = og__work_targets(&e->s->workload, w, e->labels);
    int rc;
    OG_TRY(og__model_forward(e->s->learner.model, &w->sampled.batch, w->rows,
                             og__learner_view(e->s->learner.edges, &e->s->workload, w->rows),
                             targets, &part, err));
    if (og__metrics_undefined(&part))
        OG_TRY(og__fail(err, -EDOM, og__diverged_hint,
                        "%s: %s batch %u: the %s is not a finite number", e->checkpoint, e->name,
                        w->descriptor.batch + 1, og__metrics_undefined(&part)));
    og__metrics_add(&e->metrics, &part);
    OG_TRY(og__scores_add(&e->scores, w->sampled.batch.n_seeds, targets, err));
    OG_TRY(og__type_scores_add(&e->by_type, w, targets, err));
    og__type_scores_take(&e->by_type, 0);
    og__count_work(&e->counters, w);
    struct og_progress p = {.size = sizeof(p),
                            .stage = "eval",
                            .done = w->descriptor.batch + 1,
                            .total = og__schedule_batches(&e->s->workload.schedule, e->split)};
    og__observe(e->s->config.observer, &p);
out:
    return rc;
}

static int find_split(struct evaluation *e, struct og_err *err)
{
    static const char *const words[OG__SPLITS] = {[OG__VALID] = "valid", [OG__TEST] = "test"};
    const size_t n = strcspn(e->name, ":");
    e->split = og__split_named(e->name, n);
    e->type = e->name[n] ? e->name + n + 1 : NULL;
    if (e->split == OG__VALID && n != strlen(words[OG__VALID])) {
        snprintf(e->named, sizeof(e->named), "%s%s", words[OG__VALID], e->name + n);
        e->name = e->named;
    }
    return e->split == OG__VALID || e->split == OG__TEST
               ? 0
               : og__fail(err, -EINVAL, "valid or test", "--split %s: no such split", e->name);
}

static int refuse_type(const struct evaluation *e, struct og_err *err)
{
    return og__fail(err, -EINVAL, "name a type of labelled nodes",
                    "--split %s: has no nodes of type '%s'", e->name, e->type);
}

/* Labels of other types count as unknown. */
static int keep_type(struct evaluation *e, struct og_err *err)
{
    const struct og_workload *f = &e->s->workload;
    const struct og_split *split = &f->split[e->split];
    int64_t left = 0;
    if (!e->type)
        return 0;
    for (int64_t i = 0; !f->seeds.edges && i < split->n; i++) {
        const struct og_graph_type *of = &f->types->type[og__graph_type(f->types, split->ids[i])];
        if (strcmp(of->name, e->type) == 0)
            left++;
        else
            og__forget_label(f->graph, split->labels, i);
    }
    return left > 0 ? 0 : refuse_type(e, err);
}

/* With the session open. */
static int evaluate(struct evaluation *e, struct og_err *err)
{
    struct og_session *s = e->s;
    int rc;
    OG_TRY(og__scores_open(&e->scores, &s->workload.shape, s->learner.model,
                           og__held_out_items(&s->workload), s->budget, err));
    if (!e->type)
        OG_TRY(og__type_scores_open(&e->by_type, &s->workload, s->learner.model, 1, 0, s->budget,
                                    err));
    OG_TRY(keep_type(e, err));
    OG_TRY(og__targets_check_split(s->workload.graph, &s->workload.shape,
                                   &s->workload.split[e->split], e->name, err));
    OG_TRY(og__checkpoint_load(e->checkpoint, s->learner.model, err));
    og__session_count_prepared(s);
    OG_TRY(og__run_batches(&s->path, e->split, 0,
                           og__schedule_batches(&s->workload.schedule, e->split), eval_sink, e,
                           err));
    og__scores_rank(&e->scores);
    og__type_scores_rank(&e->by_type);
out:
    return rc;
}

/* What it says; start: when batches began. */
typedef json_t *say_result(const struct evaluation *e, double start);

static json_t *eval_json(const struct evaluation *e, double start)
{
    const struct og_epoch_counters *c = &e->counters;
    json_t *result = json_pack(
        "{s:s s:s s:I s:o s:o s:o s:o s:o s:o s:f s:I s:I s:I s:I s:I s:I s:I s:I s:I}", "split",
        e->name, "checkpoint", e->checkpoint, "nodes", (json_int_t)e->metrics.counted, "loss",
        og__json_real(og__metrics_loss(&e->metrics)), "acc",
        og__json_real(og__scores_chief(&e->scores, &e->metrics)), "metrics",
        og__scores_json(&e->scores, &e->metrics), "classes",
        og__scores_classes_json(&e->scores, e->s->workload.graph->meta), "confusion",
        og__scores_confusion_json(&e->scores), "prepare", og__prepare_counters_json(&e->s->prepare),
        "seconds", og__now() - start, "rows", (json_int_t)c->rows, "hits", (json_int_t)c->hits,
        "misses", (json_int_t)c->misses, "prefill", (json_int_t)c->prefill, "reads",
        (json_int_t)c->reads, "bytes_read", (json_int_t)c->bytes_read, "prepare_reads",
        (json_int_t)c->prepare_reads, "prepare_bytes_read", (json_int_t)c->prepare_bytes_read,
        "bytes_written", (json_int_t)c->bytes_written);
    if (e->s->workload.seeds.edges)
        result = og__json_with(result, "edges", json_integer((json_int_t)e->metrics.counted));
    return result;
}

static json_t *full_json(const struct evaluation *e, double start)
{
    const struct og_session *s = e->s;
    const struct og_epoch_counters *c = &e->counters;
    (void)start;
    return json_pack(
        "{s:I s:f s:I s:I s:I s:I s:I s:I s:I s:s s:o s:I s:o s:o s:o s:o s:o}", "nodes",
        (json_int_t)s->workload.graph->n_nodes, "seconds", og__now() - s->opened, "rows",
        (json_int_t)c->rows, "hits", (json_int_t)c->hits, "misses", (json_int_t)c->misses,
        "bytes_read", (json_int_t)c->bytes_read, "prepare_bytes_read",
        (json_int_t)s->prepare.bytes_read, "peak_rss_bytes", (json_int_t)og__session_peak_rss(s),
        "memory_budget_bytes", (json_int_t)s->memory.limit, "split", e->name, "checkpoint",
        og__json_text(e->checkpoint), "labelled", (json_int_t)e->metrics.counted, "loss",
        og__json_real(og__metrics_loss(&e->metrics)), "acc",
        og__json_real(og__scores_chief(&e->scores, &e->metrics)), "metrics",
        og__scores_json(&e->scores, &e->metrics), "classes",
        og__scores_classes_json(&e->scores, e->s->workload.graph->meta), "confusion",
        og__scores_confusion_json(&e->scores));
}

/* `types`, if nodes of several types have labels and all count. */
static json_t *with_types(const struct evaluation *e, json_t *result)
{
    return e->by_type.n > 0 ? og__json_with(result, "types", og__type_scores_json(&e->by_type))
                            : result;
}

static int eval_batches(struct evaluation *e, const char *dataset, const struct og_options *opt,
                        const struct og_observer *observer, bool full, char **out,
                        struct og_err *err)
{
    size_t bytes = 0;
    double start;
    int rc;
    OG_TRY(og__session_of_checkpoint(&e->s, dataset, e->checkpoint, opt, OG__WANT_FEATURES, NULL,
                                     observer, err));
    OG_TRY(og__session_check_timed(e->s, e->split, err));
    bytes = og__targets_bytes(&e->s->workload);
    e->labels = og__alloc(e->s->budget, bytes, "batches", err);
    OG_TRY(e->labels ? 0 : -ENOMEM);
    start = og__now();
    OG_TRY(evaluate(e, err));
    OG_TRY(
        og__json_deliver(with_types(e, (full ? full_json : eval_json)(e, start)), NULL, out, err));
out:
    if (e->s)
        og__release(e->s->budget, e->labels, bytes, "batches");
    og__scores_close(&e->scores);
    og__type_scores_close(&e->by_type);
    og__session_close(e->s);
    return rc;
}

int og_eval(const char *dataset, const char *checkpoint, const char *split,
            const struct og_options *opt, const struct og_observer *observer, char **out,
            struct og_err *err)
{
    struct evaluation e = {.checkpoint = checkpoint, .name = split};
    if (out)
        *out = NULL;
    int rc = find_split(&e, err);
    rc = rc < 0 ? rc : OG_SIZED(observer, "og_observer", err);
    return rc < 0 ? rc : eval_batches(&e, dataset, opt, observer, false, out, err);
}

/* ---- eval --full ---- */

/* All neighbours, in as many layers as the checkpoint has. With times, all that its sampler may
 * see. */
static int take_all(struct og_options *opt, const char *checkpoint, bool timed, struct og_err *err)
{
    static const char *const others[] = {"sampler", "fanout", "relation-fanout", "draw", "replace"};
    for (size_t i = 0; i < OG_COUNT(others); i++)
        if (og_options_given(opt, others[i]))
            return og__fail(err, -EINVAL, "leave out --full, or the options that it decides",
                            "--%s: eval --full takes all neighbours there are", others[i]);
    OG_DO(og__session_take_all(opt, checkpoint, err));
    return timed ? 0 : og_options_set(opt, "sampler", "uniform", err);
}

/* Layer by layer. Heterogeneous graphs, models with times, and models of edges, a batch of seeds at
 * a time, so that memory goes by --batch. */
int og_eval_full(const char *dataset, const char *checkpoint, const char *split,
                 const struct og_options *opt, const struct og_observer *observer, char **out,
                 struct og_err *err)
{
    struct evaluation e = {.checkpoint = checkpoint, .name = split};
    struct og_options own = {0};
    struct og_model_config shape;
    const struct og_nn_ops *ops;
    bool by_batches;
    bool timed;
    int rc;
    if (out)
        *out = NULL;
    OG_TRY(find_split(&e, err));
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(og__nn_find(&ops, OG_DEVICE_CPU, err));
    OG_TRY(og__graph_has_types(dataset, &by_batches, err));
    OG_TRY(og__checkpoint_timed(checkpoint, &timed, err));
    OG_TRY(og__checkpoint_shape(checkpoint, &shape, err));
    if (!by_batches && e.type)
        OG_TRY(refuse_type(&e, err));
    by_batches |= shape.task >= 0 && og__of_pairs(&shape);
    if (!by_batches && !timed)
        return og__whole_eval(dataset, checkpoint, e.split, opt, observer, out, err);
    OG_TRY(og__options_copy(&own, opt, err));
    OG_TRY(take_all(&own, checkpoint, timed, err));
    rc = eval_batches(&e, dataset, &own, observer, true, out, err);
out:
    og__options_release(&own);
    return rc;
}
