/* How the budget is shared out, before anything large is taken.
 *
 *   fixed: process, topology, seeds, labels, samplers, batches, plans, read buffers, model,
 *          activations
 *   ahead: trace of a superbatch, tables of the policy
 *   rest:  staging areas for the misses of batches in flight | feature cache
 *
 * The more rows the cache holds the fewer miss, so staging and cache are settled together, from
 * the misses of the pilot batches. */
#ifndef OG_MEMORY_PLAN_H
#define OG_MEMORY_PLAN_H

#include "train/pilot.h"

/* Thread stacks, the heap, stdio, what JIT kernels take while running. */
#define OG__PROCESS_BYTES (12 * OG_MIB)

/* All of it together (memory_plan_sum.c). */
size_t og__memory_plan_sum(const struct og_memory_plan *m);

/* ---- what is fixed (memory_plan.c) ---- */

/* Fill everything but staging and cache, and `smallest`. */
void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_session *s, unsigned want);

/* Refuse when the limit is below the smallest that would do. */
OG_MUST_CHECK int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err);

/* ---- what is sampled ahead (memory_plan_ahead.c) ---- */

/* What a batch that is sampled ahead takes on disk: ids, both ends of its edges, its plan. */
size_t og__put_away_bytes(const struct og_session *s);

/* How many batches are sampled ahead together, and what that takes. */
OG_MUST_CHECK int og__memory_plan_ahead(struct og_memory_plan *m, const struct og_session *s,
                                        const struct og_pilot *pilot, struct og_err *err);

/* ---- caches (memory_plan_cache.c) ---- */

/* Size the cache of topology on disk: at most half of what is free; all of it where sampling has
 * the memory to itself; a quarter where a hop reads through the whole file anyway, so that lists in
 * memory save little. Or as the user says. */
OG_MUST_CHECK int og__memory_plan_neighbors(struct og_memory_plan *m, const struct og_session *s,
                                            struct og_err *err);

/* Settle staging and cache. hotness stands for what the policy will keep: NULL when that is not to
 * be known before the run, then every row may miss. `from`: the pilot's first batch that hotness
 * was not made of. */
OG_MUST_CHECK int og__memory_plan_cache(struct og_memory_plan *m, const struct og_session *s,
                                        const struct og_pilot *pilot, const uint32_t *hotness,
                                        uint32_t from, struct og_err *err);

#endif
