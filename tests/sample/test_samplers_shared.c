/* sample: walks, and draws that destinations share, against their exact probabilities, counted out
 * on small graphs. */
#include "sample/samplers_fixture.h"

/* ---- walks ---- */

/* Small, with a dead end (3), a doubled edge and ways back. */
static struct graph make_maze(void)
{
    static const int32_t lists[5][4] = {{1, 2, 2}, {0, 3}, {0, 1, 3, 4}, {0}, {2}};
    static const int lengths[5] = {3, 2, 4, 0, 1};
    struct graph g = {.indptr = calloc(6, 8), .indices = calloc(10, 4)};
    for (int v = 0; v < 5; v++) {
        g.indptr[v + 1] = g.indptr[v] + lengths[v];
        memcpy(g.indices + g.indptr[v], lists[v], (size_t)lengths[v] * 4);
    }
    g.t = (struct og_topology){
        .n_nodes = 5, .n_edges = 10, .indptr = g.indptr, .indices32 = g.indices};
    return g;
}

struct walking {
    const struct graph *g;
    const struct og_sampling *how;
    int neighbors;
    uint32_t start;
    struct exact *x;
};

/* Most visited first, of equals the smaller, with their shares in thousandths. */
static uint64_t code_of_visits(const int *visits, int neighbors)
{
    bool taken[5] = {false};
    uint32_t order[5];
    int n = 0;
    int sum = 0;
    uint64_t code = 0;
    for (; n < neighbors; n++) {
        int best = -1;
        for (int u = 0; u < 5; u++)
            if (!taken[u] && visits[u] > 0 && (best < 0 || visits[u] > visits[best]))
                best = u;
        if (best < 0)
            break;
        taken[best] = true;
        order[n] = (uint32_t)best;
        sum += visits[best];
    }
    for (int i = 0; i < n; i++)
        code = (code * 64 + order[i] + 1) * 1024 +
               (uint64_t)lround((double)((float)visits[order[i]] / (float)sum) * 1000);
    return code;
}

/* Every path of every walk. */
static void walk_on(const struct walking *w, int walk, int step, uint32_t at, int *visits, double p)
{
    if (walk == w->how->walks) {
        add_outcome(w->x, code_of_visits(visits, w->neighbors), p);
        return;
    }
    int64_t degree = w->g->indptr[at + 1] - w->g->indptr[at];
    double ends = step == 0 ? 0 : w->how->restart;
    if (step == w->how->walk_length || degree == 0)
        ends = 1;
    if (ends > 0)
        walk_on(w, walk + 1, 0, w->start, visits, p * ends);
    for (int64_t e = w->g->indptr[at]; ends < 1 && e < w->g->indptr[at + 1]; e++) {
        uint32_t next = (uint32_t)w->g->indices[e];
        visits[next]++;
        walk_on(w, walk, step + 1, next, visits, p * (1 - ends) / (double)degree);
        visits[next]--;
    }
}

static void walks_visit_as_often_as_they_should(void **state)
{
    static const struct {
        struct og_sampling how;
        int neighbors;
        uint32_t start;
    } cases[] = {
        {{.kind = OG_SAMPLER_WALK, .walks = 1, .walk_length = 1, .restart = 0.5}, 1, 0},
        {{.kind = OG_SAMPLER_WALK, .walks = 1, .walk_length = 3, .restart = 0.5}, 3, 0},
        {{.kind = OG_SAMPLER_WALK, .walks = 2, .walk_length = 2, .restart = 0.3}, 2, 2},
        {{.kind = OG_SAMPLER_WALK, .walks = 3, .walk_length = 2, .restart = 0.5}, 2, 0},
        {{.kind = OG_SAMPLER_WALK, .walks = 2, .walk_length = 3, .restart = 0.0}, 4, 4},
        {{.kind = OG_SAMPLER_WALK, .walks = 2, .walk_length = 2, .restart = 1.0}, 2, 2},
    };
    (void)state;
    struct graph g = make_maze();
    struct exact *x = malloc(sizeof(*x));
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        int visits[5] = {0};
        memset(x, 0, sizeof(*x));
        const struct walking w = {&g, &cases[c].how, cases[c].neighbors, cases[c].start, x};
        walk_on(&w, 0, 0, w.start, visits, 1);
        assert_outcomes(&g, &cases[c].how, w.start, w.neighbors, x);
    }
    free(x);
    free_graph(&g);
}

/* ---- labor ---- */

static int same_twenty(int64_t v)
{
    return v < 40 ? 20 : 0;
}

/* Each in-neighbour is taken with probability fanout / degree. Destinations of the same degree that
 * share one take it together; so a hop finds fewer nodes than with draws of their own. */
static void labor_shares_its_draws(void **state)
{
    enum { ROUNDS = 4000, K = 5, DST = 40 };
    (void)state;
    struct graph g = make_graph(N, same_twenty);
    for (int64_t e = 0; e < g.t.n_edges; e++) /* from 60 nodes in all */
        g.indices[e] = (int32_t)(100 + (e / 20 + e % 20 * 3) % 60);
    const int fanout = K;
    uint32_t seeds[DST];
    for (uint32_t i = 0; i < DST; i++)
        seeds[i] = i;
    struct source labor = open_source(&g, &ways[3], &fanout, 1, 3, NULL);
    struct source uniform = open_source(&g, &ways[0], &fanout, 1, 3, NULL);
    int count[20] = {0};
    uint64_t found[2] = {0};
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const struct og_batch *b = sample(&labor, seeds, DST, r);
        const struct og_block *k = &b->hop[0];
        int8_t drawn[N] = {0}; /* 1 in some list */
        for (uint64_t e = 0; e < k->n_edges; e++)
            drawn[b->ids[k->src[e]]] = 1;
        for (uint32_t d = 0; d < DST; d++) {
            uint32_t expected = 0;
            for (int64_t e = g.indptr[d]; e < g.indptr[d + 1]; e++)
                expected += (uint32_t)drawn[g.indices[e]];
            assert_int_equal(k->indptr[d + 1] - k->indptr[d], expected); /* all or none take it */
        }
        for (int64_t e = 0; e < 20; e++)
            count[e] += drawn[g.indices[e]];
        found[0] += b->n_ids - DST;
        found[1] += sample(&uniform, seeds, DST, r)->n_ids - DST;
    }
    double p = (double)K / 20;
    double chi2 = 0;
    for (int i = 0; i < 20; i++)
        chi2 += (count[i] - ROUNDS * p) * (count[i] - ROUNDS * p) / (ROUNDS * p * (1 - p));
    assert_in_range((int)(1e6 * test_chi2_p(chi2, 20)), 100, 999900);
    assert_true(found[0] * 2 < found[1]); /* 15 of the 60, not nearly all */
    close_source(&labor);
    close_source(&uniform);
    free_graph(&g);
}

/* ---- ladies ---- */

/* Who feeds whom: destinations 0 to 2, the others feed them. */
static struct graph make_layer(void)
{
    static const int32_t lists[3][5] = {{3, 4, 5}, {4, 5, 6, 7}, {7, 0}};
    static const int lengths[3] = {3, 4, 2};
    struct graph g = {.indptr = calloc(9, 8), .indices = calloc(9, 4)};
    for (int v = 0; v < 8; v++) {
        g.indptr[v + 1] = g.indptr[v] + (v < 3 ? lengths[v] : 0);
        if (v < 3)
            memcpy(g.indices + g.indptr[v], lists[v], (size_t)lengths[v] * 4);
    }
    g.t = (struct og_topology){
        .n_nodes = 8, .n_edges = 9, .indptr = g.indptr, .indices32 = g.indices};
    return g;
}

/* Squared columns of the mean, by the dense matrix. */
static void importance(const struct graph *g, double p[8])
{
    double mean[3][8] = {{0}};
    memset(p, 0, 8 * sizeof(*p));
    for (int v = 0; v < 3; v++)
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            mean[v][g->indices[e]] = 1 / (double)(g->indptr[v + 1] - g->indptr[v]);
    for (int v = 0; v < 3; v++)
        for (int u = 0; u < 8; u++)
            p[u] += mean[v][u] * mean[v][u];
}

/* Successive sampling by definition; what counts is who was drawn. */
static void layers(struct exact *x, const double *p, int left, uint32_t taken, double chance)
{
    double rest = 0;
    for (int u = 0; u < 8; u++)
        rest += taken >> u & 1 ? 0 : p[u];
    if (left == 0) {
        add_outcome(x, taken, chance);
        return;
    }
    for (int u = 0; u < 8; u++)
        if (!(taken >> u & 1) && p[u] > 0)
            layers(x, p, left - 1, taken | 1u << u, chance * p[u] / rest);
}

/* Each destination has all those drawn that feed it, by 1 / p to a sum of 1. */
static uint32_t check_layer(const struct graph *g, const struct og_batch *b, const double *p)
{
    const struct og_block *k = &b->hop[0];
    uint32_t drawn = 0;
    for (uint64_t e = 0; e < k->n_edges; e++)
        drawn |= 1u << b->ids[k->src[e]];
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t at = k->indptr[d];
        double sum = 0;
        for (int64_t e = g->indptr[d]; e < g->indptr[d + 1]; e++)
            sum += drawn >> g->indices[e] & 1 ? 1 / p[g->indices[e]] : 0;
        for (int64_t e = g->indptr[d]; e < g->indptr[d + 1]; e++) {
            int32_t u = g->indices[e];
            if (!(drawn >> u & 1))
                continue;
            assert_int_equal(b->ids[k->src[at]], u);
            assert_true(fabs((double)k->weight[at++] - 1 / p[u] / sum) < 1e-6);
        }
        assert_int_equal(at, k->indptr[d + 1]);
    }
    assert_int_equal(k->n_seen, 6);
    return drawn;
}

static void ladies_draw_by_importance(void **state)
{
    static const uint32_t seeds[3] = {0, 1, 2};
    const int fanout = 1; /* for each seed: 3 of the 6 */
    (void)state;
    double spread[SEEDS];
    double p[8];
    struct graph g = make_layer();
    struct exact *x = calloc(1, sizeof(*x));
    importance(&g, p);
    layers(x, p, 3, 0, 1);
    for (int seed = 0; seed < SEEDS; seed++) {
        int count[MOST] = {0};
        struct source k = open_source(&g, &ways[4], &fanout, 1, (uint64_t)seed + 1, NULL);
        for (uint32_t i = 0; i < DRAWS; i++) {
            uint32_t drawn = check_layer(&g, sample(&k, seeds, 3, i), p);
            int o = 0;
            while (o < x->n && x->code[o] != drawn)
                o++;
            assert_int_not_equal(o, x->n);
            count[o]++;
        }
        spread[seed] = fit_of(x, count, DRAWS);
        close_source(&k);
    }
    assert_spread(spread, SEEDS);
    free(x);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_visit_as_often_as_they_should),
        cmocka_unit_test(labor_shares_its_draws),
        cmocka_unit_test(ladies_draw_by_importance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
