/* predict, and eval with all neighbours. */
#include "base/bits.h"
#include "base/sort.h"
#include "infer/infer.h"
#include "infer/whole_graph.h"
#include "learn/checkpoint.h"
#include "learn/targets.h"
#include "nn/tasks.h"
#include "options/devices.h"
#include "options/options.h"
#include "session/option_effects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS "labels"

/* ==== opening and closing ==== */

/* A model that sees edges reads their rows in the order of the dataset's lists. */
static int check_edges(const struct og_inference *f, struct og_err *err)
{
    const int dim = f->ds->relation->edges.dim;
    if (f->config.edge_dim == 0)
        return 0;
    if (dim != f->config.edge_dim)
        return og__fail(err, -EINVAL, "use a checkpoint of this dataset",
                        "model: trained with features of edges of width %d, %s has %d",
                        f->config.edge_dim, f->ds->path, dim);
    if (og__sampling_by_visits((enum og_sampler_kind)f->opt.sampler))
        return og__fail(err, -EINVAL, "use another sampler",
                        "features of edges: --sampler %s samples no edges",
                        og__option_word("sampler", f->opt.sampler));
    return 0;
}

/* The rows that the model was trained on: features, or also propagated ones. */
static int open_inputs(struct og_inference *f, struct og_err *err)
{
    struct og_inputs inputs;
    int rc;
    OG_TRY(og__inputs(&f->opt, &inputs, err));
    f->alone = og__model_is_alone(f->config.kind);
    if (inputs.last == 0)
        f->config.entries = f->config.own_entries = f->ds->group->sparse.longest;
    if (inputs.last > 0)
        OG_TRY(
            og__hop_files_open(f->ds, inputs.first, inputs.last, inputs.how, &f->hop_files, err));
    for (int k = inputs.first; k <= inputs.last; k++)
        f->input[f->n_inputs++] = k == 0 ? f->ds->group : &f->hop_files.group[k];
out:
    return rc;
}

static int check_shape(struct og_inference *f, struct og_err *err)
{
    if (f->config.task < 0) /* a file without task */
        f->config.task = og__task_by_labels(f->opt.task, f->ds->regression);
    int rc = open_inputs(f, err);
    if (rc == 0)
        rc = og__features_check(&f->config, f->ds->path, f->n_inputs * f->ds->group->dim, err);
    if (rc < 0)
        return rc;
    f->config.multi_label = f->ds->multi_label;
    f->config.shares = f->ds->shares;
    f->config.dropout = 0;
    f->config.weights = &f->weights;
    OG_TRY(og__infer_check_weights(f, err));
    OG_TRY(check_edges(f, err));
    OG_TRY(og__model_check(&f->config, err));
out:
    return rc;
}

static int open_model(struct og_inference *f, const char *checkpoint, struct og_err *err)
{
    int rc = og__model_create_on(&f->model, f->ops, og__devices_requested(&f->opt).number[0],
                                 &f->config, OG_OPTIMIZER_SGD, 0, f->pool, f->budget, err);
    return rc < 0 ? rc : og__checkpoint_load(checkpoint, f->model, err);
}

/* Ignores options of sampling only: layers come from the checkpoint. */
static int resolve_options(struct og_inference *f, const char *checkpoint,
                           const struct og_options *opt, struct og_err *err)
{
    int rc;
    const struct og_option_set requested = og__options_set_apart(opt);
    og__log_unused_options(&f->log, &requested, OG__UNUSED_WHOLE);
    og__log_other_task(&f->log, opt, f->config.task);
    if (opt->sampler != OG_SAMPLER_UNIFORM &&
        !og__sampling_by_visits((enum og_sampler_kind)opt->sampler))
        og__log_without_effect(
            &f->log, "", "sampler", NULL, "",
            "leave it out, or use --sampler walk; other inference takes all neighbours");
    OG_TRY(og__options_copy(&f->opt, opt, err));
    f->opt.model = f->config.kind;
    f->opt.layers = 0;
    OG_TRY(og__checkpoint_sampler(checkpoint, &f->opt, &f->log, err));
    OG_TRY(og__checkpoint_option(checkpoint, "compute", &f->opt, &f->log, err));
    f->config.compute = f->opt.compute;
    f->config.edge_weights = og__edge_weights(&f->opt);
    if (f->config.edge_weights != OG_EDGE_WEIGHTS_OFF)
        OG_TRY(og__walks_refuse_weights(&f->opt, err));
out:
    return rc < 0 ? rc : og__options_resolve(&f->opt, &f->log, err);
}

static int open_inference(struct og_inference *f, const char *dataset, const char *checkpoint,
                          const struct og_options *opt, bool judges, struct og_err *err)
{
    OG_DO(og__alone(opt, err));
    og__infer_begins(f);
    OG_DO(og__nn_find(&f->ops, opt->device, err));
    OG_DO(og__checkpoint_shape(checkpoint, &f->config, err));
    OG_DO(og__checkpoint_check_types(checkpoint, dataset, err));
    OG_DO(resolve_options(f, checkpoint, opt, err));
    OG_DO(og__graph_open(dataset, &f->ds, err));
    OG_DO(og__checkpoint_columns(checkpoint, f->ds, &f->log, err));
    OG_DO(og__checkpoint_classes(checkpoint, f->ds, false, judges ? &f->log : NULL, err));
    OG_DO(check_shape(f, err));
    f->degrees = f->degrees_of_others = og__model_wants_degrees(&f->config);
    OG_DO(og__infer_take(f, err));
    return open_model(f, checkpoint, err);
}

/* ==== predict ==== */

int og__embeddings_check(const struct og_model_config *c, const char *path, struct og_err *err)
{
    if (path && og__task(c->task)->embeds)
        return og__fail(err, -EINVAL, "leave out --embeddings; --out has them",
                        "--embeddings: the output of link prediction already is the embeddings");
    if (path && c->layers < 2)
        return og__fail(err, -EINVAL,
                        "leave out --embeddings; the inputs of its last layer are the features",
                        "--embeddings: the model has one layer, no hidden one");
    return 0;
}

/* The nodes of --nodes, and a bit for each. */
static int request_nodes(struct og_inference *f, const char *which, struct og_err *err)
{
    struct og_needed *d = &f->needed;
    const uint64_t n = (uint64_t)f->ds->n_nodes;
    const size_t words = og__bits_words(n);
    int rc =
        which ? og__graph_nodes(f->ds, which, NULL, f->budget, &d->requested, &d->n_requested, err)
              : 0;
    if (rc < 0 || !which)
        return rc;
    d->bits = og__alloc(f->budget, words * sizeof(*d->bits), OG__INFER_NODES, err);
    d->order = og__alloc(f->budget, words * sizeof(*d->order), OG__INFER_NODES, err);
    if (!d->bits || !d->order)
        return -ENOMEM;
    for (int64_t i = 0; i < d->n_requested; i++)
        og__bits_add(d->bits, d->requested[i]);
    og__bits_count(d->bits, n, d->order);
    return 0;
}

/* What the requested nodes need. */
static json_t *needed_json(const struct og_needed *d, int layers)
{
    return json_pack("{s:I s:I s:I s:I s:I}", "lists", (json_int_t)d->end[layers - 1], "edges",
                     (json_int_t)d->edges[layers], "rows", (json_int_t)d->n_ids, "reads",
                     (json_int_t)d->predicted.reads, "bytes_read", (json_int_t)d->predicted.bytes);
}

static int check_outputs(struct og_inference *f, const char *checkpoint, const char *out,
                         const struct og_predict_options *how, struct og_err *err)
{
    OG_DO(og__output_spare(f->ds, checkpoint, "the checkpoint", out, err));
    OG_DO(og__output_spare(f->ds, checkpoint, "the checkpoint", how->embeddings, err));
    OG_DO(og__output_spare(f->ds, how->nodes, "the list of nodes", out, err));
    OG_DO(og__output_spare(f->ds, how->nodes, "the list of nodes", how->embeddings, err));
    OG_DO(og__embeddings_check(&f->config, how->embeddings, err));
    OG_DO(og__prediction_form(&f->form, out, how, &f->config, f->ds, &f->log, err));
    if (how->embeddings)
        OG_DO(og__embeddings_form(&f->embeddings_form, how->embeddings, how, err));
    return 0;
}

static int predict(struct og_inference *f, const char *checkpoint, const char *out,
                   const struct og_predict_options *how, char **text, struct og_err *err)
{
    const char *embeddings = how->embeddings;
    f->overwrites = how->overwrite;
    OG_DO(check_outputs(f, checkpoint, out, how, err));
    OG_DO(request_nodes(f, how->nodes, err));
    const int last = f->config.layers - 1;
    OG_DO(
        og__infer_add_output(f, embeddings, og__combine_step(last - 1), &f->embeddings_form, err));
    OG_DO(og__infer_add_output(f, out, og__combine_step(last), &f->form, err));
    OG_DO(og__infer_state_open(f, NULL, NULL, err));
    OG_DO(og__infer_run(f, err));
    OG_DO(og__infer_publish(f, err));
    json_t *root = og__json_with(og__infer_figures(f), "out", og__json_text(out));
    if (how->nodes)
        root = og__json_with(root, "needed", needed_json(&f->needed, f->config.layers));
    if (embeddings)
        root = og__json_with(root, "embeddings", og__json_text(embeddings));
    OG_DO(og__json_deliver(root, NULL, text, err)); /* failures must come before the files */
    return og__infer_deliver(f, err);
}

int og__whole_predict(const char *dataset, const char *checkpoint, const char *out,
                      const struct og_predict_options *how, const struct og_options *opt,
                      const struct og_observer *observer, char **text, struct og_err *err)
{
    struct og_inference f = {.kind = &og__infer_of_model, .observer = observer};
    int rc;
    OG_TRY(open_inference(&f, dataset, checkpoint, opt, false, err));
    OG_TRY(predict(&f, checkpoint, out, how, text, err));
out:
    if (rc < 0 && text) {
        free(*text);
        *text = NULL;
    }
    og__infer_free(&f);
    return rc;
}

/* ==== eval --full ==== */

static size_t waiting_bytes(const struct og_inference *f)
{
    return OG__WHOLE_ROWS * (size_t)f->config.n_classes * sizeof(float);
}

static int open_judged(struct og_inference *f, struct og_judged *j, enum og__split split,
                       const char *name, struct og_err *err)
{
    OG_DO(og__graph_split(f->ds, split, f->budget, &j->ids, &j->n, err));
    if (j->n > 0)
        qsort(j->ids, (size_t)j->n, sizeof(*j->ids), og__by_number);
    OG_DO(og__graph_labels(f->ds, j->ids, j->n, f->budget, &j->labels, err));
    OG_DO(og__targets_check_split(f->ds, &f->config,
                                  &(struct og_split){.ids = j->ids, .n = j->n, .labels = j->labels},
                                  name, err));
    j->logits = og__alloc(f->budget, waiting_bytes(f), LABELS, err);
    if (!j->logits)
        return -ENOMEM;
    f->judged = j;
    og__keep_class_scores(&f->config, OG_BEST_AUTO, (size_t)j->n);
    return og__scores_open(&j->scores, &f->config, NULL, (size_t)j->n, f->budget, err);
}

static void close_judged(struct og_inference *f, struct og_judged *j)
{
    og__release(f->budget, j->ids, (size_t)j->n * 4, "seeds");
    if (j->labels)
        og__release(f->budget, j->labels, og__labels_bytes(f->ds, j->n), LABELS);
    og__release(f->budget, j->logits, waiting_bytes(f), LABELS);
    og__scores_close(&j->scores);
    f->judged = NULL;
}

/* Evaluation has no output name; its inputs name its state. */
static int open_state(struct og_inference *f, const char *checkpoint, const char *split,
                      struct og_err *err)
{
    char *files[2] = {realpath(f->ds->path, NULL), realpath(checkpoint, NULL)}, *what = NULL;
    int rc = files[0] && files[1] && asprintf(&what, "eval %s %s %s", split, files[0], files[1]) > 0
                 ? og__infer_state_open(f, NULL, what, err)
                 : og__fail_errno(err, -ENOMEM, NULL, "inference");
    free(files[0]);
    free(files[1]);
    free(what);
    return rc;
}

static int evaluate(struct og_inference *f, const char *checkpoint, enum og__split which,
                    char **out, struct og_err *err)
{
    const char *split = which == OG__VALID ? "valid" : "test";
    struct og_judged j = {0};
    int rc;
    OG_TRY(open_judged(f, &j, which, split, err));
    OG_TRY(open_state(f, checkpoint, split, err));
    OG_TRY(og__infer_run(f, err));
    if (og__metrics_undefined(&j.metrics))
        OG_TRY(og__fail(err, -EDOM, og__diverged_hint, "%s: the %s is not a finite number",
                        checkpoint, og__metrics_undefined(&j.metrics)));
    OG_TRY(og__infer_deliver(f, err));
    json_t *root = og__infer_figures(f);
    root = og__json_with(root, "split", json_string(split));
    root = og__json_with(root, "checkpoint", og__json_text(checkpoint));
    root = og__json_with(root, "labelled", json_integer((json_int_t)j.metrics.counted));
    root = og__json_with(root, "loss", og__json_real(og__metrics_loss(&j.metrics)));
    og__scores_rank(&j.scores);
    root = og__json_with(root, "acc", og__json_real(og__scores_chief(&j.scores, &j.metrics)));
    root = og__json_with(root, "metrics", og__scores_json(&j.scores, &j.metrics));
    root = og__json_with(root, "classes", og__scores_classes_json(&j.scores, f->ds->meta));
    root = og__json_with(root, "confusion", og__scores_confusion_json(&j.scores));
    OG_TRY(og__json_deliver(root, NULL, out, err));
out:
    close_judged(f, &j);
    return rc;
}

int og__whole_eval(const char *dataset, const char *checkpoint, enum og__split which,
                   const struct og_options *opt, const struct og_observer *observer, char **out,
                   struct og_err *err)
{
    struct og_inference f = {.kind = &og__infer_of_model, .observer = observer};
    int rc;
    OG_TRY(open_inference(&f, dataset, checkpoint, opt, true, err));
    if (og__of_pairs(&f.config))
        OG_TRY(og__fail(err, -EINVAL,
                        "leave out --full; --fanout -1 uses all neighbours, batch by batch",
                        "%s: --full does not support models of edges", checkpoint));
    OG_TRY(og__targets_check(f.ds, &f.config, err));
    OG_TRY(evaluate(&f, checkpoint, which, out, err));
out:
    og__infer_free(&f);
    return rc;
}
