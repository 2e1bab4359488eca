/* A session: everything a command on a dataset holds while it runs, and the memory plan that sized
 * it.
 *
 * Opening it resolves the options, settles the budget (or refuses, naming the smallest that would
 * do), loads topology and seeds, samples a few pilot batches to learn how large batches are,
 * decides what the cache holds and fills it. */
#ifndef OG_SESSION_H
#define OG_SESSION_H

#include "base/scratch.h"
#include "dataset/on_disk.h"
#include "nn/nn.h"
#include "plan/candidate.h"
#include "report/counters.h"
#include "sample/trace.h"
#include "train/flow.h"
#include "train/packs.h"

/* What a command needs of it. */
enum {
    OG__WANT_FEATURES = 1,  /* gathered rows; else ids and blocks only */
    OG__WANT_MODEL = 2,     /* forward passes */
    OG__WANT_TRAINING = 4,  /* gradients as well */
    OG__WANT_PLAN_ONLY = 8, /* decide, but neither open nor read the features */
    OG__WANT_LABELS = 16,
    OG__WANT_RECORD = 64,      /* what is sampled is written down (og__session_record) */
    OG__WANT_WHOLE_DRAWS = 32, /* an epoch's batches are planned together, whatever the rest */
};

struct og_split {
    uint32_t *ids; /* [n] nodes, or [2 n] ends of edges */
    int64_t n;
    void *labels; /* in the order of ids */
};

/* Where the budget goes, in bytes. */
struct og_memory_plan {
    size_t limit;
    size_t process;                 /* thread stacks, heap, what the libraries take while running */
    size_t topology, topology_rest; /* while sampling; while training, when the two alternate */
    size_t neighbors;               /* cache of topology on disk, while sampling */
    size_t samples;                 /* what tells where batches made beforehand lie */
    size_t seeds, labels, hotness, sampler, batches, plans, reader;
    size_t model, activations;
    uint64_t superbatch; /* batches sampled ahead together, for policies that look ahead */
    uint64_t tail, lot;  /* those they see behind it; of which so many are sampled at a time, and
                            more than they see, where a superbatch has less; else 0 */
    size_t trace;        /* of a superbatch: ids; blocks and plans as far as they stay in memory */
    size_t trace_blocks, code_bytes; /* the latter two */
    size_t packing, sweep;           /* what batches miss, and writing it anew */
    size_t policy, policy_slot;      /* its tables while it plans, and what a slot adds to them */
    size_t rest, rest_slot;          /* the same once it has planned */
    size_t spill;          /* buffers through which batches are put away while they are sampled */
    size_t record;         /* the same, of samples that are made for others */
    bool alternates;       /* topology, trace and tables have gone when the cache is there */
    uint32_t staging_rows; /* misses of one batch */
    int n_staging;         /* batches being read or trained */
    uint32_t n_slots;      /* rows in the host cache */
    uint32_t n_lent;       /* of which so many give way while batches are sampled ahead */
    size_t staging, cache;
    size_t slack;    /* left for batches larger than planned */
    size_t smallest; /* the least --memory that would do */
};

/* One of the ways that --policy auto compared. */
struct og_chosen {
    int policy, layout;
    bool alternate;
    uint32_t n_slots;
    struct og_estimate estimate;
};

/* What was asked for, as resolved: presets, shares of memory and disk, what the dataset decides.
 * Strings are its own. */
struct og_config {
    struct og_options opt;
    struct og_option_set asked; /* options that the user set apart from their defaults (idle.h) */
    struct og_option_set preset_asked; /* and those that a preset did */
    bool layout_open; /* --layout was left to the program: what does not fit it may do without */
    const struct og_observer *seen;
    struct og_log log;
};

/* What is known of the dataset, its batches and the disks. */
struct og_facts {
    struct og_dataset *ds;
    struct og_split split[OG__SPLITS];
    struct og_schedule schedule;
    struct og_seed_source seeds;
    struct og_model_config shape;   /* of the model that this dataset is for */
    struct og_disk_profile profile; /* of the disk that features lie on */
    struct og_disk_profile away;    /* of the one that scratch is on */
    bool apart;                     /* these are two */
    struct og_read_rule read_rule;  /* of the features */
    struct og_batch_caps caps;      /* batches are no larger */
    double pilot_seconds;           /* sampling one batch */
};

struct og_session {
    struct og_config config;
    struct og_facts facts;
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
    struct og_packs *packs; /* made beforehand too; NULL = none that serve */
    bool whole_draws;       /* an epoch's batches are kept together, as those packs have them */
    struct og_spill *codes; /* its plans */
    struct og_scratch *pack_dir; /* with --layout packed: what its batches miss */
    struct og_pack *pack;
    char *neighbors_dir; /* where the neighbour cache is kept; NULL = nowhere */
    char *scratch;       /* folder for what does not stay in memory of them; NULL = nowhere */
    struct og_planner planner;
    struct og_gather *gather;
    struct og_pool *pool;
    const struct og_nn_ops *ops; /* what the model computes with */
    struct og_model *model;
    struct og_sampler **samplers;
    int n_samplers;
    struct og_work *works;
    int n_works;
    struct og_timeline *timeline;
    size_t baseline_rss;
    double opened;                   /* og__now() at the start */
    struct og_io_counts opened_read; /* what the process had read then */
};

/* model: the network's shape when it comes from a checkpoint; NULL = from the options and dataset.
 */
OG_MUST_CHECK int og__session_open(struct og_session **out, const char *dataset,
                                   const struct og_options *opt, unsigned want,
                                   const struct og_model_config *model,
                                   const struct og_observer *seen, struct og_err *err);
void og__session_close(struct og_session *s);

/* What was read since the session was begun is preparation: before any batch. */
void og__session_count_prepared(struct og_session *s);

/* How many samplers and works there are, by the way that was chosen. */
void og__session_threads(struct og_session *s, unsigned want);

/* The flow over this session. */
struct og_flow og__session_flow(struct og_session *s);

/* How the policy of these options is to behave; without a cache and hotness yet. */
struct og_policy_setup og__policy_setup(const struct og_options *opt, uint64_t n_nodes);
/* How its policy is to behave with a cache of n_slots rows. */
struct og_policy_setup og__session_policy(const struct og_session *s, uint32_t n_slots);

/* A sampler for this session's batches; GCN's blocks carry degrees. */
OG_MUST_CHECK int og__session_sampler(const struct og_session *s, struct og_sampler **out,
                                      struct og_budget *b, struct og_err *err);
struct og_sampling og__session_sampling(const struct og_session *s);
unsigned og__batch_extras(const struct og_session *s); /* what its blocks carry */
/* Its batches as a trace, where they are put away. */
struct og_trace_options og__session_trace(const struct og_session *s);
/* Of samples that are made for others. */
struct og_trace_options og__session_record(const struct og_session *s);
/* Are batches sampled ahead, planned, and only then trained? */
bool og__samples_ahead(const struct og_session *s);
/* Is what they miss written anew beforehand, packed or segmented? */
bool og__packs(const struct og_session *s);
/* Is an epoch sampled ahead once for all that train on it? Plans that stay good in any order only.
 */
bool og__keeps_batches(const struct og_session *s);

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

size_t og__split_bytes(const struct og_session *s, const struct og_split *split);

/* Scores of one pass over a held-out split that are kept to rank them; 0 where none are. */
size_t og__session_most_scores(const struct og_session *s);

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
