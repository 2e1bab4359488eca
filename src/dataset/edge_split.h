/* Splits edges for link prediction: held-out edges are removed, and sampling uses the rest of the
 * graph.
 *
 *     indices.npy ──scan──> in training: indptr.npy indices.npy weights.npy  (the remaining graph)
 *                                        train_edges.npy
 *                           held out:    valid_edges.npy test_edges.npy
 *
 * A draw keyed by an edge's two ends, in either order, selects its part. So both directions of an
 * edge are in one part, and two scans of the file suffice in a few buffers. Part sizes are exact
 * only on average (a binomial draw: 528 +- 22 of 5278 edges for 10 %). A permutation would be
 * exact, but would have to find every edge's reverse.
 *
 * The result is a separate dataset that refers to the features in place. So samplers, neighbour
 * caches and policies need no knowledge of the split. Self-loops stay in the graph and are never
 * targets. */
#ifndef OG_DATASET_EDGE_SPLIT_H
#define OG_DATASET_EDGE_SPLIT_H

#include "dataset/graph.h"

struct og_edge_split {
    double percent[OG__SPLITS]; /* train, valid, test: 100 together */
    uint64_t seed;
};

/* In place of percentages: draws no edge; the dataset's own edge lists are held out. */
#define OG__OWN_EDGES "dataset"

/* Reads "85/5/10": train, valid and test, 100 together. False for any other text. */
bool og__percents_read(double percent[OG__SPLITS], const char *text);
/* The same, for --edge-split. */
OG_MUST_CHECK int og__edge_split_parse(struct og_edge_split *s, const char *text,
                                       struct og_err *err);
/* Do two such texts, or words, mean the same split? */
bool og__edge_split_same(const char *a, const char *b);
enum og__split og__edge_split_of(const struct og_edge_split *s, uint32_t u, uint32_t v);

/* Writes the remaining graph into existing folder `folder`: a dataset with edge lists. With
 * `rows` it has features of edges, otherwise none. Other arrays stay in place.
 * requested[n_relations]: the relations to learn. Their held-out edges leave every relation between
 * the same two groups, so that no other relation, such as the reverse, reveals them. In a
 * homogeneous graph that is symmetric, an edge and its reverse are one row of the lists, else two.
 * Self-loops stay and are never targets. Buffers come from the budget as "edge split". */
OG_MUST_CHECK int og__edge_split_write(const struct og_graph *g, const struct og_edge_split *s,
                                       const bool *requested, bool rows, const char *folder,
                                       struct og_budget *b, struct og_err *err);
uint64_t og__edge_split_bytes(const struct og_graph *g, bool rows); /* that it writes, at most; */
uint64_t og__edge_split_written(const char *folder);                /* and those written */

#endif
