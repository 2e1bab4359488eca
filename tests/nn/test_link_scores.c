/* Link prediction: scores of pairs, losses and ranking against their references. */
#include "device/tested_device.h"
#include "nn/links_fixture.h"

/* ==== operators against their reference ==== */

static const struct {
    uint32_t rows, edges, each;
    int dim;
} shapes[] = {{1, 1, 1, 1},    {5, 3, 2, 7},      {9, 20, 1, 6},
              {70, 64, 1, 16}, {130, 100, 5, 33}, {300, 1000, 3, 40}};

static void list_pairs(const struct og_pair_op *op, uint32_t rows, uint32_t *first, uint32_t *list)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < rows; r++) {
        first[r] = n;
        for (uint32_t p = 0; p < op->n; p++) {
            if (op->a[p] == r)
                list[n++] = 2 * p;
            if (op->b[p] == r)
                list[n++] = 2 * p + 1;
        }
    }
    first[rows] = n;
}

/* Decoders with a vector for each kind; without kinds all pairs have the first. */
static void kinds_equal_their_reference(struct bench *b, const struct og_pair_op *plain,
                                        const float *g, const uint32_t *first, const uint32_t *list,
                                        uint32_t rows, int decoder, bool typed)
{
    enum { KINDS = 5 };
    const uint32_t n = plain->n, n_kinds = typed ? KINDS : 1;
    const size_t dim = (size_t)plain->dim, most = (OG_MAX(n, KINDS) + rows) * dim;
    uint32_t *kind = calloc(n, sizeof(*kind)), *of_kind = calloc(n, sizeof(*of_kind)), at = 0;
    uint32_t start_of[KINDS + 1];
    float *by = random_floats(KINDS * dim), *got = random_floats(most), *want = random_floats(most);
    for (uint32_t p = 0; p < n; p++)
        kind[p] = og__rng_below(&rng, KINDS - 1); /* one has none */
    for (uint32_t k = 0; k < KINDS; k++) {
        start_of[k] = at;
        for (uint32_t p = 0; p < n; p++)
            if (kind[p] == k)
                of_kind[at++] = p;
    }
    start_of[KINDS] = at;
    struct og_pair_op op = *plain, ref = *plain;
    op.decoder = ref.decoder = decoder;
    op.kind = ref.kind = typed ? kind : NULL;
    op.by = ref.by = by;
    op.out = got;
    ref.out = want;
    assert_int_equal(og__ops_cpu.pair_dot(b->be, &op, NULL), 0);
    assert_int_equal(og__ops_reference.pair_dot(b->be, &ref, NULL), 0);
    assert_close(og__decoder_words[decoder], got, want, n, OG__TOLERANCE_PAIR);
    struct og_pair_back back = {&op, g, false, rows, first, list, got}, same = back;
    same.dh = want;
    assert_int_equal(og__ops_cpu.pair_back(b->be, &back, NULL), 0);
    assert_int_equal(og__ops_reference.pair_back(b->be, &same, NULL), 0);
    assert_close("slopes by rows", got, want, rows * dim, OG__TOLERANCE_PAIR);
    struct og_pair_kinds kinds = {&op, g, n_kinds, typed ? start_of : NULL, of_kind, got},
                         alike = kinds;
    alike.dby = want;
    assert_int_equal(og__ops_cpu.pair_kinds(b->be, &kinds, NULL), 0);
    assert_int_equal(og__ops_reference.pair_kinds(b->be, &alike, NULL), 0);
    assert_close("slopes by kinds", got, want, n_kinds * dim, OG__TOLERANCE_PAIR);
    free(kind);
    free(of_kind);
    free(by);
    free(got);
    free(want);
}

/* Both rows of a pair one after the other, exactly; and sums of halves. */
static void joined_equal_their_reference(struct bench *b, const struct og_pair_op *pairs,
                                         const float *g, const uint32_t *first,
                                         const uint32_t *list, uint32_t rows)
{
    const size_t dim = (size_t)pairs->dim, n = 2 * pairs->n * dim;
    float *got = calloc(n + rows * dim, sizeof(*got)),
          *want = calloc(n + rows * dim, sizeof(*want));
    struct og_pair_op op = *pairs, ref;
    op.joins = true;
    op.out = got;
    ref = op;
    ref.out = want;
    assert_int_equal(og__ops_cpu.pair_product(b->be, &op, NULL), 0);
    assert_int_equal(og__ops_reference.pair_product(b->be, &ref, NULL), 0);
    assert_memory_equal(got, want, n * sizeof(*got));
    struct og_pair_back back = {&op, g, true, rows, first, list, got}, same = back;
    same.dh = want;
    assert_int_equal(og__ops_cpu.pair_back(b->be, &back, NULL), 0);
    assert_int_equal(og__ops_reference.pair_back(b->be, &same, NULL), 0);
    assert_close("joined back", got, want, rows * dim, OG__TOLERANCE_PAIR);
    free(got);
    free(want);
}

static void pairs_equal_their_reference(void **state)
{
    (void)state;
    struct bench b;
    start();
    bench_open(&b, 3, 64);
    for (size_t c = 0; c < OG_COUNT(shapes); c++) {
        uint32_t n = shapes[c].edges * (1 + shapes[c].each), rows = shapes[c].rows;
        size_t dim = (size_t)shapes[c].dim;
        uint32_t *ends = calloc(2 * n, sizeof(*ends)), *first = calloc(rows + 1, sizeof(*first)),
                 *list = calloc(2 * n, sizeof(*list));
        for (uint32_t i = 0; i < 2 * n; i++)
            ends[i] = og__rng_below(&rng, rows);
        float *h = random_floats(rows * dim), *g = random_floats(2 * n * dim),
              *got = random_floats((2 * n + rows) * dim),
              *want = random_floats((2 * n + rows) * dim);
        struct og_pair_op op = {.n = n,
                                .a = ends,
                                .b = ends + n,
                                .dim = (int)dim,
                                .h = h,
                                .out = got},
                          ref = op;
        ref.out = want;
        assert_int_equal(og__ops_cpu.pair_dot(b.be, &op, NULL), 0);
        assert_int_equal(og__ops_reference.pair_dot(b.be, &ref, NULL), 0);
        assert_close("dot", got, want, n, OG__TOLERANCE_PAIR);
        assert_int_equal(og__ops_cpu.pair_product(b.be, &op, NULL), 0);
        assert_int_equal(og__ops_reference.pair_product(b.be, &ref, NULL), 0);
        assert_close("product", got, want, n * dim, OG__TOLERANCE_PAIR);
        list_pairs(&op, rows, first, list);
        for (int wide = 0; wide < 2; wide++) {
            struct og_pair_back back = {&op, g, wide, rows, first, list, got}, same = back;
            same.dh = want;
            assert_int_equal(og__ops_cpu.pair_back(b.be, &back, NULL), 0);
            assert_int_equal(og__ops_reference.pair_back(b.be, &same, NULL), 0);
            assert_close("back", got, want, rows * dim, OG__TOLERANCE_PAIR);
        }
        joined_equal_their_reference(&b, &op, g, first, list, rows);
        for (int decoder = OG_DECODER_DISTMULT; decoder <= OG_DECODER_TRANSE; decoder++)
            for (int typed = 0; typed < 2; typed++)
                if (decoder != OG_DECODER_COMPLEX || dim % 2 == 0)
                    kinds_equal_their_reference(&b, &op, g, first, list, rows, decoder, typed);
        free(ends);
        free(first);
        free(list);
        free(h);
        free(g);
        free(got);
        free(want);
    }
    bench_close(&b);
}

static void assert_metrics_close(const struct og_metrics *a, const struct og_metrics *b)
{
    assert_true(fabs(a->loss_sum - b->loss_sum) <= 1e-6 * (1e-30 + fabs(b->loss_sum)));
    assert_int_equal(a->counted, b->counted);
    assert_int_equal(a->compared, b->compared);
    assert_int_equal(a->twice_ordered, b->twice_ordered);
    assert_int_equal(a->values, b->values);
    assert_true(fabs(a->weight - b->weight) <= 1e-6 * b->weight);
    assert_true(fabs(og__metrics_r2(a) - og__metrics_r2(b)) <=
                1e-6 * (1 + fabs(og__metrics_r2(b))));
}

/* Some are 0. */
static float *weights_of_rows(uint32_t n)
{
    float *weight = random_floats(n);
    for (uint32_t i = 0; i < n; i++)
        weight[i] = i % 4 == 0 ? 0 : fabsf(weight[i]) + 0.1f;
    return weight;
}

static void losses_equal_their_reference(void **state)
{
    (void)state;
    start();
    for (size_t c = 0; c < OG_COUNT(shapes); c++)
        for (int kind = 0; kind < 3; kind++) {
            uint32_t edges = shapes[c].edges, n = edges * (1 + shapes[c].each);
            float *score = random_floats(n), *got = random_floats(n), *want = random_floats(n);
            float *row_weight = weights_of_rows(edges);
            for (uint32_t i = 0; i < n; i++) /* far out too, and equal ones */
                score[i] = i % 7 == 0 ? 0 : score[i] * (i % 5 == 0 ? 60.0f : 2.0f);
            struct og_metrics m, w;
            struct og_link_loss op = {edges, shapes[c].each, OG_LOSS_BCE + kind % 2, score, got,
                                      &m},
                                ref = op;
            ref.grad = want;
            assert_int_equal(og__ops_cpu.link_loss(NULL, &op, NULL), 0);
            ref.out = &w;
            assert_int_equal(og__ops_reference.link_loss(NULL, &ref, NULL), 0);
            assert_metrics_close(&m, &w);
            assert_close("slopes", got, want, n, 2e-6);
            struct og_loss values = {.rows = edges,
                                     .cols = (int)(1 + shapes[c].each),
                                     .loss = OG_LOSS_MSE + kind,
                                     .logits = score,
                                     .labels = random_floats(n),
                                     .row_weight = kind == 1 ? row_weight : NULL,
                                     .grad = got};
            for (uint32_t i = 0; i < n; i += 3)
                ((float *)values.labels)[i] = NAN;
            values.out = &m;
            assert_int_equal(og__ops_cpu.value_loss(NULL, &values, NULL), 0);
            values.grad = want;
            values.out = &w;
            assert_int_equal(og__ops_reference.value_loss(NULL, &values, NULL), 0);
            assert_metrics_close(&m, &w);
            assert_close("value slopes", got, want, n, 2e-6);
            free(row_weight);
            free((float *)values.labels);
            free(score);
            free(got);
            free(want);
        }
}

/* ==== ranking ==== */

static double area(const float *p, size_t np, const float *n, size_t nn)
{
    double sum = 0;
    for (size_t i = 0; i < np; i++)
        for (size_t k = 0; k < nn; k++)
            sum += p[i] > n[k] ? 1 : p[i] == n[k] ? 0.5 : 0;
    return sum / ((double)np * (double)nn);
}

/* F1 of precision and recall, where all above 0 are called positive. */
static double f1_of(const float *p, size_t np, const float *n, size_t nn)
{
    double right = 0, called = 0;
    for (size_t i = 0; i < np; i++)
        right += p[i] > 0;
    for (size_t i = 0; i < nn; i++)
        called += n[i] > 0;
    called += right;
    if (right == 0)
        return 0;
    return 2 / (called / right + (double)np / right);
}

/* Precision at each positive's own score: the sum over thresholds, one positive at a time. */
static double precision(const float *p, size_t np, const float *n, size_t nn)
{
    double sum = 0;
    for (size_t i = 0; i < np; i++) {
        double high = 0, all = 0;
        for (size_t k = 0; k < np; k++)
            high += p[k] >= p[i];
        for (size_t k = 0; k < nn; k++)
            all += n[k] >= p[i];
        sum += high / (high + all);
    }
    return sum / (double)np;
}

static void areas_are_those_of_all_pairs(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1},     {1, 50},    {50, 1},
                                      {200, 300}, {333, 333}, {3000, 2000}};
    start();
    for (size_t c = 0; c < OG_COUNT(sizes); c++)
        for (int ties = 0; ties < 2; ties++) {
            size_t np = sizes[c][0], nn = sizes[c][1];
            float *p = random_floats(np), *n = random_floats(nn);
            for (size_t i = 0; ties && i < np; i++)
                p[i] = floorf(p[i] * 4);
            for (size_t i = 0; ties && i < nn; i++)
                n[i] = floorf(n[i] * 4 - 1);
            double auc = area(p, np, n, nn), ap = precision(p, np, n, nn);
            struct og_ranking r = og__rank_scores(p, np, n, nn);
            assert_true(fabs(r.auc - auc) < 1e-12);
            assert_true(fabs(r.ap - ap) < 1e-12);
            assert_true(fabs(r.f1 - f1_of(p, np, n, nn)) < 1e-12);
            free(p);
            free(n);
        }
    assert_true(isnan(og__rank_scores(NULL, 0, NULL, 0).auc));
    assert_true(og__rank_scores(NULL, 0, NULL, 0).f1 == 0);
    float high[] = {0, 1e-40f, INFINITY, 3, -1}, low[] = {-0.0f, -1e-40f, -INFINITY, -3, 2};
    assert_true(fabs(og__rank_scores(high, 5, low, 5).auc - area(high, 5, low, 5)) < 1e-12);
}

/* Scores that are NaN have no order, so there is no area. The search for it neither takes long nor
 * finds a perfect one. */
static void scores_that_are_no_numbers_have_no_area(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {3, 2}, {2, 40}, {100, 100}};
    start();
    alarm(60);
    for (size_t c = 0; c < OG_COUNT(sizes); c++)
        for (int which = 0; which < 3; which++) {
            size_t np = sizes[c][0], nn = sizes[c][1];
            float *p = random_floats(np), *n = random_floats(nn);
            for (size_t i = 0; which != 1 && i < np; i += 1 + np / 3)
                p[i] = NAN;
            for (size_t i = 0; which != 0 && i < nn; i += 1 + nn / 3)
                n[i] = NAN;
            struct og_ranking r = og__rank_scores(p, np, n, nn);
            assert_true(isnan(r.auc) && isnan(r.ap) && isnan(r.f1));
            free(p);
            free(n);
        }
    alarm(0);
    float ends[] = {INFINITY, -INFINITY}, others[] = {INFINITY, 0};
    assert_true(og__rank_scores(ends, 2, others, 2).auc == 0.375); /* these do have one */
}

/* Hits as the Open Graph Benchmark has them: above the K-th largest negative. */
static void given_negatives_rank_all_edges(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {60, 7}, {7, 60}, {200, 300}, {3000, 700}};
    start();
    for (size_t c = 0; c < OG_COUNT(sizes); c++)
        for (int ties = 0; ties < 2; ties++) {
            const size_t np = sizes[c][0], nn = sizes[c][1];
            float *p = random_floats(np), *n = random_floats(nn);
            double mrr = 0, hits[OG__HITS] = {0};
            for (size_t i = 0; ties && i < np; i++)
                p[i] = floorf(p[i] * 4);
            for (size_t i = 0; ties && i < nn; i++)
                n[i] = floorf(n[i] * 4);
            for (size_t i = 0; i < np; i++) {
                size_t above = 0, equal = 0;
                for (size_t k = 0; k < nn; k++) {
                    above += n[k] > p[i];
                    equal += n[k] == p[i];
                }
                mrr += 1 / (1 + (double)above + 0.5 * (double)equal) / (double)np;
                for (int k = 0; k < OG__HITS; k++) /* fewer than K are no lower */
                    hits[k] += (above + equal < (size_t)og__hits_at[k]) / (double)np;
            }
            const struct og_ranks_among r = og__rank_among(p, np, n, nn);
            assert_true(fabs(r.mrr - mrr) < 1e-12);
            for (int k = 0; k < OG__HITS; k++)
                assert_true(fabs(r.hits[k] - hits[k]) < 1e-12);
            n[nn / 2] = NAN;
            assert_true(isnan(og__rank_among(p, np, n, nn).mrr));
            free(p);
            free(n);
        }
    assert_true(isnan(og__rank_among(NULL, 0, NULL, 0).hits[0]));
}

/* What brute force makes of the scores of an evaluation. */
struct ranks {
    double reciprocal;
    uint64_t hits[OG__HITS];
};

static double rank_of(const struct og_pairs *p, const float *score, uint32_t i)
{
    double rank = 1;
    for (uint32_t r = 0; r < p->n_rank_negatives; r++) {
        uint32_t at = 2 * BATCH + i * p->n_rank_negatives + r;
        if (p->b[at] != p->a[i] && p->b[at] != p->b[i])
            rank += score[at] > score[i] ? 1 : score[at] == score[i] ? 0.5 : 0;
    }
    return rank;
}

static struct ranks rank_all(const struct og_pairs *p, const float *score)
{
    static const int places[OG__HITS] = {1, 3, 10, 20, 50, 100};
    struct ranks all = {0};
    for (uint32_t i = 0; i < BATCH; i++) {
        double rank = rank_of(p, score, i);
        all.reciprocal += 1 / rank;
        for (int k = 0; k < OG__HITS; k++)
            all.hits[k] += rank <= places[k];
    }
    return all;
}

/* One layer over a block without edges: embeddings follow from features alone. */
static void check_ranks(const struct og_pairs *p, int decoder)
{
    enum { DIM = 6, WIDE = 5 };
    static uint32_t indptr[40 * BATCH];
    struct og_model_config config = {.kind = OG_MODEL_SAGE,
                                     .layers = 1,
                                     .in_dim = DIM,
                                     .hidden = WIDE,
                                     .n_classes = WIDE,
                                     .task = OG_TASK_LINK,
                                     .loss = OG_LOSS_BCE,
                                     .decoder = decoder};
    struct og_model *m;
    struct og_metrics got;
    struct og_pool *pool;
    float *x = random_floats((size_t)p->n_seeds * DIM);
    for (size_t i = 0; i < (size_t)p->n_seeds * DIM; i++)
        x[i] = roundf(x[i]); /* rows that are equal make ties */
    struct og_batch batch = {
        .n_hops = 1, .n_ids = p->n_seeds, .ids = p->seeds, .n_seeds = p->n_seeds};
    batch.hop[0] = (struct og_block){
        .n_dst = p->n_seeds, .n_src = p->n_seeds, .indptr = indptr, .src = indptr};
    struct og_rows rows = og__dense(x, p->n_seeds, DIM);
    assert_int_equal(og__pool_open(&pool, 2, NULL), 0);
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &config, OG_OPTIMIZER_ADAM, 1, pool, NULL, NULL), 0);
    assert_int_equal(og__model_forward(m, &batch, &rows, NULL, p, &got, NULL), 0);
    struct ranks want = rank_all(p, og__model_scores(m));
    assert_int_equal(got.ranked, BATCH);
    assert_true(fabs(got.reciprocal_ranks - want.reciprocal) < 1e-9);
    for (int k = 0; k < OG__HITS; k++)
        assert_int_equal(got.hits[k], want.hits[k]);
    assert_null(og__metrics_undefined(&got));
    x[(size_t)p->b[p->n - 1] * DIM] = NAN; /* of a ranking negative */
    assert_int_equal(og__model_forward(m, &batch, &rows, NULL, p, &got, NULL), 0);
    assert_true(isnan(got.reciprocal_ranks));
    assert_non_null(og__metrics_undefined(&got));
    for (size_t i = 0; i < (size_t)p->n_seeds * DIM; i++)
        x[i] = NAN;
    assert_int_equal(og__model_forward(m, &batch, &rows, NULL, p, &got, NULL), 0);
    assert_int_equal(got.hits[0] + got.hits[1] + got.hits[2] + got.twice_ordered, 0);
    assert_string_equal(og__metrics_undefined(&got), "loss");
    og__model_free(m);
    og__pool_close(pool);
    free(x);
}

static void ranks_are_those_of_the_scores(void **state)
{
    (void)state;
    of_a_virtual_device(); /* the host looks into the scores */
    uint32_t ends[2 * BATCH];
    uint64_t place[BATCH];
    struct og_pair_rule rule = uniform;
    struct og_pairs p;
    struct og_pair_key key = {false, OG__VALID, 0, 1, NULL};
    rule.n_nodes = 100;       /* few: some ranking negatives are ends of their edge */
    rule.rank_negatives = 90; /* and more pairs than are scored at once */
    draw_ends(ends, place, BATCH, rule.n_nodes);
    assert_int_equal(og__pairs_open(&p, &rule, BATCH, NULL, NULL), 0);
    og__pairs_make(&p, &rule, ends, place, BATCH, &key);
    check_ranks(&p, OG_DECODER_DOT);
    check_ranks(&p, OG_DECODER_MLP);
    og__pairs_close(&p);
}

/* Ranks of edges of several relations, each of which is ranked twice. */
static void ranks_of_both_ends_equal_their_reference(void **state)
{
    (void)state;
    enum {
        EDGES = 100,
        RANK_NEGATIVES = 9,
        NODES = 30,
        N = 2 * EDGES + 2 * EDGES * RANK_NEGATIVES
    };
    static uint32_t a[N], b[N];
    static float score[N];
    struct bench at;
    start();
    bench_open(&at, 2, 8);
    for (uint32_t p = 0; p < N; p++) {
        a[p] = og__rng_below(&rng, NODES);
        b[p] = og__rng_below(&rng, NODES);
        score[p] = (float)og__rng_below(&rng, 40);
    }
    for (int both = 0; both < 3; both++) { /* 2: one end, and given negatives all count */
        const struct og_pairs pairs = {.n_edges = EDGES,
                                       .n_negatives = EDGES,
                                       .n_rank_negatives = RANK_NEGATIVES,
                                       .n = N,
                                       .a = a,
                                       .b = b,
                                       .both_ends = both == 1,
                                       .ranks_given = both == 2};
        struct og_metrics got = {0}, want = {0};
        const struct og_rank op = {&pairs, score, &got}, alike = {&pairs, score, &want};
        assert_int_equal(og__ops_cpu.rank(at.be, &op, NULL), 0);
        assert_int_equal(og__ops_reference.rank(at.be, &alike, NULL), 0);
        assert_int_equal(got.ranked, both == 1 ? 2 * EDGES : EDGES);
        assert_int_equal(got.ranked, want.ranked);
        assert_true(fabs(got.reciprocal_ranks - want.reciprocal_ranks) < 1e-9);
        assert_memory_equal(got.hits, want.hits, sizeof(got.hits));
    }
    bench_close(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_equal_their_reference),
        cmocka_unit_test(losses_equal_their_reference),
        cmocka_unit_test(areas_are_those_of_all_pairs),
        cmocka_unit_test(scores_that_are_no_numbers_have_no_area),
        cmocka_unit_test(given_negatives_rank_all_edges),
        cmocka_unit_test(ranks_are_those_of_the_scores),
        cmocka_unit_test(ranks_of_both_ends_equal_their_reference),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
