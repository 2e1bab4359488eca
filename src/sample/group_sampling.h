/* Group sampling of batches whose topology is on disk. It goes hop by hop, and in a hop relation by
 * relation. A hop's nodes determine what it reads, and positions depend on degrees alone, which are
 * in memory. So the reads of all batches are known before any read:
 *
 *   add, add, ... ──> hop 1: want, read once front to back, gather ──> hop 2 ──> ... ──> take any
 *                     of every batch                                                 (any thread)
 *
 * (Liu et al. 2025, §5.2, pack features so; here it is the graph itself.) A batch's nodes stay in
 * memory, except those found in the last hop. Draws stay in memory up to a bound; beyond it they
 * are spilled in runs (runs.h). take assembles a batch, bit-identical to one sampled alone. */
#ifndef OG_SAMPLE_GROUP_SAMPLING_H
#define OG_SAMPLE_GROUP_SAMPLING_H

#include "base/places.h"
#include "sample/ranges.h"
#include "sample/sample.h"

struct og_group_sampling;
struct og_pool;

struct og_group_sampling_sizes {
    uint32_t batches; /* at most; fewer than 2: each is sampled alone */
    unsigned shift;   /* blocks read at a time: 2^shift, twice */
    size_t memory;    /* of draws, in memory */
};

struct og_group_sampling_options {
    struct og_group_sampling_sizes sizes;
    struct og_places scratch; /* for spilled draws, made on first use */
    struct og_sampler *
        *samplers; /* one a thread, of a kind that og__sampler_takes_groups; borrowed */
    int n_samplers;
    const volatile sig_atomic_t *stop; /* may be NULL */
};

/* Memory comes from the budget as "sampler". */
OG_MUST_CHECK int og__group_sampling_open(struct og_group_sampling **out,
                                          const struct og_topology *topology,
                                          const struct og_group_sampling_options *opt,
                                          struct og_budget *b, struct og_err *err);
void og__group_sampling_close(struct og_group_sampling *t);

void og__group_sampling_clear(struct og_group_sampling *t);
/* Adds a batch; copies its seeds. One thread. */
OG_MUST_CHECK int og__group_sampling_add(struct og_group_sampling *t, const uint32_t *seeds,
                                         uint32_t n_seeds, const struct og_sample_key *key,
                                         struct og_err *err);
/* Blocks of the topology that a group requested, hop by hop. */
struct og_sample_group_requests {
    uint32_t batches, n_hops;
    uint64_t blocks[OG_MAX_HOPS];
    uint64_t of; /* that a hop could request, in all its steps */
};

struct og_group_sampling_counts {
    struct og_sample_reads structure; /* without sources of lists, which each batch counts */
    struct og_sample_group_requests requested;
    struct og_io_counts drawn; /* of what had been spilled */
    uint64_t written;          /* spilled */
};
/* Samples all hops of all batches. Returns as og__sample, or OG_INTERRUPTED. */
OG_MUST_CHECK int og__group_sampling_sample(struct og_group_sampling *t,
                                            struct og_group_sampling_counts *counts,
                                            struct og_err *err);
/* Assembles batch i with this thread's sampler; og__sampler_reads has the sources of its lists.
 * Adds the bytes of spilled draws to *read. Each sampler by one thread at a time. */
OG_MUST_CHECK int og__group_sampling_take(struct og_group_sampling *t, uint32_t i, int thread,
                                          struct og_batch_memory *out, struct og_io_counts *read,
                                          struct og_err *err);

/* Expected reads of a larger group, if every batch requests any block with the observed
 * probability. */
struct og_io_expected og__sample_group_expect(const struct og_sample_group_requests *seen,
                                              double batches, const struct og_read_rule *rule);

/* ---- sizes, where batches are no larger than caps ---- */

/* The numbers that determine a sampler's reads of the topology. */
struct og_group_sampling_shape {
    bool whole;                      /* lists are looked at as a whole */
    bool trees;                      /* nodes are those of trees */
    uint32_t n_lists;                /* relations with edges; each is read for itself */
    uint32_t steps;                  /* passes of a hop and relation */
    uint32_t walks;                  /* from each node, else 0 */
    uint32_t words;                  /* of a neighbour that is drawn */
    unsigned extras;                 /* of batches */
    uint32_t n_arrays;               /* lists, weights, times: at most */
    struct og_group_sampling_array { /* of all relations */
        uint64_t bytes, n_blocks;
        uint64_t most;    /* blocks of one relation */
        size_t size;      /* of the largest element */
        uint64_t longest; /* the most blocks of a list */
    } array[OG__PASS_ARRAYS];
    size_t taking; /* what one sampler holds for it */
};
/* `t` has the graph's degrees, wherever its lists are. */
struct og_group_sampling_shape og__group_sampling_shape(const struct og_graph *g,
                                                        const struct og_topology *t,
                                                        const struct og_sampling *how);
/* Bytes of all arrays: passes of a step read no more, except blocks that ranges share. */
uint64_t og__group_sampling_list_bytes(const struct og_group_sampling_shape *shape);

/* Memory of so many batches, without their samplers and sizes->memory. */
size_t og__group_sampling_bytes(const struct og_group_sampling_shape *shape,
                                const struct og_batch_caps *caps,
                                const struct og_group_sampling_sizes *sizes, int n_samplers,
                                const struct og_reader_options *reader);
/* The shift for ranges of at most a third of the memory, and at most the file's size. */
unsigned og__group_sampling_shift(const struct og_group_sampling_shape *shape,
                                  const struct og_reader_options *reader, size_t memory);
/* Bytes of a batch's draws. */
size_t og__group_sampling_drawn_bytes(const struct og_group_sampling_shape *shape,
                                      const struct og_batch_caps *caps);

#endif
