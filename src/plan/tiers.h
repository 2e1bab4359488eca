/* tiers: a cache in a device's memory over one in the host's, each planned by a policy of its own.
 *
 *   batch ──> the device's ──> what it misses, ──> the host's ──> misses
 *             policy           less what comes     policy
 *                              from the rings
 *
 *   0              n_device       + n_host         + n_victim
 *   | device slots | host slots   | victim places  | this batch's misses, ascending by node id |
 *
 * Places stay one number, so that a batch is gathered through one index (gather/rows.h). Any two
 * policies make a pair, since the second one plans a trace: what the first one misses. Two kinds of
 * pair know of each other:
 *
 *   both static       the host leaves out what the device holds: with one ranking these are two
 *                     thresholds (Yang et al. 2022, §6; Sun et al. 2023, §3.2)
 *   belady beneath    what lets rows in lets others go, and these may enter the host's cache
 *                     (plan/beneath.h): two-tier Belady, where both are belady
 *
 * Beside them rings of victims (plan/victim.h) take what leaves the device.
 *
 * Rows of several widths are ranges of nodes, as policies have them (policy.h): each has a pair of
 * caches, and rings, of its own, and in a batch's plan a part of its own, which numbers nodes, rows
 * and places from 0. Without ranges there is one part.
 *
 * A superbatch is planned for the device when it is prepared, since what it misses is what the
 * host's policy must foresee; the plans are kept in 4 bytes a row (12 with rings). */
#ifndef OG_TIERS_H
#define OG_TIERS_H

#include "plan/policy.h"
#include "plan/victim.h"

struct og_tiers_setup {
    /* each with its slots; of the same nodes, and the same ranges of them */
    struct og_policy_setup device, host;
    struct og_victim_setup victim; /* of each range */
    uint32_t keepers;              /* devices round which the slots go; 0 = one */
};

struct og_tiers;

/* Of range k alone, by its numbers. */
struct og_tiers_setup og__tiers_of_range(const struct og_tiers_setup *all, uint32_t k);

/* The hotness of both policies is borrowed as theirs is. Tables come from the budget. */
OG_MUST_CHECK int og__tiers_open(struct og_tiers **out, const struct og_tiers_setup *setup,
                                 struct og_budget *b, struct og_err *err);
void og__tiers_close(struct og_tiers *t);

/* As it was opened, with the slots that policies have, in all ranges together; and of part k. */
const struct og_tiers_setup *og__tiers_setup(const struct og_tiers *t);
uint32_t og__tiers_parts(const struct og_tiers *t);
const struct og_tiers_setup *og__tiers_part_setup(const struct og_tiers *t, uint32_t k);
uint32_t og__tiers_first(const struct og_tiers *t, uint32_t k); /* its node 0 */

/* Where each tier's places begin: of the device's at 0, host, victims, misses. */
struct og_tiers_places {
    uint32_t host, victim, misses;
};
struct og_tiers_places og__tiers_places(const struct og_tiers *t, uint32_t k);

/* Does the host's cache never hold what the device's does? With rings, from which rows come back to
 * the device, it may. */
bool og__tiers_exclusive(const struct og_tiers_setup *setup);

/* Batches behind a superbatch that are seen with it. The host's policy sees none of them: what the
 * device will miss there is not known yet. */
uint32_t og__tiers_tail(const struct og_tiers_setup *setup);

/* The next n batches of `trace`, which has those of a tail behind them. It is not needed
 * afterwards. Nodes of no range are passed over. */
OG_MUST_CHECK int og__tiers_prepare(struct og_tiers *t, const struct og_trace *trace, uint32_t n,
                                    struct og_err *err);

/* Rows to be put into places of the device and of the host before the next batch, at most `most`,
 * of one range at a time, whose places they are; 0 = that was all. To be taken before each batch is
 * planned. */
uint32_t og__tiers_prefill(struct og_tiers *t, uint32_t *nodes, uint32_t *places, uint32_t most);

/* The threshold of the device's policy from now on. Until it is set og__tiers_setup has what was
 * asked for, 0 = what the policy takes by itself. */
void og__tiers_set_threshold(struct og_tiers *t, uint32_t batches);

/* Once all that was prepared is planned: give tables back that only planning needs. */
void og__tiers_trim(struct og_tiers *t);
/* Slots of the host from `first` on have lost their rows. Between superbatches. */
void og__tiers_invalidate(struct og_tiers *t, uint32_t first);

/* How much of a plan is of a range. */
struct og_tiers_part {
    uint32_t n, n_misses, n_changes, n_moves;
    uint32_t device_hits, host_hits, victim_hits, n_pushed, n_dropped;
};

struct og_tiers_plan {
    /* places, misses; changes: after the batch, its rows enter places of the device or the host */
    struct og_plan plan;
    uint32_t device_hits, host_hits, victim_hits;
    /* before the changes: what is in a place of the device goes to one of the host or the victims
     */
    uint32_t n_moves;
    uint32_t *move_from, *move_to;
    uint32_t n_pushed;      /* of the moves: to victims */
    uint32_t n_dropped;     /* rows whose ring was full */
    uint32_t move_capacity; /* of both arrays */
    uint32_t n_parts;
    struct og_tiers_part *part; /* [n_parts] one behind the other in all arrays */
};
/* Part k as a plan by itself, of the same arrays. Of one that nothing was added to yet it is where
 * that goes. */
struct og_tiers_plan og__tiers_plan_part(const struct og_tiers_plan *p, uint32_t k);
void og__tiers_plan_empty(struct og_tiers_plan *p);
void og__tiers_plan_add(struct og_tiers_plan *p, uint32_t k, const struct og_tiers_plan *of);

/* What batches cost of it, beside the plan's own. */
struct og_tiers_cost {
    uint64_t device_hits, host_hits, victim_hits;
    uint64_t demoted, victim_pushed, victim_dropped;
    uint64_t peer_hits, peer_entries; /* rows that another device than the batch's has, and gets */
};
/* Of a part. batch: its number in the epoch, which is on device batch modulo the keepers. */
void og__tiers_cost_add(struct og_tiers_cost *sum, const struct og_tiers_setup *setup,
                        const struct og_tiers_plan *p, uint32_t batch);
void og__tiers_cost_sum(struct og_tiers_cost *sum, const struct og_tiers_cost *more);
/* Rows that go over the link, of so many in all; and that come back. */
static inline uint64_t og__tiers_linked(const struct og_tiers_cost *c, uint64_t rows)
{
    return rows - c->device_hits;
}
static inline uint64_t og__tiers_linked_back(const struct og_tiers_cost *c)
{
    return c->demoted + c->victim_pushed;
}
/* And from device to device. */
static inline uint64_t og__tiers_to_peers(const struct og_tiers_cost *c)
{
    return c->peer_hits + c->peer_entries;
}

void og__tiers_plan_init(struct og_tiers_plan *p, struct og_budget *b);
void og__tiers_plan_release(struct og_tiers_plan *p);
/* Room for batches of so many rows, and what that takes. */
OG_MUST_CHECK int og__tiers_plan_reserve(struct og_tiers_plan *p,
                                         const struct og_tiers_setup *setup, uint32_t n,
                                         struct og_err *err);
size_t og__tiers_plan_bytes(const struct og_tiers_setup *setup, uint64_t n);
/* At most of one that is put away until its batch comes (flow/tiers_spill.h). */
enum { OG__TIERS_HEAD_BYTES = 32 };
size_t og__tiers_spilled_bytes(const struct og_tiers_setup *setup, uint64_t n);

/* The next batch, of those that were prepared; with ranges its ids come range by range. */
OG_MUST_CHECK int og__tiers_plan(struct og_tiers *t, struct og_planner *planner,
                                 const uint32_t *ids, uint32_t n, struct og_tiers_plan *out,
                                 struct og_err *err);

/* What both caches' tables and the plans of a superbatch take of the budget, for up to `rows` rows,
 * `longest` in one batch, `batches` batches and `distinct` nodes. */
size_t og__tiers_bytes(const struct og_tiers_setup *setup, uint64_t rows, uint64_t longest,
                       uint64_t batches, uint64_t distinct);
/* What is left of it after og__tiers_trim. */
size_t og__tiers_trimmed_bytes(const struct og_tiers_setup *setup);

#endif
