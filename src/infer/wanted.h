/* wanted: a FILE that a long command makes. It is written as FILE.part beside it, which is locked,
 * so that two processes never make one FILE, and renamed once it is whole. */
#ifndef OG_WANTED_H
#define OG_WANTED_H

#include "base/base.h"

struct og_wanted {
    char *path, *part; /* NULL = not wanted */
    int fd;            /* of `part` above 0, locked; 0 = none */
    bool in_place;     /* a run that was killed had renamed it already */
};

/* All that is wrong with the name is found here, lest it be in the end; its folder is made. NULL =
 * not wanted. With `resume` there may be such a file. */
OG_MUST_CHECK int og__wanted_name(struct og_wanted *w, const char *path, bool resume,
                                  struct og_err *err);
/* They are two files. */
OG_MUST_CHECK int og__wanted_differ(const struct og_wanted *out, const struct og_wanted *embeddings,
                                    struct og_err *err);
/* FILE.part is made, and locked. -EBUSY where another process makes it. */
OG_MUST_CHECK int og__wanted_lock(struct og_wanted *w, struct og_err *err);
/* FILE.part is removed, if it is still what was locked. */
void og__wanted_remove(const struct og_wanted *w);
/* -ENOENT where FILE.part is not what was written any more: it is what will be renamed. */
OG_MUST_CHECK int og__wanted_check(const struct og_wanted *w, struct og_err *err);
OG_MUST_CHECK int og__wanted_deliver(const struct og_wanted *w, struct og_err *err);

/* What a file that may not be there yet, in a folder that is, is called from anywhere; malloc'ed,
 * NULL on lack of memory. */
char *og__absolute(const char *path);

#endif
