/* Batches by node type. Ids of a type are one range; a homogeneous graph has one type, without a
 * name. A batch's ids of one type are numbered in their order:
 *
 *   ids      | p7 p3 | a2 p9 a1 |        p7 p3 p9 are 0 1 2, a2 a1 are 0 1
 *
 * So for each type, too, the destinations of a hop are a prefix of its sources. */
#ifndef OG_SAMPLE_BY_TYPE_H
#define OG_SAMPLE_BY_TYPE_H

#include "base/base.h"
#include "dataset/weight_sums.h"
#include "sample/batch.h"

struct og_graph_type {
    const char *name;
    uint32_t end;     /* end of its ids, and start of the next type's */
    int dim;          /* width of a node's model input; 0: none */
    uint32_t entries; /* most of a row, if rows are sparse */
    bool trained;     /* these are parameters */
    bool stored;      /* and batches bring them, as they bring features (gather/written.h) */
    bool target;      /* seeds of nodes may be of it */
};
struct og_graph_relation {
    const char *name;
    uint32_t source, destination;
    int edge_dim; /* width of its edges' rows; 0: none */
    /* For models that use degrees; NULL: not counted. The number of edges into each node, without
     * self-loops within a type; the number out of each, between types. */
    const uint32_t *arriving, *leaving; /* [nodes of the destination], [of the source] */
    struct og_weight_sums weights;      /* where degrees are of weights */
};
/* The types and relations of a graph. Names are borrowed. */
struct og_graph_types {
    uint32_t n_types, n_relations;
    uint32_t n_unit_groups; /* the last of them have units of edges (batch.h) in place of nodes */
    bool by_relation;       /* blocks have each relation's edges by themselves */
    uint32_t target;        /* the first type that seeds are of */
    struct og_graph_type *type;         /* [n_types] */
    struct og_graph_relation *relation; /* [n_relations] */
    /* The fanout of each hop, which bounds the degrees that count; NULL: all neighbours. `once`: a
     * node samples only in the hop after the one that found it (og_draw_kind). Borrowed. */
    const int *fanout; /* [n_relations][hops] */
    bool once, replace;
};

/* The type that an id is of. Without branches that depend on the id; in the header, because loops
 * over a batch's ids call it. */
static inline uint32_t og__graph_type(const struct og_graph_types *g, uint32_t id)
{
    uint32_t low = 0;
    for (uint32_t n = g->n_types; n > 1;) {
        const uint32_t half = n / 2;
        low += (id >= g->type[low + half - 1].end) * half;
        n -= half;
    }
    return low;
}
static inline uint32_t og__first_id(const struct og_graph_types *g, uint32_t type)
{
    return type > 0 ? g->type[type - 1].end : 0;
}

/* Do its nodes have rows in a file? */
static inline bool og__has_features(const struct og_graph_type *t)
{
    return t->dim > 0 && (!t->trained || t->stored);
}
/* Copies those of ids[n] whose types have features, by type, each in their order. Sets
 * n_of[n_types] to their numbers and returns the total. out[n] must not be ids. */
uint32_t og__ids_with_features(const struct og_graph_types *g, const uint32_t *ids, uint32_t n,
                               uint32_t *out, uint32_t *n_of);

/* The sizes of a batch by type; or, for several, the maximum of each number. */
struct og_type_counts {
    uint32_t n_hops, n_types, n_relations;
    uint64_t *nodes; /* [n_hops + 1][n_types] destinations of each hop; last, all ids */
    uint64_t *edges; /* [n_hops][n_relations] */
    size_t bytes;
};
OG_MUST_CHECK int og__type_counts_init(struct og_type_counts *c, const struct og_graph_types *g,
                                       uint32_t n_hops, struct og_err *err);
void og__type_counts_release(struct og_type_counts *c); /* also a zeroed one */
static inline uint64_t og__nodes_of(const struct og_type_counts *c, uint32_t hop, uint32_t type)
{
    return c->nodes[(size_t)hop * c->n_types + type];
}
static inline uint64_t og__edges_of(const struct og_type_counts *c, uint32_t hop, uint32_t relation)
{
    return c->edges[(size_t)hop * c->n_relations + relation];
}
/* Counts the batch. If local[n_ids] is not NULL, it gets each id's number within its type. */
void og__count_types(const struct og_graph_types *g, const struct og_batch *batch, uint32_t *local,
                     struct og_type_counts *out);
/* Raises each number of `most` to that of `c`. */
void og__type_counts_include(struct og_type_counts *most, const struct og_type_counts *c);

/* Extracts one relation of hop h as a block, with sources and destinations numbered by type.
 * `local` and `counts` are from og__count_types. Fills indptr[destinations + 1] and src[edges];
 * weights and rows of edges stay in the batch. */
void og__relation_block(const struct og_graph_types *g, const struct og_batch *batch, uint32_t hop,
                        uint32_t relation, const uint32_t *local,
                        const struct og_type_counts *counts, uint32_t *indptr, uint32_t *src,
                        struct og_block *out);

#endif
