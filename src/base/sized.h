/* Structs that a program fills and the library reads: they begin with their size, so that either
 * may be older than the other. */
#ifndef OG_SIZED_H
#define OG_SIZED_H

#include "base/base.h"

/* -EINVAL unless `theirs`, which may be NULL, has all `ours` bytes that this library reads; and
 * where it sets something behind them, which only a later version knows. */
OG_MUST_CHECK int og__sized_check(const void *theirs, size_t ours, const char *name,
                                  struct og_err *err);
#define OG_SIZED(theirs, name, err) og__sized_check(theirs, sizeof(*(theirs)), name, err)

#endif
