/* What `outgrow bench` measures. A part of the command that sees the library's inside, and no part
 * of the library. The conventions are those of <outgrow/outgrow.h>: `out` is JSON text to be freed.
 */
#ifndef OG_BENCH_H
#define OG_BENCH_H

#include <outgrow/outgrow.h>

/* Measure the disk under folder `path` with every engine this machine has and store the profile
 * under the XDG cache folder. out: {"sequential":[...],"random":[...],...} */
OG_MUST_CHECK int og__bench_io(const char *path, const struct og_observer *seen, char **out,
                               struct og_err *err);

/* Sampled edges per second per thread. */
OG_MUST_CHECK int og__bench_sample(const char *dataset, const struct og_options *opt, char **out,
                                   struct og_err *err);

/* The model's matrix products beside oneDNN's own best for the same shapes. dim and classes as in
 * a dataset; the rest from `opt`. */
OG_MUST_CHECK int og__bench_gemm(int dim, int classes, const struct og_options *opt, char **out,
                                 struct og_err *err);

/* One epoch with everything resident: the operators' floors beside train_seconds. */
OG_MUST_CHECK int og__bench_train(const char *dataset, const struct og_options *opt,
                                  const struct og_observer *seen, char **out, struct og_err *err);

/* The data path alone: sample, plan, gather, hand over; no model. */
OG_MUST_CHECK int og__bench_epoch(const char *dataset, const struct og_options *opt,
                                  const struct og_observer *seen, char **out, struct og_err *err);

/* What makes training slow or impossible on this machine, with `scratch` as train takes it (NULL =
 * none is named), and, unless `dataset` is NULL, what each size of memory would give it. *stops:
 * something makes it impossible. out
 * {"checks":[{"check","verdict","found","advice"},...],"fits":[{"memory_bytes",...},...]} */
OG_MUST_CHECK int og__doctor(const char *dataset, const char *scratch, bool *stops, char **out,
                             struct og_err *err);

#endif
