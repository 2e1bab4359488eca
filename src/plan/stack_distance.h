/* Stack distances (Mattson et al. 1970): the number of other nodes used since a node's last use. A
 * larger lru cache than that holds the node. */
#ifndef OG_STACK_DISTANCE_H
#define OG_STACK_DISTANCE_H

#include "plan/simulate.h"

/* of_row[i]: the number of sizes that miss row i of the trace. */
OG_MUST_CHECK int og__stack_levels(const struct og_simulation *sim, uint8_t *of_row,
                                   struct og_err *err);
/* Memory of that from the budget, for traces of so many rows, and rows in one batch. */
size_t og__stack_bytes(uint64_t n_nodes, uint64_t rows, uint64_t longest);

#endif
