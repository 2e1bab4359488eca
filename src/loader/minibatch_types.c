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
    if (k->trees)
        out->tree = og__lay_longs(l, 1, n, 0);
    if (k->graph && k->graph->group[t].dim > 0)
        out->x = og__lay_rows(l, &k->graph->group[t], n);
}

static struct og_hops_shape shape_of_relation(const struct og_minibatch_shape *k, uint32_t r)
{
    const struct og_graph_relation *of = &k->types->relation[r];
    struct og_hops_shape out = {.n = k->hops.n,
                                .nested = k->hops.nested,
                                .weighs = k->hops.weighs,
                                .numbers = k->hops.numbers,
                                .edges = og__edge_group(k, r)};
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
    if (k->n_pairs > 0)
        out->pair_relation = og__lay_longs(l, 1, k->n_pairs, 0);
    return og__lay(l, k->n_ids, sizeof(uint32_t));
}

/* ---- copying ---- */

void og__copy_ids(const struct og_graph_types *g, const struct og_work *w, uint32_t *local,
                  const struct og_minibatch *out)
{
    const struct og_seeds *s = &w->seeds;
    const struct og_batch *b = &w->sampled.batch;
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
