/* slots: how many rows of each group memory holds. They are in the host's cache, in a device's over
 * it, and staged. Among several groups, rows go where a byte saves most (plan/worth.h); one
 * group needs no ranking. Looks at nothing but numbers. */
#ifndef OG_BUDGET_SLOTS_H
#define OG_BUDGET_SLOTS_H

#include "budget/memory_plan.h"
#include "plan/count.h"
#include "plan/tiers.h"
#include "plan/worth.h"

/* A group of rows: its share of memory, and what an epoch reads of it. */
struct og_group_size {
    size_t row_bytes;      /* in memory; 0: it has no rows */
    uint64_t slots;        /* of the host's cache, */
    uint64_t device_slots; /* and of a device's over it */
    uint64_t staging_rows; /* misses of a batch */
    /* counted in advance (choose/predict.h) */
    struct og_read_rule rule;                     /* of its file */
    struct og_plan_cost epoch;                    /* predicted */
    struct og_plan_cost seen;                     /* of the batches counted so far */
    struct og_tiers_cost epoch_tiers, seen_tiers; /* the same, with a device's cache */
    uint64_t epoch_written, seen_written;         /* bytes of rows that batches change */
};

/* [n_groups] with row_bytes set; NULL without memory. The caller frees it. */
struct og_group_size *og__group_sizes(const struct og_graph *g);

/* A device's cache, as the host's below it has to know of it. */
struct og_upper_tier {
    uint64_t rows;                 /* slots, */
    uint64_t slots[OG_MOST_TYPES]; /* of each group */
    size_t bytes;
    uint64_t stay;  /* 1: its rows stay, as the host's do, which are others then; else 0 */
    uint64_t first; /* 1: and they are those that come before the host's in one ranking */
};
/* worth: of nodes to the device's policy; looked at where there are several groups. Without a
 * device's cache nothing is above. sums: of these worths, or NULL. */
OG_MUST_CHECK int og__upper_tier_plan(struct og_upper_tier *out, const struct og_plan_inputs *p,
                                      const uint32_t *worth, struct og_worth_sums *sums,
                                      struct og_budget *b, struct og_err *err);

/* What staging and cache are settled from. */
struct og_slots_given {
    const struct og_misses *misses;
    const struct og_upper_tier *upper;
    const uint32_t *worth; /* of nodes, by the policy's numbers; NULL: there is one group, or no
                              cache */
    struct og_worth_sums *sums; /* of these worths; may be NULL */
    struct og_budget *budget;
};
/* Settle staging and cache, into m and size[n_groups], and the policy's tables for them. Every
 * other part of m must be set. -ENOMEM where --cache is more than fits. */
OG_MUST_CHECK int og__memory_plan_cache(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                        const struct og_slots_given *given,
                                        struct og_group_size *size, struct og_err *err);
/* Sizes a whole memory plan. Returns -ENOMEM if the limit is below m->smallest, or if an explicit
 * size does not fit. The hint has sizes that do; m is filled as far as it goes. */
OG_MUST_CHECK int og__memory_plan(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                  const struct og_slots_given *given, struct og_group_size *size,
                                  struct og_err *err);

/* Groups with rows, with these slots, into groups[f->n_group_slots]; returns that number, 0 in a
 * homogeneous graph. */
uint32_t og__slots_of_groups(const struct og_workload *f, const struct og_group_size *size,
                             bool of_device, struct og_group_slots *groups);

/* How wide rows of each group are; malloc'ed, NULL without memory. */
struct og_group_bytes *og__group_bytes_of_graph(const struct og_graph *g);
/* The group that ends with node `end`; row sizes in memory and in the file. */
struct og_group_bytes og__group_bytes_to(uint64_t end, size_t row_bytes, size_t file_row_bytes);
/* An amount of cache of a graph of so many nodes. */
struct og_capacity og__amount_room(const struct og_amount *cache, uint64_t n_nodes);
/* Divides an amount of cache among groups, as rows in slots[n]: the worthiest as far as it goes.
 * NULL for worth is allowed where n is 1. */
OG_MUST_CHECK int og__amount_slots(const uint32_t *worth, const struct og_amount *cache,
                                   const struct og_group_bytes *group, uint32_t n,
                                   const struct og_upper_tier *upper, struct og_budget *b,
                                   uint64_t *slots, struct og_err *err);

#endif
