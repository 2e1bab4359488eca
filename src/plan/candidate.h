/* candidates: ways to bring the features to the batches of a trace, and what each would cost.
 *
 *   trace, facts, capacities ──> counts      rows, reads, bytes: exact, by running the policies and
 *                                            layouts over the trace without reading anything
 *   counts, epochs ────────────> io          what an epoch reads and writes of rows
 *   io, disk, times ───────────> seconds     a model of the flow, a dozen lines
 *   seconds ───────────────────> ranking     the fastest that memory and disk allow, and why
 *
 * Pure: no I/O, no clock; the same arguments give the same answer. */
#ifndef OG_CANDIDATE_H
#define OG_CANDIDATE_H

#include "plan/count.h"
#include "plan/link.h"
#include "plan/simulate.h"
#include "sample/together.h"

/* A way to do it. */
struct og_candidate {
    /* with its cache: n_slots; where rows are of several widths, a range for each. Borrowed */
    struct og_policy_setup policy;
    /* a device's cache over that one, whose policy is then `host` of these, ranges as there; NULL:
     * none. Borrowed */
    const struct og_tiers_setup *tiers;
    enum og__layout layout;
    uint32_t resample_every; /* epochs that train on the same batches, in another order; >= 1 */
    /* Batches sampled, planned and packed together before they are trained; 0 = each batch goes
     * straight through. */
    uint32_t superbatch;
    uint32_t written_batches; /* whose misses are on the disk at the same time: these and others,
                                 such as validation's; 0 = these */
    uint32_t together;   /* batches that read the structure on disk together, a pass a hop; 0 or
                            1 = each by itself */
    bool moves;          /* it has the structure on disk, and the trace was sampled from memory */
    double lists_cached; /* share of what sampling reads of the structure that lies in a cache */
    uint32_t n_yielded;  /* slots that lose their rows while the next superbatch is prepared */
    /* what the memory plan says */
    size_t memory;          /* bytes that it asks for in all */
    size_t sweep_memory;    /* of these for packing */
    uint64_t load_bytes;    /* of cached lists, read once before the run, where they were kept */
    uint64_t reload_bytes;  /* of topology and tables, read again for each superbatch */
    uint64_t spill_bytes;   /* of blocks and plans, written and read back, an epoch, */
    uint64_t spill_reads;   /* and in how many reads */
    uint64_t spilled_bytes; /* of these, on the disk at the same time */
};

/* Times that were measured. Core-seconds are those of one thread. */
struct og_flow_times {
    double sample;      /* core-seconds, a batch */
    double plan_row;    /* core-seconds, a row */
    double count_row;   /* what a row of a superbatch takes more: its visits are counted */
    double prepare_row; /* and what it takes instead where each of them is kept in a list */
    double together;    /* times `sample`, where batches are sampled together by a candidate that
                           moves the structure; 0 = 1 */
    double cached;      /* times `sample`, where a candidate's cache holds the lists that were read
                           from disk for the trace; 0 = 1 */
    double model;       /* seconds, a batch on all threads; 0 without a model */
    double copy;        /* bytes a second, one thread */
    double write;       /* bytes a second, written to disk; 0 = as the profile reads */
    double fresh;       /* bytes a second, reading what was just written: hosts cache that; 0 = as
                           the profile reads */
    double before;      /* seconds that opening has taken already: of every run's preparation */
    int samplers;       /* threads that sample */
    int threads;        /* cores */
};

/* Rows of one width among those of several: those of a type of nodes, which follow each other, and
 * have slots of their own. All of it is meant as in og_choice. */
struct og_choice_width {
    struct og_trace trace; /* of its nodes, the first of which is 0, in as many batches */
    uint64_t n_nodes;
    double distinct, growth, slowing;
    struct og_read_rule rule;
    size_t row_bytes;
};

/* What all candidates are judged by. */
struct og_choice {
    struct og_trace trace; /* training batches, in order: best an epoch or several */
    uint64_t n_nodes;
    uint32_t owners;      /* the feature file has the rows of one of so many; 0 = of all nodes */
    uint64_t most_wanted; /* nodes that batches may want; 0 = all of them */
    /* Distinct nodes of the trace, for superbatches longer than it; 0 = not known. With half of its
     * batches it had 2^growth times fewer, with twice as many it has 2^(growth * slowing) times as
     * many, with four times as many 2^(growth * slowing^2) times as many again; slowing 0 = 1. */
    double distinct, growth, slowing;
    double epoch_batches;           /* training batches of an epoch; 0 = those of the trace */
    uint32_t epochs;                /* to be trained; 0 = so many that only a steady epoch counts */
    struct og_io_counts topology;   /* sampling reads in an epoch, each batch by itself */
    uint64_t structure_bytes;       /* of its file; */
    uint32_t hops;                  /* passes over it that a group of batches takes; */
    struct og_group_wanted group;   /* what a small group wanted of it; .batches 0 = not known, */
    struct og_read_rule lists_rule; /* and how that is read */
    struct og_read_rule rule;       /* how the features are read */
    size_t row_bytes;   /* of a row in memory and in packs; 0 = as in the file (rule.row_bytes) */
    uint32_t fill_rows; /* put into a cache at once (OG__FILL_ROWS) */
    struct og_disk_profile disk;
    struct og_disk_profile structure_disk; /* iops 0 = the same */
    bool apart;      /* what is written lies on another disk than the features */
    bool one_by_one; /* a batch is trained before the next one is begun */
    struct og_flow_times times;
    struct og_link_rates link; /* of candidates with a device's cache */
    size_t memory_limit;       /* bytes; SIZE_MAX = none */
    uint64_t disk_limit;       /* bytes of scratch; UINT64_MAX = none */
    double disk_margin; /* share by which batches beyond the trace may miss more than it tells */
    struct og_pool *pool;
    struct og_budget *budget;
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* [n_widths], in the order of their nodes, where rows are of several: what they have of
     * their own holds in place of the above, and of the trace only n_batches is looked at. 0 =
     * all rows are of one. */
    const struct og_choice_width *width;
    uint32_t n_widths;
};

/* Over the trace, once: exact. */
struct og_candidate_counts {
    uint64_t rows, hits, misses;
    uint64_t held_out;                    /* misses by a choice of nodes that did not know the batch
                                             itself, where visits choose; else the misses */
    uint64_t prefill;                     /* rows put into the cache before batches */
    struct og_io_counts fill, first_fill; /* reading them; of which for the first superbatch */
    struct og_io_counts open;             /* and of which before a superbatch's first batch */
    uint64_t open_batches;                /* before the next rows enter */
    uint32_t windows;                     /* how often rows enter */
    struct og_io_counts sweep;            /* sequential, to pack */
    struct og_io_counts batches;          /* what training's batches read */
    uint64_t written;                     /* containers */
    uint64_t disk;                        /* bytes on it at the same time */
    uint32_t superbatches;
    uint32_t segment;           /* segmented: batches of one, the first superbatch's */
    struct og_tiers_cost tiers; /* with a device's cache */
};

/* What a steady epoch reads and writes of rows, as counts tell it. */
struct og_candidate_io {
    struct og_io_expected first_fill; /* not of an epoch: what the cache begins with */
    struct og_io_expected fill, sweep, batches;
    double written;             /* bytes of containers */
    double copied;              /* bytes, into chunks or from staging into the cache */
    double linked, linked_back; /* bytes of rows to a device, and from it */
    double collected;           /* bytes, on the device */
    double disk;                /* bytes of containers at the same time */
};

/* What an epoch is made of, each by itself, in seconds. */
enum og__term {
    OG__SAMPLING,
    OG__PLANNING,
    OG__SWEEPING,   /* reading the file front to back: to pack, or rows of later batches */
    OG__SPILLING,   /* putting blocks and plans away */
    OG__WRITING,    /* containers */
    OG__COPYING,    /* rows into chunks, or from staging into the cache */
    OG__FILLING,    /* reading what a cache begins a superbatch with */
    OG__READING,    /* what batches read */
    OG__LINKING,    /* rows to a device, and those that leave it */
    OG__COLLECTING, /* the device's kernels put a batch's rows one behind the other */
    OG__TRAINING,
    OG__DISK,  /* all that disk does beside training */
    OG__CORES, /* all that cores do beside training, and training */
    OG__TERMS,
};

struct og_estimate {
    uint32_t candidate;                /* its number */
    bool possible;                     /* within memory and disk, and sound */
    bool counted;                      /* else everything below is 0 */
    struct og_candidate_counts counts; /* of all widths together */
    struct og_candidate_io io;
    double term[OG__TERMS]; /* of a steady epoch */
    double epoch;           /* seconds of a steady epoch, its share of all preparation included */
    double prepare;         /* seconds before the first epoch, once */
    double seconds;         /* (prepare + all epochs) / epochs: what candidates are ranked by */
    /* of a steady epoch, topology and what is spilled included */
    uint64_t reads, bytes_read, bytes_written;
    /* with a device's cache: hits by tier; bytes of rows to the device, and from it */
    uint64_t device_hits, host_hits, victim_hits, link_bytes, link_bytes_back;
    size_t memory;
    char why[160]; /* what takes most of the time, or why it is not possible */
};

/* All n candidates (at most OG__MOST_SIZES) into out[n]: those that are possible first, the fastest
 * in front. Candidates that share a policy are counted together. 0, OG_INTERRUPTED, -ENOMEM. */
OG_MUST_CHECK int og__candidates_rank(const struct og_choice *given, const struct og_candidate *c,
                                      uint32_t n, struct og_estimate *out, struct og_err *err);

static inline size_t og__kept_row_bytes(const struct og_choice *given)
{
    return given->row_bytes ? given->row_bytes : given->rule.row_bytes;
}

/* The two halves. count: candidate i into out[i], counts and io. seconds: from these to the rest of
 * an estimate, again as often as times become known better. */
OG_MUST_CHECK int og__candidates_count(const struct og_choice *given, const struct og_candidate *c,
                                       uint32_t n, struct og_estimate *out, struct og_err *err);
void og__candidate_seconds(const struct og_choice *given, const struct og_candidate *c,
                           struct og_estimate *out);
void og__candidates_sort(struct og_estimate *out, uint32_t n); /* by rank, as above */

/* Marks it as not possible; the first reason stays. */
void og__candidate_refuse(struct og_estimate *e, const char *fmt, ...) OG_PRINTF(2, 3);

#endif
