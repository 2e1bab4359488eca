/* The operators a model is made of, as one table per backend.
 *
 *   ops_cpu.c         row blocks under a thread pool, oneDNN products, vector kernels;
 *                     attention.c, mix.c, blend.c, pool_max.c and finish.c have the operators of
 *                     those names, pairs.c those of links and regression, blocks.c those of
 *                     blocks alone, backend.c what they work with
 *
 * Plain loops in double, written to be read, are in tests/oracles/ops_reference.c: the oracle.
 *
 * A layer is one pass over its output rows, block by block, so that what one operator makes is
 * still in cache when the next one takes it:
 *
 *     rows of x ──aggregate──> tile ──┐
 *     rows of x ──────────────────────┴─> product ──> + bias ──> ReLU ──> dropout ──> y
 *
 * What the operands of an operator say is the host's; what they point to, the rows, numbers and
 * lists, lies in the backend's memory. Only og_metrics that are `out` are the host's: an operator
 * is finished where it has one.
 *
 * Letters as in nn.h. All matrices are row-major f32 without gaps between rows, except inputs,
 * which are seen through og_rows and widened tile by tile. */
#ifndef OG_NN_OPS_H
#define OG_NN_OPS_H

#include "nn/nn.h"

/* Rows a task works on. One oneDNN call each; it decides the order of additions, so it is part of
 * what makes a run reproducible. 64 rows by 256 columns is a tile of 64 KiB: two fit in L2. */
enum { OG__BLOCK_ROWS = 64 };

static inline size_t og__n_blocks(uint64_t rows)
{
    return (size_t)((rows + OG__BLOCK_ROWS - 1) / OG__BLOCK_ROWS);
}

/* A dense matrix as og_rows. */
static inline struct og_rows og__dense(const float *x, uint32_t n, int dim)
{
    return (struct og_rows){.base = (const char *)x,
                            .stride = (size_t)dim * sizeof(float),
                            .n = n,
                            .dim = dim,
                            .dtype = OG_F32};
}

/* ---- operands ---- */

/* A sparse matrix with scaled rows and columns, weighted edges and loops on its diagonal:
 *
 *   (S x)[r] = left[r] * (loop(r) + sum over edges e of row r: w(e) * right[col[e]] * x[col[e]])
 *   loop(r)  = (1 + eps) * right[r] * x[r] for r < n_loops, else 0
 *
 * Scales beyond n_left, n_right are 1. With n_loops > 0 edges on the diagonal are passed over
 * unless `diagonal`: the loop stands for them, as in PyTorch Geometric's add_remaining_self_loops.
 * A block and its transpose are both such matrices, so gradients flow back through the same
 * operator. */
struct og_sparse {
    uint32_t n_rows, n_left, n_right, n_loops;
    const uint32_t *indptr, *col; /* [n_rows + 1], [n_edges] */
    const float *left, *right;    /* [n_left], [n_right] */
    const float *eps;             /* [1]; NULL: 0 */
    bool diagonal;
    const float *weight;  /* w(e) = weight[edge[e]]; NULL: 1 */
    const uint32_t *edge; /* NULL: edge[e] = e */
};

/* A parameter in a product: x W^T on the way forward, x W on the way back. */
enum og__direction { OG__FORWARD, OG__BACKWARD };
struct og_weight {
    const float *value; /* [n_out, n_in] */
    int n_out, n_in;
    void *packed[2]; /* by direction, in the backend's layout; packed_bytes each; NULL: not that */
};

struct og_input {
    struct og_rows x;
    const struct og_sparse *through; /* the operand is through * x; NULL: x itself */
    float *keep;                     /* leave through * x here, [n, dim]; NULL: do not */
    uint32_t n;                      /* rows; beyond them the operand is zero */
    const struct og_weight *weight;  /* NULL: the identity; only in the last input */
    enum og__direction direction;
};

struct og_dropout {
    double p; /* 0 = none; kept elements are scaled by 1 / (1 - p) */
    struct og_step step;
    uint32_t layer;
};

/* ---- operators on blocks ---- */

/* What a layer makes of a destination v and its sources u. */
enum og__aggregate {
    OG__SYMMETRIC,     /* sum of x_u / sqrt(d_u d_v), v among the sources: GCN */
    OG__MEAN,          /* mean of x_u: SAGE */
    OG__MEAN_AND_SELF, /* mean of x_u and x_v: SAGE's gcn */
    OG__SUM_AND_SELF,  /* sum of x_u, and (1 + eps) x_v: GIN */
    OG__WEIGHTED_MEAN, /* sum of w_uv x_u / sum of w_uv: PinSAGE */
    OG__BETWEEN,       /* sum of x_u scaled at either end: GCN from one type to another */
};

/* Scales of a block: [n_dst], [n_src] where sources have degrees (symmetric). Degrees leave out
 * self-edges where a node counts among its own sources. Not of OG__BETWEEN, whose scales the block
 * does not tell: those of destinations, and behind them those of sources.
 *
 * Symmetric: a source that is no destination has no in-edges in the block; its degree is what the
 * block says it would have (then full fanout on a symmetric graph gives exactly the convolution on
 * the whole graph), or, where the block does not say, 0 (then a block is a graph of its own to
 * PyTorch Geometric's GCNConv). */
struct og_scale {
    const struct og_block *block;
    enum og__aggregate kind;
    float *scale; /* out */
};

/* Counting sort of a block's edges by source, destinations ascending within one. */
struct og_transpose {
    const struct og_block *block;
    uint32_t *indptr, *col; /* out [n_src + 1], [n_edges] */
    uint32_t *edge;         /* out [n_edges], which edge of the block each was; or NULL */
};

/* ---- operators on rows ---- */

/* y = act(sum_k input[k] * weight[k] + plus_through * plus + bias)
 *
 * With `gated`, y holds a layer's activations and becomes the gradient before them:
 * y = y > 0 ? gate_scale * result : 0, the derivative of ReLU and dropout together.
 *
 * Tolerance: 1e-5 of the largest magnitude in y. */
#define OG__TOLERANCE_AFFINE 1e-5
struct og_affine {
    uint32_t rows;
    int cols;
    float *y;     /* [rows, cols] */
    int n_inputs; /* 0 to 3; none has more rows than the one before */
    struct og_input input[3];
    const struct og_sparse *plus_through; /* or NULL */
    struct og_rows plus;
    const float *bias; /* [cols] or NULL */
    bool relu;
    const struct og_dropout *dropout; /* or NULL */
    bool gated;
    float gate_scale;
    int ld;   /* elements from a row of y to the next; 0: cols */
    bool add; /* to what y holds; neither relu nor dropout then */
};

/* grad[k] = dy^T * input[k] and bias_grad = column sums of dy, over `rows` rows.
 * Tolerance: 1e-5 of the largest magnitude in the gradient. */
#define OG__TOLERANCE_WEIGHT_GRAD 1e-5
struct og_weight_grad {
    uint32_t rows;
    int n_out;
    const float *dy; /* [rows, n_out] */
    int ld;          /* elements from a row of dy to the next; 0: n_out */
    int n_inputs;    /* 0, 1, 2 */
    struct og_rows input[2];
    float *grad[2];   /* [n_out, input.dim] */
    float *bias_grad; /* [n_out] or NULL */
};

/* out = sum over rows of a[r] . x[r].
 * Tolerance: 1e-5 of the sum of magnitudes. */
#define OG__TOLERANCE_DOT 1e-5
struct og_dot {
    uint32_t rows;
    const float *a; /* [rows, x.dim] */
    struct og_rows x;
    float *out; /* [1] */
};

/* ---- attention over a destination's sources, itself among them ----
 *
 *   alpha(v, ., h) = softmax of score(v, u, h) over the sources u of v
 *   y[v, h]        = sum over u of alpha(v, u, h) z[u, h]
 *
 *   scoring        score(v, u, h), slope 0.2
 *   OG__BY_ENDS    leaky_relu(z[u, h] . att_src[h] + z[v, h] . att_dst[h])     GAT
 *   OG__BY_SUMS    att_src[h] . leaky_relu(z[u, h] + z_dst[v, h])              GATv2
 *
 * h counts heads. A row of z has a part for each head, or, with `shared`, is the same for all. What
 * heads make lies side by side, or is averaged; then come bias and, with `add`, what y held. Every
 * destination is a source of its own by a loop that stands for its edges on the diagonal; not where
 * they are `apart` from the sources: there what no edge leads to attends to nothing, and by ends
 * score_dst, z[v, h] . att_dst[h], is given, and att_dst is not looked at. By sums scores have no
 * arrays of their own, and rows are not shared.
 * Coefficients lie by destination, each one's edges and then its loop: those of edge e of v at
 * (e + v) * heads, those of the loop at (indptr[v + 1] + v) * heads. With dropout some of them
 * count for nothing and the rest for more: y is of those, `alpha` still of all. Tolerance: 1e-5 of
 * the largest magnitude in y. */
#define OG__TOLERANCE_ATTEND 1e-5
#define OG__LEAK             0.2f
enum { OG__MAX_HEADS = 64 };
enum og__scoring { OG__BY_ENDS, OG__BY_SUMS };
struct og_attend {
    const struct og_block *block;
    enum og__scoring scoring;
    int heads, width; /* F = heads * width */
    bool shared, average, add, apart;
    struct og_rows z;                 /* [n_src, shared ? width : F] */
    const float *z_dst;               /* [n_dst, F]; by sums */
    const float *att_src, *att_dst;   /* [F]; att_dst: by ends */
    const float *bias;                /* of a row of y, or NULL */
    float *score_src, *score_dst;     /* out [n_src, heads], [n_dst, heads]; by ends */
    float *alpha;                     /* out [n_edges + n_dst, heads] */
    const struct og_dropout *dropout; /* of alpha, or NULL */
    float *dropped;                   /* out, as alpha: what dropout leaves of it */
    float *y;                         /* out [n_dst, average ? width : F] */
};

/* The way back. dz may be where z is, and dscore where `dropped` is. By ends score_dst becomes the
 * gradient of itself; with dropout, alpha is overwritten.
 * Tolerance: 1e-5 of the largest magnitude in each gradient. */
#define OG__TOLERANCE_ATTEND_BACK 1e-5
struct og_attend_back {
    const struct og_attend *forward;
    const float *dy;
    const uint32_t *indptr, *col, *edge; /* the transposed block */
    float *dscore;                       /* scratch, as alpha */
    float *dz;                           /* out, as z; NULL: not wanted */
    float *dz_dst;                       /* out, as z_dst; by sums */
    float *datt_src, *datt_dst;          /* out [F]; datt_dst: by ends, not where apart */
};

/* Vectors through the rows of a matrix that belong to their heads:
 *
 *   out[h] = sum over c of att[h, c] weight[h, c]
 *
 * so that x . out[h] = (x weight[h]^T) . att[h]: scores without the product.
 * Tolerance: 1e-5 of the largest magnitude in out. */
#define OG__TOLERANCE_FOLD 1e-5
struct og_fold {
    int heads, width, n_in;
    const float *att;    /* [heads, width] */
    const float *weight; /* [heads * width, n_in] */
    float *out;          /* [heads, n_in] */
};
struct og_fold_back {
    const struct og_fold *forward;
    const float *dout; /* [heads, n_in] */
    float *dweight;    /* added to */
    float *datt;       /* out */
};

/* ---- rows to places: to[place[i]] = x[i], as f32. Exact; no place is there twice. ---- */
struct og_put {
    struct og_rows x; /* [n, dim] */
    uint32_t n;
    const uint32_t *place; /* [n] */
    float *to;             /* rows of dim; those of other places stay */
};

/* ---- matrices that are mixed of others ----
 *
 *   made[k] = sum over b of weight[row[k], b] base[b]       n numbers each
 *
 * R-GCN's bases. Added up in the order of b. Tolerance: 1e-5 of the largest magnitude in made. */
#define OG__TOLERANCE_MIX 1e-5
enum { OG__MOST_MIXED = 8 }; /* at a time */
struct og_mix {
    uint32_t n_made, n_base; /* n_made <= OG__MOST_MIXED */
    size_t n;
    uint32_t row[OG__MOST_MIXED]; /* [n_made] */
    const float *weight;          /* rows of n_base */
    const float *base;            /* [n_base, n] */
    float *made;                  /* out [n_made, n] */
};
/* The way back, in the order of k. */
struct og_mix_back {
    const struct og_mix *forward; /* `made` is not looked at */
    const float *dmade;           /* [n_made, n] */
    float *dbase;                 /* [n_base, n], added to */
    float *dweight;               /* as weight: out, the rows `row` of it */
    float *partial;               /* scratch, [og__mix_parts(n), n_made, n_base] */
};
size_t og__mix_parts(size_t n);

/* ---- rows that are blended along the edges, by a few coefficients of each relation ----
 *
 *   z[v, b] = sum over edges e of v: scale(e) weight[kind(e), b] x[row(e)]
 *
 * R-GCN's bases, before they are multiplied. An edge has the relation that it is of, and one over
 * the number of edges in its list. Tolerance: 1e-5 of the largest magnitude in z. */
#define OG__TOLERANCE_BLEND 1e-5
struct og_blend_edge {
    uint32_t row, to, kind; /* whose row is added, to which, its relation */
    float scale;
};
struct og_blend_edges {
    uint32_t n_rows;
    uint32_t *first; /* [n_rows + 1] */
    struct og_blend_edge *edge;
};
/* The edges of a block by destination: those of a row in the order of the block. */
struct og_blend_sort {
    const struct og_block *block;
    struct og_blend_edges out; /* [n_dst], [n_edges] */
};
struct og_blend {
    struct og_blend_edges edges; /* by destination */
    uint32_t n_src, n_kinds, n_base;
    int dim;
    const float *weight; /* [n_kinds, n_base] */
    const float *x;      /* [n_src, dim] */
    float *z;            /* out [n_dst, n_base, dim] */
};
/* The way back, to the coefficients and to the rows. Forward's z is not looked at.
 * Tolerance: 1e-5 of the largest magnitude in each gradient. */
struct og_blend_weights {
    const struct og_blend *forward;
    uint64_t n_edges;
    const float *dz;
    float *dweight; /* out, as weight; partial sums: of blend_columns columns over destinations */
};
enum { OG__BLEND_LANES = 16 };
static inline size_t og__blend_columns(size_t n_kinds, int n_base)
{
    return n_kinds * (size_t)n_base * OG__BLEND_LANES;
}
struct og_blend_rows {
    const struct og_blend *forward;
    const struct og_block *block;
    struct og_blend_edges turned; /* scratch, [n_src], [n_edges]: as the backend wants them */
    const float *dz;
    float *dx; /* out, as x */
};

/* ---- the largest of the neighbours, element by element ----
 *
 * y[v] = max over edges of x[source], 0 without one; `from` says which source, the first of
 * equals. On the way back x is what a ReLU made and becomes the gradient before it. Exact. */
enum { OG__NOWHERE = UINT32_MAX };
struct og_pool_max {
    const struct og_block *block;
    struct og_rows x; /* [n_src, dim], f32 */
    float *y;         /* [n_dst, dim] */
    uint32_t *from;   /* [n_dst, dim] or NULL */
};
/* Tolerance: 1e-5 of the largest magnitude in the gradient. */
#define OG__TOLERANCE_POOL_MAX_BACK 1e-5
struct og_pool_max_back {
    uint32_t n_src;
    int dim;
    float *x;                     /* [n_src, dim]: in what was pooled, out its gradient */
    const float *dy;              /* [n_dst, dim] */
    const uint32_t *from;         /* [n_dst, dim] */
    const uint32_t *indptr, *col; /* the transposed block */
};

/* ---- the end of a hidden layer: h = dropout(unit(act(norm(y)))) ----
 *
 *   batch norm   (y - mean) rstd weight + bias, mean and rstd of each column
 *   layer norm   the same with mean and rstd of each row
 *   unit         rows are divided by their length; rows of zeros stay
 *
 * rstd = 1 / sqrt(variance + OG__NORM_EPS). Tolerance: 1e-5 of the largest magnitude. */
#define OG__NORM_EPS         1e-5f
#define OG__TOLERANCE_FINISH 1e-5
enum og__activation { OG__RELU, OG__ELU }; /* ELU: exp(z) - 1 where z < 0 */
struct og_finish {
    uint32_t rows;
    int cols;
    int norm;                   /* enum og_norm_kind */
    const float *weight, *bias; /* [cols] of the norm */
    const float *mean, *rstd;   /* [cols]; batch norm */
    enum og__activation activation;
    bool unit;
    const struct og_dropout *dropout; /* or NULL */
    const float *y;                   /* [rows, cols] */
    float *h;                         /* [rows, cols], may be y */
};
/* The way back. The mean and rstd of batch norm are those of these very rows: their slopes count.
 * Tolerance: 1e-5 of the largest magnitude in each gradient. */
#define OG__TOLERANCE_FINISH_BACK 1e-5
struct og_finish_back {
    const struct og_finish *forward;
    float *g;               /* in dh, out dy */
    float *dweight, *dbias; /* out [cols]; NULL without norm */
};
/* Mean and variance (over n, not n - 1) of each column.
 * Tolerance: 1e-5 of the largest magnitude. */
#define OG__TOLERANCE_MOMENTS 1e-5
struct og_moments {
    uint32_t rows;
    int cols;
    const float *y;    /* [rows, cols] */
    float *mean, *var; /* out [cols] */
};

/* Statistics of a batch into the running ones, as PyTorch's BatchNorm1d: a tenth of each batch,
 * with its variance over n - 1. */
struct og_track {
    uint32_t rows; /* of the batch */
    int cols;
    const float *mean, *var;                   /* [cols] of the batch */
    float *running_mean, *running_var, *count; /* [cols], [cols], [1]; count: batches */
};
struct og_rstd {
    int cols;
    const float *var; /* [cols] */
    float *rstd;      /* out [cols]; may be var */
};

/* Loss summed over counted rows, the gradient of its mean, and what the metrics count. Softmax
 * cross-entropy: labels int32 [rows], outside [0, cols) = not counted. Sigmoid: labels f32 [rows,
 * cols], the mean goes over all elements. Tolerance: 1e-6 relative for the loss, 1e-6 of 1 /
 * counted for the gradient. */
#define OG__TOLERANCE_LOSS 1e-6
struct og_loss {
    uint32_t rows;
    int cols;
    const float *logits; /* [rows, cols] */
    const void *labels;
    float *grad;               /* [rows, cols] or NULL */
    struct og_metrics *blocks; /* scratch, [og__n_blocks(rows)] */
    struct og_metrics *out;
};

/* Losses of the values that are there (labels f32 [rows, cols], NaN = none): their sum, and the
 * gradient of their mean. A row counts if it has a value.
 * Tolerance: 1e-6 relative for the loss, 1e-6 of 1 / values for the gradient. */
struct og_value_loss {
    struct og_loss rows;
    int loss; /* enum og_loss_kind: one of values (tasks.h) */
};

/* ---- pairs of rows: links ----
 *
 * Pair p is of rows a[p] and b[p] of h. Where pairs are of kinds, each kind weighs the elements of
 * the product: DistMult. */
struct og_pair_op {
    uint32_t n;            /* pairs */
    const uint32_t *a, *b; /* [n] */
    int dim;
    const float *h; /* rows of dim */
    float *out;     /* pair_dot: [n], h[a] . h[b]; pair_product: [n, dim], h[a] h[b] by element */
    const uint32_t *kind; /* [n] or NULL; of pair_dot and its way back */
    const float *by;      /* rows of dim: kind k weighs by row k */
};
/* Which pairs each row is in, in their order: those of row r are pair[first[r]] to
 * pair[first[r + 1]], each 2 p where r is a[p] and 2 p + 1 where it is b[p]. */
struct og_pair_list {
    uint32_t n, n_rows;
    const uint32_t *a, *b; /* [n] */
    uint32_t *first;       /* out [n_rows + 1] */
    uint32_t *pair;        /* out [2 n] */
};
/* dh[r] = sum over the pairs that r is in, in their order, of g times the other row; g is [n], or
 * with `wide` [n, dim] by element. `first` and `pair`: an og_pair_list's.
 * Tolerance of the three: 1e-5 of the largest magnitude. */
#define OG__TOLERANCE_PAIR 1e-5
struct og_pair_back {
    const struct og_pair_op *forward;
    const float *g;
    bool wide;
    uint32_t n_rows;
    const uint32_t *first, *pair;
    float *dh; /* out [n_rows, dim] */
};

/* dby[k] = sum over pairs of kind k, in their order, of g h[a] h[b] by element: those are pair[i],
 * i from first[k] to first[k + 1]. Tolerance: as above. */
struct og_pair_kinds {
    const struct og_pair_op *forward;
    const float *g; /* [n] */
    uint32_t n_kinds;
    const uint32_t *first, *pair;
    float *dby; /* out [n_kinds, dim] */
};

/* Scores of n_edges edges, and behind them those of each edge's `each` negatives in turn.
 *   bce     half the mean of log(1 + exp(-s)) over edges and half that of log(1 + exp(s)) over
 *           negatives: many negatives must not drown the edges
 *   margin  mean over negatives of max(0, 1 - s(edge) + s(negative))
 * Fills loss_sum, counted, compared and twice_ordered. Tolerance: as above. */
struct og_link_loss {
    uint32_t n_edges, each;
    int loss; /* enum og_loss_kind: one of pairs (tasks.h) */
    const float *score;
    float *grad; /* as score, or NULL */
    struct og_metrics *out;
};

/* Ranks of edges, or of both of their ends, among their rivals (sample/pairs.h), from 1; those as
 * high count half. A rival that is an end of the edge is none. Fills ranked, reciprocal_ranks and
 * hits. */
struct og_rank {
    const struct og_pairs *pairs;
    const float *score;
    struct og_metrics *out; /* added to */
};

/* One step on n parameters at once. Adam: rate = lr / (1 - beta1^t), root = sqrt(1 - beta2^t).
 * Tolerance: 1e-6 relative. */
#define OG__TOLERANCE_UPDATE 1e-6
struct og_update {
    size_t n;
    float *value, *m, *v; /* m, v: Adam only */
    const float *grad;
    double rate, root, weight_decay;
};

struct og_nn_backend;
struct og_elsewhere;
struct og_topology;

/* A kernel that cannot fail, as the table has it: kernel_op. */
#define OG__NEVER_FAILS(kernel, operands)                                       \
    static int kernel##_op(struct og_nn_backend *be, const struct operands *op, \
                           struct og_err *err)                                  \
    {                                                                           \
        (void)err;                                                              \
        kernel(be, op);                                                         \
        return 0;                                                               \
    }

/* The largest of what operators are given: columns of a matrix, its rows, heads, entries of a list
 * to be turned round, and rows or edges whose loss or rank is counted. */
struct og_most {
    int width, heads;
    uint64_t rows, keys, counted;
    uint64_t coefficients; /* of relations, which are summed along edges; 0: none */
};

/* Rows of features that stay where backends compute: slots of a cache, and rooms, in each of which
 * the rows of a batch lie one behind the other. Rows come out of all tiers at once: slots, and what
 * of the host's memory was pinned for it.
 *
 *   slots ───┐                                              (1) moves, before they are overwritten:
 *   host  ───┼─> collect ─> room ─> the model                   slots ─> the host's places
 *   staging ─┘                └──> slots                    (2) entries
 *
 * Several devices are one cache: of n the slot of place p is number p / n of device p modulo n.
 * Each has rooms of its own, and reads what others have.
 *
 * One thread brings rows, while others compute. */
struct og_rows_there;
enum {
    OG__MOST_ROOMS = 3,    /* of a device: one is trained on, one is full, one is being filled */
    OG__MOST_KEEPERS = 16, /* devices */
};
struct og_rows_setup {
    uint32_t n_slots;   /* of all devices */
    int n_rooms;        /* of each */
    uint64_t room_rows; /* of the largest batch; more are taken when one has more */
    size_t row_bytes;
};
struct og_bringing {
    int room;         /* number r of device k is k * OG__MOST_ROOMS + r */
    struct og_rows x; /* base: NULL stands for slots; their places, and then those of the host */
    uint32_t n_moves;
    const uint32_t *move_from, *move_to; /* [n_moves] slots; the host's places */
    uint32_t n_entries;
    const uint32_t *entry_row, *entry_slot; /* [n_entries] rows of the batch; slots */
};
struct og_brought {
    struct og_rows rows;                  /* in the room */
    uint64_t link_bytes, link_bytes_back; /* of rows, over the link */
    uint64_t peer_hits;                   /* rows of the batch that another device had */
    uint64_t peer_bytes;                  /* of those, and of rows that entered another's slots */
};
struct og_rows_ops {
    /* On n backends, each of a device of its own; in their order. */
    int (*open)(struct og_rows_there **out, struct og_nn_backend *const *be, int n,
                const struct og_rows_setup *setup, struct og_err *err);
    void (*close)(struct og_rows_there *t); /* NULL: nothing */
    /* What it takes of the memory of each of n backends, and of the host's for each (which is not
     * counted by it). */
    size_t (*bytes)(const struct og_rows_setup *setup, int n);
    size_t (*host_bytes)(void);
    /* Memory of the host that rows may come from. */
    void *(*pin)(struct og_rows_there *t, size_t bytes, struct og_err *err);
    void (*unpin)(struct og_rows_there *t, void *p, size_t bytes);
    /* Another backend of device number `part`: its operators look at rows in rooms, too. */
    int (*join)(struct og_rows_there *t, int part, struct og_nn_backend *be, struct og_err *err);
    /* n rows, one behind the other in pinned memory, into slots; done when it returns. */
    int (*fill)(struct og_rows_there *t, const char *rows, const uint32_t *slot, uint32_t n,
                struct og_err *err);
    /* Ask for it: arrays that are not pinned are copied, pinned rows are left alone until `wait` of
     * the room; so long the host's places that moves go to are not there either. */
    int (*bring)(struct og_rows_there *t, const struct og_bringing *b, struct og_brought *out,
                 struct og_err *err);
    int (*wait)(struct og_rows_there *t, int room, struct og_err *err);
    int (*finish)(struct og_rows_there *t, struct og_err *err); /* all that was asked */
    /* Seconds of the first device's link so far, where they are a model's; 0: it takes what it
     * takes. */
    double (*link_seconds)(const struct og_rows_there *t);
    /* What this backend, one of those that were opened on or joined, was asked so far is the last
     * to look at the room. By who computes. */
    int (*used)(struct og_rows_there *t, int room, struct og_nn_backend *be, struct og_err *err);
};

/* Uniform sampling there, to the samples of the processors (nn/device/sampler.h). */
struct og_device_sampler;
struct og_sampling_ops {
    /* pinned: neighbours stay where the host has them, as long as it is open. */
    int (*open)(struct og_device_sampler **out, struct og_nn_backend *be,
                const struct og_topology *t, bool pinned, struct og_err *err);
    void (*close)(struct og_device_sampler *d); /* NULL: nothing */
    const struct og_elsewhere *(*hops)(const struct og_device_sampler *d);
    /* What it takes of the backend's memory, for batches of so many nodes and hops of so many
     * edges.
     */
    size_t (*bytes)(const struct og_topology *t, bool pinned, uint64_t ids, uint64_t edges);
};

struct og_sums_ops;
struct og_nn_ops {
    const char *name;
    const struct og_sampling_ops *samplers; /* NULL: the processors' */
    const struct og_rows_ops *rows;         /* NULL: the host's memory is where it computes */
    const struct og_sums_ops *sums;         /* nn/sums.h; NULL: the hosts add */

    /* ---- a backend ----
     *
     * On the device of that number (processors have none), and on the threads of `pool` (NULL: the
     * caller's alone); what it takes of the host's memory while it works, own_bytes, comes from
     * `b`. */
    int (*open)(struct og_nn_backend **out, int number, struct og_pool *pool, struct og_budget *b,
                struct og_err *err);
    void (*close)(struct og_nn_backend *be); /* NULL: nothing */
    size_t (*own_bytes)(int threads);
    /* What it takes of its own memory besides what is asked of it; NULL: nothing, or the host's. */
    size_t (*own_there)(void);
    /* Of a device's memory, what is free before it is opened; 0: not known. NULL: the host's. */
    size_t (*free_there)(int number);
    /* Where all that operators read and write lies; no one but they, fetch and push touches it.
     * Fetch is done when it returns; what was pushed is there for all that comes behind it. */
    struct og_memory (*memory)(const struct og_nn_backend *be);
    int (*fetch)(struct og_nn_backend *be, void *host, const void *there, size_t bytes,
                 struct og_err *err);
    int (*push)(struct og_nn_backend *be, void *there, const void *host, size_t bytes,
                struct og_err *err);
    /* What is there becomes zeros; the numbers 0, 1, 2 ... When operators asked for before are
     * through, and before those behind. */
    int (*clear)(struct og_nn_backend *be, void *there, size_t bytes, struct og_err *err);
    int (*number)(struct og_nn_backend *be, uint32_t *there, uint32_t n, struct og_err *err);
    /* No more of its own memory than so many bytes, unless it has taken more already; 0: no bound.
     */
    int (*bound)(struct og_nn_backend *be, size_t bytes, struct og_err *err);
    /* What it is asked from now on waits for rows that are on their way (og_rows). */
    int (*await)(struct og_nn_backend *be, struct og_event *comes, struct og_err *err);
    /* Room for a copy of so many bytes of the host's; 0: the host's memory will do. */
    size_t (*room_bytes)(size_t bytes);
    /* x->n of the host's rows, one behind the other; where room_bytes says 0 there is no need. */
    int (*gather)(struct og_nn_backend *be, const struct og_rows *x, void *out, struct og_err *err);
    /* What its caller gives it until told otherwise: scratch for operators on no more than `of`,
     * and room for partial sums: that of the weight_grad or sum of columns over rows with the most.
     */
    void (*set_scratch)(struct og_nn_backend *be, char *scratch, size_t scratch_bytes,
                        float *partial);
    size_t (*scratch_bytes)(const struct og_most *of, int threads);
    size_t (*partial_bytes)(uint64_t rows, int n_out, uint64_t n_in_total);
    size_t (*column_bytes)(uint64_t rows, size_t columns);
    size_t (*packed_bytes)(int n_out, int n_in); /* of a weight in its layout */

    /* ---- operators: 0, or why not: memory, a library, a device ---- */

    /* Bring the weights into the backend's layout; after every change of value. */
    int (*pack)(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err);
    int (*scale)(struct og_nn_backend *be, const struct og_scale *op, struct og_err *err);
    int (*transpose)(struct og_nn_backend *be, const struct og_transpose *op, struct og_err *err);
    int (*affine)(struct og_nn_backend *be, const struct og_affine *op, struct og_err *err);
    int (*weight_grad)(struct og_nn_backend *be, const struct og_weight_grad *op,
                       struct og_err *err);
    int (*dot)(struct og_nn_backend *be, const struct og_dot *op, struct og_err *err);
    int (*attend)(struct og_nn_backend *be, const struct og_attend *op, struct og_err *err);
    int (*attend_back)(struct og_nn_backend *be, const struct og_attend_back *op,
                       struct og_err *err);
    int (*fold)(struct og_nn_backend *be, const struct og_fold *op, struct og_err *err);
    int (*fold_back)(struct og_nn_backend *be, const struct og_fold_back *op, struct og_err *err);
    int (*put)(struct og_nn_backend *be, const struct og_put *op, struct og_err *err);
    int (*mix)(struct og_nn_backend *be, const struct og_mix *op, struct og_err *err);
    int (*mix_back)(struct og_nn_backend *be, const struct og_mix_back *op, struct og_err *err);
    int (*blend)(struct og_nn_backend *be, const struct og_blend *op, struct og_err *err);
    int (*blend_sort)(struct og_nn_backend *be, const struct og_blend_sort *op, struct og_err *err);
    int (*blend_weights)(struct og_nn_backend *be, const struct og_blend_weights *op,
                         struct og_err *err);
    int (*blend_rows)(struct og_nn_backend *be, const struct og_blend_rows *op, struct og_err *err);
    int (*pool_max)(struct og_nn_backend *be, const struct og_pool_max *op, struct og_err *err);
    int (*pool_max_back)(struct og_nn_backend *be, const struct og_pool_max_back *op,
                         struct og_err *err);
    int (*moments)(struct og_nn_backend *be, const struct og_moments *op, struct og_err *err);
    int (*track)(struct og_nn_backend *be, const struct og_track *op, struct og_err *err);
    int (*rstd)(struct og_nn_backend *be, const struct og_rstd *op, struct og_err *err);
    int (*finish)(struct og_nn_backend *be, const struct og_finish *op, struct og_err *err);
    int (*finish_back)(struct og_nn_backend *be, const struct og_finish_back *op,
                       struct og_err *err);
    int (*softmax_loss)(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err);
    int (*sigmoid_loss)(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err);
    int (*value_loss)(struct og_nn_backend *be, const struct og_value_loss *op, struct og_err *err);
    int (*pair_dot)(struct og_nn_backend *be, const struct og_pair_op *op, struct og_err *err);
    int (*pair_product)(struct og_nn_backend *be, const struct og_pair_op *op, struct og_err *err);
    int (*pair_list)(struct og_nn_backend *be, const struct og_pair_list *op, struct og_err *err);
    int (*pair_back)(struct og_nn_backend *be, const struct og_pair_back *op, struct og_err *err);
    int (*pair_kinds)(struct og_nn_backend *be, const struct og_pair_kinds *op, struct og_err *err);
    int (*link_loss)(struct og_nn_backend *be, const struct og_link_loss *op, struct og_err *err);
    int (*rank)(struct og_nn_backend *be, const struct og_rank *op, struct og_err *err);
    int (*adam)(struct og_nn_backend *be, const struct og_update *op, struct og_err *err);
    int (*sgd)(struct og_nn_backend *be, const struct og_update *op, struct og_err *err);
};

#endif
