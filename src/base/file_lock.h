/* File locks that mark a file or folder as in use. The kernel drops a lock when its process ends. A
 * remover locks before it removes. So a creator, once it has the lock, checks that the file still
 * has a name:
 *
 *   the creator:  create ──> lock ──> does it stand? ──> ours, else another try
 *   the remover:  open ──> lock ──> remove */
#ifndef OG_FILE_LOCK_H
#define OG_FILE_LOCK_H

#include "base/base.h"

#include <dirent.h>

/* Exclusive lock. -EBUSY: another process has it; or the errno of a file system without locks. */
OG_MUST_CHECK int og__file_lock(int fd);
/* Shared lock, which keeps others from removing it. Waits for a remover. */
OG_MUST_CHECK int og__file_lock_shared(int fd);
/* Has it a name still? */
bool og__file_has_name(int fd);
/* og__file_lock, then og__file_has_name; trusts a file system without locks. 0, -EBUSY, -EAGAIN:
 * removed meanwhile, or another errno. */
OG_MUST_CHECK int og__file_lock_named(int fd);

/* ---- folders, which may be in use ---- */

/* Opens a folder; follows no symbolic link. Returns the descriptor, or -1 with errno. */
int og__folder_open(int at, const char *name);
/* The folder's entries; the caller still owns the descriptor. NULL with errno. */
DIR *og__folder_list(int fd);
/* The parent folder of `path`, malloc'ed: "a" of "a/b", "." of "b", "/" of "/b". */
char *og__folder_of(const char *path);

#endif
