/* config: the options of a command, as resolved. Nothing changes it once a session is open. */
#ifndef OG_CONFIG_H
#define OG_CONFIG_H

#include "options/fields.h"

#include "dataset/topology.h"
#include "io/io.h"
#include "options/devices.h"
#include "plan/owners.h"
#include "plan/policy.h"
#include "sample/sample.h"
#include "sample/schedule.h"

/* What a command needs of a session. */
enum {
    OG__WANT_FEATURES = 1,  /* gathered rows; else ids and blocks only */
    OG__WANT_MODEL = 2,     /* forward passes */
    OG__WANT_TRAINING = 4,  /* gradients as well */
    OG__WANT_PLAN_ONLY = 8, /* decide, but neither open nor read the features */
    OG__WANT_LABELS = 16,
    OG__WANT_QUICK = 2048,     /* predictions that take no more than a few batches */
    OG__WANT_RECORD = 64,      /* what is sampled is written down (og__session_record) */
    OG__WANT_WHOLE_DRAWS = 32, /* an epoch's batches are planned together, whatever the rest */
    OG__WANT_EVERY =
        1024, /* the test split is every node of the type that has seeds, of links of all */
    OG__WANT_EDGES = 256,       /* the places of sampled edges (og_block.edge) */
    OG__WANT_EDGE_ROWS = 512,   /* the rows of sampled edges; with OG__WANT_FEATURES */
    OG__WANT_COUNTED = 8192,    /* of features, which rows a run would read */
    OG__WANT_UNJUDGED = 4096,   /* labels of edges are not read */
    OG__WANT_HALF = 16384,      /* of --memory: the other half is the caller's */
    OG__WANT_UNEVALUATED = 128, /* no validation between epochs, whatever --eval-every says */
};

/* Batches that leave the session, for a caller who computes with them. */
struct og_workload;
struct og_handover {
    int n; /* that there is room for at a time; 0 = none leave */
    /* what one takes, for the largest; it looks at nothing but numbers */
    size_t (*bytes)(const struct og_workload *f, unsigned want);
    enum og__split split; /* whose seeds the run has, in place of the training split's */
    const int64_t *seeds; /* [n_seeds], or these, borrowed until the session is open; NULL = none */
    int64_t n_seeds;
    const int64_t *links; /* [n_links, 2], or these edges, likewise; NULL = none */
    int64_t n_links;
    uint32_t source_repeats; /* as og_pair_rule has it */
    const int64_t *times;    /* their seed times, likewise; NULL = none */
    double step_seconds;     /* what the caller takes for a batch; 0 = not known */
    bool drop_last;          /* an epoch has whole batches alone, as many for each rank */
    /* A superbatch is prepared between these calls. The first waits for one of the n that is not
     * with the caller. The budget has its memory until the second. */
    int (*release)(void *self, struct og_err *err);
    int (*reclaim)(void *self, struct og_err *err);
    void *self;
};

/* The victim buffer, as requested. */
struct og_victim_request {
    char name[32];   /* as given */
    bool on, fitted; /* fitted: depth was not given, and follows from memory */
    uint32_t depth;  /* rows a ring; 0 = not known yet */
};

struct og_config {
    /* Settled are presets, shares of memory and disk, and what the dataset decides. With an
     * execution plan, so is what was left open of it. Strings are its own. */
    struct og_options opt;
    struct og_options upper; /* the same with --policy as that of the device's cache; its own */
    struct og_victim_request victim;
    uint64_t disk;          /* --disk for batches: without what stays on disk during all of them */
    struct og_whole_files { /* limits of a file that is whole in one folder */
        /* Bytes of --disk per byte of the file, since each folder has an equal share of it. 0: the
         * folder is on a disk that --disk does not bound. */
        uint32_t times;
        uint64_t room; /* if times is 0: bytes for the file on that disk */
    } whole;
    unsigned want; /* OG__WANT_* */
    struct og_option_set
        requested; /* options that the user set apart from their defaults (option_effects.h) */
    struct og_option_set preset_requested; /* and those that a preset did */
    bool layout_open; /* --layout was left to the program: what does not fit it may do without */
    struct og_handover handover;
    const char *target;     /* while the session is opened (og_session_use); NULL: unknown */
    const char *nodes;      /* likewise; NULL: every node */
    const char *checkpoint; /* likewise; NULL: none */
    double device_free;     /* of each device, for this process; 0: --device-memory was given */
    bool own_rows;          /* the feature file has those of this rank's nodes alone */
    bool stores_rows; /* learnable rows are brought and changed by batches (gather/written.h) */
    /* This rank's part of the batches. A process that works alone is the only rank. */
    struct og_share share;
    int n_local;               /* ranks on this machine, which share --memory; 0 counts as 1 */
    struct og_sharing sharing; /* shared topology; its shared_memory is NULL for an own copy */
    int cpus;                  /* of this machine that are this rank's; 0: an even share */
    const struct og_observer *observer;
    struct og_log log;
};

/* The largest file that may be whole in one folder; and what such a file takes of --disk. Such
 * files are a saved neighbour cache and the graph that held-out edges leave. */
static inline uint64_t og__whole_room(const struct og_config *config)
{
    return config->whole.times > 0 ? config->disk / config->whole.times : config->whole.room;
}
static inline uint64_t og__whole_takes(const struct og_config *config, uint64_t bytes)
{
    return bytes * config->whole.times;
}

/* Equal parts of --memory, of which this process plans one. */
static inline int og__memory_parts(const struct og_config *config)
{
    return OG_MAX(config->n_local, 1) * (config->want & OG__WANT_HALF ? 2 : 1);
}

static inline size_t og__own_memory(const struct og_config *config)
{
    return (size_t)(config->opt.memory.value / og__memory_parts(config));
}

/* Does a model train on gathered rows? */
static inline bool og__trains_on_rows(const struct og_config *config)
{
    const unsigned all = OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING;
    return (config->want & all) == all;
}

/* The devices in --devices of this process: each of several workers has one of them, in turn. */
struct og_devices og__devices(const struct og_config *config);

/* Do feature rows come to a device from a cache of its own, over the host's? */
static inline bool og__has_tiers(const struct og_config *config)
{
    return config->opt.device_memory.unit == OG_BYTES && og__trains_on_rows(config);
}

/* "off", "pvp", "pvp:depth=N"; NULL is off. */
OG_MUST_CHECK int og__victim_read(struct og_victim_request *v, const char *text,
                                  struct og_err *err);
/* Sizes the victim buffer: as many rings as the device's policy looks ahead (plan/victim.h). Unless
 * given, they are as deep as the paper's, but not deeper than the `most` rows that there are. */
struct og_victim_setup;
struct og_victim_setup og__victim_setup(const struct og_victim_request *v,
                                        const struct og_options *device, uint64_t most);

/* Does each rank own a part of the nodes, and send their rows to the others (flow/exchange.h)? */
static inline bool og__exchanges(const struct og_config *config)
{
    return config->opt.exchange && config->share.ranks > 1;
}

/* Who owns nodes: ranks that exchange rows a part each, else this one all. */
static inline struct og_share og__owners(const struct og_config *config)
{
    return og__exchanges(config) ? config->share : (struct og_share){0, 1};
}

/* Nodes that this rank's policy knows, of the first n_nodes: those that it owns. */
static inline uint64_t og__nodes_known(const struct og_config *config, uint64_t n_nodes)
{
    const struct og_share own = og__owners(config);
    return og__owned_nodes(own.ranks, own.rank, n_nodes);
}

/* And of a group's. */
static inline uint64_t og__group_known(const struct og_config *config, const struct og_group *g)
{
    const uint64_t first = (uint64_t)g->first, n = (uint64_t)g->n_nodes;
    return og__nodes_known(config, first + n) - og__nodes_known(config, first);
}

/* The policy's numbers of nodes become rows of the feature file, in the same order. */
static inline void og__rows_of_own(const struct og_config *config, uint32_t *nodes, uint32_t n)
{
    const struct og_share own = og__owners(config);
    for (uint32_t i = 0; !config->own_rows && i < n; i++)
        nodes[i] = og__owned_node(own.ranks, own.rank, nodes[i]);
}

/* Rows that an amount of cache holds of a graph: all where it says nothing. */
uint64_t og__cache_rows(const struct og_amount *amount, uint64_t n_nodes, size_t row_bytes);

/* How a policy is to behave by these options; without a cache and hotness yet. */
struct og_policy_setup og__policy_setup(const struct og_options *opt, int policy, uint64_t n_nodes);
/* How neighbours are drawn. `edges` may be NULL. The second refuses weights of edges with a sampler
 * that draws none. */
struct og_sampling og__sampling_setup(const struct og_options *opt,
                                      const struct og_edge_unit *edges);
OG_MUST_CHECK int og__walks_refuse_weights(const struct og_options *opt, struct og_err *err);
/* How a file on a disk of that profile is read. */
struct og_reader_options og__reader_setup(const struct og_config *config,
                                          const struct og_disk_profile *profile);

/* ---- the user ---- */

/* The flag by which the user asks to stop; NULL = there is none. */
static inline const volatile sig_atomic_t *og__stop_flag(const struct og_config *config)
{
    return config->observer ? config->observer->stop : NULL;
}
/* OG_INTERRUPTED, saying `what`, once it is set. */
OG_MUST_CHECK int og__stopped(const struct og_config *config, const char *what, struct og_err *err);
void og__observe(const struct og_observer *observer, const struct og_progress *p);

#endif
