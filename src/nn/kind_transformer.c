/* Transformer convolution (Shi et al. 2021): attention by dot products of queries and keys.
 *
 *     t = | x Wk^T + bk | x Wv^T + bv |,  z_dst = x_v Wq^T + bq
 *
 *     alpha = softmax of z_dst_v . (k_u + e We^T) / sqrt(C)
 *
 *     y = sum of alpha (v_u + e We^T), + x_v Ws^T + bs
 *
 * Per head, without loops. Hidden layers concatenate the heads, the output layer averages them. */
#include "nn/conv_attend.h"
#include "nn/conv_edges.h"

/* ==== parameters and memory of a layer ==== */

static int keys_and_values(const struct og_model_config *c, int l)
{
    return 2 * og__all_heads(c, l);
}

static void suballoc_scores(const struct og_model_config *c, int l, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w)
{
    w->z_dst = og__suballoc_floats(arena, b->n_dst, og__all_heads(c, l));
    if (training)
        w->dz_dst = og__suballoc_floats(arena, b->n_dst, og__all_heads(c, l));
}

static void add_linear_of(struct og_specs *s, enum og__role role, enum og__role bias,
                          const char *names[2], int n_out, int n_in)
{
    og__add_matrix(s, role, names[0], n_out, n_in, og__by_fan_in(n_in));
    og__add_vector(s, bias, names[1], n_out, og__by_fan_in(n_in));
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), own = og__layer_own(c, l), all = og__all_heads(c, l);
    const char *key[] = {"lin_key.weight", "lin_key.bias"};
    const char *query[] = {"lin_query.weight", "lin_query.bias"};
    const char *value[] = {"lin_value.weight", "lin_value.bias"};
    const char *skip[] = {"lin_skip.weight", "lin_skip.bias"};
    add_linear_of(s, OG__NEIGHBOUR, OG__POOL_BIAS, key, all, in);
    add_linear_of(s, OG__QUERY, OG__QUERY_BIAS, query, all, own);
    add_linear_of(s, OG__VALUE, OG__VALUE_BIAS, value, all, in);
    if (og__sees_edges(c))
        og__add_matrix(s, OG__EDGE, "lin_edge.weight", all, c->edge_dim,
                       og__by_fan_in(c->edge_dim));
    add_linear_of(s, OG__SELF, OG__BIAS, skip, og__layer_out(c, l), own);
}

/* The columns of heads, F wide, of keys or values in rows of both. */
static struct og_rows part_of_sources(const float *t, uint32_t n, int wide)
{
    struct og_rows rows = og__dense(t, n, wide);
    rows.stride *= 2;
    return rows;
}

static struct og_dots dots_of(const struct og_model *m, int l, struct og_rows sources)
{
    const struct og_layer_work *w = &m->at.work[l];
    return (struct og_dots){.block = w->block,
                            .heads = m->config.heads,
                            .width = og__head_width(&m->config, l),
                            .average = og__is_last(&m->config, l),
                            .add = true,
                            .z = sources,
                            .query = w->z_dst,
                            .by_edge = w->by_edge,
                            .alpha = w->alpha,
                            .dropout = w->attention.p > 0 ? &w->attention : NULL,
                            .dropped = w->dscore};
}

/* ==== forward ==== */

static int multiply(struct og_model *m, int l, struct og_rows in, float *out, struct og_err *err)
{
    static const enum og__role roles[2][2] = {{OG__NEIGHBOUR, OG__POOL_BIAS},
                                              {OG__VALUE, OG__VALUE_BIAS}};
    const struct og_layer *layer = &m->layer[l];
    const uint32_t n = m->at.work[l].block->n_src;
    const int all = layer->n_mid / 2;
    for (int i = 0; i < 2; i++) {
        const struct og_affine op = {
            .rows = n,
            .cols = all,
            .y = out + (size_t)i * (size_t)all,
            .ld = layer->n_mid,
            .bias = layer->param[roles[i][1]]->value,
            .n_inputs = 1,
            .input = {og__weighted(in, n, &layer->weight[roles[i][0]], OG__FORWARD)}};
        OG_DO(m->ops->affine(m->backend, &op, err));
    }
    return 0;
}

/* Writes the product of the own rows, and the residual, to the layer's output. */
static int begin_output(struct og_model *m, int l, struct og_rows own, float **y,
                        struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const uint32_t n = m->at.work[l].block->n_dst;
    struct og_affine op = {.bias = layer->param[OG__BIAS]->value,
                           .n_inputs = 1,
                           .input = {og__weighted(own, n, &layer->weight[OG__SELF], OG__FORWARD)}};
    og__end_layer(m, l, own, &op);
    *y = op.y;
    return m->ops->affine(m->backend, &op, err);
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    (void)keep;
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n = w->block->n_dst;
    const struct og_affine queries = {
        .rows = n,
        .cols = layer->n_mid / 2,
        .y = w->z_dst,
        .bias = layer->param[OG__QUERY_BIAS]->value,
        .n_inputs = 1,
        .input = {og__weighted(own, n, &layer->weight[OG__QUERY], OG__FORWARD)}};
    struct og_dots dots = dots_of(m, l, sources);
    OG_DO(begin_output(m, l, own, &dots.y, err));
    OG_DO(m->ops->affine(m->backend, &queries, err));
    if (og__sees_edges(&m->config))
        OG_DO(og__multiply_edges(m, l, &layer->weight[OG__EDGE], NULL, err));
    return m->ops->dots(m->backend, &dots, err);
}

/* ==== backward ==== */

/* Gradients of a matrix and its bias, from that of their product. ld: of rows of dy. */
static int linear_gradients(struct og_model *m, int l, enum og__role role, enum og__role bias,
                            const float *dy, int ld, struct og_rows x, uint32_t n,
                            struct og_err *err)
{
    const struct og_param *const *param = (const struct og_param *const *)m->layer[l].param;
    const struct og_weight_grad op = {.rows = n,
                                      .n_out = (int)param[role]->shape[0],
                                      .dy = dy,
                                      .ld = ld,
                                      .n_inputs = 1,
                                      .input = {x},
                                      .grad = {param[role]->grad},
                                      .bias_grad = param[bias]->grad};
    return m->ops->weight_grad(m->backend, &op, err);
}

static int gradients(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                     const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n_src = w->block->n_src, n_dst = w->block->n_dst;
    const int both = layer->n_mid, all = both / 2;
    OG_DO(linear_gradients(m, l, OG__NEIGHBOUR, OG__POOL_BIAS, w->t, both, in, n_src, err));
    OG_DO(linear_gradients(m, l, OG__VALUE, OG__VALUE_BIAS, w->t + all, both, in, n_src, err));
    OG_DO(linear_gradients(m, l, OG__QUERY, OG__QUERY_BIAS, w->dz_dst, all, own, n_dst, err));
    OG_DO(linear_gradients(m, l, OG__SELF, OG__BIAS, dy, layer->n_out, own, n_dst, err));
    if (og__sees_edges(&m->config))
        OG_DO(og__edge_gradients(m, l, w->by_edge, layer->param[OG__EDGE]->grad, NULL, err));
    return 0;
}

/* Gradients of the input rows. Own rows have queries and a product of their own. */
static int rows_back(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t n_src = w->block->n_src, n_dst = w->block->n_dst;
    const int all = layer->n_mid / 2;
    struct og_affine op = {0}, apart = {0};
    struct og_affine *own = m->config.apart ? &apart : &op;
    op.input[op.n_inputs++] = og__weighted(part_of_sources(w->t, n_src, all), n_src,
                                           &layer->weight[OG__NEIGHBOUR], OG__BACKWARD);
    op.input[op.n_inputs++] = og__weighted(part_of_sources(w->t + all, n_src, all), n_src,
                                           &layer->weight[OG__VALUE], OG__BACKWARD);
    own->input[own->n_inputs++] = og__weighted(og__dense(w->dz_dst, n_dst, all), n_dst,
                                               &layer->weight[OG__QUERY], OG__BACKWARD);
    own->input[own->n_inputs++] = og__weighted(og__dense(dy, n_dst, layer->n_out), n_dst,
                                               &layer->weight[OG__SELF], OG__BACKWARD);
    const int rc = og__input_gradient(m, l, dy, &op, err);
    return rc < 0 || !m->config.apart ? rc : m->ends->own_gradient(m, l, &apart, err);
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_dots dots = dots_of(m, l, og__dense(w->t, w->block->n_src, m->layer[l].n_mid));
    const struct og_dots_back back = {.forward = &dots,
                                      .dy = dy,
                                      .indptr = m->at.back_indptr,
                                      .col = m->at.back_col,
                                      .edge = m->at.back_edge,
                                      .dscore = w->dscore,
                                      .dz = w->t,
                                      .dquery = w->dz_dst};
    OG_DO(og__transpose(m, l, err));
    OG_DO(m->ops->dots_back(m->backend, &back, err));
    OG_DO(gradients(m, l, in, own, dy, err));
    if (m->ends->goes_back(m, l))
        OG_DO(rows_back(m, l, dy, err));
    return 0;
}

/* ==== the convolution ==== */

static const struct og_conv_steps steps = {multiply, combine, backward};
static const char *const marks[] = {"lin_key.weight", "lin_query.weight", "lin_value.weight", NULL};
static const char *const parameters[] = {"heads", "attention-dropout", "edge-features", NULL};

const struct og_conv og__conv_transformer = {
    .steps = &steps,
    .aggregate = OG__MEAN, /* unused */
    .attends = true,
    .has_self = true,
    .by_relation = true,
    .finishes = true,
    .needs_dots = true,
    .edge_cols = og__all_heads,
    .mid = keys_and_values,
    .suballoc_scores = suballoc_scores,
    .check = og__check_heads,
    .list = list,
    .names = {.marks = marks,
              .first = "lin_key.weight",
              .last = "lin_skip.weight",
              .heads_of_rows = true,
              .edge = "lin_edge.weight"},
    .parameters = parameters,
};
