/* nn computes: models on sampled blocks, their gradients, the optimiser.
 *
 * Letters:  L layers, layer l = 0 reads features and uses block hop[L-1-l]
 *           S = n_src, D = n_dst, E = n_edges of a block;  F_in, F_out widths of a layer
 *           C classes, B seeds
 *
 * The same bits whatever the number of threads: products run in fixed blocks of rows, one
 * single-threaded oneDNN call a block; partial weight gradients are summed in block order;
 * aggregation and attention walk each row's edges in order, forwards by destination, backwards by
 * source; sums over rows go block by block; dropout is keyed by (seed, epoch, batch, layer, row),
 * where features and coefficients of attention have layers of their own.
 * Block sizes and operator order depend on shapes alone. */
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
    int layers, in_dim, hidden, n_classes; /* n_classes: width of the output, whatever the task */
    double dropout;                        /* of the outputs of hidden layers */
    double input_dropout;                  /* of the features */
    double attention_dropout;              /* of coefficients of attention */
    int task;                              /* enum og_task_kind */
    int decoder;                           /* enum og_decoder_kind, of links */
    int loss;                              /* enum og_loss_kind, where the task has a choice */
    bool multi_label;
    int heads;         /* of attention */
    int aggregator;    /* enum og_aggregator_kind, of SAGE */
    int bases;         /* of R-GCN: what relations' matrices are mixed of; 0: each has its own */
    int norm;          /* enum og_norm_kind, after each hidden layer */
    bool residual;     /* each layer's input is added to its output */
    int own_dim;       /* width of the destinations' own rows in layer 0; 0: in_dim */
    int embedding;     /* width of trained rows, as a checkpoint has them; 0: it has none */
    bool apart;        /* destinations are not among layer 0's sources, nor any later one's */
    bool trains_input; /* some of what layer 0 reads are parameters */
    /* NULL: nodes are of one type. Else a layer is the sum, in each type, of the convolutions of
     * the relations that end there (relational.h), or one convolution of all relations (joined.h),
     * and in_dim is the widest of layer 0, or the width to which the rows of all types are brought;
     * borrowed. */
    const struct og_graph_types *types;
};
/* Whether there is such a model, and whether the graph has what it is of; og__model_create asks as
 * well. */
OG_MUST_CHECK int og__model_check(const struct og_model_config *config, struct og_err *err);
OG_MUST_CHECK int og__model_check_graph(const struct og_model_config *config, struct og_err *err);
extern const char *const og__model_words[]; /* all kinds; ends with NULL */
/* Tensors of a layer in a checkpoint, by which the model that made it is told. */
struct og_conv_names {
    const char *const
        *marks; /* all of them are there, and more than of any other; ends with NULL */
    const char *first, *last; /* [.., F_in] and [F_out, ..] of the layer; last NULL = first, else
                                 F_mid is the hidden width */
    const char *apart;        /* NULL, or what a relation between two types has for `first` */
    bool turned;              /* `first` is [F_in, F_out] */
    const char *att; /* [1, H, C] of H heads, in the last layer F_out = C; NULL: has none */
};
/* NULL: there is no such model. Kinds and aggregators count from 0. */
const struct og_conv_names *og__model_names(const struct og_model_config *config);
bool og__model_joins(int kind); /* rows of all types are of one width to it (joined.h) */
bool og__model_wants_degrees(const struct og_model_config *config); /* og_block.degree */
/* Of a typed graph: has it a convolution of the relation that looks at degrees in the graph
 * (og_graph_relation)? */
bool og__model_counts_relation(const struct og_model_config *config, uint32_t relation);
bool og__model_weighs(const struct og_model_config *config); /* has it a use for og_block.weight? */
/* Does this kind of model, this task, look at the option, a parameter of some? */
bool og__model_takes(int kind, const char *option);
bool og__task_takes(int kind, const char *option);

/* All tasks, and all losses but that of a task which has no choice, which is the first, "auto";
 * end with NULL. */
extern const char *const og__task_words[], *const og__loss_words[], *const og__best_words[];
bool og__is_task(int kind);
/* The task's own loss where *loss is OG_LOSS_AUTO; -EINVAL: it takes no such loss. */
OG_MUST_CHECK int og__loss_settle(int task, int *loss, struct og_err *err);

enum { OG_PARAM_DIMS = 3, OG_PARAM_NAME = 256 };

/* A parameter, its gradient and the optimiser's moments, all f32 of one shape, where the model
 * computes. A running statistic is kept and saved like a parameter, but not trained: it has neither
 * gradient nor moments. */
struct og_param {
    /* PyTorch Geometric's: "convs.0.lin_l.weight", of a relation
     * "convs.0.convs.<author___writes___paper>.lin_l.weight" */
    char name[OG_PARAM_NAME];
    int ndim;
    int64_t shape[OG_PARAM_DIMS]; /* 1 from ndim on */
    float *value, *grad, *m, *v;  /* m, v: Adam only */
};
static inline size_t og__param_count(const struct og_param *p)
{
    return (size_t)(p->shape[0] * p->shape[1] * p->shape[2]);
}

/* Bring the libraries up (engine, JIT, one small product on every thread of the pool), so that
 * their memory can be told from ours: og_train takes its baseline after this. */
struct og_nn_ops; /* what computes: ops.h */
extern const struct og_nn_ops og__ops_cpu, og__ops_virtual, og__ops_cuda;
const struct og_nn_ops *og__nn_ops(void); /* on processors; NULL: of a build without models */
const struct og_nn_ops *og__nn_ops_of_device(int device); /* not of OG_DEVICE_CPU */
/* What computes on a device (enum og_device_kind); -ENOTSUP, saying so, where there is no such one.
 */
OG_MUST_CHECK int og__nn_find(const struct og_nn_ops **ops, int device, struct og_err *err);
OG_MUST_CHECK int og__nn_warm_up(const struct og_nn_ops *ops, int number, struct og_pool *pool,
                                 struct og_err *err);

struct og_model;

/* Parameters initialised as PyTorch Geometric initialises them, from the run's seed. They lie in
 * the backend's memory ("model"), on processors the host's: then b is its budget. Owner thread
 * only; the pool is used while a call runs. */
OG_MUST_CHECK int og__model_create(struct og_model **out, const struct og_nn_ops *ops,
                                   const struct og_model_config *config, int optimizer,
                                   uint64_t seed, struct og_pool *pool, struct og_budget *b,
                                   struct og_err *err);
/* The same on another device of the kind than the first. */
OG_MUST_CHECK int og__model_create_on(struct og_model **out, const struct og_nn_ops *ops,
                                      int number, const struct og_model_config *config,
                                      int optimizer, uint64_t seed, struct og_pool *pool,
                                      struct og_budget *b, struct og_err *err);
void og__model_free(struct og_model *m);
const struct og_model_config *og__model_config(const struct og_model *m);
struct og_param *og__model_params(struct og_model *m, size_t *n);

/* Numbers that training changes: running statistics are none. */
uint64_t og__model_trained(const struct og_model_config *c);

/* All parameters as one vector on the host, in the order of og__model_params: how many numbers that
 * is; out of the model; into it. Running statistics are among them. */
size_t og__model_values(struct og_model *m);
OG_MUST_CHECK int og__model_fetch_values(struct og_model *m, float *values, struct og_err *err);
OG_MUST_CHECK int og__model_push_values(struct og_model *m, const float *values,
                                        struct og_err *err);
/* The name of a parameter with a value that is not finite, or NULL. */
OG_MUST_CHECK int og__model_undefined(struct og_model *m, const char **name, struct og_err *err);

/* Parameters, logits and scores lie where the model computes, which may be no memory of the host:
 * pointers to them are for these two alone. They wait until what is copied is made, and is there.
 */
OG_MUST_CHECK int og__model_fetch(struct og_model *m, void *host, const void *there, size_t bytes,
                                  struct og_err *err);
OG_MUST_CHECK int og__model_push(struct og_model *m, void *there, const void *host, size_t bytes,
                                 struct og_err *err);

/* x->n rows of the host's, one behind the other. */
OG_MUST_CHECK int og__model_gather(struct og_model *m, const struct og_rows *x, void *there,
                                   struct og_err *err);

/* What the model is asked from now on waits for these rows, where they are on their way to where it
 * computes. */
OG_MUST_CHECK int og__model_await(struct og_model *m, const struct og_rows *x, struct og_err *err);

/* No more of a device's memory than so many bytes; -ENOMEM where it has taken more. On processors
 * there is nothing to bound. */
OG_MUST_CHECK int og__model_bound(struct og_model *m, size_t bytes, struct og_err *err);
struct og_nn_backend;
struct og_nn_backend *og__model_backend(const struct og_model *m); /* what it computes with */
struct og_rows_ops;
const struct og_rows_ops *og__model_rows_ops(const struct og_model *m); /* NULL on processors */

/* What create and reserve will take, for the memory plan. */
size_t og__model_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                       int optimizer);
size_t og__model_workspace_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                                 const struct og_batch_caps *caps, bool training, int threads);

/* Take the workspace ("activations") for batches up to `caps`; again for larger ones. */
OG_MUST_CHECK int og__model_reserve(struct og_model *m, const struct og_batch_caps *caps,
                                    bool training, struct og_err *err);

/* Where randomness is keyed. */
struct og_step {
    uint64_t seed;
    uint32_t epoch, batch;
};

/* Sums over the batch's labelled seeds; add them up and divide at the end. What a batch of another
 * size adds counts by its seeds or values: means over an epoch do not depend on --batch. */
enum { OG__HITS = 3 };
extern const int og__hits_at[OG__HITS]; /* 1, 3, 10 */
struct og_metrics {
    double loss_sum;  /* of counted seeds; of regression of values */
    uint64_t counted; /* seeds with a label, or edges */
    uint64_t correct; /* arg-max right (single label); a row with NaN has none */
    uint64_t true_positive, false_positive, false_negative; /* multi-label, at logit 0 */
    /* links: twice the pairs (edge, a negative of its own) with the edge above, equals counting
     * once; edges ranked among rivals, the sum of 1 / rank, and how many came that far up */
    uint64_t compared, twice_ordered, ranked, hits[OG__HITS];
    double reciprocal_ranks;
    /* regression, over values that are there */
    uint64_t values;
    double absolute, squared; /* of the errors */
    double value_sum, value_squares;
};
void og__metrics_add(struct og_metrics *sum, const struct og_metrics *part);
uint64_t og__metrics_terms(const struct og_metrics *m); /* of which the loss is the sum */
double og__metrics_loss(const struct og_metrics *m);    /* mean; 0 of none */
/* The task's chief figure, of sums alone: accuracy; micro-F1 of labels; R^2 of values; of links the
 * share of negatives that are below their edge. */
double og__metrics_acc(const struct og_metrics *m, const struct og_model_config *config);
double og__metrics_r2(const struct og_metrics *m);
/* Which of them is not a finite number, as of a model that diverged: "loss" or "rank of an edge";
 * NULL = none. What is seen of the others then is worth nothing. */
const char *og__metrics_undefined(const struct og_metrics *m);

/* Forward with dropout, loss, backward: gradients are left in params; running statistics take the
 * batch in. x has batch->n_ids rows, or, of a typed graph, is an array: one for each type, with the
 * rows of its nodes in the order of the batch's ids;
 * labels are int32 [B] (-1 = none) or float32 [B, C]; of links they are a struct og_pairs. */
OG_MUST_CHECK int og__model_gradients(struct og_model *m, const struct og_batch *batch,
                                      const struct og_rows *x, const void *labels,
                                      const struct og_step *step, struct og_metrics *out,
                                      struct og_err *err);
/* The same in two parts, for a model that computes a mini-batch for another one, which has its
 * shape and takes in what was made of it: first all but the running statistics, then these. */
OG_MUST_CHECK int og__model_part(struct og_model *m, const struct og_batch *batch,
                                 const struct og_rows *x, const void *labels,
                                 const struct og_step *step, struct og_metrics *out,
                                 struct og_err *err);
OG_MUST_CHECK int og__model_track(struct og_model *m, struct og_model *from, struct og_err *err);
/* What og__model_track takes in, as numbers of the host's, for a model of another process; and how
 * many those are: 0 without batch norm. */
size_t og__model_moments(const struct og_model_config *config);
OG_MUST_CHECK int og__model_fetch_moments(struct og_model *m, float *out, struct og_err *err);
OG_MUST_CHECK int og__model_track_moments(struct og_model *m, const float *in, struct og_err *err);
/* Forward without dropout, with running statistics, and loss; labels may be NULL. */
OG_MUST_CHECK int og__model_forward(struct og_model *m, const struct og_batch *batch,
                                    const struct og_rows *x, const void *labels,
                                    struct og_metrics *out, struct og_err *err);
/* Logits of the last forward, [B, C] f32, row stride C, where the model computes; valid until the
 * next call on m. */
const float *og__model_logits(const struct og_model *m);

/* Rows of the seeds that its last layer read, [B, hidden]; as long. NULL: it has one layer, or
 * reads none of the seeds' type. */
const float *og__model_hidden(const struct og_model *m);

/* Scores of the pairs of the last batch, in their order; links. As long. */
const float *og__model_scores(const struct og_model *m);

/* One step of the optimiser with the gradients at hand; step counts from 1 (Adam's bias
 * correction). PyTorch's Adam (beta 0.9, 0.999, eps 1e-8; weight decay added to the gradient). */
OG_MUST_CHECK int og__model_update(struct og_model *m, double lr, double weight_decay,
                                   uint64_t step, struct og_err *err);

/* ---- ranking scores ---- */

/* Area under the ROC curve, ties counting half, and average precision (the sum over thresholds of
 * precision times the recall gained): NAN where either list is empty. F1 of the positive, where
 * scores above 0 are called so: 0 where no score is positive and none is called so. All are NAN
 * where a score is NaN. Sorts both. */
struct og_ranking {
    double auc, ap, f1;
};
struct og_ranking og__rank_scores(float *positive, size_t n_positive, float *negative,
                                  size_t n_negative);

/* ---- safetensors: how parameters are kept ----
 *
 *   0   u64 little endian: length H of the header
 *   8   H bytes of JSON: {"name":{"dtype":"F32","shape":[..],"data_offsets":[begin,end]},
 *                         "__metadata__":{"key":"text"}}, padded with spaces to 8 bytes
 *   8+H data, offsets relative to here, no holes */
struct og_tensor {
    char name[OG_PARAM_NAME + 32];
    enum { OG_TENSOR_F32, OG_TENSOR_F64, OG_TENSOR_I64 } dtype;
    int ndim;
    int64_t shape[4];
    const void *data; /* NULL of an open file */
    size_t bytes;
    uint64_t at;            /* byte of the file where it begins; writing does not look at it */
    struct og_model *where; /* whose memory data lies in; NULL: the host's */
};
struct og_tensors {
    struct og_tensor *tensor;
    size_t n;
    struct og_metadata {
        char *key, *value;
    } * metadata;
    size_t n_metadata;
};
/* Deterministic bytes for the same content. Atomic: beside, then renamed. */
OG_MUST_CHECK int og__tensors_write(const char *path, const struct og_tensors *t,
                                    struct og_err *err);
/* A file in memory: everything is checked against its size, and data points into it. Release with
 * og__tensors_release. */
OG_MUST_CHECK int og__tensors_parse(const void *bytes, size_t len, const char *name,
                                    struct og_tensors *out, struct og_err *err);
void og__tensors_release(struct og_tensors *t);

/* A file on disk, checked as much, of which only the header is held: a model may fill the memory
 * that there is, and its file has several times as much. */
struct og_tensors_file {
    struct og_tensors all;
    char *path;
    int fd;
};
OG_MUST_CHECK int og__tensors_open(struct og_tensors_file *f, const char *path, struct og_err *err);
void og__tensors_close(struct og_tensors_file *f);
/* Bytes [first, first + bytes) of a tensor of the file. */
OG_MUST_CHECK int og__tensors_load(const struct og_tensors_file *f, const struct og_tensor *t,
                                   size_t first, size_t bytes, void *out, struct og_err *err);
const struct og_tensor *og__tensors_find(const struct og_tensors *t, const char *name);
const char *og__tensors_said(const struct og_tensors *t, const char *key); /* its metadata */

#endif
