/* Convolutions with a matrix per relation, on the edges of all of them (R-GCN):
 *
 *     y_v = root x_v + bias + sum over r of W_r (mean of x_u over v's sampled neighbours u by r)
 *
 *     x ──mean──> a ──W_r, relation by relation──> t ──sum──> y
 *        edges      [lists, F_in]                    [lists, F_out]  [D, F_out]
 *
 * A block has a list for each destination and relation with edges (sample/batch.h). So aggregation
 * is one operator for all relations, one row per list is multiplied, and empty lists cost nothing.
 * The lists of a relation are consecutive.
 *
 * With bases W_r is sum over b of comp[r, b] V_b. The matrices of a few relations are computed at a
 * time, so memory does not grow with the number of relations. The bases are read once for them. If
 * there are few bases, coefficients are applied along the edges instead (conv_blended.c). */
#include "nn/conv_mixed.h"

#include <string.h>

enum { AT_A_TIME = OG__MOST_MIXED };

/* ==== memory ==== */

static struct og_blend_edges suballoc_edges(struct og_arena *arena, uint32_t rows, uint64_t n)
{
    struct og_blend_edges e = {.n_rows = rows};
    e.first = og__suballoc(arena, ((size_t)rows + 1) * sizeof(*e.first));
    e.edge = og__suballoc(arena, (size_t)n * sizeof(*e.edge));
    return e;
}

void og__suballoc_mixed_layer(const struct og_model_config *c, int l, const struct og_block *b,
                              struct og_arena *arena, struct og_layer_work *w)
{
    w->blends = og__blends(c, l, b);
    w->scale = og__suballoc_floats(arena, b->n_lists, 1);
    if (og__may_blend(c, l))
        w->edges = suballoc_edges(arena, b->n_dst, b->n_edges);
    w->a = og__suballoc_floats(arena, b->n_lists, og__layer_in(c, l));
}

/* Elements of one relation's matrix in a layer. */
static size_t matrix_of_layer(const struct og_model_config *c, int l)
{
    return (size_t)og__layer_in(c, l) * (size_t)og__layer_out(c, l);
}

void og__suballoc_mixing(const struct og_nn_ops *ops, const struct og_model_config *c,
                         const struct og_batch *batch, bool training, struct og_arena *arena,
                         struct og_mixing *out)
{
    uint32_t src = 0;
    uint64_t edges = 0;
    size_t made = 0, lists = 0, dst = 0, matrix = 0, packed = 0;
    bool blends = false;
    for (int l = 0; l < c->layers; l++) {
        const struct og_block *b = &batch->hop[c->layers - 1 - l];
        made = OG_MAX(made, b->n_lists * (size_t)og__layer_out(c, l));
        lists = OG_MAX(lists, (size_t)b->n_lists);
        dst = OG_MAX(dst, (size_t)b->n_dst);
        matrix = OG_MAX(matrix, matrix_of_layer(c, l));
        packed = OG_MAX(packed, ops->packed_bytes(og__layer_in(c, l), og__layer_out(c, l)));
        if (!og__may_blend(c, l))
            continue;
        blends = true;
        src = OG_MAX(src, b->n_src);
        edges = OG_MAX(edges, b->n_edges);
        packed =
            OG_MAX(packed, ops->packed_bytes(c->bases * og__layer_in(c, l), og__layer_out(c, l)));
        if (training)
            made = OG_MAX(made, b->n_src * (size_t)og__layer_in(c, l));
    }
    *out = (struct og_mixing){.t = og__suballoc_floats(arena, made, 1)};
    out->number = og__suballoc(arena, (lists + 1) * sizeof(*out->number));
    out->first = og__suballoc(arena, (dst + 1) * sizeof(*out->first));
    out->list = og__suballoc(arena, lists * sizeof(*out->list));
    out->packed = og__suballoc(arena, packed);
    if (blends && training) {
        out->turned = suballoc_edges(arena, src, edges);
        out->nothing = og__suballoc(arena, ((size_t)src + 1) * sizeof(*out->nothing));
    }
    if (c->bases == 0)
        return;
    out->matrix = og__suballoc_floats(arena, matrix, AT_A_TIME);
    if (!training)
        return;
    out->dmatrix = og__suballoc_floats(arena, matrix, AT_A_TIME);
    out->partial = og__suballoc_floats(arena, AT_A_TIME * og__mix_parts(matrix), c->bases);
}

/* ==== the lists of a block ==== */

/* Each list as a destination. */
static struct og_block lists_of(const struct og_block *b)
{
    return (struct og_block){.n_dst = b->n_lists,
                             .n_src = b->n_src,
                             .n_edges = b->n_edges,
                             .indptr = b->indptr,
                             .src = b->src};
}

/* Mean of each list, in a. */
static int average(struct og_model *m, int l, struct og_rows sources, struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    const struct og_block lists = lists_of(w->block);
    const struct og_scale scale = {&lists, OG__MEAN, w->scale};
    const struct og_sparse through = og__aggregation(&lists, OG__MEAN, w->scale);
    const struct og_affine op = {.rows = lists.n_dst,
                                 .cols = m->layer[l].n_in,
                                 .y = w->a,
                                 .plus_through = &through,
                                 .plus = sources};
    int rc = m->ops->scale(m->backend, &scale, err);
    return rc < 0 ? rc : m->ops->affine(m->backend, &op, err);
}

/* The lists of each destination, in order, as a matrix that sums them. */
static int list_by_destination(struct og_model *m, int l, struct og_sparse *out, struct og_err *err)
{
    const struct og_mixing *at = &m->at.mixing;
    const struct og_block *b = m->at.work[l].block;
    const struct og_block one_each = {.n_dst = b->n_lists,
                                      .n_src = b->n_dst,
                                      .n_edges = b->n_lists,
                                      .indptr = at->number,
                                      .src = b->dst};
    const struct og_transpose op = {&one_each, at->first, at->list, NULL};
    *out = (struct og_sparse){.n_rows = b->n_dst, .indptr = at->first, .col = at->list};
    int rc = m->ops->number(m->backend, at->number, b->n_lists + 1, err);
    return rc < 0 ? rc : m->ops->transpose(m->backend, &op, err);
}

/* ==== the matrices of relations ==== */

/* A group of relations with lists, a few at a time. */
struct turn {
    uint32_t n, next;
    uint32_t relation[AT_A_TIME];
};

static bool next_turn(const struct og_layer_work *w, struct turn *t)
{
    t->n = 0;
    for (; t->next < w->block->n_relations && t->n < AT_A_TIME; t->next++)
        if (w->relation[t->next] < w->relation[t->next + 1])
            t->relation[t->n++] = t->next;
    return t->n > 0;
}

static size_t matrix_size(const struct og_model *m, int l)
{
    return matrix_of_layer(&m->config, l);
}

static struct og_mix mix_of(const struct og_model *m, int l, const struct turn *t)
{
    const struct og_layer *layer = &m->layer[l];
    struct og_mix op = {.n_made = t->n,
                        .n_base = (uint32_t)m->config.bases,
                        .n = matrix_size(m, l),
                        .weight = layer->param[OG__COMP]->value,
                        .base = layer->param[OG__NEIGHBOUR]->value,
                        .made = m->at.mixing.matrix};
    memcpy(op.row, t->relation, t->n * sizeof(*op.row));
    return op;
}

/* Computes the matrices of the group, with bases. */
static int make_matrices(struct og_model *m, int l, const struct turn *t, struct og_err *err)
{
    if (m->config.bases == 0)
        return 0;
    const struct og_mix op = mix_of(m, l, t);
    return m->ops->mix(m->backend, &op, err);
}

static const float *matrix_at(const struct og_model *m, int l, const struct turn *t, uint32_t i)
{
    const size_t n = matrix_size(m, l);
    return m->config.bases > 0 ? m->at.mixing.matrix + i * n
                               : m->layer[l].param[OG__NEIGHBOUR]->value + t->relation[i] * n;
}

static float *gradient_at(const struct og_model *m, int l, const struct turn *t, uint32_t i)
{
    const size_t n = matrix_size(m, l);
    return m->config.bases > 0 ? m->at.mixing.dmatrix + i * n
                               : m->layer[l].param[OG__NEIGHBOUR]->grad + t->relation[i] * n;
}

int og__pack_matrix(struct og_model *m, const float *value, int rows, int cols,
                    enum og__direction direction, struct og_weight *out, struct og_err *err)
{
    struct og_weight *all[] = {out};
    *out = (struct og_weight){.value = value, .n_out = rows, .n_in = cols};
    out->packed[direction] = m->at.mixing.packed;
    return m->ops->pack(m->backend, all, 1, err);
}

/* ==== forward ==== */

/* Means times the matrices of their relations, in t. */
static int multiply_lists(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const size_t in = (size_t)layer->n_in, out = (size_t)layer->n_out;
    for (struct turn t = {0}; next_turn(w, &t);) {
        OG_DO(make_matrices(m, l, &t, err));
        for (uint32_t i = 0; i < t.n; i++) {
            struct og_weight weight;
            const uint32_t first = w->relation[t.relation[i]];
            const uint32_t n = w->relation[t.relation[i] + 1] - first;
            struct og_affine op = {
                .rows = n, .cols = layer->n_out, .y = m->at.mixing.t + first * out, .n_inputs = 1};
            OG_DO(og__pack_matrix(m, matrix_at(m, l, &t, i), layer->n_in, layer->n_out,
                                  OG__BACKWARD, &weight, err));
            op.input[0] = og__weighted(og__dense(w->a + first * in, n, layer->n_in), n, &weight,
                                       OG__BACKWARD);
            OG_DO(m->ops->affine(m->backend, &op, err));
        }
    }
    return 0;
}

static int combine(struct og_model *m, int l, struct og_rows sources, struct og_rows own, bool keep,
                   struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_block *b = m->at.work[l].block;
    struct og_sparse sum;
    struct og_affine op = {.bias = layer->param[OG__BIAS]->value,
                           .plus = og__dense(m->at.mixing.t, b->n_lists, layer->n_out),
                           .plus_through = &sum,
                           .n_inputs = 1};
    (void)keep; /* the means stay in a */
    if (m->at.work[l].blends)
        return og__combine_blended(m, l, sources, own, err);
    OG_DO(average(m, l, sources, err));
    OG_DO(multiply_lists(m, l, err));
    OG_DO(list_by_destination(m, l, &sum, err));
    op.input[0] = og__weighted(own, b->n_dst, &layer->weight[OG__SELF], OG__BACKWARD);
    og__end_layer(m, l, own, &op);
    return m->ops->affine(m->backend, &op, err);
}

/* ==== backward ==== */

int og__own_gradients(struct og_model *m, int l, struct og_rows own, const float *dy,
                      struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const uint32_t n = m->at.work[l].block->n_dst;
    const struct og_weight_grad root = {.rows = n,
                                        .n_out = layer->n_in,
                                        .dy = (const float *)(const void *)own.base,
                                        .n_inputs = 1,
                                        .input = {og__dense(dy, n, layer->n_out)},
                                        .grad = {layer->param[OG__SELF]->grad}};
    const struct og_weight_grad bias = {
        .rows = n, .n_out = layer->n_out, .dy = dy, .bias_grad = layer->param[OG__BIAS]->grad};
    int rc = m->ops->weight_grad(m->backend, &root, err);
    return rc < 0 ? rc : m->ops->weight_grad(m->backend, &bias, err);
}

/* Gradient of a relation's matrix; then the gradient of its means replaces these in a. */
static int relation_gradient(struct og_model *m, int l, const struct turn *t, uint32_t i,
                             const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const uint32_t first = w->relation[t->relation[i]];
    const uint32_t n = w->relation[t->relation[i] + 1] - first;
    float *a = w->a + first * (size_t)layer->n_in;
    struct og_rows dt = og__dense(dy, n, layer->n_out);
    struct og_weight weight;
    dt.index = w->block->dst + first;
    const struct og_weight_grad of_matrix = {.rows = n,
                                             .n_out = layer->n_in,
                                             .dy = a,
                                             .n_inputs = 1,
                                             .input = {dt},
                                             .grad = {gradient_at(m, l, t, i)}};
    struct og_affine of_means = {.rows = n, .cols = layer->n_in, .y = a, .n_inputs = 1};
    OG_DO(m->ops->weight_grad(m->backend, &of_matrix, err));
    if (!m->ends->goes_back(m, l))
        return 0;
    OG_DO(og__pack_matrix(m, matrix_at(m, l, t, i), layer->n_in, layer->n_out, OG__FORWARD, &weight,
                          err));
    of_means.input[0] = og__weighted(dt, n, &weight, OG__FORWARD);
    return m->ops->affine(m->backend, &of_means, err);
}

/* Gradients of the bases and coefficients of the group's matrices. */
static int mixed_gradients(struct og_model *m, int l, const struct turn *t, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_mix forward = mix_of(m, l, t);
    const struct og_mix_back op = {.forward = &forward,
                                   .dmade = m->at.mixing.dmatrix,
                                   .dbase = layer->param[OG__NEIGHBOUR]->grad,
                                   .dweight = layer->param[OG__COMP]->grad,
                                   .partial = m->at.mixing.partial};
    return m->ops->mix_back(m->backend, &op, err);
}

static int matrix_gradients(struct og_model *m, int l, const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const bool mixed = m->config.bases > 0;
    OG_DO(og__clear_grad(m, layer->param[OG__NEIGHBOUR], err));
    OG_DO(mixed ? og__clear_grad(m, layer->param[OG__COMP], err) : 0);
    for (struct turn t = {0}; next_turn(&m->at.work[l], &t);) {
        if (m->ends->goes_back(m, l))
            OG_DO(make_matrices(m, l, &t, err));
        for (uint32_t i = 0; i < t.n; i++)
            OG_DO(relation_gradient(m, l, &t, i, dy, err));
        OG_DO(mixed ? mixed_gradients(m, l, &t, err) : 0);
    }
    return 0;
}

static int backward(struct og_model *m, int l, struct og_rows in, struct og_rows own,
                    const float *dy, struct og_err *err)
{
    const struct og_layer *layer = &m->layer[l];
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_block lists = lists_of(w->block);
    const struct og_transpose turned = {&lists, m->at.back_indptr, m->at.back_col, NULL};
    const struct og_sparse back =
        og__aggregation_back(&lists, OG__MEAN, w->scale, m->at.back_indptr, m->at.back_col, NULL);
    struct og_affine op = {
        .n_inputs = 1, .plus_through = &back, .plus = og__dense(w->a, lists.n_dst, layer->n_in)};
    if (w->blends)
        return og__blended_backward(m, l, in, own, dy, err);
    OG_DO(og__own_gradients(m, l, own, dy, err));
    OG_DO(matrix_gradients(m, l, dy, err));
    if (!m->ends->goes_back(m, l))
        return 0;
    OG_DO(m->ops->transpose(m->backend, &turned, err));
    op.input[0] = og__weighted(og__dense(dy, w->block->n_dst, layer->n_out), w->block->n_dst,
                               &layer->weight[OG__SELF], OG__FORWARD);
    return og__input_gradient(m, l, dy, &op, err);
}

const struct og_conv_steps og__steps_mixed = {.combine = combine, .backward = backward};
