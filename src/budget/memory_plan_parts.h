/* What the files of the memory plan share. They run in this order, each on what the ones before it
 * leave:
 *
 *   memory_plan_fixed.c       all that is fixed
 *   memory_plan_lookahead.c   batches sampled ahead
 *   memory_plan_sample_groups.c      sample groups of a topology on disk
 *   memory_plan_neighbors.c   neighbour cache
 *   slots.c                   staging areas, feature cache
 *
 * All add up by ledger.c: what is alive at the same time. Tables of policies are tables.c's, and
 * memory_plan.c asks all of them. */
#ifndef OG_MEMORY_PLAN_PARTS_H
#define OG_MEMORY_PLAN_PARTS_H

#include "budget/memory_plan.h"
#include "gather/gather.h"
#include "plan/policy.h"

enum {
    OG__SLACK_SHARE = 32, /* of the limit, kept for batches larger than the profiling batches' */
    OG__COPIES = 2,       /* with --exchange in place: rounds whose rows lie where all read them */
    /* rows that are about to enter the cache, and their slots */
    OG__FILL_LIST = 2 * OG__FILL_ROWS * 4,
};

/* Phased memory: the most that sampling, planning and packing take. */
size_t og__memory_plan_before_training(const struct og_memory_plan *m);
/* The most that is alive at a time without the cached rows. */
size_t og__memory_plan_without_rows(const struct og_memory_plan *m);

/* The same with one batch sampled ahead. */
size_t og__memory_plan_least_lookahead(const struct og_memory_plan *m,
                                       const struct og_plan_inputs *p);

/* So many slots, and what they add to the policy's tables: no straight line, some tables double. */
void og__memory_plan_slots(struct og_memory_plan *m, const struct og_plan_inputs *p, uint64_t n);

/* What is free for what only samples: while they alternate all that training has. */
size_t og__memory_plan_free(const struct og_memory_plan *m, const struct og_plan_inputs *p);

/* The neighbour cache's part of it, without group sampling. */
size_t og__memory_plan_lists_share(const struct og_memory_plan *m, const struct og_workload *f,
                                   size_t free);

/* Bytes on disk, at most, of batches that are sampled ahead: blocks and ids, until they are
 * planned. The second is what they may take of --disk, after a requested neighbour cache. */
double og__memory_plan_sampled_disk(const struct og_memory_plan *m, const struct og_plan_inputs *p);
double og__memory_plan_disk(const struct og_plan_inputs *p);
/* May they be sampled in groups, which spill a quarter of that at most? */
bool og__memory_plan_takes_sample_groups(const struct og_plan_inputs *p);

/* What the most slots that fit in so much memory add to the policy's tables. By group. */
void og__memory_plan_most_slots(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                size_t memory);
/* What slots of each group add to them. */
void og__memory_plan_group_slots(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                 const struct og_group_slots *groups);

/* The size of a superbatch; and what an execution plan's tables for it take, with n_slots cached
 * rows. */
struct og_planned_size {
    uint64_t rows, batches, distinct;
};
size_t og__plan_inputs_tables(const struct og_plan_inputs *p, uint64_t n_slots,
                              const struct og_planned_size *of);
/* And once they have planned. */
size_t og__trimmed_tables(const struct og_plan_inputs *p, uint64_t n_slots);
/* Batches that it looks ahead after a superbatch. */
uint32_t og__plan_inputs_tail(const struct og_plan_inputs *p);
/* Plans of n batches, while they are carried out; and one spilled plan, at most. */
size_t og__plan_inputs_plans(const struct og_plan_inputs *p, int n, uint64_t rows);
size_t og__plan_inputs_spilled(const struct og_plan_inputs *p, uint64_t rows);

/* What the smallest limit holds, parts by name: "topology 3.2 GiB, model 12 MiB". The second names
 * the option that makes the largest of them smaller. */
void og__ledger_list(const struct og_memory_plan *m, char *text, size_t size);
const char *og__ledger_remedy(const struct og_memory_plan *m);

/* A superbatch needs so many bytes, which is more than the limit. */
OG_MUST_CHECK int og__memory_plan_refuse_superbatch(const struct og_memory_plan *m,
                                                    const struct og_exec_plan *exec, size_t need,
                                                    struct og_err *err);

#endif
