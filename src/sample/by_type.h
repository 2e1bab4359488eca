/* Batches of a typed graph, by types. Ids of a type are one range; those of a batch that are of one
 * type are numbered in their order:
 *
 *   ids      | p7 p3 | a2 p9 a1 |        p7 p3 p9 are 0 1 2 of their type, a2 a1 are 0 1
 *
 * so that of each type, too, the destinations of a hop are a prefix of its sources. */
#ifndef OG_SAMPLE_BY_TYPE_H
#define OG_SAMPLE_BY_TYPE_H

#include "base/base.h"
#include "sample/batch.h"

struct og_graph_type {
    const char *name;
    uint32_t end; /* ids of it end here, and those of the next begin */
    int dim;      /* width of what a model reads of a node; 0: nothing */
    bool trained; /* these are parameters */
};
struct og_graph_relation {
    const char *name;
    uint32_t source, destination;
    /* For a model that looks at degrees; NULL: nobody counted. How many edges of it end in each
     * node, of those within a type none of a node to itself; how many leave each, between types. */
    const uint32_t *arriving, *leaving; /* [nodes of the destination], [of the source] */
};
/* What of a typed graph is looked at. Names are borrowed. */
struct og_graph_types {
    uint32_t n_types, n_relations;
    uint32_t target;                    /* the type of all seeds */
    struct og_graph_type *type;         /* [n_types] */
    struct og_graph_relation *relation; /* [n_relations] */
    /* How many neighbours nodes draw in each hop, which bounds the degrees that count; NULL: all.
     * `once`: a node draws in the hop behind the one that found it (og_draw_kind). Borrowed. */
    const int *fanout; /* [n_relations][hops] */
    bool once;
};

/* The type that an id is of. */
uint32_t og__graph_type(const struct og_graph_types *g, uint32_t id);
static inline uint32_t og__first_id(const struct og_graph_types *g, uint32_t type)
{
    return type > 0 ? g->type[type - 1].end : 0;
}

/* Has a node of it a row in a file? */
static inline bool og__has_features(const struct og_graph_type *t)
{
    return t->dim > 0 && !t->trained;
}
/* Those of ids[n] whose types have features, type by type, those of one in their order;
 * n_of[n_types] becomes how many of each, and all of them are returned. out[n] is not ids. */
uint32_t og__ids_with_features(const struct og_graph_types *g, const uint32_t *ids, uint32_t n,
                               uint32_t *out, uint32_t *n_of);

/* How large a batch is by types: or, of several, the largest of each number. */
struct og_type_counts {
    uint32_t n_hops, n_types, n_relations;
    uint64_t *nodes; /* [n_hops + 1][n_types] among the destinations of each hop; among all ids */
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
/* The batch's; local[n_ids], where it is not NULL, becomes the number of each id among those of its
 * type. */
void og__count_types(const struct og_graph_types *g, const struct og_batch *batch, uint32_t *local,
                     struct og_type_counts *out);
/* *most becomes the larger of the two, number by number. */
void og__type_counts_include(struct og_type_counts *most, const struct og_type_counts *c);

/* One relation of hop h as a block of its own: sources and destinations by their numbers. `local`
 * and `counts` are of og__count_types; indptr[destinations + 1] and src[edges] are filled, weights
 * stay where the batch has them. */
void og__relation_block(const struct og_graph_types *g, const struct og_batch *batch, uint32_t hop,
                        uint32_t relation, const uint32_t *local,
                        const struct og_type_counts *counts, uint32_t *indptr, uint32_t *src,
                        struct og_block *out);

#endif
