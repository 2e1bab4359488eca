/* simulate: what a policy would do with caches of several sizes, counted over a trace. Nothing is
 * read and nothing is trained.
 *
 *   trace ──> how many of the sizes   ──> rows of a batch by id, ──> hits, misses, reads, bytes
 *             miss each row: of static     merged as a reader
 *             policies the rank of its     would (all sizes in
 *             node, of lru its stack       one walk)
 *             distance
 *
 * Static policies and lru hold in a larger cache all that they hold in a smaller one, so that one
 * number a row tells its fate at every size. Other policies are run as they are, once a size. */
#ifndef OG_SIMULATE_H
#define OG_SIMULATE_H

#include "base/thread.h"
#include "io/io.h"
#include "plan/policy.h"
#include "plan/tiers.h"

#include <signal.h>

enum { OG__MOST_SIZES = 255 };

/* What is simulated over. */
struct og_simulation {
    struct og_trace trace;
    uint64_t n_nodes;
    const uint32_t *row; /* [n_nodes] of the file, ascending: where a node's features lie; NULL =
                            as the node's number says */
    uint32_t owners; /* the file has the rows of every so-manieth node alone (plan/owners.h); 0: of
                        all */
    uint32_t superbatch; /* batches prepared at once by policies that look ahead */
    const uint32_t *end; /* [n_ends] batches before which those end, ascending; NULL: all of them
                            are as long */
    uint32_t n_ends;
    uint32_t epoch;  /* batches of one, where their numbers in it matter (tiers.h); 0: all */
    uint32_t unseen; /* of the batches that a policy wants to see behind one, for want of memory */
    const uint32_t *size; /* [n_sizes] rows of the caches, ascending, none above n_nodes */
    uint32_t n_sizes;     /* at most OG__MOST_SIZES */
    uint32_t n_yielded;   /* slots that lose their rows between superbatches */
    struct og_read_rule rule;
    size_t packed_row; /* bytes of a row where what batches miss is packed, so that each reads it in
                          one run; 0: it lies in the feature file */
    uint32_t fill_rows;   /* put into the cache at once; 0 = reading them is not counted */
    struct og_pool *pool; /* may be NULL */
    struct og_budget *budget;
    const volatile sig_atomic_t *stop; /* may be NULL */
};

struct og_simulated {
    struct og_plan_cost cost; /* of the misses */
    uint64_t prefill;         /* rows put into the cache outside a batch */
    struct og_io_counts fill; /* reading those */
    /* of policies that fill while batches are trained: superbatches open with a window, in which
     * nothing is put into the cache once it began */
    struct og_io_counts open; /* reading for those */
    uint64_t open_batches;    /* in those */
    uint32_t windows;         /* those and the later ones */
};

/* Count one policy at every size into out[n_sizes]. setup->n_slots is ignored. The same figures as
 * a run with this policy, this cache and these batches has. 0, OG_INTERRUPTED after *stop, -ENOMEM.
 */
OG_MUST_CHECK int og__simulate(const struct og_simulation *sim, const struct og_policy_setup *setup,
                               struct og_simulated *out, struct og_err *err);

/* What a batch misses, ascending; valid during the call. Below 0 ends the simulation. */
typedef int og_missed(void *arg, uint32_t batch, const uint32_t *rows, uint32_t n,
                      struct og_err *err);
/* Run one policy with setup->n_slots as it is, batch by batch in their order, in the caller's
 * thread: `missed` is told of each. first_fill, which may be NULL: reading what the first
 * superbatch puts into the cache. */
OG_MUST_CHECK int og__simulate_each(const struct og_simulation *sim,
                                    const struct og_policy_setup *setup, og_missed *missed,
                                    void *arg, struct og_simulated *out,
                                    struct og_io_counts *first_fill, struct og_err *err);

/* ---- a device's cache over the host's ---- */

struct og_simulated_tiers {
    struct og_plan_cost cost; /* of the misses; hits are those of all tiers */
    struct og_tiers_cost tiers;
    uint64_t prefill;                     /* rows put into either cache outside a batch */
    uint64_t device_prefill;              /* of those, the device's */
    struct og_io_counts fill, first_fill; /* reading them; of which before the first batch */
};

/* Count one pair with its slots as they are; sim->size is not looked at. In the caller's thread.
 * missed, which may be NULL, as above. */
OG_MUST_CHECK int og__simulate_tiers(const struct og_simulation *sim,
                                     const struct og_tiers_setup *setup, og_missed *missed,
                                     void *arg, struct og_simulated_tiers *out, struct og_err *err);
/* What that takes of the budget, as og__simulate_bytes. */
size_t og__simulate_tiers_bytes(const struct og_simulation *sim, const struct og_tiers_setup *setup,
                                uint64_t rows, uint64_t longest);

/* What og__simulate takes of the budget at least, for traces of up to `rows` rows, `longest` of
 * them in one batch. */
size_t og__simulate_bytes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                          uint64_t rows, uint64_t longest);

#endif
