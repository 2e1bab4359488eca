/* Link prediction holds edges out: a graph is split in three, and what is sampled is the graph that
 * is left.
 *
 *   indices.npy ──scan──> in training: indptr.npy indices.npy weights.npy  (the graph that is left)
 *                                      train_edges.npy
 *                         held out:    valid_edges.npy test_edges.npy
 *
 * Which part an edge is in is a draw keyed by its two ends, whatever their order: both directions
 * of an edge are in one part, two passes over the file do in the memory of a few buffers, and the
 * parts are as large as asked for but for chance (a binomial draw: 528 +- 22 of 5278 edges for 10
 * %). A permutation of the edges would be exact, but has to find every edge's reverse.
 *
 * The result is a dataset of its own (the features stay where they are), so that samplers,
 * neighbour caches and policies need not know that anything was held out. Loops stay in the graph
 * and are never asked for. */
#ifndef OG_DATASET_EDGE_SPLIT_H
#define OG_DATASET_EDGE_SPLIT_H

#include "dataset/graph.h"

struct og_edge_split {
    double percent[OG__SPLITS]; /* train, valid, test: 100 together */
    uint64_t seed;
};

/* In the place of percentages: no edge is drawn, the dataset's own lists say which are held out. */
#define OG__OWN_EDGES "dataset"

/* "85/5/10". */
OG_MUST_CHECK int og__edge_split_parse(struct og_edge_split *s, const char *text,
                                       struct og_err *err);
/* Whether two such texts, or words, mean the same. */
bool og__edge_split_same(const char *a, const char *b);
enum og__split og__edge_split_of(const struct og_edge_split *s, uint32_t u, uint32_t v);

/* Write the graph that is left into existing folder `folder`: a dataset with lists of edges, whose
 * other arrays stay where they are. asked[n_relations]: whose edges are to be learnt; those that
 * are held out leave every relation between the same two groups, since what is asked of a relation
 * cannot be told by another, such as its reverse. Without types an edge and its reverse are one row
 * of the lists if the graph is symmetric, else two. Loops stay in the graph and are never asked
 * for. Buffers come from the budget as "edge split". */
OG_MUST_CHECK int og__edge_split_write(const struct og_graph *g, const struct og_edge_split *s,
                                       const bool *asked, const char *folder, struct og_budget *b,
                                       struct og_err *err);
uint64_t og__edge_split_bytes(const struct og_graph *g); /* that it writes, at most; */
uint64_t og__edge_split_written(const char *folder);     /* and that are there */

#endif
