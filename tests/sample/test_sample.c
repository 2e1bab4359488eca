/* sample: blocks against the graph itself, uniformity, and what must not depend on anything. */
#include "support/testing.h"

#include "sample/sample.h"
#include "support/draws.h"

#include <math.h>
#include <stdlib.h>

enum { N = 500 };

/* A graph with every degree from 0 to 40 and one hub that all nodes point to. */
struct graph {
    struct og_topology t;
    int64_t indptr[N + 1];
    int32_t *indices;
    int64_t *wide; /* the same, 64 bits */
};

static void make_graph(struct graph *g)
{
    g->indptr[0] = 0;
    for (int v = 0; v < N; v++)
        g->indptr[v + 1] = g->indptr[v] + (v == 7 ? N : v % 41);
    int64_t n_edges = g->indptr[N];
    g->indices = malloc((size_t)n_edges * sizeof(*g->indices));
    g->wide = malloc((size_t)n_edges * sizeof(*g->wide));
    for (int v = 0; v < N; v++)
        for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
            g->indices[e] = v == 7 ? (int32_t)(e - g->indptr[v])
                                   : (int32_t)((v * 31 + (e - g->indptr[v]) * 7) % N);
    for (int64_t e = 0; e < n_edges; e++)
        g->wide[e] = g->indices[e];
    g->t = (struct og_topology){
        .n_nodes = N, .n_edges = n_edges, .indptr = g->indptr, .indices32 = g->indices};
}

static void free_graph(struct graph *g)
{
    free(g->indices);
    free(g->wide);
}

/* Number of times u stands among v's in-neighbours. */
static int multiplicity(const struct graph *g, uint32_t v, uint32_t u)
{
    int found = 0;
    for (int64_t e = g->indptr[v]; e < g->indptr[v + 1]; e++)
        found += g->indices[e] == (int32_t)u;
    return found;
}

static void check_batch(const struct graph *g, const struct og_batch *b, const uint32_t *seeds,
                        uint32_t n_seeds, const int *fanout)
{
    assert_int_equal(b->n_seeds, n_seeds);
    uint32_t position[N];
    memset(position, 0xff, sizeof(position));
    for (uint32_t i = 0; i < b->n_ids; i++) {
        assert_true(b->ids[i] < N);
        assert_int_equal(position[b->ids[i]], UINT32_MAX); /* distinct */
        position[b->ids[i]] = i;
    }
    assert_memory_equal(b->ids, seeds, n_seeds * 4);
    uint32_t known = n_seeds;
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        assert_int_equal(k->n_dst, known);
        assert_int_equal(k->indptr[0], 0);
        assert_int_equal(k->indptr[k->n_dst], k->n_edges);
        for (uint32_t d = 0; d < k->n_dst; d++) {
            uint32_t v = b->ids[d];
            int64_t degree = g->indptr[v + 1] - g->indptr[v];
            int64_t expect = fanout[h] < 0 ? degree : OG_MIN(degree, fanout[h]);
            assert_int_equal(k->indptr[d + 1] - k->indptr[d], expect);
            uint32_t times[N] = {0};
            for (uint32_t e = k->indptr[d]; e < k->indptr[d + 1]; e++) {
                assert_true(k->src[e] < k->n_src);
                if (k->src[e] >= known) /* new nodes are numbered in the order they are met */
                    assert_int_equal(k->src[e], known++);
                uint32_t u = b->ids[k->src[e]];
                assert_true(++times[u] <= (uint32_t)multiplicity(g, v, u));
            }
        }
        assert_int_equal(k->n_src, known);
    }
    assert_int_equal(b->n_ids, known);
}

static void blocks_are_subgraphs_in_discovery_order(void **state)
{
    (void)state;
    static const int fanouts[][3] = {{10, 10, 10}, {1, 1, 1},   {-1, 2, -1}, {3, 0x7fffffff, 1},
                                     {-1, -1, -1}, {60, 5, 50}, {2, 400, 2}};
    struct graph g;
    make_graph(&g);
    for (size_t f = 0; f < OG_COUNT(fanouts); f++) {
        for (int n_hops = 1; n_hops <= 3; n_hops++) {
            struct og_sampler *s;
            struct og_batch_memory m;
            og__batch_init(&m, NULL);
            int fanout[3];
            memcpy(fanout, fanouts[f], sizeof(fanout));
            for (int h = 0; h < 3; h++)
                fanout[h] = OG_MIN(fanout[h], 100000);
            assert_int_equal(og__sampler_open(&s, &g.t, fanout, n_hops, 5, NULL, NULL), 0);
            for (uint32_t batch = 0; batch < 6; batch++) {
                uint32_t seeds[5] = {batch, batch + 6, 100 + batch, 300 - batch, 499 - batch};
                assert_int_equal(og__sample(s, seeds, 5,
                                            &(struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                                                    .epoch = 1,
                                                                    .batch = batch},
                                            &m, NULL),
                                 0);
                check_batch(&g, &m.batch, seeds, 5, fanout);
            }
            og__sampler_close(s);
            og__batch_release(&m);
        }
    }
    free_graph(&g);
}

/* The same batch from a fresh sampler, from 64-bit indices and after other batches. */
static void a_batch_depends_on_its_key_alone(void **state)
{
    (void)state;
    struct graph g;
    make_graph(&g);
    struct og_topology wide = g.t;
    wide.indices32 = NULL;
    wide.indices64 = g.wide;
    const int fanout[2] = {5, 5};
    const uint32_t seeds[3] = {40, 80, 120};
    struct og_sampler *s[2];
    struct og_batch_memory m[2];
    og__batch_init(&m[0], NULL);
    og__batch_init(&m[1], NULL);
    assert_int_equal(og__sampler_open(&s[0], &g.t, fanout, 2, 9, NULL, NULL), 0);
    assert_int_equal(og__sampler_open(&s[1], &wide, fanout, 2, 9, NULL, NULL), 0);
    for (uint32_t b = 0; b < 20; b++)
        assert_int_equal(
            og__sample(s[0], seeds, 3,
                       &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 2, .batch = b},
                       &m[0], NULL),
            0);
    assert_int_equal(
        og__sample(s[1], seeds, 3,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 2, .batch = 19},
                   &m[1], NULL),
        0);
    assert_int_equal(m[0].batch.n_ids, m[1].batch.n_ids);
    assert_memory_equal(m[0].batch.ids, m[1].batch.ids, m[0].batch.n_ids * 4);
    assert_memory_equal(m[0].batch.hop[1].src, m[1].batch.hop[1].src,
                        m[0].batch.hop[1].n_edges * 4);
    assert_int_equal(
        og__sample(s[1], seeds, 3,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 2, .batch = 18},
                   &m[1], NULL),
        0);
    assert_true(m[0].batch.n_ids != m[1].batch.n_ids ||
                memcmp(m[0].batch.ids, m[1].batch.ids, m[0].batch.n_ids * 4) != 0);
    for (int i = 0; i < 2; i++) {
        og__sampler_close(s[i]);
        og__batch_release(&m[i]);
    }
    free_graph(&g);
}

/* Every neighbour is drawn equally often, for every fanout; 40 p-values spread over (0, 1). */
static void draws_are_uniform(void **state)
{
    (void)state;
    struct graph g;
    make_graph(&g);
    static const int fanouts[] = {1, 2, 10, 39, 49, 300};
    for (size_t f = 0; f < OG_COUNT(fanouts); f++) {
        int low = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct og_sampler *s;
            struct og_batch_memory m;
            og__batch_init(&m, NULL);
            assert_int_equal(og__sampler_open(&s, &g.t, &fanouts[f], 1, seed, NULL, NULL), 0);
            uint32_t v = fanouts[f] > 40 ? 7 : 40; /* degrees 500 and 40, no doubled neighbour */
            int64_t degree = og__degree(&g.t, v);
            enum { DRAWS = 600 };
            uint32_t count[N] = {0};
            for (uint32_t b = 0; b < DRAWS; b++) {
                assert_int_equal(og__sample(s, &v, 1,
                                            &(struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                                                    .epoch = 1,
                                                                    .batch = b},
                                            &m, NULL),
                                 0);
                for (uint64_t e = 0; e < m.batch.hop[0].n_edges; e++)
                    count[m.batch.ids[m.batch.hop[0].src[e]]]++;
            }
            double p = (double)fanouts[f] / (double)degree;
            double chi2 = 0;
            for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; e++) {
                double d = count[g.indices[e]] - DRAWS * p;
                chi2 += d * d / (DRAWS * p * (1 - p));
            }
            /* without replacement the counts sum to a constant: (n-1)/n of a full chi-square */
            double tail =
                test_chi2_p(chi2 * (double)(degree - 1) / (double)degree, (double)degree - 1);
            low += tail < 0.05;
            assert_true(tail > 1e-6);
            og__sampler_close(s);
            og__batch_release(&m);
        }
        assert_in_range(low, 0, 8); /* of 40 expect 2; P(more than 8) < 0.001 */
    }
    free_graph(&g);
}

/* Where edge e of the hop is in the hub's list, between 0 and 1. It is a share of the edges that
 * its draw chose among: the draw's random word, but for the last bits. */
static double word_of(const struct og_batch *b, uint32_t hop, uint32_t e, uint32_t fanout,
                      uint32_t degree)
{
    uint32_t place = b->ids[b->hop[hop].src[e]] - 1;
    return (double)place / (double)(degree - fanout + e + 1);
}

/* A node of the first hop draws again in the second, with other words. The 262145th word of one hop
 * is not the first of the next, however many the first hop took. Which edge that word made is not
 * known to the last one, since some words are drawn in vain. */
static void a_hub_draws_anew_in_the_next_hop(void **state)
{
    (void)state;
    enum { DEGREE = 600000, MANY = 300000, FEW = 20, ROOM = 1 << 18 };
    const int fanout[2] = {MANY, FEW};
    const uint32_t hub = 0;
    int64_t *indptr = malloc((DEGREE + 2) * sizeof(*indptr));
    int32_t *indices = malloc(DEGREE * sizeof(*indices));
    indptr[0] = 0;
    for (int32_t v = 0; v <= DEGREE; v++)
        indptr[v + 1] = DEGREE;
    for (int32_t e = 0; e < DEGREE; e++)
        indices[e] = e + 1;
    const struct og_topology t = {
        .n_nodes = DEGREE + 1, .n_edges = DEGREE, .indptr = indptr, .indices32 = indices};
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    assert_int_equal(og__sampler_open(&s, &t, fanout, 2, 5, NULL, NULL), 0);
    assert_int_equal(
        og__sample(s, &hub, 1,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = 0}, &m,
                   NULL),
        0);
    assert_int_equal(m.batch.hop[0].n_edges, MANY);
    assert_int_equal(m.batch.hop[1].n_edges, FEW);
    for (uint32_t vain = 0; vain < 100; vain++) {
        int same = 0;
        for (uint32_t e = 0; e < FEW; e++)
            same += fabs(word_of(&m.batch, 0, ROOM - vain + e, MANY, DEGREE) -
                         word_of(&m.batch, 1, e, FEW, DEGREE)) < 1e-5;
        assert_in_range(same, 0, 3);
    }
    og__sampler_close(s);
    og__batch_release(&m);
    free(indptr);
    free(indices);
}

static void bad_seeds_are_refused(void **state)
{
    (void)state;
    struct graph g;
    make_graph(&g);
    struct og_sampler *s;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    const int fanout = 2;
    assert_int_equal(og__sampler_open(&s, &g.t, &fanout, 1, 1, NULL, NULL), 0);
    const uint32_t outside[2] = {3, N};
    const uint32_t doubled[2] = {3, 3};
    struct og_err err = {0};
    assert_int_equal(
        og__sample(s, outside, 2,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = 0}, &m,
                   &err),
        -EINVAL);
    assert_non_null(strstr(err.message, "node 500"));
    assert_int_equal(
        og__sample(s, doubled, 2,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = 0}, &m,
                   NULL),
        -EINVAL);
    og__sampler_close(s);
    og__batch_release(&m);
    free_graph(&g);
}

/* After a reserve by what was seen, the same batches take nothing more from the budget. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    struct graph g;
    make_graph(&g);
    const int fanout[2] = {4, 4};
    struct og_budget *budget = og__budget_new(0);
    struct og_sampler *s;
    struct og_batch_memory m;
    struct og_batch_caps caps = {0};
    og__batch_init(&m, budget);
    assert_int_equal(og__sampler_open(&s, &g.t, fanout, 2, 1, budget, NULL), 0);
    for (int pass = 0; pass < 2; pass++) {
        size_t before = og__budget_used(budget);
        for (uint32_t b = 0; b < 30; b++) {
            uint32_t seeds[4] = {b, b + 50, b + 100, b + 400};
            assert_int_equal(og__sample(s, seeds, 4,
                                        &(struct og_sample_key){
                                            .stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = b},
                                        &m, NULL),
                             0);
            og__caps_include(&caps, &m.batch);
        }
        if (pass == 1)
            assert_int_equal(og__budget_used(budget), before);
        assert_int_equal(og__batch_reserve(&m, &caps, true, NULL), 0);
    }
    og__sampler_close(s);
    og__batch_release(&m);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
    free_graph(&g);
}

static void sample_thirty(struct og_sampler *s, struct og_batch_memory *m,
                          struct og_batch_caps *caps)
{
    struct og_err err = {0};
    for (uint32_t b = 0; b < 30; b++) {
        uint32_t seeds[4] = {b, b + 50, b + 100, b + 400};
        if (og__sample(s, seeds, 4,
                       &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = b},
                       m, &err) < 0)
            fail_msg("%s", err.message);
        og__caps_include(caps, &m->batch);
    }
}

/* The predicted bytes of a batch up to some sizes are what reserving it takes. They are enough for
 * all such batches. */
static void batches_fit_what_was_told(void **state)
{
    (void)state;
    struct graph g;
    make_graph(&g);
    const int fanout[3] = {4, 2, 5};
    for (unsigned extras = 0; extras < 8; extras++) {
        const bool weighs = extras & OG__WITH_WEIGHTS;
        const struct og_sampling how = {.kind = weighs ? OG_SAMPLER_WALK : OG_SAMPLER_UNIFORM,
                                        .walks = 4,
                                        .walk_length = 2,
                                        .restart = 0.5,
                                        .once = extras & OG__NESTED};
        struct og_sampler *s;
        struct og_batch_memory m;
        struct og_batch_caps caps = {0}, again = {0};
        assert_int_equal(og__sampler_open(&s, &g.t, fanout, 3, 1, NULL, NULL), 0);
        assert_int_equal(og__sampler_choose(s, &how, NULL), 0);
        if (extras & OG__WITH_DEGREES)
            og__sampler_keep_degrees(s);
        og__batch_init(&m, NULL);
        sample_thirty(s, &m, &caps);
        og__batch_release(&m);
        for (int h = 0; weighs && h < 3; h++) /* there is room for all that walks might visit */
            caps.hop[h].n_edges = caps.hop[h].n_dst * 8;
        struct og_budget *budget = og__budget_new(og__batch_bytes(&caps, extras));
        og__batch_init(&m, budget);
        assert_int_equal(og__batch_reserve(&m, &caps, extras, NULL), 0);
        assert_int_equal(og__budget_used(budget), og__batch_bytes(&caps, extras));
        sample_thirty(s, &m, &again);
        assert_int_equal(og__budget_used(budget), og__batch_bytes(&caps, extras));
        og__batch_release(&m);
        og__budget_free(budget);
        og__sampler_close(s);
    }
    free_graph(&g);
}

/* Memory is counted before it is taken: what a batch does not carry is not there. */
static void what_is_reserved_is_what_was_asked_for(void **state)
{
    (void)state;
    struct og_batch_caps caps = {.n_hops = 2};
    for (int h = 0; h < 2; h++) {
        caps.hop[h].n_dst = 10;
        caps.hop[h].n_src = 4000;
        caps.hop[h].n_edges = 5000;
    }
    for (unsigned extras = 0; extras <= (OG__WITH_DEGREES | OG__WITH_WEIGHTS); extras++) {
        struct og_batch_memory m;
        og__batch_init(&m, NULL);
        assert_int_equal(og__batch_reserve(&m, &caps, extras, NULL), 0);
        for (int h = 0; h < 2; h++) {
            assert_true(m.indptr[h].bytes >= 11 * 4 && m.src[h].bytes >= 5000 * 4);
            assert_true(extras & OG__WITH_DEGREES ? m.degree[h].bytes >= 4000 * 4
                                                  : m.degree[h].data == NULL);
            assert_true(extras & OG__WITH_WEIGHTS ? m.weight[h].bytes >= 5000 * 4
                                                  : m.weight[h].data == NULL);
        }
        og__batch_release(&m);
    }

    /* Units of edges that were removed stay. */
    struct og_batch_memory m;
    caps = (struct og_batch_caps){.n_hops = 1, .hop = {{.n_dst = 1, .n_src = 9}}, .n_units = 5000};
    og__batch_init(&m, NULL);
    assert_int_equal(og__batch_reserve(&m, &caps, OG__WITH_EDGES, NULL), 0);
    assert_true(m.units.bytes >= 5000 * sizeof(uint32_t));
    og__batch_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_subgraphs_in_discovery_order),
        cmocka_unit_test(a_batch_depends_on_its_key_alone),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(a_hub_draws_anew_in_the_next_hop),
        cmocka_unit_test(bad_seeds_are_refused),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(batches_fit_what_was_told),
        cmocka_unit_test(what_is_reserved_is_what_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
