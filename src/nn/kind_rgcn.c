/* R-GCN (Schlichtkrull et al. 2018): a matrix per relation and one for the own row. With bases
 * (section 2.2), relations' matrices are linear combinations of a few shared ones. */
#include "nn/model.h"

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), out = og__layer_out(c, l);
    const int relations = (int)og__relations_of(c);
    struct og_spec *weight = og__add_matrix(
        s, OG__NEIGHBOUR, "weight", c->bases > 0 ? c->bases : relations, in, og__glorot(in, out));
    weight->ndim = 3;
    weight->shape[2] = out;
    weight->weight = false; /* packed when its relation is processed */
    if (c->bases > 0)
        og__add_matrix(s, OG__COMP, "comp", relations, c->bases, og__glorot(relations, c->bases))
            ->weight = false;
    og__add_matrix(s, OG__SELF, "root", in, out, og__glorot(in, out))->multiplies_back = true;
    og__add_vector(s, OG__BIAS, "bias", out, 0);
}

static const char *const marks[] = {"weight", "root", "bias", NULL};
static const char *const parameters[] = {"bases", NULL};

const struct og_conv og__conv_rgcn = {
    .steps = &og__steps_mixed,
    .aggregate = OG__MEAN,
    .joins = true,
    .list = list,
    .names = {.marks = marks, .first = "root", .turned = true},
    .parameters = parameters,
};
