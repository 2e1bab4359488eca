/* What a batch starts from: the seed nodes of its turn, or, in link prediction, the ends of its
 * seed edges and of the pairs that stand against them. */
#ifndef OG_SEEDS_H
#define OG_SEEDS_H

#include "sample/pairs.h"
#include "sample/sample.h"
#include "sample/schedule.h"

/* Shared, read only. */
struct og_seed_source {
    const struct og_schedule *schedule;
    const uint32_t *split[OG__SPLITS]; /* node ids; of edges, src and dst one after another */
    bool edges;
    struct og_pair_rule rule; /* with edges */
};

/* Of one batch; memory ("batches") for any. */
struct og_seeds {
    uint64_t *place; /* [turn.n_seeds] of the seeds in their split */
    const uint32_t *node;
    uint32_t n; /* distinct nodes */
    struct og_pairs pairs;
    struct og_budget *budget;
    uint32_t *own; /* `node` where seeds are nodes */
    uint32_t most;
};

OG_MUST_CHECK int og__seeds_open(struct og_seeds *s, const struct og_seed_source *source,
                                 struct og_budget *b, struct og_err *err);
void og__seeds_close(struct og_seeds *s);
size_t og__seeds_bytes(const struct og_seed_source *source);
uint32_t og__seeds_most(const struct og_seed_source *source); /* nodes of a batch */

void og__seeds_take(struct og_seeds *s, const struct og_seed_source *source,
                    const struct og_descriptor *descriptor);
/* After sampling: what training asks for leaves the blocks. */
void og__seeds_exclude(struct og_seeds *s, const struct og_descriptor *descriptor,
                       struct og_batch *batch);

#endif
