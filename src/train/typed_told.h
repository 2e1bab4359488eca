/* What an epoch reads of each type of a typed graph, told before it is read: the pilot's batches
 * under the policy, in proportion (predict.h). */
#ifndef OG_TRAIN_TYPED_TOLD_H
#define OG_TRAIN_TYPED_TOLD_H

#include "train/predict.h"

struct og_typed_told {
    struct og_plan_cost epoch; /* rows of the type, and how they come */
    uint64_t kept;             /* rows of it that the cache keeps */
    size_t row_bytes;          /* 0: the type has no features */
};

/* Into d->predicted and told[n_types], whose kept and row_bytes are known. The policy is there. */
OG_MUST_CHECK int og__typed_tell(struct og_data_path *d, const struct og_pilot *pilot,
                                 struct og_typed_told *told, struct og_err *err);

#endif
