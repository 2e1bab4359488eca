/* Memory of a batch: one arena, carved in one order. The same walk over the largest batch, without
 * memory under it, says how much to take. */
#include "nn/conv_mixed.h"
#include "nn/joined.h"
#include "nn/model.h"
#include "nn/relational.h"

#define ACTIVATIONS "activations"

/* ==== carving ==== */

static float *take_floats(struct og_arena *arena, size_t rows, int cols)
{
    return og__carve(arena, rows * (size_t)cols * sizeof(float));
}

int og__widest(const struct og_model_config *c)
{
    int most = og__of_pairs(c) ? c->hidden : 1; /* the decoder's */
    for (int l = 0; l < c->layers; l++) {
        most = OG_MAX(OG_MAX(most, OG_MAX(og__layer_in(c, l), og__layer_own(c, l))),
                      OG_MAX(og__layer_mid(c, l), og__layer_out(c, l)));
        if (og__may_attend_first(c, l))
            most = OG_MAX(most, c->heads * og__layer_in(c, l));
        if (og__may_blend(c, l))
            most = OG_MAX(most, c->bases * og__layer_in(c, l));
    }
    return most;
}

static void carve_attention(const struct og_model_config *c, int l, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w)
{
    size_t coefficients = b->n_edges + b->n_dst;
    w->transform_first = !og__attend_first(c, l, b);
    for (int i = 0; og__may_attend_first(c, l) && i < 2; i++) {
        w->fold[i] = take_floats(arena, (size_t)c->heads, og__layer_in(c, l));
        w->dfold[i] = take_floats(arena, (size_t)c->heads, og__layer_in(c, l));
    }
    if (og__folds_own(c)) {
        w->fold[1] = take_floats(arena, (size_t)c->heads, og__layer_own(c, l));
        w->dfold[1] = take_floats(arena, (size_t)c->heads, og__layer_own(c, l));
    }
    w->t = take_floats(arena, b->n_src, og__layer_mid(c, l));
    w->score_src = take_floats(arena, b->n_src, c->heads);
    w->score_dst = take_floats(arena, b->n_dst, c->heads);
    w->alpha = take_floats(arena, coefficients, c->heads);
    if (training)
        w->dscore = take_floats(arena, coefficients, c->heads);
}

static void carve_pool(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_arena *arena, struct og_layer_work *w)
{
    int mid = og__layer_mid(c, l);
    bool max = og__conv_of(c)->takes_max;
    w->transform_first = true;
    w->t = take_floats(arena, b->n_src, mid);
    if (!max)
        w->scale = take_floats(arena, b->n_dst, 1);
    if (max || training)
        w->a = take_floats(arena, b->n_dst, mid);
    if (max && training)
        w->from = og__carve(arena, b->n_dst * (size_t)mid * sizeof(*w->from));
}

/* The aggregate of a layer is kept for the way back; a forward pass needs it only where it may
 * have to hold what was multiplied first. */
static void carve_linear(const struct og_model_config *c, int l, const struct og_block *b,
                         bool training, struct og_arena *arena, struct og_layer_work *w)
{
    int in = og__layer_in(c, l), mid = og__layer_mid(c, l);
    const bool adds_own = c->apart && og__conv_of(c)->perceptron; /* before the product */
    w->transform_first = !adds_own && og__transform_first(b, in, mid);
    if (og__aggregate_of(c) != OG__BETWEEN) /* whose scales the host makes */
        w->scale = take_floats(arena, og__conv_of(c)->wants_degrees ? b->n_src : b->n_dst, 1);
    if (training || og__may_transform_first(c, l))
        w->a = take_floats(arena, b->n_dst, in);
    if (og__conv_of(c)->perceptron)
        w->t = take_floats(arena, b->n_dst, adds_own ? OG_MAX(in, mid) : mid);
    if (adds_own)
        w->nothing = og__carve(arena, ((size_t)b->n_dst + 1) * sizeof(*w->nothing));
}

void og__carve_conv(const struct og_model_config *c, int l, const struct og_block *b, bool training,
                    struct og_arena *arena, struct og_layer_work *w)
{
    *w = (struct og_layer_work){.block = b};
    if (og__conv_of(c)->joins)
        og__carve_mixed_layer(c, l, b, arena, w);
    else if (og__conv_of(c)->attends)
        carve_attention(c, l, b, training, arena, w);
    else if (og__pools(c))
        carve_pool(c, l, b, training, arena, w);
    else
        carve_linear(c, l, b, training, arena, w);
}

void og__carve_end(const struct og_model_config *c, int l, const struct og_block *b, bool training,
                   struct og_arena *arena, struct og_layer_work *w)
{
    int out = og__layer_out(c, l);
    w->h = take_floats(arena, b->n_dst, out);
    if (!og__finishes(c, l))
        return;
    w->y = training ? take_floats(arena, b->n_dst, out) : w->h;
    if (c->norm == OG_NORM_BATCH) {
        w->mean = take_floats(arena, 1, out);
        w->rstd = take_floats(arena, 1, out);
        w->var = training ? take_floats(arena, 1, out) : NULL;
    }
}

size_t og__partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l,
                         const struct og_block *b)
{
    int in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    uint64_t n_in = (uint64_t)in, n_mid = (uint64_t)mid, n_own = (uint64_t)og__layer_own(c, l);
    uint32_t d = b->n_dst, s = b->n_src;
    if (og__conv_of(c)->joins) /* of a relation, of the own rows */
        s = OG_MAX(b->n_lists, d);
    size_t most = OG_MAX(ops->partial_bytes(d, out, n_in), ops->partial_bytes(d, out, 0));
    most = OG_MAX(most, ops->partial_bytes(s, mid, n_in));
    most = OG_MAX(most, ops->partial_bytes(d, mid, n_in));
    most = OG_MAX(most, ops->partial_bytes(d, out, n_mid));
    if (og__conv_of(c)->joins) /* matrices that lie as PyTorch Geometric has them: by inputs */
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
    if (og__may_attend_first(c, l)) {
        most = OG_MAX(most, ops->partial_bytes(d, og__head_width(c, l), n_in));
        most = OG_MAX(most, ops->column_bytes(s, 2 * (size_t)c->heads * n_in));
    }
    if (og__finishes(c, l))
        most = OG_MAX(most, ops->column_bytes(d, 2 * (size_t)out));
    return most;
}

bool og__transposes(const struct og_model_config *c, int l)
{
    return l > 0 || og__trains_input(c) || og__conv_of(c)->attends || og__pools(c) ||
           og__may_transform_first(c, l);
}

/* What there is room for beside blocks and pairs. */
struct carving {
    bool training, rows_come; /* rows lie where the model computes */
    int threads;
    struct og_arena *numbers; /* what the host makes */
};

/* What the layers need one after another on the way back: the largest of each. */
static void carve_shared(const struct og_nn_ops *ops, const struct og_model_config *c,
                         const struct og_batch *batch, const struct og_pair_counts *pairs,
                         struct og_arena *arena, struct og_workspace *out)
{
    size_t partial = og__of_pairs(c) ? og__pair_partial_bytes(ops, c, pairs) : 0, n_src = 0,
           n_edges = 0;
    for (int l = 0; l < c->layers; l++) {
        const struct og_block *b = &batch->hop[c->layers - 1 - l];
        partial = OG_MAX(partial, og__partial_bytes(ops, c, l, b));
        if (og__transposes(c, l)) {
            n_src = OG_MAX(n_src, (size_t)b->n_src + 1);
            n_edges = OG_MAX(n_edges, (size_t)b->n_edges);
        }
    }
    out->partial = og__carve(arena, partial);
    out->back_indptr = og__carve(arena, n_src * sizeof(*out->back_indptr));
    out->back_col = og__carve(arena, n_edges * sizeof(*out->back_col));
    if (og__conv_of(c)->attends || og__aggregate_of(c) == OG__WEIGHTED_MEAN)
        out->back_edge = og__carve(arena, n_edges * sizeof(*out->back_edge));
    out->dlogits = take_floats(arena, batch->hop[0].n_dst, c->n_classes);
}

/* Pairs that are scored at once: all that are trained on, else up to so many. */
enum { PAIR_WINDOW = 64 * OG__BLOCK_ROWS };

static uint32_t pair_window(uint64_t n_pairs, uint64_t n_scores)
{
    return (uint32_t)OG_MAX(n_pairs, OG_MIN(n_scores, (uint64_t)PAIR_WINDOW));
}

size_t og__pair_partial_bytes(const struct og_nn_ops *ops, const struct og_model_config *c,
                              const struct og_pair_counts *n)
{
    if (c->decoder != OG_DECODER_MLP)
        return 0;
    size_t most = ops->partial_bytes(n->trained, c->hidden, (uint64_t)c->n_classes);
    most = OG_MAX(most, ops->partial_bytes(n->trained, c->hidden, 0));
    return OG_MAX(most, ops->partial_bytes(n->trained, 1, (uint64_t)c->hidden));
}

void og__carve_pairs(const struct og_model_config *c, uint64_t n_seeds,
                     const struct og_pair_counts *n, bool training, struct og_arena *arena,
                     struct og_workspace *out)
{
    uint64_t kept = training ? n->trained : 0;
    bool mlp = c->decoder == OG_DECODER_MLP;
    out->pair_window = pair_window(kept, n->scored);
    out->scores = take_floats(arena, n->scored, 1);
    if (mlp) {
        out->pair_in = take_floats(arena, out->pair_window, c->n_classes);
        out->pair_mid = take_floats(arena, out->pair_window, c->hidden);
    }
    if (!training)
        return;
    out->dscores = take_floats(arena, kept, 1);
    out->pair_first = og__carve(arena, ((size_t)n_seeds + 1) * sizeof(*out->pair_first));
    out->pair_list = og__carve(arena, 2 * kept * sizeof(*out->pair_list));
    if (c->decoder != OG_DECODER_DISTMULT)
        return;
    out->kind_number = og__carve(arena, (kept + 1) * sizeof(*out->kind_number));
    out->kind_first =
        og__carve(arena, ((size_t)c->types->n_relations + 1) * sizeof(*out->kind_first));
    out->kind_list = og__carve(arena, kept * sizeof(*out->kind_list));
}

/* What the host has of a batch. */
static void carve_rooms(const struct og_nn_ops *ops, const struct og_model_config *c,
                        const struct og_batch *batch, const struct og_pair_counts *pairs,
                        bool rows_come, struct og_arena *arena, struct og_rooms *out)
{
    const uint64_t rows = rows_come ? 0 : batch->hop[c->layers - 1].n_src;
    const struct og_room_sizes n = {.rows = rows * (uint64_t)c->in_dim,
                                    .targets = og__targets_of(c, batch->hop[0].n_dst),
                                    .pairs = pairs->scored,
                                    .relations = c->types ? pairs->scored : 0};
    og__carve_rooms(ops, &n, arena, out);
    for (int h = 0; h < c->layers; h++)
        og__carve_block_room(ops, &batch->hop[h], arena, &out->hop[h]);
}

void og__most_of_block(const struct og_model_config *c, int l, const struct og_block *b,
                       bool training, struct og_most *most)
{
    most->width = OG_MAX(most->width, og__widest(c));
    most->heads = OG_MAX(most->heads, c->heads);
    most->rows = OG_MAX(most->rows, (uint64_t)OG_MAX(OG_MAX(b->n_src, b->n_dst), b->n_lists));
    most->counted = OG_MAX(most->counted, (uint64_t)b->n_dst);
    if (og__conv_of(c)->joins ||
        (training && og__transposes(c, l))) /* lists, edges to be blended */
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

/* Of operators on the batch. */
static struct og_most largest_of(const struct og_model_config *c, const struct og_batch *batch,
                                 const struct og_pair_counts *pairs, bool training)
{
    struct og_most most = {0};
    for (int l = 0; l < c->layers; l++)
        og__most_of_block(c, l, &batch->hop[c->layers - 1 - l], training, &most);
    if (og__of_pairs(c))
        og__most_of_pairs(pairs, training, &most);
    return most;
}

/* Returns whether the arena was large enough. */
static bool carve(const struct og_nn_ops *ops, const struct og_model_config *c,
                  const struct og_batch *batch, const struct og_pair_counts *pairs,
                  const struct carving *how, struct og_arena *arena, struct og_workspace *out)
{
    const bool training = how->training;
    const struct og_most most = largest_of(c, batch, pairs, training);
    *out = (struct og_workspace){.scratch_bytes = ops->scratch_bytes(&most, how->threads)};
    out->scratch = og__carve(arena, out->scratch_bytes);
    out->loss_blocks =
        og__carve(arena, og__n_blocks(batch->hop[0].n_dst) * sizeof(*out->loss_blocks));
    carve_rooms(ops, c, batch, pairs, how->rows_come, arena, &out->room);
    for (int l = 0; l < c->layers; l++) {
        const struct og_block *b = &batch->hop[c->layers - 1 - l];
        og__carve_conv(c, l, b, training, arena, &out->work[l]);
        og__carve_end(c, l, b, training, arena, &out->work[l]);
    }
    if (training && c->input_dropout > 0)
        out->dropped = take_floats(arena, batch->hop[c->layers - 1].n_src, c->in_dim);
    if (og__conv_of(c)->joins) {
        og__carve_joined(ops, c, batch->hop[c->layers - 1].n_src, training, how->numbers, arena,
                         out);
        og__carve_mixing(ops, c, batch, training, arena, &out->mixing);
    }
    if (og__of_pairs(c))
        og__carve_pairs(c, batch->hop[0].n_dst, pairs, training, arena, out);
    if (training)
        carve_shared(ops, c, batch, pairs, arena, out);
    return training ? out->dlogits : out->work[c->layers - 1].h;
}

/* What the arenas themselves must hold: activations, and numbers of the host's. */
struct sizes {
    size_t there, host;
};

static struct sizes sizes_of(const struct og_nn_ops *ops, const struct og_model_config *c,
                             const struct og_batch_caps *caps, bool training, int threads)
{
    struct og_batch largest = {.n_hops = caps->n_hops};
    struct og_arena counter = {0};
    struct og_arena numbers = {0};
    struct og_workspace at;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        largest.hop[h] = (struct og_block){.n_dst = (uint32_t)caps->hop[h].n_dst,
                                           .n_src = (uint32_t)caps->hop[h].n_src,
                                           .n_edges = caps->hop[h].n_edges,
                                           .n_lists = (uint32_t)caps->hop[h].n_lists,
                                           .n_relations = caps->n_relations};
    const struct og_pair_counts pairs = {caps->n_pairs, caps->n_scores};
    const struct carving how = {training, caps->rows_come, threads, &numbers};
    carve(ops, c, &largest, &pairs, &how, &counter, &at);
    return (struct sizes){counter.used, numbers.used};
}

size_t og__model_workspace_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                                 const struct og_batch_caps *caps, bool training, int threads)
{
    if (og__in_parts(config))
        return og__relational_arena_bytes(ops, config, caps, training, threads) +
               ops->own_bytes(threads);
    const struct sizes bytes = sizes_of(ops, config, caps, training, threads);
    return bytes.there + bytes.host + ops->own_bytes(threads);
}

/* ==== the workspace at hand ==== */

int og__model_reserve(struct og_model *m, const struct og_batch_caps *caps, bool training,
                      struct og_err *err)
{
    if (caps->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, batches of %u hops",
                        m->config.layers, caps->n_hops);
    if (m->relational)
        return og__relational_reserve(m, caps, training, err);
    const struct sizes bytes = sizes_of(m->ops, &m->config, caps, training, m->threads);
    m->caps = *caps;
    m->training = training;
    return og__workspace_take(m, bytes.there, bytes.host, err);
}

int og__workspace_take(struct og_model *m, size_t there, size_t numbers, struct og_err *err)
{
    og__arena_release(&m->workspace);
    og__arena_release(&m->numbers);
    int rc =
        numbers > 0 ? og__arena_init(&m->numbers, m->lists.memory, numbers, ACTIVATIONS, err) : 0;
    return rc < 0 ? rc : og__arena_init(&m->workspace, m->own, there, ACTIVATIONS, err);
}

struct og_pair_counts og__count_pairs(const struct og_pairs *pairs)
{
    struct og_pair_counts n = {0};
    if (pairs) {
        n.scored = pairs->n;
        n.trained = pairs->n_rivals ? 0 : pairs->n;
    }
    return n;
}

static bool fits(const struct og_model *m, const struct og_batch *batch,
                 const struct og_pair_counts *pairs)
{
    if (pairs->trained > m->caps.n_pairs || pairs->scored > m->caps.n_scores)
        return false;
    for (uint32_t h = 0; h < batch->n_hops; h++)
        if (batch->hop[h].n_dst > m->caps.hop[h].n_dst ||
            batch->hop[h].n_src > m->caps.hop[h].n_src ||
            batch->hop[h].n_edges > m->caps.hop[h].n_edges ||
            batch->hop[h].n_lists > m->caps.hop[h].n_lists)
            return false;
    return m->workspace.base;
}

static int grow(struct og_model *m, const struct og_batch *batch,
                const struct og_pair_counts *pairs, struct og_err *err)
{
    struct og_batch_caps caps = m->caps;
    caps.n_hops = batch->n_hops;
    caps.n_relations = OG_MAX(caps.n_relations, batch->hop[0].n_relations);
    caps.n_pairs = OG_MAX(caps.n_pairs, pairs->trained);
    caps.n_scores = OG_MAX(caps.n_scores, pairs->scored);
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *b = &batch->hop[h];
        caps.hop[h].n_dst = OG_MAX(caps.hop[h].n_dst, (uint64_t)b->n_dst);
        caps.hop[h].n_src = OG_MAX(caps.hop[h].n_src, (uint64_t)b->n_src);
        caps.hop[h].n_edges = OG_MAX(caps.hop[h].n_edges, b->n_edges);
        caps.hop[h].n_lists = OG_MAX(caps.hop[h].n_lists, (uint64_t)b->n_lists);
    }
    return og__model_reserve(m, &caps, m->training, err);
}

static int bring_batch(struct og_model *m, const struct og_batch *batch,
                       const struct og_pairs *pairs, struct og_err *err)
{
    struct og_workspace *at = &m->at;
    int rc = 0;
    for (int l = 0; l < m->config.layers; l++) {
        int h = m->config.layers - 1 - l;
        OG_TRY(og__bring_block(m, &batch->hop[h], &at->room.hop[h], &at->hop[h], err));
        at->work[l].block = &at->hop[h];
        at->work[l].relation = batch->hop[h].relation;
    }
    if (pairs)
        OG_TRY(og__bring_pairs(m, pairs, &at->room, &at->pairs, err));
out:
    return rc;
}

int og__workspace_carve(struct og_model *m, const struct og_batch *batch,
                        const struct og_pairs *pairs, struct og_err *err)
{
    const struct og_pair_counts n = og__count_pairs(pairs);
    if (!fits(m, batch, &n)) {
        int rc = grow(m, batch, &n, err);
        if (rc < 0)
            return rc;
    }
    og__arena_rewind(&m->workspace, 0);
    og__arena_rewind(&m->numbers, 0);
    const struct carving how = {m->training, m->caps.rows_come, m->threads, &m->numbers};
    if (!carve(m->ops, &m->config, batch, &n, &how, &m->workspace, &m->at))
        return og__fail(err, -ENOMEM, NULL, ACTIVATIONS ": workspace is too small");
    m->ops->set_scratch(m->backend, m->at.scratch, m->at.scratch_bytes, m->at.partial);
    return bring_batch(m, batch, pairs, err);
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
    return og__has_end(&live, c->types, l, c->types->target)
               ? og__type_model(m->relational, c->types->target)->at.work[l].h
               : NULL;
}

const float *og__model_scores(const struct og_model *m)
{
    return m->at.scores;
}
