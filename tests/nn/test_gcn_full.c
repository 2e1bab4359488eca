/* GCN on blocks of all neighbours of a symmetric graph is the convolution on the whole graph. That
 * holds for nodes at the rim, too, whose own neighbours were never sampled. It is compared with
 * dense matrices in double. */
#include "support/testing.h"

#include "nn/nn.h"
#include "sample/sample.h"

#include <math.h>
#include <stdlib.h>

enum { N = 60, DIM = 7, HIDDEN = 5, CLASSES = 3, SEEDS = 4 };

struct graph {
    bool edge[N][N]; /* but loops */
    int loops[N];
    int64_t indptr[N + 1];
    int32_t indices[N * (N + 2)];
    float x[N][DIM];
    struct og_topology t;
};

static void make_graph(struct graph *g)
{
    struct og_rng rng;
    og__rng_at(&rng, 5, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int i = 0; i < 110; i++) {
        uint32_t u = og__rng_below(&rng, N);
        uint32_t v = og__rng_below(&rng, N);
        g->edge[u][v] = g->edge[v][u] = true;
        g->loops[u] += i % 3 == 0; /* some twice */
    }
    for (int v = 0; v < N; v++) {
        g->indptr[v + 1] = g->indptr[v];
        for (int u = 0; u < N; u++)
            for (int n = u == v ? g->loops[v] : g->edge[u][v]; n > 0; n--)
                g->indices[g->indptr[v + 1]++] = u;
        for (int j = 0; j < DIM; j++)
            g->x[v][j] = og__rng_normal(&rng);
    }
    g->t = (struct og_topology){
        .n_nodes = N, .n_edges = g->indptr[N], .indptr = g->indptr, .indices32 = g->indices};
}

/* D^-1/2 (A + I) D^-1/2, loops counted once. */
static void normalized(const struct graph *g, double a[N][N])
{
    double degree[N];
    for (int v = 0; v < N; v++) {
        degree[v] = 1;
        for (int u = 0; u < N; u++)
            degree[v] += u != v && g->edge[u][v];
    }
    for (int v = 0; v < N; v++)
        for (int u = 0; u < N; u++)
            a[v][u] = (u == v || g->edge[u][v]) / sqrt(degree[u] * degree[v]);
}

/* y = a (x W^T) + b */
static void convolve(double a[N][N], const double *x, int n_in, const struct og_param *weight,
                     const struct og_param *bias, int n_out, double *y)
{
    double *z = calloc((size_t)N * (size_t)n_out, sizeof(*z));
    for (int v = 0; v < N; v++)
        for (int o = 0; o < n_out; o++)
            for (int i = 0; i < n_in; i++)
                z[v * n_out + o] += x[v * n_in + i] * weight->value[o * n_in + i];
    for (int v = 0; v < N; v++)
        for (int o = 0; o < n_out; o++) {
            y[v * n_out + o] = bias->value[o];
            for (int u = 0; u < N; u++)
                y[v * n_out + o] += a[v][u] * z[u * n_out + o];
        }
    free(z);
}

static const struct og_param *find(struct og_model *m, const char *name)
{
    size_t n;
    struct og_param *p = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, name) == 0)
            return &p[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static void whole_graph(const struct graph *g, struct og_model *m, double *logits)
{
    static double a[N][N];
    double x[N * DIM];
    double h[N * HIDDEN];
    normalized(g, a);
    for (int i = 0; i < N * DIM; i++)
        x[i] = g->x[i / DIM][i % DIM];
    convolve(a, x, DIM, find(m, "convs.0.lin.weight"), find(m, "convs.0.bias"), HIDDEN, h);
    for (int i = 0; i < N * HIDDEN; i++)
        h[i] = h[i] > 0 ? h[i] : 0;
    convolve(a, h, HIDDEN, find(m, "convs.1.lin.weight"), find(m, "convs.1.bias"), CLASSES, logits);
}

static void blocks_with_all_neighbours_equal_the_whole_graph(void **state)
{
    (void)state;
    static struct graph g;
    make_graph(&g);
    const struct og_model_config config = {
        .kind = OG_MODEL_GCN, .layers = 2, .in_dim = DIM, .hidden = HIDDEN, .n_classes = CLASSES};
    const int fanout[2] = {-1, -1};
    const uint32_t seeds[SEEDS] = {3, 11, 29, 58};
    struct og_batch_memory memory;
    struct og_sampler *s;
    struct og_model *m;
    struct og_batch_caps caps = {0};
    struct og_metrics metrics;
    double logits[N * CLASSES];
    og__batch_init(&memory, NULL);
    assert_int_equal(og__sampler_open(&s, &g.t, fanout, 2, 1, NULL, NULL), 0);
    og__sampler_keep_degrees(s);
    assert_int_equal(og__loops_find(&g.t, NULL), 0);
    assert_int_equal(
        og__sample(s, seeds, SEEDS,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = 0},
                   &memory, NULL),
        0);
    const struct og_batch *batch = &memory.batch;
    assert_true(batch->n_ids < N); /* there is a rim, and some of it has loops */
    int loops = 0;
    for (uint32_t i = batch->hop[1].n_dst; i < batch->n_ids; i++) {
        assert_int_equal(og__loops_of(&g.t, batch->ids[i]), g.loops[batch->ids[i]]);
        loops += g.loops[batch->ids[i]];
    }
    assert_true(loops > 0);
    og__caps_include(&caps, batch);
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &config, OG_OPTIMIZER_ADAM, 3, NULL, NULL, NULL), 0);
    assert_int_equal(og__model_reserve(m, &caps, false, NULL), 0);
    const struct og_rows x = {.base = (const char *)g.x,
                              .index = batch->ids,
                              .stride = DIM * sizeof(float),
                              .n = batch->n_ids,
                              .dim = DIM,
                              .dtype = OG_F32};
    assert_int_equal(og__model_forward(m, batch, &x, NULL, NULL, &metrics, NULL), 0);
    whole_graph(&g, m, logits);
    for (int i = 0; i < SEEDS; i++)
        for (int c = 0; c < CLASSES; c++) {
            double expect = logits[seeds[i] * CLASSES + (uint32_t)c];
            double got = og__model_logits(m)[i * CLASSES + c];
            assert_true(fabs(got - expect) < 1e-5 * (1 + fabs(expect)));
        }
    og__model_free(m);
    og__sampler_close(s);
    og__batch_release(&memory);
    og__loops_release(&g.t);
}

/* Few neighbours of many: at most so many, and none of them the node itself. */
static void degrees_at_the_rim_are_bounded(void **state)
{
    (void)state;
    static struct graph g;
    make_graph(&g);
    const int fanout[2] = {2, 2};
    const uint32_t seeds[SEEDS] = {3, 11, 29, 58};
    struct og_batch_memory memory;
    struct og_sampler *s;
    og__batch_init(&memory, NULL);
    assert_int_equal(og__sampler_open(&s, &g.t, fanout, 2, 1, NULL, NULL), 0);
    og__sampler_keep_degrees(s);
    assert_int_equal(og__loops_find(&g.t, NULL), 0);
    assert_int_equal(
        og__sample(s, seeds, SEEDS,
                   &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = 0},
                   &memory, NULL),
        0);
    for (int h = 0; h < 2; h++) {
        const struct og_block *b = &memory.batch.hop[h];
        for (uint32_t i = b->n_dst; i < b->n_src; i++) {
            uint32_t degree = 0;
            for (int u = 0; u < N; u++)
                degree += (uint32_t)u != memory.batch.ids[i] && g.edge[u][memory.batch.ids[i]];
            assert_int_equal(b->degree[i - b->n_dst], OG_MIN(degree, 2u));
        }
    }
    og__sampler_close(s);
    og__batch_release(&memory);
    og__loops_release(&g.t);
}

/* Most have none, but all may have many. */
static void every_loop_is_found(void **state)
{
    (void)state;
    enum { NODES = 30000, MOST = 4 };
    int64_t *indptr = calloc(NODES + 1, sizeof(*indptr));
    int32_t *indices = malloc(sizeof(*indices) * NODES * (MOST + 1));
    assert_true(indptr && indices);
    int64_t n = 0;
    for (int32_t v = 0; v < NODES; v++) {
        for (int i = 0; i < v % (MOST + 1); i++)
            indices[n++] = v;
        indices[n++] = (v + 1) % NODES;
        indptr[v + 1] = n;
    }
    struct og_topology t = {.n_nodes = NODES, .n_edges = n, .indptr = indptr, .indices32 = indices};
    assert_int_equal(og__loops_find(&t, NULL), 0);
    for (uint32_t v = 0; v < NODES; v++)
        assert_int_equal(og__loops_of(&t, v), v % (MOST + 1));
    og__loops_release(&t);
    free(indptr);
    free(indices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_with_all_neighbours_equal_the_whole_graph),
        cmocka_unit_test(degrees_at_the_rim_are_bounded),
        cmocka_unit_test(every_loop_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
