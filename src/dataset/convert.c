#include "dataset/convert.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Small numbers are rounded by an addition that pushes their last bits out of the mantissa. */
uint16_t og__half_of(float x)
{
    const uint32_t push = 126u << 23; /* 0.5f: its last bit is worth 2^-24 */
    uint32_t bits = bits_of(x);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return sign | 0x7e00;
    if (bits >= 143u << 23)
        return sign | 0x7c00;
    if (bits < 113u << 23)
        return sign | (uint16_t)(bits_of(fabsf(x) + float_of(push)) - push);
    bits += 0xfff + (bits >> 13 & 1) - (112u << 23);
    return sign | (uint16_t)(bits >> 13);
}

uint16_t og__bfloat_of(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float og__float_of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00)
        return float_of(sign | 0x7f800000 | magnitude << 13);
    if (magnitude >= 0x0400)
        return float_of(sign | ((magnitude << 13) + (112u << 23)));
    return sign ? -(float)magnitude * 0x1p-24f : (float)magnitude * 0x1p-24f;
}

#define ELEMENT(ctype) ((const ctype *)data)[i]

int64_t og__integer_at(enum og__npy_type type, const void *data, size_t i)
{
    switch (type) {
    case OG__NPY_I8:
        return ELEMENT(int8_t);
    case OG__NPY_I16:
        return ELEMENT(int16_t);
    case OG__NPY_I32:
        return ELEMENT(int32_t);
    case OG__NPY_I64:
        return ELEMENT(int64_t);
    case OG__NPY_BOOL:
    case OG__NPY_U8:
        return ELEMENT(uint8_t);
    case OG__NPY_U16:
        return ELEMENT(uint16_t);
    case OG__NPY_U32:
        return ELEMENT(uint32_t);
    case OG__NPY_U64:
        return (int64_t)ELEMENT(uint64_t);
    default:
        return -1;
    }
}

double og__number_at(enum og__npy_type type, const void *data, size_t i)
{
    switch (type) {
    case OG__NPY_F16:
        return og__float_of_half(ELEMENT(uint16_t));
    case OG__NPY_F32:
        return ELEMENT(float);
    case OG__NPY_F64:
        return ELEMENT(double);
    default:
        return (double)og__integer_at(type, data, i);
    }
}

int64_t og__store_row(enum og_dtype dtype, void *row, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        if (!isfinite(x[j]))
            return (int64_t)j;
        switch (dtype) {
        case OG_F32:
            ((float *)row)[j] = x[j];
            break;
        case OG_F16:
            ((uint16_t *)row)[j] = og__half_of(x[j]);
            if ((((uint16_t *)row)[j] & 0x7fff) == 0x7c00)
                return (int64_t)j;
            break;
        case OG_BF16:
            ((uint16_t *)row)[j] = og__bfloat_of(x[j]);
            break;
        case OG_U8:
            if (!(x[j] >= 0 && x[j] <= 255 && x[j] == floorf(x[j])))
                return (int64_t)j;
            ((uint8_t *)row)[j] = (uint8_t)x[j];
            break;
        }
    }
    return -1;
}
