/* Inference over the whole graph: against a dense computation in double, written to be read, and
 * against itself with other memory. */
#include "base/temporary.h"
#include "support/runs.h"
#include "testing.h"
#include "whole_tensors.h"

#include "base/file.h"
#include "base/random.h"
#include "dataset/writer.h"
#include "sample/sample.h"
#include "support/folder.h"
#include "train/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 500, DIM = 24, CLASSES = 5, HIDDEN = 12, LONGEST_PATH = 512 };

static char root[TEST_PATH];
static char graph[64], checkpoint[64], logits[64], embeddings[64];

static int make_root(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "infer"));
    setenv("XDG_CACHE_HOME", root, 1);
    snprintf(graph, sizeof(graph), "%s/graph", root);
    snprintf(checkpoint, sizeof(checkpoint), "%s/model.safetensors", root);
    snprintf(logits, sizeof(logits), "%s/logits.npy", root);
    snprintf(embeddings, sizeof(embeddings), "%s/embeddings.npy", root);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

/* ==== a graph with what is awkward: loops, edges that are there twice, a hub, lonely nodes ==== */

struct edges {
    int64_t indptr[N + 1];
    int32_t indices[N * 40];
};

static int ascending(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static void draw_edges(struct edges *g)
{
    struct og_rng r;
    og__rng_at(&r, 3, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t v = 0; v < N; v++) {
        uint32_t degree = v % 7 == 3 ? 0 : 1 + og__rng_below(&r, 12);
        int32_t *list = g->indices + g->indptr[v];
        if (v == 77)
            degree = N; /* everyone, itself too */
        for (uint32_t i = 0; i < degree; i++)
            list[i] = (int32_t)(v == 77 ? i : og__rng_below(&r, i % 3 ? 40 : N));
        if (v % 5 == 1 && degree > 1) {
            list[0] = (int32_t)v;
            list[1] = v % 2 ? (int32_t)v : list[1];
        }
        qsort(list, degree, sizeof(*list), ascending);
        g->indptr[v + 1] = g->indptr[v] + degree;
    }
}

static void write_array(const char *name, enum og__npy_type type, int64_t rows, int64_t row,
                        const void *data)
{
    char path[LONGEST_PATH];
    struct og_npy_writer *w;
    snprintf(path, sizeof(path), "%s/%s.npy", graph, name);
    assert_int_equal(og__npy_create(&w, path, type, row > 1 ? 2 : 1, row, NULL), 0);
    assert_int_equal(og__npy_append(w, data, rows, NULL), 0);
    assert_int_equal(og__npy_finish(w, NULL, NULL), 0);
}

static void write_meta(int64_t n_edges)
{
    char text[512], path[LONGEST_PATH];
    snprintf(path, sizeof(path), "%s/meta.json", graph);
    int n = snprintf(text, sizeof(text),
                     "{\"format\":1,\"name\":\"awkward\",\"num_nodes\":%d,\"num_edges\":%lld,"
                     "\"feature_dim\":%d,\"feature_dtype\":\"f32\",\"num_classes\":%d,"
                     "\"multi_label\":false,\"task\":\"node classification\",\"checksums\":{}}",
                     (int)N, (long long)n_edges, (int)DIM, (int)CLASSES);
    assert_int_equal(og__write_text(path, text, (size_t)n, NULL), 0);
}

static void make_awkward_graph(void)
{
    static struct edges g;
    static float x[N * DIM];
    int64_t labels[N], split[3][50];
    struct og_rng r;
    og__remove_tree(graph);
    assert_int_equal(og__make_dirs(graph, NULL), 0);
    draw_edges(&g);
    og__rng_at(&r, 4, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int i = 0; i < N * DIM; i++)
        x[i] = og__rng_normal(&r);
    for (int v = 0; v < N; v++)
        labels[v] = v % 11 ? v % CLASSES : -1;
    for (int i = 0; i < 150; i++)
        split[i / 50][i % 50] = (i * 7 + 3) % N;
    write_array("indptr", OG__NPY_I64, N + 1, 1, g.indptr);
    write_array("indices", OG__NPY_I32, g.indptr[N], 1, g.indices);
    write_array("features", OG__NPY_F32, N, DIM, x);
    write_array("labels", OG__NPY_I64, N, 1, labels);
    write_array("train", OG__NPY_I64, 50, 1, split[0]);
    write_array("valid", OG__NPY_I64, 50, 1, split[1]);
    write_array("test", OG__NPY_I64, 50, 1, split[2]);
    write_meta(g.indptr[N]);
}

/* ==== a model whose every parameter matters ==== */

struct dense {
    struct og_model_config c;
    struct og_model *m;
    int64_t n;
    struct og_topology t;
    const float *weight; /* of t's edges; NULL = all 1 */
};

static void scatter(struct og_model *m)
{
    size_t n;
    struct og_param *p = og__model_params(m, &n);
    struct og_rng r;
    for (size_t i = 0; i < n; i++) {
        bool variance = strstr(p[i].name, "running_var");
        og__rng_at(&r, 9, OG__STREAM_BENCH, 0, (uint32_t)i, 0, 0);
        for (size_t j = 0; j < og__param_count(&p[i]); j++)
            p[i].value[j] += variance ? (float)og__rng_unit(&r) : 0.1f * og__rng_normal(&r);
    }
}

static void write_model_of(const struct og_model_config *c, const struct og_options *trained)
{
    struct og_model *m;
    assert_int_equal(og__model_create(&m, &og__ops_cpu, c, OG_OPTIMIZER_SGD, 5, NULL, NULL, NULL),
                     0);
    scatter(m);
    assert_int_equal(og__checkpoint_write(checkpoint, m, trained, NULL, NULL), 0);
    og__model_free(m);
}

static void write_model(const struct og_model_config *c)
{
    write_model_of(c, NULL);
}

/* The file as PyTorch would have written it. */
static void forget_metadata(void)
{
    struct og_tensors t;
    char *bytes = whole_tensors(checkpoint, &t);
    size_t n = t.n_metadata;
    t.n_metadata = 0;
    assert_int_equal(og__tensors_write(checkpoint, &t, NULL), 0);
    t.n_metadata = n;
    og__tensors_release(&t);
    free(bytes);
}

/* ==== the same in double ==== */

/* The parameter convs.<l>.<name>, or NULL. */
static const float *param(const struct dense *d, const char *module, int l, const char *name)
{
    char full[96];
    size_t n;
    const struct og_param *p = og__model_params(d->m, &n);
    snprintf(full, sizeof(full), "%s.%d.%s", module, l, name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, full) == 0)
            return p[i].value;
    return NULL;
}

/* y += scale * (W x), W [out, in] */
static void add_product(double *y, const float *w, const double *x, int out, int in, double scale)
{
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++)
            y[o] += scale * (double)w[(size_t)o * (size_t)in + (size_t)i] * x[i];
}

static void add_bias(double *y, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += (double)b[i];
}

/* relu(W x + b) of every node */
static double *all_relu(const struct dense *d, const float *w, const float *b, const double *x,
                        int out, int in)
{
    double *t = calloc((size_t)d->n * (size_t)out, sizeof(*t));
    for (int64_t v = 0; v < d->n; v++) {
        double *y = t + v * out;
        add_product(y, w, x + v * in, out, in, 1);
        for (int o = 0; o < out; o++)
            y[o] = fmax(y[o] + (b ? (double)b[o] : 0), 0);
    }
    return t;
}

/* Sources of v: its neighbours, or, with `loop`, those that are not v, and v once. */
static int64_t sources(const struct dense *d, int64_t v, bool loop, uint32_t *out)
{
    int64_t n = 0;
    for (int64_t e = d->t.indptr[v]; e < d->t.indptr[v + 1]; e++) {
        uint32_t u = og__neighbor(&d->t, e);
        if (!loop || u != v)
            out[n++] = u;
    }
    if (loop)
        out[n++] = (uint32_t)v;
    return n;
}

static double root_degree(const struct dense *d, int64_t v)
{
    int64_t n = 1;
    for (int64_t e = d->t.indptr[v]; e < d->t.indptr[v + 1]; e++)
        n += og__neighbor(&d->t, e) != v;
    return sqrt((double)n);
}

static void attend(const struct dense *d, int l, const uint32_t *from, int64_t n, int64_t v,
                   const double *z, double *y, int out, bool last)
{
    int heads = d->c.heads, width = last ? out : out / heads, all = heads * width;
    const float *src = param(d, "convs", l, "att_src"), *dst = param(d, "convs", l, "att_dst");
    double *alpha = calloc((size_t)n, sizeof(*alpha));
    for (int h = 0; h < heads; h++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double score = 0;
            for (int j = h * width; j < (h + 1) * width; j++)
                score += (double)src[j] * z[from[i] * all + j] + (double)dst[j] * z[v * all + j];
            sum += alpha[i] = exp(score > 0 ? score : 0.2 * score);
        }
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < width; j++)
                y[last ? j : h * width + j] +=
                    alpha[i] / sum * z[from[i] * all + h * width + j] / (last ? heads : 1);
    }
    free(alpha);
}

/* What sources pass before they go along the edges, [n, *mid]; NULL: nothing. */
static double *passed_first(const struct dense *d, int l, const double *x, int in, int out,
                            int *mid)
{
    const struct og_model_config *c = &d->c;
    *mid = in;
    if (c->kind == OG_MODEL_SAGE && c->aggregator == OG_AGGREGATOR_MAX)
        return all_relu(d, param(d, "convs", l, "lin.weight"), param(d, "convs", l, "lin.bias"), x,
                        in, in);
    if (c->kind == OG_MODEL_PINSAGE) {
        *mid = c->hidden;
        return all_relu(d, param(d, "convs", l, "lin_q.weight"), param(d, "convs", l, "lin_q.bias"),
                        x, *mid, in);
    }
    if (c->kind != OG_MODEL_GAT)
        return NULL;
    *mid = l == c->layers - 1 ? c->heads * out : out;
    double *t = calloc((size_t)d->n * (size_t)*mid, sizeof(*t));
    for (int64_t v = 0; v < d->n; v++)
        add_product(t + v * *mid, param(d, "convs", l, "lin.weight"), x + v * in, *mid, in, 1);
    return t;
}

/* Sum, mean or maximum over the sources of v, into a[mid]. */
static void aggregate(const struct dense *d, int64_t v, const uint32_t *from, int64_t n,
                      const double *z, int mid, double *a)
{
    bool max = d->c.kind == OG_MODEL_SAGE && d->c.aggregator == OG_AGGREGATOR_MAX;
    bool weighed = d->weight && d->c.kind == OG_MODEL_PINSAGE;
    memset(a, 0, (size_t)mid * sizeof(*a));
    double sum = 0;
    for (int64_t e = d->t.indptr[v]; weighed && e < d->t.indptr[v + 1]; e++)
        sum += (double)d->weight[e];
    for (int64_t i = 0; i < n; i++) {
        const double *u = z + (int64_t)from[i] * mid;
        double w = d->c.kind == OG_MODEL_GIN ? 1 : 1 / (double)n;
        if (d->c.kind == OG_MODEL_GCN)
            w = 1 / (root_degree(d, v) * root_degree(d, from[i]));
        if (weighed)
            w = (double)d->weight[d->t.indptr[v] + i] / sum;
        for (int j = 0; j < mid; j++)
            a[j] = max ? fmax(a[j], u[j]) : a[j] + w * u[j];
    }
}

static void perceptron(const struct dense *d, int l, double *a, const double *x, double *y, int in,
                       int out)
{
    int hidden = d->c.hidden;
    double eps = (double)*param(d, "convs", l, "eps"), *s = calloc((size_t)hidden, sizeof(*s));
    for (int j = 0; j < in; j++)
        a[j] += (1 + eps) * x[j];
    add_product(s, param(d, "convs", l, "nn.0.weight"), a, hidden, in, 1);
    add_bias(s, param(d, "convs", l, "nn.0.bias"), hidden);
    for (int j = 0; j < hidden; j++)
        s[j] = fmax(s[j], 0);
    add_product(y, param(d, "convs", l, "nn.2.weight"), s, out, hidden, 1);
    add_bias(y, param(d, "convs", l, "nn.2.bias"), out);
    free(s);
}

/* y of a node from what was aggregated, for all models but GAT. x: its own row */
static void multiply(const struct dense *d, int l, double *a, int mid, const double *x, double *y,
                     int in, int out)
{
    const float *self = param(d, "convs", l, "lin_r.weight");
    if (d->c.kind == OG_MODEL_GIN) {
        perceptron(d, l, a, x, y, in, out);
        return;
    }
    bool gcn = d->c.kind == OG_MODEL_GCN;
    add_product(y, param(d, "convs", l, gcn ? "lin.weight" : "lin_l.weight"), a, out, mid, 1);
    add_bias(y, param(d, "convs", l, gcn ? "bias" : "lin_l.bias"), out);
    if (self)
        add_product(y, self, x, out, in, 1);
}

static void add_residual(const struct dense *d, int l, const double *x, double *y, int in, int out)
{
    if (d->c.residual && in != out)
        add_product(y, param(d, "skips", l, "weight"), x, out, in, 1);
    for (int j = 0; d->c.residual && in == out && j < out; j++)
        y[j] += x[j];
}

static void convolve(const struct dense *d, int l, const double *x, double *rows, int in, int out)
{
    int mid;
    bool gat = d->c.kind == OG_MODEL_GAT;
    bool loop = gat || d->c.kind == OG_MODEL_GCN ||
                (d->c.kind == OG_MODEL_SAGE && d->c.aggregator == OG_AGGREGATOR_GCN);
    double *t = passed_first(d, l, x, in, out, &mid);
    uint32_t *from = calloc((size_t)d->t.n_edges + 1, sizeof(*from));
    double *a = calloc((size_t)mid, sizeof(*a));
    for (int64_t v = 0; v < d->n; v++) {
        int64_t n = sources(d, v, loop, from);
        double *y = rows + v * out;
        if (gat) {
            attend(d, l, from, n, v, t, y, out, l == d->c.layers - 1);
            add_bias(y, param(d, "convs", l, "bias"), out);
        } else {
            aggregate(d, v, from, n, t ? t : x, mid, a);
            multiply(d, l, a, mid, x + v * in, y, in, out);
        }
        add_residual(d, l, x + v * in, y, in, out);
    }
    free(a);
    free(t);
    free(from);
}

static void normalize(const struct dense *d, int l, double *y, int n)
{
    const float *w = param(d, "norms", l, "weight"), *b = param(d, "norms", l, "bias");
    const float *mean = param(d, "norms", l, "running_mean"),
                *var = param(d, "norms", l, "running_var");
    double m = 0, s = 0;
    for (int j = 0; j < n; j++)
        m += y[j] / n;
    for (int j = 0; j < n; j++)
        s += (y[j] - m) * (y[j] - m) / n;
    for (int j = 0; j < n; j++) {
        double centre = mean ? (double)mean[j] : m, spread = var ? (double)var[j] : s;
        y[j] = (y[j] - centre) / sqrt(spread + 1e-5) * (double)w[j] + (double)b[j];
    }
}

/* The end of a hidden layer. */
static void end_row(const struct dense *d, int l, double *y, int n)
{
    double length = 0;
    if (d->c.norm != OG_NORM_NONE)
        normalize(d, l, y, n);
    for (int j = 0; j < n; j++) {
        y[j] = y[j] > 0 ? y[j] : d->c.kind == OG_MODEL_GAT ? exp(y[j]) - 1 : 0;
        length += y[j] * y[j];
    }
    for (int j = 0; d->c.kind == OG_MODEL_PINSAGE && length > 0 && j < n; j++)
        y[j] /= sqrt(length);
}

/* Logits, and the input of the last layer. */
static double *dense_logits(const struct dense *d, const float *features, double **last_input)
{
    double *x = calloc((size_t)d->n * (size_t)d->c.in_dim, sizeof(*x));
    for (int64_t i = 0; i < d->n * d->c.in_dim; i++)
        x[i] = (double)features[i];
    *last_input = NULL;
    for (int l = 0; l < d->c.layers; l++) {
        bool last = l == d->c.layers - 1;
        int in = l ? d->c.hidden : d->c.in_dim, out = last ? d->c.n_classes : d->c.hidden;
        double *y = calloc((size_t)d->n * (size_t)out, sizeof(*y));
        convolve(d, l, x, y, in, out);
        for (int64_t v = 0; !last && v < d->n; v++)
            end_row(d, l, y + v * out, out);
        if (last)
            *last_input = x;
        else
            free(x);
        x = y;
    }
    return x;
}

/* ==== running it ==== */

static float *read_rows(const char *path, int64_t rows, int64_t cols)
{
    struct og_npy a;
    float *out = calloc((size_t)(rows * cols), sizeof(*out));
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    assert_int_equal(a.type, OG__NPY_F32);
    assert_int_equal(a.shape[0], rows);
    assert_int_equal(a.shape[1], cols);
    assert_int_equal(og__npy_read(&a, 0, rows, out, NULL), 0);
    og__npy_close(&a);
    return out;
}

/* Of an earlier test: what exists is refused. */
static void remove_outputs(void)
{
    unlink(logits);
    unlink(embeddings);
}

static int predict_with(const char *threads, const char *memory, const char *emb, char **text,
                        struct og_err *err)
{
    struct og_options opt;
    og_options_init(&opt);
    test_set(&opt, "memory", memory);
    test_set(&opt, "threads", threads);
    remove_outputs();
    int rc = og_predict(graph, checkpoint, logits, emb, &opt, NULL, text, err);
    og_options_release(&opt);
    return rc;
}

static int predict(const char *memory, const char *emb, char **text, struct og_err *err)
{
    return predict_with("2", memory, emb, text, err);
}

static void must_predict(const char *memory, const char *emb, char **text)
{
    struct og_err err = {0};
    if (predict(memory, emb, text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

static void assert_near(const float *found, const double *wanted, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - wanted[i]) < 1e-4 * fmax(1, fabs(wanted[i]))))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, (double)found[i],
                     wanted[i]);
}

static void open_dense(struct dense *d, struct og_dataset **ds)
{
    *d = (struct dense){0};
    assert_int_equal(og__dataset_open(graph, ds, NULL), 0);
    assert_int_equal(og__checkpoint_shape(checkpoint, &d->c, NULL), 0);
    assert_int_equal(
        og__model_create(&d->m, &og__ops_cpu, &d->c, OG_OPTIMIZER_SGD, 0, NULL, NULL, NULL), 0);
    assert_int_equal(og__checkpoint_load(checkpoint, d->m, NULL), 0);
    assert_int_equal(og__topology_load(*ds, NULL, &d->t, NULL), 0);
    d->n = (*ds)->n_nodes;
}

static void close_dense(struct dense *d, struct og_dataset *ds)
{
    og__topology_release(&d->t);
    og__model_free(d->m);
    og__dataset_close(ds);
}

/* What was predicted, beside a dense computation. */
static void compare_files(const struct dense *d, const struct og_dataset *ds, bool embedded,
                          const char *what)
{
    double *last_input;
    float *x = read_rows(ds->features.path, d->n, d->c.in_dim);
    double *wanted = dense_logits(d, x, &last_input);
    float *found = read_rows(logits, d->n, d->c.n_classes);
    assert_near(found, wanted, d->n * d->c.n_classes, what);
    free(found);
    if (embedded) {
        assert_non_null(last_input);
        found = read_rows(embeddings, d->n, d->c.hidden);
        assert_near(found, last_input, d->n * d->c.hidden, what);
        free(found);
    }
    free(last_input);
    free(wanted);
    free(x);
}

/* The model at `checkpoint` on the dataset at `graph`. */
static void compare_with_dense(const char *what)
{
    struct og_dataset *ds;
    struct dense d;
    open_dense(&d, &ds);
    bool embedded = d.c.layers > 1 && d.c.task != OG_TASK_LINK;
    must_predict("1G", embedded ? embeddings : NULL, NULL);
    compare_files(&d, ds, embedded, what);
    close_dense(&d, ds);
}

/* Every model, on layers that narrow (24 to 12 to 5) and widen (24 to 40), one to three of them. */
static const struct {
    const char *name;
    struct og_model_config c;
} models[] = {
    {"gcn", {.kind = OG_MODEL_GCN}},
    {"gcn, residual, layer norm", {.kind = OG_MODEL_GCN, .residual = true, .norm = OG_NORM_LAYER}},
    {"sage", {.kind = OG_MODEL_SAGE}},
    {"sage, residual, batch norm",
     {.kind = OG_MODEL_SAGE, .residual = true, .norm = OG_NORM_BATCH}},
    {"sage max", {.kind = OG_MODEL_SAGE, .aggregator = OG_AGGREGATOR_MAX}},
    {"sage gcn", {.kind = OG_MODEL_SAGE, .aggregator = OG_AGGREGATOR_GCN}},
    {"gat", {.kind = OG_MODEL_GAT, .heads = 4}},
    {"gat, residual, layer norm",
     {.kind = OG_MODEL_GAT, .heads = 2, .residual = true, .norm = OG_NORM_LAYER}},
    {"gin", {.kind = OG_MODEL_GIN}},
    {"gin, residual, batch norm", {.kind = OG_MODEL_GIN, .residual = true, .norm = OG_NORM_BATCH}},
    {"pinsage", {.kind = OG_MODEL_PINSAGE}},
    {"pinsage, residual", {.kind = OG_MODEL_PINSAGE, .residual = true}},
};

static struct og_model_config shaped(size_t model, int layers, int hidden)
{
    struct og_model_config c = models[model].c;
    c.layers = layers;
    c.in_dim = DIM;
    c.hidden = hidden;
    c.n_classes = CLASSES;
    c.heads = c.heads ? c.heads : 1;
    return c;
}

static void every_model_equals_a_dense_computation(void **state)
{
    (void)state;
    static const struct {
        int layers, hidden;
    } shapes[] = {{1, HIDDEN}, {2, HIDDEN}, {3, 40}};
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(models); i++)
        for (size_t s = 0; s < OG_COUNT(shapes); s++) {
            struct og_model_config c = shaped(i, shapes[s].layers, shapes[s].hidden);
            write_model(&c);
            compare_with_dense(models[i].name);
        }
}

/* They are wider than the dataset has classes: as wide as the embeddings that a decoder is given.
 */
static struct og_model_config linked(int decoder)
{
    struct og_model_config c = shaped(2, 2, HIDDEN);
    c.task = OG_TASK_LINK;
    c.decoder = decoder;
    c.n_classes = HIDDEN;
    return c;
}

static void models_of_links_give_embeddings(void **state)
{
    (void)state;
    make_awkward_graph();
    for (int decoder = OG_DECODER_DOT; decoder <= OG_DECODER_MLP; decoder++) {
        struct og_model_config c = linked(decoder);
        struct og_options opt;
        struct og_err err = {0};
        char *text;
        write_model(&c);
        compare_with_dense("links");
        assert_int_equal(predict("1G", embeddings, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.hint, "--out"));
        err = (struct og_err){0};
        og_options_init(&opt);
        assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, NULL, &text, &err), -EINVAL);
        assert_non_null(strstr(err.hint, "--full"));
        og_options_release(&opt);
    }
}

/* A decoder that has no parameters leaves no name in a file of PyTorch's. */
static void a_task_that_no_file_tells_is_an_option(void **state)
{
    (void)state;
    struct og_model_config c = linked(OG_DECODER_DOT);
    struct og_options opt;
    struct og_err err = {0};
    make_awkward_graph();
    write_model(&c);
    forget_metadata();
    assert_int_equal(predict("1G", NULL, NULL, NULL), -EINVAL);
    og_options_init(&opt);
    assert_int_equal(og_options_set(&opt, "task", "link", NULL), 0);
    remove_outputs();
    if (og_predict(graph, checkpoint, logits, NULL, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    free(read_rows(logits, N, HIDDEN));
    og_options_release(&opt);
}

static void cora_equals_a_dense_computation(void **state)
{
    (void)state;
    const char *data = getenv("OUTGROW_DATA");
    char source[LONGEST_PATH];
    snprintf(source, sizeof(source), "%s/cora", data ? data : "../shared/data");
    if (access(source, R_OK) != 0)
        skip();
    struct og_import import;
    og_import_init(&import);
    import.symmetrize = true;
    import.feature_dtype = OG_F32;
    og__remove_tree(graph);
    assert_int_equal(og_import("npy", source, graph, &import, NULL, NULL), 0);
    struct og_dataset *ds;
    assert_int_equal(og__dataset_open(graph, &ds, NULL), 0);
    for (size_t i = 0; i < OG_COUNT(models); i++) {
        struct og_model_config c = shaped(i, 2, 16);
        if (c.residual || c.aggregator == OG_AGGREGATOR_MAX) /* the slowest, and shown above */
            continue;
        c.in_dim = ds->dim;
        c.n_classes = ds->n_classes;
        write_model(&c);
        compare_with_dense(models[i].name);
    }
    og__dataset_close(ds);
}

static char *file_bytes(const char *path, size_t *n)
{
    char *text;
    assert_int_equal(og__read_text(path, 1 << 28, &text, n, NULL), 0);
    return text;
}

static void assert_same_logits(const char *wanted, size_t n)
{
    size_t found_n;
    char *found = file_bytes(logits, &found_n);
    assert_int_equal(found_n, n);
    assert_memory_equal(found, wanted, n);
    free(found);
}

/* Files in the root that no test put there. */
static int left_behind(void)
{
    int n = 0;
    DIR *dir = opendir(root);
    const struct dirent *e;
    assert_non_null(dir);
    while ((e = readdir(dir)))
        n += strstr(e->d_name, ".part") || strstr(e->d_name, "outgrow-");
    closedir(dir);
    return n;
}

/* ==== neighbours by walks ==== */

static void predict_walking(const char *topology, const char *neighbors, const char *restart)
{
    struct og_options opt;
    struct og_err err = {0};
    og_options_init(&opt);
    test_set(&opt, "memory", "1G");
    test_set(&opt, "sampler", "walk");
    test_set(&opt, "topology", topology);
    test_set(&opt, "neighbors", neighbors);
    test_set(&opt, "walk-restart", restart);
    remove_outputs();
    if (og_predict(graph, checkpoint, logits, embeddings, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og_options_release(&opt);
}

/* models[]: those that sum unlike */
enum { GCN = 0, SAGE = 2, GAT = 6, PINSAGE = 10 };
static const size_t walkers[] = {PINSAGE, PINSAGE + 1, SAGE, GCN};

/* Two and two nodes feed each other. Every walk of three steps from v goes to w, v, w: of its
 * visits two are w's, one is v's, whatever is drawn. */
static void make_pairs(void)
{
    int64_t indptr[N + 1];
    int32_t indices[N];
    char path[LONGEST_PATH];
    make_awkward_graph();
    for (int v = 0; v <= N; v++)
        indptr[v] = v;
    for (int v = 0; v < N; v++)
        indices[v] = v ^ 1;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s.npy", graph, i ? "indptr" : "indices");
        assert_int_equal(unlink(path), 0);
    }
    write_array("indptr", OG__NPY_I64, N + 1, 1, indptr);
    write_array("indices", OG__NPY_I32, N, 1, indices);
    write_meta(N);
}

static void visits_are_weights(void **state)
{
    (void)state;
    static int64_t indptr[N + 1];
    static int32_t indices[2 * N];
    static float weight[2 * N];
    make_pairs();
    for (size_t i = 0; i < OG_COUNT(walkers); i++)
        for (int most = 1; most <= 2; most++) { /* the most visited alone; both */
            struct og_model_config c = shaped(walkers[i], 2, HIDDEN);
            struct og_dataset *ds;
            struct dense d;
            write_model(&c);
            predict_walking("memory", most == 1 ? "1" : "2", "0");
            open_dense(&d, &ds);
            for (int v = 0; v < N; v++) {
                indptr[v + 1] = (int64_t)(v + 1) * most;
                for (int k = 0; k < most; k++) {
                    indices[v * most + k] = k ? v : v ^ 1;
                    weight[v * most + k] = k ? 1 : 2;
                }
            }
            og__topology_release(&d.t);
            d.t = (struct og_topology){
                .n_nodes = N, .n_edges = indptr[N], .indptr = indptr, .indices32 = indices};
            d.weight = weight;
            compare_files(&d, ds, true, models[walkers[i]].name);
            d.t = (struct og_topology){0};
            close_dense(&d, ds);
        }
}

/* The same by the sampler itself, from one node at a time: neighbourhoods are a node's own. */
struct lists {
    int64_t indptr[N + 1];
    int32_t indices[N * 5];
    float weight[N * 5];
};

static void walk_from_each(const struct og_topology *t, struct lists *out)
{
    const struct og_sampling how = {
        .kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5};
    const int neighbors = 5;
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, t, &neighbors, 1, 1, NULL, NULL), 0);
    assert_int_equal(og__sampler_choose(s, &how, NULL), 0);
    for (uint32_t v = 0; v < N; v++) {
        assert_int_equal(og__sample(s, &v, 1, OG__STREAM_EVAL, 0, 0, &m, NULL), 0);
        const struct og_block *b = &m.batch.hop[0];
        for (uint64_t e = 0; e < b->n_edges; e++) {
            out->indices[out->indptr[v] + (int64_t)e] = (int32_t)m.batch.ids[b->src[e]];
            out->weight[out->indptr[v] + (int64_t)e] = b->weight[e];
        }
        out->indptr[v + 1] = out->indptr[v] + (int64_t)b->n_edges;
    }
    og__sampler_close(s);
    og__batch_release(&m);
}

static void each_node_walks_for_itself(void **state)
{
    (void)state;
    static struct lists walked;
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(walkers); i++) {
        struct og_model_config c = shaped(walkers[i], 2, HIDDEN);
        struct og_dataset *ds;
        struct dense d;
        size_t n;
        write_model(&c);
        predict_walking("memory", "5", "0.5");
        char *bytes = file_bytes(logits, &n);
        predict_walking("disk", "5", "0.5");
        assert_same_logits(bytes, n);
        free(bytes);
        open_dense(&d, &ds);
        walk_from_each(&d.t, &walked);
        og__topology_release(&d.t);
        d.t = (struct og_topology){.n_nodes = N,
                                   .n_edges = walked.indptr[N],
                                   .indptr = walked.indptr,
                                   .indices32 = walked.indices};
        d.weight = walked.weight;
        compare_files(&d, ds, true, models[walkers[i]].name);
        d.t = (struct og_topology){0};
        close_dense(&d, ds);
    }
    assert_int_equal(left_behind(), 0);
}

/* What was trained on walks is predicted by walks, and by other walks or none where they are given.
 */
static void the_checkpoint_tells_of_walks(void **state)
{
    (void)state;
    static const char *const given[][2] = {
        {NULL, NULL}, {"neighbors", "5"}, {"sampler", "uniform"}};
    struct og_model_config c = shaped(PINSAGE, 2, HIDDEN);
    struct og_options trained;
    char *wanted[OG_COUNT(given)];
    size_t n[OG_COUNT(given)];
    make_awkward_graph();
    og_options_init(&trained);
    test_set(&trained, "sampler", "walk");
    test_set(&trained, "neighbors", "3");
    test_set(&trained, "walk-restart", "0.25");
    write_model(&c);
    predict_walking("memory", "3", "0.25");
    wanted[0] = file_bytes(logits, &n[0]);
    predict_walking("memory", "5", "0.25");
    wanted[1] = file_bytes(logits, &n[1]);
    must_predict("1G", embeddings, NULL);
    wanted[2] = file_bytes(logits, &n[2]);
    write_model_of(&c, &trained);
    for (size_t i = 0; i < OG_COUNT(given); i++) {
        struct og_options opt;
        og_options_init(&opt);
        test_set(&opt, "memory", "1G");
        if (given[i][0])
            test_set(&opt, given[i][0], given[i][1]);
        remove_outputs();
        assert_int_equal(og_predict(graph, checkpoint, logits, NULL, &opt, NULL, NULL, NULL), 0);
        assert_same_logits(wanted[i], n[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(wanted[k], wanted[i], n[i]);
        og_options_release(&opt);
    }
    for (size_t i = 0; i < OG_COUNT(given); i++)
        free(wanted[i]);
    og_options_release(&trained);
}

/* ==== memory ==== */

static void make_larger_graph(void)
{
    struct og_generate g;
    struct og_err err = {0};
    og_generate_init(&g);
    g.model = OG_RMAT;
    g.nodes = 40000;
    g.degree = 6;
    g.dim = DIM;
    g.classes = CLASSES;
    g.threads = 2;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    og__remove_tree(graph);
    if (og_generate(graph, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static bool is_enough(const char *threads, int mib)
{
    char memory[16];
    struct og_err err = {0};
    snprintf(memory, sizeof(memory), "%dM", mib);
    int rc = mib > 0 ? predict_with(threads, memory, NULL, NULL, &err) : -ENOMEM;
    if (rc != 0 && rc != -ENOMEM)
        fail_msg("%s", err.message);
    return rc == 0;
}

/* The least memory in MiB that is not refused; models are alike, so the last one says where to
 * look. */
static int least_memory(const char *threads)
{
    static int near = 1;
    if (is_enough(threads, near)) {
        while (is_enough(threads, near - 1))
            near--;
        return near;
    }
    while (++near < 512)
        if (is_enough(threads, near))
            return near;
    fail_msg("nothing is enough");
    return 0;
}

/* Every model in the least memory, in a little more, and by as many threads as others have. */
static void any_memory_and_threads_give_the_same_bytes(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "3"};
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(models); i++) {
        struct og_model_config c = shaped(i, 2, HIDDEN);
        const char *few = threads[i % OG_COUNT(threads)],
                   *other = threads[(i + 1) % OG_COUNT(threads)];
        char memory[16];
        size_t n;
        write_model(&c);
        must_predict("1G", NULL, NULL);
        char *wanted = file_bytes(logits, &n);
        const int least = least_memory(few);
        assert_true(is_enough(few, least));
        assert_same_logits(wanted, n);
        snprintf(memory, sizeof(memory), "%dM", least + 2);
        assert_int_equal(predict_with(few, memory, NULL, NULL, NULL), 0);
        assert_same_logits(wanted, n);
        assert_int_equal(predict_with(other, "1G", NULL, NULL, NULL), 0);
        assert_same_logits(wanted, n);
        free(wanted);
    }
}

static void little_memory_makes_more_blocks(void **state)
{
    (void)state;
    struct og_model_config c = shaped(2, 2, HIDDEN);
    char memory[16], *text;
    make_larger_graph();
    write_model(&c);
    snprintf(memory, sizeof(memory), "%dM", least_memory("2"));
    must_predict(memory, NULL, &text);
    json_t *said = json_loads(text, 0, NULL);
    assert_non_null(said);
    const json_t *layer = json_array_get(json_object_get(said, "layers"), 0);
    assert_true(json_integer_value(json_object_get(layer, "nodes_a_block")) < 40000);
    assert_true(json_integer_value(json_object_get(layer, "bytes_read")) >=
                json_integer_value(json_object_get(layer, "bytes_least")));
    json_decref(said);
    free(text);
}

/* ==== eval ==== */

static double key(const char *text, const char *name)
{
    json_t *said = json_loads(text, 0, NULL);
    double x = json_number_value(json_object_get(said, name));
    json_decref(said);
    return x;
}

/* Sampled evaluation by all neighbours, of the model at `checkpoint`. */
static void compare_evaluations(const char *what, const char *topology)
{
    struct og_options opt;
    struct og_err err = {0};
    char *full, *sampled;
    og_options_init(&opt);
    test_set(&opt, "fanout", "-1,-1");
    test_set(&opt, "batch", "100");
    test_set(&opt, "memory", "1G");
    test_set(&opt, "topology", topology);
    if (og_eval_full(graph, checkpoint, "test", &opt, NULL, &full, &err) < 0 ||
        og_eval(graph, checkpoint, "test", &opt, NULL, &sampled, &err) < 0)
        fail_msg("%s: %s", what, err.message);
    assert_true(key(full, "labelled") == key(sampled, "nodes"));
    if (!(fabs(key(full, "loss") - key(sampled, "loss")) < 1e-4))
        fail_msg("%s: loss %g, of samples %g", what, key(full, "loss"), key(sampled, "loss"));
    assert_true(fabs(key(full, "acc") - key(sampled, "acc")) < 2e-3);
    free(full);
    free(sampled);
    og_options_release(&opt);
}

static void full_evaluation_is_sampled_evaluation_of_all_neighbours(void **state)
{
    (void)state;
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(models); i++) {
        struct og_model_config c = shaped(i, 2, HIDDEN);
        write_model(&c);
        compare_evaluations(models[i].name, "memory");
    }
}

/* The same graph with values, those of some nodes missing, or several labels a node. */
static void relabel(const char *task)
{
    char path[256];
    char head[4096];
    json_error_t error;
    snprintf(path, sizeof(path), "%s/meta.json", graph);
    json_t *meta = json_load_file(path, 0, &error);
    const int64_t n = json_integer_value(json_object_get(meta, "num_nodes"));
    const int64_t shape[2] = {n, CLASSES};
    const bool values = strcmp(task, "node regression") == 0;
    json_object_del(meta, "checksums");
    json_object_set_new(meta, "task", json_string(task));
    json_object_set_new(meta, "multi_label", json_boolean(!values));
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
    snprintf(path, sizeof(path), "%s/labels.npy", graph);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t bytes = og__npy_header(head, OG__NPY_F32, 2, shape, 64);
    assert_int_equal(fwrite(head, 1, bytes, f), bytes);
    for (int64_t i = 0; i < n * CLASSES; i++) {
        float value = i / CLASSES % 11 ? (float)(i % 17) / 8 : NAN;
        float label = values ? value : (float)(i % 3 == 0);
        assert_int_equal(fwrite(&label, sizeof(label), 1, f), 1);
    }
    fclose(f);
}

static double value_of(const char *text, const char *name)
{
    json_t *said = json_loads(text, 0, NULL);
    const json_t *x = json_object_get(json_object_get(said, "metrics"), name);
    double value = x ? json_number_value(x) : NAN;
    json_decref(said);
    return value;
}

static void full_evaluation_knows_every_task_of_nodes(void **state)
{
    (void)state;
    static const char *const keys[] = {"loss", "mse", "mae", "r2", "micro_f1"};
    static const char *const tasks[] = {"node regression", "node classification"};
    for (size_t t = 0; t < OG_COUNT(tasks); t++) {
        struct og_model_config c = shaped(0, 2, HIDDEN);
        struct og_options opt;
        char *full, *sampled;
        make_larger_graph();
        relabel(tasks[t]);
        c.task = t == 0 ? OG_TASK_REGRESSION : OG_TASK_NODE;
        c.loss = t == 0 ? OG_LOSS_MSE : OG_LOSS_AUTO;
        c.multi_label = t > 0;
        write_model(&c);
        compare_evaluations(tasks[t], "memory");
        og_options_init(&opt);
        test_set(&opt, "fanout", "-1,-1");
        test_set(&opt, "batch", "4000");
        assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, NULL, &full, NULL), 0);
        assert_int_equal(og_eval(graph, checkpoint, "test", &opt, NULL, &sampled, NULL), 0);
        int n = 0;
        for (size_t i = 0; i < OG_COUNT(keys); i++) {
            double a = value_of(full, keys[i]), b = value_of(sampled, keys[i]);
            assert_int_equal(isnan(a), isnan(b));
            assert_true(isnan(a) || fabs(a - b) < 1e-3 * (1 + fabs(b)));
            n += !isnan(a);
        }
        assert_int_equal(n, t == 0 ? 4 : 2);
        free(full);
        free(sampled);
        og_options_release(&opt);
    }
}

/* Nodes at the rim of a block have degrees as all others: without their edges to themselves. */
static void edges_of_a_node_to_itself_are_no_neighbours(void **state)
{
    (void)state;
    static const char *const places[] = {"memory", "disk"};
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(places); i++) {
        struct og_model_config c = shaped(GCN, 2, HIDDEN);
        write_model(&c);
        compare_evaluations("gcn", places[i]);
    }
}

/* ==== what cannot be ==== */

static void refusals_leave_nothing(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_model_config c = shaped(2, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    unlink(logits);
    assert_int_equal(predict("2M", NULL, NULL, &err), -ENOMEM);
    assert_non_null(strstr(err.hint, "--memory"));
    assert_int_equal(predict("1G", logits, NULL, NULL), -EINVAL); /* one file for both */
    c = shaped(2, 1, HIDDEN);
    write_model(&c);
    assert_int_equal(predict("1G", embeddings, NULL, NULL), -EINVAL);
    c.in_dim = DIM + 1;
    write_model(&c);
    assert_int_equal(predict("1G", NULL, NULL, NULL), -EINVAL);
    unlink(checkpoint);
    assert_int_equal(predict("1G", NULL, NULL, NULL), -ENOENT);
    assert_true(access(logits, F_OK) < 0);
    assert_int_equal(left_behind(), 0);
}

/* An index out of range is found before any output is begun. */
static void damaged_indices_are_refused(void **state)
{
    (void)state;
    struct og_model_config c = shaped(2, 2, HIDDEN);
    struct og_err err = {0};
    struct og_npy a;
    char path[LONGEST_PATH];
    int32_t wrong = N + 5;
    make_awkward_graph();
    write_model(&c);
    unlink(logits);
    snprintf(path, sizeof(path), "%s/indices.npy", graph);
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)a.offset + 400, SEEK_SET), 0);
    assert_int_equal(fwrite(&wrong, sizeof(wrong), 1, f), 1);
    fclose(f);
    og__npy_close(&a);
    assert_true(predict("1G", NULL, NULL, &err) < 0);
    assert_non_null(strstr(err.message, "indices"));
    assert_true(access(logits, F_OK) < 0);
}

/* ==== what ends early ==== */

/* A run that ends early, and what was heard of it. */
struct broken {
    volatile sig_atomic_t stop;
    int stop_layer, kill_at; /* in the first block of that layer; at the n-th block; 0 = never */
    const char *sampler;
    const char *obstacle;  /* a folder that somebody makes meanwhile, or NULL */
    const char *taken;     /* a file that somebody removes meanwhile, or NULL */
    bool replaced;         /* by another one */
    const char *elsewhere; /* --scratch of somebody who makes the same meanwhile, or NULL */
    int others;            /* what came of that */
    int blocks, first_layer;
    char said[1024];
};

static void take_away(const struct broken *b)
{
    if (unlink(b->taken) < 0 || !b->replaced)
        return;
    FILE *f = fopen(b->taken, "w");
    assert_non_null(f);
    fputs("not what was written", f);
    fclose(f);
}

static int make_the_same(const char *scratch)
{
    struct og_options opt;
    og_options_init(&opt);
    test_set(&opt, "memory", "40M");
    test_set(&opt, "threads", "1");
    test_set(&opt, "scratch", scratch);
    int rc = og_predict(graph, checkpoint, logits, embeddings, &opt, NULL, NULL, NULL);
    og_options_release(&opt);
    return rc;
}

static void hear_progress(void *arg, const struct og_progress *p)
{
    struct broken *b = arg;
    if (b->blocks++ == 0)
        b->first_layer = p->epoch;
    if (b->obstacle)
        mkdir(b->obstacle, 0700);
    if (b->taken && p->epoch == 2)
        take_away(b);
    if (b->elsewhere && b->others == 0)
        b->others = make_the_same(b->elsewhere);
    if (b->blocks == b->kill_at)
        raise(SIGKILL);
    b->stop |= p->epoch == b->stop_layer && strcmp(p->stage, "walk") != 0;
}

static void hear_message(void *arg, int level, const char *text)
{
    struct broken *b = arg;
    size_t n = strlen(b->said);
    (void)level;
    snprintf(b->said + n, sizeof(b->said) - n, "%s\n", text);
}

static int run_broken(struct broken *b, const char *memory, bool resume, struct og_err *err)
{
    struct og_options opt;
    const struct og_observer seen = {
        .message = hear_message, .progress = hear_progress, .arg = b, .stop = &b->stop};
    og_options_init(&opt);
    test_set(&opt, "memory", memory);
    test_set(&opt, "threads", "2");
    test_set(&opt, "checkpoint-every", "0");
    test_set(&opt, "sampler", b->sampler ? b->sampler : "uniform");
    test_set(&opt, "resume", resume ? "true" : "false");
    int rc = og_predict(graph, checkpoint, logits, embeddings, &opt, &seen, NULL, err);
    og_options_release(&opt);
    return rc;
}

/* Both outputs of the model at `checkpoint`, made in one go; then they are removed. */
struct files {
    char *bytes[2];
    size_t n[2];
};

static struct files take_files(void)
{
    struct files f;
    f.bytes[0] = file_bytes(logits, &f.n[0]);
    f.bytes[1] = file_bytes(embeddings, &f.n[1]);
    unlink(logits);
    unlink(embeddings);
    return f;
}

static struct files unbroken(void)
{
    must_predict("1G", embeddings, NULL);
    return take_files();
}

static void free_files(struct files *f)
{
    free(f->bytes[0]);
    free(f->bytes[1]);
}

/* What is there now is that, and nothing else is. */
static void assert_files(const struct files *wanted)
{
    struct files found = take_files();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(found.n[i], wanted->n[i]);
        assert_memory_equal(found.bytes[i], wanted->bytes[i], wanted->n[i]);
    }
    free_files(&found);
    assert_int_equal(left_behind(), 0);
}

static void must_resume(struct broken *b, const char *memory)
{
    struct og_err err = {0};
    if (run_broken(b, memory, true, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

static void must_stop(int layer)
{
    struct broken b = {.stop_layer = layer};
    assert_int_equal(run_broken(&b, "40M", false, NULL), OG_INTERRUPTED);
    assert_true(access(logits, F_OK) < 0);
    assert_true(access(embeddings, F_OK) < 0);
    assert_true(left_behind() > 0);
}

static void write_second_model(void)
{
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    c.residual = true;
    write_model(&c);
}

static void a_stopped_run_goes_on(void **state)
{
    (void)state;
    static const size_t tried[] = {GAT, SAGE};
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(tried); i++) {
        struct og_model_config c = shaped(tried[i], 2, HIDDEN);
        write_model(&c);
        struct files whole = unbroken();
        for (int layer = 1; layer <= 2; layer++) {
            struct broken again = {0};
            must_stop(layer);
            must_resume(&again, "1G");
            assert_non_null(strstr(again.said, "going on"));
            assert_true(again.blocks == 0 || again.first_layer == layer);
            assert_files(&whole);
        }
        free_files(&whole);
    }
}

/* The folder in which the run to `logits` keeps what it has. */
static char *kept_folder(void)
{
    char *found = NULL;
    DIR *dir = opendir(root);
    const struct dirent *e;
    assert_non_null(dir);
    while ((e = readdir(dir)))
        if (!found && strstr(e->d_name, "outgrow-infer-"))
            found = og__path_join(root, e->d_name);
    closedir(dir);
    assert_non_null(found);
    return found;
}

static void what_is_kept_is_not_mixed_with_another_model(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    make_larger_graph();
    write_second_model();
    struct files second = unbroken();
    write_model(&c);
    must_stop(2);
    write_second_model();
    must_resume(&again, "40M");
    assert_non_null(strstr(again.said, "another checkpoint"));
    assert_int_equal(again.first_layer, 1);
    assert_files(&second);
    free_files(&second);
}

/* Neither is it gone on with where that was not asked for. */
static void without_resume_a_run_starts_anew(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    must_stop(2);
    assert_int_equal(run_broken(&again, "40M", false, NULL), 0);
    assert_non_null(strstr(again.said, "--resume"));
    assert_int_equal(again.first_layer, 1);
    assert_files(&whole);
    again = (struct broken){0};
    must_resume(&again, "40M"); /* nothing is there to go on with */
    assert_non_null(strstr(again.said, "nothing to resume"));
    assert_files(&whole);
    free_files(&whole);
}

/* Walks are the same at every start; neighbours of another kind are not mixed in. */
static void a_stopped_run_walks_the_same_way(void **state)
{
    (void)state;
    struct og_model_config c = shaped(PINSAGE, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    struct broken plain = {.sampler = "walk"}, again = {.sampler = "walk"}, other = {0};
    must_resume(&plain, "1G");
    struct files whole = take_files();
    for (int layer = 1; layer <= 2; layer++) {
        struct broken b = {.sampler = "walk", .stop_layer = layer};
        assert_int_equal(run_broken(&b, "40M", false, NULL), OG_INTERRUPTED);
        must_resume(&again, "64M");
        assert_non_null(strstr(again.said, "going on"));
        assert_files(&whole);
    }
    must_stop(2);
    again.said[0] = 0;
    must_resume(&again, "64M");
    assert_non_null(strstr(again.said, "starting anew"));
    assert_files(&whole);
    must_resume(&other, "64M");
    struct files alike = take_files();
    assert_memory_not_equal(alike.bytes[0], whole.bytes[0], whole.n[0]);
    free_files(&alike);
    free_files(&whole);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, f), byte ^ 1);
    assert_int_equal(fclose(f), 0);
}

static void damage_to_what_is_kept_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"state.json", "sources.npy", NULL};
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct broken again = {0};
        char part[LONGEST_PATH], *folder, *file;
        must_stop(2);
        folder = kept_folder();
        file = names[i] ? og__path_join(folder, names[i]) : NULL;
        snprintf(part, sizeof(part), "%s.part", embeddings); /* the input of the second layer */
        flip_byte(file ? file : part, file && i == 0 ? 2 : 4096 + 100);
        free(file);
        free(folder);
        must_resume(&again, "40M");
        assert_non_null(strstr(again.said, "starting anew"));
        assert_int_equal(again.first_layer, 1);
        assert_files(&whole);
    }
    free_files(&whole);
}

static void two_do_not_make_the_same_at_once(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    struct og_err err = {0};
    make_larger_graph();
    write_model(&c);
    must_stop(2);
    char *folder = kept_folder();
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(run_broken(&again, "40M", true, &err), -EBUSY);
    close(fd);
    must_resume(&again, "40M");
    free(folder);
    struct files found = take_files();
    free_files(&found);
    assert_int_equal(left_behind(), 0);
}

static void expect_no_output(const char *out, const char *second, const char *words)
{
    struct og_options opt;
    struct og_err err = {0};
    og_options_init(&opt);
    test_set(&opt, "memory", "40M");
    assert_true(og_predict(graph, checkpoint, out, second, &opt, NULL, NULL, &err) < 0);
    og_options_release(&opt);
    if (!strstr(err.message, words) || !err.hint[0])
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
    assert_int_equal(left_behind(), 0);
}

/* What is read is not written, and what no file can be is said at once. */
static void outputs_are_looked_at_first(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    char path[512];
    make_larger_graph();
    write_model(&c);
    size_t bytes;
    char *features = og__path_join(graph, "features.npy"), *before = file_bytes(features, &bytes);
    expect_no_output(features, NULL, "a file of the dataset");
    expect_no_output(logits, features, "a file of the dataset");
    expect_no_output(checkpoint, NULL, "the checkpoint itself");
    expect_no_output(graph, NULL, "a folder");
    expect_no_output("", NULL, "no name");
    snprintf(path, sizeof(path), "%s/./%s", root, strrchr(embeddings, '/') + 1);
    expect_no_output(embeddings, path, "the same file");
    snprintf(path, sizeof(path), "%s/%0300d", root, 0);
    expect_no_output(path, NULL, "too long");
    size_t bytes_after;
    char *after = file_bytes(features, &bytes_after);
    assert_int_equal(bytes_after, bytes);
    assert_memory_equal(after, before, bytes);
    free(after);
    free(before);
    free(features);
}

/* The second of two outputs cannot have its name: then the first has not either, and both wait. */
/* Whatever their scratch folders: of two that make one file at once the second is refused. */
static void two_do_not_write_the_same_file_at_once(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    char elsewhere[LONGEST_PATH];
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
    struct broken b = {.elsewhere = elsewhere};
    struct og_err err = {0};
    if (run_broken(&b, "40M", false, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(b.others, -EBUSY);
    assert_true(access(elsewhere, F_OK) < 0);
    assert_files(&whole);
    free_files(&whole);
}

/* What was written is not there any more, or is another's: that is no success. */
static void an_output_that_was_taken_away_is_missed(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    const char *const outputs[] = {logits, embeddings};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (int i = 0; i < 4; i++) {
        char part[LONGEST_PATH + 8];
        snprintf(part, sizeof(part), "%s.part", outputs[i / 2]);
        struct broken b = {.taken = part, .replaced = i % 2};
        struct og_err err = {0};
        assert_int_equal(run_broken(&b, "40M", false, &err), -ENOENT);
        assert_non_null(strstr(err.message, part));
        assert_true(access(logits, F_OK) < 0 && access(embeddings, F_OK) < 0);
        struct broken again = {0};
        must_resume(&again, "40M");
        assert_files(&whole);
    }
    free_files(&whole);
}

/* What is there is somebody's; with --resume it is what is made again. */
static void outputs_that_exist_are_refused(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    const char *const outputs[] = {logits, embeddings};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (int i = 0; i < 2; i++) {
        struct og_err err = {0};
        struct broken first = {0}, again = {0};
        size_t n;
        FILE *f = fopen(outputs[i], "w");
        assert_non_null(f);
        fputs("mine", f);
        fclose(f);
        assert_int_equal(run_broken(&first, "40M", false, &err), -EEXIST);
        assert_non_null(strstr(err.message, outputs[i]));
        char *mine = file_bytes(outputs[i], &n);
        assert_int_equal(n, 4);
        assert_memory_equal(mine, "mine", 4);
        free(mine);
        assert_int_equal(left_behind(), 0);
        must_resume(&again, "40M");
        assert_files(&whole);
    }
    free_files(&whole);
}

static void what_cannot_be_put_in_place_waits(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken b = {.obstacle = logits}, again = {0};
    struct og_err err = {0};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    assert_true(run_broken(&b, "40M", false, &err) < 0);
    assert_int_equal(access(embeddings, F_OK), -1);
    assert_int_equal(rmdir(logits), 0);
    must_resume(&again, "40M");
    assert_int_equal(again.blocks, 0);
    assert_files(&whole);
    free_files(&whole);
}

/* ---- kills ---- */

/* True: it was killed. */
static bool start_and_kill(const char *memory, struct og_rng *r, bool at_a_block)
{
    struct broken b = {.kill_at = at_a_block ? 2 + (int)og__rng_below(r, 6) : 0};
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(run_broken(&b, memory, true, NULL) < 0 ? 1 : 0);
    if (!at_a_block) {
        usleep(1000 + og__rng_below(r, 120000));
        kill(child, SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void killed_runs_end_in_the_same_bytes(void **state)
{
    (void)state;
    struct og_rng r;
    og__rng_at(&r, 6, OG__STREAM_BENCH, 0, 0, 0, 0);
    make_larger_graph();
    for (int i = 0; i < 2; i++) {
        struct og_model_config c = shaped(i ? SAGE : GAT, 3, HIDDEN);
        char memory[16];
        int kills = 0;
        write_model(&c);
        struct files whole = unbroken();
        snprintf(memory, sizeof(memory), "%dM", least_memory("2"));
        unlink(logits);
        while (kills < 16 && start_and_kill(kills % 3 ? memory : "64M", &r, kills % 2 == 0))
            kills++;
        struct broken last = {0};
        must_resume(&last, memory);
        assert_true(kills >= 3);
        assert_files(&whole);
        free_files(&whole);
    }
}

/* ---- evaluation ---- */

static char *evaluate(struct broken *b, bool resume, int wanted)
{
    struct og_options opt;
    const struct og_observer seen = {
        .message = hear_message, .progress = hear_progress, .arg = b, .stop = &b->stop};
    char *text = NULL;
    og_options_init(&opt);
    test_set(&opt, "memory", "40M");
    test_set(&opt, "checkpoint-every", "0");
    test_set(&opt, "scratch", root);
    test_set(&opt, "resume", resume ? "true" : "false");
    assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, &seen, &text, NULL), wanted);
    og_options_release(&opt);
    return text;
}

static void a_stopped_evaluation_goes_on(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken b = {.stop_layer = 2}, plain = {0};
    make_larger_graph();
    write_model(&c);
    char *whole = evaluate(&plain, false, 0);
    assert_null(evaluate(&b, false, OG_INTERRUPTED));
    for (int more = 0; more < 3; more++) { /* in the pass that sums, too */
        b = (struct broken){.stop_layer = 2};
        free(evaluate(&b, true, OG_INTERRUPTED));
        if (b.blocks == 0)
            break;
    }
    b = (struct broken){0};
    char *last = evaluate(&b, true, 0);
    static const char *const same[] = {"loss", "acc", "labelled"};
    for (size_t i = 0; i < OG_COUNT(same); i++)
        assert_true(key(whole, same[i]) == key(last, same[i]));
    free(whole);
    free(last);
    assert_int_equal(left_behind(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_equals_a_dense_computation),
        cmocka_unit_test(models_of_links_give_embeddings),
        cmocka_unit_test(a_task_that_no_file_tells_is_an_option),
        cmocka_unit_test(cora_equals_a_dense_computation),
        cmocka_unit_test(visits_are_weights),
        cmocka_unit_test(each_node_walks_for_itself),
        cmocka_unit_test(the_checkpoint_tells_of_walks),
        cmocka_unit_test(any_memory_and_threads_give_the_same_bytes),
        cmocka_unit_test(little_memory_makes_more_blocks),
        cmocka_unit_test(full_evaluation_is_sampled_evaluation_of_all_neighbours),
        cmocka_unit_test(full_evaluation_knows_every_task_of_nodes),
        cmocka_unit_test(edges_of_a_node_to_itself_are_no_neighbours),
        cmocka_unit_test(refusals_leave_nothing),
        cmocka_unit_test(damaged_indices_are_refused),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(what_is_kept_is_not_mixed_with_another_model),
        cmocka_unit_test(without_resume_a_run_starts_anew),
        cmocka_unit_test(a_stopped_run_walks_the_same_way),
        cmocka_unit_test(damage_to_what_is_kept_is_found),
        cmocka_unit_test(two_do_not_make_the_same_at_once),
        cmocka_unit_test(two_do_not_write_the_same_file_at_once),
        cmocka_unit_test(an_output_that_was_taken_away_is_missed),
        cmocka_unit_test(outputs_that_exist_are_refused),
        cmocka_unit_test(what_cannot_be_put_in_place_waits),
        cmocka_unit_test(outputs_are_looked_at_first),
        cmocka_unit_test(killed_runs_end_in_the_same_bytes),
        cmocka_unit_test(a_stopped_evaluation_goes_on),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
