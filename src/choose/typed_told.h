/* What an epoch reads of each type of a typed graph, told before it is read: the pilot's batches,
 * or those that are planned beforehand, under the policy, in proportion (predict.h). */
#ifndef OG_TRAIN_TYPED_TOLD_H
#define OG_TRAIN_TYPED_TOLD_H

#include "choose/predict.h"

struct og_typed_told {
    struct og_plan_cost epoch;                    /* rows of the type, and how they come */
    struct og_plan_cost seen;                     /* of the batches that tell it, so far */
    struct og_tiers_cost epoch_tiers, seen_tiers; /* the same, with a device's cache */
    struct og_read_rule rule;                     /* of its file */
    uint64_t slots;                               /* of the cache, for rows of it; */
    uint64_t there;                               /* and of a device's cache over it */
    size_t row_bytes;                             /* 0: the type has no features */
};

/* d->told[n_types], whose slots and row_bytes are known: rules are asked of one reader each. */
OG_MUST_CHECK int og__typed_rules(struct og_data_path *d, struct og_err *err);
/* Another batch of those that tell, whose misses are numbered: to each type what is of it, and to
 * *sum all. */
void og__typed_count(const struct og_data_path *d, const struct og_plan *plan,
                     struct og_plan_cost *sum);
/* What of a plan for two caches is of part k: to the type, and to *sum. batch: as of
 * og__tiers_cost_add. */
void og__typed_count_part(const struct og_data_path *d, uint32_t k, const struct og_tiers_plan *of,
                          uint32_t batch, struct og_plan_cost *sum);
/* By the pilot's batches, into d->predicted too. The policy, which is static, is there. */
OG_MUST_CHECK int og__typed_tell(struct og_data_path *d, const struct og_pilot *pilot,
                                 struct og_err *err);

#endif
