/* The groups of rows of a simulation: the types of nodes, or all nodes; units of relations' edges.
 * Slots of a group are its own, and its cache changes by itself (plan/policy.h, ranges), so each is
 * simulated like a graph.
 *
 *   batches ──> ids of a group, from 0 ──> plan/simulate, plan/partitioned ──┐
 *   ranking of all ──> slots of each group ────────────────────────────┴─> by groups, and their sum
 */
#ifndef OG_RUN_SIMULATOR_GROUPS_H
#define OG_RUN_SIMULATOR_GROUPS_H

#include "run/simulator.h"

/* How wide the rows of each group are, and how they are read. Rows of a trace are read as if they
 * were stored with it. */
OG_MUST_CHECK int og__simulator_know_graph(struct simulator *m, struct og_err *err);
OG_MUST_CHECK int og__simulator_know_trace(struct simulator *m, struct og_err *err);
void og__simulator_forget_groups(struct simulator *m);
bool og__simulator_has_rows(const struct simulator *m, uint32_t k);
/* The ids of nodes that have rows, in their order, into to[n], which may be ids. Returns how
 * many. */
uint32_t og__simulator_ids_with_rows(const struct simulator *m, const uint32_t *ids, uint32_t n,
                                     uint32_t *to);
/* Leaves no others in the batches of the trace. -EIO where its description has changed. */
OG_MUST_CHECK int og__simulator_keep_rows(struct simulator *m, struct og_err *err);
/* The groups that have rows. */
struct group_rows og__simulated_groups(const struct simulator *m);

/* ---- what rows are worth to a policy ---- */

/* worth[N], and its bytes; 0: there is one group, and the policy ranks no nodes. */
size_t og__simulator_worth_bytes(const struct simulator *m, const struct requested_policy *p);
OG_MUST_CHECK int og__simulator_find_worth(const struct simulator *m,
                                           const struct requested_policy *p, uint32_t **worth,
                                           struct og_err *err);
void og__simulator_release_worth(const struct simulator *m, const struct requested_policy *p,
                                 uint32_t *worth);
/* Bytes that finding it takes meanwhile. */
size_t og__simulator_ranking_bytes(const struct simulator *m, const struct requested_policy *p);
/* Slots of group k in a cache of this amount, at most. */
uint32_t og__simulator_most_slots(const struct simulator *m, const struct og_amount *cache,
                                  uint32_t k);

/* ---- a group's batches ---- */

/* Room for the batches of one group at a time. With one group those of all are taken. */
struct group_batches {
    const struct simulator *m;
    uint64_t *ptr;
    uint32_t *ids;
};
OG_MUST_CHECK int og__group_batches_open(struct group_batches *b, const struct simulator *m,
                                         struct og_err *err);
/* Valid until the next call. */
struct og_trace og__group_batches_of(const struct group_batches *b, uint32_t k);
void og__group_batches_close(struct group_batches *b);
size_t og__group_batches_bytes(const struct simulator *m);

#endif
