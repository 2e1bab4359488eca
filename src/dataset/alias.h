/* Draws from a list in proportion to weight, in constant time (Walker's alias method).
 *
 * Each place of the list gets an equal part of the whole. Of its part a place keeps as much as its
 * weight is worth, at most all; the rest stands for one other place, which is worth more. So a draw
 * is a place at random, and then it or the other: one look into the table, where a search in sums
 * would be as many as the list is long in bits. */
#ifndef OG_DATASET_ALIAS_H
#define OG_DATASET_ALIAS_H

#include <stddef.h>
#include <stdint.h>

struct og_alias {
    uint32_t share; /* it keeps this of 2^32 of its part */
    uint32_t other; /* OG__NO_OTHER: nothing has weight */
};
#define OG__NO_OTHER UINT32_MAX

/* out[n] from weights[n]; the same bits from the same weights. */
size_t og__alias_scratch_bytes(int64_t n);
void og__alias_make(struct og_alias *out, const float *weights, int64_t n, void *scratch);

/* The place that 64 random bits stand for, or OG__NO_OTHER. Weight 0 is never drawn. */
static inline uint64_t og__alias_place(int64_t n, uint64_t bits)
{
    return (uint64_t)((unsigned __int128)bits * (unsigned __int128)(uint64_t)n >> 64);
}

static inline uint32_t og__alias_draw(const struct og_alias *table, int64_t n, uint64_t bits)
{
    uint64_t place = og__alias_place(n, bits);
    uint32_t within = (uint32_t)(bits * (uint64_t)n >> 32);
    uint32_t kept = (uint32_t)0 - (within < table[place].share); /* no branch: it is a coin */
    return ((uint32_t)place & kept) | (table[place].other & ~kept);
}

#endif
