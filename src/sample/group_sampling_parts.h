/* What the files of group sampling share. Nobody else includes this. */
#ifndef OG_SAMPLE_GROUP_SAMPLING_PARTS_H
#define OG_SAMPLE_GROUP_SAMPLING_PARTS_H

#include "sample/group_sampling.h"
#include "sample/runs.h"

#include <pthread.h>

/* A batch of the group. Arrays have as many elements as their capacity. */
struct og_group_member {
    struct og_sample_key key;
    struct og_words seeds;
    /* nodes: its seeds, then what each hop found but the last; numbers by group (related.h) */
    struct og_words found[OG_MAX_HOPS];
    struct og_words tree[OG_MAX_HOPS]; /* of each, with trees */
    struct og_words start;             /* [n_hops][n_groups + 1] of the groups in these */
    struct og_words times;             /* the key's, which it copies */
    struct og_walkers going;           /* in the current pass */
    size_t n_drawn;                    /* in the current pass, if known */
};

/* A thread's state. */
struct og_group_lane {
    struct og_sampler *sampler;
    struct og_batch_memory batch;
    struct og_words drawn, cursor, taken;
    struct og_io_counts read;
    int rc;
    struct og_err err;
};

struct og_group_sampling {
    /* set at open, then constant */
    const struct og_topology *topology;
    struct og_group_sampling_sizes sizes;
    const volatile sig_atomic_t *stop;
    struct og_budget *budget;
    struct og_pool *pool;
    int n_lanes, n_hops;
    uint32_t n_lists, n_groups;
    const struct og_pass_ops *ops;
    struct og_group_sampling_shape shape;
    /* [n_lists] further arrays that are read: weights, then times */
    struct og_blocks *beside[OG__PASS_ARRAYS - 1];
    /* the batches */
    struct og_group_lane *lane;
    struct og_group_member *member; /* [sizes.batches] */
    uint32_t n;
    struct og_pass *pass; /* [n_hops][n_lists][shape.steps] */
    struct og_spill *store;
    pthread_mutex_t appending;
    /* the current pass */
    int hop;
    uint32_t list, step;
    const struct og_range *range;
    uint32_t slice; /* nodes of the range that a task arranges */
};

/* ---- group_sampling_bytes.c ---- */

/* Ranges of an array with so many blocks. */
uint64_t og__group_ranges(uint64_t n_blocks, unsigned shift);
/* The most blocks of an array that a range of 2^shift requests. */
uint64_t og__group_range_blocks(const struct og_group_sampling_shape *shape, uint32_t array,
                                unsigned shift);
/* Further arrays of a relation, each with an element an edge. Returns their number. */
uint32_t og__arrays_beside(const struct og_relation *of, const struct og_sampling *how,
                           const struct og_npy *array[OG__PASS_ARRAYS - 1]);

/* ---- group_sampling.c ---- */

size_t og__group_passes(const struct og_group_sampling *t);
/* What a pass reads; NULL: nothing. */
const struct og_topology *og__group_lists_at(const struct og_group_sampling *t, uint32_t list,
                                             uint32_t step);
size_t og__group_runs_bytes(const struct og_pass *p);
void og__group_drop_runs(struct og_group_sampling *t, struct og_pass *p);
/* Where each group's nodes begin among those found in a hop. */
uint32_t *og__group_starts(const struct og_group_sampling *t, const struct og_group_member *m,
                           int hop);
/* Keeps nodes that sample from hop `hop` on, by their groups, and their trees. */
OG_MUST_CHECK int og__group_keep_found(struct og_group_sampling *t, struct og_sampler *s,
                                       struct og_group_member *m, int hop,
                                       const struct og_nodes *nodes, struct og_err *err);
/* Runs of batch i, which a lane's sampler works on until og__group_end_runs. */
struct og_runs og__group_runs(const struct og_group_sampling *t, struct og_group_lane *lane,
                              uint32_t i);
void og__group_end_runs(struct og_group_lane *lane);
/* Assembles the first `n_hops` hops of batch i from its runs. */
OG_MUST_CHECK int og__group_join(struct og_group_sampling *t, struct og_group_lane *lane,
                                 uint32_t i, int n_hops, struct og_batch_memory *out,
                                 struct og_err *err);
/* Adds what a lane read to *sum, and forgets it. */
void og__group_take_counts(struct og_group_lane *lane, struct og_io_counts *sum);

#endif
