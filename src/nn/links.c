/* Links: the last layer's output of the seeds is their embedding. A decoder makes a score of two
 * embeddings.
 *
 * Those of links are in decoders.h. Labelled edges with rows e are joined:
 *
 *     scores = W1 relu(W0 [h[a], h[b], e] + b0) + b1
 *
 * In training all pairs of a batch are scored at once and kept for the backward pass. In evaluation
 * there are many more, which are processed in windows. */
#include "nn/model.h"

/* ==== scores ==== */

static int perceive(struct og_model *m, uint32_t n, float *scores, struct og_err *err)
{
    const struct og_linear *lin = m->decoder.lin;
    OG_DO(og__linear(m, &lin[0], og__dense(m->at.pair_in, n, og__pair_width(&m->config)), n, true,
                     m->at.pair_mid, err));
    return og__linear(m, &lin[1], og__dense(m->at.pair_mid, n, m->config.hidden), n, false, scores,
                      err);
}

static void weigh_by_relation(const struct og_model *m, const struct og_pairs *pairs,
                              uint32_t first, struct og_pair_op *op)
{
    if (!m->decoder.relations)
        return;
    op->kind = pairs->relation ? pairs->relation + first : NULL;
    op->by = m->decoder.relations->value;
}

static int score_pairs(struct og_model *m, const struct og_pairs *pairs, uint32_t window,
                       struct og_err *err)
{
    int rc = 0;
    const bool dot = !og__perceives(&m->config);
    const size_t columns = (size_t)og__score_width(&m->config);
    const size_t own_dim = (size_t)m->config.pair_dim;
    for (uint32_t first = 0, n; first < pairs->n; first += n) {
        n = OG_MIN(pairs->n - first, window);
        struct og_pair_op op = {.n = n,
                                .a = pairs->a + first,
                                .b = pairs->b + first,
                                .dim = og__model_width(&m->config),
                                .decoder = m->config.decoder,
                                .h = og__model_logits(m),
                                .joins = og__labels_pairs(&m->config),
                                .own = pairs->own ? pairs->own + first * own_dim : NULL,
                                .own_dim = (int)own_dim,
                                .out = dot ? m->at.scores + first : m->at.pair_in};
        weigh_by_relation(m, pairs, first, &op);
        OG_TRY((dot ? m->ops->pair_dot : m->ops->pair_product)(m->backend, &op, err));
        if (!dot)
            OG_TRY(perceive(m, n, m->at.scores + first * columns, err));
    }
out:
    return rc;
}

/* ==== loss and ranks ==== */

static int link_loss(struct og_model *m, const struct og_pairs *pairs, float *grad,
                     struct og_metrics *out, struct og_err *err)
{
    *out = (struct og_metrics){0};
    if (og__labels_pairs(&m->config) ? !pairs->targets : pairs->n_negatives == 0)
        return 0; /* only scored */
    if (og__labels_pairs(&m->config))
        return og__model_loss(m, m->at.scores, pairs->targets, pairs->n_edges, grad, out, err);
    struct og_link_loss op = {.n_edges = pairs->n_edges,
                              .each = pairs->n_negatives / OG_MAX(pairs->n_edges, 1u),
                              .loss = og__loss_of(&m->config),
                              .score = m->at.scores,
                              .grad = grad,
                              .out = out};
    return m->ops->link_loss(m->backend, &op, err);
}

static int rank_edges(struct og_model *m, const struct og_pairs *pairs, struct og_metrics *out,
                      struct og_err *err)
{
    const struct og_rank op = {pairs, m->at.scores, out};
    return pairs->n_rank_negatives > 0 ? m->ops->rank(m->backend, &op, err) : 0;
}

int og__links_forward(struct og_model *m, const struct og_pairs *pairs, struct og_metrics *out,
                      struct og_err *err)
{
    int rc;
    OG_TRY(score_pairs(m, pairs, m->at.pair_window, err));
    OG_TRY(link_loss(m, pairs, NULL, out, err));
out:
    return rc < 0 ? rc : rank_edges(m, pairs, out, err);
}

/* ==== backward pass ==== */

/* Gradients of the MLP; that of its input overwrites the input. */
static int perceive_back(struct og_model *m, uint32_t n, struct og_err *err)
{
    const struct og_linear *lin = m->decoder.lin;
    struct og_workspace *at = &m->at;
    int dim = og__pair_width(&m->config), mid = m->config.hidden;
    OG_DO(og__linear_gradients(m, &lin[1], og__dense(at->pair_mid, n, mid), n, at->dscores, err));
    struct og_affine to_mid = {
        .rows = n, .cols = mid, .y = at->pair_mid, .n_inputs = 1, .gated = true, .gate_scale = 1};
    to_mid.input[0] = og__weighted(og__dense(at->dscores, n, og__score_width(&m->config)), n,
                                   &lin[1].weight, OG__BACKWARD);
    OG_DO(m->ops->affine(m->backend, &to_mid, err));
    OG_DO(og__linear_gradients(m, &lin[0], og__dense(at->pair_in, n, dim), n, at->pair_mid, err));
    struct og_affine to_in = {.rows = n, .cols = dim, .y = at->pair_in, .n_inputs = 1};
    to_in.input[0] = og__weighted(og__dense(at->pair_mid, n, mid), n, &lin[0].weight, OG__BACKWARD);
    return m->ops->affine(m->backend, &to_in, err);
}

static int relation_gradients(struct og_model *m, const struct og_pair_op *forward,
                              struct og_err *err)
{
    const struct og_workspace *at = &m->at;
    const struct og_param *p = m->decoder.relations;
    const struct og_block one_each = {.n_dst = forward->n,
                                      .n_src = (uint32_t)p->shape[0],
                                      .n_edges = forward->n,
                                      .indptr = at->kind_number,
                                      .src = (uint32_t *)forward->kind};
    const struct og_transpose by_kind = {&one_each, at->kind_first, at->kind_list, NULL};
    const struct og_pair_kinds op = {.forward = forward,
                                     .g = at->dscores,
                                     .n_kinds = one_each.n_src,
                                     .first = forward->kind ? at->kind_first : NULL,
                                     .pair = at->kind_list,
                                     .dby = p->grad};
    if (!forward->kind)
        return m->ops->pair_kinds(m->backend, &op, err);
    OG_DO(m->ops->number(m->backend, at->kind_number, forward->n + 1, err));
    OG_DO(m->ops->transpose(m->backend, &by_kind, err));
    return m->ops->pair_kinds(m->backend, &op, err);
}

int og__links_gradients(struct og_model *m, const struct og_pairs *pairs, struct og_metrics *out,
                        struct og_err *err)
{
    struct og_workspace *at = &m->at;
    bool mlp = og__perceives(&m->config);
    int rc;
    OG_TRY(score_pairs(m, pairs, pairs->n, err));
    OG_TRY(link_loss(m, pairs, at->dscores, out, err));
    if (mlp)
        OG_TRY(perceive_back(m, pairs->n, err));
    const struct og_pair_list list = {.n = pairs->n,
                                      .n_rows = pairs->n_seeds,
                                      .a = pairs->a,
                                      .b = pairs->b,
                                      .first = at->pair_first,
                                      .pair = at->pair_list};
    OG_TRY(m->ops->pair_list(m->backend, &list, err));
    struct og_pair_op forward = {.n = pairs->n,
                                 .a = pairs->a,
                                 .b = pairs->b,
                                 .dim = og__model_width(&m->config),
                                 .decoder = m->config.decoder,
                                 .h = og__model_logits(m),
                                 .joins = og__labels_pairs(&m->config),
                                 .own_dim = m->config.pair_dim};
    weigh_by_relation(m, pairs, 0, &forward);
    if (m->decoder.relations)
        OG_TRY(relation_gradients(m, &forward, err));
    struct og_pair_back op = {.forward = &forward,
                              .g = mlp ? at->pair_in : at->dscores,
                              .wide = mlp,
                              .n_rows = pairs->n_seeds,
                              .first = at->pair_first,
                              .pair = at->pair_list,
                              .dh = at->dlogits};
    return m->ops->pair_back(m->backend, &op, err);
out:
    return rc;
}
