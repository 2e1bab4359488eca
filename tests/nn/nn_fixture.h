/* Runs of tests/nn/golden/nn_make.py as batches and rows. */
#ifndef OG_NN_FIXTURE_H
#define OG_NN_FIXTURE_H

#include "support/testing.h"
#include "support/whole_tensors.h"

#include "nn/nn.h"

#include <stdlib.h>

enum { FIXTURE_BATCHES = 8, FIXTURE_RELATIONS = 8 };

struct fixture {
    struct og_tensors t;
    char *bytes; /* of the file: its data */
    struct og_model_config config;
    double lr, weight_decay;
    uint32_t n_batches;
    struct og_batch batch[FIXTURE_BATCHES];
    void *labels[FIXTURE_BATCHES]; /* of the seeds */
    struct og_weight_sums weights; /* of nodes, where edges' weights count */
    void *features;                /* in the dtype of the case */
    enum og_dtype dtype;
    struct og_edge_rows edges[FIXTURE_RELATIONS]; /* dim 0: none */
    void *units[FIXTURE_RELATIONS];
    uint32_t *unit_index[FIXTURE_RELATIONS];
};

static inline const struct og_tensor *fixture_tensor(const struct fixture *f, const char *name)
{
    const struct og_tensor *t = og__tensors_find(&f->t, name);
    if (!t)
        fail_msg("no tensor %s", name);
    return t;
}

/* NULL when it is not there. */
static inline const char *fixture_option(const struct fixture *f, const char *key)
{
    for (size_t i = 0; i < f->t.n_metadata; i++)
        if (strcmp(f->t.metadata[i].key, key) == 0)
            return f->t.metadata[i].value;
    return NULL;
}

static inline const char *fixture_text(const struct fixture *f, const char *key)
{
    const char *text = fixture_option(f, key);
    if (!text)
        fail_msg("no metadata %s", key);
    return text ? text : "";
}

/* A file's data is where its header ends, on any byte. */
static inline int64_t fixture_i64(const struct og_tensor *t, size_t i)
{
    int64_t value;
    memcpy(&value, (const char *)t->data + i * sizeof(value), sizeof(value));
    return value;
}

static inline uint32_t *fixture_u32(const struct og_tensor *t)
{
    int64_t n = t->shape[0];
    uint32_t *out = malloc(((size_t)n + 1) * sizeof(*out));
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint32_t)fixture_i64(t, (size_t)i);
    return out;
}

/* NULL when it is not there. */
static inline uint32_t *fixture_edge(const struct fixture *f, uint32_t batch, uint32_t hop)
{
    char name[64];
    snprintf(name, sizeof(name), "%u.%u.edge", batch, hop);
    const struct og_tensor *edge = og__tensors_find(&f->t, name);
    return edge ? fixture_u32(edge) : NULL;
}

static inline void fixture_batch(const struct fixture *f, uint32_t number, struct og_batch *out)
{
    char name[64];
    snprintf(name, sizeof(name), "%u.ids", number);
    const struct og_tensor *ids = fixture_tensor(f, name);
    *out = (struct og_batch){.n_hops = (uint32_t)f->config.layers,
                             .ids = fixture_u32(ids),
                             .n_ids = (uint32_t)ids->shape[0]};
    for (uint32_t h = 0; h < out->n_hops; h++) {
        struct og_block *b = &out->hop[h];
        snprintf(name, sizeof(name), "%u.%u.indptr", number, h);
        b->indptr = fixture_u32(fixture_tensor(f, name));
        b->n_dst = (uint32_t)fixture_tensor(f, name)->shape[0] - 1;
        snprintf(name, sizeof(name), "%u.%u.src", number, h);
        b->src = fixture_u32(fixture_tensor(f, name));
        b->n_edges = (uint64_t)fixture_tensor(f, name)->shape[0];
    }
    for (uint32_t h = 0; h < out->n_hops; h++)
        out->hop[h].n_src = h + 1 < out->n_hops ? out->hop[h + 1].n_dst : out->n_ids;
    out->n_seeds = out->hop[0].n_dst;
    for (uint32_t h = 0; h < out->n_hops; h++) {
        snprintf(name, sizeof(name), "%u.%u.weight", number, h);
        const struct og_tensor *weight = og__tensors_find(&f->t, name);
        out->hop[h].weight = weight ? weight->data : NULL;
        snprintf(name, sizeof(name), "%u.%u.degree", number, h);
        const struct og_tensor *degree = og__tensors_find(&f->t, name);
        out->hop[h].degree = degree ? fixture_u32(degree) : NULL;
        out->hop[h].edge = fixture_edge(f, number, h);
    }
}

static inline void *fixture_pairs(const struct fixture *f, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof(name), "%u.pair_a", number);
    const struct og_tensor *a = fixture_tensor(f, name);
    snprintf(name, sizeof(name), "%u.pair_b", number);
    const struct og_tensor *b = fixture_tensor(f, name);
    struct og_pairs *p = calloc(1, sizeof(*p));
    p->n = (uint32_t)a->shape[0];
    p->n_edges = (uint32_t)strtol(fixture_text(f, "edges"), NULL, 10);
    p->n_negatives = p->n - p->n_edges;
    p->n_seeds = f->batch[number].n_seeds;
    p->a = fixture_u32(a);
    p->b = fixture_u32(b);
    snprintf(name, sizeof(name), "%u.pair_relation", number);
    const struct og_tensor *relation = og__tensors_find(&f->t, name);
    p->relation = relation ? fixture_u32(relation) : NULL;
    return p;
}

static inline bool fixture_of_pairs(const struct fixture *f)
{
    return f->config.task != OG_TASK_NODE && f->config.task != OG_TASK_REGRESSION;
}

/* Pairs with labels: no negatives. */
static inline void *fixture_labelled_pairs(const struct fixture *f, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof(name), "%u.pair_labels", number);
    const struct og_tensor *labels = fixture_tensor(f, name);
    struct og_pairs *p = fixture_pairs(f, number);
    int32_t *classes = malloc(labels->bytes);
    if (labels->dtype == OG_TENSOR_F32)
        memcpy(classes, labels->data, labels->bytes);
    for (uint32_t i = 0; labels->dtype == OG_TENSOR_I64 && i < p->n; i++)
        classes[i] = (int32_t)fixture_i64(labels, i);
    p->targets = classes;
    return p;
}

static inline void *fixture_labels(const struct fixture *f, uint32_t number)
{
    const struct og_batch *b = &f->batch[number];
    if (fixture_of_pairs(f))
        return f->config.task == OG_TASK_LINK ? fixture_pairs(f, number)
                                              : fixture_labelled_pairs(f, number);
    const struct og_tensor *all = fixture_tensor(f, "labels");
    bool floats = f->config.multi_label || f->config.task == OG_TASK_REGRESSION;
    size_t c = floats ? (size_t)f->config.n_classes : 1;
    char *out = malloc(b->n_seeds * c * 4);
    for (uint32_t i = 0; i < b->n_seeds; i++) {
        if (floats)
            memcpy(out + i * c * 4, (const float *)all->data + b->ids[i] * c, c * 4);
        else
            ((int32_t *)(void *)out)[i] = (int32_t)fixture_i64(all, b->ids[i]);
    }
    return out;
}

/* Exact for the values the fixtures hold: small normal numbers with at most 11 bits. */
static inline uint16_t half_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    uint32_t sign = bits >> 16 & 0x8000, mantissa = bits & 0x7fffff;
    if (x == 0)
        return (uint16_t)sign;
    if (exponent >= -14)
        return (uint16_t)(sign | (uint32_t)(exponent + 15) << 10 | mantissa >> 13);
    return (uint16_t)(sign | (mantissa | 0x800000) >> (13 - 14 - exponent));
}

static inline enum og_dtype fixture_dtype(const char *word)
{
    for (int i = 0; og__dtype_words[i]; i++)
        if (strcmp(word, og__dtype_words[i]) == 0)
            return (enum og_dtype)i;
    fail_msg("no dtype %s", word);
    return OG_F32;
}

/* Stores x at place i of an array of the dtype. */
static inline void fixture_put(void *array, size_t i, enum og_dtype dtype, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (dtype == OG_F32)
        ((float *)array)[i] = x;
    else if (dtype == OG_U8)
        ((uint8_t *)array)[i] = (uint8_t)x;
    else
        ((uint16_t *)array)[i] = dtype == OG_F16 ? half_of_float(x) : (uint16_t)(bits >> 16);
}

/* Rows of a relation's edges; their units are in memory from the last to the first. */
static inline void fixture_edge_rows(struct fixture *f, const char *name, uint32_t relation)
{
    const struct og_tensor *x = fixture_tensor(f, name);
    const enum og_dtype dtype = fixture_dtype(fixture_text(f, "edge_dtype"));
    const uint32_t rows = (uint32_t)strtoul(fixture_text(f, "edge_unit"), NULL, 10);
    const uint32_t n = ((uint32_t)x->shape[0] + rows - 1) / rows;
    const size_t wide = rows * (size_t)x->shape[1];
    uint32_t *index = f->unit_index[relation] = malloc(n * sizeof(*index));
    f->units[relation] = calloc(n * wide, sizeof(float));
    for (size_t i = 0; i < x->bytes / sizeof(float); i++)
        fixture_put(f->units[relation], (n - 1 - i / wide) * wide + i % wide, dtype,
                    ((const float *)x->data)[i]);
    for (uint32_t i = 0; i < n; i++)
        index[i] = n - 1 - i;
    f->edges[relation] = (struct og_edge_rows){.units = {.base = f->units[relation],
                                                         .index = index,
                                                         .stride = wide * og__dtype_size(dtype),
                                                         .n = n,
                                                         .dim = (int)wide,
                                                         .dtype = dtype},
                                               .rows = rows,
                                               .dim = (int)x->shape[1]};
}

static inline void fixture_edges(struct fixture *f)
{
    char name[64];
    const char *dim = fixture_option(f, "edge_dim");
    f->config.edge_dim = dim ? (int)strtol(dim, NULL, 10) : 0;
    if (og__tensors_find(&f->t, "edge_rows"))
        fixture_edge_rows(f, "edge_rows", 0);
    for (uint32_t r = 0; r < FIXTURE_RELATIONS; r++) {
        snprintf(name, sizeof(name), "edge_rows.%u", r);
        if (og__tensors_find(&f->t, name))
            fixture_edge_rows(f, name, r);
    }
}

static inline void fixture_features(struct fixture *f)
{
    const struct og_tensor *x = fixture_tensor(f, "features");
    const char *dtype = fixture_text(f, "dtype");
    const float *value = x->data;
    size_t n = (size_t)(x->shape[0] * x->shape[1]);
    f->dtype = strcmp(dtype, "u8") == 0 ? OG_U8 : strcmp(dtype, "f16") == 0 ? OG_F16 : OG_F32;
    f->features = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        if (f->dtype == OG_F32)
            ((float *)f->features)[i] = value[i];
        else if (f->dtype == OG_F16)
            ((uint16_t *)f->features)[i] = half_of_float(value[i]);
        else
            ((uint8_t *)f->features)[i] = (uint8_t)value[i];
    }
}

static inline struct og_rows fixture_rows(const struct fixture *f, const struct og_batch *b)
{
    const size_t bytes[] = {4, 2, 2, 1};
    return (struct og_rows){.base = f->features,
                            .index = b->ids,
                            .stride = (size_t)f->config.in_dim * bytes[f->dtype],
                            .n = b->n_ids,
                            .dim = f->config.in_dim,
                            .dtype = f->dtype};
}

static inline void fixture_task(struct fixture *f)
{
    const char *task = fixture_option(f, "task");
    if (!task)
        return;
    for (int i = 0; og__task_words[i]; i++)
        if (strcmp(task, og__task_words[i]) == 0)
            f->config.task = i;
    for (int i = 0; og__decoder_words[i]; i++)
        if (strcmp(fixture_text(f, "decoder"), og__decoder_words[i]) == 0)
            f->config.decoder = i;
    for (int i = 0; og__loss_words[i]; i++)
        if (strcmp(fixture_text(f, "loss"), og__loss_words[i]) == 0)
            f->config.loss = i;
    f->config.shares = f->config.loss == OG_LOSS_CROSS_ENTROPY;
}

static inline void fixture_model(struct fixture *f)
{
    static const struct {
        const char *name;
        int kind, aggregator;
    } kinds[] = {{"gcn", OG_MODEL_GCN, OG_AGGREGATOR_MEAN},
                 {"sage", OG_MODEL_SAGE, OG_AGGREGATOR_MEAN},
                 {"sage-max", OG_MODEL_SAGE, OG_AGGREGATOR_MAX},
                 {"sage-gcn", OG_MODEL_SAGE, OG_AGGREGATOR_GCN},
                 {"gat", OG_MODEL_GAT, OG_AGGREGATOR_MEAN},
                 {"gatv2", OG_MODEL_GATV2, OG_AGGREGATOR_MEAN},
                 {"gine", OG_MODEL_GINE, OG_AGGREGATOR_MEAN},
                 {"transformer", OG_MODEL_TRANSFORMER, OG_AGGREGATOR_MEAN},
                 {"gin", OG_MODEL_GIN, OG_AGGREGATOR_MEAN},
                 {"pinsage", OG_MODEL_PINSAGE, OG_AGGREGATOR_MEAN},
                 {"rgcn", OG_MODEL_RGCN, OG_AGGREGATOR_MEAN}};
    const char *kind = fixture_text(f, "kind"), *norm = fixture_option(f, "norm"),
               *heads = fixture_option(f, "heads"), *bases = fixture_option(f, "bases");
    f->config.kind = -1;
    for (size_t i = 0; i < OG_COUNT(kinds); i++) {
        if (strcmp(kind, kinds[i].name) == 0) {
            f->config.kind = kinds[i].kind;
            f->config.aggregator = kinds[i].aggregator;
        }
    }
    f->config.heads = heads ? (int)strtol(heads, NULL, 10) : 0;
    f->config.bases = bases ? (int)strtol(bases, NULL, 10) : 0;
    f->config.residual = fixture_option(f, "residual");
    const char *weights = fixture_option(f, "edge_weights");
    if (weights) {
        f->config.edge_weights =
            strcmp(weights, "mean") == 0 ? OG_EDGE_WEIGHTS_MEAN : OG_EDGE_WEIGHTS_MULTIPLY;
        f->weights =
            (struct og_weight_sums){.mean = (float *)fixture_tensor(f, "mean_weight")->data,
                                    .loop = (float *)fixture_tensor(f, "loop_weight")->data};
        f->config.weights = &f->weights;
    }
    if (norm)
        f->config.norm = strcmp(norm, "batch") == 0 ? OG_NORM_BATCH : OG_NORM_LAYER;
}

static inline void fixture_path(char *path, size_t bytes, const char *name)
{
    const char *elsewhere = getenv("OUTGROW_TEST_GOLDEN"); /* tools/gpu-bundle brings them along */
    snprintf(path, bytes, "%s/nn_%s.safetensors", elsewhere ? elsewhere : TEST_GOLDEN, name);
}

static inline void fixture_open(struct fixture *f, const char *name)
{
    char path[512];
    memset(f, 0, sizeof(*f));
    fixture_path(path, sizeof(path), name);
    f->bytes = whole_tensors(path, &f->t);
    f->config = (struct og_model_config){
        .layers = (int)strtol(fixture_text(f, "layers"), NULL, 10),
        .in_dim = (int)strtol(fixture_text(f, "dim"), NULL, 10),
        .hidden = (int)strtol(fixture_text(f, "hidden"), NULL, 10),
        .n_classes = (int)strtol(fixture_text(f, "classes"), NULL, 10),
        .multi_label = (int)strtol(fixture_text(f, "multi_label"), NULL, 10) != 0};
    fixture_model(f);
    fixture_task(f);
    f->lr = strtod(fixture_text(f, "lr"), NULL);
    f->weight_decay = strtod(fixture_text(f, "weight_decay"), NULL);
    f->n_batches = (uint32_t)(int)strtol(fixture_text(f, "batches"), NULL, 10);
    fixture_features(f);
    fixture_edges(f);
    for (uint32_t i = 0; i < f->n_batches; i++) {
        fixture_batch(f, i, &f->batch[i]);
        f->labels[i] = fixture_labels(f, i);
    }
}

static inline void fixture_close(struct fixture *f)
{
    for (uint32_t i = 0; i < f->n_batches; i++) {
        for (uint32_t h = 0; h < f->batch[i].n_hops; h++) {
            free(f->batch[i].hop[h].indptr);
            free(f->batch[i].hop[h].src);
            free(f->batch[i].hop[h].degree);
            free(f->batch[i].hop[h].edge);
        }
        free(f->batch[i].ids);
        if (fixture_of_pairs(f)) {
            free((void *)((struct og_pairs *)f->labels[i])->targets);
            free(((struct og_pairs *)f->labels[i])->a);
            free(((struct og_pairs *)f->labels[i])->b);
            free(((struct og_pairs *)f->labels[i])->relation);
        }
        free(f->labels[i]);
    }
    for (uint32_t r = 0; r < FIXTURE_RELATIONS; r++) {
        free(f->units[r]);
        free(f->unit_index[r]);
    }
    free(f->features);
    og__tensors_release(&f->t);
    free(f->bytes);
}

/* Copy the tensors "<prefix><parameter name>" into a model. Running statistics start as they are.
 */
static inline void fixture_load(const struct fixture *f, struct og_model *m, const char *prefix)
{
    size_t n;
    struct og_param *p = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++) {
        char name[OG_PARAM_NAME + 16];
        if (!p[i].grad)
            continue;
        snprintf(name, sizeof(name), "%s%s", prefix, p[i].name);
        const struct og_tensor *t = fixture_tensor(f, name);
        assert_int_equal(t->ndim, p[i].ndim);
        assert_int_equal(t->bytes, og__param_count(&p[i]) * sizeof(float));
        memcpy(p[i].value, t->data, t->bytes);
    }
}

#endif
