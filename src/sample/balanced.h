/* balanced: seeds drawn with replacement, every class equally often (--oversample balanced). Place
 * i of an epoch has a class, then a member of it, both by random words of (seed, epoch, i) alone.
 */
#ifndef OG_BALANCED_H
#define OG_BALANCED_H

#include "base/memory.h"

/* Seeds of the training split by class. Seeds without a class are members of none. */
struct og_balanced {
    uint32_t n_classes; /* with members */
    uint32_t *first;    /* [n_classes + 1] */
    uint32_t *member;   /* [first[n_classes]] places in the split */
    uint64_t seed;
    struct og_budget *budget;
    size_t bytes;
};

/* labels: [n], those outside [0, n_classes) are of no class. At least one is. Memory: "seeds". */
OG_MUST_CHECK int og__balanced_open(struct og_balanced *b, const int32_t *labels, uint32_t n,
                                    uint32_t n_classes, uint64_t seed, struct og_budget *budget,
                                    struct og_err *err);
void og__balanced_close(struct og_balanced *b);

/* The places of the split that places [first, first + n) of the epoch have. */
void og__balanced_places(const struct og_balanced *b, uint32_t epoch, uint64_t first, uint32_t n,
                         uint64_t *place);

#endif
