/* Feature rows of mostly zeros, stored as their entries: columns and values.
 *
 *     row     | n u32 | at u32 | column [room] | value [room] |       every row has as much room
 *     rest    | column [n_rest] | value [n_rest] |                    of all rows, in memory
 *
 * A row has n entries, whose columns ascend. Those beyond its room are in the rest, from `at` on:
 * few rows are long, and no row has to be as wide as the longest. Columns are u16 if that is
 * enough, else u32. Values have a dtype without scales; OG_ONE has no bytes, every value is 1. */
#ifndef OG_DATASET_SPARSE_ROWS_H
#define OG_DATASET_SPARSE_ROWS_H

#include "dataset/npy.h"

enum { OG__ENTRIES_HEAD = 8, OG__ENTRIES_STEP = 4 }; /* room is a multiple */

/* The form of a group's rows. */
struct og_sparse_rows {
    uint32_t room;    /* 0: they are dense */
    uint32_t longest; /* most entries of a row */
    const char *rest; /* n_rest columns, then as many values */
    uint32_t n_rest;
};

static inline size_t og__column_bytes(int dim)
{
    return dim <= UINT16_MAX + 1 ? sizeof(uint16_t) : sizeof(uint32_t);
}

static inline size_t og__entry_bytes(int dim, enum og_dtype dtype)
{
    return og__column_bytes(dim) + og__dtype_size(dtype);
}

/* Bytes of a row, sparse or with room 0 dense. */
static inline size_t og__row_size(int dim, enum og_dtype dtype, uint32_t room)
{
    return room > 0 ? OG__ENTRIES_HEAD + room * og__entry_bytes(dim, dtype)
                    : (size_t)dim * og__dtype_size(dtype);
}

/* The entries of a row, at any alignment. `form` has the room that the row is stored with. */
struct og_entries {
    uint32_t n, here;      /* all; in the row itself */
    const char *column[2]; /* in the row; of the first in the rest */
    const char *value[2];
    uint32_t last; /* column; larger ones, of damaged files, become it */
    bool narrow;   /* columns are u16 */
    enum og_dtype dtype;
};
struct og_entries og__entries_of(const void *row, int dim, enum og_dtype dtype,
                                 const struct og_sparse_rows *form);

uint32_t og__entry_column(const struct og_entries *e, uint32_t i);
/* The first entry whose column is at least `column`; e->n if there is none. */
uint32_t og__entries_from(const struct og_entries *e, uint32_t column);
/* Copies entries [first, last) as numbers. */
void og__entries_read(const struct og_entries *e, uint32_t first, uint32_t last, uint32_t *column,
                      float *value);

/* y[0 .. n) = columns [first, first + n). */
void og__entries_widen(float *y, const struct og_entries *e, size_t first, size_t n);

/* Entries of x that are not 0. */
uint32_t og__count_entries(const float *x, size_t n);
/* Stores n entries as a row; those beyond its room go to the rest, from `at` on. Returns the
 * position of the first value that does not fit, or -1. */
int64_t og__store_entries(void *row, const uint32_t *column, const float *value, uint32_t n,
                          int dim, enum og_dtype dtype, const struct og_sparse_rows *form,
                          char *rest, uint32_t at);
/* What is wrong with a row, whose numbers may be anything; NULL: nothing. */
const char *og__entries_wrong(const void *row, int dim, enum og_dtype dtype,
                              const struct og_sparse_rows *form);

#endif
