#include "gather/gather.h"

#include "base/shared_memory.h"
#include "dataset/features.h"
#include "gather/release_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STAGING "staging"
#define CACHE   "feature cache"
#define PLANS   "plans"

enum { FILL_AREAS = 2, PAGE = 4096 };

/* One group's part of a staging area. */
struct part {
    char *at;               /* its first row */
    uint32_t capacity;      /* rows charged to the budget, touched so far */
    bool begun;             /* misses are being read: */
    bool from_pack;         /* as a chunk of the pack, */
    struct og_read_job job; /* else by this job */
};

struct staging {
    const struct og_plan *plan;
    struct part *part;    /* [n_groups] */
    struct og_rows *rows; /* [n_groups] */
    uint32_t *index;      /* [capacity] with several groups: locations of the batch's rows, by
                             group, */
    uint32_t *miss;       /* [capacity] and its misses as numbers within their groups */
    uint32_t capacity;
};

struct group {
    const struct og_group *of;
    struct og_reader *reader; /* NULL: no rows */
    struct og_reader
        *fill_reader;     /* fills the cache while batches are in flight; NULL: `reader` does */
    struct og_pack *pack; /* NULL: misses come from the feature file */
    size_t row_bytes;
    uint32_t slot, n_slots; /* its slots, after those of the previous groups */
    size_t at;              /* byte of the cache where they begin */
};

struct piece;

struct og_gather {
    struct og_budget *budget;
    uint32_t n_groups;
    uint32_t n_slots;
    uint32_t n_released; /* so many of the last slots have no memory */
    int n_staging;
    int n_areas;                    /* staging areas, with those reserved for filling */
    const struct og_pinned *pinned; /* or NULL */
    bool fills_during_training;
    int n_processes; /* processes that share the cache; 0: private */
    struct og_shared_memory_piece shared;
    /* Cache and staging areas. Address space is reserved for a staging area of the largest possible
     * batch; memory is charged as batches need it. */
    char *base;
    size_t reserved;
    bool charged;            /* the pinned cache is charged */
    struct piece *pieces;    /* [2] while the cache is filled, else NULL */
    uint32_t n_pieces;       /* started so far */
    struct group *group;     /* [n_groups] */
    struct staging *staging; /* [n_areas] */
};

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
static struct group *group_of_slot(const struct og_gather *g, uint32_t slot)
{
    uint32_t k = g->n_groups - 1;
    while (k > 0 && (g->group[k].slot > slot || g->group[k].n_slots == 0))
        k--;
    return &g->group[k];
}

static char *slot_at(const struct og_gather *g, const struct group *w, uint32_t slot)
{
    return g->base + w->at + (slot - w->slot) * w->row_bytes;
}

static uint64_t end_of(const struct group *w)
{
    return (uint64_t)(w->of->first + w->of->n_nodes);
}

/* With one group, nodes have its numbers; with several, the graph's. */
static uint32_t first_of(const struct og_gather *g, const struct group *w)
{
    return g->n_groups > 1 ? (uint32_t)w->of->first : 0;
}

static struct og_reader_options reading(const struct og_group *group,
                                        const struct og_reader_options *like)
{
    struct og_reader_options opt = *like;
    og__features_profile(group, &opt.profile);
    return opt;
}

/* ---- sizes ---- */

static int areas_of(const struct og_gather_options *opt, uint32_t n_groups)
{
    return opt->n_staging + (opt->fills_during_training && n_groups == 1 ? FILL_AREAS : 0);
}

static uint32_t most_staging_rows(const struct og_gather *g, const struct group *w)
{
    const uint64_t rows = (UINT32_MAX - (uint64_t)w->n_slots - PAGE) / (uint64_t)g->n_areas;
    return w->of->dim > 0 ? (uint32_t)OG_MIN((uint64_t)w->of->n_nodes, rows) : 0;
}

/* Rows of a piece with staging areas of its own; a group may have rows of no bytes. */
static uint32_t beside_rows(size_t row_bytes)
{
    enum { LEAST = 64, BYTES = 4 * 1024 * 1024 };
    return (uint32_t)OG_MIN(OG_MAX(BYTES / OG_MAX(row_bytes, (size_t)1), (size_t)LEAST),
                            (size_t)OG__FILL_ROWS);
}

size_t og__gather_extra_bytes(const struct og_reader_options *reader, size_t row_bytes)
{
    return og__reader_bytes(reader) + FILL_AREAS * beside_rows(row_bytes) * row_bytes;
}

size_t og__gather_reader_bytes(const struct og_graph *g, int io)
{
    const struct og_reader_options like = {.io = io};
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0) {
            const struct og_reader_options opt = reading(&g->group[k], &like);
            bytes += og__reader_bytes(&opt);
        }
    return bytes;
}

size_t og__gather_staging_bytes(const struct og_graph *g, uint64_t rows)
{
    return (size_t)rows * 2 * sizeof(uint32_t) +
           g->n_groups * (sizeof(struct og_rows) + sizeof(struct part));
}

int og__gather_read_rule(const struct og_group *group, int io, struct og_budget *b,
                         struct og_read_rule *out, struct og_err *err)
{
    const struct og_reader_options like = {.io = io};
    const struct og_reader_options opt = reading(group, &like);
    struct og_reader *reader;
    int rc = og__features_open(&reader, group, &opt, b, err);
    if (rc < 0)
        return rc;
    *out = og__reader_rule(reader);
    og__reader_close(reader);
    return 0;
}

/* ---- the memory of staging areas ---- */

/* Allocates pinned memory; the old contents are lost, which nobody needs. */
static int pin_part(struct og_gather *g, struct part *p, size_t row_bytes, uint32_t rows,
                    struct og_err *err)
{
    g->pinned->give(g->pinned->self, p->at, p->capacity * row_bytes);
    og__budget_uncharge(g->budget, p->capacity * row_bytes, STAGING);
    p->at = NULL;
    p->capacity = 0;
    int rc = og__budget_charge(g->budget, rows * row_bytes, STAGING, err);
    if (rc < 0)
        return rc;
    p->capacity = rows;
    p->at = g->pinned->take(g->pinned->self, rows * row_bytes, err);
    return p->at ? 0 : -ENOMEM;
}

/* Makes space for `rows` rows of group k. */
static int grow_part(struct og_gather *g, struct staging *s, uint32_t k, uint32_t rows,
                     struct og_err *err)
{
    struct part *p = &s->part[k];
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

static void release_index(struct og_gather *g, struct staging *s)
{
    og__release(g->budget, s->index, s->capacity * sizeof(*s->index), PLANS);
    og__release(g->budget, s->miss, s->capacity * sizeof(*s->miss), PLANS);
    s->index = s->miss = NULL;
    s->capacity = 0;
}

/* Frees the old contents: nobody uses the area. */
static int grow_index(struct og_gather *g, struct staging *s, uint32_t rows, struct og_err *err)
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
        for (uint32_t k = 0; k < g->n_groups; k++)
            OG_TRY(pin_part(g, &g->staging[i].part[k], g->group[k].row_bytes, opt->staging_rows[k],
                            err));
out:
    return rc;
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
    struct staging *s = &g->staging[area];
    int rc = 0;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct group *w = &g->group[k];
        const uint32_t most = most_staging_rows(g, w);
        s->part[k].at = at;
        at += most * w->row_bytes;
        if (most == 0)
            continue;
        const uint32_t rows =
            area < g->n_staging ? opt->staging_rows[k] : beside_rows(w->row_bytes);
        OG_TRY(grow_part(g, s, k, OG_MIN(rows, most), err));
    }
    if (g->n_groups > 1)
        OG_TRY(grow_index(g, s, opt->rows, err));
out:
    return rc;
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
    g->group[k] = (struct group){.of = group,
                                 .row_bytes = og__row_bytes(group),
                                 .slot = g->n_slots,
                                 .n_slots = group->dim > 0 ? n_slots : 0,
                                 .at = bytes_of(g, g->n_slots)};
    g->n_slots += g->group[k].n_slots;
}

static int open_readers(struct og_gather *g, struct group *w, const struct og_gather_options *opt,
                        struct og_err *err)
{
    int rc = 0;
    if (w->of->dim == 0)
        return 0;
    const struct og_reader_options how = reading(w->of, &opt->reader);
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
        struct staging *s = &g->staging[i];
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

static void close_area(struct og_gather *g, struct staging *s)
{
    for (uint32_t k = 0; s->part && k < g->n_groups; k++) {
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
    for (uint32_t k = 0; g->group && k < g->n_groups; k++) {
        og__reader_close(g->group[k].reader);
        og__reader_close(g->group[k].fill_reader);
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
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].reader)
            return og__reader_engine(g->group[k].reader);
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
    int rc;
    OG_TRY(og__reclaim_rows(g->budget, g->base, present_bytes(g), bytes_of(g, g->n_slots - least),
                            err));
    g->n_released = least;
out:
    return rc;
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

/* ---- filling the cache ---- */

/* Rows of a group on their way to slots. Read directly if the slots are consecutive, else through a
 * staging area. */
struct piece {
    struct og_read_job job;
    struct group *group;
    struct part *via; /* NULL = directly */
    uint32_t n;       /* 0 = idle */
    uint32_t nodes[OG__FILL_ROWS], slots[OG__FILL_ROWS];
};

static uint32_t neighbours(const uint32_t *slots, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && slots[i] == slots[0] + i)
        i++;
    return OG_MIN(i, n);
}

static struct og_reader *filler_of(const struct group *w)
{
    return w->fill_reader ? w->fill_reader : w->reader;
}

static int start_piece(struct og_gather *g, struct piece *p, struct staging *via,
                       struct og_err *err)
{
    const uint32_t k = (uint32_t)(p->group - g->group);
    int rc = 0;
    p->via = neighbours(p->slots, p->n) == p->n ? NULL : &via->part[k];
    if (p->via)
        OG_TRY(grow_part(g, via, k, p->n, err));
    p->job = (struct og_read_job){.rows = p->nodes,
                                  .n = p->n,
                                  .out = p->via ? p->via->at : slot_at(g, p->group, p->slots[0])};
    OG_TRY(og__reader_submit(filler_of(p->group), &p->job, err));
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
    const struct group *w = p->group;
    int rc;
    OG_TRY(og__reader_wait(filler_of(w), &p->job, err));
    for (uint32_t i = 0; p->via && i < p->n; i++)
        memcpy(slot_at(g, w, p->slots[i]), p->via->at + i * w->row_bytes, w->row_bytes);
out:
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
    p->n = 0;
    return rc;
}

/* Areas for pieces; none if several groups are filled while batches are in flight. */
static struct staging *fill_areas(struct og_gather *g, uint32_t *n)
{
    *n = (uint32_t)(g->fills_during_training ? g->n_areas - g->n_staging : g->n_staging);
    return &g->staging[g->fills_during_training ? g->n_staging : 0];
}

/* Two pieces alternate, so that the disk never waits for the next list of nodes. With one staging
 * area they run one after the other. */
static int fill_piece(struct og_gather *g, struct group *w, const uint32_t *nodes,
                      const uint32_t *slots, uint32_t n, struct og_io_counts *counts,
                      struct og_err *err)
{
    struct piece *before = &g->pieces[g->n_pieces % 2];
    struct piece *now = &g->pieces[++g->n_pieces % 2];
    uint32_t n_areas;
    struct staging *areas = fill_areas(g, &n_areas);
    now->n = n;
    now->group = w;
    for (uint32_t i = 0; i < n; i++)
        now->nodes[i] = nodes[i] - first_of(g, w);
    memcpy(now->slots, slots, n * sizeof(*slots));
    int rc;
    OG_TRY(n_areas == 1 ? finish_piece(g, before, counts, err) : 0);
    OG_TRY(start_piece(g, now, &areas[g->n_pieces % OG_MAX(n_areas, 1u)], err));
out:
    return rc < 0 ? rc : finish_piece(g, before, counts, err);
}

/* Number of the n rows, all of one group, that form a piece. A piece through a staging area is
 * bounded by the area; without areas pieces are direct. */
static uint32_t piece_rows(struct og_gather *g, const struct group *w, const uint32_t *slots,
                           uint32_t n)
{
    enum { LEAST_ROWS = 256 };
    uint32_t n_areas;
    const struct staging *areas = fill_areas(g, &n_areas);
    const uint32_t straight = neighbours(slots, n);
    if (straight == n || n_areas == 0)
        return straight;
    return OG_MIN(n, OG_MAX(areas->part[w - g->group].capacity, (uint32_t)LEAST_ROWS));
}

static uint32_t count_group(const struct og_group *group, const uint32_t *nodes, uint32_t n)
{
    uint32_t k = 1;
    while (k < n && nodes[k] >= group->first && nodes[k] < group->first + group->n_nodes)
        k++;
    return k;
}

static int fill_group(struct og_gather *g, struct group *w, const uint32_t *nodes,
                      const uint32_t *slots, uint32_t n, struct og_io_counts *counts,
                      struct og_err *err)
{
    int rc = 0;
    for (uint32_t first = 0, k; first < n; first += k) {
        k = piece_rows(g, w, slots + first, n - first);
        if (slots[first] < w->slot || slots[first] - w->slot >= w->n_slots)
            OG_TRY(
                og__fail(err, -EINVAL, NULL, "feature cache: a row for a slot of another width"));
        OG_TRY(fill_piece(g, w, nodes + first, slots + first, k, counts, err));
    }
out:
    return rc;
}

int og__gather_fill(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                    struct og_io_counts *counts, struct og_err *err)
{
    int rc = 0;
    if (!g->pieces && !(g->pieces = calloc(2, sizeof(*g->pieces))))
        return og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
    for (uint32_t first = 0, k; first < n; first += k) {
        struct group *w = g->group;
        while (w + 1 < g->group + g->n_groups && nodes[first] >= end_of(w))
            w++;
        k = g->n_groups > 1 ? count_group(w->of, nodes + first, n - first) : n;
        OG_TRY(fill_group(g, w, nodes + first, slots + first, k, counts, err));
    }
out:
    return rc;
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
    const struct group *w = group_of_slot(g, slot);
    memcpy(slot_at(g, w, slot), row, w->row_bytes);
}

void og__gather_from_packs(struct og_gather *g, struct og_pack *const *packs)
{
    for (uint32_t k = 0, n = 0; k < g->n_groups; k++)
        if (g->group[k].reader)
            g->group[k].pack = packs ? packs[n++] : NULL;
}

/* ---- a batch by its groups ---- */

/* One group: rows and misses are the plan's. */
static void show_all(const struct og_gather *g, struct staging *s)
{
    const struct og_plan *plan = s->plan;
    const struct group *w = g->group;
    s->part->job = (struct og_read_job){.rows = plan->misses, .n = plan->n_misses};
    *s->rows = (struct og_rows){.base = g->base + w->at,
                                .index = plan->place,
                                .stride = w->row_bytes,
                                .n = plan->n,
                                .dim = w->of->dim,
                                .dtype = w->of->dtype,
                                .scale = og__row_scale(w->of)};
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
static void show_groups(const struct og_gather *g, struct staging *s, const uint32_t *ids)
{
    const struct og_plan *plan = s->plan;
    for (uint32_t k = 0, row = 0, miss = 0; k < g->n_groups; k++) {
        const struct group *w = &g->group[k];
        const uint32_t n = count_below(ids, row, plan->n, end_of(w));
        const uint32_t n_misses = count_below(plan->misses, miss, plan->n_misses, end_of(w));
        for (uint32_t i = 0; i < n_misses; i++)
            s->miss[miss + i] = plan->misses[miss + i] - first_of(g, w);
        for (uint32_t i = row; i < row + n; i++)
            s->index[i] = plan->place[i] < g->n_slots
                              ? plan->place[i] - w->slot
                              : plan->place[i] - g->n_slots - miss + w->n_slots;
        s->part[k].job = (struct og_read_job){.rows = s->miss + miss, .n = n_misses};
        s->rows[k] = (struct og_rows){.base = g->base + w->at,
                                      .index = s->index + row,
                                      .stride = w->row_bytes,
                                      .n = n,
                                      .dim = w->of->dim,
                                      .dtype = w->of->dtype,
                                      .scale = og__row_scale(w->of)};
        row += n;
        miss += n_misses;
    }
}

static int show(struct og_gather *g, struct staging *s, const uint32_t *ids, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        s->part[k].begun = false;
    if (g->n_groups == 1) {
        show_all(g, s);
        return 0;
    }
    OG_TRY(grow_index(g, s, s->plan->n, err));
    show_groups(g, s, ids);
out:
    return rc;
}

/* ---- one batch ---- */

/* Starts to read a group's misses, from its feature file or packed file. */
static int begin_group(struct og_gather *g, int area, uint32_t k, uint32_t chunk,
                       struct og_err *err)
{
    struct staging *s = &g->staging[area];
    const struct group *w = &g->group[k];
    struct part *p = &s->part[k];
    const uint32_t n = (uint32_t)p->job.n;
    const bool packed = w->pack && chunk < og__pack_batches(w->pack);
    int rc = 0;
    if (packed)
        OG_TRY(og__pack_holds(w->pack, chunk, p->job.rows, n, err));
    if (!w->reader || (n == 0 && g->n_groups > 1))
        return 0;
    OG_TRY(grow_part(g, s, k, n, err));
    p->job.out = p->at;
    s->rows[k].n_more = n > 0;
    s->rows[k].more[0] = (struct og_tier){.base = p->at, .first = w->n_slots};
    OG_TRY(packed ? og__pack_begin(w->pack, area, chunk, p->at, err)
                  : og__reader_submit(w->reader, &p->job, err));
    p->from_pack = packed;
    p->begun = true;
out:
    return rc;
}

int og__gather_begin(struct og_gather *g, int area, const struct og_plan *plan, const uint32_t *ids,
                     uint32_t chunk, struct og_err *err)
{
    struct staging *s = &g->staging[area];
    int rc;
    s->plan = plan;
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
    struct staging *s = &g->staging[area];
    struct part *p = &s->part[k];
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
    OG_TRY(og__reader_wait(g->group[k].reader, &p->job, err));
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
out:
    return rc;
}

int og__gather_finish(struct og_gather *g, int area, const struct og_rows **rows,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct staging *s = &g->staging[area];
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
        struct part *p = &g->staging[area].part[k];
        if (p->begun && p->from_pack)
            og__pack_give_up(g->group[k].pack, area);
        else if (p->begun)
            (void)!og__reader_wait(g->group[k].reader, &p->job, NULL);
        p->begun = false;
    }
}

/* Rows of a batch, and those that enter the cache, are ordered by group. */
void og__gather_change(struct og_gather *g, const struct og_plan *plan, const struct og_rows *rows)
{
    enum { AHEAD = 8 };
    uint32_t c = 0;
    for (uint32_t k = 0, first = 0; k < g->n_groups; first += rows[k++].n) {
        const struct group *w = &g->group[k];
        const uint32_t end = first + rows[k].n;
        for (; c < plan->n_changes && plan->change_row[c] < end; c++) {
            if (c + AHEAD < plan->n_changes && plan->change_row[c + AHEAD] < end)
                __builtin_prefetch(og__row(&rows[k], plan->change_row[c + AHEAD] - first));
            memcpy(slot_at(g, w, plan->change_slot[c]),
                   og__row(&rows[k], plan->change_row[c] - first), w->row_bytes);
        }
    }
}
