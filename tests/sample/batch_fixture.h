/* Batches of a small random graph, made by the sampler itself, for tests of what keeps them. */
#ifndef OG_BATCH_FIXTURE_H
#define OG_BATCH_FIXTURE_H

#include "support/testing.h"

#include "sample/sample.h"

#include <stdlib.h>

enum { N = 3000, HOPS = 3, SEEDS = 20, BATCHES = 40 };

static const int fanout[HOPS] = {5, -1, 4};

/* Node v has v % 9 in-neighbours anywhere, so some blocks are empty. */
struct graph {
    struct og_topology t;
    int64_t indptr[N + 1];
    int32_t indices[N * 9];
};

static void make_graph(struct graph *g, uint32_t seed)
{
    struct og_rng r;
    og__rng_at(&r, seed, OG__STREAM_BENCH, 0, 0, 0, 0);
    g->indptr[0] = 0;
    for (int v = 0; v < N; v++) {
        g->indptr[v + 1] = g->indptr[v] + v % 9;
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            g->indices[e] = (int32_t)og__rng_below(&r, N);
    }
    g->t = (struct og_topology){
        .n_nodes = N, .n_edges = g->indptr[N], .indptr = g->indptr, .indices32 = g->indices};
}

/* A sampler on a random graph and what it makes. */
struct source {
    struct graph *graph;
    struct og_sampler *sampler;
    struct og_batch_memory made;
};

static void open_source(struct source *k, uint32_t seed, bool degrees)
{
    k->graph = malloc(sizeof(*k->graph));
    make_graph(k->graph, seed);
    assert_int_equal(og__sampler_open(&k->sampler, &k->graph->t, fanout, HOPS, seed, NULL, NULL),
                     0);
    if (degrees)
        og__sampler_keep_degrees(k->sampler);
    og__batch_init(&k->made, NULL);
}

static void close_source(struct source *k)
{
    og__sampler_close(k->sampler);
    og__batch_release(&k->made);
    free(k->graph);
}

/* Batch i of an epoch, afresh: what a replay must equal. Every third has one seed without
 * in-neighbours. */
static const struct og_batch *batch_of(struct source *k, uint32_t epoch, uint32_t i)
{
    uint32_t seeds[SEEDS];
    uint32_t n = i % 3 == 0 ? 1 : SEEDS;
    for (uint32_t j = 0; j < n; j++)
        seeds[j] = (i * SEEDS + j) * 9 % N;
    assert_int_equal(
        og__sample(k->sampler, seeds, n,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = epoch, .batch = i},
                   &k->made, NULL),
        0);
    return &k->made.batch;
}

static void assert_same_batch(const struct og_batch *a, const struct og_batch *b)
{
    assert_int_equal(a->n_hops, b->n_hops);
    assert_int_equal(a->n_ids, b->n_ids);
    assert_int_equal(a->n_seeds, b->n_seeds);
    assert_memory_equal(a->ids, b->ids, a->n_ids * 4);
    for (uint32_t h = 0; h < a->n_hops; h++) {
        const struct og_block *x = &a->hop[h];
        const struct og_block *y = &b->hop[h];
        assert_int_equal(x->n_dst, y->n_dst);
        assert_int_equal(x->n_src, y->n_src);
        assert_int_equal(x->n_edges, y->n_edges);
        assert_memory_equal(x->indptr, y->indptr, ((size_t)x->n_dst + 1) * 4);
        if (x->n_edges)
            assert_memory_equal(x->src, y->src, x->n_edges * 4);
        assert_int_equal(x->degree == NULL, y->degree == NULL);
        if (x->degree && x->n_src > x->n_dst)
            assert_memory_equal(x->degree, y->degree, (size_t)(x->n_src - x->n_dst) * 4);
    }
}

static char *fresh_folder(void)
{
    char *path = strdup("/tmp/og-superbatch-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

#endif
