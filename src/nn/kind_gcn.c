/* GCN (Kipf and Welling 2017): a sum weighted by the degrees of both ends. Between two node types
 * there is no loop, and degrees are those of the relation in the graph (relational.c). */
#include "nn/model.h"

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), out = og__layer_out(c, l);
    og__add_vector(s, OG__BIAS, "bias", out, 0);
    og__add_matrix(s, OG__NEIGHBOUR, "lin.weight", out, in, og__glorot(in, out));
}

static const char *const parameters[] = {"edge-weights", NULL};
static const char *const marks[] = {"lin.weight", NULL};

const struct og_conv og__conv_gcn = {
    .steps = &og__steps_linear,
    .aggregate = OG__SYMMETRIC,
    .has_loops = true,
    .wants_degrees = true,
    .by_relation = true,
    .sources_alone = true,
    .list = list,
    .names = {marks, "lin.weight", NULL},
    .parameters = parameters,
};
