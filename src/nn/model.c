#include "nn/model.h"

#include "base/random.h"
#include "nn/product.h"
#include "nn/sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL       "model"
#define ACTIVATIONS "activations"

/* ==== shape ==== */

int og__layer_in(const struct og_model_config *c, int layer)
{
    return layer == 0 ? c->in_dim : c->hidden;
}

int og__layer_out(const struct og_model_config *c, int layer)
{
    return layer == c->layers - 1 ? c->n_classes : c->hidden;
}

static int check_config(const struct og_model_config *c, struct og_err *err)
{
    const int widest = 1 << 20;
    if (c->kind != OG_MODEL_GCN && c->kind != OG_MODEL_SAGE)
        return og__fail(err, -EINVAL, "gcn or sage", "model: kind %d is unknown", c->kind);
    if (c->layers < 1 || c->layers > OG_MAX_HOPS)
        return og__fail(err, -EINVAL, NULL, "model: %d layers, 1 to %d are possible", c->layers,
                        OG_MAX_HOPS);
    if (c->in_dim < 1 || c->in_dim > widest || c->hidden < 1 || c->hidden > widest ||
        c->n_classes < 1 || c->n_classes > widest)
        return og__fail(err, -EINVAL, NULL, "model: widths %d, %d, %d, 1 to %d are possible",
                        c->in_dim, c->hidden, c->n_classes, widest);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return og__fail(err, -EINVAL, NULL, "model: dropout %g is not in [0, 1)", c->dropout);
    return 0;
}

/* ==== parameters ==== */

enum { WEIGHT = 2, BIAS = 1 };

/* Bytes of one parameter's arrays in the arena. */
static size_t param_bytes(size_t count, int optimizer)
{
    size_t arrays = optimizer == OG_OPTIMIZER_ADAM ? 4 : 2;
    return arrays * og__round_up(count * sizeof(float), 64);
}

static size_t layer_bytes(const struct og_model_config *c, int optimizer, int l)
{
    size_t n_in = (size_t)og__layer_in(c, l), n_out = (size_t)og__layer_out(c, l);
    size_t weights = c->kind == OG_MODEL_SAGE ? 2 : 1;
    size_t packed = og__round_up(og__packed_bytes((int)n_out, (int)n_in), 64);
    return weights * (param_bytes(n_in * n_out, optimizer) + packed * (l > 0 ? 2 : 1)) +
           param_bytes(n_out, optimizer);
}

size_t og__model_bytes(const struct og_model_config *config, int optimizer)
{
    size_t sum = 0;
    for (int l = 0; l < config->layers; l++)
        sum += layer_bytes(config, optimizer, l);
    return sum;
}

static float *take_floats(struct og_arena *arena, size_t n)
{
    return og__arena_take(arena, n * sizeof(float));
}

static struct og_param *add_param(struct og_model *m, int layer, const char *name, int ndim,
                                  int rows, int cols)
{
    struct og_param *p = &m->param[m->n_params++];
    snprintf(p->name, sizeof(p->name), "convs.%d.%s", layer, name);
    p->ndim = ndim;
    p->shape[0] = rows;
    p->shape[1] = cols;
    size_t n = og__param_count(p);
    p->value = take_floats(&m->memory, n);
    p->grad = take_floats(&m->memory, n);
    if (m->optimizer == OG_OPTIMIZER_ADAM) {
        p->m = take_floats(&m->memory, n);
        p->v = take_floats(&m->memory, n);
    }
    return p;
}

static void bind_weight(struct og_model *m, struct og_weight *w, const struct og_param *p,
                        bool backward)
{
    w->value = p->value;
    w->n_out = (int)p->shape[0];
    w->n_in = (int)p->shape[1];
    size_t bytes = og__packed_bytes(w->n_out, w->n_in);
    w->packed[OG__FORWARD] = og__arena_take(&m->memory, bytes);
    w->packed[OG__BACKWARD] = backward ? og__arena_take(&m->memory, bytes) : NULL;
}

/* Names and order of PyTorch Geometric's state_dict. */
static void add_layer(struct og_model *m, int l)
{
    struct og_layer *layer = &m->layer[l];
    int n_in = og__layer_in(&m->config, l), n_out = og__layer_out(&m->config, l);
    layer->n_in = n_in;
    layer->n_out = n_out;
    if (m->config.kind == OG_MODEL_SAGE) {
        layer->neighbour_param = add_param(m, l, "lin_l.weight", WEIGHT, n_out, n_in);
        layer->bias_param = add_param(m, l, "lin_l.bias", BIAS, n_out, 1);
        layer->self_param = add_param(m, l, "lin_r.weight", WEIGHT, n_out, n_in);
        bind_weight(m, &layer->self, layer->self_param, l > 0);
    } else {
        layer->bias_param = add_param(m, l, "bias", BIAS, n_out, 1);
        layer->neighbour_param = add_param(m, l, "lin.weight", WEIGHT, n_out, n_in);
    }
    bind_weight(m, &layer->neighbour, layer->neighbour_param, l > 0);
}

static void draw_uniform(const struct og_model *m, const struct og_param *p, int layer,
                         double bound, uint64_t seed)
{
    uint32_t number = (uint32_t)(p - m->param);
    int64_t cols = p->shape[1];
    for (int64_t i = 0; i < p->shape[0]; i++) {
        struct og_rng r;
        og__rng_at(&r, seed, OG__STREAM_INIT, 0, number, (uint32_t)layer, (uint32_t)i);
        for (int64_t j = 0; j < cols; j++)
            p->value[i * cols + j] = (float)(bound * (2 * (double)og__rng_unit(&r) - 1));
    }
}

/* SAGEConv: everything uniform in 1 / sqrt(fan in). GCNConv: Glorot, and no bias. */
static void init_layer(const struct og_model *m, int l, uint64_t seed)
{
    const struct og_layer *layer = &m->layer[l];
    bool sage = m->config.kind == OG_MODEL_SAGE;
    double bound = sage ? 1 / sqrt(layer->n_in) : sqrt(6.0 / (layer->n_in + layer->n_out));
    draw_uniform(m, layer->neighbour_param, l, bound, seed);
    if (!sage)
        return;
    draw_uniform(m, layer->bias_param, l, bound, seed);
    draw_uniform(m, layer->self_param, l, bound, seed);
}

int og__model_create(struct og_model **out, const struct og_model_config *config, int optimizer,
                     uint64_t seed, struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    struct og_model *m = NULL;
    *out = NULL;
    OG_TRY(check_config(config, err));
    m = calloc(1, sizeof(*m));
    if (!m)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "model"));
    m->config = *config;
    m->optimizer = optimizer;
    m->budget = b;
    m->ops = &og__ops_cpu;
    OG_TRY(og__arena_init(&m->memory, b, og__model_bytes(config, optimizer), MODEL, err));
    OG_TRY(og__backend_init(&m->backend, pool, b, err));
    for (int l = 0; l < config->layers; l++) {
        add_layer(m, l);
        init_layer(m, l, seed);
    }
    *out = m;
    m = NULL;
out:
    og__model_free(m);
    return rc;
}

void og__model_free(struct og_model *m)
{
    if (!m)
        return;
    og__backend_release(&m->backend);
    og__arena_release(&m->workspace);
    og__arena_release(&m->memory);
    free(m);
}

const struct og_model_config *og__model_config(const struct og_model *m)
{
    return &m->config;
}

struct og_param *og__model_params(struct og_model *m, size_t *n)
{
    *n = m->n_params;
    return m->param;
}

/* ==== workspace ==== */

bool og__transform_first(const struct og_block *b, int n_in, int n_out)
{
    double e = (double)b->n_edges, s = b->n_src, d = b->n_dst, in = n_in, out = n_out;
    double aggregate_first = (e + 2 * d) * in;
    double transform_first = s * (in + out) + e * out;
    return transform_first < aggregate_first && s * out <= d * in;
}

static size_t padded(size_t elements)
{
    return og__round_up(elements * sizeof(float), 64);
}

static int widest(const struct og_model_config *c)
{
    return OG_MAX(OG_MAX(c->in_dim, c->n_classes), c->layers > 1 ? c->hidden : 1);
}

static struct og_batch_caps caps_of(const struct og_batch *batch)
{
    struct og_batch_caps caps = {.n_hops = batch->n_hops};
    for (uint32_t h = 0; h < batch->n_hops && h < OG_MAX_HOPS; h++) {
        caps.hop[h].n_dst = batch->hop[h].n_dst;
        caps.hop[h].n_src = batch->hop[h].n_src;
        caps.hop[h].n_edges = batch->hop[h].n_edges;
    }
    return caps;
}

/* The aggregate of a layer is kept for the way back; a forward pass needs it only where it may
 * have to hold what was multiplied first. */
static size_t aggregate_floats(int n_in, int n_out, uint64_t n_dst, bool training)
{
    return training || n_out < n_in ? n_dst * (size_t)n_in : 0;
}

static size_t partial_bytes(const struct og_model_config *c, int l, uint64_t n_dst, uint64_t n_src)
{
    int n_out = og__layer_out(c, l);
    uint64_t n_in = (uint64_t)og__layer_in(c, l);
    uint64_t both = c->kind == OG_MODEL_SAGE ? 2 * n_in : n_in;
    return OG_MAX(og__partial_bytes(n_dst, n_out, both), og__partial_bytes(n_src, n_out, n_in));
}

static size_t layer_work_bytes(const struct og_model_config *c, const struct og_batch_caps *caps,
                               int l, bool training)
{
    int n_in = og__layer_in(c, l), n_out = og__layer_out(c, l);
    uint64_t n_dst = caps->hop[c->layers - 1 - l].n_dst;
    uint64_t n_src = caps->hop[c->layers - 1 - l].n_src;
    return padded(c->kind == OG_MODEL_GCN ? n_src : n_dst) +
           padded(aggregate_floats(n_in, n_out, n_dst, training)) + padded(n_dst * (size_t)n_out);
}

/* Largest of what the layers need one after another on the way back. */
static void shared_bytes(const struct og_model_config *c, const struct og_batch_caps *caps,
                         size_t *partial, size_t *indptr, size_t *col)
{
    *partial = *indptr = *col = 0;
    for (int l = 0; l < c->layers; l++) {
        uint64_t n_dst = caps->hop[c->layers - 1 - l].n_dst;
        uint64_t n_src = caps->hop[c->layers - 1 - l].n_src;
        *partial = OG_MAX(*partial, partial_bytes(c, l, n_dst, n_src));
        if (l == 0 && og__layer_out(c, l) >= og__layer_in(c, l))
            continue;
        *indptr = OG_MAX(*indptr, padded(n_src + 1));
        *col = OG_MAX(*col, padded(caps->hop[c->layers - 1 - l].n_edges));
    }
}

/* What the arena itself must hold. */
static size_t arena_bytes(const struct og_model_config *c, const struct og_batch_caps *caps,
                          bool training, int threads)
{
    uint64_t seeds = caps->hop[0].n_dst;
    size_t sum = (size_t)threads * og__scratch_bytes(widest(c)) +
                 og__round_up(og__n_blocks(seeds) * sizeof(struct og_metrics), 64);
    for (int l = 0; l < c->layers; l++)
        sum += layer_work_bytes(c, caps, l, training);
    if (training) {
        size_t partial, indptr, col;
        shared_bytes(c, caps, &partial, &indptr, &col);
        sum += partial + indptr + col + padded(seeds * (size_t)c->n_classes);
    }
    return sum;
}

size_t og__model_workspace_bytes(const struct og_model_config *config,
                                 const struct og_batch_caps *caps, bool training, int threads)
{
    return arena_bytes(config, caps, training, threads) + (size_t)threads * OG__PRODUCT_SCRATCH;
}

int og__model_reserve(struct og_model *m, const struct og_batch_caps *caps, bool training,
                      struct og_err *err)
{
    if (caps->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, batches of %u hops",
                        m->config.layers, caps->n_hops);
    size_t bytes = arena_bytes(&m->config, caps, training, og__pool_threads(m->backend.pool));
    og__arena_release(&m->workspace);
    m->caps = *caps;
    m->training = training;
    return og__arena_init(&m->workspace, m->budget, bytes, ACTIVATIONS, err);
}

static void carve_layer(struct og_model *m, int l, const struct og_block *b)
{
    struct og_arena *arena = &m->workspace;
    struct og_layer_work *w = &m->work[l];
    const struct og_layer *layer = &m->layer[l];
    w->block = b;
    w->transform_first = og__transform_first(b, layer->n_in, layer->n_out);
    w->scale = take_floats(arena, og__n_scales(b, m->config.kind));
    w->a = take_floats(arena, aggregate_floats(layer->n_in, layer->n_out, b->n_dst, m->training));
    w->h = take_floats(arena, (size_t)b->n_dst * (size_t)layer->n_out);
}

static bool fits(const struct og_model *m, const struct og_batch *batch)
{
    for (uint32_t h = 0; h < batch->n_hops; h++)
        if (batch->hop[h].n_dst > m->caps.hop[h].n_dst ||
            batch->hop[h].n_src > m->caps.hop[h].n_src ||
            batch->hop[h].n_edges > m->caps.hop[h].n_edges)
            return false;
    return m->workspace.base;
}

static void widen_caps(struct og_batch_caps *caps, const struct og_batch_caps *more)
{
    caps->n_hops = more->n_hops;
    for (uint32_t h = 0; h < more->n_hops; h++) {
        caps->hop[h].n_dst = OG_MAX(caps->hop[h].n_dst, more->hop[h].n_dst);
        caps->hop[h].n_src = OG_MAX(caps->hop[h].n_src, more->hop[h].n_src);
        caps->hop[h].n_edges = OG_MAX(caps->hop[h].n_edges, more->hop[h].n_edges);
    }
}

int og__workspace_carve(struct og_model *m, const struct og_batch *batch, struct og_err *err)
{
    if (!fits(m, batch)) {
        struct og_batch_caps more = caps_of(batch), caps = m->caps;
        widen_caps(&caps, &more);
        int rc = og__model_reserve(m, &caps, m->training, err);
        if (rc < 0)
            return rc;
    }
    struct og_arena *arena = &m->workspace;
    const struct og_model_config *c = &m->config;
    size_t threads = (size_t)og__pool_threads(m->backend.pool),
           blocks = og__n_blocks(batch->n_seeds);
    og__arena_rewind(arena, 0);
    m->backend.scratch_stride = og__scratch_bytes(widest(c));
    m->backend.scratch = og__arena_take(arena, threads * m->backend.scratch_stride);
    m->loss_blocks = og__arena_take(arena, blocks * sizeof(*m->loss_blocks));
    for (int l = 0; l < c->layers; l++)
        carve_layer(m, l, &batch->hop[c->layers - 1 - l]);
    if (m->training) {
        size_t partial, indptr, col;
        struct og_batch_caps caps = caps_of(batch);
        shared_bytes(c, &caps, &partial, &indptr, &col);
        m->backend.partial = og__arena_take(arena, partial);
        m->back_indptr = og__arena_take(arena, indptr);
        m->back_col = og__arena_take(arena, col);
        m->dlogits = take_floats(arena, (size_t)batch->n_seeds * (size_t)c->n_classes);
        if (!m->dlogits)
            return og__fail(err, -ENOMEM, NULL, "activations: workspace is too small");
    }
    return 0;
}
