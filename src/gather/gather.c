#include "gather/gather_parts.h"

#include "dataset/features.h"
#include "gather/release_rows.h"
#include "gather/written_parts.h"

#include <stdlib.h>
#include <string.h>

#define STAGING "staging"
#define CACHE   "feature cache"
#define PLANS   "plans"

enum { FILL_AREAS = 2, PAGE = 4096 };

/* ---- groups ---- */

/* Bytes of the first `slots` slots of all groups. */
static size_t bytes_of(const struct og_gather *g, uint32_t slots)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const uint32_t of = OG_MIN(slots, g->group[k].n_slots);
        bytes += of * g->group[k].row_bytes;
        slots -= of;
    }
    return bytes;
}

static size_t present_bytes(const struct og_gather *g)
{
    return bytes_of(g, g->n_slots - g->n_released);
}

/* The group of a slot: the last group with slots that begins at or before it. */
static struct og_gather_group *group_of_slot(const struct og_gather *g, uint32_t slot)
{
    uint32_t k = g->n_groups - 1;
    while (k > 0 && (g->group[k].slot > slot || g->group[k].n_slots == 0))
        k--;
    return &g->group[k];
}

static uint64_t end_of(const struct og_gather_group *w)
{
    return (uint64_t)(w->of->first + w->of->n_nodes);
}

static struct og_reader_options reading(const struct og_group *group,
                                        const struct og_reader_options *like)
{
    struct og_reader_options opt = *like;
    og__features_profile(group, &opt.profile);
    opt.through_page_cache |= group->state > 0; /* written.h */
    return opt;
}

/* ---- sizes ---- */

static int areas_of(const struct og_gather_options *opt, uint32_t n_groups)
{
    return opt->n_staging + (opt->fills_during_training && n_groups == 1 ? FILL_AREAS : 0);
}

static uint32_t most_staging_rows(const struct og_gather *g, const struct og_gather_group *w)
{
    const uint64_t rows = (UINT32_MAX - (uint64_t)w->n_slots - PAGE) / (uint64_t)g->n_areas;
    return w->of->dim > 0 ? (uint32_t)OG_MIN((uint64_t)w->of->n_nodes, rows) : 0;
}

/* A group may have rows of no bytes. */
uint32_t og__gather_fill_rows(size_t row_bytes)
{
    enum { LEAST = 64, BYTES = 4 * 1024 * 1024 };
    return (uint32_t)OG_MIN(OG_MAX(BYTES / OG_MAX(row_bytes, (size_t)1), (size_t)LEAST),
                            (size_t)OG__FILL_ROWS);
}

size_t og__gather_extra_bytes(const struct og_reader_options *reader, size_t row_bytes)
{
    return og__reader_bytes(reader) + FILL_AREAS * og__gather_fill_rows(row_bytes) * row_bytes;
}

size_t og__gather_reader_bytes(const struct og_graph *g, int io)
{
    const struct og_reader_options like = {.io = io};
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0) {
            const struct og_reader_options opt = reading(&g->group[k], &like);
            bytes += og__reader_bytes(&opt);
            if (g->group[k].state > 0)
                bytes += og__written_bytes(&g->group[k]);
        }
    return bytes;
}

size_t og__gather_staging_bytes(const struct og_graph *g, uint64_t rows)
{
    return (size_t)rows * 2 * sizeof(uint32_t) +
           g->n_groups * (sizeof(struct og_rows) + sizeof(struct og_gather_part));
}

size_t og__gather_left_bytes(const struct og_graph *g, uint64_t rows)
{
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].state > 0)
            return (size_t)rows * sizeof(uint32_t);
    return 0;
}

int og__gather_read_rule(const struct og_group *group, int io, struct og_budget *b,
                         struct og_read_rule *out, struct og_err *err)
{
    const struct og_reader_options like = {.io = io};
    const struct og_reader_options opt = reading(group, &like);
    struct og_reader *reader;
    OG_DO(og__features_open(&reader, group, &opt, b, err));
    *out = og__reader_rule(reader);
    og__reader_close(reader);
    return 0;
}

/* ---- the memory of staging areas ---- */

/* Allocates pinned memory; the old contents are lost, which nobody needs. */
static int pin_part(struct og_gather *g, struct og_gather_part *p, size_t row_bytes, uint32_t rows,
                    struct og_err *err)
{
    g->pinned->give(g->pinned->self, p->at, p->capacity * row_bytes);
    og__budget_uncharge(g->budget, p->capacity * row_bytes, STAGING);
    p->at = NULL;
    p->capacity = 0;
    OG_DO(og__budget_charge(g->budget, rows * row_bytes, STAGING, err));
    p->capacity = rows;
    p->at = g->pinned->take(g->pinned->self, rows * row_bytes, err);
    return p->at ? 0 : -ENOMEM;
}

int og__gather_grow(struct og_gather *g, struct og_staging *s, uint32_t k, uint32_t rows,
                    struct og_err *err)
{
    struct og_gather_part *p = &s->part[k];
    const size_t row_bytes = g->group[k].row_bytes;
    if (rows <= p->capacity)
        return 0;
    if (g->pinned)
        return pin_part(g, p, row_bytes, rows, err);
    const size_t more = (rows - p->capacity) * row_bytes;
    int rc = og__budget_charge(g->budget, more, STAGING, err);
    if (rc < 0)
        return rc;
    rc = og__address_open(p->at + p->capacity * row_bytes, more, err);
    if (rc < 0)
        og__budget_uncharge(g->budget, more, STAGING);
    else
        p->capacity = rows;
    return rc;
}

static void release_index(struct og_gather *g, struct og_staging *s)
{
    og__release(g->budget, s->index, s->capacity * sizeof(*s->index), PLANS);
    og__release(g->budget, s->miss, s->capacity * sizeof(*s->miss), PLANS);
    s->index = s->miss = NULL;
    s->capacity = 0;
}

/* Frees the old contents: nobody uses the area. */
static int grow_index(struct og_gather *g, struct og_staging *s, uint32_t rows, struct og_err *err)
{
    if (rows <= s->capacity)
        return 0;
    release_index(g, s);
    s->capacity = rows;
    s->index = og__alloc(g->budget, rows * sizeof(*s->index), PLANS, err);
    s->miss = s->index ? og__alloc(g->budget, rows * sizeof(*s->miss), PLANS, err) : NULL;
    return s->miss ? 0 : -ENOMEM;
}

/* ---- open and close ---- */

/* Bytes of the cache that this process counts. */
static size_t charged_bytes(const struct og_gather *g)
{
    const size_t n = (size_t)OG_MAX(g->n_processes, 1);
    return (present_bytes(g) + n - 1) / n;
}

/* Bytes between the cache and the first staging area. A shared cache must not have a page in common
 * with a private area. */
static size_t gap_bytes(const struct og_gather *g)
{
    const size_t row = OG_MAX(g->group[0].row_bytes, (size_t)1);
    return g->n_processes ? (PAGE / row + 1) * row : 0;
}

static int pin_cache(struct og_gather *g, struct og_err *err)
{
    OG_DO(og__budget_charge(g->budget, present_bytes(g), CACHE, err));
    g->charged = true;
    g->base = g->pinned->take(g->pinned->self, present_bytes(g), err);
    return g->base ? 0 : -ENOMEM;
}

static void unpin_cache(struct og_gather *g)
{
    g->pinned->give(g->pinned->self, g->base, present_bytes(g));
    g->base = NULL;
    if (g->charged)
        og__budget_uncharge(g->budget, present_bytes(g), CACHE);
    g->charged = false;
}

static int pin_rows(struct og_gather *g, const struct og_gather_options *opt, struct og_err *err)
{
    OG_DO(pin_cache(g, err));
    for (int i = 0; i < g->n_areas; i++)
        for (uint32_t k = 0; k < g->n_groups; k++)
            OG_DO(pin_part(g, &g->staging[i].part[k], g->group[k].row_bytes, opt->staging_rows[k],
                           err));
    return 0;
}

/* Bytes of an area that has the largest batch's rows in every group. */
static size_t area_bytes(const struct og_gather *g)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        bytes += most_staging_rows(g, &g->group[k]) * g->group[k].row_bytes;
    return bytes;
}

static int open_area(struct og_gather *g, int area, char *at, const struct og_gather_options *opt,
                     struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct og_gather_group *w = &g->group[k];
        const uint32_t most = most_staging_rows(g, w);
        s->part[k].at = at;
        at += most * w->row_bytes;
        if (most == 0)
            continue;
        const uint32_t rows =
            area < g->n_staging ? opt->staging_rows[k] : og__gather_fill_rows(w->row_bytes);
        OG_DO(og__gather_grow(g, s, k, OG_MIN(rows, most), err));
    }
    if (g->n_groups > 1)
        OG_DO(grow_index(g, s, opt->rows, err));
    return 0;
}

static int open_rows(struct og_gather *g, const struct og_gather_options *opt, struct og_err *err)
{
    const size_t behind = bytes_of(g, g->n_slots) + gap_bytes(g);
    const size_t area = area_bytes(g);
    int rc = og__budget_charge(g->budget, charged_bytes(g), CACHE, err);
    if (rc < 0)
        return rc;
    g->reserved = OG_MAX(behind + (size_t)g->n_areas * area, (size_t)1);
    g->base = og__address_reserve(g->reserved, err);
    if (!g->base) {
        og__budget_uncharge(g->budget, charged_bytes(g), CACHE);
        return -ENOMEM;
    }
    OG_TRY(g->n_processes ? 0 : og__address_open(g->base, present_bytes(g), err));
    for (int i = 0; i < g->n_areas; i++)
        OG_TRY(open_area(g, i, g->base + behind + (size_t)i * area, opt, err));
out:
    return rc;
}

static void lay_group(struct og_gather *g, uint32_t k, const struct og_group *group,
                      uint32_t n_slots)
{
    g->group[k] = (struct og_gather_group){.of = group,
                                           .row_bytes = og__row_bytes(group),
                                           .slot = g->n_slots,
                                           .n_slots = group->dim > 0 ? n_slots : 0,
                                           .at = bytes_of(g, g->n_slots)};
    g->n_slots += g->group[k].n_slots;
}

static int open_readers(struct og_gather *g, struct og_gather_group *w,
                        const struct og_gather_options *opt, struct og_err *err)
{
    int rc = 0;
    if (w->of->dim == 0)
        return 0;
    const struct og_reader_options how = reading(w->of, &opt->reader);
    if (w->of->state > 0)
        OG_TRY(og__written_open(&w->written, w->of, w->n_slots,
                                (size_t)g->n_areas * opt->staging_rows[w - g->group], opt,
                                g->budget, err));
    if (w->of->state > 0 && opt->foreseen > 0) /* it has a reader of its own */
        return 0;
    OG_TRY(og__features_open(&w->reader, w->of, &how, g->budget, err));
    if (opt->fills_during_training)
        OG_TRY(og__features_open(&w->fill_reader, w->of, &how, g->budget, err));
out:
    return rc;
}

static int make_arrays(struct og_gather *g, struct og_err *err)
{
    bool all;
    g->group = calloc(g->n_groups, sizeof(*g->group));
    g->staging = calloc((size_t)g->n_areas, sizeof(*g->staging));
    all = g->group && g->staging;
    for (int i = 0; all && i < g->n_areas; i++) {
        struct og_staging *s = &g->staging[i];
        s->part = calloc(g->n_groups, sizeof(*s->part));
        s->rows = calloc(g->n_groups, sizeof(*s->rows));
        all = s->part && s->rows;
    }
    return all ? 0 : og__fail_errno(err, -ENOMEM, NULL, "gather");
}

int og__gather_open(struct og_gather **out, const struct og_group *group, uint32_t n_groups,
                    const struct og_gather_options *opt, struct og_budget *b, struct og_err *err)
{
    struct og_gather *g = calloc(1, sizeof(*g));
    int rc;
    *out = NULL;
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "gather");
    *g = (struct og_gather){.budget = b,
                            .n_groups = n_groups,
                            .n_staging = opt->n_staging,
                            .n_areas = areas_of(opt, n_groups),
                            .fills_during_training = opt->fills_during_training,
                            .n_processes = opt->n_processes,
                            .pinned = opt->pinned};
    OG_TRY(make_arrays(g, err));
    for (uint32_t k = 0; k < n_groups; k++)
        lay_group(g, k, &group[k], opt->n_slots[k]);
    g->n_released = opt->n_released;
    OG_TRY(g->pinned ? pin_rows(g, opt, err) : open_rows(g, opt, err));
    for (uint32_t k = 0; k < n_groups; k++)
        OG_TRY(open_readers(g, &g->group[k], opt, err));
    *out = g;
    return 0;
out:
    og__gather_close(g);
    return rc;
}

static void close_area(struct og_gather *g, struct og_staging *s)
{
    for (uint32_t k = 0; g->group && s->part && k < g->n_groups; k++) {
        const size_t bytes = s->part[k].capacity * g->group[k].row_bytes;
        if (g->pinned)
            g->pinned->give(g->pinned->self, s->part[k].at, bytes);
        og__budget_uncharge(g->budget, bytes, STAGING);
    }
    release_index(g, s);
    free(s->part);
    free(s->rows);
}

void og__gather_close(struct og_gather *g)
{
    if (!g)
        return;
    og__ahead_settle(g);
    for (uint32_t k = 0; g->group && k < g->n_groups; k++) {
        og__reader_close(g->group[k].reader);
        og__reader_close(g->group[k].fill_reader);
        og__written_close(g->group[k].written);
    }
    free(g->pieces);
    for (int i = 0; g->staging && i < g->n_areas; i++)
        close_area(g, &g->staging[i]);
    if (g->pinned) {
        unpin_cache(g);
    } else if (g->base) {
        og__shared_memory_give(&g->shared);
        og__budget_uncharge(g->budget, charged_bytes(g), CACHE);
        og__address_release(g->base, g->reserved);
    }
    free(g->group);
    free(g->staging);
    free(g);
}

int og__gather_areas(const struct og_gather *g)
{
    return g->n_staging;
}

const char *og__gather_engine(const struct og_gather *g)
{
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct og_gather_group *w = &g->group[k];
        if (w->reader || (w->written && og__written_reader(w->written)))
            return og__reader_engine(w->reader ? w->reader : og__written_reader(w->written));
    }
    return "none";
}

/* ---- releasing the cache's memory ---- */

void og__gather_release_slots(struct og_gather *g, uint32_t n)
{
    const size_t before = present_bytes(g);
    if (g->pinned) {
        if (n > 0) {
            unpin_cache(g);
            g->n_released = g->n_slots;
        }
        return;
    }
    g->n_released = OG_MAX(g->n_released, OG_MIN(n, g->n_slots));
    og__release_rows(g->budget, g->base, before, present_bytes(g));
}

int og__gather_reclaim(struct og_gather *g, uint32_t n, struct og_err *err)
{
    const uint32_t least = OG_MIN(n, g->n_released);
    if (g->pinned && n < g->n_released) {
        unpin_cache(g);
        g->n_released = n;
        return pin_cache(g, err);
    }
    OG_DO(og__reclaim_rows(g->budget, g->base, present_bytes(g), bytes_of(g, g->n_slots - least),
                           err));
    g->n_released = least;
    return 0;
}

uint32_t og__gather_released(const struct og_gather *g)
{
    return g->n_released;
}

uint32_t og__gather_lacking(const struct og_gather *g, size_t bytes)
{
    const size_t before = present_bytes(g);
    uint32_t low = 0; /* the fewest released slots that leave the others enough */
    for (uint32_t high = g->n_released; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (bytes_of(g, g->n_slots - middle) - before <= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- sharing it ---- */

int og__gather_share(struct og_gather *g, struct og_shared_memory *c, uint64_t key,
                     int (*fill)(void *arg, void *at, struct og_err *err), void *arg,
                     struct og_err *err)
{
    const struct og_shared_memory_part cache = {key, present_bytes(g), fill, arg, g->base};
    return cache.bytes > 0 ? og__shared_memory_take(c, &cache, &g->shared, err) : 0;
}

int og__gather_show(struct og_gather *g, struct og_shared_memory *c, uint64_t key,
                    struct og_err *err)
{
    const size_t bytes = present_bytes(g);
    int rc = og__shared_memory_area(c, key, bytes, g->base, &g->shared, err);
    return rc < 0 ? rc : og__shared_memory_room(&g->shared, 0, bytes, err);
}

size_t og__gather_counted_elsewhere(const struct og_gather *g)
{
    return g && g->shared.of ? g->shared.bytes - charged_bytes(g) : 0;
}

void og__gather_put(struct og_gather *g, uint32_t slot, const char *row)
{
    const struct og_gather_group *w = group_of_slot(g, slot);
    memcpy(og__gather_slot(g, w, slot), row, w->row_bytes);
}

void og__gather_from_packs(struct og_gather *g, struct og_pack *const *packs)
{
    for (uint32_t k = 0, n = 0; k < g->n_groups; k++)
        if (g->group[k].reader)
            g->group[k].pack = packs ? packs[n++] : NULL;
}

/* ---- a batch by its groups ---- */

/* One group: rows and misses are the plan's. */
static void show_all(const struct og_gather *g, struct og_staging *s)
{
    const struct og_plan *plan = s->plan;
    const struct og_gather_group *w = g->group;
    s->part->job = (struct og_read_job){.rows = plan->misses, .n = plan->n_misses};
    *s->rows = og__rows_of_group(w->of);
    s->rows->base = g->base + w->at;
    s->rows->index = plan->place;
    s->rows->n = plan->n;
}

/* Number of values from `at` on that are below `end`; they are ordered by group. */
static uint32_t count_below(const uint32_t *values, uint32_t at, uint32_t n, uint64_t end)
{
    uint32_t i = at;
    while (i < n && values[i] < end)
        i++;
    return i - at;
}

/* Splits the plan by group. Locations in the plan count over all groups, in a view within the
 * group. */
static void show_groups(const struct og_gather *g, struct og_staging *s, const uint32_t *ids)
{
    const struct og_plan *plan = s->plan;
    for (uint32_t k = 0, row = 0, miss = 0; k < g->n_groups; k++) {
        const struct og_gather_group *w = &g->group[k];
        const uint32_t n = count_below(ids, row, plan->n, end_of(w));
        const uint32_t n_misses = count_below(plan->misses, miss, plan->n_misses, end_of(w));
        for (uint32_t i = 0; i < n_misses; i++)
            s->miss[miss + i] = plan->misses[miss + i] - og__gather_first(g, w);
        for (uint32_t i = row; i < row + n; i++)
            s->index[i] = plan->place[i] < g->n_slots
                              ? plan->place[i] - w->slot
                              : plan->place[i] - g->n_slots - miss + w->n_slots;
        s->part[k].job = (struct og_read_job){.rows = s->miss + miss, .n = n_misses};
        s->rows[k] = og__rows_of_group(w->of);
        s->rows[k].base = g->base + w->at;
        s->rows[k].index = s->index + row;
        s->rows[k].n = n;
        row += n;
        miss += n_misses;
    }
}

static int show(struct og_gather *g, struct og_staging *s, const uint32_t *ids, struct og_err *err)
{
    for (uint32_t k = 0; k < g->n_groups; k++)
        s->part[k].begun = false;
    if (g->n_groups == 1) {
        show_all(g, s);
        return 0;
    }
    OG_DO(grow_index(g, s, s->plan->n, err));
    show_groups(g, s, ids);
    return 0;
}

/* ---- one batch ---- */

/* Starts to read a group's misses, from its feature file or packed file. */
static int begin_group(struct og_gather *g, int area, uint32_t k, uint32_t chunk,
                       struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    const struct og_gather_group *w = &g->group[k];
    struct og_gather_part *p = &s->part[k];
    const uint32_t n = (uint32_t)p->job.n;
    const bool packed = w->pack && chunk < og__pack_batches(w->pack);
    if (packed)
        OG_DO(og__pack_holds(w->pack, chunk, p->job.rows, n, err));
    const bool waits = w->written && og__written_begin(w->written);
    p->found = 0;
    if ((!w->reader && !waits) || (n == 0 && g->n_groups > 1))
        return 0;
    OG_DO(og__gather_grow(g, s, k, n, err));
    p->job.out = p->at;
    s->rows[k].n_more = n > 0;
    s->rows[k].more[0] = (struct og_tier){.base = p->at, .first = w->n_slots};
    if (!waits)
        OG_DO(packed ? og__pack_begin(w->pack, area, chunk, p->at, err)
                     : og__reader_submit(w->reader, &p->job, err));
    p->from_pack = packed;
    p->waits = waits;
    p->begun = true;
    return 0;
}

int og__gather_begin(struct og_gather *g, int area, const struct og_plan *plan, const uint32_t *ids,
                     uint32_t chunk, struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    int rc;
    s->plan = plan;
    s->number = chunk;
    OG_TRY(show(g, s, ids, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        OG_TRY(begin_group(g, area, k, chunk, err));
out:
    if (rc < 0) /* by whoever began them */
        og__gather_give_up(g, area);
    return rc;
}

/* Makes the view show misses in the order of the file or of the pack. */
static int finish_group(struct og_gather *g, int area, uint32_t k, struct og_io_counts *counts,
                        struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    struct og_gather_part *p = &s->part[k];
    int rc;
    p->begun = false;
    if (p->from_pack) {
        struct og_io_counts read = {0};
        OG_TRY(og__pack_finish(g->group[k].pack, area, &read, err));
        counts->reads += read.reads;
        counts->bytes += read.bytes;
        s->rows[k].more[0].where = og__pack_where(g->group[k].pack, area);
        return 0;
    }
    OG_TRY(p->waits ? og__written_finish(g, area, k, err)
                    : og__reader_wait(g->group[k].reader, &p->job, err));
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
out:
    return rc;
}

int og__gather_finish(struct og_gather *g, int area, const struct og_rows **rows,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    int rc = 0;
    *counts = (struct og_io_counts){0};
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (s->part[k].begun)
            OG_TRY(finish_group(g, area, k, counts, err));
    *rows = s->rows;
out:
    if (rc < 0) /* reads of other groups are in flight */
        og__gather_give_up(g, area);
    return rc;
}

uint32_t og__gather_read_of(const struct og_gather *g, int area, uint32_t k,
                            struct og_io_counts *read)
{
    const struct og_read_job *job = &g->staging[area].part[k].job;
    read->reads += job->counts.reads;
    read->bytes += job->counts.bytes;
    return (uint32_t)job->n;
}

void og__gather_give_up(struct og_gather *g, int area)
{
    for (uint32_t k = 0; k < g->n_groups; k++) {
        struct og_gather_part *p = &g->staging[area].part[k];
        if (p->begun && p->from_pack)
            og__pack_give_up(g->group[k].pack, area);
        else if (p->begun && !p->waits)
            (void)!og__reader_wait(g->group[k].reader, &p->job, NULL);
        p->begun = false;
    }
}

static void move_rows(struct og_gather *g, uint32_t k, const struct og_plan *plan, uint32_t c,
                      uint32_t end, uint32_t first, const struct og_rows *rows)
{
    enum { AHEAD = 8 };
    const struct og_gather_group *w = &g->group[k];
    for (; c < end; c++) {
        if (c + AHEAD < end)
            __builtin_prefetch(og__row(rows, plan->change_row[c + AHEAD] - first));
        memcpy(og__gather_slot(g, w, plan->change_slot[c]),
               og__row(rows, plan->change_row[c] - first), w->row_bytes);
    }
}

/* Rows of a batch, and those that enter the cache, are ordered by group. */
void og__gather_change(struct og_gather *g, const struct og_plan *plan, const struct og_rows *rows)
{
    for (uint32_t k = 0, c = 0, first = 0; k < g->n_groups; first += rows[k++].n) {
        const uint32_t begin = c, end = first + rows[k].n;
        while (c < plan->n_changes && plan->change_row[c] < end)
            c++;
        if (g->group[k].written && g->failed == 0)
            g->failed = og__written_leave(g, rows, k, begin, c, first, &g->why);
        if (!g->group[k].written || g->failed == 0)
            move_rows(g, k, plan, begin, c, first, &rows[k]);
    }
}
