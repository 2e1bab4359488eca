/* The external sorter against qsort, with memory so small that edges are spilled and spilled again.
 */
#include "support/testing.h"

#include "base/random.h"
#include "dataset/schema.h"
#include "dataset/writer.h"
#include "support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct edge {
    uint32_t relation, dst, src;
    uint32_t order; /* in which it came: also its weight */
};

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    if (x->relation != y->relation)
        return x->relation < y->relation ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

struct setting {
    uint32_t n_nodes; /* homogeneous; or of the first of its groups */
    size_t n_edges;
    int hub_percent;     /* edges into node 0 */
    int same_percent;    /* edges 1 -> 2 */
    bool weighted, drop; /* those with weights have numbers too */
    size_t memory;
    int threads;
    bool typed;
};

/* A graph of one group and one relation, or of three and five. The third relation has no edges. Nor
 * has the last, whose sources have the largest ids. */
static void make_graph(const struct setting *s, struct og_graph *g)
{
    static const uint32_t ends[][2] = {{1, 0}, {0, 0}, {1, 1}, {0, 1}, {2, 1}};
    assert_int_equal(og__schema_init(g, NULL), 0);
    og__schema_plain(g, s->n_nodes);
    if (!s->typed)
        return;
    g->n_groups = g->n_relations = 0;
    g->n_nodes = 0;
    assert_int_equal(og__schema_add_group(g, "a", s->n_nodes, "test", NULL), 0);
    assert_int_equal(og__schema_add_group(g, "b", s->n_nodes / 3 + 1, "test", NULL), 0);
    assert_int_equal(og__schema_add_group(g, "c", 7 * s->n_nodes, "test", NULL), 0);
    for (size_t r = 0; r < OG_COUNT(ends); r++)
        assert_int_equal(og__schema_add_relation(g, ends[r][0], "to", ends[r][1], "test", NULL), 0);
    assert_int_equal(og__schema_resolve(g, false, "test", NULL), 0);
}

static struct edge *draw(const struct setting *s, const struct og_graph *g)
{
    static const uint32_t with_edges[] = {0, 1, 3};
    struct edge *e = calloc(s->n_edges + 1, sizeof(*e));
    struct og_rng rng;
    for (size_t i = 0; i < s->n_edges; i++) {
        og__rng_at(&rng, 3, OG__STREAM_BENCH, 0, 0, 0, (uint32_t)i);
        int kind = (int)og__rng_below(&rng, 100);
        const uint32_t of = s->typed ? with_edges[og__rng_below(&rng, 3)] : 0;
        const struct og_relation *r = &g->relation[of];
        const uint32_t n = (uint32_t)r->n_nodes;
        const uint32_t sources = (uint32_t)r->n_sources;
        e[i] = (struct edge){of, og__rng_below(&rng, n), og__rng_below(&rng, sources), (uint32_t)i};
        if (kind < s->hub_percent)
            e[i].dst = 0;
        else if (kind < s->hub_percent + s->same_percent)
            e[i] = (struct edge){of, 2 % n, 1 % sources, (uint32_t)i};
    }
    return e;
}

static void sort_ours(const struct setting *s, struct og_graph *g, const struct edge *e,
                      const char *folder, struct og_edge_sorter_result *result)
{
    struct og_pool *pool;
    struct og_edge_sorter *sorter;
    struct og_budget *budget = og__budget_new(s->memory);
    assert_int_equal(og__pool_open(&pool, s->threads, NULL), 0);
    struct og_edge_sorter_options opt = {.graph = g,
                                         .weighted = s->weighted,
                                         .numbered = s->weighted,
                                         .drop_duplicates = s->drop,
                                         .drop_self_loops = s->drop,
                                         .memory = s->memory,
                                         .scratch = folder,
                                         .pool = pool};
    assert_int_equal(og__sorter_open(&sorter, &opt, budget, NULL), 0);
    for (size_t i = 0; i < s->n_edges;) {
        uint32_t src[1000];
        uint32_t dst[1000];
        float weight[1000];
        size_t n = 0;
        const uint32_t r = e[i].relation;
        const int64_t first = (int64_t)i;
        for (; n < 1000 && i < s->n_edges && e[i].relation == r; n++, i++) {
            src[n] = e[i].src;
            dst[n] = e[i].dst;
            weight[n] = (float)e[i].order;
        }
        assert_int_equal(
            og__sorter_add(sorter, r, src, dst, s->weighted ? weight : NULL, first, n, NULL), 0);
    }
    json_t *checksums = json_object();
    assert_int_equal(og__sorter_finish(sorter, folder, checksums, result, NULL), 0);
    assert_int_equal(json_object_size(checksums), g->n_relations * (s->weighted ? 4 : 2));
    json_decref(checksums);
    og__sorter_free(sorter);
    og__pool_close(pool);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
}

/* Same edges in the same order; duplicates and loops dropped here too. */
static size_t expected(const struct setting *s, const struct og_graph *g, struct edge *e)
{
    qsort(e, s->n_edges, sizeof(*e), by_edge);
    if (!s->drop)
        return s->n_edges;
    size_t kept = 0;
    for (size_t i = 0; i < s->n_edges; i++) {
        const struct edge *last = kept > 0 ? &e[kept - 1] : NULL;
        bool doubled = last && last->relation == e[i].relation && last->dst == e[i].dst &&
                       last->src == e[i].src;
        const struct og_relation *r = &g->relation[e[i].relation];
        if (!doubled && (e[i].dst != e[i].src || r->source != r->destination))
            e[kept++] = e[i];
    }
    return kept;
}

static void open_in(struct og_npy *a, const char *folder, const struct og_graph *g, uint32_t r,
                    enum og__array array)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s.npy", folder, og__relation_array(g, r, array).text);
    assert_int_equal(og__npy_open(a, path, NULL), 0);
    unlink(path);
}

/* The n edges are those of the relation. */
static void check_relation(const struct setting *s, const struct og_graph *g, uint32_t r,
                           const struct edge *e, size_t n, const char *folder)
{
    const size_t lists = (size_t)g->relation[r].n_nodes;
    struct og_npy indptr;
    struct og_npy indices;
    open_in(&indptr, folder, g, r, OG__INDPTR);
    open_in(&indices, folder, g, r, OG__INDICES);
    assert_int_equal(indptr.shape[0], lists + 1);
    assert_int_equal(indices.shape[0], n);
    assert_int_equal(g->relation[r].n_edges, n);
    assert_int_equal(indices.offset % 4096, 0);
    int64_t *ptr = calloc(lists + 1, sizeof(*ptr));
    int32_t *index = calloc(n + 1, sizeof(*index));
    assert_int_equal(og__npy_read(&indptr, 0, (int64_t)lists + 1, ptr, NULL), 0);
    assert_int_equal(og__npy_read(&indices, 0, (int64_t)n, index, NULL), 0);
    size_t at = 0;
    for (uint32_t v = 0; v < lists; v++) {
        assert_int_equal(ptr[v], at);
        for (; at < n && e[at].dst == v; at++)
            assert_int_equal(index[at], e[at].src);
    }
    assert_int_equal(ptr[lists], n);
    if (s->weighted) {
        struct og_npy weights;
        float *w = calloc(n + 1, sizeof(*w));
        open_in(&weights, folder, g, r, OG__WEIGHTS);
        assert_int_equal(og__npy_read(&weights, 0, (int64_t)n, w, NULL), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(w[i] == (float)e[i].order);
        og__npy_close(&weights);
        free(w);
        struct og_npy numbers;
        int64_t *number = calloc(n + 1, sizeof(*number));
        open_in(&numbers, folder, g, r, OG__EDGE_IDS);
        assert_int_equal(og__npy_read(&numbers, 0, (int64_t)n, number, NULL), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(number[i], e[i].order);
        og__npy_close(&numbers);
        free(number);
    }
    og__npy_close(&indptr);
    og__npy_close(&indices);
    free(ptr);
    free(index);
}

static void check(const struct setting *s, const struct og_graph *g, struct edge *e,
                  const char *folder)
{
    const size_t n = expected(s, g, e);
    size_t end = 0;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const size_t first = end;
        while (end < n && e[end].relation == r)
            end++;
        check_relation(s, g, r, e + first, end - first, folder);
    }
    assert_int_equal(end, n);
    assert_int_equal(g->n_edges, n);
}

static void edges_come_out_sorted(void **state)
{
    (void)state;
    static const struct setting settings[] = {
        {1, 0, 0, 0, false, false, 32 * OG_MIB, 1, false},
        {1, 5, 0, 0, true, false, 32 * OG_MIB, 1, false},
        {5, 1000, 0, 0, true, true, 32 * OG_MIB, 2, false},
        {100000, 300000, 0, 0, false, false, 32 * OG_MIB, 2, false},
        {100000, 300000, 10, 5, true, true, 8 * OG_MIB, 3, false},   /* spills */
        {100000, 900000, 60, 0, false, false, 6 * OG_MIB, 2, false}, /* a hub larger than memory */
        {100000, 900000, 5, 60, true, false, 7 * OG_MIB, 2, false},  /* an edge more than fits */
        {100000, 900000, 5, 60, true, true, 7 * OG_MIB, 1, false},
        {3, 0, 0, 0, true, false, 32 * OG_MIB, 1, true},
        {5, 1000, 0, 0, true, true, 32 * OG_MIB, 2, true},
        {30000, 300000, 10, 5, true, true, 8 * OG_MIB, 3, true},
        {30000, 900000, 60, 0, false, false, 6 * OG_MIB, 2, true},
    };
    for (size_t i = 0; i < OG_COUNT(settings); i++) {
        char folder[TEST_PATH];
        assert_non_null(test_folder(folder, "sorter"));
        struct og_graph g;
        make_graph(&settings[i], &g);
        struct edge *e = draw(&settings[i], &g);
        struct og_edge_sorter_result result;
        sort_ours(&settings[i], &g, e, folder, &result);
        check(&settings[i], &g, e, folder);
        free(e);
        og__schema_release(&g);
        assert_int_equal(rmdir(folder), 0); /* the scratch file left no name */
    }
}

static void too_little_memory_is_refused(void **state)
{
    (void)state;
    struct og_edge_sorter *s;
    struct og_err err = {0};
    struct og_graph g;
    assert_int_equal(og__schema_init(&g, NULL), 0);
    og__schema_plain(&g, 10);
    struct og_edge_sorter_options opt = {.graph = &g, .memory = OG_MIB, .scratch = "/tmp"};
    assert_int_equal(og__sorter_open(&s, &opt, NULL, &err), -ENOMEM);
    assert_true(err.hint[0]);
    og__schema_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_come_out_sorted),
        cmocka_unit_test(too_little_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
