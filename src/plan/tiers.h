/* tiers: a cache in a device's memory above one in the host's, each planned by its own policy.
 *
 *     batch ──> the device's ──> its misses without ──> the host's ──> misses
 *               policy           the victim buffer's    policy
 *
 *     0              n_device       + n_host         + n_victim
 *     | device slots | host slots   | victim places  | this batch's misses, ascending by node id |
 *
 * Places are one number, so that one index gathers a batch (gather/rows.h). Any two policies make a
 * pair, since the second one plans a trace: the misses of the first. Two kinds of pair coordinate:
 *
 *     both static       the host leaves out the device's rows. With one ranking these are two
 *                       thresholds (Yang et al. 2022, §6; Sun et al. 2023, §3.2).
 *     lower belady      rows that leave the device's cache may enter the host's cache
 *                       (plan/lower_belady.h). This is two-tier Belady, if both are belady.
 *
 * A victim buffer (plan/victim.h) may take rows that leave the device.
 *
 * With several row sizes, nodes form ranges, as in policies (policy.h). Each range has its own pair
 * of caches, victim buffer, and part of a batch's plan. The part numbers nodes, rows and places
 * from 0. Without ranges there is one part.
 *
 * prepare plans a superbatch for the device, since the host's policy must foresee its misses. These
 * plans take 4 bytes a row (12 with a victim buffer). */
#ifndef OG_TIERS_H
#define OG_TIERS_H

#include "plan/policy.h"
#include "plan/victim.h"

struct og_tiers_setup {
    /* each with its slots; of the same nodes, and the same ranges of them */
    struct og_policy_setup device, host;
    struct og_victim_setup victim; /* of each range */
    uint32_t keepers;              /* devices among which the slots are divided; 0 = one */
};

struct og_tiers;

/* The setup of range k alone, in its numbering. */
struct og_tiers_setup og__tiers_of_group(const struct og_tiers_setup *all, uint32_t k);

/* The hotness of both policies is borrowed as in policies. Tables come from the budget. */
OG_MUST_CHECK int og__tiers_open(struct og_tiers **out, const struct og_tiers_setup *setup,
                                 struct og_budget *b, struct og_err *err);
void og__tiers_close(struct og_tiers *t);

/* The setup as opened, with the slots of all ranges; and that of part k. */
const struct og_tiers_setup *og__tiers_setup(const struct og_tiers *t);
uint32_t og__tiers_parts(const struct og_tiers *t);
const struct og_tiers_setup *og__tiers_part_setup(const struct og_tiers *t, uint32_t k);
uint32_t og__tiers_first(const struct og_tiers *t, uint32_t k); /* its node 0 */

/* The first place of each tier after the device's, which starts at 0. */
struct og_tiers_places {
    uint32_t host, victim, misses;
};
struct og_tiers_places og__tiers_places(const struct og_tiers *t, uint32_t k);

/* Does the host's cache never hold rows of the device's? It may with a victim buffer, from which
 * rows return to the device. */
bool og__tiers_exclusive(const struct og_tiers_setup *setup);

/* The tail: batches prepared after a superbatch. The host's policy sees none of them, since the
 * device's misses there are unknown. */
uint32_t og__tiers_tail(const struct og_tiers_setup *setup);

/* Prepares the next n batches of `trace`, which is followed by those of a tail. It is not needed
 * afterwards. Nodes outside of ranges are skipped. */
OG_MUST_CHECK int og__tiers_prepare(struct og_tiers *t, const struct og_trace *trace, uint32_t n,
                                    struct og_err *err);

/* Rows to prefill in places of the device and the host before the next batch, at most `most`. They
 * are of one range, as are their places; 0 = none left. Call before each batch is planned. */
uint32_t og__tiers_prefill(struct og_tiers *t, uint32_t *nodes, uint32_t *places, uint32_t most);

/* Sets the threshold of the device's policy from now on. Before, og__tiers_setup has the requested
 * one, 0 = the policy's default. */
void og__tiers_set_threshold(struct og_tiers *t, uint32_t batches);

/* Call when all prepared batches are planned: releases tables for planning. */
void og__tiers_trim(struct og_tiers *t);
/* Marks slots of the host from `first` on as empty. Call between superbatches. */
void og__tiers_invalidate(struct og_tiers *t, uint32_t first);

/* The part of a plan for one range. */
struct og_tiers_part {
    uint32_t n, n_misses, n_changes, n_moves;
    uint32_t device_hits, host_hits, victim_hits, n_pushed, n_dropped;
};

struct og_tiers_plan {
    /* places, misses; changes: after the batch, its rows enter places of the device or the host */
    struct og_plan plan;
    uint32_t device_hits, host_hits, victim_hits;
    /* moves before the changes: from places of the device to the host or the victim buffer */
    uint32_t n_moves;
    uint32_t *move_from, *move_to;
    uint32_t n_pushed;  /* of the moves: to the victim buffer */
    uint32_t n_dropped; /* rows whose victim buffer was full */
    struct og_allocs of_moves;
    uint32_t n_parts;
    struct og_tiers_part *part; /* [n_parts] in sequence in all arrays */
};
/* Part k as a plan, sharing its arrays. An empty part shows where additions go. */
struct og_tiers_plan og__tiers_plan_part(const struct og_tiers_plan *p, uint32_t k);
void og__tiers_plan_empty(struct og_tiers_plan *p);
void og__tiers_plan_add(struct og_tiers_plan *p, uint32_t k, const struct og_tiers_plan *of);

/* The costs of batches in tiers, in addition to the plan's. */
struct og_tiers_cost {
    uint64_t device_hits, host_hits, victim_hits;
    uint64_t demoted, victim_pushed, victim_dropped;
    uint64_t peer_hits, peer_entries; /* of other devices than the batch's */
};
/* Adds a part's costs. batch: its number in the epoch; its device is batch modulo the keepers. */
void og__tiers_cost_add(struct og_tiers_cost *sum, const struct og_tiers_setup *setup,
                        const struct og_tiers_plan *p, uint32_t batch);
void og__tiers_cost_sum(struct og_tiers_cost *sum, const struct og_tiers_cost *more);
/* Rows transferred over the link, of so many in all; and those transferred back. */
static inline uint64_t og__tiers_linked(const struct og_tiers_cost *c, uint64_t rows)
{
    return rows - c->device_hits;
}
static inline uint64_t og__tiers_linked_back(const struct og_tiers_cost *c)
{
    return c->demoted + c->victim_pushed;
}
/* And those transferred between devices. */
static inline uint64_t og__tiers_to_peers(const struct og_tiers_cost *c)
{
    return c->peer_hits + c->peer_entries;
}

void og__tiers_plan_init(struct og_tiers_plan *p, struct og_budget *b);
void og__tiers_plan_release(struct og_tiers_plan *p);
/* Room for batches of so many rows, and its memory. */
OG_MUST_CHECK int og__tiers_plan_reserve(struct og_tiers_plan *p,
                                         const struct og_tiers_setup *setup, uint32_t n,
                                         struct og_err *err);
size_t og__tiers_plan_bytes(const struct og_tiers_setup *setup, uint64_t n);
/* The most bytes of a plan that is spilled until its batch comes (flow/tiers_spill.h). */
enum { OG__TIERS_HEAD_BYTES = 32 };
size_t og__tiers_spilled_bytes(const struct og_tiers_setup *setup, uint64_t n);

/* Plans the next prepared batch; with ranges its ids come group by group. */
OG_MUST_CHECK int og__tiers_plan(struct og_tiers *t, struct og_planner *planner,
                                 const uint32_t *ids, uint32_t n, struct og_tiers_plan *out,
                                 struct og_err *err);

/* Memory from the budget: both caches' tables and the plans of a superbatch. It has at most `rows`
 * rows, `longest` in one batch, `batches` batches and `distinct` nodes. */
size_t og__tiers_bytes(const struct og_tiers_setup *setup, uint64_t rows, uint64_t longest,
                       uint64_t batches, uint64_t distinct);
/* Memory after og__tiers_trim. */
size_t og__tiers_trimmed_bytes(const struct og_tiers_setup *setup);

#endif
