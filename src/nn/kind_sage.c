/* GraphSAGE (Hamilton et al. 2017). Neighbours are aggregated by mean, by maximum after a linear
 * layer, or by mean with the node itself. The own row is added, except with the last. */
#include "nn/model.h"

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), out = og__layer_out(c, l), own = og__layer_own(c, l);
    double bound = og__by_fan_in(in);
    if (og__pools(c)) {
        og__add_matrix(s, OG__POOL, "lin.weight", in, in, bound);
        og__add_vector(s, OG__POOL_BIAS, "lin.bias", in, bound);
    }
    struct og_spec *neighbour = og__add_matrix(s, OG__NEIGHBOUR, "lin_l.weight", out, in, bound);
    neighbour->multiplies_back = og__pools(c);
    og__add_vector(s, OG__BIAS, "lin_l.bias", out, bound);
    if (og__has_self(c))
        og__add_matrix(s, OG__SELF, "lin_r.weight", out, own, og__by_fan_in(own));
}

static const char *const mean_marks[] = {"lin_l.weight", "lin_r.weight", NULL};
static const char *const max_marks[] = {"lin.weight", "lin_l.weight", "lin_r.weight", NULL};
static const char *const gcn_marks[] = {"lin_l.weight", NULL};

static const struct og_conv by_mean = {
    .steps = &og__steps_linear,
    .aggregate = OG__MEAN,
    .means = true,
    .has_self = true,
    .by_relation = true,
    .list = list,
    .names = {mean_marks, "lin_l.weight", NULL},
};
static const struct og_conv by_max = {
    .steps = &og__steps_pool,
    .aggregate = OG__MEAN, /* unused */
    .pools = true,
    .takes_max = true,
    .has_self = true,
    .by_relation = true,
    .list = list,
    .names = {max_marks, "lin_l.weight", NULL},
};
static const struct og_conv by_gcn = {
    .steps = &og__steps_linear,
    .aggregate = OG__MEAN_AND_SELF,
    .has_loops = true,
    .list = list,
    .names = {gcn_marks, "lin_l.weight", NULL},
};

static const struct og_conv *const by_aggregator[] = {
    [OG_AGGREGATOR_MEAN] = &by_mean, [OG_AGGREGATOR_MAX] = &by_max, [OG_AGGREGATOR_GCN] = &by_gcn};
static const char *const parameters[] = {"aggregator", "edge-weights", NULL};

const struct og_conv og__conv_sage = {.by_aggregator = by_aggregator, .parameters = parameters};
