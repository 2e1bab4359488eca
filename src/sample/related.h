/* Sampling from a typed graph: a hop is drawn a relation at a time, each as a hop of the graph that
 * the relation is, by those destinations that are of its type.
 *
 *   destinations ──> by type ──> relation 0 ──> | lists | edges |
 *                           └──> relation 1 ──> | ...   | ...   |   behind one another: the block
 *
 * Draws are keyed by the relation too, the first as if there were no other: so a graph of one type
 * and one relation has the batches that it has without types. */
#ifndef OG_SAMPLE_RELATED_H
#define OG_SAMPLE_RELATED_H

#include "sample/hop.h"

/* Of a sampler whose topology has relations; fanout [n_relations][n_hops]. */
OG_MUST_CHECK int og__related_open(struct og_sampler *s, const int *fanout, struct og_err *err);
/* What the sampler's kind needs, of each relation. */
OG_MUST_CHECK int og__related_choose(struct og_sampler *s, struct og_err *err);
/* `close` gives back what a sampler holds of a topology. */
void og__related_close(struct og_sampler *s, void (*close)(struct og_sampler *s));

OG_MUST_CHECK int og__related_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                                  struct og_batch_memory *out, struct og_err *err);
/* What it takes to put so many destinations in order. */
size_t og__related_bytes(uint64_t n_dst);

#endif
