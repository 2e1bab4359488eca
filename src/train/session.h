/* A session: everything a command on a dataset holds while it runs, and the memory plan that sized
 * it.
 *
 * Opening it resolves the options, settles the budget (or refuses, naming the smallest that would
 * do), loads topology and seeds, samples a few pilot batches to learn how large batches are,
 * decides what the cache holds and fills it. */
#ifndef OG_SESSION_H
#define OG_SESSION_H

#include "base/scratch.h"
#include "budget/memory_plan.h"
#include "dataset/on_disk.h"
#include "plan/candidate.h"
#include "report/counters.h"
#include "train/learner.h"
#include "train/packs.h"
#include "train/source.h"

/* One of the ways that --policy auto compared. */
struct og_chosen {
    int policy, layout;
    bool alternate;
    uint32_t n_slots;
    struct og_estimate estimate;
};

struct og_session {
    struct og_config config;
    struct og_facts facts;
    struct og_way way;
    struct og_budget *budget;
    struct og_topology topology;
    struct og_scratch *held_out; /* folder of the graph that is left; NULL: it is the dataset */
    struct og_offline *offline;  /* samples made beforehand; NULL = none */
    struct og_memory_plan memory;
    struct og_predicted { /* one epoch */
        bool known;       /* before the first superbatch a policy may not tell */
        struct og_plan_cost plan;
        uint64_t topology_reads, topology_bytes, trace_bytes;
    } predicted;
    struct og_chosen *choice; /* [n_choice] what --policy auto compared, the best first */
    uint32_t n_choice;
    struct og_prepare_counters prepare;
    struct og_policy *policy;
    uint32_t *hotness; /* [N] while the policy needs it; else NULL */
    /* of policies that look ahead, once a run began */
    struct og_superbatch *superbatch;
    struct og_packs *packs;      /* made beforehand too; NULL = none that serve */
    struct og_spill *codes;      /* its plans */
    struct og_scratch *pack_dir; /* with --layout packed: what its batches miss */
    struct og_pack *pack;
    char *neighbors_dir; /* where the neighbour cache is kept; NULL = nowhere */
    char *scratch;       /* folder for what does not stay in memory of them; NULL = nowhere */
    struct og_planner planner;
    struct og_gather *gather;
    struct og_pool *pool;
    struct og_learner learner;
    struct og_sampler **samplers; /* og__samplers(&way) of them */
    struct og_work *works;        /* og__works(&way) */
    struct og_timeline *timeline;
    size_t baseline_rss;
    double opened;                   /* og__now() at the start */
    struct og_io_counts opened_read; /* what the process had read then */
};

/* What it is opened for. */
struct og_session_use {
    unsigned want; /* OG__WANT_* */
    /* the network's shape when it comes from a checkpoint; NULL = from the options and dataset */
    const struct og_model_config *model;
    const struct og_handover *handover; /* NULL: no batch leaves it */
};
OG_MUST_CHECK int og__session_open_for(struct og_session **out, const char *dataset,
                                       const struct og_options *opt,
                                       const struct og_session_use *use,
                                       const struct og_observer *seen, struct og_err *err);
/* The same, where none does. */
OG_MUST_CHECK int og__session_open(struct og_session **out, const char *dataset,
                                   const struct og_options *opt, unsigned want,
                                   const struct og_model_config *model,
                                   const struct og_observer *seen, struct og_err *err);
void og__session_close(struct og_session *s);

/* What was read since the session was begun is preparation: before any batch. */
void og__session_count_prepared(struct og_session *s);

/* A sampler for this session's batches; GCN's blocks carry degrees. */
OG_MUST_CHECK int og__session_sampler(const struct og_session *s, struct og_sampler **out,
                                      struct og_budget *b, struct og_err *err);
struct og_sampling og__session_sampling(const struct og_session *s);
/* Its batches as a trace, of samples that are made for others. */
struct og_trace_options og__session_record(const struct og_session *s);

/* What everything decided so far follows from. */
struct og_premises og__session_premises(const struct og_session *s);

struct og_reader_options og__session_reader(const struct og_session *s);

/* What stays of the graph's structure in memory, but for the neighbour cache. */
size_t og__session_structure_bytes(const struct og_session *s);
/* How topology on disk is to be opened, but for the size of its neighbour cache. */
struct og_topology_disk_options og__session_topology(const struct og_session *s);
/* Give the graph's structure back as far as training does without it, and fetch it again. *read and
 * *written, of a neighbour cache that is kept, are added to. */
void og__session_drop_topology(struct og_session *s);
OG_MUST_CHECK int og__session_fetch_topology(struct og_session *s, struct og_io_counts *read,
                                             uint64_t *written, struct og_err *err);

/* What is sampled ahead goes to --scratch, else to `run`, else to the user's cache folder (run =
 * NULL). What a killed process left there goes. */
OG_MUST_CHECK int og__session_scratch(struct og_session *s, const char *run, struct og_err *err);

/* OG_INTERRUPTED, saying `what`, once the user has asked to stop. */
int og__session_stopped(const struct og_session *s, const char *what, struct og_err *err);

size_t og__split_bytes(const struct og_facts *f, const struct og_split *split);

/* Scores of one pass over a held-out split that are kept to rank them; 0 where none are. */
size_t og__most_scores(const struct og_facts *f);

/* What the model learns from: labels of a work's seeds, gathered into `out`
 * (og__targets_bytes), or its pairs. */
const void *og__session_targets(const struct og_session *s, const struct og_work *w, void *out);
size_t og__targets_bytes(const struct og_session *s);

/* Labels of a work's seeds, gathered into `out` (og__labels_bytes of the batch size). */
void og__session_labels(const struct og_session *s, const struct og_work *w, void *out);

size_t og__session_peak_rss(const struct og_session *s); /* less the baseline */

/* Resolve what is left to the program: preset, auto, percentages, the number of threads. */
OG_MUST_CHECK int og__options_resolve(struct og_options *opt, const struct og_log *log,
                                      struct og_err *err);

void og__observe(const struct og_observer *seen, const struct og_progress *p);

#endif
