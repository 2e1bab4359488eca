/* Lists of edges to learn, of a typed graph: what each edge is of lies beside its ends.
 *
 *   train_edges.npy            [M, 2] source and destination, nodes of the whole
 *   train_edge_relations.npy   [M] which relation; likewise valid and test */
#ifndef OG_DATASET_TYPED_EDGES_H
#define OG_DATASET_TYPED_EDGES_H

#include "dataset/graph.h"

extern const char *const og__edge_relation_files[OG__SPLITS];

/* Is there a list to train on, and with types do all lists say relations? */
bool og__has_edge_lists(const struct og_graph *g);

/* The edges of a split whose relation is asked for, in the order of the list: ends as
 * og__graph_edges has them, and relation[*count]. What is there fails with -EINVAL if it is of no
 * relation, or its ends are not of the relation's types. Release both as "seeds". */
OG_MUST_CHECK int og__typed_edges(const struct og_graph *g, enum og__split split, const bool *asked,
                                  struct og_budget *b, uint32_t **ends, uint32_t **relation,
                                  int64_t *count, struct og_err *err);

/* Can an edge between these nodes, of the whole, be of the relation? False for ids that are none's.
 */
bool og__typed_edge_fits(const struct og_graph *g, int64_t source, int64_t relation,
                         int64_t destination);

#endif
