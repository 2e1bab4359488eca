#include "nn/joined.h"

int og__joined_check(const struct og_model_config *c, struct og_err *err)
{
    const struct og_graph_types *g = og__types(c);
    for (uint32_t t = 0; t < g->n_types; t++) {
        if (g->type[t].dim == 0)
            return og__fail(err, -EINVAL, "use --embedding DIM for learnable embeddings",
                            "--model %s: nodes of type %s have no features",
                            og__model_words[c->kind], g->type[t].name);
        if (g->type[t].trained && g->type[t].dim != c->in_dim)
            return og__fail(err, -EINVAL, "is it a checkpoint of a model that trained here?",
                            "--model %s: embeddings of type %s are %d wide, and its first layer "
                            "reads %d",
                            og__model_words[c->kind], g->type[t].name, g->type[t].dim, c->in_dim);
    }
    return 0;
}

size_t og__projections_partial(const struct og_nn_ops *ops, const struct og_model_config *c,
                               uint32_t n_ids)
{
    size_t most = 0;
    for (uint32_t t = 0; t < og__types_of(c); t++)
        if (og__projects(c, t))
            most =
                OG_MAX(most, ops->partial_bytes(n_ids, c->in_dim, (uint64_t)c->types->type[t].dim));
    return most;
}

void og__suballoc_joined(const struct og_nn_ops *ops, const struct og_model_config *c,
                         uint32_t n_ids, bool training, struct og_arena *numbers,
                         struct og_arena *arena, struct og_workspace *out)
{
    const size_t bytes = (size_t)n_ids * (size_t)c->in_dim * sizeof(float);
    og__suballoc_numbers(ops, n_ids, numbers, arena, &out->place);
    og__suballoc_numbers(ops, n_ids, numbers, arena, &out->number);
    out->joined = og__suballoc(arena, bytes);
    if (og__projects_some(c) || (training && og__trains_input(c)))
        out->djoined = og__suballoc(arena, bytes);
}

/* ==== forward ==== */

/* Number of the batch's nodes of each type, and of the types before. */
struct by_type {
    uint32_t n[OG_MOST_TYPES], first[OG_MOST_TYPES];
};

static struct by_type count_types(const struct og_graph_types *g, const struct og_batch *batch)
{
    struct by_type of = {{0}, {0}};
    for (uint32_t i = 0; i < batch->n_ids; i++)
        of.n[og__graph_type(g, batch->ids[i])]++;
    for (uint32_t t = 1; t < g->n_types; t++)
        of.first[t] = of.first[t - 1] + of.n[t - 1];
    return of;
}

int og__joined_check_rows(const struct og_model *m, const struct og_batch *batch,
                          const struct og_rows *x, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct by_type of = count_types(g, batch);
    for (uint32_t t = 0; t < g->n_types; t++)
        if (!m->row[t] && (x[t].n < of.n[t] || (of.n[t] > 0 && x[t].dim != g->type[t].dim)))
            return og__fail(err, -EINVAL, NULL,
                            "model: %u rows of width %d for %u of width %d of type %s", x[t].n,
                            x[t].dim, of.n[t], g->type[t].dim, g->type[t].name);
    return 0;
}

static int number_ids(struct og_model *m, const struct og_batch *batch, struct by_type of,
                      struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct og_workspace *at = &m->at;
    for (uint32_t i = 0; i < batch->n_ids; i++) {
        const uint32_t t = og__graph_type(g, batch->ids[i]);
        at->place.host[of.first[t]] = i;
        at->number.host[of.first[t]++] = batch->ids[i] - og__first_id(g, t);
    }
    int rc = og__upload_numbers(m, &at->place, batch->n_ids, err);
    return rc < 0 ? rc : og__upload_numbers(m, &at->number, batch->n_ids, err);
}

/* Multiplies x, n features of type t, by the type's linear layer. */
static int project(struct og_model *m, uint32_t t, uint32_t first, uint32_t n, struct og_rows *x,
                   struct og_err *err)
{
    struct og_projection *p = &m->projection[t];
    float *made = m->at.djoined + first * (size_t)m->config.in_dim;
    p->input = *x;
    *x = og__dense(made, n, m->config.in_dim);
    return og__linear(m, &p->lin, p->input, n, false, made, err);
}

/* The n rows of type t, from row `first` of all: parameters or features. */
static int rows_of_type(struct og_model *m, uint32_t t, uint32_t first, uint32_t n,
                        const struct og_rows *x, const struct og_step *step, struct og_rows *out,
                        struct og_err *err)
{
    const size_t at = first * (size_t)og__widest_row(&m->config) * sizeof(float);
    char *room = m->at.room.rows;
    float *dropped = m->at.dropped;
    if (m->row[t]) {
        *out = og__dense(m->row[t]->value, n, m->config.in_dim);
        out->index = og__numbers_on_backend(&m->at.number) + first;
        return 0;
    }
    OG_DO(og__upload_rows(m, x, n, room ? room + at : NULL, out, err));
    if (!og__types(&m->config)->type[t].trained) /* whose rows are parameters */
        OG_DO(og__drop_input(m, out, n, step, OG__INPUT_KEY + OG__KEYS * t,
                             dropped ? dropped + at / sizeof(float) : NULL, NULL, err));
    if (m->projection[t].lin.param)
        OG_DO(project(m, t, first, n, out, err));
    return 0;
}

int og__join_rows(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                  const struct og_step *step, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct by_type of = count_types(g, batch);
    OG_DO(number_ids(m, batch, of, err));
    for (uint32_t t = 0; t < g->n_types; t++) {
        struct og_put put = {.n = of.n[t],
                             .place = og__numbers_on_backend(&m->at.place) + of.first[t],
                             .to = m->at.joined};
        if (put.n == 0)
            continue;
        OG_DO(rows_of_type(m, t, of.first[t], put.n, &x[t], step, &put.x, err));
        OG_DO(m->ops->put(m->backend, &put, err));
    }
    m->at.input = og__dense(m->at.joined, batch->n_ids, m->config.in_dim);
    return 0;
}

/* ==== backward ==== */

/* Gradients of a type's linear layer, from that of its rows. They replace the joined matrix, which
 * nobody reads any more. */
static int projection_gradients(struct og_model *m, uint32_t t, uint32_t first, struct og_rows dz,
                                struct og_err *err)
{
    const struct og_projection *p = &m->projection[t];
    float *dense = m->at.joined + first * (size_t)m->config.in_dim;
    OG_DO(og__clear_grad(m, p->lin.param, err));
    OG_DO(og__clear_grad(m, p->lin.bias, err));
    if (dz.n == 0)
        return 0;
    OG_DO(og__copy_rows(m, dz, dz.n, NULL, dense, err));
    return og__linear_gradients(m, &p->lin, p->input, dz.n, dense, err);
}

/* Gradients of stored rows, likewise in the place of the joined matrix. */
static int stored_gradients(struct og_model *m, uint32_t t, uint32_t first, struct og_rows dx,
                            struct og_err *err)
{
    float *dense = m->at.joined + first * (size_t)m->config.in_dim;
    m->row_gradient[t] = og__dense(dense, dx.n, m->config.in_dim);
    return dx.n > 0 ? og__copy_rows(m, dx, dx.n, NULL, dense, err) : 0;
}

int og__joined_gradients(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct by_type of = count_types(g, batch);
    if (!m->at.djoined)
        return 0;
    for (uint32_t t = 0; t < g->n_types; t++) {
        struct og_rows dx = og__dense(m->at.djoined, of.n[t], m->config.in_dim);
        dx.index = og__numbers_on_backend(&m->at.place) + of.first[t];
        if (g->type[t].stored)
            OG_DO(stored_gradients(m, t, of.first[t], dx, err));
        if (m->row[t])
            OG_DO(og__row_gradients(m, m->row[t], dx, dx.n,
                                    og__numbers_on_backend(&m->at.number) + of.first[t], err));
        if (m->projection[t].lin.param)
            OG_DO(projection_gradients(m, t, of.first[t], dx, err));
    }
    return 0;
}
