/* Disjoint trees: each seed of a batch has a sampled neighbourhood of its own. A node of a tree is
 * a place of the batch. The same node may be in many trees:
 *
 *   places  | seeds | found in hop 1 | found in hop 2 | ...   each has a tree, and a row
 *                    row
 *   ids     | distinct nodes of all trees, in order of discovery |
 *
 * Blocks count places. Stores see ids, so that a row is read once for all trees. */
#ifndef OG_SAMPLE_TREES_H
#define OG_SAMPLE_TREES_H

#include "base/memory.h"
#include "sample/batch_memory.h"

/* A node of a tree. */
struct og_tree_place {
    uint32_t node, tree, place; /* node OG__NO_ID: a free entry */
};

/* What a sampler keeps of a batch's trees. */
struct og_trees {
    struct og_tree_place *entry; /* [size] open addressing by node and tree */
    size_t size;                 /* a power of two */
    uint32_t *tree;              /* [places] */
    size_t n_tree;               /* room */
    int64_t *time;               /* [n] of each tree's seed: no later edge is sampled */
    uint64_t *key;               /* [n] of its draws */
    size_t n;                    /* room */
    uint32_t window[OG__WINDOW]; /* trees of the sampler's window */
    struct og_budget *budget;
};

OG_MUST_CHECK int og__trees_open(struct og_trees **out, struct og_budget *b, struct og_err *err);
void og__trees_close(struct og_trees *t);
/* Memory for batches of so many seeds and places. */
size_t og__trees_bytes(uint64_t seeds, uint64_t places);

/* Makes room for the times and keys of n trees. */
OG_MUST_CHECK int og__trees_fit_seeds(struct og_trees *t, size_t n, struct og_err *err);
/* Begins a batch of n trees, whose seeds are places 0 to n. */
OG_MUST_CHECK int og__trees_begin(struct og_trees *t, const uint32_t *seeds, uint32_t n,
                                  struct og_err *err);
/* Makes room for so many places; those of the batch stay. */
OG_MUST_CHECK int og__trees_fit(struct og_trees *t, uint64_t places, const struct og_batch *b,
                                struct og_err *err);

static inline size_t og__tree_home(const struct og_trees *t, uint32_t node, uint32_t tree)
{
    const uint64_t x = ((uint64_t)tree << 32 | node) * 0x9E3779B97F4A7C15u;
    return (size_t)((x ^ x >> 32) & (t->size - 1));
}

/* Inlined, or gcc drops it: it has no other effect. */
static inline __attribute__((always_inline)) void og__tree_prefetch(const struct og_trees *t,
                                                                    uint32_t node, uint32_t tree)
{
    __builtin_prefetch(&t->entry[og__tree_home(t, node, tree)]);
}

/* The place of the node in the tree; `fresh` if it is new there. */
static inline uint32_t og__tree_place(struct og_trees *t, uint32_t node, uint32_t tree,
                                      uint32_t fresh)
{
    for (size_t i = og__tree_home(t, node, tree);; i = (i + 1) & (t->size - 1)) {
        struct og_tree_place *e = &t->entry[i];
        if (e->node == node && e->tree == tree)
            return e->place;
        if (e->node != UINT32_MAX)
            continue;
        *e = (struct og_tree_place){node, tree, fresh};
        return fresh;
    }
}

#endif
