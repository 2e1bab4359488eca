/* Uploads host data (features, blocks, targets, pairs) to the memory where the backend computes.
 *
 *   host memory     used directly: nothing is allocated or copied
 *   device memory   copied into buffers of the workspace; rows are gathered densely
 *
 * So operators get pointers of one kind of memory only. Results for the host are downloaded. */
#ifndef OG_NN_UPLOAD_H
#define OG_NN_UPLOAD_H

#include "nn/ops.h"

#include <string.h>

/* Buffers for copies; NULL: not needed. */
struct og_rooms {
    void *rows, *own, *made, *logits, *targets, *a, *b, *relation, *ends;
    struct og_block_room {
        void *indptr, *src, *dst, *relation, *weight, *degree;
    } hop[OG_MAX_HOPS];
};
/* Elements of each buffer. */
struct og_room_sizes {
    uint64_t rows, own, made, logits, targets, pairs, relations;
    uint64_t ends; /* whose weights are known: og_block.mean_weight, loop_weight */
};

/* Numbers that the host computes for a batch, and the buffer where operators read them. With room
 * NULL they read the host's. */
struct og_numbers {
    uint32_t *host;
    void *room;
};

/* Sub-allocate `bytes` of an arena; an arena without a base only counts and returns NULL. */
static inline void *og__suballoc(struct og_arena *arena, size_t bytes)
{
    if (arena->base)
        return og__arena_take(arena, bytes);
    arena->used += og__arena_room(bytes);
    return NULL;
}
static inline float *og__suballoc_floats(struct og_arena *arena, uint64_t rows, int cols)
{
    return og__suballoc(arena, (size_t)rows * (size_t)cols * sizeof(float));
}
static inline void *og__suballoc_zeros(struct og_arena *arena, size_t bytes) /* host memory */
{
    void *on_backend = og__suballoc(arena, bytes);
    return on_backend ? memset(on_backend, 0, bytes) : NULL;
}
void og__suballoc_rooms(const struct og_nn_ops *ops, const struct og_room_sizes *n,
                        struct og_arena *arena, struct og_rooms *out);
/* Sub-allocate n numbers in an arena of the host, and in one where operators read. */
void og__suballoc_numbers(const struct og_nn_ops *ops, uint64_t n, struct og_arena *host,
                          struct og_arena *on_backend, struct og_numbers *out);
void og__suballoc_block_room(const struct og_nn_ops *ops, const struct og_block *b,
                             struct og_arena *arena, struct og_block_room *out);

/* Address at which operators find the host data at `host`. */
static inline void *og__on_backend(const void *host, void *room)
{
    return host && room ? room : (void *)host;
}
static inline uint32_t *og__numbers_on_backend(const struct og_numbers *n)
{
    return og__on_backend(n->host, n->room);
}
/* Upload to it. */
OG_MUST_CHECK int og__upload(struct og_model *m, const void *host, size_t bytes, void *room,
                             struct og_err *err);
OG_MUST_CHECK int og__upload_numbers(struct og_model *m, const struct og_numbers *numbers,
                                     uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__upload_block(struct og_model *m, const struct og_block *b,
                                   const struct og_block_room *room, struct og_block *on_backend,
                                   struct og_err *err);
OG_MUST_CHECK int og__upload_pairs(struct og_model *m, const struct og_pairs *p,
                                   const struct og_rooms *room, struct og_pairs *on_backend,
                                   struct og_err *err);
/* Upload the first n rows of x. Without a buffer the rows are already there. */
OG_MUST_CHECK int og__upload_rows(struct og_model *m, const struct og_rows *x, uint32_t n,
                                  void *room, struct og_rows *on_backend, struct og_err *err);
/* Download results of operators from a buffer to the host. */
OG_MUST_CHECK int og__deliver(struct og_model *m, void *host, size_t bytes, const void *room,
                              struct og_err *err);

#endif
