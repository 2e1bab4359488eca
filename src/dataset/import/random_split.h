/* --split: random parts of the nodes, for a source without splits. */
#ifndef OG_IMPORT_RANDOM_SPLIT_H
#define OG_IMPORT_RANDOM_SPLIT_H

#include "dataset/import/import.h"

/* -EINVAL unless the option is three percentages, or unset. */
OG_MUST_CHECK int og__random_split_check(const struct og_import *opt, struct og_err *err);
/* -EINVAL if the option is set, though the source has a split in `file`. */
OG_MUST_CHECK int og__random_split_refuse(const struct og_importer *imp, const char *file,
                                          struct og_err *err);
/* Writes train.npy, valid.npy and test.npy, ids in ascending order, by the option and the seed.
 * Labels are written already; without labels the nodes of a homogeneous graph are all taken. Does
 * nothing if the option is unset. */
OG_MUST_CHECK int og__import_random_split(struct og_importer *imp, struct og_err *err);

#endif
