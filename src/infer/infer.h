/* Inference over the whole graph, layer by layer, out of core.
 *
 *     features ──layer 0──> activations ──layer 1──> ... ──> logits      [N, width] each, on disk
 *
 *   a layer   its input, front to back ──transform──> sources     where the model multiplies first
 *             lists of a block of nodes ┐
 *             rows of their sources ────┴──combine──> output, front to back
 *
 * A block's lists are one run of indices.npy. Rows of the sources that feed most nodes stay in
 * memory for the whole layer, as many as --memory holds; the others are read for the block, in file
 * order. A node's sources are added in the order of its list, so the output is the same, bit for
 * bit, whatever the memory; and whatever a run kept that ended early (infer_state.h). */
#ifndef OG_INFER_H
#define OG_INFER_H

#include "infer/infer_state.h"
#include "io/io.h"
#include "nn/whole.h"
#include "options/fields.h"
#include "plan/plan.h"
#include "report/json.h"

/* Rows of all nodes in files. */
struct og_matrix {
    bool features; /* the dataset's, wherever they lie; else */
    struct og_step_files files;
    int dim;
    enum og_dtype dtype;
};

/* Nodes whose logits are compared with their labels. */
struct og_judged {
    uint32_t *ids; /* ascending */
    void *labels;
    int64_t n, next;
    float *logits; /* [OG__WHOLE_ROWS, C] waiting */
    uint32_t waiting;
    struct og_metrics metrics;
};

struct og_inference {
    struct og_options opt;
    const struct og_observer *seen;
    struct og_log log;
    struct og_graph *ds;
    const struct og_relation *lists; /* that count: of ds, or */
    struct og_relation walked;       /* what walks found (infer_walks.c) */
    struct og_budget *budget;
    const struct og_nn_ops *ops; /* what the model computes with */
    struct og_pool *pool;
    struct og_model_config config;
    struct og_model *model;
    struct og_disk_profile profile; /* of the features' disk, */
    struct og_disk_profile
        away; /* and of those that steps' files are on, where there are several */
    struct og_infer_state state;
    struct og_judged *judged;            /* or NULL */
    uint32_t *feeds;                     /* [N] how many lists each node is in */
    uint32_t *degree;                    /* [N] of GCN: neighbours but itself */
    uint64_t longest;                    /* edges of the OG__WHOLE_ROWS nodes that have most */
    struct og_io_counts opened_read;     /* what the process had read when this began */
    struct og_io_counts prepare, counts; /* before any layer; of the layer at hand */
    uint64_t bytes_written;              /* of the layer at hand */
    uint64_t prepare_written;
    json_t *layers;
    size_t baseline_rss;
    double start, layer_start;
};

#define OG__INFER_NODES "inference nodes" /* feeds and degree, in the budget */

/* Where --sampler walk has it: other lists, with weights. */
OG_MUST_CHECK int og__infer_walk(struct og_inference *f, struct og_err *err);
void og__infer_release_walks(struct og_inference *f);

/* One pass over the graph's structure: feeds, degree, longest. */
OG_MUST_CHECK int og__infer_survey(struct og_inference *f, struct og_err *err);

/* After the survey: -ENOMEM, naming what would do, where the memory is too little for any layer. */
OG_MUST_CHECK int og__infer_check(const struct og_inference *f, struct og_err *err);

/* Layer l from `in`, or what is left of it; adds its figures to layers. */
OG_MUST_CHECK int og__infer_layer(struct og_inference *f, int l, const struct og_matrix *in,
                                  struct og_err *err);

#endif
