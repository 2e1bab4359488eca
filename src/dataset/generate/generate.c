/* Synthetic graphs: two ways to draw an edge, one way to write a dataset.
 *
 * Everything about node v is a pure function of (seed, v), and everything about edge number i of
 * (seed, i), so nothing is kept but what is being written, and any number of threads makes the
 * same files. */
#include "base/file.h"
#include "base/thread.h"
#include "dataset/convert.h"
#include "dataset/generate/maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distance of the class means from the origin, in standard deviations of the noise: features alone
 * tell 16 classes about every second time. On rmat, whose edges know no classes, less. */
#define PLANTED_SIGNAL 1.6f
#define RMAT_SIGNAL    0.8f

enum {
    CHUNK_BYTES = 8 * 1024 * 1024, /* of features and labels written at a time */
    QUANTILES = 1 << 16,
};

void og_generate_init(struct og_generate *g)
{
    *g = (struct og_generate){.model = OG_PLANTED,
                              .nodes = 100000,
                              .degree = 15,
                              .dim = 128,
                              .classes = 16,
                              .dtype = OG_F32,
                              .train_fraction = 0.1,
                              .homophily = 0.8,
                              .seed = 1};
}

int og__generate_check(const struct og_generate *g, struct og_err *err)
{
    if (g->nodes < 2 || g->nodes >= UINT32_MAX - 1)
        return og__fail(err, -EINVAL, "from 2 to 4294967293", "--nodes %lld", (long long)g->nodes);
    if (g->dim < 1 || g->classes < 1 || g->classes > g->nodes)
        return og__fail(err, -EINVAL, "at least 1, and no more classes than nodes",
                        "--dim %d --classes %d", g->dim, g->classes);
    if (!(g->degree > 0) || g->degree * (double)g->nodes > 0x1p46)
        return og__fail(err, -EINVAL, "above 0, and fewer than 2^46 edges", "--degree %g",
                        g->degree);
    if (!(g->train_fraction > 0) || g->train_fraction > 1.0 / 3)
        return og__fail(err, -EINVAL, "valid and test are as large: at most 1/3",
                        "--train-fraction %g", g->train_fraction);
    if (!(g->homophily >= 0 && g->homophily <= 1))
        return og__fail(err, -EINVAL, "a share from 0 to 1", "--homophily %g", g->homophily);
    return 0;
}

/* ---- writing ---- */

void og__maker_tell(const struct og_maker *k, const char *stage, const char *unit, uint64_t done,
                    uint64_t total)
{
    struct og_progress p = {.stage = stage, .unit = unit, .done = done, .total = total};
    if (k->seen && k->seen->progress)
        k->seen->progress(k->seen->arg, &p);
}

int og__maker_stopped(const struct og_maker *k, struct og_err *err)
{
    if (k->seen && og__asked(k->seen->stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted: nothing was written");
    return 0;
}

static char *file_in(const struct og_maker *k, const char *name)
{
    return og__path_join(k->dir.temporary, name);
}

/* ---- edges ---- */

struct edge_round {
    struct og_maker *k;
    uint64_t first_task, n_edges; /* of the whole graph */
    uint32_t *src, *dst;          /* [OG__TASKS_A_ROUND * OG__EDGES_A_TASK] */
};

static uint32_t edges_of_task(const struct edge_round *r, uint64_t task)
{
    uint64_t before = task * OG__EDGES_A_TASK;
    return (uint32_t)OG_MIN(r->n_edges - before, (uint64_t)OG__EDGES_A_TASK);
}

static void draw_task(void *arg, size_t i, int thread)
{
    struct edge_round *r = arg;
    uint64_t task = r->first_task + i;
    size_t at = i * OG__EDGES_A_TASK;
    (void)thread;
    if (r->k->g->model == OG_RMAT)
        og__rmat_edges(&r->k->model, (uint32_t)task, edges_of_task(r, task), r->src + at,
                       r->dst + at);
    else
        og__planted_edges(&r->k->model, (uint32_t)task, edges_of_task(r, task), r->src + at,
                          r->dst + at);
}

static int add_edges(struct og_maker *k, struct og_edge_sorter *sorter, struct edge_round *r,
                     struct og_err *err)
{
    uint64_t n_tasks = (r->n_edges + OG__EDGES_A_TASK - 1) / OG__EDGES_A_TASK;
    int rc = 0;
    for (uint64_t task = 0; task < n_tasks; task += OG__TASKS_A_ROUND) {
        uint64_t n = OG_MIN(n_tasks - task, (uint64_t)OG__TASKS_A_ROUND);
        r->first_task = task;
        og__pool_run(k->pool, n, draw_task, r);
        uint64_t edges = OG_MIN(r->n_edges - task * OG__EDGES_A_TASK, n * OG__EDGES_A_TASK);
        OG_TRY(og__sorter_add(sorter, 0, r->src, r->dst, NULL, edges, err));
        og__maker_tell(k, "edges", "edges", task * OG__EDGES_A_TASK + edges, r->n_edges);
        OG_TRY(og__maker_stopped(k, err));
    }
out:
    return rc;
}

static int write_edges(struct og_maker *k, struct og_err *err)
{
    size_t bytes = (size_t)OG__TASKS_A_ROUND * OG__EDGES_A_TASK * sizeof(uint32_t);
    bool planted = k->g->model == OG_PLANTED;
    uint64_t n_edges = (uint64_t)llround(k->g->degree * (double)k->g->nodes);
    struct edge_round r = {.k = k, .n_edges = planted ? n_edges & ~(uint64_t)1 : n_edges};
    struct og_edge_sorter *sorter = NULL;
    struct og_edge_sorter_result result;
    int rc = 0;
    r.src = og__alloc(k->budget, bytes, "edges", err);
    r.dst = og__alloc(k->budget, bytes, "edges", err);
    if (!r.src || !r.dst)
        OG_TRY(-ENOMEM);
    struct og_edge_sorter_options opt = {.graph = &k->graph,
                                         .drop_duplicates = planted,
                                         .drop_self_loops = planted,
                                         .memory = og__budget_left(k->budget),
                                         .scratch = k->dir.temporary,
                                         .pool = k->pool};
    OG_TRY(og__sorter_open(&sorter, &opt, k->budget, err));
    OG_TRY(add_edges(k, sorter, &r, err));
    OG_TRY(og__sorter_finish(sorter, k->dir.temporary, k->checksums, &result, err));
out:
    og__sorter_free(sorter);
    og__release(k->budget, r.src, bytes, "edges");
    og__release(k->budget, r.dst, bytes, "edges");
    return rc;
}

/* ---- features ---- */

/* The value below which a standard normal falls with probability p, by bisection of erfc. */
static double normal_quantile(double p)
{
    double low = -8;
    double high = 8;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(-middle / sqrt(2)) < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int og__maker_tables(struct og_maker *k, struct og_err *err)
{
    size_t means = (size_t)k->g->classes * (size_t)k->g->dim;
    k->quantile = og__alloc(k->budget, QUANTILES * sizeof(float), "features", err);
    k->mean = og__alloc(k->budget, means * sizeof(float), "features", err);
    k->chunk = og__alloc(k->budget, CHUNK_BYTES, "features", err);
    if (!k->quantile || !k->mean || !k->chunk)
        return -ENOMEM;
    for (int i = 0; i < QUANTILES; i++)
        k->quantile[i] = (float)normal_quantile((i + 0.5) / QUANTILES);
    float signal = k->g->model == OG_PLANTED ? PLANTED_SIGNAL : RMAT_SIGNAL;
    for (int c = 0; c < k->g->classes; c++) {
        struct og_rng rng;
        og__rng_at(&rng, (uint64_t)k->g->seed, OG__STREAM_GENERATE, 0, 0, 3, (uint32_t)c);
        for (int j = 0; j < k->g->dim; j++)
            k->mean[(size_t)c * (size_t)k->g->dim + (size_t)j] =
                signal / sqrtf((float)k->g->dim) * k->quantile[og__rng_u32(&rng) >> 16];
    }
    return 0;
}

void og__maker_free_tables(struct og_maker *k)
{
    size_t means = (size_t)k->g->classes * (size_t)k->g->dim;
    og__release(k->budget, k->quantile, QUANTILES * sizeof(float), "features");
    og__release(k->budget, k->mean, means * sizeof(float), "features");
    og__release(k->budget, k->chunk, CHUNK_BYTES, "features");
}

/* u8 holds x from -4 to 4 in steps of 1/32. */
static uint8_t byte_of(float x)
{
    return (uint8_t)OG_MIN(OG_MAX(lrintf(x * 32) + 128, 0), 255);
}

static void store(const struct og_maker *k, void *row, int j, float x)
{
    switch ((enum og_dtype)k->g->dtype) {
    case OG_F32:
        ((float *)row)[j] = x;
        break;
    case OG_F16:
        ((uint16_t *)row)[j] = og__half_of(x);
        break;
    case OG_BF16:
        ((uint16_t *)row)[j] = og__bfloat_of(x);
        break;
    case OG_U8:
        ((uint8_t *)row)[j] = byte_of(x);
        break;
    }
}

/* Eight elements a Philox call; where blocks exceed 16 bits, rows move on in `epoch`. */
static void make_row(const struct og_maker *k, uint32_t node, void *row)
{
    const float *mean = k->mean + (size_t)og__node_class(&k->model, node) * (size_t)k->g->dim;
    for (int j = 0; j < k->g->dim; j += 8) {
        uint32_t word[4];
        uint32_t block = (uint32_t)j / 8;
        og__philox((uint64_t)k->g->seed, OG__STREAM_GENERATE, block >> 16, 0, 4, node,
                   block & 0xffff, word);
        for (int i = 0; i < 8 && j + i < k->g->dim; i++)
            store(k, row, j + i,
                  mean[j + i] + k->quantile[word[i / 2] >> (i % 2 * 16) & (QUANTILES - 1)]);
    }
}

enum { ROWS_A_TASK = 256 };

static void make_rows(void *arg, size_t task, int thread)
{
    struct og_maker *k = arg;
    size_t row_bytes = (size_t)k->g->dim * og__dtype_size((enum og_dtype)k->g->dtype);
    (void)thread;
    for (uint64_t i = task * ROWS_A_TASK; i < OG_MIN((task + 1) * ROWS_A_TASK, k->count); i++)
        make_row(k, (uint32_t)(k->first + i), k->chunk + i * row_bytes);
}

static void make_labels(void *arg, size_t task, int thread)
{
    struct og_maker *k = arg;
    int64_t *labels = (int64_t *)k->chunk;
    (void)thread;
    for (uint64_t i = task * ROWS_A_TASK; i < OG_MIN((task + 1) * ROWS_A_TASK, k->count); i++)
        labels[i] = og__node_class(&k->model, (uint32_t)(k->first + i));
}

/* Closes the file, whether it can be finished or not. */
static int finish(struct og_maker *k, struct og_npy_writer *w, const char *name, struct og_err *err)
{
    uint64_t checksum;
    int rc = og__npy_finish(w, &checksum, err);
    return rc < 0 ? rc : og__meta_set_checksum(k->checksums, name, checksum, err);
}

/* An array with a row a node, made chunk by chunk in parallel. */
static int write_nodes(struct og_maker *k, const char *name, enum og__npy_type type, int ndim,
                       int64_t width, void (*make)(void *arg, size_t task, int thread),
                       struct og_err *err)
{
    size_t row_bytes = (size_t)width * og__npy_size(type);
    uint64_t rows = CHUNK_BYTES / row_bytes;
    struct og_npy_writer *w = NULL;
    char *path = file_in(k, name);
    int rc = 0;
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (rows == 0)
        OG_TRY(og__fail(err, -EINVAL, NULL, "--dim %d: rows of more than %d bytes", k->g->dim,
                        CHUNK_BYTES));
    OG_TRY(og__npy_create(&w, path, type, ndim, width, err));
    for (k->first = 0; k->first < k->model.n_nodes; k->first += k->count) {
        k->count = OG_MIN(rows, k->model.n_nodes - k->first);
        og__pool_run(k->pool, (k->count + ROWS_A_TASK - 1) / ROWS_A_TASK, make, k);
        OG_TRY(og__npy_append(w, k->chunk, (int64_t)k->count, err));
        og__maker_tell(k, "features", "rows", k->first + k->count, k->model.n_nodes);
        OG_TRY(og__maker_stopped(k, err));
    }
    rc = finish(k, w, name, err);
    w = NULL;
out:
    og__npy_discard(w);
    free(path);
    return rc;
}

int og__maker_features(struct og_maker *k, const char *name, struct og_err *err)
{
    return write_nodes(k, name, og__dtype_stored((enum og_dtype)k->g->dtype), 2, k->g->dim,
                       make_rows, err);
}

/* ---- splits ---- */

/* A random order of all nodes; the first run of it trains, the next validates, the next tests. */
static int write_split(struct og_maker *k, const char *name, uint64_t first, uint64_t count,
                       struct og_err *err)
{
    struct og_permutation order;
    struct og_npy_writer *w = NULL;
    int64_t *ids = (int64_t *)k->chunk;
    char *path = file_in(k, name);
    int rc = 0;
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    og__permutation_init(&order, k->model.n_nodes, (uint64_t)k->g->seed, 0);
    OG_TRY(og__npy_create(&w, path, OG__NPY_I64, 1, 1, err));
    for (uint64_t done = 0; done < count;) {
        uint64_t n = OG_MIN(count - done, (uint64_t)CHUNK_BYTES / 8);
        for (uint64_t i = 0; i < n; i++)
            ids[i] = (int64_t)og__permutation_at(&order, first + done + i);
        OG_TRY(og__npy_append(w, ids, (int64_t)n, err));
        done += n;
    }
    rc = finish(k, w, name, err);
    w = NULL;
out:
    og__npy_discard(w);
    free(path);
    return rc;
}

int og__maker_splits(struct og_maker *k, struct og_err *err)
{
    static const char *const names[] = {"train.npy", "valid.npy", "test.npy"};
    uint64_t n = (uint64_t)(k->g->train_fraction * (double)k->g->nodes);
    n = OG_MAX(n, (uint64_t)1);
    int rc = 0;
    for (uint64_t i = 0; i < OG_COUNT(names); i++) {
        uint64_t first = i * n;
        uint64_t count = first < k->model.n_nodes ? OG_MIN(n, k->model.n_nodes - first) : 0;
        OG_TRY(write_split(k, names[i], first, count, err));
    }
out:
    return rc;
}

/* ---- all of it ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int write_meta(struct og_maker *k, struct og_err *err)
{
    const struct og_generate *g = k->g;
    bool planted = g->model == OG_PLANTED;
    json_t *provenance = json_pack("{s:s s:s s:f s:f s:f s:I}", "generator", og_version(), "model",
                                   planted ? "planted" : "rmat", "degree", g->degree, "homophily",
                                   planted ? g->homophily : 0.0, "train_fraction",
                                   g->train_fraction, "seed", (json_int_t)g->seed);
    json_t *root = json_pack("{s:i s:s s:I s:I s:i s:s s:i s:b s:s s:O s:o}", "format", 1, "name",
                             base_name(k->dir.path), "num_nodes", (json_int_t)g->nodes, "num_edges",
                             (json_int_t)k->graph.n_edges, "feature_dim", g->dim, "feature_dtype",
                             og__dtype_name((enum og_dtype)g->dtype), "num_classes", g->classes,
                             "multi_label", 0, "task", "node classification", "checksums",
                             k->checksums, "provenance", provenance);
    return og__meta_write(k->dir.temporary, root, err);
}

static int make_all(struct og_maker *k, struct og_err *err)
{
    int rc;
    OG_TRY(write_edges(k, err));
    OG_TRY(og__maker_tables(k, err));
    OG_TRY(og__maker_features(k, "features.npy", err));
    OG_TRY(write_nodes(k, "labels.npy", OG__NPY_I64, 1, 1, make_labels, err));
    OG_TRY(og__maker_splits(k, err));
out:
    og__maker_free_tables(k);
    return rc < 0 ? rc : write_meta(k, err);
}

int og__generate_plain(const char *out, const struct og_generate *g, const struct og_observer *seen,
                       struct og_err *err)
{
    struct og_maker k = {.g = g, .seen = seen};
    int rc = og__generate_check(g, err);
    if (rc < 0)
        return rc;
    og__graph_model_init(&k.model, g);
    k.checksums = json_object();
    k.budget = og__budget_new(og__memory_amount(&g->memory));
    OG_TRY(k.checksums && k.budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate"));
    OG_TRY(og__schema_init(&k.graph, err));
    og__schema_plain(&k.graph, g->nodes);
    OG_TRY(og__pool_open(&k.pool, g->threads ? g->threads : og__cpu_count(), err));
    OG_TRY(og__newdir_begin(&k.dir, out, err));
    OG_TRY(make_all(&k, err));
    OG_TRY(og__newdir_commit(&k.dir, err));
out:
    og__newdir_abandon(&k.dir);
    og__pool_close(k.pool);
    og__budget_free(k.budget);
    json_decref(k.checksums);
    og__schema_release(&k.graph);
    return rc;
}

int og_generate(const char *out, const struct og_generate *g, const struct og_observer *seen,
                struct og_err *err)
{
    if (g->types || g->relations)
        return og__generate_typed(out, g, seen, err);
    return og__generate_plain(out, g, seen, err);
}
