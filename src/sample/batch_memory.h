/* A batch and the memory it lies in. */
#ifndef OG_SAMPLE_BATCH_MEMORY_H
#define OG_SAMPLE_BATCH_MEMORY_H

#include "base/memory.h"
#include "sample/batch.h"

enum { OG__WINDOW = 256 }; /* edges that are sampled at once: fits L1 several times over */

/* Arrays grow when a batch is larger than any before and are kept, so that steady state allocates
 * nothing. `batch` points into them. */
struct og_batch_memory {
    struct og_batch batch;
    struct og_budget *budget;
    struct og_growing {
        void *data;
        size_t bytes;
    } ids, indptr[OG_MAX_HOPS], src[OG_MAX_HOPS], degree[OG_MAX_HOPS], weight[OG_MAX_HOPS],
        relation[OG_MAX_HOPS], dst[OG_MAX_HOPS];
};
/* What blocks carry besides, and how they lie; a set. NESTED: nodes draw once a batch, so that each
 * block is the beginning of the next, and all lie in the first hop's indptr, src and weight; not
 * WITH_RELATIONS, whose edges lie relation by relation. */
enum { OG__WITH_DEGREES = 1, OG__WITH_WEIGHTS = 2, OG__NESTED = 4, OG__WITH_RELATIONS = 8 };
/* The hop in whose arrays the block of hop h lies, */
static inline uint32_t og__arrays_at(unsigned extras, uint32_t h)
{
    return extras & OG__NESTED ? 0 : h;
}
/* and whether the lists of that block are those of a later one, too: then only that one is kept. */
static inline bool og__is_part(unsigned extras, uint32_t h, uint32_t n_hops)
{
    return (extras & OG__NESTED) && h + 1 < n_hops;
}
void og__batch_init(struct og_batch_memory *m, struct og_budget *b);
OG_MUST_CHECK int og__batch_reserve(struct og_batch_memory *m, const struct og_batch_caps *caps,
                                    unsigned extras, struct og_err *err);
void og__batch_release(struct og_batch_memory *m);
/* What reserve takes. */
size_t og__batch_bytes(const struct og_batch_caps *caps, unsigned extras);

/* Widen caps to hold this batch too. */
void og__caps_include(struct og_batch_caps *caps, const struct og_batch *batch);

/* Room in one of its arrays for `bytes`, the first `keep` of them preserved. */
OG_MUST_CHECK int og__batch_grow(struct og_batch_memory *m, struct og_growing *a, size_t bytes,
                                 size_t keep, struct og_err *err);

#endif
