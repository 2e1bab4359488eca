/* sample: neighbours drawn for each node alone, against their exact probabilities, counted out on
 * small graphs. */
#include "sample/samplers_fixture.h"

/* Successive sampling by definition. */
static void successive(struct exact *x, const float *w, int n, uint32_t taken, int left,
                       uint64_t code, double p)
{
    double rest = 0;
    for (int i = 0; i < n; i++)
        rest += taken >> i & 1 ? 0 : (double)w[i];
    if (left == 0 || rest == 0) {
        add_outcome(x, code, p);
        return;
    }
    for (int i = 0; i < n; i++)
        if (!(taken >> i & 1) && w[i] > 0)
            successive(x, w, n, taken | 1u << i, left - 1, code * 64 + (uint64_t)i + 2,
                       p * (double)w[i] / rest);
}

static void weighted_draws_are_successive_sampling(void **state)
{
    /* even; uneven; so uneven that the rest comes from the pass; long */
    static const struct {
        int n, k;
        float w[24];
    } cases[] = {
        {5, 3, {1, 1, 1, 1, 1}},
        {5, 2, {1, 2, 3, 4, 0.5f}},
        {6, 3, {1000, 1, 2, 0, 3, 4}},
        {6, 4, {1e8f, 1e-3f, 2e-3f, 1e-3f, 3e-3f, 0}},
        {5, 4, {5e8f, 0, 0, 1, 3}}, /* fewer than the fanout have weight */
        {24, 2, {1, 2, 0, 1, 0, 3, 1, 1, 1, 2, 2, 0, 5, 1, 1, 1, 2, 0, 0, 1, 4, 1, 1, 2}},
        {24, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0}},
    };
    (void)state;
    struct exact *x = malloc(sizeof(*x));
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        memset(x, 0, sizeof(*x));
        struct graph g = make_star(cases[c].n, cases[c].w);
        successive(x, cases[c].w, cases[c].n, 0, cases[c].k, 0, 1);
        assert_outcomes(&g, &ways[1], 0, cases[c].k, x);
        free_graph(&g);
    }
    free(x);
}

/* Many picks of many edges, a few of them heavy. Their marginals agree with as many independent
 * draws by the definition. */
static void many_weighted_draws_agree_with_the_definition(void **state)
{
    enum { DEGREE = 300, K = 60, ROUNDS = 3000 };
    (void)state;
    float w[DEGREE];
    double chi2 = 0;
    int found[2][DEGREE] = {{0}};
    for (int i = 0; i < DEGREE; i++)
        w[i] = i < 20 ? 1e5f : (float)(1 + i % 5);
    struct graph g = make_star(DEGREE, w);
    const int fanout = K;
    const uint32_t v = 0;
    struct source k = open_source(&g, &ways[1], &fanout, 1, 4, NULL);
    struct og_rng rng;
    og__rng_at(&rng, 77, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const struct og_batch *b = sample(&k, &v, 1, r);
        assert_int_equal(b->hop[0].n_edges, K);
        for (int i = 0; i < K; i++)
            found[0][b->ids[b->hop[0].src[i]] - 1]++;
        bool taken[DEGREE] = {false};
        for (int n = 0; n < K; n++) {
            double rest = 0;
            for (int i = 0; i < DEGREE; i++)
                rest += taken[i] ? 0 : (double)w[i];
            double x = rest * ((double)og__rng_u32(&rng) + 0.5) * 0x1p-32;
            int i = 0;
            for (double sum = 0; (sum += taken[i] ? 0 : (double)w[i]) <= x;)
                i++;
            taken[i] = true;
            found[1][i]++;
        }
        og__rng_at(&rng, 77, OG__STREAM_BENCH, 0, r + 1, 0, 0);
    }
    for (int i = 20; i < DEGREE; i++) {
        double d = found[0][i] - found[1][i];
        double p = (found[0][i] + found[1][i]) / (2.0 * ROUNDS);
        chi2 += d * d / (2 * ROUNDS * p * (1 - p));
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(found[0][i], ROUNDS);
    assert_in_range((int)(1e6 * test_chi2_p(chi2, DEGREE - 21)), 100, 999900);
    close_source(&k);
    free_graph(&g);
}

static void uniform_draws_are_uniform(void **state)
{
    static const float w[6] = {1, 1, 1, 1, 1, 1};
    (void)state;
    struct graph g = make_star(6, w);
    struct exact *x = calloc(1, sizeof(*x));
    /* Floyd's order is its own: the picks of {0..5}, each draw of the definition alike */
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 6; b++) {
            uint32_t second = b == a ? 5 : b;
            add_outcome(x, ((uint64_t)a + 2) * 64 + second + 2, 1.0 / 30);
        }
    assert_outcomes(&g, &ways[0], 0, 2, x);
    free(x);
    free_graph(&g);
}

static void draws_with_replacement_know_nothing_of_each_other(void **state)
{
    static const float w[5] = {1, 1, 1, 1, 1};
    const struct og_sampling how = {.kind = OG_SAMPLER_UNIFORM, .replace = true};
    (void)state;
    struct graph g = make_star(5, w);
    struct exact *x = calloc(1, sizeof(*x));
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++)
            add_outcome(x, ((uint64_t)a + 2) * 64 + b + 2, 1.0 / 25);
    assert_outcomes(&g, &how, 0, 2, x);
    free(x);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_draws_are_uniform),
        cmocka_unit_test(draws_with_replacement_know_nothing_of_each_other),
        cmocka_unit_test(weighted_draws_are_successive_sampling),
        cmocka_unit_test(many_weighted_draws_agree_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
