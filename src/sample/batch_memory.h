/* A batch and its memory. */
#ifndef OG_SAMPLE_BATCH_MEMORY_H
#define OG_SAMPLE_BATCH_MEMORY_H

#include "base/memory.h"
#include "sample/batch.h"

enum { OG__WINDOW = 256 }; /* edges sampled at once: several windows fit the L1 cache */

/* Arrays grow for a batch larger than all before and are reused, so the steady state allocates
 * nothing. `batch` points into them. */
struct og_batch_memory {
    struct og_batch batch;
    struct og_budget *budget;
    struct og_growing {
        void *data;
        size_t bytes;
    } ids, units, row, node, indptr[OG_MAX_HOPS], src[OG_MAX_HOPS], degree[OG_MAX_HOPS],
        weight[OG_MAX_HOPS], edge[OG_MAX_HOPS], relation[OG_MAX_HOPS], dst[OG_MAX_HOPS];
};
/* A set of flags: additional arrays of blocks, and their layout. NESTED: nodes sample once a batch,
 * so each block is a prefix of the next. All blocks share the indptr, src, weight and edge of the
 * first hop. Not with WITH_RELATIONS, whose edges are stored by relation. */
enum {
    OG__WITH_DEGREES = 1,
    OG__WITH_WEIGHTS = 2,
    OG__NESTED = 4,
    OG__WITH_RELATIONS = 8,
    OG__WITH_EDGES = 16, /* og_block.edge, and the batch's units */
    OG__WITH_TREES = 32, /* og_batch.row and node */
};
/* The hop whose arrays hold the block of hop h. */
static inline uint32_t og__arrays_at(unsigned extras, uint32_t h)
{
    return extras & OG__NESTED ? 0 : h;
}
/* Are the lists of that block also those of a later one? Then only that one is stored. */
static inline bool og__is_part(unsigned extras, uint32_t h, uint32_t n_hops)
{
    return (extras & OG__NESTED) && h + 1 < n_hops;
}
void og__batch_init(struct og_batch_memory *m, struct og_budget *b);
OG_MUST_CHECK int og__batch_reserve(struct og_batch_memory *m, const struct og_batch_caps *caps,
                                    unsigned extras, struct og_err *err);
void og__batch_release(struct og_batch_memory *m);
/* Bytes that reserve allocates. */
size_t og__batch_bytes(const struct og_batch_caps *caps, unsigned extras);

/* Widen caps to hold this batch too. */
void og__caps_include(struct og_batch_caps *caps, const struct og_batch *batch);

/* Grows an array to `bytes`; preserves the first `keep` bytes. */
OG_MUST_CHECK int og__batch_grow(struct og_batch_memory *m, struct og_growing *a, size_t bytes,
                                 size_t keep, struct og_err *err);

#endif
