/* A dataset with types of nodes and relations between them (docs/formats.md, format 2).
 *
 *   ids     | type 0            | type 1     | type 2 |      one space, a range a type
 *           0                first[1]     first[2]    N
 *
 *   relation r   source type, name, destination type; a CSC structure of its own, whose lists are
 *                of the destination's nodes and hold ids within the source type
 *
 * Each part is a view that code for datasets of one type takes: a relation has the structure of
 * one, with n_nodes of the destination and n_sources of the source; a type has features; `nodes`
 * has labels and splits, by ids of the whole. */
#ifndef OG_DATASET_TYPED_H
#define OG_DATASET_TYPED_H

#include "dataset/typed_meta.h"

struct og_node_type {
    const char *name;
    int64_t first;          /* id */
    struct og_dataset view; /* n_nodes, features, dim, dtype; dim 0 = none */
};

struct og_relation {
    const char *name;
    uint32_t source, destination;
    struct og_dataset view; /* n_nodes, n_sources, n_edges, indptr, indices, weights */
};

struct og_typed {
    struct og_typed_meta meta;                /* has the names */
    struct og_dataset nodes;                  /* n_nodes, n_edges in all; labels, split, edges */
    struct og_npy node_ids;                   /* what the source called each node, or absent */
    struct og_npy edge_relations[OG__SPLITS]; /* of nodes.edges (typed_edges.h), or absent */
    uint32_t n_types, n_relations;
    struct og_node_type *type;
    struct og_relation *relation;
    uint64_t contents; /* of all of it, as og_identity has it */
};

/* Does the folder hold one? Then og__typed_open says what is wrong with it, else og__dataset_open
 * does. Fails on lack of memory alone. */
OG_MUST_CHECK int og__is_typed(const char *path, bool *is, struct og_err *err);
OG_MUST_CHECK int og__typed_open(const char *path, struct og_typed **out, struct og_err *err);
/* `left` was made of g, which it stands for from here on, closing it: under its path and identity.
 */
void og__typed_replace(struct og_typed *left, struct og_typed *g);
void og__typed_close(struct og_typed *g);

/* The number of a type's rows, which follows from that of the whole. */
uint64_t og__type_contents(uint64_t whole, uint32_t type);

/* Rows of all nodes, as they are kept. */
size_t og__typed_feature_bytes(const struct og_typed *g);

/* The type that a node is of. */
uint32_t og__type_of(const struct og_typed *g, uint32_t node);

#endif
