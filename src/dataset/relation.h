/* relation: the lists of one relation as a topology of its own, wherever they are. What
 * dataset/topology.h does for a whole graph is made of these. */
#ifndef OG_DATASET_RELATION_H
#define OG_DATASET_RELATION_H

#include "dataset/topology.h"

/* A copy in memory, counted as "topology", read with large sequential reads. The degrees are
 * checked (monotone, ending at E) and every index (in range). */
OG_MUST_CHECK int og__relation_load(const struct og_relation *r, struct og_budget *b,
                                    struct og_topology *out, struct og_err *err);
size_t og__relation_bytes(const struct og_relation *r);

/* Edge weights beside it, and the tables for draws in proportion to them (dataset/alias.h): 20
 * bytes an edge. -EINVAL where there are none, or one is negative or not finite. */
OG_MUST_CHECK int og__relation_load_weights(const struct og_relation *r, struct og_topology *t,
                                            struct og_err *err);
size_t og__relation_weights_bytes(const struct og_relation *r);
/* Weights of edges from `first` on: -EINVAL for one that no weight can be. */
OG_MUST_CHECK int og__check_weights(const struct og_relation *r, const float *w, int64_t first,
                                    size_t n, struct og_err *err);

/* At a place of so many bytes, which is another's: read there, and *t made to show it. */
size_t og__relation_placed_bytes(const struct og_relation *r, bool weighs);
OG_MUST_CHECK int og__relation_fill(const struct og_relation *r, bool weighs, struct og_budget *b,
                                    char *at, struct og_err *err);
void og__relation_place(const struct og_relation *r, bool weighs, const char *at,
                        struct og_topology *t);

/* The files themselves, mapped. */
OG_MUST_CHECK int og__relation_map(const struct og_relation *r, struct og_topology *out,
                                   struct og_err *err);

/* What it has in memory, or mapped. */
void og__relation_release(struct og_topology *t);

#endif
