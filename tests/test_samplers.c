/* sample: every way to draw against its exact probabilities, counted out on small graphs, and what
 * must hold of all of them. */
#include "testing.h"

#include "dataset/alias.h"
#include "sample/sample.h"
#include "sample/superbatch.h"
#include "support/draws.h"
#include "support/folder.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a graph with weights ---- */

struct graph {
    struct og_topology t;
    int64_t *indptr;
    int32_t *indices;
    float *weights;
    struct og_alias_edge *alias;
};

static void add_aliases(struct graph *g)
{
    void *scratch = malloc(og__alias_list_scratch_bytes(g->t.n_edges + 1));
    g->alias = calloc((size_t)g->t.n_edges + 1, sizeof(*g->alias));
    for (int64_t v = 0; v < g->t.n_nodes; v++)
        og__alias_list_make(&g->t, (uint32_t)v, g->alias, scratch);
    g->t.alias = g->alias;
    free(scratch);
}

/* Node v has degree(v) in-neighbours, each once, starting somewhere; weights in {0, .5, 1, ...}. */
static struct graph make_graph(int64_t n, int (*degree)(int64_t v))
{
    struct graph g = {.indptr = calloc((size_t)n + 1, 8)};
    for (int64_t v = 0; v < n; v++)
        g.indptr[v + 1] = g.indptr[v] + degree(v);
    int64_t n_edges = g.indptr[n];
    g.indices = calloc((size_t)n_edges + 1, 4);
    g.weights = calloc((size_t)n_edges + 1, 4);
    for (int64_t v = 0; v < n; v++)
        for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; e++) {
            g.indices[e] = (int32_t)((v * 31 + 1 + (e - g.indptr[v])) % n);
            g.weights[e] = (float)(e % 7) * 0.5f;
        }
    g.t = (struct og_topology){.n_nodes = n,
                               .n_edges = n_edges,
                               .indptr = g.indptr,
                               .indices32 = g.indices,
                               .weights = g.weights};
    add_aliases(&g);
    return g;
}

static void free_graph(struct graph *g)
{
    free(g->indptr);
    free(g->indices);
    free(g->weights);
    free(g->alias);
}

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

struct source {
    struct og_sampler *sampler;
    struct og_batch_memory m;
};

static struct source open_source(const struct graph *g, const struct og_sampling *how,
                                 const int *fanout, int n_hops, uint64_t seed, struct og_budget *b)
{
    struct source k;
    struct og_err err = {0};
    og__batch_init(&k.m, b);
    assert_int_equal(og__sampler_open(&k.sampler, &g->t, fanout, n_hops, seed, b, &err), 0);
    if (og__sampler_choose(k.sampler, how, &err) < 0)
        fail_msg("%s", err.message);
    return k;
}

static void close_source(struct source *k)
{
    og__sampler_close(k->sampler);
    og__batch_release(&k->m);
}

static const struct og_batch *sample(struct source *k, const uint32_t *seeds, uint32_t n,
                                     uint32_t batch)
{
    struct og_err err = {0};
    if (og__sample(k->sampler, seeds, n, OG__STREAM_SAMPLE, 1, batch, &k->m, &err) < 0)
        fail_msg("%s", err.message);
    return &k->m.batch;
}

/* ---- what holds of every sampler ---- */

enum { N = 500, HUB = 7 };

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
        assert_false(seen[u]); /* every in-neighbour stands once in its list */
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
        assert_int_equal(k->weight != NULL, og__sampling_weighs(how->kind));
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

/* The same from a fresh sampler, out of order, and with 64-bit indices; another with another key;
 * and once batches of all sizes have passed, nothing more is taken from the budget. */
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
        const struct og_superbatch_options opt = {
            .scratch = scratch, .memory = memory, .n_hops = 3, .n_nodes = N, .extras = extras};
        struct og_superbatch *s;
        struct og_batch_memory m;
        struct og_io_counts read;
        og__batch_init(&m, NULL);
        assert_int_equal(og__superbatch_open(&s, &opt, NULL, NULL), 0);
        for (uint32_t i = 0; i < BATCHES; i++) {
            const uint32_t seeds[3] = {i + 10, HUB, 82};
            assert_int_equal(og__superbatch_append(s, sample(&k, seeds, 3, i), NULL), 0);
        }
        assert_int_equal(og__superbatch_seal(s, NULL), 0);
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

/* ---- exact probabilities ---- */

enum { SEEDS = 100, DRAWS = 2000, MOST = 4096 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* p-values over seeds are spread as they should be: Kolmogorov-Smirnov; 2.23 is exceeded once in
 * ten thousand times, and the approximations of chi-square take some of it. */
static void assert_spread(double *p, int n)
{
    double most = 0;
    qsort(p, (size_t)n, sizeof(*p), by_size);
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(p[i] - (double)i / n));
        most = fmax(most, fabs(p[i] - (i + 1.0) / n));
    }
    assert_true(p[0] > 1e-7);
    if (most * sqrt(n) > 2.23)
        fail_msg("p-values are not uniform: D sqrt(n) = %g", most * sqrt(n));
}

/* Outcomes and their probabilities, as a table from a code. */
struct exact {
    double p[MOST];
    uint64_t code[MOST];
    int n;
};

static void add_outcome(struct exact *x, uint64_t code, double p)
{
    int i = 0;
    while (i < x->n && x->code[i] != code)
        i++;
    assert_in_range(i, 0, MOST - 1);
    if (i == x->n)
        x->code[x->n++] = code;
    x->p[i] += p;
}

static double fit_of(const struct exact *x, const int *count, int draws)
{
    double rest = 0; /* rare outcomes are counted together */
    double rest_count = 0;
    double chi2 = 0;
    int cells = 0;
    for (int i = 0; i < x->n; i++) {
        double expected = x->p[i] * draws;
        if (expected < 5) {
            rest += expected;
            rest_count += count[i];
            continue;
        }
        chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        cells++;
    }
    if (rest < 5) { /* too rare to judge by, but not to be frequent */
        assert_true(rest_count < 30);
    } else {
        chi2 += (rest_count - rest) * (rest_count - rest) / rest;
        cells++;
    }
    return test_chi2_p(chi2, cells - 1);
}

/* Most visited first, of equals the smaller: the order in which walk's sources are told does not
 * mean anything. */
static void sort_by_weight(const struct og_batch *b)
{
    const struct og_block *k = &b->hop[0];
    float *weight = (float *)(uintptr_t)k->weight;
    for (uint64_t i = 1; i < k->n_edges; i++)
        for (uint64_t j = i; j > 0; j--) {
            bool more = weight[j] > weight[j - 1];
            bool same = weight[j] == weight[j - 1];
            if (!more && !(same && b->ids[k->src[j]] < b->ids[k->src[j - 1]]))
                break;
            float w = weight[j];
            uint32_t src = k->src[j];
            weight[j] = weight[j - 1];
            k->src[j] = k->src[j - 1];
            weight[j - 1] = w;
            k->src[j - 1] = src;
        }
}

/* The drawn list of one destination as a number: sources in order, and their visits. */
static uint64_t code_of(const struct og_batch *b)
{
    uint64_t code = 0;
    const struct og_block *k = &b->hop[0];
    if (k->weight)
        sort_by_weight(b);
    for (uint64_t e = 0; e < k->n_edges; e++) {
        code = code * 64 + b->ids[k->src[e]] + 1;
        if (k->weight)
            code = code * 1024 + (uint64_t)lround((double)k->weight[e] * 1000);
    }
    return code;
}

static void assert_outcomes(const struct graph *g, const struct og_sampling *how, uint32_t v,
                            int fanout, const struct exact *x)
{
    double p[SEEDS];
    double sum = 0;
    for (int i = 0; i < x->n; i++)
        sum += x->p[i];
    assert_true(fabs(sum - 1) < 1e-9);
    for (int seed = 0; seed < SEEDS; seed++) {
        int count[MOST] = {0};
        struct source k = open_source(g, how, &fanout, 1, (uint64_t)seed + 1, NULL);
        for (uint32_t i = 0; i < DRAWS; i++) {
            uint64_t code = code_of(sample(&k, &v, 1, i));
            int o = 0;
            while (o < x->n && x->code[o] != code)
                o++;
            assert_int_not_equal(o, x->n); /* nothing impossible happens */
            count[o]++;
        }
        p[seed] = fit_of(x, count, DRAWS);
        close_source(&k);
    }
    assert_spread(p, SEEDS);
}

/* Node 0 has all the edges, from `n` nodes after it. */
static struct graph make_star(int n, const float *weights)
{
    struct graph g = {.indptr = calloc((size_t)n + 2, 8),
                      .indices = calloc((size_t)n, 4),
                      .weights = calloc((size_t)n, 4)};
    for (int i = 0; i < n; i++) {
        g.indptr[i + 1] = n;
        g.indices[i] = i + 1;
        g.weights[i] = weights[i];
    }
    g.indptr[n + 1] = n;
    g.t = (struct og_topology){.n_nodes = n + 1,
                               .n_edges = n,
                               .indptr = g.indptr,
                               .indices32 = g.indices,
                               .weights = g.weights};
    add_aliases(&g);
    return g;
}

/* Successive sampling by definition. */
static void successive(struct exact *x, const float *w, int n, uint32_t taken, int left,
                       uint64_t code, double p)
{
    double rest = 0;
    for (int i = 0; i < n; i++)
        rest += taken >> i & 1 ? 0 : (double)w[i];
    if (left == 0 || rest == 0) {
        add_outcome(x, code, p);
        return;
    }
    for (int i = 0; i < n; i++)
        if (!(taken >> i & 1) && w[i] > 0)
            successive(x, w, n, taken | 1u << i, left - 1, code * 64 + (uint64_t)i + 2,
                       p * (double)w[i] / rest);
}

static void weighted_draws_are_successive_sampling(void **state)
{
    /* even; uneven; so uneven that the rest comes from the pass; long */
    static const struct {
        int n, k;
        float w[24];
    } cases[] = {
        {5, 3, {1, 1, 1, 1, 1}},
        {5, 2, {1, 2, 3, 4, 0.5f}},
        {6, 3, {1000, 1, 2, 0, 3, 4}},
        {6, 4, {1e8f, 1e-3f, 2e-3f, 1e-3f, 3e-3f, 0}},
        {5, 4, {5e8f, 0, 0, 1, 3}}, /* fewer than asked for have weight */
        {24, 2, {1, 2, 0, 1, 0, 3, 1, 1, 1, 2, 2, 0, 5, 1, 1, 1, 2, 0, 0, 1, 4, 1, 1, 2}},
        {24, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0}},
    };
    (void)state;
    struct exact *x = malloc(sizeof(*x));
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        memset(x, 0, sizeof(*x));
        struct graph g = make_star(cases[c].n, cases[c].w);
        successive(x, cases[c].w, cases[c].n, 0, cases[c].k, 0, 1);
        assert_outcomes(&g, &ways[1], 0, cases[c].k, x);
        free_graph(&g);
    }
    free(x);
}

/* Many picks of many edges, a few of them heavy: marginals against an independent draw, by the
 * definition, in the same number. */
static void many_weighted_draws_agree_with_the_definition(void **state)
{
    enum { DEGREE = 300, K = 60, ROUNDS = 3000 };
    (void)state;
    float w[DEGREE];
    double chi2 = 0;
    int found[2][DEGREE] = {{0}};
    for (int i = 0; i < DEGREE; i++)
        w[i] = i < 20 ? 1e5f : (float)(1 + i % 5);
    struct graph g = make_star(DEGREE, w);
    const int fanout = K;
    const uint32_t v = 0;
    struct source k = open_source(&g, &ways[1], &fanout, 1, 4, NULL);
    struct og_rng rng;
    og__rng_at(&rng, 77, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const struct og_batch *b = sample(&k, &v, 1, r);
        assert_int_equal(b->hop[0].n_edges, K);
        for (int i = 0; i < K; i++)
            found[0][b->ids[b->hop[0].src[i]] - 1]++;
        bool taken[DEGREE] = {false};
        for (int n = 0; n < K; n++) {
            double rest = 0;
            for (int i = 0; i < DEGREE; i++)
                rest += taken[i] ? 0 : (double)w[i];
            double x = rest * ((double)og__rng_u32(&rng) + 0.5) * 0x1p-32;
            int i = 0;
            for (double sum = 0; (sum += taken[i] ? 0 : (double)w[i]) <= x;)
                i++;
            taken[i] = true;
            found[1][i]++;
        }
        og__rng_at(&rng, 77, OG__STREAM_BENCH, 0, r + 1, 0, 0);
    }
    for (int i = 20; i < DEGREE; i++) {
        double d = found[0][i] - found[1][i];
        double p = (found[0][i] + found[1][i]) / (2.0 * ROUNDS);
        chi2 += d * d / (2 * ROUNDS * p * (1 - p));
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(found[0][i], ROUNDS);
    assert_in_range((int)(1e6 * test_chi2_p(chi2, DEGREE - 21)), 100, 999900);
    close_source(&k);
    free_graph(&g);
}

static void uniform_draws_are_uniform(void **state)
{
    static const float w[6] = {1, 1, 1, 1, 1, 1};
    (void)state;
    struct graph g = make_star(6, w);
    struct exact *x = calloc(1, sizeof(*x));
    /* Floyd's order is its own: the picks of {0..5}, each draw of the definition alike */
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 6; b++) {
            uint32_t second = b == a ? 5 : b;
            add_outcome(x, ((uint64_t)a + 2) * 64 + second + 2, 1.0 / 30);
        }
    assert_outcomes(&g, &ways[0], 0, 2, x);
    free(x);
    free_graph(&g);
}

/* ---- walks ---- */

/* Small, with a dead end (3), a doubled edge and ways back. */
static struct graph make_maze(void)
{
    static const int32_t lists[5][4] = {{1, 2, 2}, {0, 3}, {0, 1, 3, 4}, {0}, {2}};
    static const int lengths[5] = {3, 2, 4, 0, 1};
    struct graph g = {.indptr = calloc(6, 8), .indices = calloc(10, 4)};
    for (int v = 0; v < 5; v++) {
        g.indptr[v + 1] = g.indptr[v] + lengths[v];
        memcpy(g.indices + g.indptr[v], lists[v], (size_t)lengths[v] * 4);
    }
    g.t = (struct og_topology){
        .n_nodes = 5, .n_edges = 10, .indptr = g.indptr, .indices32 = g.indices};
    return g;
}

struct walking {
    const struct graph *g;
    const struct og_sampling *how;
    int neighbors;
    uint32_t start;
    struct exact *x;
};

/* Most visited first, of equals the smaller, with their shares in thousandths. */
static uint64_t code_of_visits(const int *visits, int neighbors)
{
    bool taken[5] = {false};
    uint32_t order[5];
    int n = 0;
    int sum = 0;
    uint64_t code = 0;
    for (; n < neighbors; n++) {
        int best = -1;
        for (int u = 0; u < 5; u++)
            if (!taken[u] && visits[u] > 0 && (best < 0 || visits[u] > visits[best]))
                best = u;
        if (best < 0)
            break;
        taken[best] = true;
        order[n] = (uint32_t)best;
        sum += visits[best];
    }
    for (int i = 0; i < n; i++)
        code = (code * 64 + order[i] + 1) * 1024 +
               (uint64_t)lround((double)((float)visits[order[i]] / (float)sum) * 1000);
    return code;
}

/* Every path of every walk. */
static void walk_on(const struct walking *w, int walk, int step, uint32_t at, int *visits, double p)
{
    if (walk == w->how->walks) {
        add_outcome(w->x, code_of_visits(visits, w->neighbors), p);
        return;
    }
    int64_t degree = w->g->indptr[at + 1] - w->g->indptr[at];
    double ends = step == 0 ? 0 : w->how->restart;
    if (step == w->how->walk_length || degree == 0)
        ends = 1;
    if (ends > 0)
        walk_on(w, walk + 1, 0, w->start, visits, p * ends);
    for (int64_t e = w->g->indptr[at]; ends < 1 && e < w->g->indptr[at + 1]; e++) {
        uint32_t next = (uint32_t)w->g->indices[e];
        visits[next]++;
        walk_on(w, walk, step + 1, next, visits, p * (1 - ends) / (double)degree);
        visits[next]--;
    }
}

static void walks_visit_as_often_as_they_should(void **state)
{
    static const struct {
        struct og_sampling how;
        int neighbors;
        uint32_t start;
    } cases[] = {
        {{OG_SAMPLER_WALK, 1, 1, 0.5, false}, 1, 0}, {{OG_SAMPLER_WALK, 1, 3, 0.5, false}, 3, 0},
        {{OG_SAMPLER_WALK, 2, 2, 0.3, false}, 2, 2}, {{OG_SAMPLER_WALK, 3, 2, 0.5, false}, 2, 0},
        {{OG_SAMPLER_WALK, 2, 3, 0.0, false}, 4, 4}, {{OG_SAMPLER_WALK, 2, 2, 1.0, false}, 2, 2},
    };
    (void)state;
    struct graph g = make_maze();
    struct exact *x = malloc(sizeof(*x));
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        int visits[5] = {0};
        memset(x, 0, sizeof(*x));
        const struct walking w = {&g, &cases[c].how, cases[c].neighbors, cases[c].start, x};
        walk_on(&w, 0, 0, w.start, visits, 1);
        assert_outcomes(&g, &cases[c].how, w.start, w.neighbors, x);
    }
    free(x);
    free_graph(&g);
}

/* ---- labor ---- */

static int same_twenty(int64_t v)
{
    return v < 40 ? 20 : 0;
}

/* Each in-neighbour is taken with probability fanout / degree; destinations of the same degree that
 * share one take it together; so a hop finds fewer nodes than with draws of their own. */
static void labor_shares_its_draws(void **state)
{
    enum { ROUNDS = 4000, K = 5, DST = 40 };
    (void)state;
    struct graph g = make_graph(N, same_twenty);
    for (int64_t e = 0; e < g.t.n_edges; e++) /* from 60 nodes in all */
        g.indices[e] = (int32_t)(100 + (e / 20 + e % 20 * 3) % 60);
    const int fanout = K;
    uint32_t seeds[DST];
    for (uint32_t i = 0; i < DST; i++)
        seeds[i] = i;
    struct source labor = open_source(&g, &ways[3], &fanout, 1, 3, NULL);
    struct source uniform = open_source(&g, &ways[0], &fanout, 1, 3, NULL);
    int count[20] = {0};
    uint64_t found[2] = {0};
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const struct og_batch *b = sample(&labor, seeds, DST, r);
        const struct og_block *k = &b->hop[0];
        int8_t drawn[N] = {0}; /* 1 in some list */
        for (uint64_t e = 0; e < k->n_edges; e++)
            drawn[b->ids[k->src[e]]] = 1;
        for (uint32_t d = 0; d < DST; d++) {
            uint32_t expected = 0;
            for (int64_t e = g.indptr[d]; e < g.indptr[d + 1]; e++)
                expected += (uint32_t)drawn[g.indices[e]];
            assert_int_equal(k->indptr[d + 1] - k->indptr[d], expected); /* all or none take it */
        }
        for (int64_t e = 0; e < 20; e++)
            count[e] += drawn[g.indices[e]];
        found[0] += b->n_ids - DST;
        found[1] += sample(&uniform, seeds, DST, r)->n_ids - DST;
    }
    double p = (double)K / 20;
    double chi2 = 0;
    for (int i = 0; i < 20; i++)
        chi2 += (count[i] - ROUNDS * p) * (count[i] - ROUNDS * p) / (ROUNDS * p * (1 - p));
    assert_in_range((int)(1e6 * test_chi2_p(chi2, 20)), 100, 999900);
    assert_true(found[0] * 2 < found[1]); /* 15 of the 60, not nearly all */
    close_source(&labor);
    close_source(&uniform);
    free_graph(&g);
}

/* ---- ladies ---- */

/* Who feeds whom: destinations 0 to 2, the others feed them. */
static struct graph make_layer(void)
{
    static const int32_t lists[3][5] = {{3, 4, 5}, {4, 5, 6, 7}, {7, 0}};
    static const int lengths[3] = {3, 4, 2};
    struct graph g = {.indptr = calloc(9, 8), .indices = calloc(9, 4)};
    for (int v = 0; v < 8; v++) {
        g.indptr[v + 1] = g.indptr[v] + (v < 3 ? lengths[v] : 0);
        if (v < 3)
            memcpy(g.indices + g.indptr[v], lists[v], (size_t)lengths[v] * 4);
    }
    g.t = (struct og_topology){
        .n_nodes = 8, .n_edges = 9, .indptr = g.indptr, .indices32 = g.indices};
    return g;
}

/* Squared columns of the mean, by the dense matrix. */
static void importance(const struct graph *g, double p[8])
{
    double mean[3][8] = {{0}};
    memset(p, 0, 8 * sizeof(*p));
    for (int v = 0; v < 3; v++)
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            mean[v][g->indices[e]] = 1 / (double)(g->indptr[v + 1] - g->indptr[v]);
    for (int v = 0; v < 3; v++)
        for (int u = 0; u < 8; u++)
            p[u] += mean[v][u] * mean[v][u];
}

/* Successive sampling by definition; what counts is who was drawn. */
static void layers(struct exact *x, const double *p, int left, uint32_t taken, double chance)
{
    double rest = 0;
    for (int u = 0; u < 8; u++)
        rest += taken >> u & 1 ? 0 : p[u];
    if (left == 0) {
        add_outcome(x, taken, chance);
        return;
    }
    for (int u = 0; u < 8; u++)
        if (!(taken >> u & 1) && p[u] > 0)
            layers(x, p, left - 1, taken | 1u << u, chance * p[u] / rest);
}

/* Each destination has all those drawn that feed it, by 1 / p to a sum of 1. */
static uint32_t check_layer(const struct graph *g, const struct og_batch *b, const double *p)
{
    const struct og_block *k = &b->hop[0];
    uint32_t drawn = 0;
    for (uint64_t e = 0; e < k->n_edges; e++)
        drawn |= 1u << b->ids[k->src[e]];
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t at = k->indptr[d];
        double sum = 0;
        for (int64_t e = g->indptr[d]; e < g->indptr[d + 1]; e++)
            sum += drawn >> g->indices[e] & 1 ? 1 / p[g->indices[e]] : 0;
        for (int64_t e = g->indptr[d]; e < g->indptr[d + 1]; e++) {
            int32_t u = g->indices[e];
            if (!(drawn >> u & 1))
                continue;
            assert_int_equal(b->ids[k->src[at]], u);
            assert_true(fabs((double)k->weight[at++] - 1 / p[u] / sum) < 1e-6);
        }
        assert_int_equal(at, k->indptr[d + 1]);
    }
    assert_int_equal(k->n_seen, 6);
    return drawn;
}

static void ladies_draw_by_importance(void **state)
{
    static const uint32_t seeds[3] = {0, 1, 2};
    const int fanout = 1; /* for each seed: 3 of the 6 */
    (void)state;
    double spread[SEEDS];
    double p[8];
    struct graph g = make_layer();
    struct exact *x = calloc(1, sizeof(*x));
    importance(&g, p);
    layers(x, p, 3, 0, 1);
    for (int seed = 0; seed < SEEDS; seed++) {
        int count[MOST] = {0};
        struct source k = open_source(&g, &ways[4], &fanout, 1, (uint64_t)seed + 1, NULL);
        for (uint32_t i = 0; i < DRAWS; i++) {
            uint32_t drawn = check_layer(&g, sample(&k, seeds, 3, i), p);
            int o = 0;
            while (o < x->n && x->code[o] != drawn)
                o++;
            assert_int_not_equal(o, x->n);
            count[o]++;
        }
        spread[seed] = fit_of(x, count, DRAWS);
        close_source(&k);
    }
    assert_spread(spread, SEEDS);
    free(x);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_what_models_expect),
        cmocka_unit_test(a_batch_depends_on_its_key_alone),
        cmocka_unit_test(superbatches_keep_weights),
        cmocka_unit_test(uniform_draws_are_uniform),
        cmocka_unit_test(weighted_draws_are_successive_sampling),
        cmocka_unit_test(many_weighted_draws_agree_with_the_definition),
        cmocka_unit_test(walks_visit_as_often_as_they_should),
        cmocka_unit_test(labor_shares_its_draws),
        cmocka_unit_test(ladies_draw_by_importance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
