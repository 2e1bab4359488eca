/* Names beside the final one, for what is not complete yet: <path>.tmp-<pid>-<n>, a file or a
 * folder. Its maker holds a lock on it for as long as it lives, so what a killed process left
 * behind is told from what another is writing just now, whatever their numbers. */
#ifndef OG_TEMPORARY_H
#define OG_TEMPORARY_H

#include "base/base.h"

/* A fresh file (or folder, the descriptor then being of the folder), locked. First removes what the
 * gone left beside `path` under such names. *name is malloc'ed. The descriptor, or negative. */
OG_MUST_CHECK int og__temporary_make(const char *path, bool folder, char **name,
                                     struct og_err *err);

/* Only removes what the gone left for `path`. Never fails: what cannot be removed stays. */
void og__temporary_sweep(const char *path);

/* A file in `folder` that has no name, and so is gone with its descriptor, which is returned; or
 * negative. */
OG_MUST_CHECK int og__unnamed_file(const char *folder, struct og_err *err);

/* A file, or a folder and all in it; symbolic links are not followed. */
void og__remove_tree(const char *path);

#endif
