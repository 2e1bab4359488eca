/* Stores n + 1 ascending numbers in 4 bytes each: 32-bit distances from a base a block of 1024. */
#ifndef OG_DATASET_OFFSETS_H
#define OG_DATASET_OFFSETS_H

#include "base/memory.h"

struct og_offsets {
    uint64_t n;
    int64_t *base; /* [n / 1024 + 1] */
    uint32_t *low; /* [n + 1] */
};
enum { OG__OFFSETS_A_BASE = 1024 };
static inline int64_t og__offset(const struct og_offsets *o, uint64_t i)
{
    return o->base[i / OG__OFFSETS_A_BASE] + o->low[i];
}
OG_MUST_CHECK int og__offsets_init(struct og_offsets *o, uint64_t n, struct og_budget *b,
                                   const char *part, struct og_err *err);
/* Call in the order of i. False if the value is too far from its base. */
bool og__offsets_put(struct og_offsets *o, uint64_t i, int64_t value);
void og__offsets_release(struct og_offsets *o, struct og_budget *b, const char *part);
size_t og__offsets_bytes(uint64_t n);

#endif
