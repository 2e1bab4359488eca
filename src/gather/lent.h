/* The end of a feature cache, lent to others and taken back: of an array in reserved address space
 * (base/memory.h) its first bytes are there, which the budget counts as "feature cache". */
#ifndef OG_GATHER_LENT_H
#define OG_GATHER_LENT_H

#include "base/memory.h"

/* Of `before` bytes the first `after` stay; pages that hold any of those, or begin behind
 * `before`, do. */
void og__lend_rows(struct og_budget *b, char *base, size_t before, size_t after);
/* What is beyond `before` holds nothing. */
OG_MUST_CHECK int og__take_rows_back(struct og_budget *b, char *base, size_t before, size_t after,
                                     struct og_err *err);

#endif
