/* Features as CSR, <prefix>_indptr.npy, _indices.npy and _data.npy: a table that fills in the
 * zeros. Another file, _shape.npy, may give the number of columns. The members of an archive by
 * scipy.sparse.save_npz are the same arrays. All are read front to back. */
#include "dataset/import/npy.h"

#include "dataset/convert.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "import";

struct sparse_table {
    struct og_table t;
    struct og_table *indptr, *indices, *data;
    struct og_budget *budget;
    size_t bytes;
    char *raw;   /* indices and values of one row */
    int64_t ptr; /* where the next row begins, as indptr has it; of the first row 0 */
};

/* Where the arrays are: files of the source that begin with `prefix`, or members of an archive. */
struct sparse_source {
    const struct og_importer *imp;
    const char *prefix;
    const char *archive; /* NULL = files */
};

/* Values are floats, or as they are stored where a float may be another number. */
static enum og__npy_type type_of(enum og__npy_type stored)
{
    const bool whole = og__npy_is_integer(stored) && og__npy_size(stored) > 2;
    return whole || stored == OG__NPY_F64 ? stored : OG__NPY_F32;
}

/* Adds value i of the row to its column. False: the sum is beyond the type. */
static bool add_value(const struct sparse_table *s, void *row, int64_t column, const void *values,
                      size_t i)
{
    const enum og__npy_type type = s->data->type;
    const bool whole = s->t.type != OG__NPY_F32 && s->t.type != OG__NPY_F64;
    const int64_t n = whole ? og__integer_at(type, values, i) : 0;
    const double x = whole ? 0 : og__number_at(type, values, i);
    if (s->t.type == OG__NPY_F64)
        ((double *)row)[column] += x;
    else if (s->t.type == OG__NPY_F32)
        ((float *)row)[column] += (float)x;
    else if (s->t.type == OG__NPY_I32)
        return !__builtin_add_overflow(((int32_t *)row)[column], n, (int32_t *)row + column);
    else if (s->t.type == OG__NPY_U32)
        return !__builtin_add_overflow(((uint32_t *)row)[column], n, (uint32_t *)row + column);
    else if (s->t.type == OG__NPY_I64)
        return !__builtin_add_overflow(((int64_t *)row)[column], n, (int64_t *)row + column);
    else
        return !__builtin_add_overflow(((uint64_t *)row)[column], (uint64_t)n,
                                       (uint64_t *)row + column);
    return true;
}

static int read_all(struct og_table *t, int64_t n, void *out, struct og_err *err)
{
    int64_t got = 0;
    const int rc = n > 0 ? og__table_read(t, out, n, &got, err) : 0;
    return rc < 0 || got == n || n == 0
               ? rc
               : og__fail(err, -EINVAL, "was the file cut short?", "%s: ends early", t->name);
}

static int64_t integer_of(const struct og_table *t, const void *raw, int64_t i)
{
    return og__integer_at(t->type, raw, (size_t)i);
}

/* Row v, which ends before the value number `end`. */
static int read_sparse_row(struct sparse_table *s, int64_t end, int64_t v, char *row,
                           struct og_err *err)
{
    const int64_t n = end - s->ptr;
    char *values = s->raw + (size_t)s->t.columns * 8;
    if (n > s->t.columns && end <= s->data->rows)
        return og__fail(err, -EINVAL, "sum the entries of a column: matrix.sum_duplicates()",
                        "%s: row %lld: %lld entries in %lld columns", s->indptr->name, (long long)v,
                        (long long)n, (long long)s->t.columns);
    if (n < 0 || end > s->data->rows)
        return og__fail(err, -EINVAL, "indptr, indices and data of one CSR matrix belong together",
                        "%s: row %lld: from %lld to %lld, of %lld values", s->indptr->name,
                        (long long)v, (long long)s->ptr, (long long)end, (long long)s->data->rows);
    OG_DO(read_all(s->indices, n, s->raw, err));
    OG_DO(read_all(s->data, n, values, err));
    memset(row, 0, og__table_row_bytes(&s->t));
    for (int64_t i = 0; i < n; i++) {
        const int64_t column = integer_of(s->indices, s->raw, i);
        if (column < 0 || column >= s->t.columns)
            return og__fail(err, -EINVAL, "columns count from 0",
                            "%s: entry %lld: column %lld of %lld", s->indices->name,
                            (long long)(s->ptr + i), (long long)column, (long long)s->t.columns);
        if (!add_value(s, row, column, values, (size_t)i))
            return og__fail(err, -ERANGE, "sum the entries of a column: matrix.sum_duplicates()",
                            "%s: row %lld: entries of column %lld add up to more than %s",
                            s->data->name, (long long)v, (long long)column,
                            og__npy_name(s->data->type));
    }
    s->ptr = end;
    return 0;
}

static int sparse_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                       struct og_err *err)
{
    enum { ROWS = 512 };
    struct sparse_table *s = (struct sparse_table *)t;
    int64_t raw[ROWS];
    *got = 0;
    while (*got < want) {
        const int64_t n = OG_MIN(want - *got, (int64_t)ROWS);
        OG_DO(read_all(s->indptr, n, raw, err));
        for (int64_t i = 0; i < n; i++, ++*got)
            OG_DO(read_sparse_row(s, integer_of(s->indptr, raw, i), t->next + *got,
                                  (char *)out + (size_t)*got * og__table_row_bytes(t), err));
    }
    return 0;
}

/* The first row begins at 0, and `indptr` is then at its end. */
static int begin_rows(struct sparse_table *s, struct og_err *err)
{
    int64_t raw = 0;
    OG_DO(og__table_rewind(s->indptr, err));
    OG_DO(read_all(s->indptr, 1, &raw, err));
    s->ptr = 0;
    return 0;
}

static int sparse_rewind(struct og_table *t, struct og_err *err)
{
    struct sparse_table *s = (struct sparse_table *)t;
    OG_DO(og__table_rewind(s->indices, err));
    OG_DO(og__table_rewind(s->data, err));
    return begin_rows(s, err);
}

static void sparse_close(struct og_table *t)
{
    struct sparse_table *s = (struct sparse_table *)t;
    og__release(s->budget, s->raw, s->bytes, part);
    og__table_close(s->indptr);
    og__table_close(s->indices);
    og__table_close(s->data);
    free(s);
}

static const struct og_table_ops sparse_ops = {sparse_read, sparse_rewind, sparse_close, NULL};

/* An array of the matrix; NULL if it is optional and a file that is not there. */
static int open_array(const struct sparse_source *of, const char *array, bool optional,
                      struct og_table **out, struct og_err *err)
{
    char name[OG__NPY_PREFIX + 16];
    if (!of->archive) {
        snprintf(name, sizeof(name), "%s_%s.npy", of->prefix, array);
        return og__import_open_npy(of->imp, name, optional, out, err);
    }
    snprintf(name, sizeof(name), "%s.npy", array);
    return og__table_zip(out, of->archive, name, err);
}

static int check_sparse(const struct sparse_table *s, struct og_err *err)
{
    if (!og__npy_is_integer(s->indptr->type) || !og__npy_is_integer(s->indices->type))
        return og__fail(err, -EINVAL, "store them as int32 or int64",
                        "%s: indptr and indices are whole numbers", s->indptr->name);
    if (s->indptr->rows < 1 || s->indptr->columns != 1 || s->indices->columns != 1 ||
        s->data->columns != 1 || s->indices->rows != s->data->rows)
        return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                        "%s: %lld indices, %lld values", s->data->name, (long long)s->indices->rows,
                        (long long)s->data->rows);
    return 0;
}

/* Numbers of an array; -1 in one without any. */
struct ends {
    int64_t first, last, most;
};

/* Then rewinds. */
static int find_ends(struct og_table *t, struct ends *of, struct og_err *err)
{
    enum { PIECE = 8192 };
    int64_t raw[PIECE];
    *of = (struct ends){-1, -1, -1};
    for (int64_t left = t->rows, n; left > 0; left -= n) {
        n = OG_MIN(left, (int64_t)PIECE);
        OG_DO(read_all(t, n, raw, err));
        of->first = left == t->rows ? integer_of(t, raw, 0) : of->first;
        for (int64_t i = 0; i < n; i++)
            of->most = OG_MAX(of->most, of->last = integer_of(t, raw, i));
    }
    return og__table_rewind(t, err);
}

/* The rows are all of the values. The width is one more than the largest column. */
static int measure(struct sparse_table *s, struct og_err *err)
{
    struct ends of;
    OG_DO(find_ends(s->indptr, &of, err));
    if (of.first != 0 || of.last != s->data->rows)
        return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                        "%s: from %lld to %lld, there are %lld values", s->indptr->name,
                        (long long)of.first, (long long)of.last, (long long)s->data->rows);
    OG_DO(find_ends(s->indices, &of, err));
    if (of.most >= INT32_MAX / 8)
        return og__fail(err, -EINVAL, "columns count from 0", "%s: column %lld", s->indices->name,
                        (long long)of.most);
    s->t.columns = of.most + 1;
    return 0;
}

/* The width that SciPy's `shape` gives, if that is there. */
static int take_shape(const struct sparse_source *of, struct sparse_table *s, struct og_err *err)
{
    static const char hint[] = "it is the rows and columns of the matrix";
    struct og_table *shape = NULL;
    int64_t raw[2] = {0};
    int rc;
    OG_TRY(open_array(of, "shape", true, &shape, err));
    if (!shape)
        return 0;
    if (!og__npy_is_integer(shape->type) || shape->rows != 2 || shape->columns != 1)
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: two whole numbers expected", shape->name));
    OG_TRY(read_all(shape, 2, raw, err));
    const int64_t rows = integer_of(shape, raw, 0), columns = integer_of(shape, raw, 1);
    if (rows != s->indptr->rows - 1 || columns < s->t.columns || columns >= INT32_MAX / 8)
        OG_TRY(og__fail(err, -EINVAL, hint,
                        "%s: %lld, %lld, and the arrays have %lld rows and %lld columns or more",
                        shape->name, (long long)rows, (long long)columns,
                        (long long)s->indptr->rows - 1, (long long)s->t.columns));
    s->t.columns = columns;
out:
    og__table_close(shape);
    return rc;
}

static int open_csr(const struct sparse_source *of, struct sparse_table *s, struct og_err *err)
{
    OG_DO(open_array(of, "indptr", false, &s->indptr, err));
    OG_DO(open_array(of, "indices", false, &s->indices, err));
    OG_DO(open_array(of, "data", false, &s->data, err));
    OG_DO(check_sparse(s, err));
    s->t.type = type_of(s->data->type);
    OG_DO(measure(s, err));
    OG_DO(take_shape(of, s, err));
    return begin_rows(s, err);
}

static int open_sparse(const struct sparse_source *of, struct og_table **out, struct og_err *err)
{
    int rc = 0;
    struct sparse_table *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", of->imp->src);
    s->t = (struct og_table){.ops = &sparse_ops, .ndim = 2};
    s->budget = of->imp->budget;
    OG_TRY(open_csr(of, s, err));
    s->t.rows = s->indptr->rows - 1;
    s->bytes = (size_t)OG_MAX(s->t.columns, (int64_t)1) * 16;
    if (!(s->t.name = strdup(s->data->name)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", of->imp->src));
    if (!(s->raw = og__alloc(s->budget, s->bytes, part, err)))
        OG_TRY(-ENOMEM);
    *out = &s->t;
out:
    if (rc < 0)
        og__table_close(&s->t);
    return rc;
}

/* Rows by column would be taken for columns by row where there are as many of both. */
static int check_archive(const char *path, struct og_err *err)
{
    struct og_err why = {0};
    char text[4];
    const int rc = og__zip_ends(path, "format.npy", text, 3, &why);
    if (rc < 0 && rc != -ENOENT)
        return og__fail(err, rc, why.hint, "%s", why.message);
    text[3] = 0;
    return rc < 0 || strcmp(text, "csr") != 0
               ? og__fail(err, -EINVAL,
                          "scipy.sparse.save_npz(path, matrix.tocsr()); of an array "
                          "numpy.save(\"feat.npy\", array)",
                          "%s: no matrix in CSR of scipy.sparse", path)
               : 0;
}

int og__npy_sparse(const struct og_importer *imp, const char *prefix, struct og_table **features,
                   struct og_table **values, struct og_err *err)
{
    char name[OG__NPY_PREFIX + 16];
    struct sparse_source of = {.imp = imp, .prefix = prefix};
    char *path = NULL;
    int rc;
    *features = *values = NULL;
    snprintf(name, sizeof(name), "%s_indptr.npy", prefix);
    OG_TRY(og__import_has(imp, name, err));
    if (rc == 0) {
        snprintf(name, sizeof(name), "%s.npz", prefix);
        OG_TRY(og__import_has(imp, name, err));
        if (rc == 0)
            return 0;
        if (!(of.archive = path = og__import_source(imp, name)))
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src));
        OG_TRY(check_archive(path, err));
    }
    OG_TRY(open_sparse(&of, features, err));
    OG_TRY(open_array(&of, "data", false, values, err));
out:
    free(path);
    return rc < 0 ? rc : 0;
}
