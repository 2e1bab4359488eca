/* A slab of read buffers: allocates all sizes from one piece of memory.
 *
 *     base |##|#########|__________|##|___________|   units of 4 KiB; a request takes a run of them
 *                       ^ next: where the search resumes
 *
 * Units are allocated round robin, so runs are released roughly in order and the slab does not
 * fragment. */
#ifndef OG_IO_SLAB_H
#define OG_IO_SLAB_H

#include "base/memory.h"

enum { OG_SLAB_UNIT = 4096 };

struct og_slab {
    char *base;          // [n_units * OG_SLAB_UNIT], aligned to a unit
    unsigned char *busy; // [n_units]
    size_t n_units, next;
    struct og_budget *budget;
    void *memory;
};

OG_MUST_CHECK int og__slab_init(struct og_slab *s, size_t bytes, struct og_budget *b,
                                struct og_err *err);
void og__slab_release(struct og_slab *s); /* accepts a zeroed one */
size_t og__slab_bytes(size_t bytes);      /* what init takes of the budget for these */

/* A run of `bytes` bytes, or NULL while there is none. */
char *og__slab_take(struct og_slab *s, size_t bytes);
void og__slab_give(struct og_slab *s, const char *data, size_t bytes);

#endif
