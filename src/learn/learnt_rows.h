/* Learnable rows outside of the model: their updates, and their part of checkpoints.
 *
 *   gradients of the batch's rows ──take──> a buffer ──update──> records of the rows, in place
 *
 * The rows of a batch are in gather's memory (gather/written.h). Those of the last checkpoint are
 * in files of the run (rows_home.h). Only best.safetensors has the best epoch's. All calls are the
 * consumer's. */
#ifndef OG_LEARNT_ROWS_H
#define OG_LEARNT_ROWS_H

#include "budget/plan_inputs.h"
#include "learn/rows_home.h"
#include "nn/row_optimizers.h"

struct og_learnt;

/* What open takes of the budget: "model". */
size_t og__learnt_bytes(const struct og_workload *f);
/* *out is NULL if no rows are stored. folder: the run's. */
OG_MUST_CHECK int og__learnt_open(struct og_learnt **out, const struct og_workload *f,
                                  const struct og_options *opt, struct og_gather *gather,
                                  const char *folder, struct og_budget *b, struct og_err *err);
void og__learnt_close(struct og_learnt *l);             /* accepts NULL */
uint64_t og__learnt_trained(const struct og_learnt *l); /* numbers that training changes */

/* What was read and written for checkpoints, besides safetensors files, since the previous call. */
struct og_home_io og__learnt_io(struct og_learnt *l); /* accepts NULL */

struct og_places_view;
/* Takes the gradients that the model has made for the batch with these rows. It saw them by place.
 * Adds their squares to *square. */
OG_MUST_CHECK int og__learnt_take(struct og_learnt *l, struct og_model *m,
                                  const struct og_rows *rows, const struct og_places_view *places,
                                  double *square, struct og_err *err);
/* Updates the rows by them. lr: the model's at step `step`, which counts from 1. */
OG_MUST_CHECK int og__learnt_update(struct og_learnt *l, const struct og_pace *pace, double scale,
                                    uint64_t step, struct og_err *err);

/* The best epoch's rows are in `path`, which resume.safetensors names. So a former file stays too,
 * as <path>.before, until the next resume.safetensors. `begin` comes before `path` is replaced,
 * `end` after. On resuming, `find` takes the right one of the two. */
OG_MUST_CHECK int og__learnt_begin_best(struct og_learnt *l, const char *path, struct og_err *err);
OG_MUST_CHECK int og__learnt_end_best(struct og_learnt *l, const char *path, struct og_err *err);
OG_MUST_CHECK int og__learnt_find_best(struct og_learnt *l, const char *path, struct og_err *err);
/* Batches get rows from there, without states: for an evaluation after training. NULL: those of the
 * last checkpoint, which is as of now; chunks need no room for them then. */
OG_MUST_CHECK int og__learnt_use(struct og_learnt *l, const char *path, struct og_err *err);

/* Tensors of a file, as og__tensors_write takes them. */
size_t og__learnt_tensors(const struct og_learnt *l); /* most that a call adds */
/* Adds the rows' values, as of now. They must not change until the file is written. */
OG_MUST_CHECK int og__learnt_add(struct og_learnt *l, struct og_tensors *t, struct og_err *err);
/* Adds to resume.safetensors which rows the run's files have. Its metadata, with room for so many,
 * gets their names. When it is written, `saved`. */
enum { OG__LEARNT_SAID = 2 };
OG_MUST_CHECK int og__learnt_save(struct og_learnt *l, struct og_tensors *t, struct og_err *err);
OG_MUST_CHECK int og__learnt_saved(struct og_learnt *l, struct og_err *err);
/* Returns to what resume.safetensors names. */
OG_MUST_CHECK int og__learnt_resume(struct og_learnt *l, const struct og_tensors_file *f,
                                    struct og_err *err);
/* Sets all rows by a model's tensors, with states of 0. */
OG_MUST_CHECK int og__learnt_init(struct og_learnt *l, const struct og_tensors_file *f,
                                  struct og_err *err);

#endif
