#include "ahead/ahead_parts.h"
#include "ahead/segmented.h"
#include "base/scratch.h"
#include "train/pilot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The run goes on without packs made beforehand, and says why. */
void og__ahead_lose_packs(struct og_session *s, const struct og_err *why)
{
    og__say(&s->config.log, OG__WARN, "%s: this run packs for itself", why->message);
    og__packs_close(s->packs);
    s->packs = NULL;
}

uint32_t og__ahead_draw(const struct og_ahead *a)
{
    return og__offline_draw(a->s->offline, og__ahead_drawn(a->s, a->first));
}

int og__ahead_begin_packing(struct og_ahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_session *s = a->s;
    og__packing_close(&a->packing);
    int rc = og__packing_open(&a->packing, (uint64_t)s->facts.ds->n_nodes,
                              og__row_bytes(s->facts.ds), trace->n_batches, s->budget, err);
    return rc < 0 ? rc : og__packing_reserve(&a->packing, trace->ptr[trace->n_batches], err);
}

uint64_t og__ahead_written(const struct og_session *s)
{
    return og__superbatch_written(s->superbatch) + og__spill_written(s->codes);
}

uint64_t og__ahead_spilled(const struct og_ahead *a)
{
    return og__superbatch_on_disk(a->s->superbatch) + og__spill_written(a->s->codes) -
           a->code_before;
}

/* What is left of the budget, as far as it makes the sweep faster. */
static size_t sweep_memory(const struct og_session *s)
{
    enum { ENOUGH = 256 * OG_MIB };
    size_t kept = s->memory.process + s->memory.slack;
    size_t left = og__budget_left(s->budget);
    return OG_MIN(OG_MAX(left - OG_MIN(left, kept), s->memory.sweep), (size_t)ENOUGH);
}

/* ---- what --disk has room for ---- */

static const char *or_else(const struct og_session *s)
{
    return og__keeps_batches(&s->way) ? "--resample-every 1" : "a smaller --superbatch";
}

int og__ahead_within_disk(const struct og_ahead *a, struct og_err *err)
{
    const struct og_session *s = a->s;
    char hint[128];
    char allowed[32];
    if (og__ahead_spilled(a) <= (uint64_t)s->config.opt.disk.value)
        return 0;
    snprintf(hint, sizeof(hint), "give more --disk (`outgrow plan` tells how much), or %s",
             or_else(s));
    return og__fail(err, -ENOSPC, hint,
                    "--disk: batches sampled ahead, and their plans, take more than %s",
                    og__human_bytes(allowed, s->config.opt.disk.value));
}

int og__ahead_refuse_disk(const struct og_ahead *a, uint64_t need, struct og_err *err)
{
    const bool large = need > 64 * OG_MIB;
    const uint64_t unit = large ? OG_MIB : OG_KIB;
    char hint[128];
    char takes[32];
    char allowed[32];
    snprintf(hint, sizeof(hint), "give --disk %" PRIu64 "%s, or %s", (need + unit - 1) / unit,
             large ? "M" : "K", or_else(a->s));
    return og__fail(err, -ENOSPC, hint,
                    "--disk: %" PRIu64 " batches sampled ahead%s take %s, %s are allowed", a->next,
                    og__packs(&a->s->way) ? ", and what they miss," : "",
                    og__human_bytes(takes, (double)need),
                    og__human_bytes(allowed, a->s->config.opt.disk.value));
}

/* Containers, where there are any, can be shorter; what is spilled cannot. */
int og__ahead_spill_fits(const struct og_ahead *a, uint64_t spilled, struct og_err *err)
{
    const struct og_session *s = a->s;
    const bool others = !og__packs(&s->way) && a->last < og__schedule_items(&s->facts.schedule);
    const uint64_t need = spilled + (others ? spilled / OG__SUM_MARGIN : 0);
    if (a->first > 0 || a->pass != OG__SPLITS || need <= (uint64_t)s->config.opt.disk.value)
        return 0;
    return og__ahead_refuse_disk(a, need, err);
}

static uint64_t disk_left(const struct og_ahead *a, uint64_t spilled)
{
    const uint64_t disk = (uint64_t)a->s->config.opt.disk.value;
    return disk - OG_MIN(disk, spilled);
}

/* A run does not end because a later superbatch misses a little more than the first. */
static bool may_shorten(const struct og_ahead *a)
{
    return a->s->config.layout_open || a->first > 0 || a->pass != OG__SPLITS;
}

static void tell_short(struct og_ahead *a)
{
    if (!a->told_short)
        og__say(&a->s->config.log, OG__WARN,
                "--disk has room for what %" PRIu32 " of %" PRIu64
                " batches miss: the others read the feature file",
                a->packing.n_batches, a->own);
    a->told_short = true;
}

int og__ahead_fit_chunks(struct og_ahead *a, uint64_t spilled, struct og_err *err)
{
    const uint32_t fit = og__packing_within(&a->packing, disk_left(a, spilled));
    if (fit == a->packing.n_batches)
        return 0;
    if (!may_shorten(a))
        return og__ahead_refuse_disk(a, spilled + a->packing.offset[a->packing.n_batches], err);
    int rc = og__packing_shorten(&a->packing, fit, err);
    tell_short(a);
    return rc;
}

int og__ahead_fit_segments(struct og_ahead *a, uint64_t spilled, struct og_segments *segments,
                           uint32_t *size, struct og_err *err)
{
    struct og_packing *p = &a->packing;
    const uint64_t left = disk_left(a, spilled);
    uint64_t least;
    int rc = og__segmented_choose(segments, size, a->s, p, left, &least, err);
    while (rc == -ENOSPC && may_shorten(a) && p->n_batches > 0) {
        rc = og__packing_shorten(p, p->n_batches - 1 - p->n_batches / 16, err);
        if (rc < 0)
            return rc;
        rc = og__segmented_choose(segments, size, a->s, p, left, &least, err);
    }
    if (rc == -ENOSPC)
        return og__ahead_refuse_disk(a, spilled + least, err);
    if (rc < 0)
        return rc;
    if (p->n_batches < a->own)
        tell_short(a);
    return 0;
}

/* ---- writing it ---- */

static struct og_pack_options pack_options(const struct og_session *s, const char *path)
{
    return (struct og_pack_options){.path = path,
                                    .memory = sweep_memory(s),
                                    .reader = og__session_reader(s),
                                    .stop = s->config.seen ? s->config.seen->stop : NULL};
}

static void add_counts(struct og_ahead_counts *done, const struct og_pack_counts *counts)
{
    done->read.reads += counts->sweep.reads;
    done->read.bytes += counts->sweep.bytes;
    done->bytes_written += counts->bytes_written;
}

/* Rows that several batches miss; the packing keeps the others. */
static int write_shared(struct og_ahead *a, const char *path, uint64_t spilled,
                        struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_segments segments;
    struct og_pack_counts counts;
    uint32_t size;
    int rc = og__ahead_fit_segments(a, spilled, &segments, &size, err);
    if (rc < 0)
        return rc;
    rc = og__ahead_predict_segments(a, &segments, size, err);
    if (rc < 0 || a->packing.n_batches == 0) {
        og__segments_close(&segments);
        return rc;
    }
    struct og_pack_options opt = pack_options(s, path);
    rc = og__segmented_write(&segments, size, s, &a->packing, &opt, &counts, err);
    if (rc < 0)
        return rc;
    add_counts(done, &counts);
    return 0;
}

int og__ahead_write_chunks(struct og_ahead *a, const char *path, struct og_ahead_counts *done,
                           struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_pack_counts counts = {0};
    struct og_pack_options opt = pack_options(s, path);
    struct og_sweep sweep;
    int rc;
    OG_TRY(og__sweep_share(&a->packing, opt.memory, &sweep, err));
    OG_TRY(og__pack_write(s->facts.ds, &a->packing, &sweep, &opt, s->budget, &counts, err));
    add_counts(done, &counts);
out:
    return rc;
}

static int write_pack(struct og_ahead *a, const char *path, const char *shared,
                      struct og_ahead_counts *done, struct og_err *err)
{
    const uint64_t spilled = og__ahead_spilled(a);
    int rc;
    OG_TRY(og__packing_seal(&a->packing, err));
    OG_TRY(shared ? write_shared(a, shared, spilled, done, err)
                  : og__ahead_fit_chunks(a, spilled, err));
    if (a->packing.n_batches > 0)
        OG_TRY(og__ahead_write_chunks(a, path, done, err));
out:
    return rc;
}

/* shared: NULL where chunks hold all that batches miss. */
static int open_pack(struct og_session *s, const char *path, const char *shared,
                     struct og_io_counts *read, struct og_err *err)
{
    struct og_reader_options reader = og__session_reader(s);
    const struct og_io_counts before = og__io_made();
    int rc;
    OG_TRY(
        og__pack_open(&s->pack, path, s->facts.ds, s->memory.n_staging, &reader, s->budget, err));
    if (shared)
        OG_TRY(og__pack_add_shared(s->pack, shared, s->facts.ds, &reader, err));
out:
    og__io_add_since(read, before);
    return rc;
}

/* Does it hold what every batch misses, as far as it goes? */
static int check_pack(const struct og_pack *pack, const struct og_packing *p, uint64_t n_train,
                      struct og_err *err)
{
    uint32_t n = og__pack_batches(pack);
    int rc;
    OG_TRY(n >= n_train ? 0 : og__fail(err, -EINVAL, NULL, "a pack of too few batches"));
    for (uint32_t b = 0; b < OG_MIN(n, p->n_batches); b++)
        OG_TRY(og__pack_holds(pack, b, p->rows + p->ptr[b], p->ptr[b + 1] - p->ptr[b], err));
out:
    return rc;
}

/* The container made beforehand; false = it does not serve. */
static bool use_made_pack(struct og_ahead *a, struct og_io_counts *read)
{
    struct og_session *s = a->s;
    struct og_err why = {0};
    if (!a->by_draw || !s->packs)
        return false;
    const uint64_t n_train = og__schedule_batches(&s->facts.schedule, OG__TRAIN);
    char *path = og__packs_container(s->packs->dir, og__ahead_draw(a));
    int rc;
    OG_TRY(path ? open_pack(s, path, NULL, read, &why)
                : og__fail_errno(&why, -ENOMEM, NULL, "%s", s->packs->dir));
    OG_TRY(check_pack(s->pack, &a->packing, n_train, &why));
out:
    free(path);
    if (rc >= 0)
        return true;
    og__pack_close(s->pack);
    s->pack = NULL;
    og__ahead_lose_packs(s, &why);
    return false;
}

static int write_own_pack(struct og_ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    int rc = s->pack_dir ? 0 : og__scratch_open(&s->pack_dir, s->scratch, err);
    if (rc < 0)
        return rc;
    char *path = og__path_join(og__scratch_path(s->pack_dir), "pack");
    char *shared = og__path_join(og__scratch_path(s->pack_dir), "shared");
    OG_TRY(path && shared ? 0 : og__fail_errno(err, -ENOMEM, NULL, "packing"));
    unlink(path); /* what is on the disk at the same time is one superbatch's */
    unlink(shared);
    const char *segments = s->way.layout == OG_LAYOUT_SEGMENTED ? shared : NULL;
    OG_TRY(write_pack(a, path, segments, done, err));
    const bool some = a->packing.n_batches > 0;
    og__packing_close(&a->packing); /* gives its memory to the reading */
    if (some) {
        OG_TRY(open_pack(s, path, segments, &done->read, err));
        og__pack_is_own(s->pack);
    }
out:
    free(path);
    free(shared);
    return rc;
}

/* The superbatch's misses in a container of their own, in place of the one before. */
int og__ahead_pack(struct og_ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_session *s = a->s;
    double start = og__now();
    og__gather_from_pack(s->gather, NULL);
    og__pack_close(s->pack);
    s->pack = NULL;
    int rc;
    OG_TRY(use_made_pack(a, &done->read) ? 0 : write_own_pack(a, done, err));
    og__gather_from_pack(s->gather, s->pack);
out:
    og__packing_close(&a->packing);
    done->gather_seconds += og__now() - start;
    og__timeline_add(s->timeline, "pack", 0, start, og__now());
    return rc;
}
