#include "infer/step_files.h"

#include "base/file.h"
#include "dataset/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- names ---- */

int og__step_files_one(struct og_step_files *out, const char *path, struct og_err *err)
{
    *out = (struct og_step_files){0};
    return og__places_copy(&out->at, OG__ONE_PLACE(path), err);
}

int og__step_files_name(struct og_step_files *out, struct og_places folders, const char *name,
                        size_t row_bytes, struct og_err *err)
{
    *out = (struct og_step_files){0};
    if (folders.n > 1)
        out->stripes = (struct og_stripes){folders.n, og__stripe_unit(row_bytes)};
    return og__places_in(&out->at, folders, name, err);
}

void og__step_files_free(struct og_step_files *s)
{
    og__places_free(&s->at);
    *s = (struct og_step_files){0};
}

void og__step_files_remove(const struct og_step_files *s)
{
    for (uint32_t i = 0; i < s->at.n; i++)
        unlink(s->at.path[i]);
}

/* ---- reading ---- */

int og__step_reader_open(struct og_step_reader *r, const struct og_step_files *s, size_t row_bytes,
                         struct og_err *err)
{
    *r = (struct og_step_reader){.files = s, .row = row_bytes};
    for (uint32_t i = 0; i < s->at.n; i++)
        r->fd[i] = -1;
    for (uint32_t i = 0; i < s->at.n; i++) {
        r->fd[i] = open(s->at.path[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        OG_DO(r->fd[i] < 0 ? og__fail_errno(err, -errno, NULL, "%s", s->at.path[i]) : 0);
    }
    return 0;
}

void og__step_reader_close(struct og_step_reader *r)
{
    for (uint32_t i = 0; r->files && i < r->files->at.n; i++)
        if (r->fd[i] >= 0)
            close(r->fd[i]);
    *r = (struct og_step_reader){0};
}

/* Bytes from `at` on that are in one unit. */
static size_t in_a_unit(const struct og_unit *u, size_t row, uint64_t at, size_t n)
{
    return u->end == UINT64_MAX ? n : (size_t)OG_MIN((uint64_t)n, u->end * row - at);
}

int og__step_reader_read(const struct og_step_reader *r, uint64_t at, size_t n, void *out,
                         struct og_err *err)
{
    char *to = out;
    while (n > 0) {
        const struct og_unit u = og__unit_of(&r->files->stripes, at / r->row);
        const size_t k = in_a_unit(&u, r->row, at, n);
        const uint64_t within = u.at * r->row + (at - u.first * r->row);
        const off_t from = (off_t)(OG__MATRIX_OFFSET + within);
        OG_DO(og__read_all(r->fd[u.part], to, k, from, r->files->at.path[u.part], err));
        posix_fadvise(r->fd[u.part], from, (off_t)k, POSIX_FADV_DONTNEED);
        to += k;
        at += k;
        n -= k;
    }
    return 0;
}

/* ---- writing ---- */

struct og_step_writer {
    struct og_stripes stripes;
    uint64_t rows; /* in the files */
    size_t row;    /* floats */
    uint32_t n;
    struct og_npy_writer *part[]; /* [n] */
};

size_t og__step_writer_extra_bytes(uint32_t folders)
{
    return (OG_MAX(folders, 1u) - 1) * (size_t)OG__NPY_BUFFER;
}

static struct og_step_writer *new_writer(uint32_t n, uint64_t rows, int64_t cols,
                                         struct og_err *err)
{
    struct og_step_writer *w = calloc(1, sizeof(*w) + n * sizeof(w->part[0]));
    if (!w) {
        (void)og__fail_errno(err, -ENOMEM, NULL, "inference");
        return NULL;
    }
    w->rows = rows;
    w->row = (size_t)cols;
    return w;
}

int og__step_writer_open(struct og_step_writer **out, const struct og_step_files *s, uint64_t rows,
                         int64_t cols, struct og_err *err)
{
    struct og_step_writer *w = *out = new_writer(s->at.n, rows, cols, err);
    OG_DO(w ? 0 : -ENOMEM);
    w->stripes = s->stripes;
    for (; w->n < s->at.n; w->n++) {
        const char *path = s->at.path[w->n];
        const int64_t there = (int64_t)og__part_rows(&s->stripes, w->n, rows);
        if (rows == 0)
            unlink(path); /* of a killed run without a state */
        OG_DO(rows > 0 ? og__npy_reopen(&w->part[w->n], path, OG__NPY_F32, there, cols, err)
                       : og__npy_create(&w->part[w->n], path, OG__NPY_F32, 2, cols, err));
    }
    return 0;
}

int og__step_writer_over(struct og_step_writer **out, int fd, const char *path, uint64_t rows,
                         int64_t cols, struct og_err *err)
{
    struct og_step_writer *w = *out = new_writer(1, rows, cols, err);
    if (!w)
        return -ENOMEM;
    int rc = og__npy_over(&w->part[0], fd, path, OG__NPY_F32, (int64_t)rows, cols, err);
    w->n = rc == 0;
    return rc;
}

int og__step_writer_append(struct og_step_writer *w, const float *rows, uint32_t n,
                           struct og_err *err)
{
    while (n > 0) {
        const struct og_unit u = og__unit_of(&w->stripes, w->rows);
        const uint64_t k = OG_MIN((uint64_t)n, u.end - w->rows);
        OG_DO(og__npy_append(w->part[u.part], rows, (int64_t)k, err));
        rows += k * w->row;
        w->rows += k;
        n -= (uint32_t)k;
    }
    return 0;
}

int og__step_writer_sync(struct og_step_writer *w, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < w->n; i++)
        rc = og__npy_sync(w->part[i], err);
    return rc;
}

int og__step_writer_end(struct og_step_writer *w, int rc, struct og_err *err)
{
    for (uint32_t i = 0; w && i < w->n; i++) {
        if (rc >= 0)
            rc = og__npy_finish(w->part[i], NULL, err);
        else
            og__npy_discard(w->part[i]);
    }
    free(w);
    return rc;
}
