/* Four arrays that grow in place, and a spill.
 *
 *   ids     | batch 0 | batch 1 | ...                     u32, every batch
 *   ptr     | 0 | n_ids | ...                             u64, where each batch begins in ids
 *   sizes   | at, seeds, (n_src, n_edges, and where those begin in the files) a hop | ...
 *                                                         u64, a row a batch
 *   blocks  | indptr, src, degree, weight a hop | ...     u32 and f32, the first batches, up to
 *                                                         opt.memory
 *
 * A spilled batch is in the form of a trace: `dst` for every edge instead of `indptr`, which replay
 * makes anew. Pages are dropped behind what is read: they are not needed again before all others.
 */
#include "sample/superbatch.h"

#include "base/scratch.h"
#include "dataset/dataset.h"
#include "sample/trace.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    HUGE_PAGE = 2 * 1024 * 1024,
    CHUNK = 64 * 1024 /* destinations read at a time */
};
static const char part[] = "trace";

/* Memory that grows without moving: address space at first, charged as it is used. */
struct grown {
    char *base;
    size_t reserved, charged, used; /* bytes */
};

/* A spilled array being read. */
struct stream {
    struct og_npy file;
    int64_t next; /* row */
};

struct og_superbatch {
    struct og_superbatch_options opt;
    char *scratch_under;
    struct og_budget *budget;
    struct grown ids, ptr, sizes, blocks;
    uint32_t n;         /* batches */
    uint32_t in_memory; /* of which the first so many have their blocks in memory */
    bool sealed;
    int failed; /* a spill that failed: what was spilled is gone */
    /* the spill */
    struct og_scratch *scratch;     /* NULL until first needed */
    struct og_trace_writer *writer; /* NULL unless something is spilled and not yet sealed */
    struct og_trace_options form;
    uint64_t written; /* by writers that are no more */
    /* replay of what was spilled */
    bool reading;
    bool ids_on_disk;
    struct stream ids_stream;
    struct {
        struct stream src, dst, degree, weight;
    } hop[OG_MAX_HOPS];
    uint32_t *chunk; /* [CHUNK] */
};

/* ---- memory that grows ---- */

static int grown_open(struct grown *a, size_t most, struct og_err *err)
{
    *a = (struct grown){.reserved = og__round_up(most, PAGE)};
    a->base = og__address_reserve(a->reserved, err);
    if (!a->base)
        return -ENOMEM;
    /* Huge pages would be memory beyond what is charged, and save little in memory that is written
     * and read front to back. */
    madvise(a->base, a->reserved, MADV_NOHUGEPAGE);
    return 0;
}

static void grown_close(struct grown *a, struct og_budget *b)
{
    og__address_release(a->base, a->reserved);
    og__budget_uncharge(b, a->charged, part);
    *a = (struct grown){0};
}

/* Room for `more` bytes behind what is used. */
static int fit(struct grown *a, size_t more, struct og_budget *b, struct og_err *err)
{
    size_t need = og__round_up(a->used + more, PAGE);
    if (need <= a->charged)
        return 0;
    if (need > a->reserved)
        return og__fail(err, -ENOMEM, "sample fewer batches ahead: --superbatch",
                        "%s: a superbatch larger than memory", part);
    int rc = og__budget_charge(b, need - a->charged, part, err);
    if (rc == 0)
        a->charged = need;
    return rc;
}

static void put(struct grown *a, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(a->base + a->used, data, bytes);
    a->used += bytes;
}

/* ---- sizes of a batch ---- */

struct hop_sizes {
    uint64_t n_src, n_edges;
    uint64_t first_edge, first_degree; /* in the files, where spilled */
};

struct sizes {
    uint64_t at; /* byte in blocks, where in memory */
    uint64_t n_seeds;
    struct hop_sizes hop[]; /* [n_hops] */
};

static size_t sizes_bytes(const struct og_superbatch *s)
{
    return sizeof(struct sizes) + (size_t)s->opt.n_hops * sizeof(struct hop_sizes);
}

static const struct sizes *sizes_of(const struct og_superbatch *s, uint32_t i)
{
    return (const void *)(s->sizes.base + i * sizes_bytes(s));
}

static uint64_t n_dst_of(const struct sizes *k, int h)
{
    return h == 0 ? k->n_seeds : k->hop[h - 1].n_src;
}

static bool with_degrees(const struct og_superbatch *s)
{
    return s->opt.extras & OG__WITH_DEGREES;
}

static bool with_weights(const struct og_superbatch *s)
{
    return s->opt.extras & OG__WITH_WEIGHTS;
}

static size_t block_bytes(const struct og_superbatch *s, const struct og_batch *batch)
{
    size_t words = 0;
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *k = &batch->hop[h];
        words += (size_t)k->n_dst + 1 + k->n_edges + (with_degrees(s) ? k->n_src - k->n_dst : 0) +
                 (with_weights(s) ? k->n_edges : 0);
    }
    return words * 4;
}

/* ---- open, close ---- */

static size_t physical_memory(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

int og__superbatch_open(struct og_superbatch **out, const struct og_superbatch_options *opt,
                        struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_superbatch *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    s->opt = *opt;
    s->budget = b;
    s->form = (struct og_trace_options){
        .n_hops = opt->n_hops, .n_nodes = opt->n_nodes, .extras = opt->extras};
    size_t most = OG_MIN(og__budget_limit(b), physical_memory());
    int rc = 0;
    if (!(s->scratch_under = strdup(opt->scratch)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    OG_TRY(grown_open(&s->ids, most, err));
    OG_TRY(grown_open(&s->ptr, most, err));
    OG_TRY(grown_open(&s->sizes, most, err));
    OG_TRY(grown_open(&s->blocks, OG_MAX(OG_MIN(most, opt->memory), (size_t)PAGE), err));
    OG_TRY(fit(&s->ptr, sizeof(uint64_t), b, err));
    og__superbatch_clear(s);
    *out = s;
    return 0;
out:
    og__superbatch_close(s);
    return rc;
}

static void drop_writer(struct og_superbatch *s)
{
    if (!s->writer)
        return;
    s->written += og__trace_written(s->writer);
    og__trace_discard(s->writer);
    s->writer = NULL;
    og__budget_uncharge(s->budget, og__trace_writer_bytes(&s->form), part);
}

static void close_streams(struct og_superbatch *s)
{
    if (s->reading)
        og__npy_close(&s->ids_stream.file);
    for (int h = 0; s->reading && h < s->opt.n_hops; h++) {
        og__npy_close(&s->hop[h].src.file);
        og__npy_close(&s->hop[h].dst.file);
        og__npy_close(&s->hop[h].degree.file);
        og__npy_close(&s->hop[h].weight.file);
    }
    s->reading = false;
}

static int refuse_failed(const struct og_superbatch *s, struct og_err *err)
{
    return s->failed < 0 ? og__fail(err, s->failed, NULL, "what was spilled of the trace is lost")
                         : 0;
}

void og__superbatch_clear(struct og_superbatch *s)
{
    drop_writer(s);
    close_streams(s);
    if (s->scratch)
        og__scratch_clear(s->scratch);
    s->ids.used = s->ptr.used = s->sizes.used = s->blocks.used = 0;
    put(&s->ptr, &(uint64_t){0}, sizeof(uint64_t));
    s->n = s->in_memory = 0;
    s->sealed = s->ids_on_disk = false;
    s->failed = 0;
}

int og__superbatch_release_ids(struct og_superbatch *s, struct og_err *err)
{
    int rc = refuse_failed(s, err);
    bool narrow = s->reading && s->ids_stream.file.type == OG__NPY_I32;
    if (rc < 0 || s->in_memory > 0 || !narrow)
        return rc;
    s->ids_on_disk = true;
    madvise(s->ids.base, s->ids.charged, MADV_DONTNEED);
    og__budget_uncharge(s->budget, s->ids.charged, part);
    s->ids.charged = 0;
    return 0;
}

void og__superbatch_close(struct og_superbatch *s)
{
    if (!s)
        return;
    drop_writer(s);
    close_streams(s);
    og__scratch_close(s->scratch);
    og__release(s->budget, s->chunk, CHUNK * sizeof(*s->chunk), part);
    grown_close(&s->ids, s->budget);
    grown_close(&s->ptr, s->budget);
    grown_close(&s->sizes, s->budget);
    grown_close(&s->blocks, s->budget);
    free(s->scratch_under);
    free(s);
}

struct og_trace og__superbatch_trace(const struct og_superbatch *s)
{
    return (struct og_trace){.n_batches = s->n,
                             .ptr = (const uint64_t *)(const void *)s->ptr.base,
                             .ids = (const uint32_t *)(const void *)s->ids.base};
}

uint64_t og__superbatch_written(const struct og_superbatch *s)
{
    return s->written + (s->writer ? og__trace_written(s->writer) : 0);
}

/* ---- append ---- */

/* A spill that failed leaves no file behind. */
static int lose_spill(struct og_superbatch *s, int rc)
{
    drop_writer(s);
    close_streams(s);
    og__scratch_close(s->scratch);
    s->scratch = NULL;
    s->failed = rc;
    return rc;
}

static int open_spill(struct og_superbatch *s, struct og_err *err)
{
    size_t buffers = og__trace_writer_bytes(&s->form);
    int rc = s->scratch ? 0 : og__scratch_open(&s->scratch, s->scratch_under, err);
    if (rc == 0)
        rc = og__budget_charge(s->budget, buffers, part, err);
    if (rc < 0)
        return rc;
    rc = og__trace_create(&s->writer, og__scratch_path(s->scratch), &s->form, err);
    if (rc == 0)
        return 0;
    og__budget_uncharge(s->budget, buffers, part);
    return lose_spill(s, rc);
}

static int spill(struct og_superbatch *s, const struct og_batch *batch, struct og_err *err)
{
    int rc = s->writer ? 0 : open_spill(s, err);
    if (rc < 0)
        return rc;
    rc = og__trace_append(s->writer, batch, NULL, err);
    return rc < 0 ? lose_spill(s, rc) : 0;
}

static void keep_blocks(struct og_superbatch *s, const struct og_batch *batch)
{
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *k = &batch->hop[h];
        put(&s->blocks, k->indptr, ((size_t)k->n_dst + 1) * 4);
        put(&s->blocks, k->src, k->n_edges * 4);
        if (with_degrees(s))
            put(&s->blocks, k->degree, ((size_t)k->n_src - k->n_dst) * 4);
        if (with_weights(s))
            put(&s->blocks, k->weight, k->n_edges * 4);
    }
}

/* Behind the batch before, if that is in the files too. */
static struct hop_sizes place_hop(const struct og_superbatch *s, const struct og_block *k, int h)
{
    struct hop_sizes own = {.n_src = k->n_src, .n_edges = k->n_edges};
    if (s->n > s->in_memory) {
        const struct sizes *z = sizes_of(s, s->n - 1);
        own.first_edge = z->hop[h].first_edge + z->hop[h].n_edges;
        own.first_degree = z->hop[h].first_degree + z->hop[h].n_src - n_dst_of(z, h);
    }
    return own;
}

static void keep_sizes(struct og_superbatch *s, const struct og_batch *batch)
{
    struct sizes own = {.at = s->blocks.used, .n_seeds = batch->n_seeds};
    put(&s->sizes, &own, sizeof(own));
    for (int h = 0; h < s->opt.n_hops; h++) {
        struct hop_sizes hop = place_hop(s, &batch->hop[h], h);
        put(&s->sizes, &hop, sizeof(hop));
    }
}

static void keep_ids(struct og_superbatch *s, const struct og_batch *batch)
{
    put(&s->ids, batch->ids, (size_t)batch->n_ids * 4);
    put(&s->ptr, &(uint64_t){s->ids.used / 4}, sizeof(uint64_t));
}

int og__superbatch_append(struct og_superbatch *s, const struct og_batch *batch, struct og_err *err)
{
    assert(!s->sealed && (int)batch->n_hops == s->opt.n_hops);
    size_t bytes = block_bytes(s, batch);
    bool room = s->in_memory == s->n && s->blocks.used + bytes <= s->opt.memory;
    int rc = 0;
    OG_TRY(refuse_failed(s, err));
    OG_TRY(fit(&s->ids, (size_t)batch->n_ids * 4, s->budget, err));
    OG_TRY(fit(&s->ptr, sizeof(uint64_t), s->budget, err));
    OG_TRY(fit(&s->sizes, sizes_bytes(s), s->budget, err));
    OG_TRY(room ? fit(&s->blocks, bytes, s->budget, err) : spill(s, batch, err));
    keep_sizes(s, batch);
    keep_ids(s, batch);
    if (room) {
        keep_blocks(s, batch);
        s->in_memory++;
    }
    s->n++;
out:
    return rc;
}

/* ---- seal ---- */

static int open_stream(struct stream *t, const char *dir, int hop, const char *name,
                       struct og_err *err)
{
    char file[32] = "ids.npy";
    char path[4096];
    *t = (struct stream){.file = {.fd = -1}};
    if (hop > 0)
        snprintf(file, sizeof(file), "hop%d_%s.npy", hop, name);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
        return og__fail_errno(err, -ENAMETOOLONG, NULL, "%s", dir);
    int rc = og__npy_open(&t->file, path, err);
    if (rc < 0)
        return rc;
    posix_fadvise(t->file.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

static int open_streams(struct og_superbatch *s, struct og_err *err)
{
    const char *dir = og__scratch_path(s->scratch);
    int rc = 0;
    for (int h = 0; h < s->opt.n_hops; h++)
        s->hop[h].src.file.fd = s->hop[h].dst.file.fd = s->hop[h].degree.file.fd =
            s->hop[h].weight.file.fd = -1;
    s->reading = true;
    rc = open_stream(&s->ids_stream, dir, 0, "ids", err);
    for (int h = 0; rc == 0 && h < s->opt.n_hops; h++) {
        rc = open_stream(&s->hop[h].src, dir, h + 1, "src", err);
        if (rc == 0)
            rc = open_stream(&s->hop[h].dst, dir, h + 1, "dst", err);
        if (rc == 0 && with_degrees(s))
            rc = open_stream(&s->hop[h].degree, dir, h + 1, "degree", err);
        if (rc == 0 && with_weights(s))
            rc = open_stream(&s->hop[h].weight, dir, h + 1, "weight", err);
    }
    return rc;
}

int og__superbatch_seal(struct og_superbatch *s, struct og_err *err)
{
    int rc = refuse_failed(s, err);
    if (rc < 0)
        return rc;
    s->sealed = true;
    if (!s->writer)
        return 0;
    struct og_trace_writer *writer = s->writer;
    s->writer = NULL;
    s->written += og__trace_written(writer);
    rc = og__trace_finish(writer, err);
    og__budget_uncharge(s->budget, og__trace_writer_bytes(&s->form), part);
    if (rc == 0 && !s->chunk &&
        !(s->chunk = og__alloc(s->budget, CHUNK * sizeof(*s->chunk), part, err)))
        rc = -ENOMEM;
    if (rc == 0)
        rc = open_streams(s, err);
    return rc < 0 ? lose_spill(s, rc) : 0;
}

/* ---- replay ---- */

/* The next n elements of a spilled array. */
static int read_next(struct stream *t, uint64_t n, void *out, struct og_io_counts *read,
                     struct og_err *err)
{
    if (n == 0)
        return 0;
    int rc = og__npy_read(&t->file, t->next, (int64_t)n, out, err);
    if (rc < 0)
        return rc;
    posix_fadvise(t->file.fd, t->file.offset + t->next * 4, (off_t)n * 4, POSIX_FADV_DONTNEED);
    t->next += (int64_t)n;
    read->reads++;
    read->bytes += n * 4;
    return 0;
}

/* Let n elements from `first` on come while other things are done. */
static void will_need(const struct stream *t, int64_t first, uint64_t n)
{
    if (n > 0)
        posix_fadvise(t->file.fd, t->file.offset + first * 4, (off_t)n * 4, POSIX_FADV_WILLNEED);
}

static int changed(const struct stream *t, struct og_err *err)
{
    return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                    "%s: not what was written there", t->file.path);
}

/* Rows from destinations, which ascend: row d ends where the first larger one stands. */
static int read_indptr(struct og_superbatch *s, struct stream *t, struct og_block *k,
                       struct og_io_counts *read, struct og_err *err)
{
    uint32_t d = 0;
    k->indptr[0] = 0;
    for (uint64_t e = 0; e < k->n_edges; e += CHUNK) {
        uint64_t n = OG_MIN(k->n_edges - e, (uint64_t)CHUNK);
        int rc = read_next(t, n, s->chunk, read, err);
        if (rc < 0)
            return rc;
        for (uint64_t i = 0; i < n; i++) {
            if (s->chunk[i] == d)
                continue;
            if (s->chunk[i] < d || s->chunk[i] >= k->n_dst)
                return changed(t, err);
            while (d < s->chunk[i])
                k->indptr[++d] = (uint32_t)(e + i);
        }
    }
    while (d < k->n_dst)
        k->indptr[++d] = (uint32_t)k->n_edges;
    return 0;
}

static int read_src(struct stream *t, struct og_block *k, struct og_io_counts *read,
                    struct og_err *err)
{
    int rc = read_next(t, k->n_edges, k->src, read, err);
    uint32_t largest = 0;
    for (uint64_t e = 0; rc == 0 && e < k->n_edges; e++)
        largest = OG_MAX(largest, k->src[e]);
    return rc == 0 && k->n_edges && largest >= k->n_src ? changed(t, err) : rc;
}

/* Where batch i begins in the files. */
static void go_to(struct og_superbatch *s, uint32_t i)
{
    const uint64_t *ptr = (const void *)s->ptr.base;
    const struct sizes *z = sizes_of(s, i);
    s->ids_stream.next = (int64_t)(ptr[i] - ptr[s->in_memory]);
    for (int h = 0; h < s->opt.n_hops; h++) {
        s->hop[h].src.next = s->hop[h].dst.next = (int64_t)z->hop[h].first_edge;
        s->hop[h].weight.next = (int64_t)z->hop[h].first_edge;
        s->hop[h].degree.next = (int64_t)z->hop[h].first_degree;
    }
}

/* Let batch i come from the disk while other things are done. */
static void expect(const struct og_superbatch *s, uint32_t i)
{
    const uint64_t *ptr = (const void *)s->ptr.base;
    const struct sizes *z = sizes_of(s, i);
    if (s->ids_on_disk)
        will_need(&s->ids_stream, (int64_t)(ptr[i] - ptr[s->in_memory]), ptr[i + 1] - ptr[i]);
    for (int h = 0; h < s->opt.n_hops; h++) {
        const struct hop_sizes *k = &z->hop[h];
        will_need(&s->hop[h].src, (int64_t)k->first_edge, k->n_edges);
        will_need(&s->hop[h].dst, (int64_t)k->first_edge, k->n_edges);
        if (with_weights(s))
            will_need(&s->hop[h].weight, (int64_t)k->first_edge, k->n_edges);
        if (with_degrees(s))
            will_need(&s->hop[h].degree, (int64_t)k->first_degree, k->n_src - n_dst_of(z, h));
    }
}

static int read_ids(struct og_superbatch *s, struct og_batch *batch, struct og_io_counts *read,
                    struct og_err *err)
{
    int rc = read_next(&s->ids_stream, batch->n_ids, batch->ids, read, err);
    uint32_t largest = 0;
    for (uint32_t i = 0; rc == 0 && i < batch->n_ids; i++)
        largest = OG_MAX(largest, batch->ids[i]);
    return rc == 0 && batch->n_ids && largest >= s->opt.n_nodes ? changed(&s->ids_stream, err) : rc;
}

static int read_blocks(struct og_superbatch *s, uint32_t i, struct og_batch_memory *out,
                       struct og_io_counts *read, struct og_err *err)
{
    struct og_batch *batch = &out->batch;
    go_to(s, i);
    if (s->ids_on_disk) {
        int rc = read_ids(s, batch, read, err);
        if (rc < 0)
            return rc;
    }
    for (int h = 0; h < s->opt.n_hops; h++) {
        struct og_block *k = &batch->hop[h];
        int rc = read_indptr(s, &s->hop[h].dst, k, read, err);
        if (rc == 0)
            rc = read_src(&s->hop[h].src, k, read, err);
        if (rc == 0 && with_degrees(s))
            rc = read_next(&s->hop[h].degree, k->n_src - k->n_dst, k->degree, read, err);
        if (rc == 0 && with_weights(s))
            rc = read_next(&s->hop[h].weight, k->n_edges, out->weight[h].data, read, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static const char *take(const char *from, void *to, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
    return from + bytes;
}

static void copy_blocks(const struct og_superbatch *s, uint64_t at, struct og_batch_memory *out)
{
    const char *from = s->blocks.base + at;
    for (int h = 0; h < s->opt.n_hops; h++) {
        struct og_block *k = &out->batch.hop[h];
        from = take(from, k->indptr, ((size_t)k->n_dst + 1) * 4);
        from = take(from, k->src, k->n_edges * 4);
        if (with_degrees(s))
            from = take(from, k->degree, ((size_t)k->n_src - k->n_dst) * 4);
        if (with_weights(s))
            from = take(from, out->weight[h].data, k->n_edges * 4);
    }
}

/* Counts of the batch, with no pointers yet. */
static struct og_batch shape_of(const struct og_superbatch *s, uint32_t i)
{
    const struct sizes *z = sizes_of(s, i);
    const uint64_t *ptr = (const void *)s->ptr.base;
    struct og_batch b = {.n_hops = (uint32_t)s->opt.n_hops,
                         .n_ids = (uint32_t)(ptr[i + 1] - ptr[i]),
                         .n_seeds = (uint32_t)z->n_seeds};
    for (int h = 0; h < s->opt.n_hops; h++)
        b.hop[h] = (struct og_block){.n_dst = (uint32_t)n_dst_of(z, h),
                                     .n_src = (uint32_t)z->hop[h].n_src,
                                     .n_edges = z->hop[h].n_edges};
    return b;
}

static int make_room(const struct og_superbatch *s, struct og_batch_memory *out, struct og_err *err)
{
    struct og_batch_caps caps = {0};
    og__caps_include(&caps, &out->batch);
    int rc = og__batch_reserve(out, &caps, s->opt.extras, err);
    if (rc < 0)
        return rc;
    out->batch.ids = out->ids.data;
    for (int h = 0; h < s->opt.n_hops; h++) {
        out->batch.hop[h].indptr = out->indptr[h].data;
        out->batch.hop[h].src = out->src[h].data;
        out->batch.hop[h].degree = with_degrees(s) ? out->degree[h].data : NULL;
        out->batch.hop[h].weight = with_weights(s) ? out->weight[h].data : NULL;
    }
    return 0;
}

int og__superbatch_replay(struct og_superbatch *s, uint32_t i, uint32_t next,
                          struct og_batch_memory *out, struct og_io_counts *read,
                          struct og_err *err)
{
    assert(s->sealed && i < s->n);
    *read = (struct og_io_counts){0};
    out->batch = shape_of(s, i);
    int rc = refuse_failed(s, err);
    if (rc == 0)
        rc = make_room(s, out, err);
    if (rc < 0)
        return rc;
    const uint64_t *ptr = (const void *)s->ptr.base;
    if (!s->ids_on_disk)
        memcpy(out->batch.ids, s->ids.base + ptr[i] * 4, (size_t)out->batch.n_ids * 4);
    if (i >= s->in_memory)
        rc = read_blocks(s, i, out, read, err);
    else
        copy_blocks(s, sizes_of(s, i)->at, out);
    if (next >= s->in_memory && next < s->n)
        expect(s, next);
    return rc;
}
