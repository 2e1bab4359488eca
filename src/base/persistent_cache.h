/* Cache folders that outlive their process and serve later ones: <prefix>...<16 hex digits>.
 *
 * A process holds a shared lock on a folder that it uses, and updates its time. Only unlocked
 * folders are removed, oldest first, when their total exceeds a bound. Only files of the kind are
 * unlinked, so a folder with other files remains. */
#ifndef OG_PERSISTENT_CACHE_H
#define OG_PERSISTENT_CACHE_H

#include "base/base.h"

struct og_persistent_cache_kind {
    const char *prefix;   /* of the folders' names */
    const char *files[4]; /* how the names of its files begin */
};

/* Locks folder `path` and updates its time. Returns a descriptor above 0, to be closed by the
 * caller; 0: the folder is absent or cannot be locked. */
int og__persistent_cache_hold(const char *path);

struct og_persistent_cache {
    char name[256];
    uint64_t bytes;
    int64_t used; /* seconds since 1970 */
    bool in_use;
};
/* Lists the folders in `under`, least recently used first; *n = 0 if `under` is absent. free() the
 * list. */
OG_MUST_CHECK int og__persistent_cache_list(const char *under,
                                            const struct og_persistent_cache_kind *kind,
                                            struct og_persistent_cache **list, size_t *n,
                                            struct og_err *err);
/* Removes a folder unless a process has it locked. */
bool og__persistent_cache_remove(const char *under, const struct og_persistent_cache_kind *kind,
                                 const char *name);

/* Removes folders unused for `seconds`, then the least recently used ones until all take at most
 * `bytes`. Never removes `mine`, whose parent folder it searches. Logs each removal. */
void og__persistent_cache_trim(const char *mine, const struct og_persistent_cache_kind *kind,
                               uint64_t bytes, int64_t seconds, const struct og_log *log);
/* Default bounds: a tenth of the disk of `under`, and two months. */
uint64_t og__persistent_cache_bytes(const char *under);
enum { OG__PERSISTENT_CACHE_SECONDS = 60 * 24 * 3600 };

#endif
