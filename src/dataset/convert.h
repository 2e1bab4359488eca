/* Converts single elements of any stored type, and rows to and from feature dtypes. */
#ifndef OG_DATASET_CONVERT_H
#define OG_DATASET_CONVERT_H

#include "dataset/graph.h"

#include <math.h>
#include <string.h>

uint16_t og__half_of(float x);   /* IEEE half, round to nearest, ties to even */
uint16_t og__bfloat_of(float x); /* the same for bfloat16 */

/* Shifted into place, a half is a float that is 2^112 too small, subnormals included. The
 * multiplication is exact. All-ones exponents (inf, NaN) are completed. Integer operations only, so
 * that it vectorises on every x86-64. */
static inline __attribute__((always_inline)) float og__float_of_half(uint16_t h)
{
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
    float scaled;
    memcpy(&scaled, &bits, sizeof(scaled));
    scaled *= 0x1p112f;
    memcpy(&bits, &scaled, sizeof(bits));
    bits |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    bits |= (uint32_t)(h & 0x8000) << 16;
    memcpy(&scaled, &bits, sizeof(scaled));
    return scaled;
}

/* A byte of type e4m3: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity. As above,
 * 2^120 too small. */
static inline __attribute__((always_inline)) float og__float_of_e4m3(uint8_t b)
{
    uint32_t bits = (uint32_t)(b & 0x7f) << 20;
    float scaled;
    memcpy(&scaled, &bits, sizeof(scaled));
    scaled *= 0x1p120f;
    memcpy(&bits, &scaled, sizeof(bits));
    bits |= (b & 0x7f) == 0x7f ? 0x7fc00000u : 0;
    bits |= (uint32_t)(b & 0x80) << 24;
    memcpy(&scaled, &bits, sizeof(scaled));
    return scaled;
}

/* Element i of an array of `type`. Integers above 2^53 lose bits. */
double og__number_at(enum og__npy_type type, const void *data, size_t i);
/* Element i of an array of an integer type; unsigned values beyond int64 come out negative. */
int64_t og__integer_at(enum og__npy_type type, const void *data, size_t i);

/* Element i of an array of an integer type minus x, exact except for the last rounding. */
double og__integer_less(enum og__npy_type type, const void *data, size_t i, float x);

/* Has a number x of a text become another one? Decimal fractions are rounded in every type, so
 * these are whole numbers, and what became 0. */
static inline bool og__text_changes(double x, double stored)
{
    return x != stored && (x == floor(x) || stored == 0);
}

/* Stores n numbers as a row of `dtype`; u8 takes whole numbers from 0 to 255. `scale`, of types
 * with scales: [n], else ignored. Returns the position of the first that does not fit (a NaN never
 * fits), or -1. */
int64_t og__store_row(enum og_dtype dtype, void *row, const float *x, const float *scale, size_t n);

/* The reverse: y[0 .. n) = elements [first, first + n) of a row, at any alignment. `scale`, of
 * types with scales: that of element 0 first. */
void og__widen(float *y, const void *row, enum og_dtype dtype, const float *scale, size_t first,
               size_t n);

/* y[0 .. dim) = all of a row, sparse if it has a form (sparse_rows.h). */
void og__widen_row(float *y, const void *row, int dim, enum og_dtype dtype, const float *scale,
                   const struct og_sparse_rows *form);

/* ---- types with scales ----
 *
 * The scale of a column is its largest magnitude / 127. It is at least the smallest normal float,
 * so that a column of zeros has one too. An element is stored as x / scale, rounded to the nearest
 * value, ties to even. All in float. */
enum { OG__SCALED_MOST = 127 };
/* most[j] = max(most[j], |x[j]|). Returns the position of the first NaN or infinity, or -1. */
int64_t og__widest(float *most, const float *x, size_t n);
void og__scales_of(float *most, size_t n); /* largest magnitudes, which become scales */
/* Rounds n floats at `in`, at any alignment, with a scale each. Returns the position of the first
 * NaN or number beyond 127 scales, or -1. */
int64_t og__narrow_to_i8(const void *in, const float *scale, size_t n, void *out);
int64_t og__narrow_to_e4m3(const void *in, const float *scale, size_t n, void *out);

/* Converts n floats at `in` to halves or bfloat16s at `out`, both at any alignment. Rounds to
 * nearest, ties to even; keeps NaN and infinity. Returns the position of the first finite number
 * out of range, or -1. */
int64_t og__narrow_to_half(const void *in, size_t n, void *out);
int64_t og__narrow_to_bfloat(const void *in, size_t n, void *out);

#endif
