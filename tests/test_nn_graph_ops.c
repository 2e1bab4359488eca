/* Attention, pooling and the end of a layer: the cpu backend beside the reference, gradients beside
 * finite differences, and the same bits for any number of threads. */
#include "nn_ops.h"

enum { BACKENDS = 2 };
static const struct og_nn_ops *const backends[BACKENDS] = {&og__ops_cpu, &og__ops_reference};

/* d(sum of c y) / d at[i] by two-sided steps of the reference, which rounds least; beside grad.
 * Where the slopes of both sides differ, a kink lies between: such elements are counted, not
 * judged. */
struct slopes {
    double (*value)(void *arg);
    void *arg;
    float step;
    double tolerance;
    size_t tried, bent;
};

static void check_slopes(struct slopes *s, const char *what, float *at, const float *grad, size_t n,
                         size_t stride)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)grad[i]));
    double here = s->value(s->arg), tolerance = s->tolerance * fmax(largest, 1e-2);
    for (size_t i = 0; i < n; i += stride) {
        float before = at[i];
        at[i] = before + s->step;
        double up = (s->value(s->arg) - here) / (double)s->step;
        at[i] = before - s->step;
        double down = (here - s->value(s->arg)) / (double)s->step;
        at[i] = before;
        s->tried++;
        if (fabs(up - down) > tolerance)
            s->bent++;
        else if (!(fabs((up + down) / 2 - (double)grad[i]) <= tolerance))
            fail_msg("%s[%zu]: slope %.6g, not %.6g", what, i, (up + down) / 2, (double)grad[i]);
    }
}

static void assert_mostly_judged(const struct slopes *s)
{
    if (s->bent * 10 > s->tried)
        fail_msg("%zu of %zu slopes cannot be judged", s->bent, s->tried);
}

/* ==== attention ==== */

struct attention {
    struct bench b;
    struct og_block block;
    uint32_t *indptr, *col, *edge, *index;
    struct og_attend op;
    size_t f, cols, n_z, n_y, n_alpha;
    size_t n_own; /* scores of destinations */
    float *z, *att[2], *bias, *before, *y, *c, *dscore, *datt[2], *own;
    struct og_dropout dropout;
};

struct attention_case {
    uint32_t n_dst, n_src;
    int heads, width;
    bool average, add, shared, apart, scattered; /* rows of z in halves, through an index */
    double dropout;
};

static void attention_open(struct attention *a, const struct attention_case *c, int threads)
{
    uint32_t n_dst = c->n_dst, n_src = c->n_src;
    int heads = c->heads, width = c->width, z_dim = c->shared ? width : heads * width;
    bool average = c->average;
    start();
    a->index = NULL;
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
                             a->op.alpha, a->own};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
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

/* Returns dz, which lies beside z; c is the gradient of y. */
static float *attend_back_with(struct attention *a, const struct og_nn_ops *ops)
{
    float *dz = copy_floats(a->z, a->n_z);
    struct og_attend_back back = {.forward = &a->op,
                                  .dy = a->c,
                                  .indptr = a->indptr,
                                  .col = a->col,
                                  .edge = a->edge,
                                  .dz = dz,
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
        for (int side = 0; side < 2; side++)
            assert_close("datt", a[0].datt[side], a[1].datt[side], a->f, OG__TOLERANCE_ATTEND_BACK);
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

/* Coefficients stay whole; of what counts of them the share is as asked, scaled up, and one that
 * is 0 or scaled in one head is not so in all. A list longer than a piece has no two alike. */
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
    for (int kind = 0; kind < 12; kind++) {
        struct attention a;
        struct attention_case c = {40,
                                   70,
                                   3,
                                   5,
                                   .average = kind % 3 == 1,
                                   .add = true,
                                   .shared = kind % 3 == 2,
                                   .apart = kind >= 6,
                                   .dropout = kind / 3 % 2 ? 0.4 : 0};
        attention_open(&a, &c, 2);
        attend_with(&a, &og__ops_cpu);
        float *dz = attend_back_with(&a, &og__ops_cpu);
        float *dscore = copy_floats(a.op.score_dst, a.n_own);
        struct slopes s = {attention_value, &a, 1e-3f, 5e-3, 0, 0};
        check_slopes(&s, "att_src", a.att[0], a.datt[0], a.f, 1);
        if (c.apart)
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

/* ==== the largest of the neighbours ==== */

struct pooling {
    struct bench b;
    struct og_block block;
    uint32_t *indptr, *col, *from;
    int dim;
    size_t n_x, n_y;
    float *x, *y, *c;
};

static void pooling_open(struct pooling *p, uint32_t n_dst, uint32_t n_src, int dim, int threads)
{
    start();
    bench_open(&p->b, threads, dim);
    p->dim = dim;
    p->block = random_block(n_dst, n_src, 6);
    p->indptr = calloc(n_src + 1, 4);
    p->col = calloc(p->block.n_edges + 1, 4);
    transpose(&p->block, p->indptr, p->col, NULL);
    p->n_x = n_src * (size_t)dim;
    p->n_y = n_dst * (size_t)dim;
    p->x = random_floats(p->n_x);
    for (size_t i = 0; i < p->n_x; i++) /* what a ReLU makes: often equal, at zero */
        p->x[i] = fmaxf(p->x[i], 0);
    p->y = random_floats(p->n_y);
    p->c = random_floats(p->n_y);
    p->from = calloc(p->n_y, 4);
}

static void pooling_close(struct pooling *p)
{
    bench_close(&p->b);
    free_block(&p->block);
    free(p->indptr);
    free(p->col);
    free(p->from);
    free(p->x);
    free(p->y);
    free(p->c);
}

static void pool_with(struct pooling *p, const struct og_nn_ops *ops, bool keep)
{
    struct og_pool_max op = {&p->block, og__dense(p->x, p->block.n_src, p->dim), p->y,
                             keep ? p->from : NULL};
    assert_int_equal(ops->pool_max(p->b.be, &op, NULL), 0);
}

static float *pool_back_with(struct pooling *p, const struct og_nn_ops *ops)
{
    float *dx = copy_floats(p->x, p->n_x);
    struct og_pool_max_back op = {p->block.n_src, p->dim, dx, p->c, p->from, p->indptr, p->col};
    assert_int_equal(ops->pool_max_back(p->b.be, &op, NULL), 0);
    return dx;
}

static void pooling_equals_reference(void **state)
{
    (void)state;
    const uint32_t shapes[][3] = {{200, 500, 33}, {1, 1, 1}, {64, 4000, 100}, {65, 65, 16}};
    for (size_t i = 0; i < OG_COUNT(shapes); i++) {
        struct pooling p[BACKENDS];
        float *dx[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            pooling_open(&p[k], shapes[i][0], shapes[i][1], (int)shapes[i][2], 2);
            pool_with(&p[k], backends[k], true);
            dx[k] = pool_back_with(&p[k], backends[k]);
        }
        assert_memory_equal(p[0].y, p[1].y, p->n_y * sizeof(float));
        assert_memory_equal(p[0].from, p[1].from, p->n_y * sizeof(uint32_t));
        assert_close("dx", dx[0], dx[1], p->n_x, OG__TOLERANCE_POOL_MAX_BACK);
        float *kept = copy_floats(p[0].y, p->n_y);
        pool_with(&p[0], &og__ops_cpu, false);
        assert_memory_equal(p[0].y, kept, p->n_y * sizeof(float));
        for (int k = 0; k < BACKENDS; k++) {
            pooling_close(&p[k]);
            free(dx[k]);
        }
        free(kept);
    }
}

/* relu, then max: the derivative on the way back is that of both. */
static double pooling_value(void *arg)
{
    struct pooling *p = arg;
    pool_with(p, &og__ops_reference, true);
    return weighted_sum(p->c, p->y, p->n_y);
}

static void slopes_of_pooling(void **state)
{
    (void)state;
    struct pooling p;
    pooling_open(&p, 50, 90, 6, 2);
    for (size_t i = 0; i < p.n_x; i++)
        p.x[i] = 1.5f + draw(); /* positive: the ReLU before takes no part */
    pool_with(&p, &og__ops_cpu, true);
    float *dx = pool_back_with(&p, &og__ops_cpu);
    struct slopes s = {pooling_value, &p, 1e-3f, 5e-3, 0, 0};
    check_slopes(&s, "x", p.x, dx, p.n_x, 1);
    assert_mostly_judged(&s);
    pooling_close(&p);
    free(dx);
}

/* ==== the end of a layer ==== */

struct ending {
    struct bench b;
    struct og_dropout dropout;
    struct og_finish op;
    size_t n, cols;
    float *y, *h, *c, *weight, *bias, *mean, *var, *rstd, *dweight, *dbias;
};

static void ending_open(struct ending *e, uint32_t rows, int cols, int norm,
                        enum og__activation activation, bool unit, double dropout, int threads)
{
    start();
    bench_open(&e->b, threads, cols);
    e->cols = (size_t)cols;
    e->n = rows * e->cols;
    e->y = random_floats(e->n);
    for (size_t i = 0; i < e->n; i++) /* columns that lie far from zero */
        e->y[i] += (float)(i % e->cols % 5);
    float **const vectors[] = {&e->weight, &e->bias,    &e->mean, &e->var,
                               &e->rstd,   &e->dweight, &e->dbias};
    for (size_t i = 0; i < OG_COUNT(vectors); i++)
        *vectors[i] = random_floats(e->cols);
    e->h = random_floats(e->n);
    e->c = random_floats(e->n);
    e->dropout = (struct og_dropout){.p = dropout, .step = {1, 2, 3}, .layer = 1};
    e->op = (struct og_finish){.rows = rows,
                               .cols = cols,
                               .norm = norm,
                               .weight = e->weight,
                               .bias = e->bias,
                               .mean = e->mean,
                               .rstd = e->rstd,
                               .activation = activation,
                               .unit = unit,
                               .dropout = dropout > 0 ? &e->dropout : NULL,
                               .y = e->y,
                               .h = e->h};
}

static void ending_close(struct ending *e)
{
    bench_close(&e->b);
    float *const floats[] = {e->y,    e->h,   e->c,    e->weight,  e->bias,
                             e->mean, e->var, e->rstd, e->dweight, e->dbias};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
}

static void end_with(struct ending *e, const struct og_nn_ops *ops)
{
    struct og_moments moments = {e->op.rows, e->op.cols, e->y, e->mean, e->var};
    assert_int_equal(ops->moments(e->b.be, &moments, NULL), 0);
    for (size_t j = 0; j < e->cols; j++)
        e->rstd[j] = 1 / sqrtf(e->var[j] + OG__NORM_EPS);
    assert_int_equal(ops->finish(e->b.be, &e->op, NULL), 0);
}

static float *end_back_with(struct ending *e, const struct og_nn_ops *ops)
{
    float *dy = copy_floats(e->c, e->n);
    struct og_finish_back op = {&e->op, dy, e->dweight, e->dbias};
    assert_int_equal(ops->finish_back(e->b.be, &op, NULL), 0);
    return dy;
}

static const struct {
    uint32_t rows;
    int cols, norm;
    enum og__activation activation;
    bool unit;
    double dropout;
} endings[] = {
    {300, 40, OG_NORM_NONE, OG__ELU, false, 0.5},    {129, 33, OG_NORM_NONE, OG__RELU, true, 0.25},
    {1500, 20, OG_NORM_BATCH, OG__RELU, false, 0.5}, {700, 48, OG_NORM_BATCH, OG__ELU, false, 0},
    {600, 50, OG_NORM_LAYER, OG__RELU, false, 0.3},  {64, 17, OG_NORM_LAYER, OG__ELU, false, 0.5},
    {200, 24, OG_NORM_LAYER, OG__RELU, true, 0},     {1, 5, OG_NORM_BATCH, OG__RELU, true, 0}};

static void ending_of(struct ending *e, size_t i, int threads)
{
    ending_open(e, endings[i].rows, endings[i].cols, endings[i].norm, endings[i].activation,
                endings[i].unit, endings[i].dropout, threads);
}

static void ends_equal_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(endings); i++) {
        struct ending e[BACKENDS];
        float *dy[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            ending_of(&e[k], i, 2);
            end_with(&e[k], backends[k]);
            dy[k] = end_back_with(&e[k], backends[k]);
        }
        assert_close("mean", e[0].mean, e[1].mean, e->cols, OG__TOLERANCE_MOMENTS);
        assert_close("var", e[0].var, e[1].var, e->cols, OG__TOLERANCE_MOMENTS);
        assert_close("h", e[0].h, e[1].h, e->n, OG__TOLERANCE_FINISH);
        assert_close("dy", dy[0], dy[1], e->n, OG__TOLERANCE_FINISH_BACK);
        assert_close("dweight", e[0].dweight, e[1].dweight, e->cols, OG__TOLERANCE_FINISH_BACK);
        assert_close("dbias", e[0].dbias, e[1].dbias, e->cols, OG__TOLERANCE_FINISH_BACK);
        e[0].op.h = e[0].y; /* in place */
        assert_int_equal(og__ops_cpu.finish(e[0].b.be, &e[0].op, NULL), 0);
        assert_memory_equal(e[0].y, e[0].h, e->n * sizeof(float));
        for (int k = 0; k < BACKENDS; k++) {
            ending_close(&e[k]);
            free(dy[k]);
        }
    }
}

static double ending_value(void *arg)
{
    struct ending *e = arg;
    end_with(e, &og__ops_reference);
    return weighted_sum(e->c, e->h, e->n);
}

static void slopes_of_ends(void **state)
{
    (void)state;
    for (int norm = OG_NORM_NONE; norm <= OG_NORM_LAYER; norm++) {
        for (int unit = 0; unit < 2; unit++) {
            struct ending e;
            ending_open(&e, 90, 12, norm, unit ? OG__RELU : OG__ELU, unit, 0.3, 2);
            for (size_t j = 0; unit && j < e.cols; j++) /* no rows that are nearly zero */
                e.bias[j] += 0.7f;
            end_with(&e, &og__ops_cpu);
            float *dy = end_back_with(&e, &og__ops_cpu);
            struct slopes s = {ending_value, &e, 3e-4f, 5e-3, 0, 0};
            check_slopes(&s, "y", e.y, dy, e.n, 2);
            if (norm != OG_NORM_NONE) {
                check_slopes(&s, "weight", e.weight, e.dweight, e.cols, 1);
                check_slopes(&s, "bias", e.bias, e.dbias, e.cols, 1);
            }
            assert_mostly_judged(&s);
            ending_close(&e);
            free(dy);
        }
    }
}

/* ==== products added up ==== */

static void dot_equals_reference(void **state)
{
    (void)state;
    start();
    struct bench b;
    bench_open(&b, 2, 64);
    enum { ROWS = 900, COLS = 37 };
    float *a = random_floats((size_t)ROWS * COLS), *x = random_floats((size_t)ROWS * COLS);
    double magnitude = 0;
    float out[BACKENDS];
    uint32_t index[ROWS];
    for (uint32_t r = 0; r < ROWS; r++)
        index[r] = ROWS - 1 - r;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        magnitude += fabs((double)a[i] * (double)x[i]);
    for (int k = 0; k < BACKENDS; k++) {
        struct og_dot op = {ROWS, a, og__dense(x, ROWS, COLS), &out[k]};
        op.x.index = index;
        assert_int_equal(backends[k]->dot(b.be, &op, NULL), 0);
    }
    assert_true(fabs((double)out[0] - (double)out[1]) <= OG__TOLERANCE_DOT * magnitude);
    assert_true(fabsf(out[1]) > 0);
    bench_close(&b);
    free(a);
    free(x);
}

/* ==== any number of threads ==== */

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    struct attention a[2];
    struct pooling p[2];
    struct ending e[2];
    float *back[2][3];
    for (int k = 0; k < 2; k++) {
        int threads = k ? 3 : 1;
        const struct attention_case c = {900, 2500, 4, 16, .shared = true, .dropout = 0.4};
        attention_open(&a[k], &c, threads);
        attend_with(&a[k], &og__ops_cpu);
        back[k][0] = attend_back_with(&a[k], &og__ops_cpu);
        pooling_open(&p[k], 900, 2500, 20, threads);
        pool_with(&p[k], &og__ops_cpu, true);
        back[k][1] = pool_back_with(&p[k], &og__ops_cpu);
        ending_open(&e[k], 3000, 30, OG_NORM_BATCH, OG__ELU, false, 0.5, threads);
        end_with(&e[k], &og__ops_cpu);
        back[k][2] = end_back_with(&e[k], &og__ops_cpu);
    }
    assert_memory_equal(a[0].y, a[1].y, a->n_y * sizeof(float));
    assert_memory_equal(a[0].datt[0], a[1].datt[0], a->f * sizeof(float));
    assert_memory_equal(a[0].datt[1], a[1].datt[1], a->f * sizeof(float));
    assert_memory_equal(back[0][0], back[1][0], a->n_z * sizeof(float));
    assert_memory_equal(p[0].y, p[1].y, p->n_y * sizeof(float));
    assert_memory_equal(back[0][1], back[1][1], p->n_x * sizeof(float));
    assert_memory_equal(e[0].h, e[1].h, e->n * sizeof(float));
    assert_memory_equal(e[0].dweight, e[1].dweight, e->cols * sizeof(float));
    assert_memory_equal(back[0][2], back[1][2], e->n * sizeof(float));
    for (int k = 0; k < 2; k++) {
        attention_close(&a[k]);
        pooling_close(&p[k]);
        ending_close(&e[k]);
        for (int i = 0; i < 3; i++)
            free(back[k][i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_equals_reference),
        cmocka_unit_test(attention_is_a_mean),
        cmocka_unit_test(dropout_of_attention),
        cmocka_unit_test(slopes_of_attention),
        cmocka_unit_test(folding_equals_reference_and_slopes),
        cmocka_unit_test(pooling_equals_reference),
        cmocka_unit_test(slopes_of_pooling),
        cmocka_unit_test(ends_equal_reference),
        cmocka_unit_test(slopes_of_ends),
        cmocka_unit_test(dot_equals_reference),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
