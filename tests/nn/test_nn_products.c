/* Products with what is aggregated before them, against the reference and finite differences. */
#include "nn/nn_ops.h"

#include "nn/product.h"

#include <errno.h>
#include <math.h>

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
    /* more rows than a device makes at a time; the second input ends between its second and last */
    {.n_dst = 20000,
     .n_src = 20100,
     .n_in = 5,
     .n_out = 3,
     .through = 1,
     .self = 1,
     .gated = 1,
     .drop = 1,
     .direction = OG__BACKWARD},
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
    float *scale = random_floats(c->n_dst),
          *features = random_floats((size_t)c->n_src * (size_t)OG_MAX(c->n_in, c->n_out));
    float *bias = random_floats((size_t)c->n_out), *keep[2];
    enum og__aggregate kind = c->gcn ? OG__SYMMETRIC : OG__MEAN;
    scale_block(&block, kind, scale);
    struct og_sparse s = og__aggregation(&block, kind, scale);
    bool back = c->direction == OG__BACKWARD;
    int w_out = back ? c->n_in : c->n_out, w_in = back ? c->n_out : c->n_in;
    struct og_weight w[2];
    for (int k = 0; k < 2; k++) {
        w[k] = (struct og_weight){
            random_floats((size_t)w_out * (size_t)w_in), w_out, w_in, {0}, false};
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

/* Which thread sums what depends on their number, the sums do not: each element has one order. */
static void weight_gradient_is_the_same_for_any_threads(void **state)
{
    (void)state;
    enum { ROWS = 3000, OUT = 70, IN = 48, WIDER = 600 };
    float *dy = random_floats((size_t)ROWS * OUT), *x = random_floats((size_t)ROWS * IN);
    float *y = random_floats((size_t)ROWS * WIDER), *grad[4][2], *bias[4];
    for (int t = 0; t < 4; t++) {
        struct bench b;
        bench_open(&b, t + 1, WIDER);
        grad[t][0] = random_floats((size_t)OUT * IN);
        grad[t][1] = random_floats((size_t)OUT * WIDER);
        bias[t] = random_floats(OUT);
        const struct og_weight_grad op = {
            .rows = ROWS,
            .n_out = OUT,
            .dy = dy,
            .n_inputs = 2,
            .input = {og__dense(x, ROWS, IN), og__dense(y, ROWS, WIDER)},
            .grad = {grad[t][0], grad[t][1]},
            .bias_grad = bias[t]};
        assert_int_equal(og__ops_cpu.weight_grad(b.be, &op, NULL), 0);
        bench_close(&b);
        assert_memory_equal(grad[t][0], grad[0][0], sizeof(float) * OUT * IN);
        assert_memory_equal(grad[t][1], grad[0][1], sizeof(float) * OUT * WIDER);
        assert_memory_equal(bias[t], bias[0], sizeof(float) * OUT);
    }
    for (int t = 0; t < 4; t++) {
        free(grad[t][0]);
        free(grad[t][1]);
        free(bias[t]);
    }
    free(dy);
    free(x);
    free(y);
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
    compare_weight_grad(&b, 1513, 100, 40, 24, 12);
    bench_close(&b);
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

/* ==== scratch ==== */

/* Threads have scratch all or none: a product that was refused is refused again, or runs. */
static void products_without_memory(void **state)
{
    (void)state;
    enum { THREADS = 2, N = 4 };
    const struct og_product_shape shape = {.m = N, .n = N, .k = N, .lda = N, .ldb = N, .ldc = N};
    const float a[N * N] = {1, [5] = 1, [10] = 1, [15] = 1}, b[N * N] = {1, 2, 3, 4, 5, 6, 7, 8};
    float c[N * N];
    struct og_budget *budget = og__budget_new(OG__PRODUCT_SCRATCH * 3 / 2);
    struct og_products *products;
    struct og_product *p;
    assert_int_equal(og__products_open(&products, THREADS, budget, NULL), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(og__product_get(products, &shape, &p, NULL), -ENOMEM);
        assert_int_equal(og__budget_used(budget), 0);
    }
    assert_true(og__budget_bound(budget, 0));
    assert_int_equal(og__product_get(products, &shape, &p, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        int before = og__products_enter();
        og__product_run(p, t, a, b, c, NULL);
        og__products_leave(before);
        assert_memory_equal(c, b, sizeof(c));
    }
    og__products_close(products);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_equals_reference),
        cmocka_unit_test(weight_gradient_equals_reference),
        cmocka_unit_test(weight_gradient_is_the_same_for_any_threads),
        cmocka_unit_test(slopes_of_aggregation_and_product),
        cmocka_unit_test(products_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
