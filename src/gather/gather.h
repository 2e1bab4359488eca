/* gather: carries plans out and decides nothing.
 *
 *   one allocation:   | host cache, n_slots rows | staging 0 | staging 1 | ... |
 *                        ^                          misses of the batches in flight
 *                        └── changes of a batch ────────┘
 *
 * A batch's features are a view: a row index into that allocation. Rows in the cache are never
 * copied; misses are read straight into the staging area of their batch, and those that are to stay
 * are copied to their slots once the batch is done with. */
#ifndef OG_GATHER_H
#define OG_GATHER_H

#include "gather/rows.h"
#include "io/io.h"
#include "plan/policy.h"

struct og_gather;

struct og_gather_options {
    uint32_t n_slots;      /* rows the host cache holds */
    uint32_t staging_rows; /* misses of one batch; grows when a batch has more */
    int n_staging;         /* batches in flight between loader and trainer, >= 1 */
    struct og_reader_options reader;
};

/* Everything from the budget: "feature cache", "staging", "read buffers". */
OG_MUST_CHECK int og__gather_open(struct og_gather **out, const struct og_dataset *ds,
                                  const struct og_gather_options *opt, struct og_budget *b,
                                  struct og_err *err);
void og__gather_close(struct og_gather *g);
const char *og__gather_engine(const struct og_gather *g);

/* Put the rows that the policy names (og__policy_prefill) into their slots, reading the file front
 * to back. No batch is in flight. counts are added to. Stops with OG_INTERRUPTED once *stop is set.
 */
OG_MUST_CHECK int og__gather_prefill(struct og_gather *g, struct og_policy *policy,
                                     const volatile sig_atomic_t *stop, struct og_io_counts *counts,
                                     struct og_err *err);

/* Start reading a batch's misses into staging area `staging` (free: no batch uses it). `plan` is
 * borrowed until finish. Loader thread only. */
OG_MUST_CHECK int og__gather_begin(struct og_gather *g, int staging, struct og_plan *plan,
                                   struct og_err *err);
/* Wait for them; *rows then shows the batch's features, valid until the staging area is begun
 * again. The plan's `place` becomes the row index of the view. Loader thread only. */
OG_MUST_CHECK int og__gather_finish(struct og_gather *g, int staging, struct og_rows *rows,
                                    struct og_io_counts *counts, struct og_err *err);

/* The plan's changes, once nobody uses the batch's rows any more and before the next batch's are
 * used: rows that it read go to their slots. */
void og__gather_change(struct og_gather *g, const struct og_plan *plan);

#endif
