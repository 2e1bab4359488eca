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
    } ids, indptr[OG_MAX_HOPS], src[OG_MAX_HOPS], degree[OG_MAX_HOPS], weight[OG_MAX_HOPS];
};
/* What blocks carry besides; a set. */
enum { OG__WITH_DEGREES = 1, OG__WITH_WEIGHTS = 2 };
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
