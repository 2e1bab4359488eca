/* Vector kernels on single rows and flat arrays. They are plain loops, compiled for several
 * generations of x86-64. Additions of an element have one order, for any vector width. */
#ifndef OG_NN_KERNELS_H
#define OG_NN_KERNELS_H

#include "dataset/convert.h"
#include "nn/ops.h"

/* y[n, width] = columns [first, first + width) of rows [r0, r0 + n) of x. */
void og__gather(float *y, const struct og_rows *x, uint32_t r0, uint32_t n, size_t first,
                size_t width);

/* The same as bfloat16, rounded to nearest, ties to even; `row` has room for `width` floats. */
void og__gather_bf16(uint16_t *y, const struct og_rows *x, uint32_t r0, uint32_t n, size_t first,
                     size_t width, float *row);

/* Prefetch a row that is needed soon; and the number of rows to prefetch ahead. */
void og__fetch_row(const struct og_rows *x, uint32_t i);
uint32_t og__prefetch_distance(const struct og_rows *x);

/* y[dim] = row r of s * x. */
void og__aggregate_row(const struct og_sparse *s, const struct og_rows *x, uint32_t r, float *y);

/* y += sum over i < n of by[i] row[i], in one pass over y. */
enum { OG__BUNCH = 4 };
void og__add_bunch(float *y, const float *const *row, const float *by, int n, size_t dim);

void og__add(float *restrict y, const float *restrict x, size_t n);
void og__add_scaled(float *restrict y, float a, const float *restrict x, size_t n); /* y += a x */
/* y += a * x, element-wise */
void og__add_product(float *restrict y, const float *restrict a, const float *restrict x, size_t n);
/* Transpose n rows of x, which are ld apart, into rows of `height` numbers. What is left of these
 * is zeros. Adds the rows to sum[cols] in their order, unless it is NULL. */
void og__turn(const float *x, size_t ld, size_t n, size_t cols, size_t height, float *out,
              float *sum);
/* y = relu(y + bias), NaN where y is; bias may be NULL. */
void og__bias_relu(float *restrict y, const float *restrict bias, bool relu, size_t n);
/* y = y > 0 ? scale * g : 0 */
void og__gate(float *restrict y, const float *restrict g, float scale, size_t n);

/* Dropout of one row in place. The mask is a pure function of (step, layer, row). An element is
 * decided by one bit for p = 1/2, else by 16 bits, in order from the row's Philox words. */
void og__dropout_row(const struct og_dropout *d, uint32_t row, float *y, size_t n);
/* The same of n entries of a row, whose columns ascend. */
void og__dropout_entries(const struct og_dropout *d, uint32_t row, const uint32_t *column,
                         float *value, uint32_t n);
/* Dropout of attention coefficients of destination v; p: [its edges and loop, heads]. The second:
 * of n coefficients of each head, of which `first` is the number of the first. */
void og__dropout_attention(const struct og_attend *op, uint32_t v, float *p);
void og__dropout_coefficients(const struct og_dropout *d, uint32_t first, uint32_t n, size_t heads,
                              float *p);
/* Softmax over n scores of each head, in place. Scores of -inf become zeros. */
void og__softmax(float *p, size_t n, size_t heads);

void og__adam(const struct og_update *op, size_t first, size_t n);
void og__sgd(const struct og_update *op, size_t first, size_t n);

#endif
