/* Graphs on disk in any layout, and their batches against those from memory. */
#ifndef OG_TOPOLOGY_FIXTURE_H
#define OG_TOPOLOGY_FIXTURE_H

#include "sample/samplers_all.h"
#include "support/own_folder.h"

#include "base/file.h"
#include "base/thread.h"
#include "choose/hotness.h"
#include "dataset/on_disk.h"
#include "io/engine.h"
#include "plan/plan.h"
#include "sample/sample.h"
#include "support/draws.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

static const char *path_in(const char *name)
{
    static char paths[4][600];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

/* ---- graphs ---- */

struct graph {
    int64_t n, *indptr;
    int32_t *indices; /* ascending and distinct within each list */
};

/* Lists of n nodes, of nodes below `sources`. Degrees of all kinds: none, a few, more than a block,
 * one hub that lists `hub` nodes. */
static inline struct graph make_lists(int64_t n, int64_t sources, int64_t hub)
{
    struct graph g = {.n = n, .indptr = malloc((size_t)(n + 1) * 8)};
    g.indptr[0] = 0;
    for (int64_t v = 0; v < n; v++) {
        int64_t degree =
            test_scramble((uint32_t)v) % 5 == 0 ? 0 : test_scramble((uint32_t)v + 9) % 24;
        degree = v % 97 == 13 ? 300 : degree;
        degree = v == 1 ? hub : degree;
        g.indptr[v + 1] = g.indptr[v] + OG_MIN(degree, sources);
    }
    g.indices = malloc((size_t)g.indptr[n] * 4);
    for (int64_t v = 0; v < n; v++) {
        int64_t degree = g.indptr[v + 1] - g.indptr[v];
        for (int64_t i = 0; i < degree; i++) { /* one of each of `degree` equal parts of all ids */
            int64_t low = i * sources / degree;
            int64_t width = (i + 1) * sources / degree - low;
            g.indices[g.indptr[v] + i] =
                (int32_t)(low + test_scramble((uint32_t)(v * 31 + i)) % (uint32_t)width);
        }
    }
    return g;
}

static inline struct graph make_graph(int64_t n, int64_t hub)
{
    return make_lists(n, n, hub);
}

static inline void free_graph(struct graph *g)
{
    free(g->indptr);
    free(g->indices);
}

static inline void write_array(const char *path, enum og__npy_type type, int64_t n,
                               const void *data, size_t pad)
{
    char head[4096];
    const int64_t shape[2] = {n, 1};
    size_t len = og__npy_header(head, type, 1, shape, pad);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, len, f), len);
    assert_int_equal(fwrite(data, og__npy_size(type), (size_t)n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* How indices lie in their file. */
enum layout { OURS, WIDE, FOREIGN, FOREIGN_WIDE, RAW_ODD, LAYOUTS };

/* A header of 128 bytes, as NumPy writes; or none, and data from byte 3 on. */
static inline void write_foreign(const char *path, enum layout layout, int64_t n, const void *data)
{
    char head[128] = "\x93NUMPY\x01\0\x76";
    size_t skip = layout == RAW_ODD ? 3 : sizeof(head);
    int len = snprintf(head + 10, sizeof(head) - 10,
                       "{'descr': '<i%d', 'fortran_order': False, 'shape': (%lld,), }",
                       layout == FOREIGN ? 4 : 8, (long long)n);
    memset(head + 10 + len, ' ', sizeof(head) - 10 - (size_t)len);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, skip, f), skip);
    assert_int_equal(fwrite(data, layout == FOREIGN_WIDE ? 8 : 4, (size_t)n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Files whose names begin with `prefix`. */
static inline void write_lists(const char *name, const char *prefix, const struct graph *g,
                               enum layout layout)
{
    char path[800];
    const int64_t n_edges = g->indptr[g->n];
    snprintf(path, sizeof(path), "%s/%s/%sindptr.npy", folder, name, prefix);
    write_array(path, OG__NPY_I64, g->n + 1, g->indptr, 192);
    int64_t *wide = malloc((size_t)n_edges * 8 + 8);
    for (int64_t e = 0; e < n_edges; e++)
        wide[e] = g->indices[e];
    const void *data = layout == WIDE || layout == FOREIGN_WIDE ? (const void *)wide : g->indices;
    snprintf(path, sizeof(path), "%s/%s/%sindices.npy", folder, name, prefix);
    if (layout == OURS || layout == WIDE)
        write_array(path, layout == WIDE ? OG__NPY_I64 : OG__NPY_I32, n_edges, data, 4096);
    else
        write_foreign(path, layout, n_edges, data);
    free(wide);
    float *weights = malloc((size_t)n_edges * 4 + 4);
    for (int64_t e = 0; e < n_edges; e++)
        weights[e] = (float)(test_scramble((uint32_t)e) % 8) * 0.3f;
    snprintf(path, sizeof(path), "%s/%s/%sweights.npy", folder, name, prefix);
    write_array(path, OG__NPY_F32, n_edges, weights, layout == OURS ? 4096 : 192);
    free(weights);
}

static inline void write_graph(const char *name, const struct graph *g, enum layout layout)
{
    char path[800];
    char meta[400];
    const int64_t n_edges = g->indptr[g->n];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(og__make_dirs(path, NULL), 0);
    snprintf(meta, sizeof(meta), "{\"format\":1,\"num_classes\":0,\"name\":\"%s\"%s", name,
             layout == RAW_ODD ? ",\"files\":{\"indices\":{\"path\":\"indices.npy\",\"dtype\":"
                                 "\"int32\",\"offset\":3,\"shape\":["
                               : "}");
    if (layout == RAW_ODD)
        snprintf(meta + strlen(meta), 64, "%lld]}}}", (long long)n_edges);
    snprintf(path, sizeof(path), "%s/%s/meta.json", folder, name);
    assert_int_equal(og__write_text(path, meta, strlen(meta), NULL), 0);
    char *rows = calloc((size_t)g->n, 1);
    snprintf(path, sizeof(path), "%s/%s/features.npy", folder, name);
    write_array(path, OG__NPY_U8, g->n, rows, 192);
    free(rows);
    write_lists(name, "", g, layout);
}

/* ---- heterogeneous graphs ---- */

enum { TYPES = 3, RELATIONS = 6 };
static const int64_t type_nodes[TYPES] = {2600, 1500, 40};
/* Within a type, between two there and back, from few nodes, to few, and one without edges. */
static const struct {
    const char *name;
    int source, destination;
    int64_t hub;
} relations[RELATIONS] = {{"cites", 0, 0, 900}, {"writes", 1, 0, 1200}, {"rev_writes", 0, 1, 2000},
                          {"of", 1, 2, 1500},   {"none", 2, 1, 0},      {"about", 2, 0, 40}};

/* The lists of each relation, without those of "none". */
static inline void make_typed(struct graph lists[RELATIONS])
{
    for (int r = 0; r < RELATIONS; r++) {
        const int64_t n = type_nodes[relations[r].destination];
        lists[r] = make_lists(n, type_nodes[relations[r].source], relations[r].hub);
        for (int64_t v = 0; r == 4 && v <= n; v++)
            lists[r].indptr[v] = 0;
    }
}

static inline void free_typed(struct graph lists[RELATIONS])
{
    for (int r = 0; r < RELATIONS; r++)
        free_graph(&lists[r]);
}

static inline void write_typed(const char *name, const struct graph lists[RELATIONS],
                               enum layout layout)
{
    char path[800];
    char meta[2000] = "{\"format\": 2, \"num_classes\": 0, \"name\": \"typed\", \"node_types\": [";
    int64_t n_nodes = 0, n_edges = 0;
    size_t at = strlen(meta);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(og__make_dirs(path, NULL), 0);
    for (int t = 0; t < TYPES; t++, n_nodes += type_nodes[t - 1])
        at +=
            (size_t)snprintf(meta + at, sizeof(meta) - at, "%s{\"name\": \"t%d\", \"count\": %lld}",
                             t ? ", " : "", t, (long long)type_nodes[t]);
    at += (size_t)snprintf(meta + at, sizeof(meta) - at, "], \"relations\": [");
    for (int r = 0; r < RELATIONS; r++) {
        char prefix[16];
        const int64_t edges = lists[r].indptr[lists[r].n];
        snprintf(prefix, sizeof(prefix), "rel%d_", r);
        write_lists(name, prefix, &lists[r], layout);
        at +=
            (size_t)snprintf(meta + at, sizeof(meta) - at,
                             "%s{\"source\": \"t%d\", \"name\": \"%s\", \"destination\": \"t%d\", "
                             "\"num_edges\": %lld}",
                             r ? ", " : "", relations[r].source, relations[r].name,
                             relations[r].destination, (long long)edges);
        n_edges += edges;
    }
    snprintf(meta + at, sizeof(meta) - at, "], \"num_nodes\": %lld, \"num_edges\": %lld}",
             (long long)n_nodes, (long long)n_edges);
    snprintf(path, sizeof(path), "%s/%s/meta.json", folder, name);
    assert_int_equal(og__write_text(path, meta, strlen(meta), NULL), 0);
}

/* Each relation has other fanouts; one samples nothing in some hops. */
static inline void typed_fanouts(const int first[3], int *out)
{
    static const int more[RELATIONS][3] = {{0, 0, 0},  {3, -1, 7}, {10, 10, 10},
                                           {-1, 3, 1}, {5, 5, 5},  {0, 2, 0}};
    memcpy(out, more, sizeof(more));
    memcpy(out, first, 3 * sizeof(*first));
}

static inline struct og_graph *open_dataset(const char *name)
{
    struct og_err err = {0};
    struct og_graph *ds = NULL;
    if (og__graph_open(path_in(name), &ds, &err) < 0)
        fail_msg("%s", err.message);
    return ds;
}

/* ---- the log ---- */

struct heard {
    int lines;
    char last[600];
};

static inline void hear(void *arg, int level, const char *text)
{
    struct heard *h = arg;
    if (level > OG__INFO)
        return;
    h->lines++;
    snprintf(h->last, sizeof(h->last), "%s", text);
}

/* ---- the same batches ---- */

static const struct og_reader_options plain_reader = {.io = OG_IO_PREAD, .threads = 2, .depth = 16};

static inline void assert_same_batch(const struct og_batch *a, const struct og_batch *b)
{
    assert_int_equal(a->n_hops, b->n_hops);
    assert_int_equal(a->n_ids, b->n_ids);
    assert_memory_equal(a->ids, b->ids, a->n_ids * 4);
    for (uint32_t h = 0; h < a->n_hops; h++) {
        const struct og_block *x = &a->hop[h];
        const struct og_block *y = &b->hop[h];
        const size_t n_lists = og__lists_of(x);
        assert_true(x->n_dst == y->n_dst && x->n_src == y->n_src && x->n_edges == y->n_edges);
        assert_int_equal(n_lists, og__lists_of(y));
        assert_memory_equal(x->indptr, y->indptr, (n_lists + 1) * 4);
        if (x->n_edges)
            assert_memory_equal(x->src, y->src, x->n_edges * 4);
        if (x->relation)
            assert_memory_equal(x->relation, y->relation, ((size_t)x->n_relations + 1) * 4);
        if (x->relation && n_lists)
            assert_memory_equal(x->dst, y->dst, n_lists * 4);
        if (x->n_src > x->n_dst && x->degree)
            assert_memory_equal(x->degree, y->degree, (size_t)(x->n_src - x->n_dst) * 4);
        assert_int_equal(x->n_seen, y->n_seen);
        assert_int_equal(x->weight != NULL, y->weight != NULL);
        if (x->weight && x->n_edges)
            assert_memory_equal(x->weight, y->weight, x->n_edges * 4);
    }
}

/* Seeds of a batch: some scattered, and the last node, whose list is the tail. Every second batch
 * has node 1, the hub. */
enum { SEEDS = 40 };
static inline void pick_seeds(int64_t n, uint32_t batch, uint32_t seeds[SEEDS])
{
    for (uint32_t i = 0; i < SEEDS; i++)
        seeds[i] = (uint32_t)((i * (n / SEEDS) + batch * 7) % n);
    seeds[SEEDS - 1] = (uint32_t)n - 1;
    if (batch % 2)
        seeds[1] = 1;
}

static inline void compare_as(const struct og_graph *ds, const struct og_topology *memory,
                              const struct og_topology *disk, const struct og_sampling *how,
                              const int *fanout, int n_hops, uint32_t n_batches)
{
    struct og_err err = {0};
    struct og_sampler *s[2];
    struct og_batch_memory m[2];
    struct og_budget *b = og__budget_new(0);
    for (int i = 0; i < 2; i++) {
        og__batch_init(&m[i], b);
        if (og__sampler_open(&s[i], i ? disk : memory, fanout, n_hops, 11, b, &err) < 0)
            fail_msg("%s", err.message);
        og__sampler_keep_degrees(s[i]);
        if (og__sampler_choose(s[i], how, &err) < 0)
            fail_msg("%s", err.message);
    }
    for (uint32_t batch = 0; batch < n_batches; batch++) {
        uint32_t seeds[SEEDS];
        pick_seeds(ds->n_nodes, batch, seeds);
        for (int i = 0; i < 2; i++)
            if (og__sample(s[i], seeds, SEEDS,
                           &(struct og_sample_key){
                               .stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = batch},
                           &m[i], &err) < 0)
                fail_msg("%s", err.message);
        assert_same_batch(&m[0].batch, &m[1].batch);
        struct og_sample_reads none = og__sampler_reads(s[0]);
        assert_true(none.io.reads == 0 && none.lists_cached == 0 && none.lists_read == 0);
        struct og_sample_reads r = og__sampler_reads(s[1]);
        assert_true(r.lists_read > 0 || r.io.reads == 0);
    }
    for (int i = 0; i < 2; i++) {
        og__sampler_close(s[i]);
        og__batch_release(&m[i]);
    }
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

static inline void compare(const struct og_graph *ds, const struct og_topology *memory,
                           const struct og_topology *disk, const int *fanout, int n_hops,
                           uint32_t n_batches)
{
    compare_as(ds, memory, disk, &ways[0], fanout, n_hops, n_batches);
}

/* The cache has weights where the graph does. */
static inline bool has_weights(const struct og_graph *ds)
{
    return ds->relation->weights.fd >= 0;
}

static inline size_t whole_bytes(const struct og_graph *ds)
{
    return og__neighbors_whole_bytes(ds, has_weights(ds));
}

static inline struct og_topology open_disk(const struct og_graph *ds, struct og_budget *b,
                                           size_t cache, const char *dir, struct heard *heard)
{
    struct og_err err = {0};
    struct og_topology t;
    struct og_log log = {hear, heard};
    struct og_topology_disk_options opt = {.cache_bytes = cache,
                                           .cache_dir = dir,
                                           .weights = has_weights(ds),
                                           .staging_bytes = 1, /* the least: many rounds */
                                           .reader = plain_reader,
                                           .log = heard ? &log : NULL};
    if (og__topology_open_disk(ds, &opt, b, &t, &err) < 0)
        fail_msg("%s", err.message);
    t.stored->opt.log = NULL; /* it is on this stack */
    return t;
}

/* Every fanout at every capacity; what the budget holds is what was predicted. */
static inline void compare_all(const struct og_graph *ds)
{
    static const int fanouts[][3] = {{10, 10, 10}, {-1, 3, 1}, {60, 100, 2}, {3, -1, 7}};
    struct og_topology memory;
    struct og_budget *b = og__budget_new(0);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    size_t whole = whole_bytes(ds);
    const size_t capacities[] = {0, 1000, whole / 4, whole / 2, whole, SIZE_MAX};
    for (size_t c = 0; c < OG_COUNT(capacities); c++) {
        struct og_topology disk = open_disk(ds, b, capacities[c], NULL, NULL);
        size_t most =
            og__topology_disk_bytes(ds) + og__neighbors_bytes(ds, has_weights(ds), capacities[c]);
        assert_true(og__budget_used(b) <= most);
        if (capacities[c] >= whole || capacities[c] == 0) /* exact, but for rounding of bases */
            assert_true(og__budget_used(b) + 8 * ((size_t)ds->n_nodes / 1024 + 1) +
                            4 * (size_t)ds->n_nodes >=
                        most);
        for (size_t f = 0; f < OG_COUNT(fanouts); f++)
            compare(ds, &memory, &disk, fanouts[f], 3, 3);
        og__topology_release(&disk);
        assert_int_equal(og__budget_used(b), 0);
    }
    og__budget_free(b);
    og__topology_release(&memory);
}

#endif
