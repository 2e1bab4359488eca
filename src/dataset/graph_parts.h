/* What the files that check a graph's arrays share. Private to dataset/. */
#ifndef OG_DATASET_GRAPH_PARTS_H
#define OG_DATASET_GRAPH_PARTS_H

#include "dataset/graph.h"

extern const char og__graph_again_hint[]; /* of a dataset that is damaged */
/* -EINVAL for a count that is not the expected one. */
int og__graph_disagree(const char *where, const char *what, int64_t said, int64_t found,
                       struct og_err *err);
/* Are times that are there int64 [n]? */
OG_MUST_CHECK int og__graph_check_times(const struct og_npy *a, int64_t n, const char *shape,
                                        struct og_err *err);
/* Checks the headers of lists of nodes and edges, and of what has a row for each. */
OG_MUST_CHECK int og__graph_check_splits(const struct og_graph *g, struct og_err *err);

#endif
