/* Values of nodes. */
#include "nn/tasks.h"

static int rows(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_loss *op,
                struct og_err *err)
{
    return ops->value_loss(be, op, err);
}

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

static const struct og_figure figures[] = {{OG_BEST_MSE, mse, OG__FROM_SUMS},
                                           {OG_BEST_MAE, mae, OG__FROM_SUMS},
                                           {OG_BEST_R2, r2, OG__FROM_SUMS},
                                           {OG_BEST_AUTO, NULL, OG__FROM_SUMS}};

const struct og_task og__task_regression = {
    .targets = OG__OF_VALUES,
    .of_values = OG_TASK_REGRESSION,
    .loss = OG_LOSS_MSE,
    .rows = rows,
    .chief = r2,
    .best = OG_BEST_R2,
    .figures = figures,
};
