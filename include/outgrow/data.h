/* Datasets: making, importing, exporting, striping, checking them. Part of the public API; see
 * outgrow.h for the tour. */
#ifndef OUTGROW_DATA_H
#define OUTGROW_DATA_H

#include <outgrow/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a generated dataset is like: options by name, as of `outgrow generate`. Only functions look
 * inside, and it is given back, as struct og_options. */
struct og_generate;
OG_EXPORT OG_MUST_CHECK int og_generate_new(struct og_generate **out, struct og_err *err);
OG_EXPORT void og_generate_free(struct og_generate *g);
/* As og_options_set. */
OG_EXPORT OG_MUST_CHECK int og_generate_set(struct og_generate *g, const char *name,
                                            const char *value, struct og_err *err);
/* Number i of those that it takes, from 0; NULL = no more. */
OG_EXPORT const struct og_option *og_generate_option(size_t i);

/* Write a synthetic dataset into new folder `out`. rmat uses Graph500's parameters; planted is a
 * degree-corrected block model whose features tell the class only noisily. */
OG_EXPORT OG_MUST_CHECK int og_generate(const char *out, const struct og_generate *g,
                                        const struct og_observer *seen, struct og_err *err);

/* How files become a dataset: options by name, as of `outgrow import`. */
struct og_import;
OG_EXPORT OG_MUST_CHECK int og_import_new(struct og_import **out, struct og_err *err);
OG_EXPORT void og_import_free(struct og_import *opt);
/* As og_options_set. */
OG_EXPORT OG_MUST_CHECK int og_import_set(struct og_import *opt, const char *name,
                                          const char *value, struct og_err *err);
OG_EXPORT const struct og_option *og_import_option(size_t i); /* as og_generate_option */

/* A format of og_import. All is static. */
struct og_import_format {
    size_t size;              /* of this struct, as the library has it */
    const char *name;         /* "npy" */
    const char *files;        /* what `src` holds, in a sentence or several */
    const char *const *signs; /* files of a folder: one that is there shows the format; NULL ends */
    /* where `src` is a file: how it begins, "" = as any text; or how its name ends, a list that
     * NULL ends; NULL = not so */
    const char *begins;
    const char *const *ends;
    bool node_arrays; /* the node arrays of "npy" lie in the same folder */
};
/* Number i of them, from 0, in the order in which their files are looked for; NULL = no more. */
OG_EXPORT const struct og_import_format *og_import_format(size_t i);

/* Make dataset folder `out` from `src` in the `format` of that name (docs/reference/formats.md). In
 * bounded memory: edges are sorted on disk. Nothing is left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_import(const char *format, const char *src, const char *out,
                                      const struct og_import *opt, const struct og_observer *seen,
                                      struct og_err *err);

/* Write `dataset` as new folder `out` in `format`: "npy" or "graphbolt". In bounded memory. */
OG_EXPORT OG_MUST_CHECK int og_export(const char *format, const char *dataset, const char *out,
                                      const struct og_observer *seen, struct og_err *err);

/* Make dataset folder `out` for worker `part` of `parts`, numbered from 0, of machines that train
 * with the option exchange: all of `dataset`, but of features the rows of those nodes alone that
 * this worker owns, whose number is `part` modulo `parts`. Nothing but og_train on all of them
 * takes it. Nothing is left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_stripe_part(const char *dataset, const char *out, int parts,
                                           int part, const struct og_observer *seen,
                                           struct og_err *err);

/* Put the features of `dataset` in parts into the folders `over`, "DIR,DIR[,...]", each on a disk
 * of its own as a rule, from which they are then read side by side: units of about 1 MiB of whole
 * rows, in turn. The dataset is what it was until all parts are written and checked; then the file
 * that they replace is removed, unless `keep`. One that was killed goes on from the start. -EBUSY:
 * another process does this to the dataset. */
OG_EXPORT OG_MUST_CHECK int og_stripe(const char *dataset, const char *over, bool keep,
                                      const struct og_observer *seen, struct og_err *err);

/* Counts, dtypes, sizes, degree distribution, what fits in which memory. */
OG_EXPORT OG_MUST_CHECK int og_info(const char *dataset, char **out, struct og_err *err);

/* Check checksums, ranges, order and NaN; `finding` is called once each, with one line of text and
 * what would mend it, "" where the line before says so already. Returns the number of findings, or
 * a negative code when the check itself could not be made. */
OG_EXPORT OG_MUST_CHECK int
og_verify(const char *dataset, void (*finding)(void *arg, const char *text, const char *hint),
          void *arg, const struct og_observer *seen, struct og_err *err);

/* The same for a folder of samples made by og_sample, and what og_pack put into it: everything
 * against its checksums; and, unless `dataset` is NULL, against that dataset, packed rows too. */
OG_EXPORT OG_MUST_CHECK int
og_verify_samples(const char *samples, const char *dataset,
                  void (*finding)(void *arg, const char *text, const char *hint), void *arg,
                  const struct og_observer *seen, struct og_err *err);

/* What runs keep for those to come in `folder`, the `scratch` they were given, a folder or several
 * (NULL = the user's cache folder): neighbour caches, and layers of inference that was interrupted.
 * With `clear` all of it is removed that no process uses; it is made again when it is needed. A
 * folder that is not there is an empty one.
 *
 * out  {"folder","bytes","removed_bytes","limit_bytes","limit_seconds",
 *       "kept":[{"name","folder","kind","dataset","bytes","idle_seconds","in_use","removed"},...]}
 */
OG_EXPORT OG_MUST_CHECK int og_cache(const char *folder, bool clear, char **out,
                                     struct og_err *err);

#ifdef __cplusplus
}
#endif

#endif
