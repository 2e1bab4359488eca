/* choose: how the features come to the batches, where the user left that to the program
 * (--policy auto).
 *
 *   profiling ──────────────> candidates ──────────────> the fastest, and why
 *   some of the run's         each with the cache
 *   batches, sampled          that memory has room for
 */
#ifndef OG_CHOOSE_H
#define OG_CHOOSE_H

#include "choose/profiling.h"
#include "learn/learner.h"
#include "plan/candidate.h"

/* One of the execution plans that --policy auto compared. */
struct og_chosen {
    int policy, layout;
    int device_policy; /* of a device's cache over it, where there is one */
    int topology;      /* enum og_topology_kind */
    bool alternate;
    uint32_t n_slots;
    struct og_estimate estimate;
};

struct og_choice {
    struct og_estimate estimate; /* of the plan that was chosen or given, where it is counted */
    struct og_chosen *compared;  /* [n_compared] the best first; malloc'ed */
    uint32_t n_compared;
    const char *not_compared; /* why no other plan is compared; NULL = some are, or nobody asks */
};

/* What is known, with the topology open and batches sampled, and what is timed. */
struct og_choice_inputs {
    const struct og_config *config;
    struct og_workload *workload;    /* rates of links and of reading are noted there */
    const struct og_exec_plan *exec; /* as it stands: where the topology is */
    const struct og_structure *structure;
    const struct og_learner *learner;
    struct og_pool *pool;
    struct og_budget *budget;
    size_t memory_limit;
    double opened; /* og__now() when preparing began */
    bool samples;  /* batches are pre-sampled; */
    bool packs;    /* their misses are packed: no candidate reads those */
};

/* Do candidates count what is read? Nobody asks how long an evaluation takes, and a graph without
 * feature rows has nothing to count. */
bool og__exec_plans_are_counted(unsigned want, const struct og_graph *g);

/* Settles what *exec leaves open of policy, layout and turns. Where the options leave the
 * topology's place open, and it is in memory, execution plans with it on disk are compared too.
 * Then *exec may say so, and the caller moves it there. */
OG_MUST_CHECK int og__choose(struct og_choice *to, const struct og_choice_inputs *in,
                             const struct og_profiling *profiling, struct og_exec_plan *exec,
                             struct og_err *err);

#endif
