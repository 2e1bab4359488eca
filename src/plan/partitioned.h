/* partitioned: simulates policies in data-parallel workers, over the batches of all. One process as
 * in plan/simulate.h is one worker.
 *
 *     batches of an epoch     0 1 | 2 3 | 4        a round has one of each worker
 *
 *     caches of their own     worker 0   0 | 2 | 4       rows exchanged   owner 0   0 1 | 2 3 | 4
 *                             worker 1   1 | 3                            owner 1   0 1 | 2 3 | 4
 *
 * With its own cache, a worker plans its own batches. With exchange, an owner plans all requests
 * for its nodes in a round (plan/owners.h). A row requested by several batches of a round is
 * fetched once, and is one miss. */
#ifndef OG_PARTITIONED_H
#define OG_PARTITIONED_H

#include "plan/simulate.h"

struct og_partitioned {
    uint32_t workers;
    uint32_t epoch; /* batches, of all workers */
    int superbatch; /* batches that each prepares at once; 0 = an epoch */
    bool exchange;
    /* the worker of each batch, [batches of the trace], in the order of rounds. NULL: all are
     * training batches, and each epoch starts a round */
    const uint8_t *worker;
    bool dense; /* an owner's file has only the rows of its own nodes */
};

/* The superbatch for so many batches an epoch: `requested`, or by default an epoch. Longer ones are
 * divided by a policy's maximum. */
uint32_t og__superbatch_of(int requested, uint32_t epoch);

/* As og__simulate, with caches of these sizes in each worker; returns the sums. `sim` covers all
 * batches and nodes; its superbatch is ignored. */
OG_MUST_CHECK int og__simulate_partitioned(const struct og_simulation *sim,
                                           const struct og_policy_setup *setup,
                                           const struct og_partitioned *partitioned,
                                           struct og_simulated *out, struct og_err *err);
/* Memory of that, at least. Traces have at most so many batches and rows, `longest` rows in one
 * batch. */
size_t og__simulate_partitioned_bytes(const struct og_simulation *sim,
                                      const struct og_policy_setup *setup,
                                      const struct og_partitioned *partitioned, uint32_t batches,
                                      uint64_t rows, uint64_t longest);

/* The same for a device's cache above the host's, of these sizes in each worker. Each has a device;
 * there is no exchange. */
OG_MUST_CHECK int og__simulate_tiers_partitioned(const struct og_simulation *sim,
                                                 const struct og_tiers_setup *setup,
                                                 const struct og_partitioned *partitioned,
                                                 struct og_simulated_tiers *out,
                                                 struct og_err *err);
size_t og__simulate_tiers_partitioned_bytes(const struct og_simulation *sim,
                                            const struct og_tiers_setup *setup,
                                            const struct og_partitioned *partitioned,
                                            uint32_t batches, uint64_t rows, uint64_t longest);

/* Simulates one owner, with setup->n_slots slots and superbatches as in `sim`. Returns the counts
 * after `rounds` rounds, independent of later ones. The other owners may see more. */
OG_MUST_CHECK int og__simulate_owner(const struct og_simulation *sim,
                                     const struct og_policy_setup *setup,
                                     const struct og_partitioned *partitioned, uint32_t owner,
                                     uint32_t rounds, struct og_simulated *out, struct og_err *err);

/* Counts the trace's rows by owner: requested[workers]. Returns the rows that the worker of their
 * batch owns; the others come from another worker. */
uint64_t og__partitioned_rows(const struct og_trace *t, const struct og_partitioned *partitioned,
                              uint64_t *requested);

#endif
