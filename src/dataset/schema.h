/* Builds groups and relations of a new graph: an og_graph without arrays.
 *
 *   init ──> add groups ──> add relations ──> settle ──> edges to the sorter, by relations
 *       └──> one group and one relation ──────────────────┘
 *
 * The sorter writes each relation's arrays; the caller writes the groups' arrays. */
#ifndef OG_DATASET_SCHEMA_H
#define OG_DATASET_SCHEMA_H

#include "dataset/meta.h"

/* Release also one that is all zeros. */
OG_MUST_CHECK int og__schema_init(struct og_graph *g, struct og_err *err);
void og__schema_release(struct og_graph *g);

/* Homogeneous: one group of n_nodes nodes and one relation; drops those added before. Needs no
 * og__schema_resolve. */
void og__schema_plain(struct og_graph *g, int64_t n_nodes);
/* The same with a type, node, and a relation, to: nodes may be without features. */
void og__schema_single(struct og_graph *g, int64_t n_nodes);

/* Copies the name; messages name `said_by`. -EINVAL: invalid name, duplicate, too many, no
 * nodes. */
OG_MUST_CHECK int og__schema_add_group(struct og_graph *g, const char *name, int64_t n_nodes,
                                       const char *said_by, struct og_err *err);
OG_MUST_CHECK int og__schema_add_relation(struct og_graph *g, uint32_t source, const char *name,
                                          uint32_t destination, const char *said_by,
                                          struct og_err *err);
/* The group of that name, or -1. */
int og__schema_find(const struct og_graph *g, const char *name);

/* Completes the schema. With `reverses`, relation r gets a reverse r + n_relations / 2, named
 * rev_<name>. -EINVAL if ids do not fit 32 bits. */
OG_MUST_CHECK int og__schema_resolve(struct og_graph *g, bool reverses, const char *said_by,
                                     struct og_err *err);
/* Lists of all relations together. */
int64_t og__schema_lists(const struct og_graph *g);

/* What meta.json has of groups and relations; NULL on lack of memory. And of them alone, in either
 * format. */
json_t *og__schema_json(const struct og_graph *g);
json_t *og__schema_plain_json(const struct og_graph *g);
json_t *og__schema_typed_json(const struct og_graph *g);
/* Adds width and dtype of the edges' features, if there are any. */
json_t *og__schema_with_edges(json_t *root, const struct og_relation *r);
/* Adds the form of sparse rows, if they are. */
json_t *og__schema_with_form(json_t *root, const struct og_sparse_rows *form);

#endif
