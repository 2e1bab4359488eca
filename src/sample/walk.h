/* What a walk draws, by the node that it sets out from alone. */
#ifndef OG_SAMPLE_WALK_H
#define OG_SAMPLE_WALK_H

#include "sample/hop.h"

/* Neighbours that are kept where so many are asked for, -1 being all: no more than visits. */
int og__walk_fanout(const struct og_sampling *how, int fanout);

/* Steps that it may make, and the place that it chooses for step `step`, from 0, in a list of n. */
uint32_t og__walk_steps(const struct og_hop *h, uint32_t node, uint32_t walk);
int64_t og__walk_place(const struct og_hop *h, uint32_t node, uint32_t walk, uint32_t step,
                       int64_t n);

#endif
