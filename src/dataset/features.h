/* Feature rows as a run uses them. In memory and in packs they may have a narrower dtype than in
 * the file.
 *
 *     features.npy  f32 ──> reader ──> f32, f16, bf16, i8, e4m3: caches, staging, packs, the model
 *
 * Only the reader rounds. So a row has the same values from every source, as if the file had been
 * converted in advance.
 *
 * i8 and e4m3 have a scale per column (dataset/convert.h), in feature_scales.npy. Rows of f32 may
 * have scales too, to be narrowed by. */
#ifndef OG_DATASET_FEATURES_H
#define OG_DATASET_FEATURES_H

#include "dataset/graph.h"
#include "io/io.h"

/* Sets the dtype of rows in memory to `kept`. Returns -EINVAL unless it is the stored dtype, or f32
 * narrowed. i8 and e4m3 require scales. Call before any use of og__row_bytes. */
OG_MUST_CHECK int og__features_keep(struct og_group *g, enum og_dtype kept, struct og_err *err);

/* The combined profile of their disks. */
void og__features_profile(const struct og_group *g, struct og_disk_profile *out);
/* Are all of them on other disks than `path`? */
bool og__features_apart(const struct og_group *g, const char *path);

/* Opens a reader of all rows, which arrive in the dtype set by og__features_keep. */
OG_MUST_CHECK int og__features_open(struct og_reader **out, const struct og_group *g,
                                    const struct og_reader_options *opt, struct og_budget *b,
                                    struct og_err *err);
/* As og__features_open, but rows arrive in the stored dtype. */
OG_MUST_CHECK int og__features_open_stored(struct og_reader **out, const struct og_group *g,
                                           const struct og_reader_options *opt, struct og_budget *b,
                                           struct og_err *err);

#endif
