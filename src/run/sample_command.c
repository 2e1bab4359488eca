/* og_sample: the batches a run would train on, written as a trace. */
#include "base/file.h"
#include "base/hex.h"
#include "base/self_checksum.h"
#include "base/sized.h"
#include "dataset/identity.h"
#include "dataset/schema.h"
#include "dataset/stream.h"
#include "flow/count_work.h"
#include "flow/places.h"
#include "learn/targets.h"
#include "lookahead/lookahead.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "report/json.h"
#include "run/recorded_rows.h"
#include "sample/degree_counts.h"
#include "sample/trace.h"
#include "session/option_effects.h"
#include "session/session.h"

#include <math.h>
#include <stdlib.h>

struct recorder {
    struct og_session *s;
    struct og_newdir dir;
    struct og_trace_writer *trace;
    struct og_recorded_rows *rows; /* NULL unless requested */
    void *labels;
    json_t *checksums; /* of files, by name */
    uint64_t batches, n_rows;
    uint64_t *edges; /* [relations], if they are counted */
    struct og_epoch_counters counters;
    uint64_t bytes_written; /* of its own files */
    size_t charged;         /* for buffers */
};

static const char record_part[] = "samples";

static void count_edges(struct recorder *r, const struct og_batch *batch)
{
    for (uint32_t h = 0; r->edges && h < batch->n_hops; h++) {
        const struct og_block *k = &batch->hop[h];
        for (uint32_t i = 0; i < k->n_relations; i++)
            r->edges[i] += k->indptr[k->relation[i + 1]] - k->indptr[k->relation[i]];
    }
}

static int record_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct recorder *r = arg;
    const struct og_batch *batch = &w->sampled.batch;
    og__places_hide(&w->places, &w->sampled.batch, &w->rows); /* a node's row is written once */
    if (!r->s->workload.seeds.edges)
        og__seed_labels(&r->s->workload, w, r->labels);
    int rc;
    OG_TRY(og__trace_append(r->trace, batch, r->labels, err));
    if (r->rows)
        OG_TRY(og__recorded_rows_append(r->rows, w, r->s->path.gather, err));
out:
    r->batches++;
    r->n_rows += batch->n_ids;
    count_edges(r, batch);
    og__count_work(&r->counters, w);
    struct og_progress p = {.size = sizeof(p),
                            .stage = "sample",
                            .epoch = (int)w->descriptor.epoch,
                            .epochs = r->s->config.opt.epochs,
                            .done = w->descriptor.batch + 1,
                            .total = og__schedule_batches(&r->s->workload.schedule, OG__TRAIN)};
    og__observe(r->s->config.observer, &p);
    return rc;
}

/* Lists on disk are read through a buffer. */
static bool has_room_for_degrees(const struct og_session *s)
{
    const bool on_disk = s->exec.topology == OG_TOPOLOGY_DISK;
    const size_t beside = OG_MAX(og__degree_counts_bytes(), on_disk ? (size_t)OG__CHUNK : 0);
    return og__budget_left(s->budget) >= (size_t)s->workload.n_nodes * sizeof(uint32_t) + beside;
}

static struct og_trace_type *types_of(const struct og_graph *g)
{
    struct og_trace_type *type = calloc(g->n_groups, sizeof(*type));
    for (uint32_t t = 0; type && t < g->n_groups; t++)
        type[t] = (struct og_trace_type){.end = (uint64_t)(g->group[t].first + g->group[t].n_nodes),
                                         .dim = g->group[t].dim};
    return type;
}

/* Writes how many nodes have each degree, while memory has room: before batches take theirs. Caches
 * are shared out among types by it. */
static int write_degrees(struct recorder *r, struct og_err *err)
{
    struct og_session *s = r->s;
    const size_t bytes = (size_t)s->workload.n_nodes * sizeof(uint32_t);
    struct og_trace_type *type = NULL;
    uint32_t *degree = NULL;
    int rc = 0;
    if (!has_room_for_degrees(s)) {
        og__say(&s->config.log, OG__WARN,
                "--memory has no room to count nodes by degree: `simulate` of these samples will "
                "need the dataset");
        return 0;
    }
    type = types_of(s->workload.graph);
    OG_TRY(type ? 0 : og__fail_errno(err, -ENOMEM, NULL, "trace"));
    degree = og__alloc(s->budget, bytes, "trace", err);
    OG_TRY(degree ? 0 : -ENOMEM);
    OG_TRY(og__topology_out_degrees(&s->structure.topology, degree, err));
    OG_TRY(og__degree_counts_write(r->dir.temporary, type, s->workload.graph->n_groups, degree,
                                   s->budget, &r->bytes_written, r->checksums, err));
out:
    og__release(s->budget, degree, bytes, "trace");
    free(type);
    return rc;
}

/* The k-th of those to train on, -1 or NaN in the trace. */
static bool has_label(const struct og_workload *f, int64_t k)
{
    const void *labels = f->split[OG__TRAIN].labels;
    if (!og__float_labels(f->graph))
        return ((const int32_t *)labels)[k] >= 0;
    return !isnan(((const float *)labels)[k * f->graph->n_classes]);
}

/* Labels are of one type, as a rule; a split may be of others. */
static int warn_of_types(const struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const struct og_split *split = &s->workload.split[OG__TRAIN];
    uint64_t *bare = calloc(g->n_groups, sizeof(*bare));
    if (!bare)
        return og__fail_errno(err, -ENOMEM, NULL, "labels");
    for (int64_t k = 0; split->labels && k < split->n; k++)
        if (!has_label(&s->workload, k))
            bare[og__group_of(g, split->ids[k])]++;
    for (uint32_t t = 0; t < g->n_groups; t++)
        if (bare[t] > 0)
            og__say(&s->config.log, OG__WARN,
                    "%s: %llu nodes to train on, of type %s, have no label: the samples say so",
                    s->workload.graph->path, (unsigned long long)bare[t], g->group[t].name);
    free(bare);
    return 0;
}

/* What samples of a heterogeneous graph say besides. */
static int open_by_types(struct recorder *r, const char *out_dir, struct og_err *err)
{
    const struct og_graph *g = r->s->workload.graph;
    if (!g->has_types)
        return 0;
    r->edges = calloc(g->n_relations, sizeof(*r->edges));
    OG_DO(r->edges ? warn_of_types(r->s, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", out_dir));
    return write_degrees(r, err);
}

static int open_recorder(struct recorder *r, const char *out_dir, bool with_features,
                         struct og_err *err)
{
    struct og_session *s = r->s;
    const struct og_trace_options opt = og__record_form(&s->workload);
    int rc;
    OG_TRY(og__budget_charge(s->budget, s->memory.record, record_part, err));
    r->charged = s->memory.record;
    r->checksums = json_object();
    OG_TRY(r->checksums ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", out_dir));
    OG_TRY(og__check_apart(s->workload.graph->path, out_dir, err));
    OG_TRY(og__newdir_begin(&r->dir, out_dir, err));
    OG_TRY(og__trace_create(&r->trace, OG__ONE_PLACE(r->dir.temporary), &opt, err));
    OG_TRY(open_by_types(r, out_dir, err));
    if (with_features)
        OG_TRY(og__recorded_rows_open(&r->rows, s->workload.graph, r->dir.temporary, err));
out:
    return rc;
}

static json_t *type_json(const struct og_group *t)
{
    json_t *said = json_pack("{s:s s:I}", "name", t->name, "count", (json_int_t)t->n_nodes);
    if (t->dim < 1)
        return said;
    said = og__json_with(said, "feature_dim", json_integer(t->dim));
    said = og__json_with(said, "feature_dtype", json_string(og__dtype_name(t->stored)));
    return og__schema_with_form(said, &t->sparse);
}

/* Adds what the numbers of relations and the ids mean, as meta.json or its arrays say. */
static json_t *with_types(json_t *root, const struct og_graph *g)
{
    const json_t *meta = g->meta;
    json_t *types = json_array();
    for (uint32_t t = 0; t < g->n_groups; t++)
        types = og__json_append(types, type_json(&g->group[t]));
    root = og__json_with(root, "node_types", types);
    return og__json_with(root, "relations", json_deep_copy(json_object_get(meta, "relations")));
}

/* By relation; 0: its edges have no rows. */
static json_t *units_json(const struct og_workload *f)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < f->graph->n_relations; r++)
        list = og__json_append(list, json_integer((json_int_t)f->edge_units[r].rows));
    return list;
}

static int write_description(const struct recorder *r, struct og_err *err)
{
    const struct og_session *s = r->s;
    const struct og_graph *g = s->workload.graph;
    const struct og_group none = {0};
    const struct og_group *rows = r->edges ? &none : g->group; /* those of types are by type */
    uint64_t per_epoch = og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    unsigned extras = s->workload.trace.extras;
    json_t *root = json_pack(
        "{s:i s:s s:I s:i s:I s:i s:i s:I s:I s:I s:I s:b s:b s:s s:o}", "format", 1, "dataset",
        g->name, "num_nodes", (json_int_t)g->n_nodes, "feature_dim", rows->dim, "seed",
        (json_int_t)s->config.opt.seed, "epochs", s->config.opt.epochs, "resample_every",
        s->config.opt.resample_every, "draws", (json_int_t)(r->batches / per_epoch),
        "batches_per_epoch", (json_int_t)per_epoch, "batches", (json_int_t)r->batches, "rows",
        (json_int_t)r->n_rows, "degrees", !!(extras & OG__WITH_DEGREES), "weights",
        !!(extras & OG__WITH_WEIGHTS), "feature_dtype", og__dtype_name(rows->stored), "options",
        og__options_json(&s->config.opt));
    root = og__schema_with_form(root, &rows->sparse);
    root = og__json_with(root, "disjoint", json_boolean(extras & OG__WITH_TREES));
    if (extras & OG__WITH_EDGES)
        root = og__json_with(root, "edges_of_unit", units_json(&s->workload));
    root = og__identity_with(root, &g->identity);
    if (s->workload.schedule.order)
        root = og__json_with(root, "order", og__json_hex(s->workload.schedule.order_checksum));
    if (r->edges)
        root = with_types(root, g);
    root = og__json_with(root, "checksums", json_incref(r->checksums));
    char *path = og__path_join(r->dir.temporary, "trace.json");
    int rc = path ? og__self_checksum_write(path, root, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", r->dir.path);
    if (!path)
        json_decref(root);
    free(path);
    return rc;
}

/* Edges of each, in all batches and hops. */
static json_t *relations_json(const struct recorder *r)
{
    const struct og_graph *g = r->s->workload.graph;
    json_t *list = json_array();
    for (uint32_t i = 0; i < g->n_relations; i++) {
        const struct og_relation *rel = &g->relation[i];
        list = og__json_append(list, json_pack("{s:s s:s s:s s:I}", "source",
                                               g->group[rel->source].name, "name", rel->name,
                                               "destination", g->group[rel->destination].name,
                                               "edges", (json_int_t)r->edges[i]));
    }
    return list;
}

static json_t *types_json(const struct recorder *r)
{
    uint64_t slots[OG_MOST_TYPES];
    for (uint32_t k = 0; k < r->s->workload.graph->n_groups; k++)
        slots[k] = r->s->size[k].slots;
    return og__recorded_rows_json(r->rows, slots);
}

static json_t *result_json(const struct recorder *r)
{
    const struct og_session *s = r->s;
    const struct og_epoch_counters *c = &r->counters;
    json_t *root = json_pack(
        "{s:s s:I s:I s:o s:I s:I s:I s:f}", "trace", r->dir.path, "batches",
        (json_int_t)r->batches, "rows", (json_int_t)r->n_rows, "prepare",
        og__prepare_counters_json(&s->prepare), "bytes_read", (json_int_t)c->bytes_read,
        "prepare_bytes_read", (json_int_t)c->prepare_bytes_read, "bytes_written",
        (json_int_t)(c->bytes_written + r->bytes_written), "seconds", og__now() - s->opened);
    if (!r->edges)
        return root;
    root = og__json_with(root, "relations", relations_json(r));
    return r->rows ? og__json_with(root, "types", types_json(r)) : root;
}

/* Its result comes before the folder: without a result there is none. */
static int finish_recorder(struct recorder *r, char **out, struct og_err *err)
{
    r->bytes_written += og__trace_written(r->trace);
    int rc = og__trace_finish(r->trace, r->checksums, err);
    r->trace = NULL; /* it is gone either way */
    if (rc < 0)
        return rc;
    if (r->rows)
        OG_TRY(og__recorded_rows_finish(r->rows, r->checksums, &r->bytes_written, err));
    OG_TRY(write_description(r, err));
    OG_TRY(og__json_deliver(result_json(r), NULL, out, err));
    OG_TRY(og__newdir_commit(&r->dir, err));
out:
    return rc;
}

/* The epochs that draw batches; those that train on them again bring nothing new. */
static int record_epochs(struct recorder *r, struct og_err *err)
{
    const struct og_schedule *schedule = &r->s->workload.schedule;
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

static int open_session(struct recorder *r, const char *dataset, bool with_features,
                        const struct og_options *opt, const struct og_observer *observer,
                        struct og_err *err)
{
    unsigned want = OG__WANT_LABELS | OG__WANT_RECORD | OG__WANT_UNEVALUATED;
    struct og_options own;
    int rc = og__options_copy(&own, opt, err);
    if (rc < 0)
        return rc;
    own.pack_dtype = OG_PACK_STORED; /* of what is kept of a run, not of its samples */
    if (with_features) {
        want |= OG__WANT_FEATURES;
        if (own.policy == OG_POLICY_AUTO) /* what is written does not depend on what is fast */
            own.policy = OG_POLICY_DEGREE;
    }
    OG_TRY(og__session_open(&r->s, dataset, &own, want, NULL, observer, err));
    if (with_features && og_options_given(opt, "policy") && opt->policy == OG_POLICY_AUTO)
        og__say(&r->s->config.log, OG__INFO,
                "--policy auto: samples take degree, so that what is "
                "written does not depend on timings");
    if (og_options_given(opt, "pack-dtype"))
        og__log_without_effect(&r->s->config.log, "", "pack-dtype", NULL, "",
                               "samples have rows as they are stored");
out:
    og__options_release(&own);
    return rc;
}

int og_sample(const char *dataset, const char *out_dir, bool with_features,
              const struct og_options *opt, const struct og_observer *observer, char **out,
              struct og_err *err)
{
    struct recorder r = {0};
    if (out)
        *out = NULL;
    if (opt->epochs < 1)
        return og__fail(err, -EINVAL, "give --epochs 1 or more",
                        "--epochs %d: there are no batches to sample", opt->epochs);
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : open_session(&r, dataset, with_features, opt, observer, err);
    if (rc < 0)
        return rc;
    struct og_session *s = r.s;
    size_t bytes = og__targets_bytes(&s->workload);
    r.labels = og__alloc(s->budget, bytes, "batches", err);
    OG_TRY(r.labels ? open_recorder(&r, out_dir, with_features, err) : -ENOMEM);
    OG_TRY(record_epochs(&r, err));
    OG_TRY(finish_recorder(&r, out, err));
out:
    og__trace_discard(r.trace);
    og__recorded_rows_close(r.rows);
    free(r.edges);
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
