/* What an epoch reads of each type of a typed graph, told before it is read: the pilot's batches,
 * or those that are planned beforehand, under the policy, in proportion (predict.h). */
#ifndef OG_TRAIN_TYPED_TOLD_H
#define OG_TRAIN_TYPED_TOLD_H

#include "train/predict.h"

struct og_typed_told {
    struct og_plan_cost epoch; /* rows of the type, and how they come */
    struct og_plan_cost seen;  /* of the batches that tell it, so far */
    struct og_read_rule rule;  /* of its file */
    uint64_t slots;            /* of the cache, for rows of it */
    size_t row_bytes;          /* 0: the type has no features */
};

/* d->told[n_types], whose slots and row_bytes are known: rules are asked of one reader each. */
OG_MUST_CHECK int og__typed_rules(struct og_data_path *d, struct og_err *err);
/* Another batch of those that tell, whose misses are numbered: to each type what is of it, and to
 * *sum all. */
void og__typed_count(const struct og_data_path *d, const struct og_plan *plan,
                     struct og_plan_cost *sum);
/* By the pilot's batches, into d->predicted too. The policy, which is static, is there. */
OG_MUST_CHECK int og__typed_tell(struct og_data_path *d, const struct og_pilot *pilot,
                                 struct og_err *err);

#endif
