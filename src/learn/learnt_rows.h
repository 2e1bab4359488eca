/* Learnable rows outside of the model: their updates, and their part of checkpoints.
 *
 *   gradients of the batch's rows ──take──> a buffer ──update──> records of the rows, in place
 *
 * The rows of a batch are in gather's memory (gather/written.h). All calls are the consumer's. */
#ifndef OG_LEARNT_ROWS_H
#define OG_LEARNT_ROWS_H

#include "budget/plan_inputs.h"
#include "gather/written.h"
#include "nn/row_optimizers.h"

struct og_learnt;

/* What open takes of the budget: "model". */
size_t og__learnt_bytes(const struct og_workload *f);
/* *out is NULL if no rows are stored. `scratch`: a folder for the best epoch's rows. */
OG_MUST_CHECK int og__learnt_open(struct og_learnt **out, const struct og_workload *f,
                                  const struct og_options *opt, struct og_gather *gather,
                                  const char *scratch, struct og_budget *b, struct og_err *err);
void og__learnt_close(struct og_learnt *l);             /* accepts NULL */
uint64_t og__learnt_trained(const struct og_learnt *l); /* numbers that training changes */

/* Bytes of rows that were written for checkpoints, since the previous call. */
uint64_t og__learnt_flushed(struct og_learnt *l); /* accepts NULL */
/* And reads of those that waited in chunks. */
struct og_io_counts og__learnt_exported(struct og_learnt *l); /* accepts NULL */

struct og_places_view;
/* Takes the gradients that the model has made for the batch with these rows. It saw them by place.
 * Adds their squares to *square. */
OG_MUST_CHECK int og__learnt_take(struct og_learnt *l, struct og_model *m,
                                  const struct og_rows *rows, const struct og_places_view *places,
                                  double *square, struct og_err *err);
/* Updates the rows by them. lr: the model's at step `step`, which counts from 1. */
OG_MUST_CHECK int og__learnt_update(struct og_learnt *l, const struct og_pace *pace, double scale,
                                    uint64_t step, struct og_err *err);

/* Keeps the values of now, or returns to those kept; states are lost then. */
OG_MUST_CHECK int og__learnt_keep_best(struct og_learnt *l, struct og_err *err);
OG_MUST_CHECK int og__learnt_use_best(struct og_learnt *l, struct og_err *err);

/* Tensors of a file, as og__tensors_write takes them. */
enum og_learnt_what { OG__LEARNT_VALUES, OG__LEARNT_BEST, OG__LEARNT_STATES };
size_t og__learnt_tensors(const struct og_learnt *l); /* most that the next call adds */
/* Adds tensors whose names begin with `prefix`; of states with the optimizer's prefixes. Rows are
 * flushed first, and must not change until they are written. */
OG_MUST_CHECK int og__learnt_add(struct og_learnt *l, enum og_learnt_what what, const char *prefix,
                                 struct og_tensors *t, struct og_err *err);
/* Sets all rows by a file's tensors. states: of resume.safetensors; else they are 0. best: also
 * that epoch's. */
OG_MUST_CHECK int og__learnt_restore(struct og_learnt *l, const struct og_tensors_file *f,
                                     bool states, bool best, struct og_err *err);

#endif
