/* What a sampled edge costs, by sampler: batches alternate, in memory, one thread.
 *
 *     bench_samplers DATASET [BATCHES] [BATCH]
 *
 * The training nodes in order, 3 hops; a dataset without weights gets some, spread as incomes are.
 * One line a sampler: CPU time for an edge of a block, and how many times that of uniform with the
 * same fanout it is, medians over the batches. For walks also the same for an edge that was walked,
 * where none ends early. */
#include "dataset/alias.h"
#include "dataset/relation.h"
#include "dataset/topology.h"
#include "sample/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 3, WALKS = 4, LENGTH = 3 };
#define WALKED                                                                         \
    {                                                                                  \
        .kind = OG_SAMPLER_WALK, .walks = WALKS, .walk_length = LENGTH, .restart = 0.5 \
    }

static const struct way {
    const char *name;
    struct og_sampling how;
    int fanout;
    int beside; /* the way it is measured by */
} ways[] = {
    {"uniform 10", {.kind = OG_SAMPLER_UNIFORM}, 10, 0},
    {"weighted 10", {.kind = OG_SAMPLER_WEIGHTED}, 10, 0},
    {"uniform 5", {.kind = OG_SAMPLER_UNIFORM}, 5, 2},
    {"weighted 5", {.kind = OG_SAMPLER_WEIGHTED}, 5, 2},
    {"walk, 5 of those visited", WALKED, 5, 2},
    {"walk, all visited", WALKED, WALKS *LENGTH, 2},
};

struct source {
    struct og_sampler *sampler;
    struct og_batch_memory m;
    double *cost, *walked; /* [n_batches] ns an edge of a block, and an edge walked */
};

struct bench {
    struct og_graph *ds;
    struct og_topology t;
    uint32_t *seeds;
    int64_t n_seeds;
    uint32_t n_batches, batch;
    struct source source[OG_COUNT(ways)];
};

/* ---- weights ---- */

static int make_weights(struct og_topology *t, struct og_err *err)
{
    size_t n = (size_t)t->n_edges;
    size_t scratch_bytes = og__alias_list_scratch_bytes(og__longest_list(t) + 1);
    float *weights = og__alloc(NULL, n * sizeof(*weights), "bench", err);
    struct og_alias_edge *alias = og__alloc(NULL, (n + 1) * sizeof(*alias), "bench", err);
    void *scratch = og__alloc(NULL, scratch_bytes, "bench", err);
    struct og_rng rng = {.next = 4};
    if (!weights || !alias || !scratch)
        return -ENOMEM;
    for (size_t e = 0; e < n; e++) {
        if (e % 65536 == 0)
            og__rng_at(&rng, 1, OG__STREAM_BENCH, 0, 0, 0, (uint32_t)(e / 65536));
        weights[e] = 1 / sqrtf(1 - og__rng_unit(&rng)) - 1; /* Pareto, of exponent 2 */
    }
    t->weights = weights;
    t->alias = alias;
    for (int64_t v = 0; v < t->n_nodes; v++)
        og__alias_list_make(t, (uint32_t)v, alias, scratch);
    og__release(NULL, scratch, scratch_bytes, "bench");
    return 0;
}

/* ---- measuring ---- */

/* Steps of walks that nothing ends but chance. */
static double steps_of(const struct og_sampling *how, const struct og_block *block)
{
    double steps = 0;
    uint64_t from = 0;
    for (int k = 0; k < how->walk_length; k++)
        steps += pow(1 - how->restart, k);
    for (uint32_t i = 0; i < block->n_dst; i++)
        from += block->indptr[i + 1] > block->indptr[i];
    return steps * how->walks * (double)from;
}

static int sample(struct bench *b, size_t way, uint32_t i, struct og_err *err)
{
    struct source *k = &b->source[way];
    const uint32_t *seeds = b->seeds + (size_t)i * b->batch % (b->n_seeds - b->batch);
    double start = og__thread_time();
    int rc = og__sample(k->sampler, seeds, b->batch,
                        &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = i},
                        &k->m, err);
    double seconds = og__thread_time() - start;
    double edges = 0;
    double steps = 0;
    for (uint32_t h = 0; rc == 0 && h < HOPS; h++) {
        edges += (double)k->m.batch.hop[h].n_edges;
        steps += steps_of(&ways[way].how, &k->m.batch.hop[h]);
    }
    k->cost[i] = seconds * 1e9 / OG_MAX(edges, 1.0);
    k->walked[i] = seconds * 1e9 / OG_MAX(steps, 1.0);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, uint32_t n)
{
    qsort(x, n, sizeof(*x), by_size);
    return x[n / 2];
}

static double median_ratio(const double *x, const double *y, uint32_t n, double *scratch)
{
    for (uint32_t i = 0; i < n; i++)
        scratch[i] = x[i] / y[i];
    return median(scratch, n);
}

static void print(struct bench *b, double *scratch)
{
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        const double *unit = b->source[ways[w].beside].cost;
        const struct source *k = &b->source[w];
        printf("%-25s x %.2f", ways[w].name, median_ratio(k->cost, unit, b->n_batches, scratch));
        if (ways[w].how.kind == OG_SAMPLER_WALK)
            printf("  an edge walked x %.2f", median_ratio(k->walked, unit, b->n_batches, scratch));
        memcpy(scratch, k->cost, b->n_batches * sizeof(*scratch));
        printf("  %.1f ns an edge\n", median(scratch, b->n_batches));
    }
}

static int measure(struct bench *b, struct og_err *err)
{
    int rc = 0;
    size_t bytes = b->n_batches * sizeof(double);
    double *scratch = og__alloc(NULL, bytes, "bench", err);
    if (!scratch)
        return -ENOMEM;
    for (size_t w = 0; rc == 0 && w < OG_COUNT(ways); w++) {
        struct source *k = &b->source[w];
        const int fanout[HOPS] = {ways[w].fanout, ways[w].fanout, ways[w].fanout};
        og__batch_init(&k->m, NULL);
        k->cost = og__alloc(NULL, bytes, "bench", err);
        k->walked = og__alloc(NULL, bytes, "bench", err);
        if (!k->cost || !k->walked)
            rc = -ENOMEM;
        if (rc == 0)
            rc = og__sampler_open(&k->sampler, &b->t, fanout, HOPS, 1, NULL, err);
        if (rc == 0)
            rc = og__sampler_choose(k->sampler, &ways[w].how, err);
        if (rc == 0) /* memory is taken once */
            rc = sample(b, w, 0, err);
    }
    for (uint32_t i = 0; rc == 0 && i < b->n_batches; i++)
        for (size_t w = 0; rc == 0 && w < OG_COUNT(ways); w++)
            rc = sample(b, w, i, err);
    if (rc == 0)
        print(b, scratch);
    for (size_t w = 0; w < OG_COUNT(ways); w++) {
        og__sampler_close(b->source[w].sampler);
        og__batch_release(&b->source[w].m);
        og__release(NULL, b->source[w].cost, bytes, "bench");
        og__release(NULL, b->source[w].walked, bytes, "bench");
    }
    og__release(NULL, scratch, bytes, "bench");
    return rc;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct bench b = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_samplers DATASET [BATCHES] [BATCH]\n");
        return 2;
    }
    b.n_batches = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 40;
    b.batch = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
    int rc = og__graph_open(argv[1], &b.ds, &err);
    if (rc == 0)
        rc = og__graph_split(b.ds, OG__TRAIN, NULL, &b.seeds, &b.n_seeds, &err);
    if (rc == 0 && b.n_seeds <= b.batch)
        rc = og__fail(&err, -EINVAL, NULL, "%s: too few training nodes", argv[1]);
    if (rc == 0)
        rc = og__topology_load(b.ds, false, NULL, &b.t, &err);
    if (rc == 0)
        rc = b.ds->relation->weights.fd < 0
                 ? make_weights(&b.t, &err)
                 : og__relation_load_weights(b.ds->relation, OG__WEIGHT_TABLES, &b.t, &err);
    if (rc == 0)
        rc = measure(&b, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    og__topology_release(&b.t);
    og__release(NULL, b.seeds, (size_t)b.n_seeds * 4, "seeds");
    og__graph_close(b.ds);
    return rc < 0;
}
