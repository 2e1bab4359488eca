/* Operators: the cpu backend against the reference. */
#include "nn/nn_ops.h"

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
    og__widen(got, all, OG_F16, NULL, 0, 65536);
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
    og__widen(got, bytes + 1, OG_F32, NULL, 1, 2);
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
    og__widen(got, bytes + 1, OG_BF16, NULL, 0, 1);
    assert_true(got[0] == 1.5f);
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
    float *mean = random_floats(SRC), *loop = random_floats(SRC);
    for (uint32_t i = 0; i < SRC; i++) { /* some nodes have no weight at all */
        mean[i] = mean[i] > 0 ? mean[i] : 0;
        loop[i] = loop[i] > 0 ? loop[i] : 0;
    }
    for (uint32_t e = 0; e < b.n_edges; e++)
        weight[e] = weight[e] > -0.5f ? weight[e] + 0.5f : 0; /* lists that weigh nothing */
    for (uint32_t i = 0; i < SRC - DST; i++)
        degree[i] = og__rng_below(&rng, 9);
    for (int dressed = 0; dressed < 2; dressed++) { /* with degrees and weights, and without */
        b.weight = dressed ? weight : NULL;
        b.degree = dressed ? degree : NULL;
        b.mean_weight = dressed ? mean : NULL;
        b.loop_weight = dressed ? loop : NULL;
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
    free(mean);
    free(loop);
    free_block(&b);
}

static void lists_and_ranks_of_pairs_equal_reference(void **state)
{
    (void)state;
    enum { ROWS = 40, EDGES = 50, RANK_NEGATIVES = 30, N = EDGES * (2 + RANK_NEGATIVES) };
    start();
    uint32_t a[N], b[N], first[2][ROWS + 1], pair[2][2 * N];
    float score[N];
    for (uint32_t p = 0; p < N; p++) {
        a[p] = og__rng_below(&rng, ROWS);
        b[p] = og__rng_below(&rng, ROWS);         /* some pair a row with itself */
        score[p] = (float)og__rng_below(&rng, 7); /* many are equal */
    }
    const struct og_pairs pairs = {.n_edges = EDGES,
                                   .n_negatives = EDGES,
                                   .n_rank_negatives = RANK_NEGATIVES,
                                   .n = N,
                                   .a = a,
                                   .b = b};
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
        struct og_update op = {.n = N,
                               .value = value[side],
                               .m = m[side],
                               .v = v[side],
                               .grad = grad,
                               .rate = 0.01 / (1 - 0.8),
                               .root = sqrt(1 - 0.97),
                               .weight_decay = 0.02,
                               .shrink = 0.97,
                               .scale = 0.6,
                               .beta1 = 0.8,
                               .beta2 = 0.97,
                               .epsilon = 1e-3};
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

/* Entries draw one block of random words at a time, rows many. The row is longer than a key's
 * blocks. */
static void dropout_of_entries_is_that_of_the_row(void **state)
{
    (void)state;
    enum { COLS = (8 << OG__BLOCK_BITS) + 300 };
    const double p[] = {0.5, 0.3};
    float *y = malloc(COLS * sizeof(*y)), *value = malloc(COLS * sizeof(*value));
    uint32_t *column = malloc(COLS * sizeof(*column));
    for (size_t i = 0; i < OG_COUNT(p); i++) {
        const struct og_dropout d = {.p = p[i], .step = {7ull << 32 | 3, 5, 2}, .layer = 1};
        for (uint32_t j = 0; j < COLS; j++) {
            column[j] = j;
            y[j] = value[j] = (float)(j + 1);
        }
        og__dropout_row(&d, 9, y, COLS);
        og__dropout_entries(&d, 9, column, value, COLS);
        assert_memory_equal(y, value, COLS * sizeof(*y));
    }
    free(y);
    free(value);
    free(column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_widened_exactly),
        cmocka_unit_test(rows_may_lie_at_any_byte),
        cmocka_unit_test(transposing_twice_is_the_block_again),
        cmocka_unit_test(blocks_equal_reference),
        cmocka_unit_test(lists_and_ranks_of_pairs_equal_reference),
        cmocka_unit_test(kept_statistics_equal_reference),
        cmocka_unit_test(updates_equal_reference),
        cmocka_unit_test(dropout_keeps_the_share_it_should),
        cmocka_unit_test(dropout_of_entries_is_that_of_the_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
