#include "train/ahead.h"

#include "sample/trace.h"
#include "train/ahead_parts.h"

#include <stdlib.h>

/* ---- how far ahead ---- */

/* Batches of the epoch that `item` belongs to, and where it ends. */
static uint64_t epoch_end(const struct og_session *s, uint64_t item)
{
    struct og_turn turn = og__schedule_at(&s->schedule, item);
    return og__schedule_start(&s->schedule, turn.epoch + 1);
}

uint32_t og__ahead_drawn(const struct og_session *s, uint64_t item)
{
    return og__schedule_drawn(&s->schedule, og__schedule_at(&s->schedule, item).epoch);
}

/* Where the epochs end that train on what the epoch of `item` trains on. */
static uint64_t reuse_end(const struct og_session *s, uint64_t item)
{
    uint32_t last = og__ahead_drawn(s, item) + (uint32_t)s->schedule.resample_every - 1;
    return og__schedule_start(&s->schedule, OG_MIN(last, (uint32_t)s->schedule.epochs) + 1);
}

/* The last end of an epoch in (first, end]; 0 = none. */
static uint64_t last_epoch_end(const struct og_session *s, uint64_t first, uint64_t end)
{
    uint64_t found = 0;
    for (uint64_t at = first; at < end && (at = epoch_end(s, at)) <= end;)
        found = at;
    return found;
}

uint64_t og__superbatch_end(const struct og_session *s, enum og__split pass, uint64_t first,
                            uint64_t last)
{
    uint64_t end = OG_MIN(first + s->memory.superbatch, last);
    if (pass == OG__SPLITS && og__keeps_batches(s))
        return OG_MIN(reuse_end(s, first), last);
    if (s->opt.superbatch > 0 || pass != OG__SPLITS)
        return end;
    bool one = s->opt.superbatch == OG_SUPERBATCH_ALL;
    uint64_t whole = last_epoch_end(s, first, one ? OG_MIN(end, epoch_end(s, first)) : end);
    if (whole)
        return whole;
    /* parts of an epoch are about equal */
    uint64_t left = OG_MIN(epoch_end(s, first), last) - first;
    uint64_t parts = (left + s->memory.superbatch - 1) / s->memory.superbatch;
    return first + (left + parts - 1) / OG_MAX(parts, (uint64_t)1);
}

/* ---- sampling one superbatch ---- */

/* Both ends of every edge, degrees and weights where they are kept. */
static uint64_t block_words(const struct og_session *s, const struct og_batch *b)
{
    unsigned extras = og__batch_extras(s);
    uint64_t words = 0;
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        words += k->n_edges * (extras & OG__WITH_WEIGHTS ? 3 : 2) +
                 (extras & OG__WITH_DEGREES ? k->n_src - k->n_dst : 0);
    }
    return words;
}

/* What a batch adds to the disk, as superbatch and plans are written. */
static uint64_t away_bytes(const struct og_ahead *a, const struct og_work *w)
{
    const struct og_session *s = a->s;
    const struct og_trace_options form = {.n_hops = s->opt.n_fanout,
                                          .n_nodes = (uint64_t)s->ds->n_nodes,
                                          .extras = og__batch_extras(s)};
    const uint64_t codes = 4 * (uint64_t)w->sampled.batch.n_ids;
    if (s->memory.trace_blocks > 0 || w->made)
        return s->memory.trace_blocks > 0 ? 0 : codes;
    return codes + og__trace_batch_bytes(&form, &w->sampled.batch) +
           (a->next == 0 ? og__trace_empty_bytes(&form) : 0);
}

/* Blocks, and plans; ids unless they stay in memory. */
void og__ahead_note(struct og_ahead *a, const struct og_work *w)
{
    a->away_bytes += away_bytes(a, w);
    const struct og_memory_plan *m = &a->s->memory;
    const struct og_batch *b = &w->sampled.batch;
    bool put_away = m->trace_blocks == 0;
    bool ids = w->made || (put_away && m->alternates);
    uint64_t words = w->made || put_away ? block_words(a->s, b) : 0;
    words += (uint64_t)b->n_ids * ((ids ? 1u : 0u) + (put_away ? 1u : 0u));
    if (w->turn.split == OG__TRAIN) {
        a->trace_bytes += 4 * words;
        a->n_training++;
    }
    a->made.reads += w->trace_read.reads;
    a->made.bytes += w->trace_read.bytes;
    a->sampled[a->next++] =
        (struct og_sampled_ahead){.seconds = w->sample_seconds, .from = w->sampled_from};
}

static int record(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_ahead *a = arg;
    struct og_session *s = a->s;
    og__ahead_note(a, w);
    if (!w->made) {
        int rc = og__superbatch_append(s->superbatch, &w->sampled.batch, err);
        return rc < 0 ? rc : og__ahead_within_disk(s, og__ahead_put_away(s) - a->put_before, err);
    }
    return og__superbatch_refer(s->superbatch, &w->sampled.batch, s->offline->samples,
                                og__offline_number(s->offline, &w->turn), err);
}

/* A flow that samples and does not gather. */
static struct og_flow sampling_flow(struct og_session *s)
{
    struct og_flow flow = og__session_flow(s);
    flow.gather = NULL;
    flow.ids_only = true;
    return flow;
}

/* The training batches of the epoch that drew those of `item`, then the validation batches, which
 * are the same in every epoch. */
static int sample_epoch(struct og_ahead *a, uint64_t item, og_sink *sink, struct og_err *err)
{
    const struct og_schedule *schedule = &a->s->schedule;
    struct og_flow flow = sampling_flow(a->s);
    uint64_t first = og__schedule_start(schedule, og__ahead_drawn(a->s, item));
    uint64_t n_train = og__schedule_batches(schedule, OG__TRAIN);
    uint64_t n_valid = schedule->eval_every ? og__schedule_batches(schedule, OG__VALID) : 0;
    int rc = og__flow_run(&flow, OG__SPLITS, first, first + n_train, sink, a, err);
    return rc < 0 ? rc : og__flow_run(&flow, OG__VALID, 0, n_valid, sink, a, err);
}

static int sample_items(struct og_ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                        og_sink *sink, struct og_err *err)
{
    struct og_flow flow = sampling_flow(a->s);
    return og__flow_run(&flow, pass, first, last, sink, a, err);
}

int og__ahead_sample(struct og_ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                     og_sink *sink, struct og_err *err)
{
    a->pass = pass;
    a->first = first;
    a->last = last;
    a->kept = pass == OG__SPLITS && og__keeps_batches(a->s);
    a->next = a->away_bytes = a->trace_bytes = a->n_training = 0;
    a->made = (struct og_io_counts){0};
    og__superbatch_clear(a->s->superbatch);
    int rc =
        a->kept ? sample_epoch(a, first, sink, err) : sample_items(a, pass, first, last, sink, err);
    return rc < 0 ? rc : og__superbatch_seal(a->s->superbatch, err);
}

/* ---- planning it ---- */

/* What is put away of a superbatch's plan, for making it needs the policy's tables and carrying it
 * out needs the cache, and either may have the memory of the other:
 *
 *   | fill window 0 | codes of batch 0 | codes of batch 1 | ... | fill window 1 | codes ... */
static int put_plans(struct og_ahead *a, const struct og_trace *trace, uint32_t *list,
                     uint32_t *codes, struct og_err *err)
{
    struct og_session *s = a->s;
    int rc = 0;
    a->prediction = (struct og_prediction){0};
    a->windows.n = 0;
    a->windows.rows = 0;
    for (uint32_t b = 0; rc == 0 && b < trace->n_batches; b++) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        rc = og__filling_put(&a->windows, s->policy, b, s->codes, list, err);
        if (rc == 0)
            rc = og__policy_code(s->policy, ids, n, &s->works[0].plan, codes, err);
        a->sampled[b].codes_at = og__spill_size(s->codes);
        if (rc == 0 && og__packs(s))
            rc = og__packing_add(&a->packing, ids, codes, n, err);
        if (rc == 0)
            rc = og__spill_append(s->codes, codes, n * sizeof(*codes), err);
        if (rc == 0)
            rc = og__ahead_within_disk(s, og__ahead_put_away(s) - a->put_before, err);
        if (rc == 0 && og__ahead_foretells(a, b))
            rc = og__ahead_foretell_batch(a, b, ids, err);
    }
    if (rc == 0 && s->opt.layout != OG_LAYOUT_SEGMENTED)
        og__ahead_end_prediction(a);
    return rc;
}

uint64_t og__ahead_longest(const struct og_trace *trace)
{
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    return longest;
}

/* What the cache is to hold: as the packs made beforehand have it, else as the policy finds. */
static int foresee(struct og_ahead *a, const struct og_trace *trace, uint32_t *n_prefill,
                   struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_err why = {0};
    uint32_t *nodes = NULL;
    uint32_t n = 0;
    if (!a->kept || !s->packs || s->opt.layout != OG_LAYOUT_PACKED)
        return og__policy_foresee(s->policy, trace, n_prefill, err);
    int rc = og__packs_cached(s->packs, og__ahead_draw(a), (uint64_t)s->ds->n_nodes, s->budget,
                              &nodes, &n, &why);
    if (rc < 0) {
        og__ahead_lose_packs(s, &why);
        return og__policy_foresee(s->policy, trace, n_prefill, err);
    }
    rc = og__policy_adopt(s->policy, nodes, n, n_prefill, err);
    og__release(s->budget, nodes, n * sizeof(*nodes), "policy");
    return rc;
}

static int plan_ahead(struct og_ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_trace trace = og__superbatch_trace(s->superbatch);
    const size_t list = (size_t)2 * OG__FILL_ROWS;
    const size_t bytes = (list + og__ahead_longest(&trace)) * sizeof(uint32_t);
    uint32_t ignored = 0;
    double start = og__now();
    uint32_t *buffer = og__alloc(s->budget, bytes, "trace", err);
    int rc = buffer ? foresee(a, &trace, &ignored, err) : -ENOMEM;
    og__spill_clear(s->codes);
    if (rc == 0 && og__packs(s))
        rc = og__ahead_begin_packing(a, &trace, err);
    if (rc == 0)
        rc = put_plans(a, &trace, buffer, buffer + list, err);
    og__release(s->budget, buffer, bytes, "trace");
    og__policy_rest(s->policy);
    done->plan_seconds = og__now() - start;
    done->prefill = a->windows.rows;
    og__timeline_add(s->timeline, "plan ahead", 0, start, og__now());
    return rc;
}

/* ---- taking turns ---- */

/* The cache's last rows give way to the graph's structure and to what planning needs. */
static int begin_sampling(struct og_session *s, struct og_ahead_counts *done, struct og_err *err)
{
    if (!s->memory.alternates)
        return 0;
    og__gather_lend(s->gather, s->memory.n_lent);
    og__policy_forget(s->policy, s->memory.n_slots - s->memory.n_lent);
    return og__session_fetch_topology(s, &done->read, err);
}

static int prepare_superbatch(struct og_ahead *a, enum og__split pass, uint64_t first,
                              uint64_t last, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    a->put_before = og__ahead_put_away(s);
    int rc = begin_sampling(s, done, err);
    if (rc == 0)
        rc = og__ahead_sample(a, pass, first, last, record, err);
    done->read.reads += a->made.reads;
    done->read.bytes += a->made.bytes;
    if (s->memory.alternates)
        og__session_drop_topology(s);
    if (rc == 0)
        rc = plan_ahead(a, done, err);
    if (rc == 0)
        rc = og__ahead_away_fits(a, og__ahead_put_away(s) - a->put_before, err);
    if (rc == 0 && s->memory.alternates)
        rc = og__superbatch_release_ids(s->superbatch, err);
    if (rc == 0 && og__packs(s))
        rc = og__ahead_pack(a, done, err);
    if (rc == 0)
        rc = og__gather_reclaim(s->gather, err);
    done->bytes_written += og__ahead_put_away(s) - a->put_before;
    return rc;
}

static int run_superbatch(struct og_ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                          og_sink *sink, void *arg, struct og_err *err)
{
    struct og_ahead_counts done = {0};
    int rc = prepare_superbatch(a, pass, first, last, &done, err);
    if (rc < 0)
        return rc;
    struct og_flow flow = og__session_flow(a->s);
    const struct og_filling_options filling = {.windows = &a->windows,
                                               .from = a->s->codes,
                                               .gather = a->s->gather,
                                               .stop = flow.stop,
                                               .timeline = flow.timeline};
    flow.replay = a->s->superbatch;
    flow.codes = a->s->codes;
    flow.kept = a->kept;
    flow.sampled_ahead = a->sampled;
    flow.ahead = done;
    rc = og__filling_start(&flow.filling, &filling, err);
    if (rc == 0)
        rc = og__flow_run(&flow, pass, first, last, sink, arg, err);
    og__filling_end(flow.filling);
    return rc;
}

/* ---- all of them ---- */

static int open_stores(struct og_session *s, struct og_err *err)
{
    if (s->superbatch)
        return 0;
    if (!s->scratch)
        return og__fail(err, -ENOENT, "give --scratch DIR", "no folder to sample ahead in");
    struct og_superbatch_options opt = {.scratch = s->scratch,
                                        .memory = s->memory.trace_blocks,
                                        .n_hops = s->opt.n_fanout,
                                        .n_nodes = (uint64_t)s->ds->n_nodes,
                                        .extras = og__batch_extras(s)};
    struct og_spill_options codes = {
        .scratch = s->scratch, .memory = s->memory.code_bytes, .part = "trace"};
    int rc = og__superbatch_open(&s->superbatch, &opt, s->budget, err);
    if (rc == 0)
        rc = og__spill_open(&s->codes, &codes, s->budget, err);
    return rc;
}

int og__session_run(struct og_session *s, enum og__split pass, uint64_t first, uint64_t last,
                    og_sink *sink, void *arg, struct og_err *err)
{
    if (!s->gather || !og__samples_ahead(s)) {
        struct og_flow flow = og__session_flow(s);
        return og__flow_run(&flow, pass, first, last, sink, arg, err);
    }
    struct og_ahead a = {.s = s, .n = s->memory.superbatch};
    a.sampled = calloc(a.n, sizeof(*a.sampled));
    if (!a.sampled)
        return og__fail_errno(err, -ENOMEM, NULL, "superbatch");
    int rc = open_stores(s, err);
    for (uint64_t end; rc == 0 && first < last; first = end) {
        end = og__superbatch_end(s, pass, first, last);
        rc = run_superbatch(&a, pass, first, end, sink, arg, err);
        if (rc == 0 && end < last && s->seen && s->seen->stop && *s->seen->stop)
            rc = og__fail(err, OG_INTERRUPTED, "go on with --resume", "interrupted");
    }
    og__packing_close(&a.packing);
    og__fill_windows_release(&a.windows);
    free(a.sampled);
    return rc;
}
