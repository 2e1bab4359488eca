/* A graph with weights, and every way to draw from it. */
#ifndef OG_SAMPLERS_FIXTURE_H
#define OG_SAMPLERS_FIXTURE_H

#include "sample/samplers_all.h"
#include "support/testing.h"

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

static inline void add_aliases(struct graph *g)
{
    void *scratch = malloc(og__alias_list_scratch_bytes(g->t.n_edges + 1));
    g->alias = calloc((size_t)g->t.n_edges + 1, sizeof(*g->alias));
    for (int64_t v = 0; v < g->t.n_nodes; v++)
        og__alias_list_make(&g->t, (uint32_t)v, g->alias, scratch);
    g->t.alias = g->alias;
    free(scratch);
}

/* Node v has degree(v) in-neighbours, each once, starting somewhere; weights in {0, .5, 1, ...}. */
static inline struct graph make_graph(int64_t n, int (*degree)(int64_t v))
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

static inline void free_graph(struct graph *g)
{
    free(g->indptr);
    free(g->indices);
    free(g->weights);
    free(g->alias);
}

struct source {
    struct og_sampler *sampler;
    struct og_batch_memory m;
};

static inline struct source open_source(const struct graph *g, const struct og_sampling *how,
                                        const int *fanout, int n_hops, uint64_t seed,
                                        struct og_budget *b)
{
    struct source k;
    struct og_err err = {0};
    og__batch_init(&k.m, b);
    assert_int_equal(og__sampler_open(&k.sampler, &g->t, fanout, n_hops, seed, b, &err), 0);
    if (og__sampler_choose(k.sampler, how, &err) < 0)
        fail_msg("%s", err.message);
    return k;
}

static inline void close_source(struct source *k)
{
    og__sampler_close(k->sampler);
    og__batch_release(&k->m);
}

static const struct og_batch *sample(struct source *k, const uint32_t *seeds, uint32_t n,
                                     uint32_t batch)
{
    struct og_err err = {0};
    if (og__sample(k->sampler, seeds, n,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = batch},
                   &k->m, &err) < 0)
        fail_msg("%s", err.message);
    return &k->m.batch;
}

enum { N = 500, HUB = 7 };

/* ---- exact probabilities ---- */

enum { SEEDS = 100, DRAWS = 2000, MOST = 4096 };

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Asserts that p-values over seeds are uniform, by Kolmogorov-Smirnov. 2.23 is exceeded once in ten
 * thousand times, and the approximations of chi-square take some of it. */
static inline void assert_spread(double *p, int n)
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

static inline void add_outcome(struct exact *x, uint64_t code, double p)
{
    int i = 0;
    while (i < x->n && x->code[i] != code)
        i++;
    assert_in_range(i, 0, MOST - 1);
    if (i == x->n)
        x->code[x->n++] = code;
    x->p[i] += p;
}

static inline double fit_of(const struct exact *x, const int *count, int draws)
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

/* Sorts the edges, most visited sources first, of equals the smaller. The order in which walk gives
 * sources has no meaning. */
static inline void sort_by_weight(const struct og_batch *b)
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
static inline uint64_t code_of(const struct og_batch *b)
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

static inline void assert_outcomes(const struct graph *g, const struct og_sampling *how, uint32_t v,
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
static inline struct graph make_star(int n, const float *weights)
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

#endif
