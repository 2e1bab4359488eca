/* together: batches whose structure is on disk, sampled hop by hop, all of them at a time. What a
 * hop will look at follows from its nodes, and positions drawn from degrees alone, which are in
 * memory: so it is known for all batches before anything is read:
 *
 *   add, add, ... ──> hop 1: want, read once front to back, gather ──> hop 2 ──> ... ──> take any
 *                     of every batch                                                 (any thread)
 *
 * (Liu et al. 2025, §5.2, pack features so; here it is the graph itself.) Of a batch its nodes stay
 * in memory, but for those that the last hop finds; what was drawn does as far as there is memory,
 * and is spilled in runs beyond that (runs.h). A batch is put together when it is taken: the same,
 * bit for bit, as sampled by itself. */
#ifndef OG_SAMPLE_TOGETHER_H
#define OG_SAMPLE_TOGETHER_H

#include "base/places.h"
#include "sample/sample.h"

struct og_together;
struct og_pool;

struct og_together_sizes {
    uint32_t batches; /* at most; fewer than 2: each is sampled by itself */
    unsigned shift;   /* blocks that are read at a time: 2^shift, twice */
    size_t memory;    /* of what was drawn, kept in memory */
};

struct og_together_options {
    struct og_together_sizes sizes;
    struct og_places scratch;     /* for what is spilled, made when it is first needed */
    struct og_sampler **samplers; /* one a thread, of a kind that og__sampling_together; borrowed */
    int n_samplers;
    const volatile sig_atomic_t *stop; /* may be NULL */
};

/* Memory comes from the budget as "sampler". */
OG_MUST_CHECK int og__together_open(struct og_together **out, const struct og_topology *topology,
                                    const struct og_together_options *opt, struct og_budget *b,
                                    struct og_err *err);
void og__together_close(struct og_together *t);

void og__together_clear(struct og_together *t);
/* One more batch; its seeds are copied. One thread. */
OG_MUST_CHECK int og__together_add(struct og_together *t, const uint32_t *seeds, uint32_t n_seeds,
                                   const struct og_sample_key *key, struct og_err *err);
/* Blocks of the structure that a group wanted, hop by hop. */
struct og_group_wanted {
    uint32_t batches, n_hops;
    uint64_t blocks[OG_MAX_HOPS];
    uint64_t of; /* that a hop could want, in all its passes */
};

struct og_together_counts {
    struct og_sample_reads
        structure; /* but for where lists were: that is counted with each batch */
    struct og_group_wanted wanted;
    struct og_io_counts drawn; /* of what had been spilled */
    uint64_t written;          /* spilled */
};
/* All hops of all that were added. What og__sample may return, or OG_INTERRUPTED. */
OG_MUST_CHECK int og__together_sample(struct og_together *t, struct og_together_counts *counts,
                                      struct og_err *err);
/* Batch i of those, with the sampler of this thread; og__sampler_reads tells where its lists were.
 * *read is added to: bytes of what had been spilled. Each sampler by one thread at a time. */
OG_MUST_CHECK int og__together_take(struct og_together *t, uint32_t i, int thread,
                                    struct og_batch_memory *out, struct og_io_counts *read,
                                    struct og_err *err);

/* What a larger group reads of it, where every batch wants any block as likely as those did. */
struct og_io_expected og__group_expect(const struct og_group_wanted *seen, double batches,
                                       const struct og_read_rule *rule);

/* ---- sizes, where batches are no larger than caps ---- */

/* What a sampler has read of the structure, in numbers. */
struct og_together_shape {
    bool whole;     /* lists are looked at as a whole */
    uint32_t steps; /* passes of a hop */
    uint32_t walks; /* from each node, else 0 */
    uint32_t n_arrays;
    struct og_together_array {
        uint64_t bytes;
        size_t size;      /* of an element */
        uint64_t longest; /* blocks that a list lies in at most */
    } array[2];
    size_t taking; /* what one sampler holds for it */
};
struct og_together_shape og__together_shape(const struct og_relation *of,
                                            const struct og_sampling *how, int64_t longest);
/* Of all arrays: one pass reads no more, but for blocks that ranges share. */
uint64_t og__together_list_bytes(const struct og_together_shape *shape);

/* All that so many batches take beside their samplers, but for sizes->memory. */
size_t og__together_bytes(const struct og_together_shape *shape, const struct og_batch_caps *caps,
                          const struct og_together_sizes *sizes, int n_samplers,
                          const struct og_reader_options *reader);
/* Of these, what ranges of 2^shift blocks take. */
size_t og__together_ranges_bytes(const struct og_together_shape *shape, unsigned shift,
                                 const struct og_reader_options *reader);
/* Ranges as large as a third of the memory allows, and no larger than the file. */
unsigned og__together_shift(const struct og_together_shape *shape,
                            const struct og_reader_options *reader, size_t memory);
/* What was drawn of a batch. */
size_t og__together_drawn_bytes(const struct og_together_shape *shape,
                                const struct og_batch_caps *caps);

#endif
