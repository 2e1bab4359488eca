/* Memory of a batch: one arena, sub-allocated in one order. The same code without memory computes
 * the size for the largest batch. */
#include "nn/conv_edges.h"
#include "nn/conv_mixed.h"
#include "nn/joined.h"
#include "nn/model.h"
#include "nn/relational.h"
#include "sample/batch_memory.h"

#include <string.h>

#define ACTIVATIONS "activations"

/* ==== sub-allocation ==== */

/* The widest matrix of any layer. */
static int widest_matrix(const struct og_model_config *c)
{
    int most = OG_MAX(og__widest_row(c), c->edge_dim);
    if (og__of_pairs(c))
        most = OG_MAX(OG_MAX(most, c->hidden), OG_MAX(og__pair_width(c), og__score_width(c)));
    for (int l = 0; l < c->layers; l++) {
        most = OG_MAX(OG_MAX(most, OG_MAX(og__layer_in(c, l), og__layer_own(c, l))),
                      OG_MAX(og__layer_mid(c, l), og__layer_out(c, l)));
        most = OG_MAX(most, og__edge_cols(c, l));
        if (og__may_attend_first(c, l))
            most = OG_MAX(most, c->heads * og__layer_in(c, l));
        if (og__may_blend(c, l))
            most = OG_MAX(most, c->bases * og__layer_in(c, l));
    }
    return most;
}

static void suballoc_attention(const struct og_model_config *c, int l, const struct og_block *b,
                               bool training, struct og_arena *arena, struct og_layer_work *w)
{
    size_t coefficients = b->n_edges + b->n_dst;
    w->transform_first = !og__attend_first(c, l, b);
    for (int i = 0; og__may_attend_first(c, l) && i < 2; i++) {
        w->fold[i] = og__suballoc_floats(arena, (size_t)c->heads, og__layer_in(c, l));
        w->dfold[i] = og__suballoc_floats(arena, (size_t)c->heads, og__layer_in(c, l));
    }
    if (og__folds_own(c)) {
        w->fold[1] = og__suballoc_floats(arena, (size_t)c->heads, og__layer_own(c, l));
        w->dfold[1] = og__suballoc_floats(arena, (size_t)c->heads, og__layer_own(c, l));
    }
    if (og__folds_edges(c)) {
        w->fold[2] = og__suballoc_floats(arena, (size_t)c->heads, c->edge_dim);
        w->dfold[2] = og__suballoc_floats(arena, (size_t)c->heads, c->edge_dim);
    }
    w->t = og__suballoc_floats(arena, b->n_src, og__layer_mid(c, l));
    og__conv_of(c)->suballoc_scores(c, l, b, training, arena, w);
    w->alpha = og__suballoc_floats(arena, coefficients, c->heads);
    if (training || og__model_weighs(c)) /* what weights leave of alpha is stored there as well */
        w->dscore = og__suballoc_floats(arena, coefficients, c->heads);
}

static void suballoc_pool(const struct og_model_config *c, int l, const struct og_block *b,
                          bool training, struct og_arena *arena, struct og_layer_work *w)
{
    int mid = og__layer_mid(c, l);
    bool max = og__conv_of(c)->takes_max;
    w->transform_first = true;
    w->t = og__suballoc_floats(arena, b->n_src, mid);
    if (!max)
        w->scale = og__suballoc_floats(arena, b->n_dst, 1);
    if (max || training)
        w->a = og__suballoc_floats(arena, b->n_dst, mid);
    if (max && training)
        w->from = og__suballoc(arena, b->n_dst * (size_t)mid * sizeof(*w->from));
}

/* The aggregate of a layer is stored for the backward pass. A forward pass needs it only if
 * transform first may need that memory. */
static void suballoc_linear(const struct og_model_config *c, int l, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w)
{
    int in = og__layer_in(c, l), mid = og__layer_mid(c, l);
    const bool adds_own = c->apart && og__conv_of(c)->perceptron; /* before the product */
    const bool sums_first = adds_own || og__conv_of(c)->needs_edges;
    const bool sparse = !sums_first && og__is_sparse(c, l);
    w->transform_first = sparse || (!sums_first && og__transform_first(b, in, mid));
    if (og__aggregate_of(c) != OG__BETWEEN) /* its scales are made on the host */
        w->scale =
            og__suballoc_floats(arena, og__conv_of(c)->wants_degrees ? b->n_src : b->n_dst, 1);
    if (sparse)
        w->a = og__suballoc_floats(arena, b->n_src, mid);
    else if (training || sums_first || og__may_transform_first(c, l))
        w->a = og__suballoc_floats(arena, b->n_dst, in);
    if (og__conv_of(c)->perceptron)
        w->t = og__suballoc_floats(arena, b->n_dst, adds_own ? OG_MAX(in, mid) : mid);
    if (adds_own)
        w->nothing = og__suballoc(arena, ((size_t)b->n_dst + 1) * sizeof(*w->nothing));
}

void og__suballoc_conv(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_arena *arena, struct og_layer_work *w)
{
    *w = (struct og_layer_work){.block = b};
    if (og__conv_of(c)->joins)
        og__suballoc_mixed_layer(c, l, b, arena, w);
    else if (og__conv_of(c)->attends)
        suballoc_attention(c, l, b, training, arena, w);
    else if (og__pools(c))
        suballoc_pool(c, l, b, training, arena, w);
    else
        suballoc_linear(c, l, b, training, arena, w);
    og__suballoc_edges(c, l, b, arena, w);
}

void og__suballoc_end(const struct og_model_config *c, int l, const struct og_block *b,
                      bool training, struct og_arena *arena, struct og_layer_work *w)
{
    int out = og__layer_out(c, l);
    w->h = og__suballoc_floats(arena, b->n_dst, out);
    if (!og__finishes(c, l))
        return;
    w->y = training ? og__suballoc_floats(arena, b->n_dst, out) : w->h;
    if (c->norm == OG_NORM_BATCH) {
        w->mean = og__suballoc_floats(arena, 1, out);
        w->rstd = og__suballoc_floats(arena, 1, out);
        w->var = training ? og__suballoc_floats(arena, 1, out) : NULL;
    }
}

size_t og__partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                         const struct og_block *b)
{
    int in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    uint64_t n_in = (uint64_t)in, n_mid = (uint64_t)mid, n_own = (uint64_t)og__layer_own(c, l);
    uint32_t d = b->n_dst, s = b->n_src;
    if (og__conv_of(c)->joins) /* for relations, for own rows */
        s = OG_MAX(b->n_lists, d);
    size_t most = OG_MAX(ops->partial_bytes(d, out, n_in), ops->partial_bytes(d, out, 0));
    most = OG_MAX(most, ops->partial_bytes(s, mid, n_in));
    most = OG_MAX(most, ops->partial_bytes(d, mid, n_in));
    most = OG_MAX(most, ops->partial_bytes(d, out, n_mid));
    if (og__conv_of(c)->joins) /* matrices stored as in PyTorch Geometric, by input */
        most = OG_MAX(most, ops->partial_bytes(s, in, (uint64_t)out));
    if (og__may_blend(c, l)) {
        most = OG_MAX(most, ops->partial_bytes(d, c->bases * in, (uint64_t)out));
        most =
            OG_MAX(most, ops->column_bytes(d, og__blend_columns(c->types->n_relations, c->bases)));
    }
    if (og__has_self(c)) {
        most = OG_MAX(most, ops->partial_bytes(d, out, (og__pools(c) ? n_mid : n_in) + n_own));
        most = OG_MAX(most, ops->partial_bytes(d, mid, n_own)); /* multiplied before the sum */
    }
    if (og__conv_of(c)->perceptron) /* eps */
        most = OG_MAX(most, ops->column_bytes(d, (size_t)OG_MAX(in, mid)));
    if (og__conv_of(c)->attends)
        most = OG_MAX(most, ops->column_bytes(s, 2 * n_mid));
    if (og__folds_own(c))
        most = OG_MAX(most, ops->partial_bytes(d, c->heads, n_own));
    if (og__sees_edges(c))
        most = OG_MAX(most, ops->partial_bytes(og__edge_places(c, b), og__edge_cols(c, l),
                                               (uint64_t)c->edge_dim));
    if (og__conv_of(c)->needs_dots) {
        most = OG_MAX(most, ops->partial_bytes(s, og__all_heads(c, l), n_in));
        most = OG_MAX(most, ops->partial_bytes(d, og__all_heads(c, l), n_own));
        most = OG_MAX(most, ops->partial_bytes(d, out, n_own));
    }
    if (og__may_attend_first(c, l)) {
        most = OG_MAX(most, ops->partial_bytes(d, og__head_width(c, l), n_in));
        most = OG_MAX(most, ops->column_bytes(s, 2 * (size_t)c->heads * n_in));
    }
    if (og__finishes(c, l))
        most = OG_MAX(most, ops->column_bytes(d, 2 * (size_t)out));
    return most;
}

/* Does its backward pass transpose the block? */
static bool transposes(const struct og_model_config *c, int l)
{
    return l > 0 || og__trains_input(c) || og__conv_of(c)->attends || og__pools(c) ||
           og__may_transform_first(c, l);
}

void og__suballoc_back(const struct og_suballocation *k, size_t partial, size_t n_src,
                       size_t n_edges, uint64_t n_seeds, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    out->partial = og__suballoc(k->arena, partial);
    out->back_indptr = og__suballoc(k->arena, n_src * sizeof(*out->back_indptr));
    out->back_col = og__suballoc(k->arena, n_edges * sizeof(*out->back_col));
    if (og__conv_of(c)->attends || og__model_weighs(c) || og__sees_edges(c))
        out->back_edge = og__suballoc(k->arena, n_edges * sizeof(*out->back_edge));
    out->dlogits = og__suballoc_floats(k->arena, n_seeds, og__model_width(c));
}

/* Memory that layers use one after another in the backward pass: the largest of each. */
static void suballoc_shared(const struct og_suballocation *k, const struct og_batch *batch,
                            struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    size_t partial = og__of_pairs(c) ? og__pair_partial_bytes(k->ops, c, &pairs) : 0, n_src = 0,
           n_edges = 0;
    for (int l = 0; l < c->layers; l++) {
        const struct og_block *b = &batch->hop[c->layers - 1 - l];
        partial = OG_MAX(partial, og__partial_bytes(k->ops, c, l, b));
        if (transposes(c, l)) {
            n_src = OG_MAX(n_src, (size_t)b->n_src + 1);
            n_edges = OG_MAX(n_edges, (size_t)b->n_edges);
        }
    }
    partial = OG_MAX(partial, og__projections_partial(k->ops, c, batch->hop[c->layers - 1].n_src));
    og__suballoc_back(k, partial, n_src, n_edges, batch->hop[0].n_dst, out);
}

/* Pairs that are scored at once: all in training, else at most a window. */
enum { PAIR_WINDOW = 64 * OG__BLOCK_ROWS };

static uint32_t pair_window(uint64_t n_pairs, uint64_t n_scores)
{
    return (uint32_t)OG_MAX(n_pairs, OG_MIN(n_scores, (uint64_t)PAIR_WINDOW));
}

size_t og__pair_partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c,
                              const struct og_pair_counts *n)
{
    if (!og__perceives(c))
        return 0;
    const int out = og__score_width(c);
    size_t most = ops->partial_bytes(n->trained, c->hidden, (uint64_t)og__pair_width(c));
    most = OG_MAX(most, ops->partial_bytes(n->trained, OG_MAX(c->hidden, out), 0));
    return OG_MAX(most, ops->partial_bytes(n->trained, out, (uint64_t)c->hidden));
}

void og__suballoc_pairs(const struct og_model_config *c, uint64_t n_seeds,
                        const struct og_pair_counts *n, bool training, struct og_arena *arena,
                        struct og_workspace *out)
{
    uint64_t kept = training ? n->trained : 0;
    const int columns = og__score_width(c);
    out->pair_window = pair_window(kept, n->scored);
    out->scores = og__suballoc_floats(arena, n->scored, columns);
    if (og__perceives(c)) {
        out->pair_in = og__suballoc_floats(arena, out->pair_window, og__pair_width(c));
        out->pair_mid = og__suballoc_floats(arena, out->pair_window, c->hidden);
    }
    if (!training)
        return;
    out->dscores = og__suballoc_floats(arena, kept, columns);
    out->pair_first = og__suballoc(arena, ((size_t)n_seeds + 1) * sizeof(*out->pair_first));
    out->pair_list = og__suballoc(arena, 2 * kept * sizeof(*out->pair_list));
    if (!og__relates(c) || og__types_of(c) == 0)
        return;
    out->kind_number = og__suballoc(arena, (kept + 1) * sizeof(*out->kind_number));
    out->kind_first =
        og__suballoc(arena, ((size_t)c->types->n_relations + 1) * sizeof(*out->kind_first));
    out->kind_list = og__suballoc(arena, kept * sizeof(*out->kind_list));
}

/* Buffers for a batch's host data. */
static void suballoc_rooms(const struct og_suballocation *k, const struct og_batch *batch,
                           struct og_rooms *out)
{
    const struct og_model_config *c = k->config;
    const uint64_t rows = k->n->rows_come ? 0 : batch->hop[c->layers - 1].n_src;
    const struct og_room_sizes n = {
        .rows = rows * (uint64_t)og__widest_row(c),
        .targets = og__targets_of(c, og__items_of(c, batch->hop[0].n_dst, k->n)),
        .pairs = k->n->n_scores,
        .relations = og__conv_of(c)->joins ? k->n->n_scores : 0};
    og__suballoc_rooms(k->ops, &n, k->arena, out);
    for (int h = 0; h < c->layers; h++)
        og__suballoc_block_room(k->ops, &batch->hop[h], k->arena, &out->hop[h]);
}

void og__most_of_block(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_most *most)
{
    most->width = OG_MAX(most->width, widest_matrix(c));
    most->heads = OG_MAX(most->heads, c->heads);
    most->rows = OG_MAX(most->rows, (uint64_t)OG_MAX(OG_MAX(b->n_src, b->n_dst), b->n_lists));
    most->counted = OG_MAX(most->counted, (uint64_t)b->n_dst);
    if (og__conv_of(c)->joins ||
        (training && transposes(c, l))) /* lists of edges for sums by coefficients */
        most->keys = OG_MAX(most->keys, b->n_edges);
    if (og__conv_of(c)->joins && c->bases > 0)
        most->coefficients = OG_MAX(
            most->coefficients, OG_MAX(c->types->n_relations, OG__MOST_MIXED) * (uint64_t)c->bases);
}

void og__most_of_pairs(const struct og_pair_counts *n, bool training, struct og_most *most)
{
    const uint64_t kept = training ? n->trained : 0;
    most->rows = OG_MAX(most->rows, (uint64_t)pair_window(kept, n->scored));
    most->keys = OG_MAX(most->keys, 2 * kept);
    most->counted = OG_MAX(most->counted, n->scored);
}

/* Largest operands of the batch's operators. */
static struct og_most largest_of(const struct og_suballocation *k, const struct og_batch *batch)
{
    const struct og_model_config *c = k->config;
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    struct og_most most = {0};
    for (int l = 0; l < c->layers; l++)
        og__most_of_block(c, l, &batch->hop[c->layers - 1 - l], k->training, &most);
    if (og__of_pairs(c))
        og__most_of_pairs(&pairs, k->training, &most);
    return most;
}

/* A batch of such counts, without its arrays. */
static struct og_batch batch_of(const struct og_batch_caps *n)
{
    struct og_batch batch = {.n_hops = n->n_hops};
    for (uint32_t h = 0; h < n->n_hops; h++)
        batch.hop[h] = (struct og_block){.n_dst = (uint32_t)n->hop[h].n_dst,
                                         .n_src = (uint32_t)n->hop[h].n_src,
                                         .n_edges = n->hop[h].n_edges,
                                         .n_lists = (uint32_t)n->hop[h].n_lists,
                                         .n_relations = n->n_relations};
    return batch;
}

static void suballoc_layers(const struct og_suballocation *k, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const struct og_batch batch = batch_of(k->n);
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    const uint32_t n_dst = batch.hop[0].n_dst, n_src = batch.hop[c->layers - 1].n_src;
    const struct og_most most = largest_of(k, &batch);
    out->scratch_bytes = k->ops->scratch_bytes(&most, k->threads);
    out->scratch = og__suballoc(k->arena, out->scratch_bytes);
    out->loss_blocks = og__suballoc(k->arena, og__n_blocks(og__items_of(c, n_dst, k->n)) *
                                                  sizeof(*out->loss_blocks));
    suballoc_rooms(k, &batch, &out->room);
    if (og__model_sums_weights(c))
        og__suballoc_numbers(k->ops, 2 * (uint64_t)n_src, k->numbers, k->arena, &out->ends);
    for (int l = 0; l < c->layers; l++) {
        const struct og_block *b = &batch.hop[c->layers - 1 - l];
        og__suballoc_conv(c, l, b, k->training, k->arena, &out->work[l]);
        og__suballoc_end(c, l, b, k->training, k->arena, &out->work[l]);
    }
    if (k->training && c->input_dropout > 0)
        out->dropped =
            og__suballoc_floats(k->arena, n_src, og__dropped_width(og__widest_row(c), c->entries));
    if (og__conv_of(c)->joins) {
        og__suballoc_joined(k->ops, c, n_src, k->training, k->numbers, k->arena, out);
        og__suballoc_mixing(k->ops, c, &batch, k->training, k->arena, &out->mixing);
    }
    if (og__of_pairs(c))
        og__suballoc_pairs(c, n_dst, &pairs, k->training, k->arena, out);
    if (k->training)
        suballoc_shared(k, &batch, out);
}

static void suballoc(const struct og_suballocation *k, struct og_workspace *out)
{
    *out = (struct og_workspace){0};
    (og__in_parts(k->config) ? og__suballoc_relations : suballoc_layers)(k, out);
}

/* Sizes of the arenas: activations, and numbers in host memory. */
struct sizes {
    size_t on_backend, host;
};

static struct sizes sizes_of(const struct og_nn_ops *ops, const struct og_model_config *c,
                             const struct og_batch_caps *n, bool training, int threads)
{
    struct og_arena on_backend = {0}, host = {0};
    struct og_workspace at;
    const struct og_suballocation k = {.ops = ops,
                                       .config = c,
                                       .n = n,
                                       .training = training,
                                       .threads = threads,
                                       .numbers = &host,
                                       .arena = &on_backend};
    suballoc(&k, &at);
    return (struct sizes){on_backend.used, host.used};
}

size_t og__model_workspace_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                                 const struct og_batch_caps *caps, bool training, int threads)
{
    const struct sizes bytes = sizes_of(ops, config, caps, training, threads);
    return bytes.on_backend + bytes.host + ops->own_bytes(threads);
}

/* ==== the current workspace ==== */

/* Copies the counts: their owner may be gone when a batch is larger. */
static const struct og_type_counts *keep_counts(struct og_type_counts *to,
                                                const struct og_type_counts *n)
{
    if (n != to)
        memcpy(to->nodes, n->nodes, to->bytes);
    return to;
}

int og__model_reserve(struct og_model *m, const struct og_batch_caps *caps, bool training,
                      struct og_err *err)
{
    if (caps->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, batches of %u hops",
                        m->config.layers, caps->n_hops);
    const struct sizes bytes = sizes_of(m->ops, &m->config, caps, training, m->threads);
    m->caps = *caps;
    if (m->relational)
        m->caps.types = keep_counts(og__relational_most(m->relational), caps->types);
    m->training = training;
    og__arena_release(&m->workspace);
    og__arena_release(&m->numbers);
    int rc = bytes.host > 0
                 ? og__arena_init(&m->numbers, m->lists.memory, bytes.host, ACTIVATIONS, err)
                 : 0;
    return rc < 0 ? rc : og__arena_init(&m->workspace, m->own, bytes.on_backend, ACTIVATIONS, err);
}

/* Allocates for the maxima of this batch and of earlier ones. */
static int grow(struct og_model *m, const struct og_batch *batch, const struct og_batch_caps *now,
                struct og_err *err)
{
    struct og_batch_caps most = m->caps;
    og__caps_include(&most, batch);
    most.n_pairs = OG_MAX(most.n_pairs, now->n_pairs);
    most.n_scores = OG_MAX(most.n_scores, now->n_scores);
    if (m->relational) {
        og__type_counts_include(og__relational_most(m->relational), now->types);
        most.types = og__relational_most(m->relational);
    }
    return og__model_reserve(m, &most, m->training, err);
}

/* Blocks have the first of the batch's ids for sources. Where nobody looked yet, as when a run is
 * only measured, degrees count edges. */
static int bring_ends(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    const struct og_weight_sums *of = m->config.weights;
    const struct og_numbers *ends = &m->at.ends;
    const uint32_t n = batch->hop[m->config.layers - 1].n_src;
    float *mean = (float *)(void *)ends->host, *loop = mean + n;
    if (!of)
        return 0;
    if (!batch->ids)
        return og__fail(err, -EINVAL, NULL,
                        "model: a batch without ids, by which weights are known");
    for (uint32_t i = 0; i < n; i++) {
        mean[i] = of->mean[batch->ids[i]];
        loop[i] = of->loop[batch->ids[i]];
    }
    for (int h = 0; h < m->config.layers; h++) {
        m->at.hop[h].mean_weight = (const float *)(void *)og__numbers_on_backend(ends);
        m->at.hop[h].loop_weight = m->at.hop[h].mean_weight + n;
    }
    return og__upload_numbers(m, ends, 2 * n, err);
}

static int upload_batch(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    struct og_workspace *at = &m->at;
    int rc = 0;
    for (int l = 0; l < m->config.layers; l++) {
        int h = m->config.layers - 1 - l;
        OG_TRY(og__upload_block(m, &batch->hop[h], &at->room.hop[h], &at->hop[h], err));
        at->work[l].block = &at->hop[h];
        at->work[l].relation = batch->hop[h].relation;
    }
    if (og__model_sums_weights(&m->config))
        rc = bring_ends(m, batch, err);
out:
    return rc;
}

int og__workspace_suballoc(struct og_model *m, const struct og_batch *batch,
                           const struct og_pairs *pairs, struct og_err *err)
{
    struct og_batch_caps now = {.n_pairs = pairs && !pairs->held_out ? pairs->n : 0,
                                .n_scores = pairs ? pairs->n : 0,
                                .rows_come = m->caps.rows_come,
                                .types =
                                    m->relational ? og__relational_counts(m->relational) : NULL};
    og__caps_include(&now, batch);
    const struct sizes need = sizes_of(m->ops, &m->config, &now, m->training, m->threads);
    if (!m->workspace.base || need.on_backend > m->workspace.cap || need.host > m->numbers.cap)
        OG_DO(grow(m, batch, &now, err));
    og__arena_rewind(&m->workspace, 0);
    og__arena_rewind(&m->numbers, 0);
    const struct og_suballocation k = {.ops = m->ops,
                                       .config = &m->config,
                                       .n = &now,
                                       .training = m->training,
                                       .threads = m->threads,
                                       .numbers = &m->numbers,
                                       .arena = &m->workspace,
                                       .out = m->relational};
    suballoc(&k, &m->at);
    m->ops->set_scratch(m->backend, m->at.scratch, m->at.scratch_bytes, m->at.partial);
    if (pairs)
        OG_DO(og__upload_pairs(m, pairs, &m->at.room, &m->at.pairs, err));
    return m->relational ? 0 : upload_batch(m, batch, err);
}

const float *og__model_logits(const struct og_model *m)
{
    return m->at.work[m->config.layers - 1].h;
}

const float *og__model_hidden(const struct og_model *m)
{
    const struct og_model_config *c = &m->config;
    const int l = c->layers - 2;
    if (l < 0 || !m->relational)
        return l < 0 ? NULL : m->at.work[l].h;
    const struct og_live live = og__live_relations(c);
    const uint32_t target = c->types->target;
    return live.end[l][target] ? og__type_model(m->relational, target)->at.work[l].h : NULL;
}

const float *og__model_scores(const struct og_model *m)
{
    return m->at.scores;
}
