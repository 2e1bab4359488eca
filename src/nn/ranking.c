/* Metrics of how well scores separate two classes. */
#include "nn/nn.h"

#include <math.h>
#include <string.h>

/* A key that rises as the number falls, equal for both zeros. */
static uint32_t key_of(float x)
{
    uint32_t bits;
    x = x == 0 ? 0 : x;
    memcpy(&bits, &x, sizeof(bits));
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, FEW = 32 };

static uint32_t digit_of(float x, int shift)
{
    return key_of(x) >> shift & (DIGITS - 1);
}

/* Sorts a few numbers in descending order. */
static void sort_few(float *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const float item = x[i];
        size_t k = i;
        for (; k > 0 && x[k - 1] < item; k--)
            x[k] = x[k - 1];
        x[k] = item;
    }
}

/* Sorts in descending order by the digits of the keys from the one at bit `shift` down. It works in
 * place (American flag sort): the C library's qsort takes the same memory again, outside the
 * budget. */
static void sort_from(float *x, size_t n, int shift)
{
    size_t end[DIGITS] = {0}, next[DIGITS];
    if (n <= FEW) {
        sort_few(x, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        end[digit_of(x[i], shift)]++;
    for (size_t d = 0, first = 0; d < DIGITS; d++) {
        next[d] = first;
        first = end[d] += first;
    }
    for (uint32_t d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            const float item = x[next[d]];
            const uint32_t to = digit_of(item, shift);
            x[next[d]] = x[next[to]];
            x[next[to]++] = item;
        }
    }
    if (shift == 0)
        return;
    for (size_t d = 0, first = 0; d < DIGITS; first = end[d++])
        sort_from(x + first, end[d] - first, shift - DIGIT_BITS);
}

static void sort_descending(float *x, size_t n)
{
    sort_from(x, n, 32 - DIGIT_BITS);
}

static bool any_nan(const float *x, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= isnan(x[i]);
    return any;
}

static size_t count_above(const float *x, size_t n)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += x[i] > 0;
    return above;
}

static double f1_above(const float *positive, size_t n_positive, const float *negative,
                       size_t n_negative)
{
    const size_t right = count_above(positive, n_positive);
    const size_t all = right + count_above(negative, n_negative) + n_positive;
    return all > 0 ? 2 * (double)right / (double)all : 0;
}

struct og_ranking og__rank_scores(float *positive, size_t n_positive, float *negative,
                                  size_t n_negative)
{
    struct og_ranking r = {NAN, NAN, NAN};
    if (any_nan(positive, n_positive) || any_nan(negative, n_negative))
        return r;
    r.f1 = f1_above(positive, n_positive, negative, n_negative);
    if (n_positive == 0 || n_negative == 0)
        return r;
    sort_descending(positive, n_positive);
    sort_descending(negative, n_negative);
    /* each distinct score as threshold, from the highest */
    double above = 0, precision = 0;
    size_t p = 0, n = 0;
    while (p < n_positive) {
        float at = n < n_negative ? fmaxf(positive[p], negative[n]) : positive[p];
        size_t p0 = p, n0 = n;
        while (p < n_positive && positive[p] == at)
            p++;
        while (n < n_negative && negative[n] == at)
            n++;
        above += (double)(p - p0) * ((double)(n_negative - n) + 0.5 * (double)(n - n0));
        precision += (double)(p - p0) * (double)p / (double)(p + n);
    }
    r.auc = above / ((double)n_positive * (double)n_negative);
    r.ap = precision / (double)n_positive;
    return r;
}

struct og_ranks_among og__rank_among(float *positive, size_t n_positive, float *negative,
                                     size_t n_negative)
{
    struct og_ranks_among r = {0};
    size_t above = 0, reached = 0; /* negatives above the positive; and equal ones too */
    if (n_positive == 0 || any_nan(positive, n_positive) || any_nan(negative, n_negative)) {
        r.mrr = NAN;
        for (int k = 0; k < OG__HITS; k++)
            r.hits[k] = NAN;
        return r;
    }
    sort_descending(positive, n_positive);
    sort_descending(negative, n_negative);
    for (size_t p = 0; p < n_positive; p++) {
        while (above < n_negative && negative[above] > positive[p])
            above++;
        while (reached < n_negative && negative[reached] >= positive[p])
            reached++;
        r.mrr += 1 / (1 + 0.5 * (double)(above + reached));
        for (int k = 0; k < OG__HITS; k++)
            r.hits[k] += reached < (size_t)og__hits_at[k];
    }
    r.mrr /= (double)n_positive;
    for (int k = 0; k < OG__HITS; k++)
        r.hits[k] /= (double)n_positive;
    return r;
}
