/* Datasets: generate, import, export, stripe and check. Part of the public API; see outgrow.h for
 * the tour. */
#ifndef OUTGROW_DATA_H
#define OUTGROW_DATA_H

#include <outgrow/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of og_generate. Opaque, like struct og_options. */
struct og_generate;
/* Allocate a set of options with all defaults. The caller frees it with og_generate_free. -ENOMEM:
 * then *out is NULL. */
OG_EXPORT OG_MUST_CHECK int og_generate_new(struct og_generate **out, struct og_err *err);
/* Free a set of options. NULL is ignored. */
OG_EXPORT void og_generate_free(struct og_generate *g);
/* Set one option by name from text, as og_options_set does. Returns -EINVAL if there is no
 * such option or the value is bad; then nothing has changed. */
OG_EXPORT OG_MUST_CHECK int og_generate_set(struct og_generate *g, const char *name,
                                            const char *value, struct og_err *err);
/* Option number i of og_generate_set, from 0; NULL past the last. Static storage. */
OG_EXPORT const struct og_option *og_generate_option(size_t i);

/* Write a synthetic dataset into the new folder `out`. Model rmat uses Graph500's parameters. Model
 * planted is a degree-corrected block model with noisy features. Memory is bounded by the option
 * memory. Nothing is left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_generate(const char *out, const struct og_generate *g,
                                        const struct og_observer *seen, struct og_err *err);

/* Options of og_import. Opaque, like struct og_options. */
struct og_import;
/* Allocate a set of options with all defaults. The caller frees it with og_import_free. -ENOMEM:
 * then *out is NULL. */
OG_EXPORT OG_MUST_CHECK int og_import_new(struct og_import **out, struct og_err *err);
/* Free a set of options. NULL is ignored. */
OG_EXPORT void og_import_free(struct og_import *opt);
/* Set one option by name from text, as og_options_set does. Returns -EINVAL if there is no
 * such option or the value is bad; then nothing has changed. */
OG_EXPORT OG_MUST_CHECK int og_import_set(struct og_import *opt, const char *name,
                                          const char *value, struct og_err *err);
/* Bytes that the option memory is on this machine now; unless set, 90 % of what is free. */
OG_EXPORT uint64_t og_import_memory(const struct og_import *opt);
/* Option number i of og_import_set, from 0; NULL past the last. Static storage. */
OG_EXPORT const struct og_option *og_import_option(size_t i);

/* A format of og_import. Static storage. */
struct og_import_format {
    size_t size;              /* of this struct, as the library has it */
    const char *name;         /* such as "npy" */
    const char *files;        /* the files in `src`, as sentences */
    const char *const *signs; /* files of a folder, any of which identifies the format; ends with
                                 NULL */
    /* For a file as `src`: the text that it begins with, or the endings of its name. The text "" is
     * any text. The list of endings ends with NULL. NULL = not used. */
    const char *begins;
    const char *const *ends;
    bool node_arrays; /* the node arrays of "npy" may be in the same folder */
};
/* Format number i, from 0, in the order of detection; NULL past the last. Static storage. */
OG_EXPORT const struct og_import_format *og_import_format(size_t i);

/* Convert `src` in format `format` into the new dataset folder `out` (docs/reference/formats.md).
 * Edges are sorted on disk, so memory is bounded by the option memory. Nothing is left at `out` on
 * failure. */
OG_EXPORT OG_MUST_CHECK int og_import(const char *format, const char *src, const char *out,
                                      const struct og_import *opt, const struct og_observer *seen,
                                      struct og_err *err);

/* Names -> 0, 1, 2, ... in the order of their bytes, in bounded memory. First put all occurrences.
 * Then sort. Then take the number of each. One thread at a time. */
struct og_name_map;
/* Allocate a map. It holds at most `memory` bytes. Files without a name, and those of
 * og_name_map_sort, are made in `folder`, which must exist. The caller frees it with
 * og_name_map_free. */
OG_EXPORT OG_MUST_CHECK int og_name_map_new(struct og_name_map **out, const char *folder,
                                            uint64_t memory, struct og_err *err);
/* Free a map. NULL is ignored. */
OG_EXPORT void og_name_map_free(struct og_name_map *map);
/* Put n names. Name i is bytes[offsets[i]] to bytes[offsets[i + 1]], at most 4096 bytes. Names that
 * are only put without `adds` get no number. With `text` a name must be UTF-8 without control
 * characters; else all names have one length. -EINVAL: the message has the position of a wrong
 * name. */
OG_EXPORT OG_MUST_CHECK int og_name_map_put(struct og_name_map *map, const char *bytes,
                                            const int64_t *offsets, size_t n, bool adds, bool text,
                                            struct og_err *err);
/* Number all names, and write them. The files are <prefix>.npy, or <prefix>_offsets.npy and
 * <prefix>_bytes.npy (docs/reference/formats.md).
 *
 * n  how many there are; may be NULL */
OG_EXPORT OG_MUST_CHECK int og_name_map_sort(struct og_name_map *map, const char *prefix,
                                             int64_t *n, struct og_err *err);
/* Take n numbers. They are those of the names from the `first` that was put on; UINT32_MAX for one
 * that was never added. Fast if `first` ascends. -EINVAL: there are not as many. */
OG_EXPORT OG_MUST_CHECK int og_name_map_take(struct og_name_map *map, uint64_t first, size_t n,
                                             uint32_t *number, struct og_err *err);

/* Write `dataset` as new folder `out` in format "npy" or "graphbolt". Memory is bounded. Nothing is
 * left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_export(const char *format, const char *dataset, const char *out,
                                      const struct og_observer *seen, struct og_err *err);

/* Write the dataset of worker `part` of `parts` into the new folder `out`. It is for training with
 * the option exchange. It has all of `dataset`, except for the features: only rows of nodes whose
 * number is `part` modulo `parts`. `part` counts from 0. Only og_train with all `parts` workers
 * accepts it. Nothing is left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_stripe_part(const char *dataset, const char *out, int parts,
                                           int part, const struct og_observer *seen,
                                           struct og_err *err);

/* Stripe the features of `dataset` over the folders `over`, "DIR,DIR[,...]", normally one per disk.
 * Units are about 1 MiB of whole rows; all folders are then read in parallel. The dataset stays
 * valid: parts are written and checked first, then the file that they replace is removed, unless
 * `keep`. After a kill, call it again. -EBUSY: another process stripes this dataset. */
OG_EXPORT OG_MUST_CHECK int og_stripe(const char *dataset, const char *over, bool keep,
                                      const struct og_observer *seen, struct og_err *err);

/* Sort the training nodes by MinHash of their in-neighbours, into a .npy file for the option order.
 * Nodes with neighbours in common are then near each other. The option's value minhash is the same
 * order. Reads the lists of these nodes once. Returns -EEXIST if the file exists.
 *
 * file  its path; NULL = order_train.npy in the dataset
 * out   {"order","nodes","file"} */
OG_EXPORT OG_MUST_CHECK int og_order(const char *dataset, const char *file, char **out,
                                     struct og_err *err);

/* Summarize a dataset: counts, dtypes, sizes, degree distribution, and what fits in which memory.
 *
 * out  JSON, as `outgrow info --json` prints it */
OG_EXPORT OG_MUST_CHECK int og_info(const char *dataset, char **out, struct og_err *err);

/* Check the checksums, ranges, order and NaN of a dataset. Calls `finding` once per finding, in the
 * caller's thread, with a line of text and a remedy, which is "" if the text has it. Returns the
 * number of findings, or a negative errno if the check itself failed. */
OG_EXPORT OG_MUST_CHECK int
og_verify(const char *dataset, void (*finding)(void *arg, const char *text, const char *hint),
          void *arg, const struct og_observer *seen, struct og_err *err);

/* Check a folder of samples made by og_sample, and the packed rows of og_pack in it. Compares
 * everything with its checksums and, unless `dataset` is NULL, with that dataset. Otherwise like
 * og_verify. */
OG_EXPORT OG_MUST_CHECK int
og_verify_samples(const char *samples, const char *dataset,
                  void (*finding)(void *arg, const char *text, const char *hint), void *arg,
                  const struct og_observer *seen, struct og_err *err);

/* List the files that runs keep for later runs: neighbour caches, and layers of interrupted
 * inference. `folder` is the option scratch of these runs, one folder or several; NULL = the user's
 * cache folder. A missing folder counts as empty. With `clear` it removes all that no process uses;
 * later runs make them again.
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
