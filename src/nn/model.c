/* Parameters. One list says what a layer has: sizes are added up from it and parameters made from
 * it. */
#include "nn/model.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MODEL "model"

struct og_spec *og__add_matrix(struct og_specs *s, enum og__role role, const char *name, int n_out,
                               int n_in, double bound)
{
    s->spec[s->n] = (struct og_spec){.role = role,
                                     .module = "convs",
                                     .name = name,
                                     .ndim = 2,
                                     .shape = {n_out, n_in, 1},
                                     .bound = bound,
                                     .weight = true};
    return &s->spec[s->n++];
}

struct og_spec *og__add_vector(struct og_specs *s, enum og__role role, const char *name, int n,
                               double bound)
{
    s->spec[s->n] = (struct og_spec){.role = role,
                                     .module = "convs",
                                     .name = name,
                                     .ndim = 1,
                                     .shape = {n, 1, 1},
                                     .bound = bound};
    return &s->spec[s->n++];
}

/* How PyTorch's Linear starts, and Glorot's rule. */
double og__by_fan_in(int n_in)
{
    return 1 / sqrt(n_in);
}

double og__glorot(int n_in, int n_out)
{
    return sqrt(6.0 / (n_in + n_out));
}

static void add_norm(struct og_specs *s, const struct og_model_config *c, int n)
{
    size_t first = s->n;
    og__add_vector(s, OG__NORM_WEIGHT, "weight", n, 0)->value = 1;
    og__add_vector(s, OG__NORM_BIAS, "bias", n, 0);
    if (c->norm == OG_NORM_BATCH) {
        og__add_vector(s, OG__NORM_MEAN, "running_mean", n, 0)->running = true;
        struct og_spec *var = og__add_vector(s, OG__NORM_VAR, "running_var", n, 0);
        var->running = true;
        var->value = 1;
        struct og_spec *count = og__add_vector(s, OG__NORM_COUNT, "num_batches_tracked", 1, 0);
        count->running = true;
        count->ndim = 0;
    }
    for (size_t i = first; i < s->n; i++)
        s->spec[i].module = "norms";
}

/* Of layer l of the perceptron that makes scores of links; PyTorch's Linear. */
static struct og_specs decoder_specs(const struct og_model_config *c, int l)
{
    struct og_specs s = {.n = 0};
    int in = l == 0 ? c->n_classes : c->hidden, out = l == 0 ? c->hidden : 1;
    if (!og__of_pairs(c) || c->decoder != OG_DECODER_MLP)
        return s;
    og__add_matrix(&s, OG__NEIGHBOUR, "weight", out, in, og__by_fan_in(in))->multiplies_back = true;
    og__add_vector(&s, OG__BIAS, "bias", out, og__by_fan_in(in));
    for (size_t i = 0; i < s.n; i++)
        s.spec[i].module = "decoder.lins";
    return s;
}

/* Names and order of PyTorch Geometric's state_dict, where it has such a layer. */
static struct og_specs layer_specs(const struct og_model_config *c, int l)
{
    struct og_specs s = {.n = 0};
    int in = og__layer_in(c, l), out = og__layer_out(c, l);
    og__conv_of(c)->list(&s, c, l);
    if (c->residual && in != out)
        og__add_matrix(&s, OG__SKIP, "weight", out, in, og__by_fan_in(in))->module = "skips";
    if (c->norm != OG_NORM_NONE && !og__is_last(c, l))
        add_norm(&s, c, out);
    for (size_t i = 0; i < s.n; i++)
        s.spec[i].multiplies_back |= l > 0 && s.spec[i].weight;
    return s;
}

static size_t spec_count(const struct og_spec *s)
{
    return (size_t)(s->shape[0] * s->shape[1] * s->shape[2]);
}

/* Arrays of one parameter: value, gradient, two moments. */
static size_t n_arrays(const struct og_spec *s, int optimizer)
{
    if (s->running)
        return 1;
    return optimizer == OG_OPTIMIZER_ADAM ? 4 : 2;
}

static size_t packed_bytes(const struct og_nn_ops *ops, int n_out, int n_in)
{
    return og__arena_room(ops->packed_bytes(n_out, n_in));
}

static size_t spec_bytes(const struct og_nn_ops *ops, const struct og_spec *s, int optimizer)
{
    size_t bytes = n_arrays(s, optimizer) * og__arena_room(spec_count(s) * sizeof(float));
    size_t packed = packed_bytes(ops, (int)s->shape[0], (int)s->shape[1]);
    return bytes + (s->weight ? packed * (s->multiplies_back ? 2 : 1) : 0);
}

/* Of the heads' matrices, packed apart. */
static size_t head_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l)
{
    if (!og__may_attend_first(c, l))
        return 0;
    return 2 * (size_t)c->heads * packed_bytes(ops, og__head_width(c, l), og__layer_in(c, l));
}

/* Widest hidden layer whose statistics a batch has; 0: none. */
static size_t normed(const struct og_model_config *c)
{
    size_t most = 0;
    for (int l = 0; c->norm == OG_NORM_BATCH && l < c->layers; l++)
        most = og__is_last(c, l) ? most : OG_MAX(most, (size_t)og__layer_out(c, l));
    return most;
}

size_t og__model_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                       int optimizer)
{
    size_t sum = 2 * og__arena_room(normed(config) * sizeof(float));
    for (int l = 0; l < config->layers; l++) {
        struct og_specs s = layer_specs(config, l);
        for (size_t i = 0; i < s.n; i++)
            sum += spec_bytes(ops, &s.spec[i], optimizer);
        sum += head_bytes(ops, config, l);
    }
    for (int l = 0; l < 2; l++) {
        struct og_specs s = decoder_specs(config, l);
        for (size_t i = 0; i < s.n; i++)
            sum += spec_bytes(ops, &s.spec[i], optimizer);
    }
    return sum;
}

uint64_t og__model_trained(const struct og_model_config *c)
{
    uint64_t sum = 0;
    for (int l = 0; l < c->layers; l++) {
        struct og_specs s = layer_specs(c, l);
        for (size_t i = 0; i < s.n; i++)
            sum += s.spec[i].running ? 0 : spec_count(&s.spec[i]);
    }
    for (int l = 0; l < 2; l++) {
        struct og_specs s = decoder_specs(c, l);
        for (size_t i = 0; i < s.n; i++)
            sum += spec_count(&s.spec[i]);
    }
    return sum;
}

static float draw_one(const struct og_spec *s, struct og_rng *r)
{
    return (float)(s->bound > 0 ? s->bound * (2 * (double)og__rng_unit(r) - 1) : s->value);
}

/* Row by row, each from numbers of its own. */
static int draw(struct og_model *m, const struct og_param *p, const struct og_spec *s, int layer,
                uint64_t seed, struct og_err *err)
{
    enum { PIECE = 1024 };
    float piece[PIECE];
    uint32_t number = (uint32_t)(p - m->param);
    size_t cols = (size_t)(p->shape[1] * p->shape[2]);
    int rc = 0;
    for (size_t i = 0; i < (size_t)p->shape[0]; i++) {
        struct og_rng r;
        og__rng_at(&r, seed, OG__STREAM_INIT, 0, number, (uint32_t)layer, (uint32_t)i);
        for (size_t first = 0, n; first < cols; first += n) {
            n = OG_MIN(cols - first, (size_t)PIECE);
            for (size_t j = 0; j < n; j++)
                piece[j] = draw_one(s, &r);
            OG_TRY(og__model_push(m, p->value + i * cols + first, piece, n * sizeof(*piece), err));
        }
    }
out:
    return rc;
}

static struct og_param *add_param(struct og_model *m, int layer, const struct og_spec *s)
{
    struct og_param *p = &m->param[m->n_params++];
    snprintf(p->name, sizeof(p->name), "%s.%d.%s", s->module, layer, s->name);
    p->ndim = s->ndim;
    for (int d = 0; d < OG_PARAM_DIMS; d++)
        p->shape[d] = s->shape[d];
    float **const arrays[] = {&p->value, &p->grad, &p->m, &p->v};
    for (size_t i = 0; i < n_arrays(s, m->optimizer); i++)
        *arrays[i] = og__arena_take(&m->memory, spec_count(s) * sizeof(float));
    return p;
}

static void bind_weight(struct og_model *m, struct og_weight *w, const float *value, int n_out,
                        int n_in, bool backward)
{
    w->value = value;
    w->n_out = n_out;
    w->n_in = n_in;
    size_t bytes = m->ops->packed_bytes(w->n_out, w->n_in);
    w->packed[OG__FORWARD] = og__arena_take(&m->memory, bytes);
    w->packed[OG__BACKWARD] = backward ? og__arena_take(&m->memory, bytes) : NULL;
}

static int add_layer(struct og_model *m, int l, uint64_t seed, struct og_err *err)
{
    int rc = 0;
    struct og_layer *layer = &m->layer[l];
    struct og_specs specs = layer_specs(&m->config, l);
    layer->n_in = og__layer_in(&m->config, l);
    layer->n_mid = og__layer_mid(&m->config, l);
    layer->n_out = og__layer_out(&m->config, l);
    for (size_t i = 0; i < specs.n; i++) {
        const struct og_spec *s = &specs.spec[i];
        struct og_param *p = add_param(m, l, s);
        layer->param[s->role] = p;
        OG_TRY(draw(m, p, s, l, seed, err));
        if (s->weight)
            bind_weight(m, &layer->weight[s->role], p->value, (int)p->shape[0], (int)p->shape[1],
                        s->multiplies_back);
    }
    int width = og__may_attend_first(&m->config, l) ? og__head_width(&m->config, l) : 0;
    for (int h = 0; width && h < m->config.heads; h++)
        bind_weight(m, &layer->head[h],
                    layer->param[OG__NEIGHBOUR]->value +
                        (size_t)h * (size_t)width * (size_t)layer->n_in,
                    width, layer->n_in, true);
out:
    return rc;
}

static int add_decoder(struct og_model *m, uint64_t seed, struct og_err *err)
{
    int rc = 0;
    for (int l = 0; l < 2; l++) {
        struct og_specs specs = decoder_specs(&m->config, l);
        for (size_t i = 0; i < specs.n; i++) {
            struct og_param *p = add_param(m, l, &specs.spec[i]);
            OG_TRY(draw(m, p, &specs.spec[i], OG_MAX_HOPS + l, seed, err));
            *(specs.spec[i].weight ? &m->decoder.param[l] : &m->decoder.bias[l]) = p;
            if (specs.spec[i].weight)
                bind_weight(m, &m->decoder.weight[l], p->value, (int)p->shape[0], (int)p->shape[1],
                            true);
        }
    }
out:
    return rc;
}

int og__model_create(struct og_model **out, const struct og_nn_ops *ops,
                     const struct og_model_config *config, int optimizer, uint64_t seed,
                     struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    struct og_model *m = NULL;
    *out = NULL;
    OG_TRY(og__model_check(config, err));
    m = calloc(1, sizeof(*m));
    if (!m)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, MODEL));
    m->config = *config;
    m->optimizer = optimizer;
    m->ops = ops;
    m->threads = og__pool_threads(pool);
    OG_TRY(ops->open(&m->backend, pool, b, err));
    m->own = ops->memory(m->backend);
    OG_TRY(og__arena_init(&m->memory, m->own, og__model_bytes(ops, config, optimizer), MODEL, err));
    for (int l = 0; l < config->layers; l++)
        OG_TRY(add_layer(m, l, seed, err));
    OG_TRY(add_decoder(m, seed, err));
    m->mean = og__arena_take(&m->memory, normed(config) * sizeof(float));
    m->var = og__arena_take(&m->memory, normed(config) * sizeof(float));
    *out = m;
    m = NULL;
out:
    og__model_free(m);
    return rc;
}

int og__nn_find(const struct og_nn_ops **ops, int device, struct og_err *err)
{
    *ops = og__nn_ops();
    if (*ops && device != OG_DEVICE_CPU)
        *ops = og__nn_ops_of_device(device);
    return *ops ? 0
                : og__fail(err, -ENOTSUP, "use a build with them: cmake -D OUTGROW_MODELS=ON",
                           "this build of outgrow has no models of its own: it samples, plans and "
                           "loads batches for others");
}

void og__model_free(struct og_model *m)
{
    if (!m)
        return;
    og__arena_release(&m->workspace);
    og__arena_release(&m->memory);
    m->ops->close(m->backend); /* last: memory may be its own */
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

int og__model_fetch(struct og_model *m, void *host, const void *there, size_t bytes,
                    struct og_err *err)
{
    return m->ops->fetch(m->backend, host, there, bytes, err);
}

int og__model_push(struct og_model *m, void *there, const void *host, size_t bytes,
                   struct og_err *err)
{
    return m->ops->push(m->backend, there, host, bytes, err);
}

int og__model_gather(struct og_model *m, const struct og_rows *x, void *there, struct og_err *err)
{
    return m->ops->gather(m->backend, x, there, err);
}
