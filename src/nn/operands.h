/* Operands of the operators that models are made of (nn/ops.h). Each has a struct, the formula that
 * is computed, and its tolerance.
 *
 * The structs are in host memory. Their pointers to rows, numbers and lists are in the backend's
 * memory. Only og_metrics that are `out` are the host's; an operator with one is finished when it
 * returns.
 *
 * Letters as in nn.h. All matrices are row-major f32 without gaps between rows. Inputs are an
 * exception: they are og_rows and widened tile by tile.
 *
 * By og_compute_kind the operands of matrix products are rounded, tile by tile. Sums, `keep`, bias
 * and all other operators are f32. */
#ifndef OG_NN_OPERANDS_H
#define OG_NN_OPERANDS_H

#include "nn/nn.h"

/* Rows of a task, one oneDNN call each. It decides the order of additions, and thus the results. 64
 * rows by 256 columns is a tile of 64 KiB: two fit in L2. */
enum { OG__BLOCK_ROWS = 64 };

static inline size_t og__n_blocks(uint64_t rows)
{
    return (size_t)((rows + OG__BLOCK_ROWS - 1) / OG__BLOCK_ROWS);
}

/* View a dense matrix as og_rows. */
static inline struct og_rows og__dense(const float *x, uint32_t n, int dim)
{
    return (struct og_rows){.base = (const char *)x,
                            .stride = (size_t)dim * sizeof(float),
                            .n = n,
                            .dim = dim,
                            .dtype = OG_F32};
}

/* ---- operands ---- */

/* A sparse matrix with scaled rows and columns, weighted edges, and loops on its diagonal:
 *
 *     (S x)[r] = left[r] * (loop(r) + sum over edges e of row r: w(e) * right[col[e]] * x[col[e]])
 *     loop(r)  = (1 + eps) * loop[r] * right[r] * x[r] for r < n_loops, else 0
 *
 * Scales beyond n_left, n_right are 1. With n_loops > 0 edges on the diagonal are skipped unless
 * `diagonal`: the loop replaces them, as in PyTorch Geometric's add_remaining_self_loops. A block
 * and its transpose are both such matrices, so the backward pass uses the same operator. */
struct og_sparse {
    uint32_t n_rows, n_left, n_right, n_loops;
    const uint32_t *indptr, *col; /* [n_rows + 1], [n_edges] */
    const float *left, *right;    /* [n_left], [n_right] */
    const float *eps;             /* [1]; NULL: 0 */
    bool diagonal;
    const float *loop;    /* [n_loops]; NULL: 1 */
    const float *weight;  /* w(e) = weight[edge[e]]; NULL: 1 */
    const uint32_t *edge; /* NULL: edge[e] = e */
};

/* A parameter in a product: x W^T in the forward pass, x W in the backward pass. */
enum og__direction { OG__FORWARD, OG__BACKWARD };
enum { OG__MOST_INPUTS = 5 }; /* of one affine operator */
struct og_weight {
    const float *value; /* [n_out, n_in] */
    int n_out, n_in;
    void *packed[2]; /* by direction, in the backend's layout; packed_bytes each; NULL: no such
                        product */
    /* Multiplies sparse rows: packed[OG__FORWARD] is the transpose, and a product adds its rows of
     * the entries. */
    bool by_column;
};

struct og_input {
    struct og_rows x;
    const struct og_sparse *through; /* the operand is through * x; NULL: x itself */
    float *keep;                     /* out: through * x, [n, dim]; or NULL */
    uint32_t n;                      /* rows; the operand is zero beyond them */
    const struct og_weight *weight;  /* NULL: the identity; only in the last input */
    enum og__direction direction;
};

struct og_dropout {
    double p; /* 0 = none; kept elements are scaled by 1 / (1 - p) */
    struct og_step step;
    uint32_t layer;
};

/* ---- operators on blocks ---- */

/* Aggregation of the sources u of a destination v. If the block has weights, x_u is times w_uv. */
enum og__aggregate {
    OG__SYMMETRIC,     /* sum of x_u / sqrt(d_u d_v), v among the sources: GCN */
    OG__MEAN,          /* mean of x_u: SAGE */
    OG__MEAN_AND_SELF, /* mean of x_u and x_v: SAGE's gcn */
    OG__SUM_AND_SELF,  /* sum of x_u, and (1 + eps) x_v: GIN */
    OG__WEIGHTED_MEAN, /* sum of w_uv x_u / sum of w_uv: PinSAGE, SAGE's mean of weights */
    OG__BETWEEN,       /* sum of x_u scaled at both ends: GCN between two types */
};

/* Scales of a block: [n_dst], or [n_src] if sources have degrees (symmetric). Degrees exclude
 * self-edges if a node is among its own sources. Not for OG__BETWEEN, whose scales are not in the
 * block: those of destinations, then those of sources.
 *
 * Symmetric: a source that is no destination has no in-edges in the block. Its degree is the one
 * stored in the block. Full fanout on a symmetric graph then equals the convolution on the whole
 * graph. Without a stored degree it is 0. Then a block is a graph of its own, as in PyTorch
 * Geometric's GCNConv. With mean_weight and loop_weight, k edges make a degree of loop_weight + k
 * mean_weight, and the scale of degree 0 is 0. */
struct og_scale {
    const struct og_block *block;
    enum og__aggregate kind;
    float *scale; /* out */
};

/* Counting sort of a block's edges by source; destinations of a source ascend. */
struct og_transpose {
    const struct og_block *block;
    uint32_t *indptr, *col; /* out [n_src + 1], [n_edges] */
    uint32_t *edge;         /* out [n_edges], the edge of the block; or NULL */
};

/* ---- operators on rows ---- */

/* y = act(sum_k input[k] * weight[k] + plus_through * plus + bias)
 *
 * With `gated`, y has a layer's activations and is replaced by the gradient before them. It becomes
 * y > 0 ? gate_scale * result : 0, the derivative of ReLU and dropout together.
 *
 * Tolerance: 1e-5 of the largest magnitude in y. */
#define OG__TOLERANCE_AFFINE 1e-5
struct og_affine {
    uint32_t rows;
    int cols;
    float *y;     /* [rows, cols] */
    int n_inputs; /* rows never increase from one to the next */
    struct og_input input[OG__MOST_INPUTS];
    const struct og_sparse *plus_through; /* or NULL */
    struct og_rows plus;
    const float *bias; /* [cols] or NULL */
    bool relu;
    const struct og_dropout *dropout; /* or NULL */
    bool gated;
    float gate_scale;
    int ld;   /* elements from a row of y to the next; 0: cols */
    bool add; /* to the former y; then without relu and dropout */
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
 *     alpha(v, ., h) = softmax of score(v, u, h) over the sources u of v
 *     y[v, h]        = sum over u of alpha(v, u, h) z[u, h]
 *
 *     scoring        score(v, u, h), slope 0.2
 *     OG__BY_ENDS    leaky_relu(z[u, h] . att_src[h] + z[v, h] . att_dst[h])     GAT
 *     OG__BY_SUMS    att_src[h] . leaky_relu(z[u, h] + z_dst[v, h])              GATv2
 *
 * h is the head. A row of z has a part per head or, with `shared`, one for all heads. Outputs of
 * heads are concatenated, or averaged. Then bias and, with `add`, the former y are added. Every
 * destination is its own source by a loop, which replaces its edges on the diagonal.
 *
 * With `apart`, destinations are not among the sources and have no loops. A destination without
 * edges then attends to nothing. By ends, score_dst = z[v, h] . att_dst[h] is then an input, and
 * att_dst is ignored. By sums scores have no arrays of their own, and rows are not shared.
 *
 * With `by_edge`, each coefficient has a term of its own inside the leaky ReLU.
 * It is a number per head by ends, a row of F by sums. The forward pass adds that of the
 * destination to it. Backends without the operator edge_fill have no such terms.
 *
 * Coefficients are ordered by destination: its edges, then its loop. That of edge e of v is at (e +
 * v) * heads, that of the loop at (indptr[v + 1] + v) * heads. With dropout some are zero and the
 * rest scaled up. If the block has weights each edge's is multiplied by its weight. Then y uses
 * these, and `alpha` has the originals. Tolerance: 1e-5 of the largest magnitude in y. */
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
    float *by_edge;                   /* [n_edges + n_dst, heads or F]; or NULL */
    float *alpha;                     /* out [n_edges + n_dst, heads] */
    const struct og_dropout *dropout; /* of alpha, or NULL */
    float *dropped;                   /* out, as alpha: alpha after dropout and weights */
    float *y;                         /* out [n_dst, average ? width : F] */
};

/* Backward pass of attention. dz may be z, and dscore may be `dropped`. By ends score_dst becomes
 * its own gradient; with dropout or weights, alpha is overwritten. The gradient of by_edge is
 * dscore by ends; by sums it replaces by_edge. Tolerance: 1e-5 of the largest magnitude in each
 * gradient. */
#define OG__TOLERANCE_ATTEND_BACK 1e-5
struct og_attend_back {
    const struct og_attend *forward;
    const float *dy;
    const uint32_t *indptr, *col, *edge; /* the transposed block */
    float *dscore;                       /* scratch, as alpha */
    float *dz;                           /* out, as z; NULL: skipped */
    float *dz_dst;                       /* out, as z_dst; by sums */
    float *datt_src, *datt_dst;          /* out [F]; datt_dst: by ends, not if apart */
};

/* Folding: vectors through the rows of a matrix that belong to their heads:
 *
 *     out[h] = sum over c of att[h, c] weight[h, c]
 *
 * Then x . out[h] = (x weight[h]^T) . att[h]: scores without the product.
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

/* ---- rows of edges ----
 *
 * Messages that depend on the edge's own row e (og_block.edge) multiply it first. A backend without
 * the first operator has none of them.
 *
 * Copy the rows of a block's edges, in their order, as f32. With `loops` they are in the order of
 * coefficients (og_attend). A loop's row is the mean of its destination's edges, except those that
 * the loop replaces. It is 0 without edges, or if `apart`. Tolerance: 1e-5 of the largest
 * magnitude.
 */
#define OG__TOLERANCE_EDGE_FILL 1e-5
struct og_edge_fill {
    const struct og_block *block;
    const struct og_edge_rows *rows;
    bool loops, apart;
    float *x; /* out [n_edges, dim]; with loops [n_edges + n_dst, dim] */
};

/* GINE's sum. y[v] = (1 + eps) own[v] + sum over edges of v: relu(x[u] + by_edge[edge]).
 * Tolerance: 1e-5 of the largest magnitude in y. */
#define OG__TOLERANCE_EDGE_SUM 1e-5
struct og_edge_sum {
    const struct og_block *block;
    struct og_rows x, own; /* [n_src, dim], [n_dst, dim] */
    const float *eps;      /* [1] */
    float *by_edge;        /* [n_edges, dim] */
    float *y;              /* out [n_dst, dim] */
};
/* Backward pass: by_edge becomes its own gradient. With `own` the destinations are the first
 * sources, and their term counts. Tolerance: as above. */
struct og_edge_sum_back {
    const struct og_edge_sum *forward;
    const float *dy;
    const uint32_t *indptr, *edge; /* the transposed block */
    bool own;
    float *dx; /* out [n_src, dim]; NULL: skipped */
};

/* Attention by dot products, without loops:
 *
 *     alpha(v, ., h) = softmax of query[v, h] . (key[u, h] + by_edge[e, h]) / sqrt(width)
 *     y[v, h]        = sum over edges e of v, from u, of alpha (value[u, h] + by_edge[e, h])
 *
 * Heads, average, add, dropout and tolerance are those of og_attend. Coefficients are in the order
 * of edges. A destination without edges attends to nothing. */
struct og_dots {
    const struct og_block *block;
    int heads, width; /* F = heads * width */
    bool average, add;
    struct og_rows z;   /* [n_src, 2 F] f32: keys, then values */
    const float *query; /* [n_dst, F] */
    float *by_edge;     /* [n_edges, F]; or NULL */
    float *alpha;       /* out [n_edges, heads] */
    const struct og_dropout *dropout;
    float *dropped; /* out, as alpha: alpha after dropout */
    float *y;       /* out [n_dst, average ? width : F] */
};
/* Backward pass. dscore may be `dropped`, and dz may be z. by_edge becomes its own gradient. With
 * dropout, alpha is overwritten. */
struct og_dots_back {
    const struct og_dots *forward;
    const float *dy;
    const uint32_t *indptr, *col, *edge; /* the transposed block */
    float *dscore;                       /* scratch, as alpha */
    float *dz;                           /* out, as z */
    float *dquery;                       /* out, as query */
};

/* ---- scatter: to[place[i]] = x[i], as f32. Exact; places are distinct. ---- */
struct og_put {
    struct og_rows x; /* [n, dim] */
    uint32_t n;
    const uint32_t *place; /* [n] */
    float *to;             /* rows of dim; other rows are unchanged */
    bool adds;             /* to[place[i]] += x[i], by i: places may repeat; on the host alone */
};

/* ---- dropout of sparse rows: the entries of x that dense rows would keep, as f32. ---- */
struct og_drop_entries {
    struct og_rows x; /* [n, dim] */
    uint32_t n;
    const struct og_dropout *dropout;
    void *to; /* rows of the form that has room for the longest (og__dropped_room) */
};

/* ---- linear combinations of matrices ----
 *
 *     made[k] = sum over b of weight[row[k], b] base[b]       n numbers each
 *
 * R-GCN's bases. Added in the order of b. Tolerance: 1e-5 of the largest magnitude in made. */
#define OG__TOLERANCE_MIX 1e-5
enum { OG__MOST_MIXED = 8 }; /* per call */
struct og_mix {
    uint32_t n_made, n_base; /* n_made <= OG__MOST_MIXED */
    size_t n;
    uint32_t row[OG__MOST_MIXED]; /* [n_made] */
    const float *weight;          /* rows of n_base */
    const float *base;            /* [n_base, n] */
    float *made;                  /* out [n_made, n] */
};
/* Backward pass, in the order of k. */
struct og_mix_back {
    const struct og_mix *forward; /* `made` is ignored */
    const float *dmade;           /* [n_made, n] */
    float *dbase;                 /* [n_base, n], added to */
    float *dweight;               /* as weight: out, only the rows `row` */
    float *partial;               /* scratch, [og__mix_parts(n), n_made, n_base] */
};
size_t og__mix_parts(size_t n);

/* ---- sums of rows along the edges, with a few coefficients per relation ----
 *
 *     z[v, b] = sum over edges e of v: scale(e) weight[kind(e), b] x[row(e)]
 *
 * R-GCN's bases, before multiplication. The kind of an edge is its relation. Its scale is one over
 * the edges in its list. Tolerance: 1e-5 of the largest magnitude in z. */
#define OG__TOLERANCE_BLEND 1e-5
struct og_blend_edge {
    uint32_t row, to, kind; /* source row, destination row, relation */
    float scale;
};
struct og_blend_edges {
    uint32_t n_rows;
    uint32_t *first; /* [n_rows + 1] */
    struct og_blend_edge *edge;
};
/* The edges of a block by destination; edges of a row keep the block's order. */
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
/* Backward pass, to the coefficients and to the rows. Forward's z is ignored.
 * Tolerance: 1e-5 of the largest magnitude in each gradient. */
struct og_blend_weights {
    const struct og_blend *forward;
    uint64_t n_edges;
    const float *dz;
    float *dweight; /* out, as weight; partial sums of blend_columns columns over destinations */
};
enum { OG__BLEND_LANES = 16 };
static inline size_t og__blend_columns(size_t n_kinds, int n_base)
{
    return n_kinds * (size_t)n_base * OG__BLEND_LANES;
}
struct og_blend_rows {
    const struct og_blend *forward;
    const struct og_block *block;
    struct og_blend_edges turned; /* scratch, [n_src], [n_edges], in the backend's layout */
    const float *dz;
    float *dx; /* out, as x */
};

/* ---- element-wise maximum over neighbours ----
 *
 * y[v] = max over edges of x[source], times the edge's weight if the block has weights; 0 without
 * edges. `from` is the source of each maximum, with weights its edge, the first of equals. In the
 * backward pass x is the output of a ReLU and becomes the gradient before it. Exact. */
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
    float *x;                     /* [n_src, dim]: in the pooled rows, out their gradient */
    const float *dy;              /* [n_dst, dim] */
    const uint32_t *from;         /* [n_dst, dim] */
    const uint32_t *indptr, *col; /* the transposed block, */
    const uint32_t *edge;         /* with weights */
    const float *weight;          /* the block's, or NULL */
};

/* ---- the end of a hidden layer: h = dropout(unit(act(norm(y)))) ----
 *
 *     batch norm   (y - mean) rstd weight + bias, mean and rstd of each column
 *     layer norm   the same with mean and rstd of each row
 *     unit         rows are divided by their length; rows of zeros stay
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
/* Backward pass. Mean and rstd of batch norm depend on these rows, and their derivatives count.
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

/* Update running statistics from a batch, as PyTorch's BatchNorm1d: weight 0.1 per batch, variance
 * over n - 1. */
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

/* Loss summed over counted rows, the gradient of its mean, and counts of metrics. The label has
 * probability p, and l = -log p. The loss f(l) is l, or another row of tasks.h.
 *
 *     softmax   labels int32 [rows]; those outside [0, cols) do not count. The mean over the sum
 *               of v w_y of v ((1 - e) w_y f(l_y) + e / cols sum over c of w_c l_c). Rows have
 *               weights v, classes weights w; e is the smoothing
 *     sigmoid   labels f32 [rows, cols] of 0 and 1, NaN = unknown. The mean over known elements of
 *               w_c f(l) if the label is 1, else f(l)
 *     values    labels f32 [rows, cols], NaN = unknown. The mean over known values; a row counts
 *               if it has one
 *     shares    labels f32 [rows, cols] of at least 0; a row with NaN does not count. Cross-entropy
 *               is the mean over rows of - sum over c of y_c log p_c, where p is the row's softmax;
 *               other losses are those of values. Errors in `out` are those of p, or of the
 *               logits; NDCG@10 is that of the logits (ndcg.h)
 *
 * Tolerance: 1e-6 relative for the loss, 1e-6 of 1 / terms for the gradient. */
#define OG__TOLERANCE_LOSS 1e-6
struct og_loss {
    uint32_t rows;
    int cols;
    int loss;            /* enum og_loss_kind; OG_LOSS_AUTO: f(l) = l */
    float gamma;         /* of the focal loss */
    float smoothing;     /* softmax */
    const float *logits; /* [rows, cols] */
    const void *labels;
    const float *class_weight; /* [cols]; NULL: 1 */
    const float *row_weight;   /* [rows]; NULL: 1 */
    float *grad;               /* [rows, cols] or NULL */
    struct og_metrics *blocks; /* scratch, [og__n_blocks(rows)] */
    struct og_metrics *out;
};

/* ---- pairs of rows: links ----
 *
 * Pair p has rows a[p] and b[p] of h. Some decoders also read the vector of its kind. */
struct og_pair_op {
    uint32_t n;            /* pairs */
    const uint32_t *a, *b; /* [n] */
    int dim;
    int decoder;    /* enum og_decoder_kind, of pair_dot and its backward pass (decoders.h) */
    const float *h; /* rows of dim */
    /* pair_dot: [n], the decoder's scores.
     * pair_product: [n, dim], h[a] h[b] element-wise.
     * With `joins` it is [n, 2 dim + own_dim]: h[a], h[b] and the pair's own row. */
    float *out;
    const uint32_t *kind; /* [n]; NULL: 0 for all pairs */
    const float *by;      /* rows of dim: row k is the vector of kind k; or NULL */
    bool joins;
    const float *own; /* [n, own_dim]; on the CPU alone */
    int own_dim;
};
/* Pairs of each row, in their order. Those of row r are pair[first[r]] to pair[first[r + 1]]: 2 p
 * if r is a[p], and 2 p + 1 if it is b[p]. */
struct og_pair_list {
    uint32_t n, n_rows;
    const uint32_t *a, *b; /* [n] */
    uint32_t *first;       /* out [n_rows + 1] */
    uint32_t *pair;        /* out [2 n] */
};
/* dh[r] = sum over the pairs of r, in their order, of g times the score's slope. The shape of g is
 * [n]. With `wide` it is [n, dim], times the other row element-wise. For pairs that are joined it
 * is [n, 2 dim + own_dim], and dh[r] is the sum of r's own half. `first` and `pair` are an
 * og_pair_list's. Tolerance of the three: 1e-5 of the largest magnitude. */
#define OG__TOLERANCE_PAIR 1e-5
struct og_pair_back {
    const struct og_pair_op *forward;
    const float *g;
    bool wide;
    uint32_t n_rows;
    const uint32_t *first, *pair;
    float *dh; /* out [n_rows, dim] */
};

/* dby[k] = sum over pairs of kind k, in their order, of g times the score's slope. These are
 * pair[i], i from first[k] to first[k + 1]. Tolerance: as above. */
struct og_pair_kinds {
    const struct og_pair_op *forward;
    const float *g; /* [n] */
    uint32_t n_kinds;
    const uint32_t *first, *pair; /* first NULL: all pairs are of kind 0 */
    float *dby;                   /* out [n_kinds, dim] */
};

/* Losses of the scores of n_edges edges, followed by those of each edge's `each` negatives in turn.
 *
 *     bce     half the mean of log(1 + exp(-s)) over edges, plus half that of log(1 + exp(s)) over
 *             negatives. So many negatives do not outweigh the edges
 *     margin  mean over negatives of max(0, 1 - s(edge) + s(negative))
 *
 * Fills loss_sum, weight, counted, compared and twice_ordered. Tolerance: as above. */
struct og_link_loss {
    uint32_t n_edges, each;
    int loss; /* enum og_loss_kind, for pairs (tasks.h) */
    const float *score;
    float *grad; /* as score, or NULL */
    struct og_metrics *out;
};

/* Ranks of edges, or of both of their ends, among their ranking negatives (sample/pairs.h), from 1.
 * Ties count half. A negative that is an end of the edge is skipped. Fills ranked, reciprocal_ranks
 * and hits. */
struct og_rank {
    const struct og_pairs *pairs;
    const float *score;
    struct og_metrics *out; /* added to */
};

/* One optimizer step on n parameters, which are times `shrink` first, with gradients times `scale`.
 * Adam: rate = lr / (1 - beta1^t), root = sqrt(1 - beta2^t). Tolerance: 1e-6 relative. */
#define OG__TOLERANCE_UPDATE 1e-6
struct og_update {
    size_t n;
    float *value, *m, *v; /* m, v: Adam only */
    const float *grad;
    double rate, root, weight_decay, shrink, scale;
    double beta1, beta2, epsilon; /* Adam only */
};

#endif
