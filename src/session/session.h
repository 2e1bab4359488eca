/* A session: everything a command on a dataset holds while it runs. What was decided is in four
 * structs of values (budget/), what runs in three parts; whoever works on one part takes that part.
 *
 *   config, workload, exec ──> memory    options, facts, choices ──> how memory is divided
 *   structure                            the graph, which batches are sampled from
 *   path                                 samplers, policy, cache: what brings batches
 *   learner                              the model
 *
 * Opening it resolves the options, settles the budget (or refuses, naming the minimum), and loads
 * topology and seeds. It samples a few profiling batches for their sizes, then decides what the
 * cache holds and fills it. */
#ifndef OG_SESSION_H
#define OG_SESSION_H

#include "choose/calibration.h"
#include "choose/choose.h"
#include "choose/predict.h"
#include "flow/data_path.h"
#include "learn/learner.h"
#include "report/counters.h"

/* Bytes that files of learnable rows take at most: waiting rows in --scratch, and files of the run.
 * Records of a checkpoint that later ones overwrite come on top. */
struct og_learnt_disk {
    uint64_t scratch, run, undo;
};

struct og_session {
    struct og_config config;
    struct og_workload workload;
    struct og_exec_plan exec;
    struct og_plan_inputs given; /* these three */
    struct og_memory_plan memory;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_scratch *held_out; /* folder of the graph that is left; NULL: it is the dataset */
    struct og_scratch *learnt;   /* of rows that batches change; NULL: there are none */
    struct og_learnt_disk learnt_disk;
    struct og_offline *offline; /* pre-sampled batches; NULL = none */
    struct og_structure structure;
    struct og_data_path path;
    struct og_learner learner;
    uint32_t *hotness;        /* [N] while the policy needs it; else NULL */
    uint32_t *device_hotness; /* the same of a device's policy, where it is another one */
    /* what is counted */
    struct og_predicted predicted; /* one epoch */
    struct og_choice choice;       /* and what --policy auto compared */
    struct og_group_size *size;    /* [n_groups] of rows, once they are planned; else NULL */
    struct og_prepare_counters prepare;
    size_t baseline_rss;
    struct og_calibration calibration; /* how fast samplers and trainers are */
    double opened;                     /* og__now() at the start */
    struct og_io_counts opened_read;   /* what the process had read then */
    size_t opening;                    /* before the plan, if more than memory.limit */
};

/* What it is opened for. */
struct og_session_use {
    unsigned want; /* OG__WANT_* */
    /* the network's shape when it comes from a checkpoint; NULL = from the options and dataset */
    const struct og_model_config *model;
    /* of that model: types whose nodes it makes rows of, separated by commas; NULL: unknown */
    const char *target;
    const char *checkpoint; /* of that model: names of its classes, and embeddings; NULL: none */
    const char *nodes;      /* whose rows are required, by og__graph_nodes; "": none, NULL: all */
    const struct og_handover *handover; /* NULL: no batch leaves it */
    /* its share of the batches, how many ranks are on this machine, and this rank's CPUs. 0: an
     * even share; all 0: alone */
    struct og_share share;
    int n_local, cpus;
    struct og_shared_memory *shared_memory; /* of ranks that share the structure; NULL: none */
    bool layout_open; /* that of the options is another rank's choice: as if it were left open */
};
OG_MUST_CHECK int og__session_open_for(struct og_session **out, const char *dataset,
                                       const struct og_options *opt,
                                       const struct og_session_use *use,
                                       const struct og_observer *observer, struct og_err *err);
/* The same, where none does. */
OG_MUST_CHECK int og__session_open(struct og_session **out, const char *dataset,
                                   const struct og_options *opt, unsigned want,
                                   const struct og_model_config *model,
                                   const struct og_observer *observer, struct og_err *err);
void og__session_close(struct og_session *s);
/* -EINVAL with --time, where seeds of the split have none. */
OG_MUST_CHECK int og__session_check_timed(const struct og_session *s, enum og__split split,
                                          struct og_err *err);

/* The share of chunks of this many seeds that are of one class. Negative where there are no
 * classes, or no chunks. *much: many more than of a random order. */
double og__session_one_class(const struct og_session *s, uint32_t size, bool *much);

/* What was read since the session was begun is preparation: before any batch. */
void og__session_count_prepared(struct og_session *s);

size_t og__session_peak_rss(const struct og_session *s); /* less the baseline */

#endif
