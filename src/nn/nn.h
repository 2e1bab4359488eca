/* nn: models on sampled blocks, their gradients, the optimiser.
 *
 * Letters:
 *
 *     L layers; layer l = 0 reads features and uses block hop[L-1-l]
 *     S = n_src, D = n_dst, E = n_edges of a block; F_in, F_out widths of a layer
 *     C classes, B seeds
 *
 * Results are bit-identical for any number of threads:
 *
 * - Products run in fixed blocks of rows, one single-threaded oneDNN call per block.
 * - Partial weight gradients are added in the order of blocks, and so are sums over rows.
 * - Aggregation and attention process each row's edges in order. The forward pass goes by
 *   destination, the backward pass by source.
 * - Dropout is keyed by (seed, epoch, batch, layer, row). Features and attention coefficients have
 *   layer numbers of their own.
 * - Block sizes and operator order depend on shapes alone. */
#ifndef OG_NN_H
#define OG_NN_H

#include <outgrow/outgrow.h>

#include "base/choices.h"
#include "base/memory.h"
#include "base/thread.h"
#include "gather/rows.h"
#include "sample/by_type.h"
#include "sample/pairs.h"

struct og_model_config {
    int kind;                              /* enum og_model_kind */
    int layers, in_dim, hidden, n_classes; /* n_classes: columns of the output, for any task */
    double dropout;                        /* of the outputs of hidden layers */
    double input_dropout;                  /* of the features */
    double attention_dropout;              /* of coefficients of attention */
    int task;                              /* enum og_task_kind */
    int decoder;                           /* enum og_decoder_kind, for links */
    int loss;                              /* enum og_loss_kind, if the task has several */
    double gamma;                          /* of the focal loss */
    double label_smoothing;                /* of classes */
    const float *class_weights;            /* [n_classes] of classes or labels; NULL: 1; borrowed */
    bool weighs_seeds; /* targets are followed by a weight of each seed, float32 [B] */
    bool multi_label;
    bool shares;       /* values are shares of classes; not of edges */
    size_t n_given;    /* most negatives that a split gives for all its edges (pairs.h) */
    bool class_scores; /* scores of all of more than two classes are kept (tasks.h) */
    int heads;         /* of attention */
    int aggregator;    /* enum og_aggregator_kind, for SAGE */
    int edge_weights;  /* enum og_edge_weights_kind: the use of og_block.weight */
    const struct og_weight_sums *weights; /* where degrees are sums of weights; borrowed */
    int bases;     /* R-GCN: bases of the relations' matrices; 0: a matrix per relation */
    int norm;      /* enum og_norm_kind, after each hidden layer */
    int compute;   /* enum og_compute_kind: operands of products */
    bool residual; /* each layer's input is added to its output */
    int edge_dim;  /* width of rows of edges, for models that see them; 0: they do not */
    int pair_dim; /* of labelled edges: width of their own rows, which the decoder reads; 0: none */
    int own_dim;  /* width of the destinations' own rows in layer 0; 0: in_dim */
    uint32_t entries, own_entries; /* most of a sparse row in layer 0, of own ones; 0: dense */
    int embedding;                 /* width of learnable rows, as in a checkpoint; 0: none */
    bool apart; /* destinations are not among layer 0's sources, nor among any later layer's */
    bool trains_input; /* some of layer 0's input rows are parameters */
    /* NULL: homogeneous. Else a layer is a sum over relations in each type (relational.h), or one
     * convolution of all relations (joined.h). Then in_dim is the widest input of layer 0, or the
     * common width of all types' rows. Borrowed. */
    const struct og_graph_types *types;
};
/* Check that the model exists and suits the graph; og__model_create checks too. */
OG_MUST_CHECK int og__model_check(const struct og_model_config *config, struct og_err *err);
OG_MUST_CHECK int og__model_check_graph(const struct og_model_config *config, struct og_err *err);
extern const char *const og__model_words[];   /* all kinds; ends with NULL */
extern const char *const og__decoder_words[]; /* likewise */
/* Names of a layer's tensors in a checkpoint, which identify its model. */
struct og_conv_names {
    const char *const
        *marks; /* all are present, and more than of any other model; ends with NULL */
    const char *first, *last; /* [.., F_in] and [F_out, ..] of the layer; last NULL = first, else
                                 F_mid is the hidden width */
    const char *apart;        /* NULL, or the name of `first` in a relation between two types */
    bool turned;              /* `first` is [F_in, F_out] */
    const char *att;          /* [1, H, C] of H heads, in the last layer F_out = C; NULL: none */
    bool heads_of_rows;       /* the last layer has `first` H times as high as `last` */
    const char *edge;         /* [.., D] of rows of edges; NULL: the model does not see them */
};
/* NULL: no such model. Kinds and aggregators count from 0. */
const struct og_conv_names *og__model_names(const struct og_model_config *config);
bool og__model_normalises(int kind);  /* by degrees, which edge weights are part of */
bool og__model_takes_edges(int kind); /* can use rows of edges */
bool og__model_needs_edges(int kind); /* has to */
bool og__model_is_alone(int kind);    /* sees no neighbours */
bool og__model_joins(int kind);       /* requires one width for all types' rows (joined.h) */
bool og__model_wants_degrees(const struct og_model_config *config); /* og_block.degree */
/* On a heterogeneous graph: whether the convolution of the relation uses degrees in the graph
 * (og_graph_relation). */
bool og__model_counts_relation(const struct og_model_config *config, uint32_t relation);
bool og__model_weighs(const struct og_model_config *config); /* whether it uses og_block.weight */
/* Whether degrees are sums of weights, which og_model_config.weights has, or on a heterogeneous
 * graph its relations. Then homogeneous batches need ids. */
bool og__model_sums_weights(const struct og_model_config *config);
/* Whether the option is a parameter of this kind of model, or of this task. */
bool og__model_takes(int kind, const char *option);
bool og__task_takes(int kind, const char *option);

/* Words of tasks, losses and metrics of --best-by; each ends with NULL. The loss of a task with one
 * loss has no word; it is "auto", the first. */
extern const char *const og__task_words[], *const og__loss_words[], *const og__best_words[];
extern const char *const og__optimizer_words[]; /* ends with NULL */
bool og__optimizer_takes(int kind, const char *option);
bool og__is_task(int kind);
/* Whether the option is a parameter of this loss; and parameter number `place` after its colon, or
 * NULL. */
bool og__loss_takes(int kind, const char *option);
const char *og__loss_colon(int kind, int place);
/* Replace OG_LOSS_AUTO in *loss by the decoder's or the task's default. shares: labels are.
 *
 * -EINVAL if the task has no such loss */
OG_MUST_CHECK int og__loss_resolve(int task, bool shares, int decoder, int *loss,
                                   struct og_err *err);

enum { OG_PARAM_DIMS = 3, OG_PARAM_NAME = 256 };

/* A parameter, its gradient and the optimiser's moments, all f32 of one shape, in the backend's
 * memory. A running statistic is stored like a parameter but not trained: it has neither gradient
 * nor moments. */
struct og_param {
    /* As in PyTorch Geometric: "convs.0.lin_l.weight"; for a relation
     * "convs.0.convs.<author___writes___paper>.lin_l.weight". */
    char name[OG_PARAM_NAME];
    int ndim;
    int64_t shape[OG_PARAM_DIMS]; /* 1 from ndim on */
    float *value, *grad, *m, *v;  /* m, v: Adam only */
};
static inline size_t og__param_count(const struct og_param *p)
{
    return (size_t)(p->shape[0] * p->shape[1] * p->shape[2]);
}

/* Initialise the libraries (engine, JIT, a small product on every thread of the pool). This
 * separates their memory from ours: og_train measures its baseline afterwards. */
struct og_nn_ops; /* the backend's operators: ops.h */
extern const struct og_nn_ops og__ops_cpu, og__ops_virtual, og__ops_cuda;
const struct og_nn_ops *og__nn_ops(void); /* on the CPU; NULL in a build without models */
const struct og_nn_ops *og__nn_ops_of_device(int device); /* not of OG_DEVICE_CPU */
/* Operators of a device kind (enum og_device_kind); -ENOTSUP with the reason if it is not
 * available. */
OG_MUST_CHECK int og__nn_find(const struct og_nn_ops **ops, int device, struct og_err *err);
OG_MUST_CHECK int og__nn_warm_up(const struct og_nn_ops *ops, int number, struct og_pool *pool,
                                 struct og_err *err);

struct og_model;

/* Create a model with parameters initialised as in PyTorch Geometric, from the run's seed. They are
 * in the backend's memory ("model"); on the CPU that is charged to b. Owner thread only; calls use
 * the pool while they run. */
OG_MUST_CHECK int og__model_create(struct og_model **out, const struct og_nn_ops *ops,
                                   const struct og_model_config *config, int optimizer,
                                   uint64_t seed, struct og_pool *pool, struct og_budget *b,
                                   struct og_err *err);
/* The same on device `number` of the kind. */
OG_MUST_CHECK int og__model_create_on(struct og_model **out, const struct og_nn_ops *ops,
                                      int number, const struct og_model_config *config,
                                      int optimizer, uint64_t seed, struct og_pool *pool,
                                      struct og_budget *b, struct og_err *err);
void og__model_free(struct og_model *m);
const struct og_model_config *og__model_config(const struct og_model *m);
struct og_param *og__model_params(struct og_model *m, size_t *n);

/* Number of trained values, without running statistics. */
uint64_t og__model_trained(const struct og_model_config *c);

/* All parameters as one vector in host memory, with running statistics: its length; read; write.
 * They are in the order of og__model_params. */
size_t og__model_values(struct og_model *m);
OG_MUST_CHECK int og__model_fetch_values(struct og_model *m, float *values, struct og_err *err);
OG_MUST_CHECK int og__model_push_values(struct og_model *m, const float *values,
                                        struct og_err *err);
/* The name of a parameter with a value that is not finite, or NULL. */
OG_MUST_CHECK int og__model_undefined(struct og_model *m, const char **name, struct og_err *err);

/* Copy between host memory and parameters, logits or scores. These are in the backend's memory;
 * only these two functions may access it. They wait until the source is computed and the copy is
 * finished. */
OG_MUST_CHECK int og__model_fetch(struct og_model *m, void *host, const void *on_backend,
                                  size_t bytes, struct og_err *err);
OG_MUST_CHECK int og__model_push(struct og_model *m, void *on_backend, const void *host,
                                 size_t bytes, struct og_err *err);

/* Copy x->n rows to host memory, consecutively. */
OG_MUST_CHECK int og__model_gather(struct og_model *m, const struct og_rows *x, void *on_backend,
                                   struct og_err *err);

/* The address at which operators read `bytes` bytes of the host, which never change. */
OG_MUST_CHECK int og__model_constant(struct og_model *m, const void *host, size_t bytes,
                                     const void **on_backend, struct og_err *err);

/* Later calls of the model wait for rows that are being uploaded. */
OG_MUST_CHECK int og__model_await(struct og_model *m, const struct og_rows *x, struct og_err *err);

/* Bound device memory to `bytes`; -ENOMEM if it has taken more. No-op on the CPU. */
OG_MUST_CHECK int og__model_bound(struct og_model *m, size_t bytes, struct og_err *err);
struct og_nn_backend;
struct og_nn_backend *og__model_backend(const struct og_model *m); /* its backend */

/* Bytes that create and reserve will take, for the memory plan. */
size_t og__model_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                       int optimizer);
size_t og__model_workspace_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                                 const struct og_batch_caps *caps, bool training, int threads);

/* Allocate the workspace ("activations") for batches up to `caps`; call it again for larger ones.
 */
OG_MUST_CHECK int og__model_reserve(struct og_model *m, const struct og_batch_caps *caps,
                                    bool training, struct og_err *err);

/* Key of random numbers. */
struct og_step {
    uint64_t seed;
    uint32_t epoch, batch;
};

/* Sums over the batch's labelled seeds; add them and divide at the end. A batch counts by its seeds
 * or values, so means over an epoch do not depend on --batch. */
enum { OG__HITS = 6 };
extern const int og__hits_at[OG__HITS]; /* 1, 3, 10, 20, 50, 100 */
struct og_metrics {
    double loss_sum;  /* of counted seeds, for regression of values */
    double weight;    /* of its terms: what the mean loss is divided by */
    uint64_t counted; /* seeds with a label, or edges */
    uint64_t correct; /* arg-max is right (single label); never for a row with NaN */
    uint64_t true_positive, false_positive, false_negative; /* multi-label, at logit 0 */
    /* Links: twice the pairs (edge, a negative of its own) that the edge wins, ties counting once.
     * Edges ranked among ranking negatives, the sum of 1 / rank, and how many reached a rank of
     * og__hits_at. */
    uint64_t compared, twice_ordered, ranked, hits[OG__HITS];
    double reciprocal_ranks;
    /* Regression, over known values. */
    uint64_t values;
    double absolute, squared; /* of the errors */
    double value_sum, value_squares;
    double ndcg; /* shares: the sum over counted seeds */
};
void og__metrics_add(struct og_metrics *sum, const struct og_metrics *part);
double og__metrics_loss(const struct og_metrics *m); /* mean; 0 of none */
/* The task's chief metric from sums alone. Accuracy, micro-F1 of several labels, R^2 of values or
 * NDCG@10 of shares.
 * For links the share of negatives below their edge. */
double og__metrics_acc(const struct og_metrics *m, const struct og_model_config *config);
double og__metrics_r2(const struct og_metrics *m);
/* The metric that is not finite because the model diverged: "loss" or "rank of an edge"; NULL =
 * none. Other metrics are then meaningless. */
const char *og__metrics_undefined(const struct og_metrics *m);

/* Forward pass with dropout, loss, backward pass. Writes gradients to params and updates running
 * statistics. x has batch->n_ids rows. On a heterogeneous graph x is an array: the rows of each
 * type's nodes, in the order of the batch's ids. `edges` has the rows of each relation's edges, for
 * a model that sees them; else it may be NULL. The labels are int32 [B] (-1 = none) or float32
 * [B, C]; for links a struct og_pairs. */
OG_MUST_CHECK int og__model_gradients(struct og_model *m, const struct og_batch *batch,
                                      const struct og_rows *x, const struct og_edge_rows *edges,
                                      const void *labels, const struct og_step *step,
                                      struct og_metrics *out, struct og_err *err);
/* The same in two parts, for a model that computes a mini-batch for another model of its shape.
 * First everything except the running statistics, then these. */
OG_MUST_CHECK int og__model_part(struct og_model *m, const struct og_batch *batch,
                                 const struct og_rows *x, const struct og_edge_rows *edges,
                                 const void *labels, const struct og_step *step,
                                 struct og_metrics *out, struct og_err *err);
OG_MUST_CHECK int og__model_track(struct og_model *m, struct og_model *from, struct og_err *err);
/* Inputs of og__model_track as numbers in host memory, for a model of another process. Their count
 * is 0 without batch norm. */
size_t og__model_moments(const struct og_model_config *config);
OG_MUST_CHECK int og__model_fetch_moments(struct og_model *m, float *out, struct og_err *err);
OG_MUST_CHECK int og__model_track_moments(struct og_model *m, const float *in, struct og_err *err);
/* Forward pass without dropout, with running statistics, and loss; labels may be NULL. */
OG_MUST_CHECK int og__model_forward(struct og_model *m, const struct og_batch *batch,
                                    const struct og_rows *x, const struct og_edge_rows *edges,
                                    const void *labels, struct og_metrics *out, struct og_err *err);
/* Metrics of the last forward pass by other labels of its n seeds. Not for links. */
OG_MUST_CHECK int og__model_judge(struct og_model *m, const void *labels, uint32_t n,
                                  struct og_metrics *out, struct og_err *err);
/* Logits of the last forward pass, [B, C] f32, row stride C, in the backend's memory. Valid until
 * the next call on m. */
const float *og__model_logits(const struct og_model *m);

/* Input rows of the last layer for the seeds, [B, hidden]; valid likewise. NULL: the model has one
 * layer, or that layer reads no rows of the seeds' type. */
const float *og__model_hidden(const struct og_model *m);

/* Links: scores of the pairs of the last batch, in their order; valid likewise. */
const float *og__model_scores(const struct og_model *m);

/* What a step of an optimizer depends on besides gradients. Betas and epsilon: of Adam. */
struct og_pace {
    double lr, weight_decay, beta1, beta2, epsilon;
};
/* With PyTorch's betas and epsilon. */
static inline struct og_pace og__usual_pace(double lr, double weight_decay)
{
    return (struct og_pace){lr, weight_decay, 0.9, 0.999, 1e-8};
}
/* One optimiser step with the current gradients, times `scale`; step counts from 1 (Adam's bias
 * correction). */
OG_MUST_CHECK int og__model_update(struct og_model *m, const struct og_pace *pace, double scale,
                                   uint64_t step, struct og_err *err);

/* The gradient of a type's stored rows in the last batch. It is [n, dim] in the order of its rows,
 * in host memory. *n: their number; 0: none reached them. */
OG_MUST_CHECK int og__model_row_gradient(struct og_model *m, uint32_t type, float *out, uint32_t *n,
                                         struct og_err *err);

/* ---- ranking scores ---- */

/* Area under the ROC curve, ties counting half, and average precision. The latter is the sum over
 * thresholds of precision times the recall gained. NAN if either list is empty. F1 of the positive
 * class, predicted for scores above 0; 0 if there are no positives and none is predicted. All are
 * NAN if a score is NaN. Reorders both. */
struct og_ranking {
    double auc, ap, f1;
};
struct og_ranking og__rank_scores(float *positive, size_t n_positive, float *negative,
                                  size_t n_negative);

/* Ranks of each positive among all negatives, as the Open Graph Benchmark has them. Hits: the share
 * of positives above the K-th largest negative, 1 if there are fewer. MRR: the mean of 1 / rank,
 * ties counting half. NAN if there is no positive, or a score is NaN. Reorders both. */
struct og_ranks_among {
    double mrr, hits[OG__HITS];
};
struct og_ranks_among og__rank_among(float *positive, size_t n_positive, float *negative,
                                     size_t n_negative);

/* ---- safetensors: the format of parameters ----
 *
 *     0    u64 little endian: length H of the header
 *     8    H bytes of JSON: {"name":{"dtype":"F32","shape":[..],"data_offsets":[begin,end]},
 *                            "__metadata__":{"key":"text"}}, padded with spaces to 8 bytes
 *     8+H  data, offsets relative to here, no holes */
struct og_tensor {
    char name[OG_PARAM_NAME + 32];
    enum { OG_TENSOR_F32, OG_TENSOR_F64, OG_TENSOR_I64 } dtype;
    int ndim;
    int64_t shape[4];
    const void *data; /* NULL in an open file */
    size_t bytes;
    uint64_t at;            /* byte of the file where it begins; ignored in writing */
    struct og_model *where; /* model whose memory has data; NULL: host memory */
    /* To be written, instead of data: bytes [at, at + bytes) of it; NULL: data has them. */
    int (*read)(void *self, size_t at, size_t bytes, void *out, struct og_err *err);
    void *self;
};
struct og_tensors {
    struct og_tensor *tensor;
    size_t n;
    struct og_metadata {
        char *key, *value;
    } * metadata;
    size_t n_metadata;
};
/* Deterministic bytes for the same content. Atomic: written to another name, then renamed. */
OG_MUST_CHECK int og__tensors_write(const char *path, const struct og_tensors *t,
                                    struct og_err *err);
/* Parse a file in memory. Everything is checked against its size, and data points into it. Release
 * with og__tensors_release. */
OG_MUST_CHECK int og__tensors_parse(const void *bytes, size_t len, const char *name,
                                    struct og_tensors *out, struct og_err *err);
void og__tensors_release(struct og_tensors *t);

/* Open a file and check its header, which alone is kept. A file may exceed memory. */
struct og_tensors_file {
    struct og_tensors all;
    char *path;
    int fd;
};
OG_MUST_CHECK int og__tensors_open(struct og_tensors_file *f, const char *path, struct og_err *err);
/* Read all of it and compare its checksum, if it has one. Returns -EINVAL for another. Call it
 * before data is used. Metadata and shapes need no check. */
OG_MUST_CHECK int og__tensors_check(const struct og_tensors_file *f, struct og_err *err);
void og__tensors_close(struct og_tensors_file *f);
/* Read bytes [first, first + bytes) of a tensor of the file. */
OG_MUST_CHECK int og__tensors_load(const struct og_tensors_file *f, const struct og_tensor *t,
                                   size_t first, size_t bytes, void *out, struct og_err *err);
/* Digits of a file's checksum, as its header has them. */
OG_MUST_CHECK int og__tensors_seal(const char *path, char seal[17], struct og_err *err);
const struct og_tensor *og__tensors_find(const struct og_tensors *t, const char *name);
const char *og__tensors_said(const struct og_tensors *t, const char *key); /* its metadata */

#endif
