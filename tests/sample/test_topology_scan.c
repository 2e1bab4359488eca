/* Topology on disk: every edge in order, and what is reckoned from all of them. */
#include "sample/topology_fixture.h"

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
        struct og_graph *ds = open_dataset("scan");
        struct og_topology t[2];
        struct og_budget *b = og__budget_new(og__topology_disk_bytes(ds) + 4 * OG_MIB);
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t[0], NULL), 0);
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
        og__graph_close(ds);
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
    uint32_t *others = calloc(1, bytes); /* in-neighbours, itself aside */
    uint32_t *got = malloc(bytes);
    float *rank = malloc(bytes);
    const uint32_t seeds[3] = {1, 110, 149999};
    for (int64_t e = 0; e < g.indptr[g.n]; e++) {
        degree[g.indices[e]]++;
        guess[g.indices[e]] += e % 256 < 16 && e / 256 * 256 + 16 <= g.indptr[g.n];
    }
    for (int64_t v = 0; v < g.n; v++)
        for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; e++)
            others[v] += g.indices[e] != v;
    pagerank_by_definition(&g, seeds, 3, rank);
    for (int layout = 0; layout < LAYOUTS; layout++) {
        write_graph("hot", &g, (enum layout)layout);
        struct og_graph *ds = open_dataset("hot");
        for (int i = 0; i < 2; i++) {
            struct og_topology t;
            if (i == 0)
                assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t, NULL), 0);
            else
                t = open_disk(ds, NULL, 0, NULL, NULL);
            assert_int_equal(og__topology_out_degrees(&t, got, NULL), 0);
            assert_memory_equal(got, degree, bytes);
            assert_int_equal(og__topology_count_sources(&t, got, NULL), 0);
            assert_memory_equal(got, degree, bytes);
            assert_int_equal(og__topology_count_neighbors(&t, got, NULL), 0);
            assert_memory_equal(got, others, bytes);
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
        og__graph_close(ds);
    }
    free(degree);
    free(guess);
    free(others);
    free(got);
    free(rank);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_every_edge_in_order),
        cmocka_unit_test(hotness_is_the_same_on_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
