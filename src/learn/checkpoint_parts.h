/* What the files of checkpoints share.
 *
 *   checkpoint.c           parameters, written and read
 *   checkpoint_shape.c     which model a file is of
 *   checkpoint_options.c   options that it carries
 *   resume.c               what a run needs to go on */
#ifndef OG_CHECKPOINT_PARTS_H
#define OG_CHECKPOINT_PARTS_H

#include "learn/checkpoint.h"

/* Data where a model computes, or, without one, the host's. */
struct og_tensor_place {
    struct og_model *model;
    float *at;
};

/* ---- writing ---- */

/* One more tensor of a list that has room, of the parameter's shape, named with the prefix. */
void og__checkpoint_add(struct og_tensors *t, const char *prefix, const struct og_param *p,
                        struct og_tensor_place data);
/* All of a model's. values: one after another; NULL = the model's own. */
void og__checkpoint_add_params(struct og_tensors *t, const char *prefix, struct og_model *m,
                               const float *values);

#define OG__CLASS_NAMES "class_names" /* keys of the metadata: a JSON list, */
#define OG__COLUMNS     "features"    /* and an object of each type (model_columns.c) */

/* Adds options of the sampler and, for links, of the edges to the metadata. It has room for them;
 * their values are in `texts`. */
enum { OG__SAID_OPTIONS = 20 };
struct og_option_texts {
    char text[OG__SAID_OPTIONS][32];
};
void og__checkpoint_say_options(struct og_tensors *t, const struct og_options *trained, bool links,
                                struct og_option_texts *texts);
/* Does --fanout decide what these options sample? Then the file has it. */
bool og__checkpoint_samples(const struct og_options *trained);

/* ---- reading ---- */

/* A file with the names that tensors have here, whoever wrote it. Its header alone is checked. */
OG_MUST_CHECK int og__checkpoint_open(const char *path, struct og_tensors_file *f,
                                      struct og_err *err);
/* The parameter, named with the prefix, of its shape; out.at NULL: only looks. */
OG_MUST_CHECK int og__checkpoint_take(const struct og_tensors_file *f, const char *prefix,
                                      const struct og_param *p, struct og_tensor_place out,
                                      struct og_err *err);
/* All of a model's; nothing is changed unless all are there and finite. */
OG_MUST_CHECK int og__checkpoint_take_params(const struct og_tensors_file *f, struct og_model *m,
                                             struct og_err *err);

#endif
