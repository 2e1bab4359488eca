/* Internals of inference; see infer.h for its interface.
 *
 *     step_files.c        rows of a step, in one file or over several folders
 *     infer_state.c       state for --resume
 *     infer_passes.c      common parts of passes over all nodes
 *     infer_transform.c   every row multiplied
 *     infer_combine.c     along the edges
 *     infer_walks.c       lists by random walks, before all layers
 *     infer.c             the survey, a layer
 *     infer_command.c     predict, and eval with all neighbours
 *
 * Each calls only those above it. */
#ifndef OG_INFER_PASSES_H
#define OG_INFER_PASSES_H

#include "dataset/writer.h"
#include "infer/infer.h"

static inline size_t og__matrix_row(const struct og_matrix *x)
{
    return (size_t)x->dim * og__dtype_size(x->dtype);
}

/* Whether lists have weights: those of walks, or the graph's with --edge-weights. */
static inline bool og__infer_reads_weights(const struct og_inference *f)
{
    return f->lists == &f->walked || f->config.edge_weights != OG_EDGE_WEIGHTS_OFF;
}

/* ---- common parts of passes ---- */

struct og_reader_options og__infer_reader_options(const struct og_inference *f);
size_t og__infer_reader_bytes(const struct og_inference *f);
OG_MUST_CHECK int og__infer_reader(struct og_inference *f, struct og_reader **out,
                                   const struct og_matrix *x, struct og_err *err);
/* Queue rows [first, first + n) of the reader's file, into out; writes their numbers to ids. */
OG_MUST_CHECK int og__infer_submit(struct og_reader *r, struct og_read_job *job, uint64_t first,
                                   uint32_t n, uint32_t *ids, char *out, struct og_err *err);
void og__infer_count(struct og_inference *f, const struct og_read_job *job);

/* Memory that may still be taken; keeps a reserve for memory that is not counted. */
size_t og__infer_left(const struct og_inference *f);

/* Check that layer l's output of nodes [first, first + n) is finite. */
OG_MUST_CHECK int og__infer_check_rows(int l, uint64_t first, uint32_t n, const float *rows,
                                       int dim, struct og_err *err);

void og__infer_observe(const struct og_inference *f, const char *stage, int l, uint64_t done);

/* ---- the passes of a layer ---- */

/* Multiply in [N, n_in] into the file of its step, [N, n_source]. */
OG_MUST_CHECK int og__infer_transform(struct og_inference *f, int l, const struct og_matrix *in,
                                      const struct og_whole_layer *shape, struct og_err *err);

/* Combine sources [N, n_source] and the layer's input, `own`, into the file of its step, [N,
 * n_out]. */
struct og_blocks_used {
    uint32_t n_hot; /* cached rows */
    uint32_t n_dst; /* most nodes of a block */
};
OG_MUST_CHECK int og__infer_combine(struct og_inference *f, int l, const struct og_matrix *sources,
                                    const struct og_matrix *own, const struct og_whole_layer *shape,
                                    struct og_blocks_used *used, struct og_err *err);

/* Minimum of memory for them. */
size_t og__infer_transform_least(const struct og_inference *f, int l, const struct og_matrix *in,
                                 const struct og_whole_layer *shape);
size_t og__infer_combine_least(const struct og_inference *f, int l, const struct og_matrix *sources,
                               const struct og_matrix *own, const struct og_whole_layer *shape);

#endif
