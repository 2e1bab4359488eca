/* workload: what is known of a dataset, its batches and the disks before anything large is taken.
 * They are gathered twice: from the dataset, and from the profiling batches (profiling.h). */
#ifndef OG_WORKLOAD_H
#define OG_WORKLOAD_H

#include "dataset/graph.h"
#include "io/io.h"
#include "nn/nn.h"
#include "options/devices.h"
#include "plan/link.h"
#include "plan/policy.h"
#include "sample/by_type.h"
#include "sample/group_sampling.h"
#include "sample/seeds.h"
#include "sample/trace.h"
#include "sample/triples.h"

/* Rates of devices: each by itself, and all of them in parallel. */
struct og_links {
    int n; /* 0: not known */
    struct og_link_rates all, each[OG__MOST_DEVICES];
};

struct og_split {
    uint32_t *ids;      /* [n] nodes, or [2 n] ends of edges */
    uint32_t *relation; /* [n] of edges of several relations; NULL: of one */
    int64_t n;
    void *labels;   /* in the order of ids */
    float *weights; /* [n] of --seed-weights in the loss, or NULL */
    int64_t *times; /* [n] of their neighbourhoods, or NULL */
    bool untimed;   /* with --time, there are none: no pass is over them */
    float *own;     /* [n, D] features of labelled edges, or NULL */
    /* Given negatives of edges (sample/pairs.h), or NULL. */
    uint32_t *negatives; /* [n_negatives][negatives_width] */
    int64_t n_negatives, negatives_width;
};

/* How distinct nodes grow: k times as many batches have k^power times as many. With each doubling
 * the power is multiplied by `slowing`. */
struct og_growth {
    double distinct; /* nodes of all batches that were looked at */
    double power, slowing;
};

/* Rows of a group. */
struct og_rows_known {
    size_t row_bytes;    /* in memory */
    uint64_t rows, read; /* of the largest batch; of that, or of requested rows, what is read */
};

struct og_workload {
    struct og_graph *graph;
    /* The same with all groups that batches take rows of; `graph` itself where these are of nodes.
     * Groups of edges' units follow (session_edges.c). */
    struct og_graph *row_graph;
    struct og_graph_types *types;  /* its types and relations, as a model reads them */
    struct og_type_counts by_type; /* batches are no larger, by types */
    /* The groups of row_graph, by which a batch's ids with rows are planned group by group. NULL:
     * all, as they are. */
    const struct og_graph_types *planned_groups;
    struct og_group_slots *group_slots; /* [n_group_slots] of groups with features, without slots,
                                     by the policy's numbers of nodes */
    uint32_t n_group_slots;             /* 0: there is one group */
    struct og_rows_known *group;        /* [n_groups] of each group with features, in their order */
    uint32_t n_groups;
    struct og_edge_unit *edge_units; /* [n_relations] of batches with edges; NULL: without */
    struct og_triples triples;       /* of links: the edges of all splits */
    struct og_arrivals arrivals;     /* of links with times of nodes */
    bool timed[OG_MOST_RELATIONS];   /* with --time, edges have times of their own */
    struct og_split split[OG__SPLITS];
    float *class_weights;        /* [n_classes] of --class-weights, or NULL */
    struct og_balanced balanced; /* seeds of --oversample */
    uint32_t *order;             /* [split[OG__TRAIN].n] of --order; NULL: the file's */
    struct og_schedule schedule;
    struct og_seed_source seeds;
    struct og_model_config shape;   /* of the model that this dataset is for */
    struct og_weight_sums weights;  /* sums of weights as degrees, in a homogeneous graph */
    struct og_disk_profile profile; /* of the disk that features lie on */
    struct og_disk_profile away;    /* of those that scratch is on, together */
    struct og_disk_profile lists;   /* of the one with the graph's topology */
    struct og_disk_profile made;    /* of the one with packs of --samples; 0: none */
    bool apart;                     /* features and scratch are on different ones */
    uint32_t scratch_disks;         /* folders of --scratch */
    struct og_read_rule read_rule;  /* of the features */

    /* in numbers: the memory plan looks at these, and at none of the pointers */
    uint64_t n_nodes;    /* of row_graph */
    uint64_t list_bytes; /* of neighbours, of the whole graph, on the disk */
    struct og_group_sampling_shape group_sampling; /* what a sample group reads */
    size_t row_bytes;              /* of a row in memory; 0: there are several groups, or no rows */
    uint64_t cache_rows;           /* that --cache allows; else all */
    struct og_trace_options trace; /* batches, where they are spilled */

    /* what one of each thing takes, in bytes */
    struct og_sizes {
        size_t structure;          /* of the graph in memory, without a neighbour cache; */
        size_t structure_training; /* of it while phased memory trains */
        size_t neighbors_least, neighbors_most; /* of a neighbour cache */
        size_t samples;                         /* descriptions of pre-sampled batches */
        size_t seeds, labels;                   /* of all splits */
        size_t degrees;                         /* of relations, of a model that looks at them */
        size_t scores, targets;                 /* of a split; of a batch */
        size_t sampler, batch;                  /* one */
        size_t sampler_reading; /* what one takes besides that reads from disk by itself */
        size_t input;           /* rows of the largest batch; */
        size_t widest;          /* the widest row; */
        uint64_t files;         /* rows of all nodes; */
        size_t read;            /* rows that are read for a batch; */
        size_t requested, sent; /* with --exchange: requested in a round, and sent to other ranks */
        size_t reader;          /* all readers of features, */
        size_t planned_ids;     /* of a batch, group by group; 0 of one group; */
        size_t group_staging;   /* and what a staging area takes besides misses for groups */
        size_t record;          /* buffers of samples that are made for others */
        size_t handed;          /* a batch that leaves the session */
        size_t model;           /* with what training keeps of it besides */
        size_t activations;
        size_t device_model,
            device_activations;  /* of a device's memory, where that is bounded, of */
        size_t device_trainer;   /* the first's, which has most; a trainer's of it; */
        size_t sampling_staging; /* of the host's memory, of a device that samples */
        size_t device_sampling;  /* structure and hops; 0: not there, or not bounded */
    } bytes;

    /* of the profiling batches */
    struct og_batch_caps caps; /* batches are no larger */
    uint32_t profiling_batches;
    uint64_t profiling_rows;  /* of a batch, on average */
    uint64_t group_rows;      /* of each group with features the most that is read, in all */
    double profiling_seconds; /* sampling one */
    struct og_links links;    /* to devices that keep rows, once measured */
    int keepers;              /* devices that keep rows; 0: none */
    int first_trainers;       /* on the first of them, with the model */
    struct og_growth growth;  /* where batches may be sampled ahead */
    /* Rows of its own nodes that all ranks may request of this one in a round. And the number of
     * these nodes. Both are 0 without --exchange. */
    uint64_t requested_rows, own_nodes;
};

enum {
    OG__MARGIN_PERCENT =
        12, /* batches of a run spread by a few percent around the profiling batches' */
    OG__MARGIN_ROWS = 256, /* and by more when they are tiny */
    OG__SUM_MARGIN = 32,   /* sums of many of them by less than such a share */
};

/* Do batches take rows of edges? */
static inline bool og__plans_units(const struct og_workload *f)
{
    return f->row_graph != f->graph;
}

/* Are there several groups? Then slots are shared out among them, and ids are planned group by
 * group. */
static inline bool og__shares_slots(const struct og_workload *f)
{
    return f->row_graph->n_groups > 1;
}

/* Rows of the largest batch. */
static inline uint64_t og__input_rows(const struct og_workload *f)
{
    return f->caps.hop[f->caps.n_hops - 1].n_src + (og__plans_units(f) ? f->caps.n_units : 0);
}

/* Rows of a batch on average, in bytes. */
static inline double og__mean_row(const struct og_workload *f)
{
    const uint64_t rows = f->requested_rows > 0 ? f->requested_rows : og__input_rows(f);
    const size_t bytes = f->requested_rows > 0 ? f->bytes.requested : f->bytes.input;
    return (double)bytes / (double)OG_MAX(rows, (uint64_t)1);
}

/* Rows of the largest batch that is planned and read. Requests of others, each row once, may be
 * more or less than an own batch. */
static inline uint64_t og__read_rows(const struct og_workload *f)
{
    return f->requested_rows > 0 ? OG_MIN(f->requested_rows, f->own_nodes) : og__input_rows(f);
}

/* How many requested rows are sent, among so many ranks; a rank's own are not. */
static inline uint64_t og__sent_rows(const struct og_workload *f, uint32_t ranks)
{
    return (f->requested_rows * (ranks - 1) + ranks - 1) / ranks;
}

/* The profile by which packs of a run's own are read: that of the features' disk. With several
 * disks for scratch, requests in flight are as many times more. */
static inline const struct og_disk_profile *og__packs_profile(const struct og_workload *f)
{
    return f->scratch_disks > 1 ? &f->away : &f->profile;
}

size_t og__split_bytes(const struct og_workload *f, const struct og_split *split); /* its ids */
size_t og__split_own_bytes(const struct og_workload *f, const struct og_split *split);
size_t og__split_relation_bytes(const struct og_split *split);  /* its relations; */
size_t og__split_negatives_bytes(const struct og_split *split); /* and given negatives */
/* Bytes of the gathered targets of n seeds: labels, seed weights and edges' own rows. 0 for links,
 * whose targets are the batch's pairs. The second is for a batch. */
size_t og__seed_targets_bytes(const struct og_workload *f, uint32_t n);
size_t og__targets_bytes(const struct og_workload *f);
size_t og__logits_bytes(const struct og_workload *f); /* of a batch's seeds */
size_t og__hidden_bytes(const struct og_workload *f);
/* Nodes or edges of the larger held-out split. */
size_t og__held_out_items(const struct og_workload *f);
/* Batches as a trace, of samples that are made for others. */
struct og_trace_options og__record_form(const struct og_workload *f);

#endif
