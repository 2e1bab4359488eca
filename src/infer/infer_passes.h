/* Internals of inference; see infer.h for its interface.
 *
 *     step_files.c        rows of a step, in one file or over several folders
 *     infer_state.c       state for --resume
 *     infer_passes.c      common parts of passes over nodes
 *     infer_transform.c   every row multiplied
 *     infer_combine.c     along the edges
 *     infer_walks.c       lists by random walks, before all layers
 *     needed.c            lists that some nodes need, likewise
 *     infer_publish.c     outputs made of the last rows
 *     infer_model.c       layers of a model
 *     infer_hops.c        layers of a propagation
 *     infer_smoothing.c   layers of Correct & Smooth
 *     infer.c             the survey, a layer
 *     infer_run.c         all layers
 *     infer_command.c     predict, and eval with all neighbours
 *     infer_propagate.c   propagate
 *     hop_rows.c          its rows of labelled nodes
 *     infer_smooth.c      smooth
 *
 * Each calls only those above it. */
#ifndef OG_INFER_PASSES_H
#define OG_INFER_PASSES_H

#include "dataset/writer.h"
#include "infer/infer.h"

static inline size_t og__matrix_row(const struct og_matrix *x)
{
    return og__row_size(x->dim, x->dtype, x->sparse ? x->sparse->room : 0);
}

/* Whether lists have weights: those of walks, or the graph's with --edge-weights. */
static inline bool og__infer_reads_weights(const struct og_inference *f)
{
    return f->walked.graph || f->config.edge_weights != OG_EDGE_WEIGHTS_OFF;
}

/* ---- common parts of passes ---- */

struct og_reader_options og__infer_reader_options(const struct og_inference *f);
size_t og__infer_reader_bytes(const struct og_inference *f);
/* Rows of a matrix that are read at once. There is a job for each run of rows that ascend. Rows
 * of several inputs are read one input after another, and joined. */
struct og_infer_read {
    const struct og_matrix *x;
    struct og_reader *reader[OG_MAX_HOPS + 1]; /* [n_readers] of each input, or one */
    int n_readers;
    char *piece; /* rows of one input; or NULL */
    struct og_read_job run[OG_MAX_HOPS + 1];
    int n;
    uint32_t *nodes; /* [n_nodes] of the rows requested */
    uint32_t n_nodes;
    char *out;
};
/* Memory of one; open it, for a matrix that must stay; close also one that is all zeros. */
size_t og__infer_read_bytes(const struct og_inference *f, const struct og_matrix *x);
OG_MUST_CHECK int og__infer_read_open(struct og_inference *f, struct og_infer_read *out,
                                      const struct og_matrix *x, struct og_err *err);
void og__infer_read_close(struct og_inference *f, struct og_infer_read *read);
/* Queue rows of n ascending nodes into out. Features are found by the ids that the dataset has:
 * these replace the nodes, which must stay until og__infer_wait. */
OG_MUST_CHECK int og__infer_submit(const struct og_inference *f, struct og_infer_read *read,
                                   uint32_t *nodes, uint32_t n, char *out, struct og_err *err);
/* Wait for all of them, even after a failure, and count. */
OG_MUST_CHECK int og__infer_wait(struct og_inference *f, struct og_infer_read *read,
                                 struct og_err *err);
/* Nodes [first, first + n). */
void og__infer_range(uint64_t first, uint32_t n, uint32_t *nodes);

/* Memory that may still be taken; keeps a reserve for memory that is not counted. */
size_t og__infer_left(const struct og_inference *f);

/* Check that layer l's output of nodes [first, first + n) is finite. */
OG_MUST_CHECK int og__infer_check_rows(const struct og_infer_kind *kind, int l, uint64_t first,
                                       uint32_t n, const float *rows, int dim, struct og_err *err);

void og__infer_observe(const struct og_inference *f, const char *stage, int l, uint64_t done,
                       uint64_t total);

/* ---- the passes of a layer ---- */

/* Multiply in [nodes, n_in] into the file of its step, [nodes, n_source]. */
OG_MUST_CHECK int og__infer_transform(struct og_inference *f, int l, const struct og_matrix *in,
                                      const struct og_whole_layer *shape, struct og_err *err);

/* Combine sources [nodes, n_source] and the layer's input, `own`. The file of its step is [nodes of
 * the next layer, n_out]. */
struct og_blocks_used {
    uint32_t n_hot; /* cached rows */
    uint32_t n_dst; /* most nodes of a block */
};
OG_MUST_CHECK int og__infer_combine(struct og_inference *f, int l, const struct og_matrix *sources,
                                    const struct og_matrix *own, const struct og_whole_layer *shape,
                                    struct og_blocks_used *used, struct og_err *err);

/* Layers of sums along the edges. The survey makes their factors; out [n_dst, n_source]. */
OG_MUST_CHECK int og__hops_survey(struct og_inference *f, struct og_err *err);
void og__hops_sum(struct og_inference *f, const struct og_infer_block *b, float *out);

/* The sum of what predictions z of train node k miss; `known`: it has a label. */
double og__smoothing_error(const struct og_inference *f, int64_t k, const float *z, bool *known);

/* Memory of a layer in addition to rows. */
static inline size_t og__infer_kind_bytes(const struct og_inference *f, int l,
                                          const struct og_whole_caps *caps)
{
    return f->kind->bytes ? f->kind->bytes(f, l, caps) : 0;
}
OG_MUST_CHECK static inline int og__infer_kind_reserve(struct og_inference *f, int l,
                                                       const struct og_whole_caps *caps,
                                                       struct og_err *err)
{
    return f->kind->reserve ? f->kind->reserve(f, l, caps, err) : 0;
}
static inline void og__infer_kind_release(struct og_inference *f)
{
    if (f->kind->release)
        f->kind->release(f);
}

/* Minimum of memory for them. */
size_t og__infer_transform_least(const struct og_inference *f, int l, const struct og_matrix *in,
                                 const struct og_whole_layer *shape);
size_t og__infer_combine_least(const struct og_inference *f, int l, const struct og_matrix *sources,
                               const struct og_matrix *own, const struct og_whole_layer *shape);

/* An array in the folder of the state, with `row` elements a row. One of an earlier start goes. */
OG_MUST_CHECK int og__infer_array_new(const struct og_inference *f, const char *name,
                                      enum og__npy_type type, int64_t row,
                                      struct og_npy_writer **out, struct og_err *err);
/* Completes it and opens it for reading. *from becomes NULL, also on failure. */
OG_MUST_CHECK int og__infer_array_end(struct og_inference *f, struct og_npy_writer **from,
                                      const char *name, struct og_npy *to, struct og_err *err);

#endif
