/* Common parts of kernels: a row of features, its elements, lists and parts, dropout masks. */
#ifndef OG_NN_DEVICE_COMMON_H
#define OG_NN_DEVICE_COMMON_H

#include "device/kernel.h"
#include "nn/device/kernels.h"

#include "base/random.h"

#include <math.h>

/* og__row (gather/rows.h) on the device. */
OG_ON_DEVICE const char *og_row_of(const struct og_rows *x, uint32_t i)
{
    const uint32_t place = x->index ? x->index[i] : i;
    for (int t = x->n_more; t-- > 0;) {
        const struct og_tier *tier = &x->more[t];
        if (place >= tier->first) {
            const uint32_t row = place - tier->first;
            return tier->base + (tier->where ? tier->where[row] : row) * x->stride;
        }
    }
    return x->base + place * x->stride;
}

OG_ON_DEVICE float og_of_bits(uint32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } u;
    u.bits = bits;
    return u.value;
}

OG_ON_DEVICE uint32_t og_bits_of(float value)
{
    union {
        float value;
        uint32_t bits;
    } u;
    u.value = value;
    return u.bits;
}

/* Number of values below x among n ascending ones. */
OG_ON_DEVICE uint32_t og_n_below(const uint32_t *ascending, uint32_t n, uint32_t x)
{
    uint32_t low = 0;
    while (low < n) {
        const uint32_t middle = low + (n - low) / 2;
        if (ascending[middle] < x)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The list that entry e is in, of n lists. Empty lists begin where the next one does, so it is the
 * last that begins at or before e. */
OG_ON_DEVICE uint32_t og_owner(const uint32_t *first, uint32_t n, uint32_t e)
{
    return og_n_below(first, n + 1, e + 1) - 1;
}

OG_ON_DEVICE uint32_t og_part_start(uint32_t rows, uint32_t n, uint32_t part)
{
    return (uint32_t)((uint64_t)rows * part / n);
}

/* As in nn/kernels.c. */
OG_ON_DEVICE float og_of_half(uint16_t h)
{
    const float scaled = og_of_bits((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    const uint32_t whole = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return og_of_bits(og_bits_of(scaled) | whole | (uint32_t)(h & 0x8000) << 16);
}

/* As in dataset/convert.h. */
OG_ON_DEVICE float og_of_e4m3(uint8_t b)
{
    const float scaled = og_of_bits((uint32_t)(b & 0x7f) << 20) * 0x1p120f;
    const uint32_t none = (b & 0x7f) == 0x7f ? 0x7fc00000u : 0;
    return og_of_bits(og_bits_of(scaled) | none | (uint32_t)(b & 0x80) << 24);
}

/* Element j of a row of x, as stored and widened. Rows are aligned to their elements. */
OG_ON_DEVICE float og_element_of(const char *row, uint32_t j, int dtype, const float *scale)
{
    if (dtype == OG_F32)
        return ((const float *)(const void *)row)[j];
    if (dtype == OG_F16)
        return og_of_half(((const uint16_t *)(const void *)row)[j]);
    if (dtype == OG_BF16)
        return og_of_bits((uint32_t)((const uint16_t *)(const void *)row)[j] << 16);
    if (dtype == OG_I8)
        return og_times((float)((const int8_t *)row)[j], scale[j]);
    if (dtype == OG_E4M3)
        return og_times(og_of_e4m3(((const uint8_t *)row)[j]), scale[j]);
    return (float)((const uint8_t *)row)[j];
}

OG_ON_DEVICE float og_element(const struct og_rows *x, const char *row, uint32_t j)
{
    return og_element_of(row, j, x->dtype, x->scale);
}

/* Loads that a lane issues before it uses one: a GPU's bandwidth needs many loads in flight. */
enum { OG_PREFETCHED = 4 };

/* Elements j, j + OG_LANES, ... of a row; 0 from dim on. The dtype is tested once, so that nothing
 * is between the loads. */
OG_ON_DEVICE void og_elements(float to[OG_PREFETCHED], const struct og_rows *x, const char *row,
                              uint32_t j, uint32_t dim)
{
    if (x->dtype == OG_F32)
        for (uint32_t k = 0; k < OG_PREFETCHED; k++)
            to[k] = j + k * OG_LANES < dim ? og_element_of(row, j + k * OG_LANES, OG_F32, NULL) : 0;
    else
        for (uint32_t k = 0; k < OG_PREFETCHED; k++)
            to[k] = j + k * OG_LANES < dim ? og_element(x, row, j + k * OG_LANES) : 0;
}

/* Element j of a row after dropout: og__dropout_row (nn/kernels.h), one element at a time. Its
 * words are og__philox's (base/random.h). */
OG_ON_DEVICE float og_drop(const struct og_dropout *d, uint32_t row, uint32_t j, float x)
{
    const bool by_bit = d->p == 0.5;
    const uint32_t a_call = by_bit ? 128 : 8, within = j % a_call, block = j / a_call;
    const uint64_t k = d->step.seed + (block >> OG__BLOCK_BITS) * (uint64_t)OG__KEY_STEP;
    philox4x32_ctr_t ctr;
    philox4x32_key_t key;
    ctr.v[0] = row;
    ctr.v[1] = d->step.batch;
    ctr.v[2] = d->step.epoch;
    ctr.v[3] =
        (uint32_t)OG__STREAM_DROPOUT << 24 | d->layer << OG__BLOCK_BITS | (block & OG__BLOCK_MASK);
    key.v[0] = (uint32_t)k;
    key.v[1] = (uint32_t)(k >> 32);
    const philox4x32_ctr_t words = philox4x32(ctr, key);
    if (by_bit)
        return words.v[within / 32] >> within % 32 & 1 ? 2.0f * x : 0.0f;
    const uint32_t half = words.v[within / 2] >> within % 2 * 16 & 0xffff;
    return half >= (uint32_t)rint(d->p * 65536) ? (float)(1 / (1 - d->p)) * x : 0.0f;
}

#endif
