/* A backend on a device: what its operators work with. */
#ifndef OG_NN_DEVICE_BACKEND_H
#define OG_NN_DEVICE_BACKEND_H

#include "device/kernel.h"
#include "nn/device/kernels.h"

/* Two streams: operators, and what goes between host and device. Features, lists and whatever else
 * is pushed are packed into one half of the staging memory while the other is on its way, and
 * neither this nor operators that come behind it hold the host up.
 *
 *   copies   follow worked ── half 0 ── half 1 ── half 0 ── record copied
 *   work     ... record worked ┘                                 └─> follow copied ... */
struct og_nn_backend {
    const struct og_device_ops *ops;
    struct og_device *device;
    struct og_stream *work, *copies;
    struct og_event *worked, *copied[2];
    struct og_budget *budget; /* of the device's memory */
    struct og_budget *host;
    char *staging; /* pinned */
    int half;      /* of it, that is taken next */
    char *room;    /* what the operator at work needs for itself: of scratch, or of extra */
    char *scratch; /* its caller's: what was planned for operators on batches of that size */
    char *extra;   /* what it had to take beyond; NULL: nothing */
    size_t scratch_bytes, extra_bytes;
    size_t library; /* that the device's library took of its memory */
};

int og__device_open(struct og_nn_backend **out, const struct og_device_ops *ops, int number,
                    struct og_budget *b, struct og_err *err);
void og__device_close(struct og_nn_backend *be);
size_t og__device_own_bytes(int threads);
struct og_memory og__device_memory(const struct og_nn_backend *be);
/* From it, and back: NULL is left alone. */
void *og__device_take(struct og_nn_backend *be, size_t bytes, const char *part, struct og_err *err);
void og__device_give(struct og_nn_backend *be, void *p, size_t bytes, const char *part);
/* The same by whoever has a stream of its own, and so no part in the operators'; given back when no
 * stream has anything left to do with it. */
void *og__device_take_by(struct og_nn_backend *be, struct og_stream *s, size_t bytes,
                         const char *part, struct og_err *err);
void og__device_give_idle(struct og_nn_backend *be, void *p, size_t bytes, const char *part);
int og__device_fetch(struct og_nn_backend *be, void *host, const void *there, size_t bytes,
                     struct og_err *err);
int og__device_push(struct og_nn_backend *be, void *there, const void *host, size_t bytes,
                    struct og_err *err);
int og__device_clear(struct og_nn_backend *be, void *there, size_t bytes, struct og_err *err);
int og__device_number(struct og_nn_backend *be, uint32_t *there, uint32_t n, struct og_err *err);
int og__device_gather(struct og_nn_backend *be, const struct og_rows *x, void *out,
                      struct og_err *err);
int og__device_bound(struct og_nn_backend *be, size_t bytes, struct og_err *err);
int og__device_await(struct og_nn_backend *be, struct og_event *comes, struct og_err *err);
extern const struct og_rows_ops og__device_rows; /* rows.c */
extern const struct og_sums_ops og__device_sums; /* sums.c */

/* ---- what operators need for themselves (room.c) ---- */

#define OG__OPERATORS "operators" /* in the budget: what was taken beyond the plan's */
/* At least so many bytes, undefined, for one operator, at be->room. */
OG_MUST_CHECK int og__device_room(struct og_nn_backend *be, size_t bytes, struct og_err *err);
/* No operator on so much needs more. */
size_t og__device_scratch_bytes(const struct og_most *of, int threads);
void og__device_set_scratch(struct og_nn_backend *be, char *scratch, size_t bytes, float *partial);
/* Rows of matrices so wide whose operands are made at a time. */
uint32_t og__device_chunk_rows(size_t width);
/* What a piece takes of the room; partial sums of columns; a list that is sorted. */
static inline size_t og__device_room_of(size_t bytes)
{
    return og__round_up(bytes, 256);
}
static inline size_t og__device_parts_bytes(uint64_t rows, size_t cols)
{
    return og__parts_of(rows) * cols * sizeof(double);
}
static inline size_t og__device_listing_bytes(size_t n, size_t sort)
{
    return 3 * og__device_room_of(n * sizeof(uint32_t)) + sort;
}

/* ---- launching ---- */

/* So many blocks of `threads`. */
OG_MUST_CHECK int og__device_launch(struct og_nn_backend *be, int kernel, uint64_t blocks,
                                    uint32_t threads, const void *args, size_t bytes,
                                    struct og_err *err);
/* Blocks that do `each` of n; kernels number what they do in 32 bits: more is -EOVERFLOW. */
OG_MUST_CHECK int og__device_launch_each(struct og_nn_backend *be, int kernel, uint64_t n,
                                         uint32_t each, const void *args, size_t bytes,
                                         struct og_err *err);
/* A thread, or a warp, for each of n. */
#define OG__EACH_ITEM(be, kernel, n, args, err) \
    og__device_launch_each(be, kernel##_number, n, OG_THREADS, args, sizeof(*(args)), err)
#define OG__EACH_WARP(be, kernel, n, args, err) \
    og__device_launch_each(be, kernel##_number, n, OG_WARPS, args, sizeof(*(args)), err)

/* ---- sums of columns ---- */

/* args->sum = args->times * the sum of args->part, n_parts of them `step` apart. */
OG_MUST_CHECK int og__device_add_parts(struct og_nn_backend *be, const struct og_k_columns *args,
                                       struct og_err *err);
/* The same of args.rows rows, whose parts go to part: room for parts_bytes. */
OG_MUST_CHECK int og__device_sum_columns(struct og_nn_backend *be, struct og_k_columns args,
                                         double *part, struct og_err *err);

/* ---- lists from keys ---- */

/* Numbers 0 to n - 1 by their keys, those of one key in their order, and where each key's begin.
 * moved NULL: not wanted. */
struct og_listing {
    size_t n;
    const uint32_t *key;
    uint32_t bound;  /* of keys */
    uint32_t *first; /* out [bound + 1] */
    uint32_t *moved; /* out [n] */
};
size_t og__device_lists_bytes(struct og_nn_backend *be, size_t n);
/* at: room for lists_bytes, in which *moved may be. */
OG_MUST_CHECK int og__device_list(struct og_nn_backend *be, const struct og_listing *l, char *at,
                                  uint32_t **moved, struct og_err *err);

/* ---- operators ---- */

int og__device_scale(struct og_nn_backend *be, const struct og_scale *op, struct og_err *err);
int og__device_transpose(struct og_nn_backend *be, const struct og_transpose *op,
                         struct og_err *err);
int og__device_affine(struct og_nn_backend *be, const struct og_affine *op, struct og_err *err);
int og__device_weight_grad(struct og_nn_backend *be, const struct og_weight_grad *op,
                           struct og_err *err);
int og__device_dot(struct og_nn_backend *be, const struct og_dot *op, struct og_err *err);
int og__device_attend(struct og_nn_backend *be, const struct og_attend *op, struct og_err *err);
int og__device_attend_back(struct og_nn_backend *be, const struct og_attend_back *op,
                           struct og_err *err);
int og__device_fold(struct og_nn_backend *be, const struct og_fold *op, struct og_err *err);
int og__device_fold_back(struct og_nn_backend *be, const struct og_fold_back *op,
                         struct og_err *err);
int og__device_put(struct og_nn_backend *be, const struct og_put *op, struct og_err *err);
int og__device_mix(struct og_nn_backend *be, const struct og_mix *op, struct og_err *err);
int og__device_mix_back(struct og_nn_backend *be, const struct og_mix_back *op, struct og_err *err);
int og__device_blend_sort(struct og_nn_backend *be, const struct og_blend_sort *op,
                          struct og_err *err);
int og__device_blend(struct og_nn_backend *be, const struct og_blend *op, struct og_err *err);
int og__device_blend_weights(struct og_nn_backend *be, const struct og_blend_weights *op,
                             struct og_err *err);
int og__device_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op,
                          struct og_err *err);
int og__device_pool_max(struct og_nn_backend *be, const struct og_pool_max *op, struct og_err *err);
int og__device_pool_max_back(struct og_nn_backend *be, const struct og_pool_max_back *op,
                             struct og_err *err);
int og__device_moments(struct og_nn_backend *be, const struct og_moments *op, struct og_err *err);
int og__device_track(struct og_nn_backend *be, const struct og_track *op, struct og_err *err);
int og__device_rstd(struct og_nn_backend *be, const struct og_rstd *op, struct og_err *err);
int og__device_finish(struct og_nn_backend *be, const struct og_finish *op, struct og_err *err);
int og__device_finish_back(struct og_nn_backend *be, const struct og_finish_back *op,
                           struct og_err *err);
int og__device_softmax_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err);
int og__device_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err);
int og__device_value_loss(struct og_nn_backend *be, const struct og_value_loss *op,
                          struct og_err *err);
int og__device_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op, struct og_err *err);
int og__device_pair_product(struct og_nn_backend *be, const struct og_pair_op *op,
                            struct og_err *err);
int og__device_pair_list(struct og_nn_backend *be, const struct og_pair_list *op,
                         struct og_err *err);
int og__device_pair_back(struct og_nn_backend *be, const struct og_pair_back *op,
                         struct og_err *err);
int og__device_pair_kinds(struct og_nn_backend *be, const struct og_pair_kinds *op,
                          struct og_err *err);
int og__device_link_loss(struct og_nn_backend *be, const struct og_link_loss *op,
                         struct og_err *err);
int og__device_rank(struct og_nn_backend *be, const struct og_rank *op, struct og_err *err);
int og__device_adam(struct og_nn_backend *be, const struct og_update *op, struct og_err *err);
int og__device_sgd(struct og_nn_backend *be, const struct og_update *op, struct og_err *err);

#endif
