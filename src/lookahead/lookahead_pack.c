#include "base/scratch.h"
#include "lookahead/lookahead_parts.h"
#include "lookahead/segmented.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The run continues without packs of --samples, and reports why. */
/* The run continues without packs of --samples, and reports why. */
static void lose_packs(struct og_data_path *d, const struct og_err *why)
{
    og__say(&d->config->log, OG__WARN, "%s: this run packs for itself", why->message);
    og__packs_close(d->stores.packs);
    d->stores.packs = NULL;
}

/* Which of the packs of --samples is this superbatch's. */
static uint32_t draw_of_packs(const struct og_lookahead *a)
{
    return og__offline_draw(a->path->offline, og__lookahead_drawn(a->path, a->first));
}

uint64_t og__lookahead_written(const struct og_data_path *d)
{
    return og__superbatch_written(d->stores.superbatch) + og__spill_written(d->stores.codes);
}

uint64_t og__lookahead_spilled(const struct og_lookahead *a)
{
    return og__superbatch_room(a->path->stores.superbatch) +
           og__spill_written(a->path->stores.codes) - a->code_before;
}

/* As far as it makes the sweep faster. */
static size_t sweep_memory(const struct og_data_path *d)
{
    enum { ENOUGH = 256 * OG_MIB };
    return OG_MIN(OG_MAX(og__lookahead_left(d), d->memory->sweep), (size_t)ENOUGH);
}

int og__lookahead_prepare(struct og_lookahead *a, const struct og_trace *all,
                          struct og_io_counts *read, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_err why = {0};
    uint32_t *nodes = NULL;
    uint32_t n = 0;
    uint32_t ignored = 0;
    if (!a->by_draw || !d->stores.packs || d->exec->layout != OG_LAYOUT_PACKED)
        return og__policy_prepare(d->policy, all, &ignored, err);
    const struct og_io_counts before = og__io_made();
    int rc = og__packs_cached(d->stores.packs, draw_of_packs(a),
                              (uint64_t)d->workload->graph->n_nodes, d->budget, &nodes, &n, &why);
    og__io_add_since(read, before);
    if (rc < 0) {
        lose_packs(d, &why);
        return og__policy_prepare(d->policy, all, &ignored, err);
    }
    rc = og__policy_adopt(d->policy, nodes, n, &ignored, err);
    og__release(d->budget, nodes, n * sizeof(*nodes), "policy");
    return rc;
}

/* ---- what --disk has room for ---- */

/* What a neighbour cache leaves. */
static uint64_t allowed_disk(const struct og_data_path *d)
{
    const uint64_t lists = og__whole_takes(d->config, d->structure->on_disk);
    return d->config->disk - OG_MIN(d->config->disk, lists);
}

/* Nothing is allowed if the default folder is none. */
static int check_folder(const struct og_data_path *d, struct og_err *err)
{
    const bool none = d->config->opt.disk.value == 0 && !d->config->opt.scratch;
    return none && d->stores.scratch.n > 0 ? og__scratch_check(d->stores.scratch.path[0], err) : 0;
}

static const char *or_else(const struct og_data_path *d)
{
    return og__keeps_batches(d->exec) ? "--resample-every 1" : "a smaller --superbatch";
}

int og__lookahead_within_disk(const struct og_lookahead *a, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    char hint[128];
    char allowed[32];
    if (og__lookahead_spilled(a) + (a->sampling ? d->memory->drawn : 0) <= allowed_disk(d))
        return 0;
    OG_DO(check_folder(d, err));
    snprintf(hint, sizeof(hint), "give more --disk (`outgrow plan` shows how much), or %s",
             or_else(d));
    return og__fail(err, -ENOSPC, hint,
                    "--disk: batches sampled ahead, and their plans, take more than %s",
                    og__human_bytes(allowed, (double)allowed_disk(d)));
}

/* -ENOSPC, with the --disk that would do, where a superbatch takes `need` bytes in all. */
static int refuse_disk(const struct og_lookahead *a, uint64_t need, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    const uint64_t beside = (uint64_t)d->config->opt.disk.value - allowed_disk(d);
    const uint64_t all = need + beside; /* files that stay during it are of --disk, too */
    const bool large = all > 64 * OG_MIB;
    const uint64_t unit = large ? OG_MIB : OG_KIB;
    char hint[128];
    char takes[32];
    char allowed[32];
    OG_DO(check_folder(d, err));
    snprintf(hint, sizeof(hint), "give --disk %" PRIu64 "%s, or %s", (all + unit - 1) / unit,
             large ? "M" : "K", or_else(d));
    return og__fail(
        err, -ENOSPC, hint, "--disk: %" PRIu64 " batches sampled ahead%s take %s, %s are allowed",
        a->next, og__packs(d->exec) ? ", and what they miss," : "",
        og__human_bytes(takes, (double)need), og__human_bytes(allowed, (double)allowed_disk(d)));
}

/* Packed files, where there are any, can be shorter; what is spilled cannot. */
int og__lookahead_spill_fits(const struct og_lookahead *a, uint64_t spilled, struct og_err *err)
{
    const struct og_data_path *d = a->path;
    const bool others = !og__packs(d->exec) && a->last < og__schedule_items(&d->workload->schedule);
    const uint64_t need = spilled + (others ? spilled / OG__SUM_MARGIN : 0);
    if (a->first > 0 || a->pass != OG__SPLITS || need <= allowed_disk(d))
        return 0;
    return refuse_disk(a, need, err);
}

static uint64_t disk_left(const struct og_lookahead *a, uint64_t spilled)
{
    const uint64_t disk = allowed_disk(a->path);
    return disk - OG_MIN(disk, spilled);
}

/* A run does not end because a later superbatch misses a little more than the first. */
static bool may_shorten(const struct og_lookahead *a)
{
    return a->path->config->layout_open || a->first > 0 || a->pass != OG__SPLITS;
}

static void say_short(struct og_lookahead *a)
{
    if (!a->said_short)
        og__say(&a->path->config->log, OG__WARN,
                "--disk has room for what %" PRIu32 " of %" PRIu32
                " batches miss: the others read the feature file",
                og__lookahead_packed(a), a->packed);
    a->said_short = true;
}

int og__lookahead_fit_chunks(struct og_lookahead *a, uint64_t spilled, struct og_err *err)
{
    const uint32_t all = og__lookahead_packed(a);
    const uint64_t left = disk_left(a, spilled);
    uint32_t fit = all;
    while (fit > 0 && og__lookahead_file_bytes(a, fit) > left)
        fit--;
    if (fit == all)
        return 0;
    if (!may_shorten(a))
        return refuse_disk(a, spilled + og__lookahead_file_bytes(a, all), err);
    int rc = og__lookahead_shorten(a, fit, err);
    say_short(a);
    return rc;
}

static uint32_t disks_of(const struct og_lookahead *a)
{
    return OG_MAX(a->path->stores.scratch.n, 1u);
}

/* What segments of each group take at least, into its room; *all: together. */
static int find_least(struct og_lookahead *a, uint64_t *all, struct og_err *err)
{
    *all = 0;
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_lookahead_group *w = &a->group[k];
        OG_DO(og__segmented_least(&w->room, &w->misses, disks_of(a), a->path->budget, err));
        *all += w->room;
    }
    return 0;
}

/* The rest is divided among groups by what chunks of all their misses would take in
 * addition. */
static void share_out(struct og_lookahead *a, uint64_t left)
{
    const uint32_t n = og__lookahead_packed(a);
    double more = 0;
    double before = 0;
    for (uint32_t k = 0; k < a->n_groups; k++)
        more += (double)og__packing_file_bytes(&a->group[k].misses, n);
    for (uint32_t k = 0; k < a->n_groups; k++) { /* rounded together, so that nothing is lost */
        const double after = before + (double)og__packing_file_bytes(&a->group[k].misses, n);
        a->group[k].room +=
            (uint64_t)(after / more * (double)left) - (uint64_t)(before / more * (double)left);
        before = after;
    }
}

int og__lookahead_fit_segments(struct og_lookahead *a, uint64_t spilled, struct og_err *err)
{
    const uint64_t left = disk_left(a, spilled);
    uint64_t least;
    OG_DO(find_least(a, &least, err));
    while (least > left && may_shorten(a) && og__lookahead_packed(a) > 0) {
        const uint32_t n = og__lookahead_packed(a);
        OG_DO(og__lookahead_shorten(a, n - 1 - n / 16, err));
        OG_DO(find_least(a, &least, err));
    }
    if (least > left && og__lookahead_packed(a) > 0)
        return refuse_disk(a, spilled + least, err);
    share_out(a, left - OG_MIN(left, least));
    if (og__lookahead_packed(a) < a->packed && a->n_groups > 0)
        say_short(a);
    return 0;
}

int og__lookahead_choose_segments(struct og_lookahead *a, uint32_t k, struct og_segments *segments,
                                  uint32_t *size, struct og_err *err)
{
    const struct og_lookahead_group *w = &a->group[k];
    return og__segmented_choose(segments, size, &w->misses, w->room, disks_of(a), a->path->budget,
                                err);
}

/* ---- writing it ---- */

static struct og_pack_options pack_options(const struct og_data_path *d,
                                           const struct og_lookahead_group *w, struct og_places at)
{
    const struct og_disk_profile profile = og__lookahead_profile(d, w, false);
    return (struct og_pack_options){.at = at,
                                    .memory = sweep_memory(d),
                                    .reader = og__reader_setup(d->config, &profile),
                                    .stop = og__stop_flag(d->config)};
}

static void add_counts(struct og_lookahead_counts *done, const struct og_pack_counts *counts)
{
    done->read.reads += counts->sweep.reads;
    done->read.bytes += counts->sweep.bytes;
    done->bytes_written += counts->bytes_written;
}

/* Rows that several batches miss; the packing keeps the others. */
static int write_shared(struct og_lookahead *a, uint32_t k, struct og_places at,
                        struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_lookahead_group *w = &a->group[k];
    struct og_segments segments;
    struct og_pack_counts counts;
    uint32_t size;
    int rc = og__lookahead_choose_segments(a, k, &segments, &size, err);
    if (rc < 0)
        return rc;
    rc = og__lookahead_predict_segments(a, k, &segments, size, err);
    if (rc < 0 || w->misses.n_batches == 0) {
        og__segments_close(&segments);
        return rc;
    }
    const struct og_pack_options opt = pack_options(d, w, at);
    rc = og__segmented_write(&segments, size, w->rows, &w->misses, &opt, d->budget, &counts, err);
    if (rc < 0)
        return rc;
    add_counts(done, &counts);
    return 0;
}

/* For all groups. */
static int write_all_shared(struct og_lookahead *a, const struct og_lookahead_files *files,
                            uint64_t spilled, struct og_lookahead_counts *done, struct og_err *err)
{
    OG_DO(og__lookahead_fit_segments(a, spilled, err));
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_DO(write_shared(a, k, files[k].shared, done, err));
    if (!a->path->predicted->known)
        og__lookahead_end_prediction(a);
    return 0;
}

static int write_chunks(struct og_lookahead *a, struct og_lookahead_group *w, struct og_places at,
                        struct og_lookahead_passing *passing, struct og_lookahead_counts *done,
                        struct og_err *err)
{
    struct og_data_path *d = a->path;
    struct og_pack_counts counts = {0};
    struct og_sweep sweep;
    struct og_pack_options opt = pack_options(d, w, at);
    if (passing) {
        og__lookahead_pass_group(passing, w->misses.first, w->misses.row_bytes);
        opt.pass = og__lookahead_pass;
        opt.arg = passing;
    }
    OG_DO(og__sweep_share(&w->misses, opt.memory, &sweep, err));
    OG_DO(og__pack_write(w->rows, &w->misses, &sweep, &opt, d->budget, &counts, err));
    add_counts(done, &counts);
    return 0;
}

int og__lookahead_write_chunks(struct og_lookahead *a, const struct og_lookahead_files *files,
                               struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_lookahead_passing *passing;
    int rc = og__lookahead_pass_begin(a, &passing, &done->read.bytes, err);
    if (rc < 0)
        return rc;
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_TRY(write_chunks(a, &a->group[k], files[k].at, passing, done, err));
out:
    og__lookahead_pass_end(a, passing, rc == 0);
    return rc;
}

static int write_packs(struct og_lookahead *a, const struct og_lookahead_files *files,
                       struct og_lookahead_counts *done, struct og_err *err)
{
    const uint64_t spilled = og__lookahead_spilled(a);
    OG_DO(og__lookahead_finish(a, err));
    OG_DO(a->path->exec->layout == OG_LAYOUT_SEGMENTED
              ? write_all_shared(a, files, spilled, done, err)
              : og__lookahead_fit_chunks(a, spilled, err));
    if (og__lookahead_packed(a) > 0)
        OG_DO(og__lookahead_write_chunks(a, files, done, err));
    return 0;
}

static int open_pack(struct og_data_path *d, const struct og_lookahead_group *w,
                     const struct og_lookahead_files *files, const struct og_disk_profile *disk,
                     struct og_pack **out, struct og_err *err)
{
    const struct og_reader_options reader = og__reader_setup(d->config, disk);
    OG_DO(og__pack_open(out, files->at, w->rows, d->memory->n_staging, &reader, d->budget, err));
    if (files->shared.n > 0)
        OG_DO(og__pack_add_shared(*out, files->shared, w->rows, &reader, err));
    return 0;
}

/* Those of the first n groups, for the staging areas of batches. */
static int open_packs(struct og_lookahead *a, const struct og_lookahead_files *files, uint32_t n,
                      const struct og_disk_profile *made, struct og_io_counts *read,
                      struct og_err *err)
{
    struct og_data_path *d = a->path;
    const struct og_io_counts before = og__io_made();
    int rc;
    OG_TRY(og__stores_hold_packs(&d->stores, n, err));
    for (uint32_t k = 0; k < n; k++) {
        const struct og_disk_profile own = og__lookahead_profile(d, &a->group[k], true);
        OG_TRY(open_pack(d, &a->group[k], &files[k], made ? made : &own, &d->stores.pack[k], err));
        if (!made)
            og__pack_is_own(d->stores.pack[k]);
    }
out:
    og__io_add_since(read, before);
    return rc;
}

/* Does it hold what every batch misses, as far as it goes? */
static int check_pack(const struct og_pack *pack, const struct og_packing *p, uint64_t n_train,
                      struct og_err *err)
{
    uint32_t n = og__pack_batches(pack);
    OG_DO(n >= n_train ? 0 : og__fail(err, -EINVAL, NULL, "a pack of too few batches"));
    for (uint32_t b = 0; b < OG_MIN(n, p->n_batches); b++)
        OG_DO(og__pack_holds(pack, b, p->rows + p->ptr[b], p->ptr[b + 1] - p->ptr[b], err));
    return 0;
}

/* The packed files of --samples; false = they do not fit. */
static bool use_made_packs(struct og_lookahead *a, struct og_io_counts *read)
{
    struct og_data_path *d = a->path;
    struct og_lookahead_files *files = NULL;
    struct og_err why = {0};
    if (!a->by_draw || !d->stores.packs)
        return false;
    const uint64_t n_train = og__schedule_batches(&d->workload->schedule, OG__TRAIN);
    int rc;
    OG_TRY(og__lookahead_made_files(a, d->stores.packs->dir, draw_of_packs(a), &files, &why));
    OG_TRY(open_packs(a, files, a->n_groups, &d->workload->made, read, &why));
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_TRY(check_pack(d->stores.pack[k], &a->group[k].misses, n_train, &why));
out:
    og__lookahead_files_free(a, files);
    if (rc >= 0)
        return true;
    og__stores_drop_packs(&d->stores);
    lose_packs(d, &why);
    return false;
}

/* All that it has is written: its memory serves the reading. */
static int end_packing(struct og_lookahead *a, struct og_err *err)
{
    og__lookahead_drop_packing(a);
    return a->path->memory->missed > 0 ? og__lookahead_release_ids(a, err) : 0;
}

static int write_and_open(struct og_lookahead *a, const struct og_lookahead_files *files,
                          struct og_lookahead_counts *done, struct og_err *err)
{
    int rc = write_packs(a, files, done, err);
    const bool some = og__lookahead_packed(a) > 0;
    if (rc < 0)
        return rc;
    OG_TRY(end_packing(a, err));
    OG_TRY(some ? open_packs(a, files, a->n_groups, NULL, &done->read, err) : 0);
out:
    return rc;
}

/* Files of group k, in the folder of packs. */
static int name_files(const struct og_lookahead *a, uint32_t k, struct og_lookahead_files *out,
                      struct og_err *err)
{
    const struct og_places in = og__scratch_places(a->path->stores.pack_dir);
    char name[32];
    snprintf(name, sizeof(name), "pack%" PRIu32, k);
    OG_DO(og__places_in(&out->at, in, name, err));
    snprintf(name, sizeof(name), "shared%" PRIu32, k);
    if (a->path->exec->layout == OG_LAYOUT_SEGMENTED)
        OG_DO(og__places_in(&out->shared, in, name, err));
    return 0;
}

static int write_own_packs(struct og_lookahead *a, struct og_lookahead_counts *done,
                           struct og_err *err)
{
    struct og_stores *s = &a->path->stores;
    struct og_lookahead_files *files = og__lookahead_files_new(a);
    int rc;
    OG_TRY(files ? 0 : og__fail_errno(err, -ENOMEM, NULL, "packing"));
    OG_TRY(s->pack_dir ? 0 : og__scratch_open(&s->pack_dir, s->scratch, err));
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_TRY(name_files(a, k, &files[k], err));
    OG_TRY(write_and_open(a, files, done, err));
out:
    og__lookahead_files_free(a, files);
    return rc;
}

void og__lookahead_drop_pack(struct og_lookahead *a)
{
    struct og_stores *s = &a->path->stores;
    if (s->n_packs > 0)
        a->path->rows.ops->from_packs(a->path->rows.self, NULL);
    og__stores_drop_packs(s);
    if (s->pack_dir)
        og__scratch_clear(s->pack_dir);
}

int og__lookahead_pack(struct og_lookahead *a, struct og_lookahead_counts *done, struct og_err *err)
{
    struct og_data_path *d = a->path;
    double start = og__now();
    int rc;
    OG_TRY(use_made_packs(a, &done->read) ? 0 : write_own_packs(a, done, err));
    OG_TRY(end_packing(a, err));
    if (d->stores.n_packs > 0)
        d->rows.ops->from_packs(d->rows.self, d->stores.pack);
out:
    og__lookahead_drop_packing(a);
    done->gather_seconds += og__now() - start;
    og__timeline_add(d->timeline, "pack", 0, start, og__now());
    return rc;
}
