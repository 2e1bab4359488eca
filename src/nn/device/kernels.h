/* The kernels of device operators (operators_*.c), their arguments, and common parts. Written in
 * the language of kernel.h, one file per family:
 *
 *     kernel_rows.c      sums along edges, ends of products, sums of columns, optimisers
 *     kernel_places.c    copies of feature rows
 *     kernel_sample.c    a hop of uniform sampling
 *     kernel_blocks.c    degrees, and lists from sorted keys
 *     kernel_attend.c    attention, folding, maximum pooling
 *     kernel_mix.c       matrices of relations, and sums of rows with their coefficients
 *     kernel_finish.c    the end of a layer, forward and backward
 *     kernel_losses.c    losses, ranks and pairs
 *
 * Pointers in arguments are to device memory. A warp processes a wide row, with its lanes along the
 * row. A thread processes a row with little work. */
#ifndef OG_NN_DEVICE_KERNELS_H
#define OG_NN_DEVICE_KERNELS_H

#include "device/device.h"
#include "nn/ops.h"

/* Name, arguments, and whether threads synchronize. */
/* clang-format off */
#define OG__KERNELS(row) \
    row(og__k_aggregate, og_k_aggregate, false) \
    row(og__k_widen, og_k_widen, false) \
    row(og__k_put, og_put, false) \
    row(og__k_end, og_k_end, false) \
    row(og__k_column_parts, og_k_columns, false) \
    row(og__k_column_sums, og_k_columns, false) \
    row(og__k_dot_parts, og_k_dot, true) \
    row(og__k_dot, og_k_dot, false) \
    row(og__k_adam, og_k_update, false) \
    row(og__k_sgd, og_k_update, false) \
    row(og__k_add, og_k_add, false) \
    row(og__k_scale, og_k_scale, false) \
    row(og__k_count_up, og_k_count_up, false) \
    row(og__k_pair_keys, og_k_pair_keys, false) \
    row(og__k_starts, og_k_starts, false) \
    row(og__k_owners, og_k_owners, false) \
    row(og__k_scores, og_k_scores, true) \
    row(og__k_coefficients, og_k_attend, false) \
    row(og__k_attend, og_k_attend, false) \
    row(og__k_sum_scores, og_k_attend, true) \
    row(og__k_sum_coefficients, og_k_attend, false) \
    row(og__k_attend_slopes, og_k_attend_back, true) \
    row(og__k_score_slopes, og_k_attend_back, false) \
    row(og__k_source_slopes, og_k_attend_back, false) \
    row(og__k_vector_parts, og_k_attend_back, false) \
    row(og__k_source_back, og_k_attend_back, false) \
    row(og__k_sum_slopes, og_k_attend_back, false) \
    row(og__k_sum_destinations, og_k_attend_back, false) \
    row(og__k_sum_vector_parts, og_k_attend_back, false) \
    row(og__k_sum_source_back, og_k_attend_back, false) \
    row(og__k_fold, og_k_fold, false) \
    row(og__k_fold_back, og_k_fold, true) \
    row(og__k_mix, og_k_mix, false) \
    row(og__k_mix_bases, og_k_mix, false) \
    row(og__k_mix_parts, og_k_mix, false) \
    row(og__k_mix_weights, og_k_mix, false) \
    row(og__k_blend_keys, og_k_blend_sort, false) \
    row(og__k_blend_edges, og_k_blend_sort, false) \
    row(og__k_blend, og_k_blend, false) \
    row(og__k_blend_kinds, og_k_blend, false) \
    row(og__k_blend_parts, og_k_blend, true) \
    row(og__k_blend_rows, og_k_blend, false) \
    row(og__k_pool_max, og_k_pool_max, false) \
    row(og__k_pool_max_back, og_k_pool_max_back, false) \
    row(og__k_track, og_track, false) \
    row(og__k_rstd, og_rstd, false) \
    row(og__k_finish, og_k_finish, true) \
    row(og__k_finish_back, og_k_finish, true) \
    row(og__k_norm_back, og_k_finish, true) \
    row(og__k_count_classes, og_k_loss, true) \
    row(og__k_softmax, og_k_loss, true) \
    row(og__k_sigmoid, og_k_loss, true) \
    row(og__k_count_values, og_k_loss, true) \
    row(og__k_values, og_k_loss, true) \
    row(og__k_count_shares, og_k_loss, true) \
    row(og__k_shares, og_k_loss, true) \
    row(og__k_links, og_k_links, true) \
    row(og__k_ranks, og_k_ranks, true) \
    row(og__k_add_metrics, og_k_add_metrics, false) \
    row(og__k_pair_dot, og_k_pair, true) \
    row(og__k_pair_product, og_k_pair, false) \
    row(og__k_pair_back, og_k_pair_back, false) \
    row(og__k_pair_kinds, og_k_pair_kinds, false) \
    row(og__k_translated_back, og_k_pair_back, true) \
    row(og__k_translated_kinds, og_k_pair_kinds, true) \
    row(og__k_collect, og_k_places, false) \
    row(og__k_leave, og_k_places, false) \
    row(og__k_enter, og_k_places, false) \
    row(og__k_hop_counts, og_k_hop, false) \
    row(og__k_hop_draw, og_k_hop, false) \
    row(og__k_scan_parts, og_k_scan, false) \
    row(og__k_scan_sums, og_k_scan, false) \
    row(og__k_scan, og_k_scan, false) \
    row(og__k_hop_keys, og_k_number, false) \
    row(og__k_hop_firsts, og_k_number, false) \
    row(og__k_hop_numbers, og_k_number, false)
/* clang-format on */

#define OG__KERNEL_NUMBER(name, args, meets) name##_number,
enum og__kernel_number { OG__KERNELS(OG__KERNEL_NUMBER) OG__N_KERNELS };
extern const struct og_kernel og__kernels[OG__N_KERNELS]; /* by number */

#ifndef __CUDACC__
#define OG__KERNEL_DECLARED(name, args, meets) \
    void name(const void *args_of, const struct og__here *here);
OG__KERNELS(OG__KERNEL_DECLARED)
#endif

/* ---- rows ---- */

/* y[r] = (add ? y[r] : 0) + (s * x)[first + r], for n rows. */
struct og_k_aggregate {
    struct og_sparse s;
    struct og_rows x;
    uint32_t first, n;
    float *y;
    size_t ld;
    bool add;
};
/* y[r] = (add ? y[r] : 0) + x[first + r] as f32 */
struct og_k_widen {
    struct og_rows x;
    uint32_t first, n;
    float *y;
    size_t ld;
    bool add;
};
/* The end of a product: y = bias, ReLU, dropout. Then it is stored in y, gated by y or added to
 * y. */
struct og_k_end {
    uint32_t first, n; /* rows [first, first + n) of the matrix are at made and at y */
    uint32_t cols;
    const float *made; /* may be y */
    size_t ld_made, ld;
    float *y;
    const float *bias;
    bool relu, drops, gated, add;
    float gate_scale;
    struct og_dropout dropout;
};
/* Sums over rows of a column's values, in double. Parts have OG__PART_ROWS rows or more, each
 * summed in row order; then the parts in theirs. */
enum { OG__MOST_PARTS = 64, OG__PART_ROWS = 64 };
enum og__of_column {
    OG__VALUES,  /* y */
    OG__SQUARES, /* (y - mean)^2 */
    OG__SLOPES,  /* g */
    OG__SCALED,  /* g norm(y), norm by column */
    OG__SCALED_BY_ROW,
};
struct og_k_columns {
    enum og__of_column of;
    uint32_t rows, cols, n_parts;
    const float *y, *g, *mean, *rstd;
    const float *row; /* [rows, 2]: mean and rstd of each */
    size_t ld;        /* of y and g */
    double *part;     /* [n_parts, step], of which cols */
    size_t step;
    float *sum; /* out [cols], times `times` */
    double times;
};
static inline uint32_t og__parts_of(uint64_t rows)
{
    const uint64_t n = (rows + OG__PART_ROWS - 1) / OG__PART_ROWS;
    const uint32_t most = OG__MOST_PARTS;
    return n > most ? most : n > 0 ? (uint32_t)n : 1;
}
struct og_k_dot {
    struct og_dot op;
    uint32_t n_parts;
    double *part; /* [n_parts] */
};
struct og_k_update {
    struct og_update op;
    float rate, root, decay, shrink, scale, beta1, beta2, rest1, rest2, epsilon;
};

struct og_k_add { /* to[i] = factor from[i], added to what is there */
    float *to;
    const float *from;
    uint32_t n;
    float factor;
    bool anew; /* nothing is there yet */
};

/* ---- blocks ---- */

struct og_k_scale {
    struct og_block block;
    enum og__aggregate kind;
    uint32_t n;
    float *scale;
};
struct og_k_count_up { /* out[i] = i */
    uint32_t n;
    uint32_t *out;
};
struct og_k_pair_keys { /* key[2 p] = a[p], key[2 p + 1] = b[p] */
    uint32_t n;
    const uint32_t *a, *b;
    uint32_t *key;
};
struct og_k_starts { /* first[r] = number of sorted keys below r, r <= n */
    uint32_t n, n_keys;
    const uint32_t *key;
    uint32_t *first;
};
struct og_k_owners { /* owner[i] = the row of indptr that edge[i] is in */
    uint32_t n_edges, n_rows;
    const uint32_t *indptr, *edge;
    uint32_t *owner;
};

/* ---- attention ---- */

/* score[r, h] = z[r, h] . att[h] */
struct og_k_scores {
    struct og_rows z;
    uint32_t n, heads, width;
    bool shared;
    const float *att;
    float *score;
};
struct og_k_attend {
    struct og_attend op; /* except for block and dropout, which are: */
    struct og_block block;
    struct og_dropout dropout;
    bool drops, thins; /* thins: by dropout, or by weights of the block */
};
struct og_k_attend_back {
    struct og_k_attend forward;
    const float *dy;
    const uint32_t *indptr, *col, *edge;
    float *dscore, *dz;
    float *dz_dst; /* by sums */
    float *from;   /* by ends, [n_src, heads]: gradients of scores of sources */
    uint32_t n_parts;
    double *part; /* [n_parts, 2 F]; by sums [n_parts, F] */
};
struct og_k_fold {
    uint32_t heads, width, n_in;
    const float *att, *weight, *dout;
    float *out, *dweight, *datt;
};
struct og_k_pool_max {
    struct og_block block;
    struct og_rows x;
    float *y;
    uint32_t *from;
};
struct og_k_pool_max_back {
    struct og_pool_max_back op;
};

/* ---- relations ---- */

struct og_k_mix {
    struct og_mix op;
    const float *dmade; /* backward pass: */
    float *dbase, *dweight;
    uint32_t n_parts;
    double *part; /* [n_parts, n_made, n_base] */
};
/* Edges by destination or by source: key[e] and, after sorting, the former index of the i-th. */
struct og_k_blend_sort {
    struct og_block block;
    bool by_source;
    uint32_t *key;         /* [n_edges] out */
    const uint32_t *moved; /* [n_edges] */
    struct og_blend_edge *edge;
};
struct og_k_blend {
    struct og_blend op;
    const float *dz;              /* backward pass: */
    struct og_blend_edges source; /* edges by source */
    float *dx;
    uint32_t n_edges;
    uint32_t *kind;                  /* [n_edges] of each edge by destination */
    const uint32_t *first, *of_kind; /* [n_kinds + 1], [n_edges] edges of each kind */
    uint32_t n_parts;
    double *part; /* [n_parts, n_kinds, n_base] */
};

/* ---- the end of a layer ---- */

struct og_k_finish {
    struct og_finish op; /* except for dropout */
    struct og_dropout dropout;
    bool drops;
    float *g;                     /* backward pass */
    const float *dweight, *dbias; /* batch norm's */
    float *row;                   /* [rows, 2]: layer norm's mean and rstd */
};

/* ---- losses ---- */

/* Blocks of OG__BLOCK_ROWS rows: one thread per row; one of them adds the terms in order. */
struct og_k_loss {
    struct og_loss op;
    struct og_metrics *blocks;
    double *weight; /* [1]: of all terms */
};
struct og_k_links {
    struct og_link_loss op;
    struct og_metrics *blocks;
};
struct og_k_ranks {
    uint32_t n_edges, n_negatives, n_rank_negatives;
    uint32_t n_turns; /* all edges, and again if both of their ends are ranked */
    bool given;       /* negatives that are ends of the edge count */
    const uint32_t *a, *b;
    const float *score;
    struct og_metrics *blocks;
};
struct og_k_add_metrics { /* blocks[0] = the sum of n */
    uint32_t n;
    struct og_metrics *blocks;
};

/* ---- pairs ---- */

struct og_k_pair {
    struct og_pair_op op;
};
struct og_k_pair_back {
    struct og_pair_op forward;
    const float *g;
    bool wide;
    uint32_t n_rows;
    const uint32_t *first, *pair;
    float *dh;
};

struct og_k_pair_kinds {
    struct og_pair_op forward;
    const float *g;
    uint32_t n_kinds;
    const uint32_t *first, *pair;
    float *dby;
};

/* ---- copies of rows (gather/rows.h) ---- */

/* The first tier of x is the device's slots. The other tiers, and the lists, are read and written
 * directly in pinned host memory. `room` has the consecutive rows of a batch. */
struct og_k_places {
    struct og_rows x; /* index: of these n rows, pinned; base: ignored */
    uint32_t n;
    const uint32_t *row;  /* [n] in the buffer; NULL: i */
    const uint32_t *slot; /* [n] of this device */
    char *room;
    char *slots;                            /* this device's; and all devices': */
    const char *slots_of[OG__MOST_KEEPERS]; /* [n_parts] */
    uint32_t n_parts;
};

/* ---- sampling ---- */

struct og_k_hop {
    const uint64_t *first_edge; /* of lists */
    const int32_t *indices32;   /* of edges; or */
    const int64_t *indices64;
    const float *weights;  /* of edges; NULL: no weights */
    const uint32_t *nodes; /* [n_dst] list of each sampling node */
    uint32_t base;         /* to subtract from ids in lists */
    uint32_t n_dst;
    int fanout; /* -1: all */
    /* key of random numbers, with the node */
    uint32_t batch, epoch, place;
    uint64_t seed;
    uint32_t *count;       /* [n_dst] edges of each */
    const uint32_t *start; /* [n_dst] its first edge in node */
    uint32_t *node;        /* [edges] */
    float *weight;         /* [edges] */
};
enum { OG__SCAN_PART = 1024 };
struct og_k_scan { /* out[i] = base + in[0] + ... + in[i - 1]; in and out may be the same */
    uint32_t n, n_parts, base;
    const uint32_t *in;
    uint32_t *out, *part; /* part: [n_parts + 1], the last: base and the sum of all */
};
struct og_k_number {
    uint32_t n_ids, n_edges;
    uint32_t *ids;         /* [n_ids + new ids]; out */
    const uint32_t *node;  /* [n_edges] */
    uint32_t *key, *value; /* [n_ids + n_edges] */
    const uint32_t *sorted, *moved;
    uint32_t *flag;         /* by position: whether it is a node's first */
    const uint32_t *number; /* by position: new nodes before it */
    uint32_t *src;          /* [n_edges] out */
};

/* ---- command and plugin ---- */

/* Hash of each kernel's name and arguments, in their order; command and plugin must agree. */
#define OG__KERNEL_PRINT(name, args, meets) print = og__print(print, #name, sizeof(struct args));
static inline uint64_t og__kernels_print(void)
{
    uint64_t print = og__device_print();
    OG__KERNELS(OG__KERNEL_PRINT)
    return print;
}

#endif
