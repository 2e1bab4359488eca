/* sample: what must hold of every way to draw. */
#include "sample/samplers_fixture.h"

/* ---- what holds of every sampler ---- */

static int degrees_with_a_hub(int64_t v)
{
    return v == HUB ? N - 1 : (int)(v % 41);
}

static bool is_edge(const struct graph *g, uint32_t v, uint32_t u)
{
    for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
        if (g->indices[e] == (int32_t)u)
            return true;
    return false;
}

static int64_t heavy_edges(const struct graph *g, uint32_t v)
{
    int64_t n = 0;
    for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
        n += g->weights[e] > 0;
    return n;
}

/* How many edges destination v must have; -1 where that is left to chance. */
static int64_t expected_edges(const struct graph *g, const struct og_sampling *how, uint32_t v,
                              int fanout)
{
    int64_t degree = g->indptr[v + 1] - g->indptr[v];
    if (how->kind == OG_SAMPLER_WALK)
        return degree == 0 ? 0 : -1;
    if (how->kind == OG_SAMPLER_LABOR && fanout >= 0 && degree > fanout)
        return -1;
    if (how->kind == OG_SAMPLER_LADIES && fanout >= 0)
        return -1;
    if (how->kind == OG_SAMPLER_WEIGHTED)
        degree = heavy_edges(g, v);
    if (how->replace && fanout >= 0)
        return degree > 0 ? fanout : 0;
    return fanout < 0 ? degree : OG_MIN(degree, fanout);
}

static void check_list(const struct graph *g, const struct og_sampling *how,
                       const struct og_batch *b, uint32_t h, uint32_t d, int fanout)
{
    const struct og_block *k = &b->hop[h];
    bool seen[N] = {false};
    double sum = 0;
    uint32_t v = b->ids[d];
    int64_t n = k->indptr[d + 1] - k->indptr[d];
    int64_t expected = expected_edges(g, how, v, fanout);
    if (expected >= 0)
        assert_int_equal(n, expected);
    for (uint32_t e = k->indptr[d]; e < k->indptr[d + 1]; e++) {
        uint32_t u = b->ids[k->src[e]];
        /* every in-neighbour stands once in its list */
        assert_true(!seen[u] || (how->replace && fanout >= 0));
        seen[u] = true;
        if (how->kind != OG_SAMPLER_WALK)
            assert_true(is_edge(g, v, u));
        if (k->weight)
            sum += (double)k->weight[e];
    }
    if (k->weight && n > 0)
        assert_true(fabs(sum - 1) < 1e-5);
}

/* The hop that node d of the batch drew its neighbours of hop h in. */
static uint32_t hop_of_draw(const struct og_sampling *how, const struct og_batch *b, uint32_t h,
                            uint32_t d)
{
    uint32_t first = 0;
    while (d >= b->hop[first].n_dst)
        first++;
    return how->once ? first : h;
}

/* All that is in the one is the beginning of the other, which is kept once. */
static void assert_part(const struct og_block *part, const struct og_block *whole)
{
    assert_ptr_equal(part->indptr, whole->indptr);
    assert_ptr_equal(part->src, whole->src);
    assert_ptr_equal(part->weight, whole->weight);
    assert_int_equal(part->n_edges, whole->indptr[part->n_dst]);
}

static void check_batch(const struct graph *g, const struct og_sampling *how,
                        const struct og_batch *b, const uint32_t *seeds, uint32_t n_seeds,
                        const int *fanout)
{
    bool met[N] = {false};
    uint32_t known = n_seeds;
    assert_memory_equal(b->ids, seeds, n_seeds * 4);
    for (uint32_t i = 0; i < b->n_ids; i++) {
        assert_true(b->ids[i] < N && !met[b->ids[i]]);
        met[b->ids[i]] = true;
    }
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        assert_int_equal(k->n_dst, known);
        assert_int_equal(k->indptr[0], 0);
        assert_int_equal(k->indptr[k->n_dst], k->n_edges);
        assert_int_equal(k->weight != NULL, og__sampling_weighs(how));
        for (uint64_t e = 0; e < k->n_edges; e++) {
            assert_true(k->src[e] <= known);
            known += k->src[e] == known;
        }
        assert_int_equal(k->n_src, known);
        for (uint32_t d = 0; d < k->n_dst; d++)
            check_list(g, how, b, h, d, fanout[hop_of_draw(how, b, h, d)]);
        if (how->once && h > 0)
            assert_part(k - 1, k);
    }
    assert_int_equal(b->n_ids, known);
}

static void blocks_are_what_models_expect(void **state)
{
    static const int fanouts[][3] = {{10, 10, 10}, {1, 1, 1},   {-1, 2, 3},
                                     {60, 5, 50},  {2, 400, 2}, {-1, -1, -1}};
    (void)state;
    struct graph g = make_graph(N, degrees_with_a_hub);
    for (size_t w = 0; w < OG_COUNT(ways); w++)
        for (size_t f = 0; f < OG_COUNT(fanouts); f++) {
            struct source k = open_source(&g, &ways[w], fanouts[f], 3, 5, NULL);
            for (uint32_t batch = 0; batch < 6; batch++) {
                uint32_t seeds[5] = {batch + 2, batch + 8, 100 + batch, 300 - batch, 499 - batch};
                check_batch(&g, &ways[w], sample(&k, seeds, 5, batch), seeds, 5, fanouts[f]);
            }
            close_source(&k);
        }
    free_graph(&g);
}

static void assert_same_batch(const struct og_batch *a, const struct og_batch *b)
{
    assert_int_equal(a->n_ids, b->n_ids);
    assert_memory_equal(a->ids, b->ids, a->n_ids * 4);
    for (uint32_t h = 0; h < a->n_hops; h++) {
        const struct og_block *x = &a->hop[h];
        const struct og_block *y = &b->hop[h];
        assert_int_equal(x->n_edges, y->n_edges);
        assert_memory_equal(x->indptr, y->indptr, ((size_t)x->n_dst + 1) * 4);
        assert_memory_equal(x->src, y->src, x->n_edges * 4);
        assert_int_equal(x->weight != NULL, y->weight != NULL);
        if (x->weight)
            assert_memory_equal(x->weight, y->weight, x->n_edges * 4);
    }
}

/* A batch is the same from a fresh sampler, out of order, and with 64-bit indices. It is another
 * with another key. Once batches of all sizes have passed, nothing more is taken from the
 * budget. */
static void a_batch_depends_on_its_key_alone(void **state)
{
    static const int fanout[2] = {6, 5};
    static const uint32_t seeds[4] = {HUB, 40, 80, 120};
    (void)state;
    struct graph g = make_graph(N, degrees_with_a_hub);
    struct graph wide = g;
    int64_t *indices = calloc((size_t)g.t.n_edges, 8);
    for (int64_t e = 0; e < g.t.n_edges; e++)
        indices[e] = g.indices[e];
    wide.t.indices32 = NULL;
    wide.t.indices64 = indices;
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        struct og_budget *budget = og__budget_new(0);
        struct source a = open_source(&g, &ways[w], fanout, 2, 9, budget);
        struct source b = open_source(&wide, &ways[w], fanout, 2, 9, NULL);
        size_t used[2];
        for (int pass = 0; pass < 2; pass++) {
            for (uint32_t i = 0; i < 20; i++)
                sample(&a, seeds, 4, i);
            used[pass] = og__budget_used(budget);
        }
        assert_int_equal(used[0], used[1]);
        assert_same_batch(&a.m.batch, sample(&b, seeds, 4, 19));
        sample(&b, seeds, 4, 18);
        assert_true(a.m.batch.n_ids != b.m.batch.n_ids ||
                    memcmp(a.m.batch.ids, b.m.batch.ids, a.m.batch.n_ids * 4) != 0);
        close_source(&a);
        close_source(&b);
        assert_int_equal(og__budget_used(budget), 0);
        og__budget_free(budget);
    }
    free(indices);
    free_graph(&g);
}

static void keep_in_superbatches(const struct og_sampling *how)
{
    enum { BATCHES = 12 };
    static const int fanout[3] = {5, 5, 4};
    const unsigned extras = OG__WITH_WEIGHTS | (how->once ? OG__NESTED : 0);
    struct graph g = make_graph(N, degrees_with_a_hub);
    for (size_t memory = 0; memory <= 40000; memory += 8000) { /* spilled, some spilled, none */
        char scratch[TEST_PATH];
        assert_non_null(test_folder(scratch, "samplers"));
        struct source k = open_source(&g, how, fanout, 3, 3, NULL);
        struct source again = open_source(&g, how, fanout, 3, 3, NULL);
        const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                                  .memory = memory,
                                                  .n_hops = 3,
                                                  .n_nodes = N,
                                                  .extras = extras};
        struct og_superbatch *s;
        struct og_batch_memory m;
        struct og_io_counts read;
        og__batch_init(&m, NULL);
        assert_int_equal(og__superbatch_open(&s, &opt, NULL, NULL), 0);
        for (uint32_t i = 0; i < BATCHES; i++) {
            const uint32_t seeds[3] = {i + 10, HUB, 82};
            assert_int_equal(og__superbatch_append(s, sample(&k, seeds, 3, i), NULL), 0);
        }
        assert_int_equal(og__superbatch_finish(s, NULL), 0);
        for (uint32_t j = 0; j < 2 * BATCHES; j++) { /* in order, then backwards */
            uint32_t i = j < BATCHES ? j : 2 * BATCHES - 1 - j;
            const uint32_t seeds[3] = {i + 10, HUB, 82};
            assert_int_equal(og__superbatch_replay(s, i, i + 1, &m, &read, NULL), 0);
            assert_same_batch(&m.batch, sample(&again, seeds, 3, i));
        }
        og__superbatch_close(s);
        og__batch_release(&m);
        close_source(&k);
        close_source(&again);
        assert_int_equal(rmdir(scratch), 0);
    }
    free_graph(&g);
}

static void superbatches_keep_weights(void **state)
{
    (void)state;
    for (size_t w = 0; w < OG_COUNT(ways); w++)
        if (ways[w].kind == OG_SAMPLER_WALK)
            keep_in_superbatches(&ways[w]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_what_models_expect),
        cmocka_unit_test(a_batch_depends_on_its_key_alone),
        cmocka_unit_test(superbatches_keep_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
