/* `bench gemm`: the products of a model's layers as in training, compared with oneDNN's best. */
#include "base/json.h"
#include "bench/bench.h"
#include "bench/onednn.h"
#include "nn/ops.h"
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t heights[] = {1024, 10240,
                                   102400}; /* rows, from the last layer to the first */
static const double seconds_a_turn = 0.1;
enum { ROUNDS = 3 };
#define MOST_FLOATS ((uint64_t)32 << 20) /* of one operand */

struct bench {
    struct og_pool *pool;
    const struct og_nn_ops *ops;
    struct og_nn_backend *be;
    int compute;
    struct og_arena memory;
};

static float *take(struct bench *b, uint64_t rows, uint64_t cols)
{
    uint64_t n = rows * cols;
    float *x = og__arena_take(&b->memory, n * sizeof(float));
    for (uint64_t i = 0; x && i < n; i++)
        x[i] = (float)(i % 13) * 0.01f;
    return x;
}

static int open_bench(struct bench *b, const struct og_bench_product *p, struct og_err *err)
{
    uint64_t k = (uint64_t)p->k, n = (uint64_t)p->n;
    const struct og_most most = {.width = OG_MAX(p->k, p->n)};
    size_t scratch = b->ops->scratch_bytes(&most, og__pool_threads(b->pool));
    size_t partial = b->ops->partial_bytes(p->rows, p->k, n);
    size_t bytes = (p->rows * (k + n) + 2 * k * n) * sizeof(float) + scratch + partial +
                   2 * b->ops->packed_bytes(p->n, p->k) + 4096;
    OG_DO(og__arena_init(&b->memory, og__host_memory(NULL), bytes, "bench", err));
    OG_DO(b->ops->open(&b->be, 0, b->pool, NULL, err));
    b->ops->set_compute(b->be, b->compute);
    b->ops->set_scratch(b->be, og__arena_take(&b->memory, scratch), scratch,
                        og__arena_take(&b->memory, partial));
    return 0;
}

static void close_bench(struct bench *b)
{
    b->ops->close(b->be);
    og__arena_release(&b->memory);
}

/* Runs the product like a layer's operators. */
static int run_affine(struct bench *b, const struct og_bench_product *p, double *best,
                      struct og_err *err)
{
    struct og_weight w = {.n_out = p->n, .n_in = p->k};
    struct og_weight *one = &w;
    w.value = take(b, (uint64_t)p->n, (uint64_t)p->k);
    w.packed[OG__FORWARD] = og__arena_take(&b->memory, b->ops->packed_bytes(p->n, p->k));
    struct og_rows x = og__dense(take(b, p->rows, (uint64_t)p->k), p->rows, p->k);
    struct og_affine op = {.rows = p->rows, .cols = p->n, .n_inputs = 1};
    op.y = take(b, p->rows, (uint64_t)p->n);
    op.input[0] = (struct og_input){.x = x, .n = p->rows, .weight = &w};
    OG_DO(b->ops->pack(b->be, &one, 1, err));
    double end = og__now() + seconds_a_turn;
    while (og__now() < end) {
        double start = og__now();
        OG_DO(b->ops->affine(b->be, &op, err));
        double t = og__now() - start;
        *best = OG_MIN(*best, t);
    }
    return 0;
}

static int run_weight_grad(struct bench *b, const struct og_bench_product *p, double *best,
                           struct og_err *err)
{
    struct og_rows x = og__dense(take(b, p->rows, (uint64_t)p->n), p->rows, p->n);
    struct og_weight_grad op = {.rows = p->rows, .n_out = p->k, .n_inputs = 1, .input = {x}};
    op.dy = take(b, p->rows, (uint64_t)p->k);
    op.grad[0] = take(b, (uint64_t)p->k, (uint64_t)p->n);
    double end = og__now() + seconds_a_turn;
    while (og__now() < end) {
        double start = og__now();
        OG_DO(b->ops->weight_grad(b->be, &op, err));
        double t = og__now() - start;
        *best = OG_MIN(*best, t);
    }
    return 0;
}

/* Alternates both, so that load from others affects both. */
static int best_of_both(struct bench *b, const struct og_bench_product *p, double *ours,
                        double *theirs, struct og_err *err)
{
    size_t mark = b->memory.used;
    double seconds = 1e9;
    int rc = 0;
    *theirs = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double rate = 0;
        og__arena_rewind(&b->memory, mark);
        OG_TRY((p->over_rows ? run_weight_grad : run_affine)(b, p, &seconds, err));
        OG_TRY(og__bench_onednn(p, og__pool_threads(b->pool), &rate, err));
        *theirs = OG_MAX(*theirs, rate);
    }
out:
    *ours = og__bench_flops(p) / seconds;
    return rc;
}

static int measure(struct bench *b, const struct og_bench_product *p, json_t *rows,
                   struct og_err *err)
{
    int rc = 0;
    double ours, theirs;
    char shape[96];
    OG_TRY(open_bench(b, p, err));
    OG_TRY(best_of_both(b, p, &ours, &theirs, err));
    snprintf(shape, sizeof(shape), p->over_rows ? "[%u,%d]^T[.,%d]" : "[%u,%d][.,%d]", p->rows,
             p->k, p->n);
    json_t *row =
        json_pack("{s:s,s:f,s:f,s:o}", "shape", shape, "ours_gflops", ours * 1e-9,
                  "onednn_best_gflops", theirs * 1e-9, "ratio", og__json_real(ours / theirs));
    if (json_array_append_new(rows, row) < 0)
        rc = og__fail_errno(err, -ENOMEM, NULL, "bench gemm");
out:
    close_bench(b);
    return rc;
}

/* Forward, gradient of the input, gradient of the weight. */
static int measure_layer(struct bench *b, int n_in, int n_out, bool first, json_t *rows,
                         struct og_err *err)
{
    for (size_t h = 0; h < OG_COUNT(heights); h++) {
        uint64_t most = MOST_FLOATS / (uint64_t)OG_MAX(n_in, n_out);
        uint32_t n = (uint32_t)OG_MIN((uint64_t)heights[h], most);
        struct og_bench_product p[] = {
            {false, n, n_in, n_out}, {true, n, n_out, n_in}, {false, n, n_out, n_in}};
        for (int i = 0; i < (first ? 2 : 3); i++) {
            OG_DO(measure(b, &p[i], rows, err));
        }
    }
    return 0;
}

int og__bench_gemm(int dim, int classes, const struct og_options *opt, char **out,
                   struct og_err *err)
{
    int rc = 0;
    struct bench b = {.ops = &og__ops_cpu, .compute = opt->compute};
    json_t *rows = json_array(), *all = NULL;
    char *text = NULL;
    if (out)
        *out = NULL;
    OG_TRY(b.ops->check_compute(b.compute, err));
    int threads = opt->threads > 0 ? opt->threads : og__cpu_count();
    OG_TRY(og__pool_open(&b.pool, threads, err));
    OG_TRY(measure_layer(&b, dim, opt->hidden, true, rows, err));
    OG_TRY(measure_layer(&b, opt->hidden, opt->hidden, false, rows, err));
    OG_TRY(measure_layer(&b, opt->hidden, classes, false, rows, err));
    all = json_pack("{s:i,s:s,s:O}", "threads", threads, "compute",
                    og__option_word("compute", b.compute), "rows", rows);
    text = og__json_print(all, JSON_INDENT(2) | JSON_REAL_PRECISION(5));
    if (!text)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "bench gemm"));
    if (out)
        *out = text;
    else
        free(text);
out:
    json_decref(all);
    json_decref(rows);
    og__pool_close(b.pool);
    return rc;
}
