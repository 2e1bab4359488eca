#include "ahead/ahead_parts.h"
#include "ahead/segmented.h"
#include "base/scratch.h"
#include "train/pilot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The run goes on without packs made beforehand, and says why. */
void og__ahead_lose_packs(struct og_data_path *d, const struct og_err *why)
{
    og__say(&d->config->log, OG__WARN, "%s: this run packs for itself", why->message);
    og__packs_close(d->stores.packs);
    d->stores.packs = NULL;
}

uint32_t og__ahead_draw(const struct og_ahead *a)
{
    return og__offline_draw(a->path->offline, og__ahead_drawn(a->path, a->first));
}

int og__ahead_begin_packing(struct og_ahead *a, const struct og_trace *trace, struct og_err *err)
{
    struct og_data_path *d = a->path;
    og__packing_close(&a->packing);
    a->packed = trace->n_batches;
    int rc = og__packing_open(&a->packing, (uint64_t)d->facts->ds->n_nodes,
                              og__row_bytes(d->facts->ds), trace->n_batches, d->budget, err);
    return rc < 0 ? rc : og__packing_reserve(&a->packing, trace->ptr[trace->n_batches], err);
}

uint64_t og__ahead_written(const struct og_data_path *d)
{
    return og__superbatch_written(d->stores.superbatch) + og__spill_written(d->stores.codes);
}

uint64_t og__ahead_spilled(const struct og_ahead *a)
{
    return og__superbatch_room(a->path->stores.superbatch) +
           og__spill_written(a->path->stores.codes) - a->code_before;
}

/* As far as it makes the sweep faster. */
static size_t sweep_memory(const struct og_data_path *d)
{
    enum { ENOUGH = 256 * OG_MIB };
    return OG_MIN(OG_MAX(og__ahead_left(d), d->memory->sweep), (size_t)ENOUGH);
}

/* ---- what --disk has room for ---- */

/* Beside a neighbour cache. */
static uint64_t allowed_disk(const struct og_data_path *d)
{
    const uint64_t lists = og__whole_takes(d->config, d->structure->on_disk);
    return d->config->disk - OG_MIN(d->config->disk, lists);
}

static const char *or_else(const struct og_data_path *d)
{
    return og__keeps_batches(d->way) ? "--resample-every 1" : "a smaller --superbatch";
}

int og__ahead_within_disk(const struct og_ahead *a, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    char hint[128];
    char allowed[32];
    if (og__ahead_spilled(a) + (a->sampling ? d->memory->drawn : 0) <= allowed_disk(d))
        return 0;
    snprintf(hint, sizeof(hint), "give more --disk (`outgrow plan` tells how much), or %s",
             or_else(d));
    return og__fail(err, -ENOSPC, hint,
                    "--disk: batches sampled ahead, and their plans, take more than %s",
                    og__human_bytes(allowed, (double)allowed_disk(d)));
}

int og__ahead_refuse_disk(const struct og_ahead *a, uint64_t need, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    const uint64_t beside = (uint64_t)d->config->opt.disk.value - allowed_disk(d);
    const uint64_t all = need + beside; /* what stays beside them is of --disk, too */
    const bool large = all > 64 * OG_MIB;
    const uint64_t unit = large ? OG_MIB : OG_KIB;
    char hint[128];
    char takes[32];
    char allowed[32];
    snprintf(hint, sizeof(hint), "give --disk %" PRIu64 "%s, or %s", (all + unit - 1) / unit,
             large ? "M" : "K", or_else(d));
    return og__fail(
        err, -ENOSPC, hint, "--disk: %" PRIu64 " batches sampled ahead%s take %s, %s are allowed",
        a->next, og__packs(d->way) ? ", and what they miss," : "",
        og__human_bytes(takes, (double)need), og__human_bytes(allowed, (double)allowed_disk(d)));
}

/* Containers, where there are any, can be shorter; what is spilled cannot. */
int og__ahead_spill_fits(const struct og_ahead *a, uint64_t spilled, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    const bool others = !og__packs(d->way) && a->last < og__schedule_items(&d->facts->schedule);
    const uint64_t need = spilled + (others ? spilled / OG__SUM_MARGIN : 0);
    if (a->first > 0 || a->pass != OG__SPLITS || need <= allowed_disk(d))
        return 0;
    return og__ahead_refuse_disk(a, need, err);
}

static uint64_t disk_left(const struct og_ahead *a, uint64_t spilled)
{
    const uint64_t disk = allowed_disk(a->path);
    return disk - OG_MIN(disk, spilled);
}

/* A run does not end because a later superbatch misses a little more than the first. */
static bool may_shorten(const struct og_ahead *a)
{
    return a->path->config->layout_open || a->first > 0 || a->pass != OG__SPLITS;
}

static void say_short(struct og_ahead *a)
{
    if (!a->said_short)
        og__say(&a->path->config->log, OG__WARN,
                "--disk has room for what %" PRIu32 " of %" PRIu32
                " batches miss: the others read the feature file",
                a->packing.n_batches, a->packed);
    a->said_short = true;
}

int og__ahead_fit_chunks(struct og_ahead *a, uint64_t spilled, struct og_err *err)
{
    const uint32_t fit = og__packing_within(&a->packing, disk_left(a, spilled));
    if (fit == a->packing.n_batches)
        return 0;
    if (!may_shorten(a))
        return og__ahead_refuse_disk(a, spilled + a->packing.offset[a->packing.n_batches], err);
    int rc = og__packing_shorten(&a->packing, fit, err);
    say_short(a);
    return rc;
}

static int choose_segments(const struct og_ahead *a, struct og_segments *segments, uint32_t *size,
                           uint64_t left, uint64_t *least, struct og_err *err)
{
    const uint32_t disks = OG_MAX(a->path->stores.scratch.n, 1u);
    return og__segmented_choose(segments, size, &a->packing, left, disks, least, a->path->budget,
                                err);
}

int og__ahead_fit_segments(struct og_ahead *a, uint64_t spilled, struct og_segments *segments,
                           uint32_t *size, struct og_err *err)
{
    struct og_packing *p = &a->packing;
    const uint64_t left = disk_left(a, spilled);
    uint64_t least;
    int rc = choose_segments(a, segments, size, left, &least, err);
    while (rc == -ENOSPC && may_shorten(a) && p->n_batches > 0) {
        rc = og__packing_shorten(p, p->n_batches - 1 - p->n_batches / 16, err);
        if (rc < 0)
            return rc;
        rc = choose_segments(a, segments, size, left, &least, err);
    }
    if (rc == -ENOSPC)
        return og__ahead_refuse_disk(a, spilled + least, err);
    if (rc < 0)
        return rc;
    if (p->n_batches < a->packed)
        say_short(a);
    return 0;
}

/* ---- writing it ---- */

static struct og_pack_options pack_options(const struct og_data_path *d, struct og_places at)
{
    return (struct og_pack_options){.at = at,
                                    .memory = sweep_memory(d),
                                    .reader = og__reader_setup(d->config, &d->facts->profile),
                                    .stop = og__stop_flag(d->config)};
}

static void add_counts(struct og_ahead_counts *done, const struct og_pack_counts *counts)
{
    done->read.reads += counts->sweep.reads;
    done->read.bytes += counts->sweep.bytes;
    done->bytes_written += counts->bytes_written;
}

/* Rows that several batches miss; the packing keeps the others. */
static int write_shared(struct og_ahead *a, struct og_places at, uint64_t spilled,
                        struct og_ahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
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
    struct og_pack_options opt = pack_options(d, at);
    rc = og__segmented_write(&segments, size, d->facts->ds, &a->packing, &opt, d->budget, &counts,
                             err);
    if (rc < 0)
        return rc;
    add_counts(done, &counts);
    return 0;
}

int og__ahead_write_chunks(struct og_ahead *a, struct og_places at, struct og_ahead_counts *done,
                           struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_pack_counts counts = {0};
    struct og_sweep sweep;
    struct og_ahead_passing *passing;
    int rc = og__ahead_pass_begin(a, &passing, &done->read.bytes, err);
    if (rc < 0)
        return rc;
    struct og_pack_options opt = pack_options(d, at);
    if (passing) {
        opt.pass = og__ahead_pass;
        opt.arg = passing;
    }
    OG_TRY(og__sweep_share(&a->packing, opt.memory, &sweep, err));
    OG_TRY(og__pack_write(d->facts->ds, &a->packing, &sweep, &opt, d->budget, &counts, err));
    add_counts(done, &counts);
out:
    og__ahead_pass_end(a, passing, rc == 0);
    return rc;
}

/* shared: nowhere, where chunks hold all that batches miss. */
static int write_pack(struct og_ahead *a, struct og_places at, struct og_places shared,
                      struct og_ahead_counts *done, struct og_err *err)
{
    const uint64_t spilled = og__ahead_spilled(a);
    int rc;
    OG_TRY(og__packing_seal(&a->packing, err));
    OG_TRY(shared.n > 0 ? write_shared(a, shared, spilled, done, err)
                        : og__ahead_fit_chunks(a, spilled, err));
    if (a->packing.n_batches > 0)
        OG_TRY(og__ahead_write_chunks(a, at, done, err));
out:
    return rc;
}

static int open_pack(struct og_data_path *d, struct og_places at, struct og_places shared,
                     const struct og_disk_profile *disk, struct og_io_counts *read,
                     struct og_err *err)
{
    const struct og_reader_options reader = og__reader_setup(d->config, disk);
    const struct og_io_counts before = og__io_made();
    int rc;
    OG_TRY(og__pack_open(&d->stores.pack, at, d->facts->ds, d->memory->n_staging, &reader,
                         d->budget, err));
    if (shared.n > 0)
        OG_TRY(og__pack_add_shared(d->stores.pack, shared, d->facts->ds, &reader, err));
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
    struct og_data_path *d = a->path;
    struct og_err why = {0};
    if (!a->by_draw || !d->stores.packs)
        return false;
    const uint64_t n_train = og__schedule_batches(&d->facts->schedule, OG__TRAIN);
    char *path = og__packs_container(d->stores.packs->dir, og__ahead_draw(a));
    int rc;
    OG_TRY(
        path ? open_pack(d, OG__ONE_PLACE(path), (struct og_places){0}, &d->facts->made, read, &why)
             : og__fail_errno(&why, -ENOMEM, NULL, "%s", d->stores.packs->dir));
    OG_TRY(check_pack(d->stores.pack, &a->packing, n_train, &why));
out:
    free(path);
    if (rc >= 0)
        return true;
    og__pack_close(d->stores.pack);
    d->stores.pack = NULL;
    og__ahead_lose_packs(d, &why);
    return false;
}

static int write_and_open(struct og_ahead *a, struct og_places at, struct og_places shared,
                          struct og_ahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    int rc = write_pack(a, at, shared, done, err);
    const bool some = a->packing.n_batches > 0;
    if (rc < 0)
        return rc;
    og__packing_close(&a->packing); /* gives its memory to the reading */
    if (!some)
        return 0;
    OG_TRY(open_pack(d, at, shared, og__packs_profile(d->facts), &done->read, err));
    og__pack_is_own(d->stores.pack);
out:
    return rc;
}

static int write_own_pack(struct og_ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_stores *s = &a->path->stores;
    struct og_places at = {0}, shared = {0};
    int rc;
    OG_TRY(s->pack_dir ? 0 : og__scratch_open(&s->pack_dir, s->scratch, err));
    OG_TRY(og__places_in(&at, og__scratch_places(s->pack_dir), "pack", err));
    if (a->path->way->layout == OG_LAYOUT_SEGMENTED)
        OG_TRY(og__places_in(&shared, og__scratch_places(s->pack_dir), "shared", err));
    OG_TRY(write_and_open(a, at, shared, done, err));
out:
    og__places_free(&at);
    og__places_free(&shared);
    return rc;
}

void og__ahead_drop_pack(struct og_ahead *a)
{
    struct og_stores *s = &a->path->stores;
    if (s->pack)
        og__data_path_from_pack(a->path, NULL);
    og__pack_close(s->pack);
    s->pack = NULL;
    if (s->pack_dir)
        og__scratch_clear(s->pack_dir);
}

/* The superbatch's misses in a container of their own. */
int og__ahead_pack(struct og_ahead *a, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    double start = og__now();
    int rc;
    OG_TRY(use_made_pack(a, &done->read) ? 0 : write_own_pack(a, done, err));
    og__data_path_from_pack(d, d->stores.pack);
out:
    og__packing_close(&a->packing);
    done->gather_seconds += og__now() - start;
    og__timeline_add(d->timeline, "pack", 0, start, og__now());
    return rc;
}
