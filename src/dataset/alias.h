/* Draws from a list in proportion to weight, in constant time (Walker's alias method).
 *
 * Each place of the list gets an equal part of the whole. Of its part a place keeps as much as its
 * weight is worth, at most all; the rest stands for one other place, which is worth more. So a draw
 * is a place at random, and then it or the other: one look into the table, where a search in sums
 * would be as many as the list is long in bits. */
#ifndef OG_DATASET_ALIAS_H
#define OG_DATASET_ALIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct og_alias {
    uint32_t share; /* it keeps this of 2^32 of its part */
    uint32_t other; /* OG__NO_OTHER: nothing has weight */
};
#define OG__NO_OTHER UINT32_MAX

/* In memory beside the nodes that it may end at: what is drawn is known after one miss, not two. */
struct og_alias_edge {
    struct og_alias alias;
    uint32_t node, other_node;
};

/* out[n] from weights[n]; the same bits from the same weights. */
size_t og__alias_scratch_bytes(int64_t n);
void og__alias_make(struct og_alias *out, const float *weights, int64_t n, void *scratch);

/* The same with the nodes, of the in-neighbours of v to table[first edge of v ..]. */
size_t og__alias_list_scratch_bytes(int64_t longest);
struct og_topology;
void og__alias_list_make(const struct og_topology *t, uint32_t v, struct og_alias_edge *table,
                         void *scratch);

/* The place to look at that 64 random bits stand for; then, of what is found there, whether the
 * place is drawn, or the other. Weight 0 is never drawn. */
static inline uint64_t og__alias_place(int64_t n, uint64_t bits)
{
    return (uint64_t)((unsigned __int128)bits * (unsigned __int128)(uint64_t)n >> 64);
}

static inline bool og__alias_keeps(struct og_alias a, int64_t n, uint64_t bits)
{
    return (uint32_t)(bits * (uint64_t)n >> 32) < a.share;
}

/* No branch: it is a coin. */
static inline uint32_t og__alias_choose(bool keeps, uint32_t own, uint32_t other)
{
    uint32_t kept = (uint32_t)0 - keeps;
    return (own & kept) | (other & ~kept);
}

#endif
