/* A tiny graph of any shape: hubs, loops, nodes without edges, edges that are there several times.
 */
#ifndef OG_RANDOM_GRAPH_H
#define OG_RANDOM_GRAPH_H

#include "draw.h"

#include <outgrow/outgrow.h>

enum label_kind { LABELS_CLASSES, LABELS_SEVERAL, LABELS_VALUES };

/* What options may count on. */
struct graph {
    int nodes, edges, dim;
    enum og_dtype dtype;
    enum label_kind labels;
    int classes; /* or values */
    int n_train, n_valid, n_test;
    bool weighted, wide_ids, edge_lists;
    bool both_ways; /* and meta.json says so */
};

/* Draw a graph and write it as a dataset (docs/formats.md) into the new folder. */
void graph_write(struct graph *g, struct draw *d, const char *folder);

#endif
