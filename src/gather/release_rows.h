/* Release and reclaim the memory at the end of a feature cache. The cache is an array in reserved
 * address space (base/memory.h), of which the first bytes have memory. The budget counts these as
 * "feature cache". */
#ifndef OG_GATHER_RELEASE_ROWS_H
#define OG_GATHER_RELEASE_ROWS_H

#include "base/memory.h"

/* Release memory: of `before` bytes the first `after` stay. A page is kept if it has any of those,
 * or begins past `before`. */
void og__release_rows(struct og_budget *b, char *base, size_t before, size_t after);
/* Reclaim memory past `before`; its contents are undefined. */
OG_MUST_CHECK int og__reclaim_rows(struct og_budget *b, char *base, size_t before, size_t after,
                                   struct og_err *err);

#endif
