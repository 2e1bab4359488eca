/* Weighted means of x W^T along the edges, per head (ops.h). Hidden layers concatenate the heads,
 * the output layer averages them. Common parts, and GAT:
 *
 *     transform first   t = x W^T for every source;  y = attend(t) + b
 *     attend first      t = attend(x), a row of x per head;  y[h] = t[h] W[h]^T + b[h]
 *
 * Scores of the second need no product: (x W[h]^T) . att[h] = x . (att[h] W[h]). The factor in
 * parentheses, att folded through W, is the same for every row. The same holds for a relation's
 * destinations apart from its sources: their rows have their own matrix, which is used for scores
 * only. And for rows of edges: a row's score is e . (att_edge W_e). */
#include "nn/conv_attend.h"

#include "nn/conv_edges.h"

/* ==== common parts ==== */

int og__check_heads(const struct og_model_config *c, struct og_err *err)
{
    if (c->heads < 1 || c->heads > OG__MAX_HEADS)
        return og__fail(err, -EINVAL, NULL, "model: %d heads, 1 to %d expected", c->heads,
                        OG__MAX_HEADS);
    if (c->hidden % c->heads)
        return og__fail(err, -EINVAL, "use a --hidden that is a multiple of --heads",
                        "model: %d heads do not divide a width of %d", c->heads, c->hidden);
    return 0;
}

void og__add_attention(struct og_specs *s, const struct og_model_config *c, int l,
                       enum og__role role, const char *name)
{
    const int width = og__head_width(c, l);
    struct og_spec *att = og__add_vector(s, role, name, 1, og__glorot(c->heads, width));
    att->ndim = 3;
    att->shape[1] = c->heads;
    att->shape[2] = width;
}

struct og_attend og__attention(const struct og_model *m, int l, struct og_rows sources)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_attend){.block = w->block,
                              .heads = m->config.heads,
                              .width = og__head_width(&m->config, l),
                              .average = og__is_last(&m->config, l),
                              .apart = m->config.apart,
                              .z = sources,
                              .att_src = layer->param[OG__ATT_SRC]->value,
                              .bias = layer->param[OG__BIAS]->value,
                              .by_edge = w->by_edge,
                              .alpha = w->alpha,
                              .dropout = w->attention.p > 0 ? &w->attention : NULL,
                              .dropped = w->dscore}; /* until the backward pass requires it */
}

struct og_attend_back og__attention_back(const struct og_model *m, int l,
                                         const struct og_attend *forward, const float *dy)
{
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_attend_back){.forward = forward,
                                   .dy = dy,
                                   .indptr = m->at.back_indptr,
                                   .col = m->at.back_col,
                                   .edge = m->at.back_edge,
                                   .dscore = w->dscore,
                                   .dz = w->t,
                                   .datt_src = m->layer[l].param[OG__ATT_SRC]->grad};
}

int og__source_gradients(struct og_model *m, int l, struct og_rows in, const float *dy,
                         struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_param *source_bias = layer->param[OG__POOL_BIAS];
    struct og_weight_grad bias = {.rows = w->block->n_dst,
                                  .n_out = layer->n_out,
                                  .dy = dy,
                                  .bias_grad = layer->param[OG__BIAS]->grad};
    struct og_weight_grad grad = {.rows = w->block->n_src,
                                  .n_out = layer->n_mid,
                                  .dy = w->t,
                                  .n_inputs = 1,
                                  .input = {in},
                                  .grad = {layer->param[OG__NEIGHBOUR]->grad},
                                  .bias_grad = source_bias ? source_bias->grad : NULL};
    int rc = m->ops->weight_grad(m->backend, &bias, err);
    return rc < 0 ? rc : m->ops->weight_grad(m->backend, &grad, err);
}

int og__start_from_input(struct og_model *m, struct og_affine *end, struct og_err *err)
{
    if (end->n_inputs == 0)
        return 0;
    int rc = m->ops->affine(m->backend, end, err);
    end->add = true;
    return rc;
}

/* ==== GAT ==== */

/* Operands except for the end. */
static struct og_attend attention(const struct og_model *m, int l, struct og_rows sources)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    struct og_attend op = og__attention(m, l, sources);
    op.att_dst = layer->param[OG__ATT_DST]->value;
    op.score_src = w->score_src;
    op.score_dst = w->score_dst;
    if (w->transform_first)
        return op;
    op.shared = true;
    op.width = layer->n_in;
    op.att_src = w->fold[0];
    op.att_dst = w->fold[1];
    op.bias = NULL;
    return op;
}

enum side { SOURCES, DESTINATIONS, EDGES, SIDES };

static const enum og__role att_of[SIDES] = {OG__ATT_SRC, OG__ATT_DST, OG__ATT_EDGE};

static const struct og_param *matrix_of(const struct og_model *m, int l, enum side side)
{
    const bool own = side == DESTINATIONS && m->config.apart;
    return m->layer[l].param[side == EDGES ? OG__EDGE : own ? OG__SELF : OG__NEIGHBOUR];
}

/* Folding of the side's vectors through it. */
static struct og_fold folding(const struct og_model *m, int l, enum side side)
{
    const struct og_param *matrix = matrix_of(m, l, side);
    return (struct og_fold){.heads = m->config.heads,
                            .width = og__head_width(&m->config, l),
                            .n_in = (int)matrix->shape[1],
                            .att = m->layer[l].param[att_of[side]]->value,
                            .weight = matrix->value,
                            .out = m->at.work[l].fold[side]};
}

/* Whether scores of this side come from rows before the product. */
static bool folds(const struct og_model *m, int l, enum side side)
{
    if (side == EDGES)
        return og__folds_edges(&m->config);
    return (side == DESTINATIONS && m->config.apart) || !m->at.work[l].transform_first;
}

/* Columns of one head in rows of `heads` times as many. */
static struct og_rows head_rows(const float *x, uint32_t n, int heads, int width, int h)
{
    struct og_rows rows = og__dense(x + (size_t)h * (size_t)width, n, width);
    rows.stride *= (size_t)heads;
    return rows;
}

/* ==== forward ==== */

/* y of a hidden layer with attend first. */
static int multiply_heads(struct og_model *m, int l, const struct og_affine *end,
                          struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    int width = og__head_width(&m->config, l), rc = 0;
    uint32_t n = w->block->n_dst;
    for (int h = 0; h < m->config.heads; h++) {
        size_t first = (size_t)h * (size_t)width;
        struct og_affine op = {.rows = n,
                               .cols = width,
                               .y = end->y + first,
                               .ld = layer->n_out,
                               .add = end->add,
                               .bias = layer->param[OG__BIAS]->value + first,
                               .n_inputs = 1};
        op.input[0] = og__weighted(head_rows(w->t, n, m->config.heads, layer->n_in, h), n,
                                   &layer->head[h], OG__FORWARD);
        OG_TRY(m->ops->affine(m->backend, &op, err));
    }
out:
    return rc;
}

/* Scores of destinations that are apart. */
static int score_destinations(struct og_model *m, int l, struct og_rows own, struct og_err *err)
{
    struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    struct og_weight *folded = &layer->folded;
    struct og_affine op = {
        .rows = w->block->n_dst, .cols = m->config.heads, .y = w->score_dst, .n_inputs = 1};
    folded->value = w->fold[DESTINATIONS];
    OG_DO(m->ops->pack(m->backend, &folded, 1, err));
    op.input[0] = og__weighted(own, w->block->n_dst, folded, OG__FORWARD);
    return m->ops->affine(m->backend, &op, err);
}

static int score_edges(struct og_model *m, int l, struct og_err *err)
{
    struct og_weight *folded = &m->layer[l].folded_edge;
    int rc;
    folded->value = m->at.work[l].fold[EDGES];
    rc = m->ops->pack(m->backend, &folded, 1, err);
    return rc < 0 ? rc : og__multiply_edges(m, l, folded, NULL, err);
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    (void)keep;
    int rc;
    const struct og_layer_work *w = &m->at.work[l];
    struct og_attend attend = attention(m, l, sources);
    struct og_affine end = {0};
    og__end_layer(m, l, own, &end);
    OG_TRY(og__start_from_input(m, &end, err));
    for (enum side side = SOURCES; side < SIDES; side++) {
        struct og_fold fold;
        if (!folds(m, l, side))
            continue;
        fold = folding(m, l, side);
        OG_TRY(m->ops->fold(m->backend, &fold, err));
    }
    if (folds(m, l, EDGES))
        OG_TRY(score_edges(m, l, err));
    if (m->config.apart)
        OG_TRY(score_destinations(m, l, own, err));
    attend.y = w->transform_first ? end.y : w->t;
    attend.add = w->transform_first && end.add;
    OG_TRY(m->ops->attend(m->backend, &attend, err));
    if (!w->transform_first)
        OG_TRY(multiply_heads(m, l, &end, err));
out:
    return rc;
}

/* ==== backward ==== */

/* Gradients of the heads' matrices and, in t, of the attended rows. */
static int head_gradients(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    int heads = m->config.heads, width = og__head_width(&m->config, l), rc = 0;
    uint32_t n = w->block->n_dst;
    for (int h = 0; h < heads; h++) {
        size_t first = (size_t)h * (size_t)width;
        struct og_rows t = head_rows(w->t, n, heads, layer->n_in, h);
        struct og_weight_grad grad = {
            .rows = n,
            .n_out = width,
            .dy = dy + first,
            .ld = layer->n_out,
            .n_inputs = 1,
            .input = {t},
            .grad = {layer->param[OG__NEIGHBOUR]->grad + first * (size_t)layer->n_in},
            .bias_grad = layer->param[OG__BIAS]->grad + first};
        struct og_affine dt = {.rows = n,
                               .cols = layer->n_in,
                               .y = w->t + (size_t)h * (size_t)layer->n_in,
                               .ld = heads * layer->n_in,
                               .n_inputs = 1};
        dt.input[0] =
            og__weighted(head_rows(dy, n, heads, width, h), n, &layer->head[h], OG__BACKWARD);
        OG_TRY(m->ops->weight_grad(m->backend, &grad, err));
        OG_TRY(m->ops->affine(m->backend, &dt, err));
    }
out:
    return rc;
}

/* Gradient of the input, with transform first. */
static int multiply_back(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    uint32_t n = w->block->n_src;
    struct og_affine op = {.n_inputs = 1};
    op.input[0] = og__weighted(og__dense(w->t, n, layer->n_mid), n, &layer->weight[OG__NEIGHBOUR],
                               OG__BACKWARD);
    return og__input_gradient(m, l, dy, &op, err);
}

/* Gradients through the scores of destinations that are apart: of their rows and of their matrix.
 */
static int destination_gradients(struct og_model *m, int l, struct og_rows own, struct og_err *err)
{
    struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    const struct og_param *matrix = layer->param[OG__SELF];
    const struct og_weight_grad grad = {.rows = n,
                                        .n_out = m->config.heads,
                                        .dy = w->score_dst,
                                        .n_inputs = 1,
                                        .input = {own},
                                        .grad = {w->dfold[DESTINATIONS]}};
    struct og_affine op = {.n_inputs = 1};
    OG_DO(m->ops->weight_grad(m->backend, &grad, err));
    OG_DO(og__clear_grad(m, matrix, err)); /* folding adds to it */
    op.input[0] =
        og__weighted(og__dense(w->score_dst, n, m->config.heads), n, &layer->folded, OG__BACKWARD);
    if (m->ends->goes_back(m, l))
        OG_DO(m->ends->own_gradient(m, l, &op, err));
    return 0;
}

/* Gradients of edges' scores: of att_edge folded, and a matrix to which folding adds. */
static int edge_gradients(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    int rc = og__edge_gradients(m, l, w->dscore, w->dfold[EDGES], NULL, err);
    return rc < 0 ? rc : og__clear_grad(m, matrix_of(m, l, EDGES), err);
}

static int fold_gradients(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    for (enum side side = SOURCES; side < SIDES; side++) {
        struct og_fold fold;
        if (!folds(m, l, side))
            continue;
        fold = folding(m, l, side);
        const struct og_fold_back op = {&fold, w->dfold[side], matrix_of(m, l, side)->grad,
                                        m->layer[l].param[att_of[side]]->grad};
        OG_DO(m->ops->fold_back(m->backend, &op, err));
    }
    return 0;
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    const bool goes_back = m->ends->goes_back(m, l);
    const struct og_layer *layer = &m->layer[l];
    struct og_layer_work *w = &m->at.work[l];
    bool first = w->transform_first;
    struct og_rows sources = first ? og__dense(w->t, w->block->n_src, layer->n_mid) : in;
    struct og_attend attend = attention(m, l, sources);
    struct og_attend_back back = og__attention_back(m, l, &attend, dy);
    back.datt_dst = layer->param[OG__ATT_DST]->grad;
    if (!first) {
        back.dy = w->t;
        back.dz = goes_back ? og__input_slot(m, l) : NULL;
        back.datt_src = w->dfold[0];
        back.datt_dst = w->dfold[1];
        OG_DO(head_gradients(m, l, dy, err));
    }
    OG_DO(og__transpose(m, l, err));
    OG_DO(m->ops->attend_back(m->backend, &back, err));
    if (m->config.apart)
        OG_DO(destination_gradients(m, l, own, err));
    if (folds(m, l, EDGES))
        OG_DO(edge_gradients(m, l, err));
    OG_DO(fold_gradients(m, l, err));
    if (first)
        OG_DO(og__source_gradients(m, l, in, dy, err));
    if (goes_back)
        OG_DO(first ? multiply_back(m, l, dy, err) : og__end_input_slot(m, l, dy, err));
    return 0;
}

const struct og_conv_steps og__steps_attend = {og__multiply_sources, combine, backward};
