/* The input features of one batch: a matrix viewed through a row index. Rows in a cache are never
 * copied. Locations of rows are numbered through the tiers, the fastest first:
 *
 *   location  0                  more[0].first        more[1].first
 *             | the first tier   | the next           | ...
 *             ^ base             ^ more[0].base       ^ more[1].base
 *
 * For example the slots of a cache, then the misses of a batch. */
#ifndef OG_GATHER_ROWS_H
#define OG_GATHER_ROWS_H

#include "dataset/convert.h"

#include <string.h>

enum { OG_MAX_TIERS = 4 };

struct og_tier {
    const char *base;
    uint32_t first;        /* its first location; a tier ends where the next begins */
    const uint32_t *where; /* location i of the tier is row where[i] from base; NULL: row i */
};

struct og_event;
struct og_rows {
    /* Event of a device after which the rows are contiguous in its memory; NULL: in host memory. */
    struct og_event *comes;
    const char *base;
    const uint32_t *index; /* [n] location of row i; NULL: i */
    size_t stride;         /* bytes between locations, in all tiers; a row may take several */
    uint32_t n;
    int dim; /* elements per row */
    enum og_dtype dtype;
    const struct og_sparse_rows *sparse; /* their form; NULL: dense */
    const float *scale; /* [dim] of types with scales, where the rows are read; else NULL */
    int n_more;         /* tiers after the first */
    struct og_tier more[OG_MAX_TIERS - 1];
};

static inline const void *og__row_at(const struct og_rows *r, uint32_t place)
{
    for (int t = r->n_more; t-- > 0;) {
        const struct og_tier *tier = &r->more[t];
        if (place >= tier->first) {
            const uint32_t row = place - tier->first;
            return tier->base + (tier->where ? tier->where[row] : row) * r->stride;
        }
    }
    return r->base + place * r->stride;
}

static inline const void *og__row(const struct og_rows *r, uint32_t i)
{
    return og__row_at(r, r->index ? r->index[i] : i);
}

static inline size_t og__row_length(const struct og_rows *r)
{
    return og__row_size(r->dim, r->dtype, r->sparse ? r->sparse->room : 0);
}

/* Rows of a group, none yet. */
static inline struct og_rows og__rows_of_group(const struct og_group *g)
{
    return (struct og_rows){.stride = og__row_bytes(g),
                            .dim = og__row_dim(g),
                            .dtype = g->dtype,
                            .sparse = og__row_form(g),
                            .scale = og__row_scale(g)};
}

/* A sparse row of r's. */
static inline struct og_entries og__row_entries(const struct og_rows *r, const void *row)
{
    return og__entries_of(row, r->dim, r->dtype, r->sparse);
}

/* y[0 .. n) = elements [first, first + n) of `row`, which is one of r's. */
static inline void og__row_widen(float *y, const struct og_rows *r, const void *row, size_t first,
                                 size_t n)
{
    if (r->sparse) {
        const struct og_entries sparse = og__row_entries(r, row);
        og__entries_widen(y, &sparse, first, n);
        return;
    }
    og__widen(y, row, r->dtype, r->scale, first, n);
}

/* Copy rows [first, last) to their positions in a matrix of all rows. */
static inline void og__rows_copy(const struct og_rows *r, uint32_t first, uint32_t last,
                                 char *matrix)
{
    enum { AHEAD = 8 };
    const size_t length = og__row_length(r);
    for (uint32_t i = first; i < last; i++) {
        if (i + AHEAD < last)
            __builtin_prefetch(og__row(r, i + AHEAD));
        memcpy(matrix + (size_t)i * length, og__row(r, i), length);
    }
}

/* Rows of a relation's edges in a batch. Row i of edges is row i mod rows of unit i div rows. */
struct og_edge_rows {
    struct og_rows units; /* of the relation's units, by their numbers (sample/batch.h) */
    uint32_t rows;        /* 0: the relation's edges have none */
    int dim;              /* elements of one edge's row */
};

static inline size_t og__edge_row_length(const struct og_edge_rows *r)
{
    return (size_t)r->dim * og__dtype_size(r->units.dtype);
}

static inline const void *og__edge_row(const struct og_edge_rows *r, uint32_t i)
{
    return (const char *)og__row(&r->units, i / r->rows) + i % r->rows * og__edge_row_length(r);
}

#endif
