/* Sequential reading.
 *
 * With O_DIRECT, bytes arrive at their destination and the page cache is unaffected. If a file or
 * its alignment refuses that, reads are buffered and their pages dropped.
 *
 *   file:  | header 4096 | chunk | chunk | ... | tail |      direct: whole blocks;  tail: buffered
 *   memory:              | chunk | chunk | ... | tail |      or one chunk, used again */
#include "dataset/stream.h"

#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static const char again_hint[] = "the dataset is damaged: see `outgrow verify`, or import it again";

/* ---- reading ---- */

struct stream {
    const struct og_npy *array;
    int direct; /* a second descriptor, or -1 */
};

/* Direct reads want file, memory and length on blocks; the caller's start always is. */
static int read_chunk(struct stream *s, char *out, int64_t at, size_t bytes, struct og_err *err)
{
    const struct og_npy *a = s->array;
    size_t whole = bytes / BLOCK * BLOCK;
    if (s->direct >= 0 && whole > 0) {
        ssize_t n = pread(s->direct, out, whole, a->offset + at);
        if (n > 0 && n % BLOCK == 0) {
            og__count_reads(1, (uint64_t)n);
            out += n;
            at += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno != EINTR) { /* refused here: go on buffered */
            close(s->direct);
            s->direct = -1;
        }
    }
    int rc = og__read_all(a->fd, out, bytes, a->offset + at, a->path, err);
    if (s->direct < 0)
        posix_fadvise(a->fd, a->offset + at, (off_t)bytes, POSIX_FADV_DONTNEED);
    return rc;
}

/* Chunk k lands at out + k * step: the array's place in memory, or always the same one. */
static int read_array(const struct og_npy *a, char *out, int64_t step, og_chunk_fn *fn, void *arg,
                      struct og_err *err)
{
    struct stream s = {a, -1};
    bool aligned = a->offset % BLOCK == 0 && (uintptr_t)out % BLOCK == 0;
    if (aligned && a->bytes >= OG__CHUNK)
        s.direct = open(a->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (s.direct < 0)
        posix_fadvise(a->fd, a->offset, a->bytes, POSIX_FADV_SEQUENTIAL);
    int rc = 0;
    for (int64_t at = 0; at < a->bytes; at += OG__CHUNK, out += step) {
        size_t bytes = (size_t)OG_MIN(a->bytes - at, (int64_t)OG__CHUNK);
        OG_TRY(read_chunk(&s, out, at, bytes, err));
        OG_TRY(fn(arg, out, at, bytes, err));
    }
out:
    if (s.direct >= 0)
        close(s.direct);
    return rc;
}

int og__npy_load(const struct og_npy *a, void *out, og_chunk_fn *fn, void *arg, struct og_err *err)
{
    return read_array(a, out, OG__CHUNK, fn, arg, err);
}

int og__npy_stream(const struct og_npy *a, void *buffer, og_chunk_fn *fn, void *arg,
                   struct og_err *err)
{
    return read_array(a, buffer, 0, fn, arg, err);
}

/* ---- checking ---- */

int og__check_indptr(struct og_indptr_check *c, const int64_t *p, int64_t first, size_t n,
                     struct og_err *err)
{
    int64_t last = c->last;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < last || p[i] > c->of->n_edges || (first + (int64_t)i == 0 && p[i] != 0))
            return og__fail(err, -EINVAL, again_hint,
                            "%s: entry %lld: %lld, after %lld, of %lld edges", c->of->indptr.path,
                            (long long)(first + (int64_t)i), (long long)p[i], (long long)last,
                            (long long)c->of->n_edges);
        last = p[i];
    }
    c->last = last;
    return 0;
}

int og__check_indptr_end(const struct og_indptr_check *c, struct og_err *err)
{
    if (c->last == c->of->n_edges)
        return 0;
    return og__fail(err, -EINVAL, again_hint, "%s: ends at %lld, there are %lld edges",
                    c->of->indptr.path, (long long)c->last, (long long)c->of->n_edges);
}

int og__bad_list(const struct og_relation *r, int64_t node, int64_t begin, int64_t end,
                 struct og_err *err)
{
    return og__fail(
        err, -EINVAL, again_hint, "%s: the list of node %lld goes from %lld to %lld, of %lld edges",
        r->indptr.path, (long long)node, (long long)begin, (long long)end, (long long)r->n_edges);
}

int og__bad_index(const struct og_relation *r, int64_t edge, int64_t id, struct og_err *err)
{
    return og__fail(err, -EINVAL, again_hint, "%s: entry %lld: node %lld, the graph has %lld nodes",
                    r->indices.path, (long long)edge, (long long)id, (long long)r->n_sources);
}

int og__read_indices(const struct og_relation *r, int64_t first, int64_t n, int64_t *out,
                     struct og_err *err)
{
    int rc = og__npy_read_int64(&r->indices, first, n, out, err);
    for (int64_t i = 0; rc == 0 && i < n; i++)
        if (out[i] < 0 || out[i] >= r->n_sources)
            rc = og__bad_index(r, first + i, out[i], err);
    return rc;
}

/* The maximum as unsigned (negative ids become large): it vectorises. Only a violation needs a
 * search for the element. */
OG_CLONES static uint32_t largest32(const uint32_t *p, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = OG_MAX(most, p[i]);
    return most;
}

OG_CLONES static uint64_t largest64(const uint64_t *p, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = OG_MAX(most, p[i]);
    return most;
}

bool og__ids_below(const uint32_t *ids, size_t n, uint64_t limit)
{
    return n == 0 || largest32(ids, n) < limit;
}

static int check_indices32(const struct og_relation *r, const int32_t *p, int64_t first, size_t n,
                           struct og_err *err)
{
    uint64_t limit = (uint64_t)r->n_sources;
    if (largest32((const uint32_t *)p, n) < limit)
        return 0;
    size_t i = 0;
    while ((uint32_t)p[i] < limit)
        i++;
    return og__bad_index(r, first + (int64_t)i, p[i], err);
}

static int check_indices64(const struct og_relation *r, const int64_t *p, int64_t first, size_t n,
                           struct og_err *err)
{
    uint64_t limit = (uint64_t)r->n_sources;
    if (largest64((const uint64_t *)p, n) < limit)
        return 0;
    size_t i = 0;
    while ((uint64_t)p[i] < limit)
        i++;
    return og__bad_index(r, first + (int64_t)i, p[i], err);
}

int og__check_indices(void *relation, const void *data, int64_t first_byte, size_t bytes,
                      struct og_err *err)
{
    const struct og_relation *r = relation;
    if (r->indices.type == OG__NPY_I32)
        return check_indices32(r, data, first_byte / 4, bytes / 4, err);
    return check_indices64(r, data, first_byte / 8, bytes / 8, err);
}
