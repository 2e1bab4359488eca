/* A layer but for its convolution: what convolutions are made with, and the layer's end.
 *
 * The gradient of a layer's input takes the place of that input. Where the layer before ended in a
 * ReLU and dropout, their slope needs of it no more than which elements are positive; other ends
 * have kept what they need. */
#include "nn/model.h"

#include <math.h>
#include <string.h>

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
    return m->ops->affine(m->backend, op, err);
}

void og__transpose(struct og_model *m, int l)
{
    struct og_workspace *at = &m->at;
    og__block_transpose(at->work[l].block, at->back_indptr, at->back_col, at->back_edge);
}

/* ==== the end of a layer ==== */

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
static int take_moments(struct og_model *m, int l, bool training, struct og_err *err)
{
    struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    size_t n = (size_t)layer->n_out;
    if (training) {
        struct og_moments op = {w->block->n_dst, layer->n_out, w->y, w->mean, w->rstd};
        int rc = m->ops->moments(m->backend, &op, err);
        if (rc < 0)
            return rc;
        track_moments(layer, w->mean, w->rstd, w->block->n_dst);
    } else {
        memcpy(w->mean, layer->param[OG__NORM_MEAN]->value, n * sizeof(float));
        memcpy(w->rstd, layer->param[OG__NORM_VAR]->value, n * sizeof(float));
    }
    for (size_t j = 0; j < n; j++)
        w->rstd[j] = 1 / sqrtf(w->rstd[j] + OG__NORM_EPS);
    return 0;
}

int og__finish_layer(struct og_model *m, int l, bool training, struct og_err *err)
{
    int rc = m->config.norm == OG_NORM_BATCH ? take_moments(m, l, training, err) : 0;
    struct og_finish op = finish_of(m, l);
    return rc < 0 ? rc : m->ops->finish(m->backend, &op, err);
}

int og__finish_layer_back(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_finish forward = finish_of(m, l);
    struct og_finish_back op = {.forward = &forward, .g = m->at.work[l].h};
    if (m->config.norm != OG_NORM_NONE) {
        op.dweight = layer->param[OG__NORM_WEIGHT]->grad;
        op.dbias = layer->param[OG__NORM_BIAS]->grad;
    }
    return m->ops->finish_back(m->backend, &op, err);
}
