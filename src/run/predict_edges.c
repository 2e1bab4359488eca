/* predict for --task edge: a row per edge of a list, in its order. Batches take all neighbours
 * unless --fanout is given. */
#include "run/predict_edges.h"

#include "flow/count_work.h"
#include "infer/output_file.h"
#include "infer/prediction_file.h"
#include "learn/checkpoint.h"
#include "learn/targets.h"
#include "lookahead/lookahead.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session_of_checkpoint.h"

#include <string.h>
#include <unistd.h>

struct edge_prediction {
    struct og_session *s;
    enum og__split split;
    struct og_output_file output_file;
    struct og_prediction_form form;
    struct og_prediction_file *file;
    struct og_allocs arrays;
    float *rows; /* [batch, columns] */
    size_t bytes;
    uint32_t *number; /* [batch] of rows, then their ends and relations */
    float *own;       /* [batch] features of the edges */
    struct og_epoch_counters counters;
};

static size_t number_bytes(const struct edge_prediction *p)
{
    return p->s->workload.schedule.batch_size * 4 * sizeof(*p->number);
}

static size_t own_bytes(const struct edge_prediction *p)
{
    const struct og_workload *f = &p->s->workload;
    return OG_MAX(f->schedule.batch_size * (size_t)f->shape.pair_dim, (size_t)1) * sizeof(*p->own);
}

static int find_list(struct edge_prediction *p, const char *name, struct og_err *err)
{
    p->split = name ? og__split_named(name, strlen(name)) : OG__TEST;
    if (p->split == OG__VALID || p->split == OG__TEST)
        return 0;
    return og__fail(err, -EINVAL,
                    "give --nodes test for test_edges.npy, or --nodes valid for valid_edges.npy",
                    "--nodes %s: this model predicts the edges of a split", name);
}

static int put_edges(struct edge_prediction *p, const struct og_work *w, uint32_t n,
                     struct og_err *err)
{
    const struct og_split *list = &p->s->workload.split[p->split];
    uint32_t *ends = p->number + n, *relation = ends + 2 * (size_t)n;
    const struct og_predicted_edges edges = {ends, relation, p->number};
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t at = w->seeds.place[i];
        p->number[i] = (uint32_t)at;
        memcpy(ends + 2 * (size_t)i, list->ids + 2 * at, 2 * sizeof(*ends));
        relation[i] = list->relation ? list->relation[at] : 0;
    }
    return og__prediction_edges(p->file, &edges, p->rows, n, err);
}

static int predict_edges_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct edge_prediction *p = arg;
    struct og_model *m = p->s->learner.model;
    struct og_metrics ignored = {0};
    const uint32_t n = w->descriptor.n_seeds;
    int rc;
    og__work_rows(&p->s->workload, w, p->own);
    OG_TRY(og__model_forward(m, &w->sampled.batch, w->rows,
                             og__learner_view(p->s->learner.edges, &p->s->workload, w->rows),
                             &w->seeds.pairs, &ignored, err));
    OG_TRY(og__model_fetch(m, p->rows, og__model_scores(m),
                           n * (size_t)p->s->workload.shape.n_classes * sizeof(float), err));
    OG_TRY(put_edges(p, w, n, err));
    og__count_work(&p->counters, w);
    struct og_progress done = {.size = sizeof(done),
                               .stage = "predict",
                               .done = w->descriptor.batch + 1,
                               .total = og__schedule_batches(&p->s->workload.schedule, p->split)};
    og__observe(p->s->config.observer, &done);
out:
    return rc;
}

static int check_request(const struct og_predict_options *how, const struct og_options *opt,
                         struct og_err *err)
{
    if (how->embeddings)
        return og__fail(err, -ENOTSUP, "leave out --embeddings",
                        "--embeddings: this model predicts edges, embeddings are of nodes");
    if (opt->resume)
        return og__fail(err, -ENOTSUP, "leave out --resume",
                        "--resume: predictions of edges cannot be resumed yet");
    return 0;
}

static int open_output(struct edge_prediction *p, const char *checkpoint, const char *out,
                       const struct og_predict_options *how, struct og_err *err)
{
    const struct og_workload *f = &p->s->workload;
    OG_DO(og__output_spare(f->graph, checkpoint, "the checkpoint", out, err));
    OG_DO(og__prediction_form(&p->form, out, how, &f->shape, f->graph, &p->s->config.log, err));
    p->form.relations = f->split[p->split].relation != NULL;
    OG_DO(og__output_file_name(&p->output_file, out, how->overwrite, err));
    OG_DO(og__output_file_lock(&p->output_file, err));
    p->bytes = f->schedule.batch_size * (size_t)f->shape.n_classes * sizeof(float);
    p->arrays = og__allocs(p->s->budget, "activations");
    p->rows = og__allocs_take(&p->arrays, p->bytes, err);
    p->number = og__allocs_take(&p->arrays, number_bytes(p), err);
    p->own = og__allocs_take(&p->arrays, own_bytes(p), err);
    OG_DO(og__allocs_taken(&p->arrays));
    return og__prediction_open(&p->file, p->output_file.fd, p->output_file.part, &p->form,
                               f->shape.n_classes, &f->shape, f->graph, err);
}

static void close_output(struct edge_prediction *p)
{
    (void)!og__prediction_end(p->file, -EIO, NULL);
    if (p->output_file.path)
        og__output_file_remove(&p->output_file);
    if (p->output_file.fd > 0)
        close(p->output_file.fd);
    free(p->output_file.path);
    free(p->output_file.part);
    og__allocs_release(&p->arrays);
}

static json_t *edges_json(const struct edge_prediction *p)
{
    const struct og_session *s = p->s;
    const struct og_epoch_counters *c = &p->counters;
    return json_pack(
        "{s:s s:I s:f s:I s:I s:I s:I s:I s:I s:I}", "out", p->output_file.path, "edges",
        (json_int_t)s->workload.split[p->split].n, "seconds", og__now() - s->opened, "rows",
        (json_int_t)c->rows, "hits", (json_int_t)c->hits, "misses", (json_int_t)c->misses,
        "bytes_read", (json_int_t)c->bytes_read, "prepare_bytes_read",
        (json_int_t)s->prepare.bytes_read, "peak_rss_bytes", (json_int_t)og__session_peak_rss(s),
        "memory_budget_bytes", (json_int_t)s->memory.limit);
}

static int run_edges(struct edge_prediction *p, char **text, struct og_err *err)
{
    const uint64_t batches = og__schedule_batches(&p->s->workload.schedule, p->split);
    if (p->s->workload.split[p->split].n == 0)
        return og__fail(err, -EINVAL, "import the graph with test_edges.npy",
                        "%s: has no edges to predict", p->s->workload.graph->path);
    OG_DO(og__run_batches(&p->s->path, p->split, 0, batches, predict_edges_sink, p, err));
    struct og_prediction_file *file = p->file;
    p->file = NULL;
    OG_DO(og__prediction_end(file, 0, err));
    OG_DO(og__json_deliver(edges_json(p), NULL, text, err));
    OG_DO(og__output_file_check(&p->output_file, err));
    return og__output_file_deliver(&p->output_file, err);
}

int og__predict_edges(const char *dataset, const char *checkpoint, const char *out,
                      const struct og_predict_options *how, const struct og_options *opt,
                      const struct og_observer *observer, char **text, struct og_err *err)
{
    struct edge_prediction p = {0};
    struct og_options own = {0};
    int rc;
    OG_TRY(find_list(&p, how->nodes, err));
    OG_TRY(check_request(how, opt, err));
    OG_TRY(og__options_copy(&own, opt, err));
    if (!og_options_given(opt, "fanout"))
        OG_TRY(og__session_take_all(&own, checkpoint, err));
    OG_TRY(og__session_of_checkpoint(&p.s, dataset, checkpoint, &own,
                                     OG__WANT_FEATURES | OG__WANT_UNJUDGED, NULL, observer, err));
    OG_TRY(open_output(&p, checkpoint, out, how, err));
    OG_TRY(og__session_check_timed(p.s, p.split, err));
    OG_TRY(og__checkpoint_load(checkpoint, p.s->learner.model, err));
    OG_TRY(run_edges(&p, text, err));
out:
    if (rc < 0 && text) {
        free(*text);
        *text = NULL;
    }
    if (p.s)
        close_output(&p);
    og__session_close(p.s);
    og__options_release(&own);
    return rc;
}
