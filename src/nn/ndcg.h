/* NDCG@10 of one row, on the host and on devices. It is the gain of the ten classes with the
 * largest scores, over that of the ten largest shares. Place i, from 0, discounts a share by 1 /
 * log2(i + 2). Equal scores share their discounts. This is scikit-learn's ndcg_score(k=10). */
#ifndef OG_NN_NDCG_H
#define OG_NN_NDCG_H

#include "device/kernel.h"

enum { OG__NDCG_PLACES = 10 };

/* The largest numbers of a row, descending, and the share of each. */
struct og_largest {
    float x[OG__NDCG_PLACES], share[OG__NDCG_PLACES];
    int n;
};

OG_ON_DEVICE void og_largest_add(struct og_largest *l, float x, float share)
{
    int at = l->n < OG__NDCG_PLACES ? l->n++ : OG__NDCG_PLACES - 1;
    for (; at > 0 && l->x[at - 1] < x; at--) {
        l->x[at] = l->x[at - 1];
        l->share[at] = l->share[at - 1];
    }
    l->x[at] = x;
    l->share[at] = share;
}

OG_ON_DEVICE void og_largest_of(struct og_largest *l, const float *x, const float *share,
                                uint32_t n)
{
    l->n = 0;
    for (uint32_t j = 0; j < n; j++)
        if (l->n < OG__NDCG_PLACES || x[j] > l->x[OG__NDCG_PLACES - 1])
            og_largest_add(l, x[j], share[j]);
}

/* Sum of the first n discounts. */
OG_ON_DEVICE double og_discounts(int n)
{
    const double sum[OG__NDCG_PLACES + 1] = {0,
                                             1,
                                             1.6309297535714575,
                                             2.1309297535714578,
                                             2.5616063116448506,
                                             2.9484591188793923,
                                             3.3046663059874146,
                                             3.637999639320748,
                                             3.953464516106477,
                                             4.254494511770458,
                                             4.543559338088346};
    return sum[n];
}

/* The mean share of classes with score x. */
OG_ON_DEVICE double og_mean_share(const float *score, const float *share, uint32_t n, float x)
{
    double sum = 0, count = 0;
    for (uint32_t j = 0; j < n; j++)
        if (score[j] == x) {
            sum += (double)share[j];
            count++;
        }
    return sum / count;
}

/* NDCG@10 of n classes; 0 if all shares are 0. */
OG_ON_DEVICE double og_ndcg(const float *score, const float *share, uint32_t n)
{
    struct og_largest l;
    double ideal = 0, gain = 0;
    og_largest_of(&l, share, share, n);
    for (int i = 0; i < l.n; i++)
        ideal += (double)l.share[i] * (og_discounts(i + 1) - og_discounts(i));
    og_largest_of(&l, score, share, n);
    for (int i = 0, end; i < l.n; i = end) {
        double mean = (double)l.share[i];
        for (end = i + 1; end < l.n && l.x[end] == l.x[i];)
            end++;
        if (end > i + 1 || end == l.n) /* more classes than have a place may be alike */
            mean = og_mean_share(score, share, n, l.x[i]);
        gain += mean * (og_discounts(end) - og_discounts(i));
    }
    return ideal > 0 ? gain / ideal : 0;
}

#endif
