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

/* Makes relation r the sampler's, and ends that; without relations there is nothing to do. */
void og__relation_begin(struct og_sampler *s, uint32_t r);
void og__relation_end(struct og_sampler *s, uint32_t r);
/* Destinations by type, each in a group that several relations may lead to; without relations there
 * is one. The group of relation r. */
uint32_t og__n_destination_groups(const struct og_sampler *s);
uint32_t og__destination_group(const struct og_sampler *s, uint32_t r);
/* Sorts nodes ids[n] by group. Group g has number[start[g] .. start[g + 1]), numbers within the
 * type in the order of ids, which are at these positions in ids (NULL: all in this order). `start`
 * has groups + 1 entries; the arrays are valid until the sampler is used. */
struct og_grouped {
    const uint32_t *number, *position;
};
OG_MUST_CHECK int og__sort_by_group(struct og_sampler *s, const uint32_t *ids, uint32_t n,
                                    uint32_t *start, struct og_grouped *out, struct og_err *err);

OG_MUST_CHECK int og__related_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                                  struct og_batch_memory *out, struct og_err *err);
/* What a hop of relation r draws by; its batch is not set. */
struct og_hop og__hop_of(struct og_sampler *s, const struct og_sample_key *key, uint32_t number,
                         uint32_t r);
/* Memory to sort so many destinations by type. */
size_t og__related_bytes(uint64_t n_dst);

#endif
