#include "loader/minibatch_parts.h"

#include "learn/targets.h"

#include <assert.h>
#include <string.h>

/* ---- sizes of its arrays ---- */

/* Rows of one width. */
static void set_rows(struct og_minibatch_shape *k, const struct og_group *g)
{
    k->row = og__row_bytes(g);
    k->dim = g->dim;
    k->stored = (int)g->kept;
}

static void set_labels(struct og_minibatch_shape *k, const struct og_graph *ds)
{
    k->label = og__float_labels(ds) ? OG_ELEMENT_F32 : OG_ELEMENT_I64;
    k->width = og__float_labels(ds) ? ds->n_classes : 1;
}

/* On a heterogeneous graph relations have blocks, and types have rows. */
static void set_types(struct og_minibatch_shape *k, const struct og_facts *f, bool rows,
                      const struct og_type_counts *counts)
{
    k->types = f->types;
    k->counts = counts;
    k->graph = rows ? f->graph : NULL;
    k->hops.nested = f->types->once;
}

static void set_form(struct og_minibatch_shape *k, unsigned extras)
{
    k->hops.nested = extras & OG__NESTED;
    k->hops.weighs = extras & OG__WITH_WEIGHTS;
    og__sum_hops(&k->hops);
}

static struct og_hop_counts counts_of(const struct og_seeds *s, const struct og_block *b)
{
    const int64_t repeated = og__repeated_edges(s, b, 0, og__lists_of(b));
    return (struct og_hop_counts){b->n_dst + (int64_t)s->extra, b->n_src + (int64_t)s->extra,
                                  (int64_t)b->n_edges + repeated};
}

/* Repeated seeds have one type. */
static void add_repeats(const struct og_graph_types *g, const struct og_work *w,
                        struct og_type_counts *counts)
{
    const struct og_batch *b = &w->sampled.batch;
    const uint32_t type = og__graph_type(g, b->ids[0]);
    for (uint32_t h = 0; h <= b->n_hops; h++)
        counts->nodes[h * g->n_types + type] += w->seeds.extra;
    for (uint32_t h = 0; h < b->n_hops; h++)
        for (uint32_t r = 0; r < g->n_relations; r++)
            counts->edges[h * g->n_relations + r] += (uint64_t)og__repeated_edges(
                &w->seeds, &b->hop[h], b->hop[h].relation[r], b->hop[h].relation[r + 1]);
}

static struct og_minibatch_shape shape_of(struct og_minibatch_maker *m, const struct og_work *w)
{
    const struct og_data_path *d = m->path;
    const struct og_facts *f = d->facts;
    const struct og_batch *b = &w->sampled.batch;
    const int64_t extra = w->seeds.extra;
    struct og_minibatch_shape k = {.n_ids = b->n_ids + extra,
                                   .n_seeds = b->n_seeds + extra,
                                   .n_inputs = w->descriptor.n_seeds,
                                   .hops.n = b->n_hops};
    for (uint32_t h = 0; h < b->n_hops; h++)
        k.hops.hop[h] = counts_of(&w->seeds, &b->hop[h]);
    set_form(&k, f->trace.extras);
    if (f->types) {
        og__count_types(f->types, b, NULL, &m->by_type);
        add_repeats(f->types, w, &m->by_type);
        set_types(&k, f, d->gather != NULL, &m->by_type);
    } else if (d->gather)
        set_rows(&k, f->graph->group);
    if (f->split[w->descriptor.split].labels)
        set_labels(&k, f->graph);
    if (f->seeds.edges)
        k.n_pairs = w->seeds.pairs.n;
    return k;
}

/* Estimate of repeated seeds: each appears at most once more, with the average edges of a node. */
static void add_copies(struct og_minibatch_shape *k)
{
    k->n_ids += k->n_seeds;
    for (uint32_t h = 0; h < k->hops.n; h++) {
        struct og_hop_counts *hop = &k->hops.hop[h];
        hop->n_edges +=
            OG_MAX(hop->n_edges / OG_MAX(hop->n_dst, (int64_t)1), (int64_t)1) * k->n_seeds;
        hop->n_dst += k->n_seeds;
    }
}

static struct og_minibatch_shape largest(const struct og_facts *f, unsigned want)
{
    const struct og_batch_caps *caps = &f->caps;
    struct og_minibatch_shape k = {.n_seeds = og__seeds_most(&f->seeds),
                                   .n_inputs = f->schedule.batch_size,
                                   .hops.n = caps->n_hops};
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        k.hops.hop[h].n_dst = (int64_t)caps->hop[h].n_dst;
        k.hops.hop[h].n_edges = (int64_t)caps->hop[h].n_edges;
        k.n_ids = (int64_t)caps->hop[h].n_src;
    }
    k.n_pairs = (int64_t)caps->n_scores;
    if (f->seeds.repeats)
        add_copies(&k);
    set_form(&k, f->trace.extras);
    if (f->types)
        set_types(&k, f, want & OG__WANT_FEATURES, caps->types);
    else if (want & OG__WANT_FEATURES)
        set_rows(&k, f->graph->group);
    if (!f->seeds.edges)
        set_labels(&k, f->graph);
    return k;
}

/* ---- placing them ---- */

static void lay_pairs(struct og_layout *l, const struct og_minibatch_shape *k,
                      struct og_minibatch *out)
{
    if (k->n_pairs == 0)
        return;
    out->pairs = og__lay_longs(l, 2, 2, k->n_pairs);
    if (k->types)
        out->pair_relation = og__lay_longs(l, 1, k->n_pairs, 0);
}

/* Returns memory for the copying of types (og__lay_types). */
static uint32_t *lay_out(struct og_layout *l, const struct og_minibatch_shape *k,
                         struct og_minibatch *out)
{
    uint32_t *local = NULL;
    *out = (struct og_minibatch){
        .size = sizeof(*out), .n_seeds = k->n_seeds, .n_hops = (int)k->hops.n};
    out->ids = og__lay_longs(l, 1, k->n_ids, 0);
    out->input_id = og__lay_longs(l, 1, k->n_inputs, 0);
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

/* ---- making batches ---- */

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

static void copy_input_id(const struct og_work *w, const struct og_minibatch *out)
{
    int64_t *input = out->input_id.data;
    for (uint32_t i = 0; i < w->descriptor.n_seeds; i++)
        input[i] = (int64_t)w->seeds.place[i];
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

/* Tasks: first everything except rows, one hop each; then rows, a fixed number each. */
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
    const struct og_seeds *s = &c->w->seeds;
    if (task < b->n_hops) {
        const struct og_block *from = &b->hop[task];
        if (c->nested && task + 1 < b->n_hops)
            return; /* its edges are in the last hop */
        if (s->extra > 0)
            og__spread_lists(s, from, 0, from->n_dst, NULL, c->out->hop[task]);
        else
            copy_hop(from, c->out->hop[task]);
        return;
    }
    const uint32_t first = (uint32_t)(task - b->n_hops) * OG__ROWS_A_TASK;
    const uint32_t last = OG_MIN(first + OG__ROWS_A_TASK, b->n_ids);
    og__spread_rows(s, c->w->rows, first, last, c->out->x.data);
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
    assert(out->ids.data && l.bytes <= arena->cap); /* must fit */
    og__spread_ids(&w->seeds, w->sampled.batch.ids, w->sampled.batch.n_ids, 0, out->ids.data);
    copy_input_id(w, out);
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
