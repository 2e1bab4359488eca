/* Layers of the own row alone, as PyTorch's Linear: y = x W^T + b. Batches have no edges for it, so
 * that the sum over a node's neighbours and itself is its row. */
#include "nn/model.h"

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), out = og__layer_out(c, l);
    og__add_matrix(s, OG__NEIGHBOUR, "weight", out, in, og__by_fan_in(in));
    og__add_vector(s, OG__BIAS, "bias", out, og__by_fan_in(in));
}

static const char *const marks[] = {"weight", "bias", NULL};
static const char *const parameters[] = {"inputs", NULL};

const struct og_conv og__conv_mlp = {
    .steps = &og__steps_linear,
    .aggregate = OG__SUM_AND_SELF,
    .has_loops = true,
    .alone = true,
    .list = list,
    .names = {marks, "weight", NULL},
    .parameters = parameters,
};
