/* predict: layer by layer where nodes have no types (infer.h). Heterogeneous graphs, and models
 * trained with --time, are predicted a batch at a time, with neighbours sampled as in training.
 * Outputs are logits of every requested node of the model's target type, or for links embeddings of
 * all types. */
#include "base/sized.h"
#include "dataset/graph.h"
#include "flow/count_work.h"
#include "infer/output_file.h"
#include "infer/prediction_file.h"
#include "infer/whole_graph.h"
#include "learn/checkpoint.h"
#include "lookahead/lookahead.h"
#include "nn/relational.h"
#include "report/json.h"
#include "run/predict_edges.h"
#include "session/session_of_checkpoint.h"

#include <stdlib.h>
#include <unistd.h>

/* A file with a row for each node. */
struct output {
    struct og_output_file output_file;
    struct og_prediction_form form;
    struct og_prediction_file *file;
    int width;
    float *rows; /* of a batch */
    size_t bytes;
};

enum { LOGITS, HIDDEN, OUTPUTS };

struct prediction {
    struct og_session *s;
    struct output out[OUTPUTS]; /* HIDDEN may not be needed */
    struct og_epoch_counters counters;
};

static bool is_requested(const struct output *o)
{
    return o->output_file.path != NULL;
}

static int append(struct prediction *p, struct output *o, const float *there,
                  const struct og_batch *batch, struct og_err *err)
{
    const uint32_t n = batch->n_seeds;
    struct og_session *s = p->s;
    if (!is_requested(o))
        return 0;
    if (!there)
        return og__fail(err, -EINVAL, "leave out --embeddings",
                        "--embeddings: the last layer reads no rows of type %s",
                        s->workload.types->type[s->workload.types->target].name);
    int rc = og__model_fetch(s->learner.model, o->rows, there,
                             (size_t)n * (size_t)o->width * sizeof(float), err);
    return rc < 0 ? rc : og__prediction_rows(o->file, batch->ids, o->rows, n, err);
}

static int predict_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct prediction *p = arg;
    struct og_model *m = p->s->learner.model;
    const struct og_batch *batch = &w->sampled.batch;
    int rc;
    OG_TRY(og__model_forward(m, batch, w->rows,
                             og__learner_view(p->s->learner.edges, &p->s->workload, w->rows), NULL,
                             NULL, err));
    OG_TRY(append(p, &p->out[LOGITS], og__model_logits(m), batch, err));
    OG_TRY(append(p, &p->out[HIDDEN], og__model_hidden(m), batch, err));
    og__count_work(&p->counters, w);
    struct og_progress told = {.size = sizeof(told),
                               .stage = "predict",
                               .done = w->descriptor.batch + 1,
                               .total = og__schedule_batches(&p->s->workload.schedule, OG__TEST)};
    og__observe(p->s->config.observer, &told);
out:
    return rc;
}

static json_t *result_json(const struct prediction *p)
{
    const struct og_session *s = p->s;
    const struct og_epoch_counters *c = &p->counters;
    const struct og_graph_types *g = s->workload.types;
    const bool several = og__mixes_seeds(&s->workload.shape);
    return json_pack(
        "{s:s s:s? s:I s:f s:I s:I s:I s:I s:I s:I s:I}", "out", p->out[LOGITS].output_file.path,
        "type", several ? NULL : g->type[g->target].name, "nodes",
        (json_int_t)s->workload.split[OG__TEST].n, "seconds", og__now() - s->opened, "rows",
        (json_int_t)c->rows, "hits", (json_int_t)c->hits, "misses", (json_int_t)c->misses,
        "bytes_read", (json_int_t)c->bytes_read, "prepare_bytes_read",
        (json_int_t)s->prepare.bytes_read, "peak_rss_bytes", (json_int_t)og__session_peak_rss(s),
        "memory_budget_bytes", (json_int_t)s->memory.limit);
}

static int begin_output(struct prediction *p, struct output *o, struct og_err *err)
{
    if (!is_requested(o))
        return 0;
    o->rows = og__alloc(p->s->budget, o->bytes, "activations", err);
    return o->rows ? og__prediction_open(&o->file, o->output_file.fd, o->output_file.part, &o->form,
                                         o->width, &p->s->workload.shape, p->s->workload.graph, err)
                   : -ENOMEM;
}

static int finish_output(struct output *o, struct og_err *err)
{
    struct og_prediction_file *file = o->file;
    o->file = NULL;
    return og__prediction_end(file, 0, err);
}

static int predict_nodes(struct prediction *p, char **text, struct og_err *err)
{
    const uint64_t batches = og__schedule_batches(&p->s->workload.schedule, OG__TEST);
    json_t *root;
    int rc;
    for (int i = 0; i < OUTPUTS; i++)
        OG_TRY(begin_output(p, &p->out[i], err));
    OG_TRY(og__run_batches(&p->s->path, OG__TEST, 0, batches, predict_sink, p, err));
    for (int i = 0; i < OUTPUTS; i++)
        OG_TRY(finish_output(&p->out[i], err));
    root = result_json(p);
    if (is_requested(&p->out[HIDDEN]))
        root = og__json_with(root, "embeddings", og__json_text(p->out[HIDDEN].output_file.path));
    OG_TRY(og__json_deliver(root, NULL, text, err));
    for (int i = 0; i < OUTPUTS; i++)
        OG_TRY(is_requested(&p->out[i]) ? og__output_file_check(&p->out[i].output_file, err) : 0);
    for (int i = 0; i < OUTPUTS; i++)
        OG_TRY(is_requested(&p->out[i]) ? og__output_file_deliver(&p->out[i].output_file, err) : 0);
out:
    return rc;
}

static int name_outputs(struct prediction *p, const char *checkpoint, const char *out,
                        const struct og_predict_options *how, const struct og_options *opt,
                        struct og_err *err)
{
    const struct og_workload *f = &p->s->workload;
    const char *embeddings = how->embeddings, *name[OUTPUTS] = {out, embeddings};
    if (opt->resume)
        return og__fail(err, -ENOTSUP, "leave out --resume",
                        "--resume: predictions in batches cannot be resumed yet");
    OG_DO(og__output_spare(f->graph, checkpoint, "the checkpoint", out, err));
    OG_DO(og__output_spare(f->graph, how->nodes, "the list of nodes", out, err));
    OG_DO(og__output_spare(f->graph, how->nodes, "the list of nodes", embeddings, err));
    OG_DO(og__embeddings_check(&f->shape, embeddings, err));
    if (embeddings && og__mixes_seeds(&f->shape))
        return og__fail(err, -ENOTSUP, "leave out --embeddings",
                        "--embeddings: not for a model of several types of nodes");
    OG_DO(og__output_spare(f->graph, checkpoint, "the checkpoint", embeddings, err));
    OG_DO(og__prediction_form(&p->out[LOGITS].form, out, how, &f->shape, f->graph,
                              &p->s->config.log, err));
    if (embeddings)
        OG_DO(og__embeddings_form(&p->out[HIDDEN].form, embeddings, how, err));
    p->out[LOGITS].width = f->shape.n_classes;
    p->out[LOGITS].bytes = og__logits_bytes(f);
    p->out[HIDDEN].width = f->shape.hidden;
    p->out[HIDDEN].bytes = og__hidden_bytes(f);
    for (int i = 0; i < OUTPUTS; i++)
        OG_DO(og__output_file_name(&p->out[i].output_file, name[i], how->overwrite, err));
    OG_DO(og__output_file_differ(&p->out[LOGITS].output_file, &p->out[HIDDEN].output_file, err));
    for (int i = 0; i < OUTPUTS; i++)
        OG_DO(is_requested(&p->out[i]) ? og__output_file_lock(&p->out[i].output_file, err) : 0);
    return 0;
}

static void close_output(struct prediction *p, struct output *o)
{
    (void)!og__prediction_end(o->file, -EIO, NULL);
    if (is_requested(o))
        og__output_file_remove(&o->output_file); /* it has another name once it is whole */
    if (o->output_file.fd > 0)
        close(o->output_file.fd);
    free(o->output_file.path);
    free(o->output_file.part);
    og__release(p->s->budget, o->rows, o->bytes, "activations");
}

static int predict_batches(const char *dataset, const char *checkpoint, const char *out,
                           const struct og_predict_options *how, const struct og_options *opt,
                           const struct og_observer *observer, char **text, struct og_err *err)
{
    struct prediction p = {0};
    int rc =
        og__session_of_checkpoint(&p.s, dataset, checkpoint, opt,
                                  OG__WANT_FEATURES | OG__WANT_EVERY, how->nodes, observer, err);
    if (rc < 0)
        return rc;
    OG_TRY(name_outputs(&p, checkpoint, out, how, opt, err));
    OG_TRY(og__checkpoint_load(checkpoint, p.s->learner.model, err));
    OG_TRY(predict_nodes(&p, text, err));
out:
    if (rc < 0 && text) {
        free(*text);
        *text = NULL;
    }
    for (int i = 0; i < OUTPUTS; i++)
        close_output(&p, &p.out[i]);
    og__session_close(p.s);
    return rc;
}

int og_predict_with(const char *dataset, const char *checkpoint, const char *out,
                    const struct og_predict_options *how, const struct og_options *opt,
                    const struct og_observer *observer, char **text, struct og_err *err)
{
    bool by_batches;
    bool timed;
    struct og_model_config shape;
    const struct og_nn_ops *ops;
    if (text)
        *text = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : OG_SIZED(how, "og_predict_options", err);
    rc = rc < 0 ? rc : og__nn_find(&ops, OG_DEVICE_CPU, err);
    rc = rc < 0 ? rc : og__graph_has_types(dataset, &by_batches, err);
    rc = rc < 0 ? rc : og__checkpoint_timed(checkpoint, &timed, err);
    rc = rc < 0 ? rc : og__checkpoint_shape(checkpoint, &shape, err);
    if (rc < 0)
        return rc;
    if (shape.task >= 0 && og__labels_pairs(&shape))
        return og__predict_edges(dataset, checkpoint, out, how, opt, observer, text, err);
    return (by_batches || timed ? predict_batches : og__whole_predict)(
        dataset, checkpoint, out, how, opt, observer, text, err);
}

int og_predict(const char *dataset, const char *checkpoint, const char *out, const char *embeddings,
               const struct og_options *opt, const struct og_observer *observer, char **text,
               struct og_err *err)
{
    const struct og_predict_options how = {.size = sizeof(how), .embeddings = embeddings};
    return og_predict_with(dataset, checkpoint, out, &how, opt, observer, text, err);
}
