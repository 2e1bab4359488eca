/* candidates: plans for reading the features of a trace's batches, and their estimated costs.
 *
 *     trace, workload, capacities ──> counts  rows, reads, bytes: exact. Policies and layouts run
 *                                             over the trace, and nothing is read.
 *     counts, epochs ────────────> io         rows read and written in an epoch
 *     io, disk, times ───────────> seconds    a small model of the pipeline
 *     seconds ───────────────────> ranking    the fastest within memory and disk, with the reason
 *
 * Pure functions: no I/O, no clock. */
#ifndef OG_CANDIDATE_H
#define OG_CANDIDATE_H

#include "plan/count.h"
#include "plan/link.h"
#include "plan/simulate.h"
#include "sample/group_sampling.h"

/* An execution plan. */
struct og_candidate {
    /* with its cache: n_slots; with several row sizes, a group for each. Borrowed */
    struct og_policy_setup policy;
    /* NULL, or the setup of a device's cache above that one. Its `host` is then `policy`, with the
     * same groups. Borrowed */
    const struct og_tiers_setup *tiers;
    enum og__layout layout;
    uint32_t resample_every; /* epochs that train on the same batches, in another order; >= 1 */
    /* Batches sampled, planned and packed before they are trained; 0 = no superbatches. */
    uint32_t superbatch;
    /* batches with misses on disk at once: these and others, such as validation's; 0 = these */
    uint32_t written_batches;
    uint32_t group_sampling; /* batches in a sample group, one scan a hop; 0 or 1 = none */
    bool moves;              /* its topology is on disk, but the trace was sampled in memory */
    double lists_cached;     /* share of sampling's topology reads that the cache serves */
    uint32_t n_released;     /* slots that lose their rows while the next superbatch is prepared */
    /* from the memory plan */
    size_t memory;          /* bytes in all */
    size_t sweep_memory;    /* of these for packing */
    uint64_t load_bytes;    /* of saved cached lists, read once before the run */
    uint64_t reload_bytes;  /* of topology and tables, read again for each superbatch */
    uint64_t spill_bytes;   /* of blocks and plans, written and read back, an epoch, */
    uint64_t spill_reads;   /* and in how many reads */
    uint64_t spilled_bytes; /* of these, the most on disk at once */
};

/* Measured times. Core-seconds are those of one thread. */
struct og_flow_times {
    double sample;      /* core-seconds, a batch */
    double plan_row;    /* core-seconds, a row */
    double count_row;   /* additional, a row of a superbatch: counting its visits */
    double prepare_row; /* instead, for policies with a list of uses */
    /* factor of `sample` for sample groups, if the candidate moves the topology; 0 = 1 */
    double group_sampling;
    double cached; /* factor of `sample` if the cache holds the lists; 0 = 1 */
    double model;  /* seconds, a batch on all threads; 0 without a model */
    double copy;   /* bytes a second, one thread */
    double write;  /* bytes per second written to disk; 0 = the profile's read rate */
    /* bytes per second for recently written data, which hosts cache; 0 = the profile's read rate */
    double fresh;
    double before; /* seconds spent on opening so far: part of every run's preparation */
    int samplers;  /* threads that sample */
    int threads;   /* cores */
};

/* Inputs of a group: the nodes of one type, whose rows have a size of their own. The nodes are
 * a group with its own slots. Fields as in og_cost_inputs. */
struct og_cost_group {
    struct og_trace trace; /* of its nodes, numbered from 0, with as many batches */
    uint64_t n_nodes, most_requested;
    double distinct, growth, slowing;
    struct og_read_rule rule;
    size_t row_bytes;
};

/* The inputs shared by all candidates. */
struct og_cost_inputs {
    struct og_trace trace; /* training batches in order, best one or several epochs */
    uint64_t n_nodes;
    uint32_t owners;         /* the feature file has every owners-th node's row; 0 = all rows */
    uint64_t most_requested; /* the number of nodes in any batches; 0 = all */
    /* Distinct nodes of the trace, for superbatches longer than it; 0 = unknown. Half of its
     * batches have 2^growth times fewer, twice as many have 2^(growth * slowing) times as many.
     * Four times as many have 2^(growth * slowing^2) times as many again; slowing 0 = 1. */
    double distinct, growth, slowing;
    double epoch_batches;         /* training batches of an epoch; 0 = those of the trace */
    uint32_t epochs;              /* epochs to train; 0 = only a steady epoch counts */
    struct og_io_counts topology; /* sampling's reads in an epoch without sample groups */
    uint64_t structure_bytes;     /* of its file; */
    uint32_t hops;                /* scans of it by a sample group; */
    struct og_sample_group_requests
        sample_group;               /* requests of a small sample group; .batches 0 = unknown, */
    struct og_read_rule lists_rule; /* and how that is read */
    struct og_read_rule rule;       /* how the features are read */
    size_t row_bytes;   /* of a row in memory and in packs; 0 = as in the file (rule.row_bytes) */
    uint32_t fill_rows; /* put into a cache at once (OG__FILL_ROWS) */
    struct og_disk_profile disk;
    struct og_disk_profile structure_disk; /* iops 0 = the same */
    bool apart;                            /* writes go to another disk than the features */
    bool one_by_one;                       /* trains each batch before the next one starts */
    struct og_flow_times times;
    struct og_link_rates link; /* of candidates with a device's cache */
    size_t memory_limit;       /* bytes; SIZE_MAX = none */
    uint64_t disk_limit;       /* bytes of scratch; UINT64_MAX = none */
    double disk_margin; /* share by which batches beyond the trace may miss more than predicted */
    struct og_pool *pool;
    struct og_budget *budget;
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* [n_groups], in the order of their nodes, with several row sizes. Their fields replace
     * those above, and only n_batches of the trace is used. 0 = all rows have one size. */
    const struct og_cost_group *group;
    uint32_t n_groups;
};

/* Over the trace, once: exact. */
struct og_candidate_counts {
    uint64_t rows, hits, misses;
    /* misses if visits of other batches alone selected the nodes, for policies by visits; else the
     * misses */
    uint64_t held_out;
    uint64_t prefill;                     /* rows put into the cache before batches */
    struct og_io_counts fill, first_fill; /* reading them; of which for the first superbatch */
    struct og_io_counts open;             /* and of which before a superbatch's first batch */
    uint64_t open_batches;                /* before the next rows enter */
    uint32_t windows;                     /* how often rows enter */
    struct og_io_counts sweep;            /* sequential, to pack */
    struct og_io_counts batches;          /* what training's batches read */
    uint64_t written;                     /* packed files */
    uint64_t disk;                        /* bytes on it at the same time */
    uint32_t superbatches;
    uint32_t segment;           /* segmented: batches of one, the first superbatch's */
    struct og_tiers_cost tiers; /* with a device's cache */
};

/* Rows read and written in a steady epoch, from the counts. */
struct og_candidate_io {
    struct og_io_expected first_fill; /* initial contents of the cache; not part of an epoch */
    struct og_io_expected fill, sweep, batches;
    double written;             /* bytes of packed files */
    double copied;              /* bytes, into chunks or from staging into the cache */
    double linked, linked_back; /* bytes of rows to a device, and from it */
    double collected;           /* bytes, on the device */
    double disk;                /* bytes of packed files at once */
};

/* The parts of an epoch, each alone, in seconds. */
enum og__term {
    OG__SAMPLING,
    OG__PLANNING,
    OG__SWEEPING,   /* scanning the feature file: to pack, or for rows of later batches */
    OG__SPILLING,   /* putting blocks and plans away */
    OG__WRITING,    /* packed files */
    OG__COPYING,    /* rows into chunks, or from staging into the cache */
    OG__FILLING,    /* reading what a cache begins a superbatch with */
    OG__READING,    /* what batches read */
    OG__LINKING,    /* rows to a device, and those that leave it */
    OG__COLLECTING, /* the device's kernels gather a batch's rows */
    OG__TRAINING,
    OG__DISK,  /* all disk work in parallel with training */
    OG__CORES, /* all CPU work in parallel with training, and training */
    OG__TERMS,
};

struct og_estimate {
    uint32_t candidate;                /* its number */
    bool possible;                     /* within memory and disk, and sound */
    bool counted;                      /* else everything below is 0 */
    struct og_candidate_counts counts; /* of all groups together */
    struct og_candidate_io io;
    double term[OG__TERMS]; /* of a steady epoch */
    double epoch;           /* seconds of a steady epoch, its share of all preparation included */
    double prepare;         /* seconds before the first epoch, once */
    double seconds;         /* (prepare + all epochs) / epochs; the ranking's key */
    /* of a steady epoch, topology and spilled data included */
    uint64_t reads, bytes_read, bytes_written;
    /* with a device's cache: hits by tier; bytes of rows to the device, and from it */
    uint64_t device_hits, host_hits, victim_hits, link_bytes, link_bytes_back;
    size_t memory;
    char why[160]; /* the longest part, or the reason why it is impossible */
};

/* Estimates all n candidates (at most OG__MOST_SIZES) into out[n]: possible ones first, the fastest
 * first. Counts candidates with the same policy together. 0, OG_INTERRUPTED, -ENOMEM. */
OG_MUST_CHECK int og__candidates_rank(const struct og_cost_inputs *given,
                                      const struct og_candidate *c, uint32_t n,
                                      struct og_estimate *out, struct og_err *err);

static inline size_t og__cached_row_bytes(const struct og_cost_inputs *given)
{
    return given->row_bytes ? given->row_bytes : given->rule.row_bytes;
}

/* The two steps of it. count sets counts and io of candidate i in out[i]. From these, seconds
 * computes the rest; call it again when better times are known. */
OG_MUST_CHECK int og__candidates_count(const struct og_cost_inputs *given,
                                       const struct og_candidate *c, uint32_t n,
                                       struct og_estimate *out, struct og_err *err);
void og__candidate_seconds(const struct og_cost_inputs *given, const struct og_candidate *c,
                           struct og_estimate *out);
void og__candidates_sort(struct og_estimate *out, uint32_t n); /* by rank, as above */

/* Marks it as impossible; the first reason stays. */
void og__candidate_refuse(struct og_estimate *e, const char *fmt, ...) OG_PRINTF(2, 3);

#endif
