/* GATv2 (Brody et al. 2022): like GAT, but each pair of ends has its own score. Sources and
 * destinations have a matrix each (PyTorch Geometric's share_weights=False), within a type too.
 *
 *     t = x Wl^T + bl,  z_dst = x_v Wr^T + br        scores: att . leaky_relu(t_u + z_dst_v)
 *     y = attend(t) + b                              along the edges, heads as in conv_attend.c
 *
 * With rows of edges, e We^T is added to the sum in a score.
 *
 * A score depends on a sum per edge, so nothing can be folded, and products come first. */
#include "nn/conv_attend.h"
#include "nn/conv_edges.h"

/* ==== parameters and memory of a layer ==== */

static void suballoc_scores(const struct og_model_config *c, int l, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w)
{
    const size_t bytes = b->n_dst * (size_t)og__layer_mid(c, l) * sizeof(float);
    w->z_dst = og__suballoc(arena, bytes);
    if (training)
        w->dz_dst = og__suballoc(arena, bytes);
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), own = og__layer_own(c, l), mid = og__layer_mid(c, l);
    og__add_attention(s, c, l, OG__ATT_SRC, "att");
    og__add_vector(s, OG__BIAS, "bias", og__layer_out(c, l), 0);
    og__add_matrix(s, OG__NEIGHBOUR, "lin_l.weight", mid, in, og__glorot(in, mid));
    og__add_vector(s, OG__POOL_BIAS, "lin_l.bias", mid, og__by_fan_in(in));
    og__add_matrix(s, OG__SELF, "lin_r.weight", mid, own, og__glorot(own, mid));
    og__add_vector(s, OG__SELF_BIAS, "lin_r.bias", mid, og__by_fan_in(own));
    if (og__sees_edges(c))
        og__add_matrix(s, OG__EDGE, "lin_edge.weight", mid, c->edge_dim,
                       og__glorot(c->edge_dim, mid));
}

static struct og_attend attention(const struct og_model *m, int l, struct og_rows sources)
{
    struct og_attend op = og__attention(m, l, sources);
    op.scoring = OG__BY_SUMS;
    op.z_dst = m->at.work[l].z_dst;
    return op;
}

/* ==== forward ==== */

static int multiply_destinations(struct og_model *m, int l, struct og_rows own, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    const struct og_affine op = {
        .rows = n,
        .cols = layer->n_mid,
        .y = w->z_dst,
        .bias = layer->param[OG__SELF_BIAS]->value,
        .n_inputs = 1,
        .input = {og__weighted(own, n, &layer->weight[OG__SELF], OG__FORWARD)}};
    return m->ops->affine(m->backend, &op, err);
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    (void)keep;
    struct og_attend attend = attention(m, l, sources);
    struct og_affine end = {0};
    og__end_layer(m, l, own, &end);
    OG_DO(og__start_from_input(m, &end, err));
    OG_DO(multiply_destinations(m, l, own, err));
    if (og__sees_edges(&m->config))
        OG_DO(og__multiply_edges(m, l, &m->layer[l].weight[OG__EDGE], NULL, err));
    attend.y = end.y;
    attend.add = end.add;
    return m->ops->attend(m->backend, &attend, err);
}

/* ==== backward ==== */

static int destination_gradients(struct og_model *m, int l, struct og_rows own, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_weight_grad op = {.rows = w->block->n_dst,
                                      .n_out = layer->n_mid,
                                      .dy = w->dz_dst,
                                      .n_inputs = 1,
                                      .input = {own},
                                      .grad = {layer->param[OG__SELF]->grad},
                                      .bias_grad = layer->param[OG__SELF_BIAS]->grad};
    return m->ops->weight_grad(m->backend, &op, err);
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    const struct og_attend attend =
        attention(m, l, og__dense(w->t, w->block->n_src, m->layer[l].n_mid));
    struct og_attend_back back = og__attention_back(m, l, &attend, dy);
    back.dz_dst = w->dz_dst;
    OG_DO(og__transpose(m, l, err));
    OG_DO(m->ops->attend_back(m->backend, &back, err));
    OG_DO(og__source_gradients(m, l, in, dy, err));
    OG_DO(destination_gradients(m, l, own, err));
    if (og__sees_edges(&m->config))
        OG_DO(og__edge_gradients(m, l, w->by_edge, m->layer[l].param[OG__EDGE]->grad, NULL, err));
    if (m->ends->goes_back(m, l))
        OG_DO(og__two_gradients(m, l, dy, OG__NEIGHBOUR,
                                og__dense(w->dz_dst, w->block->n_dst, m->layer[l].n_mid), err));
    return 0;
}

/* ==== the convolution ==== */

static const struct og_conv_steps steps = {og__multiply_sources, combine, backward};
static const char *const marks[] = {"att", "lin_l.weight", "lin_r.weight", NULL};
static const char *const parameters[] = {"heads", "attention-dropout", "edge-weights",
                                         "edge-features", NULL};

const struct og_conv og__conv_gatv2 = {
    .steps = &steps,
    .aggregate = OG__MEAN, /* unused */
    .attends = true,
    .has_self = true,
    .has_loops = true,
    .by_relation = true,
    .elu = true,
    .edge_cols = og__all_heads,
    .mid = og__all_heads,
    .suballoc_scores = suballoc_scores,
    .check = og__check_heads,
    .list = list,
    .names = {.marks = marks, .first = "lin_l.weight", .att = "att", .edge = "lin_edge.weight"},
    .parameters = parameters,
};
