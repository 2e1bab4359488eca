/* Fetches the sources of edges, batched, from a topology on disk. */
#ifndef OG_SAMPLE_FROM_DISK_H
#define OG_SAMPLE_FROM_DISK_H

#include "sample/hop.h"

void og__disk_sampler_close(struct og_sampler *s);

/* Blocks of an array that were read before, and stay in memory. */
struct og_held_blocks {
    struct og_id_table at; /* of og_id_place: where a block is in the following */
    uint32_t *block;       /* [capacity] */
    char *data;            /* [capacity] of OG__LIST_BLOCK bytes */
    uint32_t n, capacity;
};
enum { OG__MOST_HELD = 1 << 14 };

/* Where the block is, or OG__NO_ID. */
static inline uint32_t og__held_place(const struct og_held_blocks *h, uint32_t block)
{
    const struct og_id_place *e =
        (const struct og_id_place *)og__id_find(&h->at, sizeof(*e), NULL, block);
    return e->id == block ? e->place : OG__NO_ID;
}

/* Fetches in three steps. The first sets the destination of sources and of weights (NULL = none),
 * and allocates on its first call. Sources in blocks that are held are not read (NULL = none). The
 * second requests src[edge ..] from `positions` of the list of v (NULL = its first n). The third
 * reads them; other entries are unchanged. The window must be empty. */
OG_MUST_CHECK int og__fetch_begin(struct og_sampler *s, uint32_t *src, float *weight, uint64_t n,
                                  const struct og_held_blocks *held, struct og_err *err);
void og__fetch_want(struct og_sampler *s, uint32_t edge, uint32_t v, const uint32_t *positions,
                    uint32_t n);
OG_MUST_CHECK int og__fetch(struct og_sampler *s, struct og_err *err);
/* Turns the n fetched sources after the block's edges into positions. */
OG_MUST_CHECK int og__number_fetched(struct og_hop *h, uint64_t n, struct og_err *err);

#endif
