/* Rows that are put into slots before batches, or while these are trained. */
#include "gather/gather_parts.h"
#include "gather/written.h"

#include <stdlib.h>
#include <string.h>

/* ---- filling the cache ---- */

/* Rows of a group on their way to slots. Read directly if the slots are consecutive, else through a
 * staging area. */
struct og_fill_piece {
    struct og_read_job job;
    struct og_gather_group *group;
    struct og_gather_part *via; /* NULL = directly */
    uint32_t n;                 /* 0 = idle */
    uint32_t nodes[OG__FILL_ROWS], slots[OG__FILL_ROWS];
};

static uint32_t neighbours(const uint32_t *slots, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && slots[i] == slots[0] + i)
        i++;
    return OG_MIN(i, n);
}

static struct og_reader *filler_of(const struct og_gather_group *w)
{
    return w->fill_reader ? w->fill_reader : w->reader;
}

static int start_piece(struct og_gather *g, struct og_fill_piece *p, struct og_staging *via,
                       struct og_err *err)
{
    const uint32_t k = (uint32_t)(p->group - g->group);
    int rc = 0;
    p->via = neighbours(p->slots, p->n) == p->n ? NULL : &via->part[k];
    if (p->via)
        OG_TRY(og__gather_grow(g, via, k, p->n, err));
    p->job = (struct og_read_job){.rows = p->nodes,
                                  .n = p->n,
                                  .out = p->via ? p->via->at
                                                : og__gather_slot(g, p->group, p->slots[0])};
    OG_TRY(og__reader_submit(filler_of(p->group), &p->job, err));
out:
    if (rc < 0)
        p->n = 0;
    return rc;
}

static int finish_piece(struct og_gather *g, struct og_fill_piece *p, struct og_io_counts *counts,
                        struct og_err *err)
{
    if (p->n == 0)
        return 0;
    const struct og_gather_group *w = p->group;
    int rc;
    OG_TRY(og__reader_wait(filler_of(w), &p->job, err));
    OG_TRY(og__written_arrived(g, (uint32_t)(w - g->group), p->nodes, p->n, p->job.out, err));
    for (uint32_t i = 0; p->via && i < p->n; i++)
        memcpy(og__gather_slot(g, w, p->slots[i]), p->via->at + i * w->row_bytes, w->row_bytes);
    if (w->written)
        og__written_filled(g, (uint32_t)(w - g->group), p->nodes, p->slots, p->n);
out:
    counts->reads += p->job.counts.reads;
    counts->bytes += p->job.counts.bytes;
    p->n = 0;
    return rc;
}

/* Areas for pieces; none if several groups are filled while batches are in flight. */
static struct og_staging *fill_areas(struct og_gather *g, uint32_t *n)
{
    *n = (uint32_t)(g->fills_during_training ? g->n_areas - g->n_staging : g->n_staging);
    return &g->staging[g->fills_during_training ? g->n_staging : 0];
}

/* Two pieces alternate, so that the disk never waits for the next list of nodes. With one staging
 * area they run one after the other. */
static int fill_piece(struct og_gather *g, struct og_gather_group *w, const uint32_t *nodes,
                      const uint32_t *slots, uint32_t n, struct og_io_counts *counts,
                      struct og_err *err)
{
    struct og_fill_piece *before = &g->pieces[g->n_pieces % 2];
    struct og_fill_piece *now = &g->pieces[++g->n_pieces % 2];
    uint32_t n_areas;
    struct og_staging *areas = fill_areas(g, &n_areas);
    now->n = n;
    now->group = w;
    for (uint32_t i = 0; i < n; i++)
        now->nodes[i] = nodes[i] - og__gather_first(g, w);
    memcpy(now->slots, slots, n * sizeof(*slots));
    int rc;
    OG_TRY(n_areas == 1 ? finish_piece(g, before, counts, err) : 0);
    OG_TRY(start_piece(g, now, &areas[g->n_pieces % OG_MAX(n_areas, 1u)], err));
out:
    return rc < 0 ? rc : finish_piece(g, before, counts, err);
}

/* Number of the n rows, all of one group, that form a piece. A piece through a staging area is
 * bounded by the area; without areas pieces are direct. */
static uint32_t piece_rows(struct og_gather *g, const struct og_gather_group *w,
                           const uint32_t *slots, uint32_t n)
{
    enum { LEAST_ROWS = 256 };
    uint32_t n_areas;
    const struct og_staging *areas = fill_areas(g, &n_areas);
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

static int fill_group(struct og_gather *g, struct og_gather_group *w, const uint32_t *nodes,
                      const uint32_t *slots, uint32_t n, struct og_io_counts *counts,
                      struct og_err *err)
{
    if (w->written && og__written_reader(w->written))
        return 0; /* og__gather_tell had them */
    for (uint32_t first = 0, k; first < n; first += k) {
        k = piece_rows(g, w, slots + first, n - first);
        if (slots[first] < w->slot || slots[first] - w->slot >= w->n_slots)
            return og__fail(err, -EINVAL, NULL, "feature cache: a row for a slot of another width");
        OG_DO(fill_piece(g, w, nodes + first, slots + first, k, counts, err));
    }
    return 0;
}

int og__gather_fill(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                    struct og_io_counts *counts, struct og_err *err)
{
    int rc = 0;
    if (!g->pieces) {
        if (!(g->pieces = calloc(2, sizeof(*g->pieces))))
            return og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
        for (uint32_t k = 0; k < g->n_groups; k++)
            if (g->group[k].written)
                OG_TRY(og__written_before_fill(g, k, err));
    }
    for (uint32_t first = 0, k; first < n; first += k) {
        struct og_gather_group *w = g->group;
        while (w + 1 < g->group + g->n_groups &&
               nodes[first] >= (uint64_t)(w->of->first + w->of->n_nodes))
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
    const int distributed = og__written_fill_end(g, counts, rc == 0 ? err : NULL);
    return rc < 0 ? rc : distributed;
}
