/* The input features of one batch, as gathered: a matrix seen through a row index, so that rows
 * that lie in the cache are never copied. */
#ifndef OG_GATHER_ROWS_H
#define OG_GATHER_ROWS_H

#include "dataset/dataset.h"

struct og_rows {
    const char *base;
    const uint32_t *index; /* [n] row i lies at base + index[i] * stride; NULL: index[i] = i */
    size_t stride;         /* bytes */
    uint32_t n;
    int dim; /* elements a row */
    enum og_dtype dtype;
};

static inline const void *og__row(const struct og_rows *r, uint32_t i)
{
    return r->base + (r->index ? r->index[i] : i) * r->stride;
}

#endif
