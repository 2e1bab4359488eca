#include "nn/conv_edges.h"

/* ==== by the configuration alone ==== */

int og__edge_cols(const struct og_model_config *c, int layer)
{
    return og__sees_edges(c) ? og__conv_of(c)->edge_cols(c, layer) : 0;
}

static bool places_loops(const struct og_model_config *c)
{
    return og__conv_of(c)->attends && og__conv_of(c)->has_loops;
}

uint64_t og__edge_places(const struct og_model_config *c, const struct og_block *b)
{
    return b->n_edges + (places_loops(c) ? b->n_dst : 0);
}

void og__suballoc_edges(const struct og_model_config *c, int l, const struct og_block *b,
                        struct og_arena *arena, struct og_layer_work *w)
{
    const uint64_t n = og__edge_places(c, b);
    if (!og__sees_edges(c))
        return;
    w->edge_row = og__suballoc_floats(arena, n, c->edge_dim);
    w->by_edge = og__suballoc_floats(arena, n, og__edge_cols(c, l));
}

int og__model_check_edges(const struct og_model_config *c, struct og_err *err)
{
    const struct og_conv *conv = og__conv_of(c);
    const char *name = og__model_words[c->kind];
    if (c->edge_dim > 0 && !conv->edge_cols)
        return og__fail(err, -EINVAL, "use --model gat, gatv2, gine or transformer",
                        "--model %s: does not use features of edges", name);
    if (c->edge_dim == 0 && conv->needs_edges)
        return og__fail(err, -EINVAL, "use --model gin, or a dataset with features of edges",
                        "--model %s: requires features of edges", name);
    return 0;
}

int og__model_check_backend(const struct og_model_config *c, const struct og_nn_ops *ops,
                            struct og_err *err)
{
    const bool dots = og__conv_of(c)->needs_dots;
    const bool reads = og__sees_edges(c) || c->pair_dim > 0;
    bool sparse = c->entries > 0;
    for (uint32_t t = 0; t < og__types_of(c); t++)
        sparse |= c->types->type[t].entries > 0;
    if (sparse && !ops->drop_entries)
        return og__fail(err, -ENOTSUP,
                        "use --device cpu, or import the graph with --feature-layout dense",
                        "--device: the backend %s does not read sparse rows yet", ops->name);
    if ((!reads || ops->edge_fill) && (!dots || ops->dots))
        return ops->check_compute(c->compute, err);
    return og__fail(err, -ENOTSUP, "use --device cpu",
                    dots ? "--model %s: the backend %s does not have it yet"
                         : "--model %s: the backend %s does not use features of edges yet",
                    og__model_words[c->kind], ops->name);
}

/* ==== a layer ==== */

static int fill(struct og_model *m, int l, struct og_err *err)
{
    const struct og_layer_work *w = &m->at.work[l];
    const struct og_edge_rows *rows = m->edges;
    const struct og_edge_fill op = {.block = w->block,
                                    .rows = rows,
                                    .loops = places_loops(&m->config),
                                    .apart = m->config.apart,
                                    .x = w->edge_row};
    if (!rows || rows->rows == 0 || (!w->block->edge && w->block->n_edges > 0))
        return og__fail(err, -EINVAL, NULL, "model: a batch without rows of edges");
    if (rows->dim != m->config.edge_dim)
        return og__fail(err, -EINVAL, "use a checkpoint of this dataset",
                        "model: trained with features of edges of width %d, these have %d",
                        m->config.edge_dim, rows->dim);
    return m->ops->edge_fill(m->backend, &op, err);
}

static struct og_rows edge_rows(const struct og_model *m, int l)
{
    const struct og_layer_work *w = &m->at.work[l];
    return og__dense(w->edge_row, (uint32_t)og__edge_places(&m->config, w->block),
                     m->config.edge_dim);
}

int og__multiply_edges(struct og_model *m, int l, const struct og_weight *weight,
                       const struct og_param *bias, struct og_err *err)
{
    const struct og_rows x = edge_rows(m, l);
    const struct og_affine op = {.rows = x.n,
                                 .cols = og__edge_cols(&m->config, l),
                                 .y = m->at.work[l].by_edge,
                                 .bias = bias ? bias->value : NULL,
                                 .n_inputs = 1,
                                 .input = {og__weighted(x, x.n, weight, OG__FORWARD)}};
    int rc = fill(m, l, err);
    return rc < 0 ? rc : m->ops->affine(m->backend, &op, err);
}

int og__edge_gradients(struct og_model *m, int l, const float *dy, float *grad,
                       const struct og_param *bias, struct og_err *err)
{
    const struct og_rows x = edge_rows(m, l);
    const struct og_weight_grad op = {.rows = x.n,
                                      .n_out = og__edge_cols(&m->config, l),
                                      .dy = dy,
                                      .n_inputs = 1,
                                      .input = {x},
                                      .grad = {grad},
                                      .bias_grad = bias ? bias->grad : NULL};
    return m->ops->weight_grad(m->backend, &op, err);
}
