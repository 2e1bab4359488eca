/* Losses of shares of classes on the CPU. Sums of blocks of 64 rows are added in order. */
#include "nn/ops_cpu.h"
#include "nn/shares.h"
#include "nn/tasks.h"

#include <string.h>

struct share_run {
    const struct og_loss *op;
    double weight; /* of all terms: rows, or values */
};

static bool is_by_row(const struct og_loss *op)
{
    return og__loss(op->loss)->rows;
}

/* The weight of the row's terms. */
static double weight_of(const struct og_loss *op, uint32_t r)
{
    return (op->row_weight ? (double)op->row_weight[r] : 1) * (is_by_row(op) ? 1 : op->cols);
}

static double by_value(const struct og_loss *op, uint32_t r, float by, struct og_metrics *m)
{
    const size_t cols = (size_t)op->cols;
    const float *x = op->logits + r * cols, *share = (const float *)op->labels + r * cols;
    double loss = 0;
    for (size_t j = 0; j < cols; j++) {
        float slope;
        loss += og__loss(op->loss)->value(x[j], share[j], &slope);
        og_add_share_error(m, x[j], share[j]);
        if (op->grad)
            op->grad[r * cols + j] = by * slope;
    }
    return loss;
}

static void share_row(const struct share_run *run, uint32_t r, struct og_metrics *m)
{
    const struct og_loss *op = run->op;
    const size_t cols = (size_t)op->cols;
    const float own = op->row_weight ? op->row_weight[r] : 1;
    const float by = run->weight > 0 ? own / (float)run->weight : 0;
    const double loss = (is_by_row(op) ? og_share_entropy : by_value)(op, r, by, m);
    m->counted++;
    m->weight += weight_of(op, r);
    m->loss_sum += (double)own * loss;
    m->ndcg +=
        og_ndcg(op->logits + r * cols, (const float *)op->labels + r * cols, (uint32_t)op->cols);
}

static void share_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct share_run *run = arg;
    const struct og_loss *op = run->op;
    const size_t cols = (size_t)op->cols;
    struct og_metrics *m = &op->blocks[block];
    *m = (struct og_metrics){0};
    const uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t r = r0; r < r0 + og__rows_in_block(op->rows, block); r++) {
        if (og_shares_known(op, r))
            share_row(run, r, m);
        else if (op->grad)
            memset(op->grad + r * cols, 0, cols * sizeof(*op->grad));
    }
}

void og__cpu_share_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    struct share_run run = {.op = op};
    for (uint32_t r = 0; r < op->rows; r++)
        run.weight += og_shares_known(op, r) ? weight_of(op, r) : 0;
    og__pool_run(be->pool, og__n_blocks(op->rows), share_block, &run);
    *op->out = (struct og_metrics){0};
    for (size_t i = 0; i < og__n_blocks(op->rows); i++)
        og__metrics_add(op->out, &op->blocks[i]);
}
