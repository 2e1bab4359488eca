/* The flow: mini-batches through stages in threads, joined by bounded queues. Start reading the
 * code here.
 *
 *   batch source ──> planner ──> loader ──> consumer (the caller's thread: trains, evaluates, ...)
 *        ^              ^                      │
 *        │          plan source                │
 *        └──────────── free works <────────────┘
 *
 * Stages do not know where batches, plans and rows come from. A batch source samples, reads
 * pre-sampled batches, or replays what was sampled ahead; a plan source calls the policy, or reads
 * plans that were made ahead (source.h). A flow without a plan source has neither planner nor
 * loader: its batches go straight to the consumer.
 *
 * A `work` is one mini-batch in flight. A fixed number of them circulates, so memory is bounded and
 * steady state allocates nothing. Works leave every queue in the order of the schedule, whichever
 * thread was first. Any stage that fails shuts every queue; the flow returns the first error. */
#ifndef OG_FLOW_H
#define OG_FLOW_H

#include "budget/exec_plan.h"
#include "flow/filling.h"
#include "flow/places.h"
#include "gather/gather.h"
#include "plan/tiers.h"
#include "report/timeline.h"
#include "sample/sample.h"
#include "sample/seeds.h"

/* What was done before a superbatch could begin; counted with its first work. And what entered the
 * cache since: counted with the first work that needs it. */
struct og_lookahead_counts {
    double plan_seconds;
    double gather_seconds; /* packing, filling the cache */
    uint64_t prefill;      /* rows */
    uint64_t bytes_written;
    struct og_io_counts read; /* of prefill */
};

/* The ids of a batch that have rows, by group; units of edges follow nodes. With a single group
 * they are the batch's own. */
struct og_planned_ids {
    const uint32_t *ids; /* [n] */
    uint32_t n;
    uint32_t *own; /* [capacity] */
    uint32_t capacity;
    struct og_budget *budget;
};
/* types: of the graph, or NULL. */
OG_MUST_CHECK int og__planned_ids_reserve(struct og_planned_ids *p,
                                          const struct og_graph_types *groups, uint32_t n,
                                          struct og_err *err);
OG_MUST_CHECK int og__planned_ids_list(struct og_planned_ids *p,
                                       const struct og_graph_types *groups, const uint32_t *ids,
                                       uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__planned_ids_batch(struct og_planned_ids *p,
                                        const struct og_graph_types *groups,
                                        const struct og_batch *batch, struct og_err *err);
void og__planned_ids_release(struct og_planned_ids *p);

struct og_work {
    uint64_t item; /* its number in the run, or in the pass */
    struct og_descriptor descriptor;
    uint32_t number; /* of its batch among those that were prepared together */
    struct og_seeds seeds;
    bool stored; /* it is in a folder of pre-sampled batches */
    struct og_batch_memory sampled;
    struct og_planned_ids planned;
    struct og_plan plan; /* of the host's cache; with a device's its arrays are those of `tiers`,
                            which frees them. Reused for each batch, freed with the data path. Empty
                            with an exchange, whose rounds are planned (flow/exchange_parts.h) */
    struct og_tiers_plan tiers;
    uint64_t link_bytes, link_bytes_back; /* of rows, between the host and a device's cache */
    uint64_t peer_hits, peer_bytes;       /* of those that another device had, and of what it got */
    int staging;                  /* area of the gather room that holds its misses; -1 = none */
    int room;                     /* on a device, that holds its rows */
    const struct og_rows *rows;   /* its features: a view of each group of workload.row_graph */
    struct og_places_view places; /* with disjoint trees */
    struct og_io_counts read, trace_read; /* features; samples, spilled batches and plans */
    struct og_io_counts wrote;            /* rows that batches before it changed and did not keep */
    struct og_sample_reads sampled_from;
    struct og_lookahead_counts lookahead;
    double sample_seconds, plan_seconds, gather_seconds;
    double stall_seconds; /* the consumer waited for this batch */
    uint64_t behind;      /* batches that were made, and come after it, when the consumer got it */
};

/* Where mini-batches come from. The flow has set the work's item, descriptor, number and seeds, and
 * cleared its counts. */
struct og_batch_source {
    void *self;
    int n_threads;     /* that make batches at the same time: 1 .. OG__MOST_SAMPLERS */
    const char *stage; /* its name in the timeline */
    /* The batch of w->descriptor into w->sampled, by thread 0 .. n_threads - 1. */
    int (*make)(void *self, int thread, struct og_work *w, struct og_err *err);
};

/* Who samples may have something else to do while there is no free work, or no item. Called by the
 * source's threads, numbered 0, 1, ...; a flow begins with all of them at rest. */
struct og_idle_hooks {
    void *self;
    void (*rest)(void *self, int thread);
    void (*resume)(void *self, int thread); /* may wait until the other thing is done */
    void (*made)(void *self, int thread, double seconds); /* a batch, in so many seconds */
};

/* Where their plans come from: one thread, batches in order. */
struct og_plan_source {
    void *self;
    int (*make)(void *self, struct og_work *w, struct og_err *err);
};

/* Lets a consumer look at works before it is called with them. In their order, each once, from
 * within a call. They stay as they are until the call that has them ends; while some are looked at
 * no more are made than there are others. The flow sets `run`. */
struct og_upcoming {
    struct og_flow_run *run; /* NULL: no flow runs */
};
/* The next that was not looked at; the first may be that of the call itself. OG__GIVEN_UP: the flow
 * ends. The consumer's thread. */
OG_MUST_CHECK int og__upcoming_next(struct og_upcoming *u, struct og_work **out);

/* What the stages work with: all set before the flow starts. */
struct og_flow {
    struct og_items items;
    const struct og_seed_source *seeds;
    struct og_batch_source batches;
    const struct og_idle_hooks *idle_hooks; /* NULL: who makes batches has nothing else to do */
    struct og_plan_source plans;            /* make NULL: nothing is planned or loaded */
    struct og_row_store rows;
    int n_staging;
    struct og_filling *filling;   /* fills the cache meanwhile; NULL: it is filled */
    struct og_upcoming *upcoming; /* NULL: the consumer looks at nothing before its turn */
    /* The groups of rows, for a consumer that computes with batches: it sees trees by place
     * (places.h). NULL: as they are sampled. */
    const struct og_graph *groups;
    struct og_work *works;
    int n_works; /* 1: one batch after another; more than batches.n_threads: side by side; at most
                    OG__MOST_WORKS */
    const volatile sig_atomic_t *stop; /* may be NULL */
    struct og_timeline *timeline;      /* may be NULL */
    const char *use;                   /* what the consumer does, in the timeline */
};

/* Called for every batch in order. Rows, blocks and seeds stay valid during the call. */
typedef int og_consumer(void *arg, struct og_work *work, struct og_err *err);

/* All items. 0, OG_INTERRUPTED after *stop (every batch that the consumer began is complete), or
 * the first error of any stage. */
OG_MUST_CHECK int og__flow_run(const struct og_flow *flow, og_consumer *consumer, void *arg,
                               struct og_err *err);

#endif
