/* Random walks: their steps depend on the start node alone. */
#ifndef OG_SAMPLE_WALK_H
#define OG_SAMPLE_WALK_H

#include "sample/hop.h"

/* The neighbours to select for a fanout, -1 being all: at most the number of visits. */
int og__walk_fanout(const struct og_sampling *how, int fanout);

/* The lists that step `step`, from 0, chooses from. In a relation between two types every second
 * step returns by another relation. Before such a step og__walk_turn makes that one the sampler's,
 * and after it its own again. */
const struct og_topology *og__walk_topology(const struct og_sampler *s, uint32_t step);
void og__walk_turn(struct og_sampler *s, uint32_t step);

/* The most steps of a walk; its chosen position in a list of n at `step`, from 0. */
uint32_t og__walk_steps(const struct og_hop *h, uint32_t node, uint32_t walk);
int64_t og__walk_place(const struct og_hop *h, uint32_t node, uint32_t walk, uint32_t step,
                       int64_t n);

#endif
