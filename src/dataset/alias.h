/* Samples from a list in proportion to weight, in constant time (Walker's alias method).
 *
 * Each entry of the list gets an equal slot. The entry itself fills as much of its slot as its
 * weight covers; one heavier entry fills the rest. A draw picks a slot at random, then one of its
 * two entries. That is one table access; a binary search in prefix sums takes log2(n). */
#ifndef OG_DATASET_ALIAS_H
#define OG_DATASET_ALIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct og_alias {
    uint32_t share; /* the entry's own share of its slot, of 2^32 */
    uint32_t other; /* OG__NO_OTHER: nothing has weight */
};
#define OG__NO_OTHER UINT32_MAX

/* The table entry holds both candidate nodes, so a draw costs one cache miss, not two. */
struct og_alias_edge {
    struct og_alias alias;
    uint32_t node, other_node;
};

/* Builds out[n] from weights[n]; bit-identical for identical weights. */
size_t og__alias_scratch_bytes(int64_t n);
void og__alias_make(struct og_alias *out, const float *weights, int64_t n, void *scratch);

/* As og__alias_make, with the nodes: in-neighbours of v go to table[first edge of v ..]. */
size_t og__alias_list_scratch_bytes(int64_t longest);
struct og_topology;
void og__alias_list_make(const struct og_topology *t, uint32_t v, struct og_alias_edge *table,
                         void *scratch);

/* Maps 64 random bits to a slot, then decides whether the slot's entry or its alias is drawn.
 * Weight 0 is never drawn. */
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
