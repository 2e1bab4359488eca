/* The flow: stages in threads, joined by bounded queues. Start reading the code here.
 *
 *   samplers ──> planner ──> loader ──> sink (the caller's thread: trains, evaluates, writes, ...)
 *       ^                                  │
 *       └────────── free works <───────────┘
 *
 * Policies that must know the future have their batches sampled ahead by a first flow, without
 * features, and replayed by a second one in the samplers' place (ahead.h). Samples made beforehand
 * (offline.h) are read where batches would be sampled.
 *
 * A `work` is one batch on its way; a fixed number of them circulates, so memory is bounded and
 * steady state allocates nothing. Works leave every queue in the order of the schedule, whichever
 * sampler was first. Any stage that fails shuts every queue; the flow returns the first error. */
#ifndef OG_FLOW_H
#define OG_FLOW_H

#include "base/spill.h"
#include "gather/gather.h"
#include "plan/policy.h"
#include "report/timeline.h"
#include "sample/superbatch.h"
#include "train/filling.h"
#include "train/offline.h"
#include "train/seeds.h"
#include "train/way.h"

/* What was done before a superbatch could begin; its first work tells it. And what was put into the
 * cache since: the first work that needs it tells that. */
struct og_ahead_counts {
    double plan_seconds;
    double gather_seconds; /* packing, filling the cache */
    uint64_t prefill;      /* rows */
    uint64_t bytes_written;
    struct og_io_counts read; /* of prefill */
};

/* What sampling one batch took, kept until it is replayed; told once, however often it is. */
struct og_sampled_ahead {
    double seconds;
    struct og_sample_reads from;
    uint64_t codes_at; /* where its plan was put */
};

struct og_work {
    struct og_turn turn;
    uint32_t kept_as; /* number of its batch in what is replayed */
    struct og_seeds seeds;
    bool made; /* read from samples made beforehand */
    struct og_batch_memory sampled;
    struct og_plan plan;
    int staging; /* area of the gather room that holds its misses; -1 = none */
    struct og_rows rows;
    struct og_io_counts read, trace_read; /* features; what was put away */
    struct og_sample_reads sampled_from;
    struct og_ahead_counts ahead;
    double sample_seconds, plan_seconds, gather_seconds;
    double stall_seconds; /* the sink waited for this batch */
};

/* What the stages work with: all set before the flow starts, shared read-only but for what one
 * stage alone uses. */
struct og_flow {
    const struct og_schedule *schedule;
    const struct og_seed_source *seeds;
    struct og_sampler **samplers; /* one a sampler thread */
    int n_samplers;               /* at most OG__MOST_SAMPLERS */
    int n_hops;
    const struct og_offline *offline; /* where training batches come from; NULL = all are sampled */
    bool ids_only;                    /* of those from there nothing but ids and counts */
    struct og_superbatch *replay;     /* NULL: batches are sampled; else they were */
    /* with replay: is it the batches of one epoch, training and then validation, for all epochs
     * that train on them; or one batch for each item from `first` on */
    bool kept;
    struct og_sampled_ahead *sampled_ahead; /* a batch of it */
    struct og_spill *codes;                 /* its plans */
    uint32_t n_slots;                       /* which they are for */
    struct og_ahead_counts ahead;           /* goes to the first work */
    struct og_filling *filling;             /* the cache is filled meanwhile; NULL: it is */
    struct og_policy *policy;
    struct og_planner *planner;
    struct og_gather *gather; /* NULL: nothing is gathered */
    int n_staging;
    struct og_work *works;
    int n_works; /* more than n_samplers, at most OG__MOST_WORKS */
    uint64_t seed;
    const volatile sig_atomic_t *stop;
    struct og_timeline *timeline; /* may be NULL */
};

/* Called for every batch in order. Rows, blocks and seeds stay valid during the call. */
typedef int og_sink(void *arg, struct og_work *work, struct og_err *err);

/* Run items [first, last) of the run; pass < OG__SPLITS instead runs batches [first, last) of one
 * pass over that split. 0, OG_INTERRUPTED after *stop (every batch begun by the sink is complete),
 * or the first error of any stage. */
OG_MUST_CHECK int og__flow_run(struct og_flow *flow, enum og__split pass, uint64_t first,
                               uint64_t last, og_sink *sink, void *arg, struct og_err *err);

#endif
