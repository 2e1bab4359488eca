/* Features as CSR, <prefix>_indptr.npy, _indices.npy and _data.npy: a table that fills in the
 * zeros. Another file, _shape.npy, may give the number of columns. */
#include "dataset/import/npy.h"

#include "dataset/convert.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "import";

struct sparse_table {
    struct og_table t;
    struct og_npy indptr, indices, data;
    struct og_budget *budget;
    size_t bytes;
    char *raw; /* indices and values of one row */
};

/* Values are floats, or doubles where a float may be another number. */
static bool is_exact(enum og__npy_type type)
{
    return type != OG__NPY_F64 && (!og__npy_is_integer(type) || og__npy_size(type) <= 2);
}

static void add_value(const struct sparse_table *s, char *row, int64_t column, double x)
{
    if (s->t.type == OG__NPY_F64)
        ((double *)(void *)row)[column] += x;
    else
        ((float *)(void *)row)[column] += (float)x;
}

static int read_sparse_row(struct sparse_table *s, const int64_t ptr[2], int64_t v, char *row,
                           struct og_err *err)
{
    int64_t begin = ptr[0];
    int64_t n = ptr[1] - begin;
    char *values = s->raw + (size_t)s->t.columns * 8;
    if (begin < 0 || n < 0 || n > s->t.columns || begin > s->indices.shape[0] - n)
        return og__fail(err, -EINVAL, "indptr, indices and data of one CSR matrix belong together",
                        "%s: row %lld: %lld values from %lld on, of %lld", s->indptr.path,
                        (long long)v, (long long)n, (long long)begin,
                        (long long)s->indices.shape[0]);
    int rc;
    OG_TRY(og__npy_read(&s->indices, begin, n, s->raw, err));
    OG_TRY(og__npy_read(&s->data, begin, n, values, err));
    memset(row, 0, (size_t)s->t.columns * og__npy_size(s->t.type));
    for (int64_t i = 0; i < n; i++) {
        int64_t column = og__integer_at(s->indices.type, s->raw, (size_t)i);
        if (column < 0 || column >= s->t.columns)
            return og__fail(err, -EINVAL, "columns count from 0",
                            "%s: entry %lld: column %lld of %lld", s->indices.path,
                            (long long)(begin + i), (long long)column, (long long)s->t.columns);
        add_value(s, row, column, og__number_at(s->data.type, values, (size_t)i));
    }
    return 0;
out:
    return rc;
}

static int sparse_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                       struct og_err *err)
{
    enum { ROWS = 512 };
    struct sparse_table *s = (struct sparse_table *)t;
    int64_t ptr[ROWS + 1];
    int rc = 0;
    *got = 0;
    while (*got < want) {
        int64_t n = OG_MIN(want - *got, (int64_t)ROWS);
        OG_TRY(og__npy_read_int64(&s->indptr, t->next + *got, n + 1, ptr, err));
        for (int64_t i = 0; i < n; i++, ++*got)
            OG_TRY(read_sparse_row(
                s, ptr + i, t->next + *got,
                (char *)out + (size_t)(*got * t->columns) * og__npy_size(t->type), err));
    }
out:
    return rc;
}

static int sparse_rewind(struct og_table *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static void sparse_close(struct og_table *t)
{
    struct sparse_table *s = (struct sparse_table *)t;
    og__release(s->budget, s->raw, s->bytes, part);
    og__npy_close(&s->indptr);
    og__npy_close(&s->indices);
    og__npy_close(&s->data);
    free(s);
}

static const struct og_table_ops sparse_ops = {sparse_read, sparse_rewind, sparse_close, NULL};

static int open_in(const struct og_importer *imp, const char *name, struct og_npy *a,
                   struct og_err *err)
{
    char *path = og__import_source(imp, name);
    int rc = path ? og__npy_open(a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    free(path);
    return rc;
}

static int check_sparse(const struct sparse_table *s, struct og_err *err)
{
    if (!og__npy_is_integer(s->indptr.type) || !og__npy_is_integer(s->indices.type))
        return og__fail(err, -EINVAL, "store them as int32 or int64",
                        "%s: indptr and indices are whole numbers", s->indptr.path);
    if (s->indptr.shape[0] < 1 || s->indices.shape[1] != 1 || s->data.shape[1] != 1 ||
        s->indices.shape[0] != s->data.shape[0])
        return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                        "%s: %lld indices, %lld values", s->data.path,
                        (long long)s->indices.shape[0], (long long)s->data.shape[0]);
    return 0;
}

/* The rows are all of the values, from the first to the last. */
static int check_ends(const struct sparse_table *s, struct og_err *err)
{
    int64_t first = 0;
    int64_t last = 0;
    int rc;
    OG_TRY(og__npy_read_int64(&s->indptr, 0, 1, &first, err));
    OG_TRY(og__npy_read_int64(&s->indptr, s->indptr.shape[0] - 1, 1, &last, err));
    if (first == 0 && last == s->data.shape[0])
        return rc;
    return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                    "%s: from %lld to %lld, there are %lld values", s->indptr.path,
                    (long long)first, (long long)last, (long long)s->data.shape[0]);
out:
    return rc;
}

/* Width of the matrix: one more than its largest column. */
static int find_columns(struct sparse_table *s, struct og_err *err)
{
    enum { PIECE = 8192 };
    int64_t piece[PIECE];
    int64_t most = -1;
    int rc = 0;
    for (int64_t first = 0, n; first < s->indices.shape[0]; first += n) {
        n = OG_MIN(s->indices.shape[0] - first, (int64_t)PIECE);
        OG_TRY(og__npy_read_int64(&s->indices, first, n, piece, err));
        for (int64_t i = 0; i < n; i++)
            most = OG_MAX(most, piece[i]);
    }
    if (most >= INT32_MAX / 8)
        OG_TRY(og__fail(err, -EINVAL, "columns count from 0", "%s: column %lld", s->indices.path,
                        (long long)most));
out:
    s->t.columns = most + 1;
    return rc;
}

/* The width that <prefix>_shape.npy gives, as of SciPy, if that is there. */
static int take_shape(const struct og_importer *imp, const char *prefix, struct sparse_table *s,
                      struct og_err *err)
{
    char name[OG__NPY_PREFIX + 16];
    struct og_npy shape = {.fd = -1};
    int64_t n[2];
    int rc;
    snprintf(name, sizeof(name), "%s_shape.npy", prefix);
    OG_TRY(og__import_has(imp, name, err));
    if (rc == 0)
        return 0;
    OG_TRY(open_in(imp, name, &shape, err));
    if (!og__npy_is_integer(shape.type) || shape.shape[0] != 2 || shape.shape[1] != 1)
        OG_TRY(og__fail(err, -EINVAL, "it is the rows and columns of the matrix",
                        "%s: two whole numbers expected", shape.path));
    OG_TRY(og__npy_read_int64(&shape, 0, 2, n, err));
    if (n[0] != s->indptr.shape[0] - 1 || n[1] < s->t.columns || n[1] >= INT32_MAX / 8)
        OG_TRY(og__fail(err, -EINVAL, "it is the rows and columns of the matrix",
                        "%s: %lld, %lld, and the arrays have %lld rows and %lld columns or more",
                        shape.path, (long long)n[0], (long long)n[1],
                        (long long)s->indptr.shape[0] - 1, (long long)s->t.columns));
    s->t.columns = n[1];
out:
    og__npy_close(&shape);
    return rc < 0 ? rc : 0;
}

/* <prefix>_indptr.npy and so on. */
static int open_csr(const struct og_importer *imp, const char *prefix, struct sparse_table *s,
                    struct og_err *err)
{
    static const char *const ends[] = {"indptr", "indices", "data"};
    struct og_npy *const arrays[] = {&s->indptr, &s->indices, &s->data};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(ends); i++) {
        char name[OG__NPY_PREFIX + 16];
        snprintf(name, sizeof(name), "%s_%s.npy", prefix, ends[i]);
        OG_TRY(open_in(imp, name, arrays[i], err));
    }
out:
    return rc;
}

int og__npy_sparse(const struct og_importer *imp, const char *prefix, struct og_table **out,
                   struct og_err *err)
{
    int rc = 0;
    *out = NULL;
    struct sparse_table *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    s->t = (struct og_table){.ops = &sparse_ops, .ndim = 2};
    s->budget = imp->budget;
    s->indptr.fd = s->indices.fd = s->data.fd = -1;
    OG_TRY(open_csr(imp, prefix, s, err));
    OG_TRY(check_sparse(s, err));
    s->t.type = is_exact(s->data.type) ? OG__NPY_F32 : OG__NPY_F64;
    OG_TRY(check_ends(s, err));
    OG_TRY(find_columns(s, err));
    OG_TRY(take_shape(imp, prefix, s, err));
    s->t.rows = s->indptr.shape[0] - 1;
    s->bytes = (size_t)OG_MAX(s->t.columns, (int64_t)1) * 16;
    if (!(s->t.name = strdup(s->data.path)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src));
    if (!(s->raw = og__alloc(imp->budget, s->bytes, part, err)))
        OG_TRY(-ENOMEM);
    *out = &s->t;
out:
    if (rc < 0)
        og__table_close(&s->t);
    return rc;
}
