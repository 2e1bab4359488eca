#include "nn/joined.h"

int og__joined_check(const struct og_model_config *c, struct og_err *err)
{
    const struct og_graph_types *g = c->types;
    for (uint32_t t = 0; t < g->n_types; t++) {
        if (g->type[t].dim == 0)
            return og__fail(err, -EINVAL, "give --embedding DIM: rows that are learnt",
                            "--model %s: nodes of type %s have no features",
                            og__model_words[c->kind], g->type[t].name);
        if (g->type[t].dim != c->in_dim)
            return og__fail(err, -EINVAL,
                            "use --model sage, gat or gin, or an --embedding as wide as features",
                            "--model %s: rows of all types are of one width, those of %s are %d "
                            "wide and others %d",
                            og__model_words[c->kind], g->type[t].name, g->type[t].dim, c->in_dim);
    }
    return 0;
}

void og__carve_joined(const struct og_nn_ops *ops, const struct og_model_config *c, uint32_t n_ids,
                      bool training, struct og_arena *numbers, struct og_arena *arena,
                      struct og_workspace *out)
{
    const size_t bytes = (size_t)n_ids * (size_t)c->in_dim * sizeof(float);
    og__carve_numbers(ops, n_ids, numbers, arena, &out->place);
    og__carve_numbers(ops, n_ids, numbers, arena, &out->number);
    out->joined = og__carve(arena, bytes);
    if (training && og__trains_input(c))
        out->djoined = og__carve(arena, bytes);
}

/* ==== there ==== */

struct counts {
    uint32_t of[OG_MOST_TYPES];
};

static struct counts count_types(const struct og_graph_types *g, const struct og_batch *batch)
{
    struct counts n = {{0}};
    for (uint32_t i = 0; i < batch->n_ids; i++)
        n.of[og__graph_type(g, batch->ids[i])]++;
    return n;
}

int og__joined_check_rows(const struct og_model *m, const struct og_batch *batch,
                          const struct og_rows *x, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct counts n = count_types(g, batch);
    for (uint32_t t = 0; t < g->n_types; t++)
        if (!m->row[t] && (x[t].n < n.of[t] || (n.of[t] > 0 && x[t].dim != m->config.in_dim)))
            return og__fail(err, -EINVAL, NULL,
                            "model: %u rows of width %d for %u of width %d of type %s", x[t].n,
                            x[t].dim, n.of[t], m->config.in_dim, g->type[t].name);
    return 0;
}

/* Where each type's begin, by types. */
static struct counts starts_of(const struct counts *n, uint32_t n_types)
{
    struct counts first = {{0}};
    for (uint32_t t = 1; t < n_types; t++)
        first.of[t] = first.of[t - 1] + n->of[t - 1];
    return first;
}

static int number_ids(struct og_model *m, const struct og_batch *batch, const struct counts *first,
                      struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct og_workspace *at = &m->at;
    struct counts next = *first;
    for (uint32_t i = 0; i < batch->n_ids; i++) {
        const uint32_t t = og__graph_type(g, batch->ids[i]);
        at->place.host[next.of[t]] = i;
        at->number.host[next.of[t]++] = batch->ids[i] - og__first_id(g, t);
    }
    int rc = og__bring_numbers(m, &at->place, batch->n_ids, err);
    return rc < 0 ? rc : og__bring_numbers(m, &at->number, batch->n_ids, err);
}

/* The n rows of type t, which begin at number `first` of all: parameters, or features. */
static int rows_of_type(struct og_model *m, uint32_t t, uint32_t first, uint32_t n,
                        const struct og_rows *x, const struct og_step *step, struct og_rows *out,
                        struct og_err *err)
{
    const size_t at = first * (size_t)m->config.in_dim * sizeof(float);
    char *room = m->at.room.rows;
    float *dropped = m->at.dropped;
    if (m->row[t]) {
        *out = og__dense(m->row[t]->value, n, m->config.in_dim);
        out->index = og__numbers_there(&m->at.number) + first;
        return 0;
    }
    int rc = og__bring_rows(m, x, n, room ? room + at : NULL, out, err);
    return rc < 0 ? rc
                  : og__drop_input(m, out, n, step, OG__INPUT_KEY + OG__KEYS * t,
                                   dropped ? dropped + at / sizeof(float) : NULL, err);
}

int og__join_rows(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                  const struct og_step *step, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct counts n = count_types(g, batch);
    const struct counts first = starts_of(&n, g->n_types);
    int rc;
    OG_TRY(number_ids(m, batch, &first, err));
    for (uint32_t t = 0; t < g->n_types; t++) {
        struct og_put put = {.n = n.of[t],
                             .place = og__numbers_there(&m->at.place) + first.of[t],
                             .to = m->at.joined};
        if (put.n == 0)
            continue;
        OG_TRY(rows_of_type(m, t, first.of[t], put.n, &x[t], step, &put.x, err));
        OG_TRY(m->ops->put(m->backend, &put, err));
    }
    m->at.input = og__dense(m->at.joined, batch->n_ids, m->config.in_dim);
out:
    return rc;
}

/* ==== and back ==== */

/* Rows that no batch has have none. */
static int row_gradients(struct og_model *m, uint32_t t, uint32_t first, uint32_t n,
                         struct og_err *err)
{
    struct og_put put = {.x = og__dense(m->at.djoined, n, m->config.in_dim),
                         .n = n,
                         .place = og__numbers_there(&m->at.number) + first,
                         .to = m->row[t]->grad};
    put.x.index = og__numbers_there(&m->at.place) + first;
    int rc = og__clear_grad(m, m->row[t], err);
    return rc < 0 || n == 0 ? rc : m->ops->put(m->backend, &put, err);
}

int og__joined_gradients(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct counts n = count_types(g, batch);
    const struct counts first = starts_of(&n, g->n_types);
    int rc = 0;
    for (uint32_t t = 0; m->at.djoined && t < g->n_types; t++)
        if (m->row[t])
            OG_TRY(row_gradients(m, t, first.of[t], n.of[t], err));
out:
    return rc;
}

static bool goes_back(const struct og_model *m, int l)
{
    return l > 0 || og__trains_input(&m->config);
}

static int input_gradient(struct og_model *m, int l, const float *dy, struct og_affine *op,
                          struct og_err *err)
{
    const struct og_block *b = m->at.work[l].block;
    if (l > 0)
        return og__ends_of_layers.input_gradient(m, l, dy, op, err);
    op->rows = b->n_src;
    op->cols = m->config.in_dim;
    op->y = m->at.djoined;
    og__add_skip(m, l, og__dense(dy, b->n_dst, m->layer[l].n_out), OG__BACKWARD, op);
    return m->ops->affine(m->backend, op, err);
}

/* The end of a layer is like any other. */
static void end_layer(struct og_model *m, int l, struct og_rows in, struct og_affine *op)
{
    og__ends_of_layers.end(m, l, in, op);
}

const struct og_ends og__ends_of_joined = {
    .end = end_layer, .goes_back = goes_back, .input_gradient = input_gradient};
