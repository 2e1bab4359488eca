/* What the host has, where the backend computes: features, blocks, targets, pairs.
 *
 *   host's memory   it is there already: nothing is taken or copied
 *   a device's      copied into room that the workspace has for it; rows are gathered densely
 *
 * So operators get pointers of one kind of memory only. Results for the host go the other way. */
#ifndef OG_NN_BRING_H
#define OG_NN_BRING_H

#include "nn/ops.h"

#include <string.h>

/* Room for copies; NULL: none is needed. */
struct og_rooms {
    void *rows, *own, *made, *logits, *targets, *a, *b, *relation;
    struct og_block_room {
        void *indptr, *src, *dst, *relation, *weight, *degree;
    } hop[OG_MAX_HOPS];
};
/* Elements of each. */
struct og_room_sizes {
    uint64_t rows, own, made, logits, targets, pairs, relations;
};

/* Numbers that the host makes of a batch, and where operators find them: room NULL where the host
 * has them. */
struct og_numbers {
    uint32_t *host;
    void *room;
};

/* Take `bytes` of an arena; one without a base only counts, and gives NULL. */
static inline void *og__carve(struct og_arena *arena, size_t bytes)
{
    if (arena->base)
        return og__arena_take(arena, bytes);
    arena->used += og__arena_room(bytes);
    return NULL;
}
static inline float *og__carve_floats(struct og_arena *arena, uint64_t rows, int cols)
{
    return og__carve(arena, (size_t)rows * (size_t)cols * sizeof(float));
}
static inline void *og__carve_zeros(struct og_arena *arena, size_t bytes) /* the host's */
{
    void *there = og__carve(arena, bytes);
    return there ? memset(there, 0, bytes) : NULL;
}
void og__carve_rooms(const struct og_nn_ops *ops, const struct og_room_sizes *n,
                     struct og_arena *arena, struct og_rooms *out);
/* n of them, of an arena of the host's and of one where operators read. */
void og__carve_numbers(const struct og_nn_ops *ops, uint64_t n, struct og_arena *host,
                       struct og_arena *there, struct og_numbers *out);
void og__carve_block_room(const struct og_nn_ops *ops, const struct og_block *b,
                          struct og_arena *arena, struct og_block_room *out);

/* Where what the host has at `host` is for operators. */
static inline void *og__there(const void *host, void *room)
{
    return host && room ? room : (void *)host;
}
static inline uint32_t *og__numbers_there(const struct og_numbers *n)
{
    return og__there(n->host, n->room);
}
/* Put it there. */
OG_MUST_CHECK int og__bring(struct og_model *m, const void *host, size_t bytes, void *room,
                            struct og_err *err);
OG_MUST_CHECK int og__bring_numbers(struct og_model *m, const struct og_numbers *numbers,
                                    uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__bring_block(struct og_model *m, const struct og_block *b,
                                  const struct og_block_room *room, struct og_block *there,
                                  struct og_err *err);
OG_MUST_CHECK int og__bring_pairs(struct og_model *m, const struct og_pairs *p,
                                  const struct og_rooms *room, struct og_pairs *there,
                                  struct og_err *err);
/* The first n rows of x, which have come already where the model has no room for them. */
OG_MUST_CHECK int og__bring_rows(struct og_model *m, const struct og_rows *x, uint32_t n,
                                 void *room, struct og_rows *there, struct og_err *err);
/* What operators made in the room goes to the host. */
OG_MUST_CHECK int og__deliver(struct og_model *m, void *host, size_t bytes, const void *room,
                              struct og_err *err);

#endif
