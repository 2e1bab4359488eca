/* GINE (Hu et al. 2020): GIN of messages that depend on the edge's row.
 *
 *     a = (1 + eps) x_v + sum of relu(x_u + e We^T + c)       y = relu(a W0^T + b0) W2^T + b2
 *
 * A message is not linear in x_u, so the sum always comes before the product. */
#include "nn/conv_edges.h"
#include "nn/conv_linear.h"

/* ==== parameters of a layer ==== */

static int gine_hidden(const struct og_model_config *c, int l)
{
    (void)l;
    return c->hidden;
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l);
    og__conv_gin.list(s, c, l);
    og__add_matrix(s, OG__EDGE, "lin.weight", in, c->edge_dim, og__by_fan_in(c->edge_dim));
    og__add_vector(s, OG__EDGE_BIAS, "lin.bias", in, og__by_fan_in(c->edge_dim));
}

/* ==== forward ==== */

static struct og_edge_sum sum_of_edges(const struct og_model *m, int l, struct og_rows sources,
                                       struct og_rows own)
{
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_edge_sum){.block = w->block,
                                .x = sources,
                                .own = own,
                                .eps = m->layer[l].param[OG__EPS]->value,
                                .by_edge = w->by_edge,
                                .y = w->a};
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    (void)keep;
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    const struct og_edge_sum sum = sum_of_edges(m, l, sources, own);
    const struct og_affine op = {
        .rows = n,
        .cols = layer->n_mid,
        .y = w->t,
        .relu = true,
        .bias = layer->param[OG__BIAS]->value,
        .n_inputs = 1,
        .input = {og__weighted(og__dense(w->a, n, layer->n_in), n, &layer->weight[OG__NEIGHBOUR],
                               OG__FORWARD)}};
    OG_DO(og__multiply_edges(m, l, &layer->weight[OG__EDGE], layer->param[OG__EDGE_BIAS], err));
    OG_DO(m->ops->edge_sum(m->backend, &sum, err));
    OG_DO(m->ops->affine(m->backend, &op, err));
    return og__multiply_hidden(m, l, own, err);
}

/* ==== backward ==== */

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    const bool goes_back = m->ends->goes_back(m, l);
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_edge_sum sum = sum_of_edges(m, l, in, own);
    const struct og_edge_sum_back back = {.forward = &sum,
                                          .dy = w->a,
                                          .indptr = m->at.back_indptr,
                                          .edge = m->at.back_edge,
                                          .own = !m->config.apart,
                                          .dx = goes_back ? og__input_slot(m, l) : NULL};
    int rc;
    OG_TRY(og__hidden_gradient(m, l, dy, err));
    OG_TRY(og__gradients_of_rows(m, l, w->t, own, err));
    OG_TRY(og__gradient_of_aggregate(m, l, w->t, own, err));
    if (back.dx)
        OG_TRY(og__transpose(m, l, err));
    OG_TRY(m->ops->edge_sum_back(m->backend, &back, err));
    OG_TRY(og__edge_gradients(m, l, w->by_edge, layer->param[OG__EDGE]->grad,
                              layer->param[OG__EDGE_BIAS], err));
    if (back.dx)
        OG_TRY(og__end_input_slot(m, l, dy, err));
    if (goes_back && m->config.apart)
        OG_TRY(og__apart_gradient(m, l, w->t, err));
out:
    return rc;
}

/* ==== the convolution ==== */

/* The first never runs: nothing is multiplied before the sum. */
static const struct og_conv_steps steps = {NULL, combine, backward};
static const char *const marks[] = {"nn.0.weight", "lin.weight", NULL};

const struct og_conv og__conv_gine = {
    .steps = &steps,
    .aggregate = OG__SUM_AND_SELF, /* unused */
    .has_loops = true,
    .by_relation = true,
    .perceptron = true,
    .finishes = true,
    .needs_edges = true,
    .edge_cols = og__layer_in,
    .mid = gine_hidden,
    .list = list,
    .names = {marks, "nn.0.weight", "nn.2.weight", .edge = "lin.weight"},
};
