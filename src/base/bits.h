/* Bit sets with ranks: membership of n items, and the number of members before each.
 *
 *   bits  [ceil(n / 64)]    one bit an item
 *   rank  [ceil(n / 64)]    set bits before every 64th
 *
 * 3 n / 16 bytes number the members densely; a table would take 4 n. */
#ifndef OG_BITS_H
#define OG_BITS_H

#include "base/base.h"

static inline size_t og__bits_words(uint64_t n)
{
    return (size_t)((n + 63) / 64);
}

static inline bool og__bits_has(const uint64_t *bits, uint64_t i)
{
    return bits[i >> 6] >> (i & 63) & 1;
}

static inline void og__bits_add(uint64_t *bits, uint64_t i)
{
    bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

/* Set bits of a word. The builtin would be a call where the instruction may be missing. */
static inline uint32_t og__bits_ones(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (uint32_t)(x * 0x0101010101010101 >> 56);
}

/* Fills rank; returns the number of set bits. Bits from n on must be 0. */
static inline uint32_t og__bits_count(const uint64_t *bits, uint64_t n, uint32_t *rank)
{
    uint32_t before = 0;
    for (size_t w = 0; w < og__bits_words(n); w++) {
        rank[w] = before;
        before += og__bits_ones(bits[w]);
    }
    return before;
}

/* Set bits before bit i. */
static inline uint32_t og__bits_rank(const uint64_t *bits, const uint32_t *rank, uint64_t i)
{
    uint64_t below = bits[i >> 6] & (((uint64_t)1 << (i & 63)) - 1);
    return rank[i >> 6] + og__bits_ones(below);
}

/* The first set bit at or after i; n if there is none. */
static inline uint64_t og__bits_next(const uint64_t *bits, uint64_t n, uint64_t i)
{
    while (i < n) {
        uint64_t rest = bits[i >> 6] >> (i & 63);
        if (rest)
            return i + (uint64_t)__builtin_ctzll(rest);
        i = (i | 63) + 1; /* continue at the next word */
    }
    return n;
}

#endif
