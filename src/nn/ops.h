/* The operators that models are made of, as one table per backend.
 *
 *     ops_cpu.c         row blocks under a thread pool, oneDNN products, vector kernels;
 *     tiles.c           operands of products
 *     attention.c       and mix.c, blend.c, pool_max.c, finish.c: the operators of those names
 *     edges.c           and dots.c: the operators of rows of edges
 *     by_column.c       products with sparse rows
 *     pairs.c           links and regression
 *     blocks.c          blocks alone
 *     share_losses.c    losses of shares of classes
 *     backend.c         their memory
 *
 * The oracle is tests/oracles/ops_reference.c: plain loops in double, written to be read.
 *
 * A layer is one pass over its output rows, block by block. What one operator makes is still in
 * cache when the next one reads it:
 *
 *     rows of x ──aggregate──> tile ──┐
 *     rows of x ──────────────────────┴─> product ──> + bias ──> ReLU ──> dropout ──> y
 *
 * Operands, with their formulas, are in nn/operands.h. */
#ifndef OG_NN_OPS_H
#define OG_NN_OPS_H

#include "nn/operands.h"

struct og_nn_backend;
struct og_elsewhere;
struct og_topology;

/* Wrap a kernel that cannot fail for the table: kernel_op. */
#define OG__NEVER_FAILS(kernel, operands)                                       \
    static int kernel##_op(struct og_nn_backend *be, const struct operands *op, \
                           struct og_err *err)                                  \
    {                                                                           \
        (void)err;                                                              \
        kernel(be, op);                                                         \
        return 0;                                                               \
    }

/* Maxima of operands: columns and rows of a matrix, heads, and entries of a sorted list. Also rows
 * or edges with a loss or rank. */
struct og_most {
    int width, heads;
    uint64_t rows, keys, counted;
    uint64_t coefficients; /* of relations, summed along edges; 0: none */
};

/* Feature rows on devices: slots of a cache, and row buffers with consecutive rows of a batch. They
 * are gathered from all tiers at once: slots and pinned host memory.
 *
 *     slots ───┐                                    (1) moves, before they are overwritten:
 *     host  ───┼─> collect ─> buffer ─> the model       slots ─> host locations
 *     staging ─┘                └──> slots          (2) entries
 *
 * Several devices are one cache. The slot of location p is number p / n of device p modulo n. Each
 * device has its own buffers and reads from the others' memory.
 *
 * One thread uploads rows, while others compute. */
struct og_device_row_store;
enum {
    OG__MOST_ROOMS = 3,    /* per device: one in training, one ready, one being filled */
    OG__MOST_KEEPERS = 16, /* devices */
};
struct og_rows_setup {
    uint32_t n_slots;   /* of all devices */
    int n_rooms;        /* per device */
    uint64_t room_rows; /* rows of the largest batch; grows when a batch has more */
    size_t row_bytes;
};
struct og_upload {
    int room;         /* buffer r of device k is k * OG__MOST_ROOMS + r */
    struct og_rows x; /* base NULL: locations of slots come first, then those of the host */
    uint32_t n_moves;
    const uint32_t *move_from, *move_to; /* [n_moves] slots; host locations */
    uint32_t n_entries;
    const uint32_t *entry_row, *entry_slot; /* [n_entries] rows of the batch; slots */
};
struct og_uploaded {
    struct og_rows rows;                  /* in the buffer */
    uint64_t link_bytes, link_bytes_back; /* of rows, over the interconnect */
    uint64_t peer_hits;                   /* rows of the batch in another device's slots */
    uint64_t peer_bytes;                  /* of those, and of rows that entered another device's
                                             slots */
};
struct og_rows_ops {
    /* On n backends, each on its own device, in their order. */
    int (*open)(struct og_device_row_store **out, struct og_nn_backend *const *be, int n,
                const struct og_rows_setup *setup, struct og_err *err);
    void (*close)(struct og_device_row_store *t); /* NULL: no-op */
    /* Bytes of each backend's memory, and of host memory per backend (which the caller charges). */
    size_t (*bytes)(const struct og_rows_setup *setup, int n);
    size_t (*host_bytes)(void);
    /* Host memory from which rows may be read. */
    void *(*pin)(struct og_device_row_store *t, size_t bytes, struct og_err *err);
    void (*unpin)(struct og_device_row_store *t, void *p, size_t bytes);
    /* Add another backend of device number `part`, whose operators read the buffers too. */
    int (*join)(struct og_device_row_store *t, int part, struct og_nn_backend *be,
                struct og_err *err);
    /* Copy n consecutive rows in pinned memory into slots; finished when it returns. */
    int (*fill)(struct og_device_row_store *t, const char *rows, const uint32_t *slot, uint32_t n,
                struct og_err *err);
    /* Start to upload a batch. Arrays that are not pinned are copied. Pinned rows must not change
     * until `wait` for the buffer, and the host locations of moves are not valid before. */
    int (*upload)(struct og_device_row_store *t, const struct og_upload *b, struct og_uploaded *out,
                  struct og_err *err);
    int (*wait)(struct og_device_row_store *t, int room, struct og_err *err);
    int (*finish)(struct og_device_row_store *t, struct og_err *err); /* waits for all uploads */
    /* Simulated seconds of the first device's interconnect so far; 0: not simulated. */
    double (*link_seconds)(const struct og_device_row_store *t);
    /* Mark the buffer as used by the operators requested so far of a backend. This is one of open
     * or join. Called by the thread that computes. */
    int (*used)(struct og_device_row_store *t, int room, struct og_nn_backend *be,
                struct og_err *err);
};

/* Uniform sampling on the device; samples are those of the CPU (nn/device/sampler.h). */
struct og_device_sampler;
struct og_sampling_ops {
    /* pinned: adjacency lists stay in host memory, which must outlive the sampler. */
    int (*open)(struct og_device_sampler **out, struct og_nn_backend *be,
                const struct og_topology *t, bool pinned, struct og_err *err);
    void (*close)(struct og_device_sampler *d); /* NULL: no-op */
    const struct og_elsewhere *(*hops)(const struct og_device_sampler *d);
    /* Bytes of the backend's memory for batches of `ids` nodes and hops of `edges` edges. */
    size_t (*bytes)(const struct og_topology *t, bool pinned, uint64_t ids, uint64_t edges);
};

/* ---- the operators: name, and struct of operands ---- */

/* clang-format off */
#define OG__PRODUCT_OPS(row) \
    row(affine, og_affine) \
    row(weight_grad, og_weight_grad)
/* These never fail on the CPU. */
#define OG__PLAIN_OPS(row) \
    row(scale, og_scale) \
    row(transpose, og_transpose) \
    row(dot, og_dot) \
    row(attend, og_attend) \
    row(attend_back, og_attend_back) \
    row(fold, og_fold) \
    row(fold_back, og_fold_back) \
    row(put, og_put) \
    row(mix, og_mix) \
    row(mix_back, og_mix_back) \
    row(blend, og_blend) \
    row(blend_sort, og_blend_sort) \
    row(blend_weights, og_blend_weights) \
    row(blend_rows, og_blend_rows) \
    row(pool_max, og_pool_max) \
    row(pool_max_back, og_pool_max_back) \
    row(moments, og_moments) \
    row(track, og_track) \
    row(rstd, og_rstd) \
    row(finish, og_finish) \
    row(finish_back, og_finish_back) \
    row(softmax_loss, og_loss) \
    row(sigmoid_loss, og_loss) \
    row(value_loss, og_loss) \
    row(share_loss, og_loss) \
    row(pair_dot, og_pair_op) \
    row(pair_product, og_pair_op) \
    row(pair_list, og_pair_list) \
    row(pair_back, og_pair_back) \
    row(pair_kinds, og_pair_kinds) \
    row(link_loss, og_link_loss) \
    row(rank, og_rank) \
    row(adam, og_update) \
    row(sgd, og_update)
/* Rows of edges. A backend without them has no model that sees such rows. */
#define OG__EDGE_OPS(row) \
    row(edge_fill, og_edge_fill) \
    row(edge_sum, og_edge_sum) \
    row(edge_sum_back, og_edge_sum_back) \
    row(dots, og_dots) \
    row(dots_back, og_dots_back)
/* The same for sparse rows. */
#define OG__ENTRY_OPS(row) \
    row(drop_entries, og_drop_entries)
/* clang-format on */

struct og_sums_ops;
struct og_nn_ops {
    const char *name;
    const struct og_sampling_ops *samplers; /* NULL: the CPU samples */
    const struct og_rows_ops *rows;         /* NULL: computes in host memory */
    const struct og_sums_ops *sums;         /* nn/sums.h; NULL: hosts add */

    /* ---- a backend ----
     *
     * Open a backend on device `number` and the threads of `pool` (NULL: the caller's alone). The
     * CPU ignores `number`. Its host memory, own_bytes, is charged to `b`. */
    int (*open)(struct og_nn_backend **out, int number, struct og_pool *pool, struct og_budget *b,
                struct og_err *err);
    void (*close)(struct og_nn_backend *be); /* NULL: no-op */
    /* Whether products can have such operands (enum og_compute_kind); -ENOTSUP with the reason.
     * Choose them, before anything is packed; at first they are f32. */
    int (*check_compute)(int compute, struct og_err *err);
    void (*set_compute)(struct og_nn_backend *be, int compute);
    const char *(*compute_remark)(int compute); /* what users should know of it here, or NULL */
    size_t (*own_bytes)(int threads);
    /* Own memory that it takes in addition to requests; NULL: none, or host memory. */
    size_t (*device_own_bytes)(void);
    /* Free device memory before opening; 0: unknown. NULL: host memory. */
    size_t (*device_free_bytes)(int number);
    /* The memory that operators read and write. Only they, fetch and push may touch it: fetch is
     * finished when it returns, and push precedes all later operators. */
    struct og_memory (*memory)(const struct og_nn_backend *be);
    int (*fetch)(struct og_nn_backend *be, void *host, const void *on_backend, size_t bytes,
                 struct og_err *err);
    int (*push)(struct og_nn_backend *be, void *on_backend, const void *host, size_t bytes,
                struct og_err *err);
    /* Copy bytes that never change, once. Later calls with their address return the copy, until the
     * backend is closed. NULL: operators read the host's. */
    int (*constant)(struct og_nn_backend *be, const void *host, size_t bytes,
                    const void **on_backend, struct og_err *err);
    /* Fill memory with zeros, or with 0, 1, 2 ... Runs after previous operators and before later
     * ones. */
    int (*clear)(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err);
    int (*number)(struct og_nn_backend *be, uint32_t *on_backend, uint32_t n, struct og_err *err);
    /* Bound its own memory to `bytes`, unless it has taken more already; 0: unbounded. */
    int (*bound)(struct og_nn_backend *be, size_t bytes, struct og_err *err);
    /* Later operators wait for rows that are being uploaded (og_rows). */
    int (*await)(struct og_nn_backend *be, struct og_event *comes, struct og_err *err);
    /* Bytes of a buffer for a copy of `bytes` host bytes; 0: host memory is used directly. */
    size_t (*room_bytes)(size_t bytes);
    /* Gather x->n host rows consecutively; unused if room_bytes returns 0. */
    int (*gather)(struct og_nn_backend *be, const struct og_rows *x, void *out, struct og_err *err);
    /* Set scratch for operators within `of`, and memory for partial sums. The largest sums are
     * those of the weight_grad or column sums over the most rows. Both are used until the next
     * call. */
    void (*set_scratch)(struct og_nn_backend *be, char *scratch, size_t scratch_bytes,
                        float *partial);
    size_t (*scratch_bytes)(const struct og_most *of, int threads);
    size_t (*partial_bytes)(uint64_t rows, int n_out, uint64_t n_in_total);
    size_t (*column_bytes)(uint64_t rows, size_t columns);
    size_t (*packed_bytes)(int n_out, int n_in); /* of a packed weight */

    /* ---- operators: 0, or the error of memory, a library or a device ---- */

    /* Pack weights into the backend's layout; required after every change of value. */
    int (*pack)(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err);
#define OG__OP_FIELD(name, operands) \
    int (*(name))(struct og_nn_backend * be, const struct operands *op, struct og_err *err);
    OG__PRODUCT_OPS(OG__OP_FIELD)
    OG__PLAIN_OPS(OG__OP_FIELD)
    OG__EDGE_OPS(OG__OP_FIELD)
    OG__ENTRY_OPS(OG__OP_FIELD)
};

#endif
