/* Internals of a model; see nn.h for its interface.
 *
 *     kind_*.c     the convolutions: traits and parameters of each (kinds.h)
 *     task_*.c     the tasks, loss_*.c the losses (tasks.h)
 *     shape.c       properties that follow from the configuration
 *     model.c       parameters and their initial values
 *     upload.c      uploads of host data
 *     workspace.c   memory of a batch
 *     layer.c       common parts of convolutions, and the end of a layer
 *     conv_*.c     how convolutions are computed: a layer before its end (kind_gatv2.c, kind_gine.c
 *                  and kind_transformer.c have their own)
 *     links.c       link prediction after the last layer
 *     step.c        forward and backward pass of a batch, the optimiser
 *     relational*.c   the same for heterogeneous graphs, a convolution per relation (relational.h)
 *     joined.c      the rows of all types as one matrix, for one convolution of all relations
 *     values.c      all parameters as one vector
 *     whole.c       a layer for all nodes
 *
 * Each calls only those above it. A model has two arenas, the second sub-allocated for every batch:
 *
 *     "model"         | value grad m v of each parameter | packed weights |
 *     "activations"   | scratch | layer 0: scale a t ... h | layer 1 | dropped features |
 *                     | partial sums | transposed block | dlogits |
 *
 * A layer is a convolution and, unless it is the last, norm, activation and dropout. If that end is
 * only ReLU and dropout, it is fused into the convolution's last operator. Otherwise the
 * convolution writes y and the operator `finish` computes h.
 *
 *     h  the layer's output; replaced by its gradient in the backward pass
 *     a  aggregated rows, before the product (D x F_in) or after it (S x F_out); then their
 *        gradient
 *     t  rows between two products; then their gradient. Pooled sources (S), sources to attend to
 *        (S), the hidden layer of GIN's perceptron (D), F_mid wide, or attended rows (D x heads
 *        F_in) */
#ifndef OG_NN_MODEL_H
#define OG_NN_MODEL_H

#include "nn/shape.h"
#include "nn/tasks.h"
#include "nn/upload.h"

struct og_layer {
    int n_in, n_mid, n_out;
    struct og_param *param[OG__ROLES]; /* NULL: none */
    struct og_weight weight[OG__ROLES];
    struct og_weight *head;  /* [heads] GAT: each head's rows of OG__NEIGHBOUR; NULL: not packed */
    struct og_weight folded; /* GAT: att_dst through OG__SELF */
    struct og_weight folded_edge; /* GAT: att_edge through OG__EDGE */
};

/* A layer's part of the current batch. */
struct og_layer_work {
    const struct og_block *block;
    const uint32_t *relation; /* R-GCN: in host memory, see og_block */
    bool transform_first;
    bool blends;                 /* R-GCN: see og__blends; a has the sums, [D, bases F_in], */
    struct og_blend_edges edges; /* and these are the edges */
    struct og_dropout dropout, attention; /* of the layer's end, of alpha; p = 0: none */
    float *scale, *a, *t, *y, *h;
    uint32_t *nothing;            /* [D + 1] empty lists; or NULL */
    uint32_t *from;               /* SAGE max: [D, F_mid] */
    float *alpha, *dscore;        /* of attention, see og_attend */
    float *score_src, *score_dst; /* GAT */
    float *z_dst, *dz_dst;        /* GATv2: [D, F_mid]; transformer: queries [D, heads * width] */
    float *fold[3], *dfold[3]; /* GAT: att_src, att_dst and att_edge folded, and their gradients */
    float *edge_row, *by_edge; /* [places, edge_dim], [places, edge_cols]: see conv_edges.h */
    float *mean, *rstd, *var;  /* batch norm: [F_out]; var: in training */
};

/* R-GCN: relations are processed a few at a time (conv_mixed.c). */
struct og_mixing {
    float *t; /* [lists, F_out] of the current layer; with og__blends [S, F_in] */
    struct og_blend_edges turned; /* of the current layer, if og__may_blend; */
    uint32_t *nothing;            /* [S + 1] empty lists */
    uint32_t *number;             /* [lists + 1] 0, 1, 2 ... */
    uint32_t *first, *list;       /* [D + 1], [lists] the lists of each destination */
    float *matrix,
        *dmatrix; /* of the current relations, and their gradients; NULL: these are parameters */
    float *partial;
    void *packed; /* one packed matrix */
};

/* PyTorch's Linear. */
struct og_linear {
    struct og_param *param, *bias; /* NULL: none */
    struct og_weight weight;
};

/* For links: two products, the second of which makes a score. */
struct og_decoder {
    struct og_linear lin[2];    /* unused by the dot product */
    struct og_param *relations; /* a vector per relation; NULL: the decoder has none */
};

/* R-GCN: linear layer of a type whose features have another width than the joined rows. */
struct og_projection {
    struct og_linear lin;
    struct og_rows input; /* the current batch's features, or features after dropout */
};

struct og_workspace {
    struct og_rooms room;             /* buffers for host data: */
    struct og_block hop[OG_MAX_HOPS]; /* the batch's blocks, for operators */
    struct og_pairs pairs;
    struct og_layer_work work[OG_MAX_HOPS];
    struct og_rows input; /* input of layer 0: the features, or features after dropout: */
    float *dropped;       /* [n_ids, widest row]; NULL: none */
    struct og_sparse_rows dropped_form;
    float *joined; /* [n_ids, in_dim] rows of all types, in the order of ids; NULL: homogeneous */
    /* Their gradient, if some are parameters or outputs of linear layers. Also these outputs, by
     * type, before they are joined. */
    float *djoined;
    /* [n_ids] for ids by type: position of each among ids, and number within its type */
    struct og_numbers place, number;
    /* of GCN with weights: what is known of the ids' [2][n_ids] */
    struct og_numbers ends;
    struct og_mixing mixing;
    uint32_t *back_indptr, *back_col, *back_edge; /* the current layer's transposed block */
    float *dlogits, *partial;
    float *dz; /* for a relation: the gradient of its input, [n_src, F_in]; see og__input_slot */
    /* links */
    uint32_t pair_window;
    float *scores, *dscores;          /* [pairs, og__score_width] */
    float *pair_in, *pair_mid;        /* [pair_window, og__pair_width], [.., hidden]: of the MLP */
    uint32_t *pair_first, *pair_list; /* see og_pair_back */
    uint32_t *kind_number, *kind_first, *kind_list; /* [n + 1] 0, 1 ...; see og_pair_kinds */
    struct og_metrics *loss_blocks;
    char *scratch;
    size_t scratch_bytes;
};

/* Destinations of a convolution's output and of the gradients of its inputs. These are the previous
 * and next layer, or sums over relations (relational.h). */
struct og_ends {
    /* Complete op with the layer's end: output and operators after the convolution. */
    void (*end)(struct og_model *m, int l, struct og_rows in, struct og_affine *op);
    bool (*goes_back)(const struct og_model *m,
                      int l); /* whether one of the next two is required */
    /* Run op, the terms of the gradient of layer l's input, with its destination. */
    int (*input_gradient)(struct og_model *m, int l, const float *dy, struct og_affine *op,
                          struct og_err *err);
    /* The same for the destinations' own rows, if `apart`. */
    int (*own_gradient)(struct og_model *m, int l, struct og_affine *op, struct og_err *err);
};
extern const struct og_ends og__ends_of_layers;

struct og_relational;

struct og_model {
    struct og_model_config config;
    int optimizer;
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend;
    struct og_memory own; /* the backend's memory, which has everything below */
    int threads;
    struct og_arena memory, workspace;
    struct og_arena numbers; /* host memory of the current batch (og_numbers) */
    struct og_arena lists;   /* host memory of the next two: */
    struct og_param *param;  /* [n_params]; the decoder's come last */
    size_t n_params;
    struct og_weight *head; /* [n_heads] of all layers */
    size_t n_heads;
    const struct og_ends *ends;
    struct og_relational *relational; /* convolutions of relations; NULL: none */
    struct og_param **row; /* [n_types] parameters with a type's rows; NULL: other rows */
    struct og_projection *projection; /* [n_types] */
    struct og_rows *row_gradient;     /* [n_types] dense; of stored rows, of the last batch */
    struct og_model *whole;           /* for a part of a relation or a type: the whole model, */
    uint32_t number;                  /* and the number of the relation or type */
    float *class_weights;             /* [n_classes]; NULL: none */
    float *mean, *var; /* another model's batch norm statistics, one layer at a time */
    struct og_layer layer[OG_MAX_HOPS];
    struct og_decoder decoder;
    struct og_batch_caps caps; /* maxima that the workspace was allocated for */
    bool training;
    const struct og_edge_rows *edges; /* of the current batch; for a relation, its own; or NULL */
    struct og_workspace at;           /* the current batch; owner thread only */
};

/* Among random numbers of parameters: the layer of learnable rows, and the number of a type's. */
enum { OG__ROWS_LAYER = 2 * OG_MAX_HOPS };
uint32_t og__rows_number(const struct og_model_config *c, uint32_t type);

/* Sub-allocate the workspace for a batch, after enlarging it if required, and upload its blocks and
 * pairs. For links there are `pairs`, else NULL. */
OG_MUST_CHECK int og__workspace_suballoc(struct og_model *m, const struct og_batch *batch,
                                         const struct og_pairs *pairs, struct og_err *err);

/* Inputs of a batch's workspace. */
struct og_suballocation {
    const struct og_nn_ops *ops;
    const struct og_model_config *config;
    const struct og_batch_caps *n; /* its size */
    bool training;
    int threads;
    struct og_arena *numbers, *arena; /* memory for host data, and for the rest; without a base they
                                         only count */
    struct og_relational *out; /* receives the parts of relations and types; NULL: only count */
};

/* ---- workspace of a convolution (workspace.c) ---- */

/* For layer l on block b: fill w except for its end; and that. */
void og__suballoc_conv(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_arena *arena, struct og_layer_work *w);
void og__suballoc_end(const struct og_model_config *c, int l, const struct og_block *b,
                      bool training, struct og_arena *arena, struct og_layer_work *w);
/* Bytes of the partial sums of its gradients. */
size_t og__partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                         const struct og_block *b);
/* Suballocate what layers share in the backward pass: partial sums, a transposed block, logits'
 * gradient.
 */
void og__suballoc_back(const struct og_suballocation *k, size_t partial, size_t n_src,
                       size_t n_edges, uint64_t n_seeds, struct og_workspace *out);
/* Raise `most` to the operands of layer l on block b. */
void og__most_of_block(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_most *most);

/* ---- workspace of pairs (workspace.c) ---- */

/* Pairs of rows in training, and scored pairs. */
struct og_pair_counts {
    uint64_t trained, scored;
};
static inline struct og_pair_counts og__pairs_of(const struct og_batch_caps *n)
{
    return (struct og_pair_counts){n->n_pairs, n->n_scores};
}
/* Items with targets of a batch of so many seeds: seeds, or pairs. */
static inline uint64_t og__items_of(const struct og_model_config *c, uint64_t n_seeds,
                                    const struct og_batch_caps *n)
{
    return og__labels_pairs(c) ? n->n_scores : n_seeds;
}
/* Like the functions above, for a batch of so many seeds. */
void og__suballoc_pairs(const struct og_model_config *c, uint64_t n_seeds,
                        const struct og_pair_counts *n, bool training, struct og_arena *arena,
                        struct og_workspace *out);
size_t og__pair_partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c,
                              const struct og_pair_counts *n);
void og__most_of_pairs(const struct og_pair_counts *n, bool training, struct og_most *most);

/* ---- a layer without its convolution ---- */

/* y = x W^T + b for n rows, and its backward pass. That makes gradients of W and b from that of
 * y. */
OG_MUST_CHECK int og__linear(struct og_model *m, const struct og_linear *of, struct og_rows x,
                             uint32_t n, bool relu, float *y, struct og_err *err);
/* Function `multiply` of og_conv_steps for the sources. Before they are pooled it has a ReLU,
 * before they are summed none. With that matrix's bias if it has one. */
OG_MUST_CHECK int og__multiply_sources(struct og_model *m, int l, struct og_rows in, float *out,
                                       struct og_err *err);
OG_MUST_CHECK int og__linear_gradients(struct og_model *m, const struct og_linear *of,
                                       struct og_rows x, uint32_t n, const float *dy,
                                       struct og_err *err);

struct og_input og__weighted(struct og_rows x, uint32_t n, const struct og_weight *w,
                             enum og__direction direction);
/* Add the residual to op's inputs, if there is one. x: the layer's input. */
void og__add_skip(struct og_model *m, int l, struct og_rows x, enum og__direction direction,
                  struct og_affine *op);
/* Gradient of the residual's weight; must run before the input is overwritten by its gradient. */
OG_MUST_CHECK int og__skip_gradient(struct og_model *m, int l, struct og_rows in, const float *dy,
                                    struct og_err *err);
/* Copy n rows of x to a dense matrix, through dropout unless that is NULL. */
OG_MUST_CHECK int og__copy_rows(struct og_model *m, struct og_rows x, uint32_t n,
                                const struct og_dropout *dropout, float *to, struct og_err *err);
/* Gradient of learnable rows: row number[i] gets row i of dx, other rows get none. */
OG_MUST_CHECK int og__row_gradients(struct og_model *m, const struct og_param *p, struct og_rows dx,
                                    uint32_t n, const uint32_t *number, struct og_err *err);
/* Zeros; for a running statistic, which has no gradient, a no-op. */
OG_MUST_CHECK int og__clear(struct og_model *m, void *on_backend, size_t bytes, struct og_err *err);
OG_MUST_CHECK int og__clear_grad(struct og_model *m, const struct og_param *p, struct og_err *err);
/* Run op, the terms of the gradient of layer l's input, with its destination. Adds the residual's
 * term and, after ReLU and dropout, the derivative of the previous layer's end. */
static inline int og__input_gradient(struct og_model *m, int l, const float *dy,
                                     struct og_affine *op, struct og_err *err)
{
    return m->ends->input_gradient(m, l, dy, op, err);
}
/* Where a layer with og__may_write_input writes the gradient of its input; NULL: nowhere. What it
 * wrote there is completed and has its destination after the second, with dy as above. */
float *og__input_slot(const struct og_model *m, int l);
OG_MUST_CHECK int og__end_input_slot(struct og_model *m, int l, const float *dy,
                                     struct og_err *err);
/* Gradients of the sources, by the gradient in t of their product with `role`. And of the own rows,
 * by the gradient dz of their product with OG__SELF. */
OG_MUST_CHECK int og__two_gradients(struct og_model *m, int l, const float *dy, enum og__role role,
                                    struct og_rows dz, struct og_err *err);
/* Transpose the layer's block into the workspace. */
OG_MUST_CHECK int og__transpose(struct og_model *m, int l, struct og_err *err);

/* Complete op with the layer's end: output, residual, activation and dropout. */
static inline void og__end_layer(struct og_model *m, int l, struct og_rows in, struct og_affine *op)
{
    m->ends->end(m, l, in, op);
}
/* Norm, activation and dropout of a layer with og__finishes. In the backward pass h, the gradient
 * of their output, is replaced by that of y. */
OG_MUST_CHECK int og__finish_layer(struct og_model *m, int l, bool training, struct og_err *err);
OG_MUST_CHECK int og__finish_layer_back(struct og_model *m, int l, struct og_err *err);
/* Update m's running statistics of the layer from the last batch that `from` computed gradients of.
 */
OG_MUST_CHECK int og__track_layer(struct og_model *m, int l, struct og_model *from,
                                  struct og_err *err);
/* The same in two parts, by 2 x width + 1 numbers in host memory. */
OG_MUST_CHECK int og__fetch_moments(struct og_model *m, int l, float *out, struct og_err *err);
OG_MUST_CHECK int og__track_moments(struct og_model *m, int l, const float *in, struct og_err *err);

/* ---- convolutions ---- */

/* Steps of a convolution. in: the layer's input rows. */
struct og_conv_steps {
    /* If w->transform_first: the product of every source before aggregation, out [n_src, F_mid]. */
    int (*multiply)(struct og_model *m, int l, struct og_rows in, float *out, struct og_err *err);
    /* Aggregate, up to the layer's end. `sources` is the output of multiply, or the input; `own`
     * has input rows of the destinations. With `keep`, store what the backward pass requires. */
    int (*combine)(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err);
    /* dy: gradient of the convolution's output. Writes gradients to params and, if goes_back, the
     * gradient of the layer's input through the ends. */
    int (*backward)(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err);
};

/* ---- links ---- */

/* After a forward pass: scores, loss and ranks. In training also gradients of the decoder and, in
 * dlogits, of the embeddings. */
OG_MUST_CHECK int og__links_forward(struct og_model *m, const struct og_pairs *pairs,
                                    struct og_metrics *out, struct og_err *err);
OG_MUST_CHECK int og__links_gradients(struct og_model *m, const struct og_pairs *pairs,
                                      struct og_metrics *out, struct og_err *err);

/* ---- a batch ---- */

uint64_t og__targets_of(const struct og_model_config *c, uint64_t n); /* elements of n rows */

/* Keys of dropout: each kind has its own layer numbers, as rows have the same numbers in all. Types
 * and relations have theirs, OG__KEYS apart. */
enum { OG__ATTENTION_KEYS = OG_MAX_HOPS, OG__INPUT_KEY = 2 * OG_MAX_HOPS, OG__KEYS = 64 };
_Static_assert(OG__KEYS > OG__INPUT_KEY, "types and relations share no layer");
/* Dropout for any key: the random generator takes 8 bits of it, higher bits change the seed. */
struct og_dropout og__dropout_of(double p, const struct og_step *step, uint32_t key);
/* Set the dropout of the layers of a model and of its parts. */
void og__key_dropout(struct og_model *m, const struct og_step *step);
/* Compute convolution l, up to the layer's end. in: its sources; own: the rows of its destinations.
 */
OG_MUST_CHECK int og__convolve(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                               bool keep, struct og_err *err);
/* Features of n rows, in training after dropout (into `dropped`, unless that is NULL; sparse ones
 * in `form`). */
OG_MUST_CHECK int og__drop_input(struct og_model *m, struct og_rows *x, uint32_t n,
                                 const struct og_step *step, uint32_t key, float *dropped,
                                 struct og_sparse_rows *form, struct og_err *err);

/* Pack the parameters in the backend's layout; required after every change. */
OG_MUST_CHECK int og__pack_weights(struct og_model *m, struct og_err *err);
/* The task's loss of n rows of logits and counts of metrics, with labels in host memory. The
 * gradient, [n, C], goes to grad unless it is NULL. */
OG_MUST_CHECK int og__model_loss(struct og_model *m, const float *logits, const void *labels,
                                 uint32_t n, float *grad, struct og_metrics *out,
                                 struct og_err *err);

#endif
