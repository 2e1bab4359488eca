/* Files in the folder of a dataset, and what reads them. */
#ifndef OG_DATASET_FILES_H
#define OG_DATASET_FILES_H

#include "base/base.h"

/* The commands or options that read a file of a dataset, as text; NULL = none. */
const char *og__file_use(const char *file);

/* Calls `each` with the name of every regular file, sorted. A negative result ends it and is
 * returned. */
OG_MUST_CHECK int og__dataset_files(const char *path,
                                    int (*each)(void *arg, const char *name, struct og_err *err),
                                    void *arg, struct og_err *err);
/* Whether a file that og__file_use knows, open or not, is `wanted`. */
struct stat;
OG_MUST_CHECK int og__dataset_has(const char *path, const struct stat *wanted, bool *has,
                                  struct og_err *err);

#endif
