/* How long planning takes, compared with sampling, and how it grows with the superbatch. Policies
 * that are planned for a superbatch at once plan superbatches of three sizes, sampled from a
 * dataset.
 *
 *   bench_plan DATASET [CACHE_PERCENT [BATCH [REPEATS]]]
 *
 * One thread. The exponent is that of seconds against rows between the smallest and the largest. */
#include "base/base.h"
#include "base/random.h"
#include "plan/policy.h"
#include "sample/sample.h"
#include "sample/superbatch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 3, MOST = 9 };

static const struct {
    int kind;
    const char *name;
} policies[] = {
    {OG_POLICY_FREQUENCY, "frequency"}, {OG_POLICY_SWEEP, "sweep"}, {OG_POLICY_BELADY, "belady"}};

struct bench {
    struct og_graph *ds;
    struct og_topology topology;
    struct og_sampler *sampler;
    struct og_batch_memory m;
    uint32_t *seeds;
    int64_t n_seeds;
    uint32_t batch;
};

struct taken {
    uint64_t rows, edges;
    double sample, plan;
};

/* Batch i of the training nodes, in file order; beyond their end from the start again. */
static int sample_batch(struct bench *b, uint32_t i, struct taken *t, struct og_err *err)
{
    uint64_t first = (uint64_t)i * b->batch % ((uint64_t)b->n_seeds - b->batch + 1);
    double start = og__now();
    int rc = og__sample(b->sampler, b->seeds + first, b->batch,
                        &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = i},
                        &b->m, err);
    t->sample += og__now() - start;
    t->rows += b->m.batch.n_ids;
    for (uint32_t h = 0; h < b->m.batch.n_hops; h++)
        t->edges += b->m.batch.hop[h].n_edges;
    return rc;
}

static int plan_all(struct og_policy *p, const struct og_trace *trace, struct taken *t,
                    struct og_err *err)
{
    struct og_plan scratch;
    uint32_t n_prefill;
    uint32_t nodes[1024];
    uint32_t slots[OG_COUNT(nodes)];
    uint32_t *codes = NULL;
    og__plan_init(&scratch, NULL);
    double start = og__now();
    int rc = og__policy_prepare(p, trace, &n_prefill, err);
    for (uint32_t b = 0; rc == 0 && b < trace->n_batches; b++) {
        while (og__policy_prefill(p, nodes, slots, OG_COUNT(nodes)) > 0)
            ;
        uint32_t n = (uint32_t)(trace->ptr[b + 1] - trace->ptr[b]);
        uint32_t *more = realloc(codes, n * sizeof(*codes));
        codes = more ? more : codes;
        rc = more ? og__policy_code(p, trace->ids + trace->ptr[b], n, &scratch, codes, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "codes");
    }
    t->plan = og__now() - start;
    free(codes);
    og__plan_release(&scratch);
    return rc;
}

/* One superbatch of `batches`, sampled and planned from an empty cache. */
static int measure(struct bench *b, int policy, uint32_t batches, double percent, struct taken *t,
                   struct og_err *err)
{
    const struct og_policy_setup setup = {.kind = policy,
                                          .n_nodes = (uint64_t)b->ds->n_nodes,
                                          .n_slots =
                                              (uint32_t)((double)b->ds->n_nodes * percent / 100)};
    const struct og_superbatch_options opt = {
        .scratch = OG__ONE_PLACE("/tmp"), .memory = SIZE_MAX, .n_nodes = setup.n_nodes};
    struct og_superbatch *s = NULL;
    struct og_policy *p = NULL;
    *t = (struct taken){0};
    int rc = og__superbatch_open(&s, &opt, NULL, err);
    for (uint32_t i = 0; rc == 0 && i < batches; i++) {
        rc = sample_batch(b, i, t, err);
        struct og_batch ids = b->m.batch;
        ids.n_hops = 0;
        if (rc == 0)
            rc = og__superbatch_append(s, &ids, err);
    }
    if (rc == 0)
        rc = og__superbatch_finish(s, err);
    if (rc == 0)
        rc = og__policy_open(&p, &setup, NULL, err);
    if (rc == 0) {
        struct og_trace trace = og__superbatch_trace(s);
        rc = plan_all(p, &trace, t, err);
    }
    og__policy_close(p);
    og__superbatch_close(s);
    return rc;
}

static int by_plan(const void *a, const void *b)
{
    double x = ((const struct taken *)a)->plan / ((const struct taken *)a)->sample;
    double y = ((const struct taken *)b)->plan / ((const struct taken *)b)->sample;
    return (x > y) - (x < y);
}

static int run(struct bench *b, size_t policy, double percent, int repeats, struct og_err *err)
{
    struct taken median[SIZES];
    uint32_t epoch = (uint32_t)((b->n_seeds + b->batch - 1) / b->batch);
    printf("\n%s\n\n| batches | rows | sampling s | planning s | planning / sampling (spread) | ns "
           "a row |\n"
           "|---|---|---|---|---|---|\n",
           policies[policy].name);
    for (int k = 0; k < SIZES; k++) {
        struct taken t[MOST];
        uint32_t batches = OG_MAX(epoch >> (SIZES - 1 - k), 1u);
        for (int i = 0; i < repeats; i++) {
            int rc = measure(b, policies[policy].kind, batches, percent, &t[i], err);
            if (rc < 0)
                return rc;
        }
        qsort(t, (size_t)repeats, sizeof(*t), by_plan);
        median[k] = t[repeats / 2];
        printf("| %u | %llu | %.3f | %.3f | %.3f (%.3f to %.3f) | %.1f |\n", batches,
               (unsigned long long)median[k].rows, median[k].sample, median[k].plan,
               median[k].plan / median[k].sample, t[0].plan / t[0].sample,
               t[repeats - 1].plan / t[repeats - 1].sample,
               1e9 * median[k].plan / (double)median[k].rows);
    }
    const struct taken *small = &median[0];
    const struct taken *large = &median[SIZES - 1];
    printf("\nexponent: %.3f\n",
           log(large->plan / small->plan) / log((double)large->rows / (double)small->rows));
    return 0;
}

int main(int argc, char **argv)
{
    static const int fanout[] = {10, 10, 10};
    struct og_err err = {0};
    struct bench b = {.batch = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000};
    int repeats = argc > 4 ? (int)OG_MIN(strtoul(argv[4], NULL, 10), (unsigned long)MOST) : 5;
    if (argc < 2) {
        fprintf(stderr, "bench_plan DATASET [CACHE_PERCENT [BATCH [REPEATS]]]\n");
        return 2;
    }
    og__batch_init(&b.m, NULL);
    int rc;
    OG_TRY(og__graph_open(argv[1], &b.ds, &err));
    OG_TRY(og__topology_load(b.ds, false, NULL, &b.topology, &err));
    OG_TRY(og__graph_split(b.ds, OG__TRAIN, NULL, &b.seeds, &b.n_seeds, &err));
    OG_TRY(og__sampler_open(&b.sampler, &b.topology, fanout, 3, 1, NULL, &err));
    for (size_t i = 0; i < OG_COUNT(policies); i++)
        OG_TRY(run(&b, i, argc > 2 ? strtod(argv[2], NULL) : 10, repeats, &err));
out:
    if (rc < 0)
        fprintf(stderr, "bench_plan: %s\n", err.message);
    og__sampler_close(b.sampler);
    og__batch_release(&b.m);
    og__release(NULL, b.seeds, (size_t)b.n_seeds * 4, "seeds");
    og__topology_release(&b.topology);
    og__graph_close(b.ds);
    return rc < 0;
}
