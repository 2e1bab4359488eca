/* Vectors of attention multiplied by a weight matrix, on the CPU. A head is a task of the pool. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <string.h>

static void fold_head(void *arg, size_t h, int thread)
{
    (void)thread;
    const struct og_fold *op = *(const struct og_fold **)arg;
    size_t n = (size_t)op->n_in, width = (size_t)op->width;
    memset(op->out + h * n, 0, n * sizeof(float));
    for (size_t c = h * width; c < (h + 1) * width; c++)
        og__add_scaled(op->out + h * n, op->att[c], op->weight + c * n, n);
}

void og__cpu_fold(struct og_nn_backend *be, const struct og_fold *op)
{
    og__pool_run(be->pool, (size_t)op->heads, fold_head, &op);
}

OG_CLONES static void fold_back_head(void *arg, size_t h, int thread)
{
    (void)thread;
    const struct og_fold_back *op = *(const struct og_fold_back **)arg;
    const struct og_fold *fwd = op->forward;
    size_t n = (size_t)fwd->n_in, width = (size_t)fwd->width;
    for (size_t c = h * width; c < (h + 1) * width; c++) {
        op->datt[c] = og__dot_product(fwd->weight + c * n, op->dout + h * n, n);
        og__add_scaled(op->dweight + c * n, fwd->att[c], op->dout + h * n, n);
    }
}

void og__cpu_fold_back(struct og_nn_backend *be, const struct og_fold_back *op)
{
    og__pool_run(be->pool, (size_t)op->forward->heads, fold_back_head, &op);
}
