/* R-GCN's convolutions with bases, if there are many lists:
 *
 *     y_v = root x_v + bias + sum over b of V_b z_vb
 *     z_vb = sum over r of comp[r, b] (mean of x_u)
 *
 *     x ──mean, times comp──> z ──V, all bases concatenated──> y
 *        edges      [D, B F_in]                         [D, F_out]
 *
 * One pass over the edges, then B products per destination instead of one per list. The bases as
 * stored, [B F_in, F_out], are one matrix, and a destination's sums are one row of it. */
#include "nn/conv_mixed.h"

static int width_of(const struct og_model *m, int l)
{
    return m->config.bases * m->layer[l].n_in;
}

static struct og_blend blend_of(const struct og_model *m, int l, struct og_rows x)
{
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_blend){.edges = w->edges,
                             .n_src = w->block->n_src,
                             .n_kinds = w->block->n_relations,
                             .n_base = (uint32_t)m->config.bases,
                             .dim = m->layer[l].n_in,
                             .weight = m->layer[l].param[OG__COMP]->value,
                             .x = (const float *)(const void *)x.base,
                             .z = w->a};
}

static int pack_bases(struct og_model *m, int l, enum og__direction direction,
                      struct og_weight *out, struct og_err *err)
{
    return og__pack_matrix(m, m->layer[l].param[OG__NEIGHBOUR]->value, width_of(m, l),
                           m->layer[l].n_out, direction, out, err);
}

int og__combine_blended(struct og_model *m, int l, struct og_rows sources, struct og_rows own,
                        struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    struct og_affine op = {.bias = layer->param[OG__BIAS]->value, .n_inputs = 2};
    struct og_weight bases;
    const struct og_blend_sort sort = {.block = w->block, .out = w->edges};
    const struct og_blend blend = blend_of(m, l, sources);
    OG_DO(m->ops->blend_sort(m->backend, &sort, err));
    OG_DO(m->ops->blend(m->backend, &blend, err));
    OG_DO(pack_bases(m, l, OG__BACKWARD, &bases, err));
    op.input[0] = og__weighted(og__dense(w->a, n, width_of(m, l)), n, &bases, OG__BACKWARD);
    op.input[1] = og__weighted(own, n, &layer->weight[OG__SELF], OG__BACKWARD);
    og__end_layer(m, l, own, &op);
    return m->ops->affine(m->backend, &op, err);
}

/* ==== backward ==== */

/* Gradient of the bases; then the gradient of the sums replaces these in a. */
static int bases_gradient(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    const struct og_rows dout = og__dense(dy, n, layer->n_out);
    const struct og_weight_grad of_bases = {.rows = n,
                                            .n_out = width_of(m, l),
                                            .dy = w->a,
                                            .n_inputs = 1,
                                            .input = {dout},
                                            .grad = {layer->param[OG__NEIGHBOUR]->grad}};
    struct og_affine of_sums = {.rows = n, .cols = width_of(m, l), .y = w->a, .n_inputs = 1};
    struct og_weight bases;
    OG_DO(m->ops->weight_grad(m->backend, &of_bases, err));
    OG_DO(pack_bases(m, l, OG__FORWARD, &bases, err));
    of_sums.input[0] = og__weighted(dout, n, &bases, OG__FORWARD);
    return m->ops->affine(m->backend, &of_sums, err);
}

/* Gradient of the summed rows, in t. */
static int rows_gradient(struct og_model *m, int l, const struct og_blend *forward,
                         struct og_err *err)
{
    struct og_blend_rows op = {.forward = forward,
                               .block = m->at.work[l].block,
                               .turned = m->at.mixing.turned,
                               .dz = forward->z,
                               .dx = m->at.mixing.t};
    op.turned.n_rows = op.block->n_src;
    return m->ops->blend_rows(m->backend, &op, err);
}

int og__blended_backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                         const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_block *b = m->at.work[l].block;
    const struct og_sparse as_it_is = {
        .n_rows = b->n_src, .n_loops = b->n_src, .indptr = m->at.mixing.nothing};
    struct og_affine op = {.n_inputs = 1,
                           .plus_through = &as_it_is,
                           .plus = og__dense(m->at.mixing.t, b->n_src, layer->n_in)};
    const struct og_blend forward = blend_of(m, l, in);
    const struct og_blend_weights of_weights = {.forward = &forward,
                                                .n_edges = b->n_edges,
                                                .dz = forward.z,
                                                .dweight = layer->param[OG__COMP]->grad};
    OG_DO(og__own_gradients(m, l, own, dy, err));
    OG_DO(bases_gradient(m, l, dy, err));
    OG_DO(m->ops->blend_weights(m->backend, &of_weights, err));
    if (!m->ends->goes_back(m, l))
        return 0;
    OG_DO(rows_gradient(m, l, &forward, err));
    OG_DO(og__clear(m, m->at.mixing.nothing, (b->n_src + (size_t)1) * sizeof(uint32_t), err));
    op.input[0] = og__weighted(og__dense(dy, b->n_dst, layer->n_out), b->n_dst,
                               &layer->weight[OG__SELF], OG__FORWARD);
    return og__input_gradient(m, l, dy, &op, err);
}
