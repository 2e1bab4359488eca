/* The sums of a relation's edge weights at its nodes, by which convolutions normalise. */
#ifndef OG_DATASET_WEIGHT_SUMS_H
#define OG_DATASET_WEIGHT_SUMS_H

#include "dataset/graph.h"

/* All NULL: nobody looked. */
struct og_weight_sums {
    float *mean; /* [destinations] of the edges that end there, within a type but for loops */
    float *loop; /* [nodes] of the loop, of several the last; 1 without one. NULL between types */
    double *leaving; /* [sources] sum of the edges that leave. NULL within a type */
};

/* Fills those arrays that are there, in one pass over the relation's files. Buffers come from the
 * budget. -EINVAL for a weight that is negative or not finite. */
OG_MUST_CHECK int og__weight_sums_fill(const struct og_relation *r, struct og_budget *b,
                                       struct og_weight_sums *out, struct og_err *err);

#endif
