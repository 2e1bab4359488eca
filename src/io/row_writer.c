#include "io/row_writer.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256 * 1024 };
static const char part[] = "read buffers";

size_t og__row_writer_bytes(size_t row_bytes)
{
    return OG_MAX((size_t)MOST, row_bytes);
}

int og__row_writer_open(struct og_row_writer *w, const char *path, uint64_t offset,
                        size_t row_bytes, struct og_budget *b, struct og_err *err)
{
    *w = (struct og_row_writer){
        .fd = -1, .path = path, .offset = offset, .row_bytes = row_bytes, .budget = b};
    w->buffer = og__alloc(b, og__row_writer_bytes(row_bytes), part, err);
    if (!w->buffer)
        return -ENOMEM;
    w->fd = open(path, O_RDWR | O_CLOEXEC);
    return w->fd >= 0 ? 0 : og__fail_errno(err, -errno, NULL, "%s: cannot open", path);
}

void og__row_writer_close(struct og_row_writer *w)
{
    if (!w->buffer)
        return;
    if (w->fd >= 0)
        close(w->fd);
    og__release(w->budget, w->buffer, og__row_writer_bytes(w->row_bytes), part);
    *w = (struct og_row_writer){.fd = -1};
}

/* Rows of one request, from the first of n on. */
static size_t run_of(size_t row_bytes, const uint32_t *rows, size_t n)
{
    const size_t most = OG_MAX(MOST / row_bytes, (size_t)1);
    size_t k = 1;
    while (k < n && k < most && rows[k] == rows[0] + k)
        k++;
    return k;
}

static off_t place_of(const struct og_row_writer *w, uint64_t row)
{
    return (off_t)(w->offset + row * w->row_bytes);
}

int og__row_writer_write(struct og_row_writer *w, const uint32_t *rows, size_t n,
                         const char *(*from)(void *arg, size_t i), void *arg,
                         struct og_io_counts *written, struct og_err *err)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = run_of(w->row_bytes, rows + i, n - i);
        const char *data = from(arg, i);
        for (size_t j = 0; k > 1 && j < k; j++)
            memcpy(w->buffer + j * w->row_bytes, from(arg, i + j), w->row_bytes);
        OG_DO(og__write_all(w->fd, k > 1 ? w->buffer : data, k * w->row_bytes, place_of(w, rows[i]),
                            w->path, err));
        written->reads++;
        written->bytes += k * w->row_bytes;
    }
    return 0;
}

void og__row_writer_prepare(const struct og_row_writer *w, const uint32_t *rows, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = run_of(w->row_bytes, rows + i, n - i);
        const off_t first = place_of(w, rows[i]), last = first + (off_t)(k * w->row_bytes) - 1;
        (void)posix_fadvise(w->fd, first, 1, POSIX_FADV_WILLNEED);
        (void)posix_fadvise(w->fd, last, 1, POSIX_FADV_WILLNEED);
    }
}

int og__row_writer_put(struct og_row_writer *w, uint64_t first, size_t n, const void *from,
                       struct og_err *err)
{
    return og__write_all(w->fd, from, n * w->row_bytes, place_of(w, first), w->path, err);
}

struct og_io_counts og__row_writer_predict(size_t row_bytes, const uint32_t *rows, size_t n)
{
    struct og_io_counts c = {0, n * row_bytes};
    for (size_t i = 0; i < n; i += run_of(row_bytes, rows + i, n - i))
        c.reads++;
    return c;
}

int og__row_writer_get(const struct og_row_writer *w, uint64_t first, size_t n, void *out,
                       struct og_err *err)
{
    return og__read_all(w->fd, out, n * w->row_bytes, place_of(w, first), w->path, err);
}

int og__row_writer_read(const struct og_row_writer *w, const uint32_t *rows, size_t n,
                        char *(*to)(void *arg, size_t i), void *arg, struct og_io_counts *read,
                        struct og_err *err)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = run_of(w->row_bytes, rows + i, n - i);
        OG_DO(og__row_writer_get(w, rows[i], k, to(arg, i), err));
        read->reads++;
        read->bytes += k * w->row_bytes;
    }
    return 0;
}
