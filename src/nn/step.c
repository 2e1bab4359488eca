/* One batch through a model: forward, loss, backward, update.
 *
 * The gradient of a layer's input takes the place of that input. Where the layer before ended in a
 * ReLU and dropout, their slope needs of it no more than which elements are positive; other ends
 * have kept what they need. */
#include "nn/model.h"

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
    sum->compared += part->compared;
    sum->twice_ordered += part->twice_ordered;
    sum->ranked += part->ranked;
    for (int k = 0; k < OG__HITS; k++)
        sum->hits[k] += part->hits[k];
    sum->reciprocal_ranks += part->reciprocal_ranks;
    sum->values += part->values;
    sum->absolute += part->absolute;
    sum->squared += part->squared;
    sum->value_sum += part->value_sum;
    sum->value_squares += part->value_squares;
}

double og__metrics_loss(const struct og_metrics *m)
{
    return m->counted ? m->loss_sum / (double)m->counted : 0;
}

double og__metrics_r2(const struct og_metrics *m)
{
    double n = (double)m->values;
    double spread = n > 0 ? m->value_squares - m->value_sum * m->value_sum / n : 0;
    return spread > 0 ? 1 - m->squared / spread : 0;
}

double og__metrics_acc(const struct og_metrics *m, const struct og_model_config *config)
{
    if (config->task == OG_TASK_REGRESSION)
        return og__metrics_r2(m);
    if (config->task == OG_TASK_LINK)
        return m->compared ? (double)m->twice_ordered / (2 * (double)m->compared) : 0;
    if (!config->multi_label)
        return m->counted ? (double)m->correct / (double)m->counted : 0;
    double right = 2 * (double)m->true_positive;
    double all = right + (double)m->false_positive + (double)m->false_negative;
    return all > 0 ? right / all : 0;
}

/* ==== what convolutions are made with ==== */

struct og_input og__weighted(struct og_rows x, uint32_t n, const struct og_weight *w,
                             enum og__direction direction)
{
    return (struct og_input){.x = x, .n = n, .weight = w, .direction = direction};
}

void og__add_skip(struct og_model *m, int l, struct og_rows x, enum og__direction direction,
                  struct og_affine *op)
{
    const struct og_layer *layer = &m->layer[l];
    if (!m->config.residual)
        return;
    const struct og_weight *w = layer->param[OG__SKIP] ? &layer->weight[OG__SKIP] : NULL;
    op->input[op->n_inputs++] = og__weighted(x, m->at.work[l].block->n_dst, w, direction);
}

void og__end_layer(struct og_model *m, int l, struct og_rows in, struct og_affine *op)
{
    struct og_layer_work *w = &m->at.work[l];
    op->rows = w->block->n_dst;
    op->cols = m->layer[l].n_out;
    og__add_skip(m, l, in, OG__FORWARD, op);
    if (og__finishes(&m->config, l)) {
        op->y = w->y;
        return;
    }
    op->y = w->h;
    op->relu = !og__is_last(&m->config, l);
    op->dropout = w->dropout.p > 0 ? &w->dropout : NULL;
}

int og__input_gradient(struct og_model *m, int l, const float *dy, struct og_affine *op,
                       struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    op->rows = w->block->n_src;
    op->cols = m->layer[l].n_in;
    op->y = m->at.work[l - 1].h;
    op->gated = !og__finishes(&m->config, l - 1);
    op->gate_scale = (float)(1 / (1 - m->config.dropout));
    og__add_skip(m, l, og__dense(dy, w->block->n_dst, m->layer[l].n_out), OG__BACKWARD, op);
    return m->ops->affine(&m->backend, op, err);
}

void og__transpose(struct og_model *m, int l)
{
    struct og_workspace *at = &m->at;
    og__block_transpose(at->work[l].block, at->back_indptr, at->back_col, at->back_edge);
}

const struct og_conv *og__conv_of(const struct og_model_config *c)
{
    if (c->kind == OG_MODEL_GAT)
        return &og__conv_attend;
    return og__pools(c) ? &og__conv_pool : &og__conv_linear;
}

/* ==== the end of a layer ==== */

static struct og_finish finish_of(const struct og_model *m, int l)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_param *weight = layer->param[OG__NORM_WEIGHT],
                          *bias = layer->param[OG__NORM_BIAS];
    return (struct og_finish){
        .rows = w->block->n_dst,
        .cols = layer->n_out,
        .norm = m->config.norm,
        .weight = weight ? weight->value : NULL,
        .bias = bias ? bias->value : NULL,
        .mean = w->mean,
        .rstd = w->rstd,
        .activation = m->config.kind == OG_MODEL_GAT ? OG__ELU : OG__RELU,
        .unit = m->config.kind == OG_MODEL_PINSAGE,
        .dropout = w->dropout.p > 0 ? &w->dropout : NULL,
        .y = w->y,
        .h = w->h,
    };
}

/* As PyTorch's BatchNorm1d: a tenth of each batch, with its variance over n - 1. */
static void track_moments(struct og_layer *layer, const float *mean, const float *var,
                          uint32_t rows)
{
    const float momentum = 0.1f, unbiased = (float)rows / (float)OG_MAX(rows - 1, 1u);
    float *running_mean = layer->param[OG__NORM_MEAN]->value;
    float *running_var = layer->param[OG__NORM_VAR]->value;
    for (int j = 0; j < layer->n_out; j++) {
        running_mean[j] += momentum * (mean[j] - running_mean[j]);
        running_var[j] += momentum * (unbiased * var[j] - running_var[j]);
    }
    layer->param[OG__NORM_COUNT]->value[0]++;
}

/* Mean and rstd of the batch in training, else the running ones. */
static void take_moments(struct og_model *m, int l, bool training)
{
    struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    size_t n = (size_t)layer->n_out;
    if (training) {
        struct og_moments op = {w->block->n_dst, layer->n_out, w->y, w->mean, w->rstd};
        m->ops->moments(&m->backend, &op);
        track_moments(layer, w->mean, w->rstd, w->block->n_dst);
    } else {
        memcpy(w->mean, layer->param[OG__NORM_MEAN]->value, n * sizeof(float));
        memcpy(w->rstd, layer->param[OG__NORM_VAR]->value, n * sizeof(float));
    }
    for (size_t j = 0; j < n; j++)
        w->rstd[j] = 1 / sqrtf(w->rstd[j] + OG__NORM_EPS);
}

void og__finish_layer(struct og_model *m, int l, bool training)
{
    if (m->config.norm == OG_NORM_BATCH)
        take_moments(m, l, training);
    struct og_finish op = finish_of(m, l);
    m->ops->finish(&m->backend, &op);
}

static void finish_back(struct og_model *m, int l)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_finish forward = finish_of(m, l);
    struct og_finish_back op = {.forward = &forward, .g = m->at.work[l].h};
    if (m->config.norm != OG_NORM_NONE) {
        op.dweight = layer->param[OG__NORM_WEIGHT]->grad;
        op.dbias = layer->param[OG__NORM_BIAS]->grad;
    }
    m->ops->finish_back(&m->backend, &op);
}

/* ==== forward ==== */

/* What a layer reads. */
static struct og_rows input_of(const struct og_model *m, int l)
{
    if (l == 0)
        return m->at.input;
    return og__dense(m->at.work[l - 1].h, m->at.work[l].block->n_src, m->layer[l].n_in);
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

int og__pack_weights(struct og_model *m, struct og_err *err)
{
    int rc = 0;
    struct og_weight *w[OG__ROLES + OG__MAX_HEADS];
    for (int l = 0; rc == 0 && l < m->config.layers; l++) {
        struct og_layer *layer = &m->layer[l];
        size_t n = 0;
        for (int role = 0; role < OG__ROLES; role++)
            if (layer->weight[role].value)
                w[n++] = &layer->weight[role];
        for (int h = 0; h < OG__MAX_HEADS && layer->head[h].value; h++)
            w[n++] = &layer->head[h];
        rc = m->ops->pack(&m->backend, w, n, err);
    }
    struct og_weight *decoder[] = {&m->decoder.weight[0], &m->decoder.weight[1]};
    if (rc == 0 && decoder[0]->value)
        rc = m->ops->pack(&m->backend, decoder, OG_COUNT(decoder), err);
    return rc;
}

static int convolve(struct og_model *m, int l, struct og_rows in, bool keep, struct og_err *err)
{
    const struct og_conv *conv = og__conv_of(&m->config);
    const struct og_layer_work *w = &m->at.work[l];
    struct og_rows sources = in;
    if (w->transform_first) {
        float *made = conv == &og__conv_linear ? w->a : w->t;
        int rc = conv->multiply(m, l, in, made, err);
        if (rc < 0)
            return rc;
        sources = og__dense(made, w->block->n_src, m->layer[l].n_mid);
    }
    return conv->combine(m, l, sources, in, keep, err);
}

/* Dropout has a layer of its own wherever it is: rows have the same numbers in all. */
enum { ATTENTION_LAYERS = OG_MAX_HOPS, INPUT_LAYER = 2 * OG_MAX_HOPS };

static void key_dropout(struct og_model *m, const struct og_step *step)
{
    const struct og_model_config *c = &m->config;
    for (int l = 0; l < c->layers; l++) {
        struct og_layer_work *w = &m->at.work[l];
        uint32_t layer = (uint32_t)l;
        if (!og__is_last(c, l))
            w->dropout = (struct og_dropout){c->dropout, *step, layer};
        w->attention = (struct og_dropout){c->attention_dropout, *step, ATTENTION_LAYERS + layer};
    }
}

/* The features, through dropout in training: then as f32, since every row is read more than once.
 */
static int take_input(struct og_model *m, const struct og_rows *x, const struct og_step *step,
                      struct og_err *err)
{
    m->at.input = *x;
    if (!step || !m->at.dropped)
        return 0;
    uint32_t n = m->at.work[0].block->n_src;
    const struct og_dropout dropout = {m->config.input_dropout, *step, INPUT_LAYER};
    struct og_affine op = {.rows = n,
                           .cols = x->dim,
                           .y = m->at.dropped,
                           .n_inputs = 1,
                           .input = {og__weighted(*x, n, NULL, OG__FORWARD)},
                           .dropout = &dropout};
    m->at.input = og__dense(m->at.dropped, n, x->dim);
    return m->ops->affine(&m->backend, &op, err);
}

/* step NULL: no dropout, running statistics, and nothing is kept for the way back. */
static int forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                   const struct og_pairs *pairs, const struct og_step *step, struct og_err *err)
{
    int rc = 0;
    OG_TRY(check_batch(m, batch, x, err));
    OG_TRY(og__workspace_carve(m, batch, pairs, err));
    OG_TRY(og__pack_weights(m, err));
    if (step)
        key_dropout(m, step);
    OG_TRY(take_input(m, x, step, err));
    for (int l = 0; l < m->config.layers; l++) {
        OG_TRY(convolve(m, l, input_of(m, l), step, err));
        if (og__finishes(&m->config, l))
            og__finish_layer(m, l, step);
    }
out:
    return rc;
}

void og__model_loss(struct og_model *m, const float *logits, const void *labels, uint32_t n,
                    float *grad, struct og_metrics *out)
{
    struct og_loss op = {.rows = n,
                         .cols = m->config.n_classes,
                         .logits = logits,
                         .labels = labels,
                         .grad = grad,
                         .blocks = m->at.loss_blocks};
    struct og_value_loss values = {op, m->config.loss == OG_LOSS_MAE};
    if (m->config.task == OG_TASK_REGRESSION)
        m->ops->value_loss(&m->backend, &values, out);
    else if (m->config.multi_label)
        m->ops->sigmoid_loss(&m->backend, &op, out);
    else
        m->ops->softmax_loss(&m->backend, &op, out);
}

int og__model_forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                      const void *labels, struct og_metrics *out, struct og_err *err)
{
    const struct og_pairs *pairs = m->config.task == OG_TASK_LINK ? labels : NULL;
    int rc = forward(m, batch, x, pairs, NULL, err);
    if (rc == 0 && pairs && out)
        return og__links_forward(m, pairs, out, err);
    if (rc == 0 && labels && out)
        og__model_loss(m, og__model_logits(m), labels, batch->n_seeds, NULL, out);
    return rc;
}

const float *og__model_logits(const struct og_model *m)
{
    return m->at.work[m->config.layers - 1].h;
}

/* ==== backward ==== */

static int skip_gradient(struct og_model *m, int l, struct og_rows in, const float *dy,
                         struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    if (!layer->param[OG__SKIP])
        return 0;
    struct og_weight_grad op = {.rows = m->at.work[l].block->n_dst,
                                .n_out = layer->n_out,
                                .dy = dy,
                                .n_inputs = 1,
                                .input = {in},
                                .grad = {layer->param[OG__SKIP]->grad}};
    return m->ops->weight_grad(&m->backend, &op, err);
}

static int backward_layer(struct og_model *m, int l, struct og_err *err)
{
    const float *dy = og__is_last(&m->config, l) ? m->at.dlogits : m->at.work[l].h;
    if (og__finishes(&m->config, l))
        finish_back(m, l);
    struct og_rows in = input_of(m, l);
    int rc = skip_gradient(m, l, in, dy, err); /* before the input gives way to its gradient */
    return rc < 0 ? rc : og__conv_of(&m->config)->backward(m, l, in, dy, err);
}

int og__model_gradients(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                        const void *labels, const struct og_step *step, struct og_metrics *out,
                        struct og_err *err)
{
    int rc = 0;
    if (!m->training) { /* reserved for forward passes, or not at all */
        m->training = true;
        og__arena_release(&m->workspace);
    }
    const struct og_pairs *pairs = m->config.task == OG_TASK_LINK ? labels : NULL;
    OG_TRY(forward(m, batch, x, pairs, step, err));
    if (pairs)
        OG_TRY(og__links_gradients(m, pairs, out, err));
    else
        og__model_loss(m, og__model_logits(m), labels, batch->n_seeds, m->at.dlogits, out);
    for (int l = m->config.layers - 1; l >= 0; l--)
        OG_TRY(backward_layer(m, l, err));
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
        if (!p->grad)
            continue;
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
