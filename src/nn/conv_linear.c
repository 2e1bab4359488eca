/* Convolutions that sum rows along the edges and multiply them.
 *
 *     GCN    y = (A x) W^T + b                              or  A (x W^T) + b. Between two types
 *            A has no loops, and its scales come with the block (relational.c)
 *     SAGE   y = mean(x) Wl^T + b + x Wr^T                  or  mean(x Wl^T) + b + x Wr^T
 *     GIN    y = relu(sum(x) W0^T + b0) W2^T + b2           or  relu(sum(x W0^T) + b0) W2^T + b2.
 *            The sums have (1 + eps) of the own row
 *
 * The stage up to the first bias is common to all; GIN's ends in t. If a relation's destinations
 * are apart from its sources, GIN's own rows are added to the aggregate before the product. */
#include "nn/conv_linear.h"

/* The aggregation along the edges. */
static struct og_sparse aggregation(const struct og_model *m, int l)
{
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_param *eps = m->layer[l].param[OG__EPS];
    struct og_sparse s = og__aggregation(w->block, og__aggregate_of(&m->config), w->scale);
    if (eps)
        s.eps = eps->value;
    if (m->config.apart)
        s.n_loops = 0;
    return s;
}

/* The own row's term alone: (1 + eps) of it. */
static struct og_sparse own_share(const struct og_model *m, int l)
{
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_sparse){.n_rows = w->block->n_dst,
                              .n_loops = w->block->n_dst,
                              .indptr = w->nothing,
                              .eps = m->layer[l].param[OG__EPS]->value};
}

/* Makes its lists empty. */
static int clear_lists(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    const size_t bytes = ((size_t)w->block->n_dst + 1) * sizeof(*w->nothing);
    return og__clear(m, w->nothing, bytes, err);
}

/* Adds aggregated messages and own rows that are apart, in a. */
static int sum_apart(struct og_model *m, int l, struct og_rows sources, struct og_rows own,
                     struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    const struct og_sparse along = aggregation(m, l);
    const struct og_sparse share = own_share(m, l);
    struct og_affine op = {.rows = w->block->n_dst,
                           .cols = m->layer[l].n_in,
                           .y = w->a,
                           .plus_through = &along,
                           .plus = sources};
    OG_DO(clear_lists(m, l, err));
    OG_DO(m->ops->affine(m->backend, &op, err));
    op.plus_through = &share;
    op.plus = own;
    op.add = true;
    return m->ops->affine(m->backend, &op, err);
}

static int aggregation_back(struct og_model *m, int l, struct og_sparse *out, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    int rc = og__transpose(m, l, err);
    *out = og__aggregation_back(w->block, og__aggregate_of(&m->config), w->scale, m->at.back_indptr,
                                m->at.back_col, m->at.back_edge);
    out->eps = aggregation(m, l).eps;
    if (m->config.apart)
        out->n_loops = 0;
    return rc;
}

/* ==== forward ==== */

/* GIN's second product, from t. */
int og__multiply_hidden(struct og_model *m, int l, struct og_rows own, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_dst;
    struct og_affine op = {.bias = layer->param[OG__OUT_BIAS]->value, .n_inputs = 1};
    op.input[0] =
        og__weighted(og__dense(w->t, n, layer->n_mid), n, &layer->weight[OG__OUT], OG__FORWARD);
    og__end_layer(m, l, own, &op);
    return m->ops->affine(m->backend, &op, err);
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_dst;
    bool perceptron = layer->param[OG__OUT];
    const struct og_scale scale = {w->block, og__aggregate_of(&m->config), w->scale};
    struct og_sparse through = aggregation(m, l);
    struct og_affine op = {.rows = n,
                           .cols = layer->n_mid,
                           .y = w->t,
                           .relu = true,
                           .bias = layer->param[OG__BIAS]->value};
    if (scale.kind != OG__BETWEEN)
        OG_DO(m->ops->scale(m->backend, &scale, err));
    if (w->transform_first) {
        op.plus_through = &through;
        op.plus = sources;
    } else {
        op.input[0] = og__weighted(sources, n, &layer->weight[OG__NEIGHBOUR], OG__FORWARD);
        op.input[0].through = &through;
        op.input[0].keep = keep ? w->a : NULL;
        op.n_inputs = 1;
    }
    if (w->nothing) {
        OG_DO(sum_apart(m, l, sources, own, err));
        op.input[0] = og__weighted(og__dense(w->a, n, layer->n_in), n,
                                   &layer->weight[OG__NEIGHBOUR], OG__FORWARD);
    }
    if (layer->param[OG__SELF])
        op.input[op.n_inputs++] = og__weighted(own, n, &layer->weight[OG__SELF], OG__FORWARD);
    if (!perceptron) {
        op.relu = false;
        og__end_layer(m, l, own, &op);
    }
    OG_DO(m->ops->affine(m->backend, &op, err));
    if (perceptron)
        OG_DO(og__multiply_hidden(m, l, own, err));
    return 0;
}

/* ==== backward ==== */

/* Backward pass of GIN's second product: its gradients, and in t the gradient before its ReLU. */
int og__hidden_gradient(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_dst;
    struct og_weight_grad grad = {.rows = n,
                                  .n_out = layer->n_out,
                                  .dy = dy,
                                  .n_inputs = 1,
                                  .input = {og__dense(w->t, n, layer->n_mid)},
                                  .grad = {layer->param[OG__OUT]->grad},
                                  .bias_grad = layer->param[OG__OUT_BIAS]->grad};
    struct og_affine back = {
        .rows = n, .cols = layer->n_mid, .y = w->t, .n_inputs = 1, .gated = true, .gate_scale = 1};
    back.input[0] =
        og__weighted(og__dense(dy, n, layer->n_out), n, &layer->weight[OG__OUT], OG__BACKWARD);
    int rc = m->ops->weight_grad(m->backend, &grad, err);
    return rc < 0 ? rc : m->ops->affine(m->backend, &back, err);
}

/* eps weights the own row; its gradient is that row times the gradient of the sum. */
static int eps_gradient(struct og_model *m, int l, const float *dsum, struct og_rows x,
                        struct og_err *err)
{
    const struct og_param *eps = m->layer[l].param[OG__EPS];
    struct og_dot op = {m->at.work[l].block->n_dst, dsum, x, eps ? eps->grad : NULL};
    return eps ? m->ops->dot(m->backend, &op, err) : 0;
}

/* Gradients of the stage's weights, with transform first; in a, the gradient of the products. */
static int gradients_of_products(struct og_model *m, int l, const float *dy, struct og_rows in,
                                 const struct og_sparse *back, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n_src = w->block->n_src;
    struct og_affine spread = {.rows = n_src,
                               .cols = layer->n_mid,
                               .y = w->a,
                               .plus_through = back,
                               .plus = og__dense(dy, w->block->n_dst, layer->n_mid)};
    struct og_weight_grad of_a = {.rows = n_src,
                                  .n_out = layer->n_mid,
                                  .dy = w->a,
                                  .n_inputs = 1,
                                  .input = {in},
                                  .grad = {layer->param[OG__NEIGHBOUR]->grad}};
    int rc;
    OG_TRY(eps_gradient(m, l, dy, og__dense(w->a, n_src, layer->n_mid), err));
    OG_TRY(m->ops->affine(m->backend, &spread, err));
out:
    return rc < 0 ? rc : m->ops->weight_grad(m->backend, &of_a, err);
}

/* Gradients of the destinations' weights, and of the bias. */
int og__gradients_of_rows(struct og_model *m, int l, const float *dy, struct og_rows own,
                          struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    struct og_weight_grad op = {.rows = w->block->n_dst,
                                .n_out = layer->n_mid,
                                .dy = dy,
                                .bias_grad = layer->param[OG__BIAS]->grad};
    if (!w->transform_first) {
        op.input[op.n_inputs] = og__dense(w->a, w->block->n_dst, layer->n_in);
        op.grad[op.n_inputs++] = layer->param[OG__NEIGHBOUR]->grad;
    }
    if (layer->param[OG__SELF]) {
        op.input[op.n_inputs] = own;
        op.grad[op.n_inputs++] = layer->param[OG__SELF]->grad;
    }
    return m->ops->weight_grad(m->backend, &op, err);
}

/* Gradient of the aggregate, in a, if the previous layer or eps requires it. */
int og__gradient_of_aggregate(struct og_model *m, int l, const float *dy, struct og_rows own,
                              struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_dst;
    struct og_affine op = {.rows = n, .cols = layer->n_in, .y = w->a, .n_inputs = 1};
    if (!m->ends->goes_back(m, l) && !layer->param[OG__EPS])
        return 0;
    op.input[0] = og__weighted(og__dense(dy, n, layer->n_mid), n, &layer->weight[OG__NEIGHBOUR],
                               OG__BACKWARD);
    int rc = m->ops->affine(m->backend, &op, err);
    return rc < 0 ? rc : eps_gradient(m, l, w->a, own, err);
}

/* Gradient of destinations that are separate: from their product, or their term of the sum. Here dy
 * is of the stage, a has the gradient of the sum, and t is free. */
int og__apart_gradient(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    struct og_affine op = {.n_inputs = 1};
    if (layer->param[OG__SELF]) {
        op.input[0] =
            og__weighted(og__dense(dy, n, layer->n_mid), n, &layer->weight[OG__SELF], OG__BACKWARD);
        return m->ends->own_gradient(m, l, &op, err);
    }
    if (!w->nothing)
        return 0;
    const struct og_sparse share = own_share(m, l);
    const struct og_affine of_own = {.rows = n,
                                     .cols = layer->n_in,
                                     .y = w->t,
                                     .plus_through = &share,
                                     .plus = og__dense(w->a, n, layer->n_in)};
    op.input[0] = og__weighted(og__dense(w->t, n, layer->n_in), n, NULL, OG__FORWARD);
    OG_DO(clear_lists(m, l, err));
    OG_DO(m->ops->affine(m->backend, &of_own, err));
    return m->ends->own_gradient(m, l, &op, err);
}

/* dy: of the stage; dlayer: of the layer, for the residual. */
static int stage_input_gradient(struct og_model *m, int l, const float *dy, const float *dlayer,
                                const struct og_sparse *back, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    uint32_t n_dst = w->block->n_dst, n_src = w->block->n_src;
    struct og_affine op = {0};
    if (w->transform_first) {
        op.input[op.n_inputs++] = og__weighted(og__dense(w->a, n_src, layer->n_mid), n_src,
                                               &layer->weight[OG__NEIGHBOUR], OG__BACKWARD);
    } else {
        op.plus_through = back;
        op.plus = og__dense(w->a, n_dst, layer->n_in);
    }
    if (layer->param[OG__SELF] && !m->config.apart)
        op.input[op.n_inputs++] = og__weighted(og__dense(dy, n_dst, layer->n_mid), n_dst,
                                               &layer->weight[OG__SELF], OG__BACKWARD);
    int rc = og__input_gradient(m, l, dlayer, &op, err);
    return rc < 0 || !m->config.apart ? rc : og__apart_gradient(m, l, dy, err);
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dlayer, struct og_err *err)
{
    const bool goes_back = m->ends->goes_back(m, l);
    int rc = 0;
    struct og_layer_work *w = &m->at.work[l];
    const float *dy = dlayer;
    struct og_sparse back = {0};
    if (goes_back || w->transform_first)
        OG_TRY(aggregation_back(m, l, &back, err));
    if (m->layer[l].param[OG__OUT]) {
        OG_TRY(og__hidden_gradient(m, l, dlayer, err));
        dy = w->t;
    }
    if (w->transform_first)
        OG_TRY(gradients_of_products(m, l, dy, in, &back, err));
    OG_TRY(og__gradients_of_rows(m, l, dy, own, err));
    if (!w->transform_first)
        OG_TRY(og__gradient_of_aggregate(m, l, dy, own, err));
    if (goes_back)
        OG_TRY(stage_input_gradient(m, l, dy, dlayer, &back, err));
out:
    return rc;
}

const struct og_conv_steps og__steps_linear = {og__multiply_sources, combine, backward};
