/* Parameters. One list describes a layer; both sizes and parameters are made from it. */
#include "nn/model.h"
#include "nn/conv_edges.h"
#include "nn/optimizers.h"
#include "nn/relational.h"

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

/* Bounds of PyTorch's Linear initialisation, and of Glorot's. */
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

/* Layer l of the MLP that scores pairs; PyTorch's Linear. */
static struct og_specs decoder_specs(const struct og_model_config *c, int l)
{
    struct og_specs s = {.n = 0};
    int in = l == 0 ? og__pair_width(c) : c->hidden, out = l == 0 ? c->hidden : og__score_width(c);
    if (!og__perceives(c))
        return s;
    og__add_matrix(&s, OG__NEIGHBOUR, "weight", out, in, og__by_fan_in(in))->multiplies_back = true;
    og__add_vector(&s, OG__BIAS, "bias", out, og__by_fan_in(in));
    return s;
}

/* Names and order of PyTorch Geometric's state_dict, if it has such a layer. end: without its
 * convolution. */
static struct og_specs layer_specs(const struct og_model_config *c, int l, bool end)
{
    struct og_specs s = {.n = 0};
    int in = og__layer_in(c, l), out = og__layer_out(c, l);
    if (!end)
        og__conv_of(c)->list(&s, c, l);
    if (c->residual && in != out)
        og__add_matrix(&s, OG__SKIP, "weight", out, in, og__by_fan_in(in))->module = "skips";
    if (c->norm != OG_NORM_NONE && !og__is_last(c, l))
        add_norm(&s, c, out);
    for (size_t i = 0; i < s.n; i++)
        s.spec[i].multiplies_back |=
            (l > 0 || og__trains_input(c)) && s.spec[i].weight && s.spec[i].role != OG__EDGE;
    return s;
}

/* A decoder's vectors, one per relation; as PyTorch Geometric's DistMult. */
static struct og_specs relation_specs(const struct og_model_config *c)
{
    struct og_specs s = {.n = 0};
    const int n = (int)og__relations_of(c);
    if (og__relates(c))
        og__add_matrix(&s, OG__NEIGHBOUR, "weight", n, c->n_classes,
                       og__scoring(c->decoder)->bound(n, c->n_classes))
            ->weight = false;
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
    return og__optimizer(optimizer)->moments ? 4 : 2;
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

/* Bytes of the heads' matrices and of folded vectors, packed separately. */
static size_t head_bytes(const struct og_nn_ops *ops, const struct og_model_config *c, int l)
{
    size_t bytes = 0;
    if (og__may_attend_first(c, l))
        bytes = 2 * (size_t)c->heads * packed_bytes(ops, og__head_width(c, l), og__layer_in(c, l));
    if (og__folds_own(c))
        bytes += 2 * packed_bytes(ops, c->heads, og__layer_own(c, l));
    if (og__folds_edges(c))
        bytes += packed_bytes(ops, c->heads, c->edge_dim);
    return bytes;
}

/* Widest hidden layer with batch statistics; 0: none. */
static size_t normed(const struct og_model_config *c)
{
    size_t most = 0;
    for (int l = 0; c->norm == OG_NORM_BATCH && l < c->layers; l++)
        most = og__is_last(c, l) ? most : OG_MAX(most, (size_t)og__layer_out(c, l));
    return most;
}

/* Iterates over the parts of a model. These are layers or, if relations have their own
 * convolutions, for each layer these and then its types' ends. */
struct walk {
    const struct og_model_config *model;
    struct og_live live;
    struct og_model_config config; /* of the current part: */
    int layer;
    bool end;      /* of a type, else a convolution */
    uint32_t part; /* its number for og__submodel, plus one */
};

static struct walk walk_layers(const struct og_model_config *c)
{
    struct walk w = {.model = c, .config = *c};
    if (og__in_parts(c))
        w.live = og__live_relations(c);
    return w;
}

/* Takes part i of the layer as the current one; false if there is none. */
static bool take_part(struct walk *w, uint32_t i)
{
    const struct og_model_config *c = w->model;
    const uint32_t type = i - og__relations_of(c);
    w->end = i >= og__relations_of(c);
    if (!og__in_parts(c))
        return true;
    w->config = w->end ? og__type_config(c, type) : og__relation_config(c, i);
    return w->end ? w->live.end[w->layer][type] : w->live.of[w->layer][i];
}

static bool next_part(struct walk *w)
{
    for (; w->layer < w->model->layers; w->layer++, w->part = 0)
        while (w->part < og__n_submodels(w->model))
            if (take_part(w, w->part++))
                return true;
    return false;
}

/* Learnable rows of a type without features, like PyTorch's Embedding. Stored ones are no
 * parameters (row_optimizers.h). */
static struct og_specs embedding_specs(const struct og_model_config *c, uint32_t type)
{
    struct og_specs s = {.n = 0};
    const struct og_graph_type *t = &c->types->type[type];
    const int n = (int)(t->end - og__first_id(c->types, type));
    if (t->trained && !t->stored)
        og__add_matrix(&s, OG__NEIGHBOUR, "weight", n, t->dim, og__glorot(n, t->dim))->weight =
            false;
    return s;
}

/* PyTorch's Linear, one per type whose features have another width than layer 0's input. */
static struct og_specs projection_specs(const struct og_model_config *c, uint32_t type)
{
    struct og_specs s = {.n = 0};
    const int in = c->types->type[type].dim;
    if (!og__projects(c, type))
        return s;
    og__add_matrix(&s, OG__NEIGHBOUR, "weight", c->in_dim, in, og__by_fan_in(in));
    og__add_vector(&s, OG__BIAS, "bias", c->in_dim, og__by_fan_in(in));
    return s;
}

/* Sums `of` over the parameters. */
typedef uint64_t spec_figure(const struct og_nn_ops *ops, const struct og_spec *s, int optimizer);
static uint64_t sum_specs(const struct og_nn_ops *ops, const struct og_specs *s, int optimizer,
                          spec_figure *of)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += of(ops, &s->spec[i], optimizer);
    return sum;
}

/* Those of layers and decoders, which come first. */
static uint64_t sum_layers(const struct og_nn_ops *ops, const struct og_model_config *c,
                           int optimizer, spec_figure *of)
{
    uint64_t sum = 0;
    struct og_specs s;
    for (struct walk w = walk_layers(c); next_part(&w);) {
        s = layer_specs(&w.config, w.layer, w.end);
        sum += sum_specs(ops, &s, optimizer, of);
    }
    for (int l = 0; l < 2; l++) {
        s = decoder_specs(c, l);
        sum += sum_specs(ops, &s, optimizer, of);
    }
    s = relation_specs(c);
    return sum + sum_specs(ops, &s, optimizer, of);
}

static uint64_t sum_params(const struct og_nn_ops *ops, const struct og_model_config *c,
                           int optimizer, spec_figure *of)
{
    uint64_t sum = sum_layers(ops, c, optimizer, of);
    struct og_specs s;
    for (uint32_t t = 0; t < og__types_of(c); t++) {
        s = embedding_specs(c, t);
        sum += sum_specs(ops, &s, optimizer, of);
        s = projection_specs(c, t);
        sum += sum_specs(ops, &s, optimizer, of);
    }
    return sum;
}

static uint64_t trained_of(const struct og_nn_ops *ops, const struct og_spec *s, int optimizer)
{
    (void)ops;
    (void)optimizer;
    return s->running ? 0 : spec_count(s);
}

static uint64_t bytes_of(const struct og_nn_ops *ops, const struct og_spec *s, int optimizer)
{
    return spec_bytes(ops, s, optimizer);
}

static uint64_t one_spec(const struct og_nn_ops *ops, const struct og_spec *s, int optimizer)
{
    (void)ops;
    (void)s;
    (void)optimizer;
    return 1;
}

uint32_t og__rows_number(const struct og_model_config *c, uint32_t type)
{
    uint32_t number = (uint32_t)sum_layers(NULL, c, OG_OPTIMIZER_SGD, one_spec);
    for (uint32_t t = 0; t < type; t++)
        number += c->types->type[t].trained;
    return number;
}

static size_t weighed_classes(const struct og_model_config *c)
{
    return c->class_weights ? (size_t)c->n_classes : 0;
}

static size_t arena_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                          int optimizer)
{
    size_t sum = 2 * og__arena_room(normed(config) * sizeof(float)) +
                 og__arena_room(weighed_classes(config) * sizeof(float));
    for (struct walk w = walk_layers(config); next_part(&w);)
        sum += w.end ? 0 : head_bytes(ops, &w.config, w.layer);
    return sum + sum_params(ops, config, optimizer, bytes_of);
}

static size_t count_heads(const struct og_model_config *c)
{
    size_t n = 0;
    for (struct walk w = walk_layers(c); next_part(&w);)
        n += !w.end && og__may_attend_first(&w.config, w.layer) ? (size_t)c->heads : 0;
    return n;
}

/* Allocates the lists of parameters. */
static void suballoc_lists(const struct og_model_config *c, struct og_arena *arena,
                           struct og_model *m)
{
    const size_t params = sum_params(NULL, c, OG_OPTIMIZER_SGD, one_spec);
    m->param = og__suballoc_zeros(arena, params * sizeof(*m->param));
    m->head = og__suballoc_zeros(arena, count_heads(c) * sizeof(*m->head));
    m->row = og__suballoc_zeros(arena, og__types_of(c) * sizeof(struct og_param *));
    m->row_gradient = og__suballoc_zeros(arena, og__types_of(c) * sizeof(*m->row_gradient));
    if (og__conv_of(c)->joins)
        m->projection = og__suballoc_zeros(arena, og__types_of(c) * sizeof(*m->projection));
}

static size_t list_bytes(const struct og_model_config *c)
{
    struct og_arena counter = {0};
    struct og_model m;
    suballoc_lists(c, &counter, &m);
    return counter.used;
}

/* With hundreds of relations the lists of parameters count, too. */
static bool lists_count(const struct og_model_config *c)
{
    return og__types_of(c) > 0;
}

static int take_lists(struct og_model *m, struct og_budget *b, struct og_err *err)
{
    const struct og_memory host = og__host_memory(lists_count(&m->config) ? b : NULL);
    OG_DO(og__arena_init(&m->lists, host, list_bytes(&m->config), MODEL, err));
    suballoc_lists(&m->config, &m->lists, m);
    return 0;
}

size_t og__model_bytes(const struct og_nn_ops *ops, const struct og_model_config *config,
                       int optimizer)
{
    const size_t known = lists_count(config) ? list_bytes(config) : 0;
    const size_t parts = og__in_parts(config) ? og__relational_bytes(config) : 0;
    return arena_bytes(ops, config, optimizer) + known + parts;
}

uint64_t og__model_trained(const struct og_model_config *c)
{
    return sum_params(NULL, c, OG_OPTIMIZER_SGD, trained_of);
}

static float draw_one(const struct og_spec *s, struct og_rng *r)
{
    return (float)(s->bound > 0 ? s->bound * (2 * (double)og__rng_unit(r) - 1) : s->value);
}

/* Initialises row by row, each from its own random numbers. */
static int draw(struct og_model *m, const struct og_param *p, const struct og_spec *s, int layer,
                uint64_t seed, struct og_err *err)
{
    enum { PIECE = 1024 };
    float piece[PIECE];
    uint32_t number = (uint32_t)(p - m->param);
    size_t cols = (size_t)(p->shape[1] * p->shape[2]);
    for (size_t i = 0; i < (size_t)p->shape[0]; i++) {
        struct og_rng r;
        og__rng_at(&r, seed, OG__STREAM_INIT, 0, number, (uint32_t)layer, (uint32_t)i);
        for (size_t first = 0, n; first < cols; first += n) {
            n = OG_MIN(cols - first, (size_t)PIECE);
            for (size_t j = 0; j < n; j++)
                piece[j] = draw_one(s, &r);
            OG_DO(og__model_push(m, p->value + i * cols + first, piece, n * sizeof(*piece), err));
        }
    }
    return 0;
}

static struct og_param *add_param(struct og_model *m, const struct og_spec *s)
{
    struct og_param *p = &m->param[m->n_params++];
    p->ndim = s->ndim;
    for (int d = 0; d < OG_PARAM_DIMS; d++)
        p->shape[d] = s->shape[d];
    float **const arrays[] = {&p->value, &p->grad, &p->m, &p->v};
    for (size_t i = 0; i < n_arrays(s, m->optimizer); i++)
        *arrays[i] = og__arena_take(&m->memory, spec_count(s) * sizeof(float));
    return p;
}

static void bind_weight(struct og_model *m, struct og_weight *w, const float *value, int n_out,
                        int n_in, bool backward, bool by_column)
{
    w->value = value;
    w->by_column = by_column;
    w->n_out = n_out;
    w->n_in = n_in;
    size_t bytes = m->ops->packed_bytes(w->n_out, w->n_in);
    w->packed[OG__FORWARD] = og__arena_take(&m->memory, bytes);
    w->packed[OG__BACKWARD] = backward ? og__arena_take(&m->memory, bytes) : NULL;
}

static void name_param(const struct og_model *of, bool end, const struct og_spec *s, int l,
                       struct og_param *p)
{
    if (!of->whole)
        snprintf(p->name, sizeof(p->name), "%s.%d.%s", s->module, l, s->name);
    else if (end)
        og__name_of_type(of, s->module, l, s->name, p->name, sizeof(p->name));
    else
        og__name_of_relation(of, s->module, l, s->name, p->name, sizeof(p->name));
}

/* Packs heads' matrices in addition to those of products with parameters. */
static void bind_heads(struct og_model *m, struct og_model *of, int l)
{
    const struct og_model_config *c = &of->config;
    struct og_layer *layer = &of->layer[l];
    const int width = og__may_attend_first(c, l) ? og__head_width(c, l) : 0;
    if (width)
        layer->head = m->head + m->n_heads;
    m->n_heads += width ? (size_t)c->heads : 0;
    for (int h = 0; width && h < c->heads; h++)
        bind_weight(m, &layer->head[h],
                    layer->param[OG__NEIGHBOUR]->value +
                        (size_t)h * (size_t)width * (size_t)layer->n_in,
                    width, layer->n_in, true, false);
    if (og__folds_own(c))
        bind_weight(m, &layer->folded, NULL, c->heads, og__layer_own(c, l), true,
                    og__multiplies_sparse(c, l, OG__SELF, og__layer_own(c, l)));
    if (og__folds_edges(c))
        bind_weight(m, &layer->folded_edge, NULL, c->heads, c->edge_dim, false, false);
}

/* Adds layer l of `of`, which is the model or a part of a relation or a type. */
static int add_layer(struct og_model *m, struct og_model *of, int l, bool end, uint64_t seed,
                     struct og_err *err)
{
    struct og_layer *layer = &of->layer[l];
    struct og_specs specs = layer_specs(&of->config, l, end);
    layer->n_in = og__layer_in(&of->config, l);
    layer->n_mid = og__layer_mid(&of->config, l);
    layer->n_out = og__layer_out(&of->config, l);
    for (size_t i = 0; i < specs.n; i++) {
        const struct og_spec *s = &specs.spec[i];
        struct og_param *p = add_param(m, s);
        name_param(of, end, s, l, p);
        layer->param[s->role] = p;
        OG_DO(draw(m, p, s, l, seed, err));
        if (s->weight)
            bind_weight(m, &layer->weight[s->role], p->value, (int)p->shape[0], (int)p->shape[1],
                        s->multiplies_back,
                        og__multiplies_sparse(&of->config, l, s->role, (int)p->shape[1]));
    }
    if (!end)
        bind_heads(m, of, l);
    return 0;
}

static int add_layers(struct og_model *m, uint64_t seed, struct og_err *err)
{
    for (struct walk w = walk_layers(&m->config); next_part(&w);)
        OG_DO(add_layer(m, og__submodel(m, w.part - 1), w.layer, w.end, seed, err));
    return 0;
}

/* Adds "<module>.weight" and "<module>.bias". */
static int add_linear(struct og_model *m, const struct og_specs *specs, const char *module,
                      int layer, uint64_t seed, bool by_column, struct og_linear *to,
                      struct og_err *err)
{
    for (size_t i = 0; i < specs->n; i++) {
        const struct og_spec *s = &specs->spec[i];
        struct og_param *p = add_param(m, s);
        snprintf(p->name, sizeof(p->name), "%s.%s", module, s->name);
        OG_DO(draw(m, p, s, layer, seed, err));
        *(s->weight ? &to->param : &to->bias) = p;
        if (s->weight)
            bind_weight(m, &to->weight, p->value, (int)p->shape[0], (int)p->shape[1],
                        s->multiplies_back, by_column);
    }
    return 0;
}

/* Adds learnable rows, if there are any. */
static int add_rows(struct og_model *m, const struct og_specs *specs, const char *name, int layer,
                    uint64_t seed, struct og_param **to, struct og_err *err)
{
    if (specs->n == 0)
        return 0;
    *to = add_param(m, specs->spec);
    snprintf((*to)->name, sizeof((*to)->name), "%s", name);
    return draw(m, *to, specs->spec, layer, seed, err);
}

static int add_decoder(struct og_model *m, uint64_t seed, struct og_err *err)
{
    const struct og_specs vectors = relation_specs(&m->config);
    for (int l = 0; l < 2; l++) {
        const struct og_specs specs = decoder_specs(&m->config, l);
        char module[32];
        snprintf(module, sizeof(module), "decoder.lins.%d", l);
        OG_DO(add_linear(m, &specs, module, OG_MAX_HOPS + l, seed, false, &m->decoder.lin[l], err));
    }
    return add_rows(m, &vectors, "decoder.rel_emb.weight", OG_MAX_HOPS, seed, &m->decoder.relations,
                    err);
}

/* Adds learnable rows of all types, then linear layers of features. */
static int add_inputs(struct og_model *m, uint64_t seed, struct og_err *err)
{
    const struct og_graph_types *g = og__types(&m->config);
    const int layer = OG__ROWS_LAYER;
    char name[OG_PARAM_NAME], key[OG__TYPE_NAME_MAX + 1];
    for (uint32_t t = 0; t < g->n_types; t++) {
        const struct og_specs specs = embedding_specs(&m->config, t);
        snprintf(name, sizeof(name), "embeddings.%s.weight", g->type[t].name);
        OG_DO(add_rows(m, &specs, name, layer, seed, &m->row[t], err));
    }
    for (uint32_t t = 0; m->projection && t < og__types_of(&m->config); t++) {
        const struct og_specs specs = projection_specs(&m->config, t);
        og__type_key(g, t, key, sizeof(key));
        snprintf(name, sizeof(name), "lins.%s", key);
        OG_DO(add_linear(m, &specs, name, layer, seed, g->type[t].entries > 0,
                         &m->projection[t].lin, err));
    }
    return 0;
}

static int add_class_weights(struct og_model *m, struct og_err *err)
{
    const size_t n = weighed_classes(&m->config);
    if (n == 0)
        return 0;
    m->class_weights = og__arena_take(&m->memory, n * sizeof(float));
    return og__model_push(m, m->class_weights, m->config.class_weights, n * sizeof(float), err);
}

int og__model_create_on(struct og_model **out, const struct og_nn_ops *ops, int number,
                        const struct og_model_config *config, int optimizer, uint64_t seed,
                        struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    struct og_model *m = NULL;
    *out = NULL;
    OG_TRY(og__model_check(config, err));
    OG_TRY(og__model_check_graph(config, err));
    OG_TRY(og__model_check_backend(config, ops, err));
    m = calloc(1, sizeof(*m));
    if (!m)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, MODEL));
    m->config = *config;
    m->optimizer = optimizer;
    m->ops = ops;
    m->threads = og__pool_threads(pool);
    OG_TRY(ops->open(&m->backend, number, pool, b, err));
    ops->set_compute(m->backend, config->compute);
    m->own = ops->memory(m->backend);
    m->ends = &og__ends_of_layers;
    OG_TRY(og__in_parts(config) ? og__relational_open(&m->relational, m, b, err) : 0);
    OG_TRY(og__arena_init(&m->memory, m->own, arena_bytes(ops, config, optimizer), MODEL, err));
    OG_TRY(take_lists(m, b, err));
    OG_TRY(add_layers(m, seed, err));
    OG_TRY(add_decoder(m, seed, err));
    OG_TRY(add_inputs(m, seed, err));
    m->mean = og__arena_take(&m->memory, normed(config) * sizeof(float));
    m->var = og__arena_take(&m->memory, normed(config) * sizeof(float));
    OG_TRY(add_class_weights(m, err));
    *out = m;
    m = NULL;
out:
    og__model_free(m);
    return rc;
}

int og__model_create(struct og_model **out, const struct og_nn_ops *ops,
                     const struct og_model_config *config, int optimizer, uint64_t seed,
                     struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    return og__model_create_on(out, ops, 0, config, optimizer, seed, pool, b, err);
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
    og__relational_close(m->relational);
    og__arena_release(&m->workspace);
    og__arena_release(&m->memory);
    m->ops->close(m->backend); /* last: memory may be the backend's */
    og__arena_release(&m->numbers);
    og__arena_release(&m->lists);
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

int og__model_fetch(struct og_model *m, void *host, const void *on_backend, size_t bytes,
                    struct og_err *err)
{
    return m->ops->fetch(m->backend, host, on_backend, bytes, err);
}

int og__model_push(struct og_model *m, void *on_backend, const void *host, size_t bytes,
                   struct og_err *err)
{
    return m->ops->push(m->backend, on_backend, host, bytes, err);
}

int og__model_constant(struct og_model *m, const void *host, size_t bytes, const void **on_backend,
                       struct og_err *err)
{
    *on_backend = host;
    return m->ops->constant ? m->ops->constant(m->backend, host, bytes, on_backend, err) : 0;
}

int og__model_await(struct og_model *m, const struct og_rows *x, struct og_err *err)
{
    if (m->caps.rows_come && !x->comes)
        return og__fail(err, -EINVAL, NULL, "model: rows of the host, and no room for them");
    return x->comes ? m->ops->await(m->backend, x->comes, err) : 0;
}

int og__model_bound(struct og_model *m, size_t bytes, struct og_err *err)
{
    return m->ops->bound ? m->ops->bound(m->backend, bytes, err) : 0;
}

struct og_nn_backend *og__model_backend(const struct og_model *m)
{
    return m->backend;
}

int og__model_gather(struct og_model *m, const struct og_rows *x, void *on_backend,
                     struct og_err *err)
{
    return m->ops->gather(m->backend, x, on_backend, err);
}
