/* The second pass of a layer: along the edges, by blocks of destinations.
 *
 *     rows:  | sources in the most lists, for the whole layer | the block's other sources |
 *
 * A bitmap numbers a block's sources, and an index has the location of each one's row. Cached rows
 * are never copied. */
#include "infer/infer_passes.h"

#include "base/bits.h"
#include "dataset/relation.h"
#include "dataset/stream.h"

#include <fcntl.h>
#include <string.h>

#define LISTS "inference lists"
#define CACHE "feature cache"

enum {
    GROUP = OG__WHOLE_ROWS,
    LARGEST_BLOCK = 1 << 16, /* nodes */
};

struct combine {
    struct og_inference *f;
    int l;
    struct og_whole_layer shape;
    const struct og_matrix *sources, *own;
    struct og_infer_read source_read, own_read; /* the latter if own rows are required */
    uint64_t n_nodes, n_sources;                /* whose rows it makes, and reads */
    struct og_step_writer *writer;
    struct og_whole_caps caps; /* n_src: also the most rows read per block */
    /* the current block, nodes from `first` on */
    uint64_t first;
    struct og_block block;
    int64_t *bounds;  /* [n_dst + 1] its part of indptr.npy */
    float *weight;    /* [n_edges], or NULL: equal weights */
    char *edge_rows;  /* [n_edges] rows of the lists' edges, or NULL */
    uint32_t *edge;   /* [n_edges] 0, 1, 2 ..., of these */
    float *ends;      /* [n_ends][n_src], or NULL */
    uint32_t *index;  /* [n_src] location of each source's row in `rows` */
    uint64_t *marked; /* a bit per node: is a source */
    uint32_t *rank;
    uint32_t *cold, n_cold; /* sources to read */
    uint32_t *own_ids;
    char *own_rows;
    float *out;
    struct og_arena arena; /* of all these */
    /* cached rows, then those of the block */
    struct og_placement hot;
    char *rows;
    size_t rows_bytes;
};

/* ---- memory ---- */

/* Bytes of a source's numbers. */
static size_t ends_bytes(const struct og_inference *f)
{
    return (size_t)f->n_ends * sizeof(float);
}

/* Bytes of an edge's row, and of its number. */
static size_t edge_bytes(const struct og_inference *f)
{
    const struct og_group *edges = &f->lists->edges;
    return f->config.edge_dim > 0
               ? (size_t)edges->dim * og__dtype_size(edges->stored) + sizeof(uint32_t)
               : 0;
}

/* Arrays of a block; returns their bytes. */
static size_t block_bytes(const struct og_inference *f, const struct combine *c,
                          const struct og_whole_caps *caps)
{
    enum { ARRAYS = 15 };
    size_t d = caps->n_dst, s = caps->n_src, e = caps->n_edges;
    size_t own = c->shape.own ? sizeof(uint32_t) + og__matrix_row(c->own) : 0;
    return (d + 1) * (sizeof(int64_t) + sizeof(uint32_t)) +
           e * (sizeof(uint32_t) + (og__infer_reads_weights(f) ? sizeof(float) : 0) +
                edge_bytes(f)) +
           s * (3 * sizeof(uint32_t) + ends_bytes(f)) +
           d * (own + (size_t)c->shape.n_out * sizeof(float)) +
           og__placement_bytes(og__infer_nodes(f, c->l)) + ARRAYS * og__arena_room(1);
}

static size_t lists_and_rows(const struct og_inference *f, const struct combine *c,
                             const struct og_whole_caps *caps)
{
    return block_bytes(f, c, caps) + caps->n_src * og__matrix_row(c->sources) +
           og__infer_kind_bytes(f, c->l, caps);
}

/* Maxima of a block with so many nodes and edges. */
static struct og_whole_caps caps_of(const struct og_inference *f, const struct combine *c,
                                    uint64_t nodes, uint64_t edges)
{
    nodes = OG_MIN(nodes, og__infer_nodes(f, c->l + 1));
    edges = OG_MIN(edges, og__infer_edges(f, c->l));
    uint64_t sources = edges + (c->shape.prefix ? nodes : 0);
    sources = OG_MIN(sources, og__infer_nodes(f, c->l));
    return (struct og_whole_caps){(uint32_t)nodes, (uint32_t)sources, edges};
}

/* Bytes in addition to blocks: the bitmap of cached rows, and their selection. */
static size_t placement_bytes(const struct og_inference *f, int l)
{
    return og__placement_bytes(og__infer_nodes(f, l)) + OG_MIB;
}

size_t og__infer_combine_least(const struct og_inference *f, int l, const struct og_matrix *sources,
                               const struct og_matrix *own, const struct og_whole_layer *shape)
{
    struct combine c = {.l = l, .sources = sources, .own = own, .shape = *shape};
    struct og_whole_caps caps = caps_of(f, &c, GROUP, f->longest);
    const size_t own_bytes = shape->own ? og__infer_read_bytes(f, own) : 0;
    return og__infer_read_bytes(f, sources) + own_bytes + placement_bytes(f, l) +
           lists_and_rows(f, &c, &caps);
}

/* Blocks take up to a quarter of the memory, and at least what the longest lists need. Cached rows
 * take the rest. */
static void size_blocks(struct combine *c)
{
    struct og_inference *f = c->f;
    uint64_t n_nodes = c->n_nodes, n_edges = og__infer_edges(f, c->l);
    size_t left = og__infer_left(f) - OG_MIN(og__infer_left(f), placement_bytes(f, c->l));
    uint64_t nodes = GROUP, edges = f->longest;
    c->caps = caps_of(f, c, nodes, edges);
    while (nodes < LARGEST_BLOCK && nodes < n_nodes) {
        nodes *= 2;
        edges = OG_MIN(OG_MAX(edges, nodes * n_edges / n_nodes), (uint64_t)UINT32_MAX);
        struct og_whole_caps more = caps_of(f, c, nodes, edges);
        if (lists_and_rows(f, c, &more) > left / 4)
            break;
        c->caps = more;
    }
}

static int take_block(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    const struct og_whole_caps *caps = &c->caps;
    struct og_arena *a = &c->arena;
    size_t words = og__bits_words(c->n_sources);
    OG_DO(og__arena_init(a, og__host_memory(f->budget), block_bytes(f, c, caps), LISTS, err));
    c->bounds = og__arena_take(a, (caps->n_dst + (size_t)1) * sizeof(*c->bounds));
    c->block.indptr = og__arena_take(a, (caps->n_dst + (size_t)1) * sizeof(*c->block.indptr));
    c->block.src = og__arena_take(a, caps->n_edges * sizeof(*c->block.src));
    if (og__infer_reads_weights(f))
        c->weight = og__arena_take(a, caps->n_edges * sizeof(*c->weight));
    if (edge_bytes(f) > 0) {
        c->edge_rows = og__arena_take(a, caps->n_edges * (edge_bytes(f) - sizeof(*c->edge)));
        c->edge = og__arena_take(a, caps->n_edges * sizeof(*c->edge));
        for (uint64_t e = 0; e < caps->n_edges; e++)
            c->edge[e] = (uint32_t)e;
    }
    if (ends_bytes(f) > 0)
        c->ends = og__arena_take(a, caps->n_src * ends_bytes(f));
    c->index = og__arena_take(a, caps->n_src * sizeof(*c->index));
    c->cold = og__arena_take(a, caps->n_src * sizeof(*c->cold));
    c->block.degree = og__arena_take(a, caps->n_src * sizeof(*c->block.degree));
    c->marked = og__arena_take(a, words * sizeof(*c->marked));
    c->rank = og__arena_take(a, words * sizeof(*c->rank));
    c->out = og__arena_take(a, caps->n_dst * (size_t)c->shape.n_out * sizeof(*c->out));
    if (c->own_read.x) {
        c->own_ids = og__arena_take(a, caps->n_dst * sizeof(*c->own_ids));
        c->own_rows = og__arena_take(a, caps->n_dst * og__matrix_row(c->own));
    }
    return og__infer_kind_reserve(f, c->l, caps, err);
}

/* Nodes that are sources, which bounds the cached rows. */
static uint64_t feeding(const struct combine *c)
{
    uint64_t n = 0;
    for (uint64_t v = 0; v < c->n_sources; v++)
        n += c->f->feeds[v] > 0;
    return n;
}

static int take_rows(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    uint64_t block_rows = c->caps.n_src;
    size_t left = og__infer_left(f), other = placement_bytes(f, c->l);
    uint64_t slots = left > other ? (left - other) / og__matrix_row(c->sources) : 0;
    slots = OG_MIN(slots > block_rows ? slots - block_rows : 0, feeding(c));
    OG_DO(og__placement_build(&c->hot, f->feeds, c->n_sources, slots, f->budget, err));
    c->rows_bytes = (c->hot.n_slots + block_rows) * og__matrix_row(c->sources);
    c->rows = og__alloc(f->budget, c->rows_bytes, CACHE, err);
    return c->rows ? 0 : -ENOMEM;
}

/* Reads the cached rows front to back. */
static int fill_rows(struct combine *c, struct og_err *err)
{
    int rc = 0;
    uint64_t cursor = 0;
    for (uint32_t done = 0; done < c->hot.n_slots;) {
        uint32_t n = OG_MIN(c->hot.n_slots - done, c->caps.n_src);
        og__placement_nodes(&c->hot, &cursor, c->cold, n);
        OG_TRY(og__infer_submit(c->f, &c->source_read, c->cold, n,
                                c->rows + done * og__matrix_row(c->sources), err));
        OG_TRY(og__infer_wait(c->f, &c->source_read, err));
        done += n;
    }
out:
    return rc;
}

static int open_combine(struct combine *c, struct og_err *err)
{
    int rc;
    OG_TRY(og__infer_read_open(c->f, &c->source_read, c->sources, err));
    if (c->shape.own)
        OG_TRY(og__infer_read_open(c->f, &c->own_read, c->own, err));
    size_blocks(c);
    OG_TRY(take_block(c, err));
    OG_TRY(take_rows(c, err));
    OG_TRY(fill_rows(c, err));
out:
    return rc < 0 ? rc : og__infer_create(c->f, og__combine_step(c->l), &c->writer, &c->first, err);
}

static void close_combine(struct combine *c)
{
    og__infer_kind_release(c->f);
    og__infer_read_close(c->f, &c->source_read);
    og__infer_read_close(c->f, &c->own_read);
    og__release(c->f->budget, c->rows, c->rows_bytes, CACHE);
    og__placement_release(&c->hot);
    og__arena_release(&c->arena);
}

/* ---- lists ---- */

static void drop_pages(const struct og_npy *a, int64_t first, uint64_t n)
{
    int64_t size = (int64_t)og__npy_size(a->type);
    posix_fadvise(a->fd, a->offset + first * size, (off_t)n * size, POSIX_FADV_DONTNEED);
}

static int read_ids(const struct combine *c, int64_t first, uint64_t n, struct og_err *err)
{
    enum { AT_ONCE = 4096 };
    const struct og_npy *a = &c->f->lists->indices;
    int rc = 0;
    if (a->type == OG__NPY_I32)
        OG_TRY(og__npy_read(a, first, (int64_t)n, c->block.src, err));
    for (uint64_t done = 0; a->type != OG__NPY_I32 && done < n; done += AT_ONCE) {
        int64_t wide[AT_ONCE];
        uint64_t m = OG_MIN(n - done, (uint64_t)AT_ONCE);
        OG_TRY(og__npy_read_int64(a, first + (int64_t)done, (int64_t)m, wide, err));
        for (uint64_t i = 0; i < m; i++)
            c->block.src[done + i] = (uint32_t)OG_MIN((uint64_t)wide[i], (uint64_t)UINT32_MAX);
    }
out:
    drop_pages(a, first, n);
    return rc;
}

/* Reads the weights of the lists, of walks or of the graph. */
static int read_weights(const struct combine *c, int64_t first, uint64_t n, struct og_err *err)
{
    const struct og_npy *a = &c->f->lists->weights;
    if (!c->weight)
        return 0;
    int rc = og__npy_read(a, first, (int64_t)n, c->weight, err);
    drop_pages(a, first, n);
    if (rc == 0)
        rc = og__check_weights(c->f->lists, c->weight, first, n, err);
    c->f->counts.bytes += n * sizeof(float);
    c->f->counts.reads++;
    return rc;
}

/* Reads the rows of the lists' edges, which are in the order of the lists. */
static int read_edge_rows(const struct combine *c, int64_t first, uint64_t n, struct og_err *err)
{
    const struct og_group *edges = &c->f->lists->edges;
    if (!c->edge_rows)
        return 0;
    const int rc = og__npy_read(&edges->rows, first, (int64_t)n, c->edge_rows, err);
    const int64_t row = (int64_t)(edge_bytes(c->f) - sizeof(*c->edge));
    posix_fadvise(edges->rows.fd, edges->rows.offset + first * row, (off_t)n * row,
                  POSIX_FADV_DONTNEED);
    c->f->counts.bytes += n * (uint64_t)row;
    c->f->counts.reads++;
    return rc;
}

static int changed(const struct og_relation *r, struct og_err *err)
{
    return og__fail(err, -EIO, "check whether another process writes to it",
                    "%s: changed while it was read", r->graph->path);
}

static bool ascending(const int64_t *bounds, int64_t n, int64_t n_edges)
{
    bool sound = bounds[0] >= 0 && bounds[n - 1] <= n_edges;
    for (int64_t i = 1; i < n; i++)
        sound = sound && bounds[i - 1] <= bounds[i];
    return sound;
}

/* Reads groups of nodes from c->first on, as many as the block has space for, and their lists. */
static int read_lists(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    const struct og_relation *r = f->lists;
    struct og_block *b = &c->block;
    int64_t n = (int64_t)OG_MIN(c->n_nodes - c->first, (uint64_t)c->caps.n_dst), fits = 0;
    if (f->alone) {
        b->n_dst = (uint32_t)n;
        b->n_edges = 0;
        memset(b->indptr, 0, ((size_t)n + 1) * sizeof(*b->indptr));
        return 0;
    }
    int rc = og__npy_read_int64(&r->indptr, (int64_t)c->first, n + 1, c->bounds, err);
    if (rc < 0)
        return rc;
    if (!ascending(c->bounds, n + 1, r->n_edges))
        return changed(r, err);
    while (fits < n) {
        int64_t end = OG_MIN(fits + GROUP, n), edges = c->bounds[end] - c->bounds[0];
        if (edges < 0 || (uint64_t)edges > c->caps.n_edges)
            break;
        fits = end;
    }
    if (fits == 0)
        return changed(r, err);
    b->n_dst = (uint32_t)fits;
    b->n_edges = (uint64_t)(c->bounds[fits] - c->bounds[0]);
    for (int64_t i = 0; i <= fits; i++)
        b->indptr[i] = (uint32_t)(c->bounds[i] - c->bounds[0]);
    OG_TRY(read_ids(c, c->bounds[0], b->n_edges, err));
    if (!og__ids_below(b->src, b->n_edges, (uint64_t)r->n_nodes))
        OG_TRY(changed(r, err));
    OG_TRY(read_weights(c, c->bounds[0], b->n_edges, err));
    OG_TRY(read_edge_rows(c, c->bounds[0], b->n_edges, err));
out:
    f->counts.bytes +=
        ((uint64_t)fits + 1) * 8 + b->n_edges * (uint64_t)og__npy_size(r->indices.type);
    f->counts.reads += 2;
    return rc;
}

/* ---- sources: the destinations if they must be a prefix, then all others by number ---- */

static void mark_sources(struct combine *c)
{
    memset(c->marked, 0, og__bits_words(c->n_sources) * sizeof(*c->marked));
    for (uint64_t e = 0; e < c->block.n_edges; e++)
        og__bits_add(c->marked, c->block.src[e]);
    for (uint32_t i = 0; c->shape.prefix && i < c->block.n_dst; i++)
        og__bits_add(c->marked, c->first + i);
    c->block.n_src = og__bits_count(c->marked, c->n_sources, c->rank);
}

/* Index among the sources of node u, the k-th marked one. */
static uint32_t position(const struct combine *c, uint32_t u, uint32_t k)
{
    if (!c->shape.prefix || u >= c->first + c->block.n_dst)
        return k;
    return u < c->first ? k + c->block.n_dst : (uint32_t)(u - c->first);
}

static void place_sources(struct combine *c)
{
    const uint64_t n = c->n_sources;
    uint32_t k = 0;
    c->n_cold = 0;
    for (uint64_t u = og__bits_next(c->marked, n, 0); u < n;
         u = og__bits_next(c->marked, n, u + 1), k++) {
        uint32_t node = (uint32_t)u, at = position(c, node, k);
        uint32_t slot = og__placement_slot(&c->hot, node);
        if (slot == OG_NO_SLOT) {
            slot = c->hot.n_slots + c->n_cold;
            c->cold[c->n_cold++] = node;
        }
        c->index[at] = slot;
        if (c->shape.degrees && at >= c->block.n_dst)
            c->block.degree[at - c->block.n_dst] = c->f->degree[node];
        for (int i = 0; i < c->f->n_ends; i++)
            c->ends[(size_t)i * c->block.n_src + at] = c->f->ends[i][node];
    }
}

/* Replaces nodes in lists by source indices. */
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
    char *cold = c->rows + c->hot.n_slots * og__matrix_row(c->sources);
    int rc = og__infer_submit(c->f, &c->source_read, c->cold, c->n_cold, cold, err);
    if (rc == 0 && c->own_read.x) {
        og__infer_range(c->first, c->block.n_dst, c->own_ids);
        rc = og__infer_submit(c->f, &c->own_read, c->own_ids, c->block.n_dst, c->own_rows, err);
    }
    const int sources = og__infer_wait(c->f, &c->source_read, err);
    const int own = og__infer_wait(c->f, &c->own_read, err);
    rc = rc < 0 ? rc : sources;
    return rc < 0 ? rc : own;
}

/* ---- labels ---- */

static int judge_waiting(struct og_inference *f, struct og_err *err)
{
    struct og_judged *j = f->judged;
    size_t width = og__labels_bytes(f->ds, 1);
    struct og_metrics part = {0};
    if (j->waiting == 0)
        return 0;
    const char *labels = (const char *)j->labels + (size_t)(j->next - j->waiting) * width;
    int rc = og__whole_loss(f->model, j->logits, labels, j->waiting, &part, err);
    og__metrics_add(&j->metrics, &part);
    og__scores_put(&j->scores, j->logits, j->waiting, labels);
    j->waiting = 0;
    return rc;
}

/* Compares the block's logits with labels. */
static int judge(struct combine *c, struct og_err *err)
{
    int rc = 0;
    struct og_judged *j = c->f->judged;
    size_t classes = (size_t)c->shape.n_out;
    uint64_t end = c->first + c->block.n_dst;
    while (j->next < j->n && j->ids[j->next] < end) {
        memcpy(j->logits + j->waiting * classes, c->out + (j->ids[j->next] - c->first) * classes,
               classes * sizeof(float));
        j->next++;
        if (++j->waiting == OG__WHOLE_ROWS)
            OG_TRY(judge_waiting(c->f, err));
    }
    if (j->next == j->n)
        OG_TRY(judge_waiting(c->f, err));
out:
    return rc;
}

static bool judges(const struct combine *c)
{
    return c->f->judged && c->l == c->f->config.layers - 1;
}

/* Compares logits of an earlier run. */
static int judge_again(struct combine *c, struct og_err *err)
{
    const uint64_t end = c->first;
    const size_t row = (size_t)c->shape.n_out * sizeof(float);
    struct og_step_files files;
    struct og_step_reader r = {0};
    int rc = og__infer_step_files(c->f, og__combine_step(c->l), &files, err);
    if (rc < 0)
        return rc;
    OG_TRY(og__step_reader_open(&r, &files, row, err));
    for (c->first = 0; c->first < end; c->first += c->block.n_dst) {
        c->block.n_dst = (uint32_t)OG_MIN(end - c->first, (uint64_t)c->caps.n_dst);
        c->f->counts.bytes += c->block.n_dst * row;
        c->f->counts.reads++;
        OG_TRY(og__step_reader_read(&r, c->first * row, c->block.n_dst * row, c->out, err));
        OG_TRY(judge(c, err));
    }
out:
    og__step_reader_close(&r);
    og__step_files_free(&files);
    return rc;
}

/* ---- the pass ---- */

static int combine_block(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    struct og_block *b = &c->block;
    mark_sources(c);
    place_sources(c);
    OG_DO(read_sources(c, err));
    og__pool_run(f->pool, (b->n_dst + GROUP - 1) / GROUP, number_group, c);
    struct og_infer_block made = {.block = *b, .first = c->first, .ends = c->ends};
    made.block.weight = c->weight;
    made.block.edge = c->edge;
    if (!c->shape.degrees)
        made.block.degree = NULL;
    made.sources = (struct og_rows){.base = c->rows,
                                    .index = c->index,
                                    .stride = og__matrix_row(c->sources),
                                    .n = b->n_src,
                                    .dim = c->sources->dim,
                                    .dtype = c->sources->dtype,
                                    .sparse = c->sources->sparse,
                                    .scale = c->sources->scale};
    made.own = (struct og_rows){.base = c->own_rows,
                                .stride = og__matrix_row(c->own),
                                .n = b->n_dst,
                                .dim = c->own->dim,
                                .dtype = c->own->dtype,
                                .sparse = c->own->sparse,
                                .scale = c->own->scale};
    const struct og_group *of = &f->lists->edges;
    const struct og_edge_rows edges = {
        .units = {.base = c->edge_rows,
                  .stride = (size_t)of->dim * og__dtype_size(of->stored),
                  .n = (uint32_t)b->n_edges,
                  .dim = of->dim,
                  .dtype = of->stored},
        .rows = 1,
        .dim = of->dim};
    made.edges = c->edge_rows ? &edges : NULL;
    return f->kind->combine(f, c->l, &c->shape, &made, c->out, err);
}

static int combine_blocks(struct combine *c, struct og_err *err)
{
    struct og_inference *f = c->f;
    int rc = 0;
    if (judges(c) && c->first > 0)
        OG_TRY(judge_again(c, err));
    for (; c->first < c->n_nodes; c->first += c->block.n_dst) {
        OG_TRY(read_lists(c, err));
        OG_TRY(combine_block(c, err));
        OG_TRY(og__infer_check_rows(f->kind, c->l, c->first, c->block.n_dst, c->out, c->shape.n_out,
                                    err));
        OG_TRY(og__infer_append(f, c->writer, c->out, c->block.n_dst, c->shape.n_out, err));
        if (judges(c))
            OG_TRY(judge(c, err));
        og__infer_observe(f, "infer", c->l, c->first + c->block.n_dst, c->n_nodes);
        OG_TRY(og__infer_mark(f, c->writer, c->first + c->block.n_dst, err));
    }
out:
    return rc;
}

int og__infer_combine(struct og_inference *f, int l, const struct og_matrix *sources,
                      const struct og_matrix *own, const struct og_whole_layer *shape,
                      struct og_blocks_used *used, struct og_err *err)
{
    struct combine c = {.f = f,
                        .l = l,
                        .sources = sources,
                        .own = own,
                        .shape = *shape,
                        .n_nodes = og__infer_nodes(f, l + 1),
                        .n_sources = og__infer_nodes(f, l)};
    int rc;
    OG_TRY(open_combine(&c, err));
    OG_TRY(combine_blocks(&c, err));
out:
    *used = (struct og_blocks_used){c.hot.n_slots, c.caps.n_dst};
    close_combine(&c);
    return og__step_writer_end(c.writer, rc, err);
}
