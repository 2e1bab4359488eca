/* count: predicts the reads of batches without reading anything. Used for profiling batches, the
 * first superbatch (lookahead/), candidates, and simulation.
 *
 *   trace ──> policy ──> misses, batch by batch ──> layout ──> requests and bytes */
#ifndef OG_COUNT_H
#define OG_COUNT_H

#include "plan/policy.h"
#include "plan/segments.h"

#include <signal.h>

/* The source of rows that no cache holds. */
enum og__layout {
    OG__RAW,       /* each batch reads its rows from the feature file */
    OG__PACKED,    /* a scan writes a chunk a batch, which reads it back sequentially */
    OG__SEGMENTED, /* as packed, rows that several batches miss stored once (plan/segments.h) */
};
const char *og__layout_name(enum og__layout layout);
enum og__layout og__layout_of(int option); /* enum og_layout_kind, not AUTO */

/* ---- policy ──> misses ---- */

/* A walk over batches that the policy has prepared. */
struct og_walk {
    struct og_policy *policy;
    struct og_planner *planner;
    struct og_plan *plan; /* of the current batch */
    /* Called before a batch is planned; may take prefills (og__policy_prefill); may be NULL. The
     * second is called with the plan, and may change it. A negative result ends the walk. */
    int (*before)(void *arg, uint32_t batch, struct og_err *err);
    int (*planned)(void *arg, uint32_t batch, struct og_plan *plan, struct og_err *err);
    void *arg;
    const volatile sig_atomic_t *stop; /* may be NULL; ends it with 0 */
};
OG_MUST_CHECK int og__walk_batches(const struct og_walk *w, const struct og_trace *t, uint32_t n,
                                   struct og_err *err);

/* ---- misses ──> requests and bytes ---- */

struct og_counting {
    enum og__layout layout;
    const struct og_read_rule *rule; /* of the feature file */
    size_t row_bytes;                /* of a row in packs */
};

/* Counts a batch of n rows with these misses, ascending. With segments, counts rows alone: their
 * reads need all batches' misses (og__count_segments). */
void og__count_batch(const struct og_counting *how, uint32_t n, const uint32_t *misses,
                     uint32_t n_misses, struct og_plan_cost *sum);

/* The reads of each batch with segments of `size` batches: its order, its shared rows, its chunk.
 * io[n_batches]. */
OG_MUST_CHECK int og__count_segments(struct og_segments *segments, uint32_t size,
                                     const struct og_read_rule *rule, struct og_io_counts *io,
                                     struct og_err *err);

#endif
