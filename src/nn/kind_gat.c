/* GAT (Velickovic et al. 2018): a sum weighed by coefficients of attention, of several heads. From
 * one type of nodes to another, destinations have a matrix of their own and no loops. */
#include "nn/model.h"

static int check(const struct og_model_config *c, struct og_err *err)
{
    if (c->heads < 1 || c->heads > OG__MAX_HEADS)
        return og__fail(err, -EINVAL, NULL, "model: %d heads, 1 to %d are possible", c->heads,
                        OG__MAX_HEADS);
    if (c->hidden % c->heads)
        return og__fail(err, -EINVAL, "--hidden is the width of all heads together",
                        "model: %d heads cannot share a width of %d evenly", c->heads, c->hidden);
    return 0;
}

static int all_heads(const struct og_model_config *c, int l)
{
    return c->heads * og__head_width(c, l);
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), out = og__layer_out(c, l), own = og__layer_own(c, l);
    const char *const names[] = {"att_src", "att_dst"};
    int width = og__head_width(c, l);
    for (int i = 0; i < 2; i++) {
        struct og_spec *att = og__add_vector(s, i ? OG__ATT_DST : OG__ATT_SRC, names[i], 1,
                                             og__glorot(c->heads, width));
        att->ndim = 3;
        att->shape[1] = c->heads;
        att->shape[2] = width;
    }
    og__add_vector(s, OG__BIAS, "bias", out, 0);
    og__add_matrix(s, OG__NEIGHBOUR, c->apart ? "lin_src.weight" : "lin.weight", c->heads * width,
                   in, og__glorot(in, c->heads * width));
    if (c->apart) /* of which there are only scores: it multiplies no rows */
        og__add_matrix(s, OG__SELF, "lin_dst.weight", c->heads * width, own,
                       og__glorot(own, c->heads * width))
            ->weight = false;
}

static const char *const marks[] = {"att_src", "lin.weight", NULL};
static const char *const parameters[] = {"heads", "attention-dropout", NULL};

const struct og_conv og__conv_gat = {
    .steps = &og__steps_attend,
    .aggregate = OG__MEAN, /* is not looked at */
    .attends = true,
    .has_loops = true,
    .by_relation = true,
    .elu = true,
    .mid = all_heads,
    .check = check,
    .list = list,
    .names = {marks, "lin.weight", NULL, "lin_src.weight"},
    .parameters = parameters,
};
