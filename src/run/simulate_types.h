/* Simulation where nodes have types: rows of each lie in slots of their own, whose cache changes by
 * itself (plan/policy.h, ranges), so each type is simulated like a graph of its own.
 *
 *   batches ──> ids of a type, from 0 ──> plan/simulate, plan/dealt ──┐
 *   ranking of all ──> slots of each type ────────────────────────────┴─> by types, and their sum
 */
#ifndef OG_RUN_SIMULATE_TYPES_H
#define OG_RUN_SIMULATE_TYPES_H

#include "run/simulator.h"

/* What is refused, before batches are sampled, and how wide each type's rows are, and read: of the
 * dataset; of the trace, whose rows are read as if they lay beside it. */
OG_MUST_CHECK int og__simulator_know_types(struct simulator *m, struct og_err *err);
OG_MUST_CHECK int og__simulator_know_trace_types(struct simulator *m, struct og_err *err);
void og__simulator_forget_types(struct simulator *m);
/* Of the batches of a trace those ids that have rows, as they are planned. */
OG_MUST_CHECK int og__simulator_keep_rows(struct simulator *m, struct og_err *err);
/* The types that have rows, as JSON; NULL on lack of memory. */
json_t *og__simulated_types_json(const struct simulator *m);

/* One policy, each of whose sizes adds a row to the results. */
OG_MUST_CHECK int og__simulate_types(struct simulator *m, const struct asked_policy *p,
                                     json_t *results, struct og_err *err);
/* What that takes of the budget, beside the batches. */
size_t og__simulate_types_bytes(const struct simulator *m, const struct asked_policy *p);

/* ---- what its files share ---- */

uint64_t og__simulated_nodes(const struct simulator *m, uint32_t t); /* of type t */
/* What rows are worth[N] to the policy; and what of the budget ranking them takes. */
OG_MUST_CHECK int og__simulated_worth(const struct simulator *m, const struct asked_policy *p,
                                      uint32_t *worth, struct og_err *err);
size_t og__simulated_ranking_bytes(const struct simulator *m, const struct asked_policy *p);
/* A type's part of all batches, at most. */
size_t og__simulated_batches_bytes(const struct simulator *m);
/* Slots of type t in the largest cache of the lists, at most. */
uint32_t og__simulated_slots(const struct simulator *m, const struct simulator *lists, uint32_t t);

#endif
