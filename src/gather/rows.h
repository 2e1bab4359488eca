/* The input features of one batch: a matrix seen through a row index, so that rows that lie in a
 * cache are never copied. Rows have places, which are numbered through tiers, the fastest first:
 *
 *   place   0                  more[0].first        more[1].first
 *           | the first tier   | the next           | ...
 *           ^ base             ^ more[0].base       ^ more[1].base
 *
 * such as the slots of a cache and behind them the misses of a batch. */
#ifndef OG_GATHER_ROWS_H
#define OG_GATHER_ROWS_H

#include "dataset/graph.h"

#include <string.h>

enum { OG_MAX_TIERS = 4 };

struct og_tier {
    const char *base;
    uint32_t first;        /* its first place; the last is where the next one begins */
    const uint32_t *where; /* its place i is row where[i] from base; NULL: row i */
};

struct og_event;
struct og_rows {
    /* They lie where the model computes, one behind the other, once this has happened (a device's
     * event). NULL: in the host's memory. */
    struct og_event *comes;
    const char *base;
    const uint32_t *index; /* [n] the place of row i; NULL: i */
    size_t stride;         /* bytes from place to place, in all tiers; a row may take several */
    uint32_t n;
    int dim; /* elements a row */
    enum og_dtype dtype;
    int n_more; /* tiers behind the first */
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
    return (size_t)r->dim * og__dtype_size(r->dtype);
}

/* Rows [first, last) to where a matrix of all of them has them. */
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

#endif
