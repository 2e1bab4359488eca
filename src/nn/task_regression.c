/* Values of nodes: any numbers, or shares of classes. */
#include "nn/tasks.h"

static double mse(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return sum->squared / (double)sum->values;
}

static double mae(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return sum->absolute / (double)sum->values;
}

static double r2(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return og__metrics_r2(sum);
}

#define FIGURES                                                           \
    {OG_BEST_MSE, mse, OG__FROM_SUMS}, {OG_BEST_MAE, mae, OG__FROM_SUMS}, \
        {OG_BEST_R2, r2, OG__FROM_SUMS},                                  \
    {                                                                     \
        OG_BEST_AUTO, NULL, OG__FROM_SUMS                                 \
    }

/* ==== shares of classes ==== */

static int share_rows(const struct og_nn_ops *ops, struct og_nn_backend *be,
                      const struct og_loss *op, struct og_err *err)
{
    return ops->share_loss(be, op, err);
}

static double ndcg(const struct og_metrics *sum, const struct og_pass_metrics *pass)
{
    (void)pass;
    return sum->counted ? sum->ndcg / (double)sum->counted : 0;
}

static const struct og_figure of_shares[] = {{OG_BEST_NDCG_10, ndcg, OG__FROM_SUMS}, FIGURES};

static const struct og_task shares = {
    .targets = OG__OF_VALUES,
    .of_values = OG_TASK_REGRESSION,
    .loss = OG_LOSS_CROSS_ENTROPY,
    .rows = share_rows,
    .chief = ndcg,
    .best = OG_BEST_NDCG_10,
    .figures = of_shares,
};

/* ==== any numbers ==== */

static int rows(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_loss *op,
                struct og_err *err)
{
    return ops->value_loss(be, op, err);
}

static const struct og_figure figures[] = {FIGURES};

const struct og_task og__task_regression = {
    .targets = OG__OF_VALUES,
    .of_shares = &shares,
    .of_values = OG_TASK_REGRESSION,
    .loss = OG_LOSS_MSE,
    .rows = rows,
    .chief = r2,
    .best = OG_BEST_R2,
    .figures = figures,
};
