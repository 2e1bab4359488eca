/* og_sample: the batches a run would train on, written as a trace. */
#include "ahead/ahead.h"
#include "base/file.h"
#include "base/seal.h"
#include "dataset/identity.h"
#include "dataset/writer.h"
#include "sample/trace.h"
#include "train/json.h"
#include "train/options.h"
#include "train/session.h"
#include "train/targets.h"

#include <stdlib.h>

struct recorder {
    struct og_session *s;
    struct og_newdir dir;
    struct og_trace_writer *trace;
    struct og_npy_writer *features; /* NULL unless asked for */
    void *labels;
    json_t *checksums; /* of files, by name */
    uint64_t batches, rows;
    struct og_epoch_counters counters;
    uint64_t bytes_written; /* of its own files */
    size_t charged;         /* for buffers */
};

static const char record_part[] = "samples";

static int record_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct recorder *r = arg;
    const struct og_batch *batch = &w->sampled.batch;
    if (!r->s->facts.seeds.edges)
        og__work_labels(&r->s->facts, w, r->labels);
    int rc;
    OG_TRY(og__trace_append(r->trace, batch, r->labels, err));
    for (uint32_t i = 0; r->features && i < batch->n_ids; i++)
        OG_TRY(og__npy_append(r->features, og__row(&w->rows, i), 1, err));
out:
    r->batches++;
    r->rows += batch->n_ids;
    og__count_work(&r->counters, w);
    struct og_progress p = {.stage = "sample",
                            .epoch = (int)w->descriptor.epoch,
                            .epochs = r->s->config.opt.epochs,
                            .done = w->descriptor.batch + 1,
                            .total = og__schedule_batches(&r->s->facts.schedule, OG__TRAIN)};
    og__observe(r->s->config.seen, &p);
    return rc;
}

static int open_recorder(struct recorder *r, const char *out_dir, bool with_features,
                         struct og_err *err)
{
    struct og_session *s = r->s;
    const struct og_trace_options opt = og__record_form(&s->facts);
    int rc;
    OG_TRY(og__budget_charge(s->budget, s->memory.record, record_part, err));
    r->charged = s->memory.record;
    OG_TRY(og__newdir_begin(&r->dir, out_dir, err));
    OG_TRY(og__trace_create(&r->trace, r->dir.temporary, &opt, err));
    if (!with_features)
        return rc;
    char *path = og__path_join(r->dir.temporary, "features.npy");
    rc = path ? og__npy_create(&r->features, path, og__dtype_stored(s->facts.ds->dtype), 2,
                               s->facts.ds->dim, err)
              : og__fail_errno(err, -ENOMEM, NULL, "%s", out_dir);
    free(path);
out:
    return rc;
}

static int write_description(const struct recorder *r, struct og_err *err)
{
    const struct og_session *s = r->s;
    uint64_t per_epoch = og__schedule_batches(&s->facts.schedule, OG__TRAIN);
    unsigned extras = s->facts.trace.extras;
    json_t *root = json_pack(
        "{s:i s:s s:I s:i s:I s:i s:i s:I s:I s:I s:I s:b s:b s:s s:o}", "format", 1, "dataset",
        s->facts.ds->name, "num_nodes", (json_int_t)s->facts.ds->n_nodes, "feature_dim",
        s->facts.ds->dim, "seed", (json_int_t)s->config.opt.seed, "epochs", s->config.opt.epochs,
        "resample_every", s->config.opt.resample_every, "draws",
        (json_int_t)(r->batches / per_epoch), "batches_per_epoch", (json_int_t)per_epoch, "batches",
        (json_int_t)r->batches, "rows", (json_int_t)r->rows, "degrees",
        !!(extras & OG__WITH_DEGREES), "weights", !!(extras & OG__WITH_WEIGHTS), "feature_dtype",
        og__dtype_name(s->facts.ds->dtype), "options", og__options_json(&s->config.opt));
    root = og__identity_with(root, &s->facts.ds->identity);
    root = og__json_with(root, "checksums", json_incref(r->checksums));
    char *path = og__path_join(r->dir.temporary, "trace.json");
    int rc = path ? og__sealed_write(path, root, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", r->dir.path);
    if (!path)
        json_decref(root);
    free(path);
    return rc;
}

static int finish_features(struct recorder *r, struct og_err *err)
{
    uint64_t checksum;
    r->bytes_written += og__npy_bytes(r->features);
    int rc = og__npy_finish(r->features, &checksum, err);
    r->features = NULL;
    return rc < 0 ? rc : og__trace_note(r->checksums, "features.npy", checksum, err);
}

static json_t *result_json(const struct recorder *r)
{
    const struct og_session *s = r->s;
    const struct og_epoch_counters *c = &r->counters;
    return json_pack(
        "{s:s s:I s:I s:o s:I s:I s:I s:f}", "trace", r->dir.path, "batches",
        (json_int_t)r->batches, "rows", (json_int_t)r->rows, "prepare",
        og__prepare_counters_json(&s->prepare), "bytes_read", (json_int_t)c->bytes_read,
        "prepare_bytes_read", (json_int_t)c->prepare_bytes_read, "bytes_written",
        (json_int_t)(c->bytes_written + r->bytes_written), "seconds", og__now() - s->opened);
}

/* What it tells comes before the folder: without a result there is none. */
static int finish_recorder(struct recorder *r, char **out, struct og_err *err)
{
    if (!(r->checksums = json_object()))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", r->dir.path);
    r->bytes_written += og__trace_written(r->trace);
    int rc = og__trace_finish(r->trace, r->checksums, err);
    r->trace = NULL; /* it is gone either way */
    if (rc < 0)
        return rc;
    if (r->features)
        OG_TRY(finish_features(r, err));
    OG_TRY(write_description(r, err));
    OG_TRY(og__json_deliver(result_json(r), NULL, out, err));
    OG_TRY(og__newdir_commit(&r->dir, err));
out:
    return rc;
}

/* The epochs that draw batches; those that train on them again bring nothing new. */
static int record_epochs(struct recorder *r, struct og_err *err)
{
    const struct og_schedule *schedule = &r->s->facts.schedule;
    int rc = 0;
    for (uint32_t e = 1; e <= (uint32_t)schedule->epochs; e++) {
        uint64_t first = og__schedule_start(schedule, e);
        uint64_t last = og__schedule_start(schedule, e + 1);
        if (og__schedule_drawn(schedule, e) == e)
            OG_TRY(og__run_batches(&r->s->path, OG__SPLITS, first, last, record_sink, r, err));
    }
out:
    return rc;
}

int og_sample(const char *dataset, const char *out_dir, bool with_features,
              const struct og_options *opt, const struct og_observer *seen, struct og_err *err)
{
    return og_sample_figures(dataset, out_dir, with_features, opt, seen, NULL, err);
}

int og_sample_figures(const char *dataset, const char *out_dir, bool with_features,
                      const struct og_options *opt, const struct og_observer *seen, char **out,
                      struct og_err *err)
{
    struct recorder r = {0};
    struct og_options own;
    if (out)
        *out = NULL;
    unsigned want = OG__WANT_LABELS | OG__WANT_RECORD | OG__WANT_UNEVALUATED |
                    (with_features ? OG__WANT_FEATURES : 0u);
    if (opt->epochs < 1)
        return og__fail(err, -EINVAL, "give --epochs 1 or more",
                        "--epochs %d: there are no batches to sample", opt->epochs);
    int rc = og__options_copy(&own, opt, err);
    if (rc < 0)
        return rc;
    own.pack_dtype = OG_PACK_STORED; /* of what is kept of a run, not of its samples */
    rc = og__session_open(&r.s, dataset, &own, want, NULL, seen, err);
    og_options_release(&own);
    if (rc < 0)
        return rc;
    struct og_session *s = r.s;
    size_t bytes = og__targets_bytes(&s->facts);
    r.labels = og__alloc(s->budget, bytes, "batches", err);
    OG_TRY(r.labels ? open_recorder(&r, out_dir, with_features, err) : -ENOMEM);
    OG_TRY(record_epochs(&r, err));
    OG_TRY(finish_recorder(&r, out, err));
out:
    og__trace_discard(r.trace);
    og__npy_discard(r.features);
    og__budget_uncharge(s->budget, r.charged, record_part);
    og__newdir_abandon(&r.dir);
    json_decref(r.checksums);
    og__release(s->budget, r.labels, bytes, "batches");
    og__session_close(s);
    if (rc < 0 && out) {
        free(*out);
        *out = NULL;
    }
    return rc;
}
