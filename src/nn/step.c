/* One batch through a model: forward, loss, backward, update. */
#include "nn/joined.h"
#include "nn/model.h"
#include "nn/optimizers.h"
#include "nn/relational.h"

/* ==== forward ==== */

static struct og_rows input_of(const struct og_model *m, int l)
{
    if (l == 0)
        return m->at.input;
    return og__dense(m->at.work[l - 1].h, m->at.work[l].block->n_src, m->layer[l].n_in);
}

static int check_rows(const struct og_model *m, const struct og_batch *batch,
                      const struct og_rows *x, struct og_err *err)
{
    if (og__conv_of(&m->config)->joins)
        return og__joined_check_rows(m, batch, x, err);
    if (x->dim != m->config.in_dim)
        return og__fail(err, -EINVAL, "use a checkpoint of this dataset",
                        "model: trained with features of width %d, these have %d", m->config.in_dim,
                        x->dim);
    if (x->n < batch->n_ids)
        return og__fail(err, -EINVAL, NULL, "model: %u feature rows for %u input nodes", x->n,
                        batch->n_ids);
    return 0;
}

static int pack_layers(struct og_model *m, struct og_err *err)
{
    struct og_weight *w[OG__ROLES + OG__MAX_HEADS];
    for (int l = 0; l < m->config.layers; l++) {
        struct og_layer *layer = &m->layer[l];
        size_t n = 0;
        for (int role = 0; role < OG__ROLES; role++)
            if (layer->weight[role].value)
                w[n++] = &layer->weight[role];
        for (int h = 0; layer->head && h < m->config.heads; h++)
            w[n++] = &layer->head[h];
        OG_DO(m->ops->pack(m->backend, w, n, err));
    }
    return 0;
}

static int pack_linear(struct og_model *m, struct og_linear *lin, struct og_err *err)
{
    struct og_weight *w = &lin->weight;
    return w->value ? m->ops->pack(m->backend, &w, 1, err) : 0;
}

int og__pack_weights(struct og_model *m, struct og_err *err)
{
    for (uint32_t i = 0; i < og__n_submodels(&m->config); i++)
        OG_DO(pack_layers(og__submodel(m, i), err));
    for (uint32_t t = 0; m->projection && t < og__types_of(&m->config); t++)
        OG_DO(pack_linear(m, &m->projection[t].lin, err));
    for (int l = 0; l < 2; l++)
        OG_DO(pack_linear(m, &m->decoder.lin[l], err));
    return 0;
}

int og__convolve(struct og_model *m, int l, struct og_rows in, struct og_rows own, bool keep,
                 struct og_err *err)
{
    const struct og_conv *conv = og__conv_of(&m->config);
    const struct og_conv_steps *steps = conv->steps;
    const struct og_layer_work *w = &m->at.work[l];
    struct og_rows sources = in;
    if (w->transform_first) {
        float *made = conv->attends || conv->pools ? w->t : w->a;
        OG_DO(steps->multiply(m, l, in, made, err));
        sources = og__dense(made, w->block->n_src, m->layer[l].n_mid);
    }
    return steps->combine(m, l, sources, own, keep, err);
}

struct og_dropout og__dropout_of(double p, const struct og_step *step, uint32_t key)
{
    const uint64_t further = 0xD1342543DE82EF95u; /* odd, and not the step of blocks or relations */
    struct og_dropout dropout = {p, *step, key & 0xff};
    dropout.step.seed += (key >> 8) * further;
    return dropout;
}

static void key_layers(struct og_model *m, const struct og_step *step, uint32_t first_key)
{
    const struct og_model_config *c = &m->config;
    for (int l = 0; l < c->layers; l++) {
        struct og_layer_work *w = &m->at.work[l];
        const uint32_t key = first_key + (uint32_t)l;
        if (!og__is_last(c, l))
            w->dropout = og__dropout_of(c->dropout, step, key);
        w->attention = og__dropout_of(c->attention_dropout, step, OG__ATTENTION_KEYS + key);
    }
}

void og__key_dropout(struct og_model *m, const struct og_step *step)
{
    for (uint32_t i = 0; i < og__n_submodels(&m->config); i++)
        key_layers(og__submodel(m, i), step, OG__KEYS * og__submodel(m, i)->number);
}

/* As f32, because every row is read more than once. Sparse rows stay sparse. */
int og__drop_input(struct og_model *m, struct og_rows *x, uint32_t n, const struct og_step *step,
                   uint32_t key, float *dropped, struct og_sparse_rows *form, struct og_err *err)
{
    if (!step || !dropped)
        return 0;
    const struct og_dropout dropout = og__dropout_of(m->config.input_dropout, step, key);
    const struct og_rows whole = *x;
    if (x->sparse && !og__conv_of(&m->config)->joins) {
        const struct og_drop_entries op = {whole, n, &dropout, dropped};
        form->room = og__dropped_room(whole.sparse->longest);
        form->longest = whole.sparse->longest;
        *x = (struct og_rows){.base = (const char *)dropped,
                              .stride = og__row_size(x->dim, OG_F32, form->room),
                              .n = n,
                              .dim = x->dim,
                              .dtype = OG_F32,
                              .sparse = form};
        return m->ops->drop_entries(m->backend, &op, err);
    }
    *x = og__dense(dropped, n, x->dim);
    return og__copy_rows(m, whole, n, &dropout, dropped, err);
}

static int take_input(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                      const struct og_step *step, struct og_err *err)
{
    uint32_t n = m->at.work[0].block->n_src;
    if (og__conv_of(&m->config)->joins)
        return og__join_rows(m, batch, x, step, err);
    int rc = og__upload_rows(m, x, n, m->at.room.rows, &m->at.input, err);
    return rc < 0 ? rc
                  : og__drop_input(m, &m->at.input, n, step, OG__INPUT_KEY, m->at.dropped,
                                   &m->at.dropped_form, err);
}

/* step NULL: no dropout, running statistics, nothing stored for the backward pass. */
static int forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                   const struct og_edge_rows *edges, const struct og_pairs *pairs,
                   const struct og_step *step, struct og_err *err)
{
    int rc;
    m->edges = edges;
    if (batch->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, a batch of %u hops",
                        m->config.layers, batch->n_hops);
    if (m->relational)
        return og__relational_forward(m, batch, x, pairs, step, err);
    OG_TRY(check_rows(m, batch, x, err));
    OG_TRY(og__workspace_suballoc(m, batch, pairs, err));
    OG_TRY(og__pack_weights(m, err));
    if (step)
        og__key_dropout(m, step);
    OG_TRY(take_input(m, batch, x, step, err));
    for (int l = 0; l < m->config.layers; l++) {
        OG_TRY(og__convolve(m, l, input_of(m, l), input_of(m, l), step, err));
        if (og__finishes(&m->config, l))
            OG_TRY(og__finish_layer(m, l, step, err));
    }
out:
    return rc;
}

uint64_t og__targets_of(const struct og_model_config *c, uint64_t n)
{
    const uint64_t weights = c->weighs_seeds ? n : 0;
    switch (og__task_of(c)->targets) {
    case OG__OF_CLASSES:
        return n + weights;
    case OG__OF_LABELS:
    case OG__OF_VALUES:
        return n * (uint64_t)c->n_classes + weights;
    case OG__OF_PAIRS:
        break;
    }
    return 0;
}

int og__model_loss(struct og_model *m, const float *logits, const void *labels, uint32_t n,
                   float *grad, struct og_metrics *out, struct og_err *err)
{
    const size_t all = og__targets_of(&m->config, n);
    OG_DO(og__upload(m, labels, all * sizeof(float), m->at.room.targets, err));
    const void *targets = og__on_backend(labels, m->at.room.targets);
    struct og_loss op = {.rows = n,
                         .cols = m->config.n_classes,
                         .loss = og__loss_of(&m->config),
                         .gamma = (float)m->config.gamma,
                         .smoothing = (float)m->config.label_smoothing,
                         .logits = logits,
                         .labels = targets,
                         .class_weight = m->class_weights,
                         .row_weight =
                             m->config.weighs_seeds ? (const float *)targets + all - n : NULL,
                         .grad = grad,
                         .blocks = m->at.loss_blocks,
                         .out = out};
    return og__task_of(&m->config)->rows(m->ops, m->backend, &op, err);
}

int og__model_forward(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                      const struct og_edge_rows *edges, const void *labels, struct og_metrics *out,
                      struct og_err *err)
{
    const struct og_pairs *pairs = og__of_pairs(&m->config) ? labels : NULL;
    int rc;
    OG_TRY(forward(m, batch, x, edges, pairs, NULL, err));
    if (pairs && out)
        return og__links_forward(m, &m->at.pairs, out, err);
    if (labels && out)
        OG_TRY(og__model_loss(m, og__model_logits(m), labels, batch->n_seeds, NULL, out, err));
out:
    return rc;
}

int og__model_judge(struct og_model *m, const void *labels, uint32_t n, struct og_metrics *out,
                    struct og_err *err)
{
    return og__model_loss(m, og__model_logits(m), labels, n, NULL, out, err);
}

/* ==== backward ==== */

static int backward_layer(struct og_model *m, int l, struct og_err *err)
{
    const float *dy = og__is_last(&m->config, l) ? m->at.dlogits : m->at.work[l].h;
    struct og_rows in = input_of(m, l);
    OG_DO(og__finishes(&m->config, l) ? og__finish_layer_back(m, l, err) : 0);
    OG_DO(og__skip_gradient(m, l, in, dy, err));
    return og__conv_of(&m->config)->steps->backward(m, l, in, in, dy, err);
}

static int backward(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    int rc = 0;
    if (m->relational)
        return og__relational_backward(m, err);
    for (int l = m->config.layers - 1; l >= 0; l--)
        OG_TRY(backward_layer(m, l, err));
    if (og__conv_of(&m->config)->joins)
        OG_TRY(og__joined_gradients(m, batch, err));
out:
    return rc;
}

int og__model_part(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                   const struct og_edge_rows *edges, const void *labels, const struct og_step *step,
                   struct og_metrics *out, struct og_err *err)
{
    if (!m->training) { /* reserved for forward passes, or not at all */
        m->training = true;
        og__arena_release(&m->workspace);
    }
    const struct og_pairs *pairs = og__of_pairs(&m->config) ? labels : NULL;
    OG_DO(forward(m, batch, x, edges, pairs, step, err));
    if (pairs)
        OG_DO(og__links_gradients(m, &m->at.pairs, out, err));
    else
        OG_DO(og__model_loss(m, og__model_logits(m), labels, batch->n_seeds, m->at.dlogits, out,
                             err));
    return backward(m, batch, err);
}

int og__model_row_gradient(struct og_model *m, uint32_t type, float *out, uint32_t *n,
                           struct og_err *err)
{
    const struct og_rows *dx = &m->row_gradient[type];
    *n = dx->n;
    return dx->n > 0 ? og__model_fetch(m, out, dx->base, dx->n * og__row_length(dx), err) : 0;
}

/* Iterates over layers with batch statistics. */
struct norms {
    struct og_model *model, *of; /* of: the model with the layer */
    int layer;
    uint32_t part; /* parts processed so far */
};

static bool next_norm(struct norms *n)
{
    for (; n->layer < n->model->config.layers; n->layer++, n->part = 0)
        while (n->part < og__n_submodels(&n->model->config)) {
            n->of = og__submodel(n->model, n->part++);
            if (n->of->layer[n->layer].param[OG__NORM_MEAN])
                return true;
        }
    return false;
}

int og__model_track(struct og_model *m, struct og_model *from, struct og_err *err)
{
    struct norms theirs = {.model = from};
    for (struct norms n = {.model = m}; next_norm(&n) && next_norm(&theirs);)
        OG_DO(og__track_layer(n.of, n.layer, theirs.of, err));
    return 0;
}

size_t og__model_moments(const struct og_model_config *c)
{
    size_t sum = 0;
    for (int l = 0; c->norm == OG_NORM_BATCH && l + 1 < c->layers; l++)
        sum += (og__in_parts(c) ? og__count_ends(c, l) : 1) * (2 * (size_t)og__layer_out(c, l) + 1);
    return sum;
}

int og__model_fetch_moments(struct og_model *m, float *out, struct og_err *err)
{
    for (struct norms n = {.model = m}; next_norm(&n);) {
        OG_DO(og__fetch_moments(n.of, n.layer, out, err));
        out += 2 * (size_t)n.of->layer[n.layer].n_out + 1;
    }
    return 0;
}

int og__model_track_moments(struct og_model *m, const float *in, struct og_err *err)
{
    for (struct norms n = {.model = m}; next_norm(&n);) {
        OG_DO(og__track_moments(n.of, n.layer, in, err));
        in += 2 * (size_t)n.of->layer[n.layer].n_out + 1;
    }
    return 0;
}

int og__model_gradients(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                        const struct og_edge_rows *edges, const void *labels,
                        const struct og_step *step, struct og_metrics *out, struct og_err *err)
{
    int rc = og__model_part(m, batch, x, edges, labels, step, out, err);
    return rc < 0 ? rc : og__model_track(m, m, err);
}

/* ==== update ==== */

int og__model_update(struct og_model *m, const struct og_pace *pace, double scale, uint64_t step,
                     struct og_err *err)
{
    const struct og_optimizer *optimizer = og__optimizer(m->optimizer);
    struct og_update op = optimizer->numbers(pace, step);
    op.scale = scale;
    for (size_t i = 0; i < m->n_params; i++) {
        struct og_param *p = &m->param[i];
        if (!p->grad)
            continue;
        op.n = og__param_count(p);
        op.value = p->value;
        op.m = p->m;
        op.v = p->v;
        op.grad = p->grad;
        OG_DO(optimizer->run(m->ops, m->backend, &op, err));
    }
    return 0;
}
