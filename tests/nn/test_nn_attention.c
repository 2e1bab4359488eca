/* Attention, and vectors through a matrix: the cpu backend against the reference. Gradients agree
 * with finite differences, and results are bit-identical for any number of threads. */
#include "nn/nn_slopes.h"

#include "nn/vector.h"

/* ==== attention ==== */

struct attention {
    struct bench b;
    struct og_block block;
    uint32_t *indptr, *col, *edge, *index;
    struct og_attend op;
    size_t f, cols, n_z, n_y, n_alpha;
    size_t n_own;   /* scores of destinations */
    size_t n_z_dst; /* by sums, else 0 */
    float *weight;  /* of edges, or NULL */
    float *z, *att[2], *bias, *before, *y, *c, *dscore, *datt[2], *own, *z_dst, *dz_dst;
    struct og_dropout dropout;
};

struct attention_case {
    uint32_t n_dst, n_src;
    int heads, width;
    bool average, add, shared, apart, scattered; /* rows of z in halves, through an index */
    bool sums, weighs;
    double dropout;
};

static void attention_open(struct attention *a, const struct attention_case *c, int threads)
{
    uint32_t n_dst = c->n_dst, n_src = c->n_src;
    int heads = c->heads, width = c->width, z_dim = c->shared ? width : heads * width;
    bool average = c->average;
    start();
    a->index = NULL;
    a->weight = NULL;
    bench_open(&a->b, threads, heads * width);
    a->block = random_block(n_dst, n_src, 9);
    a->indptr = calloc(n_src + 1, 4);
    a->col = calloc(a->block.n_edges + 1, 4);
    a->edge = calloc(a->block.n_edges + 1, 4);
    transpose(&a->block, a->indptr, a->col, a->edge);
    a->f = (size_t)heads * (size_t)width;
    a->cols = average ? (size_t)width : a->f;
    a->n_z = n_src * (size_t)z_dim;
    a->n_y = n_dst * a->cols;
    a->n_alpha = (a->block.n_edges + n_dst) * (size_t)heads;
    a->z = random_floats(a->n_z);
    a->n_own = n_dst * (size_t)heads;
    a->own = random_floats(a->n_own);
    a->n_z_dst = c->sums ? n_dst * a->f : 0;
    a->z_dst = random_floats(a->n_z_dst);
    a->dz_dst = random_floats(a->n_z_dst);
    a->bias = random_floats(a->cols);
    a->before = random_floats(a->n_y);
    a->y = random_floats(a->n_y);
    a->c = random_floats(a->n_y);
    a->dscore = random_floats(a->n_alpha);
    for (int i = 0; i < 2; i++) {
        a->att[i] = random_floats(a->f);
        a->datt[i] = random_floats(a->f);
    }
    a->op = (struct og_attend){.block = &a->block,
                               .heads = heads,
                               .width = width,
                               .average = average,
                               .add = c->add,
                               .shared = c->shared,
                               .scoring = c->sums ? OG__BY_SUMS : OG__BY_ENDS,
                               .z_dst = a->z_dst,
                               .apart = c->apart,
                               .z = og__dense(a->z, n_src, z_dim),
                               .att_src = a->att[0],
                               .att_dst = a->att[1],
                               .bias = a->bias,
                               .score_src = random_floats((size_t)n_src * (size_t)heads),
                               .score_dst = random_floats((size_t)n_dst * (size_t)heads),
                               .alpha = random_floats(a->n_alpha),
                               .dropout = c->dropout > 0 ? &a->dropout : NULL,
                               .dropped = a->dscore, /* as models have it */
                               .y = a->y};
    if (c->weighs)
        a->block.weight = a->weight = random_floats(a->block.n_edges);
    a->dropout = (struct og_dropout){.p = c->dropout, .step = {5, 6, 7}, .layer = 3};
    if (c->scattered) { /* the upper halves of floats are numbers in bf16 */
        a->index = malloc(n_src * sizeof(*a->index));
        for (uint32_t i = 0; i < n_src; i++)
            a->index[i] = n_src - 1 - i;
        uint16_t *half = (uint16_t *)(void *)a->z;
        for (size_t i = 0; i < a->n_z; i++)
            half[i] = half[2 * i + 1];
        a->op.z.dtype = OG_BF16;
        a->op.z.stride = (size_t)z_dim * sizeof(*half);
        a->op.z.index = a->index;
    }
}

static void attention_close(struct attention *a)
{
    bench_close(&a->b);
    free_block(&a->block);
    float *const floats[] = {a->z,        a->bias,    a->before,       a->y,
                             a->c,        a->dscore,  a->att[0],       a->att[1],
                             a->datt[0],  a->datt[1], a->op.score_src, a->op.score_dst,
                             a->op.alpha, a->own,     a->z_dst,        a->dz_dst};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
    free(a->weight);
    free(a->indptr);
    free(a->col);
    free(a->edge);
    free(a->index);
}

static void attend_with(struct attention *a, const struct og_nn_ops *ops)
{
    memcpy(a->y, a->before, a->n_y * sizeof(float));
    memcpy(a->op.score_dst, a->own, a->n_own * sizeof(float)); /* which are given where apart */
    assert_int_equal(ops->attend(a->b.be, &a->op, NULL), 0);
}

/* Returns dz, next to z; c is the gradient of y. */
static float *attend_back_with(struct attention *a, const struct og_nn_ops *ops)
{
    float *dz = copy_floats(a->z, a->n_z);
    struct og_attend_back back = {.forward = &a->op,
                                  .dy = a->c,
                                  .indptr = a->indptr,
                                  .col = a->col,
                                  .edge = a->edge,
                                  .dz = dz,
                                  .dz_dst = a->dz_dst,
                                  .dscore = a->dscore,
                                  .datt_src = a->datt[0],
                                  .datt_dst = a->datt[1]};
    assert_int_equal(ops->attend_back(a->b.be, &back, NULL), 0);
    return dz;
}

static const struct attention_case attentions[] = {
    {200, 700, 4, 16, .average = false},
    {130, 300, 3, 7, .average = true},
    {1, 1, 1, 1, .average = false},
    {64, 64, 1, 40, .add = true},
    {100, 5000, 8, 5, .average = true, .add = true},
    {65, 80, 2, 33, .add = true},
    {150, 600, 3, 20, .shared = true},
    {90, 300, 4, 17, .shared = true, .scattered = true},
    {90, 300, 2, 16, .scattered = true},
    {200, 700, 4, 16, .dropout = 0.6},
    {70, 300, 4, 128, .average = false}, /* as wide as layers of 512 are */
    {40, 200, 4, 512, .shared = true},
    {100, 500, 8, 5, .average = true, .add = true, .dropout = 0.5},
    {90, 300, 3, 17, .shared = true, .scattered = true, .dropout = 0.3},
    {200, 700, 4, 16, .apart = true},
    {300, 60, 3, 7, .average = true, .add = true,
     .apart = true}, /* more destinations than sources */
    {150, 600, 3, 20, .shared = true, .apart = true, .dropout = 0.4},
    {200, 700, 4, 16, .sums = true},
    {130, 300, 3, 7, .sums = true, .average = true},
    {1, 1, 1, 1, .sums = true},
    {65, 80, 2, 33, .sums = true, .add = true},
    {90, 300, 2, 16, .sums = true, .scattered = true},
    {70, 300, 4, 128, .sums = true, .dropout = 0.6},
    {100, 500, 8, 5, .sums = true, .average = true, .add = true, .dropout = 0.5},
    {200, 700, 4, 16, .sums = true, .apart = true},
    {300, 60, 3, 7, .sums = true, .average = true, .apart = true, .dropout = 0.4},
    {200, 700, 4, 16, .weighs = true},
    {150, 600, 3, 20, .shared = true, .dropout = 0.4, .weighs = true},
    {130, 300, 3, 7, .average = true, .apart = true, .weighs = true},
    {100, 500, 8, 5, .sums = true, .average = true, .add = true, .dropout = 0.5, .weighs = true},
};

static void attention_equals_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(attentions); i++) {
        struct attention a[BACKENDS];
        float *dz[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            attention_open(&a[k], &attentions[i], 2);
            attend_with(&a[k], backends[k]);
        }
        assert_close("alpha", a[0].op.alpha, a[1].op.alpha, a->n_alpha, OG__TOLERANCE_ATTEND);
        assert_close("y", a[0].y, a[1].y, a->n_y, OG__TOLERANCE_ATTEND);
        for (int k = 0; k < BACKENDS; k++)
            dz[k] = attend_back_with(&a[k], backends[k]);
        assert_close("dz", dz[0], dz[1], a->n_z, OG__TOLERANCE_ATTEND_BACK);
        for (int side = 0; side < (attentions[i].sums ? 1 : 2); side++)
            assert_close("datt", a[0].datt[side], a[1].datt[side], a->f, OG__TOLERANCE_ATTEND_BACK);
        assert_close("dz_dst", a[0].dz_dst, a[1].dz_dst, a->n_z_dst, OG__TOLERANCE_ATTEND_BACK);
        assert_close("dscore", a[0].op.score_dst, a[1].op.score_dst, a->n_own,
                     OG__TOLERANCE_ATTEND_BACK);
        for (int k = 0; k < BACKENDS; k++) {
            attention_close(&a[k]);
            free(dz[k]);
        }
    }
}

/* Coefficients of a destination add up to 1 in each head, and its edges to itself have none. */
static void attention_is_a_mean(void **state)
{
    (void)state;
    struct attention a;
    attention_open(&a, &(struct attention_case){90, 200, 3, 4, .average = false}, 2);
    for (size_t j = 0; j < a.f; j++)
        a.att[0][j] *= 200; /* scores of hundreds: no overflow */
    attend_with(&a, &og__ops_cpu);
    for (uint32_t v = 0; v < 90; v++) {
        const uint32_t *indptr = a.block.indptr;
        for (size_t h = 0; h < 3; h++) {
            double sum = 0;
            for (size_t i = indptr[v] + v; i <= indptr[v + 1] + v; i++) {
                sum += (double)a.op.alpha[i * 3 + h];
                if (i < indptr[v + 1] + v && a.block.src[i - v] == v)
                    assert_true(a.op.alpha[i * 3 + h] == 0);
            }
            assert_true(fabs(sum - 1) < 1e-6);
        }
    }
    attention_close(&a);
}

/* Dropout leaves the coefficients whole, and scales up those that count. Their share is as
 * requested. A coefficient that is 0 or scaled in one head is not so in all. A list longer than a
 * piece has no two pieces alike. */
static void dropout_of_attention(void **state)
{
    (void)state;
    struct attention a;
    attention_open(&a, &(struct attention_case){300, 900, 4, 4, .dropout = 0.6}, 2);
    attend_with(&a, &og__ops_cpu);
    size_t coefficients = 0, left = 0, mixed = 0;
    for (size_t i = 0; i < a.n_alpha; i += 4) {
        size_t here = 0;
        for (size_t h = 0; h < 4; h++) {
            float whole = a.op.alpha[i + h], counts = a.op.dropped[i + h];
            assert_true(counts == 0 || counts == whole * (float)(1 / (1 - 0.6)));
            coefficients += whole > 0;
            here += counts > 0;
        }
        left += here;
        mixed += here > 0 && here < 4;
    }
    assert_true(fabs((double)left / (double)coefficients - 0.4) < 0.02);
    assert_true(mixed > 0);
    attention_close(&a);

    enum { LONG = 20000 };
    const uint32_t indptr[] = {0, LONG};
    struct og_block block = {
        .n_dst = 1, .n_src = LONG, .n_edges = LONG, .indptr = (uint32_t *)indptr};
    struct og_dropout dropout = {.p = 0.5, .step = {5, 6, 7}, .layer = 3};
    struct og_attend op = {.block = &block, .heads = 32, .dropout = &dropout};
    float *p = random_floats((LONG + 1) * 32);
    for (size_t i = 0; i < (LONG + 1) * 32; i++)
        p[i] = 1;
    og__dropout_attention(&op, 0, p);
    for (size_t piece = 4096 * 32; piece < 4 * 4096 * 32; piece += 4096 * 32)
        assert_true(memcmp(p, p + piece, 4096 * sizeof(*p)) != 0);
    free(p);
}

static double attention_value(void *arg)
{
    struct attention *a = arg;
    attend_with(a, &og__ops_reference);
    return weighted_sum(a->c, a->y, a->n_y);
}

static void slopes_of_attention(void **state)
{
    (void)state;
    for (int kind = 0; kind < 24; kind++) {
        struct attention a;
        struct attention_case c = {40,
                                   70,
                                   3,
                                   5,
                                   .average = kind % 3 == 1,
                                   .add = true,
                                   .shared = kind % 3 == 2 && kind < 12,
                                   .sums = kind >= 12,
                                   .apart = kind % 12 >= 6,
                                   .dropout = kind / 3 % 2 ? 0.4 : 0,
                                   .weighs = kind % 4 == 3};
        attention_open(&a, &c, 2);
        attend_with(&a, &og__ops_cpu);
        float *dz = attend_back_with(&a, &og__ops_cpu);
        float *dscore = copy_floats(a.op.score_dst, a.n_own);
        struct slopes s = {attention_value, &a, 1e-3f, 5e-3, 0, 0};
        check_slopes(&s, "att_src", a.att[0], a.datt[0], a.f, 1);
        if (c.sums)
            check_slopes(&s, "z_dst", a.z_dst, a.dz_dst, a.n_z_dst, 1);
        else if (c.apart)
            check_slopes(&s, "scores", a.own, dscore, a.n_own, 1);
        else
            check_slopes(&s, "att_dst", a.att[1], a.datt[1], a.f, 1);
        free(dscore);
        check_slopes(&s, "z", a.z, dz, a.n_z, 3);
        assert_mostly_judged(&s);
        attention_close(&a);
        free(dz);
    }
}

/* ==== vectors through a matrix ==== */

enum { FOLD_HEADS = 3, FOLD_WIDTH = 5, FOLD_IN = 37 };

struct folding {
    struct og_fold op;
    float *att, *weight, *out, *c, *dweight, *datt;
};

static double fold_value(void *arg)
{
    struct folding *f = arg;
    assert_int_equal(og__ops_reference.fold(NULL, &f->op, NULL), 0);
    return weighted_sum(f->c, f->out, (size_t)FOLD_HEADS * FOLD_IN);
}

static void folding_equals_reference_and_slopes(void **state)
{
    (void)state;
    enum { ROWS = FOLD_HEADS * FOLD_WIDTH, N = ROWS * FOLD_IN, OUT = FOLD_HEADS * FOLD_IN };
    start();
    struct og_nn_backend *be = backend_alone();
    struct folding f = {.att = random_floats(ROWS),
                        .weight = random_floats(N),
                        .out = random_floats(OUT),
                        .c = random_floats(OUT),
                        .dweight = random_floats(N),
                        .datt = random_floats(ROWS)};
    float *before = copy_floats(f.dweight, N), *want = random_floats(OUT);
    float *dweight = copy_floats(f.dweight, N), *datt = random_floats(ROWS);
    f.op = (struct og_fold){FOLD_HEADS, FOLD_WIDTH, FOLD_IN, f.att, f.weight, want};
    assert_int_equal(og__ops_reference.fold(be, &f.op, NULL), 0);
    f.op.out = f.out;
    assert_int_equal(og__ops_cpu.fold(be, &f.op, NULL), 0);
    assert_close("out", f.out, want, OUT, OG__TOLERANCE_FOLD);
    assert_int_equal(
        og__ops_cpu.fold_back(be, &(struct og_fold_back){&f.op, f.c, f.dweight, f.datt}, NULL), 0);
    assert_int_equal(
        og__ops_reference.fold_back(be, &(struct og_fold_back){&f.op, f.c, dweight, datt}, NULL),
        0);
    og__ops_cpu.close(be);
    assert_close("dweight", f.dweight, dweight, N, OG__TOLERANCE_FOLD);
    assert_close("datt", f.datt, datt, ROWS, OG__TOLERANCE_FOLD);
    for (size_t i = 0; i < N; i++) /* it was added */
        f.dweight[i] -= before[i];
    struct slopes s = {fold_value, &f, 0.25f, 1e-4, 0, 0};
    check_slopes(&s, "weight", f.weight, f.dweight, N, 7);
    check_slopes(&s, "att", f.att, f.datt, ROWS, 1);
    assert_mostly_judged(&s);
    float *const floats[] = {f.att,  f.weight, f.out, f.c,     f.dweight,
                             f.datt, before,   want,  dweight, datt};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
}

/* ==== any number of threads ==== */

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const struct attention_case cases[] = {
        {900, 2500, 4, 16, .shared = true, .dropout = 0.4},
        {900, 2500, 4, 16, .sums = true, .dropout = 0.4}};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct attention a[2];
        float *back[2];
        for (int k = 0; k < 2; k++) {
            attention_open(&a[k], &cases[i], k ? 3 : 1);
            attend_with(&a[k], &og__ops_cpu);
            back[k] = attend_back_with(&a[k], &og__ops_cpu);
        }
        assert_memory_equal(a[0].y, a[1].y, a->n_y * sizeof(float));
        assert_memory_equal(a[0].datt[0], a[1].datt[0], a->f * sizeof(float));
        assert_memory_equal(a[0].datt[1], a[1].datt[1], a->f * sizeof(float));
        assert_memory_equal(a[0].dz_dst, a[1].dz_dst, a->n_z_dst * sizeof(float));
        assert_memory_equal(back[0], back[1], a->n_z * sizeof(float));
        for (int k = 0; k < 2; k++) {
            attention_close(&a[k]);
            free(back[k]);
        }
    }
}

/* Gradients of the attention's softmax, and of ELU. */
static void exponentials_are_right(void **state)
{
    (void)state;
    double worst = 0;
    for (float x = -86.9f; x < 87.9f; x += 0x1p-13f)
        worst = fmax(worst, fabs(og__exp(x) / exp((double)x) - 1));
    print_message("largest relative error of e^x: %.3g\n", worst);
    assert_true(worst < 2e-7);
    assert_true(og__exp(0) == 1 && og__exp(-90) == 0 && og__exp(-INFINITY) == 0);
    assert_true(og__exp(200) > 1e38f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_are_right),
        cmocka_unit_test(attention_equals_reference),
        cmocka_unit_test(attention_is_a_mean),
        cmocka_unit_test(dropout_of_attention),
        cmocka_unit_test(slopes_of_attention),
        cmocka_unit_test(folding_equals_reference_and_slopes),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
