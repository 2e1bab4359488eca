#include "nn/decoders.h"

#include "nn/kernels.h"
#include "nn/kinds.h"
#include "nn/vector.h"

#include <math.h>
#include <stdio.h>

#define POINTER(NAME, name) [OG_DECODER_##NAME] = &og__scoring_##name,
#define WORD(NAME, name)    [OG_DECODER_##NAME] = #name,
static const struct og_scoring *const decoders[] = {OG__DECODERS(POINTER)};
const char *const og__decoder_words[] = {OG__DECODERS(WORD) NULL};

const struct og_scoring *og__scoring(int decoder)
{
    return decoder >= 0 && decoder < (int)OG_COUNT(decoders) ? decoders[decoder] : NULL;
}

/* ==== products ==== */

OG_CLONES static float dot(const float *a, const float *b, size_t n)
{
    return og__dot_product(a, b, n);
}

static float score_dot(const float *a, const float *b, const float *w, size_t n)
{
    (void)w;
    return dot(a, b, n);
}

static void slope_dot(float *y, float g, enum og__pair_part by, const float *a, const float *b,
                      const float *w, size_t n)
{
    (void)w;
    og__add_scaled(y, g, by == OG__SOURCE_ROW ? b : a, n);
}

const struct og_scoring og__scoring_dot = {.score = score_dot, .slope = slope_dot};
const struct og_scoring og__scoring_mlp = {.perceives = true};

/* The sum of a b w, element-wise. */
OG_CLONES static float weighted_dot(const float *a, const float *b, const float *w, size_t n)
{
    struct og__lanes acc = {0};
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES) {
        acc.low += og__halves(a + j)[0] * og__halves(b + j)[0] * og__halves(w + j)[0];
        acc.high += og__halves(a + j)[1] * og__halves(b + j)[1] * og__halves(w + j)[1];
    }
    float sum = og__sum_lanes(&acc);
    for (; j < n; j++)
        sum += a[j] * b[j] * w[j];
    return sum;
}

/* y += g a b, element-wise */
OG_CLONES static void add_scaled_product(float *restrict y, float g, const float *restrict a,
                                         const float *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += g * (a[j] * b[j]);
}

static void slope_distmult(float *y, float g, enum og__pair_part by, const float *a, const float *b,
                           const float *w, size_t n)
{
    add_scaled_product(y, g, by == OG__SOURCE_ROW ? b : a, by == OG__RELATION_ROW ? b : w, n);
}

const struct og_scoring og__scoring_distmult = {
    .relates = true, .bound = og__glorot, .score = weighted_dot, .slope = slope_distmult};

/* ==== complex numbers ==== */

/* The sum of (a c + sign b d) w; sign: 1 or -1. */
OG_CLONES static float weighted_sum(const float *a, const float *c, float sign, const float *b,
                                    const float *d, const float *w, size_t n)
{
    struct og__lanes acc = {0};
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES)
        for (int k = 0; k < 2; k++)
            *(k ? &acc.high : &acc.low) += (og__halves(a + j)[k] * og__halves(c + j)[k] +
                                            sign * (og__halves(b + j)[k] * og__halves(d + j)[k])) *
                                           og__halves(w + j)[k];
    float sum = og__sum_lanes(&acc);
    for (; j < n; j++)
        sum += (a[j] * c[j] + sign * (b[j] * d[j])) * w[j];
    return sum;
}

static float score_complex(const float *a, const float *b, const float *w, size_t n)
{
    const size_t half = n / 2;
    return weighted_sum(a, b, 1, a + half, b + half, w, half) +
           weighted_sum(a, b + half, -1, a + half, b, w + half, half);
}

/* Adds g x z to y: complex numbers. They have `half` real and as many imaginary parts. The latter's
 * signs are x_sign and z_sign, 1 or -1. */
OG_CLONES static void add_complex(float *restrict y, float g, const float *restrict x, float x_sign,
                                  const float *restrict z, float z_sign, size_t half)
{
    for (size_t j = 0; j < half; j++) {
        const float x_im = x_sign * x[half + j], z_im = z_sign * z[half + j];
        y[j] += g * (x[j] * z[j] - x_im * z_im);
        y[half + j] += g * (x[j] * z_im + x_im * z[j]);
    }
}

/* Gradients of the real part of a w conj(b). By a: conj(w) b. By b: a w. By w: conj(a) b. */
static void slope_complex(float *y, float g, enum og__pair_part by, const float *a, const float *b,
                          const float *w, size_t n)
{
    const size_t half = n / 2;
    if (by == OG__OTHER_ROW)
        add_complex(y, g, w, 1, a, 1, half);
    else
        add_complex(y, g, by == OG__SOURCE_ROW ? w : a, -1, b, 1, half);
}

static double bound_complex(int relations, int width)
{
    return og__glorot(relations, width / 2);
}

static int check_complex(int width, struct og_err *err)
{
    char hint[48];
    snprintf(hint, sizeof(hint), "use --hidden %d", width + 1);
    return width % 2 == 0
               ? 0
               : og__fail(err, -EINVAL, hint,
                          "--decoder complex: %d numbers are no real and imaginary parts", width);
}

const struct og_scoring og__scoring_complex = {.relates = true,
                                               .said = true,
                                               .bound = bound_complex,
                                               .check = check_complex,
                                               .score = score_complex,
                                               .slope = slope_complex};

/* ==== translation ==== */

/* The sum of magnitudes of a s + w - b t. */
OG_CLONES static float distance(const float *a, float s, const float *b, float t, const float *w,
                                size_t n)
{
    float lane[OG__LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES)
        for (size_t k = 0; k < OG__LANES; k++)
            lane[k] += fabsf(a[j + k] * s + w[j + k] - b[j + k] * t);
    for (size_t k = 0; k < OG__LANES; k++)
        sum += lane[k];
    for (; j < n; j++)
        sum += fabsf(a[j] * s + w[j] - b[j] * t);
    return sum;
}

OG_CLONES static float magnitude(const float *x, size_t n)
{
    float lane[OG__LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + OG__LANES <= n; j += OG__LANES)
        for (size_t k = 0; k < OG__LANES; k++)
            lane[k] += fabsf(x[j + k]);
    for (size_t k = 0; k < OG__LANES; k++)
        sum += lane[k];
    for (; j < n; j++)
        sum += fabsf(x[j]);
    return sum;
}

static float to_unit(const float *x, size_t n)
{
    const float sum = magnitude(x, n);
    return 1 / (sum < OG__LEAST_MAGNITUDE ? OG__LEAST_MAGNITUDE : sum);
}

static float score_transe(const float *a, const float *b, const float *w, size_t n)
{
    return -distance(a, to_unit(a, n), b, to_unit(b, n), w, n);
}

static inline float sign_of(float x)
{
    return (float)(x > 0) - (float)(x < 0);
}

/* y += g sign(a s + w - b t) */
OG_CLONES static void add_signs(float *restrict y, float g, const float *restrict a, float s,
                                const float *restrict b, float t, const float *restrict w, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += g * sign_of(a[j] * s + w[j] - b[j] * t);
}

static void slope_transe(float *y, float g, enum og__pair_part by, const float *a, const float *b,
                         const float *w, size_t n)
{
    add_signs(y, by == OG__OTHER_ROW ? g : -g, a, to_unit(a, n), b, to_unit(b, n), w, n);
}

/* y = (y - along sign(h)) s */
OG_CLONES static void leave_direction(float *restrict y, float along, float s,
                                      const float *restrict h, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = (y[j] - along * sign_of(h[j])) * s;
}

/* Through h / |h|; a row that is 0 is divided by a constant. */
static void finish_transe(float *y, const float *h, size_t n)
{
    const float s = to_unit(h, n);
    const bool constant = s >= 1 / OG__LEAST_MAGNITUDE;
    leave_direction(y, constant ? 0 : dot(y, h, n) * s, s, h, n);
}

/* Vectors of such magnitudes sum to 1, on average. */
static double bound_transe(int relations, int width)
{
    (void)relations;
    return 2.0 / width;
}

const struct og_scoring og__scoring_transe = {.relates = true,
                                              .said = true,
                                              .loss = OG_LOSS_MARGIN,
                                              .bound = bound_transe,
                                              .score = score_transe,
                                              .slope = slope_transe,
                                              .finish = finish_transe};
