/* PyTorch's Adam and AdamW (beta 0.9, 0.999, eps 1e-8). They differ in the weight decay: Adam adds
 * it to the gradient, AdamW first makes the parameters smaller. */
#include "nn/optimizers.h"

#include <math.h>

static struct og_update adam(double lr, double weight_decay, uint64_t step)
{
    const double t = (double)step;
    return (struct og_update){.rate = lr / (1 - pow(0.9, t)),
                              .root = sqrt(1 - pow(0.999, t)),
                              .weight_decay = weight_decay,
                              .shrink = 1};
}

static struct og_update adamw(double lr, double weight_decay, uint64_t step)
{
    struct og_update op = adam(lr, 0, step);
    op.shrink = 1 - lr * weight_decay;
    return op;
}

static int run(const struct og_nn_ops *ops, struct og_nn_backend *be, const struct og_update *op,
               struct og_err *err)
{
    return ops->adam(be, op, err);
}

const struct og_optimizer og__optimizer_adam = {.moments = true, .numbers = adam, .run = run};
const struct og_optimizer og__optimizer_adamw = {.moments = true, .numbers = adamw, .run = run};
