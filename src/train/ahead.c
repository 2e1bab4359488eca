#include "train/ahead.h"

#include "base/file.h"
#include "base/scratch.h"
#include "dataset/writer.h"
#include "train/predict.h"
#include "train/segmented.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- how far ahead ---- */

/* Batches of the epoch that `item` belongs to, and where it ends. */
static uint64_t epoch_end(const struct og_session *s, uint64_t item)
{
    struct og_turn turn = og__schedule_at(&s->schedule, item);
    return og__schedule_start(&s->schedule, turn.epoch + 1);
}

/* Where the epochs end that train on what the epoch of `item` trains on. */
static uint64_t reuse_end(const struct og_session *s, uint64_t item)
{
    struct og_turn turn = og__schedule_at(&s->schedule, item);
    uint32_t last = turn.drawn_epoch + (uint32_t)s->schedule.resample_every - 1;
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

/* ---- one superbatch ---- */

struct ahead {
    struct og_session *s;
    struct og_sampled_ahead *sampled; /* [n] of the superbatch */
    enum og__split pass;
    uint64_t first, n, next;   /* its first item; the most it can have; those sampled */
    bool kept;                 /* an epoch's batches, for all epochs that train on them */
    struct og_packing packing; /* what they miss, until it is written */
    struct og_prediction prediction;
    uint64_t put_before;      /* bytes put away before this superbatch */
    uint64_t trace_bytes;     /* that replaying the training batches will read */
    uint64_t n_training;      /* of which there are so many */
    struct og_io_counts made; /* what was read of samples made beforehand */
};

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

/* Blocks, and plans; ids unless they stay in memory. */
static void note_batch(struct ahead *a, const struct og_work *w)
{
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
    struct ahead *a = arg;
    struct og_session *s = a->s;
    note_batch(a, w);
    if (!w->made)
        return og__superbatch_append(s->superbatch, &w->sampled.batch, err);
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
static int sample_epoch(struct ahead *a, uint64_t item, og_sink *sink, struct og_err *err)
{
    const struct og_schedule *schedule = &a->s->schedule;
    struct og_flow flow = sampling_flow(a->s);
    uint32_t drawn = og__schedule_at(schedule, item).drawn_epoch;
    uint64_t first = og__schedule_start(schedule, drawn);
    uint64_t n_train = og__schedule_batches(schedule, OG__TRAIN);
    uint64_t n_valid = schedule->eval_every ? og__schedule_batches(schedule, OG__VALID) : 0;
    int rc = og__flow_run(&flow, OG__SPLITS, first, first + n_train, sink, a, err);
    return rc < 0 ? rc : og__flow_run(&flow, OG__VALID, 0, n_valid, sink, a, err);
}

static int sample_items(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                        og_sink *sink, struct og_err *err)
{
    struct og_flow flow = sampling_flow(a->s);
    return og__flow_run(&flow, pass, first, last, sink, a, err);
}

static int sample_ahead(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                        og_sink *sink, struct og_err *err)
{
    a->pass = pass;
    a->first = first;
    a->kept = pass == OG__SPLITS && og__keeps_batches(a->s);
    a->next = a->trace_bytes = a->n_training = 0;
    a->made = (struct og_io_counts){0};
    og__superbatch_clear(a->s->superbatch);
    int rc =
        a->kept ? sample_epoch(a, first, sink, err) : sample_items(a, pass, first, last, sink, err);
    return rc < 0 ? rc : og__superbatch_seal(a->s->superbatch, err);
}

/* What is put away of a superbatch's plan:
 *
 *   | n, nodes, slots | n, nodes, slots | ... | 0 | codes of batch 0 | codes of batch 1 | ... |
 *     prefill, in pieces
 *
 * Making it needs the policy's tables, carrying it out needs the cache; either may have the memory
 * of the other. */
static int put_prefill(struct og_session *s, uint32_t *list, struct og_err *err)
{
    uint32_t n;
    int rc;
    do {
        n = og__policy_prefill(s->policy, list, list + OG__FILL_ROWS, OG__FILL_ROWS);
        rc = og__spill_append(s->codes, &n, sizeof(n), err);
        if (rc == 0)
            rc = og__spill_append(s->codes, list, n * sizeof(*list), err);
        if (rc == 0)
            rc = og__spill_append(s->codes, list + OG__FILL_ROWS, n * sizeof(*list), err);
    } while (rc == 0 && n > 0);
    return rc;
}

/* The first superbatch tells what an epoch will read: its last epoch is the steadiest. */
static bool foretells(const struct ahead *a, uint32_t b)
{
    const struct og_schedule *schedule = &a->s->schedule;
    if (a->s->predicted.known || a->pass != OG__SPLITS)
        return false;
    if (a->kept)
        return b < og__schedule_batches(schedule, OG__TRAIN);
    struct og_turn turn = og__schedule_at(schedule, a->first + b);
    struct og_turn last = og__schedule_at(schedule, a->first + a->next - 1);
    return turn.split == OG__TRAIN && turn.epoch == last.epoch;
}

static void end_prediction(struct ahead *a)
{
    og__predict_epoch(&a->prediction, a->s, a->trace_bytes / OG_MAX(a->n_training, (uint64_t)1));
}

/* What batches read is known when segments are laid out. */
static int foretell_segments(struct ahead *a, struct og_segments *segments, uint32_t size,
                             struct og_err *err)
{
    const uint32_t n = a->packing.n_batches;
    if (a->s->predicted.known)
        return 0;
    struct og_io_counts *io = calloc((size_t)n + 1, sizeof(*io));
    int rc = io ? og__segmented_predict(segments, size, a->s, io, err)
                : og__fail_errno(err, -ENOMEM, NULL, "segments");
    for (uint32_t b = 0; rc == 0 && b < n; b++) {
        if (!foretells(a, b))
            continue;
        a->prediction.sum.plan.reads += io[b].reads;
        a->prediction.sum.plan.bytes += io[b].bytes;
    }
    if (rc == 0)
        end_prediction(a);
    free(io);
    return rc;
}

static int foretell(struct ahead *a, uint32_t b, const uint32_t *ids, struct og_prediction *p,
                    struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_plan *plan = &s->works[0].plan;
    int rc = og__plan_misses(&s->planner, ids, 0, s->memory.n_slots, plan, err);
    if (rc == 0)
        og__predict_batch(p, s, plan, &a->sampled[b].from);
    return rc;
}

static int begin_packing(struct ahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_session *s = a->s;
    og__packing_close(&a->packing);
    int rc = og__packing_open(&a->packing, (uint64_t)s->ds->n_nodes, og__row_bytes(s->ds),
                              trace->n_batches, s->budget, err);
    return rc < 0 ? rc : og__packing_reserve(&a->packing, trace->ptr[trace->n_batches], err);
}

static int put_plans(struct ahead *a, const struct og_trace *trace, uint32_t *codes,
                     struct og_err *err)
{
    struct og_session *s = a->s;
    int rc = 0;
    a->prediction = (struct og_prediction){0};
    for (uint32_t b = 0; rc == 0 && b < trace->n_batches; b++) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        rc = og__policy_code(s->policy, ids, n, &s->works[0].plan, codes, err);
        a->sampled[b].codes_at = og__spill_size(s->codes);
        if (rc == 0 && og__packs(s))
            rc = og__packing_add(&a->packing, ids, codes, n, err);
        if (rc == 0)
            rc = og__spill_append(s->codes, codes, n * sizeof(*codes), err);
        if (rc == 0 && foretells(a, b))
            rc = foretell(a, b, ids, &a->prediction, err);
    }
    if (rc == 0 && s->opt.layout != OG_LAYOUT_SEGMENTED)
        end_prediction(a);
    return rc;
}

static uint64_t longest_batch(const struct og_trace *trace)
{
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    return longest;
}

/* The run goes on without packs made beforehand, and says why. */
static void lose_packs(struct og_session *s, const struct og_err *why)
{
    og__say(&s->log, OG__WARN, "%s: this run packs for itself", why->message);
    og__packs_close(s->packs);
    s->packs = NULL;
}

static uint32_t draw_of(const struct ahead *a)
{
    struct og_turn turn = og__schedule_at(&a->s->schedule, a->first);
    return og__offline_draw(a->s->offline, turn.drawn_epoch);
}

/* What the cache is to hold: as the packs made beforehand have it, else as the policy finds. */
static int foresee(struct ahead *a, const struct og_trace *trace, uint32_t *n_prefill,
                   struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_err why = {0};
    uint32_t *nodes = NULL;
    uint32_t n = 0;
    if (!a->kept || !s->packs || s->opt.layout != OG_LAYOUT_PACKED)
        return og__policy_foresee(s->policy, trace, n_prefill, err);
    int rc = og__packs_cached(s->packs, draw_of(a), (uint64_t)s->ds->n_nodes, s->budget, &nodes, &n,
                              &why);
    if (rc < 0) {
        lose_packs(s, &why);
        return og__policy_foresee(s->policy, trace, n_prefill, err);
    }
    rc = og__policy_adopt(s->policy, nodes, n, n_prefill, err);
    og__release(s->budget, nodes, n * sizeof(*nodes), "policy");
    return rc;
}

static int plan_ahead(struct ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_trace trace = og__superbatch_trace(s->superbatch);
    size_t bytes = OG_MAX(longest_batch(&trace), (uint64_t)(2 * OG__FILL_ROWS)) * sizeof(uint32_t);
    uint32_t n_prefill = 0;
    double start = og__now();
    uint32_t *buffer = og__alloc(s->budget, bytes, "trace", err);
    int rc = buffer ? foresee(a, &trace, &n_prefill, err) : -ENOMEM;
    og__spill_clear(s->codes);
    if (rc == 0 && og__packs(s))
        rc = begin_packing(a, &trace, err);
    if (rc == 0)
        rc = put_prefill(s, buffer, err);
    if (rc == 0)
        rc = put_plans(a, &trace, buffer, err);
    og__release(s->budget, buffer, bytes, "trace");
    og__policy_rest(s->policy);
    done->plan_seconds = og__now() - start;
    done->prefill = n_prefill;
    og__timeline_add(s->timeline, "plan ahead", 0, start, og__now());
    return rc;
}

/* The rows that were put away, into the cache. */
static int fill_cache(struct og_session *s, struct og_ahead_counts *done, struct og_err *err)
{
    double start = og__now();
    uint32_t *list = malloc(2 * OG__FILL_ROWS * sizeof(*list));
    uint64_t read = 0;
    uint64_t at = 0;
    int rc = list ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
    for (uint32_t n = 1; rc == 0 && n > 0;) {
        uint32_t *slots = list + OG__FILL_ROWS;
        rc = og__spill_read(s->codes, at, &n, sizeof(n), &read, err);
        if (rc == 0 && n > OG__FILL_ROWS)
            rc = og__fail(err, -EIO, NULL, "a plan that was put away is damaged");
        if (rc == 0)
            rc = og__spill_read(s->codes, at + sizeof(n), list, n * sizeof(*list), &read, err);
        at += sizeof(n) + n * sizeof(*list);
        if (rc == 0)
            rc = og__spill_read(s->codes, at, slots, n * sizeof(*slots), &read, err);
        at += n * sizeof(*slots);
        if (rc == 0)
            rc = og__gather_fill(s->gather, list, slots, n, &done->read, err);
        if (rc == 0)
            rc = og__session_stopped(s, "stopped while filling caches", err);
    }
    int ended = og__gather_fill_end(s->gather, &done->read, rc == 0 ? err : NULL);
    done->read.bytes += read;
    free(list);
    done->gather_seconds += og__now() - start;
    og__timeline_add(s->timeline, "fill cache", 0, start, og__now());
    return rc < 0 ? rc : ended;
}

/* ---- packing what batches miss ---- */

static uint64_t put_away(const struct og_session *s)
{
    return og__superbatch_written(s->superbatch) + og__spill_written(s->codes);
}

/* What is left of the budget, as far as it makes the sweep faster. */
static size_t sweep_memory(const struct og_session *s)
{
    enum { ENOUGH = 256 * OG_MIB };
    size_t kept = s->memory.process + s->memory.slack;
    size_t left = og__budget_left(s->budget);
    return OG_MIN(OG_MAX(left - OG_MIN(left, kept), s->memory.sweep), (size_t)ENOUGH);
}

static int refuse_pack(const struct og_session *s, uint64_t bytes, struct og_err *err)
{
    char size[32];
    return og__fail(err, -ENOSPC,
                    og__keeps_batches(s) ? "give more --disk, or --resample-every 1"
                                         : "give a smaller --superbatch, or more --disk",
                    "--disk: packing what %u batches miss takes %s",
                    og__superbatch_trace(s->superbatch).n_batches,
                    og__human_bytes(size, (double)bytes));
}

static struct og_pack_options pack_options(const struct og_session *s, const char *path)
{
    return (struct og_pack_options){.path = path,
                                    .memory = sweep_memory(s),
                                    .reader = og__session_reader(s),
                                    .stop = s->seen ? s->seen->stop : NULL};
}

static void add_counts(struct og_ahead_counts *done, const struct og_pack_counts *counts)
{
    done->read.reads += counts->sweep.reads;
    done->read.bytes += counts->sweep.bytes;
    done->bytes_written += counts->bytes_written;
}

static uint64_t disk_left(const struct ahead *a, uint64_t away)
{
    const uint64_t disk = (uint64_t)a->s->opt.disk.value;
    return disk - OG_MIN(disk, away);
}

/* Rows that several batches miss; the packing keeps the others. */
static int write_shared(struct ahead *a, const char *path, uint64_t *left,
                        struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_segments segments;
    struct og_pack_counts counts;
    uint32_t size;
    int rc = og__segmented_choose(&segments, &size, s, &a->packing, *left, err);
    if (rc < 0)
        return rc;
    rc = foretell_segments(a, &segments, size, err);
    if (rc < 0) {
        og__segments_close(&segments);
        return rc;
    }
    struct og_pack_options opt = pack_options(s, path);
    rc = og__segmented_write(&segments, size, s, &a->packing, &opt, &counts, err);
    if (rc < 0)
        return rc;
    add_counts(done, &counts);
    *left -= OG_MIN(*left, counts.bytes_written);
    return 0;
}

static int write_chunks(struct ahead *a, const char *path, uint64_t left,
                        struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_pack_counts counts = {0};
    struct og_pack_options opt = pack_options(s, path);
    uint64_t bytes = a->packing.offset[a->packing.n_batches];
    int rc = bytes > left ? refuse_pack(s, bytes, err) : 0;
    if (rc == 0)
        rc = og__pack_write(s->ds, &a->packing, &opt, s->budget, &counts, err);
    if (rc == 0)
        add_counts(done, &counts);
    return rc;
}

static int write_pack(struct ahead *a, const char *path, const char *shared,
                      struct og_ahead_counts *done, struct og_err *err)
{
    uint64_t left = disk_left(a, put_away(a->s) - a->put_before);
    int rc = og__packing_seal(&a->packing, err);
    if (rc == 0 && a->s->opt.layout == OG_LAYOUT_SEGMENTED)
        rc = write_shared(a, shared, &left, done, err);
    return rc < 0 ? rc : write_chunks(a, path, left, done, err);
}

/* shared: NULL where chunks hold all that batches miss. */
static int open_pack(struct og_session *s, const char *path, const char *shared, struct og_err *err)
{
    struct og_reader_options reader = og__session_reader(s);
    int rc = og__pack_open(&s->pack, path, s->ds, s->memory.n_staging, &reader, s->budget, err);
    return rc < 0 || !shared ? rc : og__pack_add_shared(s->pack, shared, s->ds, &reader, err);
}

/* Does it hold what every batch misses, as far as it goes? */
static int check_pack(const struct og_pack *pack, const struct og_packing *p, uint64_t n_train,
                      struct og_err *err)
{
    uint32_t n = og__pack_batches(pack);
    int rc = n >= n_train ? 0 : og__fail(err, -EINVAL, NULL, "a pack of too few batches");
    for (uint32_t b = 0; rc == 0 && b < OG_MIN(n, p->n_batches); b++)
        rc = og__pack_holds(pack, b, p->rows + p->ptr[b], p->ptr[b + 1] - p->ptr[b], err);
    return rc;
}

/* The container made beforehand; false = it does not serve. */
static bool use_made_pack(struct ahead *a)
{
    struct og_session *s = a->s;
    struct og_err why = {0};
    if (!a->kept || !s->packs)
        return false;
    char *path = og__packs_container(s->packs->dir, draw_of(a));
    int rc = path ? open_pack(s, path, NULL, &why)
                  : og__fail_errno(&why, -ENOMEM, NULL, "%s", s->packs->dir);
    free(path);
    if (rc == 0)
        rc = check_pack(s->pack, &a->packing, og__schedule_batches(&s->schedule, OG__TRAIN), &why);
    if (rc == 0)
        return true;
    og__pack_close(s->pack);
    s->pack = NULL;
    lose_packs(s, &why);
    return false;
}

static int write_own_pack(struct ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    int rc = s->pack_dir ? 0 : og__scratch_open(&s->pack_dir, s->scratch, err);
    char *path = rc == 0 ? og__path_join(og__scratch_path(s->pack_dir), "pack") : NULL;
    char *shared = path ? og__path_join(og__scratch_path(s->pack_dir), "shared") : NULL;
    if (!shared) {
        free(path);
        return rc < 0 ? rc : og__fail_errno(err, -ENOMEM, NULL, "packing");
    }
    unlink(path); /* what is on the disk at the same time is one superbatch's */
    unlink(shared);
    rc = write_pack(a, path, shared, done, err);
    og__packing_close(&a->packing);
    if (rc == 0)
        rc = open_pack(s, path, s->opt.layout == OG_LAYOUT_SEGMENTED ? shared : NULL, err);
    free(path);
    free(shared);
    return rc;
}

/* The superbatch's misses in a container of their own, in place of the one before. */
static int pack_misses(struct ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    double start = og__now();
    og__gather_from_pack(s->gather, NULL);
    og__pack_close(s->pack);
    s->pack = NULL;
    int rc = use_made_pack(a) ? 0 : write_own_pack(a, done, err);
    og__packing_close(&a->packing);
    if (rc == 0)
        og__gather_from_pack(s->gather, s->pack);
    done->gather_seconds += og__now() - start;
    og__timeline_add(s->timeline, "pack", 0, start, og__now());
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

static int end_sampling(struct og_session *s, struct og_err *err)
{
    if (!s->memory.alternates)
        return 0;
    og__session_drop_topology(s);
    return og__superbatch_release_ids(s->superbatch, err);
}

static int prepare_superbatch(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                              struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    a->put_before = put_away(s);
    int rc = begin_sampling(s, done, err);
    if (rc == 0)
        rc = sample_ahead(a, pass, first, last, record, err);
    done->read.reads += a->made.reads;
    done->read.bytes += a->made.bytes;
    if (rc == 0)
        rc = plan_ahead(a, done, err);
    if (rc == 0)
        rc = end_sampling(s, err);
    if (rc == 0 && og__packs(s))
        rc = pack_misses(a, done, err);
    if (rc == 0)
        rc = og__gather_reclaim(s->gather, err);
    if (rc == 0)
        rc = fill_cache(s, done, err);
    done->bytes_written += put_away(s) - a->put_before;
    return rc;
}

static int run_superbatch(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                          og_sink *sink, void *arg, struct og_err *err)
{
    struct og_ahead_counts done = {0};
    int rc = prepare_superbatch(a, pass, first, last, &done, err);
    if (rc < 0)
        return rc;
    struct og_flow flow = og__session_flow(a->s);
    flow.replay = a->s->superbatch;
    flow.codes = a->s->codes;
    flow.kept = a->kept;
    flow.sampled_ahead = a->sampled;
    flow.ahead = done;
    return og__flow_run(&flow, pass, first, last, sink, arg, err);
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
    struct ahead a = {.s = s, .n = s->memory.superbatch};
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
    free(a.sampled);
    return rc;
}

/* ---- foretelling alone ---- */

static int record_ids(void *arg, struct og_work *w, struct og_err *err)
{
    struct ahead *a = arg;
    struct og_batch ids = w->sampled.batch;
    ids.n_hops = 0; /* nothing is trained: blocks are not needed */
    note_batch(a, w);
    return og__superbatch_append(a->s->superbatch, &ids, err);
}

static int foretell_laid_out(struct ahead *a, struct og_err *err)
{
    struct og_segments segments;
    uint32_t size;
    int rc = og__packing_seal(&a->packing, err);
    if (rc < 0)
        return rc;
    rc = og__segmented_choose(&segments, &size, a->s, &a->packing, disk_left(a, a->trace_bytes),
                              err);
    if (rc < 0)
        return rc;
    rc = foretell_segments(a, &segments, size, err);
    og__segments_close(&segments);
    return rc;
}

static int plan_epoch(struct ahead *a, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_trace trace = og__superbatch_trace(s->superbatch);
    const bool segmented = s->opt.layout == OG_LAYOUT_SEGMENTED;
    const struct og_plan *plan = &s->works[0].plan;
    uint32_t ignored;
    int rc = og__policy_foresee(s->policy, &trace, &ignored, err);
    if (rc == 0 && segmented)
        rc = begin_packing(a, &trace, err);
    uint32_t pair[2];
    while (rc == 0 && og__policy_prefill(s->policy, pair, pair + 1, 1) > 0)
        ;
    for (uint32_t b = 0; rc == 0 && b < trace.n_batches; b++) {
        uint32_t n = (uint32_t)(trace.ptr[b + 1] - trace.ptr[b]);
        rc = og__policy_plan(s->policy, &s->planner, trace.ids + trace.ptr[b], n, &s->works[0].plan,
                             err);
        if (rc == 0 && foretells(a, b))
            og__predict_batch(&a->prediction, s, plan, &a->sampled[b].from);
        if (rc == 0 && segmented)
            rc = og__packing_add(&a->packing, plan->misses, NULL, plan->n_misses, err);
    }
    if (rc == 0 && segmented)
        return foretell_laid_out(a, err);
    bool ahead = og__samples_ahead(s);
    if (rc == 0)
        og__predict_epoch(&a->prediction, s,
                          ahead ? a->trace_bytes / OG_MAX(a->n_training, (uint64_t)1) : 0);
    return rc;
}

/* A superbatch for ids alone. */
static int open_ids(struct ahead *a, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_superbatch_options opt = {.scratch = s->scratch ? s->scratch : ".",
                                        .memory = SIZE_MAX,
                                        .n_nodes = (uint64_t)s->ds->n_nodes};
    a->sampled = calloc(a->n, sizeof(*a->sampled));
    if (!a->sampled)
        return og__fail_errno(err, -ENOMEM, NULL, "superbatch");
    return s->superbatch ? 0 : og__superbatch_open(&s->superbatch, &opt, s->budget, err);
}

int og__session_foretell(struct og_session *s, struct og_err *err)
{
    uint64_t items = og__schedule_items(&s->schedule);
    uint64_t epoch = og__schedule_start(&s->schedule, 2);
    uint64_t last =
        og__samples_ahead(s) ? og__superbatch_end(s, OG__SPLITS, 0, items) : OG_MIN(epoch, items);
    if (s->predicted.known || last == 0)
        return 0;
    struct ahead a = {.s = s, .n = last};
    int rc = open_ids(&a, err);
    if (rc == 0)
        rc = sample_ahead(&a, OG__SPLITS, 0, last, record_ids, err);
    if (rc == 0)
        rc = plan_epoch(&a, err);
    og__packing_close(&a.packing);
    free(a.sampled);
    return rc;
}

/* ---- offline packing ---- */

/* The nodes that the policy keeps, from first to last. */
static int list_cached(struct og_session *s, struct og_npy_writer *out, struct og_err *err)
{
    uint32_t node;
    uint32_t slot;
    int rc = 0;
    while (rc == 0 && og__policy_prefill(s->policy, &node, &slot, 1) > 0)
        rc = og__npy_append(out, &(int64_t){node}, 1, err);
    return rc;
}

static int add_misses(struct ahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_session *s = a->s;
    size_t bytes = OG_MAX(longest_batch(trace), (uint64_t)1) * sizeof(uint32_t);
    uint32_t *codes = og__alloc(s->budget, bytes, "trace", err);
    int rc = codes ? begin_packing(a, trace, err) : -ENOMEM;
    for (uint32_t b = 0; rc == 0 && b < trace->n_batches; b++) {
        const uint32_t *ids = trace->ids + trace->ptr[b];
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        rc = og__policy_code(s->policy, ids, n, &s->works[0].plan, codes, err);
        if (rc == 0)
            rc = og__packing_add(&a->packing, ids, codes, n, err);
    }
    og__release(s->budget, codes, bytes, "trace");
    return rc;
}

static int pack_draw(struct ahead *a, const struct og_draw_files *to, struct og_ahead_counts *done,
                     struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_trace trace = og__superbatch_trace(s->superbatch);
    uint32_t n_cached = 0;
    og__policy_forget(s->policy, 0); /* all it keeps is told, not what is new since the last draw */
    int rc = og__policy_foresee(s->policy, &trace, &n_cached, err);
    if (rc == 0)
        rc = list_cached(s, to->cached, err);
    if (rc == 0)
        rc = add_misses(a, &trace, err);
    if (rc == 0)
        rc = og__packing_seal(&a->packing, err);
    return rc < 0 ? rc
                  : write_chunks(a, to->container, disk_left(a, done->bytes_written), done, err);
}

int og__session_pack_draw(struct og_session *s, uint32_t epoch, const struct og_draw_files *to,
                          struct og_ahead_counts *done, uint64_t *rows, struct og_err *err)
{
    uint64_t first = og__schedule_start(&s->schedule, epoch);
    struct ahead a = {.s = s, .n = s->memory.superbatch};
    int rc = open_ids(&a, err);
    if (rc == 0)
        rc = sample_ahead(&a, OG__SPLITS, first, first + 1, record_ids, err);
    if (rc == 0)
        rc = pack_draw(&a, to, done, err);
    if (rc == 0)
        *rows += a.packing.ptr[a.packing.n_batches];
    done->read.reads += a.made.reads;
    done->read.bytes += a.made.bytes;
    og__packing_close(&a.packing);
    free(a.sampled);
    return rc;
}
