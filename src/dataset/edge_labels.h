/* Labels of edges in lists, for --task edge:
 *
 *   train_edge_labels.npy   [M] integers: classes, -1 = unknown; float32 [M]: values; float32 [M,
 * C]: several labels, or values; NaN = unknown; likewise valid and test
 *
 * in the order of train_edges.npy. */
#ifndef OG_DATASET_EDGE_LABELS_H
#define OG_DATASET_EDGE_LABELS_H

#include "base/memory.h"
#include "dataset/graph.h"

const char *og__edge_labels_name(enum og__split split); /* without ".npy" */

/* Makes labels of edges the graph's: classes, whether there are several, whether they are values.
 * `values`: floats are values even if there are several columns. -EINVAL if there are none, or
 * splits differ. */
OG_MUST_CHECK int og__graph_adopt_edge_labels(struct og_graph *g, bool values, struct og_err *err);

/* After that: labels of the n edges of a split, or of its requested relations, as og__graph_labels
 * gives them. Memory: "labels", og__labels_bytes. NULL if the split has none. */
OG_MUST_CHECK int og__graph_edge_labels(const struct og_graph *g, enum og__split split,
                                        const bool *requested, int64_t n, struct og_budget *b,
                                        void **labels, struct og_err *err);

#endif
