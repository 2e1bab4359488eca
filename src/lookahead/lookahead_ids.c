/* Superbatches that nobody trains on, so that the ids of their batches suffice. They are planned
 * all the same: to predict what a run will read, or to pack offline what a draw's batches miss. */
#include "dataset/writer.h"
#include "lookahead/lookahead_parts.h"
#include "plan/count.h"

/* ---- ids alone ---- */

/* A superbatch for ids alone. */
static int open_ids(struct og_lookahead *a, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_superbatch_options opt = {.scratch = og__scratch_or_here(&d->stores),
                                        .memory = SIZE_MAX,
                                        .n_nodes = (uint64_t)d->workload->graph->n_nodes};
    a->sampled = og__alloc(d->budget, a->n * sizeof(*a->sampled), "superbatch", err);
    if (!a->sampled)
        return -ENOMEM;
    return d->stores.superbatch ? 0
                                : og__superbatch_open(&d->stores.superbatch, &opt, d->budget, err);
}

static int record_ids(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_lookahead *a = arg;
    struct og_batch ids = w->sampled.batch;
    const uint32_t *planned;
    bool apart;
    OG_DO(og__lookahead_note(a, w, &apart, err));
    OG_DO(og__lookahead_planned_batch(a->path, &w->sampled.batch, &planned, &ids.n_ids, err));
    ids.ids = (uint32_t *)planned;
    ids.n_units = 0; /* the ids have them */
    ids.n_hops = 0;  /* nothing is trained: blocks are not needed, nor is anything spilled */
    return og__superbatch_append(a->path->stores.superbatch, &ids, err);
}

/* ---- what an epoch will read ---- */

/* What packed files take, and what batches read of segments, follows from all the misses. Packs of
 * --samples take nothing. */
static int predict_laid_out(struct og_lookahead *a, struct og_err *err)
{
    int rc = og__lookahead_finish(a, err);
    if (rc < 0)
        return rc;
    if (a->path->exec->layout == OG_LAYOUT_PACKED) {
        og__lookahead_end_prediction(a);
        return a->by_draw && a->path->stores.packs
                   ? 0
                   : og__lookahead_fit_chunks(a, a->spill_bytes, err);
    }
    OG_TRY(og__lookahead_fit_segments(a, a->spill_bytes, err));
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_segments segments;
        uint32_t size;
        OG_TRY(og__lookahead_choose_segments(a, k, &segments, &size, err));
        rc = og__lookahead_predict_segments(a, k, &segments, size, err);
        og__segments_close(&segments);
        OG_TRY(rc);
    }
    og__lookahead_end_prediction(a);
out:
    return rc;
}

/* A superbatch as it is planned. */
struct prediction {
    struct og_lookahead *a;
    uint32_t *list; /* 2 OG__FILL_ROWS */
};

/* What enters the cache before the batch would be spilled with the plans. */
static int enter_cache(void *arg, uint32_t b, struct og_err *err)
{
    struct prediction *f = arg;
    const struct og_data_path *d = f->a->path;
    uint32_t *slots = f->list + OG__FILL_ROWS;
    uint64_t rows = 0, pieces = 0;
    int rc = 0;
    for (uint32_t n; (n = og__policy_prefill(d->policy, f->list, slots, OG__FILL_ROWS)) > 0;) {
        OG_TRY(og__predict_fill(&f->a->prediction, d, f->list, slots, n, err));
        rows += n;
        pieces++;
    }
    if (b == 0 && f->a->prediction.writes)
        og__predict_begin(&f->a->prediction, d);
    if (og__samples_ahead(d->exec) && d->memory->code_bytes == 0)
        f->a->spill_bytes += og__filling_bytes(b, pieces, rows);
out:
    return rc;
}

static int note_plan(void *arg, uint32_t b, struct og_plan *plan, struct og_err *err)
{
    struct og_lookahead *a = ((struct prediction *)arg)->a;
    const struct og_predicted_batch batch = {.counts = og__lookahead_predicts(a, b),
                                             .trains = og__lookahead_trains(a, b),
                                             .from = &a->sampled[b].from};
    const int rc = og__predict_batch(&a->prediction, a->path, plan, &batch, err);
    return rc == 0 && og__packs(a->path->exec)
               ? og__lookahead_add_misses(a, plan->misses, NULL, plan->n_misses, err)
               : rc;
}

static int plan_batches(struct og_lookahead *a, const struct og_trace *trace, uint32_t *list,
                        struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct prediction f = {a, list};
    const struct og_walk walk = {.policy = d->policy,
                                 .planner = &d->planner,
                                 .plan = &d->works[0].plan,
                                 .before = enter_cache,
                                 .planned = note_plan,
                                 .arg = &f};
    return og__walk_batches(&walk, trace, trace->n_batches, err);
}

static int foresee(struct og_lookahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_prediction *p = &a->prediction;
    struct og_foreseen *of[OG_MOST_TYPES];
    const uint32_t n = d->workload->row_graph->n_groups;
    if (og__foreseen_batches(d) == 0 || !p->writes)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        of[k] = p->writes[k].batches > 0 ? &p->writes[k].foreseen : NULL;
    p->uses = &d->stores.uses;
    const int rc = og__lookahead_foresee(a, trace, of, err);
    for (uint32_t k = 0; rc == 0 && k < n; k++)
        if (of[k])
            og__foreseen_done(of[k], &p->writes[k].tables, og__lookahead_reads_from(a, trace));
    return rc;
}

int og__lookahead_count_codes(struct og_lookahead *a, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_trace all = og__superbatch_trace(d->stores.superbatch);
    const struct og_trace trace = og__lookahead_own(a);
    const size_t bytes = 2 * OG__FILL_ROWS * sizeof(uint32_t);
    struct og_io_counts ignored = {0};
    uint32_t *list = og__alloc(d->budget, bytes, "trace", err);
    int rc;
    OG_TRY(list ? og__lookahead_prepare(a, &all, &ignored, err) : -ENOMEM);
    if (og__packs(d->exec))
        OG_TRY(og__lookahead_begin_packing(a, &trace, err));
    OG_TRY(og__predict_writes(&a->prediction, d, err));
    OG_TRY(foresee(a, &trace, err));
    OG_TRY(plan_batches(a, &trace, list, err));
out:
    og__predict_end(&a->prediction, d);
    og__release(d->budget, list, bytes, "trace");
    return rc;
}

static int predict_epoch(struct og_lookahead *a, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const bool lookahead = og__samples_ahead(d->exec);
    int rc;
    OG_TRY(a->plans->count(a, err));
    if (og__packs(d->exec))
        OG_TRY(predict_laid_out(a, err));
    else
        og__lookahead_end_prediction(a);
    if (lookahead)
        OG_TRY(og__lookahead_spill_fits(a, a->spill_bytes, err));
out:
    return rc;
}

static int look_away(void *arg, struct og_work *w, struct og_err *err)
{
    (void)arg;
    (void)w;
    (void)err;
    return 0;
}

/* One group of batches is sampled; nothing else of them is looked at. */
static int predict_group(struct og_data_path *d, uint64_t items, struct og_err *err)
{
    struct og_pipeline p;
    const uint64_t n = OG_MIN((uint64_t)d->memory->sample_group.batches, items);
    og__pipeline_sample(&p, d, (struct og_items){&d->workload->schedule, OG__SPLITS, 0, n}, true);
    return og__pipeline_run(&p, look_away, NULL, err);
}

int og__predict_run(struct og_data_path *d, struct og_err *err)
{
    uint64_t items = og__schedule_stretch(&d->workload->schedule, 0);
    uint64_t epoch = og__schedule_start(&d->workload->schedule, 2);
    if (items == 0 || og__exchanges(d->config)) /* its policy knows but own nodes */
        return 0;
    if (d->predicted->known)
        return d->predicted->bound ? predict_group(d, items, err) : 0;
    uint64_t last = og__samples_ahead(d->exec) ? og__superbatch_end(d, OG__SPLITS, 0, items)
                                               : OG_MIN(epoch, items);
    struct og_lookahead a = {.path = d,
                             .plans = og__lookahead_plans(d),
                             .n = OG_MIN(last + d->memory->tail + d->memory->lot, items)};
    int rc;
    OG_TRY(open_ids(&a, err));
    OG_TRY(og__lookahead_sample(&a, OG__SPLITS, 0, last, items, record_ids, err));
    if (d->memory->alternates) /* planning has its memory, as in a run */
        og__data_path_end_sampling(d);
    OG_TRY(predict_epoch(&a, err));
out:
    og__lookahead_end_packing(&a);
    og__release(d->budget, a.sampled, a.n * sizeof(*a.sampled), "superbatch");
    return rc;
}

/* ---- offline packing ---- */

/* The nodes that the policy keeps, from first to last. */
static int list_cached(struct og_data_path *d, struct og_npy_writer *out, struct og_err *err)
{
    uint32_t node;
    uint32_t slot;
    while (og__policy_prefill(d->policy, &node, &slot, 1) > 0)
        OG_DO(og__npy_append(out, &(int64_t){node}, 1, err));
    return 0;
}

static int add_misses(struct og_lookahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_data_path *d = a->path;
    size_t bytes = OG_MAX(og__lookahead_longest(trace), (uint64_t)1) * sizeof(uint32_t);
    uint32_t *codes = og__alloc(d->budget, bytes, "trace", err);
    int rc;
    OG_TRY(codes ? og__lookahead_begin_packing(a, trace, err) : -ENOMEM);
    for (uint32_t b = 0; b < trace->n_batches; b++) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        OG_TRY(og__policy_code(d->policy, ids, n, &d->works[0].plan, codes, err));
        OG_TRY(og__lookahead_add_misses(a, ids, codes, n, err));
    }
out:
    og__release(d->budget, codes, bytes, "trace");
    return rc;
}

/* All draws of a folder are there at the same time. */
static int write_draw(struct og_lookahead *a, const struct og_draw_files *to,
                      struct og_lookahead_counts *done, struct og_err *err)
{
    char takes[32], allowed[32];
    struct og_lookahead_files *files = NULL;
    int rc = og__lookahead_finish(a, err);
    if (rc < 0)
        return rc;
    const uint64_t bytes =
        done->bytes_written + og__lookahead_file_bytes(a, og__lookahead_packed(a));
    if (bytes > a->path->config->disk)
        return og__fail(err, -ENOSPC, "give more --disk, or pack fewer epochs",
                        "--disk: packed rows take at least %s, %s are allowed",
                        og__human_bytes(takes, (double)bytes),
                        og__human_bytes(allowed, (double)a->path->config->disk));
    OG_TRY(og__lookahead_made_files(a, to->dir, to->draw, &files, err));
    OG_TRY(og__lookahead_write_chunks(a, files, done, err));
out:
    og__lookahead_files_free(a, files);
    return rc;
}

static int pack_draw(struct og_lookahead *a, const struct og_draw_files *to,
                     struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_trace trace = og__superbatch_trace(d->stores.superbatch);
    uint32_t n_cached = 0;
    og__policy_invalidate(d->policy,
                          0); /* all rows it keeps count, not what is new since the last draw */
    int rc;
    OG_TRY(og__policy_prepare(d->policy, &trace, &n_cached, err));
    OG_TRY(list_cached(d, to->cached, err));
    OG_TRY(add_misses(a, &trace, err));
out:
    return rc < 0 ? rc : write_draw(a, to, done, err);
}

int og__pack_draw(struct og_data_path *d, uint32_t epoch, const struct og_draw_files *to,
                  struct og_lookahead_counts *done, uint64_t *rows, struct og_err *err)
{
    uint64_t first = og__schedule_start(&d->workload->schedule, epoch);
    struct og_lookahead a = {
        .path = d, .plans = og__lookahead_plans(d), .n = d->memory->superbatch};
    int rc;
    OG_TRY(open_ids(&a, err));
    OG_TRY(og__lookahead_sample(&a, OG__SPLITS, first, first + 1, first + 1, record_ids, err));
    OG_TRY(pack_draw(&a, to, done, err));
    for (uint32_t k = 0; k < a.n_groups; k++)
        rows[a.group[k].group] += a.group[k].misses.ptr[og__lookahead_packed(&a)];
out:
    done->read.reads += a.made.reads;
    done->read.bytes += a.made.bytes;
    og__lookahead_end_packing(&a);
    og__release(d->budget, a.sampled, a.n * sizeof(*a.sampled), "superbatch");
    return rc;
}
