/* Inside of a model; see nn.h for the outside.
 *
 *   kind_*.c     the convolutions there are: what each is made of (kinds.h)
 *   task_*.c     the tasks there are, loss_*.c the losses (tasks.h)
 *   shape.c      what follows from the configuration
 *   model.c      what there is: parameters, initial values
 *   bring.c      what the host has, where the backend computes
 *   workspace.c  memory of a batch
 *   layer.c      what convolutions are made with, and the end of a layer
 *   conv_*.c     how convolutions are computed: what a layer does before its end (kind_gatv2.c has
 *                its own)
 *   links.c      what comes behind the last layer in link prediction
 *   step.c       a batch through the layers and back, the optimiser
 *   relational*.c   the same where nodes have types, a convolution a relation (relational.h)
 *   joined.c     the rows of all types as one matrix, for one convolution of all relations
 *   values.c     all parameters as one vector
 *   whole.c      a layer for all nodes
 *
 * Each calls only those above it.
 *
 *   "model", one arena     | value grad m v of each parameter | packed weights |
 *   "activations", another, carved anew for every batch:
 *       scratch | layer 0: scale a t ... h | layer 1 | dropped features | partial sums | transposed
 * block | dlogits
 *
 * A layer is a convolution, then, unless it is the last, norm, activation and dropout. Where that
 * end is a ReLU and dropout alone, the convolution's last operator does it in passing; else the
 * convolution leaves y and the operator `finish` makes h of it.
 *
 *   h  the layer's output; on the way back its gradient takes the same place
 *   a  what was aggregated, before the product (D x F_in) or after it (S x F_out); on the way
 *      back the gradient of the same
 *   t  what stands between two products: pooled sources (S), sources to attend to (S), the hidden
 *      layer of GIN's perceptron (D), F_mid wide, or attended rows (D x heads F_in); on the way
 * back its gradient */
#ifndef OG_NN_MODEL_H
#define OG_NN_MODEL_H

#include "nn/bring.h"
#include "nn/shape.h"
#include "nn/tasks.h"

struct og_layer {
    int n_in, n_mid, n_out;
    struct og_param *param[OG__ROLES]; /* NULL: has none */
    struct og_weight weight[OG__ROLES];
    struct og_weight *head;  /* [heads] GAT: each head's rows of OG__NEIGHBOUR; NULL: not packed */
    struct og_weight folded; /* GAT: att_dst through OG__SELF */
};

/* A layer's share of the batch at hand. */
struct og_layer_work {
    const struct og_block *block;
    const uint32_t *relation; /* R-GCN: the host's, see og_block */
    bool transform_first;
    bool blends; /* R-GCN: see og__blends; a is what was added up, [D, bases F_in], */
    struct og_blend_edges edges;          /* and along which edges */
    struct og_dropout dropout, attention; /* of the layer's end, of alpha; p = 0: none */
    float *scale, *a, *t, *y, *h;
    uint32_t *nothing;            /* [D + 1] lists without edges; or NULL */
    uint32_t *from;               /* SAGE max: [D, F_mid] */
    float *alpha, *dscore;        /* of attention, see og_attend */
    float *score_src, *score_dst; /* GAT */
    float *z_dst, *dz_dst;        /* GATv2: [D, F_mid] */
    float *fold[2], *dfold[2];    /* GAT: att_src and att_dst folded, and their gradients */
    float *mean, *rstd, *var;     /* batch norm: [F_out]; var: in training */
};

/* R-GCN: relations have their turns, a few at a time (conv_mixed.c). */
struct og_mixing {
    float *t; /* [lists, F_out] of the layer at hand; where it blends, [S, F_in] */
    struct og_blend_edges turned; /* of the layer at hand, where it may blend; */
    uint32_t *nothing;            /* [S + 1] lists without edges */
    uint32_t *number;             /* [lists + 1] 0, 1, 2 ... */
    uint32_t *first, *list;       /* [D + 1], [lists] the lists of each destination */
    float *matrix,
        *dmatrix; /* of the relations at hand, and their gradients; NULL: are parameters */
    float *partial;
    void *packed; /* one of them */
};

/* PyTorch's Linear. */
struct og_linear {
    struct og_param *param, *bias; /* NULL: there is none */
    struct og_weight weight;
};

/* Of links: two products, the second of which makes a score. */
struct og_decoder {
    struct og_linear lin[2];    /* the dot product has none */
    struct og_param *relations; /* DistMult: a vector of each relation */
};

/* R-GCN: what features of a type pass before types are one matrix; none: they have its width. */
struct og_projection {
    struct og_linear lin;
    struct og_rows input; /* of the batch at hand: features, or what dropout leaves of them */
};

struct og_workspace {
    struct og_rooms room;             /* of what the host has: */
    struct og_block hop[OG_MAX_HOPS]; /* the batch's, for operators */
    struct og_pairs pairs;
    struct og_layer_work work[OG_MAX_HOPS];
    struct og_rows input; /* what layer 0 reads: the features, or what dropout leaves of them: */
    float *dropped;       /* [n_ids, widest row], NULL: none */
    float *joined; /* [n_ids, in_dim] rows of all types, in the order of ids; NULL: no types */
    /* Their gradient, where some are parameters or products with them; and these products, by
     * types, on their way there. */
    float *djoined;
    /* [n_ids] of ids by types: whose rows these are in that order, and among all of the type */
    struct og_numbers place, number;
    struct og_mixing mixing;
    uint32_t *back_indptr, *back_col, *back_edge; /* the transposed block of the layer at hand */
    float *dlogits, *partial;
    float *dz; /* of a relation's: the gradient of what was attended to, [n_src, F_in] */
    /* links */
    uint32_t pair_window;
    float *scores, *dscores;   /* [pairs] */
    float *pair_in, *pair_mid; /* [pair_window, n_classes], [.., hidden]: of the perceptron */
    uint32_t *pair_first, *pair_list;               /* see og_pair_back */
    uint32_t *kind_number, *kind_first, *kind_list; /* [n + 1] 0, 1 ...; see og_pair_kinds */
    struct og_metrics *loss_blocks;
    char *scratch;
    size_t scratch_bytes;
};

/* Where a convolution's output and the gradients of its inputs go: to the layers before and behind
 * it, or to sums over relations (relational.h). */
struct og_ends {
    /* Let op end the layer: its place, and what comes behind the convolution. */
    void (*end)(struct og_model *m, int l, struct og_rows in, struct og_affine *op);
    bool (*goes_back)(const struct og_model *m, int l); /* is either of these two wanted? */
    /* Let op, the terms of the gradient of layer l's input, end in its place. Runs it. */
    int (*input_gradient)(struct og_model *m, int l, const float *dy, struct og_affine *op,
                          struct og_err *err);
    /* The same of the destinations' own rows, where they are `apart`. */
    int (*own_gradient)(struct og_model *m, int l, struct og_affine *op, struct og_err *err);
};
extern const struct og_ends og__ends_of_layers;

struct og_relational;

struct og_model {
    struct og_model_config config;
    int optimizer;
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend;
    struct og_memory own; /* the backend's, in which all below lies */
    int threads;
    struct og_arena memory, workspace;
    struct og_arena numbers; /* the host's, of the batch at hand (og_numbers) */
    struct og_arena lists;   /* the host's, of the next two: */
    struct og_param *param;  /* [n_params] those of the decoder come last */
    size_t n_params;
    struct og_weight *head; /* [n_heads] those of all layers */
    size_t n_heads;
    const struct og_ends *ends;
    struct og_relational *relational; /* relations' convolutions; NULL: has none of theirs */
    struct og_param **row;            /* [n_types] that are a type's rows; NULL: it has others */
    struct og_projection *projection; /* [n_types] */
    struct og_model *whole;           /* of a relation's, a type's: what it is a part of, */
    uint32_t number;                  /* and which one */
    float *mean, *var;                /* of another model's batch, for a layer at a time */
    struct og_layer layer[OG_MAX_HOPS];
    struct og_decoder decoder;
    struct og_batch_caps caps; /* what the workspace was taken for */
    bool training;
    struct og_workspace at; /* the batch at hand; owner thread only */
};

/* Carve the workspace for a batch, after taking a larger one if needed, and bring its blocks and
 * pairs there. pairs: of links, else NULL. */
OG_MUST_CHECK int og__workspace_carve(struct og_model *m, const struct og_batch *batch,
                                      const struct og_pairs *pairs, struct og_err *err);

/* What a batch's workspace depends on. */
struct og_carving {
    const struct og_nn_ops *ops;
    const struct og_model_config *config;
    const struct og_batch_caps *n; /* how large it is */
    bool training;
    int threads;
    struct og_arena *numbers,
        *arena;                /* what the host makes, and all else; without memory they count */
    struct og_relational *out; /* what relations and types have of it; NULL: only counts */
};

/* ---- what a convolution works with (workspace.c) ---- */

/* For layer l on block b: w is filled but for its end; and that. */
void og__carve_conv(const struct og_model_config *c, int l, const struct og_block *b, bool training,
                    struct og_arena *arena, struct og_layer_work *w);
void og__carve_end(const struct og_model_config *c, int l, const struct og_block *b, bool training,
                   struct og_arena *arena, struct og_layer_work *w);
/* Of the partial sums of its gradients; whether it transposes the block on the way back; the widest
 * matrix of any layer. */
size_t og__partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                         const struct og_block *b);
bool og__transposes(const struct og_model_config *c, int l);
/* Widens `most` to hold what operators are given of layer l on block b. */
void og__most_of_block(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_most *most);
int og__widest(const struct og_model_config *c);

/* ---- what pairs are scored with (workspace.c) ---- */

/* How many pairs of rows are trained on, and how many are scored. */
struct og_pair_counts {
    uint64_t trained, scored;
};
static inline struct og_pair_counts og__pairs_of(const struct og_batch_caps *n)
{
    return (struct og_pair_counts){n->n_pairs, n->n_scores};
}
/* As those above, of a batch of so many seeds. */
void og__carve_pairs(const struct og_model_config *c, uint64_t n_seeds,
                     const struct og_pair_counts *n, bool training, struct og_arena *arena,
                     struct og_workspace *out);
size_t og__pair_partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c,
                              const struct og_pair_counts *n);
void og__most_of_pairs(const struct og_pair_counts *n, bool training, struct og_most *most);

/* ---- a layer but for its convolution ---- */

/* y = x W^T + b, of n rows; and back: gradients of W and b by that of y. */
OG_MUST_CHECK int og__linear(struct og_model *m, const struct og_linear *of, struct og_rows x,
                             uint32_t n, bool relu, float *y, struct og_err *err);
OG_MUST_CHECK int og__linear_gradients(struct og_model *m, const struct og_linear *of,
                                       struct og_rows x, uint32_t n, const float *dy,
                                       struct og_err *err);

struct og_input og__weighted(struct og_rows x, uint32_t n, const struct og_weight *w,
                             enum og__direction direction);
/* Adds the residual to op's inputs, if there is one. x: what it is of. */
void og__add_skip(struct og_model *m, int l, struct og_rows x, enum og__direction direction,
                  struct og_affine *op);
/* Its gradient, before the input gives way to its own. */
OG_MUST_CHECK int og__skip_gradient(struct og_model *m, int l, struct og_rows in, const float *dy,
                                    struct og_err *err);
/* The n rows of x densely, through dropout unless that is NULL. */
OG_MUST_CHECK int og__copy_rows(struct og_model *m, struct og_rows x, uint32_t n,
                                const struct og_dropout *dropout, float *to, struct og_err *err);
/* Of rows that are parameters: that of row number[i] is row i of dx, and of others there is none.
 */
OG_MUST_CHECK int og__row_gradients(struct og_model *m, const struct og_param *p, struct og_rows dx,
                                    uint32_t n, const uint32_t *number, struct og_err *err);
/* Zeros; those of a running statistic, which has no gradient, are none. */
OG_MUST_CHECK int og__clear(struct og_model *m, void *there, size_t bytes, struct og_err *err);
OG_MUST_CHECK int og__clear_grad(struct og_model *m, const struct og_param *p, struct og_err *err);
/* Let op, the terms of the gradient of layer l's input, end in its place: the residual's term, and
 * the slope of the previous layer's end where that is a ReLU and dropout. Runs it. */
static inline int og__input_gradient(struct og_model *m, int l, const float *dy,
                                     struct og_affine *op, struct og_err *err)
{
    return m->ends->input_gradient(m, l, dy, op, err);
}
/* Transpose the layer's block into the workspace. */
OG_MUST_CHECK int og__transpose(struct og_model *m, int l, struct og_err *err);

/* Let op end the layer: its place, the residual, activation and dropout. */
static inline void og__end_layer(struct og_model *m, int l, struct og_rows in, struct og_affine *op)
{
    m->ends->end(m, l, in, op);
}
/* Norm, activation and dropout of a layer that og__finishes; and back: h, the gradient of what they
 * made, becomes that of y, in place. */
OG_MUST_CHECK int og__finish_layer(struct og_model *m, int l, bool training, struct og_err *err);
OG_MUST_CHECK int og__finish_layer_back(struct og_model *m, int l, struct og_err *err);
/* The layer's statistics of the last batch that `from` computed gradients of, into the running ones
 * of m. */
OG_MUST_CHECK int og__track_layer(struct og_model *m, int l, struct og_model *from,
                                  struct og_err *err);
/* The same in two parts, by numbers of the host's: 2 x width + 1 of them. */
OG_MUST_CHECK int og__fetch_moments(struct og_model *m, int l, float *out, struct og_err *err);
OG_MUST_CHECK int og__track_moments(struct og_model *m, int l, const float *in, struct og_err *err);

/* ---- convolutions ---- */

/* in: the layer's input rows. */
struct og_conv_steps {
    /* Where w->transform_first: what every source passes before it goes along the edges,
     * out [n_src, F_mid]. */
    int (*multiply)(struct og_model *m, int l, struct og_rows in, float *out, struct og_err *err);
    /* Along the edges, and up to the layer's end. sources: what multiply made, else the input; own:
     * the input of the destinations, row by row; keep: leave what the way back needs */
    int (*combine)(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err);
    /* dy: gradient of the convolution's output. Leaves gradients in params and, where that
     * goes_back, the gradient of the layer's input through the ends. */
    int (*backward)(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err);
};

/* ---- links ---- */

/* Behind a forward pass: scores, loss and ranks; in training also the gradients of the decoder and,
 * in dlogits, of the embeddings. */
OG_MUST_CHECK int og__links_forward(struct og_model *m, const struct og_pairs *pairs,
                                    struct og_metrics *out, struct og_err *err);
OG_MUST_CHECK int og__links_gradients(struct og_model *m, const struct og_pairs *pairs,
                                      struct og_metrics *out, struct og_err *err);

/* ---- a batch ---- */

uint64_t og__targets_of(const struct og_model_config *c, uint64_t n); /* elements of n rows */

/* Dropout has a layer of its own wherever it is: rows have the same numbers in all. Types and
 * relations have layers of theirs, OG__KEYS apart. */
enum { OG__ATTENTION_KEYS = OG_MAX_HOPS, OG__INPUT_KEY = 2 * OG_MAX_HOPS, OG__KEYS = 64 };
_Static_assert(OG__KEYS > OG__INPUT_KEY, "types and relations share no layer");
/* Of any key: a draw's place has 8 bits of it, those above move the seed. */
struct og_dropout og__dropout_of(double p, const struct og_step *step, uint32_t key);
/* Those of a model's layers. */
void og__key_dropout(struct og_model *m, const struct og_step *step, uint32_t first_key);
/* Convolution l, up to the layer's end. in: its sources; own: the rows of its destinations. */
OG_MUST_CHECK int og__convolve(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                               bool keep, struct og_err *err);
/* Features of n rows, through dropout in training (into `dropped`, where that is not NULL). */
OG_MUST_CHECK int og__drop_input(struct og_model *m, struct og_rows *x, uint32_t n,
                                 const struct og_step *step, uint32_t key, float *dropped,
                                 struct og_err *err);

/* Bring the parameters into the backend's layout; after every change. */
OG_MUST_CHECK int og__pack_weights(struct og_model *m, struct og_err *err);
/* The task's loss of n rows of logits and what its metrics count, by the host's labels; grad:
 * [n, C], or NULL. */
OG_MUST_CHECK int og__model_loss(struct og_model *m, const float *logits, const void *labels,
                                 uint32_t n, float *grad, struct og_metrics *out,
                                 struct og_err *err);

#endif
