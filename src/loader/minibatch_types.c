/* Batches of heterogeneous graphs: ids, rows, and blocks of each relation. */
#include "loader/minibatch_parts.h"

#include <string.h>

/* ---- placing arrays ---- */

/* Copies a name: a batch may outlive the dataset. */
static char *lay_name(struct og_layout *l, const char *name)
{
    const size_t size = strlen(name) + 1;
    char *out = og__lay(l, (int64_t)size, 1);
    return out ? memcpy(out, name, size) : NULL;
}

static void lay_type(struct og_layout *l, const struct og_minibatch_shape *k, uint32_t t,
                     struct og_minibatch_type *out)
{
    const uint32_t n_hops = k->hops.n;
    const int64_t n = (int64_t)og__nodes_of(k->counts, n_hops, t);
    *out = (struct og_minibatch_type){.size = sizeof(*out),
                                      .name = lay_name(l, k->types->type[t].name)};
    for (uint32_t h = 0; h <= n_hops; h++)
        out->n[h] = (int64_t)og__nodes_of(k->counts, h, t);
    out->ids = og__lay_longs(l, 1, n, 0);
    if (k->graph && og__has_features(&k->types->type[t])) {
        const struct og_group *g = &k->graph->group[t];
        void *rows = og__lay(l, n, og__row_bytes(g));
        out->x = og__array(rows, (int)g->kept, 2, n, g->dim);
    }
}

static struct og_hops_shape shape_of_relation(const struct og_minibatch_shape *k, uint32_t r)
{
    const struct og_graph_relation *of = &k->types->relation[r];
    struct og_hops_shape out = {.n = k->hops.n, .nested = k->hops.nested, .weighs = k->hops.weighs};
    for (uint32_t h = 0; h < out.n; h++)
        out.hop[h] =
            (struct og_hop_counts){.n_dst = (int64_t)og__nodes_of(k->counts, h, of->destination),
                                   .n_src = (int64_t)og__nodes_of(k->counts, h + 1, of->source),
                                   .n_edges = (int64_t)og__edges_of(k->counts, h, r)};
    og__sum_hops(&out);
    return out;
}

static void lay_relation(struct og_layout *l, const struct og_minibatch_shape *k, uint32_t r,
                         struct og_minibatch_relation *out)
{
    const struct og_graph_relation *of = &k->types->relation[r];
    const struct og_hops_shape hops = shape_of_relation(k, r);
    *out = (struct og_minibatch_relation){.size = sizeof(*out),
                                          .name = lay_name(l, of->name),
                                          .source = (int)of->source,
                                          .destination = (int)of->destination};
    og__lay_hops(l, &hops, out->hop, &out->edge_index);
}

uint32_t *og__lay_types(struct og_layout *l, const struct og_minibatch_shape *k,
                        struct og_minibatch *out)
{
    struct og_minibatch_type counted;
    struct og_minibatch_relation counted_too;
    out->n_types = (int)k->types->n_types;
    out->n_relations = (int)k->types->n_relations;
    out->type = og__lay(l, out->n_types, sizeof(*out->type));
    out->relation = og__lay(l, out->n_relations, sizeof(*out->relation));
    struct og_minibatch_type *type = og__lay(l, out->n_types, sizeof(*type));
    struct og_minibatch_relation *relation = og__lay(l, out->n_relations, sizeof(*relation));
    for (uint32_t t = 0; t < k->types->n_types; t++) {
        lay_type(l, k, t, type ? &type[t] : &counted);
        if (type)
            out->type[t] = &type[t];
    }
    for (uint32_t r = 0; r < k->types->n_relations; r++) {
        lay_relation(l, k, r, relation ? &relation[r] : &counted_too);
        if (relation)
            out->relation[r] = &relation[r];
    }
    return og__lay(l, k->n_ids, sizeof(uint32_t));
}

/* ---- copying ---- */

struct copying {
    const struct og_minibatch_shape *shape;
    const struct og_work *w;
    const uint32_t *local;
    struct og_minibatch *out;
};

/* Copies ids by type, in the order of the batch, repeated seeds to all positions. And local, the
 * position of each within its type. */
static void copy_ids(const struct og_graph_types *g, const struct og_seeds *s,
                     const struct og_batch *b, uint32_t *local, const struct og_minibatch *out)
{
    uint32_t n[OG_MOST_TYPES] = {0};
    const uint32_t of_seeds = og__graph_type(g, b->ids[0]);
    for (uint32_t i = 0; i < b->n_ids; i++) {
        const uint32_t t = og__graph_type(g, b->ids[i]);
        int64_t *ids = out->type[t]->ids.data;
        local[i] = t == of_seeds ? og__turn_place(s, n[t]) : n[t];
        n[t]++;
        ids[local[i]] = b->ids[i] - og__first_id(g, t);
    }
    og__spread_ids(s, b->ids, s->repeating, og__first_id(g, of_seeds),
                   out->type[of_seeds]->ids.data);
}

static void copy_block(const struct copying *c, uint32_t h, uint32_t r)
{
    const struct og_block *from = &c->w->sampled.batch.hop[h];
    const struct og_minibatch_hop *to = c->out->relation[r]->hop[h];
    int64_t *indptr = to->indptr.data;
    int64_t *src = to->src.data;
    int64_t *dst = to->dst.data;
    int64_t v = 0;
    int64_t n = 0;
    if (c->w->seeds.extra > 0) {
        og__spread_lists(&c->w->seeds, from, from->relation[r], from->relation[r + 1], c->local,
                         to);
        return;
    }
    for (uint32_t i = from->relation[r]; i < from->relation[r + 1]; i++) {
        const int64_t of = c->local[from->dst[i]];
        while (v <= of) /* skips empty lists */
            indptr[v++] = n;
        for (uint32_t e = from->indptr[i]; e < from->indptr[i + 1]; e++, n++) {
            src[n] = c->local[from->src[e]];
            dst[n] = of;
        }
    }
    while (v <= to->n_dst)
        indptr[v++] = n;
    if (to->weight.data)
        memcpy(to->weight.data, from->weight + from->indptr[from->relation[r]],
               (size_t)n * sizeof(*from->weight));
}

static void copy_relation(const struct copying *c, uint32_t r)
{
    const uint32_t n = c->shape->hops.n;
    for (uint32_t h = c->shape->hops.nested ? n - 1 : 0; h < n; h++)
        copy_block(c, h, r);
}

static int64_t rows_of(const struct og_minibatch_type *t)
{
    return t->x.data ? t->x.shape[0] : 0;
}

/* Repeated seeds have the type of the batch's first id; other types have none. */
static const struct og_seeds *seeds_of(const struct copying *c, uint32_t t)
{
    static const struct og_seeds none;
    const struct og_batch *b = &c->w->sampled.batch;
    return og__graph_type(c->shape->types, b->ids[0]) == t ? &c->w->seeds : &none;
}

/* Tasks: first one relation each; then rows of a type, a fixed number each. */
static void copy_part(void *arg, size_t task, int thread)
{
    const struct copying *c = arg;
    uint32_t t = 0;
    (void)thread;
    if (task < (size_t)c->out->n_relations) {
        copy_relation(c, (uint32_t)task);
        return;
    }
    task -= (size_t)c->out->n_relations;
    while (task >= og__row_tasks(rows_of(c->out->type[t])))
        task -= og__row_tasks(rows_of(c->out->type[t++]));
    const uint32_t first = (uint32_t)task * OG__ROWS_A_TASK;
    const struct og_seeds *s = seeds_of(c, t);
    const uint32_t n = (uint32_t)rows_of(c->out->type[t]) - s->extra; /* rows of the flow */
    if (first < n)
        og__spread_rows(s, &c->w->rows[t], first, OG_MIN(first + OG__ROWS_A_TASK, n),
                        c->out->type[t]->x.data);
}

void og__copy_types(const struct og_minibatch_maker *m, const struct og_work *w, uint32_t *local,
                    struct og_minibatch *out)
{
    struct copying c = {&m->shape, w, local, out};
    size_t tasks = (size_t)out->n_relations;
    copy_ids(m->shape.types, &w->seeds, &w->sampled.batch, local, out);
    for (int t = 0; t < out->n_types; t++)
        tasks += og__row_tasks(rows_of(out->type[t]));
    og__pool_run(m->pool, tasks, copy_part, &c);
}

/* Ranking negatives of an edge's source are stored the other way round. */
void og__copy_typed_pairs(const struct og_pairs *from, const uint32_t *local,
                          struct og_minibatch *out)
{
    const uint32_t turned = from->both_ends
                                ? from->n_edges + from->n_negatives + from->n_edges * from->n_rivals
                                : from->n;
    int64_t *src = out->pairs.data;
    int64_t *dst = src + from->n;
    int64_t *relation = out->pair_relation.data;
    for (uint32_t i = 0; i < from->n; i++) {
        src[i] = local[i < turned ? from->a[i] : from->b[i]];
        dst[i] = local[i < turned ? from->b[i] : from->a[i]];
        relation[i] = from->relation[i];
    }
}
