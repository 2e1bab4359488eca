#include "nn/whole.h"

#include "nn/model.h"

#define ACTIVATIONS "activations"

/* The graph as a block of its own. */
static bool transforms(const struct og_model_config *c, int l, uint64_t n_nodes, uint64_t n_edges)
{
    struct og_block all = {
        .n_dst = (uint32_t)n_nodes, .n_src = (uint32_t)n_nodes, .n_edges = n_edges};
    if (og__conv_of(c)->attends || og__pools(c))
        return true;
    return og__transform_first(&all, og__layer_in(c, l), og__layer_mid(c, l));
}

struct og_whole_layer og__whole_layer(const struct og_model_config *c, int l, uint64_t n_nodes,
                                      uint64_t n_edges)
{
    struct og_whole_layer s = {.transforms = transforms(c, l, n_nodes, n_edges),
                               .degrees = og__conv_of(c)->wants_degrees,
                               .n_in = og__layer_in(c, l),
                               .n_out = og__layer_out(c, l)};
    bool looks_at_own = og__has_self(c) || c->residual;
    s.n_source = s.transforms ? og__layer_mid(c, l) : s.n_in;
    s.own = s.transforms && looks_at_own;
    s.prefix = og__conv_of(c)->has_loops || (!s.transforms && looks_at_own);
    return s;
}

/* ---- the workspace: scratch | what one block makes on its way ---- */

/* An arena without a base only counts. */
static void *take(struct og_arena *arena, size_t bytes)
{
    if (arena->base)
        return og__arena_take(arena, bytes);
    arena->used += og__arena_room(bytes);
    return NULL;
}

static float *take_floats(struct og_arena *arena, uint64_t rows, int cols)
{
    return take(arena, rows * (size_t)cols * sizeof(float));
}

static void carve(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                  const struct og_whole_caps *caps, int threads, struct og_arena *arena,
                  struct og_workspace *at)
{
    struct og_layer_work *w = &at->work[l];
    int mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    int widest = OG_MAX(OG_MAX(og__layer_in(c, l), mid), OG_MAX(out, c->n_classes));
    *at = (struct og_workspace){.scratch_bytes = ops->scratch_bytes(widest, threads)};
    at->scratch = take(arena, at->scratch_bytes);
    at->loss_blocks = take(arena, sizeof(*at->loss_blocks));
    if (og__conv_of(c)->attends) {
        w->score_src = take_floats(arena, caps->n_src, c->heads);
        w->score_dst = take_floats(arena, caps->n_dst, c->heads);
        w->alpha = take_floats(arena, caps->n_edges + caps->n_dst, c->heads);
    } else if (og__conv_of(c)->takes_max) {
        w->a = take_floats(arena, caps->n_dst, mid);
    } else {
        w->scale = take_floats(arena, og__conv_of(c)->wants_degrees ? caps->n_src : caps->n_dst, 1);
    }
    if (og__conv_of(c)->perceptron)
        w->t = take_floats(arena, caps->n_dst, mid);
    if (c->norm == OG_NORM_BATCH) {
        w->mean = take_floats(arena, 1, out);
        w->rstd = take_floats(arena, 1, out);
    }
}

static size_t arena_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                          const struct og_whole_caps *caps, int threads)
{
    struct og_arena counter = {0};
    struct og_workspace at;
    carve(ops, c, l, caps, threads, &counter, &at);
    return counter.used;
}

size_t og__whole_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                       const struct og_whole_caps *caps, int threads)
{
    return arena_bytes(ops, c, l, caps, threads) + ops->own_bytes(threads);
}

int og__whole_reserve(struct og_model *m, int l, const struct og_whole_caps *caps,
                      struct og_err *err)
{
    size_t bytes = arena_bytes(m->ops, &m->config, l, caps, m->threads);
    og__arena_release(&m->workspace);
    m->caps = (struct og_batch_caps){0}; /* no batch fits it */
    int rc = og__arena_init(&m->workspace, m->own, bytes, ACTIVATIONS, err);
    if (rc < 0)
        return rc;
    carve(m->ops, &m->config, l, caps, m->threads, &m->workspace, &m->at);
    m->ops->lend(m->backend, m->at.scratch, m->at.scratch_bytes, NULL);
    return og__pack_weights(m, err);
}

void og__whole_release(struct og_model *m)
{
    og__arena_release(&m->workspace);
}

/* ---- the passes ---- */

int og__whole_transform(struct og_model *m, int l, struct og_rows x, float *out, struct og_err *err)
{
    struct og_block rows = {.n_dst = x.n, .n_src = x.n};
    m->at.work[l].block = &rows;
    m->at.work[l].transform_first = true;
    int rc = og__conv_of(&m->config)->steps->multiply(m, l, x, out, err);
    m->at.work[l].block = NULL;
    return rc;
}

int og__whole_combine(struct og_model *m, int l, const struct og_whole_layer *s,
                      const struct og_block *block, struct og_rows sources, struct og_rows own,
                      float *out, struct og_err *err)
{
    struct og_layer_work *w = &m->at.work[l];
    w->block = block;
    w->transform_first = s->transforms;
    w->y = w->h = out;
    int rc =
        og__conv_of(&m->config)->steps->combine(m, l, sources, s->own ? own : sources, false, err);
    if (rc == 0 && og__finishes(&m->config, l))
        rc = og__finish_layer(m, l, false, err);
    w->block = NULL;
    return rc;
}

int og__whole_loss(struct og_model *m, const float *logits, const void *labels, uint32_t n,
                   struct og_metrics *out, struct og_err *err)
{
    return og__model_loss(m, logits, labels, n, NULL, out, err);
}
