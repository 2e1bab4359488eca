/* named memory: a segment of shared memory that a user's processes on one machine find by number.
 *
 *     /dev/shm/outgrow-<user>-<number>     places of the segment, one a process that has it open
 *
 * The first process creates the segment. Later ones open it through any process of the list, so it
 * exists as long as one of them has it open. A killed process leaves a place that no longer opens,
 * which the next process drops. */
#ifndef OG_NAMED_MEMORY_H
#define OG_NAMED_MEMORY_H

#include "base/shared_memory.h"

struct og_named_memory {
    struct og_shared_memory *memory; /* NULL: none */
    char path[64];                   /* of the list */
};

OG_MUST_CHECK int og__named_memory_join(struct og_named_memory *out, uint64_t number,
                                        struct og_err *err);
/* Call after all pieces are released. Without a segment it does nothing. */
void og__named_memory_leave(struct og_named_memory *n);

#endif
