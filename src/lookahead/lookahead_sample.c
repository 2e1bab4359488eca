/* Which batches a superbatch has, and sampling them. */
#include "lookahead/lookahead_parts.h"
#include "sample/trace_files.h"

#include <string.h>

/* ---- how far ahead ---- */

/* Batches of the epoch that `item` belongs to, and where it ends. */
static uint64_t epoch_end(const struct og_data_path *d, uint64_t item)
{
    struct og_descriptor descriptor = og__schedule_at(&d->workload->schedule, item);
    return og__schedule_start(&d->workload->schedule, descriptor.epoch + 1);
}

uint32_t og__lookahead_drawn(const struct og_data_path *d, uint64_t item)
{
    return og__schedule_drawn(&d->workload->schedule,
                              og__schedule_at(&d->workload->schedule, item).epoch);
}

/* Training batches of the epoch from `item` on. */
static uint64_t training_left(const struct og_data_path *d, uint64_t item)
{
    const struct og_schedule *schedule = &d->workload->schedule;
    const struct og_descriptor descriptor = og__schedule_at(schedule, item);
    const uint64_t end =
        og__schedule_start(schedule, descriptor.epoch) + og__schedule_batches(schedule, OG__TRAIN);
    return end - OG_MIN(end, item);
}

/* Where the epochs end that train on what the epoch of `item` trains on. */
static uint64_t reuse_end(const struct og_data_path *d, uint64_t item)
{
    uint32_t last =
        og__lookahead_drawn(d, item) + (uint32_t)d->workload->schedule.resample_every - 1;
    return og__schedule_start(&d->workload->schedule,
                              OG_MIN(last, (uint32_t)d->workload->schedule.epochs) + 1);
}

/* The last end of an epoch in (first, end]; 0 = none. */
static uint64_t last_epoch_end(const struct og_data_path *d, uint64_t first, uint64_t end)
{
    uint64_t found = 0;
    for (uint64_t at = first; at < end && (at = epoch_end(d, at)) <= end;)
        found = at;
    return found;
}

uint64_t og__superbatch_end(const struct og_data_path *d, enum og__split pass, uint64_t first,
                            uint64_t last)
{
    uint64_t end = OG_MIN(first + d->memory->superbatch, last);
    if (pass == OG__SPLITS && og__keeps_batches(d->exec))
        return OG_MIN(reuse_end(d, first), last);
    if (d->config->opt.superbatch > 0 || pass != OG__SPLITS)
        return end;
    bool one = d->config->opt.superbatch == OG_SUPERBATCH_ALL;
    uint64_t whole = last_epoch_end(d, first, one ? OG_MIN(end, epoch_end(d, first)) : end);
    if (whole)
        return whole;
    const uint64_t left = OG_MIN(epoch_end(d, first), last) - first;
    const uint64_t training = OG_MIN(training_left(d, first), left);
    return first + og__even_part(training > 0 ? training : left, d->memory->superbatch);
}

uint64_t og__lookahead_most(const struct og_data_path *d)
{
    return d->memory->superbatch + d->memory->tail + d->memory->lot;
}

/* A tail grows by lots. */
static uint64_t sample_until(const struct og_lookahead *a, uint64_t end)
{
    const struct og_memory_plan *m = a->path->memory;
    const uint64_t sampled = a->first + a->next;
    const uint64_t seen = OG_MIN(a->last + m->tail, end);
    return sampled < seen ? OG_MIN(OG_MAX(seen, sampled + m->lot), end) : sampled;
}

/* What is spilled goes piece by piece once it is trained: superbatches do, and lots. */
static bool begins_piece(const struct og_lookahead *a)
{
    const uint64_t item = a->first + a->next;
    const uint64_t size = OG_MAX(a->own, a->path->memory->lot);
    return !a->by_draw && (item == a->last || (item > a->last && item - a->piece >= size));
}

/* ---- sampling one superbatch ---- */

int og__lookahead_planned(const struct og_data_path *d, const uint32_t **ids, uint32_t *n,
                          struct og_err *err)
{
    struct og_planned_ids *planned = &d->works[0].planned;
    const int rc = og__planned_ids_list(planned, d->workload->planned_groups, *ids, *n, err);
    *ids = planned->ids;
    *n = planned->n;
    return rc;
}

/* What a batch adds to the disk, as superbatch and plans are written. A device's cache has other
 * plans, which lookahead_tiers.c adds. */
static uint64_t spill_bytes(const struct og_lookahead *a, const struct og_work *w,
                            uint32_t n_planned, bool piece)
{
    const struct og_data_path *d = a->path;
    const struct og_trace_options form = d->workload->trace;
    const uint64_t codes = a->next < a->own ? n_planned * (uint64_t)a->plans->row_bytes : 0;
    const uint32_t disks = d->workload->scratch_disks;
    if (d->memory->trace_blocks > 0 || w->stored)
        return d->memory->trace_blocks > 0 ? 0 : codes;
    return codes + og__trace_batch_room(&form, &w->sampled.batch, disks) +
           (a->next == 0 || piece ? og__trace_empty_bytes(&form) * disks : 0);
}

/* Notes what the batch is read back with. That is blocks, its plan but for a device's cache, and
 * ids unless they stay in memory. */
static void note_replay(struct og_lookahead *a, const struct og_work *w, uint32_t n_planned)
{
    const struct og_data_path *d = a->path;
    const bool spilled = og__samples_ahead(d->exec) && d->memory->trace_blocks == 0;
    const bool ids = w->stored || d->memory->ids_leave;
    struct og_io_counts asks = {0};
    if (a->next >= a->own || !og__lookahead_predicts(a, (uint32_t)a->next))
        return;
    if (w->stored || spilled)
        asks = og__trace_files_asks(&d->workload->trace, &w->sampled.batch, ids);
    const uint64_t codes = spilled ? n_planned * (uint64_t)a->plans->row_bytes : 0;
    asks.reads += codes > 0;
    asks.bytes += codes;
    a->trace.reads += asks.reads;
    a->trace.bytes += asks.bytes;
    a->n_traced++;
}

int og__lookahead_planned_batch(const struct og_data_path *d, const struct og_batch *batch,
                                const uint32_t **ids, uint32_t *n, struct og_err *err)
{
    struct og_planned_ids *planned = &d->works[0].planned;
    const int rc = og__planned_ids_batch(planned, d->workload->planned_groups, batch, err);
    *ids = planned->ids;
    *n = planned->n;
    return rc;
}

int og__lookahead_note(struct og_lookahead *a, struct og_work *w, bool *apart, struct og_err *err)
{
    const uint32_t *planned;
    uint32_t n_planned;
    OG_DO(og__lookahead_planned_batch(a->path, &w->sampled.batch, &planned, &n_planned, err));
    *apart = begins_piece(a);
    if (*apart)
        a->piece = a->first + a->next;
    a->spill_bytes += spill_bytes(a, w, n_planned, *apart);
    note_replay(a, w, n_planned);
    a->made.reads += w->trace_read.reads;
    a->made.bytes += w->trace_read.bytes;
    a->spilled_sample_group_bytes += w->lookahead.bytes_written;
    a->sampled[a->next++] =
        (struct og_sampled_lookahead){.seconds = w->sample_seconds, .from = w->sampled_from};
    return 0;
}

static int sample_batches(struct og_lookahead *a, enum og__split pass, uint64_t first,
                          uint64_t last, og_consumer *consumer, struct og_err *err)
{
    struct og_pipeline p;
    og__pipeline_sample(&p, a->path,
                        (struct og_items){&a->path->workload->schedule, pass, first, last}, true);
    p.flow.use = "put away";
    a->sampling = true;
    int rc = og__pipeline_run(&p, consumer, a, err);
    a->sampling = false;
    return rc;
}

/* The training batches of the epoch that drew those of `item`, then the validation batches. The
 * latter are the same in every epoch. */
static int sample_epoch(struct og_lookahead *a, uint64_t item, og_consumer *consumer,
                        struct og_err *err)
{
    const struct og_schedule *schedule = &a->path->workload->schedule;
    uint64_t first = og__schedule_start(schedule, og__lookahead_drawn(a->path, item));
    uint64_t n_train = og__schedule_batches(schedule, OG__TRAIN);
    uint64_t n_valid = schedule->eval_every ? og__schedule_batches(schedule, OG__VALID) : 0;
    int rc = sample_batches(a, OG__SPLITS, first, first + n_train, consumer, err);
    return rc < 0 ? rc : sample_batches(a, OG__VALID, 0, n_valid, consumer, err);
}

static int sample_items(struct og_lookahead *a, uint64_t end, og_consumer *consumer,
                        struct og_err *err)
{
    return sample_batches(a, a->pass, a->first + a->next, sample_until(a, end), consumer, err);
}

/* The previous superbatch leaves only its tail, if that is what comes next. */
static int drop_trained(struct og_lookahead *a, bool follows, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_io_counts read = {0};
    const uint64_t done = follows ? OG_MIN(a->own, a->next) : a->next;
    int rc = 0;
    if (done == a->next)
        og__superbatch_clear(d->stores.superbatch);
    else
        rc = og__superbatch_drop(d->stores.superbatch, (uint32_t)done, &d->works[0].sampled, &read,
                                 err);
    a->next -= done;
    memmove(a->sampled, a->sampled + done, a->next * sizeof(*a->sampled));
    a->made = read;
    a->spilled_sample_group_bytes = 0;
    return rc;
}

int og__lookahead_sample(struct og_lookahead *a, enum og__split pass, uint64_t first, uint64_t last,
                         uint64_t end, og_consumer *consumer, struct og_err *err)
{
    const struct og_schedule *schedule = &a->path->workload->schedule;
    const uint64_t n_valid = schedule->eval_every ? og__schedule_batches(schedule, OG__VALID) : 0;
    a->by_draw = pass == OG__SPLITS && og__keeps_batches(a->path->exec);
    int rc;
    OG_TRY(drop_trained(a, !a->by_draw && a->pass == pass && a->last == first, err));
    a->pass = pass;
    a->first = first;
    a->last = last;
    a->own = a->by_draw ? og__schedule_batches(schedule, OG__TRAIN) + n_valid : last - first;
    a->piece = first + a->next;
    a->spill_bytes = a->n_traced = 0;
    a->trace = (struct og_io_counts){0};
    OG_TRY(a->by_draw ? sample_epoch(a, first, consumer, err)
                      : sample_items(a, end, consumer, err));
out:
    return rc < 0 ? rc : og__superbatch_finish(a->path->stores.superbatch, err);
}

struct og_trace og__lookahead_own(const struct og_lookahead *a)
{
    struct og_trace trace = og__superbatch_trace(a->path->stores.superbatch);
    trace.n_batches = (uint32_t)OG_MIN((uint64_t)trace.n_batches, a->own);
    return trace;
}

uint64_t og__lookahead_longest(const struct og_trace *trace)
{
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    return longest;
}

/* ---- uses of its rows ---- */

/* Planned rows come group by group. */
static void foresee_batch(const struct og_graph *g, struct og_foreseen *const *of, uint32_t batch,
                          const uint32_t *ids, uint32_t n, uint16_t *next)
{
    for (uint32_t k = 0, i = 0; k < g->n_groups; k++) {
        const uint64_t first = g->n_groups > 1 ? (uint64_t)g->group[k].first : 0;
        const uint32_t begin = i;
        while (i < n && ids[i] < first + (uint64_t)g->group[k].n_nodes)
            i++;
        if (of[k])
            og__foreseen_batch(of[k], batch, ids + begin, first, i - begin, next + begin);
    }
}

int og__lookahead_foresee(struct og_lookahead *a, const struct og_trace *trace,
                          struct og_foreseen *const *of, struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_graph *g = d->workload->row_graph;
    struct og_next_use_list *uses = &d->stores.uses;
    OG_DO(og__next_use_list_begin(uses, trace, d->budget, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (of[k])
            og__foreseen_begin(of[k]);
    for (uint32_t b = trace->n_batches; b-- > 0;) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        OG_DO(og__lookahead_planned(d, &ids, &n, err));
        foresee_batch(g, of, b, ids, n, uses->next + uses->ptr[b]);
    }
    return 0;
}
