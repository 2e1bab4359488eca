/* The npy layout, by files:
 *
 *     npy.c          the role of each file
 *     npy_meta.c     meta.json of the source
 *     npy_types.c    node_type.npy and edge_type.npy -> groups and relations
 *     npy_rows.c     rows of all nodes -> those of a group
 *     npy_sparse.c   features as CSR */
#ifndef OG_IMPORT_NPY_H
#define OG_IMPORT_NPY_H

#include "dataset/import/import.h"

enum { OG__NPY_PREFIX = 80 }; /* room for "feat_" and a type's name */

/* The source's meta.json. */
struct og_npy_said {
    int64_t nodes, classes; /* -1 = absent */
    json_t *root;           /* all of it, to be released; NULL = absent */
};
/* Name and task are taken over. */
OG_MUST_CHECK int og__npy_said(struct og_importer *imp, struct og_npy_said *s, struct og_err *err);

/* Opens <prefix>_indptr.npy, _indices.npy and _data.npy, or <prefix>.npz. Both stay NULL where
 * neither is there. `values` as og__import_features has it. */
OG_MUST_CHECK int og__npy_sparse(const struct og_importer *imp, const char *prefix,
                                 struct og_table **features, struct og_table **values,
                                 struct og_err *err);

/* The group of each node of the source. Nodes are renumbered by group, in the source's order within
 * a group. */
struct og_node_order {
    int64_t n;
    bool by_group;    /* the source's order is already by group: the arrays are NULL */
    uint8_t *group;   /* [n] of the source's nodes */
    uint32_t *new_id; /* [n] */
};

struct og_npy_source {
    struct og_importer *imp;
    struct og_npy_said said;
    struct og_edges edges;
    struct og_table *node_type, *edge_type; /* NULL = all are of one type */
    struct og_table *features, *values, *labels;
    struct og_node_order order;
    /* with either type file: the relation of edges of (edge type, source, destination), ends by
     * group; -1 = none */
    uint32_t n_edge_types;
    int32_t *relation_of; /* [n_edge_types, groups, groups] */
    uint32_t *triple;     /* [OG__EDGES_A_PIECE] places in it */
    size_t n_triples;
};

/* Opens node_type.npy and edge_type.npy, as far as they are there. */
OG_MUST_CHECK int og__npy_open_types(struct og_npy_source *s, struct og_err *err);
/* Derives groups from node_type.npy, or one group of n nodes without it; relations from the edges.
 * If all are of one type, the graph is homogeneous, unless options require a heterogeneous one. */
OG_MUST_CHECK int og__npy_groups(struct og_npy_source *s, int64_t n, struct og_err *err);
OG_MUST_CHECK int og__npy_relations(struct og_npy_source *s, struct og_err *err);
/* Adds all edges, between open and close. */
OG_MUST_CHECK int og__npy_add_edges(struct og_npy_source *s, struct og_err *err);
/* Writes the relations of an edge list that has been written, such as train_edges.npy.
 * Heterogeneous graphs only. */
OG_MUST_CHECK int og__npy_edge_relations(struct og_npy_source *s, enum og__split which,
                                         struct og_err *err);
/* Finds the file with the types of such a list's edges; NULL = none. */
OG_MUST_CHECK int og__npy_edge_types_file(const struct og_importer *imp, enum og__split which,
                                          const char **file, struct og_err *err);
/* Writes the source's id of each node, if nodes were reordered. */
OG_MUST_CHECK int og__npy_node_ids(struct og_npy_source *s, struct og_err *err);
void og__npy_close_types(struct og_npy_source *s);

/* Views `base`, a row a node of the source, as the rows of one group. Group -1 = all, in our order.
 * The caller owns base, and nobody else reads it meanwhile. The source must outlive the view. */
OG_MUST_CHECK int og__npy_rows_of(struct og_table **out, const struct og_npy_source *s,
                                  struct og_table *base, int group, struct og_err *err);

#endif
