#include "dataset/sparse_rows.h"

#include "dataset/convert.h"

#include <math.h>
#include <string.h>

struct head {
    uint32_t n, at;
};

static struct head head_of(const void *row)
{
    struct head h;
    memcpy(&h, row, sizeof(h));
    return h;
}

struct og_entries og__entries_of(const void *row, int dim, enum og_dtype dtype,
                                 const struct og_sparse_rows *form)
{
    struct head h = head_of(row);
    const size_t columns = og__column_bytes(dim);
    const char *here = (const char *)row + OG__ENTRIES_HEAD;
    const char *values = form->rest + form->n_rest * columns;
    h.n = OG_MIN(h.n, form->longest); /* the file may be damaged */
    if (h.n > form->room && (uint64_t)h.at + (h.n - form->room) > form->n_rest)
        h = (struct head){.n = form->room};
    return (struct og_entries){
        .n = h.n,
        .here = OG_MIN(h.n, form->room),
        .last = (uint32_t)dim - 1,
        .column = {here, form->rest + h.at * columns},
        .value = {here + form->room * columns, values + h.at * og__dtype_size(dtype)},
        .narrow = columns == sizeof(uint16_t),
        .dtype = dtype};
}

uint32_t og__entry_column(const struct og_entries *e, uint32_t i)
{
    const char *from = e->column[i >= e->here];
    const uint32_t at = i < e->here ? i : i - e->here;
    uint32_t wide;
    uint16_t narrow;
    if (e->narrow) {
        memcpy(&narrow, from + at * sizeof(narrow), sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, from + at * sizeof(wide), sizeof(wide));
    return wide;
}

uint32_t og__entries_from(const struct og_entries *e, uint32_t column)
{
    uint32_t low = 0;
    for (uint32_t n = e->n; n > 0;) {
        const uint32_t half = n / 2;
        if (og__entry_column(e, low + half) < column) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Values of entries [first, last), all in the row or all in the rest. */
static void read_part(const struct og_entries *e, uint32_t first, uint32_t last, float *value)
{
    const bool rest = first >= e->here;
    const uint32_t n = last - first;
    if (e->dtype != OG_ONE)
        og__widen(value, e->value[rest], e->dtype, NULL, rest ? first - e->here : first, n);
    for (uint32_t i = 0; e->dtype == OG_ONE && i < n; i++)
        value[i] = 1;
}

static void read_values(const struct og_entries *e, uint32_t first, uint32_t last, float *value)
{
    const uint32_t middle = OG_MIN(OG_MAX(first, e->here), last);
    if (first < middle)
        read_part(e, first, middle, value);
    if (middle < last)
        read_part(e, middle, last, value + (middle - first));
}

void og__entries_read(const struct og_entries *e, uint32_t first, uint32_t last, uint32_t *column,
                      float *value)
{
    for (uint32_t i = first; i < last; i++)
        column[i - first] = OG_MIN(og__entry_column(e, i), e->last);
    read_values(e, first, last, value);
}

void og__entries_widen(float *y, const struct og_entries *e, size_t first, size_t n)
{
    enum { PIECE = 64 };
    uint32_t column[PIECE] = {0};
    float value[PIECE];
    const uint32_t last = og__entries_from(e, (uint32_t)(first + n));
    memset(y, 0, n * sizeof(*y));
    for (uint32_t i = og__entries_from(e, (uint32_t)first), some; i < last; i += some) {
        some = OG_MIN(last - i, (uint32_t)PIECE);
        og__entries_read(e, i, i + some, column, value);
        for (uint32_t k = 0; k < some; k++)
            if (column[k] - first < n) /* unless the file is damaged */
                y[column[k] - first] = value[k];
    }
}

uint32_t og__count_entries(const float *x, size_t n)
{
    uint32_t count = 0;
    for (size_t j = 0; j < n; j++)
        count += x[j] != 0;
    return count;
}

/* Places of columns and of values that entries are stored to. */
struct places {
    char *column, *value;
    bool narrow;
    enum og_dtype dtype;
};

/* Stores entry i; false if its value does not fit. */
static bool put(const struct places *to, uint32_t i, uint32_t column, float value)
{
    const uint16_t narrow = (uint16_t)column;
    if (to->narrow)
        memcpy(to->column + i * sizeof(narrow), &narrow, sizeof(narrow));
    else
        memcpy(to->column + i * sizeof(column), &column, sizeof(column));
    if (to->dtype == OG_ONE)
        return value == 1;
    return og__store_row(to->dtype, to->value + i * og__dtype_size(to->dtype), &value, NULL, 1) < 0;
}

int64_t og__store_entries(void *row, const uint32_t *column, const float *value, uint32_t n,
                          int dim, enum og_dtype dtype, const struct og_sparse_rows *form,
                          char *rest, uint32_t at)
{
    const struct head h = {n, n > form->room ? at : 0};
    const size_t columns = og__column_bytes(dim);
    char *here = (char *)row + OG__ENTRIES_HEAD;
    const struct places own = {here, here + form->room * columns, columns == sizeof(uint16_t),
                               dtype};
    struct places more = own;
    if (n > form->room) {
        more.column = rest + at * columns;
        more.value = rest + form->n_rest * columns + at * og__dtype_size(dtype);
    }
    memset(row, 0, og__row_size(dim, dtype, form->room));
    memcpy(row, &h, sizeof(h));
    for (uint32_t i = 0; i < n; i++)
        if (!(i < form->room ? put(&own, i, column[i], value[i])
                             : put(&more, i - form->room, column[i], value[i])))
            return i;
    return -1;
}

const char *og__entries_wrong(const void *row, int dim, enum og_dtype dtype,
                              const struct og_sparse_rows *form)
{
    const struct head h = head_of(row);
    const struct og_entries e = og__entries_of(row, dim, dtype, form);
    if (h.n != e.n)
        return "more entries than there are";
    for (uint32_t i = 0; i < e.n; i++) {
        const uint32_t column = og__entry_column(&e, i);
        float value = 0;
        read_values(&e, i, i + 1, &value);
        if (column >= (uint32_t)dim)
            return "a column beyond feature_dim";
        if (i > 0 && column <= og__entry_column(&e, i - 1))
            return "columns do not ascend";
        if (!isfinite(value))
            return "NaN or infinite";
    }
    return NULL;
}
