/* Numbers of any stored type, one at a time, and rows in the dtypes features are stored in. */
#ifndef OG_DATASET_CONVERT_H
#define OG_DATASET_CONVERT_H

#include "dataset/dataset.h"

uint16_t og__half_of(float x);   /* IEEE half, round to nearest, ties to even */
uint16_t og__bfloat_of(float x); /* the same for bfloat16 */
float og__float_of_half(uint16_t h);

/* Element i of an array of `type`. Integers above 2^53 lose bits. */
double og__number_at(enum og__npy_type type, const void *data, size_t i);
/* Element i of an array of an integer type; unsigned ones above the range come out negative. */
int64_t og__integer_at(enum og__npy_type type, const void *data, size_t i);

/* n numbers into a row of `dtype`; u8 takes whole numbers from 0 to 255. Returns the position of
 * the first that does not fit (a NaN fits nowhere), or -1. */
int64_t og__store_row(enum og_dtype dtype, void *row, const float *x, size_t n);

/* The other way: numbers [first, first + n) of a row of `dtype`, at any byte, to floats. */
void og__widen_row(enum og_dtype dtype, const void *row, size_t first, size_t n, float *out);

/* n floats at `in` to halves or bfloat16s at `out`, either at any byte, rounded to nearest, ties to
 * even. NaN stays NaN, infinity infinity. Returns the position of the first finite number that is
 * beyond what they hold, or -1. */
int64_t og__narrow_to_half(const void *in, size_t n, void *out);
int64_t og__narrow_to_bfloat(const void *in, size_t n, void *out);

#endif
