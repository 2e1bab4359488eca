/* Which nodes and lists the requested nodes need (needed.h). */
#include "infer/needed.h"

#include "base/bits.h"
#include "dataset/features.h"
#include "dataset/on_disk.h"
#include "dataset/relation.h"
#include "dataset/stream.h"
#include "infer/infer_passes.h"

#include <string.h>
#include <unistd.h>

#define LISTS "inference lists"

enum {
    MOST_LISTS = 4096,     /* whose ends are read at once */
    MOST_EDGES = 1 << 16,  /* read at once, of lists or pieces of them; */
    MOST_BYTES = 1 << 22,  /* and of an array that has more of each */
    MOST_PIECES = 1 << 12, /* likewise */
};

/* ==== lists of some nodes, from disk ==== */

struct piece {
    uint32_t list; /* of the lists at hand */
    uint32_t n;    /* edges */
    int64_t first; /* of them */
    const char *ids, *weights, *rows;
};

/* An array with an element an edge, of which only needed blocks are read. */
struct edge_array {
    struct og_blocks blocks;
    struct og_reader *reader; /* NULL: there is none */
    size_t element;
    uint32_t *requested;
    char *data;
};

struct list_walk {
    struct og_inference *f;
    const struct og_relation *of;
    struct edge_array ids, weights, features;
    uint32_t most_edges; /* that are read at once */
    struct og_reader *bounds;
    uint32_t *nodes;  /* [MOST_LISTS] */
    uint32_t *rows;   /* [2 MOST_LISTS] of indptr.npy */
    int64_t *values;  /* [2 MOST_LISTS] there */
    int64_t *first;   /* [2 MOST_LISTS] edge of each list, and its end */
    uint32_t *source; /* [MOST_EDGES] */
    float *weight;    /* [MOST_EDGES] */
    const char *row;  /* features of the edges at hand */
    struct piece *piece;
};

/* Called for each list in order, in one or several pieces. The last, which may be empty, `ends`
 * it. */
typedef int list_visit(void *arg, uint32_t node, const struct list_walk *w, uint32_t n, bool ends,
                       struct og_err *err);

static size_t most_blocks(const struct list_walk *w, size_t element)
{
    return w->most_edges * element / OG__LIST_BLOCK + 2 * (size_t)MOST_PIECES;
}

static size_t element_of(const struct og_npy *array)
{
    return og__npy_size(array->type) * (size_t)array->shape[1];
}

static int open_array(struct list_walk *w, struct edge_array *a, const struct og_npy *array,
                      struct og_err *err)
{
    struct og_budget *b = w->f->budget;
    const struct og_reader_options opt = og__infer_reader_options(w->f);
    a->element = element_of(array);
    const size_t most = most_blocks(w, a->element);
    OG_DO(og__blocks_lay(&a->blocks, array, err));
    a->requested = og__alloc(b, most * sizeof(*a->requested), LISTS, err);
    a->data = a->requested ? og__alloc(b, most * OG__LIST_BLOCK, LISTS, err) : NULL;
    OG_DO(a->data ? 0 : -ENOMEM);
    return og__reader_open(&a->reader, array->path, a->blocks.base, OG__LIST_BLOCK,
                           a->blocks.n_blocks, &opt, b, err);
}

static void close_array(struct list_walk *w, struct edge_array *a)
{
    const size_t most = most_blocks(w, a->element);
    og__reader_close(a->reader);
    og__release(w->f->budget, a->requested, most * sizeof(*a->requested), LISTS);
    og__release(w->f->budget, a->data, most * OG__LIST_BLOCK, LISTS);
}

/* The arrays of the walk are one piece, from `nodes` on. */
static size_t walk_bytes(void)
{
    enum { PER_LIST = 2 * (sizeof(uint32_t) + 2 * sizeof(int64_t)) + sizeof(uint32_t) };
    return MOST_PIECES * sizeof(struct piece) + (size_t)MOST_LISTS * PER_LIST +
           MOST_EDGES * (sizeof(uint32_t) + sizeof(float));
}

/* `rows`: with the features of edges. */
static int open_walk(struct list_walk *w, struct og_inference *f, const struct og_relation *of,
                     bool rows, struct og_err *err)
{
    const struct og_reader_options opt = og__infer_reader_options(f);
    *w = (struct list_walk){.f = f, .of = of, .most_edges = MOST_EDGES};
    if (rows)
        w->most_edges = (uint32_t)OG_MIN(
            OG_MAX(MOST_BYTES / element_of(&of->edges.rows), (size_t)1), (size_t)MOST_EDGES);
    w->piece = og__alloc(f->budget, walk_bytes(), LISTS, err);
    OG_DO(w->piece ? 0 : -ENOMEM);
    w->values = (int64_t *)(w->piece + MOST_PIECES);
    w->first = w->values + 2 * (size_t)MOST_LISTS;
    w->rows = (uint32_t *)(w->first + 2 * (size_t)MOST_LISTS);
    w->nodes = w->rows + 2 * (size_t)MOST_LISTS;
    w->source = w->nodes + MOST_LISTS;
    w->weight = (float *)(w->source + MOST_EDGES);
    OG_DO(og__reader_open(&w->bounds, of->indptr.path, (uint64_t)of->indptr.offset, sizeof(int64_t),
                          (uint64_t)of->n_nodes + 1, &opt, f->budget, err));
    OG_DO(open_array(w, &w->ids, &of->indices, err));
    if (og__infer_reads_weights(f))
        OG_DO(open_array(w, &w->weights, &of->weights, err));
    if (rows)
        OG_DO(open_array(w, &w->features, &of->edges.rows, err));
    return 0;
}

static void close_walk(struct list_walk *w)
{
    og__reader_close(w->bounds);
    close_array(w, &w->ids);
    close_array(w, &w->weights);
    close_array(w, &w->features);
    og__release(w->f->budget, w->piece, walk_bytes(), LISTS);
}

static int read_rows(struct og_reader *r, const uint32_t *rows, size_t n, void *out,
                     struct og_err *err)
{
    struct og_read_job job = {.rows = rows, .n = n, .out = out};
    const int rc = og__reader_submit(r, &job, err);
    return rc < 0 ? rc : og__reader_wait(r, &job, err);
}

/* Both ends of the lists of n ascending nodes. */
static int read_bounds(struct list_walk *w, uint32_t n, struct og_err *err)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t v = w->nodes[i]; v <= w->nodes[i] + 1; v++)
            if (m == 0 || w->rows[m - 1] < v)
                w->rows[m++] = v;
    OG_DO(read_rows(w->bounds, w->rows, m, w->values, err));
    for (uint32_t i = 0, at = 0; i < n; i++, at++) {
        at -= at > 0 && w->rows[at - 1] == w->nodes[i];
        w->first[2 * i] = w->values[at];
        w->first[2 * i + 1] = w->values[++at];
        if (w->first[2 * i] < 0 || w->first[2 * i + 1] < w->first[2 * i] ||
            w->first[2 * i + 1] > w->of->n_edges)
            return og__bad_list(w->of, w->nodes[i], w->first[2 * i], w->first[2 * i + 1], err);
    }
    return 0;
}

static const char **place_of(const struct list_walk *w, const struct edge_array *a, struct piece *p)
{
    return a == &w->ids ? &p->ids : a == &w->weights ? &p->weights : &p->rows;
}

/* Reads the pieces' blocks, and stores where each begins. */
static int read_pieces(struct list_walk *w, struct edge_array *a, uint32_t n, struct og_err *err)
{
    size_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct piece *p = &w->piece[i];
        const uint64_t begin = (uint64_t)p->first * a->element;
        const struct og_list_place from = og__list_place(&a->blocks, begin);
        const struct og_list_place last =
            og__list_place(&a->blocks, begin + OG_MAX(p->n, 1u) * a->element - 1);
        const bool shared = m > 0 && a->requested[m - 1] == from.block;
        *place_of(w, a, p) = a->data + (m - shared) * OG__LIST_BLOCK + from.within;
        for (uint32_t b = from.block + shared; p->n > 0 && b <= last.block; b++)
            a->requested[m++] = b;
    }
    if (m > 0 && a->requested[m - 1] == a->blocks.n_blocks) {
        m--;
        memcpy(a->data + m * OG__LIST_BLOCK, a->blocks.tail, OG__LIST_BLOCK);
    }
    return read_rows(a->reader, a->requested, m, a->data, err);
}

static int take_sources(struct list_walk *w, const struct piece *p, struct og_err *err)
{
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t wide;
        if (w->ids.element == sizeof(wide))
            memcpy(&wide, p->ids + i * sizeof(wide), sizeof(wide));
        else
            wide = ((const int32_t *)(const void *)p->ids)[i];
        if (wide < 0 || wide >= w->of->n_sources)
            return og__bad_index(w->of, p->first + i, wide, err);
        w->source[i] = (uint32_t)wide;
    }
    w->row = p->rows;
    if (!w->weights.reader)
        return 0;
    memcpy(w->weight, p->weights, p->n * sizeof(float));
    return og__check_weights(w->of, w->weight, p->first, p->n, err);
}

static int visit_pieces(struct list_walk *w, uint32_t n, list_visit *visit, void *arg,
                        struct og_err *err)
{
    struct edge_array *const arrays[] = {&w->ids, &w->weights, &w->features};
    int rc = 0;
    for (size_t a = 0; rc == 0 && n > 0 && a < OG_COUNT(arrays); a++)
        if (arrays[a]->reader)
            rc = read_pieces(w, arrays[a], n, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct piece *p = &w->piece[i];
        rc = take_sources(w, p, err);
        if (rc == 0)
            rc = visit(arg, w->nodes[p->list], w, p->n,
                       p->first + p->n == w->first[2 * (size_t)p->list + 1], err);
    }
    return rc;
}

/* Lists of n nodes, whose ends are known. */
static int walk_lists(struct list_walk *w, uint32_t n, list_visit *visit, void *arg,
                      struct og_err *err)
{
    uint32_t pieces = 0, edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = w->first[2 * (size_t)i], end = w->first[2 * (size_t)i + 1];
        do {
            const uint32_t m = (uint32_t)OG_MIN(end - at, (int64_t)(w->most_edges - edges));
            w->piece[pieces++] = (struct piece){.list = i, .n = m, .first = at};
            edges += m;
            at += m;
            if (pieces == MOST_PIECES || edges == w->most_edges) {
                OG_DO(visit_pieces(w, pieces, visit, arg, err));
                pieces = edges = 0;
            }
        } while (at < end);
    }
    return visit_pieces(w, pieces, visit, arg, err);
}

/* Lists of all nodes whose bit is set. */
static int walk_marked(struct list_walk *w, const uint64_t *bits, const char *stage,
                       list_visit *visit, void *arg, struct og_err *err)
{
    const uint64_t n_nodes = (uint64_t)w->of->n_nodes;
    const volatile sig_atomic_t *stop = w->f->observer ? w->f->observer->stop : NULL;
    int rc = 0;
    for (uint64_t v = og__bits_next(bits, n_nodes, 0); v < n_nodes;) {
        uint32_t n = 0;
        for (; n < MOST_LISTS && v < n_nodes; v = og__bits_next(bits, n_nodes, v + 1))
            w->nodes[n++] = (uint32_t)v;
        OG_TRY(read_bounds(w, n, err));
        OG_TRY(walk_lists(w, n, visit, arg, err));
        og__infer_observe(w->f, stage, 0, OG_MIN(v, n_nodes), n_nodes);
        if (og__stop_requested(stop))
            OG_TRY(og__fail(err, OG_INTERRUPTED, "resume with --resume", "interrupted"));
    }
out:
    return rc;
}

/* ==== the part ==== */

struct hop {
    uint64_t *bits;
    uint32_t *order; /* ranks of the bits */
};

struct picking {
    struct og_inference *f;
    struct og_needed *d;
    uint64_t n_nodes;
    uint64_t *seen; /* bits of nodes that were found in any hop */
    struct hop hop[OG_MAX_HOPS + 1];
    int current; /* hop whose lists are read */
    struct og_npy_writer *indptr, *raw, *indices, *weights, *rows;
    int64_t n_edges;
};

static bool reads_rows(const struct og_inference *f)
{
    return f->config.edge_dim > 0;
}

static size_t bits_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint64_t);
}

static size_t rank_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint32_t);
}

static int take_hop(struct picking *p, int h, struct og_err *err)
{
    struct og_budget *b = p->f->budget;
    p->hop[h].bits = og__alloc(b, bits_bytes(p->n_nodes), OG__INFER_NODES, err);
    p->hop[h].order = og__alloc(b, rank_bytes(p->n_nodes), OG__INFER_NODES, err);
    return p->hop[h].bits && p->hop[h].order ? 0 : -ENOMEM;
}

static int add_list(void *arg, uint32_t node, const struct list_walk *w, uint32_t n, bool ends,
                    struct og_err *err)
{
    struct picking *p = arg;
    uint64_t *found = p->hop[p->current + 1].bits;
    (void)node;
    for (uint32_t i = 0; i < n; i++) {
        if (og__bits_has(p->seen, w->source[i]))
            continue;
        og__bits_add(p->seen, w->source[i]);
        og__bits_add(found, w->source[i]);
    }
    p->n_edges += n;
    OG_DO(og__npy_append(p->raw, w->source, n, err));
    if (p->weights)
        OG_DO(og__npy_append(p->weights, w->weight, n, err));
    if (p->rows)
        OG_DO(og__npy_append(p->rows, w->row, n, err));
    if (ends)
        OG_DO(og__npy_append(p->indptr, &p->n_edges, 1, err));
    return 0;
}

/* A model that sees no neighbours needs none. */
static int add_empty_lists(struct picking *p, uint32_t n, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = og__npy_append(p->indptr, &p->n_edges, 1, err);
    return rc;
}

static int find_nodes(struct picking *p, struct og_err *err)
{
    struct og_inference *f = p->f;
    const int layers = f->config.layers;
    struct list_walk w;
    int rc;
    OG_TRY(open_walk(&w, f, f->lists, reads_rows(f), err));
    memcpy(p->hop[0].bits, p->d->bits, bits_bytes(p->n_nodes));
    memcpy(p->seen, p->d->bits, bits_bytes(p->n_nodes));
    for (int h = 0;; h++) {
        const uint32_t n = og__bits_count(p->hop[h].bits, p->n_nodes, p->hop[h].order);
        p->d->end[h] = (h > 0 ? p->d->end[h - 1] : 0) + n;
        if (h == layers)
            break;
        OG_TRY(take_hop(p, h + 1, err));
        p->current = h;
        OG_TRY(f->alone ? add_empty_lists(p, n, err)
                        : walk_marked(&w, p->hop[h].bits, "find", add_list, p, err));
        p->d->edges[h] = (uint64_t)p->n_edges;
    }
    p->d->edges[layers] = (uint64_t)p->n_edges;
out:
    close_walk(&w);
    return rc;
}

static uint32_t number_of(const struct picking *p, uint32_t node)
{
    int h = 0;
    while (!og__bits_has(p->hop[h].bits, node))
        h++;
    return (uint32_t)(h > 0 ? p->d->end[h - 1] : 0) +
           og__bits_rank(p->hop[h].bits, p->hop[h].order, node);
}

static int list_ids(struct picking *p, struct og_err *err)
{
    struct og_needed *d = p->d;
    uint64_t at = 0;
    d->n_ids = d->end[p->f->config.layers];
    d->ids = og__alloc(p->f->budget, d->n_ids * sizeof(*d->ids), OG__INFER_NODES, err);
    if (!d->ids)
        return -ENOMEM;
    for (int h = 0; h <= p->f->config.layers; h++)
        for (uint64_t v = og__bits_next(p->hop[h].bits, p->n_nodes, 0); v < p->n_nodes;
             v = og__bits_next(p->hop[h].bits, p->n_nodes, v + 1))
            d->ids[at++] = (uint32_t)v;
    return 0;
}

/* Lists of nodes become lists of numbers. */
static int number_edges(struct picking *p, struct og_err *err)
{
    enum { AT_ONCE = 4096 };
    struct og_npy raw = {.fd = -1};
    uint32_t ids[AT_ONCE];
    int rc;
    OG_TRY(og__infer_array_end(p->f, &p->raw, "needed_nodes.npy", &raw, err));
    for (int64_t at = 0, n; at < p->n_edges; at += n) {
        n = OG_MIN(p->n_edges - at, (int64_t)AT_ONCE);
        OG_TRY(og__npy_read(&raw, at, n, ids, err));
        for (int64_t i = 0; i < n; i++)
            ids[i] = number_of(p, ids[i]);
        OG_TRY(og__npy_append(p->indices, ids, n, err));
    }
    unlink(raw.path);
out:
    og__npy_close(&raw);
    return rc;
}

/* Nodes of the last hop have no lists here. */
static int end_lists(struct picking *p, struct og_err *err)
{
    struct og_relation *part = &p->f->picked;
    const int last = p->f->config.layers;
    for (uint64_t i = p->d->end[last - 1]; i < p->d->end[last]; i++)
        OG_DO(og__npy_append(p->indptr, &p->n_edges, 1, err));
    OG_DO(number_edges(p, err));
    part->n_edges = p->n_edges;
    part->n_nodes = part->n_sources = (int64_t)p->d->end[last];
    OG_DO(og__infer_array_end(p->f, &p->indptr, "needed_indptr.npy", &part->indptr, err));
    OG_DO(og__infer_array_end(p->f, &p->indices, "needed_indices.npy", &part->indices, err));
    if (p->weights)
        OG_DO(og__infer_array_end(p->f, &p->weights, "needed_weights.npy", &part->weights, err));
    if (p->rows)
        OG_DO(og__infer_array_end(p->f, &p->rows, "needed_rows.npy", &part->edges.rows, err));
    return 0;
}

static int open_picking(struct picking *p, struct og_err *err)
{
    const int64_t zero = 0;
    p->seen = og__alloc(p->f->budget, bits_bytes(p->n_nodes), OG__INFER_NODES, err);
    OG_DO(p->seen ? take_hop(p, 0, err) : -ENOMEM);
    OG_DO(og__infer_array_new(p->f, "needed_indptr.npy", OG__NPY_I64, 1, &p->indptr, err));
    OG_DO(og__infer_array_new(p->f, "needed_nodes.npy", OG__NPY_I32, 1, &p->raw, err));
    OG_DO(og__infer_array_new(p->f, "needed_indices.npy", OG__NPY_I32, 1, &p->indices, err));
    if (og__infer_reads_weights(p->f))
        OG_DO(og__infer_array_new(p->f, "needed_weights.npy", OG__NPY_F32, 1, &p->weights, err));
    if (reads_rows(p->f))
        OG_DO(og__infer_array_new(p->f, "needed_rows.npy", p->f->lists->edges.rows.type,
                                  p->f->lists->edges.dim, &p->rows, err));
    return og__npy_append(p->indptr, &zero, 1, err);
}

static void close_picking(struct picking *p)
{
    struct og_budget *b = p->f->budget;
    og__release(b, p->seen, bits_bytes(p->n_nodes), OG__INFER_NODES);
    for (int h = 0; h <= p->f->config.layers; h++) {
        og__release(b, p->hop[h].bits, bits_bytes(p->n_nodes), OG__INFER_NODES);
        og__release(b, p->hop[h].order, rank_bytes(p->n_nodes), OG__INFER_NODES);
    }
    struct og_npy_writer *const writers[] = {p->indptr, p->raw, p->indices, p->weights, p->rows};
    for (size_t i = 0; i < OG_COUNT(writers); i++)
        og__npy_discard(writers[i]);
}

static int add_predicted(struct og_inference *f, const struct og_group *of, struct og_err *err)
{
    const struct og_reader_options how = og__infer_reader_options(f);
    struct og_needed *d = &f->needed;
    struct og_reader *reader;
    OG_DO(og__features_open(&reader, of, &how, f->budget, err));
    for (int h = 0; h <= f->config.layers; h++) {
        const uint64_t first = h > 0 ? d->end[h - 1] : 0;
        const struct og_io_counts one =
            og__reader_predict(reader, d->ids + first, d->end[h] - first);
        d->predicted.reads += one.reads;
        d->predicted.bytes += one.bytes;
    }
    og__reader_close(reader);
    return 0;
}

/* Reads of the feature rows, each once. */
static int predict_reads(struct og_inference *f, struct og_err *err)
{
    struct og_needed *d = &f->needed;
    char read[32];
    d->predicted = (struct og_io_counts){0};
    for (int k = 0; k < f->n_inputs; k++) {
        OG_DO(add_predicted(f, f->input[k], err));
    }
    og__say(&f->log, OG__INFO,
            "--nodes: %lld nodes need %llu lists with %llu edges and %llu of %lld feature rows: %s "
            "in %llu reads, if each is read once",
            (long long)d->n_requested, (unsigned long long)d->end[f->config.layers - 1],
            (unsigned long long)d->edges[f->config.layers], (unsigned long long)d->n_ids,
            (long long)f->ds->n_nodes, og__human_bytes(read, (double)d->predicted.bytes),
            (unsigned long long)d->predicted.reads);
    return 0;
}

int og__infer_pick(struct og_inference *f, struct og_err *err)
{
    struct picking p = {.f = f, .d = &f->needed, .n_nodes = (uint64_t)f->ds->n_nodes};
    int rc;
    f->picked = (struct og_relation){.graph = f->ds,
                                     .name = "",
                                     .indptr = {.fd = -1},
                                     .indices = {.fd = -1},
                                     .weights = {.fd = -1},
                                     .edges = f->lists->edges};
    f->picked.edges.rows = (struct og_npy){.fd = -1};
    OG_TRY(open_picking(&p, err));
    OG_TRY(find_nodes(&p, err));
    OG_TRY(list_ids(&p, err));
    OG_TRY(end_lists(&p, err));
    f->whole = f->lists;
    f->lists = &f->picked;
    OG_TRY(predict_reads(f, err));
out:
    close_picking(&p);
    return rc;
}

void og__infer_release_picked(struct og_inference *f)
{
    struct og_needed *d = &f->needed;
    const uint64_t n_nodes = f->ds ? (uint64_t)f->ds->n_nodes : 0;
    og__release(f->budget, d->requested, (size_t)d->n_requested * 4, "seeds");
    og__release(f->budget, d->ids, d->n_ids * sizeof(*d->ids), OG__INFER_NODES);
    og__release(f->budget, d->bits, bits_bytes(n_nodes), OG__INFER_NODES);
    og__release(f->budget, d->order, rank_bytes(n_nodes), OG__INFER_NODES);
    if (!f->picked.graph)
        return;
    og__npy_close(&f->picked.indptr);
    og__npy_close(&f->picked.indices);
    og__npy_close(&f->picked.weights);
    og__npy_close(&f->picked.edges.rows);
}

uint32_t og__needed_number(const struct og_needed *d, uint32_t node)
{
    return og__bits_rank(d->bits, d->order, node);
}

/* ==== in-degrees at the rim ==== */

struct counting {
    struct og_inference *f;
    uint64_t at; /* number of the current node */
    uint32_t n;
    double sum;
};

static int count_list(void *arg, uint32_t node, const struct list_walk *w, uint32_t n, bool ends,
                      struct og_err *err)
{
    struct counting *c = arg;
    struct og_weight_sums *sums = &c->f->weights;
    (void)err;
    for (uint32_t i = 0; i < n; i++) {
        const bool loop = w->source[i] == node;
        if (loop && sums->loop)
            sums->loop[c->at] = w->weight[i];
        c->n += !loop;
        if (!loop && sums->mean)
            c->sum += (double)w->weight[i];
    }
    if (!ends)
        return 0;
    if (c->f->degree)
        c->f->degree[c->at] = c->n;
    if (sums->mean)
        sums->mean[c->at] = c->n > 0 ? (float)(c->sum / (double)c->n) : 0;
    *c = (struct counting){.f = c->f, .at = c->at + 1};
    return 0;
}

int og__infer_pick_degrees(struct og_inference *f, struct og_err *err)
{
    const struct og_needed *d = &f->needed;
    const uint64_t first = d->end[f->config.layers - 1];
    const size_t bytes = bits_bytes((uint64_t)f->ds->n_nodes);
    struct counting c = {.f = f, .at = first};
    struct list_walk w;
    if (!og__model_wants_degrees(&f->config))
        return 0;
    uint64_t *rim = og__alloc(f->budget, bytes, OG__INFER_NODES, err);
    if (!rim)
        return -ENOMEM;
    for (uint64_t i = first; i < d->n_ids; i++)
        og__bits_add(rim, d->ids[i]);
    int rc;
    OG_TRY(open_walk(&w, f, f->whole, false, err));
    OG_TRY(walk_marked(&w, rim, "find", count_list, &c, err));
out:
    close_walk(&w);
    og__release(f->budget, rim, bytes, OG__INFER_NODES);
    return rc;
}
