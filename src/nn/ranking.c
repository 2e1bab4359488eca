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

static size_t count_above(const float *x, size_t n, float limit)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += x[i] > limit;
    return above;
}

static double f1_above(const float *positive, size_t n_positive, const float *negative,
                       size_t n_negative)
{
    const size_t right = count_above(positive, n_positive, 0);
    const size_t all = right + count_above(negative, n_negative, 0) + n_positive;
    return all > 0 ? 2 * (double)right / (double)all : 0;
}

/* ==== counts of negatives ====
 *
 * Negatives are not sorted: they are only counted between positives. A part has few positives, and
 * the negatives that belong between them. */

enum { FEW_POSITIVES = 1024 };

/* A distinct score: n positives from the p-th on, in descending order. So many negatives have a
 * higher score, and so many a score that is not lower. */
typedef void level_fn(void *sum, size_t p, size_t n, size_t above, size_t reached);

struct levels {
    const float *positive; /* sorted */
    level_fn *see;         /* called from the highest score down */
    void *sum;
};

/* Those of n numbers in descending order that are greater than x. */
static size_t count_greater(const float *p, size_t n, float x)
{
    size_t greater = 0;
    for (; n > 1; n -= n / 2)
        greater += p[greater + n / 2 - 1] > x ? n / 2 : 0;
    return greater + (n == 1 && p[greater] > x);
}

static size_t end_of_level(const float *p, size_t n, size_t first)
{
    size_t end = first + 1;
    while (end < n && p[end] == p[first])
        end++;
    return end;
}

/* Few positives from `first` on: `higher` negatives are of earlier parts. */
static void count_between(const struct levels *l, size_t first, size_t n, const float *negative,
                          size_t n_negative, size_t higher)
{
    size_t from[FEW_POSITIVES + 1], equal[FEW_POSITIVES + 1]; /* not below positive i, but i - 1 */
    const float *p = l->positive + first;
    memset(from, 0, (n + 1) * sizeof(*from));
    memset(equal, 0, (n + 1) * sizeof(*equal));
    for (size_t i = 0; i < n_negative; i++) {
        const size_t k = count_greater(p, n, negative[i]);
        from[k]++;
        equal[k] += k < n && p[k] == negative[i];
    }
    for (size_t k = 0, end; k < n; k = end) {
        end = end_of_level(p, n, k);
        higher += from[k];
        l->see(l->sum, first + k, end - k, higher - equal[k], higher);
    }
}

/* Moves the numbers that are at least x to the front; returns how many. */
static size_t move_to_front(float *number, size_t n, float x)
{
    size_t front = 0;
    for (size_t i = 0; i < n; i++) {
        const float item = number[i];
        number[i] = number[front];
        number[front] = item;
        front += item >= x;
    }
    return front;
}

static void see_levels(const struct levels *l, size_t first, size_t n, float *negative,
                       size_t n_negative, size_t higher)
{
    const float *p = l->positive + first;
    if (n <= FEW_POSITIVES) {
        count_between(l, first, n, negative, n_negative, higher);
        return;
    }
    size_t middle = count_greater(p, n, p[n / 2]);
    middle = middle > 0 ? middle : end_of_level(p, n, 0);
    const size_t front = move_to_front(negative, n_negative, p[middle - 1]);
    if (p[0] > p[middle - 1]) {
        see_levels(l, first, middle, negative, front, higher);
    } else {
        const size_t above = count_above(negative, front, p[0]);
        l->see(l->sum, first, middle, higher + above, higher + front);
    }
    if (middle < n)
        see_levels(l, first + middle, n - middle, negative + front, n_negative - front,
                   higher + front);
}

/* ==== metrics ==== */

struct ranking_sum {
    size_t n_negative;
    double above, precision;
};

/* The level is a threshold. */
static void add_threshold(void *sum, size_t p, size_t n, size_t above, size_t reached)
{
    struct ranking_sum *s = sum;
    const size_t found = p + n;
    s->above += (double)n * ((double)(s->n_negative - reached) + 0.5 * (double)(reached - above));
    s->precision += (double)n * (double)found / (double)(found + reached);
}

struct og_ranking og__rank_scores(float *positive, size_t n_positive, float *negative,
                                  size_t n_negative)
{
    struct og_ranking r = {NAN, NAN, NAN};
    struct ranking_sum sum = {.n_negative = n_negative};
    if (any_nan(positive, n_positive) || any_nan(negative, n_negative))
        return r;
    r.f1 = f1_above(positive, n_positive, negative, n_negative);
    if (n_positive == 0 || n_negative == 0)
        return r;
    sort_descending(positive, n_positive);
    see_levels(&(struct levels){positive, add_threshold, &sum}, 0, n_positive, negative, n_negative,
               0);
    r.auc = sum.above / ((double)n_positive * (double)n_negative);
    r.ap = sum.precision / (double)n_positive;
    return r;
}

static void add_ranks(void *sum, size_t p, size_t n, size_t above, size_t reached)
{
    struct og_ranks_among *r = sum;
    (void)p;
    for (size_t i = 0; i < n; i++) {
        r->mrr += 1 / (1 + 0.5 * (double)(above + reached));
        for (int k = 0; k < OG__HITS; k++)
            r->hits[k] += reached < (size_t)og__hits_at[k];
    }
}

struct og_ranks_among og__rank_among(float *positive, size_t n_positive, float *negative,
                                     size_t n_negative)
{
    struct og_ranks_among r = {0};
    if (n_positive == 0 || any_nan(positive, n_positive) || any_nan(negative, n_negative)) {
        r.mrr = NAN;
        for (int k = 0; k < OG__HITS; k++)
            r.hits[k] = NAN;
        return r;
    }
    sort_descending(positive, n_positive);
    see_levels(&(struct levels){positive, add_ranks, &r}, 0, n_positive, negative, n_negative, 0);
    r.mrr /= (double)n_positive;
    for (int k = 0; k < OG__HITS; k++)
        r.hits[k] /= (double)n_positive;
    return r;
}
