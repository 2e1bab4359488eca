/* Operators: the cpu backend beside the reference, gradients beside finite differences. */
#include "nn_ops.h"

#include "nn/kernels.h"

#include <math.h>

/* ==== features as stored ==== */

static float half_by_definition(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double sign = h >> 15 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? NAN : (float)(sign * INFINITY);
    double m = exponent ? 1024 + mantissa : mantissa;
    return (float)(sign * ldexp(m, (exponent ? exponent : 1) - 25));
}

static void every_half_is_widened_exactly(void **state)
{
    (void)state;
    static uint16_t all[65536];
    static float got[65536];
    for (uint32_t i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    og__widen(got, all, OG_F16, 0, 65536);
    for (uint32_t i = 0; i < 65536; i++) {
        float want = half_by_definition((uint16_t)i);
        if (isnan(want))
            assert_true(isnan(got[i]));
        else
            assert_memory_equal(&got[i], &want, sizeof(want));
    }
}

static void rows_may_lie_at_any_byte(void **state)
{
    (void)state;
    char bytes[64];
    const float value[3] = {1.5f, -2, 3e-9f};
    memcpy(bytes + 1, value, sizeof(value));
    float got[2];
    og__widen(got, bytes + 1, OG_F32, 1, 2);
    assert_memory_equal(got, value + 1, sizeof(got));
    const uint32_t indptr[] = {0, 1}, col[] = {0};
    struct og_sparse s = {.n_rows = 1, .indptr = indptr, .col = col};
    struct og_rows x = {
        .base = bytes + 1, .stride = sizeof(value), .n = 1, .dim = 3, .dtype = OG_F32};
    float sum[3];
    og__aggregate_row(&s, &x, 0, sum);
    assert_memory_equal(sum, value, sizeof(sum));
    const uint16_t bf16 = 0x3fc0; /* 1.5 */
    memcpy(bytes + 1, &bf16, 2);
    og__widen(got, bytes + 1, OG_BF16, 0, 1);
    assert_true(got[0] == 1.5f);
}

/* ==== affine ==== */

struct affine_case {
    uint32_t n_dst, n_src;
    int n_in, n_out;
    bool gcn, through, plus, self, identity, bias, relu, gated, drop, add;
    int gap; /* elements between rows of y */
    enum og__direction direction;
};

static const struct affine_case affine_cases[] = {
    {.n_dst = 200,
     .n_src = 500,
     .n_in = 33,
     .n_out = 50,
     .through = 1,
     .self = 1,
     .bias = 1,
     .relu = 1,
     .drop = 1},
    {.n_dst = 128, .n_src = 300, .n_in = 128, .n_out = 64, .gcn = 1, .through = 1, .bias = 1},
    {.n_dst = 1, .n_src = 1, .n_in = 1, .n_out = 1, .through = 1, .self = 1, .bias = 1},
    {.n_dst = 100,
     .n_src = 260,
     .n_in = 40,
     .n_out = 7,
     .plus = 1,
     .self = 1,
     .bias = 1,
     .relu = 1},
    {.n_dst = 65,
     .n_src = 70,
     .n_in = 300,
     .n_out = 19,
     .gcn = 1,
     .plus = 1,
     .bias = 1,
     .relu = 1,
     .drop = 1},
    {.n_dst = 190,
     .n_src = 190,
     .n_in = 24,
     .n_out = 31,
     .plus = 1,
     .self = 1,
     .gated = 1,
     .direction = OG__BACKWARD},
    {.n_dst = 64, .n_src = 64, .n_in = 5, .n_out = 260, .self = 1, .relu = 1},
    {.n_dst = 150, .n_src = 200, .n_in = 30, .n_out = 30, .through = 1, .self = 1, .identity = 1},
    {.n_dst = 130, .n_src = 200, .n_in = 9, .n_out = 9, .identity = 1, .plus = 1, .relu = 1},
    {.n_dst = 140, .n_src = 140, .n_in = 20, .n_out = 12, .self = 1, .bias = 1, .gap = 7},
    {.n_dst = 140, .n_src = 140, .n_in = 20, .n_out = 12, .self = 1, .add = 1, .gap = 3},
    {.n_dst = 128, .n_src = 140, .n_in = 20, .n_out = 12, .self = 1, .bias = 1, .add = 1},
};

static void add_inputs(struct og_affine *op, const struct affine_case *c, struct og_rows x,
                       const struct og_sparse *s, const struct og_weight *w)
{
    if (c->through)
        op->input[op->n_inputs++] = (struct og_input){x, s, NULL, c->n_dst, &w[0], c->direction};
    if (c->self) /* gated: reaches only some rows, as on the way back */
        op->input[op->n_inputs++] = (struct og_input){
            x, NULL, NULL, c->gated ? c->n_dst / 2 : c->n_dst, &w[1], c->direction};
    if (c->identity)
        op->input[op->n_inputs++] = (struct og_input){.x = x, .n = c->n_dst / 2};
    op->plus_through = c->plus ? s : NULL;
}

/* One op of the case on both backends; y starts from the same content. */
static void compare_affine(struct bench *b, const struct affine_case *c)
{
    struct og_block block = random_block(c->n_dst, c->n_src, 9);
    float *scale = random_floats(c->n_dst), *features = random_floats((size_t)c->n_src * 600);
    float *bias = random_floats((size_t)c->n_out), *keep[2];
    enum og__aggregate kind = c->gcn ? OG__SYMMETRIC : OG__MEAN;
    scale_block(&block, kind, scale);
    struct og_sparse s = og__aggregation(&block, kind, scale);
    bool back = c->direction == OG__BACKWARD;
    int w_out = back ? c->n_in : c->n_out, w_in = back ? c->n_out : c->n_in;
    struct og_weight w[2];
    for (int k = 0; k < 2; k++) {
        w[k] = (struct og_weight){random_floats((size_t)w_out * (size_t)w_in), w_out, w_in, {0}};
        for (int d = 0; d < 2; d++)
            w[k].packed[d] =
                aligned_alloc(64, og__round_up(og__ops_cpu.packed_bytes(w_out, w_in), 64));
    }
    struct og_weight *both[] = {&w[0], &w[1]};
    assert_int_equal(og__ops_cpu.pack(b->be, both, 2, NULL), 0);
    struct og_dropout drop = {.p = 0.25, .step = {1, 2, 3}, .layer = 1};
    size_t n = (size_t)c->n_dst * (size_t)(c->n_out + c->gap),
           n_keep = (size_t)c->n_dst * (size_t)c->n_in;
    float *y[2] = {random_floats(n), NULL};
    y[1] = copy_floats(y[0], n);
    keep[0] = random_floats(n_keep);
    keep[1] = copy_floats(keep[0], n_keep);
    for (int side = 0; side < 2; side++) {
        struct og_affine op = {.rows = c->n_dst,
                               .cols = c->n_out,
                               .y = y[side],
                               .relu = c->relu,
                               .bias = c->bias ? bias : NULL,
                               .dropout = c->drop ? &drop : NULL,
                               .gated = c->gated,
                               .gate_scale = 1.25f,
                               .ld = c->gap ? c->n_out + c->gap : 0,
                               .add = c->add};
        struct og_rows x = og__dense(features, c->n_src, c->n_in);
        add_inputs(&op, c, x, &s, w);
        if (c->through)
            op.input[0].keep = keep[side];
        op.plus = og__dense(features, c->n_src, c->n_out);
        const struct og_nn_ops *ops = side ? &og__ops_reference : &og__ops_cpu;
        assert_int_equal(ops->affine(b->be, &op, NULL), 0);
    }
    assert_close("y", y[0], y[1], n, OG__TOLERANCE_AFFINE);
    assert_close("keep", keep[0], keep[1], n_keep, OG__TOLERANCE_AFFINE);
    for (int k = 0; k < 2; k++) {
        free((void *)w[k].value);
        free(w[k].packed[0]);
        free(w[k].packed[1]);
        free(y[k]);
        free(keep[k]);
    }
    free(scale);
    free(features);
    free(bias);
    free_block(&block);
}

static void affine_equals_reference(void **state)
{
    (void)state;
    start();
    struct bench b;
    bench_open(&b, 2, 600);
    for (size_t i = 0; i < OG_COUNT(affine_cases); i++)
        compare_affine(&b, &affine_cases[i]);
    bench_close(&b);
}

/* ==== weight gradient ==== */

static void compare_weight_grad(struct bench *b, uint32_t rows, int n_out, int n_in0, int n_in1,
                                int gap)
{
    size_t n[2] = {(size_t)n_out * (size_t)n_in0, (size_t)n_out * (size_t)n_in1};
    float *dy = random_floats((size_t)rows * (size_t)(n_out + gap));
    float *x[2] = {random_floats((size_t)rows * (size_t)n_in0),
                   random_floats((size_t)rows * (size_t)OG_MAX(n_in1, 1))};
    uint32_t *index = malloc(rows * sizeof(*index)); /* the second is seen through an index */
    for (uint32_t i = 0; i < rows; i++)
        index[i] = rows - 1 - i;
    float *grad[2][2], *bias[2];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 2; k++)
            grad[side][k] = random_floats(n[k] + 1);
        bias[side] = random_floats((size_t)n_out);
        struct og_weight_grad op = {
            .rows = rows,
            .n_out = n_out,
            .dy = dy,
            .ld = gap ? n_out + gap : 0,
            .n_inputs = n_in1 ? 2 : 1,
            .input = {og__dense(x[0], rows, n_in0), og__dense(x[1], rows, OG_MAX(n_in1, 1))},
            .grad = {grad[side][0], grad[side][1]},
            .bias_grad = bias[side]};
        op.input[1].index = index;
        const struct og_nn_ops *ops = side ? &og__ops_reference : &og__ops_cpu;
        assert_int_equal(ops->weight_grad(b->be, &op, NULL), 0);
    }
    assert_close("grad 0", grad[0][0], grad[1][0], n[0], OG__TOLERANCE_WEIGHT_GRAD);
    assert_close("grad 1", grad[0][1], grad[1][1], n_in1 ? n[1] : 0, OG__TOLERANCE_WEIGHT_GRAD);
    assert_close("bias", bias[0], bias[1], (size_t)n_out, OG__TOLERANCE_WEIGHT_GRAD);
    for (int k = 0; k < 2; k++) {
        free(grad[0][k]);
        free(grad[1][k]);
        free(bias[k]);
        free(x[k]);
    }
    free(index);
    free(dy);
}

/* One block and many, one part and many, one strip and many with a narrow last. */
static void weight_gradient_equals_reference(void **state)
{
    (void)state;
    start();
    struct bench b;
    bench_open(&b, 2, 700);
    compare_weight_grad(&b, 1, 1, 1, 1, 0);
    compare_weight_grad(&b, 50, 7, 20, 20, 0);
    compare_weight_grad(&b, 1500, 16, 24, 0, 0);
    compare_weight_grad(&b, 1111, 33, 300, 300, 0);
    compare_weight_grad(&b, 200, 5, 700, 0, 0);
    compare_weight_grad(&b, 1000, 12, 40, 0, 36);
    bench_close(&b);
}

/* ==== transposition ==== */

static void transposing_twice_is_the_block_again(void **state)
{
    (void)state;
    start();
    struct og_block b = random_block(300, 900, 6), t = {.n_dst = 900, .n_src = 300};
    t.n_edges = b.n_edges;
    t.indptr = calloc(901, 4);
    t.src = calloc(b.n_edges, 4);
    uint32_t *indptr = calloc(301, 4), *col = calloc(b.n_edges, 4);
    transpose(&b, t.indptr, t.src, NULL);
    transpose(&t, indptr, col, NULL);
    assert_memory_equal(indptr, b.indptr, 301 * 4);
    /* a stable sort: neighbours come back in ascending order */
    for (uint32_t v = 0; v < 300; v++) {
        uint64_t sum[2] = {0};
        for (uint32_t e = indptr[v]; e < indptr[v + 1]; e++) {
            assert_true(e == indptr[v] || col[e - 1] <= col[e]);
            sum[0] += (uint64_t)col[e] * col[e];
            sum[1] += (uint64_t)b.src[e] * b.src[e];
        }
        assert_int_equal(sum[0], sum[1]);
    }
    free(indptr);
    free(col);
    free_block(&t);
    free_block(&b);
}

static void blocks_equal_reference(void **state)
{
    (void)state;
    enum { DST = 300, SRC = 900 };
    start();
    struct og_block b = random_block(DST, SRC, 6);
    float *weight = random_floats(b.n_edges);
    uint32_t degree[SRC - DST], *list[2][3];
    for (uint32_t e = 0; e < b.n_edges; e++)
        weight[e] = weight[e] > -0.5f ? weight[e] + 0.5f : 0; /* lists that weigh nothing */
    for (uint32_t i = 0; i < SRC - DST; i++)
        degree[i] = og__rng_below(&rng, 9);
    for (int dressed = 0; dressed < 2; dressed++) { /* with degrees and weights, and without */
        b.weight = dressed ? weight : NULL;
        b.degree = dressed ? degree : NULL;
        for (int kind = OG__SYMMETRIC; kind <= OG__WEIGHTED_MEAN; kind++) {
            float got[SRC] = {0}, want[SRC] = {0};
            struct og_scale op = {&b, (enum og__aggregate)kind, got};
            assert_int_equal(og__ops_cpu.scale(NULL, &op, NULL), 0);
            op.scale = want;
            assert_int_equal(og__ops_reference.scale(NULL, &op, NULL), 0);
            assert_close("scale", got, want, SRC, 1e-6);
        }
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++)
            list[k][i] = calloc(OG_MAX((size_t)SRC + 1, b.n_edges), sizeof(uint32_t));
        const struct og_transpose op = {&b, list[k][0], list[k][1], list[k][2]};
        assert_int_equal((k ? og__ops_reference : og__ops_cpu).transpose(NULL, &op, NULL), 0);
    }
    assert_memory_equal(list[0][0], list[1][0], (SRC + 1) * sizeof(uint32_t));
    assert_memory_equal(list[0][1], list[1][1], b.n_edges * sizeof(uint32_t));
    assert_memory_equal(list[0][2], list[1][2], b.n_edges * sizeof(uint32_t));
    for (int i = 0; i < 6; i++)
        free(list[i / 3][i % 3]);
    free(weight);
    free_block(&b);
}

static void lists_and_ranks_of_pairs_equal_reference(void **state)
{
    (void)state;
    enum { ROWS = 40, EDGES = 50, RIVALS = 30, N = EDGES * (2 + RIVALS) };
    start();
    uint32_t a[N], b[N], first[2][ROWS + 1], pair[2][2 * N];
    float score[N];
    for (uint32_t p = 0; p < N; p++) {
        a[p] = og__rng_below(&rng, ROWS);
        b[p] = og__rng_below(&rng, ROWS);         /* some pair a row with itself */
        score[p] = (float)og__rng_below(&rng, 7); /* many are equal */
    }
    const struct og_pairs pairs = {
        .n_edges = EDGES, .n_negatives = EDGES, .n_rivals = RIVALS, .n = N, .a = a, .b = b};
    struct og_metrics m[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        const struct og_nn_ops *ops = k ? &og__ops_reference : &og__ops_cpu;
        const struct og_pair_list list = {N, ROWS, a, b, first[k], pair[k]};
        const struct og_rank rank = {&pairs, score, &m[k]};
        assert_int_equal(ops->pair_list(NULL, &list, NULL), 0);
        assert_int_equal(ops->rank(NULL, &rank, NULL), 0);
    }
    assert_memory_equal(first[0], first[1], sizeof(first[0]));
    assert_memory_equal(pair[0], pair[1], sizeof(pair[0]));
    assert_int_equal(m[0].ranked, EDGES);
    assert_true(m[0].hits[0] < m[0].hits[2]);
    assert_memory_equal(&m[0], &m[1], sizeof(m[0]));
}

static void kept_statistics_equal_reference(void **state)
{
    (void)state;
    enum { N = 33 };
    const uint32_t rows[] = {1, 2, 500};
    start();
    for (size_t i = 0; i < OG_COUNT(rows); i++) {
        float *mean = random_floats(N), *var = random_floats(N), count[2] = {3, 3};
        float *running[2][2], rstd[2][N];
        for (int k = 0; k < 2; k++) {
            for (int j = 0; j < 2; j++)
                running[k][j] = k ? copy_floats(running[0][j], N) : random_floats(N);
            if (k == 0)
                for (int j = 0; j < N; j++)
                    var[j] *= var[j];
        }
        for (int k = 0; k < 2; k++) {
            const struct og_nn_ops *ops = k ? &og__ops_reference : &og__ops_cpu;
            const struct og_track track = {rows[i],       N,        mean, var, running[k][0],
                                           running[k][1], &count[k]};
            const struct og_rstd op = {N, var, rstd[k]};
            assert_int_equal(ops->track(NULL, &track, NULL), 0);
            assert_int_equal(ops->rstd(NULL, &op, NULL), 0);
            assert_true(count[k] == 4);
        }
        assert_close("running mean", running[0][0], running[1][0], N, 1e-6);
        assert_close("running variance", running[0][1], running[1][1], N, 1e-6);
        assert_close("rstd", rstd[0], rstd[1], N, 1e-6);
        float *const floats[] = {mean,          var,           running[0][0],
                                 running[0][1], running[1][0], running[1][1]};
        for (size_t f = 0; f < OG_COUNT(floats); f++)
            free(floats[f]);
    }
}

/* ==== gradients against finite differences ==== */

enum { FD_DST = 70, FD_SRC = 90, FD_IN = 6, FD_OUT = 5 };

struct chain {
    struct bench b;
    struct og_block block;
    struct og_sparse forward, back;
    float *scale, *x, *c, *y, *weight;
    uint32_t *indptr, *col, *edge;
    struct og_weight w;
    float *value;
};

static const float quarter = 0.25f;

static void chain_open(struct chain *f, enum og__aggregate kind)
{
    start();
    bench_open(&f->b, 2, 64);
    f->block = random_block(FD_DST, FD_SRC, 5);
    f->weight = random_floats(f->block.n_edges);
    for (size_t e = 0; e < f->block.n_edges; e++)
        f->weight[e] = fabsf(f->weight[e]);
    f->block.weight = f->weight;
    f->scale = random_floats(FD_DST);
    scale_block(&f->block, kind, f->scale);
    f->indptr = calloc(FD_SRC + 1, 4);
    f->col = calloc(f->block.n_edges + 1, 4);
    f->edge = calloc(f->block.n_edges + 1, 4);
    transpose(&f->block, f->indptr, f->col, f->edge);
    f->forward = og__aggregation(&f->block, kind, f->scale);
    f->back = og__aggregation_back(&f->block, kind, f->scale, f->indptr, f->col, f->edge);
    f->forward.eps = f->back.eps = kind == OG__SUM_AND_SELF ? &quarter : NULL;
    f->x = random_floats((size_t)FD_SRC * FD_IN);
    f->c = random_floats((size_t)FD_DST * FD_OUT);
    f->y = random_floats((size_t)FD_SRC * FD_IN);
    f->value = random_floats((size_t)FD_OUT * FD_IN);
    f->w = (struct og_weight){.value = f->value, .n_out = FD_OUT, .n_in = FD_IN};
    for (int d = 0; d < 2; d++)
        f->w.packed[d] =
            aligned_alloc(64, og__round_up(og__ops_cpu.packed_bytes(FD_OUT, FD_IN), 64));
}

static void chain_close(struct chain *f)
{
    bench_close(&f->b);
    free_block(&f->block);
    free(f->weight);
    free(f->scale);
    free(f->x);
    free(f->c);
    free(f->y);
    free(f->indptr);
    free(f->col);
    free(f->edge);
    free(f->value);
    free(f->w.packed[0]);
    free(f->w.packed[1]);
}

/* f = sum of c * (aggregate(x) W^T) */
static double chain_value(struct chain *f)
{
    struct og_weight *w[] = {&f->w};
    assert_int_equal(og__ops_cpu.pack(f->b.be, w, 1, NULL), 0);
    struct og_affine op = {.rows = FD_DST, .cols = FD_OUT, .y = f->y, .n_inputs = 1};
    op.input[0] = (struct og_input){
        .x = og__dense(f->x, FD_SRC, FD_IN), .through = &f->forward, .n = FD_DST, .weight = &f->w};
    assert_int_equal(og__ops_cpu.affine(f->b.be, &op, NULL), 0);
    return weighted_sum(f->c, f->y, (size_t)FD_DST * FD_OUT);
}

/* f is linear in every single element, so a large step has no error but rounding. */
static void assert_slopes(struct chain *f, float *at, const float *grad, size_t n)
{
    const float step = 0.5f;
    for (size_t i = 0; i < n; i++) {
        float before = at[i];
        at[i] = before + step;
        double up = chain_value(f);
        at[i] = before - step;
        double down = chain_value(f);
        at[i] = before;
        if (!(fabs((up - down) / (2 * (double)step) - (double)grad[i]) <= 2e-5))
            fail_msg("slope %zu: %.9g, not %.9g", i, (double)grad[i], up - down);
    }
}

static void slopes_of_aggregation_and_product(void **state)
{
    (void)state;
    for (int kind = OG__SYMMETRIC; kind <= OG__WEIGHTED_MEAN; kind++) {
        struct chain f;
        chain_open(&f, (enum og__aggregate)kind);
        chain_value(&f);
        float *aggregate = random_floats((size_t)FD_DST * FD_IN), dw[FD_OUT * FD_IN];
        float *dx = random_floats((size_t)FD_SRC * FD_IN);
        for (uint32_t r = 0; r < FD_DST; r++) {
            struct og_rows x = og__dense(f.x, FD_SRC, FD_IN);
            og__aggregate_row(&f.forward, &x, r, aggregate + (size_t)r * FD_IN);
        }
        struct og_weight_grad wg = {.rows = FD_DST,
                                    .n_out = FD_OUT,
                                    .dy = f.c,
                                    .n_inputs = 1,
                                    .input = {og__dense(aggregate, FD_DST, FD_IN)},
                                    .grad = {dw}};
        assert_int_equal(og__ops_cpu.weight_grad(f.b.be, &wg, NULL), 0);
        struct og_affine da = {.rows = FD_DST, .cols = FD_IN, .y = aggregate, .n_inputs = 1};
        da.input[0] = (struct og_input){.x = og__dense(f.c, FD_DST, FD_OUT),
                                        .n = FD_DST,
                                        .weight = &f.w,
                                        .direction = OG__BACKWARD};
        assert_int_equal(og__ops_cpu.affine(f.b.be, &da, NULL), 0);
        struct og_affine spread = {.rows = FD_SRC,
                                   .cols = FD_IN,
                                   .y = dx,
                                   .plus_through = &f.back,
                                   .plus = og__dense(aggregate, FD_DST, FD_IN)};
        assert_int_equal(og__ops_cpu.affine(f.b.be, &spread, NULL), 0);
        assert_slopes(&f, f.value, dw, FD_OUT * FD_IN);
        assert_slopes(&f, f.x, dx, (size_t)FD_SRC * FD_IN);
        free(aggregate);
        free(dx);
        chain_close(&f);
    }
}

/* ==== losses ==== */

enum { LOSS_ROWS = 150, LOSS_COLS = 9 };

struct loss_case {
    bool multi;
    float *logits, *grad;
    void *labels;
    struct og_metrics blocks[4];
};

static double loss_value(const struct loss_case *c, const struct og_nn_ops *ops, float *grad,
                         struct og_metrics *m)
{
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {LOSS_ROWS, LOSS_COLS, c->logits, c->labels, grad, (void *)c->blocks, m};
    assert_int_equal((c->multi ? ops->sigmoid_loss : ops->softmax_loss)(be, &op, NULL), 0);
    og__ops_cpu.close(be);
    return og__metrics_loss(m);
}

static void loss_open(struct loss_case *c, bool multi)
{
    start();
    c->multi = multi;
    c->logits = random_floats(LOSS_ROWS * LOSS_COLS);
    c->grad = random_floats(LOSS_ROWS * LOSS_COLS);
    c->labels = random_floats(LOSS_ROWS * LOSS_COLS);
    for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i++) {
        c->logits[i] *= 4;
        if (multi)
            ((float *)c->labels)[i] = og__rng_below(&rng, 3) == 0;
        else if (i < LOSS_ROWS)
            ((int32_t *)c->labels)[i] = (int32_t)og__rng_below(&rng, LOSS_COLS + 1) - 1;
    }
}

static void losses_equal_reference_and_slopes(void **state)
{
    (void)state;
    for (int multi = 0; multi < 2; multi++) {
        struct loss_case c;
        struct og_metrics m, r;
        loss_open(&c, multi);
        float *want = random_floats(LOSS_ROWS * LOSS_COLS);
        double loss = loss_value(&c, &og__ops_cpu, c.grad, &m);
        assert_true(fabs(loss / loss_value(&c, &og__ops_reference, want, &r) - 1) <=
                    OG__TOLERANCE_LOSS);
        assert_close("gradient", c.grad, want, LOSS_ROWS * LOSS_COLS, OG__TOLERANCE_LOSS);
        assert_int_equal(m.counted, r.counted);
        assert_int_equal(m.correct, r.correct);
        assert_int_equal(m.true_positive, r.true_positive);
        assert_int_equal(m.false_positive, r.false_positive);
        assert_int_equal(m.false_negative, r.false_negative);
        for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i += 7) {
            const float step = 0.01f, before = c.logits[i];
            c.logits[i] = before + step;
            double up = loss_value(&c, &og__ops_reference, NULL, &r);
            c.logits[i] = before - step;
            double slope = (up - loss_value(&c, &og__ops_reference, NULL, &r)) / (2 * 0.01);
            c.logits[i] = before;
            assert_true(fabs(slope - (double)c.grad[i]) < 2e-6);
        }
        free(want);
        free(c.logits);
        free(c.grad);
        free(c.labels);
    }
}

static void losses_survive_large_logits(void **state)
{
    (void)state;
    const float logits[] = {1e4f, -1e4f};
    const int32_t label = 1;
    const float on[] = {0, 1};
    struct og_metrics block[1], m;
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {1, 2, logits, &label, NULL, block, &m};
    assert_int_equal(og__ops_cpu.softmax_loss(be, &op, NULL), 0);
    assert_true(fabs(m.loss_sum - 2e4) < 1);
    op.labels = on;
    assert_int_equal(og__ops_cpu.sigmoid_loss(be, &op, NULL), 0);
    assert_true(fabs(m.loss_sum - 1e4) < 1);
    og__ops_cpu.close(be);
}

/* A row with a number that is none has no largest element: it is right about no class. */
static void rows_that_are_no_numbers_are_not_right(void **state)
{
    (void)state;
    const struct og_nn_ops *const both[] = {&og__ops_cpu, &og__ops_reference};
    for (size_t o = 0; o < OG_COUNT(both); o++)
        for (int32_t wrong = 0; wrong < 3; wrong++)
            for (int32_t label = 0; label < 3; label++) {
                float logits[] = {1, 0, 0, 0, 0, 0, 0, 1, 0};
                const int32_t labels[] = {0, label, 1};
                struct og_metrics block[1], m;
                struct og_nn_backend *be = backend_alone();
                struct og_loss op = {3, 3, logits, labels, NULL, block, &m};
                logits[3 + wrong] = NAN;
                assert_int_equal(both[o]->softmax_loss(be, &op, NULL), 0);
                og__ops_cpu.close(be);
                assert_int_equal(m.correct, 2);
                assert_int_equal(m.counted, 3);
                assert_string_equal(og__metrics_undefined(&m), "loss");
            }
}

/* ==== optimisers and dropout ==== */

static void updates_equal_reference(void **state)
{
    (void)state;
    enum { N = 40000 };
    start();
    float *value[2], *m[2], *v[2], *grad = random_floats(N);
    value[0] = random_floats(N);
    value[1] = copy_floats(value[0], N);
    for (int side = 0; side < 2; side++) {
        m[side] = calloc(N, 4);
        v[side] = calloc(N, 4);
        struct og_nn_backend *be = backend_alone();
        struct og_update op = {N,    value[side],      m[side],         v[side],
                               grad, 0.01 / (1 - 0.9), sqrt(1 - 0.999), 0.02};
        const struct og_nn_ops *ops = side ? &og__ops_reference : &og__ops_cpu;
        assert_int_equal(ops->adam(be, &op, NULL), 0);
        assert_int_equal(ops->adam(be, &op, NULL), 0);
        op.rate = 0.1;
        assert_int_equal(ops->sgd(be, &op, NULL), 0);
        og__ops_cpu.close(be);
    }
    assert_close("value", value[0], value[1], N, OG__TOLERANCE_UPDATE);
    assert_close("m", m[0], m[1], N, OG__TOLERANCE_UPDATE);
    assert_close("v", v[0], v[1], N, OG__TOLERANCE_UPDATE);
    for (int side = 0; side < 2; side++) {
        free(value[side]);
        free(m[side]);
        free(v[side]);
    }
    free(grad);
}

/* Share of kept elements within 4 sigma; kept ones scaled; rows and batches differ. */
static void dropout_keeps_the_share_it_should(void **state)
{
    (void)state;
    enum { ROWS = 400, COLS = 300 };
    const double p[] = {0.5, 0.3, 0.9};
    static float y[ROWS][COLS], again[COLS];
    for (size_t i = 0; i < OG_COUNT(p); i++) {
        struct og_dropout d = {.p = p[i], .step = {7, 1, 1}, .layer = 0};
        size_t kept = 0;
        for (uint32_t r = 0; r < ROWS; r++) {
            for (int j = 0; j < COLS; j++)
                y[r][j] = 1;
            og__dropout_row(&d, r, y[r], COLS);
            for (int j = 0; j < COLS; j++) {
                kept += y[r][j] != 0;
                assert_true(y[r][j] == 0 || y[r][j] == (float)(1 / (1 - p[i])));
            }
            assert_true(r == 0 || memcmp(y[r], y[r - 1], sizeof(y[r])) != 0);
        }
        double n = ROWS * COLS, sigma = sqrt(p[i] * (1 - p[i]) / n);
        assert_true(fabs((double)kept / n - (1 - p[i])) < 4 * sigma);
        for (int j = 0; j < COLS; j++)
            again[j] = 1;
        og__dropout_row(&d, 5, again, COLS);
        assert_memory_equal(again, y[5], sizeof(again));
        d.step.batch++;
        for (int j = 0; j < COLS; j++)
            again[j] = 1;
        og__dropout_row(&d, 5, again, COLS);
        assert_memory_not_equal(again, y[5], sizeof(again));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_widened_exactly),
        cmocka_unit_test(rows_may_lie_at_any_byte),
        cmocka_unit_test(affine_equals_reference),
        cmocka_unit_test(weight_gradient_equals_reference),
        cmocka_unit_test(transposing_twice_is_the_block_again),
        cmocka_unit_test(blocks_equal_reference),
        cmocka_unit_test(lists_and_ranks_of_pairs_equal_reference),
        cmocka_unit_test(kept_statistics_equal_reference),
        cmocka_unit_test(slopes_of_aggregation_and_product),
        cmocka_unit_test(losses_equal_reference_and_slopes),
        cmocka_unit_test(losses_survive_large_logits),
        cmocka_unit_test(rows_that_are_no_numbers_are_not_right),
        cmocka_unit_test(updates_equal_reference),
        cmocka_unit_test(dropout_keeps_the_share_it_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
