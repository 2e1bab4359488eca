/* A backend on a device: memory and streams of its operators. */
#ifndef OG_NN_DEVICE_BACKEND_H
#define OG_NN_DEVICE_BACKEND_H

#include "device/kernel.h"
#include "nn/device/kernels.h"

/* Two streams: operators, and copies between host and device. Pushed data (features, lists) is
 * packed into one half of the staging memory while the other half is being copied. The host waits
 * neither for the copy nor for operators after it.
 *
 *     copies   follow worked ── half 0 ── half 1 ── half 0 ── record copied
 *     work     ... record worked ┘                                 └─> follow copied ... */
struct og_nn_backend {
    const struct og_device_ops *ops;
    struct og_device *device;
    struct og_stream *work, *copies;
    struct og_event *worked, *copied[2];
    struct og_budget *budget; /* for device memory */
    struct og_budget *host;
    int compute;   /* enum og_compute_kind */
    char *staging; /* pinned */
    int half;      /* the half that is taken next */
    char *room;    /* memory of the current operator: scratch or extra */
    char *scratch; /* the caller's: planned for operators on batches of that size */
    char *extra;   /* memory taken beyond the plan; NULL: none */
    size_t scratch_bytes, extra_bytes;
    size_t library;                /* device memory that the device's library takes */
    struct og_constant *constants; /* copied so far, the newest first */
};

int og__device_open(struct og_nn_backend **out, const struct og_device_ops *ops, int number,
                    struct og_budget *b, struct og_err *err);
void og__device_close(struct og_nn_backend *be);
void og__device_set_compute(struct og_nn_backend *be, int compute);
size_t og__device_own_bytes(int threads);
struct og_memory og__device_memory(const struct og_nn_backend *be);
/* Allocate and free device memory; freeing NULL is a no-op. */
void *og__device_take(struct og_nn_backend *be, size_t bytes, const char *part, struct og_err *err);
void og__device_give(struct og_nn_backend *be, void *p, size_t bytes, const char *part);
/* The same for users with their own stream, who are independent of the operators'. Memory is freed
 * when no stream uses it any more. */
void *og__device_take_by(struct og_nn_backend *be, struct og_stream *s, size_t bytes,
                         const char *part, struct og_err *err);
void og__device_give_idle(struct og_nn_backend *be, void *p, size_t bytes, const char *part);
int og__device_fetch(struct og_nn_backend *be, void *host, const void *on_backend, size_t bytes,
                     struct og_err *err);
int og__device_push(struct og_nn_backend *be, void *on_backend, const void *host, size_t bytes,
                    struct og_err *err);
int og__device_constant(struct og_nn_backend *be, const void *host, size_t bytes,
                        const void **on_backend, struct og_err *err);
int og__device_clear(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err);
int og__device_number(struct og_nn_backend *be, uint32_t *on_backend, uint32_t n,
                      struct og_err *err);
int og__device_gather(struct og_nn_backend *be, const struct og_rows *x, void *out,
                      struct og_err *err);
int og__device_bound(struct og_nn_backend *be, size_t bytes, struct og_err *err);
int og__device_await(struct og_nn_backend *be, struct og_event *comes, struct og_err *err);
extern const struct og_rows_ops og__device_rows; /* rows.c */
extern const struct og_sums_ops og__device_sums; /* sums.c */

/* ---- scratch of operators (room.c) ---- */

#define OG__OPERATORS "operators" /* budget entry: memory taken beyond the plan's */
/* Provide at least `bytes` bytes, undefined, for one operator, at be->room. */
OG_MUST_CHECK int og__device_room(struct og_nn_backend *be, size_t bytes, struct og_err *err);
/* Upper bound of the scratch of operators within `of`. */
size_t og__device_scratch_bytes(const struct og_most *of, int threads);
void og__device_set_scratch(struct og_nn_backend *be, char *scratch, size_t bytes, float *partial);
/* Rows per chunk of matrices of this width whose operands are computed. */
uint32_t og__device_chunk_rows(size_t width);
/* Bytes of parts of the scratch: a piece; partial sums of columns; a sorted list. */
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

OG_MUST_CHECK int og__device_launch(struct og_nn_backend *be, int kernel, uint64_t blocks,
                                    uint32_t threads, const void *args, size_t bytes,
                                    struct og_err *err);
/* Launch blocks that process `each` of n items; kernels index items with 32 bits: more is
 * -EOVERFLOW. */
OG_MUST_CHECK int og__device_launch_each(struct og_nn_backend *be, int kernel, uint64_t n,
                                         uint32_t each, const void *args, size_t bytes,
                                         struct og_err *err);
/* One thread, or one warp, per item. */
#define OG__EACH_ITEM(be, kernel, n, args, err) \
    og__device_launch_each(be, kernel##_number, n, OG_THREADS, args, sizeof(*(args)), err)
#define OG__EACH_WARP(be, kernel, n, args, err) \
    og__device_launch_each(be, kernel##_number, n, OG_WARPS, args, sizeof(*(args)), err)

/* ---- sums of columns ---- */

/* args->sum = args->times * the sum of args->part, n_parts of them `step` apart. */
OG_MUST_CHECK int og__device_add_parts(struct og_nn_backend *be, const struct og_k_columns *args,
                                       struct og_err *err);
/* The same for args.rows rows, whose partial sums go to part, parts_bytes large. */
OG_MUST_CHECK int og__device_sum_columns(struct og_nn_backend *be, struct og_k_columns args,
                                         double *part, struct og_err *err);

/* ---- lists from keys ---- */

/* Sort of numbers 0 to n - 1 by key, stable, with the start of each key. `moved` may be NULL. */
struct og_listing {
    size_t n;
    const uint32_t *key;
    uint32_t bound;  /* number of keys */
    uint32_t *first; /* out [bound + 1] */
    uint32_t *moved; /* out [n] */
};
size_t og__device_lists_bytes(struct og_nn_backend *be, size_t n);
/* at: memory of lists_bytes; *moved may be part of it. */
OG_MUST_CHECK int og__device_list(struct og_nn_backend *be, const struct og_listing *l, char *at,
                                  uint32_t **moved, struct og_err *err);

/* ---- operators ---- */

#define OG__DEVICE_OP(name, operands) \
    int og__device_##name(struct og_nn_backend *be, const struct operands *op, struct og_err *err);
OG__PRODUCT_OPS(OG__DEVICE_OP)
OG__PLAIN_OPS(OG__DEVICE_OP)

#endif
