/* What the files that open and check a graph's arrays share. Private to dataset/. */
#ifndef OG_DATASET_GRAPH_PARTS_H
#define OG_DATASET_GRAPH_PARTS_H

#include "dataset/graph.h"
#include "dataset/meta.h"

extern const char og__graph_again_hint[]; /* of a dataset that is damaged */
/* -EINVAL for a count that is not the expected one. */
int og__graph_disagree(const char *where, const char *what, int64_t said, int64_t found,
                       struct og_err *err);
/* Are times that are there int64 [n]? */
OG_MUST_CHECK int og__graph_check_times(const struct og_npy *a, int64_t n, const char *shape,
                                        struct og_err *err);
/* Checks the headers of lists of nodes and edges, and of what has a row for each. */
OG_MUST_CHECK int og__graph_check_splits(const struct og_graph *g, struct og_err *err);
/* As og__graph_split, of the array or of the list [n]; `name` is for messages. */
OG_MUST_CHECK int og__graph_take_ids(const struct og_graph *g, const char *name,
                                     const struct og_npy *a, const int64_t *list, int64_t n,
                                     struct og_budget *b, uint32_t **ids, struct og_err *err);
/* Check the open rows of a group, or of a relation's edges, and take their dtype and form. Scales
 * and the rest of sparse rows are loaded. */
OG_MUST_CHECK int og__check_group(struct og_group *g, const struct og_type_meta *m,
                                  struct og_err *err);
OG_MUST_CHECK int og__check_edge_rows(struct og_relation *r, const struct og_relation_meta *m,
                                      struct og_err *err);

#endif
