/* Losses of classes and of labels on the CPU. Sums of blocks of 64 rows are added in order. */
#include "nn/ops_cpu.h"
#include "nn/tasks.h"

#include <math.h>
#include <string.h>

struct loss_run {
    const struct og_loss *op;
    double weight; /* of all terms */
};

/* The loss by l, and the factor of its derivative. */
static double loss_by(const struct og_loss *op, double l, float *slope)
{
    *slope = 1;
    return op->loss == OG_LOSS_AUTO ? l : og__loss(op->loss)->classes(op->gamma, l, slope);
}

static float weight_of(const float *weight, size_t i)
{
    return weight ? weight[i] : 1;
}

static bool is_class(const struct og_loss *op, uint32_t r)
{
    int32_t label = ((const int32_t *)op->labels)[r];
    return label >= 0 && label < op->cols;
}

static float term_weight(const struct og_loss *op, uint32_t r)
{
    const int32_t label = ((const int32_t *)op->labels)[r];
    return is_class(op, r)
               ? weight_of(op->row_weight, r) * weight_of(op->class_weight, (size_t)label)
               : 0;
}

/* What smoothing adds for row r: e / cols times the sum over classes of w l. There l is log_sum -
 * x. It also adds to the gradient, whose part by p is there already. */
static double smooth(const struct og_loss *op, const float *x, double log_sum, float by,
                     float *grad)
{
    double sum = 0;
    for (size_t c = 0; c < (size_t)op->cols; c++) {
        const float w = weight_of(op->class_weight, c);
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
        sum += weight_of(op->class_weight, c);
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
    const float weight = term_weight(op, r), rest = 1 - op->smoothing;
    const float spread = weight_of(op->row_weight, r) * op->smoothing / (float)op->cols;
    m->counted++;
    m->correct += best == label && !isnan(loss); /* a row with NaN has no maximum */
    m->weight += (double)weight;
    m->loss_sum += (double)rest * (double)weight * loss_by(op, loss, &slope);
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
        if (is_class(op, r))
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
        run.weight += (double)term_weight(op, r);
    og__pool_run(be->pool, og__n_blocks(op->rows), softmax_block, &run);
    sum_blocks(op);
}

/* log(1 + exp(-|x|)) + max(x, 0) - x y, without overflow: l of the element. */
static void sigmoid_row(const struct loss_run *run, uint32_t r, struct og_metrics *m)
{
    const struct og_loss *op = run->op;
    size_t cols = (size_t)op->cols, known = 0;
    const float *x = op->logits + r * cols, *label = (const float *)op->labels + r * cols;
    float *grad = op->grad ? op->grad + r * cols : NULL;
    const float share = run->weight > 0 ? 1.0f / (float)run->weight : 0;
    const float own = weight_of(op->row_weight, r);
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        if (isnan(label[j])) {
            if (grad)
                grad[j] = 0;
            continue;
        }
        known++;
        float e = expf(-fabsf(x[j]));
        bool on = label[j] > 0.5f, said = x[j] > 0;
        const float weight = own * (on ? weight_of(op->class_weight, j) : 1);
        const float l = log1pf(e) + fmaxf(x[j], 0) - x[j] * label[j];
        float slope;
        sum += (double)weight * loss_by(op, (double)l, &slope);
        m->true_positive += on && said;
        m->false_positive += !on && said;
        m->false_negative += on && !said;
        if (grad)
            grad[j] = share * ((x[j] >= 0 ? 1 : e) / (1 + e) - label[j]) * (weight * slope);
    }
    m->counted += known > 0;
    m->weight += (double)own * (double)known / (double)cols;
    m->loss_sum += sum / (double)cols;
}

static void sigmoid_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct loss_run *run = arg;
    struct og_metrics *m = &run->op->blocks[block];
    *m = (struct og_metrics){0};
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t r = r0; r < r0 + og__rows_in_block(run->op->rows, block); r++)
        sigmoid_row(run, r, m);
}

void og__cpu_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    struct loss_run run = {.op = op};
    run.weight = og__weight_of_known(op);
    og__pool_run(be->pool, og__n_blocks(op->rows), sigmoid_block, &run);
    sum_blocks(op);
}
