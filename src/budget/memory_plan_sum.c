/* Sums of a memory plan: what is alive at the same time.
 *
 * Without turns everything is there at once. In turns (--alternate) a superbatch is sampled,
 * planned, packed, and only then the cache has its rows; parts come and go:
 *
 *                      sampling   planning   packing    training
 *   what always is     x          x          x          x
 *   topology           x          rest       rest       rest       rest: all if on disk, else none
 *   neighbour cache    x
 *   sampled together   x
 *   trace              x          x          rest                  rest: what is packed of it
 *   spill              x
 *   packing                       x          x
 *   sweep                                    x
 *   policy's tables    rest       x          rest       rest       rest: once it has planned
 *   feature cache      |    what the most of these    | all of it
 *                      |  (`before training') leaves  |
 */
#include "budget/memory_plan_parts.h"

/* What is there in either phase. */
static size_t always(const struct og_memory_plan *m)
{
    return m->process + m->samples + m->record + m->handed + m->seeds + m->labels + m->degrees +
           m->sampler + m->batches + m->plans + m->reader + m->model + m->activations + m->victims +
           m->exchange + m->staging;
}

/* What a run takes beside it without turns, with no row cached. */
static size_t side_by_side(const struct og_memory_plan *m)
{
    return always(m) + m->topology + m->neighbors + m->together + m->trace + m->spill + m->packing +
           m->policy + m->policy_slots;
}

size_t og__memory_plan_before_training(const struct og_memory_plan *m)
{
    const size_t training = m->policy_training + m->policy_training_slots;
    const size_t policy = m->policy + m->policy_slots;
    const size_t sampling =
        m->topology + m->neighbors + m->together + m->trace + m->spill + training;
    const size_t planning = m->topology_training + m->trace + m->packing + policy;
    const size_t packing = m->topology_training + m->missed + m->packing + m->sweep + training;
    return always(m) + OG_MAX(sampling, OG_MAX(planning, packing));
}

size_t og__memory_plan_without_rows(const struct og_memory_plan *m)
{
    return m->alternates ? og__memory_plan_before_training(m) : side_by_side(m);
}

size_t og__memory_plan_sum(const struct og_memory_plan *m)
{
    if (m->alternates)
        return always(m) + m->topology_training + m->policy_training + m->cache +
               m->policy_training_slots;
    return side_by_side(m) + m->sweep + m->cache;
}

/* In turns a policy that looks ahead but starts empty has nothing cached, and two batches in
 * flight. */
int og__first_staging(const struct og_way *way)
{
    const bool empty =
        way->alternate && og__policy_looks_ahead(way->policy) && !og__policy_prefills(way->policy);
    return empty ? OG__MOST_STAGING : 1;
}
