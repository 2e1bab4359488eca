/* Operators of rows of edges: the cpu backend against the reference. Gradients against finite
 * differences, and bit-identical results for any number of threads. */
#include "nn/nn_slopes.h"

/* ==== rows of edges ==== */

/* Rows in units of 3, through an index, of each dtype; loops, lists of loops alone, and none. */
static void filling_equals_reference(void **state)
{
    (void)state;
    enum { UNITS = 200, ROWS = 3, DIM = 7 };
    for (int kind = 0; kind < 16; kind++) {
        struct bench b;
        const enum og_dtype dtype = (enum og_dtype)(kind % 4);
        start();
        bench_open(&b, 2, DIM);
        struct og_block block = random_block(150, 260, 9);
        const size_t n = (block.n_edges + block.n_dst) * DIM;
        uint32_t index[UNITS];
        float *data = random_floats((size_t)UNITS * ROWS * DIM);
        float *got = random_floats(n), *want = random_floats(n);
        for (uint32_t i = 0; i < UNITS; i++)
            index[i] = UNITS - 1 - i;
        uint16_t *half =
            (uint16_t *)(void *)data; /* of numbers from 1/2 to 1, or their negatives */
        for (size_t i = 0; i < (size_t)UNITS * ROWS * DIM; i++)
            if (dtype == OG_F16 || dtype == OG_BF16)
                half[i] = (uint16_t)(dtype == OG_F16 ? (half[i] & 0x83ff) | 0x3800
                                                     : (half[i] & 0x807f) | 0x3f00);
        block.edge = calloc(block.n_edges, sizeof(*block.edge));
        for (size_t e = 0; e < block.n_edges; e++)
            block.edge[e] = og__rng_below(&rng, UNITS * ROWS);
        const struct og_edge_rows rows = {
            .units = {.base = (const char *)data,
                      .index = index,
                      .stride = (size_t)ROWS * DIM * og__dtype_size(dtype),
                      .n = UNITS,
                      .dim = ROWS * DIM,
                      .dtype = dtype},
            .rows = ROWS,
            .dim = DIM};
        struct og_edge_fill op = {
            .block = &block, .rows = &rows, .loops = kind / 4 % 2, .apart = kind / 8, .x = want};
        assert_int_equal(og__ops_reference.edge_fill(b.be, &op, NULL), 0);
        op.x = got;
        assert_int_equal(og__ops_cpu.edge_fill(b.be, &op, NULL), 0);
        assert_close("x", got, want, (block.n_edges + (op.loops ? block.n_dst : 0)) * DIM,
                     OG__TOLERANCE_EDGE_FILL);
        free(block.edge);
        free_block(&block);
        free(data);
        free(got);
        free(want);
        bench_close(&b);
    }
}

/* ==== common to the others ==== */

struct edges {
    struct bench b;
    struct og_block block;
    uint32_t *indptr, *col, *edge;
};

static void edges_open(struct edges *e, uint32_t n_dst, uint32_t n_src, int width, int threads)
{
    start();
    bench_open(&e->b, threads, width);
    e->block = random_block(n_dst, n_src, 9);
    e->indptr = calloc(n_src + 1, 4);
    e->col = calloc(e->block.n_edges + 1, 4);
    e->edge = calloc(e->block.n_edges + 1, 4);
    transpose(&e->block, e->indptr, e->col, e->edge);
}

static void edges_close(struct edges *e)
{
    bench_close(&e->b);
    free_block(&e->block);
    free(e->indptr);
    free(e->col);
    free(e->edge);
}

/* ==== GINE's sum ==== */

struct sum {
    struct edges e;
    struct og_edge_sum op;
    struct og_edge_sum_back back;
    size_t n_x, n_y, n_edges;
    float *x, *own, *eps, *terms, *by_edge, *y, *c, *dx;
};

static void sum_open(struct sum *s, bool apart, int dim, int threads)
{
    edges_open(&s->e, 140, 300, dim, threads);
    s->n_x = 300 * (size_t)dim;
    s->n_y = 140 * (size_t)dim;
    s->n_edges = s->e.block.n_edges * (size_t)dim;
    s->x = random_floats(s->n_x);
    s->own = apart ? random_floats(s->n_y) : s->x;
    s->eps = random_floats(1);
    s->terms = random_floats(s->n_edges);
    s->by_edge = random_floats(s->n_edges);
    s->y = random_floats(s->n_y);
    s->c = random_floats(s->n_y);
    s->dx = random_floats(s->n_x);
    s->op = (struct og_edge_sum){.block = &s->e.block,
                                 .x = og__dense(s->x, 300, dim),
                                 .own = og__dense(s->own, 140, dim),
                                 .eps = s->eps,
                                 .by_edge = s->by_edge,
                                 .y = s->y};
    s->back = (struct og_edge_sum_back){.forward = &s->op,
                                        .dy = s->c,
                                        .indptr = s->e.indptr,
                                        .edge = s->e.edge,
                                        .own = !apart,
                                        .dx = s->dx};
}

static void sum_close(struct sum *s)
{
    edges_close(&s->e);
    if (s->own != s->x)
        free(s->own);
    float *const floats[] = {s->x, s->eps, s->terms, s->by_edge, s->y, s->c, s->dx};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
}

static void sum_with(struct sum *s, const struct og_nn_ops *ops)
{
    memcpy(s->by_edge, s->terms, s->n_edges * sizeof(float));
    assert_int_equal(ops->edge_sum(s->e.b.be, &s->op, NULL), 0);
}

static double sum_value(void *arg)
{
    struct sum *s = arg;
    sum_with(s, &og__ops_reference);
    return weighted_sum(s->c, s->y, s->n_y);
}

static void sums_equal_reference_and_slopes(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct sum s[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            sum_open(&s[k], apart, 13, 2);
            sum_with(&s[k], backends[k]);
        }
        assert_close("y", s[0].y, s[1].y, s->n_y, OG__TOLERANCE_EDGE_SUM);
        for (int k = 0; k < BACKENDS; k++)
            assert_int_equal(backends[k]->edge_sum_back(s[k].e.b.be, &s[k].back, NULL), 0);
        assert_close("dx", s[0].dx, s[1].dx, s->n_x, OG__TOLERANCE_EDGE_SUM);
        assert_close("dedge", s[0].by_edge, s[1].by_edge, s->n_edges, OG__TOLERANCE_EDGE_SUM);
        float *dedge = copy_floats(s->by_edge, s->n_edges);
        struct slopes judge = {sum_value, s, 1e-3f, 5e-3, 0, 0};
        check_slopes(&judge, "x", s->x, s->dx, s->n_x, 7);
        check_slopes(&judge, "edge", s->terms, dedge, s->n_edges, 11);
        assert_mostly_judged(&judge);
        free(dedge);
        for (int k = 0; k < BACKENDS; k++)
            sum_close(&s[k]);
    }
}

/* ==== attention by dot products ==== */

struct dots_case {
    int heads, width;
    bool average, add, bare; /* bare: without terms of edges */
    double dropout;
};

struct dots {
    struct edges e;
    struct og_dots op;
    struct og_dots_back back;
    struct og_dropout dropout;
    size_t n_z, n_q, n_y, n_edges, n_alpha;
    float *z, *query, *terms, *by_edge, *alpha, *dscore, *before, *y, *c, *dz, *dq;
};

static void dots_open(struct dots *d, const struct dots_case *c, int threads)
{
    const size_t f = (size_t)c->heads * (size_t)c->width;
    const size_t cols = c->average ? (size_t)c->width : f;
    edges_open(&d->e, 130, 270, 2 * (int)f, threads);
    d->n_z = 270 * 2 * f;
    d->n_q = 130 * f;
    d->n_y = 130 * cols;
    d->n_edges = c->bare ? 0 : d->e.block.n_edges * f;
    d->n_alpha = d->e.block.n_edges * (size_t)c->heads;
    d->z = random_floats(d->n_z);
    d->query = random_floats(d->n_q);
    d->terms = random_floats(d->n_edges);
    d->by_edge = random_floats(d->n_edges);
    d->alpha = random_floats(d->n_alpha);
    d->dscore = random_floats(d->n_alpha);
    d->before = random_floats(d->n_y);
    d->y = random_floats(d->n_y);
    d->c = random_floats(d->n_y);
    d->dz = random_floats(d->n_z);
    d->dq = random_floats(d->n_q);
    d->dropout = (struct og_dropout){.p = c->dropout, .step = {5, 6, 7}, .layer = 3};
    d->op = (struct og_dots){.block = &d->e.block,
                             .heads = c->heads,
                             .width = c->width,
                             .average = c->average,
                             .add = c->add,
                             .z = og__dense(d->z, 270, 2 * (int)f),
                             .query = d->query,
                             .by_edge = c->bare ? NULL : d->by_edge,
                             .alpha = d->alpha,
                             .dropout = c->dropout > 0 ? &d->dropout : NULL,
                             .dropped = d->dscore,
                             .y = d->y};
    d->back = (struct og_dots_back){.forward = &d->op,
                                    .dy = d->c,
                                    .indptr = d->e.indptr,
                                    .col = d->e.col,
                                    .edge = d->e.edge,
                                    .dscore = d->dscore,
                                    .dz = d->dz,
                                    .dquery = d->dq};
}

static void dots_close(struct dots *d)
{
    edges_close(&d->e);
    float *const floats[] = {d->z,      d->query, d->terms, d->by_edge, d->alpha, d->dscore,
                             d->before, d->y,     d->c,     d->dz,      d->dq};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
}

static void dots_with(struct dots *d, const struct og_nn_ops *ops)
{
    memcpy(d->y, d->before, d->n_y * sizeof(float));
    memcpy(d->by_edge, d->terms, d->n_edges * sizeof(float));
    assert_int_equal(ops->dots(d->e.b.be, &d->op, NULL), 0);
}

static double dots_value(void *arg)
{
    struct dots *d = arg;
    dots_with(d, &og__ops_reference);
    return weighted_sum(d->c, d->y, d->n_y);
}

static const struct dots_case dots_cases[] = {
    {4, 16, .add = true},   {3, 7, .average = true, .add = true},
    {1, 1, .bare = true},   {2, 33, .bare = true, .add = true},
    {4, 5, .dropout = 0.5}, {3, 6, .average = true, .dropout = 0.3}};

static void dots_equal_reference_and_slopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(dots_cases); i++) {
        struct dots d[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            dots_open(&d[k], &dots_cases[i], 2);
            dots_with(&d[k], backends[k]);
        }
        assert_close("alpha", d[0].alpha, d[1].alpha, d->n_alpha, OG__TOLERANCE_ATTEND);
        assert_close("y", d[0].y, d[1].y, d->n_y, OG__TOLERANCE_ATTEND);
        for (int k = 0; k < BACKENDS; k++)
            assert_int_equal(backends[k]->dots_back(d[k].e.b.be, &d[k].back, NULL), 0);
        assert_close("dz", d[0].dz, d[1].dz, d->n_z, OG__TOLERANCE_ATTEND_BACK);
        assert_close("dquery", d[0].dq, d[1].dq, d->n_q, OG__TOLERANCE_ATTEND_BACK);
        assert_close("dedge", d[0].by_edge, d[1].by_edge, d->n_edges, OG__TOLERANCE_ATTEND_BACK);
        float *dedge = copy_floats(d->by_edge, d->n_edges);
        struct slopes judge = {dots_value, d, 1e-2f, 5e-3, 0, 0};
        check_slopes(&judge, "z", d->z, d->dz, d->n_z, 97);
        check_slopes(&judge, "query", d->query, d->dq, d->n_q, 41);
        check_slopes(&judge, "edge", d->terms, dedge, d->n_edges, 301);
        assert_mostly_judged(&judge);
        free(dedge);
        for (int k = 0; k < BACKENDS; k++)
            dots_close(&d[k]);
    }
}

/* ==== terms of edges in attention ==== */

struct attend_case {
    int heads, width;
    bool sums, average, apart, weighs;
    double dropout;
};

struct attend {
    struct edges e;
    struct og_attend op;
    struct og_attend_back back;
    struct og_dropout dropout;
    size_t n_z, n_own, n_y, n_terms, n_alpha, f;
    float *z, *att[2], *own, *z_dst, *scores, *terms, *by_edge, *alpha, *dscore, *y, *c, *dz,
        *datt[2], *dz_dst, *weight;
};

static void attend_open(struct attend *a, const struct attend_case *c, int threads)
{
    const size_t heads = (size_t)c->heads, f = a->f = heads * (size_t)c->width;
    edges_open(&a->e, 120, 250, (int)f, threads);
    const size_t places = a->e.block.n_edges + 120;
    a->n_z = 250 * f;
    a->n_own = 120 * (c->sums ? f : heads);
    a->n_y = 120 * (c->average ? (size_t)c->width : f);
    a->n_alpha = places * heads;
    a->n_terms = places * (c->sums ? f : heads);
    float **const of[] = {&a->z,       &a->dz,     &a->own,    &a->z_dst, &a->terms,
                          &a->by_edge, &a->alpha,  &a->dscore, &a->y,     &a->c,
                          &a->scores,  &a->dz_dst, &a->weight};
    const size_t n[] = {a->n_z,      a->n_z,     a->n_own,   a->n_own, a->n_terms,
                        a->n_terms,  a->n_alpha, a->n_alpha, a->n_y,   a->n_y,
                        250 * heads, 120 * f,    places};
    for (size_t i = 0; i < OG_COUNT(of); i++)
        *of[i] = random_floats(n[i]);
    for (uint32_t v = 0; c->apart && v < 120; v++) /* as the model has them: of rows of zeros */
        memset(a->terms + ((size_t)a->e.block.indptr[v + 1] + v) * (a->n_terms / places), 0,
               a->n_terms / places * sizeof(float));
    for (int i = 0; i < 2; i++) {
        a->att[i] = random_floats(f);
        a->datt[i] = random_floats(f);
    }
    if (c->weighs)
        a->e.block.weight = a->weight;
    a->dropout = (struct og_dropout){.p = c->dropout, .step = {5, 6, 7}, .layer = 3};
    a->op = (struct og_attend){.block = &a->e.block,
                               .scoring = c->sums ? OG__BY_SUMS : OG__BY_ENDS,
                               .heads = c->heads,
                               .width = c->width,
                               .average = c->average,
                               .apart = c->apart,
                               .z = og__dense(a->z, 250, (int)f),
                               .z_dst = a->z_dst,
                               .att_src = a->att[0],
                               .att_dst = a->att[1],
                               .score_src = a->scores,
                               .score_dst = a->z_dst,
                               .by_edge = a->by_edge,
                               .alpha = a->alpha,
                               .dropout = c->dropout > 0 ? &a->dropout : NULL,
                               .dropped = a->dscore,
                               .y = a->y};
    a->back = (struct og_attend_back){.forward = &a->op,
                                      .dy = a->c,
                                      .indptr = a->e.indptr,
                                      .col = a->e.col,
                                      .edge = a->e.edge,
                                      .dscore = a->dscore,
                                      .dz = a->dz,
                                      .dz_dst = a->dz_dst,
                                      .datt_src = a->datt[0],
                                      .datt_dst = a->datt[1]};
}

static void attend_close(struct attend *a)
{
    edges_close(&a->e);
    float *const floats[] = {a->z,      a->dz,     a->own,     a->z_dst,   a->terms,  a->by_edge,
                             a->alpha,  a->dscore, a->y,       a->c,       a->scores, a->dz_dst,
                             a->att[0], a->att[1], a->datt[0], a->datt[1], a->weight};
    for (size_t i = 0; i < OG_COUNT(floats); i++)
        free(floats[i]);
}

static void attend_with(struct attend *a, const struct og_nn_ops *ops)
{
    memcpy(a->by_edge, a->terms, a->n_terms * sizeof(float));
    memcpy(a->z_dst, a->own, a->n_own * sizeof(float)); /* by ends: scores, if they are given */
    assert_int_equal(ops->attend(a->e.b.be, &a->op, NULL), 0);
}

static double attend_value(void *arg)
{
    struct attend *a = arg;
    attend_with(a, &og__ops_reference);
    return weighted_sum(a->c, a->y, a->n_y);
}

/* The gradient of the terms. */
static const float *dterms_of(const struct attend *a)
{
    return a->op.scoring == OG__BY_SUMS ? a->by_edge : a->dscore;
}

static void terms_in_attention_equal_reference_and_slopes(void **state)
{
    (void)state;
    for (int kind = 0; kind < 24; kind++) {
        const struct attend_case c = {3,
                                      6,
                                      .sums = kind % 2,
                                      .average = kind / 2 % 3 == 1,
                                      .apart = kind / 2 % 2,
                                      .weighs = kind % 3 == 2,
                                      .dropout = kind >= 12 ? 0.4 : 0};
        struct attend a[BACKENDS];
        for (int k = 0; k < BACKENDS; k++) {
            attend_open(&a[k], &c, 2);
            attend_with(&a[k], backends[k]);
        }
        assert_close("y", a[0].y, a[1].y, a->n_y, OG__TOLERANCE_ATTEND);
        for (int k = 0; k < BACKENDS; k++)
            assert_int_equal(backends[k]->attend_back(a[k].e.b.be, &a[k].back, NULL), 0);
        assert_close("dz", a[0].dz, a[1].dz, a->n_z, OG__TOLERANCE_ATTEND_BACK);
        assert_close("datt", a[0].datt[0], a[1].datt[0], a->f, OG__TOLERANCE_ATTEND_BACK);
        assert_close("dterms", dterms_of(&a[0]), dterms_of(&a[1]), a->n_terms,
                     OG__TOLERANCE_ATTEND_BACK);
        if (c.sums)
            assert_close("dz_dst", a[0].dz_dst, a[1].dz_dst, 120 * a->f, OG__TOLERANCE_ATTEND_BACK);
        float *dterms = copy_floats(dterms_of(a), a->n_terms);
        struct slopes judge = {attend_value, a, 1e-3f, 5e-3, 0, 0};
        check_slopes(&judge, "terms", a->terms, dterms, a->n_terms, c.sums ? 61 : 13);
        check_slopes(&judge, "z", a->z, a->dz, a->n_z, 47);
        assert_mostly_judged(&judge);
        free(dterms);
        for (int k = 0; k < BACKENDS; k++)
            attend_close(&a[k]);
    }
}

/* ==== any number of threads ==== */

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    struct sum s[2];
    struct dots d[2];
    struct attend a[2];
    for (int k = 0; k < 2; k++) {
        sum_open(&s[k], false, 13, k ? 3 : 1);
        sum_with(&s[k], &og__ops_cpu);
        assert_int_equal(og__ops_cpu.edge_sum_back(s[k].e.b.be, &s[k].back, NULL), 0);
        dots_open(&d[k], &dots_cases[4], k ? 3 : 1);
        dots_with(&d[k], &og__ops_cpu);
        assert_int_equal(og__ops_cpu.dots_back(d[k].e.b.be, &d[k].back, NULL), 0);
        attend_open(&a[k], &(struct attend_case){4, 9, .sums = true, .dropout = 0.4}, k ? 3 : 1);
        attend_with(&a[k], &og__ops_cpu);
        assert_int_equal(og__ops_cpu.attend_back(a[k].e.b.be, &a[k].back, NULL), 0);
    }
    assert_memory_equal(s[0].dx, s[1].dx, s->n_x * sizeof(float));
    assert_memory_equal(s[0].by_edge, s[1].by_edge, s->n_edges * sizeof(float));
    assert_memory_equal(d[0].y, d[1].y, d->n_y * sizeof(float));
    assert_memory_equal(d[0].dz, d[1].dz, d->n_z * sizeof(float));
    assert_memory_equal(d[0].by_edge, d[1].by_edge, d->n_edges * sizeof(float));
    assert_memory_equal(a[0].dz, a[1].dz, a->n_z * sizeof(float));
    assert_memory_equal(a[0].by_edge, a[1].by_edge, a->n_terms * sizeof(float));
    for (int k = 0; k < 2; k++) {
        sum_close(&s[k]);
        dots_close(&d[k]);
        attend_close(&a[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filling_equals_reference),
        cmocka_unit_test(sums_equal_reference_and_slopes),
        cmocka_unit_test(dots_equal_reference_and_slopes),
        cmocka_unit_test(terms_in_attention_equal_reference_and_slopes),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
