/* Copies of feature rows: one warp per row. Over the interconnect its lanes read consecutive pieces
 * in parallel. */
#include "nn/device/common.h"

struct __attribute__((aligned(16))) four_words {
    uint32_t word[4];
};

/* Copies a row in pieces of one type, with several loads in flight before a store. */
#define COPY(type)                                                                        \
    for (size_t j = og_lane(); j < bytes / sizeof(type); j += OG_PREFETCHED * OG_LANES) { \
        type piece[OG_PREFETCHED] = {0};                                                  \
        for (size_t k = 0, at = j; k < OG_PREFETCHED; k++, at += OG_LANES)                \
            if (at < bytes / sizeof(type))                                                \
                piece[k] = ((const type *)(const void *)from)[at];                        \
        for (size_t k = 0, at = j; k < OG_PREFETCHED; k++, at += OG_LANES)                \
            if (at < bytes / sizeof(type))                                                \
                ((type *)(void *)to)[at] = piece[k];                                      \
    }

/* Copies words if a row consists of them; rows are then aligned to the word size. */
OG_ON_DEVICE void copy_row(char *to, const char *from, size_t bytes OG_HERE)
{
    if (((uintptr_t)to | (uintptr_t)from | bytes) % sizeof(struct four_words) == 0)
        COPY(struct four_words)
    else if (bytes % sizeof(uint32_t) == 0)
        COPY(uint32_t)
    else
        COPY(char)
}

OG_ON_DEVICE char *of_room(const struct og_k_places *op, uint32_t i)
{
    return op->room + (op->row ? op->row[i] : i) * op->x.stride;
}

OG_ON_DEVICE char *of_slot(const struct og_k_places *op, uint32_t i)
{
    return op->slots + op->slot[i] * op->x.stride;
}

/* Locations of slots are distributed over the devices round-robin. */
OG_ON_DEVICE const char *of_place(const struct og_k_places *op, uint32_t i)
{
    const uint32_t place = op->x.index[i];
    if (op->x.n_more > 0 && place >= op->x.more[0].first)
        return og_row_of(&op->x, i);
    return op->slots_of[place % op->n_parts] + place / op->n_parts * op->x.stride;
}

/* Rows of a batch, from all tiers, into its buffer. */
OG_KERNEL(og__k_collect, og_k_places)
{
    if (og_warp() < op->n)
        copy_row(of_room(op, og_warp()), of_place(op, og_warp()), op->x.stride OG_PASS);
}

/* Rows in slots, to host locations. */
OG_KERNEL(og__k_leave, og_k_places)
{
    if (og_warp() < op->n)
        copy_row((char *)og_row_of(&op->x, og_warp()), of_slot(op, og_warp()),
                 op->x.stride OG_PASS);
}

/* Rows of a buffer into slots. */
OG_KERNEL(og__k_enter, og_k_places)
{
    if (og_warp() < op->n)
        copy_row(of_slot(op, og_warp()), of_room(op, og_warp()), op->x.stride OG_PASS);
}
