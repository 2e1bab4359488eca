/* PinSAGE (Ying et al. 2018): every source passes a layer. Their weighted mean and the own row pass
 * another, and rows are scaled to length 1. */
#include "nn/model.h"

#include <math.h>

static int hidden(const struct og_model_config *c, int l)
{
    (void)l;
    return c->hidden;
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    const int own = og__layer_own(c, l);
    const double gain = sqrt(2); /* before a ReLU */
    double bound = gain * og__glorot(mid + own, out);
    og__add_matrix(s, OG__POOL, "lin_q.weight", mid, in, gain * og__glorot(in, mid));
    og__add_vector(s, OG__POOL_BIAS, "lin_q.bias", mid, 0);
    og__add_matrix(s, OG__NEIGHBOUR, "lin_l.weight", out, mid, bound)->multiplies_back = true;
    og__add_vector(s, OG__BIAS, "lin_l.bias", out, 0);
    og__add_matrix(s, OG__SELF, "lin_r.weight", out, own, bound);
}

static const char *const marks[] = {"lin_q.weight", "lin_l.weight", "lin_r.weight", NULL};

const struct og_conv og__conv_pinsage = {
    .steps = &og__steps_pool,
    .aggregate = OG__WEIGHTED_MEAN,
    .pools = true,
    .has_self = true,
    .by_relation = true,
    .unit = true,
    .mid = hidden,
    .list = list,
    .names = {marks, "lin_q.weight", "lin_l.weight"},
};
