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

/* Rows on their way to their slots: read straight there where the slots are neighbours, else by way
 * of a staging area. */
struct piece {
    struct og_read_job job;
    struct staging *via; /* NULL = straight */
    uint32_t n;
    uint32_t nodes[PREFILL_ROWS], slots[PREFILL_ROWS];
};

static bool neighbours(const uint32_t *slots, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (slots[i] != slots[0] + i)
            return false;
    return true;
}

static char *row_at(const struct og_gather *g, uint32_t row)
{
    return g->base + (size_t)row * g->row_bytes;
}

static int start_piece(struct og_gather *g, struct piece *p, struct staging *via,
                       struct og_err *err)
{
    p->via = neighbours(p->slots, p->n) ? NULL : via;
    int rc = p->via ? grow_staging(g, p->via, p->n, err) : 0;
    p->job = (struct og_read_job){
        .rows = p->nodes, .n = p->n, .out = row_at(g, p->via ? p->via->first : p->slots[0])};
    return rc < 0 ? rc : og__reader_submit(g->reader, &p->job, err);
}

static int finish_piece(struct og_gather *g, struct piece *p, struct og_io_counts *counts,
                        struct og_err *err)
{
    int rc = og__reader_wait(g->reader, &p->job, err);
    for (uint32_t i = 0; rc == 0 && p->via && i < p->n; i++)
        memcpy(row_at(g, p->slots[i]), row_at(g, p->via->first + i), g->row_bytes);
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
    p->n = 0;
    return rc;
}

/* Two pieces in turn, so that the disk never waits for the next list of nodes; one after the other
 * where there is one staging area only. Staging areas that are smaller than a piece bound it. */
static int prefill_pieces(struct og_gather *g, struct og_policy *policy,
                          const volatile sig_atomic_t *stop, struct piece *pieces,
                          struct og_io_counts *counts, struct og_err *err)
{
    enum { LEAST_ROWS = 256 };
    uint32_t most =
        OG_MIN(OG_MAX(g->staging[0].capacity, (uint32_t)LEAST_ROWS), (uint32_t)PREFILL_ROWS);
    bool overlap = g->n_staging > 1;
    int rc = 0;
    for (uint32_t i = 0; rc == 0; i++) {
        struct piece *now = &pieces[i % 2];
        struct piece *before = &pieces[(i + 1) % 2];
        now->n = stop && *stop ? 0 : og__policy_prefill(policy, now->nodes, now->slots, most);
        if (now->n > 0 && !overlap && before->n > 0)
            rc = finish_piece(g, before, counts, err);
        if (rc == 0 && now->n > 0)
            rc = start_piece(g, now, &g->staging[i % (uint32_t)g->n_staging], err);
        if (rc == 0 && before->n > 0)
            rc = finish_piece(g, before, counts, err);
        if (now->n == 0)
            break;
    }
    return rc == 0 && stop && *stop
               ? og__fail(err, OG_INTERRUPTED, NULL, "stopped while filling caches")
               : rc;
}

int og__gather_prefill(struct og_gather *g, struct og_policy *policy,
                       const volatile sig_atomic_t *stop, struct og_io_counts *counts,
                       struct og_err *err)
{
    struct piece *pieces = calloc(2, sizeof(*pieces));
    if (!pieces)
        return og__fail_errno(err, -ENOMEM, NULL, "prefill");
    int rc = prefill_pieces(g, policy, stop, pieces, counts, err);
    free(pieces);
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

void og__gather_change(struct og_gather *g, const struct og_plan *plan)
{
    enum { AHEAD = 8 };
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        if (c + AHEAD < plan->n_changes)
            __builtin_prefetch(row_at(g, plan->place[plan->change_row[c + AHEAD]]));
        memcpy(row_at(g, plan->change_slot[c]), row_at(g, plan->place[plan->change_row[c]]),
               g->row_bytes);
    }
}
