/* What is kept of an inference under way, so that one that was killed or stopped goes on.
 *
 *   <where>/outgrow-infer-<16 hex digits>/   one for each thing to make; locked while it is made
 *       state.json      how far it is and of what: replaced once what it tells of is on disk
 *       sources.npy     what the layer at hand multiplied first
 *       layer<k>.npy    output of layer k, unless it is wanted: then it is FILE.part beside FILE
 *
 * Over several folders of --scratch there is one in each, locked as well: sources and layers are in
 * parts over all of them (step_files.h), the rest is in the first.
 *
 * What is made in one go is a step. A step's rows come front to back, and the bits of each do not
 * depend on where the one before ended; so a file is cut where state.json says, and goes on there.
 * Rows carry a checksum, which is looked at before anything goes on. */
#ifndef OG_INFER_STATE_H
#define OG_INFER_STATE_H

#include "base/base.h"
#include "base/kept.h"
#include "infer/step_files.h"
#include "infer/wanted.h"

#include <jansson.h>
#include <outgrow/outgrow.h>
#include <xxhash.h>

struct og_inference;
static inline int og__transform_step(int l)
{
    return 2 * l;
}

static inline int og__combine_step(int l)
{
    return 2 * l + 1;
}

enum { OG__INFER_STEPS = 2 * OG_MAX_HOPS };

/* In one of the folders that what is kept lies in. */
struct og_infer_home {
    char *under, *path;
    int lock; /* a descriptor of `path` above 0, locked; 0 = none */
    bool made_under;
};

struct og_infer_state {
    struct og_infer_home home[OG_MOST_PLACES]; /* the first has state.json, */
    const char *path[OG_MOST_PLACES];          /* their paths once more */
    uint32_t n_homes;
    char *file;     /* state.json */
    size_t charged; /* for buffers of files over them */
    struct og_wanted out, embeddings;
    char *numbers; /* what must be the same, as JSON */
    /* how far it is */
    int step;      /* at hand; twice the layers: all is made */
    uint64_t rows; /* of it on disk */
    uint64_t checksum[OG__INFER_STEPS];
    XXH3_state_t *hash; /* of the rows appended at the step at hand */
    double saved;       /* when state.json was written, or the inference began */
};

/* Takes the folder and FILE.part of each output, which must not exist unless --resume was given.
 * out, embeddings: files to be made, NULL = not wanted; what: where there is no
 * out, a name for what is made that nothing else in the same place has. The model is loaded. */
OG_MUST_CHECK int og__infer_state_open(struct og_inference *f, const char *out,
                                       const char *embeddings, const char *what,
                                       struct og_err *err);
extern const struct og_kept_kind og__infer_kind; /* such folders */
/* Keeps what state.json tells of, or nothing where there is none. */
void og__infer_state_close(struct og_inference *f);

/* What decides the numbers (infer_numbers.c), as JSON; malloc'ed, NULL with err. And does that of a
 * state, which may be older, or NULL, say the same? */
char *og__infer_numbers(struct og_inference *f, struct og_err *err);
bool og__infer_same_numbers(const char *there, const char *here);

/* The text of state.json; step, rows and checksums go into `s`. NULL, and step and rows 0, where it
 * is not of this inference (s->numbers) or makes no sense. To be released by json_decref. */
json_t *og__infer_state_parse(struct og_infer_state *s, int layers, uint64_t n_nodes,
                              const char *text, size_t len);
/* Where to go on: state.step and state.rows, 0 and 0 unless --resume was given and what is kept
 * fits. What is not gone on with is removed. */
OG_MUST_CHECK int og__infer_begin(struct og_inference *f, struct og_err *err);
/* The files of a step's rows; layer l has its output there. To be freed. */
OG_MUST_CHECK int og__infer_step_files(struct og_inference *f, int step, struct og_step_files *out,
                                       struct og_err *err);
/* They are of no use any more; what is wanted stays. */
void og__infer_drop_step(struct og_inference *f, int step);

/* The step at hand writes its file: *done rows are there already. */
OG_MUST_CHECK int og__infer_create(struct og_inference *f, int step, struct og_step_writer **w,
                                   uint64_t *done, struct og_err *err);
OG_MUST_CHECK int og__infer_append(struct og_inference *f, struct og_step_writer *w,
                                   const float *rows, uint32_t n, int dim, struct og_err *err);
/* So many rows are appended: a place to stop, and from time to time to save. */
OG_MUST_CHECK int og__infer_mark(struct og_inference *f, struct og_step_writer *w, uint64_t rows,
                                 struct og_err *err);
/* The step's file is complete: on to the next. */
OG_MUST_CHECK int og__infer_next_step(struct og_inference *f, int next, struct og_err *err);

/* Put what is wanted into place and forget the rest. -ENOENT where another has taken it away. */
OG_MUST_CHECK int og__infer_deliver(struct og_inference *f, struct og_err *err);

#endif
