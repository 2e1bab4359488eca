/* relation: the lists of one relation as a topology, in memory or on disk. For a whole graph see
 * dataset/topology.h. */
#ifndef OG_DATASET_RELATION_H
#define OG_DATASET_RELATION_H

#include "dataset/topology.h"

/* Loads a copy into memory, counted as "topology", with large sequential reads. Checks the offsets
 * (monotone, ending at E) and every index (in range). */
OG_MUST_CHECK int og__relation_load(const struct og_relation *r, struct og_budget *b,
                                    struct og_topology *out, struct og_err *err);
size_t og__relation_bytes(const struct og_relation *r);

/* Loads edge weights as well. They take 4 bytes an edge, 20 with tables for weighted sampling.
 * -EINVAL if there are no weights, or if one is negative or not finite. */
OG_MUST_CHECK int og__relation_load_weights(const struct og_relation *r, enum og_weights weights,
                                            struct og_topology *t, struct og_err *err);
size_t og__relation_weights_bytes(const struct og_relation *r, enum og_weights weights);
/* Checks weights of edges from `first` on: -EINVAL for a negative or non-finite one. */
OG_MUST_CHECK int og__check_weights(const struct og_relation *r, const float *w, int64_t first,
                                    size_t n, struct og_err *err);

/* Loads into a caller's memory of so many bytes; *t then refers to it. */
size_t og__relation_placed_bytes(const struct og_relation *r, enum og_weights weights);
OG_MUST_CHECK int og__relation_fill(const struct og_relation *r, enum og_weights weights,
                                    struct og_budget *b, char *at, struct og_err *err);
void og__relation_place(const struct og_relation *r, enum og_weights weights, const char *at,
                        struct og_topology *t);

/* The files themselves, mapped. */
OG_MUST_CHECK int og__relation_map(const struct og_relation *r, struct og_topology *out,
                                   struct og_err *err);

/* Releases its memory or mapping. */
void og__relation_release(struct og_topology *t);

#endif
