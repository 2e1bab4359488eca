/* What the planner that chooses would say of a dataset, and how long it thinks.
 *
 *     bench_candidate DATASET [CACHE_PERCENT [SEEDS [MODEL_MS [THREADS]]]]
 *
 * One epoch is sampled (fanout 10,10,10, SEEDS a batch, default 1000). Candidates share the memory
 * of so many rows (default 12 %): packed ones give an eighth of it to the scan, `sweep` a quarter
 * to the rows of two windows. Sampling is measured; planning is taken as 25 ns a row, 40 more with
 * looking ahead, copying as 4 GB/s; the model as MODEL_MS a batch (default none). The disk is that
 * of the profile. Nothing of the features is read. */
#include "base/thread.h"
#include "choose/hotness.h"
#include "dataset/features.h"
#include "plan/candidate.h"
#include "sample/sample.h"
#include "sample/superbatch.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOPS = 3, MOST = 64, FILL_ROWS = 16384 };

struct bench {
    struct og_graph *ds;
    struct og_cost_inputs given;
    struct og_superbatch *epoch;
    uint32_t *degree; /* [N] */
    struct og_candidate c[MOST];
    uint32_t n;
};

/* ---- an epoch ---- */

static int keep(struct bench *b, const struct og_batch *batch, struct og_err *err)
{
    struct og_batch ids = *batch;
    ids.n_hops = 0; /* nothing is trained: blocks are not needed */
    return og__superbatch_append(b->epoch, &ids, err);
}

static int sample_all(struct bench *b, struct og_sampler *s, const uint32_t *seeds, uint32_t n,
                      uint32_t batch, struct og_err *err)
{
    struct og_batch_memory m;
    double seconds = 0;
    int rc = 0;
    og__batch_init(&m, NULL);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        double start = og__now();
        rc = og__sample(s, seeds + (size_t)i * batch, batch,
                        &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = i},
                        &m, err);
        seconds += og__now() - start;
        if (rc == 0)
            rc = keep(b, &m.batch, err);
    }
    if (rc == 0)
        rc = og__superbatch_finish(b->epoch, err);
    b->given.times.sample = seconds / n;
    og__batch_release(&m);
    return rc;
}

static int sample_epoch(struct bench *b, uint32_t batch, struct og_err *err)
{
    static const int fanout[HOPS] = {10, 10, 10};
    const uint64_t n_nodes = (uint64_t)b->ds->n_nodes;
    const struct og_superbatch_options opt = {
        .scratch = OG__ONE_PLACE("/tmp"), .memory = SIZE_MAX, .n_nodes = n_nodes};
    struct og_topology t = {0};
    struct og_sampler *s = NULL;
    uint32_t *seeds = NULL;
    int64_t n_seeds = 0;
    int rc = 0;
    OG_TRY(og__graph_split(b->ds, OG__TRAIN, NULL, &seeds, &n_seeds, err));
    uint32_t n = (uint32_t)((uint64_t)n_seeds / batch);
    if (n == 0)
        OG_TRY(og__fail(err, -EINVAL, NULL, "fewer training nodes than a batch has"));
    b->degree = calloc(n_nodes, sizeof(*b->degree));
    if (!b->degree)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "epoch"));
    OG_TRY(og__topology_load(b->ds, false, NULL, &t, err));
    OG_TRY(og__hotness_degree_guess(&t, b->degree, err));
    OG_TRY(og__sampler_open(&s, &t, fanout, HOPS, 1, NULL, err));
    OG_TRY(og__superbatch_open(&b->epoch, &opt, NULL, err));
    OG_TRY(sample_all(b, s, seeds, n, batch, err));
    b->given.trace = og__superbatch_trace(b->epoch);
out:
    og__release(NULL, seeds, (size_t)n_seeds * sizeof(*seeds), "seeds");
    og__sampler_close(s);
    og__topology_release(&t);
    return rc;
}

/* ---- candidates ---- */

static void add(struct bench *b, int kind, enum og__layout layout, uint32_t rows,
                uint32_t superbatch)
{
    static const uint32_t share[] = {0, 8, 8}; /* of the rows that a layout takes */
    uint32_t given = layout == OG__RAW ? 0 : rows / share[layout];
    b->c[b->n++] = (struct og_candidate){
        .policy = {.kind = kind,
                   .n_nodes = b->given.n_nodes,
                   .n_slots = rows - given,
                   .hotness = kind == OG_POLICY_DEGREE ? b->degree : NULL},
        .layout = layout,
        .resample_every = 1,
        .superbatch = superbatch,
        .memory = rows * b->given.rule.row_bytes,
        .sweep_memory = given * b->given.rule.row_bytes,
    };
}

static void reuse(struct bench *b, uint32_t epochs)
{
    b->c[b->n] = b->c[b->n - 1];
    b->c[b->n++].resample_every = epochs;
}

static void list_candidates(struct bench *b, uint32_t rows)
{
    static const enum og__layout layouts[] = {OG__PACKED, OG__SEGMENTED};
    const uint32_t all = b->given.trace.n_batches;
    add(b, OG_POLICY_NONE, OG__RAW, rows, 0);
    add(b, OG_POLICY_DEGREE, OG__RAW, rows, 0);
    add(b, OG_POLICY_LRU, OG__RAW, rows, 0);
    add(b, OG_POLICY_FREQUENCY, OG__RAW, rows, all);
    add(b, OG_POLICY_BELADY, OG__RAW, rows, all);
    add(b, OG_POLICY_SWEEP, OG__RAW, rows, all);
    for (size_t i = 0; i < OG_COUNT(layouts); i++) {
        add(b, OG_POLICY_BELADY, layouts[i], rows, all);
        add(b, OG_POLICY_FREQUENCY, layouts[i], rows, all);
        reuse(b, 3);
    }
}

/* ---- the table ---- */

static const char *policy_name(int kind)
{
    switch (kind) {
    case OG_POLICY_DEGREE:
        return "degree";
    case OG_POLICY_LRU:
        return "lru";
    case OG_POLICY_FREQUENCY:
        return "frequency";
    case OG_POLICY_BELADY:
        return "belady";
    default:
        return "none";
    }
}

static void print_line(const struct bench *b, const struct og_estimate *e)
{
    const struct og_candidate *c = &b->c[e->candidate];
    printf("| %s | %s | %u | %u | %.1f | %.2f | %.2f | %llu | %.0f | %.0f | %s%s |\n",
           policy_name(c->policy.kind), og__layout_name(c->layout), c->policy.n_slots,
           c->resample_every,
           e->counts.rows ? 100 * (double)e->counts.hits / (double)e->counts.rows : 0, e->epoch,
           e->prepare, (unsigned long long)e->reads, (double)e->bytes_read / 1e6,
           (double)e->bytes_written / 1e6, e->possible ? "" : "no: ", e->why);
}

static int rank(struct bench *b, struct og_err *err)
{
    struct og_estimate out[MOST];
    double start = og__now();
    int rc = og__candidates_rank(&b->given, b->c, b->n, out, err);
    double seconds = og__now() - start;
    if (rc < 0)
        return rc;
    printf("| policy | layout | slots | R | hits %% | epoch s | prepare s | reads | MB read | MB "
           "written | why |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < b->n; i++)
        print_line(b, &out[i]);
    uint32_t n = b->given.trace.n_batches;
    printf("\n%u candidates over %u batches, %llu rows, ranked in %.2f s; sampling them took "
           "%.2f s\n",
           b->n, n, (unsigned long long)b->given.trace.ptr[n], seconds, b->given.times.sample * n);
    return 0;
}

/* How a reader of the features merges. */
static int find_rule(struct bench *b, struct og_err *err)
{
    struct og_reader *reader;
    const struct og_reader_options opt = {.profile = b->given.disk};
    int rc = og__features_open(&reader, b->ds->group, &opt, NULL, err);
    if (rc == 0) {
        b->given.rule = og__reader_rule(reader);
        og__reader_close(reader);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct bench b = {0};
    if (argc < 2) {
        fprintf(stderr, "bench_candidate DATASET [CACHE_PERCENT [SEEDS [MODEL_MS [THREADS]]]]\n");
        return 2;
    }
    double percent = argc > 2 ? strtod(argv[2], NULL) : 12;
    uint32_t batch = argc > 3 ? (uint32_t)OG_MAX(strtoul(argv[3], NULL, 10), 1ul) : 1000;
    int threads = argc > 5 ? (int)strtol(argv[5], NULL, 10) : og__cpu_count();
    int rc;
    b.given = (struct og_cost_inputs){
        .fill_rows = FILL_ROWS,
        .times = {.plan_row = 25e-9,
                  .count_row = 20e-9,
                  .prepare_row = 40e-9,
                  .model = argc > 4 ? strtod(argv[4], NULL) / 1000 : 0,
                  .copy = 4e9,
                  .samplers = threads,
                  .threads = threads},
        .memory_limit = SIZE_MAX,
        .disk_limit = UINT64_MAX,
    };
    og__profile_load(argv[1], &b.given.disk);
    OG_TRY(og__pool_open(&b.given.pool, threads, &err));
    OG_TRY(og__graph_open(argv[1], &b.ds, &err));
    b.given.n_nodes = (uint64_t)b.ds->n_nodes;
    OG_TRY(find_rule(&b, &err));
    OG_TRY(sample_epoch(&b, batch, &err));
    list_candidates(&b, (uint32_t)((double)b.given.n_nodes * percent / 100));
    OG_TRY(rank(&b, &err));
out:
    if (rc < 0)
        fprintf(stderr, "bench_candidate: %s\n", err.message);
    og__superbatch_close(b.epoch);
    og__graph_close(b.ds);
    og__pool_close(b.given.pool);
    free(b.degree);
    return rc < 0;
}
