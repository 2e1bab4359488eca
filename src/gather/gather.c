#include "gather/gather.h"

#include <stdlib.h>
#include <string.h>

#define STAGING "staging"
#define CACHE   "feature cache"

struct staging {
    uint32_t first;    /* its first row, counted from base */
    uint32_t capacity; /* rows charged to the budget; touched up to here */
    struct og_plan *plan;
    struct og_read_job job;
};

struct og_gather {
    struct og_budget *budget;
    struct og_reader *reader;
    size_t row_bytes;
    int dim;
    enum og_dtype dtype;
    uint32_t n_slots;
    int n_staging;
    /* cache and staging areas. Only address space is taken for a staging area of the largest batch
     * there can be; memory follows the batches there are. */
    char *base;
    size_t reserved;
    struct staging staging[];
};

static uint32_t most_staging_rows(const struct og_dataset *ds, const struct og_gather_options *opt)
{
    uint64_t rows = (UINT32_MAX - (uint64_t)opt->n_slots) / (uint64_t)opt->n_staging;
    return (uint32_t)OG_MIN((uint64_t)ds->n_nodes, rows);
}

static int grow_staging(struct og_gather *g, struct staging *s, uint32_t rows, struct og_err *err)
{
    if (rows <= s->capacity)
        return 0;
    int rc = og__budget_charge(g->budget, (rows - s->capacity) * g->row_bytes, STAGING, err);
    if (rc == 0)
        s->capacity = rows;
    return rc;
}

static int open_rows(struct og_gather *g, const struct og_dataset *ds,
                     const struct og_gather_options *opt, struct og_err *err)
{
    uint32_t most = most_staging_rows(ds, opt);
    int rc = og__budget_charge(g->budget, g->n_slots * g->row_bytes, CACHE, err);
    if (rc < 0)
        return rc;
    g->reserved = (g->n_slots + (size_t)g->n_staging * most) * g->row_bytes;
    g->base = og__address_reserve(g->reserved, err);
    if (!g->base) {
        og__budget_uncharge(g->budget, g->n_slots * g->row_bytes, CACHE);
        return -ENOMEM;
    }
    for (int i = 0; rc == 0 && i < g->n_staging; i++) {
        g->staging[i].first = g->n_slots + (uint32_t)i * most;
        rc = grow_staging(g, &g->staging[i], OG_MIN(opt->staging_rows, most), err);
    }
    return rc;
}

int og__gather_open(struct og_gather **out, const struct og_dataset *ds,
                    const struct og_gather_options *opt, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_gather *g = calloc(1, sizeof(*g) + (size_t)opt->n_staging * sizeof(g->staging[0]));
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "gather");
    g->budget = b;
    g->row_bytes = og__row_bytes(ds);
    g->dim = ds->dim;
    g->dtype = ds->dtype;
    g->n_slots = opt->n_slots;
    g->n_staging = opt->n_staging;
    int rc = open_rows(g, ds, opt, err);
    if (rc == 0)
        rc = og__reader_open(&g->reader, ds->features.path, (uint64_t)ds->features.offset,
                             g->row_bytes, (uint64_t)ds->n_nodes, &opt->reader, b, err);
    if (rc == 0)
        *out = g;
    else
        og__gather_close(g);
    return rc;
}

void og__gather_close(struct og_gather *g)
{
    if (!g)
        return;
    og__reader_close(g->reader);
    if (g->base) {
        og__budget_uncharge(g->budget, g->n_slots * g->row_bytes, CACHE);
        for (int i = 0; i < g->n_staging; i++)
            og__budget_uncharge(g->budget, g->staging[i].capacity * g->row_bytes, STAGING);
        og__address_release(g->base, g->reserved);
    }
    free(g);
}

const char *og__gather_engine(const struct og_gather *g)
{
    return og__reader_engine(g->reader);
}

/* ---- filling the cache ---- */

enum { PREFILL_ROWS = 16384 };

struct prefill {
    struct og_read_job job;
    uint32_t nodes[PREFILL_ROWS];
};

static int start_prefill(struct og_gather *g, const struct og_placement *placement,
                         uint64_t *cursor, uint32_t first, struct prefill *p, struct og_err *err)
{
    uint32_t n = OG_MIN((uint32_t)PREFILL_ROWS, placement->n_slots - first);
    og__placement_nodes(placement, cursor, p->nodes, n);
    p->job = (struct og_read_job){
        .rows = p->nodes, .n = n, .out = g->base + (size_t)first * g->row_bytes};
    return og__reader_submit(g->reader, &p->job, err);
}

/* Two pieces in turn, so that the disk never waits for the next list of nodes. */
static int prefill_pieces(struct og_gather *g, const struct og_placement *placement,
                          const volatile sig_atomic_t *stop, struct prefill *p,
                          struct og_io_counts *counts, struct og_err *err)
{
    uint64_t cursor = 0;
    uint32_t started = 0;
    uint32_t n_pieces = (placement->n_slots + PREFILL_ROWS - 1) / PREFILL_ROWS;
    int rc = 0;
    for (uint32_t piece = 0; rc == 0 && piece < n_pieces; piece++) {
        while (rc == 0 && started < n_pieces && started < piece + 2) {
            rc = start_prefill(g, placement, &cursor, started * PREFILL_ROWS, &p[started % 2], err);
            started += rc == 0;
        }
        if (rc == 0)
            rc = og__reader_wait(g->reader, &p[piece % 2].job, err);
        counts->reads += p[piece % 2].job.counts.reads;
        counts->bytes += p[piece % 2].job.counts.bytes;
        if (rc == 0 && stop && *stop && piece + 1 < n_pieces) {
            if (started > piece + 1)
                rc = og__reader_wait(g->reader, &p[(piece + 1) % 2].job, err);
            return rc < 0 ? rc
                          : og__fail(err, OG_INTERRUPTED, NULL, "stopped while filling caches");
        }
    }
    return rc;
}

int og__gather_prefill(struct og_gather *g, const struct og_placement *placement,
                       const volatile sig_atomic_t *stop, struct og_io_counts *counts,
                       struct og_err *err)
{
    struct og_io_counts ignored = {0};
    struct prefill *p = calloc(2, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "prefill");
    int rc = prefill_pieces(g, placement, stop, p, counts ? counts : &ignored, err);
    free(p);
    return rc;
}

/* ---- one batch ---- */

int og__gather_begin(struct og_gather *g, int staging, struct og_plan *plan, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    int rc = grow_staging(g, s, plan->n_misses, err);
    if (rc < 0)
        return rc;
    s->plan = plan;
    s->job = (struct og_read_job){.rows = plan->misses,
                                  .n = plan->n_misses,
                                  .out = g->base + (size_t)s->first * g->row_bytes};
    return og__reader_submit(g->reader, &s->job, err);
}

/* Misses are numbered behind the slots; here they move to where their staging area lies. */
static void point_misses(uint32_t *place, uint32_t n, uint32_t n_slots, uint32_t first)
{
    uint32_t shift = first - n_slots;
    for (uint32_t i = 0; i < n; i++)
        place[i] += place[i] >= n_slots ? shift : 0;
}

int og__gather_finish(struct og_gather *g, int staging, struct og_rows *rows,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    int rc = og__reader_wait(g->reader, &s->job, err);
    if (rc < 0)
        return rc;
    *counts = s->job.counts;
    point_misses(s->plan->place, s->plan->n, g->n_slots, s->first);
    *rows = (struct og_rows){.base = g->base,
                             .index = s->plan->place,
                             .stride = g->row_bytes,
                             .n = s->plan->n,
                             .dim = g->dim,
                             .dtype = g->dtype};
    return 0;
}
