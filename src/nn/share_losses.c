/* Losses of shares of classes on the CPU. Sums of blocks of 64 rows are added in order. */
#include "nn/loss_terms.h"
#include "nn/ops_cpu.h"

#include <string.h>

struct share_run {
    const struct og_loss *op;
    double weight; /* of all terms: rows, or values */
};

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
            og_share_row(op, r, run->weight, m);
        else if (op->grad)
            memset(op->grad + r * cols, 0, cols * sizeof(*op->grad));
    }
}

void og__cpu_share_loss(struct og_nn_backend *be, const struct og_loss *op)
{
    struct share_run run = {.op = op};
    for (uint32_t r = 0; r < op->rows; r++)
        run.weight += og_shares_known(op, r) ? og_share_weight(op, r) : 0;
    og__pool_run(be->pool, og__n_blocks(op->rows), share_block, &run);
    *op->out = (struct og_metrics){0};
    for (size_t i = 0; i < og__n_blocks(op->rows); i++)
        og__metrics_add(op->out, &op->blocks[i]);
}
