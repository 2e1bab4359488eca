/* A layer without its convolution: common parts of convolutions, and the layer's end.
 *
 * The gradient of a layer's input overwrites that input. If the previous layer ended with ReLU and
 * dropout, their derivative needs only which elements are positive. Other ends have stored what
 * they need. */
#include "nn/model.h"

#include <string.h>

/* ==== common parts of convolutions ==== */

struct og_input og__weighted(struct og_rows x, uint32_t n, const struct og_weight *w,
                             enum og__direction direction)
{
    return (struct og_input){.x = x, .n = n, .weight = w, .direction = direction};
}

int og__linear(struct og_model *m, const struct og_linear *of, struct og_rows x, uint32_t n,
               bool relu, float *y, struct og_err *err)
{
    const struct og_affine op = {.rows = n,
                                 .cols = of->weight.n_out,
                                 .y = y,
                                 .n_inputs = 1,
                                 .input = {og__weighted(x, n, &of->weight, OG__FORWARD)},
                                 .bias = of->bias->value,
                                 .relu = relu};
    return m->ops->affine(m->backend, &op, err);
}

int og__multiply_sources(struct og_model *m, int l, struct og_rows in, float *out,
                         struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const uint32_t n = m->at.work[l].block->n_src;
    const bool pools = layer->param[OG__POOL];
    const struct og_param *bias = layer->param[OG__POOL_BIAS];
    const struct og_weight *weight = &layer->weight[pools ? OG__POOL : OG__NEIGHBOUR];
    const struct og_affine op = {.rows = n,
                                 .cols = layer->n_mid,
                                 .y = out,
                                 .n_inputs = 1,
                                 .input = {og__weighted(in, n, weight, OG__FORWARD)},
                                 .bias = bias ? bias->value : NULL,
                                 .relu = pools};
    return m->ops->affine(m->backend, &op, err);
}

int og__linear_gradients(struct og_model *m, const struct og_linear *of, struct og_rows x,
                         uint32_t n, const float *dy, struct og_err *err)
{
    const struct og_weight_grad op = {.rows = n,
                                      .n_out = of->weight.n_out,
                                      .dy = dy,
                                      .n_inputs = 1,
                                      .input = {x},
                                      .grad = {of->param->grad},
                                      .bias_grad = of->bias->grad};
    return m->ops->weight_grad(m->backend, &op, err);
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

int og__clear(struct og_model *m, void *on_backend, size_t bytes, struct og_err *err)
{
    return bytes > 0 ? m->ops->clear(m->backend, on_backend, bytes, err) : 0;
}

int og__clear_grad(struct og_model *m, const struct og_param *p, struct og_err *err)
{
    return p->grad ? og__clear(m, p->grad, og__param_count(p) * sizeof(*p->grad), err) : 0;
}

int og__skip_gradient(struct og_model *m, int l, struct og_rows in, const float *dy,
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
    return m->ops->weight_grad(m->backend, &op, err);
}

int og__copy_rows(struct og_model *m, struct og_rows x, uint32_t n,
                  const struct og_dropout *dropout, float *to, struct og_err *err)
{
    const struct og_affine op = {.rows = n,
                                 .cols = x.dim,
                                 .y = to,
                                 .n_inputs = 1,
                                 .input = {og__weighted(x, n, NULL, OG__FORWARD)},
                                 .dropout = dropout};
    return m->ops->affine(m->backend, &op, err);
}

int og__row_gradients(struct og_model *m, const struct og_param *p, struct og_rows dx, uint32_t n,
                      const uint32_t *number, struct og_err *err)
{
    const bool repeats = m->caps.trees; /* nodes have several places */
    const struct og_put put = {.x = dx, .n = n, .place = number, .to = p->grad, .adds = repeats};
    const int rc = og__clear_grad(m, p, err);
    return rc < 0 || n == 0 ? rc : m->ops->put(m->backend, &put, err);
}

static bool goes_back(const struct og_model *m, int l)
{
    return l > 0 || og__trains_input(&m->config);
}

static int input_gradient(struct og_model *m, int l, const float *dy, struct og_affine *op,
                          struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    op->rows = w->block->n_src;
    op->cols = m->layer[l].n_in;
    op->y = l > 0 ? m->at.work[l - 1].h : m->at.djoined;
    op->gated = l > 0 && !og__finishes(&m->config, l - 1);
    op->gate_scale = (float)(1 / (1 - m->config.dropout));
    og__add_skip(m, l, og__dense(dy, w->block->n_dst, m->layer[l].n_out), OG__BACKWARD, op);
    return m->ops->affine(m->backend, op, err);
}

float *og__input_slot(const struct og_model *m, int l)
{
    if (m->at.dz)
        return m->at.dz;
    return l > 0 ? m->at.work[l - 1].h : NULL;
}

/* Adds the residual's part. */
static int add_skip_back(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    uint32_t n = m->at.work[l].block->n_dst;
    struct og_affine op = {.rows = n, .cols = layer->n_in, .y = m->at.work[l - 1].h, .add = true};
    if (!m->config.residual)
        return 0;
    og__add_skip(m, l, og__dense(dy, n, layer->n_out), OG__BACKWARD, &op);
    return m->ops->affine(m->backend, &op, err);
}

int og__end_input_slot(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const uint32_t n = m->at.work[l].block->n_src;
    struct og_affine op = {.n_inputs = 1};
    if (!m->at.dz)
        return add_skip_back(m, l, dy, err);
    op.input[0] = og__weighted(og__dense(m->at.dz, n, m->layer[l].n_in), n, NULL, OG__FORWARD);
    return og__input_gradient(m, l, dy, &op, err);
}

int og__transpose(struct og_model *m, int l, struct og_err *err)
{
    const struct og_workspace *at = &m->at;
    const struct og_transpose op = {at->work[l].block, at->back_indptr, at->back_col,
                                    at->back_edge};
    return m->ops->transpose(m->backend, &op, err);
}

/* ==== the end of a layer ==== */

static void end_layer(struct og_model *m, int l, struct og_rows in, struct og_affine *op)
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

const struct og_ends og__ends_of_layers = {
    .end = end_layer, .goes_back = goes_back, .input_gradient = input_gradient};

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
        .activation = og__conv_of(&m->config)->elu ? OG__ELU : OG__RELU,
        .unit = og__conv_of(&m->config)->unit,
        .dropout = w->dropout.p > 0 ? &w->dropout : NULL,
        .y = w->y ? w->y : w->h,
        .h = w->h,
    };
}

/* Computes mean, variance and rstd of the batch. */
static int take_moments(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_moments moments = {w->block->n_dst, layer->n_out, w->y, w->mean, w->var};
    const struct og_rstd rstd = {moments.cols, w->var, w->rstd};
    OG_DO(m->ops->moments(m->backend, &moments, err));
    return m->ops->rstd(m->backend, &rstd, err);
}

/* The model with memory for another model's statistics; a type's end uses its model's. */
static const struct og_model *lender(const struct og_model *m)
{
    return m->whole ? m->whole : m;
}

/* Copies from another model's backend to this one's. */
static int carry(struct og_model *m, float *on_backend, struct og_model *from, const float *here,
                 size_t n, struct og_err *err)
{
    enum { PIECE = 1024 };
    float piece[PIECE];
    for (size_t first = 0, some; first < n; first += some) {
        some = OG_MIN(n - first, (size_t)PIECE);
        OG_DO(og__model_fetch(from, piece, here + first, some * sizeof(*piece), err));
        OG_DO(og__model_push(m, on_backend + first, piece, some * sizeof(*piece), err));
    }
    return 0;
}

int og__track_layer(struct og_model *m, int l, struct og_model *from, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &from->at.work[l];
    const bool own = m == from;
    const size_t n = (size_t)layer->n_out;
    const struct og_track track = {w->block->n_dst,
                                   layer->n_out,
                                   own ? w->mean : lender(m)->mean,
                                   own ? w->var : lender(m)->var,
                                   layer->param[OG__NORM_MEAN]->value,
                                   layer->param[OG__NORM_VAR]->value,
                                   layer->param[OG__NORM_COUNT]->value};
    if (track.rows == 0) /* a type without nodes */
        return 0;
    if (!own) {
        OG_DO(carry(m, lender(m)->mean, from, w->mean, n, err));
        OG_DO(carry(m, lender(m)->var, from, w->var, n, err));
    }
    return m->ops->track(m->backend, &track, err);
}

/* | mean [n] | variance [n] | rows of the batch, a u32 | */
int og__fetch_moments(struct og_model *m, int l, float *out, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    const size_t n = (size_t)m->layer[l].n_out;
    OG_DO(og__model_fetch(m, out, w->mean, n * sizeof(*out), err));
    OG_DO(og__model_fetch(m, out + n, w->var, n * sizeof(*out), err));
    memcpy(out + 2 * n, &w->block->n_dst, sizeof(*out));
    return 0;
}

int og__track_moments(struct og_model *m, int l, const float *in, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const size_t n = (size_t)layer->n_out;
    struct og_track track = {.cols = layer->n_out,
                             .mean = lender(m)->mean,
                             .var = lender(m)->var,
                             .running_mean = layer->param[OG__NORM_MEAN]->value,
                             .running_var = layer->param[OG__NORM_VAR]->value,
                             .count = layer->param[OG__NORM_COUNT]->value};
    memcpy(&track.rows, in + 2 * n, sizeof(track.rows));
    if (track.rows == 0)
        return 0;
    OG_DO(og__model_push(m, lender(m)->mean, in, n * sizeof(*in), err));
    OG_DO(og__model_push(m, lender(m)->var, in + n, n * sizeof(*in), err));
    return m->ops->track(m->backend, &track, err);
}

int og__two_gradients(struct og_model *m, int l, const float *dy, enum og__role role,
                      struct og_rows dz, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n_src = w->block->n_src;
    struct og_affine op = {.n_inputs = 1};
    struct og_affine apart = {0};
    struct og_affine *own = m->config.apart ? &apart : &op;
    op.input[0] = og__weighted(og__dense(w->t, n_src, layer->n_mid), n_src, &layer->weight[role],
                               OG__BACKWARD);
    own->input[own->n_inputs++] = og__weighted(dz, dz.n, &layer->weight[OG__SELF], OG__BACKWARD);
    int rc = og__input_gradient(m, l, dy, &op, err);
    return rc < 0 || !m->config.apart ? rc : m->ends->own_gradient(m, l, &apart, err);
}

/* Uses the running statistics. */
static int recall_moments(struct og_model *m, int l, struct og_err *err)
{
    const struct og_rstd rstd = {m->layer[l].n_out, m->layer[l].param[OG__NORM_VAR]->value,
                                 m->at.work[l].rstd};
    return m->ops->rstd(m->backend, &rstd, err);
}

int og__finish_layer(struct og_model *m, int l, bool training, struct og_err *err)
{
    int rc = 0;
    if (m->config.norm == OG_NORM_BATCH)
        rc = training ? take_moments(m, l, err) : recall_moments(m, l, err);
    struct og_finish op = finish_of(m, l);
    if (op.norm == OG_NORM_BATCH && !training)
        op.mean = m->layer[l].param[OG__NORM_MEAN]->value;
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
