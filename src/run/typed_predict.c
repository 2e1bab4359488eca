#include "run/typed_predict.h"

#include "ahead/ahead.h"
#include "dataset/writer.h"
#include "infer/wanted.h"
#include "nn/tasks.h"
#include "train/checkpoint.h"
#include "train/json.h"
#include "train/session_of_checkpoint.h"

#include <stdlib.h>
#include <unistd.h>

struct prediction {
    struct og_session *s;
    struct og_wanted wanted;
    struct og_npy_writer *file;
    float *logits; /* of a batch */
    struct og_epoch_counters counters;
};

static int predict_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct prediction *p = arg;
    struct og_model *m = p->s->learner.model;
    const struct og_batch *batch = &w->sampled.batch;
    const size_t row = (size_t)p->s->facts.shape.n_classes * sizeof(float);
    int rc;
    OG_TRY(og__model_forward(m, batch, w->rows, NULL, NULL, err));
    OG_TRY(og__model_fetch(m, p->logits, og__model_logits(m), batch->n_seeds * row, err));
    OG_TRY(og__npy_append(p->file, p->logits, batch->n_seeds, err));
    og__count_work(&p->counters, w);
    struct og_progress told = {.stage = "predict",
                               .done = w->descriptor.batch + 1,
                               .total = og__schedule_batches(&p->s->facts.schedule, OG__TEST)};
    og__observe(p->s->config.seen, &told);
out:
    return rc;
}

static json_t *result_json(const struct prediction *p, const char *out)
{
    const struct og_session *s = p->s;
    const struct og_epoch_counters *c = &p->counters;
    const struct og_graph_types *g = s->facts.types; /* embeddings are of nodes of all types */
    const bool all = og__task(s->config.opt.task)->embeds;
    return json_pack(
        "{s:s s:s? s:I s:f s:I s:I s:I s:I s:I s:I s:I}", "out", out, "type",
        all ? NULL : g->type[g->target].name, "nodes", (json_int_t)s->facts.split[OG__TEST].n,
        "seconds", og__now() - s->opened, "rows", (json_int_t)c->rows, "hits", (json_int_t)c->hits,
        "misses", (json_int_t)c->misses, "bytes_read", (json_int_t)c->bytes_read,
        "prepare_bytes_read", (json_int_t)s->prepare.bytes_read, "peak_rss_bytes",
        (json_int_t)og__session_peak_rss(s), "memory_budget_bytes", (json_int_t)s->memory.limit);
}

static int predict_nodes(struct prediction *p, char **text, struct og_err *err)
{
    struct og_session *s = p->s;
    const struct og_wanted *to = &p->wanted;
    const uint64_t batches = og__schedule_batches(&s->facts.schedule, OG__TEST);
    int rc;
    OG_TRY(og__npy_over(&p->file, to->fd, to->part, OG__NPY_F32, 0, s->facts.shape.n_classes, err));
    OG_TRY(og__run_batches(&s->path, OG__TEST, 0, batches, predict_sink, p, err));
    rc = og__npy_finish(p->file, NULL, err);
    p->file = NULL;
    if (rc < 0)
        return rc;
    OG_TRY(og__json_deliver(result_json(p, to->path), NULL, text, err));
    OG_TRY(og__wanted_check(to, err));
    OG_TRY(og__wanted_deliver(to, err));
out:
    og__npy_discard(p->file);
    p->file = NULL;
    return rc;
}

static int name_outputs(struct prediction *p, const char *out, const char *embeddings,
                        const struct og_options *opt, struct og_err *err)
{
    int rc;
    if (embeddings)
        return og__fail(err, -ENOTSUP, "leave it out",
                        "--embeddings: not where nodes have types yet");
    if (opt->resume)
        return og__fail(err, -ENOTSUP, "leave it out", "--resume: not where nodes have types yet");
    OG_TRY(og__dataset_spare(p->s->facts.ds, out, err));
    OG_TRY(og__wanted_name(&p->wanted, out, false, err));
    OG_TRY(og__wanted_lock(&p->wanted, err));
out:
    return rc;
}

static void close_outputs(struct prediction *p)
{
    og__wanted_remove(&p->wanted); /* it has another name once it is whole */
    if (p->wanted.fd > 0)
        close(p->wanted.fd);
    free(p->wanted.path);
    free(p->wanted.part);
}

int og__typed_predict(const char *dataset, const char *checkpoint, const char *out,
                      const char *embeddings, const struct og_options *opt,
                      const struct og_observer *seen, char **text, struct og_err *err)
{
    struct prediction p = {0};
    int rc = og__session_of_checkpoint(&p.s, dataset, checkpoint, opt, OG__WANT_EVERY, seen, err);
    if (rc < 0)
        return rc;
    OG_TRY(name_outputs(&p, out, embeddings, opt, err));
    OG_TRY(og__checkpoint_load(checkpoint, p.s->learner.model, err));
    p.logits = og__alloc(p.s->budget, og__logits_bytes(&p.s->facts), "activations", err);
    OG_TRY(p.logits ? 0 : -ENOMEM);
    OG_TRY(predict_nodes(&p, text, err));
out:
    if (rc < 0 && text) {
        free(*text);
        *text = NULL;
    }
    close_outputs(&p);
    og__release(p.s->budget, p.logits, og__logits_bytes(&p.s->facts), "activations");
    og__session_close(p.s);
    return rc;
}
