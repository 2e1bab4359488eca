/* PyTorch's Adam and AdamW. They differ in the weight decay: Adam adds it to the gradient, AdamW
 * first makes the parameters smaller. */
#include "nn/optimizers.h"

#include <math.h>

static struct og_update adam(const struct og_pace *pace, uint64_t step)
{
    const double t = (double)step;
    return (struct og_update){.rate = pace->lr / (1 - pow(pace->beta1, t)),
                              .root = sqrt(1 - pow(pace->beta2, t)),
                              .weight_decay = pace->weight_decay,
                              .shrink = 1,
                              .beta1 = pace->beta1,
                              .beta2 = pace->beta2,
                              .epsilon = pace->epsilon};
}

static struct og_update adamw(const struct og_pace *pace, uint64_t step)
{
    struct og_update op = adam(pace, step);
    op.shrink = 1 - pace->lr * pace->weight_decay;
    op.weight_decay = 0;
    return op;
}

static int run(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_update *op,
               struct og_err *err)
{
    return ops->adam(be, op, err);
}

static const char *const parameters[] = {"beta1", "beta2", "epsilon", NULL};

const struct og_optimizer og__optimizer_adam = {
    .moments = true, .parameters = parameters, .numbers = adam, .run = run};
const struct og_optimizer og__optimizer_adamw = {
    .moments = true, .parameters = parameters, .numbers = adamw, .run = run};
