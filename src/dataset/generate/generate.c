/* Synthetic graphs: three models for edges, one writer. Nodes of every group have a class. Planted
 * edges join nodes of equal class with probability homophily. Only the first group has labels;
 * neighbours of any group, near and far, reveal a node's class.
 *
 * Node v is a pure function of (seed, v), and edge i of (seed, i). So memory holds only what is
 * being written, and any number of threads makes identical files. */
#include "base/file.h"
#include "base/sized.h"
#include "base/thread.h"
#include "dataset/convert.h"
#include "dataset/generate/maker.h"

#include <math.h>
#include <string.h>

/* Distance of the class means from the origin, in standard deviations of the noise. Features alone
 * then classify about half the nodes of 16 classes. Less for rmat, whose edges ignore classes. */
#define PLANTED_SIGNAL 1.6f
#define RMAT_SIGNAL    0.8f

static const char part[] = "features";
enum {
    CHUNK_BYTES = 8 * 1024 * 1024, /* of features and labels written at a time */
    QUANTILES = 1 << 16,
};

/* ---- writing ---- */

static void tell(const struct og_maker *k, const char *stage, const char *unit, uint64_t done,
                 uint64_t total)
{
    struct og_progress p = {
        .size = sizeof(p), .stage = stage, .unit = unit, .done = done, .total = total};
    if (k->observer && k->observer->progress)
        k->observer->progress(k->observer->arg, &p);
}

static int stopped(const struct og_maker *k, struct og_err *err)
{
    if (k->observer && og__stop_requested(k->observer->stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted: nothing was written");
    return 0;
}

/* ---- edges ---- */

enum { TASKS_A_ROUND = 64 }; /* edges drawn in parallel before they go to the sorter */

struct edge_round {
    const struct og_maker *k;
    uint32_t relation;
    uint64_t first_task, n_edges; /* of the relation */
    uint32_t *src, *dst;          /* [TASKS_A_ROUND * OG__EDGES_A_TASK] */
};

static void draw_task(void *arg, size_t i, int thread)
{
    const struct edge_round *r = arg;
    const struct og_relation *of = &r->k->graph.relation[r->relation];
    const struct og_graph_model *from = &r->k->group[of->source].model;
    const struct og_graph_model *to = &r->k->group[of->destination].model;
    const uint64_t before = (r->first_task + i) * OG__EDGES_A_TASK;
    const uint32_t n = (uint32_t)OG_MIN(r->n_edges - before, (uint64_t)OG__EDGES_A_TASK);
    (void)thread;
    r->k->edges->draw(from, to, r->k->seed[r->relation], (uint32_t)(r->first_task + i), n,
                      r->src + i * OG__EDGES_A_TASK, r->dst + i * OG__EDGES_A_TASK);
}

static uint64_t count_edges(const struct og_maker *k, uint32_t relation)
{
    const double nodes = (double)k->graph.relation[relation].n_nodes;
    const uint64_t n = (uint64_t)llround(k->degree[relation] * nodes);
    return k->edges->in_pairs ? n & ~(uint64_t)1 : n;
}

static int add_relation(struct og_maker *k, struct og_edge_sorter *sorter, struct edge_round *r,
                        struct og_err *err)
{
    r->n_edges = count_edges(k, r->relation);
    uint64_t n_tasks = (r->n_edges + OG__EDGES_A_TASK - 1) / OG__EDGES_A_TASK;
    for (uint64_t task = 0; task < n_tasks; task += TASKS_A_ROUND) {
        uint64_t n = OG_MIN(n_tasks - task, (uint64_t)TASKS_A_ROUND);
        r->first_task = task;
        og__pool_run(k->pool, n, draw_task, r);
        uint64_t edges = OG_MIN(r->n_edges - task * OG__EDGES_A_TASK, n * OG__EDGES_A_TASK);
        OG_DO(og__sorter_add(sorter, r->relation, r->src, r->dst, NULL, 0, edges, err));
        tell(k, "edges", "edges", task * OG__EDGES_A_TASK + edges, r->n_edges);
        OG_DO(stopped(k, err));
    }
    return 0;
}

static int write_edges(struct og_maker *k, struct og_err *err)
{
    size_t bytes = (size_t)TASKS_A_ROUND * OG__EDGES_A_TASK * sizeof(uint32_t);
    struct edge_round r = {.k = k};
    struct og_edge_sorter *sorter = NULL;
    struct og_edge_sorter_result result;
    int rc = 0;
    r.src = og__alloc(k->budget, bytes, "edges", err);
    r.dst = og__alloc(k->budget, bytes, "edges", err);
    if (!r.src || !r.dst)
        OG_TRY(-ENOMEM);
    struct og_edge_sorter_options opt = {.graph = &k->graph,
                                         .drop_duplicates = k->edges->simple,
                                         .drop_self_loops = k->edges->simple,
                                         .memory = og__budget_left(k->budget),
                                         .scratch = k->dir.temporary,
                                         .pool = k->pool};
    OG_TRY(og__sorter_open(&sorter, &opt, k->budget, err));
    for (; r.relation < k->graph.n_relations; r.relation++)
        OG_TRY(add_relation(k, sorter, &r, err));
    if (og__sorter_edges(sorter) == 0)
        OG_TRY(og__fail(err, -EINVAL, "a larger degree", "generate: no edges"));
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

static size_t mean_bytes(const struct og_maker *k)
{
    return (size_t)k->of->g.classes * (size_t)k->of->g.dim * sizeof(float);
}

static int take_tables(struct og_maker *k, struct og_err *err)
{
    k->quantile = og__alloc(k->budget, QUANTILES * sizeof(float), part, err);
    k->chunk = k->quantile ? og__alloc(k->budget, CHUNK_BYTES, part, err) : NULL;
    if (!k->chunk)
        return -ENOMEM;
    for (int i = 0; i < QUANTILES; i++)
        k->quantile[i] = (float)normal_quantile((i + 0.5) / QUANTILES);
    return 0;
}

static void give_tables(struct og_maker *k)
{
    og__release(k->budget, k->quantile, QUANTILES * sizeof(float), part);
    og__release(k->budget, k->chunk, CHUNK_BYTES, part);
}

/* Draws the class means of the current group. */
static int draw_means(struct og_maker *k, struct og_err *err)
{
    const struct og_generate *g = &k->of->g;
    const float signal = g->model == OG_PLANTED ? PLANTED_SIGNAL : RMAT_SIGNAL;
    if (!(k->mean = og__alloc(k->budget, mean_bytes(k), part, err)))
        return -ENOMEM;
    for (int c = 0; c < g->classes; c++) {
        struct og_rng rng;
        og__rng_at(&rng, (uint64_t)g->seed, OG__STREAM_GENERATE, 0, 0, 3, (uint32_t)c);
        for (int j = 0; j < g->dim; j++)
            k->mean[(size_t)c * (size_t)g->dim + (size_t)j] =
                signal / sqrtf((float)g->dim) * k->quantile[og__rng_u32(&rng) >> 16];
    }
    return 0;
}

/* u8 holds x from -4 to 4 in steps of 1/32. */
static uint8_t byte_of(float x)
{
    return (uint8_t)OG_MIN(OG_MAX(lrintf(x * 32) + 128, 0), 255);
}

static void store(enum og_dtype dtype, void *row, int j, float x)
{
    switch (dtype) {
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
    default:
        break;
    }
}

/* Eight elements a Philox call; where blocks exceed 16 bits, rows move on in `epoch`. */
static void make_row(const struct og_maker *k, uint32_t node, void *row)
{
    const struct og_generate *g = &k->of->g;
    const float *mean = k->mean + (size_t)og__node_class(&k->of->model, node) * (size_t)g->dim;
    for (int j = 0; j < g->dim; j += 8) {
        uint32_t word[4];
        uint32_t block = (uint32_t)j / 8;
        og__philox((uint64_t)g->seed, OG__STREAM_GENERATE, block >> 16, 0, 4, node, block & 0xffff,
                   word);
        for (int i = 0; i < 8 && j + i < g->dim; i++)
            store((enum og_dtype)g->dtype, row, j + i,
                  mean[j + i] + k->quantile[word[i / 2] >> (i % 2 * 16) & (QUANTILES - 1)]);
    }
}

enum { ROWS_A_TASK = 256 };

static void make_rows(void *arg, size_t task, int thread)
{
    struct og_maker *k = arg;
    size_t row_bytes = (size_t)k->of->g.dim * og__dtype_size((enum og_dtype)k->of->g.dtype);
    (void)thread;
    for (uint64_t i = task * ROWS_A_TASK; i < OG_MIN((task + 1) * ROWS_A_TASK, k->count); i++)
        make_row(k, (uint32_t)(k->first + i), k->chunk + i * row_bytes);
}

/* For the first group only; others have no labels. */
static void make_labels(void *arg, size_t task, int thread)
{
    struct og_maker *k = arg;
    int64_t *labels = (int64_t *)k->chunk;
    (void)thread;
    for (uint64_t i = task * ROWS_A_TASK; i < OG_MIN((task + 1) * ROWS_A_TASK, k->count); i++)
        labels[i] = k->first + i < k->group->model.n_nodes
                        ? (int64_t)og__node_class(&k->group->model, (uint32_t)(k->first + i))
                        : -1;
}

/* An array with a row for each of n nodes, made chunk by chunk in parallel. */
static int write_nodes(struct og_maker *k, const char *name, uint64_t n, enum og__npy_type type,
                       int ndim, int64_t width, void (*make)(void *arg, size_t task, int thread),
                       struct og_err *err)
{
    size_t row_bytes = (size_t)width * og__npy_size(type);
    uint64_t rows = CHUNK_BYTES / row_bytes;
    struct og_npy_writer *w = NULL;
    int rc;
    if (rows == 0)
        return og__fail(err, -EINVAL, NULL, "--dim %lld: rows of more than %d bytes",
                        (long long)width, CHUNK_BYTES);
    OG_TRY(og__array_create(&w, k->dir.temporary, name, type, ndim, width, err));
    for (k->first = 0; k->first < n; k->first += k->count) {
        k->count = OG_MIN(rows, n - k->first);
        og__pool_run(k->pool, (k->count + ROWS_A_TASK - 1) / ROWS_A_TASK, make, k);
        OG_TRY(og__npy_append(w, k->chunk, (int64_t)k->count, err));
        tell(k, "features", "rows", k->first + k->count, n);
        OG_TRY(stopped(k, err));
    }
    rc = og__array_finish(&w, name, k->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

static int write_features(struct og_maker *k, uint32_t group, struct og_err *err)
{
    const struct og_generate *g = &k->group[group].g;
    char name[40];
    int rc;
    if (g->dim == 0)
        return 0;
    k->of = &k->group[group];
    snprintf(name, sizeof(name), "%s.npy", og__group_array(&k->graph, group).text);
    OG_TRY(draw_means(k, err));
    OG_TRY(write_nodes(k, name, (uint64_t)g->nodes, og__dtype_stored((enum og_dtype)g->dtype), 2,
                       g->dim, make_rows, err));
out:
    og__release(k->budget, k->mean, mean_bytes(k), part);
    k->mean = NULL;
    return rc;
}

static int write_labels(struct og_maker *k, struct og_err *err)
{
    return write_nodes(k, "labels.npy", (uint64_t)k->graph.n_nodes, OG__NPY_I64, 1, 1, make_labels,
                       err);
}

/* ---- splits ---- */

/* Shuffles the nodes of the first group. The first run of them trains, the next validates, the next
 * tests. */
static int write_split(struct og_maker *k, const char *name, uint64_t first, uint64_t count,
                       struct og_err *err)
{
    struct og_permutation order;
    struct og_npy_writer *w = NULL;
    int64_t *ids = (int64_t *)k->chunk;
    int rc;
    og__permutation_init(&order, k->group->model.n_nodes, (uint64_t)k->g.seed, 0);
    OG_TRY(og__array_create(&w, k->dir.temporary, name, OG__NPY_I64, 1, 1, err));
    for (uint64_t done = 0; done < count;) {
        uint64_t n = OG_MIN(count - done, (uint64_t)CHUNK_BYTES / 8);
        for (uint64_t i = 0; i < n; i++)
            ids[i] = (int64_t)og__permutation_at(&order, first + done + i);
        OG_TRY(og__npy_append(w, ids, (int64_t)n, err));
        done += n;
    }
    rc = og__array_finish(&w, name, k->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

static int write_splits(struct og_maker *k, struct og_err *err)
{
    static const char *const names[] = {"train.npy", "valid.npy", "test.npy"};
    const uint64_t nodes = k->group->model.n_nodes;
    uint64_t n = (uint64_t)(k->g.train_fraction * (double)nodes);
    n = OG_MAX(n, (uint64_t)1);
    for (uint64_t i = 0; i < OG_COUNT(names); i++) {
        uint64_t first = i * n;
        uint64_t count = first < nodes ? OG_MIN(n, nodes - first) : 0;
        OG_DO(write_split(k, names[i], first, count, err));
    }
    return 0;
}

/* ---- meta.json ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static json_t *provenance(const struct og_generate *g)
{
    const bool planted = g->model == OG_PLANTED;
    const char *model = planted ? "planted" : "rmat";
    return json_pack("{s:s s:s s:s* s:s* s:f s:f s:f s:I}", "generator", og_version(), "model",
                     model, "types", g->types, "relations", g->relations, "degree", g->degree,
                     "homophily", planted ? g->homophily : 0.0, "train_fraction", g->train_fraction,
                     "seed", (json_int_t)g->seed);
}

static int write_meta(struct og_maker *k, struct og_err *err)
{
    json_t *root =
        json_pack("{s:s s:i s:b s:s s:O s:o}", "name", base_name(k->dir.path), "num_classes",
                  k->g.classes, "multi_label", 0, "task", "node classification", "checksums",
                  k->checksums, "provenance", provenance(&k->g));
    return og__meta_write(k->dir.temporary, og__json_joined(og__schema_json(&k->graph), root), err);
}

/* ---- all of it ---- */

static int make_nodes(struct og_maker *k, struct og_err *err)
{
    int rc;
    OG_TRY(take_tables(k, err));
    for (uint32_t t = 0; t < k->graph.n_groups; t++)
        OG_TRY(write_features(k, t, err));
    OG_TRY(write_labels(k, err));
    OG_TRY(write_splits(k, err));
out:
    give_tables(k);
    return rc;
}

int og_generate(const char *out, const struct og_generate *g, const struct og_observer *observer,
                struct og_err *err)
{
    struct og_maker k = {.observer = observer};
    int rc;
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(og__maker_request(&k, g, err));
    k.checksums = json_object();
    k.budget = og__budget_new(og__memory_amount(&g->memory));
    OG_TRY(k.checksums && k.budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate"));
    OG_TRY(og__pool_open(&k.pool, g->threads ? g->threads : og__cpu_count(), err));
    OG_TRY(og__newdir_begin(&k.dir, out, err));
    OG_TRY(write_edges(&k, err));
    OG_TRY(make_nodes(&k, err));
    OG_TRY(write_meta(&k, err));
    OG_TRY(og__newdir_commit(&k.dir, err));
out:
    og__newdir_abandon(&k.dir);
    og__pool_close(k.pool);
    og__budget_free(k.budget);
    json_decref(k.checksums);
    og__maker_release(&k);
    return rc;
}
