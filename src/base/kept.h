/* Folders that outlive the process which made them, for those to come: <prefix>...<16 hex digits>.
 *
 * Whoever uses one holds a shared lock on it, and sets its time; so which was used when is known,
 * and only what nobody holds is removed: the oldest, when there is too much of them. Nothing but
 * the files of its kind is unlinked, and a folder that has others in it stays. */
#ifndef OG_KEPT_H
#define OG_KEPT_H

#include "base/base.h"

struct og_kept_kind {
    const char *prefix;   /* of the folders' names */
    const char *files[3]; /* how the names of its files begin */
};

/* Lock the folder `path`, which is used now. A descriptor above 0 to be closed, or 0: it is not
 * there, or cannot be locked. */
int og__kept_hold(const char *path);

struct og_kept {
    char name[256];
    uint64_t bytes;
    int64_t used; /* seconds since 1970 */
    bool in_use;
};
/* Those in folder `under`, the longest unused first; *n = 0 where there is no such folder. Free()
 * the list. */
OG_MUST_CHECK int og__kept_list(const char *under, const struct og_kept_kind *kind,
                                struct og_kept **list, size_t *n, struct og_err *err);
/* Unless somebody holds it. */
bool og__kept_remove(const char *under, const struct og_kept_kind *kind, const char *name);

/* Remove what was not used for `seconds`, then the longest unused until all take at most `bytes`
 * together; never the folder `mine`, beside which the others are. Says what went. */
void og__kept_trim(const char *mine, const struct og_kept_kind *kind, uint64_t bytes,
                   int64_t seconds, const struct og_log *log);
/* Bounds that suit most: a tenth of the disk that `under` is on, and two months. */
uint64_t og__kept_bytes(const char *under);
enum { OG__KEPT_SECONDS = 60 * 24 * 3600 };

#endif
