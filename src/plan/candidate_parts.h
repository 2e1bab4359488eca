/* Shared by the files of the cost model:
 *
 *     candidate.c           counts rows of one size over the trace
 *     candidate_rows.c      reads and writes of an epoch, for such rows
 *     candidate_groups.c    both for all row sizes, and their sums
 *     candidate_seconds.c   seconds, including topology and samples */
#ifndef OG_CANDIDATE_PARTS_H
#define OG_CANDIDATE_PARTS_H

#include "plan/candidate.h"

/* Factors from counts over a trace to a steady epoch. */
struct og__scale {
    double longer;       /* than the trace is a superbatch, or 1 */
    double own;          /* as longer, for batches that are not reused */
    double wider;        /* distinct nodes of such a superbatch relative to the trace */
    double traces;       /* counts of the trace times this are an epoch's */
    double prepared;     /* preparations an epoch: 1, or fewer if samples are reused */
    double superbatches; /* an epoch */
    double batches;      /* an epoch */
};
struct og__scale og__scale_of(const struct og_cost_inputs *given, const struct og_candidate *c,
                              const struct og_candidate_counts *counts);

/* Rows of one size: candidate i into out[i].counts. */
OG_MUST_CHECK int og__candidates_count_group(const struct og_cost_inputs *given,
                                             const struct og_candidate *c, uint32_t n,
                                             struct og_estimate *out, struct og_err *err);
/* An epoch's reads and writes of such rows, from these counts. */
struct og_candidate_io og__candidate_io(const struct og_cost_inputs *given,
                                        const struct og_candidate *c,
                                        const struct og_candidate_counts *counts);

static inline double og__or_else(double rate, double otherwise)
{
    return rate > 0 ? rate : otherwise;
}

static inline bool og__candidate_writes(const struct og_candidate *c)
{
    return c->layout == OG__PACKED || c->layout == OG__SEGMENTED;
}

static inline struct og_io_expected og__io_times(struct og_io_counts io, double by)
{
    return (struct og_io_expected){(double)io.reads * by, (double)io.bytes * by};
}

static inline struct og_io_expected og__io_scaled(struct og_io_expected io, double by)
{
    return (struct og_io_expected){io.reads * by, io.bytes * by};
}

static inline struct og_io_expected og__io_sum(struct og_io_expected a, struct og_io_expected b)
{
    return (struct og_io_expected){a.reads + b.reads, a.bytes + b.bytes};
}

#endif
