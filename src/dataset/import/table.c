#include "dataset/import/table.h"

#include "base/file.h"
#include "dataset/import/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

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
    t->next += *got;
    return rc;
}

int og__table_take_row(struct og_table *t, int64_t r, struct og_err *err)
{
    int64_t row = (int64_t)og__table_row_bytes(t);
    t->skip += r * row;
    t->offset += r * row;
    t->rows = t->columns;
    t->columns = 1;
    t->ndim = 1;
    return og__table_rewind(t, err);
}

static void *new_table(size_t bytes, const struct og_table_ops *ops, const char *name,
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
    *got = rc == 0 ? want : 0;
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

static const struct og_table_ops file_ops = {file_read, file_rewind, file_close};

static int open_file(struct og_table **out, struct og_npy *a, bool raw, struct og_err *err)
{
    struct file_table *f = new_table(sizeof(*f), &file_ops, a->path, err);
    if (!f) {
        og__npy_close(a);
        return -ENOMEM;
    }
    f->a = *a;
    f->t.type = a->type;
    f->t.ndim = a->ndim;
    f->t.rows = a->shape[0];
    f->t.columns = a->shape[1];
    f->t.path = a->path;
    f->t.offset = a->offset;
    f->t.raw = raw;
    posix_fadvise(a->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *out = &f->t;
    return 0;
}

int og__table_npy(struct og_table **out, const char *path, struct og_err *err)
{
    struct og_npy a;
    *out = NULL;
    int rc = og__npy_open(&a, path, err);
    return rc < 0 ? rc : open_file(out, &a, false, err);
}

int og__table_npy_either(struct og_table **out, const char *path, bool *fortran, struct og_err *err)
{
    struct og_npy a;
    *out = NULL;
    int rc = og__npy_open_either(&a, path, fortran, err);
    return rc < 0 ? rc : open_file(out, &a, false, err);
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
        rc = og__fail(err, -EINVAL, "the file was cut short, or holds something else",
                      "%s: %llu bytes are no whole number of rows of %lld %s", path,
                      (unsigned long long)size, (long long)columns, og__npy_name(type));
    if (rc == 0)
        rc = og__npy_fit(&a, size, path, err);
    if (rc == 0)
        return open_file(out, &a, true, err);
    og__npy_close(&a);
    return rc;
}

int og__is_npy(const char *path, bool *is, struct og_err *err)
{
    struct og_npy a;
    char magic[6] = "";
    uint64_t size = 0;
    int rc = og__npy_open_file(&a, path, &size, err);
    if (rc == 0 && size >= sizeof(magic))
        rc = og__read_all(a.fd, magic, sizeof(magic), 0, path, err);
    *is = rc == 0 && memcmp(magic, "\x93NUMPY", 6) == 0;
    og__npy_close(&a);
    return rc;
}

/* ---- a member of an archive: a stream, so what lies before is read and dropped ---- */

struct zip_table {
    struct og_table t;
    zip_t *archive;
    zip_file_t *member;
    zip_uint64_t index;
    int64_t start; /* of the elements in the member */
    int64_t bytes; /* of the member */
    uint64_t file_bytes;
};

static const char zip_hint[] = "the archive was cut short or damaged: fetch it again";

static int zip_wrong(const struct zip_table *z, struct og_err *err)
{
    zip_error_t *error = z->member ? zip_file_get_error(z->member) : zip_get_error(z->archive);
    bool in_zlib = zip_error_code_zip(error) == ZIP_ER_ZLIB;
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY ||
        (in_zlib && zip_error_code_system(error) == Z_MEM_ERROR))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", z->t.name);
    const char *why = zip_error_strerror(error);
    return og__fail(err, -EINVAL, zip_hint, "%s: row %lld: %s", z->t.name, (long long)z->t.next,
                    why);
}

/* All of `bytes`, or an error: an archive that promises more than it holds. */
static int inflate_all(struct zip_table *z, char *out, uint64_t bytes, struct og_err *err)
{
    while (bytes > 0) {
        zip_int64_t n = zip_fread(z->member, out, OG_MIN(bytes, (uint64_t)1 << 30));
        if (n < 0)
            return zip_wrong(z, err);
        if (n == 0)
            return og__fail(err, -EINVAL, zip_hint, "%s: row %lld: ends early", z->t.name,
                            (long long)z->t.next);
        out += n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* After the last byte the archive's checksum is compared, and only then. */
static int end_member(struct zip_table *z, struct og_err *err)
{
    char more;
    zip_int64_t n = zip_fread(z->member, &more, 1);
    if (n < 0)
        return zip_wrong(z, err);
    return n == 0 ? 0 : og__fail(err, -EINVAL, zip_hint, "%s: longer than it says", z->t.name);
}

static int zip_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct zip_table *z = (struct zip_table *)t;
    int64_t row = (int64_t)og__table_row_bytes(t);
    int rc = inflate_all(z, out, (uint64_t)(want * row), err);
    if (rc == 0 && z->start + t->skip + (t->next + want) * row == z->bytes)
        rc = end_member(z, err);
    *got = rc == 0 ? want : 0;
    return rc;
}

static int reopen_member(struct zip_table *z, struct og_err *err)
{
    if (z->member)
        zip_fclose(z->member);
    z->member = zip_fopen_index(z->archive, z->index, 0);
    return z->member ? 0 : zip_wrong(z, err);
}

static int zip_rewind(struct og_table *t, struct og_err *err)
{
    struct zip_table *z = (struct zip_table *)t;
    char dropped[16 * 1024];
    int rc = reopen_member(z, err);
    for (int64_t left = z->start + t->skip; rc == 0 && left > 0;) {
        int64_t n = OG_MIN(left, (int64_t)sizeof(dropped));
        rc = inflate_all(z, dropped, (uint64_t)n, err);
        left -= n;
    }
    return rc;
}

static void zip_close_table(struct og_table *t)
{
    struct zip_table *z = (struct zip_table *)t;
    if (z->member)
        zip_fclose(z->member);
    if (z->archive)
        zip_discard(z->archive);
    free(z);
}

static const struct og_table_ops zip_ops = {zip_read, zip_rewind, zip_close_table};

/* Deflate makes at most 1032 bytes of one, and none that the archive does not have. */
static bool believable(const struct zip_table *z, const zip_stat_t *st)
{
    return st->comp_size <= z->file_bytes &&
           (st->comp_method == ZIP_CM_STORE ? st->size == st->comp_size
                                            : st->size / 1032 <= st->comp_size);
}

/* Of two members of one name every program takes the one it likes. */
static int find_member(struct zip_table *z, const char *member, struct og_err *err)
{
    zip_int64_t n = zip_get_num_entries(z->archive, 0);
    int found = 0;
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(z->archive, (zip_uint64_t)i, 0);
        if (!name || strcmp(name, member) != 0)
            continue;
        z->index = (zip_uint64_t)i;
        found++;
    }
    if (found == 0)
        return og__fail(err, -ENOENT, "is it the archive that the project publishes?",
                        "%s: not in the archive", z->t.name);
    return found == 1
               ? 0
               : og__fail(err, -EINVAL, zip_hint, "%s: %d members of this name", z->t.name, found);
}

static int check_member(struct zip_table *z, zip_stat_t *st, struct og_err *err)
{
    if (zip_stat_index(z->archive, z->index, 0, st) < 0)
        return zip_wrong(z, err);
    if (st->encryption_method != ZIP_EM_NONE ||
        (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE))
        return og__fail(err, -EINVAL, "write it with numpy.savez or numpy.savez_compressed",
                        "%s: neither stored nor deflated", z->t.name);
    return believable(z, st)
               ? 0
               : og__fail(err, -EINVAL, zip_hint, "%s: %llu bytes from %llu: impossible", z->t.name,
                          (unsigned long long)st->size, (unsigned long long)st->comp_size);
}

static int read_header(struct zip_table *z, const zip_stat_t *st, struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    size_t len = (size_t)OG_MIN(st->size, (zip_uint64_t)OG__NPY_HEAD_MAX);
    char *head = malloc(len + 1);
    int rc = head ? reopen_member(z, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", z->t.name);
    if (rc == 0)
        rc = inflate_all(z, head, len, err);
    if (rc == 0)
        rc = og__npy_parse(&a, head, len, st->size, z->t.name, err);
    free(head);
    z->t.type = a.type;
    z->t.ndim = a.ndim;
    z->t.rows = a.shape[0];
    z->t.columns = a.shape[1];
    z->start = a.offset;
    z->bytes = (int64_t)st->size;
    if (rc == 0 && a.offset + a.bytes != z->bytes)
        rc = og__fail(err, -EINVAL, zip_hint, "%s: %lld bytes, its header promises %lld", z->t.name,
                      (long long)z->bytes, (long long)(a.offset + a.bytes));
    return rc;
}

static int open_archive(struct zip_table *z, const char *path, struct og_err *err)
{
    zip_error_t why;
    int code = 0;
    int fd = og__open_plain(path, &z->file_bytes, err);
    if (fd < 0)
        return fd;
    close(fd);
    if ((z->archive = zip_open(path, ZIP_RDONLY, &code)))
        return 0;
    zip_error_init_with_code(&why, code);
    int rc = code == ZIP_ER_MEMORY
                 ? og__fail_errno(err, -ENOMEM, NULL, "%s", path)
                 : og__fail(err, -EINVAL, zip_hint, "%s: %s", path, zip_error_strerror(&why));
    zip_error_fini(&why);
    return rc;
}

int og__table_zip(struct og_table **out, const char *path, const char *member, struct og_err *err)
{
    zip_stat_t st;
    char *name = NULL;
    int rc = 0;
    *out = NULL;
    if (asprintf(&name, "%s:%s", path, member) < 0)
        name = NULL;
    struct zip_table *z = name ? new_table(sizeof(*z), &zip_ops, name, err) : NULL;
    free(name);
    if (!z)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    OG_TRY(open_archive(z, path, err));
    OG_TRY(find_member(z, member, err));
    OG_TRY(check_member(z, &st, err));
    OG_TRY(read_header(z, &st, err));
    OG_TRY(og__table_rewind(&z->t, err));
    *out = &z->t;
out:
    if (rc < 0)
        og__table_close(&z->t);
    return rc;
}

/* ---- CSV ---- */

struct csv_table {
    struct og_table t;
    struct og_text text;
    const char *at, *end; /* within the present block */
};

static const char csv_hint[] = "numbers with commas between them and no header line are read here";

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\r')
        p++;
    return p;
}

/* One field. What follows it, or NULL. */
static const char *parse_field(const struct csv_table *c, const char *p, void *out)
{
    uint64_t id = 0;
    bool minus = *p == '-';
    if (c->t.type == OG__NPY_F64)
        return og__parse_real(&c->text, p, out);
    p = og__parse_id(p + minus, &id);
    *(int64_t *)out = (int64_t)(minus ? 0 - id : id); /* of what is none, too: then p is NULL */
    return p;
}

static int parse_line(struct csv_table *c, char *out, struct og_err *err)
{
    const char *p = c->at;
    for (int64_t j = 0; j < c->t.columns; j++, out += 8) {
        const char *field = skip_blanks(p);
        p = parse_field(c, field, out);
        if (!p)
            return og__text_wrong(&c->text, field, csv_hint,
                                  c->t.type == OG__NPY_F64 ? "no number" : "no whole number", err);
        p = skip_blanks(p);
        if (*p != (j + 1 < c->t.columns ? ',' : '\n'))
            return og__text_wrong(&c->text, p == c->end ? p - 1 : p, csv_hint,
                                  *p == '\n'  ? "fewer columns than there should be"
                                  : *p == ',' ? "more columns than there should be"
                                              : "something after a number",
                                  err);
        p++;
    }
    c->at = p;
    return 0;
}

static int csv_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct csv_table *c = (struct csv_table *)t;
    size_t row = og__table_row_bytes(t);
    for (*got = 0; *got < want;) {
        if (c->at == c->end) {
            int rc = og__text_block(&c->text, &c->at, &c->end, err);
            if (rc < 0 || !c->at)
                return rc;
        }
        if (*skip_blanks(c->at) == '\n') { /* an empty line */
            c->at = skip_blanks(c->at) + 1;
            continue;
        }
        int rc = parse_line(c, (char *)out + (size_t)*got * row, err);
        if (rc < 0)
            return rc;
        ++*got;
    }
    return 0;
}

static int csv_rewind(struct og_table *t, struct og_err *err)
{
    struct csv_table *c = (struct csv_table *)t;
    c->at = c->end = NULL;
    return og__text_rewind(&c->text, err);
}

static void csv_close(struct og_table *t)
{
    struct csv_table *c = (struct csv_table *)t;
    og__text_close(&c->text);
    free(c);
}

static const struct og_table_ops csv_ops = {csv_read, csv_rewind, csv_close};

static int count_columns(struct csv_table *c, struct og_err *err)
{
    int rc = og__text_block(&c->text, &c->at, &c->end, err);
    c->t.columns = 1;
    for (const char *p = c->at; rc == 0 && p && *p != '\n'; p++)
        c->t.columns += *p == ',';
    return rc < 0 ? rc : og__table_rewind(&c->t, err);
}

int og__table_csv(struct og_table **out, const char *path, enum og__npy_type type, int64_t columns,
                  struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct csv_table *c = new_table(sizeof(*c), &csv_ops, path, err);
    if (!c)
        return -ENOMEM;
    c->t.type = type;
    c->t.rows = -1;
    c->t.columns = columns;
    int rc = og__text_open(&c->text, path, b, err);
    if (rc == 0 && columns == 0)
        rc = count_columns(c, err);
    c->t.ndim = c->t.columns > 1 ? 2 : 1;
    if (rc < 0)
        og__table_close(&c->t);
    else
        *out = &c->t;
    return rc;
}
