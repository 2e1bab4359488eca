/* Losses of classes and of labels on the CPU. Sums of blocks of 64 rows are added in order. */
#include "nn/loss_terms.h"
#include "nn/ops_cpu.h"
#include "nn/tasks.h"

#include <math.h>
#include <string.h>

struct loss_run {
    const struct og_loss *op;
    double weight; /* of all terms */
};

/* What smoothing adds for row r: e / cols times the sum over classes of w l. There l is log_sum -
 * x. It also adds to the gradient, whose part by p is there already. */
static double smooth(const struct og_loss *op, const float *x, double log_sum, float by,
                     float *grad)
{
    double sum = 0;
    for (size_t c = 0; c < (size_t)op->cols; c++) {
        const float w = og_weight_of(op->class_weight, c);
        sum += (double)w * (log_sum - (double)x[c]);
        if (grad)
            grad[c] -= by * w;
    }
    return sum;
}

static float sum_classes(const struct og_loss *op)
{
    float sum = 0;
    for (size_t c = 0; c < (size_t)op->cols; c++)
        sum += og_weight_of(op->class_weight, c);
    return sum;
}

static void softmax_row(const struct loss_run *run, uint32_t r, struct og_metrics *m)
{
    const struct og_loss *op = run->op;
    size_t cols = (size_t)op->cols, label = (size_t)((const int32_t *)op->labels)[r], best = 0;
    const float *x = op->logits + r * cols;
    for (size_t j = 1; j < cols; j++)
        best = x[j] > x[best] ? j : best;
    float sum = 0, share = run->weight > 0 ? 1.0f / (float)run->weight : 0, slope;
    float *grad = op->grad ? op->grad + r * cols : NULL;
    for (size_t j = 0; j < cols; j++) {
        float e = expf(x[j] - x[best]);
        sum += e;
        if (grad)
            grad[j] = e;
    }
    const double log_sum = (double)logf(sum) + (double)x[best];
    const double loss = log_sum - (double)x[label];
    const float weight = og_term_weight(op, r), rest = 1 - op->smoothing;
    const float spread = og_weight_of(op->row_weight, r) * op->smoothing / (float)op->cols;
    m->counted++;
    m->correct += best == label && !isnan(loss); /* a row with NaN has no maximum */
    m->weight += (double)weight;
    m->loss_sum += (double)rest * (double)weight * og_class_loss(op, loss, &slope);
    const float pull = share * rest * weight * slope;
    const float all = spread > 0 ? pull + share * spread * sum_classes(op) : pull;
    for (size_t j = 0; grad && j < cols; j++)
        grad[j] *= all / sum;
    if (grad)
        grad[label] -= pull;
    if (spread > 0)
        m->loss_sum += (double)spread * smooth(op, x, log_sum, share * spread, grad);
}

static void softmax_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct loss_run *run = arg;
    const struct og_loss *op = run->op;
    struct og_metrics *m = &op->blocks[block];
    *m = (struct og_metrics){0};
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t r = r0; r < r0 + og__rows_in_block(op->rows, block); r++) {
        if (og_is_class(op, r))
            softmax_row(run, r, m);
        else if (op->grad)
            memset(op->grad + (size_t)r * (size_t)op->cols, 0, (size_t)op->cols * sizeof(float));
    }
}

static void sum_blocks(const struct og_loss *op)
{
    *op->out = (struct og_metrics){0};
    for (size_t i = 0; i < og__n_blocks(op->rows); i++)
        og__metrics_add(op->out, &op->blocks[i]);
}

void og__cpu_softmax_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    struct loss_run run = {.op = op};
    for (uint32_t r = 0; r < op->rows; r++)
        run.weight += (double)og_term_weight(op, r);
    og__pool_run(be->pool, og__n_blocks(op->rows), softmax_block, &run);
    sum_blocks(op);
}

static void sigmoid_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct loss_run *run = arg;
    struct og_metrics *m = &run->op->blocks[block];
    *m = (struct og_metrics){0};
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t r = r0; r < r0 + og__rows_in_block(run->op->rows, block); r++)
        og_sigmoid_row(run->op, r, run->weight, m);
}

void og__cpu_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    struct loss_run run = {.op = op};
    run.weight = og__weight_of_known(op);
    og__pool_run(be->pool, og__n_blocks(op->rows), sigmoid_block, &run);
    sum_blocks(op);
}
