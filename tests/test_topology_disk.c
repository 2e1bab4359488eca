/* Topology on disk: the batches of memory, bit for bit; a neighbour cache that is the best there
 * is, kept and never trusted; reads that are those needed and no more. */
#include "own_folder.h"

#include "base/file.h"
#include "base/thread.h"
#include "dataset/on_disk.h"
#include "io/engine.h"
#include "plan/plan.h"
#include "sample/sample.h"
#include "support/draws.h"
#include "train/hotness.h"

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

/* Degrees of all kinds: none, a few, more than a block, one hub that lists `hub` nodes. */
static struct graph make_graph(int64_t n, int64_t hub)
{
    struct graph g = {.n = n, .indptr = malloc((size_t)(n + 1) * 8)};
    g.indptr[0] = 0;
    for (int64_t v = 0; v < n; v++) {
        int64_t degree =
            test_scramble((uint32_t)v) % 5 == 0 ? 0 : test_scramble((uint32_t)v + 9) % 24;
        degree = v % 97 == 13 ? 300 : degree;
        degree = v == 1 ? hub : degree;
        g.indptr[v + 1] = g.indptr[v] + OG_MIN(degree, n);
    }
    g.indices = malloc((size_t)g.indptr[n] * 4);
    for (int64_t v = 0; v < n; v++) {
        int64_t degree = g.indptr[v + 1] - g.indptr[v];
        for (int64_t i = 0; i < degree; i++) { /* one of each of `degree` equal parts of all ids */
            int64_t low = i * n / degree;
            int64_t width = (i + 1) * n / degree - low;
            g.indices[g.indptr[v] + i] =
                (int32_t)(low + test_scramble((uint32_t)(v * 31 + i)) % (uint32_t)width);
        }
    }
    return g;
}

static void free_graph(struct graph *g)
{
    free(g->indptr);
    free(g->indices);
}

static void write_array(const char *path, enum og__npy_type type, int64_t n, const void *data,
                        size_t pad)
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
static void write_foreign(const char *path, enum layout layout, int64_t n, const void *data)
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

static void write_graph(const char *name, const struct graph *g, enum layout layout)
{
    char path[800];
    char meta[400];
    int64_t n_edges = g->indptr[g->n];
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
    snprintf(path, sizeof(path), "%s/%s/indptr.npy", folder, name);
    write_array(path, OG__NPY_I64, g->n + 1, g->indptr, 192);
    char *rows = calloc((size_t)g->n, 1);
    snprintf(path, sizeof(path), "%s/%s/features.npy", folder, name);
    write_array(path, OG__NPY_U8, g->n, rows, 192);
    free(rows);
    int64_t *wide = malloc((size_t)n_edges * 8);
    for (int64_t e = 0; e < n_edges; e++)
        wide[e] = g->indices[e];
    const void *data = layout == WIDE || layout == FOREIGN_WIDE ? (const void *)wide : g->indices;
    snprintf(path, sizeof(path), "%s/%s/indices.npy", folder, name);
    if (layout == OURS || layout == WIDE)
        write_array(path, layout == WIDE ? OG__NPY_I64 : OG__NPY_I32, n_edges, data, 4096);
    else
        write_foreign(path, layout, n_edges, data);
    free(wide);
    float *weights = malloc((size_t)n_edges * 4);
    for (int64_t e = 0; e < n_edges; e++)
        weights[e] = (float)(test_scramble((uint32_t)e) % 8) * 0.3f;
    snprintf(path, sizeof(path), "%s/%s/weights.npy", folder, name);
    write_array(path, OG__NPY_F32, n_edges, weights, layout == OURS ? 4096 : 192);
    free(weights);
}

static struct og_dataset *open_dataset(const char *name)
{
    struct og_err err = {0};
    struct og_dataset *ds = NULL;
    if (og__dataset_open(path_in(name), &ds, &err) < 0)
        fail_msg("%s", err.message);
    return ds;
}

/* ---- the log ---- */

struct heard {
    int lines;
    char last[600];
};

static void hear(void *arg, int level, const char *text)
{
    struct heard *h = arg;
    if (level > OG__INFO)
        return;
    h->lines++;
    snprintf(h->last, sizeof(h->last), "%s", text);
}

/* ---- the same batches ---- */

static const struct og_reader_options plain_reader = {.io = OG_IO_PREAD, .threads = 2, .depth = 16};

static void assert_same_batch(const struct og_batch *a, const struct og_batch *b)
{
    assert_int_equal(a->n_hops, b->n_hops);
    assert_int_equal(a->n_ids, b->n_ids);
    assert_memory_equal(a->ids, b->ids, a->n_ids * 4);
    for (uint32_t h = 0; h < a->n_hops; h++) {
        const struct og_block *x = &a->hop[h];
        const struct og_block *y = &b->hop[h];
        assert_true(x->n_dst == y->n_dst && x->n_src == y->n_src && x->n_edges == y->n_edges);
        assert_memory_equal(x->indptr, y->indptr, ((size_t)x->n_dst + 1) * 4);
        if (x->n_edges)
            assert_memory_equal(x->src, y->src, x->n_edges * 4);
        if (x->n_src > x->n_dst)
            assert_memory_equal(x->degree, y->degree, (size_t)(x->n_src - x->n_dst) * 4);
        assert_int_equal(x->n_seen, y->n_seen);
        assert_int_equal(x->weight != NULL, y->weight != NULL);
        if (x->weight && x->n_edges)
            assert_memory_equal(x->weight, y->weight, x->n_edges * 4);
    }
}

/* Seeds of a batch: some scattered, node 1 (the hub) and the last ones, whose lists are the tail.
 */
enum { SEEDS = 40 };
static void pick_seeds(int64_t n, uint32_t batch, uint32_t seeds[SEEDS])
{
    for (uint32_t i = 0; i < SEEDS; i++)
        seeds[i] = (uint32_t)((i * (n / SEEDS) + batch * 7) % n);
    seeds[SEEDS - 1] = (uint32_t)n - 1;
    if (batch % 2)
        seeds[1] = 1;
}

/* uniform, the first, for what holds of all of them */
static const struct og_sampling ways[] = {
    {.kind = OG_SAMPLER_UNIFORM},
    {.kind = OG_SAMPLER_WEIGHTED},
    {.kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5},
    {.kind = OG_SAMPLER_LABOR},
    {.kind = OG_SAMPLER_LADIES},
    {.kind = OG_SAMPLER_UNIFORM, .once = true},
    {.kind = OG_SAMPLER_WEIGHTED, .once = true},
    {.kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5, .once = true},
    {.kind = OG_SAMPLER_LABOR, .once = true},
};

static void compare_as(const struct og_dataset *ds, const struct og_topology *memory,
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
            if (og__sample(s[i], seeds, SEEDS, OG__STREAM_SAMPLE, 1, batch, &m[i], &err) < 0)
                fail_msg("%s", err.message);
        assert_same_batch(&m[0].batch, &m[1].batch);
        struct og_sample_reads none = og__sampler_reads(s[0]);
        assert_true(none.io.reads == 0 && none.lists_cached == 0 && none.lists_read == 0);
        struct og_sample_reads r = og__sampler_reads(s[1]);
        assert_true(r.lists_read > 0 || r.io.reads == 0 || how->kind == OG_SAMPLER_WEIGHTED);
    }
    for (int i = 0; i < 2; i++) {
        og__sampler_close(s[i]);
        og__batch_release(&m[i]);
    }
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

static void compare(const struct og_dataset *ds, const struct og_topology *memory,
                    const struct og_topology *disk, const int *fanout, int n_hops,
                    uint32_t n_batches)
{
    compare_as(ds, memory, disk, &ways[0], fanout, n_hops, n_batches);
}

static struct og_topology open_disk(const struct og_dataset *ds, struct og_budget *b, size_t cache,
                                    const char *dir, struct heard *heard)
{
    struct og_err err = {0};
    struct og_topology t;
    struct og_log log = {hear, heard};
    struct og_topology_disk_options opt = {.cache_bytes = cache,
                                           .cache_dir = dir,
                                           .staging_bytes = 1, /* the least: many rounds */
                                           .reader = plain_reader,
                                           .log = heard ? &log : NULL};
    if (og__topology_open_disk(ds, &opt, b, &t, &err) < 0)
        fail_msg("%s", err.message);
    t.disk->opt.log = NULL; /* it is on this stack */
    return t;
}

/* Every fanout at every capacity; what the budget holds is what was told beforehand. */
static void compare_all(const struct og_dataset *ds)
{
    static const int fanouts[][3] = {{10, 10, 10}, {-1, 3, 1}, {60, 100, 2}, {3, -1, 7}};
    struct og_topology memory;
    struct og_budget *b = og__budget_new(0);
    assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
    size_t whole = og__neighbors_whole_bytes(ds);
    const size_t capacities[] = {0, 1000, whole / 4, whole / 2, whole, SIZE_MAX};
    for (size_t c = 0; c < OG_COUNT(capacities); c++) {
        struct og_topology disk = open_disk(ds, b, capacities[c], NULL, NULL);
        size_t most = og__topology_disk_bytes(ds) + og__neighbors_bytes(ds, capacities[c]);
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

static void batches_are_those_of_memory(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "layout-%d", layout);
        write_graph(name, &g, (enum layout)layout);
        struct og_dataset *ds = open_dataset(name);
        assert_int_equal(ds->indices.offset % 512,
                         layout >= FOREIGN ? layout == RAW_ODD ? 3 : 128 : 0);
        compare_all(ds);
        og__dataset_close(ds);
    }
    free_graph(&g);
}

static void a_hub_of_many(void **state)
{
    (void)state;
    struct graph g = make_graph(120000, 100000);
    write_graph("star", &g, OURS);
    struct og_dataset *ds = open_dataset("star");
    struct og_topology memory;
    assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
    static const int fanouts[][2] = {{10, 10}, {-1, 2}, {90000, 1}};
    for (size_t c = 0; c < 3; c++) {
        size_t capacity = c * og__neighbors_whole_bytes(ds) / 2;
        struct og_topology disk = open_disk(ds, NULL, capacity, NULL, NULL);
        for (size_t f = 0; f < OG_COUNT(fanouts); f++)
            compare(ds, &memory, &disk, fanouts[f], 2, 2);
        og__topology_release(&disk);
    }
    og__topology_release(&memory);
    og__dataset_close(ds);
    free_graph(&g);
}

static void generated_graphs(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        struct og_generate opt;
        struct og_err err = {0};
        og_generate_init(&opt);
        opt.model = model;
        opt.nodes = 4096;
        opt.dim = 1;
        opt.threads = 1;
        const char *name = model ? "generated-1" : "generated-0";
        if (og_generate(path_in(name), &opt, NULL, &err) < 0)
            fail_msg("%s", err.message);
        struct og_dataset *ds = open_dataset(name);
        compare_all(ds);
        og__dataset_close(ds);
    }
}

static void one_edge_alone(void **state)
{
    (void)state;
    struct graph g = make_graph(100, 1);
    memset(g.indptr, 0, 90 * 8);
    for (int v = 90; v <= 100; v++)
        g.indptr[v] = 1;
    g.indices[0] = 42; /* all of the file is tail */
    write_graph("tiny", &g, OURS);
    struct og_dataset *ds = open_dataset("tiny");
    compare_all(ds);
    og__dataset_close(ds);
    free_graph(&g);
}

/* However neighbours are drawn; the list of the hub is longer than what lists are read into. */
static void every_way_to_draw(void **state)
{
    static const int fanouts[][3] = {{10, 10, 10}, {-1, 3, 1}, {60, 400, 2}};
    (void)state;
    struct graph g = make_graph(12000, 9000);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        char name[32];
        snprintf(name, sizeof(name), "ways-%d", layout);
        write_graph(name, &g, layout);
        struct og_dataset *ds = open_dataset(name);
        struct og_topology memory;
        assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
        assert_int_equal(og__weights_load(ds, &memory, NULL), 0);
        for (size_t share = 0; share <= 2; share++) {
            size_t capacity = share * og__neighbors_whole_bytes(ds) / 2;
            struct og_topology disk = open_disk(ds, NULL, capacity, NULL, NULL);
            for (size_t w = 1; w < OG_COUNT(ways); w++)
                for (size_t f = 0; f < OG_COUNT(fanouts); f++)
                    compare_as(ds, &memory, &disk, &ways[w], fanouts[f], 3, 2);
            og__topology_release(&disk);
        }
        og__topology_release(&memory);
        og__dataset_close(ds);
    }
    free_graph(&g);
}

static void every_engine_and_all_at_once(void **state)
{
    (void)state;
    static const int kinds[] = {OG_IO_AUTO, OG_IO_PREAD, OG_IO_MMAP};
    struct graph g = make_graph(60000, 900);
    write_graph("engines", &g, OURS);
    struct og_dataset *ds = open_dataset("engines");
    struct og_topology memory;
    const int fanout[3] = {10, 10, 10};
    assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        struct og_topology t = open_disk(ds, NULL, 0, NULL, NULL);
        t.disk->opt.reader = (struct og_reader_options){.io = kinds[k], .threads = 2};
        og__profile_load(folder, &t.disk->opt.reader.profile);
        for (size_t staging = 0; staging <= 1; staging++) { /* 8 MiB, then the least */
            t.disk->opt.staging_bytes = staging;
            compare(ds, &memory, &t, fanout, 3, 3);
        }
        og__topology_release(&t);
    }
    og__topology_release(&memory);
    og__dataset_close(ds);
    free_graph(&g);
}

struct crowd {
    const struct og_topology *t;
    int64_t n;
    uint64_t sum[8]; /* of each batch */
};

static void sample_alone(void *arg, size_t task, int thread)
{
    struct crowd *c = arg;
    struct og_sampler *s;
    struct og_batch_memory m;
    const int fanout[2] = {10, 10};
    uint32_t seeds[SEEDS];
    (void)thread;
    pick_seeds(c->n, (uint32_t)task, seeds);
    og__batch_init(&m, NULL);
    if (og__sampler_open(&s, c->t, fanout, 2, 1, NULL, NULL) == 0 &&
        og__sample(s, seeds, SEEDS, OG__STREAM_SAMPLE, 1, (uint32_t)task, &m, NULL) == 0)
        c->sum[task] = XXH3_64bits(m.batch.ids, m.batch.n_ids * 4);
    og__sampler_close(s);
    og__batch_release(&m);
}

static void samplers_share_a_topology(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    write_graph("crowd", &g, OURS);
    struct og_dataset *ds = open_dataset("crowd");
    struct og_topology t = open_disk(ds, NULL, og__neighbors_whole_bytes(ds) / 2, NULL, NULL);
    struct og_pool *pool;
    struct crowd crowd = {.t = &t, .n = g.n};
    struct crowd alone = crowd;
    assert_int_equal(og__pool_open(&pool, 4, NULL), 0);
    og__pool_run(pool, OG_COUNT(crowd.sum), sample_alone, &crowd);
    og__pool_run(NULL, OG_COUNT(alone.sum), sample_alone, &alone);
    assert_memory_equal(crowd.sum, alone.sum, sizeof(crowd.sum));
    assert_true(crowd.sum[0] != 0 && crowd.sum[0] != crowd.sum[1]);
    og__pool_close(pool);
    og__topology_release(&t);
    og__dataset_close(ds);
    free_graph(&g);
}

/* ---- the choice ---- */

struct rated {
    float score;
    int64_t degree;
    uint32_t node;
};

static int better_first(const void *a, const void *b)
{
    const struct rated *x = a;
    const struct rated *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* By sorting: whole classes of equal score while they fit; of the first that does not, by id, what
 * fits. */
static void choose_by_sorting(const struct graph *g, size_t room, bool *in)
{
    struct rated *r = malloc((size_t)g->n * sizeof(*r));
    int64_t *out_degree = calloc((size_t)g->n, 8);
    for (int64_t e = 0; e < g->indptr[g->n]; e++)
        out_degree[g->indices[e]]++;
    size_t n = 0;
    for (int64_t v = 0; v < g->n; v++) {
        int64_t degree = g->indptr[v + 1] - g->indptr[v];
        in[v] = false;
        if (degree > 0)
            r[n++] = (struct rated){(float)out_degree[v] / (float)degree, degree, (uint32_t)v};
    }
    qsort(r, n, sizeof(*r), better_first);
    bool over = false;
    for (size_t i = 0, end; i < n && !over; i = end) {
        size_t all = 0;
        for (end = i; end < n && r[end].score == r[i].score; end++)
            all += (size_t)r[end].degree * 4 + 4;
        over = all > room;
        for (size_t k = i; k < end; k++) {
            size_t bytes = (size_t)r[k].degree * 4 + 4;
            if (bytes > room)
                continue;
            in[r[k].node] = true;
            room -= bytes;
        }
    }
    free(r);
    free(out_degree);
}

static void the_best_lists_are_cached(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("choice", &g, OURS);
    struct og_dataset *ds = open_dataset("choice");
    bool *in = malloc((size_t)g.n * sizeof(*in));
    size_t whole = og__neighbors_whole_bytes(ds);
    size_t fixed = whole - ((size_t)g.n + (size_t)g.indptr[g.n]) * 4;
    for (size_t capacity = fixed + 1; capacity <= whole; capacity += whole / 41) {
        struct og_budget *b =
            og__budget_new(og__topology_disk_bytes(ds) + capacity + og__neighbors_build_bytes(ds));
        struct og_topology t = open_disk(ds, b, capacity, NULL, NULL);
        const struct og_neighbors *c = &t.disk->cache;
        choose_by_sorting(&g, capacity - fixed, in);
        for (int64_t v = 0; v < g.n; v++) {
            assert_int_equal(og__neighbors_has(c, (uint32_t)v), in[v]);
            if (in[v])
                assert_memory_equal(c->ids + og__neighbors_first(c, (uint32_t)v),
                                    g.indices + g.indptr[v],
                                    (size_t)(g.indptr[v + 1] - g.indptr[v]) * 4);
        }
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    free(in);
    og__dataset_close(ds);
    free_graph(&g);
}

/* ---- what is read ---- */

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t find_edge(const struct graph *g, uint32_t v, uint32_t u)
{
    int64_t e = g->indptr[v];
    while (g->indices[e] != (int32_t)u)
        e++;
    assert_true(e < g->indptr[v + 1]);
    return e;
}

/* Blocks that a hop's edges need, told from the batch alone; those of the tail are in memory. */
static size_t needed_blocks(const struct graph *g, const struct og_topology *t,
                            const struct og_batch *b, uint32_t hop, uint64_t *blocks)
{
    const struct og_block *k = &b->hop[hop];
    size_t n = 0;
    size_t distinct = 0;
    int64_t offset = t->disk->ds->indices.offset;
    uint64_t base = (uint64_t)offset / 512 * 512;
    uint64_t whole = ((uint64_t)offset + (uint64_t)t->n_edges * 4 - base) / 512;
    for (uint32_t d = 0; d < k->n_dst; d++) {
        if (og__neighbors_has(&t->disk->cache, b->ids[d]))
            continue;
        for (uint32_t e = k->indptr[d]; e < k->indptr[d + 1]; e++) {
            int64_t edge = find_edge(g, b->ids[d], b->ids[k->src[e]]);
            uint64_t block = ((uint64_t)offset + (uint64_t)edge * 4 - base) / 512;
            if (block < whole)
                blocks[n++] = block;
        }
    }
    qsort(blocks, n, sizeof(*blocks), compare_u64);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || blocks[i] != blocks[i - 1])
            blocks[distinct++] = blocks[i];
    return distinct;
}

/* Requests of one round of blocks: those that touch when rounded out to the file's alignment are
 * one, up to 256 KiB. */
static struct og_io_counts requests_for(const uint64_t *blocks, size_t n, uint64_t base,
                                        uint64_t align)
{
    struct og_io_counts c = {0};
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t from = (base + blocks[i] * 512) / align * align;
        uint64_t end = base + blocks[i] * 512 + 512;
        for (next = i + 1; next < n; next++) {
            uint64_t start = base + blocks[next] * 512;
            uint64_t reached = (end + align - 1) / align * align;
            if (start / align * align > reached || start + 512 > from + 256 * OG_KIB)
                break;
            end = start + 512;
        }
        c.reads++;
        c.bytes += (end + align - 1) / align * align - from;
    }
    return c;
}

/* All that a batch asks of the kernel, told from the batch alone. */
static struct og_sample_reads reads_for(const struct graph *g, const struct og_topology *t,
                                        const struct og_batch *b, uint64_t align)
{
    struct og_sample_reads all = {0};
    size_t round = OG_MAX(t->disk->opt.staging_bytes / 1024, (size_t)128);
    uint64_t *blocks = malloc(1000000 * sizeof(*blocks));
    for (uint32_t h = 0; h < b->n_hops; h++) {
        size_t n = needed_blocks(g, t, b, h, blocks);
        for (size_t at = 0; at < n; at += round) {
            struct og_io_counts c =
                requests_for(blocks + at, OG_MIN(n - at, round), t->disk->lists.base, align);
            all.io.reads += c.reads;
            all.io.bytes += c.bytes;
        }
        for (uint32_t d = 0; d < b->hop[h].n_dst; d++) {
            uint32_t v = b->ids[d];
            bool cached = og__neighbors_has(&t->disk->cache, v);
            bool has_list = g->indptr[v + 1] > g->indptr[v];
            all.lists_cached += has_list && cached;
            all.lists_read += has_list && !cached;
        }
    }
    free(blocks);
    return all;
}

static void check_reads(const struct graph *g, const struct og_topology *t, uint64_t align)
{
    const int fanout[3] = {10, 5, 5};
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, t, fanout, 3, 3, NULL, NULL), 0);
    for (uint32_t batch = 0; batch < 3; batch++) {
        uint32_t seeds[SEEDS];
        pick_seeds(g->n, batch, seeds);
        assert_int_equal(og__sample(s, seeds, SEEDS, OG__STREAM_EVAL, 0, batch, &m, NULL), 0);
        struct og_sample_reads want = reads_for(g, t, &m.batch, align);
        struct og_sample_reads got = og__sampler_reads(s);
        assert_int_equal(got.io.reads, want.io.reads);
        assert_int_equal(got.io.bytes, want.io.bytes);
        assert_int_equal(got.lists_read, want.lists_read);
        assert_int_equal(got.lists_cached, want.lists_cached);
        assert_true((got.io.reads > 0) == (want.lists_read > 0));
    }
    og__sampler_close(s);
    og__batch_release(&m);
}

static void reads_are_those_needed(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    for (int foreign = 0; foreign < 2; foreign++) {
        const char *name = foreign ? "reads-1" : "reads-0";
        write_graph(name, &g, foreign ? FOREIGN : OURS);
        struct og_dataset *ds = open_dataset(name);
        struct og_io_file file;
        assert_int_equal(og__io_file_open(&file, ds->indices.path, true, NULL, NULL), 0);
        for (size_t share = 0; share <= 2; share++) {
            size_t capacity = share * og__neighbors_whole_bytes(ds) / 2;
            struct og_topology t = open_disk(ds, NULL, capacity, NULL, NULL);
            t.disk->opt.staging_bytes = (size_t)1 << (16 + 3 * share);
            check_reads(&g, &t, file.align_offset);
            og__topology_release(&t);
        }
        og__io_file_close(&file);
        og__dataset_close(ds);
    }
    free_graph(&g);
}

static int sample_within(const struct og_topology *t, const struct og_sampling *how,
                         const uint32_t *seeds, struct og_batch_memory *m, struct og_budget *b,
                         size_t *used, struct og_err *err)
{
    const int fanout[2] = {10, 10};
    struct og_sampler *s;
    int rc = og__sampler_open(&s, t, fanout, 2, 3, b, err);
    if (rc == 0)
        rc = og__sampler_choose(s, how, err);
    if (rc == 0)
        rc = og__sample(s, seeds, SEEDS, OG__STREAM_EVAL, 0, 0, m, err);
    *used = og__budget_used(b);
    og__sampler_close(s);
    return rc;
}

/* A sampler takes what it said it would for the batches it was told of; lists longer than what it
 * reads into are among them. */
static void check_sizes(const struct og_dataset *ds, const struct og_topology *t,
                        const struct og_sampling *how)
{
    struct og_batch_memory m;
    struct og_batch_caps caps = {0};
    size_t used;
    uint32_t seeds[SEEDS];
    pick_seeds(ds->n_nodes, 1, seeds);
    og__batch_init(&m, NULL);
    assert_int_equal(sample_within(t, how, seeds, &m, NULL, &used, NULL), 0);
    og__caps_include(&caps, &m.batch);
    size_t disk = og__sampler_disk_bytes(ds, &t->disk->opt, &caps, how, og__longest_list(t));
    struct og_budget *b = og__budget_new(og__sampler_bytes(&caps) + disk);
    assert_int_equal(sample_within(t, how, seeds, &m, b, &used, NULL), 0);
    assert_true(used > disk / 4);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    /* whatever the budget refuses is refused cleanly */
    for (size_t limit = 0; limit < og__sampler_bytes(&caps) + disk; limit += disk / 7) {
        b = og__budget_new(limit + 1);
        struct og_err err = {0};
        int rc = sample_within(t, how, seeds, &m, b, &used, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__batch_release(&m);
}

static void sizes_are_told_beforehand(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 20000);
    write_graph("sizes", &g, OURS);
    struct og_dataset *ds = open_dataset("sizes");
    struct og_topology t = open_disk(ds, NULL, 0, NULL, NULL);
    for (size_t w = 0; w < OG_COUNT(ways); w++)
        check_sizes(ds, &t, &ways[w]);
    og__topology_release(&t);
    og__dataset_close(ds);
    free_graph(&g);
}

/* ---- scanning ---- */

struct scanned {
    const struct graph *g;
    int64_t next;
};

static int check_run(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    struct scanned *s = arg;
    (void)err;
    assert_int_equal(first, s->next);
    assert_memory_equal(ids, s->g->indices + first, n * 4);
    s->next += (int64_t)n;
    return 0;
}

static int stop_there(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    (void)arg, (void)first, (void)ids, (void)n;
    return og__fail(err, -ECANCELED, NULL, "enough");
}

static void scans_every_edge_in_order(void **state)
{
    (void)state;
    struct graph g = make_graph(150000, 900); /* several chunks */
    for (int layout = 0; layout < LAYOUTS; layout++) {
        struct og_err err = {0};
        write_graph("scan", &g, (enum layout)layout);
        struct og_dataset *ds = open_dataset("scan");
        struct og_topology t[2];
        struct og_budget *b = og__budget_new(og__topology_disk_bytes(ds) + 4 * OG_MIB);
        assert_int_equal(og__topology_load(ds, NULL, &t[0], NULL), 0);
        t[1] = open_disk(ds, b, 0, NULL, NULL);
        for (int i = 0; i < 2; i++) {
            struct scanned s = {&g, 0};
            assert_int_equal(og__topology_scan(&t[i], check_run, &s, &err), 0);
            assert_int_equal(s.next, g.indptr[g.n]);
            struct og_err enough = {0};
            assert_int_equal(og__topology_scan(&t[i], stop_there, NULL, &enough), -ECANCELED);
            assert_string_equal(enough.message, "enough");
            for (uint32_t v = 0; v < g.n; v++)
                assert_true(og__first_edge(&t[i], v) == g.indptr[v] &&
                            og__degree(&t[i], v) == g.indptr[v + 1] - g.indptr[v]);
            og__topology_release(&t[i]);
        }
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        og__dataset_close(ds);
    }
    free_graph(&g);
}

/* The sums in the order of edges, as the definition has them. */
static void pagerank_by_definition(const struct graph *g, const uint32_t *seeds, int64_t n_seeds,
                                   float *rank)
{
    float *next = malloc((size_t)g->n * sizeof(*next));
    float start = 0.15f * (float)g->n / (float)n_seeds;
    for (int round = 0; round <= 10; round++) {
        for (int64_t v = 0; v < g->n; v++)
            next[v] = 0;
        for (int64_t i = 0; i < n_seeds && round < 10; i++)
            next[seeds[i]] = start;
        for (int64_t v = 0; round > 0 && v < g->n; v++)
            for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
                next[g->indices[e]] += 0.85f * rank[v] / (float)(g->indptr[v + 1] - g->indptr[v]);
        memcpy(rank, next, (size_t)g->n * sizeof(*rank));
    }
    free(next);
}

/* Whatever walks all edges finds the same in every layout and in memory. */
static void hotness_is_the_same_on_disk(void **state)
{
    (void)state;
    struct graph g = make_graph(150000, 100000); /* a list longer than some runs */
    size_t bytes = (size_t)g.n * 4;
    uint32_t *degree = calloc(1, bytes);
    uint32_t *guess = calloc(1, bytes);
    uint32_t *got = malloc(bytes);
    float *rank = malloc(bytes);
    const uint32_t seeds[3] = {1, 110, 149999};
    for (int64_t e = 0; e < g.indptr[g.n]; e++) {
        degree[g.indices[e]]++;
        guess[g.indices[e]] += e % 256 < 16 && e / 256 * 256 + 16 <= g.indptr[g.n];
    }
    pagerank_by_definition(&g, seeds, 3, rank);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        write_graph("hot", &g, (enum layout)layout);
        struct og_dataset *ds = open_dataset("hot");
        for (int i = 0; i < 2; i++) {
            struct og_topology t;
            if (i == 0)
                assert_int_equal(og__topology_load(ds, NULL, &t, NULL), 0);
            else
                t = open_disk(ds, NULL, 0, NULL, NULL);
            assert_int_equal(og__topology_out_degrees(&t, got, NULL), 0);
            assert_memory_equal(got, degree, bytes);
            memset(got, 0, bytes);
            assert_int_equal(og__hotness_degree_guess(&t, got, NULL), 0);
            assert_memory_equal(got, guess, bytes);
            assert_int_equal(og__hotness_pagerank(&t, seeds, 3, NULL, got, NULL), 0);
            for (int64_t v = 0; v < g.n; v++) {
                float x;
                memcpy(&x, &got[v], sizeof(x));
                assert_true(x >= rank[v] * 0.9999f && x <= rank[v] * 1.0001f);
            }
            og__topology_release(&t);
        }
        og__dataset_close(ds);
    }
    free(degree);
    free(guess);
    free(got);
    free(rank);
    free_graph(&g);
}

/* ---- what was saved ---- */

static struct stat stat_of(const char *dir, const char *file)
{
    char path[800];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (stat(path, &st) < 0)
        memset(&st, 0, sizeof(st));
    return st;
}

static void a_saved_cache_is_used(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("kept", &g, OURS);
    struct og_dataset *ds = open_dataset("kept");
    const char *dir = path_in("kept-cache");
    size_t capacity = og__neighbors_whole_bytes(ds) / 3;
    struct heard heard = {0};
    struct og_budget *b = og__budget_new(0);
    struct og_topology t = open_disk(ds, b, capacity, dir, &heard);
    assert_int_equal(heard.lines, 1);
    assert_non_null(strstr(heard.last, "building"));
    struct stat before = stat_of(dir, "ids.npy");
    size_t held = og__budget_used(b);
    struct og_topology memory;
    const int fanout[2] = {10, 10};
    assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
    /* given back, and fetched again */
    og__neighbors_unload(&t);
    assert_int_equal(og__budget_used(b), og__topology_disk_bytes(ds));
    compare(ds, &memory, &t, fanout, 2, 2);
    assert_int_equal(og__neighbors_load(&t, NULL), 0);
    assert_int_equal(og__budget_used(b), held);
    compare(ds, &memory, &t, fanout, 2, 2);
    og__topology_release(&t);
    /* by the next program: no more memory than it takes, so nothing can have been built */
    struct og_budget *tight = og__budget_new(og__topology_disk_bytes(ds) + 4 * OG_MIB);
    t = open_disk(ds, tight, capacity, dir, &heard);
    assert_int_equal(heard.lines, 1);
    assert_int_equal(og__budget_used(tight), held);
    compare(ds, &memory, &t, fanout, 2, 2);
    og__topology_release(&t);
    og__budget_free(tight);
    struct stat after = stat_of(dir, "ids.npy");
    assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    /* a folder that cannot be is said, and no error */
    t = open_disk(ds, b, capacity, "/proc/none", &heard);
    assert_non_null(strstr(heard.last, "again next time"));
    compare(ds, &memory, &t, fanout, 2, 1);
    og__topology_release(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__topology_release(&memory);
    og__dataset_close(ds);
    free_graph(&g);
}

/* Replace `from` in the note by `to` of the same length or other. */
static void edit_note(const char *dir, const char *key, const char *value)
{
    char path[800];
    char *text;
    char out[2000];
    size_t len;
    snprintf(path, sizeof(path), "%s/neighbors.json", dir);
    assert_int_equal(og__read_text(path, 4000, &text, &len, NULL), 0);
    char *at = strstr(text, key);
    assert_non_null(at);
    at += strlen(key) + 3; /* ": */
    char *end = at + strcspn(at, ",\n}");
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, value, end);
    free(text);
    assert_int_equal(og__write_text(path, out, strlen(out), NULL), 0);
}

static void poke(const char *dir, const char *file, int64_t at, const void *data, size_t bytes)
{
    char path[800];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, data, bytes, at < 0 ? st.st_size + at : at), bytes);
    close(fd);
}

static void cut(const char *dir, const char *file, int64_t by)
{
    char path[800];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    struct stat st = stat_of(dir, file);
    assert_int_equal(truncate(path, by < 0 ? 0 : st.st_size - by), 0);
}

/* A checksum in the note that matches what now lies in the file. */
static void forge(const char *dir, const char *file, const char *key)
{
    char path[800];
    char hex[32];
    char *data;
    size_t len;
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    assert_int_equal(og__read_text(path, 1 << 24, &data, &len, NULL), 0);
    snprintf(hex, sizeof(hex), "\"%016llx\"",
             (unsigned long long)XXH3_64bits(data + 4096, len - 4096));
    free(data);
    edit_note(dir, key, hex);
}

static const uint32_t beyond = 2600; /* no node of the graph */
static const uint64_t all_bits = UINT64_MAX;
static const char note_file[] = "neighbors.json";
static const char nodes_file[] = "nodes.npy";
static const char ids_file[] = "ids.npy";

/* What is done to what was saved, in this order; `forge` makes the checksums right again. */
static const struct damage {
    const char *key, *value; /* in the note */
    const char *file;
    int64_t cut; /* bytes off its end; -1: all of it */
    const void *bytes;
    size_t n;
    int64_t at; /* from the end when negative */
    const char *forge, *copy;
} damages[] = {
    {.file = note_file, .cut = -1},
    {.file = note_file, .cut = 5},
    {.file = note_file, .bytes = "\xff\xfe", .n = 2, .at = 20},
    {.key = "format", .value = "2"},
    {.key = "structure", .value = "\"0123456789abcdef\""},
    {.key = "structure", .value = "\"0123\""},
    {.key = "capacity", .value = "77"},
    {.key = "num_nodes", .value = "2599"},
    {.key = "num_edges", .value = "1"},
    {.key = "lists", .value = "-3"},
    {.key = "lists", .value = "9223372036854775807"},
    {.key = "ids", .value = "12"},
    {.key = "ids_checksum", .value = "\"0123456789abcdef\""},
    {.key = "nodes_checksum", .value = "7"},
    {.file = nodes_file, .cut = 1},
    {.file = nodes_file, .cut = -1},
    {.file = ids_file, .cut = 4},
    {.file = ids_file, .bytes = "\x01", .n = 1, .at = 4096 + 40},
    {.file = nodes_file, .bytes = &all_bits, .n = 8, .at = 4096 + 8},
    {.file = nodes_file, .bytes = &all_bits, .n = 8, .at = -8, .forge = "nodes_checksum"},
    {.file = ids_file, .bytes = &beyond, .n = 4, .at = -4, .forge = "ids_checksum"},
    {.file = ids_file, .bytes = "\x92", .n = 1, .at = 0}, /* no .npy */
    {.file = ids_file, .bytes = "<i4", .n = 3, .at = 21}, /* the type */
    {.copy = ids_file},                                   /* of another capacity */
    {.copy = nodes_file},
    {.copy = note_file},
};

static void damage(const char *dir, const char *other, const struct damage *d)
{
    char command[1400];
    if (d->key)
        edit_note(dir, d->key, d->value);
    if (d->cut)
        cut(dir, d->file, d->cut);
    if (d->n)
        poke(dir, d->file, d->at, d->bytes, d->n);
    if (d->forge)
        forge(dir, d->file, d->forge);
    if (d->copy) {
        snprintf(command, sizeof(command), "cp '%s/%s' '%s/'", other, d->copy, dir);
        assert_int_equal(system(command), 0);
    }
}

static void a_damaged_cache_is_built_anew(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("hurt", &g, OURS);
    struct og_dataset *ds = open_dataset("hurt");
    struct og_topology memory;
    const int fanout[2] = {10, 10};
    const char dir[] = "hurt-cache";
    char path[400];
    char other[400];
    struct heard heard = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, dir);
    snprintf(other, sizeof(other), "%s/%s-other", folder, dir);
    assert_int_equal(og__topology_load(ds, NULL, &memory, NULL), 0);
    size_t capacity = og__neighbors_whole_bytes(ds) / 3;
    struct og_topology t = open_disk(ds, NULL, capacity / 2, other, NULL);
    og__topology_release(&t);
    t = open_disk(ds, NULL, capacity, path, NULL);
    uint64_t n_ids = t.disk->cache.n_ids;
    uint32_t *ids = malloc(n_ids * 4);
    memcpy(ids, t.disk->cache.ids, n_ids * 4);
    og__topology_release(&t);
    for (int way = 0; way < (int)OG_COUNT(damages); way++) {
        struct og_budget *b = og__budget_new(0);
        damage(path, other, &damages[way]);
        heard = (struct heard){0};
        t = open_disk(ds, b, capacity, path, &heard);
        if (heard.lines != 1 || !strstr(heard.last, "building"))
            fail_msg("way %d: %d lines, the last \"%s\"", way, heard.lines, heard.last);
        assert_int_equal(t.disk->cache.n_ids, n_ids);
        assert_memory_equal(t.disk->cache.ids, ids, n_ids * 4);
        compare(ds, &memory, &t, fanout, 2, 1);
        og__topology_release(&t);
        t = open_disk(ds, b, capacity, path, &heard); /* healed */
        assert_int_equal(heard.lines, 1);
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    free(ids);
    og__topology_release(&memory);
    og__dataset_close(ds);
    free_graph(&g);
}

/* Killed at any moment of building and saving: what is there afterwards is right or built anew. */
static void a_killed_build_leaves_no_lie(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("killed", &g, OURS);
    struct og_dataset *ds = open_dataset("killed");
    const char *dir = path_in("killed-cache");
    size_t capacity = og__neighbors_whole_bytes(ds) / 3;
    struct og_topology right = open_disk(ds, NULL, capacity, NULL, NULL);
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) { /* other capacities in turn, so that files of several lie about */
            for (size_t k = 1;; k++) {
                struct og_topology t = open_disk(ds, NULL, capacity / (1 + k % 3), dir, NULL);
                og__topology_release(&t);
            }
        }
        usleep(3000 + (useconds_t)test_scramble((uint32_t)i) % 20000);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct og_topology t = open_disk(ds, NULL, capacity, dir, NULL);
        assert_int_equal(t.disk->cache.n_ids, right.disk->cache.n_ids);
        assert_memory_equal(t.disk->cache.ids, right.disk->cache.ids, right.disk->cache.n_ids * 4);
        og__topology_release(&t);
    }
    og__topology_release(&right);
    og__dataset_close(ds);
    free_graph(&g);
}

/* ---- failing ---- */

static void a_failed_read_is_one_error(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    for (int way = 0; way < 2; way++) {
        write_graph("short", &g, OURS);
        struct og_dataset *ds = open_dataset("short");
        struct og_budget *b = og__budget_new(0);
        struct og_topology t = open_disk(ds, b, 0, NULL, NULL);
        struct og_sampler *s;
        struct og_batch_memory m;
        const int fanout[3] = {10, 10, 10};
        uint32_t seeds[SEEDS];
        struct og_err err = {0};
        pick_seeds(g.n, 0, seeds);
        og__batch_init(&m, b);
        assert_int_equal(og__sampler_open(&s, &t, fanout, 3, 1, b, &err), 0);
        assert_int_equal(og__sample(s, seeds, SEEDS, OG__STREAM_SAMPLE, 0, 0, &m, &err), 0);
        if (way == 0)
            assert_int_equal(truncate(ds->indices.path, 100000), 0);
        for (int64_t e = 50000; way == 1 && e < g.indptr[g.n]; e++)
            g.indices[e] = 60000;
        if (way == 1)
            poke(ds->path, "indices.npy", 4096 + 200000, g.indices + 50000,
                 (size_t)(g.indptr[g.n] - 50000) * 4);
        for (int again = 0; again < 3; again++) { /* and once more, with no harm */
            struct og_err why = {0};
            int rc = og__sample(s, seeds, SEEDS, OG__STREAM_SAMPLE, 0, 0, &m, &why);
            assert_int_equal(rc, way ? -EINVAL : -EIO);
            assert_non_null(strstr(why.message, "indices.npy"));
            assert_true(why.hint[0]);
        }
        og__sampler_close(s);
        og__batch_release(&m);
        struct og_err why = {0};
        uint32_t *count = malloc((size_t)g.n * 4);
        assert_true(og__topology_out_degrees(&t, count, &why) < 0 && why.message[0]);
        free(count);
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        og__dataset_close(ds);
    }
    free_graph(&g);
}

static void what_cannot_be_held_is_refused(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("refused", &g, OURS);
    struct og_dataset *ds = open_dataset("refused");
    size_t capacity = og__neighbors_whole_bytes(ds);
    size_t all = og__topology_disk_bytes(ds) + capacity + og__neighbors_build_bytes(ds);
    for (size_t limit = 1; limit < all; limit += all / 50) {
        struct og_budget *b = og__budget_new(limit);
        struct og_err err = {0};
        struct og_topology t;
        struct og_topology_disk_options opt = {.cache_bytes = capacity};
        int rc = og__topology_open_disk(ds, &opt, b, &t, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__dataset_close(ds);
    g.indptr[5] = g.indptr[6] + 1; /* falls after it */
    write_graph("refused", &g, OURS);
    ds = open_dataset("refused");
    struct og_err err = {0};
    struct og_topology t;
    struct og_topology_disk_options opt = {0};
    assert_int_equal(og__topology_open_disk(ds, &opt, NULL, &t, &err), -EINVAL);
    assert_non_null(strstr(err.message, "entry 6"));
    og__dataset_close(ds);
    free_graph(&g);
    /* two numbers too far apart for one base */
    struct og_offsets o;
    assert_int_equal(og__offsets_init(&o, 3000, NULL, "topology", NULL), 0);
    assert_true(og__offsets_put(&o, 1024, (int64_t)1 << 40));
    assert_true(og__offsets_put(&o, 1025, ((int64_t)1 << 40) + UINT32_MAX));
    assert_int_equal(og__offset(&o, 1025), ((int64_t)1 << 40) + UINT32_MAX);
    assert_false(og__offsets_put(&o, 1026, ((int64_t)1 << 40) + UINT32_MAX + 1));
    og__offsets_release(&o, NULL, "topology");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_memory),
        cmocka_unit_test(a_hub_of_many),
        cmocka_unit_test(every_way_to_draw),
        cmocka_unit_test(generated_graphs),
        cmocka_unit_test(one_edge_alone),
        cmocka_unit_test(every_engine_and_all_at_once),
        cmocka_unit_test(samplers_share_a_topology),
        cmocka_unit_test(the_best_lists_are_cached),
        cmocka_unit_test(reads_are_those_needed),
        cmocka_unit_test(sizes_are_told_beforehand),
        cmocka_unit_test(scans_every_edge_in_order),
        cmocka_unit_test(hotness_is_the_same_on_disk),
        cmocka_unit_test(a_saved_cache_is_used),
        cmocka_unit_test(a_damaged_cache_is_built_anew),
        cmocka_unit_test(a_killed_build_leaves_no_lie),
        cmocka_unit_test(a_failed_read_is_one_error),
        cmocka_unit_test(what_cannot_be_held_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
