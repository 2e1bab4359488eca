#include "loader/minibatch.h"

#include "train/targets.h"

#include <assert.h>
#include <string.h>

/* ---- how large its arrays are ---- */

struct shape {
    int64_t n_ids, n_seeds, n_edges, n_pairs; /* n_edges: columns of edge_index */
    uint32_t n_hops;
    bool nested; /* the edges of a hop are the first ones of the next: they are there once */
    struct {
        int64_t n_dst, n_src, n_edges;
    } hop[OG_MAX_HOPS];
    bool weighs;
    size_t row; /* bytes of a row of x; 0 = it has none */
    int dim;
    int label;  /* enum og_element of y */
    int width;  /* of y; 0 = it has none */
    int stored; /* enum og_dtype of x */
};

static void set_rows(struct shape *k, const struct og_dataset *ds)
{
    k->row = og__row_bytes(ds);
    k->dim = ds->dim;
    k->stored = (int)ds->kept;
}

static void set_labels(struct shape *k, const struct og_dataset *ds)
{
    k->label = og__float_labels(ds) ? OG_ELEMENT_F32 : OG_ELEMENT_I64;
    k->width = og__float_labels(ds) ? ds->n_classes : 1;
}

static void count_edges(struct shape *k, unsigned extras)
{
    k->nested = extras & OG__NESTED;
    k->weighs = extras & OG__WITH_WEIGHTS;
    for (uint32_t h = 0; h < k->n_hops; h++)
        k->n_edges = k->hop[h].n_edges + (k->nested ? 0 : k->n_edges);
}

static struct shape shape_of(const struct og_data_path *d, const struct og_work *w)
{
    const struct og_batch *b = &w->sampled.batch;
    struct shape k = {.n_ids = b->n_ids, .n_seeds = b->n_seeds, .n_hops = b->n_hops};
    for (uint32_t h = 0; h < b->n_hops; h++) {
        k.hop[h].n_dst = b->hop[h].n_dst;
        k.hop[h].n_src = b->hop[h].n_src;
        k.hop[h].n_edges = (int64_t)b->hop[h].n_edges;
    }
    count_edges(&k, d->facts->trace.extras);
    if (d->gather)
        set_rows(&k, d->facts->ds);
    if (d->facts->split[w->descriptor.split].labels)
        set_labels(&k, d->facts->ds);
    if (d->facts->seeds.edges)
        k.n_pairs = w->seeds.pairs.n;
    return k;
}

static struct shape largest(const struct og_facts *f, unsigned want)
{
    const struct og_batch_caps *caps = &f->caps;
    struct shape k = {.n_seeds = og__seeds_most(&f->seeds), .n_hops = caps->n_hops};
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        k.hop[h].n_dst = (int64_t)caps->hop[h].n_dst;
        k.hop[h].n_edges = (int64_t)caps->hop[h].n_edges;
        k.n_ids = (int64_t)caps->hop[h].n_src;
    }
    k.n_pairs = (int64_t)caps->n_scores;
    count_edges(&k, f->trace.extras);
    if (want & OG__WANT_FEATURES)
        set_rows(&k, f->ds);
    if (!f->seeds.edges)
        set_labels(&k, f->ds);
    return k;
}

/* ---- laying them out ---- */

struct layout {
    struct og_arena *arena; /* NULL: only counted */
    size_t bytes;
};

static struct og_array array(void *data, int element, int n_dims, int64_t rows, int64_t columns)
{
    return (struct og_array){data, element, n_dims, {rows, n_dims > 1 ? columns : 0}};
}

static void *take(struct layout *l, int64_t n, size_t size)
{
    const size_t bytes = (size_t)n * size;
    l->bytes += og__arena_room(bytes);
    return l->arena ? og__arena_take(l->arena, bytes) : NULL;
}

static struct og_array take_longs(struct layout *l, int n_dims, int64_t rows, int64_t columns)
{
    void *data = take(l, n_dims > 1 ? rows * columns : rows, sizeof(int64_t));
    return array(data, OG_ELEMENT_I64, n_dims, rows, columns);
}

/* Of nested hops one is the beginning of the next, too. */
static void lay_indptr(struct layout *l, const struct shape *k, struct og_minibatch *out)
{
    for (uint32_t h = k->nested ? k->n_hops - 1 : 0; h < k->n_hops; h++)
        out->hop[h].indptr = take_longs(l, 1, k->hop[h].n_dst + 1, 0);
    for (uint32_t h = 0; k->nested && h + 1 < k->n_hops; h++)
        out->hop[h].indptr =
            array(out->hop[k->n_hops - 1].indptr.data, OG_ELEMENT_I64, 1, k->hop[h].n_dst + 1, 0);
}

static void lay_hops(struct layout *l, const struct shape *k, struct og_minibatch *out)
{
    lay_indptr(l, k, out);
    out->edge_index = take_longs(l, 2, 2, k->n_edges);
    float *weights = k->weighs ? take(l, k->n_edges, sizeof(*weights)) : NULL;
    int64_t *edges = out->edge_index.data;
    int64_t first = 0;
    for (uint32_t h = 0; edges && h < k->n_hops; h++) {
        struct og_minibatch_hop *hop = &out->hop[h];
        const int64_t n = k->hop[h].n_edges;
        hop->n_dst = k->hop[h].n_dst;
        hop->n_src = k->hop[h].n_src;
        hop->n_edges = n;
        hop->first_edge = first;
        hop->src = array(edges + first, OG_ELEMENT_I64, 1, n, 0);
        hop->dst = array(edges + k->n_edges + first, OG_ELEMENT_I64, 1, n, 0);
        if (weights)
            hop->weight = array(weights + first, OG_ELEMENT_F32, 1, n, 0);
        first += k->nested ? 0 : n;
    }
}

static void lay_out(struct layout *l, const struct shape *k, struct og_minibatch *out)
{
    *out = (struct og_minibatch){.n_seeds = k->n_seeds, .n_hops = (int)k->n_hops};
    out->ids = take_longs(l, 1, k->n_ids, 0);
    lay_hops(l, k, out);
    if (k->width > 0) {
        const size_t size = k->label == OG_ELEMENT_I64 ? sizeof(int64_t) : sizeof(float);
        void *data = take(l, k->n_seeds * k->width, size);
        out->y = array(data, k->label, k->label == OG_ELEMENT_I64 ? 1 : 2, k->n_seeds, k->width);
    }
    if (k->n_pairs > 0)
        out->pairs = take_longs(l, 2, 2, k->n_pairs);
    if (k->row > 0)
        out->x = array(take(l, k->n_ids, k->row), k->stored, 2, k->n_ids, k->dim);
}

static size_t bytes_of(const struct shape *k)
{
    struct og_minibatch ignored;
    struct layout l = {0};
    lay_out(&l, k, &ignored);
    return l.bytes;
}

size_t og__minibatch_most(const struct og_facts *f, unsigned want)
{
    const struct shape k = largest(f, want);
    return bytes_of(&k);
}

size_t og__minibatch_bytes(const struct og_data_path *d, const struct og_work *w)
{
    const struct shape k = shape_of(d, w);
    return bytes_of(&k);
}

/* ---- copying ---- */

static void copy_ids(const struct og_batch *b, const struct og_minibatch *out)
{
    int64_t *ids = out->ids.data;
    for (uint32_t i = 0; i < b->n_ids; i++)
        ids[i] = b->ids[i];
}

static void copy_hop(const struct og_block *from, const struct og_minibatch_hop *to)
{
    int64_t *indptr = to->indptr.data;
    int64_t *src = to->src.data;
    int64_t *dst = to->dst.data;
    for (uint32_t v = 0; v <= from->n_dst; v++)
        indptr[v] = from->indptr[v];
    for (uint64_t e = 0; e < from->n_edges; e++)
        src[e] = from->src[e];
    for (uint32_t v = 0; v < from->n_dst; v++)
        for (uint32_t e = from->indptr[v]; e < from->indptr[v + 1]; e++)
            dst[e] = v;
    if (to->weight.data)
        memcpy(to->weight.data, from->weight, from->n_edges * sizeof(*from->weight));
}

static void copy_labels(const struct og_data_path *d, const struct og_work *w,
                        const struct og_minibatch *out)
{
    if (!out->y.data)
        return;
    if (out->y.element == OG_ELEMENT_F32) {
        og__work_labels(d->facts, w, out->y.data);
        return;
    }
    const int32_t *label = d->facts->split[w->descriptor.split].labels;
    int64_t *y = out->y.data;
    for (uint32_t i = 0; i < w->descriptor.n_seeds; i++)
        y[i] = label[w->seeds.place[i]];
}

static void copy_pairs(const struct og_pairs *from, struct og_minibatch *out)
{
    int64_t *src = out->pairs.data;
    if (!src)
        return;
    int64_t *dst = src + from->n;
    for (uint32_t i = 0; i < from->n; i++) {
        src[i] = from->a[i];
        dst[i] = from->b[i];
    }
    out->n_positive = from->n_edges;
    out->n_negative = from->n_negatives;
}

/* Tasks: first all that is not rows, each hop by itself; then so many rows each. */
enum { TASK_ROWS = 4096 };

struct copying {
    const struct og_data_path *d;
    const struct og_work *w;
    struct og_minibatch *out;
    bool nested;
};

static void copy_part(void *arg, size_t task, int thread)
{
    const struct copying *c = arg;
    const struct og_batch *b = &c->w->sampled.batch;
    (void)thread;
    if (task < b->n_hops) {
        if (!c->nested || task + 1 == b->n_hops) /* else it lies in the last one */
            copy_hop(&b->hop[task], &c->out->hop[task]);
        return;
    }
    const uint32_t first = (uint32_t)(task - b->n_hops) * TASK_ROWS;
    og__rows_copy(c->w->rows, first, OG_MIN(first + TASK_ROWS, b->n_ids), c->out->x.data);
}

void og__minibatch_fill(struct og_minibatch *out, struct og_arena *arena,
                        const struct og_data_path *d, struct og_pool *pool, const struct og_work *w)
{
    const struct og_batch *b = &w->sampled.batch;
    const struct shape k = shape_of(d, w);
    struct layout l = {.arena = arena};
    lay_out(&l, &k, out);
    assert(out->ids.data && out->edge_index.data); /* there is room */
    copy_ids(b, out);
    copy_labels(d, w, out);
    copy_pairs(&w->seeds.pairs, out);
    struct copying c = {d, w, out, k.nested};
    const size_t n_rows = out->x.data ? (b->n_ids + (size_t)TASK_ROWS - 1) / TASK_ROWS : 0;
    og__pool_run(pool, b->n_hops + n_rows, copy_part, &c);
    out->hits = w->plan.n - w->plan.n_misses;
    out->misses = w->plan.n_misses;
    out->bytes_read = w->read.bytes + w->sampled_from.io.bytes + w->trace_read.bytes;
}
