/* dealt: what policies do in workers that train together, counted over the batches of all as
 * plan/simulate.h counts it of one process, which is one worker.
 *
 *   batches of an epoch     0 1 | 2 3 | 4        a round has one of each worker
 *
 *   caches of their own     worker 0   0 | 2 | 4         rows exchanged   owner 0   0 1 | 2 3 | 4
 *                           worker 1   1 | 3                              owner 1   0 1 | 2 3 | 4
 *
 * With caches of their own each plans its own batches. Where rows are exchanged each plans what all
 * ask of its nodes in a round (plan/owners.h): a row that several batches of a round ask for is
 * fetched once, and one miss. */
#ifndef OG_DEALT_H
#define OG_DEALT_H

#include "plan/simulate.h"

struct og_dealt {
    uint32_t workers;
    uint32_t epoch; /* batches, of all workers */
    int superbatch; /* batches that each prepares at once; 0 = of an epoch */
    bool exchange;
    /* whose each batch is, [batches of the trace], in the order of rounds; NULL: all are of
     * training, and each epoch begins a round */
    const uint8_t *worker;
    bool dense; /* an owner's file has the rows of its own nodes alone */
};

/* What each prepares of so many batches an epoch: as asked, or, as in training where memory allows
 * it, an epoch, in parts where that is more than a policy can be shown. */
uint32_t og__superbatch_of(int asked, uint32_t epoch);

/* As og__simulate, with caches of these sizes in each worker: sums of all. `sim` is of all batches
 * and nodes; its superbatch is not looked at. */
OG_MUST_CHECK int og__simulate_dealt(const struct og_simulation *sim,
                                     const struct og_policy_setup *setup,
                                     const struct og_dealt *dealt, struct og_simulated *out,
                                     struct og_err *err);
/* What that takes of the budget at least, for traces of up to so many batches and rows, `longest`
 * rows in one batch. */
size_t og__simulate_dealt_bytes(const struct og_simulation *sim,
                                const struct og_policy_setup *setup, const struct og_dealt *dealt,
                                uint32_t batches, uint64_t rows, uint64_t longest);

/* The same of a device's cache over the host's, both of these sizes in each worker, which has a
 * device for itself; nothing is exchanged. */
OG_MUST_CHECK int og__simulate_tiers_dealt(const struct og_simulation *sim,
                                           const struct og_tiers_setup *setup,
                                           const struct og_dealt *dealt,
                                           struct og_simulated_tiers *out, struct og_err *err);
size_t og__simulate_tiers_dealt_bytes(const struct og_simulation *sim,
                                      const struct og_tiers_setup *setup,
                                      const struct og_dealt *dealt, uint32_t batches, uint64_t rows,
                                      uint64_t longest);

/* One owner, with setup->n_slots as it is and superbatches as `sim` says, in its rounds: what there
 * is to tell when so many of those are over, whatever comes behind. The others may see more. */
OG_MUST_CHECK int og__simulate_owner(const struct og_simulation *sim,
                                     const struct og_policy_setup *setup,
                                     const struct og_dealt *dealt, uint32_t owner, uint32_t rounds,
                                     struct og_simulated *out, struct og_err *err);

/* Rows of the trace by who owns their nodes: asked[workers] of each owner. Returns how many of all
 * the worker owns that trains on their batch; the others come from another one. */
uint64_t og__dealt_rows(const struct og_trace *t, const struct og_dealt *dealt, uint64_t *asked);

#endif
