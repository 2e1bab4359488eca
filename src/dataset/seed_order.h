/* Orders of the training nodes, by which those with neighbours in common are near each other. An
 * order lists places of the split, each once. */
#ifndef OG_DATASET_SEED_ORDER_H
#define OG_DATASET_SEED_ORDER_H

#include "dataset/graph.h"

/* Sorts nodes by the smallest hash of their in-neighbours in all relations. Those without any come
 * last. So two nodes are next to each other the likelier the more neighbours they share. Reads the
 * lists of these nodes once, in the order of the file. Fills place[n]. */
OG_MUST_CHECK int og__order_by_minhash(const struct og_graph *g, const uint32_t *nodes, uint32_t n,
                                       struct og_budget *b, uint32_t *place, struct og_err *err);

/* A .npy file of n integers, each of [0, n) once. `what` is what it orders: "training nodes". */
OG_MUST_CHECK int og__order_read(const char *path, const char *what, uint32_t n,
                                 struct og_budget *b, uint32_t *place, struct og_err *err);
/* Writes such a file, int64. It must not exist. */
OG_MUST_CHECK int og__order_write(const char *path, const uint32_t *place, uint32_t n,
                                  struct og_err *err);

#endif
