/* Who has a file or a folder: a lock on its descriptor, which the kernel drops when the process
 * ends, however it ends. Who removes takes the lock first, so a maker looks, once it has the lock,
 * whether what it locked still has a name:
 *
 *   the maker:    create ──> lock ──> does it stand? ──> ours, else another try
 *   the remover:  open ──> lock ──> remove */
#ifndef OG_LEASE_H
#define OG_LEASE_H

#include "base/base.h"

#include <dirent.h>

/* For this process alone. -EBUSY: another has it; or the errno of a file system without locks. */
OG_MUST_CHECK int og__lease_lock(int fd);
/* Beside others that use it, none of whom may remove it. Waits for who removes it. */
OG_MUST_CHECK int og__lease_share(int fd);
/* Has it a name still? */
bool og__lease_stands(int fd);
/* Both, a file system without locks being trusted: 0, -EBUSY, -EAGAIN where it was removed
 * meanwhile, or another errno. */
OG_MUST_CHECK int og__lease_take(int fd);

/* ---- folders, which may be in use ---- */

/* No symbolic link is followed. The descriptor, or -1 with errno. */
int og__folder_open(int at, const char *name);
/* Its entries; the descriptor stays the caller's. NULL with errno. */
DIR *og__folder_list(int fd);
/* The folder that has `path`: "a" of "a/b", "." of "b", "/" of "/b"; malloc'ed. */
char *og__folder_of(const char *path);

#endif
