/* The measurements of `outgrow bench`. Part of the command with access to library internals, not of
 * the library. Conventions as in <outgrow/outgrow.h>: `out` is malloc'ed JSON text. */
#ifndef OG_BENCH_H
#define OG_BENCH_H

#include <outgrow/outgrow.h>

/* Measure the disk of folder `path` with every available engine. Stores the profile in the XDG
 * cache folder. out: {"sequential":[...],"random":[...],...} */
OG_MUST_CHECK int og__bench_io(const char *path, const struct og_observer *observer, char **out,
                               struct og_err *err);

/* Measure sampled edges per second and thread. */
OG_MUST_CHECK int og__bench_sample(const char *dataset, const struct og_options *opt, char **out,
                                   struct og_err *err);

/* Compare the model's matrix products with oneDNN's best for the same shapes. Widths `dim` and
 * `classes` are as in a dataset, the rest is from `opt`. */
OG_MUST_CHECK int og__bench_gemm(int dim, int classes, const struct og_options *opt, char **out,
                                 struct og_err *err);

/* Compare train_seconds of one in-memory epoch with the operators' lower bounds. */
OG_MUST_CHECK int og__bench_train(const char *dataset, const struct og_options *opt,
                                  const struct og_observer *observer, char **out,
                                  struct og_err *err);

/* Measure the data path alone: sample, plan, gather, hand over; no model. */
OG_MUST_CHECK int og__bench_epoch(const char *dataset, const struct og_options *opt,
                                  const struct og_observer *observer, char **out,
                                  struct og_err *err);

/* Report what makes training slow or impossible on this machine. Unless `dataset` is NULL, also
 * predictions for several sizes of memory. `scratch`: as in train (NULL = none). *stops: training
 * is impossible.
 *
 * out  {"checks":[{"check","verdict","found","advice"},...],"fits":[{"memory_bytes",...},...]} */
OG_MUST_CHECK int og__doctor(const char *dataset, const char *scratch, bool *stops, char **out,
                             struct og_err *err);

#endif
