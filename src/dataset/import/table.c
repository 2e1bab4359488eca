/* Functions of all tables; tables of .npy and headerless files. */
#include "dataset/import/table.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "import";

/* ---- any ---- */

void og__table_close(struct og_table *t)
{
    if (!t)
        return;
    free(t->name);
    t->ops->close(t);
}

int og__table_rewind(struct og_table *t, struct og_err *err)
{
    t->next = 0;
    return t->ops->rewind(t, err);
}

int og__table_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    if (t->rows >= 0)
        want = OG_MIN(want, t->rows - t->next);
    *got = 0;
    int rc = want > 0 ? t->ops->read(t, out, want, got, err) : 0;
    if (t->swapped)
        og__npy_swap(t->type, out, (size_t)(*got * t->columns));
    t->next += *got;
    return rc;
}

void *og__table_new(size_t bytes, const struct og_table_ops *ops, const char *name,
                    struct og_err *err)
{
    struct og_table *t = calloc(1, bytes);
    if (t)
        *t = (struct og_table){.ops = ops, .name = strdup(name)};
    if (t && t->name)
        return t;
    free(t);
    og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    return NULL;
}

struct og_table_place og__table_place(const struct og_table *t, int64_t row, int64_t column)
{
    const bool by_id = t->ops->id_of && !t->moved;
    struct og_table_place p;
    struct og_id_text id;
    snprintf(id.text, sizeof(id.text), "%lld", (long long)row);
    if (t->ops->id_of)
        t->ops->id_of(t, row, &id);
    int n = snprintf(p.text, sizeof(p.text), "%s %s", by_id ? "id" : "row", id.text);
    if (column >= 0)
        snprintf(p.text + n, sizeof(p.text) - (size_t)n, ", column %lld",
                 (long long)(by_id ? column + 2 : column));
    return p;
}

/* ---- pieces ---- */

int og__piece_take(struct og_piece *p, struct og_table *t, struct og_budget *b, struct og_err *err)
{
    enum { PIECE_BYTES = 4 * 1024 * 1024 };
    size_t row = OG_MAX(og__table_row_bytes(t), (size_t)1);
    *p = (struct og_piece){.t = t, .budget = b};
    p->room = OG_MAX((int64_t)(PIECE_BYTES / row), (int64_t)1);
    p->bytes = (size_t)p->room * row;
    p->raw = og__alloc(b, p->bytes, part, err);
    return p->raw ? 0 : -ENOMEM;
}

void og__piece_give(struct og_piece *p)
{
    og__release(p->budget, p->raw, p->bytes, part);
    *p = (struct og_piece){0};
}

/* ---- a .npy file, or a headerless one ---- */

struct file_table {
    struct og_table t;
    struct og_npy a;
};

static int file_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    const struct og_npy *a = &((struct file_table *)t)->a;
    size_t row = og__table_row_bytes(t);
    off_t at = (off_t)(a->offset + t->skip + t->next * (int64_t)row);
    int rc = og__read_all(a->fd, out, (size_t)want * row, at, a->path, err);
    posix_fadvise(a->fd, at, (off_t)((size_t)want * row), POSIX_FADV_DONTNEED);
    *got = rc < 0 ? 0 : want;
    return rc;
}

static int file_rewind(struct og_table *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static void file_close(struct og_table *t)
{
    og__npy_close(&((struct file_table *)t)->a);
    free(t);
}

static const struct og_table_ops file_ops = {file_read, file_rewind, file_close, NULL};

/* ---- a .npy file in Fortran order: its columns are read side by side ---- */

struct column_table {
    struct file_table f;
    int64_t row, step;      /* of one row alone: which, and how many elements a column has */
    char column[64 * 1024]; /* rows of one */
};

static int columns_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                        struct og_err *err)
{
    struct column_table *c = (struct column_table *)t;
    const struct og_npy *a = &c->f.a;
    const int64_t size = (int64_t)og__npy_size(t->type);
    char *to = out;
    for (int64_t n; *got < want; *got += n, to += n * t->columns * size) {
        n = OG_MIN(want - *got, (int64_t)sizeof(c->column) / size);
        for (int64_t j = 0; j < t->columns; j++) {
            const off_t at = (off_t)(a->offset + (j * t->rows + t->next + *got) * size);
            OG_DO(og__read_all(a->fd, c->column, (size_t)(n * size), at, a->path, err));
            for (int64_t i = 0; i < n; i++)
                memcpy(to + (i * t->columns + j) * size, c->column + i * size, (size_t)size);
        }
    }
    return 0;
}

static const struct og_table_ops columns_ops = {columns_read, file_rewind, file_close, NULL};

/* Reads one element of each column. */
static int row_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct column_table *c = (struct column_table *)t;
    const struct og_npy *a = &c->f.a;
    const int64_t size = (int64_t)og__npy_size(t->type);
    const int64_t most = ((int64_t)sizeof(c->column) / size - 1) / c->step + 1;
    for (int64_t n; *got < want; *got += n) {
        n = OG_MIN(want - *got, most);
        const off_t at = (off_t)(a->offset + ((t->next + *got) * c->step + c->row) * size);
        OG_DO(og__read_all(a->fd, c->column, (size_t)(((n - 1) * c->step + 1) * size), at, a->path,
                           err));
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)out + (*got + i) * size, c->column + i * c->step * size, (size_t)size);
    }
    return 0;
}

static const struct og_table_ops row_ops = {row_read, file_rewind, file_close, NULL};

int og__table_take_row(struct og_table *t, int64_t r, struct og_err *err)
{
    const int64_t row = (int64_t)og__table_row_bytes(t);
    if (t->ops == &columns_ops) {
        struct column_table *c = (struct column_table *)t;
        c->row = r;
        c->step = t->rows;
        t->ops = &row_ops;
    } else {
        t->skip += r * row;
        t->offset += r * row;
    }
    t->rows = t->columns;
    t->columns = 1;
    t->ndim = 1;
    return og__table_rewind(t, err);
}

/* Turns a table of the transpose round. */
static int read_by_columns(struct og_table **out, struct og_err *err)
{
    struct file_table *stored = (struct file_table *)*out;
    struct column_table *c = og__table_new(sizeof(*c), &columns_ops, stored->t.name, err);
    *out = NULL;
    if (!c) {
        og__table_close(&stored->t);
        return -ENOMEM;
    }
    char *name = c->f.t.name;
    c->f.t = stored->t;
    c->f.t.ops = &columns_ops;
    c->f.t.name = name;
    c->f.t.rows = stored->t.columns;
    c->f.t.columns = stored->t.rows;
    c->f.t.path = NULL;
    c->f.a = stored->a;
    free(stored->t.name);
    free(stored);
    *out = &c->f.t;
    return 0;
}

/* ---- opening ---- */

static int open_file(struct og_table **out, struct og_npy *a, bool raw, bool swapped,
                     struct og_err *err)
{
    struct file_table *f = og__table_new(sizeof(*f), &file_ops, a->path, err);
    if (!f) {
        og__npy_close(a);
        return -ENOMEM;
    }
    f->a = *a;
    f->t.type = a->type;
    f->t.ndim = a->ndim;
    f->t.rows = a->shape[0];
    f->t.columns = a->shape[1];
    f->t.path = swapped ? NULL : a->path;
    f->t.offset = a->offset;
    f->t.raw = raw;
    f->t.swapped = swapped;
    posix_fadvise(a->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *out = &f->t;
    return 0;
}

int og__table_npy_as_stored(struct og_table **out, const char *path, bool *columns,
                            struct og_err *err)
{
    struct og_npy a;
    struct og_npy_order order;
    *out = NULL;
    OG_DO(og__npy_open_any(&a, path, &order, err));
    *columns = order.columns;
    return open_file(out, &a, false, order.swapped, err);
}

int og__table_npy(struct og_table **out, const char *path, struct og_err *err)
{
    bool columns = false;
    int rc = og__table_npy_as_stored(out, path, &columns, err);
    return rc < 0 || !columns ? rc : read_by_columns(out, err);
}

int og__table_npy_pairs(struct og_table **out, const char *path, struct og_err *err)
{
    bool columns = false;
    const int rc = og__table_npy_as_stored(out, path, &columns, err);
    if (rc < 0)
        return rc;
    const struct og_table *t = *out; /* two stored rows are sources and destinations */
    const bool in_rows = t->ndim == 2 && t->rows != t->columns && (t->rows == 2 || t->columns == 2);
    return (in_rows ? t->rows == 2 : columns) ? read_by_columns(out, err) : 0;
}

int og__table_raw(struct og_table **out, const char *path, enum og__npy_type type, int64_t columns,
                  struct og_err *err)
{
    struct og_npy a;
    uint64_t size = 0;
    uint64_t row = (uint64_t)columns * og__npy_size(type);
    *out = NULL;
    int rc = og__npy_open_file(&a, path, &size, err);
    if (rc < 0)
        return rc;
    a.type = type;
    a.ndim = columns > 1 ? 2 : 1;
    a.shape[0] = (int64_t)(size / row);
    a.shape[1] = columns;
    if (size % row != 0)
        OG_TRY(og__fail(err, -EINVAL, "the file was cut short, or holds something else",
                        "%s: %llu bytes are no whole number of rows of %lld %s", path,
                        (unsigned long long)size, (long long)columns, og__npy_name(type)));
    OG_TRY(og__npy_fit(&a, size, path, err));
    return open_file(out, &a, true, false, err);
out:
    og__npy_close(&a);
    return rc;
}

int og__is_npy(const char *path, bool *is, struct og_err *err)
{
    struct og_npy a;
    char magic[6] = "";
    uint64_t size = 0;
    int rc;
    OG_TRY(og__npy_open_file(&a, path, &size, err));
    if (size >= sizeof(magic))
        OG_TRY(og__read_all(a.fd, magic, sizeof(magic), 0, path, err));
out:
    *is = rc >= 0 && memcmp(magic, "\x93NUMPY", 6) == 0;
    og__npy_close(&a);
    return rc;
}
