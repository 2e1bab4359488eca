#include "dataset/convert.h"

#include <float.h>
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

/* The bits of a half and of a bfloat16 from those of a float. Without branches, so that loops over
 * rows become vectors on every x86-64. Small halves are rounded by an addition that pushes their
 * last bits out of the mantissa; NaN stays NaN. */
static inline uint32_t half_bits(uint32_t bits)
{
    const uint32_t push = 126u << 23; /* 0.5f: its last bit is worth 2^-24 */
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t small = bits_of(float_of(magnitude) + float_of(push)) - push;
    const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t half = magnitude < 113u << 23 ? small : normal;
    half = magnitude >= 143u << 23 ? 0x7c00 : half;
    half = magnitude > 0x7f800000 ? 0x7e00 : half;
    return half | (bits >> 16 & 0x8000);
}

static inline uint32_t bfloat_bits(uint32_t bits)
{
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded;
}

uint16_t og__half_of(float x)
{
    return (uint16_t)half_bits(bits_of(x));
}

uint16_t og__bfloat_of(float x)
{
    return (uint16_t)bfloat_bits(bits_of(x));
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
    case OG__NPY_U64:
        return (double)ELEMENT(uint64_t);
    default:
        return (double)og__integer_at(type, data, i);
    }
}

double og__integer_less(enum og__npy_type type, const void *data, size_t i, float x)
{
    /* its mantissa has 64 bits */
    return type == OG__NPY_U64
               ? (double)((long double)ELEMENT(uint64_t) - (long double)x)
               : (double)((long double)og__integer_at(type, data, i) - (long double)x);
}

int64_t og__store_row(enum og_dtype dtype, void *row, const float *x, const float *scale, size_t n)
{
    if (dtype == OG_I8)
        return og__narrow_to_i8(x, scale, n, row);
    if (dtype == OG_E4M3)
        return og__narrow_to_e4m3(x, scale, n, row);
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
            if ((((uint16_t *)row)[j] & 0x7fff) == 0x7f80)
                return (int64_t)j;
            break;
        case OG_U8:
            if (!(x[j] >= 0 && x[j] <= 255 && x[j] == floorf(x[j])))
                return (int64_t)j;
            ((uint8_t *)row)[j] = (uint8_t)x[j];
            break;
        default:
            break;
        }
    }
    return -1;
}

/* ---- rows of floats, narrowed ---- */

typedef uint32_t loose_u32 __attribute__((aligned(1), may_alias));
typedef uint16_t loose_u16 __attribute__((aligned(1), may_alias));

/* The least floats that round to infinity: 65520, and the midpoint after the largest bfloat16. */
#define HALF_ENDS   0x477ff000u
#define BFLOAT_ENDS 0x7f7f8000u

/* Is it finite, and rounds to infinity? */
static inline uint32_t overflows(uint32_t bits, uint32_t ends)
{
    return (bits & 0x7fffffff) - ends < 0x7f800000 - ends;
}

#define NARROW(name, convert, ends)                                        \
    OG_CLONES static uint32_t name(const loose_u32 *restrict in, size_t n, \
                                   loose_u16 *restrict out)                \
    {                                                                      \
        uint32_t over = 0;                                                 \
        for (size_t j = 0; j < n; j++) {                                   \
            over |= overflows(in[j], ends);                                \
            out[j] = (uint16_t)convert(in[j]);                             \
        }                                                                  \
        return over;                                                       \
    }
NARROW(narrow_half, half_bits, HALF_ENDS)
NARROW(narrow_bfloat, bfloat_bits, BFLOAT_ENDS)

/* Looked for once it is known that there is one. */
static int64_t first_over(const loose_u32 *in, uint32_t ends)
{
    size_t j = 0;
    while (!overflows(in[j], ends))
        j++;
    return (int64_t)j;
}

int64_t og__narrow_to_half(const void *in, size_t n, void *out)
{
    return narrow_half(in, n, out) ? first_over(in, HALF_ENDS) : -1;
}

int64_t og__narrow_to_bfloat(const void *in, size_t n, void *out)
{
    return narrow_bfloat(in, n, out) ? first_over(in, BFLOAT_ENDS) : -1;
}

/* ---- rows of floats, scaled ---- */

int64_t og__widest(float *most, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        if (!isfinite(x[j]))
            return (int64_t)j;
        most[j] = fmaxf(most[j], fabsf(x[j]));
    }
    return -1;
}

void og__scales_of(float *most, size_t n)
{
    for (size_t j = 0; j < n; j++)
        most[j] = fmaxf(most[j] / OG__SCALED_MOST, FLT_MIN);
}

/* NaN is not. Nor is a number that came after the scales were made; they are rounded. */
static inline bool is_scaled(float x)
{
    return fabsf(x) <= OG__SCALED_MOST * 1.00001f;
}

/* Within the largest magnitude; NaN stays NaN. */
static inline float within(float x)
{
    x = x > OG__SCALED_MOST ? OG__SCALED_MOST : x;
    return x < -OG__SCALED_MOST ? -OG__SCALED_MOST : x;
}

/* Adding 1.5 * 2^23 rounds to a whole number, ties to even: it ends the mantissa. */
static inline uint8_t i8_bits(float x)
{
    return (uint8_t)bits_of(x + 0x1.8p23f);
}

/* As half_bits; 2^14's last bit is worth 2^-9. */
static inline uint8_t e4m3_bits(float x)
{
    const uint32_t push = 141u << 23;
    const uint32_t magnitude = bits_of(x) & 0x7fffffff;
    const uint32_t small = bits_of(float_of(magnitude) + float_of(push)) - push;
    const uint32_t normal = (magnitude + 0x7ffff + (magnitude >> 20 & 1) - (120u << 23)) >> 20;
    const uint32_t byte = magnitude < 121u << 23 ? small : normal;
    return (uint8_t)(byte | (bits_of(x) >> 24 & 0x80));
}

typedef float loose_float __attribute__((aligned(1), may_alias));

#define NARROW_SCALED(name, convert)                                                            \
    OG_CLONES static uint32_t name(const loose_float *restrict in, const float *restrict scale, \
                                   size_t n, uint8_t *restrict out)                             \
    {                                                                                           \
        uint32_t bad = 0;                                                                       \
        for (size_t j = 0; j < n; j++) {                                                        \
            const float x = in[j] / scale[j];                                                   \
            bad |= !is_scaled(x);                                                               \
            out[j] = convert(within(x));                                                        \
        }                                                                                       \
        return bad;                                                                             \
    }
NARROW_SCALED(narrow_i8, i8_bits)
NARROW_SCALED(narrow_e4m3, e4m3_bits)

static int64_t first_beyond(const loose_float *in, const float *scale)
{
    size_t j = 0;
    while (is_scaled(in[j] / scale[j]))
        j++;
    return (int64_t)j;
}

int64_t og__narrow_to_i8(const void *in, const float *scale, size_t n, void *out)
{
    return narrow_i8(in, scale, n, out) ? first_beyond(in, scale) : -1;
}

int64_t og__narrow_to_e4m3(const void *in, const float *scale, size_t n, void *out)
{
    return narrow_e4m3(in, scale, n, out) ? first_beyond(in, scale) : -1;
}

/* ---- rows to floats ---- */

OG_CLONES static void widen_halves(float *restrict y, const char *restrict row, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint16_t h;
        memcpy(&h, row + j * sizeof(h), sizeof(h));
        y[j] = og__float_of_half(h);
    }
}

OG_CLONES static void widen_bfloats(float *restrict y, const char *restrict row, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint16_t b;
        memcpy(&b, row + j * sizeof(b), sizeof(b));
        y[j] = float_of((uint32_t)b << 16);
    }
}

OG_CLONES static void widen_bytes(float *restrict y, const uint8_t *restrict row, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = row[j];
}

OG_CLONES static void widen_i8(float *restrict y, const int8_t *restrict row,
                               const float *restrict scale, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = (float)row[j] * scale[j];
}

OG_CLONES static void widen_e4m3(float *restrict y, const uint8_t *restrict row,
                                 const float *restrict scale, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = og__float_of_e4m3(row[j]) * scale[j];
}

void og__widen(float *y, const void *row, enum og_dtype dtype, const float *scale, size_t first,
               size_t n)
{
    const char *from = (const char *)row + first * og__dtype_size(dtype);
    switch (dtype) {
    case OG_F32:
        memcpy(y, from, n * sizeof(float));
        break;
    case OG_F16:
        widen_halves(y, from, n);
        break;
    case OG_BF16:
        widen_bfloats(y, from, n);
        break;
    case OG_U8:
        widen_bytes(y, (const uint8_t *)from, n);
        break;
    case OG_I8:
        widen_i8(y, (const int8_t *)from, scale + first, n);
        break;
    case OG_E4M3:
        widen_e4m3(y, (const uint8_t *)from, scale + first, n);
        break;
    default:
        break;
    }
}

void og__widen_row(float *y, const void *row, int dim, enum og_dtype dtype, const float *scale,
                   const struct og_sparse_rows *form)
{
    if (!form) {
        og__widen(y, row, dtype, scale, 0, (size_t)dim);
        return;
    }
    const struct og_entries e = og__entries_of(row, dim, dtype, form);
    og__entries_widen(y, &e, 0, (size_t)dim);
}
