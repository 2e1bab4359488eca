/* The external sorter against qsort, with memory so small that edges are spilled and spilled again.
 */
#include "support/testing.h"

#include "base/random.h"
#include "dataset/writer.h"
#include "support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct edge {
    uint32_t dst, src;
    uint32_t order; /* in which it came: also its weight */
};

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

struct setting {
    uint32_t n_nodes;
    size_t n_edges;
    int hub_percent;  /* edges into node 0 */
    int same_percent; /* edges 1 -> 2 */
    bool weighted, drop;
    size_t memory;
    int threads;
};

static struct edge *draw(const struct setting *s)
{
    struct edge *e = calloc(s->n_edges + 1, sizeof(*e));
    struct og_rng rng;
    for (size_t i = 0; i < s->n_edges; i++) {
        og__rng_at(&rng, 3, OG__STREAM_BENCH, 0, 0, 0, (uint32_t)i);
        int kind = (int)og__rng_below(&rng, 100);
        e[i] = (struct edge){og__rng_below(&rng, s->n_nodes), og__rng_below(&rng, s->n_nodes),
                             (uint32_t)i};
        if (kind < s->hub_percent)
            e[i].dst = 0;
        else if (kind < s->hub_percent + s->same_percent)
            e[i] = (struct edge){2 % s->n_nodes, 1 % s->n_nodes, (uint32_t)i};
    }
    return e;
}

static void sort_ours(const struct setting *s, const struct edge *e, const char *folder,
                      struct og_edge_sorter_result *result)
{
    struct og_pool *pool;
    struct og_edge_sorter *sorter;
    struct og_budget *budget = og__budget_new(s->memory);
    assert_int_equal(og__pool_open(&pool, s->threads, NULL), 0);
    struct og_edge_sorter_options opt = {.n_nodes = s->n_nodes,
                                         .weighted = s->weighted,
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
        for (; n < 1000 && i < s->n_edges; n++, i++) {
            src[n] = e[i].src;
            dst[n] = e[i].dst;
            weight[n] = (float)e[i].order;
        }
        assert_int_equal(og__sorter_add(sorter, src, dst, s->weighted ? weight : NULL, n, NULL), 0);
    }
    assert_int_equal(og__sorter_finish(sorter, folder, result, NULL), 0);
    og__sorter_free(sorter);
    og__pool_close(pool);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
}

/* Same edges in the same order; duplicates and loops dropped here too. */
static size_t expected(const struct setting *s, struct edge *e)
{
    qsort(e, s->n_edges, sizeof(*e), by_edge);
    if (!s->drop)
        return s->n_edges;
    size_t kept = 0;
    for (size_t i = 0; i < s->n_edges; i++) {
        bool doubled = kept > 0 && e[kept - 1].dst == e[i].dst && e[kept - 1].src == e[i].src;
        if (!doubled && e[i].dst != e[i].src)
            e[kept++] = e[i];
    }
    return kept;
}

static void open_in(struct og_npy *a, const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(og__npy_open(a, path, NULL), 0);
    unlink(path);
}

static void check(const struct setting *s, struct edge *e, const char *folder)
{
    size_t n = expected(s, e);
    struct og_npy indptr;
    struct og_npy indices;
    open_in(&indptr, folder, "indptr.npy");
    open_in(&indices, folder, "indices.npy");
    assert_int_equal(indptr.shape[0], s->n_nodes + 1);
    assert_int_equal(indices.shape[0], n);
    assert_int_equal(indices.offset % 4096, 0);
    int64_t *ptr = calloc(s->n_nodes + (size_t)1, sizeof(*ptr));
    int32_t *index = calloc(n + 1, sizeof(*index));
    assert_int_equal(og__npy_read(&indptr, 0, s->n_nodes + (int64_t)1, ptr, NULL), 0);
    assert_int_equal(og__npy_read(&indices, 0, (int64_t)n, index, NULL), 0);
    size_t at = 0;
    for (uint32_t v = 0; v < s->n_nodes; v++) {
        assert_int_equal(ptr[v], at);
        for (; at < n && e[at].dst == v; at++)
            assert_int_equal(index[at], e[at].src);
    }
    assert_int_equal(ptr[s->n_nodes], n);
    if (s->weighted) {
        struct og_npy weights;
        float *w = calloc(n + 1, sizeof(*w));
        open_in(&weights, folder, "weights.npy");
        assert_int_equal(og__npy_read(&weights, 0, (int64_t)n, w, NULL), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(w[i] == (float)e[i].order);
        og__npy_close(&weights);
        free(w);
    }
    og__npy_close(&indptr);
    og__npy_close(&indices);
    free(ptr);
    free(index);
}

static void edges_come_out_sorted(void **state)
{
    (void)state;
    static const struct setting settings[] = {
        {1, 0, 0, 0, false, false, 32 * OG_MIB, 1},
        {1, 5, 0, 0, true, false, 32 * OG_MIB, 1},
        {5, 1000, 0, 0, true, true, 32 * OG_MIB, 2},
        {100000, 300000, 0, 0, false, false, 32 * OG_MIB, 2},
        {100000, 300000, 10, 5, true, true, 8 * OG_MIB, 3},   /* spills */
        {100000, 900000, 60, 0, false, false, 6 * OG_MIB, 2}, /* a hub larger than memory */
        {100000, 900000, 5, 60, true, false, 7 * OG_MIB, 2},  /* one edge more often than fits */
        {100000, 900000, 5, 60, true, true, 7 * OG_MIB, 1},
    };
    for (size_t i = 0; i < OG_COUNT(settings); i++) {
        char folder[TEST_PATH];
        assert_non_null(test_folder(folder, "sorter"));
        struct edge *e = draw(&settings[i]);
        struct og_edge_sorter_result result;
        sort_ours(&settings[i], e, folder, &result);
        check(&settings[i], e, folder);
        free(e);
        assert_int_equal(rmdir(folder), 0); /* the scratch file left no name */
    }
}

static void too_little_memory_is_refused(void **state)
{
    (void)state;
    struct og_edge_sorter *s;
    struct og_err err = {0};
    struct og_edge_sorter_options opt = {.n_nodes = 10, .memory = OG_MIB, .scratch = "/tmp"};
    assert_int_equal(og__sorter_open(&s, &opt, NULL, &err), -ENOMEM);
    assert_true(err.hint[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_come_out_sorted),
        cmocka_unit_test(too_little_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
