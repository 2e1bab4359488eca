/* simulate: counts what a policy does with caches of several sizes over a trace. Reads no data and
 * trains nothing.
 *
 *     trace ──> the number of sizes     ──> rows of a batch by id, ──> hits, misses, reads, bytes
 *               that miss each row:          merged as a reader
 *               for static policies its      would (all sizes in
 *               node's rank, for lru its     one walk)
 *               stack distance
 *
 * For static policies and lru a larger cache holds all rows of a smaller one. So one number a row
 * determines all sizes. Other policies are run once a size. */
#ifndef OG_SIMULATE_H
#define OG_SIMULATE_H

#include "base/thread.h"
#include "io/io.h"
#include "plan/policy.h"
#include "plan/tiers.h"

#include <signal.h>

enum { OG__MOST_SIZES = 255 };

/* The inputs of a simulation. */
struct og_simulation {
    struct og_trace trace;
    uint64_t n_nodes;
    const uint32_t *row; /* [n_nodes] rows in the file, ascending; NULL = node numbers */
    uint32_t owners;     /* the file has only every owners-th node's row (plan/owners.h); 0: all */
    uint32_t superbatch; /* batches prepared at once by policies that look ahead */
    /* [n_ends] superbatches end before these batches, ascending; NULL: all have equal length */
    const uint32_t *end;
    uint32_t n_ends;
    uint32_t epoch;       /* batches of an epoch, if their numbers in it matter (tiers.h); 0: all */
    uint32_t unseen;      /* batches of a tail that do not fit memory */
    const uint32_t *size; /* [n_sizes] rows of the caches, ascending, none above n_nodes */
    uint32_t n_sizes;     /* at most OG__MOST_SIZES */
    uint32_t n_released;  /* slots that lose their rows between superbatches */
    struct og_read_rule rule;
    size_t packed_row;    /* bytes of a row in packs; 0: batches read the feature file */
    size_t written_row;   /* bytes of a row that batches change (writes.h); 0: they do not */
    bool foreseen;        /* and the policy's superbatches are known in advance (foreseen.h) */
    uint32_t fill_rows;   /* rows put into the cache at once; 0 = does not count their reads */
    struct og_pool *pool; /* may be NULL */
    struct og_budget *budget;
    const volatile sig_atomic_t *stop; /* may be NULL */
};

struct og_simulated {
    struct og_plan_cost cost; /* of the misses */
    uint64_t prefill;         /* rows put into the cache outside a batch */
    struct og_io_counts fill; /* reading those */
    uint64_t rows_written;    /* changed rows that left the cache; and writing them: */
    struct og_io_counts writes;
    /* for policies that fill during training: superbatches start with a window during which no rows
     * enter the cache */
    struct og_io_counts open; /* reading for those */
    uint64_t open_batches;    /* in those */
    uint32_t windows;         /* those and the later ones */
};

/* Counts one policy at every size into out[n_sizes]; ignores setup->n_slots. Equals the counts of a
 * run with this policy, cache and batches. 0, OG_INTERRUPTED after *stop, -ENOMEM. */
OG_MUST_CHECK int og__simulate(const struct og_simulation *sim, const struct og_policy_setup *setup,
                               struct og_simulated *out, struct og_err *err);

/* Receives a batch's misses, ascending, valid during the call. A negative result ends the
 * simulation. */
typedef int og_missed(void *arg, uint32_t batch, const uint32_t *rows, uint32_t n,
                      struct og_err *err);
/* Runs one policy with setup->n_slots slots over the batches in order, on the caller's thread.
 * Calls `missed` for each. `first_fill`, which may be NULL: the reads of the first superbatch's
 * prefill. */
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

/* Counts one pair with its slots; ignores sim->size. On the caller's thread. missed, which may be
 * NULL, as above. */
OG_MUST_CHECK int og__simulate_tiers(const struct og_simulation *sim,
                                     const struct og_tiers_setup *setup, og_missed *missed,
                                     void *arg, struct og_simulated_tiers *out, struct og_err *err);
/* Memory of that from the budget, as og__simulate_bytes. */
size_t og__simulate_tiers_bytes(const struct og_simulation *sim, const struct og_tiers_setup *setup,
                                uint64_t rows, uint64_t longest);

/* Memory of og__simulate from the budget, at least. For traces of at most `rows` rows, `longest` of
 * them in one batch. */
size_t og__simulate_bytes(const struct og_simulation *sim, const struct og_policy_setup *setup,
                          uint64_t rows, uint64_t longest);

#endif
