/* State of an inference, so that it resumes after a kill or stop.
 *
 *     <where>/outgrow-infer-<16 hex digits>/   one per output; locked while in use
 *         state.json      progress and inputs: replaced after the rows it refers to are on disk
 *         sources.npy     sources of the current layer, if it multiplies first
 *         layer<k>.npy    output of layer k; FILE.part next to FILE if it is an output of the
 *         command
 *
 * Over several folders of --scratch there is one in each, locked as well. Sources and layers are
 * then striped over all of them (step_files.h); the rest is in the first.
 *
 * A step writes one of these matrices. Its rows are written front to back, and do not depend on
 * where an earlier run ended. So a file is truncated to state.json and continued. Rows have a
 * checksum, which is verified before resuming. */
#ifndef OG_INFER_STATE_H
#define OG_INFER_STATE_H

#include "base/base.h"
#include "base/persistent_cache.h"
#include "infer/output_file.h"
#include "infer/step_files.h"

#include <jansson.h>
#include <outgrow/outgrow.h>
#include <xxhash.h>

struct og_inference;
struct og_prediction_form;
static inline int og__transform_step(int l)
{
    return 2 * l;
}

static inline int og__combine_step(int l)
{
    return 2 * l + 1;
}

/* Most layers are those of Correct & Smooth. */
enum { OG__INFER_STEPS = 2 * 2 * OG_MAX_SMOOTHING };

/* One of the folders with the state. */
struct og_infer_home {
    char *under, *path;
    int lock; /* descriptor of `path` above 0, locked; 0 = none */
    bool made_under;
};

/* A file that the command makes: the rows of a step. */
struct og_infer_output {
    struct og_output_file file;
    int step;
    bool is_step; /* the file of the step itself; else og__infer_publish writes it, */
    const struct og_prediction_form *form; /* in this form */
};

struct og_infer_state {
    struct og_infer_home home[OG_MOST_PLACES]; /* the first has state.json, */
    const char *path[OG_MOST_PLACES];          /* their paths again */
    uint32_t n_homes;
    char *file;                                 /* state.json */
    size_t charged;                             /* for buffers of files over them */
    struct og_infer_output output[OG_MAX_HOPS]; /* the last names the state's folders */
    int n_outputs;
    char *numbers; /* inputs that must be equal, as JSON */
    /* progress */
    int step;      /* current; twice the layers: finished */
    uint64_t rows; /* on disk */
    uint64_t checksum[OG__INFER_STEPS];
    XXH3_state_t *hash; /* of the rows appended in the current step */
    double saved;       /* time of writing state.json, or of the start */
};

/* Add the rows of a step as an output FILE, which must not exist without `overwrites` or --resume.
 * NULL is ignored. form: NULL = the rows themselves, in .npy. */
OG_MUST_CHECK int og__infer_add_output(struct og_inference *f, const char *path, int step,
                                       const struct og_prediction_form *form, struct og_err *err);
/* The output with the rows of a step, or NULL. */
struct og_infer_output *og__infer_output_at(struct og_inference *f, int step);
/* Lock the folder and FILE.part of each output. The model must be loaded.
 *
 * folder  of the state, without --scratch; NULL = that of the last output, else the user's cache
 * what    a name that is unique in its place; NULL = that of the last output */
OG_MUST_CHECK int og__infer_state_open(struct og_inference *f, const char *folder, const char *what,
                                       struct og_err *err);
extern const struct og_persistent_cache_kind og__infer_kind; /* kind of these folders */
/* Keep the rows that state.json refers to, or remove all if there is none. */
void og__infer_state_close(struct og_inference *f);

/* Inputs that decide the results (infer_numbers.c), as JSON; malloc'ed, NULL with err. And whether
 * those of a state, which may be older or NULL, are equal. */
char *og__infer_numbers(struct og_inference *f, struct og_err *err);
bool og__infer_same_numbers(const char *there, const char *here);

/* Parse state.json; step, rows and checksums go into `s`. `most`: rows of each step, and 0 of the
 * end. NULL, and step and rows 0, if it belongs to another inference (s->numbers) or is invalid.
 * The caller calls json_decref. */
json_t *og__infer_state_parse(struct og_infer_state *s, int layers, const uint64_t *most,
                              const char *text, size_t len);
/* Set state.step and state.rows to resume from; 0 and 0 without --resume or a valid state. Removes
 * what is not resumed. -EEXIST for outputs that --resume would replace without such a state. */
OG_MUST_CHECK int og__infer_begin(struct og_inference *f, struct og_err *err);
/* The files of a step's rows; layer l has its output there. The caller frees them. */
OG_MUST_CHECK int og__infer_step_files(struct og_inference *f, int step, struct og_step_files *out,
                                       struct og_err *err);
/* Remove the files of a step; those with rows of outputs stay. */
void og__infer_drop_step(struct og_inference *f, int step);

/* Open the current step's file for writing: *done rows are there already. */
OG_MUST_CHECK int og__infer_create(struct og_inference *f, int step, struct og_step_writer **w,
                                   uint64_t *done, struct og_err *err);
OG_MUST_CHECK int og__infer_append(struct og_inference *f, struct og_step_writer *w,
                                   const float *rows, uint32_t n, int dim, struct og_err *err);
/* Record that so many rows are appended: a place to stop and, from time to time, to save. */
OG_MUST_CHECK int og__infer_mark(struct og_inference *f, struct og_step_writer *w, uint64_t rows,
                                 struct og_err *err);
/* Complete the step's file and start the next step. */
OG_MUST_CHECK int og__infer_next_step(struct og_inference *f, int next, struct og_err *err);

/* Rename the outputs and their folder; remove the rest. -ENOENT if another process
 * removed an output. */
OG_MUST_CHECK int og__infer_deliver(struct og_inference *f, struct og_err *err);

#endif
