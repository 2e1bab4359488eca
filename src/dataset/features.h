/* The feature rows of a dataset, as a run keeps them: in memory and in packs they may be narrower
 * than in the file.
 *
 *   features.npy  f32 ──> reader ──> f32, f16 or bf16: caches, staging, packs, the model
 *
 * They are rounded where they leave the file and nowhere else, so that a row has the same numbers
 * wherever it comes from: those of the file converted beforehand. */
#ifndef OG_DATASET_FEATURES_H
#define OG_DATASET_FEATURES_H

#include "dataset/graph.h"
#include "io/io.h"

/* Rows are kept as `kept` from now on. -EINVAL for what is neither as stored nor f32 made
 * narrower. Before anything is sized by og__row_bytes. */
OG_MUST_CHECK int og__features_keep(struct og_group *g, enum og_dtype kept, struct og_err *err);

/* The files they lie in, for who must know where: paths[n] are the dataset's own. */
int og__features_paths(const struct og_group *g, const char *paths[OG_MOST_PARTS]);
/* What their disks are good at together. */
void og__features_profile(const struct og_group *g, struct og_disk_profile *out);
/* Do they lie on other disks than `path`, all of them? */
bool og__features_apart(const struct og_group *g, const char *path);

/* A reader of all rows, which arrive as they are kept. */
OG_MUST_CHECK int og__features_open(struct og_reader **out, const struct og_group *g,
                                    const struct og_reader_options *opt, struct og_budget *b,
                                    struct og_err *err);
/* The same, but they arrive as they are stored. */
OG_MUST_CHECK int og__features_open_stored(struct og_reader **out, const struct og_group *g,
                                           const struct og_reader_options *opt, struct og_budget *b,
                                           struct og_err *err);

#endif
