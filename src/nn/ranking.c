/* How well scores tell two kinds apart. */
#include "nn/nn.h"

#include <math.h>
#include <stdlib.h>

static int descending(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a < b) - (a > b);
}

static bool any_nan(const float *x, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= isnan(x[i]);
    return any;
}

struct og_ranking og__rank_scores(float *positive, size_t n_positive, float *negative,
                                  size_t n_negative)
{
    struct og_ranking r = {NAN, NAN};
    if (n_positive == 0 || n_negative == 0 || any_nan(positive, n_positive) ||
        any_nan(negative, n_negative))
        return r;
    qsort(positive, n_positive, sizeof(*positive), descending);
    qsort(negative, n_negative, sizeof(*negative), descending);
    /* one threshold after another: each score that occurs, from the highest */
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
