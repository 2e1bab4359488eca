#include "loader/layout.h"

/* With nested hops one begins the next, too. */
static void lay_indptr(struct og_layout *l, const struct og_hops_shape *k,
                       struct og_minibatch_hop *out)
{
    for (uint32_t h = k->nested ? k->n - 1 : 0; h < k->n; h++)
        out[h].indptr = og__lay_longs(l, 1, k->hop[h].n_dst + 1, 0);
    for (uint32_t h = 0; k->nested && h + 1 < k->n; h++)
        out[h].indptr =
            og__array(out[k->n - 1].indptr.data, OG_ELEMENT_I64, 1, k->hop[h].n_dst + 1, 0);
}

void og__lay_hops(struct og_layout *l, const struct og_hops_shape *k, struct og_minibatch_hop **out,
                  struct og_array *edge_index)
{
    struct og_minibatch_hop counted[OG_MAX_HOPS];
    struct og_minibatch_hop *laid = og__lay(l, k->n, sizeof(*laid));
    struct og_minibatch_hop *hop = laid ? laid : counted;
    lay_indptr(l, k, hop);
    *edge_index = og__lay_longs(l, 2, 2, k->n_edges);
    float *weights = k->weighs ? og__lay(l, k->n_edges, sizeof(*weights)) : NULL;
    const size_t row = k->edges ? og__row_bytes(k->edges) : 0;
    char *rows = k->edges ? og__lay(l, k->n_edges, row) : NULL;
    int64_t *numbers = k->numbers ? og__lay(l, k->n_edges, sizeof(*numbers)) : NULL;
    int64_t *edges = edge_index->data;
    int64_t first = 0;
    for (uint32_t h = 0; laid && h < k->n; h++) {
        const int64_t n = k->hop[h].n_edges;
        out[h] = &hop[h];
        hop[h].size = sizeof(hop[h]);
        hop[h].n_dst = k->hop[h].n_dst;
        hop[h].n_src = k->hop[h].n_src;
        hop[h].n_edges = n;
        hop[h].first_edge = first;
        hop[h].src = og__array(edges + first, OG_ELEMENT_I64, 1, n, 0);
        hop[h].dst = og__array(edges + k->n_edges + first, OG_ELEMENT_I64, 1, n, 0);
        hop[h].weight =
            weights ? og__array(weights + first, OG_ELEMENT_F32, 1, n, 0) : (struct og_array){0};
        hop[h].edge =
            numbers ? og__array(numbers + first, OG_ELEMENT_I64, 1, n, 0) : (struct og_array){0};
        hop[h].edge_attr =
            rows ? og__array(rows + (size_t)first * row, (int)k->edges->dtype, 2, n, k->edges->dim)
                 : (struct og_array){0};
        first += k->nested ? 0 : n;
    }
}
