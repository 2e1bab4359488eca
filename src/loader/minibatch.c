#include "loader/minibatch_parts.h"

#include "train/targets.h"

#include <assert.h>
#include <string.h>

/* ---- how large its arrays are ---- */

static void set_rows(struct og_minibatch_shape *k, const struct og_dataset *ds)
{
    k->row = og__row_bytes(ds);
    k->dim = ds->dim;
    k->stored = (int)ds->kept;
}

static void set_labels(struct og_minibatch_shape *k, const struct og_dataset *ds)
{
    k->label = og__float_labels(ds) ? OG_ELEMENT_F32 : OG_ELEMENT_I64;
    k->width = og__float_labels(ds) ? ds->n_classes : 1;
}

/* Of a typed graph relations have blocks, and types rows. */
static void set_types(struct og_minibatch_shape *k, const struct og_facts *f, bool rows,
                      const struct og_type_counts *counts)
{
    k->types = f->types;
    k->counts = counts;
    k->typed = rows ? f->typed : NULL;
    k->hops.nested = f->types->once;
}

static void set_form(struct og_minibatch_shape *k, unsigned extras)
{
    k->hops.nested = extras & OG__NESTED;
    k->hops.weighs = extras & OG__WITH_WEIGHTS;
    og__sum_hops(&k->hops);
}

static struct og_minibatch_shape shape_of(struct og_minibatch_maker *m, const struct og_work *w)
{
    const struct og_data_path *d = m->path;
    const struct og_facts *f = d->facts;
    const struct og_batch *b = &w->sampled.batch;
    struct og_minibatch_shape k = {.n_ids = b->n_ids, .n_seeds = b->n_seeds, .hops.n = b->n_hops};
    for (uint32_t h = 0; h < b->n_hops; h++)
        k.hops.hop[h] =
            (struct og_hop_counts){b->hop[h].n_dst, b->hop[h].n_src, (int64_t)b->hop[h].n_edges};
    set_form(&k, f->trace.extras);
    if (f->types) {
        og__count_types(f->types, b, NULL, &m->by_type);
        set_types(&k, f, d->typed_gather != NULL, &m->by_type);
    }
    if (d->gather)
        set_rows(&k, f->ds);
    if (f->split[w->descriptor.split].labels)
        set_labels(&k, f->ds);
    if (f->seeds.edges)
        k.n_pairs = w->seeds.pairs.n;
    return k;
}

static struct og_minibatch_shape largest(const struct og_facts *f, unsigned want)
{
    const struct og_batch_caps *caps = &f->caps;
    struct og_minibatch_shape k = {.n_seeds = og__seeds_most(&f->seeds), .hops.n = caps->n_hops};
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        k.hops.hop[h].n_dst = (int64_t)caps->hop[h].n_dst;
        k.hops.hop[h].n_edges = (int64_t)caps->hop[h].n_edges;
        k.n_ids = (int64_t)caps->hop[h].n_src;
    }
    k.n_pairs = (int64_t)caps->n_scores;
    set_form(&k, f->trace.extras);
    if (f->types)
        set_types(&k, f, want & OG__WANT_FEATURES, caps->types);
    else if (want & OG__WANT_FEATURES)
        set_rows(&k, f->ds);
    if (!f->seeds.edges)
        set_labels(&k, f->ds);
    return k;
}

/* ---- laying them out ---- */

static void lay_pairs(struct og_layout *l, const struct og_minibatch_shape *k,
                      struct og_minibatch *out)
{
    if (k->n_pairs == 0)
        return;
    out->pairs = og__lay_longs(l, 2, 2, k->n_pairs);
    if (k->types)
        out->pair_relation = og__lay_longs(l, 1, k->n_pairs, 0);
}

/* What it returns is for the copying of types (og__lay_types). */
static uint32_t *lay_out(struct og_layout *l, const struct og_minibatch_shape *k,
                         struct og_minibatch *out)
{
    uint32_t *local = NULL;
    *out = (struct og_minibatch){.n_seeds = k->n_seeds, .n_hops = (int)k->hops.n};
    out->ids = og__lay_longs(l, 1, k->n_ids, 0);
    if (k->types)
        local = og__lay_types(l, k, out);
    else
        og__lay_hops(l, &k->hops, out->hop, &out->edge_index);
    if (k->width > 0) {
        const size_t size = k->label == OG_ELEMENT_I64 ? sizeof(int64_t) : sizeof(float);
        void *data = og__lay(l, k->n_seeds * k->width, size);
        out->y =
            og__array(data, k->label, k->label == OG_ELEMENT_I64 ? 1 : 2, k->n_seeds, k->width);
    }
    lay_pairs(l, k, out);
    if (k->row > 0)
        out->x = og__array(og__lay(l, k->n_ids, k->row), k->stored, 2, k->n_ids, k->dim);
    return local;
}

static size_t bytes_of(const struct og_minibatch_shape *k)
{
    struct og_minibatch ignored;
    struct og_layout l = {0};
    lay_out(&l, k, &ignored);
    return l.bytes;
}

size_t og__minibatch_most(const struct og_facts *f, unsigned want)
{
    const struct og_minibatch_shape k = largest(f, want);
    return bytes_of(&k);
}

/* ---- making them ---- */

int og__minibatch_maker_open(struct og_minibatch_maker *m, const struct og_data_path *path,
                             struct og_pool *pool, struct og_err *err)
{
    const struct og_facts *f = path->facts;
    *m = (struct og_minibatch_maker){.path = path, .pool = pool};
    return f->types ? og__type_counts_init(&m->by_type, f->types, f->caps.n_hops, err) : 0;
}

void og__minibatch_maker_close(struct og_minibatch_maker *m)
{
    og__type_counts_release(&m->by_type);
}

size_t og__minibatch_measure(struct og_minibatch_maker *m, const struct og_work *w)
{
    m->shape = shape_of(m, w);
    return bytes_of(&m->shape);
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

static void copy_pairs(const struct og_pairs *from, const uint32_t *local, struct og_minibatch *out)
{
    int64_t *src = out->pairs.data;
    if (!src)
        return;
    out->n_positive = from->n_edges;
    out->n_negative = from->n_negatives;
    if (local) {
        og__copy_typed_pairs(from, local, out);
        return;
    }
    int64_t *dst = src + from->n;
    for (uint32_t i = 0; i < from->n; i++) {
        src[i] = from->a[i];
        dst[i] = from->b[i];
    }
}

/* Tasks: first all that is not rows, each hop by itself; then so many rows each. */
struct copying {
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
    const uint32_t first = (uint32_t)(task - b->n_hops) * OG__ROWS_A_TASK;
    og__rows_copy(c->w->rows, first, OG_MIN(first + OG__ROWS_A_TASK, b->n_ids), c->out->x.data);
}

static void copy_all(const struct og_minibatch_maker *m, const struct og_work *w,
                     struct og_minibatch *out)
{
    struct copying c = {w, out, m->shape.hops.nested};
    const struct og_batch *b = &w->sampled.batch;
    const size_t n_rows = out->x.data ? og__row_tasks(b->n_ids) : 0;
    og__pool_run(m->pool, b->n_hops + n_rows, copy_part, &c);
}

void og__minibatch_fill(struct og_minibatch_maker *m, struct og_minibatch *out,
                        struct og_arena *arena, const struct og_work *w)
{
    struct og_layout l = {.arena = arena};
    uint32_t *local = lay_out(&l, &m->shape, out);
    assert(out->ids.data && l.bytes <= arena->cap); /* there is room */
    copy_ids(&w->sampled.batch, out);
    copy_labels(m->path, w, out);
    if (m->shape.types)
        og__copy_types(m, w, local, out);
    else
        copy_all(m, w, out);
    copy_pairs(&w->seeds.pairs, local, out);
    out->hits = w->plan.n - w->plan.n_misses;
    out->misses = w->plan.n_misses;
    out->bytes_read = w->read.bytes + w->sampled_from.io.bytes + w->trace_read.bytes;
}
