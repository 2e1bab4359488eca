/* execution plan: how the features come to the batches, as a value. The options say which; what
 * they leave open is tried out as other values (choose.h). Its sizes follow from it and from what
 * is known of the batches (memory_plan.h). */
#ifndef OG_EXEC_PLAN_H
#define OG_EXEC_PLAN_H

#include <stdbool.h>

struct og_exec_plan {
    int policy;             /* enum og_policy_kind; AUTO until it is chosen */
    bool tiers;             /* a device has a cache over the host's, */
    int device_policy;      /* by this policy, NONE where it has not; AUTO until it is chosen */
    bool has_victim_buffer; /* which rows that leave it go to */
    int layout;             /* enum og_layout_kind; the same */
    int topology;           /* enum og_topology_kind; AUTO until it is tried */
    bool alternate;         /* phased memory: sampling, then training in the same memory */
    bool whole_draws; /* an epoch's batches are planned together, as they were packed together */
    bool reuses;      /* several epochs train on the same batches */
    bool models;      /* a model computes in parallel */
    bool one_by_one;  /* a batch is trained before the next one is begun */
    int threads;      /* of all */
    int samplers;     /* that get batches, while a model computes in parallel; 0 = half */
};

/* Sampler threads of a flow, and works. */
enum { OG__MOST_SAMPLERS = 32, OG__MOST_WORKS = OG__MOST_SAMPLERS + 3 };

/* How many threads sample, and how many batches are on their way to be looked at. */
int og__samplers(const struct og_exec_plan *exec);
int og__works(const struct og_exec_plan *exec);
/* And how many of these on their way to be trained. With fewer batches than stages, stages wait for
 * one another. */
int og__works_trained(const struct og_exec_plan *exec);

/* Are batches sampled ahead, planned, and only then trained? */
bool og__samples_ahead(const struct og_exec_plan *exec);
/* Are their misses written before training, packed or segmented? */
bool og__packs(const struct og_exec_plan *exec);
/* Is an epoch sampled ahead once for all that train on it? Plans that stay good in any order only.
 */
bool og__keeps_batches(const struct og_exec_plan *exec);

#endif
