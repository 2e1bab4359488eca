/* Edge lists to learn from in a heterogeneous graph: each edge has its relation.
 *
 *   train_edges.npy            [M, 2] source and destination, nodes of the whole graph
 *   train_edge_relations.npy   [M] relation of each edge; likewise valid and test */
#ifndef OG_DATASET_TYPED_EDGES_H
#define OG_DATASET_TYPED_EDGES_H

#include "dataset/graph.h"

extern const char *const og__edge_relation_files[OG__SPLITS];

/* Is there a training list, and if heterogeneous, do all lists have relations? */
bool og__has_edge_lists(const struct og_graph *g);

/* Loads the edges of a split that are of the requested relations, in file order. Fills ends as
 * og__graph_edges does, and relation[*count]. With `requested` and `relation` NULL it loads all
 * edges, whatever their relations. Fails with -EINVAL for an unknown relation, or for ends that are
 * not of the relation's types. Release both as "seeds". */
OG_MUST_CHECK int og__typed_edges(const struct og_graph *g, enum og__split split,
                                  const bool *requested, struct og_budget *b, uint32_t **ends,
                                  uint32_t **relation, int64_t *count, struct og_err *err);

/* Can an edge between these graph nodes be of the relation? False for invalid ids. */
bool og__typed_edge_fits(const struct og_graph *g, int64_t source, int64_t relation,
                         int64_t destination);

/* Keeps given negatives of the requested relations. relation[edges]: of such edges. -EINVAL for
 * nodes of other types. */
OG_MUST_CHECK int og__typed_negatives(const struct og_graph *g, enum og__split split,
                                      const bool *requested, const uint32_t *relation,
                                      int64_t edges, struct og_budget *b, uint32_t **ids,
                                      int64_t *rows, struct og_err *err);

#endif
