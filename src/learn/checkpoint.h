/* Checkpoints: safetensors with PyTorch Geometric's names and shapes.
 *
 *   checkpoint.safetensors, best.safetensors   parameters. Metadata: the model's shape,
 *                                              names of its classes and columns, the
 *                                              sampler it was trained with and, of links,
 *                                              what decided which edges were held out;
 *                                              no times
 *   resume.safetensors                         the same, and
 *       adam.m.<name>, adam.v.<name>           the optimiser's moments
 *       there.<name>                           bits of the rows that its folder has
 *                                              (rows_home.h)
 *       sum.<name>                             gradients of the step under way, weighted
 *                                              and added
 *       older.<k>.<name>                       parameters after earlier steps, the
 *                                              oldest first
 *       best.<name>                            parameters of the best epoch so far
 *       metadata "state"                       position and sums, as JSON, 17 digits
 *       metadata "numbers"                     options that decide the numbers: must match
 *       metadata "dataset"                     of which dataset (dataset/identity.h) */
#ifndef OG_CHECKPOINT_H
#define OG_CHECKPOINT_H

#include "learn/learnt_rows.h"
#include "learn/steps.h"
#include "learn/train_state.h"

/* What to do where a checkpoint's model makes no finite numbers. */
extern const char og__diverged_hint[];

/* values: all parameters one after another in the order of the model's; NULL = the model's. And
 * `trained`: with which sampler and, of links, by which edges; NULL = the file says nothing of
 * that. */
OG_MUST_CHECK int og__checkpoint_write(const char *path, struct og_model *m,
                                       const struct og_options *trained, const float *values,
                                       struct og_err *err);
/* The same with rows outside of the model, as of now; NULL = none. And with what the dataset says
 * of classes and columns of features; NULL = nothing. */
OG_MUST_CHECK int og__checkpoint_write_rows(const char *path, struct og_model *m,
                                            const struct og_options *trained, const float *values,
                                            struct og_learnt *learnt, const struct og_graph *ds,
                                            struct og_err *err);
/* The graph's classes become the checkpoint's, if it names them (og__graph_take_classes). */
OG_MUST_CHECK int og__checkpoint_classes(const char *path, struct og_graph *g, bool of_edges,
                                         const struct og_log *judged, struct og_err *err);
/* Warns where training on from the checkpoint would give its classes other names. */
OG_MUST_CHECK int og__checkpoint_other_classes(const char *path, const json_t *names,
                                               const struct og_log *log, struct og_err *err);
/* Compares the graph's columns with the checkpoint's (og__graph_same_columns). */
OG_MUST_CHECK int og__checkpoint_columns(const char *path, const struct og_graph *g,
                                         const struct og_log *log, struct og_err *err);
/* Shape of the model in a checkpoint, from names and shapes. Metadata is needed only for the task,
 * which is -1 where nothing says it. */
OG_MUST_CHECK int og__checkpoint_shape(const char *path, struct og_model_config *config,
                                       struct og_err *err);
/* -EINVAL where the checkpoint is of a heterogeneous graph and the dataset is not. */
OG_MUST_CHECK int og__checkpoint_check_types(const char *path, const char *dataset,
                                             struct og_err *err);
/* The types of nodes that the model's last layer is for, separated by commas, with # for a dot.
 * Empty if the file names none. The caller frees *types. */
OG_MUST_CHECK int og__checkpoint_targets(const char *path, char **types, struct og_err *err);
/* Options of the sampler as the checkpoint has them. Options that it lacks or that `opt` sets stay.
 */
OG_MUST_CHECK int og__checkpoint_sampler(const char *path, struct og_options *opt,
                                         const struct og_log *log, struct og_err *err);
/* The fanouts of training likewise. They do not count as explicit. *said: the file has them. */
OG_MUST_CHECK int og__checkpoint_fanout(const char *path, struct og_options *opt, bool *said,
                                        struct og_err *err);
/* One option likewise: --compute, and of links --eval-negatives. */
OG_MUST_CHECK int og__checkpoint_option(const char *path, const char *name, struct og_options *opt,
                                        const struct og_log *log, struct og_err *err);
/* Was the model trained with --time? */
OG_MUST_CHECK int og__checkpoint_timed(const char *path, bool *timed, struct og_err *err);
/* -ENOTSUP for such a model, where neighbours of any time are taken. */
OG_MUST_CHECK int og__checkpoint_refuse_times(const char *path, struct og_err *err);
/* Which edges a link model was trained on. Takes --seed and --edge-split from the checkpoint, where
 * `opt` has no explicit ones. -EINVAL for other explicit ones, which would evaluate edges of
 * training. A file without them gets a warning. */
OG_MUST_CHECK int og__checkpoint_edges(const char *path, struct og_options *opt,
                                       const struct og_log *log, struct og_err *err);
/* Checks the file's contents. All else here reads its header alone. Every parameter must be there
 * with its shape, and finite. So must rows that the model lacks. Nothing is changed otherwise. */
OG_MUST_CHECK int og__checkpoint_load(const char *path, struct og_model *m, struct og_err *err);
/* And loads the rows outside of the model; NULL: there are none. */
OG_MUST_CHECK int og__checkpoint_load_rows(const char *path, struct og_model *m,
                                           struct og_learnt *learnt, struct og_err *err);

/* Resumes where it stopped: numbers that options decide, on this dataset, into this model. */
struct og_resumable {
    const struct og_options *opt;
    const struct og_graph *ds;
    const struct og_schedule *schedule;
    struct og_model *model;
    struct og_steps *steps;       /* with rows outside of the model */
    const struct og_split *train; /* may have weights */
};
OG_MUST_CHECK int og__resume_write(const char *path, const struct og_resumable *r,
                                   const struct og_train_state *state, const float *best,
                                   struct og_err *err);
/* XXH3 of the options that decide what a run computes. */
OG_MUST_CHECK int og__resume_numbers(const struct og_resumable *r, uint64_t *hash,
                                     struct og_err *err);
/* Defaults of the run in `folder` that follow from its beginning, into opt. They are --lr-steps
 * and, of several ranks, --accumulate. Those that opt was given stay, and all of a folder without a
 * run. */
OG_MUST_CHECK int og__resume_defaults(const char *folder, bool several, struct og_options *opt,
                                      struct og_err *err);
/* -EINVAL if options that decide numbers are not `theirs`, of the run at `path`. */
OG_MUST_CHECK int og__resume_match(const struct og_options *opt, const json_t *theirs,
                                   const char *path, struct og_err *err);
/* -ENOENT without a message when there is no such file. */
OG_MUST_CHECK int og__resume_read(const char *path, const struct og_resumable *r,
                                  struct og_train_state *state, float *best, struct og_err *err);

/* Refuses a tensor of f32 with a number that is not finite. Reads it whole. */
OG_MUST_CHECK int og__checkpoint_check_finite(const struct og_tensors_file *f,
                                              const struct og_tensor *t, struct og_err *err);

#endif
