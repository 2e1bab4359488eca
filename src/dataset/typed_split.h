/* Link prediction in a typed graph: edges of some relations, or all, are held out as edge_split.h
 * has it. Which part an edge is in is drawn by its two ends, as nodes of the whole: so all edges
 * between two nodes are in one part, whichever relations they are of. Those that are held out leave
 * every relation between these two types: what is asked of a relation cannot be told by another,
 * such as its reverse. */
#ifndef OG_DATASET_TYPED_SPLIT_H
#define OG_DATASET_TYPED_SPLIT_H

#include "dataset/edge_split.h"
#include "dataset/graph.h"

/* Write the graph that is left into existing folder `folder`: a dataset with edges, whose other
 * arrays stay where they are. asked[n_relations]: whose edges are to be learnt. Loops stay in the
 * graph and are never asked for. */
OG_MUST_CHECK int og__typed_split_write(const struct og_graph *g, const struct og_edge_split *s,
                                        const bool *asked, const char *folder, struct og_budget *b,
                                        struct og_err *err);
uint64_t og__typed_split_bytes(const struct og_graph *g); /* that it writes, at most; */
uint64_t og__typed_split_written(const char *folder);     /* and that are there */

#endif
