/* Link prediction. Scores, losses and gradients of pairs are in links.c. */
#include "nn/tasks.h"

#include <math.h>

/* Pairs of an edge and its negative: the share in which the edge wins. */
static double ordered(const struct og_metrics *sum)
{
    return sum->compared ? (double)sum->twice_ordered / (2 * (double)sum->compared) : 0;
}

static double chief(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    if (!pass)
        return ordered(sum);
    return isnan(pass->auc) ? 0 : pass->auc;
}

static double mrr(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return sum->reciprocal_ranks / (double)sum->ranked;
}

static double hits(const struct og_metrics *sum, int i)
{
    return (double)sum->hits[i] / (double)sum->ranked;
}

/* Index and value of each K of og__hits_at. */
#define HITS(row) row(0, 1) row(1, 3) row(2, 10) row(3, 20) row(4, 50) row(5, 100)
#define OF_HITS(i, k)                                                                        \
    static double hits_##k(const struct og_metrics *sum, const struct og_pass_metrics *pass) \
    {                                                                                        \
        (void)pass;                                                                          \
        return hits(sum, i);                                                                 \
    }
#define HITS_FIGURE(i, k) {OG_BEST_HITS_##k, hits_##k, OG__FROM_SUMS},
HITS(OF_HITS)

static const struct og_figure figures[] = {{OG_BEST_AUC, og__auc, OG__FROM_SCORES},
                                           {OG_BEST_AP, og__ap, OG__FROM_SCORES},
                                           {OG_BEST_MRR, mrr, OG__FROM_SUMS},
                                           HITS(HITS_FIGURE){OG_BEST_AUTO, NULL, OG__FROM_SUMS}};

/* Two scores per edge: the edge's and a negative's. */
static uint32_t one_list(const struct og_model_config *c)
{
    (void)c;
    return 1;
}

static void score(const struct og_model_config *c, const void *targets, size_t i, const float *made,
                  float *out, int8_t *high)
{
    (void)c;
    *out = *made;
    *high = i < ((const struct og_pairs *)targets)->n_edges;
}

static const char *const parameters[] = {"decoder",  "edge-split",     "relation", "negatives",
                                         "negative", "eval-negatives", NULL};

const struct og_task og__task_link = {
    .targets = OG__OF_PAIRS,
    .embeds = true,
    .of_values = OG_TASK_LINK,
    .loss = OG_LOSS_BCE,
    .parameters = parameters,
    .chief = chief,
    .best = OG_BEST_AUC,
    .figures = figures,
    .lists = one_list,
    .score = score,
};
