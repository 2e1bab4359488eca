/* The profiling batches by groups, for counting execution plans of heterogeneous graphs. Each
 * type's rows have one size and slots of their own. */
#ifndef OG_PROFILING_GROUPS_H
#define OG_PROFILING_GROUPS_H

#include "choose/profiling.h"
#include "plan/candidate.h"

struct og_profiling_groups {
    struct og_cost_group *group; /* [n] of types with features, in their order */
    uint32_t n;                  /* 0: all rows are of one */
    uint32_t *ids; /* the profiling batches', one group after the other, each from 0 */
    uint64_t *ptr; /* of each group's batches in them */
    size_t bytes;  /* of ids */
};

/* A homogeneous graph needs none. A reader of each type predicts its requests. */
OG_MUST_CHECK int og__profiling_groups(struct og_profiling_groups *out,
                                       const struct og_profiling *p, const struct og_structure *g,
                                       struct og_budget *b, struct og_err *err);
void og__profiling_groups_release(struct og_profiling_groups *w, struct og_budget *b);

#endif
