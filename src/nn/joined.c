#include "nn/joined.h"

#include "nn/kernels.h"

#include <string.h>

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

void og__carve_joined(const struct og_model_config *c, uint32_t n_ids, bool training,
                      struct og_arena *arena, struct og_workspace *out)
{
    const size_t bytes = (size_t)n_ids * (size_t)c->in_dim * sizeof(float);
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

int og__join_rows(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                  const struct og_step *step, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const struct counts n = count_types(g, batch);
    const size_t dim = (size_t)m->config.in_dim;
    struct og_rows of[OG_MOST_TYPES] = {{0}};
    float *dropped = m->at.dropped;
    struct counts at = {{0}};
    int rc = 0;
    for (uint32_t t = 0; t < g->n_types; t++) {
        if (m->row[t]) { /* by ids */
            of[t] = og__dense(m->row[t]->value, (uint32_t)m->row[t]->shape[0], (int)dim);
            continue;
        }
        of[t] = x[t];
        OG_TRY(
            og__drop_input(m, &of[t], n.of[t], step, OG__INPUT_KEY + OG__KEYS * t, dropped, err));
        dropped = dropped ? dropped + n.of[t] * dim : NULL;
    }
    for (uint32_t i = 0; i < batch->n_ids; i++) {
        const uint32_t t = og__graph_type(g, batch->ids[i]);
        const uint32_t row = m->row[t] ? batch->ids[i] - og__first_id(g, t) : at.of[t]++;
        og__widen(m->at.joined + i * dim, og__row(&of[t], row), of[t].dtype, 0, dim);
    }
    m->at.input = og__dense(m->at.joined, batch->n_ids, (int)dim);
out:
    return rc;
}

/* ==== and back ==== */

/* Rows that no batch has have none. */
int og__joined_gradients(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    const struct og_graph_types *g = m->config.types;
    const size_t dim = (size_t)m->config.in_dim;
    int rc = 0;
    for (uint32_t t = 0; t < g->n_types; t++)
        if (m->row[t])
            OG_TRY(og__clear_grad(m, m->row[t], err));
    for (uint32_t i = 0; m->at.djoined && i < batch->n_ids; i++) {
        const uint32_t t = og__graph_type(g, batch->ids[i]);
        if (m->row[t])
            memcpy(m->row[t]->grad + (batch->ids[i] - og__first_id(g, t)) * dim,
                   m->at.djoined + i * dim, dim * sizeof(float));
    }
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
