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
    return pass && pass->ranked ? pass->given.mrr : sum->reciprocal_ranks / (double)sum->ranked;
}

static double hits(const struct og_metrics *sum, const struct og_pass_metrics *pass, int i)
{
    return pass && pass->ranked ? pass->given.hits[i] : (double)sum->hits[i] / (double)sum->ranked;
}

/* Index and value of each K of og__hits_at. */
#define HITS(row) row(0, 1) row(1, 3) row(2, 10) row(3, 20) row(4, 50) row(5, 100)
#define OF_HITS(i, k)                                                                        \
    static double hits_##k(const struct og_metrics *sum, const struct og_pass_metrics *pass) \
    {                                                                                        \
        return hits(sum, pass, i);                                                           \
    }
#define HITS_FIGURE(i, k) {OG_BEST_HITS_##k, hits_##k, OG__FROM_SUMS},
HITS(OF_HITS)

static const struct og_figure figures[] = {{OG_BEST_AUC, og__auc, OG__FROM_SCORES},
                                           {OG_BEST_AP, og__ap, OG__FROM_SCORES},
                                           {OG_BEST_MRR, mrr, OG__FROM_SUMS},
                                           HITS(HITS_FIGURE){OG_BEST_AUTO, NULL, OG__FROM_SUMS}};

/* Two scores per edge, its own and a negative's; then the given negatives' of all edges. */
static uint32_t lists(const struct og_model_config *c)
{
    return c->n_given ? 2 : 1;
}

static void score(const struct og_model_config *c, const void *targets, size_t i, const float *made,
                  float *out, int8_t *high)
{
    const struct og_pairs *pairs = targets;
    const bool given = i >= pairs->n_edges + pairs->n_negatives;
    out[0] = *made;
    high[0] = (int8_t)(given ? -1 : i < pairs->n_edges);
    if (!c->n_given)
        return;
    out[1] = *made;
    high[1] = (int8_t)(given ? 0 : -1);
}

static const char *const parameters[] = {"decoder",  "edge-split",     "relation", "negatives",
                                         "negative", "eval-negatives", NULL};

const struct og_task og__task_link = {
    .pairs = true,
    .embeds = true,
    .targets = OG__OF_PAIRS,
    .of_values = OG_TASK_LINK,
    .loss = OG_LOSS_BCE,
    .parameters = parameters,
    .chief = chief,
    .best = OG_BEST_AUC,
    .figures = figures,
    .lists = lists,
    .score = score,
};
