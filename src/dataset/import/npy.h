/* The neutral layout, a file a part of it:
 *
 *   npy.c          which file is what
 *   npy_meta.c     meta.json of the source
 *   npy_types.c    node_type.npy and edge_type.npy -> groups and relations
 *   npy_rows.c     rows of all nodes -> those of a group
 *   npy_sparse.c   features as CSR */
#ifndef OG_IMPORT_NPY_H
#define OG_IMPORT_NPY_H

#include "dataset/import/import.h"

enum { OG__NPY_PREFIX = 80 }; /* room for "feat_" and a type's name */

/* By the source's meta.json. */
struct og_npy_said {
    int64_t nodes, classes; /* -1 = not said */
    json_t *root;           /* all of it, to be released; NULL = there is none */
};
/* Name and task are taken over. */
OG_MUST_CHECK int og__npy_said(struct og_importer *imp, struct og_npy_said *s, struct og_err *err);

/* Of <prefix>_indptr.npy, _indices.npy and _data.npy. */
OG_MUST_CHECK int og__npy_sparse(const struct og_importer *imp, const char *prefix,
                                 struct og_table **out, struct og_err *err);

/* Which group each node of the source is of. They are numbered by groups, within a group in the
 * source's order. */
struct og_node_order {
    int64_t n;
    bool by_group;    /* the source's order is ours: then the arrays are NULL */
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
    /* with either of them: which relation edges of (edge type, source, destination) are, ends by
     * their groups; -1 = there are none */
    uint32_t n_edge_types;
    int32_t *relation_of; /* [n_edge_types, groups, groups] */
    uint32_t *triple;     /* [OG__EDGES_A_PIECE] places in it */
    size_t n_triples;
};

/* node_type.npy and edge_type.npy, those that are there. */
OG_MUST_CHECK int og__npy_open_types(struct og_npy_source *s, struct og_err *err);
/* Groups as node_type.npy has them, or without it one of n nodes; relations as the edges show them.
 * All of one type: a graph without types, unless options want one with. */
OG_MUST_CHECK int og__npy_groups(struct og_npy_source *s, int64_t n, struct og_err *err);
OG_MUST_CHECK int og__npy_relations(struct og_npy_source *s, struct og_err *err);
/* All edges, between open and close. */
OG_MUST_CHECK int og__npy_add_edges(struct og_npy_source *s, struct og_err *err);
/* With types: the relations of the edges that a list has, train_edges.npy say, which was written.
 */
OG_MUST_CHECK int og__npy_edge_relations(struct og_npy_source *s, const char *list,
                                         struct og_err *err);
/* The source's id of each node, where the order is another one. */
OG_MUST_CHECK int og__npy_node_ids(struct og_npy_source *s, struct og_err *err);
void og__npy_close_types(struct og_npy_source *s);

/* Rows of `base`, a row a node of the source, as those of one group; group -1 = of all, in our
 * order. base stays the caller's, and is read by nobody else meanwhile; the source must outlive it.
 */
OG_MUST_CHECK int og__npy_rows_of(struct og_table **out, const struct og_npy_source *s,
                                  struct og_table *base, int group, struct og_err *err);

#endif
