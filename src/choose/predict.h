/* Predicts what a session will read: one epoch's rows, hits, misses, reads, bytes. Totals, and of
 * each group of rows (budget/slots.h).
 *
 *   a cache that stays as it is    from the profiling batches, in proportion
 *   one that changes               from the plans of the first superbatch, exact for its batches */
#ifndef OG_PREDICT_H
#define OG_PREDICT_H

#include "choose/profiling.h"
#include "flow/data_path.h"
#include "plan/write_count.h"

/* d->size[].rule: how the engine that will read the features of each group merges requests. */
OG_MUST_CHECK int og__learn_rules(const struct og_data_path *d, struct og_err *err);

/* d->predicted, where the profiling batches predict it. The policy is there. */
OG_MUST_CHECK int og__predict_profiling(struct og_data_path *d,
                                        const struct og_profiling *profiling, struct og_err *err);

/* The same for rows that were counted already: those of all the profiling batches. All of `tiers`
 * is 0 without a device's cache. */
OG_MUST_CHECK int og__predict_from(struct og_data_path *d, const struct og_profiling *profiling,
                                   const struct og_plan_cost *rows,
                                   const struct og_tiers_cost *tiers, struct og_err *err);

/* Training batches of a superbatch, one after another, and their sum as an epoch's. */
struct og_prediction {
    struct og_predicted sum;
    uint64_t batches;
    uint64_t seeds;                /* of these batches */
    struct og_write_count *writes; /* [n_groups] of rows that batches change; NULL: not counted */
    const struct og_next_use_list *uses; /* with batches known in advance: of the superbatch */
    uint32_t number;                     /* of the next one in it */
};
/* Also counts what batches write, and read again, of rows that they change. Memory comes from the
 * budget until it ends. */
OG_MUST_CHECK int og__predict_writes(struct og_prediction *p, const struct og_data_path *d,
                                     struct og_err *err);
/* Rows have entered slots, where batches are known in advance. */
void og__predict_begin(struct og_prediction *p, const struct og_data_path *d);
void og__predict_end(struct og_prediction *p, const struct og_data_path *d);
/* Rows enter slots before the next batch. */
OG_MUST_CHECK int og__predict_fill(struct og_prediction *p, const struct og_data_path *d,
                                   const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                                   struct og_err *err);
/* The next batch. The plan's misses are numbered; its places are those of its groups from now on.
 */
struct og_predicted_batch {
    bool counts;                        /* else it only moves rows, */
    bool trains;                        /* and may change them */
    const struct og_sample_reads *from; /* what sampling it read */
};
OG_MUST_CHECK int og__predict_batch(struct og_prediction *p, const struct og_data_path *d,
                                    struct og_plan *plan, const struct og_predicted_batch *batch,
                                    struct og_err *err);
/* And with a device's cache; batch: its number in the epoch. */
void og__predict_tiers(struct og_prediction *p, const struct og_data_path *d,
                       const struct og_tiers_plan *plan, uint32_t batch,
                       const struct og_sample_reads *from);
/* d->predicted by these; in proportion to seeds if they are part of an epoch. */
void og__predict_epoch(const struct og_prediction *p, const struct og_data_path *d);

#endif
