/* Stack distances (Mattson et al. 1970): between a node's last use and now so many others were
 * used; a cache of more rows than that holds it under lru. */
#ifndef OG_STACK_DISTANCE_H
#define OG_STACK_DISTANCE_H

#include "plan/simulate.h"

/* of_row[i]: how many of the sizes miss row i of the trace. */
OG_MUST_CHECK int og__stack_levels(const struct og_simulation *sim, uint8_t *of_row,
                                   struct og_err *err);
/* What that takes of the budget, for traces of so many rows and rows in one batch. */
size_t og__stack_bytes(uint64_t n_nodes, uint64_t rows, uint64_t longest);

#endif
