/* GIN (Xu et al. 2019): an MLP of a sum, where the own row has its own weight. */
#include "nn/model.h"

static int hidden(const struct og_model_config *c, int l)
{
    (void)l;
    return c->hidden;
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    og__add_vector(s, OG__EPS, "eps", 1, 0);
    og__add_matrix(s, OG__NEIGHBOUR, "nn.0.weight", mid, in, og__by_fan_in(in))->multiplies_back =
        true;
    og__add_vector(s, OG__BIAS, "nn.0.bias", mid, og__by_fan_in(in));
    og__add_matrix(s, OG__OUT, "nn.2.weight", out, mid, og__by_fan_in(mid))->multiplies_back = true;
    og__add_vector(s, OG__OUT_BIAS, "nn.2.bias", out, og__by_fan_in(mid));
}

static const char *const parameters[] = {"edge-weights", NULL};
static const char *const marks[] = {"nn.0.weight", NULL};

const struct og_conv og__conv_gin = {
    .steps = &og__steps_linear,
    .aggregate = OG__SUM_AND_SELF,
    .has_loops = true,
    .by_relation = true,
    .perceptron = true,
    .mid = hidden,
    .list = list,
    .names = {marks, "nn.0.weight", "nn.2.weight"},
    .parameters = parameters,
};
