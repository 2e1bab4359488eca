/* Tiles: operands of products, f32 or bfloat16.
 *
 * A tile of a dense input is used directly. Otherwise it is made in scratch: gathered and
 * converted, or aggregated. The last, partial block is always made in scratch and padded with
 * zeros. Every product then has the same height, and matrices need no padding. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"

#include <string.h>

static bool lies_densely(const struct og_rows *x, enum og_dtype as)
{
    const size_t size = og__dtype_size(as);
    return x->dtype == as && !x->sparse && !x->index && x->n_more == 0 &&
           x->stride == (size_t)x->dim * size && (uintptr_t)x->base % size == 0;
}

const void *og__tile_of(const struct og_nn_backend *be, const struct og_rows *x, uint32_t r0,
                        uint32_t n, uint32_t height, int first, int width, float *scratch,
                        float *row, int *ld)
{
    const enum og_dtype as = be->bf16 ? OG_BF16 : OG_F32;
    const size_t size = og__dtype_size(as), w = (size_t)width;
    if (n == height && lies_densely(x, as)) {
        *ld = x->dim;
        return x->base + ((size_t)r0 * (size_t)x->dim + (size_t)first) * size;
    }
    *ld = width;
    if (be->bf16)
        og__gather_bf16((uint16_t *)(void *)scratch, x, r0, n, (size_t)first, w, row);
    else
        og__gather(scratch, x, r0, n, (size_t)first, w);
    memset((char *)scratch + n * w * size, 0, (height - n) * w * size);
    return scratch;
}

/* The aggregated tile, also stored in in->keep if set. */
static const float *aggregated_tile(const struct og_input *in, uint32_t r0, uint32_t n,
                                    float *scratch)
{
    size_t w = (size_t)in->x.dim;
    bool whole = n == OG__BLOCK_ROWS;
    float *tile = whole && in->keep ? in->keep + r0 * w : scratch;
    for (uint32_t i = 0; i < n; i++)
        og__aggregate_row(in->through, &in->x, r0 + i, tile + i * w);
    if (!whole) {
        memset(tile + n * w, 0, (OG__BLOCK_ROWS - n) * w * sizeof(float));
        if (in->keep)
            memcpy(in->keep + r0 * w, tile, n * w * sizeof(float));
    }
    return tile;
}

/* The same in bfloat16; in->keep gets the rows before they are rounded. */
static const void *aggregated_bf16(const struct og_input *in, uint32_t r0, uint32_t n,
                                   const struct og__scratch *s)
{
    const size_t w = (size_t)in->x.dim;
    uint16_t *tile = (uint16_t *)(void *)s->in;
    for (uint32_t i = 0; i < n; i++) {
        float *row = in->keep ? in->keep + (r0 + i) * w : s->row;
        og__aggregate_row(in->through, &in->x, r0 + i, row);
        og__narrow_to_bfloat(row, w, tile + i * w);
    }
    memset(tile + n * w, 0, (OG__BLOCK_ROWS - n) * w * sizeof(*tile));
    return tile;
}

const void *og__input_tile(const struct og_nn_backend *be, const struct og_input *in, uint32_t r0,
                           uint32_t n, const struct og__scratch *s)
{
    int ld;
    if (!in->through)
        return og__tile_of(be, &in->x, r0, n, OG__BLOCK_ROWS, 0, in->x.dim, s->in, s->row, &ld);
    return be->bf16 ? aggregated_bf16(in, r0, n, s) : aggregated_tile(in, r0, n, s->in);
}
