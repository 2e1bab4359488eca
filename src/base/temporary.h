/* Temporary names for incomplete output: <path>.tmp-<pid>-<n>, a file or a folder. Its creator
 * holds a lock on it while it runs. So an unlocked file is one of a killed process,
 * whatever its numbers. */
#ifndef OG_TEMPORARY_H
#define OG_TEMPORARY_H

#include "base/base.h"

/* Creates a locked temporary file, or folder, whose descriptor it returns. First removes
 * temporaries of `path` that ended processes left. *name is malloc'ed. Negative errno on
 * failure. */
OG_MUST_CHECK int og__temporary_make(const char *path, bool folder, char **name,
                                     struct og_err *err);

/* Removes temporaries of `path` that ended processes left. Never fails. */
void og__temporary_sweep(const char *path);

/* Opens a nameless file in `folder`, which vanishes with its descriptor. Returns that or a negative
 * errno. */
OG_MUST_CHECK int og__unnamed_file(const char *folder, struct og_err *err);

/* Removes a file, or a folder with its contents; follows no symbolic link. */
void og__remove_tree(const char *path);

#endif
