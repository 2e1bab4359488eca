/* Sampling from a heterogeneous graph. A hop samples each relation as a hop of that relation's own
 * graph, for the destinations of its type.
 *
 *   destinations ──> by type ──> relation 0 ──> | lists | edges |
 *                           └──> relation 1 ──> | ...   | ...   |   in sequence: the block
 *
 * Draws are keyed by relation, the first one as without relations. So a graph of one type and one
 * relation has the batches of the homogeneous graph. */
#ifndef OG_SAMPLE_RELATED_H
#define OG_SAMPLE_RELATED_H

#include "sample/hop.h"

/* For a sampler whose topology has relations; fanout [n_relations][n_hops]. */
OG_MUST_CHECK int og__related_open(struct og_sampler *s, const int *fanout, struct og_err *err);
/* Sets up the sampler's kind for each relation. */
OG_MUST_CHECK int og__related_choose(struct og_sampler *s, struct og_err *err);
/* `close` releases a sampler's state for one topology. */
void og__related_close(struct og_sampler *s, void (*close)(struct og_sampler *s));

OG_MUST_CHECK int og__related_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                                  struct og_batch_memory *out, struct og_err *err);
/* Memory to sort so many destinations by type. */
size_t og__related_bytes(uint64_t n_dst);

#endif
