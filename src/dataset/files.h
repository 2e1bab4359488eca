/* Files in the folder of a dataset, and what reads them. */
#ifndef OG_DATASET_FILES_H
#define OG_DATASET_FILES_H

#include "base/base.h"

/* Which commands or options read a file of a dataset, in words; NULL = none. */
const char *og__file_use(const char *file);

/* Calls `each` with the name of every plain file, in the order of names; ends with what it returns
 * below 0. */
OG_MUST_CHECK int og__dataset_files(const char *path,
                                    int (*each)(void *arg, const char *name, struct og_err *err),
                                    void *arg, struct og_err *err);

#endif
