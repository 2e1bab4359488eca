#include "gather/gather.h"

#include "base/common.h"
#include "dataset/features.h"
#include "gather/lent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STAGING "staging"
#define CACHE   "feature cache"

enum { FILL_AREAS = 2, PAGE = 4096 };

struct staging {
    char *at;          /* its first row */
    uint32_t capacity; /* rows charged to the budget; touched up to here */
    const struct og_plan *plan;
    bool from_pack;         /* its misses are a chunk of the pack, */
    struct og_read_job job; /* else this reads them */
};

struct piece;

struct og_gather {
    struct og_budget *budget;
    struct og_reader *reader;
    struct og_reader
        *beside;          /* fills the cache while batches are in flight; NULL: the first does */
    struct og_pack *pack; /* NULL: misses come from the feature file */
    size_t row_bytes;
    int dim;
    enum og_dtype dtype;
    uint32_t n_slots;
    uint32_t n_yielded; /* the last so many slots have no memory now */
    int n_staging;
    int n_areas;                    /* of staging; with those that filling has to itself */
    const struct og_pinned *pinned; /* or NULL */
    int sharers;                    /* of the cache; 0: it is its own, */
    struct og_common_piece shared;
    /* cache and staging areas. Only address space is taken for a staging area of the largest batch
     * there can be; memory follows the batches there are. */
    char *base;
    size_t reserved;
    bool charged;         /* the cache, where it is pinned */
    struct piece *pieces; /* [2] while the cache is filled, else NULL */
    uint32_t descriptor;
    struct staging staging[];
};

static char *row_at(const struct og_gather *g, uint32_t row)
{
    return g->base + (size_t)row * g->row_bytes;
}

static char *staged_at(const struct og_gather *g, const struct staging *s, uint32_t row)
{
    return s->at + (size_t)row * g->row_bytes;
}

static int areas_of(const struct og_gather_options *opt)
{
    return opt->n_staging + (opt->fills_beside ? FILL_AREAS : 0);
}

static uint32_t most_staging_rows(const struct og_group *group, const struct og_gather_options *opt)
{
    uint64_t rows = (UINT32_MAX - (uint64_t)opt->n_slots - PAGE) / (uint64_t)areas_of(opt);
    return (uint32_t)OG_MIN((uint64_t)group->n_nodes, rows);
}

/* Rows of a piece that has staging areas of its own. */
static uint32_t beside_rows(size_t row_bytes)
{
    enum { LEAST = 64, BYTES = 4 * 1024 * 1024 };
    return (uint32_t)OG_MIN(OG_MAX(BYTES / row_bytes, (size_t)LEAST), (size_t)OG__FILL_ROWS);
}

size_t og__gather_beside_bytes(const struct og_reader_options *reader, size_t row_bytes)
{
    return og__reader_bytes(reader) + FILL_AREAS * beside_rows(row_bytes) * row_bytes;
}

/* What it held is lost: nothing is in it that anybody wants. */
static int pin_staging(struct og_gather *g, struct staging *s, uint32_t rows, struct og_err *err)
{
    g->pinned->give(g->pinned->self, s->at, s->capacity * g->row_bytes);
    og__budget_uncharge(g->budget, s->capacity * g->row_bytes, STAGING);
    s->at = NULL;
    s->capacity = 0;
    int rc = og__budget_charge(g->budget, rows * g->row_bytes, STAGING, err);
    if (rc < 0)
        return rc;
    s->capacity = rows;
    s->at = g->pinned->take(g->pinned->self, rows * g->row_bytes, err);
    return s->at ? 0 : -ENOMEM;
}

static int grow_staging(struct og_gather *g, struct staging *s, uint32_t rows, struct og_err *err)
{
    if (rows <= s->capacity)
        return 0;
    if (g->pinned)
        return pin_staging(g, s, rows, err);
    const size_t more = (rows - s->capacity) * g->row_bytes;
    int rc = og__budget_charge(g->budget, more, STAGING, err);
    if (rc < 0)
        return rc;
    rc = og__address_open(staged_at(g, s, s->capacity), more, err);
    if (rc < 0)
        og__budget_uncharge(g->budget, more, STAGING);
    else
        s->capacity = rows;
    return rc;
}

static size_t present_bytes(const struct og_gather *g)
{
    return (size_t)(g->n_slots - g->n_yielded) * g->row_bytes;
}

/* What this process counts of it. */
static size_t charged_bytes(const struct og_gather *g)
{
    const size_t n = (size_t)OG_MAX(g->sharers, 1);
    return (present_bytes(g) + n - 1) / n;
}

/* Rows between the cache and the first staging area, which must not be on one page where others
 * have it as well. */
static uint32_t gap_rows(const struct og_gather *g)
{
    return g->sharers ? (uint32_t)(PAGE / g->row_bytes + 1) : 0;
}

static int pin_cache(struct og_gather *g, struct og_err *err)
{
    int rc;
    OG_TRY(og__budget_charge(g->budget, present_bytes(g), CACHE, err));
    g->charged = true;
    g->base = g->pinned->take(g->pinned->self, present_bytes(g), err);
    OG_TRY(g->base ? 0 : -ENOMEM);
out:
    return rc;
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
    int rc;
    OG_TRY(pin_cache(g, err));
    for (int i = 0; i < g->n_areas; i++)
        OG_TRY(pin_staging(g, &g->staging[i], opt->staging_rows, err));
out:
    return rc;
}

static void unpin_rows(struct og_gather *g)
{
    for (int i = 0; i < g->n_areas; i++) {
        g->pinned->give(g->pinned->self, g->staging[i].at, g->staging[i].capacity * g->row_bytes);
        og__budget_uncharge(g->budget, g->staging[i].capacity * g->row_bytes, STAGING);
    }
    unpin_cache(g);
}

static int open_rows(struct og_gather *g, const struct og_group *group,
                     const struct og_gather_options *opt, struct og_err *err)
{
    uint32_t most = most_staging_rows(group, opt);
    const uint32_t behind = g->n_slots + gap_rows(g);
    int rc = og__budget_charge(g->budget, charged_bytes(g), CACHE, err);
    if (rc < 0)
        return rc;
    g->reserved = (behind + (size_t)g->n_areas * most) * g->row_bytes;
    g->base = og__address_reserve(g->reserved, err);
    if (!g->base) {
        og__budget_uncharge(g->budget, charged_bytes(g), CACHE);
        return -ENOMEM;
    }
    OG_TRY(g->sharers ? 0 : og__address_open(g->base, present_bytes(g), err));
    for (int i = 0; i < g->n_areas; i++) {
        uint32_t rows = i < g->n_staging ? opt->staging_rows : beside_rows(g->row_bytes);
        g->staging[i].at = row_at(g, behind) + (size_t)i * most * g->row_bytes;
        OG_TRY(grow_staging(g, &g->staging[i], OG_MIN(rows, most), err));
    }
out:
    return rc;
}

static int open_reader(struct og_gather *g, const struct og_group *group,
                       const struct og_gather_options *opt, struct og_reader **out,
                       struct og_err *err)
{
    return og__features_open(out, group, &opt->reader, g->budget, err);
}

int og__gather_open(struct og_gather **out, const struct og_group *group,
                    const struct og_gather_options *opt, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_gather *g = calloc(1, sizeof(*g) + (size_t)areas_of(opt) * sizeof(g->staging[0]));
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "gather");
    g->budget = b;
    g->row_bytes = og__row_bytes(group);
    g->dim = group->dim;
    g->dtype = group->kept;
    g->n_slots = opt->n_slots;
    g->n_yielded = opt->n_yielded;
    g->n_staging = opt->n_staging;
    g->n_areas = areas_of(opt);
    g->sharers = opt->sharers;
    g->pinned = opt->pinned;
    int rc;
    OG_TRY(g->pinned ? pin_rows(g, opt, err) : open_rows(g, group, opt, err));
    OG_TRY(open_reader(g, group, opt, &g->reader, err));
    if (opt->fills_beside)
        OG_TRY(open_reader(g, group, opt, &g->beside, err));
    *out = g;
    return 0;
out:
    og__gather_close(g);
    return rc;
}

void og__gather_close(struct og_gather *g)
{
    if (!g)
        return;
    og__reader_close(g->reader);
    og__reader_close(g->beside);
    free(g->pieces);
    if (g->pinned) {
        unpin_rows(g);
    } else if (g->base) {
        og__common_give(&g->shared);
        og__budget_uncharge(g->budget, charged_bytes(g), CACHE);
        for (int i = 0; i < g->n_areas; i++)
            og__budget_uncharge(g->budget, g->staging[i].capacity * g->row_bytes, STAGING);
        og__address_release(g->base, g->reserved);
    }
    free(g);
}

const char *og__gather_engine(const struct og_gather *g)
{
    return og__reader_engine(g->reader);
}

/* ---- lending the cache's memory ---- */

void og__gather_yield(struct og_gather *g, uint32_t n)
{
    const size_t before = present_bytes(g);
    if (g->pinned) {
        if (n > 0) {
            unpin_cache(g);
            g->n_yielded = g->n_slots;
        }
        return;
    }
    g->n_yielded = OG_MAX(g->n_yielded, OG_MIN(n, g->n_slots));
    og__lend_rows(g->budget, g->base, before, present_bytes(g));
}

int og__gather_reclaim(struct og_gather *g, uint32_t n, struct og_err *err)
{
    const size_t before = present_bytes(g);
    if (g->pinned && n < g->n_yielded) {
        unpin_cache(g);
        g->n_yielded = n;
        return pin_cache(g, err);
    }
    const size_t more = (g->n_yielded - OG_MIN(n, g->n_yielded)) * g->row_bytes;
    int rc;
    OG_TRY(og__take_rows_back(g->budget, g->base, before, before + more, err));
    g->n_yielded = OG_MIN(n, g->n_yielded);
out:
    return rc;
}

uint32_t og__gather_yielded(const struct og_gather *g)
{
    return g->n_yielded;
}

uint32_t og__gather_lacking(const struct og_gather *g, size_t bytes)
{
    const size_t slots = bytes / g->row_bytes;
    return g->n_yielded - (uint32_t)OG_MIN(slots, (size_t)g->n_yielded);
}

/* ---- filling the cache ---- */

/* Rows on their way to their slots: read straight there where the slots are neighbours, else by way
 * of a staging area. */
struct piece {
    struct og_read_job job;
    struct og_reader *reader;
    struct staging *via; /* NULL = straight */
    uint32_t n;          /* 0 = not under way */
    uint32_t nodes[OG__FILL_ROWS], slots[OG__FILL_ROWS];
};

static bool neighbours(const uint32_t *slots, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (slots[i] != slots[0] + i)
            return false;
    return true;
}

static int start_piece(struct og_gather *g, struct piece *p, struct staging *via,
                       struct og_err *err)
{
    p->via = neighbours(p->slots, p->n) ? NULL : via;
    int rc;
    OG_TRY(p->via ? grow_staging(g, p->via, p->n, err) : 0);
    p->job = (struct og_read_job){
        .rows = p->nodes, .n = p->n, .out = p->via ? p->via->at : row_at(g, p->slots[0])};
    p->reader = g->beside ? g->beside : g->reader;
    OG_TRY(og__reader_submit(p->reader, &p->job, err));
out:
    if (rc < 0)
        p->n = 0;
    return rc;
}

static int finish_piece(struct og_gather *g, struct piece *p, struct og_io_counts *counts,
                        struct og_err *err)
{
    if (p->n == 0)
        return 0;
    int rc;
    OG_TRY(og__reader_wait(p->reader, &p->job, err));
    for (uint32_t i = 0; p->via && i < p->n; i++)
        memcpy(row_at(g, p->slots[i]), staged_at(g, p->via, i), g->row_bytes);
out:
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
    p->n = 0;
    return rc;
}

/* Areas that pieces take turns in. */
static struct staging *fill_areas(struct og_gather *g, uint32_t *n)
{
    *n = (uint32_t)(g->beside ? FILL_AREAS : g->n_staging);
    return &g->staging[g->beside ? g->n_staging : 0];
}

/* Two pieces in turn, so that the disk never waits for the next list of nodes; one after the other
 * where there is one staging area only. */
static int fill_piece(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct piece *before = &g->pieces[g->descriptor % 2];
    struct piece *now = &g->pieces[++g->descriptor % 2];
    uint32_t n_areas;
    struct staging *areas = fill_areas(g, &n_areas);
    now->n = n;
    memcpy(now->nodes, nodes, n * sizeof(*nodes));
    memcpy(now->slots, slots, n * sizeof(*slots));
    int rc;
    OG_TRY(n_areas > 1 ? 0 : finish_piece(g, before, counts, err));
    OG_TRY(start_piece(g, now, &areas[g->descriptor % n_areas], err));
out:
    return rc < 0 ? rc : finish_piece(g, before, counts, err);
}

int og__gather_fill(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                    struct og_io_counts *counts, struct og_err *err)
{
    enum { LEAST_ROWS = 256 };
    if (!g->pieces && !(g->pieces = calloc(2, sizeof(*g->pieces))))
        return og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
    /* a piece that goes by way of staging is no larger than that */
    uint32_t n_areas;
    const uint32_t via = OG_MAX(fill_areas(g, &n_areas)->capacity, (uint32_t)LEAST_ROWS);
    const uint32_t most = neighbours(slots, n) ? n : via;
    for (uint32_t first = 0; first < n; first += most) {
        uint32_t k = OG_MIN(n - first, most);
        int rc = fill_piece(g, nodes + first, slots + first, k, counts, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int og__gather_fill_end(struct og_gather *g, struct og_io_counts *counts, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; g->pieces && i < 2; i++) {
        int failed = finish_piece(g, &g->pieces[i], counts, rc == 0 ? err : NULL);
        rc = rc < 0 ? rc : failed;
    }
    free(g->pieces);
    g->pieces = NULL;
    return rc;
}

/* ---- sharing it ---- */

int og__gather_share(struct og_gather *g, struct og_common *c, uint64_t key,
                     int (*fill)(void *arg, void *at, struct og_err *err), void *arg,
                     struct og_err *err)
{
    const struct og_common_part cache = {key, present_bytes(g), fill, arg, g->base};
    return og__common_take(c, &cache, &g->shared, err);
}

int og__gather_show(struct og_gather *g, struct og_common *c, uint64_t key, struct og_err *err)
{
    const size_t bytes = present_bytes(g);
    int rc = og__common_area(c, key, bytes, g->base, &g->shared, err);
    return rc < 0 ? rc : og__common_room(&g->shared, 0, bytes, err);
}

size_t og__gather_counted_elsewhere(const struct og_gather *g)
{
    return g && g->shared.of ? g->shared.bytes - charged_bytes(g) : 0;
}

void og__gather_put(struct og_gather *g, uint32_t slot, const char *row)
{
    memcpy(row_at(g, slot), row, g->row_bytes);
}

/* ---- one batch ---- */

static int read_misses(struct og_gather *g, struct staging *s, struct og_err *err)
{
    const struct og_plan *plan = s->plan;
    int rc = grow_staging(g, s, plan->n_misses, err);
    if (rc < 0)
        return rc;
    s->job = (struct og_read_job){.rows = plan->misses, .n = plan->n_misses, .out = s->at};
    return og__reader_submit(g->reader, &s->job, err);
}

void og__gather_from_pack(struct og_gather *g, struct og_pack *pack)
{
    g->pack = pack;
}

static int read_chunk(struct og_gather *g, int staging, uint32_t chunk, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    const struct og_plan *plan = s->plan;
    int rc;
    OG_TRY(og__pack_holds(g->pack, chunk, plan->misses, plan->n_misses, err));
    OG_TRY(grow_staging(g, s, plan->n_misses, err));
    OG_TRY(og__pack_begin(g->pack, staging, chunk, s->at, err));
out:
    s->from_pack = rc == 0;
    return rc;
}

int og__gather_begin(struct og_gather *g, int staging, const struct og_plan *plan, uint32_t chunk,
                     struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    s->plan = plan;
    s->job = (struct og_read_job){0};
    s->from_pack = false;
    bool packed = g->pack && chunk < og__pack_batches(g->pack);
    return packed ? read_chunk(g, staging, chunk, err) : read_misses(g, s, err);
}

static int finish_job(struct og_gather *g, struct staging *s, struct og_io_counts *counts,
                      struct og_err *err)
{
    int rc;
    OG_TRY(og__reader_wait(g->reader, &s->job, err));
    *counts = s->job.counts;
out:
    return rc;
}

/* The cache, and behind it the misses: in the order of their places, or as the pack has them. */
static struct og_rows view_of(const struct og_gather *g, int staging)
{
    const struct staging *s = &g->staging[staging];
    return (struct og_rows){
        .base = g->base,
        .index = s->plan->place,
        .stride = g->row_bytes,
        .n = s->plan->n,
        .dim = g->dim,
        .dtype = g->dtype,
        .n_more = s->plan->n_misses > 0,
        .more = {{.base = s->at,
                  .first = g->n_slots,
                  .where = s->from_pack ? og__pack_where(g->pack, staging) : NULL}}};
}

int og__gather_finish(struct og_gather *g, int staging, struct og_rows *rows,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    *counts = (struct og_io_counts){0};
    int rc = s->from_pack ? og__pack_finish(g->pack, staging, counts, err)
                          : finish_job(g, s, counts, err);
    if (rc < 0)
        return rc;
    *rows = view_of(g, staging);
    return 0;
}

void og__gather_give_up(struct og_gather *g, int staging)
{
    struct staging *s = &g->staging[staging];
    if (s->from_pack)
        og__pack_give_up(g->pack, staging);
    else
        (void)!og__reader_wait(g->reader, &s->job, NULL);
}

void og__gather_change(struct og_gather *g, const struct og_plan *plan, const struct og_rows *rows)
{
    enum { AHEAD = 8 };
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        if (c + AHEAD < plan->n_changes)
            __builtin_prefetch(og__row(rows, plan->change_row[c + AHEAD]));
        memcpy(row_at(g, plan->change_slot[c]), og__row(rows, plan->change_row[c]), g->row_bytes);
    }
}
