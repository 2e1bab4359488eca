/* layout: arrays of a batch for the caller, consecutive in an arena, or only counted. So the code
 * that places the arrays also computes their size. */
#ifndef OG_LOADER_LAYOUT_H
#define OG_LOADER_LAYOUT_H

#include <outgrow/outgrow.h>

#include "base/memory.h"
#include "dataset/graph.h"

struct og_layout {
    struct og_arena *arena; /* NULL: only count; arrays get no memory */
    size_t bytes;
};

static inline void *og__lay(struct og_layout *l, int64_t n, size_t size)
{
    const size_t bytes = (size_t)n * size;
    l->bytes += og__arena_room(bytes);
    return l->arena ? og__arena_take(l->arena, bytes) : NULL;
}

static inline struct og_array og__array(void *data, int element, int n_dims, int64_t rows,
                                        int64_t columns)
{
    return (struct og_array){data, element, n_dims, {rows, n_dims > 1 ? columns : 0}};
}

static inline struct og_array og__lay_longs(struct og_layout *l, int n_dims, int64_t rows,
                                            int64_t columns)
{
    void *data = og__lay(l, n_dims > 1 ? rows * columns : rows, sizeof(int64_t));
    return og__array(data, OG_ELEMENT_I64, n_dims, rows, columns);
}

/* The blocks of a batch, or of one relation. */
struct og_hops_shape {
    uint32_t n;
    bool nested;                  /* edges of a hop are the first ones of the next; stored once */
    bool weighs, numbers;         /* edges have weights; places */
    const struct og_group *edges; /* and rows of such features; NULL: none */
    int64_t n_edges;              /* columns of edge_index */
    struct og_hop_counts {
        int64_t n_dst, n_src, n_edges;
    } hop[OG_MAX_HOPS];
};

/* Sum the counts of all hops. */
static inline void og__sum_hops(struct og_hops_shape *k)
{
    k->n_edges = 0;
    for (uint32_t h = 0; h < k->n; h++)
        k->n_edges = k->hop[h].n_edges + (k->nested ? 0 : k->n_edges);
}

/* Place the arrays of out[k->n]; their consecutive edges are edge_index. */
void og__lay_hops(struct og_layout *l, const struct og_hops_shape *k, struct og_minibatch_hop **out,
                  struct og_array *edge_index);

#endif
