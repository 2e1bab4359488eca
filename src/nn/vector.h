/* Sums and exponentials whose additions have one order for every vector width. Sixteen lanes, which
 * the compiler maps to the available registers. To be inlined into cloned kernels.
 *
 * Lanes are two halves of 32 bytes. For one vector of 64 bytes, gcc 12 keeps a sum in memory if
 * registers are narrower: it stores it in pieces and stalls at the next addition. */
#ifndef OG_NN_VECTOR_H
#define OG_NN_VECTOR_H

#include "base/base.h"

#include <string.h>

#define OG_INLINE static inline __attribute__((always_inline))

enum { OG__LANES = 16 };
typedef float og__half_lanes __attribute__((vector_size(32), aligned(4), may_alias));

struct og__lanes {
    og__half_lanes low, high;
};

/* The two halves of the lanes at x. */
OG_INLINE const og__half_lanes *og__halves(const float *x)
{
    return (const og__half_lanes *)x;
}

/* sum += x */
OG_INLINE void og__add_lanes(struct og__lanes *sum, const float *x)
{
    sum->low += og__halves(x)[0];
    sum->high += og__halves(x)[1];
}

/* sum += x y, lane by lane */
OG_INLINE void og__add_products(struct og__lanes *sum, const float *x, const float *y)
{
    sum->low += og__halves(x)[0] * og__halves(y)[0];
    sum->high += og__halves(x)[1] * og__halves(y)[1];
}

/* Adds halves until one lane is left. */
OG_INLINE float og__sum_lanes(const struct og__lanes *x)
{
    og__half_lanes a = x->low + x->high;
    a += __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
    a += __builtin_shufflevector(a, a, 2, 3, 0, 1, 0, 0, 0, 0);
    return a[0] + a[1];
}

OG_INLINE float og__dot_product(const float *a, const float *b, size_t n)
{
    struct og__lanes acc = {0};
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES)
        og__add_products(&acc, a + j, b + j);
    float sum = og__sum_lanes(&acc);
    for (; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* out[i] = x[i step ..] . y[i n ..] for four i; four interleaved sums hide each other's latency. */
OG_INLINE void og__four_dots(const float *x, size_t step, const float *y, size_t n, float *out)
{
    struct og__lanes a = {0}, b = {0}, c = {0}, d = {0};
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES) {
        og__add_products(&a, x + j, y + j);
        og__add_products(&b, x + step + j, y + n + j);
        og__add_products(&c, x + 2 * step + j, y + 2 * n + j);
        og__add_products(&d, x + 3 * step + j, y + 3 * n + j);
    }
    out[0] = og__sum_lanes(&a);
    out[1] = og__sum_lanes(&b);
    out[2] = og__sum_lanes(&c);
    out[3] = og__sum_lanes(&d);
    for (; j < n; j++)
        for (size_t i = 0; i < 4; i++)
            out[i] += x[i * step + j] * y[i * n + j];
}

OG_INLINE float og__sum_of(const float *a, size_t n)
{
    struct og__lanes acc = {0};
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES)
        og__add_lanes(&acc, a + j);
    float sum = og__sum_lanes(&acc);
    for (; j < n; j++)
        sum += a[j];
    return sum;
}

/* e^x within 2e-7 relative, 0 below -87, in steps that vectorise on every x86-64. With x = k ln 2 +
 * r and |r| <= ln 2 / 2, it is the minimax polynomial of degree 6 for e^r, with k added to the
 * exponent. The constant ln 2 is subtracted in two parts, of which the first times k is exact. */
OG_INLINE float og__exp(float x)
{
    const float round = 0x1.8p23f; /* adding it rounds to a whole number, in the low bits */
    float clamped = x < -87 ? -87 : x > 88 ? 88 : x;
    float shifted = clamped * 1.44269504f + round;
    float k = shifted - round;
    float r = clamped - k * 0x1.62ep-1f;
    r -= k * 0x1.0bfbe8p-15f;
    float p = 0x1.6ac29p-10f;
    p = p * r + 0x1.126e4ap-7f;
    p = p * r + 0x1.555890p-5f;
    p = p * r + 0x1.555408p-3f;
    p = p * r + 0x1.fffffap-2f;
    p = p * r + 1;
    p = p * r + 1;
    int32_t exponent;
    uint32_t bits;
    memcpy(&exponent, &shifted, sizeof(exponent));
    bits = ((uint32_t)exponent + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    return x < -87 ? 0 : p * scale;
}

#endif
