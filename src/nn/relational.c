/* Forward and backward pass of a batch through a heterogeneous model. */
#include "nn/relational_parts.h"
#include "nn/tasks.h"
#include "sample/sample.h"

#include <math.h>
#include <string.h>

/* ==== the current batch ==== */

static int check_rows(const struct og_model *m, const struct og_batch *batch,
                      const struct og_rows *x, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_graph_type *of = &d->types->type[t];
        if (!og__has_features(of))
            continue;
        if (x[t].dim != of->dim || x[t].n < og__nodes_of(&d->at, batch->n_hops, t))
            return og__fail(err, -EINVAL, NULL,
                            "model: %u rows of width %d for %llu of width %d of type %s", x[t].n,
                            x[t].dim, (unsigned long long)og__nodes_of(&d->at, batch->n_hops, t),
                            of->dim, of->name);
    }
    return 0;
}

/* Positions of the rows of seeds by type, and the seed of each. */
static int place_seeds(struct og_model *m, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    const struct og_ends_of_seeds *s = &d->of_seeds;
    const uint32_t n = d->batch->n_seeds;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t type = og__graph_type(d->types, d->batch->ids[i]);
        s->place.host[i] = og__seeds_before(&d->at, type) + d->local[i];
        s->seed.host[s->place.host[i]] = i;
    }
    int rc = og__upload_numbers(m, &s->place, n, err);
    return rc < 0 ? rc : og__upload_numbers(m, &s->seed, n, err);
}

/* The node of its type that each id is. */
static void name_nodes(struct og_relational *d)
{
    uint32_t start[OG_MOST_TYPES] = {0};
    uint32_t next = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        start[t] = next;
        next += og__type_nodes(&d->at, d->batch->n_hops, t);
    }
    for (uint32_t i = 0; i < d->batch->n_ids; i++) {
        const uint32_t t = og__graph_type(d->types, d->batch->ids[i]);
        d->node[start[t] + d->local[i]] = d->batch->ids[i] - og__first_id(d->types, t);
    }
}

static const uint32_t *nodes_of(const struct og_relational *d, uint32_t type)
{
    const uint32_t *first = d->node;
    for (uint32_t t = 0; t < type; t++)
        first += og__type_nodes(&d->at, d->batch->n_hops, t);
    return first;
}

/* Sets sizes, memory, and the number of each id. */
static int begin_batch(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                       const struct og_pairs *pairs, struct og_err *err)
{
    struct og_relational *d = m->relational;
    og__count_types(d->types, batch, NULL, &d->at);
    OG_DO(check_rows(m, batch, x, err));
    OG_DO(og__workspace_suballoc(m, batch, pairs, err));
    d->batch = batch;
    og__count_types(d->types, batch, d->local, &d->at);
    if (d->node)
        name_nodes(d);
    if (og__mixes_seeds(&m->config))
        OG_DO(place_seeds(m, err));
    else
        m->at.work[m->config.layers - 1].h =
            d->end[d->types->target].at.work[m->config.layers - 1].h;
    return 0;
}

/* Numbers of a type's learnable rows. */
static int number_rows(struct og_relational *d, uint32_t type, struct og_err *err)
{
    const struct og_param *p = d->whole->row[type];
    const uint32_t first = og__first_id(d->types, type);
    const uint32_t end = d->types->type[type].end;
    struct og_side *s = &d->side[type];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->batch->n_ids; i++)
        if (d->batch->ids[i] >= first && d->batch->ids[i] < end)
            s->number.host[n++] = d->batch->ids[i] - first;
    s->input = og__dense(p->value, n, (int)p->shape[1]);
    s->input.index = og__numbers_on_backend(&s->number);
    return og__upload_numbers(d->whole, &s->number, n, err);
}

static int take_inputs(struct og_model *m, const struct og_rows *x, const struct og_step *step,
                       struct og_err *err)
{
    struct og_relational *d = m->relational;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_graph_type *of = &d->types->type[t];
        struct og_side *s = &d->side[t];
        const uint32_t n = og__type_nodes(&d->at, d->batch->n_hops, t);
        if (d->whole->row[t]) {
            OG_DO(number_rows(d, t, err));
        } else if (of->dim > 0) {
            OG_DO(og__upload_rows(m, &x[t], n, s->room, &s->input, err));
            OG_DO(og__drop_input(m, &s->input, n, step, OG__INPUT_KEY + OG__KEYS * t, s->dropped,
                                 &s->dropped_form, err));
        }
    }
    return 0;
}

static struct og_rows input_of(const struct og_relational *d, int l, uint32_t type)
{
    const struct og_model_config *c = &d->whole->config;
    if (l == 0)
        return d->side[type].input;
    return og__dense(d->end[type].at.work[l - 1].h,
                     og__type_nodes(&d->at, og__hop_of(c, l) + 1, type), c->hidden);
}

/* Within a type: degrees of sources, as in a homogeneous batch (sampler.c). Returns their number.
 */
static uint32_t cap_degrees(struct og_relational *d, uint32_t hop, uint32_t relation,
                            const struct og_block *b)
{
    const struct og_graph_types *g = d->types;
    const struct og_graph_relation *of = &g->relation[relation];
    const uint32_t *node = nodes_of(d, of->source);
    const uint32_t n_hops = d->batch->n_hops;
    const uint32_t drawing = g->once ? OG_MIN(hop + 1, n_hops - 1) : hop;
    const int fanout = g->fanout ? g->fanout[relation * n_hops + drawing] : -1;
    for (uint32_t u = b->n_dst; u < b->n_src; u++) {
        d->degrees.host[u - b->n_dst] =
            (uint32_t)og__drawn_number(g->replace, fanout, of->arriving[node[u]]);
    }
    return b->n_src - b->n_dst;
}

/* Puts the weight sums of the block's sources after n degrees; returns the new count. */
static uint32_t put_weights(struct og_relational *d, uint32_t relation, const struct og_block *b,
                            uint32_t n)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    const uint32_t *node = nodes_of(d, of->source);
    float *mean = (float *)(void *)(d->degrees.host + n), *loop = mean + b->n_src;
    for (uint32_t u = 0; u < b->n_src; u++) {
        mean[u] = of->weights.mean[node[u]];
        loop[u] = of->weights.loop[node[u]];
    }
    return n + 2 * b->n_src;
}

/* Between two types: scales of both ends. For v that sampled s of its d neighbours sqrt(d) / s, for
 * u with o out-edges 1 / sqrt(o). If s = d that is 1 / sqrt(o d); else it is the mean over possible
 * samples. Without counts, d is s, and o is 1. With weights of mean m, d becomes d m, s becomes s
 * m, and o the sum of u's out-edges. */
static uint32_t scale_ends(struct og_relational *d, uint32_t relation, const struct og_block *b)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    const uint32_t *destination = nodes_of(d, of->destination);
    const uint32_t *source = nodes_of(d, of->source);
    float *scale = (float *)(void *)d->degrees.host;
    for (uint32_t v = 0; v < b->n_dst; v++) {
        const uint32_t drawn = b->indptr[v + 1] - b->indptr[v];
        const uint32_t all = of->arriving ? of->arriving[destination[v]] : drawn;
        const float mean = of->weights.mean ? of->weights.mean[destination[v]] : 1;
        const float of_drawn = mean * (float)drawn;
        scale[v] = of_drawn > 0 ? sqrtf(mean * (float)all) / of_drawn : 0.0f;
    }
    for (uint32_t u = 0; u < b->n_src; u++) {
        const float all = of->weights.leaving ? (float)of->weights.leaving[source[u]]
                          : of->leaving       ? (float)of->leaving[source[u]]
                                              : 1;
        scale[b->n_dst + u] = all > 0 ? 1.0f / sqrtf(all) : 0.0f;
    }
    return b->n_dst + b->n_src;
}

/* Uploads GCN's degrees or scales, while the block's lists are in host memory. */
static int upload_degrees(struct og_relational *d, int l, uint32_t relation, struct og_block *b,
                          struct og_err *err)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    struct og_model *part = &d->part[relation];
    const uint32_t hop = og__hop_of(&d->whole->config, l);
    uint32_t n = 0;
    if (og__aggregate_of(&part->config) == OG__BETWEEN) {
        n = scale_ends(d, relation, b);
        part->at.work[l].scale = (float *)(void *)og__numbers_on_backend(&d->degrees);
    } else if (of->arriving) {
        n = cap_degrees(d, hop, relation, b);
        b->degree = og__numbers_on_backend(&d->degrees);
        if (of->weights.mean) {
            b->mean_weight = (const float *)(void *)(b->degree + n);
            b->loop_weight = b->mean_weight + b->n_src;
            n = put_weights(d, relation, b, n);
        }
    }
    return og__upload_numbers(d->whole, &d->degrees, n, err);
}

/* Uploads the block's lists, and weights if the model uses them. */
static int upload_lists(struct og_relational *d, struct og_block *b, struct og_err *err)
{
    const size_t n = b->n_dst + (size_t)1 + b->n_edges;
    const bool weighed = b->weight && og__model_weighs(&d->whole->config);
    if (weighed)
        memcpy(d->lists.host + n, b->weight, b->n_edges * sizeof(*b->weight));
    b->indptr = og__numbers_on_backend(&d->lists);
    b->src = b->indptr + b->n_dst + 1;
    b->weight = weighed ? (const float *)(const void *)(b->src + b->n_edges) : NULL;
    return og__upload_numbers(d->whole, &d->lists, (uint32_t)(n + (weighed ? b->n_edges : 0)), err);
}

/* The current relation's block and rows; 0: none of its destinations exist. */
struct turn {
    struct og_rows in, own;
};
static int begin_turn(struct og_relational *d, int l, uint32_t relation, struct turn *turn,
                      struct og_err *err)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    const uint32_t hop = og__hop_of(&d->whole->config, l);
    const uint32_t n_dst = og__type_nodes(&d->at, hop, of->destination);
    struct og_block *b = &d->block[relation];
    if (!d->live.of[l][relation] || n_dst == 0)
        return 0;
    og__relation_block(d->types, d->batch, hop, relation, d->local, &d->at, d->lists.host,
                       d->lists.host + n_dst + 1, b);
    if (d->node) {
        const int rc = upload_degrees(d, l, relation, b, err);
        if (rc < 0)
            return rc;
    }
    d->part[relation].edges = d->whole->edges ? &d->whole->edges[relation] : NULL;
    *turn = (struct turn){input_of(d, l, of->source), input_of(d, l, of->destination)};
    const int rc = upload_lists(d, b, err);
    return rc < 0 ? rc : 1;
}

/* ==== forward ==== */

/* The first relation of a type also adds the residual. */
static void end_convolution(struct og_model *part, int l, struct og_rows own, struct og_affine *op)
{
    const struct og_relational *d = part->whole->relational;
    const uint32_t type = d->types->relation[part->number].destination;
    struct og_model *end = &d->end[type];
    const struct og_layer_work *w = &end->at.work[l];
    struct og_made *to = og__made_at(d, l, type);
    op->rows = w->block->n_dst;
    op->cols = part->layer[l].n_out;
    op->y = w->y ? w->y : w->h;
    op->add = to->begun;
    if (!to->begun)
        og__add_skip(end, l, own, OG__FORWARD, op);
    to->begun = true;
}

/* Norm, activation and dropout of the relations' sums in each type. */
static int finish_types(struct og_model *m, int l, const struct og_step *step, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++)
        if (og__made_at(d, l, t)->begun)
            OG_TRY(og__finish_layer(&d->end[t], l, step, err));
out:
    return rc;
}

/* to[i] = row order[i] of `from`, for seeds. */
static int put_in_order(struct og_model *m, const float *from, const struct og_numbers *order,
                        float *to, struct og_err *err)
{
    const uint32_t n = m->relational->batch->n_seeds;
    struct og_rows rows = og__dense(from, n, og__model_width(&m->config));
    rows.index = og__numbers_on_backend(order);
    return og__copy_rows(m, rows, n, NULL, to, err);
}

static int end_mixed(struct og_model *m, struct og_err *err)
{
    const struct og_ends_of_seeds *s = &m->relational->of_seeds;
    return put_in_order(m, s->rows, &s->place, m->at.work[m->config.layers - 1].h, err);
}

int og__relational_forward(struct og_model *m, const struct og_batch *batch,
                           const struct og_rows *x, const struct og_pairs *pairs,
                           const struct og_step *step, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc;
    OG_TRY(begin_batch(m, batch, x, pairs, err));
    OG_TRY(og__pack_weights(m, err));
    if (step)
        og__key_dropout(m, step);
    OG_TRY(take_inputs(m, x, step, err));
    for (int l = 0; l < m->config.layers; l++) {
        for (uint32_t r = 0; r < d->types->n_relations; r++) {
            OG_TRY(begin_turn(d, l, r, &turn, err));
            if (rc > 0)
                OG_TRY(og__convolve(&d->part[r], l, turn.in, turn.own, step, err));
        }
        if (!og__is_last(&m->config, l))
            OG_TRY(finish_types(m, l, step, err));
    }
    if (og__mixes_seeds(&m->config))
        OG_TRY(end_mixed(m, err));
out:
    return rc;
}

/* ==== backward ==== */

/* Whether the input of layer l of a type has a gradient. */
static bool goes_to(const struct og_relational *d, int l, uint32_t type)
{
    return l > 0 || d->types->type[type].trained;
}

static bool goes_back(const struct og_model *part, int l)
{
    return l > 0 || part->config.trains_input;
}

/* The gradient of layer l's output of a type. */
static const float *gradient_of(const struct og_relational *d, int l, uint32_t type)
{
    const struct og_model *m = d->whole;
    if (!og__is_last(&m->config, l))
        return d->end[type].at.work[l].h;
    return og__mixes_seeds(&m->config) ? d->of_seeds.grad + og__seeds_before(&d->at, type) *
                                                                (size_t)og__model_width(&m->config)
                                       : m->at.dlogits;
}

/* Adds to op the residual's term of the gradient of layer l's input of a type. */
static void add_skip(struct og_relational *d, int l, uint32_t type, struct og_affine *op)
{
    struct og_model *end = &d->end[type];
    const struct og_made *made = og__made_at(d, l, type);
    if (!made->begun || d->side[type].skipped)
        return;
    og__add_skip(end, l, og__dense(gradient_of(d, l, type), made->nodes.n_dst, end->layer[l].n_out),
                 OG__BACKWARD, op);
    d->side[type].skipped = true;
}

/* Runs op, terms of the gradient of layer l's input of a type, added to the other terms. */
static int add_gradient(struct og_relational *d, int l, uint32_t type, struct og_affine *op,
                        struct og_err *err)
{
    struct og_side *to = &d->side[type];
    op->rows = og__type_nodes(&d->at, og__hop_of(&d->whole->config, l) + 1, type);
    op->cols = input_of(d, l, type).dim;
    op->y = to->grad;
    op->add = to->begun;
    to->begun = true;
    return d->whole->ops->affine(d->whole->backend, op, err);
}

/* Adds the residual's term, unless op's last operand has no weight: that must be the last. */
static int add_convolution_gradient(struct og_model *part, int l, uint32_t type,
                                    struct og_affine *op, struct og_err *err)
{
    struct og_relational *d = part->whole->relational;
    if (!goes_to(d, l, type))
        return 0;
    if (op->n_inputs == 0 || op->input[op->n_inputs - 1].weight)
        add_skip(d, l, type, op);
    return add_gradient(d, l, type, op, err);
}

static int input_gradient(struct og_model *part, int l, const float *dy, struct og_affine *op,
                          struct og_err *err)
{
    (void)dy; /* the residual belongs to the type */
    const uint32_t source = part->whole->config.types->relation[part->number].source;
    return add_convolution_gradient(part, l, source, op, err);
}

static int own_gradient(struct og_model *part, int l, struct og_affine *op, struct og_err *err)
{
    const uint32_t own = part->whole->config.types->relation[part->number].destination;
    return add_convolution_gradient(part, l, own, op, err);
}

const struct og_ends og__ends_of_relations = {.end = end_convolution,
                                              .goes_back = goes_back,
                                              .input_gradient = input_gradient,
                                              .own_gradient = own_gradient};

/* Clears gradients of a relation without edges, or of the end of a type without nodes. */
static int clear_gradients(struct og_model *part, int l, struct og_err *err)
{
    for (int role = 0; role < OG__ROLES; role++)
        if (part->layer[l].param[role])
            OG_DO(og__clear_grad(part->whole, part->layer[l].param[role], err));
    return 0;
}

/* The gradient of the relations' sum of a type, from that of its rows after layer l. */
static int through_end(struct og_model *m, int l, uint32_t type, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    struct og_model *end = &d->end[type];
    const struct og_side *s = &d->side[type];
    const bool finishes = og__finishes(&end->config, l);
    const uint32_t rows = og__made_at(d, l, type)->nodes.n_dst;
    const int cols = end->layer[l].n_out;
    struct og_affine op = {.rows = rows,
                           .cols = cols,
                           .y = end->at.work[l].h,
                           .gated = !finishes,
                           .gate_scale = (float)(1 / (1 - m->config.dropout))};
    if (s->begun)
        op.input[op.n_inputs++] =
            og__weighted(og__dense(s->grad, rows, cols), rows, NULL, OG__FORWARD);
    int rc = m->ops->affine(m->backend, &op, err);
    return rc < 0 || !finishes ? rc : og__finish_layer_back(end, l, err);
}

/* The residual's term of layer l's input of a type, if no relation has added it. */
static int rest_gradient(struct og_relational *d, int l, uint32_t type, struct og_err *err)
{
    struct og_affine op = {0};
    if (goes_to(d, l, type))
        add_skip(d, l, type, &op);
    return op.n_inputs > 0 ? add_gradient(d, l, type, &op, err) : 0;
}

static int row_gradients(struct og_model *m, uint32_t type, struct og_err *err)
{
    const struct og_side *s = &m->relational->side[type];
    const uint32_t n = s->begun ? s->input.n : 0;
    return og__row_gradients(m, m->row[type], og__dense(s->grad, n, s->input.dim), n,
                             og__numbers_on_backend(&s->number), err);
}

/* Stored rows get theirs from outside (og__model_row_gradient). */
static void show_gradient(struct og_model *m, uint32_t type)
{
    const struct og_graph_type *of = &m->config.types->type[type];
    const struct og_side *s = &m->relational->side[type];
    if (of->stored)
        m->row_gradient[type] = og__dense(s->grad, s->begun ? s->input.n : 0, of->dim);
}

/* Gradients of a layer's ends, after those of its convolutions. */
static int end_gradients(struct og_model *m, int l, struct og_err *err)
{
    struct og_relational *d = m->relational;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        OG_DO(rest_gradient(d, l, t, err));
        if (l == 0 && m->row[t])
            OG_DO(row_gradients(m, t, err));
        if (l == 0)
            show_gradient(m, t);
        if (l > 0 && og__made_at(d, l - 1, t)->begun)
            OG_DO(through_end(m, l - 1, t, err));
        d->side[t].begun = false;
        d->side[t].skipped = false;
    }
    return 0;
}

/* Gradients of the residuals, and of the ends of types without rows. */
static int skip_gradients(struct og_model *m, int l, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        if (!og__made_at(d, l, t)->begun)
            OG_DO(clear_gradients(&d->end[t], l, err));
        else
            OG_DO(og__skip_gradient(&d->end[t], l, input_of(d, l, t), gradient_of(d, l, t), err));
    }
    return 0;
}

int og__relational_backward(struct og_model *m, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc = 0;
    if (og__mixes_seeds(&m->config))
        OG_TRY(put_in_order(m, m->at.dlogits, &d->of_seeds.seed, d->of_seeds.grad, err));
    for (int l = m->config.layers - 1; l >= 0; l--) {
        OG_TRY(skip_gradients(m, l, err));
        for (uint32_t r = 0; r < d->types->n_relations; r++) {
            struct og_model *part = &d->part[r];
            const float *dy = gradient_of(d, l, d->types->relation[r].destination);
            OG_TRY(begin_turn(d, l, r, &turn, err));
            if (rc > 0)
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
