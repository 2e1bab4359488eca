/* Labels of edges in lists, for --task edge. Those of train_edge_labels.npy are in the order of
 * train_edges.npy; valid and test have files of their own.
 *
 * Features of these edges may be in train_edge_rows.npy, float32 [M, D], and their times in
 * train_edge_times.npy, int64 [M].
 *
 *   integers [M]       classes, -1 = unknown
 *   float32 [M]        values, NaN = unknown
 *   float32 [M, C]     several labels, or values; NaN = unknown */
#ifndef OG_DATASET_EDGE_LABELS_H
#define OG_DATASET_EDGE_LABELS_H

#include "base/memory.h"
#include "dataset/graph.h"

int64_t og__edge_rows_dim(const struct og_graph *g); /* D; 0: no split has them */

/* Makes labels of edges the graph's: classes, whether there are several, whether they are values.
 * `values`: floats are values even if there are several columns. -EINVAL if there are none, or
 * splits differ. */
OG_MUST_CHECK int og__graph_adopt_edge_labels(struct og_graph *g, bool values, struct og_err *err);

/* Loads the labels of the n edges of a split, which the graph has adopted. `requested`: of these
 * relations alone; NULL: of all. As og__graph_labels gives them, from the budget as "labels" with
 * og__labels_bytes. NULL if the split has none. */
OG_MUST_CHECK int og__graph_edge_labels(const struct og_graph *g, enum og__split split,
                                        const bool *requested, int64_t n, struct og_budget *b,
                                        void **labels, struct og_err *err);

/* The same of their features, [n, D]. */
OG_MUST_CHECK int og__graph_edge_rows(const struct og_graph *g, enum og__split split,
                                      const bool *requested, int64_t n, struct og_budget *b,
                                      float **rows, struct og_err *err);

/* The same of their times, int64 [n], from the budget as "seeds". */
OG_MUST_CHECK int og__graph_edge_times(const struct og_graph *g, enum og__split split,
                                       const bool *requested, int64_t n, struct og_budget *b,
                                       int64_t **times, struct og_err *err);

#endif
