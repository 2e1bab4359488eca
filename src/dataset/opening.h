/* Opening a dataset, in steps that one of types takes as well (dataset.c). */
#ifndef OG_DATASET_OPENING_H
#define OG_DATASET_OPENING_H

#include "dataset/meta.h"

/* All arrays closed. */
void og__dataset_blank(struct og_dataset *ds);
/* The last part of its path, malloc'ed; NULL on lack of memory. */
char *og__dataset_name(const char *path);

/* The text of the folder's meta.json, malloc'ed. */
OG_MUST_CHECK int og__meta_read(const char *folder, char **text, size_t *len, struct og_err *err);

/* NAME.npy of the folder, or the file that meta.json has for it. With `optional`, one that is not
 * there stays closed. */
OG_MUST_CHECK int og__open_array(const char *folder, const char *name, const struct og_meta_file *f,
                                 bool optional, struct og_npy *a, struct og_err *err);

/* Are features, labels and lists of nodes and edges those of ds->n_nodes nodes? What they are is
 * filled in. dim and dtype as meta.json says, -1 = not said. */
OG_MUST_CHECK int og__check_features(struct og_dataset *ds, int64_t dim, int dtype,
                                     struct og_err *err);
OG_MUST_CHECK int og__check_labels(struct og_dataset *ds, const struct og_meta *m,
                                   struct og_err *err);
OG_MUST_CHECK int og__check_splits(const struct og_dataset *ds, struct og_err *err);

#endif
