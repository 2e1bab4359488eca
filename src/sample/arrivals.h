/* Arrivals: the nodes of each group by the time at which they came to be. Negatives of an edge are
 * drawn among those that were there. */
#ifndef OG_SAMPLE_ARRIVALS_H
#define OG_SAMPLE_ARRIVALS_H

#include "base/memory.h"
#include "dataset/graph.h"
#include "dataset/times.h"

struct og_arrivals {
    struct og_timed
        *node; /* [n_nodes] places are ids; each group's are in order of time, then id */
    size_t n;
    struct og_budget *budget;
};

/* Reads node_times.npy. Memory: "seeds". */
OG_MUST_CHECK int og__arrivals_open(struct og_arrivals *a, const struct og_graph *g,
                                    struct og_budget *b, struct og_err *err);
void og__arrivals_close(struct og_arrivals *a); /* also a zeroed one */
/* How many of the n nodes from `first` on, a group's, are there at a time. */
uint32_t og__arrived(const struct og_arrivals *a, uint32_t first, uint32_t n, int64_t time);

#endif
