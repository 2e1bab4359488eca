/* Graphs, models and runs of inference with all neighbours. */
#ifndef OG_INFER_FIXTURE_H
#define OG_INFER_FIXTURE_H

#include "base/temporary.h"
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/runs.h"
#include "support/testing.h"
#include "support/whole_tensors.h"

#include "base/file.h"
#include "base/random.h"
#include "dataset/writer.h"
#include "learn/checkpoint.h"
#include "sample/sample.h"
#include "support/folder.h"

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

static inline int make_root(void **state)
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

static inline int remove_root(void **state)
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

static inline int ascending(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static inline void draw_edges(struct edges *g)
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

static inline void write_array(const char *name, enum og__npy_type type, int64_t rows, int64_t row,
                               const void *data)
{
    char path[LONGEST_PATH];
    struct og_npy_writer *w;
    snprintf(path, sizeof(path), "%s/%s.npy", graph, name);
    assert_int_equal(og__npy_create(&w, path, type, row > 1 ? 2 : 1, row, NULL), 0);
    assert_int_equal(og__npy_append(w, data, rows, NULL), 0);
    assert_int_equal(og__npy_finish(w, NULL, NULL), 0);
}

static inline void write_meta(int64_t n_edges)
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

static inline void make_awkward_graph(void)
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

static inline void scatter(struct og_model *m)
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

static inline void write_model_of(const struct og_model_config *c, const struct og_options *trained)
{
    struct og_model *m;
    assert_int_equal(og__model_create(&m, &og__ops_cpu, c, OG_OPTIMIZER_SGD, 5, NULL, NULL, NULL),
                     0);
    scatter(m);
    assert_int_equal(og__checkpoint_write(checkpoint, m, trained, NULL, NULL), 0);
    og__model_free(m);
}

static inline void write_model(const struct og_model_config *c)
{
    write_model_of(c, NULL);
}

/* ==== running it ==== */

/* From an earlier test: what exists is refused. */
static inline void remove_outputs(void)
{
    unlink(logits);
    unlink(embeddings);
}

static inline int predict_with(const char *threads, const char *memory, const char *emb,
                               char **text, struct og_err *err)
{
    struct og_options opt;
    og__options_init(&opt);
    test_set(&opt, "memory", memory);
    test_set(&opt, "threads", threads);
    remove_outputs();
    int rc = og_predict(graph, checkpoint, logits, emb, &opt, NULL, text, err);
    og__options_release(&opt);
    return rc;
}

static inline int predict(const char *memory, const char *emb, char **text, struct og_err *err)
{
    return predict_with("2", memory, emb, text, err);
}

static inline void must_predict(const char *memory, const char *emb, char **text)
{
    struct og_err err = {0};
    if (predict(memory, emb, text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

/* Every model, with one to three layers. Layers narrow (24 to 12 to 5) and widen (24 to 40). */
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
    {"gatv2", {.kind = OG_MODEL_GATV2, .heads = 4}},
    {"gatv2, residual, batch norm",
     {.kind = OG_MODEL_GATV2, .heads = 2, .residual = true, .norm = OG_NORM_BATCH}},
};

static inline struct og_model_config shaped(size_t model, int layers, int hidden)
{
    struct og_model_config c = models[model].c;
    c.layers = layers;
    c.in_dim = DIM;
    c.hidden = hidden;
    c.n_classes = CLASSES;
    c.heads = c.heads ? c.heads : 1;
    return c;
}

static inline char *file_bytes(const char *path, size_t *n)
{
    char *text;
    assert_int_equal(og__read_text(path, 1 << 28, &text, n, NULL), 0);
    return text;
}

static inline void assert_same_logits(const char *wanted, size_t n)
{
    size_t found_n;
    char *found = file_bytes(logits, &found_n);
    assert_int_equal(found_n, n);
    assert_memory_equal(found, wanted, n);
    free(found);
}

/* Files in the root that no test put there. */
static inline int left_behind(void)
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

/* models[]: those that sum unlike */
enum { GCN = 0, SAGE = 2, GAT = 6, PINSAGE = 10 };

/* ==== memory ==== */

static inline void make_larger_graph(void)
{
    struct og_generate g;
    struct og_err err = {0};
    og__generate_init(&g);
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

static inline bool is_enough(const char *threads, int mib)
{
    char memory[16];
    struct og_err err = {0};
    snprintf(memory, sizeof(memory), "%dM", mib);
    int rc = mib > 0 ? predict_with(threads, memory, NULL, NULL, &err) : -ENOMEM;
    if (rc != 0 && rc != -ENOMEM)
        fail_msg("%s", err.message);
    return rc == 0;
}

/* The least memory in MiB that is not refused. Models are alike, so the last one says where to
 * look. */
static inline int least_memory(const char *threads)
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

/* ==== eval ==== */

static inline double key(const char *text, const char *name)
{
    json_t *said = json_loads(text, 0, NULL);
    double x = json_number_value(json_object_get(said, name));
    json_decref(said);
    return x;
}

#endif
