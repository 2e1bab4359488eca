/* A device's cache above one in the host's memory, for rows of one size. It is the part of tiers
 * (tiers.h) for one group of nodes. Its nodes and places are numbered from 0. */
#ifndef OG_PAIR_H
#define OG_PAIR_H

#include "plan/tiers.h"

struct og_pair;

/* ---- which know of each other ---- */

static inline bool og__both_stay(const struct og_tiers_setup *s)
{
    return og__policy_is_static(s->device.kind) && og__policy_is_static(s->host.kind);
}

static inline bool og__is_lower_belady(const struct og_tiers_setup *s)
{
    return og__policy_admits(s->device.kind) && og__policy_serves_as_lower(s->host.kind);
}

static inline bool og__has_victim_buffer(const struct og_tiers_setup *s)
{
    return og__victim_places(&s->victim) > 0;
}

/* ---- one of them: as those of tiers.h, of a setup without groups ---- */

OG_MUST_CHECK int og__pair_open(struct og_pair **out, const struct og_tiers_setup *setup,
                                struct og_budget *b, struct og_err *err);
void og__pair_close(struct og_pair *t);
const struct og_tiers_setup *og__pair_setup(const struct og_pair *t);
struct og_tiers_places og__pair_places(const struct og_pair *t);
OG_MUST_CHECK int og__pair_prepare(struct og_pair *t, const struct og_trace *trace, uint32_t n,
                                   struct og_err *err);
uint32_t og__pair_prefill(struct og_pair *t, uint32_t *nodes, uint32_t *places, uint32_t most);
void og__pair_set_threshold(struct og_pair *t, uint32_t batches);
void og__pair_trim(struct og_pair *t);
void og__pair_invalidate(struct og_pair *t, uint32_t first);
/* out: has room for the batch's rows, and zero counts. */
OG_MUST_CHECK int og__pair_plan(struct og_pair *t, struct og_planner *planner, const uint32_t *ids,
                                uint32_t n, struct og_tiers_plan *out, struct og_err *err);
size_t og__pair_bytes(const struct og_tiers_setup *setup, uint64_t rows, uint64_t longest,
                      uint64_t batches, uint64_t distinct);
size_t og__pair_trimmed_bytes(const struct og_tiers_setup *setup);

#endif
