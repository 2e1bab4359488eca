/* Versioned structs: a program fills them, the library reads them. They begin with their size, so
 * either side may be the older one. */
#ifndef OG_SIZED_H
#define OG_SIZED_H

#include "base/base.h"

/* -EINVAL if `theirs` has fewer than the `ours` bytes that this library reads. Also if it sets
 * fields after these, which only a later version knows. `theirs` may be NULL. */
OG_MUST_CHECK int og__sized_check(const void *theirs, size_t ours, const char *name,
                                  struct og_err *err);
#define OG_SIZED(theirs, name, err) og__sized_check(theirs, sizeof(*(theirs)), name, err)

#endif
