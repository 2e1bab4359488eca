#include "loader/minibatch_parts.h"

#include "learn/targets.h"

#include <assert.h>
#include <string.h>

/* ---- blocks and rows ---- */

/* Types with scales arrive as floats, sparse rows as their bytes. */
struct og_array og__lay_rows(struct og_layout *l, const struct og_group *g, int64_t n)
{
    const size_t sparse = og__row_form(g) ? og__row_bytes(g) : 0;
    if (sparse > 0)
        return og__array(og__lay(l, n, sparse), OG_ELEMENT_U8, 2, n, (int64_t)sparse);
    const enum og_dtype dtype = og__dtype_scaled(g->dtype) ? OG_F32 : g->dtype;
    void *rows = og__lay(l, n, (size_t)g->dim * og__dtype_size(dtype));
    return og__array(rows, (int)dtype, 2, n, g->dim);
}

static uint32_t *lay_hops(struct og_layout *l, const struct og_minibatch_shape *k,
                          struct og_minibatch *out)
{
    og__lay_hops(l, &k->hops, out->hop, &out->edge_index);
    if (k->graph)
        out->x = og__lay_rows(l, k->graph->group, k->n_ids);
    return NULL;
}

/* As blocks have all edges together, or each relation's by themselves. */
static uint32_t *(*const lays[])(struct og_layout *l, const struct og_minibatch_shape *k,
                                 struct og_minibatch *out) = {lay_hops, og__lay_types};

/* ---- sizes of its arrays ---- */

static void set_labels(struct og_minibatch_shape *k, const struct og_graph *ds)
{
    k->label = og__float_labels(ds) ? OG_ELEMENT_F32 : OG_ELEMENT_I64;
    k->width = og__float_labels(ds) ? ds->n_classes : 1;
}

/* Sets what decides the layout; has: OG__WANT_FEATURES, OG__WANT_EDGES. */
static void set_form(struct og_minibatch_shape *k, const struct og_workload *f, unsigned has,
                     const struct og_type_counts *counts)
{
    k->types = f->types;
    k->counts = counts;
    k->graph = has & OG__WANT_FEATURES ? f->graph : NULL;
    k->edges = og__plans_units(f) ? f->graph : NULL;
    k->trees = f->seeds.trees;
    k->hops.nested = f->types->once;
    k->lay = lays[f->types->by_relation];
    k->hops.weighs = f->trace.extras & OG__WITH_WEIGHTS;
    k->hops.numbers = has & OG__WANT_EDGES;
    k->hops.edges = og__edge_group(k, 0);
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
            counts->edges[h * g->n_relations + r] +=
                (uint64_t)og__repeated_edges(&w->seeds, &b->hop[h], og__first_list(&b->hop[h], r),
                                             og__end_of_lists(&b->hop[h], r));
}

static struct og_minibatch_shape shape_of(struct og_minibatch_maker *m, const struct og_work *w)
{
    const struct og_data_path *d = m->path;
    const struct og_workload *f = d->workload;
    const struct og_batch *b = &w->sampled.batch;
    const int64_t extra = w->seeds.extra;
    struct og_minibatch_shape k = {.n_ids = b->n_ids + extra,
                                   .n_seeds = b->n_seeds + extra,
                                   .n_inputs = w->descriptor.n_seeds,
                                   .n_units = b->n_units,
                                   .hops.n = b->n_hops};
    for (uint32_t h = 0; h < b->n_hops; h++)
        k.hops.hop[h] = counts_of(&w->seeds, &b->hop[h]);
    og__count_types(f->types, b, NULL, &m->by_type);
    add_repeats(f->types, w, &m->by_type);
    set_form(&k, f, (d->gather ? OG__WANT_FEATURES : 0u) | (d->config->want & OG__WANT_EDGES),
             &m->by_type);
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

static struct og_minibatch_shape largest(const struct og_workload *f, unsigned want)
{
    const struct og_batch_caps *caps = &f->caps;
    struct og_minibatch_shape k = {.n_seeds = og__seeds_most(&f->seeds),
                                   .n_inputs = f->schedule.batch_size,
                                   .n_units = (int64_t)caps->n_units,
                                   .hops.n = caps->n_hops};
    for (uint32_t h = 0; h < caps->n_hops; h++) {
        k.hops.hop[h].n_dst = (int64_t)caps->hop[h].n_dst;
        k.hops.hop[h].n_edges = (int64_t)caps->hop[h].n_edges;
        k.n_ids = (int64_t)caps->hop[h].n_src;
    }
    k.n_pairs = (int64_t)caps->n_scores;
    if (f->seeds.repeats)
        add_copies(&k);
    set_form(&k, f, want, caps->types);
    if (!f->seeds.edges)
        set_labels(&k, f->graph);
    return k;
}

/* ---- placing them ---- */

static struct og_edge_places lay_places(struct og_layout *l, const struct og_minibatch_shape *k)
{
    struct og_edge_places p = {0};
    if (k->edges)
        p.rows = og__lay(l, k->types->n_relations, sizeof(*p.rows));
    if (!k->hops.numbers)
        return p;
    p.units = og__lay(l, k->n_units, sizeof(*p.units));
    p.start = og__lay(l, (int64_t)k->types->n_relations + 1, sizeof(*p.start));
    return p;
}

/* Returns what the shape's function returns. */
static uint32_t *lay_out(struct og_layout *l, const struct og_minibatch_shape *k,
                         struct og_minibatch *out, struct og_edge_places *places)
{
    *out = (struct og_minibatch){
        .size = sizeof(*out), .n_seeds = k->n_seeds, .n_hops = (int)k->hops.n};
    out->ids = og__lay_longs(l, 1, k->n_ids, 0);
    out->input_id = og__lay_longs(l, 1, k->n_inputs, 0);
    if (k->trees)
        out->tree = og__lay_longs(l, 1, k->n_ids, 0);
    uint32_t *local = k->lay(l, k, out);
    if (k->width > 0) {
        const size_t size = k->label == OG_ELEMENT_I64 ? sizeof(int64_t) : sizeof(float);
        void *data = og__lay(l, k->n_seeds * k->width, size);
        out->y =
            og__array(data, k->label, k->label == OG_ELEMENT_I64 ? 1 : 2, k->n_seeds, k->width);
    }
    if (k->n_pairs > 0)
        out->pairs = og__lay_longs(l, 2, 2, k->n_pairs);
    *places = lay_places(l, k);
    return local;
}

static size_t bytes_of(const struct og_minibatch_shape *k)
{
    struct og_minibatch ignored;
    struct og_edge_places ignored_too;
    struct og_layout l = {0};
    lay_out(&l, k, &ignored, &ignored_too);
    return l.bytes;
}

size_t og__minibatch_most(const struct og_workload *f, unsigned want)
{
    const struct og_minibatch_shape k = largest(f, want);
    return bytes_of(&k);
}

/* ---- making batches ---- */

int og__minibatch_maker_open(struct og_minibatch_maker *m, const struct og_data_path *path,
                             struct og_pool *pool, struct og_err *err)
{
    const struct og_workload *f = path->workload;
    *m = (struct og_minibatch_maker){.path = path, .pool = pool};
    return og__type_counts_init(&m->by_type, f->types, f->caps.n_hops, err);
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

static void copy_labels(const struct og_data_path *d, const struct og_work *w,
                        const struct og_minibatch *out)
{
    if (!out->y.data)
        return;
    if (out->y.element == OG_ELEMENT_F32) {
        og__work_labels(d->workload, w, out->y.data);
        return;
    }
    const int32_t *label = d->workload->split[w->descriptor.split].labels;
    int64_t *y = out->y.data;
    for (uint32_t i = 0; i < w->descriptor.n_seeds; i++)
        y[i] = label[w->seeds.place[i]];
}

/* A node is in the tree of the first node that it was sampled for. */
static void copy_trees(const struct og_minibatch_shape *k, const struct og_batch *b,
                       const uint32_t *local, const struct og_minibatch *out)
{
    int64_t *tree = out->tree.data;
    for (uint32_t i = 0; i < b->n_seeds; i++)
        tree[i] = i;
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *of = &b->hop[h];
        for (uint32_t i = 0; i < og__lists_of(of); i++)
            for (uint32_t e = of->indptr[i]; e < of->indptr[i + 1]; e++)
                if (of->src[e] >= of->n_dst)
                    tree[of->src[e]] = tree[og__list_dst(of, i)];
    }
    for (uint32_t i = 0; local && i < b->n_ids; i++) {
        int64_t *own = out->type[og__graph_type(k->types, b->ids[i])]->tree.data;
        own[local[i]] = tree[i];
    }
}

/* Copies numbers of ids; with `local` those within their types. */
static void copy_numbers(const uint32_t *from, uint64_t n, const uint32_t *local, int64_t *to)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = local ? local[from[i]] : from[i];
}

/* Copies pairs, source first. */
static void copy_pairs(const struct og_pairs *from, const uint32_t *local, struct og_minibatch *out)
{
    int64_t *src = out->pairs.data;
    int64_t *relation = out->pair_relation.data;
    const uint32_t n = from->n;
    if (!src)
        return;
    out->n_positive = from->n_edges;
    out->n_negative = from->n_negatives;
    for (uint32_t i = 0; relation && i < n; i++)
        relation[i] = from->relation[i];
    copy_numbers(from->a, n, local, src);
    copy_numbers(from->b, n, local, src + n);
}

static uint32_t relation_of(const struct og_edge_unit *of, uint32_t n_relations, uint32_t unit)
{
    uint32_t r = 0;
    while (r + 1 < n_relations && of[r + 1].first <= unit)
        r++;
    return r;
}

static void sort_units(struct og_edge_places *p, const struct og_workload *f,
                       const struct og_batch *b)
{
    const uint32_t n = f->graph->n_relations;
    p->of = f->edge_units;
    if (!p->units || !p->start)
        return;
    memset(p->start, 0, (n + 1) * sizeof(*p->start));
    for (uint32_t i = 0; i < b->n_units; i++)
        p->start[relation_of(p->of, n, b->units[i])]++;
    og__counts_to_starts(p->start, n);
    for (uint32_t i = 0; i < b->n_units; i++)
        p->units[p->start[relation_of(p->of, n, b->units[i])]++] = b->units[i];
    memmove(p->start + 1, p->start, n * sizeof(*p->start)); /* each had moved to the next */
    p->start[0] = 0;
}

void og__copy_places(const struct og_edge_places *p, const struct og_block *b, uint32_t r,
                     uint32_t first, uint32_t n, int64_t *to)
{
    const struct og_edge_unit of = p->of[r];
    const uint32_t *units = p->units + p->start[r];
    for (uint32_t e = 0; of.places && e < n; e++)
        to[e] = b->edge[first + e];
    for (uint32_t e = 0; !of.places && e < n; e++) {
        const uint32_t row = b->edge[first + e];
        to[e] = (int64_t)(units[row / of.rows] - of.first) * of.rows + row % of.rows;
    }
}

void og__copy_edge_rows(const struct og_edge_rows *rows, const struct og_block *b, uint32_t first,
                        uint32_t n, char *to)
{
    enum { AHEAD = 8 };
    const size_t length = og__edge_row_length(rows);
    for (uint32_t e = 0; e < n; e++) {
        if (e + AHEAD < n)
            __builtin_prefetch(og__edge_row(rows, b->edge[first + e + AHEAD]));
        memcpy(to + e * length, og__edge_row(rows, b->edge[first + e]), length);
    }
}

static void find_edge_rows(const struct og_edge_places *p, const struct og_workload *f,
                           const struct og_rows *rows)
{
    for (uint32_t r = 0; p->rows && r < f->graph->n_relations; r++)
        p->rows[r] = og__rows_of_edges(f, rows, r);
}

struct copying {
    const struct og_minibatch_shape *shape;
    const struct og_work *w;
    const uint32_t *local; /* of og__copy_ids; NULL if homogeneous */
    const struct og_edge_places *places;
    struct og_minibatch *out;
};

/* Copies a hop, or a relation's lists in it. */
static void copy_block(const struct copying *c, uint32_t h, uint32_t r)
{
    const struct og_block *b = &c->w->sampled.batch.hop[h];
    const struct og_minibatch_hop *to = c->local ? c->out->relation[r]->hop[h] : c->out->hop[h];
    const uint32_t first = og__first_list(b, r);
    const uint32_t end = og__end_of_lists(b, r);
    const uint32_t edge = b->indptr[first];
    const uint32_t n = b->indptr[end] - edge;
    int64_t *indptr = to->indptr.data;
    int64_t *dst = to->dst.data;
    int64_t v = 0;
    if (c->w->seeds.extra > 0) {
        og__spread_lists(&c->w->seeds, b, first, end, c->local, c->places, r, to);
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        const uint32_t of = c->local ? c->local[og__list_dst(b, i)] : og__list_dst(b, i);
        while (v <= of) /* skips empty lists */
            indptr[v++] = b->indptr[i] - edge;
        for (uint32_t e = b->indptr[i]; e < b->indptr[i + 1]; e++)
            dst[e - edge] = of;
    }
    while (v <= to->n_dst)
        indptr[v++] = n;
    copy_numbers(b->src + edge, n, c->local, to->src.data);
    if (to->weight.data)
        memcpy(to->weight.data, b->weight + edge, n * sizeof(*b->weight));
    if (to->edge.data)
        og__copy_places(c->places, b, r, edge, n, to->edge.data);
    if (to->edge_attr.data)
        og__copy_edge_rows(&c->places->rows[r], b, edge, n, to->edge_attr.data);
}

/* Rows of a type; of a homogeneous graph, all. */
static const struct og_array *rows_of(const struct og_minibatch *out, uint32_t t)
{
    return out->type ? &out->type[t]->x : &out->x;
}

enum { ROWS_A_TASK = 4096 };
static size_t row_tasks(const struct og_array *x)
{
    return x->data ? ((size_t)x->shape[0] + ROWS_A_TASK - 1) / ROWS_A_TASK : 0;
}

/* Repeated seeds have the type of the batch's first id; other types have none. */
static void copy_rows(const struct copying *c, uint32_t t, uint32_t first)
{
    static const struct og_seeds none;
    const struct og_batch *b = &c->w->sampled.batch;
    const uint32_t of_seeds = og__graph_type(c->shape->types, b->ids[0]);
    const struct og_seeds *s = of_seeds == t ? &c->w->seeds : &none;
    const struct og_array *x = rows_of(c->out, t);
    const uint32_t n = (uint32_t)x->shape[0] - s->extra; /* rows of the flow */
    if (first < n)
        og__spread_rows(s, &c->w->rows[t], first, OG_MIN(first + ROWS_A_TASK, n), x->data);
}

static size_t n_blocks(const struct copying *c)
{
    return c->shape->hops.n * (size_t)OG_MAX(c->out->n_relations, 1);
}

/* Tasks: first one hop of a relation each; then rows, a fixed number each. */
static void copy_part(void *arg, size_t task, int thread)
{
    const struct copying *c = arg;
    const uint32_t n_hops = c->shape->hops.n;
    const uint32_t h = (uint32_t)(task % n_hops);
    uint32_t t = 0;
    (void)thread;
    if (task < n_blocks(c)) {
        if (!c->shape->hops.nested || h + 1 == n_hops) /* else its edges are in the last hop */
            copy_block(c, h, (uint32_t)(task / n_hops));
        return;
    }
    task -= n_blocks(c);
    while (task >= row_tasks(rows_of(c->out, t)))
        task -= row_tasks(rows_of(c->out, t++));
    copy_rows(c, t, (uint32_t)task * ROWS_A_TASK);
}

static void copy_all(const struct og_minibatch_maker *m, const struct copying *c)
{
    size_t tasks = n_blocks(c);
    for (int t = 0; t < OG_MAX(c->out->n_types, 1); t++)
        tasks += row_tasks(rows_of(c->out, (uint32_t)t));
    og__pool_run(m->pool, tasks, copy_part, (void *)c);
}

void og__minibatch_fill(struct og_minibatch_maker *m, struct og_minibatch *out,
                        struct og_arena *arena, const struct og_work *w)
{
    struct og_layout l = {.arena = arena};
    struct og_edge_places places;
    uint32_t *local = lay_out(&l, &m->shape, out, &places);
    assert(out->ids.data && l.bytes <= arena->cap); /* must fit */
    og__spread_ids(&w->seeds, w->sampled.batch.ids, w->sampled.batch.n_ids, 0, out->ids.data);
    if (local)
        og__copy_ids(m->shape.types, w, local, out);
    copy_input_id(w, out);
    copy_labels(m->path, w, out);
    if (out->tree.data)
        copy_trees(&m->shape, &w->sampled.batch, local, out);
    sort_units(&places, m->path->workload, &w->sampled.batch);
    find_edge_rows(&places, m->path->workload, w->rows);
    copy_all(m, &(struct copying){&m->shape, w, local, &places, out});
    copy_pairs(&w->seeds.pairs, local, out);
    out->hits = w->plan.n - w->plan.n_misses;
    out->misses = w->plan.n_misses;
    out->bytes_read = w->read.bytes + w->sampled_from.io.bytes + w->trace_read.bytes;
}
