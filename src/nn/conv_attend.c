/* GAT: t = x W^T for every source, and y = its heads' weighted means along the edges (ops.h).
 * Hidden layers lay the heads side by side, the output layer averages them. */
#include "nn/model.h"

static struct og_attend attention(const struct og_model *m, int l)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_attend){.block = w->block,
                              .heads = m->config.heads,
                              .width = og__head_width(&m->config, l),
                              .average = og__is_last(&m->config, l),
                              .add = m->config.residual,
                              .z = w->t,
                              .att_src = layer->param[OG__ATT_SRC]->value,
                              .att_dst = layer->param[OG__ATT_DST]->value,
                              .bias = layer->param[OG__BIAS]->value,
                              .score_src = w->score_src,
                              .score_dst = w->score_dst,
                              .alpha = w->alpha,
                              .y = og__finishes(&m->config, l) ? w->y : w->h};
}

static int forward(struct og_model *m, int l, struct og_rows in, bool keep, struct og_err *err)
{
    (void)keep;
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    struct og_attend attend = attention(m, l);
    struct og_affine multiply = {
        .rows = w->block->n_src, .cols = layer->n_mid, .y = w->t, .n_inputs = 1};
    struct og_affine skip = {.rows = w->block->n_dst, .cols = layer->n_out, .y = attend.y};
    multiply.input[0] =
        og__weighted(in, w->block->n_src, &layer->weight[OG__NEIGHBOUR], OG__FORWARD);
    OG_TRY(m->ops->affine(&m->backend, &multiply, err));
    if (m->config.residual) {
        og__add_skip(m, l, in, OG__FORWARD, &skip);
        OG_TRY(m->ops->affine(&m->backend, &skip, err));
    }
    m->ops->attend(&m->backend, &attend);
out:
    return rc;
}

static int backward(struct og_model *m, int l, struct og_rows in, const float *dy,
                    struct og_err *err)
{
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n_src = w->block->n_src;
    struct og_attend attend = attention(m, l);
    struct og_attend_back back = {.forward = &attend,
                                  .dy = dy,
                                  .indptr = m->at.back_indptr,
                                  .col = m->at.back_col,
                                  .edge = m->at.back_edge,
                                  .z = w->t,
                                  .dscore = w->dscore,
                                  .datt_src = layer->param[OG__ATT_SRC]->grad,
                                  .datt_dst = layer->param[OG__ATT_DST]->grad};
    struct og_weight_grad bias = {.rows = w->block->n_dst,
                                  .n_out = layer->n_out,
                                  .dy = dy,
                                  .bias_grad = layer->param[OG__BIAS]->grad};
    struct og_weight_grad grad = {.rows = n_src,
                                  .n_out = layer->n_mid,
                                  .dy = w->t,
                                  .n_inputs = 1,
                                  .input = {in},
                                  .grad = {layer->param[OG__NEIGHBOUR]->grad}};
    og__transpose(m, l);
    m->ops->attend_back(&m->backend, &back);
    OG_TRY(m->ops->weight_grad(&m->backend, &bias, err));
    OG_TRY(m->ops->weight_grad(&m->backend, &grad, err));
    if (l > 0) {
        struct og_affine op = {.n_inputs = 1};
        op.input[0] = og__weighted(og__dense(w->t, n_src, layer->n_mid), n_src,
                                   &layer->weight[OG__NEIGHBOUR], OG__BACKWARD);
        OG_TRY(og__input_gradient(m, l, dy, &op, err));
    }
out:
    return rc;
}

const struct og_conv og__conv_attend = {forward, backward};
