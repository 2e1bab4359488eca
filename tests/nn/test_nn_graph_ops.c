/* Pooling and the end of a layer: the cpu backend against the reference. Gradients agree with
 * finite differences, and results are bit-identical for any number of threads. */
#include "nn/nn_slopes.h"

/* ==== rows to places, zeros and numbers ==== */

enum { PUT = 130, PUT_INTO = 170, PUT_DIM = 37 };

/* Half of the rows of x in one order, to places in another. What no row goes to stays. */
static void rows_are_put_to_places(enum og_dtype dtype)
{
    struct bench b;
    uint32_t from[PUT], place[PUT_INTO];
    start();
    bench_open(&b, 2, PUT_DIM);
    float *x = random_floats((size_t)2 * PUT * PUT_DIM);
    float *got = random_floats((size_t)PUT_INTO * PUT_DIM);
    float *want = copy_floats(got, (size_t)PUT_INTO * PUT_DIM);
    for (uint32_t i = 0; i < PUT; i++)
        from[i] = og__rng_below(&rng, 2 * PUT);
    for (uint32_t i = 0; i < PUT_INTO; i++) {
        const uint32_t other = og__rng_below(&rng, i + 1);
        place[i] = place[other];
        place[other] = i;
    }
    struct og_put put = {.x = og__dense(x, 2 * PUT, PUT_DIM), .n = PUT, .place = place, .to = got};
    put.x.index = from;
    put.x.dtype = dtype;
    put.x.stride = PUT_DIM * og__dtype_size(dtype);
    struct og_put alike = put;
    alike.to = want;
    assert_int_equal(og__ops_cpu.put(b.be, &put, NULL), 0);
    assert_int_equal(og__ops_reference.put(b.be, &alike, NULL), 0);
    assert_memory_equal(got, want, (size_t)PUT_INTO * PUT_DIM * sizeof(*got));
    free(x);
    free(got);
    free(want);
    bench_close(&b);
}

static void rows_of_any_dtype_are_put_to_places(void **state)
{
    (void)state;
    rows_are_put_to_places(OG_F32);
    rows_are_put_to_places(OG_U8);
}

static void zeros_and_numbers_end_where_they_are_told_to(void **state)
{
    (void)state;
    enum { N = 1000, SOME = 700 };
    static uint32_t there[N];
    struct bench b;
    bench_open(&b, 1, 4);
    memset(there, 7, sizeof(there));
    assert_int_equal(og__ops_cpu.number(b.be, there, SOME, NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(there[i], i < SOME ? i : 0x07070707);
    assert_int_equal(og__ops_cpu.clear(b.be, there, SOME * sizeof(*there), NULL), 0);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(there[i], i < SOME ? 0 : 0x07070707);
    bench_close(&b);
}

/* ==== matrices mixed of others ==== */

enum { MIX_MADE = 3, MIX_BASE = 5, MIX_ROWS = 7 };
#define MIX_THESE \
    {             \
        4, 0, 6   \
    }

struct mixing {
    struct og_mix op;
    float *c;
};

static double mix_value(void *arg)
{
    struct mixing *x = arg;
    assert_int_equal(og__ops_reference.mix(NULL, &x->op, NULL), 0);
    return weighted_sum(x->c, x->op.made, MIX_MADE * x->op.n);
}

static void mix_equals_reference_and_slopes(size_t n, int threads)
{
    const size_t made = MIX_MADE * n, base = MIX_BASE * n, weights = (size_t)MIX_ROWS * MIX_BASE;
    struct bench b;
    start();
    bench_open(&b, threads, 16);
    float *partial = malloc(og__mix_parts(n) * MIX_MADE * MIX_BASE * sizeof(*partial));
    float *weight = random_floats(weights), *bases = random_floats(base), *c = random_floats(made);
    float *out[2], *dbase[2], *dweight[2], *before = random_floats(base);
    for (int k = 0; k < 2; k++) {
        const struct og_nn_ops *ops = backends[k];
        out[k] = random_floats(made);
        dbase[k] = copy_floats(before, base);
        dweight[k] = calloc(weights, sizeof(float));
        const struct og_mix op = {MIX_MADE, MIX_BASE, n, MIX_THESE, weight, bases, out[k]};
        const struct og_mix_back back = {&op, c, dbase[k], dweight[k], partial};
        assert_int_equal(ops->mix(b.be, &op, NULL), 0);
        assert_int_equal(ops->mix_back(b.be, &back, NULL), 0);
    }
    assert_close("made", out[0], out[1], made, OG__TOLERANCE_MIX);
    assert_close("dbase", dbase[0], dbase[1], base, OG__TOLERANCE_MIX);
    assert_close("dweight", dweight[0], dweight[1], weights, OG__TOLERANCE_MIX);
    struct mixing x = {{MIX_MADE, MIX_BASE, n, MIX_THESE, weight, bases, out[1]}, c};
    struct slopes s = {mix_value, &x, 0.25f, 1e-3, 0, 0};
    for (size_t i = 0; i < base; i++) /* it was added */
        dbase[0][i] -= before[i];
    check_slopes(&s, "weight", weight, dweight[0], weights, 1);
    check_slopes(&s, "base", bases, dbase[0], base, base / 50 + 1);
    assert_mostly_judged(&s);
    for (int k = 0; k < 2; k++) {
        free(out[k]);
        free(dbase[k]);
        free(dweight[k]);
    }
    float *const floats[] = {partial, weight, bases, c, before};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
    bench_close(&b);
}

static void mixing_equals_reference_and_slopes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 77, 1024, 2500};
    for (size_t i = 0; i < OG_COUNT(sizes); i++)
        mix_equals_reference_and_slopes(sizes[i], 1 + (int)i % 3);
}

/* ==== rows blended along the edges ==== */

enum { KINDS = 5 };

/* Lists of five relations, of which the third has none; in each, of some destinations. */
static struct og_block random_lists(uint32_t n_dst, uint32_t n_src)
{
    struct og_block b = {.n_dst = n_dst, .n_src = n_src, .n_relations = KINDS};
    const size_t most = (size_t)KINDS * n_dst;
    b.relation = calloc(KINDS + 1, sizeof(*b.relation));
    b.dst = calloc(most + 1, sizeof(*b.dst));
    b.indptr = calloc(most + 1, sizeof(*b.indptr));
    b.src = calloc(3 * most + 1, sizeof(*b.src));
    for (uint32_t r = 0; r < KINDS; r++) {
        for (uint32_t v = 0; r != 2 && v < n_dst; v++) {
            const uint32_t n = og__rng_below(&rng, 4);
            for (uint32_t i = 0; i < n; i++)
                b.src[b.n_edges++] = og__rng_below(&rng, n_src);
            if (n > 0)
                b.dst[b.n_lists++] = v;
            b.indptr[b.n_lists] = (uint32_t)b.n_edges;
        }
        b.relation[r + 1] = b.n_lists;
    }
    return b;
}

struct blending {
    struct bench b;
    struct og_block block;
    struct og_blend op;
    struct og_blend_edges turned;
    size_t n_x, n_z, n_weights;
    float *x, *weight, *z, *c, *dweight, *dx;
};

static struct og_blend_edges open_edges(uint32_t rows, uint64_t n)
{
    return (struct og_blend_edges){rows, calloc(rows + 1, sizeof(uint32_t)),
                                   calloc((size_t)n + 1, sizeof(struct og_blend_edge))};
}

static void blending_open(struct blending *p, uint32_t n_dst, uint32_t n_src, uint32_t bases,
                          int dim, int threads)
{
    start();
    bench_open(&p->b, threads, dim);
    p->block = random_lists(n_dst, n_src);
    p->n_x = n_src * (size_t)dim;
    p->n_z = n_dst * bases * (size_t)dim;
    p->n_weights = (size_t)KINDS * bases;
    p->x = random_floats(p->n_x);
    p->weight = random_floats(p->n_weights);
    p->c = random_floats(p->n_z);
    p->z = random_floats(p->n_z); /* what they hold before does not count */
    p->dweight = random_floats(p->n_weights);
    p->dx = random_floats(p->n_x);
    p->turned = open_edges(n_src, p->block.n_edges);
    p->op = (struct og_blend){.edges = open_edges(n_dst, p->block.n_edges),
                              .n_src = n_src,
                              .n_kinds = KINDS,
                              .n_base = bases,
                              .dim = dim,
                              .weight = p->weight,
                              .x = p->x,
                              .z = p->z};
}

static void blending_close(struct blending *p)
{
    uint32_t *const numbers[] = {p->block.relation, p->block.dst,      p->block.indptr,
                                 p->block.src,      p->op.edges.first, p->turned.first};
    float *const floats[] = {p->x, p->weight, p->z, p->c, p->dweight, p->dx};
    bench_close(&p->b);
    for (size_t i = 0; i < OG_COUNT(numbers); i++)
        free(numbers[i]);
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
    free(p->op.edges.edge);
    free(p->turned.edge);
}

static void blend_and_back(struct blending *p, const struct og_nn_ops *ops)
{
    const struct og_blend_sort there = {.block = &p->block, .out = p->op.edges};
    const struct og_blend_weights weights = {&p->op, p->block.n_edges, p->c, p->dweight};
    const struct og_blend_rows rows = {&p->op, &p->block, p->turned, p->c, p->dx};
    assert_int_equal(ops->blend_sort(p->b.be, &there, NULL), 0);
    assert_int_equal(ops->blend(p->b.be, &p->op, NULL), 0);
    assert_int_equal(ops->blend_weights(p->b.be, &weights, NULL), 0);
    assert_int_equal(ops->blend_rows(p->b.be, &rows, NULL), 0);
}

static double blend_value(void *arg)
{
    struct blending *p = arg;
    assert_int_equal(og__ops_reference.blend(NULL, &p->op, NULL), 0);
    return weighted_sum(p->c, p->z, p->n_z);
}

static void blending_equals_reference_and_slopes(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_dst, n_src, bases;
        int dim, threads;
    } sizes[] = {{1, 1, 1, 1, 1},
                 {40, 70, 2, 17, 1},
                 {150, 300, 5, 32, 2},
                 {700, 90, 3, 5, 3},
                 {60, 9000, 2, 40, 2}};
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        struct blending p[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            blending_open(&p[k], sizes[i].n_dst, sizes[i].n_src, sizes[i].bases, sizes[i].dim,
                          sizes[i].threads);
            blend_and_back(&p[k], backends[k]);
        }
        const size_t edges = p[0].block.n_edges * sizeof(struct og_blend_edge);
        assert_memory_equal(p[0].op.edges.edge, p[1].op.edges.edge, edges);
        assert_close("z", p[0].z, p[1].z, p[0].n_z, OG__TOLERANCE_BLEND);
        assert_close("dweight", p[0].dweight, p[1].dweight, p[0].n_weights, OG__TOLERANCE_BLEND);
        assert_close("dx", p[0].dx, p[1].dx, p[0].n_x, OG__TOLERANCE_BLEND);
        struct slopes s = {blend_value, &p[1], 0.25f, 1e-3, 0, 0};
        check_slopes(&s, "weight", p[1].weight, p[0].dweight, p[1].n_weights, 1);
        check_slopes(&s, "x", p[1].x, p[0].dx, p[1].n_x, p[1].n_x / 50 + 1);
        assert_mostly_judged(&s);
        for (int k = 0; k < BACKENDS; k++)
            blending_close(&p[k]);
    }
}

/* The sums of a destination are one task's, those of coefficients go by parts. */
static void blending_has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    struct blending p[3];
    for (int k = 0; k < 3; k++) {
        blending_open(&p[k], 1500, 800, 3, 24, k + 1);
        blend_and_back(&p[k], &og__ops_cpu);
        assert_memory_equal(p[0].z, p[k].z, p[k].n_z * sizeof(float));
        assert_memory_equal(p[0].dx, p[k].dx, p[k].n_x * sizeof(float));
        assert_memory_equal(p[0].dweight, p[k].dweight, p[k].n_weights * sizeof(float));
    }
    for (int k = 0; k < 3; k++)
        blending_close(&p[k]);
}

/* ==== the largest of the neighbours ==== */

struct pooling {
    struct bench b;
    struct og_block block;
    uint32_t *indptr, *col, *edge, *from;
    float *weight; /* of edges, or NULL */
    int dim;
    size_t n_x, n_y;
    float *x, *y, *c;
};

static void pooling_open(struct pooling *p, uint32_t n_dst, uint32_t n_src, int dim, int threads,
                         bool weighs)
{
    start();
    bench_open(&p->b, threads, dim);
    p->dim = dim;
    p->block = random_block(n_dst, n_src, 6);
    p->indptr = calloc(n_src + 1, 4);
    p->col = calloc(p->block.n_edges + 1, 4);
    p->edge = calloc(p->block.n_edges + 1, 4);
    p->weight = weighs ? random_floats(p->block.n_edges) : NULL;
    for (uint64_t e = 0; weighs && e < p->block.n_edges; e++)
        p->weight[e] = fmaxf(p->weight[e] + 0.7f, 0); /* some are 0 */
    p->block.weight = p->weight;
    transpose(&p->block, p->indptr, p->col, p->edge);
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
    free(p->edge);
    free(p->weight);
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
    struct og_pool_max_back op = {p->block.n_src, p->dim, dx,      p->c,     p->from,
                                  p->indptr,      p->col, p->edge, p->weight};
    assert_int_equal(ops->pool_max_back(p->b.be, &op, NULL), 0);
    return dx;
}

static void pooling_equals_reference(void **state)
{
    (void)state;
    const uint32_t shapes[][3] = {{200, 500, 33}, {1, 1, 1}, {64, 4000, 100}, {65, 65, 16}};
    for (size_t i = 0; i < 2 * OG_COUNT(shapes); i++) {
        const uint32_t *shape = shapes[i / 2];
        struct pooling p[BACKENDS];
        float *dx[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            pooling_open(&p[k], shape[0], shape[1], (int)shape[2], 2, i % 2);
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
    for (int weighs = 0; weighs < 2; weighs++) {
        struct pooling p;
        pooling_open(&p, 50, 90, 6, 2, weighs);
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
    struct pooling p[2];
    struct ending e[2];
    float *back[2][2];
    for (int k = 0; k < 2; k++) {
        int threads = k ? 3 : 1;
        pooling_open(&p[k], 900, 2500, 20, threads, true);
        pool_with(&p[k], &og__ops_cpu, true);
        back[k][0] = pool_back_with(&p[k], &og__ops_cpu);
        ending_open(&e[k], 3000, 30, OG_NORM_BATCH, OG__ELU, false, 0.5, threads);
        end_with(&e[k], &og__ops_cpu);
        back[k][1] = end_back_with(&e[k], &og__ops_cpu);
    }
    assert_memory_equal(p[0].y, p[1].y, p->n_y * sizeof(float));
    assert_memory_equal(back[0][0], back[1][0], p->n_x * sizeof(float));
    assert_memory_equal(e[0].h, e[1].h, e->n * sizeof(float));
    assert_memory_equal(e[0].dweight, e[1].dweight, e->cols * sizeof(float));
    assert_memory_equal(back[0][1], back[1][1], e->n * sizeof(float));
    for (int k = 0; k < 2; k++) {
        pooling_close(&p[k]);
        ending_close(&e[k]);
        for (int i = 0; i < 2; i++)
            free(back[k][i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_any_dtype_are_put_to_places),
        cmocka_unit_test(zeros_and_numbers_end_where_they_are_told_to),
        cmocka_unit_test(mixing_equals_reference_and_slopes),
        cmocka_unit_test(blending_equals_reference_and_slopes),
        cmocka_unit_test(blending_has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(pooling_equals_reference),
        cmocka_unit_test(slopes_of_pooling),
        cmocka_unit_test(ends_equal_reference),
        cmocka_unit_test(slopes_of_ends),
        cmocka_unit_test(dot_equals_reference),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
