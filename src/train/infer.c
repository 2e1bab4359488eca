#include "train/infer.h"

#include "base/bits.h"
#include "base/scratch.h"
#include "dataset/stream.h"
#include "dataset/writer.h"
#include "train/memory_plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTS "inference lists"
#define ROWS  "inference rows"
#define CACHE "feature cache"
#define NODES "inference nodes"

enum {
    GROUP = OG__WHOLE_ROWS,
    LARGEST_BLOCK = 1 << 16, /* nodes */
    CHUNK_ROWS = 1 << 14,    /* rows multiplied at once */
    HEADER = 4096,           /* of the .npy files written here */
};

static size_t row_bytes(const struct og_matrix *x)
{
    return (size_t)x->dim * og__dtype_size(x->dtype);
}

static void count(struct og_inference *f, const struct og_read_job *job)
{
    f->counts.reads += job->counts.reads;
    f->counts.bytes += job->counts.bytes;
}

/* ==== the survey ==== */

struct survey {
    struct og_inference *f;
    struct og_indptr_check check;
    uint64_t group; /* edges of the group at hand */
    int64_t last;   /* where the list before begins */
    uint64_t v;     /* whose list is at hand, */
    uint64_t left;  /* and what is left of it */
};

static int look_at_indptr(void *arg, const void *data, int64_t first_byte, size_t bytes,
                          struct og_err *err)
{
    struct survey *s = arg;
    const int64_t *p = data;
    int64_t first = first_byte / 8;
    int rc = og__check_indptr(&s->check, p, first, bytes / 8, err);
    for (size_t i = first == 0; rc == 0 && i < bytes / 8; i++) {
        uint64_t v = (uint64_t)first + i - 1, before = (uint64_t)(i > 0 ? p[i - 1] : s->last);
        uint64_t degree = (uint64_t)p[i] - before;
        s->group = (v % GROUP ? s->group : 0) + degree;
        s->f->longest = OG_MAX(s->f->longest, s->group);
        if (s->f->degree)
            s->f->degree[v] = (uint32_t)degree;
    }
    s->last = p[bytes / 8 - 1];
    return rc;
}

/* An edge of a node to itself is none of its degree. */
static void look_at_loop(struct survey *s, uint64_t u)
{
    while (s->left == 0)
        s->left = s->f->degree[++s->v];
    s->left--;
    s->f->degree[s->v] -= u == s->v;
}

static int look_at_indices(void *arg, const void *data, int64_t first_byte, size_t bytes,
                           struct og_err *err)
{
    struct survey *s = arg;
    struct og_dataset *ds = s->f->ds;
    bool narrow = ds->indices.type == OG__NPY_I32;
    int rc = og__check_indices(ds, data, first_byte, bytes, err);
    for (size_t i = 0; rc == 0 && i < bytes / (narrow ? 4 : 8); i++) {
        uint64_t u = narrow ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
        s->f->feeds[u]++;
        if (s->f->degree)
            look_at_loop(s, u);
    }
    return rc;
}

int og__infer_survey(struct og_inference *f, struct og_err *err)
{
    struct survey s = {.f = f, .check = {f->ds, 0}, .v = (uint64_t)-1};
    size_t bytes = (size_t)f->ds->n_nodes * sizeof(uint32_t);
    int rc = 0;
    void *buffer = NULL;
    f->feeds = og__alloc(f->budget, bytes, NODES, err);
    if (f->config.kind == OG_MODEL_GCN)
        f->degree = og__alloc(f->budget, bytes, NODES, err);
    if (!f->feeds || (f->config.kind == OG_MODEL_GCN && !f->degree))
        OG_TRY(-ENOMEM);
    buffer = og__alloc(f->budget, OG__CHUNK, LISTS, err);
    OG_TRY(buffer ? 0 : -ENOMEM);
    OG_TRY(og__npy_stream(&f->ds->indptr, buffer, look_at_indptr, &s, err));
    OG_TRY(og__check_indptr_end(&s.check, err));
    OG_TRY(og__npy_stream(&f->ds->indices, buffer, look_at_indices, &s, err));
    f->prepare.bytes = (uint64_t)f->ds->indptr.bytes + (uint64_t)f->ds->indices.bytes;
    f->prepare.reads = f->prepare.bytes / OG__CHUNK + 2;
out:
    og__release(f->budget, buffer, OG__CHUNK, LISTS);
    return rc;
}

/* ==== what a layer's passes share ==== */

static int open_reader(struct og_inference *f, struct og_reader **out, const struct og_matrix *x,
                       struct og_err *err)
{
    struct og_reader_options opt = {.io = f->opt.io, .profile = f->profile, .log = &f->log};
    return og__reader_open(out, x->path, x->offset, row_bytes(x), (uint64_t)f->ds->n_nodes, &opt,
                           f->budget, err);
}

/* Rows [first, first + n) of the reader's file, into out; ids is where their numbers may stand. */
static int submit_run(struct og_reader *r, struct og_read_job *job, uint64_t first, uint32_t n,
                      uint32_t *ids, char *out, struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (uint32_t)first + i;
    *job = (struct og_read_job){.rows = ids, .n = n, .out = out};
    return og__reader_submit(r, job, err);
}

static int append(struct og_inference *f, struct og_npy_writer *w, const float *rows, uint32_t n,
                  int dim, struct og_err *err)
{
    f->bytes_written += (uint64_t)n * (size_t)dim * sizeof(float);
    return og__npy_append(w, rows, n, err);
}

static int stopped(const struct og_inference *f, struct og_err *err)
{
    const volatile sig_atomic_t *stop = f->seen ? f->seen->stop : NULL;
    return stop && *stop ? og__fail(err, OG_INTERRUPTED, NULL, "stopped; nothing was kept") : 0;
}

static void observe(const struct og_inference *f, const char *stage, int l, uint64_t done)
{
    struct og_progress p = {.stage = stage,
                            .epoch = l + 1,
                            .epochs = f->config.layers,
                            .done = done,
                            .total = (uint64_t)f->ds->n_nodes};
    og__observe(f->seen, &p);
}

/* Complete the file, or forget it where there has been an error. */
static int end_file(struct og_npy_writer *w, int rc, struct og_err *err)
{
    if (w && rc == 0)
        return og__npy_finish(w, NULL, err);
    og__npy_discard(w);
    return rc;
}

static int too_small(const struct og_inference *f, size_t missing, struct og_err *err)
{
    char has[32], wants[32];
    size_t limit = og__budget_limit(f->budget);
    return og__fail(err, -ENOMEM, "raise --memory", "--memory %s: inference needs %s",
                    og__human_bytes(has, (double)limit),
                    og__human_bytes(wants, (double)(limit + missing)));
}

/* What may still be taken: a little stays for what is not foreseen. */
static size_t bytes_left(const struct og_inference *f)
{
    size_t left = og__budget_left(f->budget), spare = 2 * OG_MIB;
    return left > spare ? left - spare : 0;
}

/* ==== first pass: every row multiplied ==== */

struct chunk {
    struct og_read_job job;
    uint32_t *ids;
    char *rows;
};

struct transform {
    struct og_inference *f;
    int l;
    const struct og_matrix *in;
    struct og_whole_layer shape;
    uint32_t n_rows; /* of a chunk */
    struct og_reader *reader;
    struct og_npy_writer *writer;
    struct chunk chunk[2]; /* one being read, one being multiplied */
    float *out;
};

static size_t chunk_bytes(const struct transform *t, size_t rows)
{
    return rows * (sizeof(uint32_t) + row_bytes(t->in));
}

static size_t transform_bytes(const struct transform *t, uint32_t rows)
{
    const struct og_inference *f = t->f;
    struct og_whole_caps caps = {rows, rows, 0};
    return 2 * chunk_bytes(t, rows) + rows * (size_t)t->shape.n_source * sizeof(float) +
           og__whole_bytes(&f->config, t->l, &caps, og__pool_threads(f->pool));
}

static int open_transform(struct transform *t, const char *path, struct og_err *err)
{
    struct og_inference *f = t->f;
    int rc = open_reader(f, &t->reader, t->in, err);
    if (rc < 0)
        return rc;
    size_t left = bytes_left(f);
    t->n_rows = GROUP;
    if (transform_bytes(t, GROUP) > left)
        return too_small(f, transform_bytes(t, GROUP) - left, err);
    while (t->n_rows < CHUNK_ROWS && transform_bytes(t, 2 * t->n_rows) <= left / 2)
        t->n_rows *= 2;
    for (int i = 0; i < 2; i++) {
        t->chunk[i].rows = og__alloc(f->budget, chunk_bytes(t, t->n_rows), ROWS, err);
        if (!t->chunk[i].rows)
            return -ENOMEM;
        t->chunk[i].ids = (uint32_t *)(void *)(t->chunk[i].rows + t->n_rows * row_bytes(t->in));
    }
    size_t out_bytes = t->n_rows * (size_t)t->shape.n_source * sizeof(float);
    struct og_whole_caps caps = {t->n_rows, t->n_rows, 0};
    t->out = og__alloc(f->budget, out_bytes, ROWS, err);
    rc = t->out ? og__whole_reserve(f->model, t->l, &caps, err) : -ENOMEM;
    return rc < 0 ? rc : og__npy_create(&t->writer, path, OG__NPY_F32, 2, t->shape.n_source, err);
}

static void close_transform(struct transform *t)
{
    struct og_inference *f = t->f;
    og__reader_close(t->reader);
    for (int i = 0; i < 2; i++)
        og__release(f->budget, t->chunk[i].rows, chunk_bytes(t, t->n_rows), ROWS);
    og__release(f->budget, t->out, t->n_rows * (size_t)t->shape.n_source * sizeof(float), ROWS);
}

static int submit_chunk(struct transform *t, uint64_t first, struct og_err *err)
{
    struct chunk *c = &t->chunk[first / t->n_rows % 2];
    uint64_t n_nodes = (uint64_t)t->f->ds->n_nodes;
    if (first >= n_nodes)
        return 0;
    uint32_t n = (uint32_t)OG_MIN(n_nodes - first, (uint64_t)t->n_rows);
    return submit_run(t->reader, &c->job, first, n, c->ids, c->rows, err);
}

static int transform_rows(struct transform *t, struct og_err *err)
{
    struct og_inference *f = t->f;
    int rc = 0;
    OG_TRY(submit_chunk(t, 0, err));
    for (uint64_t first = 0; first < (uint64_t)f->ds->n_nodes; first += t->n_rows) {
        struct chunk *c = &t->chunk[first / t->n_rows % 2];
        OG_TRY(stopped(f, err));
        OG_TRY(submit_chunk(t, first + t->n_rows, err));
        OG_TRY(og__reader_wait(t->reader, &c->job, err));
        count(f, &c->job);
        struct og_rows x = {.base = c->rows,
                            .stride = row_bytes(t->in),
                            .n = (uint32_t)c->job.n,
                            .dim = t->in->dim,
                            .dtype = t->in->dtype};
        OG_TRY(og__whole_transform(f->model, t->l, x, t->out, err));
        OG_TRY(append(f, t->writer, t->out, x.n, t->shape.n_source, err));
        observe(f, "transform", t->l, first + x.n);
    }
out:
    return rc;
}

static int transform(struct og_inference *f, int l, const struct og_matrix *in,
                     struct og_whole_layer shape, const char *path, struct og_err *err)
{
    struct transform t = {.f = f, .l = l, .in = in, .shape = shape};
    int rc = open_transform(&t, path, err);
    if (rc == 0)
        rc = transform_rows(&t, err);
    close_transform(&t);
    return end_file(t.writer, rc, err);
}

/* ==== second pass: along the edges ==== */

struct combine {
    struct og_inference *f;
    int l;
    struct og_whole_layer shape;
    const struct og_matrix *sources, *own;
    struct og_reader *source_reader, *own_reader; /* the latter where own rows are wanted */
    struct og_npy_writer *writer;
    struct og_whole_caps caps; /* n_src: also the most rows that a block reads */
    /* the block at hand, of nodes from `first` on */
    uint64_t first;
    struct og_block block;
    int64_t *bounds;  /* [n_dst + 1] its part of indptr.npy */
    uint32_t *index;  /* [n_src] where each source's row is, of `rows` */
    uint64_t *marked; /* a bit a node: is among the sources */
    uint32_t *rank;
    uint32_t *cold, n_cold; /* sources that are read */
    uint32_t *own_ids;
    char *own_rows;
    float *out;
    struct og_arena arena; /* of all these */
    /* rows that stay, then those of the block */
    struct og_placement hot;
    char *rows;
    size_t rows_bytes;
};

/* ---- memory ---- */

/* Arrays of a block, with the bytes of each. */
static size_t block_bytes(const struct combine *c, const struct og_whole_caps *caps)
{
    size_t d = caps->n_dst, s = caps->n_src, e = caps->n_edges;
    size_t own = c->own_reader ? sizeof(uint32_t) + row_bytes(c->own) : 0;
    return (d + 1) * (sizeof(int64_t) + sizeof(uint32_t)) + e * sizeof(uint32_t) +
           s * (3 * sizeof(uint32_t)) + d * (own + (size_t)c->shape.n_out * sizeof(float)) +
           og__placement_bytes((uint64_t)c->f->ds->n_nodes) + OG_KIB; /* OG_KIB: alignment */
}

static size_t lists_and_rows(const struct combine *c, const struct og_whole_caps *caps)
{
    const struct og_inference *f = c->f;
    return block_bytes(c, caps) + caps->n_src * row_bytes(c->sources) +
           og__whole_bytes(&f->config, c->l, caps, og__pool_threads(f->pool));
}

/* The worst that a block of so many nodes and edges may be. */
static struct og_whole_caps caps_of(const struct combine *c, uint64_t nodes, uint64_t edges)
{
    const struct og_dataset *ds = c->f->ds;
    nodes = OG_MIN(nodes, (uint64_t)ds->n_nodes);
    edges = OG_MIN(edges, (uint64_t)ds->n_edges);
    uint64_t sources = edges + (c->shape.prefix ? nodes : 0);
    return (struct og_whole_caps){(uint32_t)nodes, (uint32_t)OG_MIN(sources, (uint64_t)ds->n_nodes),
                                  edges};
}

/* Blocks take up to a quarter of what is left, and what the longest lists need in any case; rows
 * that stay take the rest. */
static int size_blocks(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    size_t left = bytes_left(f), marks = og__placement_bytes((uint64_t)f->ds->n_nodes);
    left -= OG_MIN(left, marks + OG_MIB); /* of which a MiB to choose what stays */
    if (f->longest > UINT32_MAX)
        return og__fail(err, -ENOTSUP, NULL, "%s: lists of %d nodes have more than 2^32 edges",
                        f->ds->path, (int)GROUP);
    uint64_t nodes = GROUP, edges = f->longest;
    c->caps = caps_of(c, nodes, edges);
    size_t least = lists_and_rows(c, &c->caps);
    if (least > left)
        return too_small(f, least - left, err);
    while (nodes < LARGEST_BLOCK) {
        uint64_t more =
            OG_MAX(edges, 2 * nodes * (uint64_t)f->ds->n_edges / (uint64_t)f->ds->n_nodes);
        struct og_whole_caps caps = caps_of(c, 2 * nodes, OG_MIN(more, (uint64_t)UINT32_MAX));
        if (lists_and_rows(c, &caps) > OG_MAX(left / 4, least))
            break;
        nodes *= 2;
        edges = caps.n_edges;
        c->caps = caps;
    }
    return 0;
}

static int take_block(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    const struct og_whole_caps *caps = &c->caps;
    struct og_arena *a = &c->arena;
    size_t words = og__bits_words((uint64_t)f->ds->n_nodes);
    int rc = og__arena_init(a, f->budget, block_bytes(c, caps), LISTS, err);
    if (rc < 0)
        return rc;
    c->bounds = og__arena_take(a, (caps->n_dst + (size_t)1) * sizeof(*c->bounds));
    c->block.indptr = og__arena_take(a, (caps->n_dst + (size_t)1) * sizeof(*c->block.indptr));
    c->block.src = og__arena_take(a, caps->n_edges * sizeof(*c->block.src));
    c->index = og__arena_take(a, caps->n_src * sizeof(*c->index));
    c->cold = og__arena_take(a, caps->n_src * sizeof(*c->cold));
    c->block.degree = og__arena_take(a, caps->n_src * sizeof(*c->block.degree));
    c->marked = og__arena_take(a, words * sizeof(*c->marked));
    c->rank = og__arena_take(a, words * sizeof(*c->rank));
    c->out = og__arena_take(a, caps->n_dst * (size_t)c->shape.n_out * sizeof(*c->out));
    if (c->own_reader) {
        c->own_ids = og__arena_take(a, caps->n_dst * sizeof(*c->own_ids));
        c->own_rows = og__arena_take(a, caps->n_dst * row_bytes(c->own));
    }
    return og__whole_reserve(f->model, c->l, caps, err);
}

/* Nodes that feed others and may stay: no more than there are. */
static uint64_t feeding(const struct og_inference *f)
{
    uint64_t n = 0;
    for (int64_t v = 0; v < f->ds->n_nodes; v++)
        n += f->feeds[v] > 0;
    return n;
}

static int take_rows(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    uint64_t n_nodes = (uint64_t)f->ds->n_nodes, block_rows = c->caps.n_src;
    size_t left = bytes_left(f), other = og__placement_bytes(n_nodes) + OG_MIB;
    uint64_t slots = left > other ? (left - other) / row_bytes(c->sources) : 0;
    slots = OG_MIN(slots > block_rows ? slots - block_rows : 0, feeding(f));
    int rc = og__placement_build(&c->hot, f->feeds, n_nodes, slots, f->budget, err);
    if (rc < 0)
        return rc;
    c->rows_bytes = (c->hot.n_slots + block_rows) * row_bytes(c->sources);
    c->rows = og__alloc(f->budget, c->rows_bytes, CACHE, err);
    return c->rows ? 0 : -ENOMEM;
}

/* What stays is read front to back. */
static int fill_rows(struct combine *c, struct og_err *err)
{
    int rc = 0;
    uint64_t cursor = 0;
    for (uint32_t done = 0; rc == 0 && done < c->hot.n_slots;) {
        uint32_t n = OG_MIN(c->hot.n_slots - done, c->caps.n_src);
        og__placement_nodes(&c->hot, &cursor, c->cold, n);
        struct og_read_job job = {
            .rows = c->cold, .n = n, .out = c->rows + done * row_bytes(c->sources)};
        rc = og__reader_submit(c->source_reader, &job, err);
        if (rc == 0)
            rc = og__reader_wait(c->source_reader, &job, err);
        count(c->f, &job);
        done += n;
    }
    return rc;
}

static int open_combine(struct combine *c, const char *path, struct og_err *err)
{
    int rc = open_reader(c->f, &c->source_reader, c->sources, err);
    if (rc == 0 && c->shape.own)
        rc = open_reader(c->f, &c->own_reader, c->own, err);
    if (rc == 0)
        rc = size_blocks(c, err);
    if (rc == 0)
        rc = take_block(c, err);
    if (rc == 0)
        rc = take_rows(c, err);
    if (rc == 0)
        rc = fill_rows(c, err);
    return rc < 0 ? rc : og__npy_create(&c->writer, path, OG__NPY_F32, 2, c->shape.n_out, err);
}

static void close_combine(struct combine *c)
{
    og__reader_close(c->source_reader);
    og__reader_close(c->own_reader);
    og__release(c->f->budget, c->rows, c->rows_bytes, CACHE);
    og__placement_release(&c->hot);
    og__arena_release(&c->arena);
}

/* ---- lists ---- */

static int read_ids(const struct combine *c, int64_t first, uint64_t n, struct og_err *err)
{
    enum { AT_ONCE = 4096 };
    const struct og_dataset *ds = c->f->ds;
    const struct og_npy *a = &ds->indices;
    int rc = 0;
    if (a->type == OG__NPY_I32)
        rc = og__npy_read(a, first, (int64_t)n, c->block.src, err);
    for (uint64_t done = 0; a->type != OG__NPY_I32 && rc == 0 && done < n; done += AT_ONCE) {
        int64_t wide[AT_ONCE];
        uint64_t m = OG_MIN(n - done, (uint64_t)AT_ONCE);
        rc = og__npy_read_int64(a, first + (int64_t)done, (int64_t)m, wide, err);
        for (uint64_t i = 0; rc == 0 && i < m; i++)
            c->block.src[done + i] = (uint32_t)wide[i];
    }
    int64_t size = (int64_t)og__npy_size(a->type);
    posix_fadvise(a->fd, a->offset + first * size, (off_t)n * size, POSIX_FADV_DONTNEED);
    return rc;
}

static int changed(const struct og_dataset *ds, struct og_err *err)
{
    return og__fail(err, -EIO, "is it being written to?", "%s: changed while it was read",
                    ds->path);
}

/* As many groups of nodes from c->first on as the block has room for, and their lists. */
static int read_lists(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    const struct og_dataset *ds = f->ds;
    struct og_block *b = &c->block;
    int64_t n = OG_MIN(ds->n_nodes - (int64_t)c->first, (int64_t)c->caps.n_dst), fits = 0;
    int rc = og__npy_read_int64(&ds->indptr, (int64_t)c->first, n + 1, c->bounds, err);
    if (rc < 0)
        return rc;
    while (fits < n) {
        int64_t end = OG_MIN(fits + GROUP, n), edges = c->bounds[end] - c->bounds[0];
        if (edges < 0 || (uint64_t)edges > c->caps.n_edges)
            break;
        fits = end;
    }
    if (fits == 0)
        return changed(ds, err);
    b->n_dst = (uint32_t)fits;
    b->n_edges = (uint64_t)(c->bounds[fits] - c->bounds[0]);
    for (int64_t i = 0; i <= fits; i++)
        b->indptr[i] = (uint32_t)(c->bounds[i] - c->bounds[0]);
    rc = read_ids(c, c->bounds[0], b->n_edges, err);
    if (rc == 0 && !og__ids_below(b->src, b->n_edges, (uint64_t)ds->n_nodes))
        rc = changed(ds, err);
    f->counts.bytes +=
        ((uint64_t)fits + 1) * 8 + b->n_edges * (uint64_t)og__npy_size(ds->indices.type);
    f->counts.reads += 2;
    return rc;
}

/* ---- sources: the destinations where they are to be a prefix, then all others by their numbers
 * ---- */

static void mark_sources(struct combine *c)
{
    uint64_t n_nodes = (uint64_t)c->f->ds->n_nodes;
    memset(c->marked, 0, og__bits_words(n_nodes) * sizeof(*c->marked));
    for (uint64_t e = 0; e < c->block.n_edges; e++)
        og__bits_add(c->marked, c->block.src[e]);
    for (uint32_t i = 0; c->shape.prefix && i < c->block.n_dst; i++)
        og__bits_add(c->marked, c->first + i);
    c->block.n_src = og__bits_count(c->marked, n_nodes, c->rank);
}

/* Where node u, the k-th of those marked, stands among the sources. */
static uint32_t position(const struct combine *c, uint32_t u, uint32_t k)
{
    if (!c->shape.prefix || u >= c->first + c->block.n_dst)
        return k;
    return u < c->first ? k + c->block.n_dst : (uint32_t)(u - c->first);
}

static void place_sources(struct combine *c)
{
    uint64_t n_nodes = (uint64_t)c->f->ds->n_nodes;
    uint32_t k = 0;
    c->n_cold = 0;
    for (uint64_t u = og__bits_next(c->marked, n_nodes, 0); u < n_nodes;
         u = og__bits_next(c->marked, n_nodes, u + 1), k++) {
        uint32_t node = (uint32_t)u, at = position(c, node, k);
        uint32_t slot = og__placement_slot(&c->hot, node);
        if (slot == OG_NO_SLOT) {
            slot = c->hot.n_slots + c->n_cold;
            c->cold[c->n_cold++] = node;
        }
        c->index[at] = slot;
        if (c->shape.degrees && at >= c->block.n_dst)
            c->block.degree[at - c->block.n_dst] = c->f->degree[node];
    }
}

/* Lists of nodes become lists of positions. */
static void number_group(void *arg, size_t group, int thread)
{
    (void)thread;
    struct combine *c = arg;
    struct og_block *b = &c->block;
    uint32_t last = OG_MIN((uint32_t)(group + 1) * GROUP, b->n_dst);
    for (uint32_t e = b->indptr[group * GROUP]; e < b->indptr[last]; e++)
        b->src[e] = position(c, b->src[e], og__bits_rank(c->marked, c->rank, b->src[e]));
}

static int read_sources(struct combine *c, struct og_err *err)
{
    struct og_read_job cold = {
        .rows = c->cold, .n = c->n_cold, .out = c->rows + c->hot.n_slots * row_bytes(c->sources)};
    struct og_read_job own = {0};
    int rc = og__reader_submit(c->source_reader, &cold, err);
    if (rc < 0)
        return rc;
    if (c->own_reader)
        rc =
            submit_run(c->own_reader, &own, c->first, c->block.n_dst, c->own_ids, c->own_rows, err);
    int waited = og__reader_wait(c->source_reader, &cold, err);
    if (c->own_reader && rc == 0)
        rc = og__reader_wait(c->own_reader, &own, err);
    count(c->f, &cold);
    count(c->f, &own);
    return rc < 0 ? rc : waited;
}

/* ---- labels ---- */

static void judge_waiting(struct og_inference *f)
{
    struct og_judged *j = f->judged;
    size_t width = og__labels_bytes(f->ds, 1);
    struct og_metrics part = {0};
    if (j->waiting == 0)
        return;
    const char *labels = (const char *)j->labels + (size_t)(j->next - j->waiting) * width;
    og__whole_loss(f->model, j->logits, labels, j->waiting, &part);
    og__metrics_add(&j->metrics, &part);
    j->waiting = 0;
}

/* The block's logits that have labels. */
static void judge(struct combine *c)
{
    struct og_judged *j = c->f->judged;
    size_t classes = (size_t)c->shape.n_out;
    uint64_t end = c->first + c->block.n_dst;
    while (j->next < j->n && j->ids[j->next] < end) {
        memcpy(j->logits + j->waiting * classes, c->out + (j->ids[j->next] - c->first) * classes,
               classes * sizeof(float));
        j->next++;
        if (++j->waiting == OG__WHOLE_ROWS)
            judge_waiting(c->f);
    }
    if (j->next == j->n)
        judge_waiting(c->f);
}

/* ---- the pass ---- */

static int combine_block(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    struct og_block *b = &c->block;
    mark_sources(c);
    place_sources(c);
    int rc = read_sources(c, err);
    if (rc < 0)
        return rc;
    og__pool_run(f->pool, (b->n_dst + GROUP - 1) / GROUP, number_group, c);
    struct og_block block = *b;
    if (!c->shape.degrees)
        block.degree = NULL;
    struct og_rows sources = {.base = c->rows,
                              .index = c->index,
                              .stride = row_bytes(c->sources),
                              .n = b->n_src,
                              .dim = c->sources->dim,
                              .dtype = c->sources->dtype};
    struct og_rows own = {.base = c->own_rows,
                          .stride = row_bytes(c->own),
                          .n = b->n_dst,
                          .dim = c->own->dim,
                          .dtype = c->own->dtype};
    return og__whole_combine(f->model, c->l, &c->shape, &block, sources, own, c->out, err);
}

static int combine_blocks(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    int rc = 0;
    for (c->first = 0; c->first < (uint64_t)f->ds->n_nodes; c->first += c->block.n_dst) {
        OG_TRY(stopped(f, err));
        OG_TRY(read_lists(c, err));
        OG_TRY(combine_block(c, err));
        OG_TRY(append(f, c->writer, c->out, c->block.n_dst, c->shape.n_out, err));
        if (f->judged && c->l == f->config.layers - 1)
            judge(c);
        observe(f, "infer", c->l, c->first + c->block.n_dst);
    }
out:
    return rc;
}

static int combine(struct combine *c, const char *path, struct og_err *err)
{
    int rc = open_combine(c, path, err);
    if (rc == 0)
        rc = combine_blocks(c, err);
    close_combine(c);
    return end_file(c->writer, rc, err);
}

/* ==== a layer ==== */

static void tell(struct og_inference *f, const struct combine *c, double seconds)
{
    uint64_t least = (uint64_t)f->ds->n_nodes * row_bytes(c->own) + (uint64_t)f->ds->indptr.bytes +
                     (uint64_t)f->ds->indices.bytes;
    json_t *row =
        json_pack("{s:i s:f s:I s:I s:I s:I s:f s:I s:I}", "layer", c->l + 1, "seconds", seconds,
                  "reads", (json_int_t)f->counts.reads, "bytes_read", (json_int_t)f->counts.bytes,
                  "bytes_written", (json_int_t)f->bytes_written, "bytes_least", (json_int_t)least,
                  "read_amplification", (double)f->counts.bytes / (double)least, "rows_kept",
                  (json_int_t)c->hot.n_slots, "nodes_a_block", (json_int_t)c->caps.n_dst);
    json_array_append_new(f->layers, row);
}

int og__infer_layer(struct og_inference *f, int l, const struct og_matrix *in, const char *path,
                    struct og_err *err)
{
    double start = og__now();
    struct og_matrix sources = {.offset = HEADER, .dtype = OG_F32};
    struct combine c = {.f = f, .l = l, .own = in, .sources = in};
    c.shape = og__whole_layer(&f->config, l, (uint64_t)f->ds->n_nodes, (uint64_t)f->ds->n_edges);
    f->counts = (struct og_io_counts){0};
    f->bytes_written = 0;
    int rc = 0;
    if (c.shape.transforms) {
        sources.dim = c.shape.n_source;
        sources.path = og__path_join(og__scratch_path(f->scratch), "sources.npy");
        if (!sources.path)
            return og__fail_errno(err, -ENOMEM, NULL, "inference");
        c.sources = &sources;
        rc = transform(f, l, in, c.shape, sources.path, err);
    }
    if (rc == 0)
        rc = combine(&c, path, err);
    if (rc == 0)
        tell(f, &c, og__now() - start);
    if (sources.path)
        unlink(sources.path);
    free(sources.path);
    return rc;
}
