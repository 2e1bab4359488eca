/* PyTorch's SGD without momentum; the weight decay is added to the gradient. */
#include "nn/optimizers.h"

static struct og_update sgd(const struct og_pace *pace, uint64_t step)
{
    (void)step;
    return (struct og_update){
        .rate = pace->lr, .root = 1, .weight_decay = pace->weight_decay, .shrink = 1};
}

static int run(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_update *op,
               struct og_err *err)
{
    return ops->sgd(be, op, err);
}

const struct og_optimizer og__optimizer_sgd = {.numbers = sgd, .run = run};
