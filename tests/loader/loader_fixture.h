/* What tests of loaders share: a graph with weights and labels of any kind. Also the batches that
 * `outgrow sample` makes of it, whole in memory. */
#ifndef OG_LOADER_FIXTURE_H
#define OG_LOADER_FIXTURE_H

#include "dataset/import/options.h"
#include "options/fields.h"
#include "support/own_folder.h"

#include "base/base.h"
#include "dataset/graph.h"
#include "support/draws.h"
#include "support/files.h"
#include "support/runs.h"

#include <outgrow/outgrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- graphs ---- */

enum { N_NODES = 3000, N_EDGES = 24000, N_SPLIT = 700, DIM = 24, CLASSES = 4 };
enum { OF_CLASSES, OF_LABELS, OF_VALUES };

static inline void write_edges(const char *source)
{
    int64_t *ends = malloc(2 * (size_t)N_EDGES * sizeof(*ends));
    float *weights = malloc((size_t)N_EDGES * sizeof(*weights));
    for (uint32_t e = 0; e < N_EDGES; e++) {
        const uint32_t hub = test_scramble(e + 1) % 5 == 0 ? 40 : N_NODES;
        ends[2 * e] = test_scramble(3 * e) % hub;
        ends[2 * e + 1] = test_scramble(3 * e + 1) % N_NODES;
        weights[e] = 0.25f + (float)(test_scramble(3 * e + 2) % 16) / 8;
    }
    test_write_npy(source, "edges.npy", OG__NPY_I64, 2, N_EDGES, 2, ends);
    test_write_npy(source, "edge_weight.npy", OG__NPY_F32, 1, N_EDGES, 1, weights);
    free(ends);
    free(weights);
}

static inline void write_nodes(const char *source, int labels)
{
    float *x = malloc((size_t)N_NODES * DIM * sizeof(*x));
    float *y = malloc((size_t)N_NODES * CLASSES * sizeof(*y));
    int64_t *class = malloc((size_t)N_NODES * sizeof(*class));
    for (uint32_t i = 0; i < N_NODES * DIM; i++)
        x[i] = (float)(test_scramble(i + 77) % 200);
    for (uint32_t i = 0; i < N_NODES * CLASSES; i++)
        y[i] = (float)(test_scramble(i + 5) % 2) * (labels == OF_VALUES ? 1.5f : 1);
    for (uint32_t i = 0; i < N_NODES; i++)
        class[i] = (int64_t)(test_scramble(i + 9) % (CLASSES + 1)) - 1;
    test_write_npy(source, "feat.npy", OG__NPY_F32, 2, N_NODES, DIM, x);
    if (labels == OF_CLASSES)
        test_write_npy(source, "label.npy", OG__NPY_I64, 1, N_NODES, 1, class);
    else
        test_write_npy(source, "label.npy", OG__NPY_F32, 2, N_NODES, CLASSES, y);
    free(x);
    free(y);
    free(class);
}

static inline void write_splits(const char *source)
{
    static const char *const names[] = {"train.npy", "valid.npy", "test.npy"};
    int64_t ids[N_SPLIT];
    for (int64_t s = 0; s < 3; s++) {
        for (int64_t i = 0; i < N_SPLIT; i++)
            ids[i] = (4 * i + s) * 7 % N_NODES;
        test_write_npy(source, names[s], OG__NPY_I64, 1, s == 0 ? N_SPLIT : 150, 1, ids);
    }
}

/* Imports it into the program's folder; `path` gets its name. */
static inline void make_graph(char path[128], const char *name, int labels, enum og_dtype dtype)
{
    static const char values[] = "{\"task\": \"node regression\"}";
    char source[128], meta[160];
    struct og_import how;
    struct og_err err = {0};
    snprintf(source, sizeof(source), "%s/%s-source", folder, name);
    snprintf(path, 128, "%s/%s", folder, name);
    assert_int_equal(mkdir(source, 0700), 0);
    write_edges(source);
    write_nodes(source, labels);
    write_splits(source);
    if (labels == OF_VALUES) {
        snprintf(meta, sizeof(meta), "%s/meta.json", source);
        FILE *f = fopen(meta, "we");
        assert_true(f && fputs(values, f) >= 0 && fclose(f) == 0);
    }
    og__import_init(&how);
    how.feature_dtype = (int)dtype;
    how.memory = (struct og_amount){OG_BYTES, 64 << 20};
    how.threads = 2;
    if (og_import("npy", source, path, &how, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* The defaults of these tests, then pairs of names and values; ends with NULL. */
static inline void set_up(struct og_options *opt, const char *const *pairs)
{
    static const char *const usual[] = {"fanout",     "4,3",    "batch", "64",      "epochs",
                                        "2",          "memory", "128M",  "threads", "2",
                                        "eval-every", "0",      "io",    "pread",   NULL};
    og__options_init(opt);
    for (const char *const *p = usual; *p; p += 2)
        test_set(opt, p[0], p[1]);
    for (const char *const *p = pairs; p && *p; p += 2)
        test_set(opt, p[0], p[1]);
    test_set(opt, "scratch", folder);
}

/* ---- what `outgrow sample` makes of it ---- */

struct read_back {
    int64_t rows, width; /* width: bytes of a row */
    void *data;
};

struct expected {
    struct read_back ids, ids_ptr, seeds, seeds_ptr, labels, features;
    struct {
        struct read_back src, dst, ptr, nodes, weight;
    } hop[3];
    int n_hops;
    int64_t n_batches;
};

/* Any integers as int64; NULL data where there is no such file. */
static inline struct read_back read_back(const char *dir, const char *name)
{
    char path[512];
    struct og_npy a;
    struct read_back r = {0};
    snprintf(path, sizeof(path), "%s/%s.npy", dir, name);
    if (!test_is_there(path))
        return r;
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    r.rows = a.shape[0];
    const bool longs = og__npy_is_integer(a.type) && a.ndim == 1;
    r.width = longs ? 8 : a.shape[1] * (int64_t)og__npy_size(a.type);
    r.data = malloc((size_t)(r.rows * r.width) + 1);
    assert_int_equal(longs ? og__npy_read_int64(&a, 0, r.rows, r.data, NULL)
                           : og__npy_read(&a, 0, r.rows, r.data, NULL),
                     0);
    og__npy_close(&a);
    return r;
}

static inline void read_hop(struct expected *e, const char *dir, int h)
{
    static const char *const parts[] = {"src", "dst", "ptr", "nodes", "weight"};
    struct read_back *out[] = {&e->hop[h].src, &e->hop[h].dst, &e->hop[h].ptr, &e->hop[h].nodes,
                               &e->hop[h].weight};
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        char name[32];
        snprintf(name, sizeof(name), "hop%d_%s", h + 1, parts[i]);
        *out[i] = read_back(dir, name);
    }
}

static inline void expect(struct expected *e, const char *graph, const struct og_options *opt)
{
    static int number;
    char dir[128];
    struct og_err err = {0};
    snprintf(dir, sizeof(dir), "%s/trace%d", folder, number++);
    if (og_sample(graph, dir, true, opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    *e = (struct expected){.n_hops = opt->n_fanout};
    e->ids = read_back(dir, "ids");
    e->ids_ptr = read_back(dir, "ids_ptr");
    e->seeds = read_back(dir, "seeds");
    e->seeds_ptr = read_back(dir, "seeds_ptr");
    e->labels = read_back(dir, "labels");
    e->features = read_back(dir, "features");
    for (int h = 0; h < e->n_hops; h++)
        read_hop(e, dir, h);
    e->n_batches = e->ids_ptr.rows - 1;
    og__remove_tree(dir);
}

static inline void forget(struct expected *e)
{
    struct read_back *all[] = {&e->ids,       &e->ids_ptr, &e->seeds,
                               &e->seeds_ptr, &e->labels,  &e->features};
    for (size_t i = 0; i < OG_COUNT(all); i++)
        free(all[i]->data);
    for (int h = 0; h < e->n_hops; h++) {
        free(e->hop[h].src.data);
        free(e->hop[h].dst.data);
        free(e->hop[h].ptr.data);
        free(e->hop[h].nodes.data);
        free(e->hop[h].weight.data);
    }
}

/* ---- are they the same? ---- */

static inline int64_t long_at(const struct read_back *r, int64_t i)
{
    assert_true(r->data && i < r->rows);
    return ((const int64_t *)r->data)[i];
}

/* Rows [first, ..) of the trace in an array with as many rows as it has. */
static inline void assert_rows(const struct og_array *a, const struct read_back *r, int64_t first)
{
    assert_true(first + a->shape[0] <= r->rows);
    assert_memory_equal(a->data, (const char *)r->data + first * r->width,
                        (size_t)(a->shape[0] * r->width));
}

static inline void assert_shape(const struct og_array *a, int element, int n_dims, int64_t rows,
                                int64_t columns)
{
    assert_non_null(a->data);
    assert_int_equal(a->element, element);
    assert_int_equal(a->n_dims, n_dims);
    assert_int_equal(a->shape[0], rows);
    if (n_dims == 2)
        assert_int_equal(a->shape[1], columns);
}

static inline void assert_same_hop(const struct og_minibatch *b, int h, const struct expected *e,
                                   int64_t i)
{
    const struct og_minibatch_hop *k = b->hop[h];
    const int64_t first = long_at(&e->hop[h].ptr, i);
    const int64_t n_edges = long_at(&e->hop[h].ptr, i + 1) - first;
    assert_true(b->size == sizeof(*b) && k->size == sizeof(*k));
    assert_int_equal(k->n_edges, n_edges);
    assert_int_equal(k->n_dst, h ? b->hop[h - 1]->n_src : b->n_seeds);
    assert_int_equal(k->n_src, long_at(&e->hop[h].nodes, i));
    assert_shape(&k->src, OG_ELEMENT_I64, 1, n_edges, 0);
    assert_shape(&k->dst, OG_ELEMENT_I64, 1, n_edges, 0);
    assert_shape(&k->indptr, OG_ELEMENT_I64, 1, k->n_dst + 1, 0);
    assert_rows(&k->src, &e->hop[h].src, first);
    assert_rows(&k->dst, &e->hop[h].dst, first);
    const int64_t *indptr = k->indptr.data, *dst = k->dst.data;
    assert_int_equal(indptr[0], 0);
    assert_int_equal(indptr[k->n_dst], n_edges);
    for (int64_t v = 0; v < k->n_dst; v++)
        for (int64_t j = indptr[v]; j < indptr[v + 1]; j++)
            assert_int_equal(dst[j], v);
    assert_int_equal(k->weight.data != NULL, e->hop[h].weight.data != NULL);
    if (k->weight.data) {
        assert_shape(&k->weight, OG_ELEMENT_F32, 1, n_edges, 0);
        assert_rows(&k->weight, &e->hop[h].weight, first);
    }
}

/* Hops' edges are consecutive in one array; or each is the beginning of the next. */
static inline void assert_joined(const struct og_minibatch *b)
{
    const bool nested = b->n_hops > 1 && b->hop[1]->first_edge == 0;
    int64_t n = 0;
    const int64_t *edges = b->edge_index.data;
    for (int h = 0; h < b->n_hops; h++) {
        const struct og_minibatch_hop *k = b->hop[h];
        assert_int_equal(k->first_edge, n);
        assert_ptr_equal(k->src.data, edges + n);
        assert_ptr_equal(k->dst.data, edges + b->edge_index.shape[1] + n);
        n += nested ? 0 : k->n_edges;
    }
    n = nested ? b->hop[b->n_hops - 1]->n_edges : n;
    assert_shape(&b->edge_index, OG_ELEMENT_I64, 2, 2, n);
}

/* Is it batch i of the trace? */
static inline void assert_same_batch(const struct og_minibatch *b, const struct expected *e,
                                     int64_t i)
{
    const int64_t first = long_at(&e->ids_ptr, i), n = long_at(&e->ids_ptr, i + 1) - first;
    const int64_t seed = long_at(&e->seeds_ptr, i), n_seeds = long_at(&e->seeds_ptr, i + 1) - seed;
    assert_int_equal(b->n_seeds, n_seeds);
    assert_int_equal(b->n_hops, e->n_hops);
    assert_shape(&b->ids, OG_ELEMENT_I64, 1, n, 0);
    assert_rows(&b->ids, &e->ids, first);
    assert_memory_equal(b->ids.data, (const int64_t *)e->seeds.data + seed, (size_t)n_seeds * 8);
    for (int h = 0; h < b->n_hops; h++)
        assert_same_hop(b, h, e, i);
    assert_joined(b);
    assert_int_equal(b->x.n_dims, 2);
    assert_int_equal(b->x.shape[0], n);
    assert_int_equal(b->x.shape[1], DIM);
    assert_rows(&b->x, &e->features, first);
    assert_int_equal(b->y.data != NULL, e->labels.data != NULL);
    if (b->y.data) {
        assert_int_equal(b->y.shape[0], n_seeds);
        assert_rows(&b->y, &e->labels, seed);
    }
    assert_int_equal(b->hits + b->misses, n);
}

/* ---- loaders ---- */

static inline struct og_loader *open_loader(const char *graph, const struct og_options *opt,
                                            const struct og_loader_options *from)
{
    struct og_loader *l = NULL;
    struct og_err err = {0};
    if (og_loader_open(&l, graph, opt, from, NULL, &err) < 0)
        fail_msg("%s; %s", err.message, err.hint);
    return l;
}

static inline void start_epoch(struct og_loader *l, int epoch)
{
    struct og_err err = {0};
    if (og_loader_start(l, epoch, &err) < 0)
        fail_msg("%s", err.message);
}

/* NULL at the end. */
static inline const struct og_minibatch *next_batch(struct og_loader *l)
{
    const struct og_minibatch *b = NULL;
    struct og_err err = {0};
    if (og_loader_next(l, -1, &b, &err) < 0)
        fail_msg("%s", err.message);
    return b;
}

/* What it has made is what sample has made. It has epochs first .. last; the trace has all from the
 * first of the run on. */
static inline void assert_epochs(struct og_loader *l, const struct expected *e, int first, int last)
{
    const int64_t batches = og_loader_batches(l, NULL);
    for (int epoch = first; epoch <= last; epoch++) {
        int64_t i = 0;
        start_epoch(l, epoch);
        for (const struct og_minibatch *b; (b = next_batch(l)); i++) {
            assert_int_equal(b->epoch, epoch);
            assert_int_equal(b->batch, i);
            assert_int_equal(b->batches, batches);
            assert_same_batch(b, e, (epoch - 1) * batches + i);
            og_minibatch_release(b);
        }
        assert_int_equal(i, batches);
    }
}

#endif
