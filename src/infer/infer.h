/* Inference over the whole graph, layer by layer, out of core.
 *
 *     features ──layer 0──> activations ──layer 1──> ... ──> logits      [N, width] each, on disk
 *
 *     a layer   its input, front to back ──transform──> sources     if it multiplies first
 *               lists of a block of nodes ──┐
 *               rows of their sources ──────┴──combine──> output, front to back
 *
 * A block's adjacency lists are one run of indices.npy. The rows of sources in the most lists are
 * cached for the whole layer, as many as --memory allows. Other rows are read per block, in file
 * order. A node's sources are added in the order of its list. So the output is bit-identical for
 * any memory, and after any interruption (infer_state.h). */
#ifndef OG_INFER_H
#define OG_INFER_H

#include "dataset/hops.h"
#include "infer/infer_state.h"
#include "infer/needed.h"
#include "infer/prediction_file.h"
#include "io/io.h"
#include "learn/scores.h"
#include "nn/whole.h"
#include "options/fields.h"
#include "plan/plan.h"
#include "report/json.h"
#include "session/option_effects.h"

/* Rows of nodes in files. */
struct og_matrix {
    bool features; /* the dataset's features; else */
    struct og_step_files files;
    uint64_t n; /* rows: of the first nodes */
    int dim;
    enum og_dtype dtype;
    const struct og_sparse_rows *sparse; /* og_rows.sparse */
    const float *scale;                  /* og_rows.scale */
};

/* Nodes whose logits are compared with their labels. */
struct og_judged {
    uint32_t *ids; /* ascending */
    void *labels;
    int64_t n, next;
    float *logits; /* [OG__WHOLE_ROWS, C] not compared yet */
    uint32_t waiting;
    struct og_metrics metrics;
    struct og_scores scores;
};

/* Layers of a propagation (infer_hops.c). */
struct og_hops {
    bool by_row; /* divides by the degree, else by the root of both ends' */
    bool loops;
    bool labelled;      /* rows of every node are not kept */
    bool last;          /* rows of labelled nodes are of the last hop alone */
    const char *folder; /* of these rows; NULL = none */
    float *scale;       /* [nodes] */
};

/* Layers of Correct & Smooth (infer_smoothing.c). */
struct og_smoothing {
    int corrections; /* the first layers; the others smooth */
    float alpha[2];  /* of both: the share of the neighbours */
    bool fixed;      /* corrections are multiplied by */
    float scale;     /* this; else each node's has */
    float sigma;     /* the mean error of a train node */
    struct og_group predictions;
    uint32_t *train; /* [n_train] ascending, and their labels */
    void *labels;
    int64_t n_train;
};

struct og_infer_kind;

struct og_inference {
    const struct og_infer_kind *kind; /* what layers compute */
    struct og_options opt;
    const struct og_observer *observer;
    struct og_log log;
    struct og_graph *ds;
    const struct og_relation *lists; /* adjacency lists in use: those of ds, or */
    struct og_relation walked;       /* those of walks (infer_walks.c), or */
    struct og_relation picked;       /* those of either that some nodes need (needed.h) */
    const struct og_relation *whole; /* the lists of all nodes, if picked */
    struct og_needed needed;
    struct og_prediction_form form, embeddings_form; /* of the outputs */
    bool overwrites;                                 /* outputs that are there */
    struct og_budget *budget;
    const struct og_nn_ops *ops; /* operators of the model */
    struct og_pool *pool;
    struct og_model_config config; /* of hops: layers, widths and edge_weights alone */
    struct og_model *model;
    struct og_hops hops;
    struct og_smoothing smoothing;
    struct og_disk_profile profile; /* of the features' disk, */
    struct og_disk_profile away;    /* and of the disks with steps' files, if several */
    struct og_infer_state state;
    struct og_judged *judged; /* or NULL */
    /* Groups whose rows, side by side, are layer 0's input: the features, or hops (og__inputs). */
    const struct og_group *input[OG_MAX_HOPS + 1];
    int n_inputs;
    bool alone; /* lists are not read: the model sees no neighbours */
    struct og_hop_files hop_files;
    uint32_t *feeds;                 /* [nodes of lists] number of lists with the node */
    bool degrees, degrees_of_others; /* needs degrees; these without the node itself */
    uint32_t *degree;                /* number of its neighbours */
    struct og_weight_sums weights;   /* with edge weights: of these */
    const float *ends[2]; /* [n_ends][nodes] numbers that a block has of each of its sources */
    int n_ends;
    struct og_newdir *folder;            /* that appears with the outputs, or NULL */
    uint64_t longest;                    /* most edges of OG__WHOLE_ROWS nodes */
    struct og_io_counts opened_read;     /* the process's reads before this */
    struct og_io_counts prepare, counts; /* before all layers; of the current layer */
    uint64_t bytes_written;              /* in the current layer */
    uint64_t prepare_written;
    json_t *layers;
    size_t baseline_rss;
    double start, layer_start;
};

#define OG__INFER_NODES "inference nodes" /* feeds, degree and ends, in the budget */

/* A block of nodes, as a layer combines it. */
struct og_infer_block {
    struct og_block block; /* without weights of sources */
    uint64_t first;        /* node of its first destination */
    struct og_rows sources, own;
    const struct og_edge_rows *edges; /* or NULL */
    const float *ends;                /* [n_ends][n_src], or NULL */
};

/* What layers compute: those of a model (infer_model.c), hops (infer_hops.c), or Correct & Smooth
 * (infer_smoothing.c). */
struct og_infer_kind {
    const char *layer; /* how messages call one */
    const char *undefined_hint;
    /* Inputs that decide the results, as a JSON object. NULL with err. */
    json_t *(*numbers)(struct og_inference *f, struct og_err *err);
    /* At the end of the survey: ends. */
    int (*survey)(struct og_inference *f, struct og_err *err);
    /* How layer l computes, which the lists of all nodes decide. */
    struct og_whole_layer (*shape)(const struct og_inference *f, int l);
    /* The step whose rows are the own rows of layer l, or OG__INFER_INPUT. NULL: they are the
     * layer's input. */
    int (*own)(const struct og_inference *f, int l);
    /* Memory in addition to rows, which reserve takes. NULL, all three: none. */
    size_t (*bytes)(const struct og_inference *f, int l, const struct og_whole_caps *caps);
    int (*reserve)(struct og_inference *f, int l, const struct og_whole_caps *caps,
                   struct og_err *err);
    void (*release)(struct og_inference *f);
    /* x: rows from node `first` on; out [x.n, n_source]; NULL: no layer transforms */
    int (*transform)(struct og_inference *f, int l, uint64_t first, struct og_rows x, float *out,
                     struct og_err *err);
    /* out [n_dst, n_out] */
    int (*combine)(struct og_inference *f, int l, const struct og_whole_layer *shape,
                   const struct og_infer_block *b, float *out, struct og_err *err);
};
extern const struct og_infer_kind og__infer_of_model, og__infer_of_hops, og__infer_of_smoothing;

enum { OG__INFER_INPUT = -1 }; /* the input of layer 0, in place of a step */
int og__infer_own_step(const struct og_inference *f, int l);

/* Nodes whose rows layer l reads; of the number of layers, those whose predictions are requested.
 * They are the first of lists. */
uint64_t og__infer_nodes(const struct og_inference *f, int l);
/* Edges along which it combines them. */
uint64_t og__infer_edges(const struct og_inference *f, int l);

/* With --sampler walk: sample other lists, with weights. */
OG_MUST_CHECK int og__infer_walk(struct og_inference *f, struct og_err *err);
void og__infer_release_walks(struct og_inference *f);

/* Scan the topology once, for feeds, degree, longest and ends. */
OG_MUST_CHECK int og__infer_survey(struct og_inference *f, struct og_err *err);
/* Fill weights.mean and, with `loops`, weights.loop. */
OG_MUST_CHECK int og__infer_sum_weights(struct og_inference *f, bool loops, struct og_err *err);

/* After the survey: -ENOMEM with the minimum if the memory is too small for a layer. */
OG_MUST_CHECK int og__infer_check(const struct og_inference *f, struct og_err *err);

/* After all layers: write the outputs that are no file of a step. */
OG_MUST_CHECK int og__infer_publish(struct og_inference *f, struct og_err *err);

/* Compute layer l from `in`, or the rest of it; adds its counters to layers. */
OG_MUST_CHECK int og__infer_layer(struct og_inference *f, int l, const struct og_matrix *in,
                                  struct og_err *err);

/* ---- a command (infer_run.c) ---- */

/* The time, the reads so far and the log, at the very start. */
void og__infer_begins(struct og_inference *f);
/* The options of a command without a model. Reports those that it does not use. `instead`: hint
 * against weights of a mean. */
OG_MUST_CHECK int og__infer_without_model(struct og_inference *f, const struct og_options *opt,
                                          enum og__unused by, const char *instead,
                                          struct og_err *err);
/* -EINVAL if edge weights are required and the graph has none. */
OG_MUST_CHECK int og__infer_check_weights(const struct og_inference *f, struct og_err *err);
/* Take what all of them need, after `opt`, `kind` and `ds`: threads, budget, lists. */
OG_MUST_CHECK int og__infer_take(struct og_inference *f, struct og_err *err);
void og__infer_free(struct og_inference *f);
/* The features of all nodes. */
struct og_matrix og__infer_features(const struct og_inference *f);
/* The output of layer l. The caller frees its files, also on failure. */
OG_MUST_CHECK int og__infer_output_of(struct og_inference *f, int l, struct og_matrix *out,
                                      struct og_err *err);
/* All layers, or the rest of them. The state is open. */
OG_MUST_CHECK int og__infer_run(struct og_inference *f, struct og_err *err);
/* Bytes, seconds and memory, as JSON. */
json_t *og__infer_figures(const struct og_inference *f);

#endif
