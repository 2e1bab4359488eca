/* One batch through a model: forward, loss, backward, update.
 *
 *   SAGE   y = mean(x) Wl^T + x Wr^T + b        aggregate first, or  mean(x Wl^T) + x Wr^T + b
 *   GCN    y = (A x) W^T + b                    or  A (x W^T) + b
 *
 * The gradient of a layer's input takes the place of that input: ReLU and dropout need of it no
 * more than which elements are positive. */
#include "nn/model.h"
#include "nn/sparse.h"

#include <math.h>
#include <string.h>

/* ==== metrics ==== */

void og__metrics_add(struct og_metrics *sum, const struct og_metrics *part)
{
    sum->loss_sum += part->loss_sum;
    sum->counted += part->counted;
    sum->correct += part->correct;
    sum->true_positive += part->true_positive;
    sum->false_positive += part->false_positive;
    sum->false_negative += part->false_negative;
}

double og__metrics_loss(const struct og_metrics *m)
{
    return m->counted ? m->loss_sum / (double)m->counted : 0;
}

double og__metrics_acc(const struct og_metrics *m, bool multi_label)
{
    if (!multi_label)
        return m->counted ? (double)m->correct / (double)m->counted : 0;
    double right = 2 * (double)m->true_positive;
    double all = right + (double)m->false_positive + (double)m->false_negative;
    return all > 0 ? right / all : 0;
}

/* ==== forward ==== */

/* What a layer reads. */
static struct og_rows input_of(const struct og_model *m, int l, const struct og_rows *x)
{
    if (l == 0)
        return *x;
    return og__dense(m->work[l - 1].h, m->work[l].block->n_src, m->layer[l].n_in);
}

static struct og_input weighted(struct og_rows x, uint32_t n, const struct og_weight *w,
                                enum og__direction direction)
{
    return (struct og_input){.x = x, .n = n, .weight = w, .direction = direction};
}

static int multiply_sources(struct og_model *m, int l, struct og_rows in, struct og_err *err)
{
    struct og_layer_work *w = &m->work[l];
    struct og_affine op = {
        .rows = w->block->n_src, .cols = m->layer[l].n_out, .y = w->a, .n_inputs = 1};
    op.input[0] = weighted(in, w->block->n_src, &m->layer[l].neighbour, OG__FORWARD);
    return m->ops->affine(&m->backend, &op, err);
}

static int forward_layer(struct og_model *m, int l, struct og_rows in,
                         const struct og_dropout *dropout, bool keep, struct og_err *err)
{
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->work[l];
    uint32_t n = w->block->n_dst;
    bool gcn = m->config.kind == OG_MODEL_GCN;
    (gcn ? og__gcn_scale : og__mean_scale)(w->block, w->scale);
    struct og_sparse aggregation = og__aggregation(w->block, m->config.kind, w->scale);
    struct og_affine op = {.rows = n,
                           .cols = layer->n_out,
                           .y = w->h,
                           .bias = layer->bias_param->value,
                           .relu = l < m->config.layers - 1,
                           .dropout = dropout};
    if (w->transform_first) {
        OG_TRY(multiply_sources(m, l, in, err));
        op.plus_through = &aggregation;
        op.plus = og__dense(w->a, w->block->n_src, layer->n_out);
    } else {
        op.input[op.n_inputs] = weighted(in, n, &layer->neighbour, OG__FORWARD);
        op.input[op.n_inputs].through = &aggregation;
        op.input[op.n_inputs++].keep = keep ? w->a : NULL;
    }
    if (!gcn)
        op.input[op.n_inputs++] = weighted(in, n, &layer->self, OG__FORWARD);
    OG_TRY(m->ops->affine(&m->backend, &op, err));
out:
    return rc;
}

static int check_batch(const struct og_model *m, const struct og_batch *batch,
                       const struct og_rows *x, struct og_err *err)
{
    if (batch->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, a batch of %u hops",
                        m->config.layers, batch->n_hops);
    if (x->dim != m->config.in_dim)
        return og__fail(err, -EINVAL, "the checkpoint belongs to another dataset",
                        "model: made for features of width %d, these have %d", m->config.in_dim,
                        x->dim);
    if (x->n < batch->n_ids)
        return og__fail(err, -EINVAL, NULL, "model: %u feature rows for %u input nodes", x->n,
                        batch->n_ids);
    return 0;
}

static int pack_weights(struct og_model *m, struct og_err *err)
{
    struct og_weight *w[2 * OG_MAX_HOPS];
    size_t n = 0;
    for (int l = 0; l < m->config.layers; l++) {
        w[n++] = &m->layer[l].neighbour;
        if (m->config.kind == OG_MODEL_SAGE)
            w[n++] = &m->layer[l].self;
    }
    return m->ops->pack(&m->backend, w, n, err);
}

/* step NULL: no dropout, and nothing is kept for the way back. */
static int forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                   const struct og_step *step, struct og_err *err)
{
    int rc = 0;
    OG_TRY(check_batch(m, batch, x, err));
    OG_TRY(og__workspace_carve(m, batch, err));
    OG_TRY(pack_weights(m, err));
    for (int l = 0; l < m->config.layers; l++) {
        struct og_dropout d = {.p = m->config.dropout, .layer = (uint32_t)l};
        bool drop = step && d.p > 0 && l < m->config.layers - 1;
        if (drop)
            d.step = *step;
        OG_TRY(forward_layer(m, l, input_of(m, l, x), drop ? &d : NULL, step, err));
    }
out:
    return rc;
}

static void loss(struct og_model *m, const struct og_batch *batch, const void *labels, float *grad,
                 struct og_metrics *out)
{
    struct og_loss op = {.rows = batch->n_seeds,
                         .cols = m->config.n_classes,
                         .logits = og__model_logits(m),
                         .labels = labels,
                         .grad = grad,
                         .blocks = m->loss_blocks};
    if (m->config.multi_label)
        m->ops->sigmoid_loss(&m->backend, &op, out);
    else
        m->ops->softmax_loss(&m->backend, &op, out);
}

int og__model_forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                      const void *labels, struct og_metrics *out, struct og_err *err)
{
    int rc = forward(m, batch, x, NULL, err);
    if (rc == 0 && labels && out)
        loss(m, batch, labels, NULL, out);
    return rc;
}

const float *og__model_logits(const struct og_model *m)
{
    return m->work[m->config.layers - 1].h;
}

/* ==== backward ==== */

/* Gradients of a layer's weights from dy, and of the aggregate's if it was multiplied first. */
static int weight_gradients(struct og_model *m, int l, const float *dy, struct og_rows in,
                            const struct og_sparse *back, struct og_err *err)
{
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->work[l];
    struct og_weight_grad of_dy = {.rows = w->block->n_dst,
                                   .n_out = layer->n_out,
                                   .dy = dy,
                                   .bias_grad = layer->bias_param->grad};
    if (w->transform_first) {
        struct og_affine spread = {.rows = w->block->n_src,
                                   .cols = layer->n_out,
                                   .y = w->a,
                                   .plus_through = back,
                                   .plus = og__dense(dy, w->block->n_dst, layer->n_out)};
        struct og_weight_grad of_a = {.rows = w->block->n_src,
                                      .n_out = layer->n_out,
                                      .dy = w->a,
                                      .n_inputs = 1,
                                      .input = {in},
                                      .grad = {layer->neighbour_param->grad}};
        OG_TRY(m->ops->affine(&m->backend, &spread, err));
        OG_TRY(m->ops->weight_grad(&m->backend, &of_a, err));
    } else {
        of_dy.input[of_dy.n_inputs] = og__dense(w->a, w->block->n_dst, layer->n_in);
        of_dy.grad[of_dy.n_inputs++] = layer->neighbour_param->grad;
    }
    if (layer->self_param) {
        of_dy.input[of_dy.n_inputs] = in;
        of_dy.grad[of_dy.n_inputs++] = layer->self_param->grad;
    }
    OG_TRY(m->ops->weight_grad(&m->backend, &of_dy, err));
out:
    return rc;
}

/* The gradient before the previous layer's ReLU, in the place of its output. */
static int input_gradient(struct og_model *m, int l, const float *dy, const struct og_sparse *back,
                          float gate_scale, struct og_err *err)
{
    int rc = 0;
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->work[l];
    uint32_t n_dst = w->block->n_dst, n_src = w->block->n_src;
    struct og_rows dy_rows = og__dense(dy, n_dst, layer->n_out);
    struct og_affine op = {.rows = n_src,
                           .cols = layer->n_in,
                           .y = m->work[l - 1].h,
                           .gated = true,
                           .gate_scale = gate_scale};
    if (w->transform_first) {
        op.input[op.n_inputs++] =
            weighted(og__dense(w->a, n_src, layer->n_out), n_src, &layer->neighbour, OG__BACKWARD);
    } else {
        struct og_affine da = {.rows = n_dst, .cols = layer->n_in, .y = w->a, .n_inputs = 1};
        da.input[0] = weighted(dy_rows, n_dst, &layer->neighbour, OG__BACKWARD);
        OG_TRY(m->ops->affine(&m->backend, &da, err));
        op.plus_through = back;
        op.plus = og__dense(w->a, n_dst, layer->n_in);
    }
    if (layer->self_param)
        op.input[op.n_inputs++] = weighted(dy_rows, n_dst, &layer->self, OG__BACKWARD);
    OG_TRY(m->ops->affine(&m->backend, &op, err));
out:
    return rc;
}

static int backward_layer(struct og_model *m, int l, const struct og_rows *x, float gate_scale,
                          struct og_err *err)
{
    int rc = 0;
    struct og_layer_work *w = &m->work[l];
    const float *dy = l == m->config.layers - 1 ? m->dlogits : w->h;
    struct og_sparse back = {0};
    if (l > 0 || w->transform_first) {
        og__block_transpose(w->block, m->back_indptr, m->back_col);
        back =
            og__aggregation_back(w->block, m->config.kind, w->scale, m->back_indptr, m->back_col);
    }
    OG_TRY(weight_gradients(m, l, dy, input_of(m, l, x), &back, err));
    if (l > 0)
        OG_TRY(input_gradient(m, l, dy, &back, gate_scale, err));
out:
    return rc;
}

int og__model_gradients(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                        const void *labels, const struct og_step *step, struct og_metrics *out,
                        struct og_err *err)
{
    int rc = 0;
    float gate_scale = (float)(1 / (1 - m->config.dropout));
    if (!m->training) { /* reserved for forward passes, or not at all */
        m->training = true;
        og__arena_release(&m->workspace);
    }
    OG_TRY(forward(m, batch, x, step, err));
    loss(m, batch, labels, m->dlogits, out);
    for (int l = m->config.layers - 1; l >= 0; l--)
        OG_TRY(backward_layer(m, l, x, gate_scale, err));
out:
    return rc;
}

/* ==== update ==== */

void og__model_update(struct og_model *m, double lr, double weight_decay, uint64_t step)
{
    bool adam = m->optimizer == OG_OPTIMIZER_ADAM;
    double t = (double)step;
    for (size_t i = 0; i < m->n_params; i++) {
        struct og_param *p = &m->param[i];
        struct og_update op = {.n = og__param_count(p),
                               .value = p->value,
                               .m = p->m,
                               .v = p->v,
                               .grad = p->grad,
                               .rate = adam ? lr / (1 - pow(0.9, t)) : lr,
                               .root = adam ? sqrt(1 - pow(0.999, t)) : 1,
                               .weight_decay = weight_decay};
        (adam ? m->ops->adam : m->ops->sgd)(&m->backend, &op);
    }
}
