#include "lookahead/lookahead.h"

#include "flow/exchange.h"
#include "lookahead/lookahead_parts.h"

#include <assert.h>

_Static_assert(sizeof(struct og_sampled_lookahead) == OG__SAMPLED_LOOKAHEAD_BYTES,
               "as it is planned");
_Static_assert(sizeof(struct og_fill_window) == OG__FILL_WINDOW_BYTES, "as it is planned");

/* ---- sampling it ---- */

static int record(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_lookahead *a = arg;
    struct og_data_path *d = a->path;
    bool apart;
    int rc = og__lookahead_note(a, w, &apart, err);
    if (rc == 0 && apart)
        rc = og__superbatch_cut(d->stores.superbatch, err);
    if (rc < 0)
        return rc;
    if (!w->stored) {
        rc = og__superbatch_append(d->stores.superbatch, &w->sampled.batch, err);
        return rc < 0 ? rc : og__lookahead_within_disk(a, err);
    }
    return og__superbatch_refer(d->stores.superbatch, &w->sampled.batch, d->offline->samples,
                                og__offline_number(d->offline, &w->descriptor), err);
}

/* ---- planning it ---- */

/* What the codes say is missed, as rows of the file, in their place. */
static uint32_t list_misses(const struct og_data_path *d, const uint32_t *ids, uint32_t *codes,
                            uint32_t n)
{
    uint32_t missed = 0;
    for (uint32_t i = 0; i < n; i++)
        if (codes[i] & (uint32_t)OG__CODE_MISS)
            codes[missed++] = ids[i];
    og__rows_of_own(d->config, codes, missed);
    return missed;
}

/* What is spilled of a superbatch's plan. Making it needs the policy's tables and carrying it out
 * needs the cache, and either may have the memory of the other:
 *
 *   | fill window 0 | codes of batch 0 | codes of batch 1 | ... | fill window 1 | codes ...
 *
 * With phased memory a round's requests follow its codes. */
static int put_plans(struct og_lookahead *a, const struct og_trace *trace, uint32_t *list,
                     uint32_t *codes, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_exchange *x = d->exchange;
    struct og_plan *scratch = x ? og__exchange_scratch(x) : &d->works[0].plan;
    const bool foreseen = og__foreseen_batches(d) > 0; /* `plan` counts what that reads */
    OG_DO(og__fill_windows_begin(&a->windows, trace->n_batches, d->budget, err));
    a->windows.foreseen = foreseen ? d->gather : NULL;
    a->prediction = (struct og_prediction){0};
    for (uint32_t b = 0; b < trace->n_batches; b++) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        OG_DO(x ? 0 : og__lookahead_planned(d, &ids, &n, err)); /* all requested nodes have rows */
        OG_DO(og__filling_put(&a->windows, d->policy, b, d->stores.codes, list, err));
        OG_DO(og__policy_code(d->policy, ids, n, scratch, codes, err));
        if (x)
            og__exchange_planned(x, b, og__spill_size(d->stores.codes));
        else
            a->sampled[b].codes_at = og__spill_size(d->stores.codes);
        OG_DO(og__spill_append(d->stores.codes, codes, n * sizeof(*codes), err));
        OG_DO(x && d->memory->alternates ? og__exchange_spill(x, b, err) : 0);
        OG_DO(og__lookahead_within_disk(a, err));
        if (!x && !foreseen && og__lookahead_predicts(a, b))
            OG_DO(og__lookahead_predict_batch(a, b, ids, err));
        if (og__packs(d->exec)) /* maybe over the ids */
            OG_DO(og__lookahead_add_misses(a, codes, NULL, list_misses(d, ids, codes, n), err));
    }
    if (d->exec->layout != OG_LAYOUT_SEGMENTED && !foreseen)
        og__lookahead_end_prediction(a);
    return 0;
}

/* Where rows that batches change are to go is known before the first of them. */
static int foresee(struct og_lookahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_foreseen *of[OG_MOST_TYPES];
    if (og__foreseen_batches(d) == 0)
        return 0;
    for (uint32_t k = 0; k < d->workload->row_graph->n_groups; k++)
        of[k] = og__gather_foreseen(d->gather, k);
    const int rc = og__lookahead_foresee(a, trace, of, err);
    if (rc == 0)
        og__gather_foresee(d->gather, &d->stores.uses, og__lookahead_reads_from(a, trace));
    return rc;
}

/* What the policy sees, and *own: of which the batches are planned. */
static int find_traces(struct og_lookahead *a, struct og_trace *all, struct og_trace *own,
                       struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_trace sampled = og__superbatch_trace(d->stores.superbatch);
    *all = sampled;
    *own = og__lookahead_own(a);
    if (!d->exchange)
        return 0;
    int rc = og__exchange_requests(d->exchange, &sampled, a->first, all, &own->n_batches, err);
    own->ptr = all->ptr;
    own->ids = all->ids;
    return rc;
}

int og__lookahead_put_codes(struct og_lookahead *a, struct og_lookahead_counts *done,
                            struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_trace all;
    struct og_trace trace;
    int rc = find_traces(a, &all, &trace, err);
    if (rc < 0)
        return rc;
    const size_t list = (size_t)2 * OG__FILL_ROWS;
    const size_t bytes = (list + og__lookahead_longest(&trace)) * sizeof(uint32_t);
    double start = og__now();
    uint32_t *buffer = og__alloc(d->budget, bytes, "trace", err);
    OG_TRY(buffer ? og__lookahead_prepare(a, &all, &done->read, err) : -ENOMEM);
    if (og__packs(d->exec))
        OG_TRY(og__lookahead_begin_packing(a, &trace, err));
    OG_TRY(foresee(a, &trace, err));
    OG_TRY(put_plans(a, &trace, buffer, buffer + list, err));
out:
    og__release(d->budget, buffer, bytes, "trace");
    og__policy_trim(d->policy);
    done->plan_seconds = og__now() - start;
    done->prefill = a->windows.rows;
    og__timeline_add(d->timeline, "plan ahead", 0, start, og__now());
    return rc;
}

/* ---- taking turns ---- */

/* The cache's last rows give way to the graph's structure and to what planning needs. */
static int begin_sampling(struct og_data_path *d, struct og_lookahead_counts *done,
                          struct og_err *err)
{
    if (!d->memory->alternates)
        return 0;
    const double start = og__now();
    const uint32_t kept = d->memory->n_slots - d->memory->n_released;
    int rc;
    OG_TRY(d->rows.ops->release_slots(d->rows.self, d->memory->n_released, err));
    d->stack->invalidate(d, kept);
    OG_TRY(og__data_path_begin_sampling(d, &done->read, &done->bytes_written, err));
out:
    og__timeline_add(d->timeline, "fetch structure", 0, start, og__now());
    return rc;
}

/* And the cache has its memory again. */
static int end_sampling(struct og_data_path *d, struct og_err *err)
{
    if (!d->memory->alternates)
        return 0;
    const double start = og__now();
    const int rc = d->rows.ops->reclaim(d->rows.self, SIZE_MAX, err);
    og__timeline_add(d->timeline, "take memory back", 0, start, og__now());
    return rc;
}

/* ---- all that precedes its batches ---- */

/* end: of the items that a tail may have. */
static int prepare_rest(struct og_lookahead *a, enum og__split pass, uint64_t first, uint64_t last,
                        uint64_t end, struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    int rc;
    OG_TRY(begin_sampling(d, done, err));
    OG_TRY(og__lookahead_sample(a, pass, first, last, end, record, err));
    done->read.reads += a->made.reads;
    done->read.bytes += a->made.bytes;
    done->bytes_written += a->spilled_sample_group_bytes;
    if (d->memory->alternates)
        og__data_path_end_sampling(d);
    OG_TRY(a->plans->put(a, done, err));
    OG_TRY(og__lookahead_spill_fits(a, og__lookahead_spilled(a), err));
    if (d->memory->ids_leave)
        OG_TRY(og__lookahead_release_ids(a, err));
    if (d->memory->alternates && d->exchange)
        og__exchange_release_requests(d->exchange);
    if (og__packs(d->exec))
        OG_TRY(og__lookahead_pack(a, done, err));
out:
    return rc;
}

static int prepare_superbatch(struct og_lookahead *a, enum og__split pass, uint64_t first,
                              uint64_t last, uint64_t end, struct og_lookahead_counts *done,
                              struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_handover *to = &d->config->handover;
    og__spill_clear(d->stores.codes);
    og__lookahead_drop_pack(a); /* what is on the disk at the same time is one superbatch's */
    a->written_before = og__lookahead_written(d);
    a->code_before = og__spill_written(d->stores.codes);
    a->n_fills = 0;
    int rc;
    OG_TRY(d->memory->handed_released > 0 ? to->release(to->self, err) : 0);
    OG_TRY(prepare_rest(a, pass, first, last, end, done, err));
    OG_TRY(d->memory->handed_released > 0 ? to->reclaim(to->self, err) : 0);
    OG_TRY(end_sampling(d, err));
    OG_TRY(og__lookahead_fill_spilled(a, done, err));
out:
    done->bytes_written += og__lookahead_written(d) - a->written_before;
    return rc;
}

/* Rows come with the rounds of all ranks. */
static int run_rounds(struct og_exchange *x, struct og_pipeline *p, struct og_filling *filling,
                      og_consumer *consumer, void *arg, struct og_err *err)
{
    og__pipeline_look_on(p, og__exchange_upcoming(x));
    og__exchange_fill(x, filling);
    int rc = og__pipeline_run(p, consumer, arg, err);
    if (rc == 0)
        rc = og__exchange_pass(x, err);
    og__exchange_fill(x, NULL);
    return rc;
}

static int run_superbatch(struct og_lookahead *a, enum og__split pass, uint64_t first,
                          uint64_t last, uint64_t end, og_consumer *consumer, void *arg,
                          struct og_err *err)
{
    struct og_lookahead_counts done = {0};
    int rc = prepare_superbatch(a, pass, first, last, end, &done, err);
    if (rc < 0)
        return rc;
    struct og_data_path *d = a->path;
    const struct og_replayed_source from = {.batches = d->stores.superbatch,
                                            .lookahead = a->sampled,
                                            .items = {&d->workload->schedule, pass, first, last},
                                            .by_draw = a->by_draw,
                                            .prepared = done};
    const struct og_filling_options fill = {.windows = &a->windows,
                                            .from = d->stores.codes,
                                            .to = d->rows,
                                            .config = d->config,
                                            .stop = og__stop_flag(d->config),
                                            .timeline = d->timeline,
                                            .on_demand = d->exec->one_by_one};
    struct og_filling *filling = NULL;
    struct og_pipeline p;
    rc = og__filling_start(&filling, &fill, err);
    if (rc < 0)
        return rc;
    og__pipeline_replay(&p, d, &from, filling);
    if (d->exchange && first == last) /* no batch of its own could count it */
        og__exchange_prepared(d->exchange, &done);
    rc = d->exchange ? run_rounds(d->exchange, &p, filling, consumer, arg, err)
                     : og__pipeline_run(&p, consumer, arg, err);
    og__filling_end(filling);
    return rc;
}

/* ---- all of them ---- */

static int open_stores(struct og_data_path *d, struct og_err *err)
{
    if (d->stores.superbatch)
        return 0;
    if (d->stores.scratch.n == 0)
        return og__fail(err, -ENOENT, "give --scratch DIR", "no folder for batches sampled ahead");
    struct og_superbatch_options opt = {.scratch = d->stores.scratch,
                                        .memory = d->memory->trace_blocks,
                                        .n_hops = d->config->opt.n_fanout,
                                        .n_nodes = (uint64_t)d->workload->graph->n_nodes,
                                        .n_relations = d->workload->trace.n_relations,
                                        .extras = d->workload->trace.extras,
                                        .plans_units = og__plans_units(d->workload)};
    struct og_spill_options codes = {
        .scratch = d->stores.scratch, .memory = d->memory->code_bytes, .part = "trace"};
    int rc = og__superbatch_open(&d->stores.superbatch, &opt, d->budget, err);
    return rc < 0 ? rc : og__spill_open(&d->stores.codes, &codes, d->budget, err);
}

/* With others, also where none of this rank's batches are left. */
static bool goes_on(const struct og_data_path *d, uint64_t at, uint64_t last)
{
    return d->exchange ? og__exchange_goes_on(d->exchange) : at < last;
}

static int run_superbatches(struct og_data_path *d, const struct og_items *items,
                            og_consumer *consumer, void *arg, struct og_err *err)
{
    struct og_lookahead a = {
        .path = d, .plans = og__lookahead_plans(d), .n = og__lookahead_most(d)};
    a.sampled = og__alloc(d->budget, a.n * sizeof(*a.sampled), "superbatch", err);
    if (!a.sampled)
        return -ENOMEM;
    int rc;
    OG_TRY(open_stores(d, err));
    for (uint64_t end, at = items->first; goes_on(d, at, items->last); at = end) {
        end = at < items->last ? og__superbatch_end(d, items->pass, at, items->last) : at;
        if (d->exchange)
            OG_TRY(og__exchange_bound(d->exchange, &end, err));
        OG_TRY(run_superbatch(&a, items->pass, at, end, items->last, consumer, arg, err));
        if (end < items->last && og__stop_requested(og__stop_flag(d->config)))
            OG_TRY(og__fail(err, OG_INTERRUPTED, NULL, "interrupted"));
    }
out:
    og__lookahead_end_packing(&a);
    og__fill_windows_release(&a.windows);
    og__release(d->budget, a.sampled, a.n * sizeof(*a.sampled), "superbatch");
    return rc;
}

/* A static policy that plans nothing ahead is not restarted. It began when the data path was
 * opened, and the rows are there. */
void og__abandon_batches(struct og_data_path *d)
{
    const bool filled_once = !og__samples_ahead(d->exec) && og__policy_is_static(d->exec->policy);
    assert(!d->tiers);
    if (d->gather && !filled_once)
        og__policy_invalidate(d->policy, 0);
}

int og__run_batches(struct og_data_path *d, enum og__split pass, uint64_t first, uint64_t last,
                    og_consumer *consumer, void *arg, struct og_err *err)
{
    const struct og_items items = {&d->workload->schedule, pass, first, last};
    if (d->rows.ops && og__samples_ahead(d->exec))
        return run_superbatches(d, &items, consumer, arg, err);
    struct og_pipeline p;
    if (d->rows.ops && !d->exchange)
        og__pipeline_train(&p, d, items);
    else
        og__pipeline_sample(&p, d, items, false);
    if (d->exchange)
        og__pipeline_look_on(&p, og__exchange_upcoming(d->exchange));
    return og__pipeline_run(&p, consumer, arg, err);
}
