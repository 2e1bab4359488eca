/* The graph's structure in memory, or mapped.
 *
 * Loading is one front-to-back pass over two files. With O_DIRECT the bytes land where they stay
 * and the page cache keeps its pages; where a file or its alignment refuses, reads are buffered
 * and the pages dropped behind. Each chunk is checked while it is still in the processor's cache.
 *
 *   file:  | header 4096 | chunk | chunk | ... | tail |      direct: whole blocks;  tail: buffered
 *   memory:              | chunk | chunk | ... | tail | */
#include "dataset/dataset.h"

#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 4096, CHUNK = 4 * 1024 * 1024 };

static const char part[] = "topology";
static const char again_hint[] = "the dataset is damaged: see `outgrow verify`, or import it again";

/* ---- reading ---- */

/* Called for each chunk as it arrives. */
typedef int check_fn(void *arg, const void *data, int64_t first_byte, size_t bytes,
                     struct og_err *err);

struct stream {
    const struct og_npy *array;
    int direct; /* a second descriptor, or -1 */
    char *out;
};

/* Direct reads want file, memory and length on blocks; the caller's start always is. */
static int read_chunk(struct stream *s, int64_t at, size_t bytes, struct og_err *err)
{
    const struct og_npy *a = s->array;
    size_t whole = bytes / BLOCK * BLOCK;
    if (s->direct >= 0 && whole > 0) {
        ssize_t n = pread(s->direct, s->out + at, whole, a->offset + at);
        if (n > 0 && n % BLOCK == 0) {
            at += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno != EINTR) { /* refused here: go on buffered */
            close(s->direct);
            s->direct = -1;
        }
    }
    int rc = og__read_all(a->fd, s->out + at, bytes, a->offset + at, a->path, err);
    if (s->direct < 0)
        posix_fadvise(a->fd, a->offset + at, (off_t)bytes, POSIX_FADV_DONTNEED);
    return rc;
}

static int read_array(const struct og_npy *a, void *out, check_fn *check, void *arg,
                      struct og_err *err)
{
    struct stream s = {a, -1, out};
    bool aligned = a->offset % BLOCK == 0 && (uintptr_t)out % BLOCK == 0;
    if (aligned && a->bytes >= CHUNK)
        s.direct = open(a->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (s.direct < 0)
        posix_fadvise(a->fd, a->offset, a->bytes, POSIX_FADV_SEQUENTIAL);
    int rc = 0;
    for (int64_t at = 0; at < a->bytes; at += CHUNK) {
        size_t bytes = (size_t)OG_MIN(a->bytes - at, (int64_t)CHUNK);
        OG_TRY(read_chunk(&s, at, bytes, err));
        OG_TRY(check(arg, s.out + at, at, bytes, err));
    }
out:
    if (s.direct >= 0)
        close(s.direct);
    return rc;
}

/* ---- checking ---- */

struct indptr_check {
    const struct og_dataset *ds;
    int64_t last;
};

static int check_indptr(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err)
{
    struct indptr_check *c = arg;
    const int64_t *p = data;
    int64_t last = c->last;
    for (size_t i = 0; i < bytes / 8; i++) {
        if (p[i] < last || p[i] > c->ds->n_edges || (first_byte + (int64_t)i == 0 && p[i] != 0))
            return og__fail(err, -EINVAL, again_hint,
                            "%s: entry %lld: %lld, after %lld, of %lld edges", c->ds->indptr.path,
                            (long long)(first_byte / 8 + (int64_t)i), (long long)p[i],
                            (long long)last, (long long)c->ds->n_edges);
        last = p[i];
    }
    c->last = last;
    return 0;
}

static int bad_index(const struct og_dataset *ds, int64_t at, int64_t id, struct og_err *err)
{
    return og__fail(err, -EINVAL, again_hint, "%s: entry %lld: node %lld, the graph has %lld nodes",
                    ds->indices.path, (long long)at, (long long)id, (long long)ds->n_nodes);
}

/* The largest first, as unsigned (negative ids are large): it vectorises; finding the culprit is
 * for the case that there is one. */
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

static int check_indices32(void *arg, const void *data, int64_t first_byte, size_t bytes,
                           struct og_err *err)
{
    const struct og_dataset *ds = arg;
    const int32_t *p = data;
    uint64_t limit = (uint64_t)ds->n_nodes;
    if (largest32(data, bytes / 4) < limit)
        return 0;
    size_t i = 0;
    while ((uint32_t)p[i] < limit)
        i++;
    return bad_index(ds, first_byte / 4 + (int64_t)i, p[i], err);
}

static int check_indices64(void *arg, const void *data, int64_t first_byte, size_t bytes,
                           struct og_err *err)
{
    const struct og_dataset *ds = arg;
    const int64_t *p = data;
    uint64_t limit = (uint64_t)ds->n_nodes;
    if (largest64(data, bytes / 8) < limit)
        return 0;
    size_t i = 0;
    while ((uint64_t)p[i] < limit)
        i++;
    return bad_index(ds, first_byte / 8 + (int64_t)i, p[i], err);
}

/* ---- in memory ---- */

size_t og__topology_bytes(const struct og_dataset *ds)
{
    return (size_t)ds->indptr.bytes + (size_t)ds->indices.bytes;
}

static size_t index_bytes(const struct og_topology *t)
{
    return (size_t)t->n_edges * (t->indices32 ? 4 : 8);
}

int og__topology_load(const struct og_dataset *ds, struct og_budget *b, struct og_topology *out,
                      struct og_err *err)
{
    bool narrow = ds->indices.type == OG__NPY_I32;
    struct indptr_check c = {ds, 0};
    int rc = 0;
    *out = (struct og_topology){.n_nodes = ds->n_nodes, .n_edges = ds->n_edges, .budget = b};
    int64_t *indptr = og__alloc(b, (size_t)ds->indptr.bytes, part, err);
    out->indptr = indptr;
    void *indices = indptr ? og__alloc(b, (size_t)ds->indices.bytes, part, err) : NULL;
    if (narrow)
        out->indices32 = indices;
    else
        out->indices64 = indices;
    if (!indices)
        OG_TRY(-ENOMEM);
    OG_TRY(read_array(&ds->indptr, indptr, check_indptr, &c, err));
    if (c.last != ds->n_edges)
        OG_TRY(og__fail(err, -EINVAL, again_hint, "%s: ends at %lld, there are %lld edges",
                        ds->indptr.path, (long long)c.last, (long long)ds->n_edges));
    OG_TRY(read_array(&ds->indices, indices, narrow ? check_indices32 : check_indices64, (void *)ds,
                      err));
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- mapped ---- */

/* A page before the first element is mapped along when the header is shorter than a page. */
static const void *map_array(const struct og_npy *a)
{
    off_t start = a->offset / BLOCK * BLOCK;
    size_t skip = (size_t)(a->offset - start);
    char *p = mmap(NULL, skip + (size_t)a->bytes, PROT_READ, MAP_SHARED, a->fd, start);
    return p == MAP_FAILED ? NULL : p + skip;
}

static void unmap_array(const void *p, size_t bytes)
{
    if (!p)
        return;
    size_t skip = (uintptr_t)p % BLOCK;
    munmap((char *)p - skip, skip + bytes);
}

int og__topology_map(const struct og_dataset *ds, struct og_topology *out, struct og_err *err)
{
    bool narrow = ds->indices.type == OG__NPY_I32;
    *out = (struct og_topology){.n_nodes = ds->n_nodes, .n_edges = ds->n_edges, .mapped = true};
    if (ds->indptr.offset % 8 != 0 || ds->indices.offset % (narrow ? 4 : 8) != 0)
        return og__fail(err, -ENOTSUP, "load it, or import the graph anew",
                        "%s: its arrays start off an element's boundary", ds->path);
    out->indptr = map_array(&ds->indptr);
    const void *indices = map_array(&ds->indices);
    if (narrow)
        out->indices32 = indices;
    else
        out->indices64 = indices;
    if (out->indptr && indices)
        return 0;
    int rc = og__fail_errno(err, -errno, NULL, "%s: cannot map the topology", ds->path);
    og__topology_release(out);
    return rc;
}

void og__topology_release(struct og_topology *t)
{
    if (!t)
        return;
    size_t indptr_bytes = (size_t)(t->n_nodes + 1) * 8;
    const void *indices = t->indices32 ? (const void *)t->indices32 : t->indices64;
    if (t->mapped) {
        unmap_array(t->indptr, indptr_bytes);
        unmap_array(indices, index_bytes(t));
    } else {
        og__release(t->budget, (void *)t->indptr, indptr_bytes, part);
        og__release(t->budget, (void *)indices, index_bytes(t), part);
    }
    *t = (struct og_topology){0};
}
