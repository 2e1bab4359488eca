/* Convolutions that send every source through a layer before pooling.
 *
 *     SAGE max   t = relu(x W^T + b)     a = element-wise max of t along the edges
 *     PinSAGE    t = relu(x Wq^T + bq)   a = weighted mean of t along the edges
 *     both       y = a Wl^T + bl + x Wr^T */
#include "nn/model.h"

static bool takes_max(const struct og_model *m)
{
    return og__conv_of(&m->config)->takes_max;
}

/* ==== forward ==== */

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    const struct og_block *b = w->block;
    struct og_sparse through;
    struct og_affine op = {.bias = layer->param[OG__BIAS]->value, .n_inputs = 2};
    if (takes_max(m)) {
        struct og_pool_max pool = {b, sources, w->a, keep ? w->from : NULL};
        OG_DO(m->ops->pool_max(m->backend, &pool, err));
        op.input[0].x = og__dense(w->a, b->n_dst, layer->n_mid);
    } else {
        const struct og_scale scale = {b, OG__WEIGHTED_MEAN, w->scale};
        OG_DO(m->ops->scale(m->backend, &scale, err));
        through = og__aggregation(b, OG__WEIGHTED_MEAN, w->scale);
        op.input[0].x = sources;
        op.input[0].through = &through;
        op.input[0].keep = keep ? w->a : NULL;
    }
    op.input[0].n = b->n_dst;
    op.input[0].weight = &layer->weight[OG__NEIGHBOUR];
    op.input[1] = og__weighted(own, b->n_dst, &layer->weight[OG__SELF], OG__FORWARD);
    og__end_layer(m, l, own, &op);
    return m->ops->affine(m->backend, &op, err);
}

/* ==== backward ==== */

/* Gradients of y's weights; in a, the gradient of the pooled rows. */
static int output_gradients(struct og_model *m, int l, struct og_rows own, const float *dy,
                            struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_dst;
    struct og_weight_grad grad = {
        .rows = n,
        .n_out = layer->n_out,
        .dy = dy,
        .n_inputs = 2,
        .input = {og__dense(w->a, n, layer->n_mid), own},
        .grad = {layer->param[OG__NEIGHBOUR]->grad, layer->param[OG__SELF]->grad},
        .bias_grad = layer->param[OG__BIAS]->grad};
    struct og_affine da = {.rows = n, .cols = layer->n_mid, .y = w->a, .n_inputs = 1};
    da.input[0] = og__weighted(og__dense(dy, n, layer->n_out), n, &layer->weight[OG__NEIGHBOUR],
                               OG__BACKWARD);
    int rc = m->ops->weight_grad(m->backend, &grad, err);
    return rc < 0 ? rc : m->ops->affine(m->backend, &da, err);
}

/* Gradient before the sources' ReLU, in t. */
static int unpool(struct og_model *m, int l, struct og_err *err)
{
    int n_mid = m->layer[l].n_mid;
    struct og_layer_work *w = &m->at.work[l];
    const struct og_block *b = w->block;
    OG_DO(og__transpose(m, l, err));
    if (takes_max(m)) {
        struct og_pool_max_back op = {.n_src = b->n_src,
                                      .dim = n_mid,
                                      .x = w->t,
                                      .dy = w->a,
                                      .from = w->from,
                                      .indptr = m->at.back_indptr,
                                      .col = m->at.back_col,
                                      .edge = m->at.back_edge,
                                      .weight = b->weight};
        return m->ops->pool_max_back(m->backend, &op, err);
    }
    struct og_sparse back = og__aggregation_back(b, OG__WEIGHTED_MEAN, w->scale, m->at.back_indptr,
                                                 m->at.back_col, m->at.back_edge);
    struct og_affine op = {.rows = b->n_src,
                           .cols = n_mid,
                           .y = w->t,
                           .plus_through = &back,
                           .plus = og__dense(w->a, b->n_dst, n_mid),
                           .gated = true,
                           .gate_scale = 1};
    return m->ops->affine(m->backend, &op, err);
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n_src = w->block->n_src;
    OG_TRY(output_gradients(m, l, own, dy, err));
    OG_TRY(unpool(m, l, err));
    struct og_weight_grad grad = {.rows = n_src,
                                  .n_out = layer->n_mid,
                                  .dy = w->t,
                                  .n_inputs = 1,
                                  .input = {in},
                                  .grad = {layer->param[OG__POOL]->grad},
                                  .bias_grad = layer->param[OG__POOL_BIAS]->grad};
    OG_TRY(m->ops->weight_grad(m->backend, &grad, err));
    if (m->ends->goes_back(m, l))
        OG_TRY(og__two_gradients(m, l, dy, OG__POOL,
                                 og__dense(dy, w->block->n_dst, m->layer[l].n_out), err));
out:
    return rc;
}

const struct og_conv_steps og__steps_pool = {og__multiply_sources, combine, backward};
