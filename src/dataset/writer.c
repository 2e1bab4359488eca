/* Writes one .npy file, front to back.
 *
 *   | header 4096 | data ........ | window being written | window flushed before it |
 *
 * Data goes through one buffer to the page cache. Pages of the previous window are flushed and
 * dropped. So a large file neither fills memory with dirty pages nor evicts others' pages. The
 * header is completed at the end, and the checksum is computed from the file on disk. */
#include "dataset/writer.h"

#include "base/hex.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEADER = OG__NPY_HEADER, BUFFER = OG__NPY_BUFFER, WINDOW = 8 * 1024 * 1024 };

struct og_npy_writer {
    int fd;
    char *path;
    enum og__npy_type type;
    int ndim;
    int64_t row; /* elements a row */
    int64_t rows;
    size_t row_bytes;
    off_t written, flushed; /* of the file */
    size_t filled;
    char buffer[];
};

static const char full_hint[] = "free space on that disk, or write to another one";

/* fd: the file, which is made or opened by name where that is negative. */
static int open_writer(struct og_npy_writer **out, int fd, const char *path, enum og__npy_type type,
                       int ndim, int64_t row, int flags, struct og_err *err)
{
    *out = NULL;
    struct og_npy_writer *w = malloc(sizeof(*w) + BUFFER);
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    *w = (struct og_npy_writer){.fd = -1,
                                .path = strdup(path),
                                .type = type,
                                .ndim = ndim,
                                .row = ndim == 1 ? 1 : row,
                                .written = HEADER,
                                .flushed = HEADER};
    w->row_bytes = (size_t)w->row * og__npy_size(type);
    int rc = 0;
    if (!w->path)
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    else if ((w->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                              : open(path, O_RDWR | flags | O_CLOEXEC | O_NOFOLLOW, 0666)) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot %s", path, flags ? "create" : "open");
    if (rc < 0)
        og__npy_discard(w);
    else
        *out = w;
    return rc;
}

int og__npy_create(struct og_npy_writer **out, const char *path, enum og__npy_type type, int ndim,
                   int64_t row, struct og_err *err)
{
    return open_writer(out, -1, path, type, ndim, row, O_CREAT | O_EXCL, err);
}

int og__npy_over(struct og_npy_writer **out, int fd, const char *path, enum og__npy_type type,
                 int64_t rows, int64_t row, struct og_err *err)
{
    int rc = open_writer(out, fd, path, type, 2, row, 0, err);
    if (rc < 0)
        return rc;
    struct og_npy_writer *w = *out;
    w->rows = rows;
    w->written = w->flushed = (off_t)og__npy_bytes(w);
    if (ftruncate(w->fd, w->written) == 0)
        return 0;
    rc = og__fail_errno(err, -errno, NULL, "%s: cannot cut", path);
    og__npy_discard(w);
    *out = NULL;
    return rc;
}

int og__npy_reopen(struct og_npy_writer **out, const char *path, enum og__npy_type type,
                   int64_t rows, int64_t row, struct og_err *err)
{
    return og__npy_over(out, -1, path, type, rows, row, err);
}

/* Start writing back what was just written; wait for the window before it and let it go. */
static void push_behind(struct og_npy_writer *w)
{
    while (w->written - w->flushed >= 2 * WINDOW) {
        sync_file_range(w->fd, w->flushed + WINDOW, WINDOW, SYNC_FILE_RANGE_WRITE);
        sync_file_range(w->fd, w->flushed, WINDOW,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                            SYNC_FILE_RANGE_WAIT_AFTER);
        posix_fadvise(w->fd, w->flushed, WINDOW, POSIX_FADV_DONTNEED);
        w->flushed += WINDOW;
    }
}

static int put(struct og_npy_writer *w, const void *data, size_t bytes, struct og_err *err)
{
    int rc = og__write_all(w->fd, data, bytes, w->written, w->path, err);
    w->written += (off_t)bytes;
    push_behind(w);
    return rc;
}

static int flush_buffer(struct og_npy_writer *w, struct og_err *err)
{
    int rc = put(w, w->buffer, w->filled, err);
    w->filled = 0;
    return rc;
}

int og__npy_append(struct og_npy_writer *w, const void *data, int64_t rows, struct og_err *err)
{
    size_t bytes = (size_t)rows * w->row_bytes;
    int rc = 0;
    w->rows += rows;
    if (w->filled + bytes > BUFFER)
        rc = flush_buffer(w, err);
    if (rc < 0 || bytes == 0)
        return rc;
    if (bytes >= BUFFER)
        return put(w, data, bytes, err);
    memcpy(w->buffer + w->filled, data, bytes);
    w->filled += bytes;
    return 0;
}

int64_t og__npy_rows(const struct og_npy_writer *w)
{
    return w->rows;
}

const char *og__npy_path(const struct og_npy_writer *w)
{
    return w->path;
}

uint64_t og__npy_bytes(const struct og_npy_writer *w)
{
    return HEADER + (uint64_t)w->rows * w->row_bytes;
}

void og__npy_reshape(struct og_npy_writer *w, int64_t rows, int64_t row)
{
    w->ndim = 2;
    w->rows = rows;
    w->row = row;
}

static int checksum_of(struct og_npy_writer *w, uint64_t *checksum, struct og_err *err)
{
    XXH3_state_t *state = XXH3_createState();
    int rc;
    OG_TRY(state ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", w->path));
    XXH3_64bits_reset(state);
    posix_fadvise(w->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (off_t at = 0; at < w->written; at += BUFFER) {
        size_t bytes = (size_t)OG_MIN(w->written - at, (off_t)BUFFER);
        OG_TRY(og__read_all(w->fd, w->buffer, bytes, at, w->path, err));
        XXH3_64bits_update(state, w->buffer, bytes);
        posix_fadvise(w->fd, at, (off_t)bytes, POSIX_FADV_DONTNEED);
    }
    *checksum = XXH3_64bits_digest(state);
out:
    XXH3_freeState(state);
    return rc;
}

int og__npy_sync(struct og_npy_writer *w, struct og_err *err)
{
    OG_DO(flush_buffer(w, err));
    if (fsync(w->fd) < 0)
        return og__fail_errno(err, -errno, full_hint, "%s: cannot flush", w->path);
    return 0;
}

int og__npy_finish(struct og_npy_writer *w, uint64_t *checksum, struct og_err *err)
{
    char header[HEADER] = {0};
    const int64_t shape[2] = {w->rows, w->row};
    int rc;
    OG_TRY(flush_buffer(w, err));
    size_t bytes = og__npy_header(header, w->type, w->ndim, shape, HEADER);
    OG_TRY(og__write_all(w->fd, header, bytes, 0, w->path, err));
    if (fsync(w->fd) < 0)
        OG_TRY(og__fail_errno(err, -errno, full_hint, "%s: cannot flush", w->path));
    if (checksum)
        OG_TRY(checksum_of(w, checksum, err));
out:
    og__npy_discard(w);
    return rc;
}

void og__npy_discard(struct og_npy_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    free(w);
}

int og__npy_repeat(struct og_npy_writer *w, uint16_t number, int64_t n, struct og_err *err)
{
    enum { PIECE = 4096 };
    uint16_t piece[PIECE];
    for (size_t i = 0; i < PIECE; i++)
        piece[i] = w->type == OG__NPY_U8 ? (uint16_t)(number << 8 | number) : number;
    for (int64_t at = 0, some; at < n; at += some) {
        some = OG_MIN(n - at, (int64_t)PIECE);
        OG_DO(og__npy_append(w, piece, some, err));
    }
    return 0;
}

int og__array_create(struct og_npy_writer **w, const char *folder, const char *name,
                     enum og__npy_type type, int ndim, int64_t row, struct og_err *err)
{
    char *path = og__path_join(folder, name);
    int rc = path ? og__npy_create(w, path, type, ndim, row, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

int og__array_finish(struct og_npy_writer **w, const char *name, json_t *checksums,
                     struct og_err *err)
{
    struct og_npy_writer *done = *w;
    uint64_t checksum;
    *w = NULL; /* closed, whether it can be finished or not */
    if (!done)
        return 0;
    const int rc = og__npy_finish(done, checksums ? &checksum : NULL, err);
    if (rc < 0 || !checksums || json_object_set_new(checksums, name, og__json_hex(checksum)) == 0)
        return rc;
    return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
}
