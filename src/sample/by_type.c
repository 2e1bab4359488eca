#include "sample/by_type.h"

#include <stdlib.h>
#include <string.h>

uint32_t og__ids_with_features(const struct og_graph_types *g, const uint32_t *ids, uint32_t n,
                               uint32_t *out, uint32_t *n_of)
{
    uint32_t total = 0;
    memset(n_of, 0, g->n_types * sizeof(*n_of));
    for (uint32_t i = 0; i < n; i++)
        n_of[og__graph_type(g, ids[i])]++;
    for (uint32_t t = 0; t < g->n_types; t++) { /* where each begins, */
        const uint32_t some = og__has_features(&g->type[t]) ? n_of[t] : 0;
        n_of[t] = total;
        total += some;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t t = og__graph_type(g, ids[i]);
        if (og__has_features(&g->type[t]))
            out[n_of[t]++] = ids[i];
    }
    for (uint32_t t = g->n_types; t-- > 1;) /* and, from where it ends, how many */
        n_of[t] -= n_of[t - 1];
    return total;
}

/* ---- counts ---- */

static size_t n_nodes(const struct og_type_counts *c)
{
    return ((size_t)c->n_hops + 1) * c->n_types;
}

static size_t n_edges(const struct og_type_counts *c)
{
    return (size_t)c->n_hops * c->n_relations;
}

int og__type_counts_init(struct og_type_counts *c, const struct og_graph_types *g, uint32_t n_hops,
                         struct og_err *err)
{
    *c = (struct og_type_counts){
        .n_hops = n_hops, .n_types = g->n_types, .n_relations = g->n_relations};
    c->bytes = (n_nodes(c) + n_edges(c)) * sizeof(*c->nodes);
    c->nodes = calloc(1, c->bytes);
    if (!c->nodes)
        return og__fail_errno(err, -ENOMEM, NULL, "counts of types");
    c->edges = c->nodes + n_nodes(c);
    return 0;
}

void og__type_counts_release(struct og_type_counts *c)
{
    free(c->nodes);
    *c = (struct og_type_counts){0};
}

void og__type_counts_include(struct og_type_counts *most, const struct og_type_counts *c)
{
    for (size_t i = 0; i < n_nodes(most) + n_edges(most); i++)
        most->nodes[i] = OG_MAX(most->nodes[i], c->nodes[i]);
}

/* ---- of a batch ---- */

static void count_edges(const struct og_block *b, uint32_t n_relations, uint64_t *edges)
{
    for (uint32_t r = 0; r < n_relations; r++)
        edges[r] = b->indptr[og__end_of_lists(b, r)] - b->indptr[og__first_list(b, r)];
}

void og__count_types(const struct og_graph_types *g, const struct og_batch *batch, uint32_t *local,
                     struct og_type_counts *out)
{
    uint32_t i = 0;
    memset(out->nodes, 0, out->bytes);
    for (uint32_t h = 0; h <= batch->n_hops; h++) {
        uint64_t *n = out->nodes + (size_t)h * g->n_types;
        const uint32_t end = h < batch->n_hops ? batch->hop[h].n_dst : batch->n_ids;
        if (h > 0)
            memcpy(n, n - g->n_types, g->n_types * sizeof(*n));
        for (; i < end; i++) {
            const uint64_t number = n[og__graph_type(g, batch->ids[i])]++;
            if (local)
                local[i] = (uint32_t)number;
        }
        if (h < batch->n_hops)
            count_edges(&batch->hop[h], g->n_relations, out->edges + (size_t)h * g->n_relations);
    }
}

void og__relation_block(const struct og_graph_types *g, const struct og_batch *batch, uint32_t hop,
                        uint32_t relation, const uint32_t *local,
                        const struct og_type_counts *counts, uint32_t *indptr, uint32_t *src,
                        struct og_block *out)
{
    const struct og_block *b = &batch->hop[hop];
    const struct og_graph_relation *of = &g->relation[relation];
    const uint32_t n_dst = (uint32_t)og__nodes_of(counts, hop, of->destination);
    uint32_t n = 0;
    uint32_t v = 0;
    for (uint32_t i = b->relation[relation]; i < b->relation[relation + 1]; i++) {
        while (v <= local[b->dst[i]]) /* empty lists, and this one */
            indptr[v++] = n;
        for (uint32_t e = b->indptr[i]; e < b->indptr[i + 1]; e++)
            src[n++] = local[b->src[e]];
    }
    while (v <= n_dst)
        indptr[v++] = n;
    *out = (struct og_block){.n_dst = n_dst,
                             .n_src = (uint32_t)og__nodes_of(counts, hop + 1, of->source),
                             .n_edges = n,
                             .indptr = indptr,
                             .src = src,
                             .edge = b->edge ? b->edge + b->indptr[b->relation[relation]] : NULL,
                             .weight =
                                 b->weight ? b->weight + b->indptr[b->relation[relation]] : NULL};
}
