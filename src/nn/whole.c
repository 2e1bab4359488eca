#include "nn/whole.h"

#include "nn/conv_edges.h"
#include "nn/model.h"

#define ACTIVATIONS "activations"

/* The graph as a block of its own. */
static bool transforms(const struct og_model_config *c, int l, uint64_t n_nodes, uint64_t n_edges)
{
    struct og_block all = {
        .n_dst = (uint32_t)n_nodes, .n_src = (uint32_t)n_nodes, .n_edges = n_edges};
    if (og__conv_of(c)->attends || og__pools(c))
        return true;
    return !og__conv_of(c)->needs_edges && !og__conv_of(c)->alone &&
           (og__is_sparse(c, l) ||
            og__transform_first(&all, og__layer_in(c, l), og__layer_mid(c, l)));
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

/* ---- the workspace: scratch | intermediates of one block ---- */

static void suballoc(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                     const struct og_whole_caps *caps, int threads, struct og_arena *arena,
                     struct og_workspace *at)
{
    struct og_layer_work *w = &at->work[l];
    int mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    int widest = OG_MAX(OG_MAX(og__layer_in(c, l), mid), OG_MAX(out, c->n_classes));
    widest = OG_MAX(widest, OG_MAX(c->edge_dim, og__edge_cols(c, l)));
    const struct og_most most = {.width = widest,
                                 .heads = c->heads,
                                 .rows = OG_MAX(OG_MAX(caps->n_src, caps->n_dst), OG__WHOLE_ROWS),
                                 .counted = OG__WHOLE_ROWS};
    *at = (struct og_workspace){.scratch_bytes = ops->scratch_bytes(&most, threads)};
    at->scratch = og__suballoc(arena, at->scratch_bytes);
    at->loss_blocks = og__suballoc(arena, sizeof(*at->loss_blocks));
    const struct og_room_sizes room = {.rows =
                                           caps->n_src * (uint64_t)OG_MAX(og__layer_in(c, l), mid),
                                       .own = caps->n_dst * (uint64_t)og__layer_in(c, l),
                                       .made = caps->n_dst * (uint64_t)OG_MAX(mid, out),
                                       .logits = OG__WHOLE_ROWS * (uint64_t)c->n_classes,
                                       .targets = og__targets_of(c, OG__WHOLE_ROWS),
                                       .ends = og__model_sums_weights(c) ? caps->n_src : 0};
    const struct og_block largest = {
        .n_dst = caps->n_dst, .n_src = caps->n_src, .n_edges = caps->n_edges};
    og__suballoc_rooms(ops, &room, arena, &at->room);
    og__suballoc_block_room(ops, &largest, arena, &at->room.hop[0]);
    if (og__conv_of(c)->attends) {
        og__conv_of(c)->suballoc_scores(c, l, &largest, false, arena, w);
        w->alpha = og__suballoc_floats(arena, caps->n_edges + caps->n_dst, c->heads);
        if (og__model_weighs(c))
            w->dscore = og__suballoc_floats(arena, caps->n_edges + caps->n_dst, c->heads);
    } else if (og__conv_of(c)->takes_max) {
        w->a = og__suballoc_floats(arena, caps->n_dst, mid);
    } else {
        w->scale = og__suballoc_floats(
            arena, og__conv_of(c)->wants_degrees ? caps->n_src : caps->n_dst, 1);
    }
    if (og__conv_of(c)->perceptron)
        w->t = og__suballoc_floats(arena, caps->n_dst, mid);
    if (og__conv_of(c)->needs_edges)
        w->a = og__suballoc_floats(arena, caps->n_dst, og__layer_in(c, l));
    if (og__folds_edges(c))
        w->fold[2] = og__suballoc_floats(arena, (size_t)c->heads, c->edge_dim);
    og__suballoc_edges(c, l, &largest, arena, w);
    if (c->norm == OG_NORM_BATCH) {
        w->mean = og__suballoc_floats(arena, 1, out);
        w->rstd = og__suballoc_floats(arena, 1, out);
    }
}

static size_t arena_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                          const struct og_whole_caps *caps, int threads)
{
    struct og_arena counter = {0};
    struct og_workspace at;
    suballoc(ops, c, l, caps, threads, &counter, &at);
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
    m->caps = (struct og_batch_caps){0}; /* it is not for batches */
    OG_DO(og__arena_init(&m->workspace, m->own, bytes, ACTIVATIONS, err));
    suballoc(m->ops, &m->config, l, caps, m->threads, &m->workspace, &m->at);
    m->ops->set_scratch(m->backend, m->at.scratch, m->at.scratch_bytes, NULL);
    return og__pack_weights(m, err);
}

void og__whole_release(struct og_model *m)
{
    og__arena_release(&m->workspace);
}

/* ---- the passes ---- */

int og__whole_transform(struct og_model *m, int l, struct og_rows x, float *out, struct og_err *err)
{
    int rc = 0;
    struct og_block rows = {.n_dst = x.n, .n_src = x.n};
    const struct og_rooms *room = &m->at.room;
    float *made = og__on_backend(out, room->made);
    struct og_layer_work *w = &m->at.work[l];
    w->block = &rows;
    w->transform_first = true;
    OG_TRY(og__upload_rows(m, &x, x.n, room->rows, &x, err));
    OG_TRY(og__conv_of(&m->config)->steps->multiply(m, l, x, made, err));
    OG_TRY(og__deliver(m, out, x.n * (size_t)m->layer[l].n_mid * sizeof(*out), room->made, err));
out:
    w->block = NULL;
    return rc;
}

/* Both arrays are consecutive. */
static int bring_ends(struct og_model *m, const struct og_block *b, struct og_err *err)
{
    struct og_block *there = &m->at.hop[0];
    if (!b->mean_weight)
        return 0;
    there->mean_weight = og__on_backend(b->mean_weight, m->at.room.ends);
    there->loop_weight = there->mean_weight + b->n_src;
    return og__upload(m, b->mean_weight, 2 * (size_t)b->n_src * sizeof(float), m->at.room.ends,
                      err);
}

int og__whole_combine(struct og_model *m, int l, const struct og_whole_layer *s,
                      const struct og_block *block, struct og_rows sources, struct og_rows own,
                      const struct og_edge_rows *edges, float *out, struct og_err *err)
{
    int rc = 0;
    const struct og_rooms *room = &m->at.room;
    struct og_layer_work *w = &m->at.work[l];
    w->block = &m->at.hop[0];
    w->transform_first = s->transforms;
    m->edges = edges;
    w->y = w->h = og__on_backend(out, room->made);
    OG_TRY(og__upload_block(m, block, &room->hop[0], &m->at.hop[0], err));
    OG_TRY(bring_ends(m, block, err));
    OG_TRY(og__upload_rows(m, &sources, sources.n, room->rows, &sources, err));
    if (s->own)
        OG_TRY(og__upload_rows(m, &own, own.n, room->own, &own, err));
    OG_TRY(
        og__conv_of(&m->config)->steps->combine(m, l, sources, s->own ? own : sources, false, err));
    if (og__finishes(&m->config, l))
        OG_TRY(og__finish_layer(m, l, false, err));
    OG_TRY(og__deliver(m, out, block->n_dst * (size_t)s->n_out * sizeof(*out), room->made, err));
out:
    w->block = NULL;
    return rc;
}

int og__whole_loss(struct og_model *m, const float *logits, const void *labels, uint32_t n,
                   struct og_metrics *out, struct og_err *err)
{
    void *room = m->at.room.logits;
    size_t bytes = n * (size_t)m->config.n_classes * sizeof(*logits);
    int rc = og__upload(m, logits, bytes, room, err);
    return rc < 0 ? rc : og__model_loss(m, og__on_backend(logits, room), labels, n, NULL, out, err);
}
