/* exchange: ranks that train together get rows from one another (Park et al. 2024, §4.1: the
 * communication layer). Each owns the nodes whose number is its own modulo theirs (plan/owners.h)
 * and has a cache of those alone, so that no row is in two of them.
 *
 *   round            k                 k + 1                        k + 2
 *                    trained           rows are here, one batch     lists were exchanged: requests
 *                                      ahead of use                 of an owner planned and read
 *
 *   before round k is trained, in all ranks:
 *     rows of k      <───── are here
 *     lists of k + 2 ─────> owner: requests of all, each node once ──> policy ──> read begins
 *     rows of k + 1  <───── owner: read, and sent in a message to each rank. It comes while k is
 *                           trained (og__comm_begin)
 *
 * A round has a mini-batch of each rank, or of some; who has none serves the others. Requests to a
 * rank form a batch that any policy plans, and gather carries out. All of it is begun in step by
 * the thread that trains, and whoever fails or stops says so before the next message, as ranks do
 * that exchange gradients. */
#ifndef OG_EXCHANGE_H
#define OG_EXCHANGE_H

#include "comm/comm.h"
#include "flow/data_path.h"
#include "report/counters.h"

struct og_exchange;

/* How ranks continue in step. `agree` is 0 where all ranks pass 0, else one's code, and the end for
 * all. */
struct og_exchange_with {
    struct og_comm *comm;
    int (*agree)(void *arg, int rc, struct og_err *err);
    /* rounds before that of item `item` of all ranks, in which this one has no batch */
    int (*pass)(void *arg, uint64_t item, struct og_err *err);
    void *arg;
};

/* The path is open, its policy is of own nodes; it is borrowed, and gets the exchange. Memory from
 * the budget as "exchange". */
OG_MUST_CHECK int og__exchange_open(struct og_data_path *path, const struct og_exchange_with *with,
                                    struct og_err *err);
/* Before the path's gather; the thread that took rounds. NULL: none. */
void og__exchange_close(struct og_exchange *x);

/* The rounds of items [first, last) of all ranks come next, of the run or of one pass. */
void og__exchange_start(struct og_exchange *x, enum og__split pass, uint64_t first, uint64_t last);

/* Rows of the next round are here. If this rank has a batch in it, its work has them until the next
 * call. In all ranks, before the round is trained. */
OG_MUST_CHECK int og__exchange_reach(struct og_exchange *x, struct og_err *err);

/* Rows that are on their way have come, so that ranks may meet without waiting for them there. */
OG_MUST_CHECK int og__exchange_await(struct og_exchange *x, struct og_err *err);

/* Bytes of other ranks' memory that this one has read rows in, and they count. NULL: 0. */
size_t og__exchange_counted_elsewhere(const struct og_exchange *x);

/* Adds what this rank did as an owner in the oldest uncounted round. Rows requested, hits and
 * misses of its cache. Returns how many rows it sent. */
uint64_t og__exchange_count(struct og_exchange *x, struct og_epoch_counters *c);

/* Works of the flow that the path runs, as it looks at them. */
struct og_upcoming *og__exchange_upcoming(struct og_exchange *x);

/* ---- rounds in superbatches, for policies that look ahead (exchange_lookahead.c) ----
 *
 * Called for each superbatch in this order: bound, requests, planned for its rounds, fill, a flow,
 * pass. The flow is of own batches. */

/* Are there rounds that have not begun? */
bool og__exchange_goes_on(const struct og_exchange *x);
/* The superbatch begins with the next round. It would end before own item *last, but ends where
 * that of the rank does that ends first: with *last then. */
OG_MUST_CHECK int og__exchange_bound(struct og_exchange *x, uint64_t *last, struct og_err *err);
/* Its end: an item of all ranks; without superbatches that of the run, or the pass. */
uint64_t og__exchange_limit(const struct og_exchange *x);
/* own: this rank's batches from its item `first` on, with its lookahead. Then *requested is what
 * ranks request of this owner, valid until the next call. It covers the superbatch's own *rounds,
 * and as many after them as all ranks have sampled. */
OG_MUST_CHECK int og__exchange_requests(struct og_exchange *x, const struct og_trace *own,
                                        uint64_t first, struct og_trace *requested,
                                        uint32_t *rounds, struct og_err *err);
/* A plan to make others in, while none is carried out. */
struct og_plan *og__exchange_scratch(struct og_exchange *x);
/* A round's plan is at `at` in the path's store of plans. */
void og__exchange_planned(struct og_exchange *x, uint32_t round, uint64_t at);
/* Phased memory: the round's requests go to the path's store of plans, after its plan. */
OG_MUST_CHECK int og__exchange_spill(struct og_exchange *x, uint32_t round, struct og_err *err);
/* Releases requests that are spilled for all rounds. Each round reads its own back. */
void og__exchange_release_requests(struct og_exchange *x);
/* Who fills the cache for the superbatch's rounds; NULL: nobody any more. */
void og__exchange_fill(struct og_exchange *x, struct og_filling *filling);
/* The cost of preparing them, for a rank without a batch to count it with. The next round has
 * it. */
void og__exchange_prepared(struct og_exchange *x, const struct og_lookahead_counts *done);
/* Until its end: rounds in which this rank has no batch. */
OG_MUST_CHECK int og__exchange_pass(struct og_exchange *x, struct og_err *err);

#endif
