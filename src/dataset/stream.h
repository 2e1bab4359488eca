/* Reads arrays sequentially, once, in large pieces that do not displace the page cache. Also checks
 * the topology on the way. */
#ifndef OG_DATASET_STREAM_H
#define OG_DATASET_STREAM_H

#include "dataset/graph.h"

enum { OG__CHUNK = 4 * 1024 * 1024 };

/* Called for each chunk on arrival, while it is in the CPU cache. A negative result ends the
 * reading. Chunks hold whole elements. */
typedef int og_chunk_fn(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err);

/* The whole array into out. */
OG_MUST_CHECK int og__npy_load(const struct og_npy *a, void *out, og_chunk_fn *fn, void *arg,
                               struct og_err *err);
/* The whole array through buffer[OG__CHUNK]. */
OG_MUST_CHECK int og__npy_stream(const struct og_npy *a, void *buffer, og_chunk_fn *fn, void *arg,
                                 struct og_err *err);

/* Checks that indptr starts at 0, never falls and ends at E. */
struct og_indptr_check {
    const struct og_relation *of;
    int64_t last;
};
OG_MUST_CHECK int og__check_indptr(struct og_indptr_check *c, const int64_t *p, int64_t first,
                                   size_t n, struct og_err *err);
OG_MUST_CHECK int og__check_indptr_end(const struct og_indptr_check *c, struct og_err *err);

/* Checks that every index is a node; an og_chunk_fn whose arg is the relation. */
OG_MUST_CHECK int og__check_indices(void *relation, const void *data, int64_t first_byte,
                                    size_t bytes, struct og_err *err);
/* Reads entries [first, first + n) of indices and checks that each is a node. */
OG_MUST_CHECK int og__read_indices(const struct og_relation *r, int64_t first, int64_t n,
                                   int64_t *out, struct og_err *err);
int og__bad_index(const struct og_relation *r, int64_t edge, int64_t id, struct og_err *err);
int og__bad_list(const struct og_relation *r, int64_t node, int64_t begin, int64_t end,
                 struct og_err *err);

/* Are all below limit? */
bool og__ids_below(const uint32_t *ids, size_t n, uint64_t limit);

#endif
