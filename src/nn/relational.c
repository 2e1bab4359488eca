/* A batch through the layers of a typed graph's model, and back. */
#include "nn/relational_parts.h"

#include <string.h>

/* ==== the batch at hand ==== */

static int check_rows(const struct og_model *m, const struct og_batch *batch,
                      const struct og_rows *x, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    if (batch->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, a batch of %u hops",
                        m->config.layers, batch->n_hops);
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_graph_type *of = &d->types->type[t];
        if (of->dim == 0 || of->trained)
            continue;
        if (x[t].dim != of->dim || x[t].n < og__nodes_of(&d->at, batch->n_hops, t))
            return og__fail(err, -EINVAL, NULL,
                            "model: %u rows of width %d for %llu of width %d of type %s", x[t].n,
                            x[t].dim, (unsigned long long)og__nodes_of(&d->at, batch->n_hops, t),
                            of->dim, of->name);
    }
    return 0;
}

/* Sizes, memory, and what number each id has. */
static int begin_batch(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                       struct og_err *err)
{
    struct og_relational *d = m->relational;
    int rc = 0;
    og__count_types(d->types, batch, NULL, &d->at);
    OG_TRY(check_rows(m, batch, x, err));
    OG_TRY(og__relational_carve(m, err));
    d->batch = batch;
    og__count_types(d->types, batch, d->local, &d->at);
    m->at.work[m->config.layers - 1].h = og__made_at(d, m->config.layers - 1, d->types->target)->h;
out:
    return rc;
}

/* Rows of a type that are parameters. */
static void number_rows(struct og_relational *d, uint32_t type)
{
    const struct og_param *p = d->row[type];
    const uint32_t first = og__first_id(d->types, type);
    const uint32_t end = d->types->type[type].end;
    struct og_side *s = &d->side[type];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->batch->n_ids; i++)
        if (d->batch->ids[i] >= first && d->batch->ids[i] < end)
            s->number[n++] = d->batch->ids[i] - first;
    s->input = og__dense(p->value, n, (int)p->shape[1]);
    s->input.index = s->number;
}

static int take_inputs(struct og_model *m, const struct og_rows *x, const struct og_step *step,
                       struct og_err *err)
{
    struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        struct og_side *s = &d->side[t];
        const uint32_t n = og__type_nodes(&d->at, d->batch->n_hops, t);
        if (d->row[t]) {
            number_rows(d, t);
        } else if (d->types->type[t].dim > 0) {
            s->input = x[t];
            OG_TRY(og__drop_input(m, &s->input, n, step, OG__INPUT_KEY + OG__KEYS * t, s->dropped,
                                  err));
        }
    }
out:
    return rc;
}

/* What layer l reads of a type. */
static struct og_rows input_of(const struct og_relational *d, int l, uint32_t type)
{
    const struct og_model_config *c = &d->whole->config;
    if (l == 0)
        return d->side[type].input;
    return og__dense(og__made_at(d, l - 1, type)->h,
                     og__type_nodes(&d->at, og__hop_of(c, l) + 1, type), c->hidden);
}

/* The relation's block, and its convolution's rows; false: none of its destinations are there. */
struct turn {
    struct og_rows in, own;
};
static bool begin_turn(struct og_relational *d, int l, uint32_t relation, struct turn *turn)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    const uint32_t hop = og__hop_of(&d->whole->config, l);
    if (!d->live.of[l][relation] || og__nodes_of(&d->at, hop, of->destination) == 0)
        return false;
    og__relation_block(d->types, d->batch, hop, relation, d->local, &d->at, d->indptr, d->src,
                       &d->block[relation]);
    *turn = (struct turn){input_of(d, l, of->source), input_of(d, l, of->destination)};
    return true;
}

/* ==== forward ==== */

static void end_convolution(struct og_model *part, int l, struct og_rows in, struct og_affine *op)
{
    (void)in; /* no residual */
    const struct og_relational *d = part->whole->relational;
    struct og_made *to = og__made_at(d, l, d->types->relation[part->relation].destination);
    op->rows = part->at.work[l].block->n_dst;
    op->cols = part->layer[l].n_out;
    op->y = to->y;
    op->add = to->begun;
    to->begun = true;
}

static struct og_finish finish_of(const struct og_relational *d, int l, uint32_t type,
                                  const struct og_dropout *dropout)
{
    const struct og_model_config *c = &d->whole->config;
    const struct og_made *at = og__made_at(d, l, type);
    return (struct og_finish){.rows = og__type_nodes(&d->at, og__hop_of(c, l), type),
                              .cols = og__layer_out(c, l),
                              .norm = OG_NORM_NONE,
                              .activation = og__conv_of(c)->elu ? OG__ELU : OG__RELU,
                              .dropout = dropout->p > 0 ? dropout : NULL,
                              .y = at->y,
                              .h = at->h};
}

static struct og_dropout dropout_of(const struct og_relational *d, int l, uint32_t type,
                                    const struct og_step *step)
{
    return (struct og_dropout){d->whole->config.dropout, *step, (uint32_t)l + OG__KEYS * type};
}

/* Activation and dropout of what relations made in a type. */
static int finish_types(struct og_model *m, int l, const struct og_step *step, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_dropout dropout = step ? dropout_of(d, l, t, step) : (struct og_dropout){0};
        const struct og_finish op = finish_of(d, l, t, &dropout);
        if (og__made_at(d, l, t)->begun)
            OG_TRY(m->ops->finish(m->backend, &op, err));
    }
out:
    return rc;
}

int og__relational_forward(struct og_model *m, const struct og_batch *batch,
                           const struct og_rows *x, const struct og_step *step, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc;
    OG_TRY(begin_batch(m, batch, x, err));
    OG_TRY(og__pack_weights(m, err));
    for (uint32_t r = 0; step && r < d->types->n_relations; r++)
        og__key_dropout(&d->part[r], step, OG__KEYS * r);
    d->step = step ? *step : (struct og_step){0};
    OG_TRY(take_inputs(m, x, step, err));
    for (int l = 0; l < m->config.layers; l++) {
        for (uint32_t r = 0; r < d->types->n_relations; r++)
            if (begin_turn(d, l, r, &turn))
                OG_TRY(og__convolve(&d->part[r], l, turn.in, turn.own, step, err));
        if (!og__is_last(&m->config, l))
            OG_TRY(finish_types(m, l, step, err));
    }
out:
    return rc;
}

/* ==== backward ==== */

/* Rows of a type that layer l reads have a gradient. */
static bool goes_to(const struct og_relational *d, int l, uint32_t type)
{
    return l > 0 || d->row[type];
}

static bool goes_back(const struct og_model *part, int l)
{
    return l > 0 || part->config.trains_input;
}

/* op, terms of the gradient of what layer l reads of a type, is added to the others. */
static int add_gradient(struct og_model *part, int l, uint32_t type, struct og_affine *op,
                        struct og_err *err)
{
    struct og_relational *d = part->whole->relational;
    struct og_side *to = &d->side[type];
    if (!goes_to(d, l, type))
        return 0;
    op->rows = og__type_nodes(&d->at, og__hop_of(&part->config, l) + 1, type);
    op->cols = input_of(d, l, type).dim;
    op->y = to->grad;
    op->add = to->begun;
    to->begun = true;
    return part->ops->affine(part->backend, op, err);
}

static int input_gradient(struct og_model *part, int l, const float *dy, struct og_affine *op,
                          struct og_err *err)
{
    (void)dy; /* no residual */
    const uint32_t source = part->whole->config.types->relation[part->relation].source;
    return add_gradient(part, l, source, op, err);
}

static int own_gradient(struct og_model *part, int l, struct og_affine *op, struct og_err *err)
{
    const uint32_t own = part->whole->config.types->relation[part->relation].destination;
    return add_gradient(part, l, own, op, err);
}

const struct og_ends og__ends_of_relations = {.end = end_convolution,
                                              .goes_back = goes_back,
                                              .input_gradient = input_gradient,
                                              .own_gradient = own_gradient};

static int clear_floats(struct og_model *m, float *there, size_t n, struct og_err *err)
{
    static const float zeros[1024];
    int rc = 0;
    for (size_t i = 0, some; i < n; i += some) {
        some = OG_MIN(n - i, OG_COUNT(zeros));
        OG_TRY(og__model_push(m, there + i, zeros, some * sizeof(*zeros), err));
    }
out:
    return rc;
}

/* Of a relation that had no turn. */
static int clear_gradients(struct og_model *part, int l, struct og_err *err)
{
    int rc = 0;
    for (int role = 0; role < OG__ROLES; role++) {
        const struct og_param *p = part->layer[l].param[role];
        if (p)
            OG_TRY(clear_floats(part->whole, p->grad, og__param_count(p), err));
    }
out:
    return rc;
}

/* The gradient of what a type's relations made, from that of its rows behind layer l. */
static int through_end(struct og_model *m, int l, uint32_t type, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    const struct og_side *s = &d->side[type];
    const struct og_dropout dropout = dropout_of(d, l, type, &d->step);
    const struct og_finish forward = finish_of(d, l, type, &dropout);
    const bool elu = forward.activation == OG__ELU;
    struct og_affine op = {.rows = forward.rows,
                           .cols = forward.cols,
                           .y = forward.h,
                           .gated = !elu,
                           .gate_scale = (float)(1 / (1 - m->config.dropout))};
    if (s->begun)
        op.input[op.n_inputs++] = og__weighted(og__dense(s->grad, forward.rows, forward.cols),
                                               forward.rows, NULL, OG__FORWARD);
    struct og_finish_back back = {.forward = &forward, .g = forward.h};
    int rc = m->ops->affine(m->backend, &op, err);
    return rc < 0 || !elu ? rc : m->ops->finish_back(m->backend, &back, err);
}

/* Rows that no batch has have none. */
static int row_gradients(struct og_model *m, uint32_t type, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    const struct og_side *s = &d->side[type];
    const struct og_param *p = d->row[type];
    const size_t dim = (size_t)p->shape[1];
    int rc = clear_floats(m, p->grad, og__param_count(p), err);
    for (uint32_t i = 0; rc == 0 && s->begun && i < s->input.n; i++)
        memcpy(p->grad + s->number[i] * dim, s->grad + i * dim, dim * sizeof(*p->grad));
    return rc;
}

static int end_gradients(struct og_model *m, int l, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        if (l == 0 && d->row[t])
            OG_TRY(row_gradients(m, t, err));
        if (l > 0 && og__made_at(d, l - 1, t)->begun)
            OG_TRY(through_end(m, l - 1, t, err));
        d->side[t].begun = false;
    }
out:
    return rc;
}

int og__relational_backward(struct og_model *m, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc = 0;
    for (int l = m->config.layers - 1; l >= 0; l--) {
        for (uint32_t r = 0; r < d->types->n_relations; r++) {
            struct og_model *part = &d->part[r];
            const uint32_t to = d->types->relation[r].destination;
            const float *dy = og__is_last(&m->config, l) ? m->at.dlogits : og__made_at(d, l, to)->h;
            if (begin_turn(d, l, r, &turn))
                OG_TRY(og__conv_of(&part->config)
                           ->steps->backward(part, l, turn.in, turn.own, dy, err));
            else
                OG_TRY(clear_gradients(part, l, err));
        }
        OG_TRY(end_gradients(m, l, err));
    }
out:
    return rc;
}
