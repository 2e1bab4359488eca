/* Link prediction: which edges are held out, and which pairs are compared with an edge. Also what a
 * block must not reveal. */
#include "nn/links_fixture.h"

#include "session/session.h"

/* ==== holding edges out ==== */

enum { NODES = 400, EDGES = 4000 };

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static void remove_dataset(const char *folder)
{
    static const char *const files[] = {"meta.json",       "indptr.npy",    "indices.npy",
                                        "weights.npy",     "features.npy",  "edge_features.npy",
                                        "labels.npy",      "train.npy",     "train_edges.npy",
                                        "valid_edges.npy", "test_edges.npy"};
    for (size_t i = 0; i < OG_COUNT(files); i++)
        remove_file(folder, files[i]);
    rmdir(folder);
}

/* Random edges as a matrix: has[dst][src]. */
struct graph {
    bool has[NODES][NODES];
    int64_t n_edges;
};

static struct graph *draw_graph(bool symmetric)
{
    struct graph *g = calloc(1, sizeof(*g));
    start();
    for (int i = 0; i < EDGES; i++) {
        uint32_t a = og__rng_below(&rng, NODES), b = og__rng_below(&rng, NODES);
        g->has[a][b] = true;
        if (symmetric)
            g->has[b][a] = true;
    }
    g->has[7][7] = true; /* a loop */
    for (int v = 0; v < NODES; v++)
        for (int u = 0; u < NODES; u++)
            g->n_edges += g->has[v][u];
    return g;
}

static float weight_of(int v, int u)
{
    return (float)(v * NODES + u);
}

/* Weights say which edge they are of. */
/* Wide, so that several reads bring all. */
enum { EDGE_DIM = 200 };

static void edge_row(int v, int u, float *row)
{
    for (int j = 0; j < EDGE_DIM; j++)
        row[j] = (float)(v * 1000 + u) + (float)j / EDGE_DIM;
}

static struct og_graph *write_graph(const struct graph *g, const char *folder)
{
    int64_t *indptr = calloc(NODES + 1, sizeof(*indptr));
    int32_t *indices = calloc((size_t)g->n_edges, sizeof(*indices));
    float *weights = calloc((size_t)g->n_edges, sizeof(*weights)), features[NODES] = {0};
    float *rows = calloc((size_t)g->n_edges, EDGE_DIM * sizeof(*rows));
    int64_t n = 0;
    for (int v = 0; v < NODES; v++) {
        for (int u = 0; u < NODES; u++)
            if (g->has[v][u]) {
                indices[n] = u;
                edge_row(v, u, rows + n * EDGE_DIM);
                weights[n++] = weight_of(v, u);
            }
        indptr[v + 1] = n;
    }
    assert_int_equal(mkdir(folder, 0700), 0);
    test_write_npy(folder, "indptr.npy", OG__NPY_I64, 1, NODES + 1, 1, indptr);
    test_write_npy(folder, "indices.npy", OG__NPY_I32, 1, n, 1, indices);
    test_write_npy(folder, "weights.npy", OG__NPY_F32, 1, n, 1, weights);
    test_write_npy(folder, "features.npy", OG__NPY_F32, 2, NODES, 1, features);
    test_write_npy(folder, "edge_features.npy", OG__NPY_F32, 2, n, EDGE_DIM, rows);
    char path[256];
    const char meta[] = "{\"format\": 1, \"num_classes\": 0}";
    snprintf(path, sizeof(path), "%s/meta.json", folder);
    assert_int_equal(og__write_text(path, meta, strlen(meta), NULL), 0);
    free(indptr);
    free(indices);
    free(weights);
    free(rows);
    struct og_graph *ds;
    struct og_err err = {0};
    if (og__graph_open(folder, &ds, &err) < 0)
        fail_msg("%s", err.message);
    return ds;
}

struct split_graph {
    struct graph *whole;
    struct og_graph *ds;
    uint32_t *ends[OG__SPLITS];
    int64_t n[OG__SPLITS];
    bool left[NODES][NODES]; /* what stayed in the graph */
    char folder[2][64];
};

static void read_left(struct split_graph *s)
{
    const struct og_group *edges = &s->ds->relation->edges;
    struct og_topology t;
    float weight, row[EDGE_DIM], expected[EDGE_DIM];
    assert_int_equal(edges->dim, EDGE_DIM);
    assert_int_equal(og__topology_load(s->ds, OG__NO_WEIGHTS, NULL, &t, NULL), 0);
    for (uint32_t v = 0; v < NODES; v++)
        for (int64_t e = t.indptr[v]; e < t.indptr[v + 1]; e++) {
            uint32_t u = og__neighbor(&t, e);
            s->left[v][u] = true;
            assert_int_equal(og__npy_read(&s->ds->relation->weights, e, 1, &weight, NULL), 0);
            assert_true(weight == weight_of((int)v, (int)u)); /* and kept its own */
            assert_int_equal(og__npy_read(&edges->rows, e, 1, row, NULL), 0);
            edge_row((int)v, (int)u, expected);
            assert_memory_equal(row, expected, sizeof(row));
        }
    og__topology_release(&t);
}

static struct split_graph *split_graph(bool symmetric, const char *percent)
{
    struct split_graph *s = calloc(1, sizeof(*s));
    struct og_edge_split how = {.seed = 5};
    struct og_err err = {0};
    s->whole = draw_graph(symmetric);
    snprintf(s->folder[0], sizeof(s->folder[0]), "%s/whole", root);
    snprintf(s->folder[1], sizeof(s->folder[1]), "%s/left", root);
    struct og_graph *whole = write_graph(s->whole, s->folder[0]);
    assert_int_equal(mkdir(s->folder[1], 0700), 0);
    assert_int_equal(og__edge_split_parse(&how, percent, NULL), 0);
    if (og__edge_split_write(whole, &how, (const bool[]){true}, true, s->folder[1], NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__graph_close(whole);
    if (og__graph_open(s->folder[1], &s->ds, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < OG__SPLITS; i++)
        assert_int_equal(
            og__graph_edges(s->ds, (enum og__split)i, NULL, &s->ends[i], &s->n[i], NULL), 0);
    read_left(s);
    return s;
}

static void free_split(struct split_graph *s)
{
    for (int i = 0; i < OG__SPLITS; i++)
        og__release(NULL, s->ends[i], (size_t)s->n[i] * 8, "seeds");
    og__graph_close(s->ds);
    remove_dataset(s->folder[0]);
    remove_dataset(s->folder[1]);
    free(s->whole);
    free(s);
}

/* Brute force over every pair of nodes. */
static void check_split(bool symmetric)
{
    struct split_graph *s = split_graph(symmetric, "60/15/25");
    static unsigned char in[NODES][NODES]; /* bit: listed in that split */
    memset(in, 0, sizeof(in));
    int64_t all = 0;
    for (int i = 0; i < OG__SPLITS; i++)
        for (int64_t e = 0; e < s->n[i]; e++, all++) {
            uint32_t u = s->ends[i][2 * e], v = s->ends[i][2 * e + 1];
            assert_int_equal(in[v][u], 0); /* once, in one of them */
            in[v][u] |= (unsigned char)(1 << i);
        }
    assert_int_equal(s->ds->symmetric, symmetric);
    for (int v = 0; v < NODES; v++)
        for (int u = 0; u < NODES; u++) {
            bool there = s->whole->has[v][u];
            int listed = symmetric ? in[v][u] | in[u][v] : in[v][u];
            assert_int_equal(listed != 0, there && u != v);
            assert_int_equal(s->left[v][u], there && (u == v || listed == 1 << OG__TRAIN));
            if (symmetric && u != v)
                assert_true(!in[v][u] || !in[u][v]);
            if (there && s->whole->has[u][v]) /* reverses are in the same part */
                assert_int_equal(in[v][u] | in[u][v], listed);
        }
    /* four standard deviations */
    assert_true(fabs((double)s->n[OG__TEST] - 0.25 * (double)all) < 4 * sqrt(0.19 * (double)all));
    assert_true(fabs((double)s->n[OG__VALID] - 0.15 * (double)all) < 4 * sqrt(0.13 * (double)all));
    free_split(s);
}

static void edges_are_held_out_with_their_reverses(void **state)
{
    (void)state;
    check_split(true);
    check_split(false);
}

static void a_split_is_three_percentages(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "85",        "85/15",    "85/5/11", "85/5/10/0",
                                      "0/50/50", "110/-5/-5", "85/5/10 ", "a/b/c"};
    struct og_edge_split s = {.seed = 1};
    for (size_t i = 0; i < OG_COUNT(bad); i++)
        assert_int_equal(og__edge_split_parse(&s, bad[i], NULL), -EINVAL);
    assert_int_equal(og__edge_split_parse(&s, "99.5/0.25/0.25", NULL), 0);
    assert_int_equal(og__edge_split_parse(&s, "100/0/0", NULL), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(og__edge_split_of(&s, i, i * i + 1), OG__TRAIN);
}

/* ==== pairs ==== */

/* Seeds are distinct and lead back to the batch's pairs. */
static void check_seeds(const struct og_pairs *p, const uint32_t *ends, const uint64_t *place)
{
    for (uint32_t i = 0; i < p->n_seeds; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(p->seeds[i], p->seeds[k]);
    for (uint32_t i = 0; i < p->n; i++)
        assert_true(p->a[i] < p->n_seeds && p->b[i] < p->n_seeds);
    for (uint32_t i = 0; i < p->n_edges; i++) {
        assert_int_equal(p->seeds[p->a[i]], ends[2 * place[i]]);
        assert_int_equal(p->seeds[p->b[i]], ends[2 * place[i] + 1]);
    }
}

/* The pairs of edge i: one end stays, and is which. */
static void check_negatives(const struct og_pairs *p, const struct og_pair_rule *rule)
{
    uint32_t swapped = 0;
    assert_int_equal(p->n_negatives, p->n_edges * rule->negatives);
    for (uint32_t k = 0; k < p->n_negatives; k++) {
        uint32_t i = k / rule->negatives, pair = p->n_edges + k;
        bool keeps_a = p->a[pair] == p->a[i], keeps_b = p->b[pair] == p->b[i];
        assert_true(keeps_a != keeps_b);
        assert_true(p->a[pair] != p->b[pair]);
        swapped += keeps_b;
        if (!rule->in_batch)
            continue;
        uint32_t from = keeps_a ? p->b[pair] : p->a[pair];
        bool found = false;
        for (uint32_t e = 0; e < p->n_edges; e++)
            found |= e != i && (keeps_a ? p->b[e] : p->a[e]) == from;
        assert_true(found);
    }
    if (rule->symmetric) /* about half */
        assert_true(swapped > p->n_negatives / 3 && swapped < p->n_negatives * 2 / 3);
    else
        assert_int_equal(swapped, 0);
}

static void negatives_keep_one_end(void **state)
{
    (void)state;
    uint32_t ends[2 * BATCH];
    uint64_t place[BATCH];
    draw_ends(ends, place, BATCH, uniform.n_nodes);
    for (int how = 0; how < 4; how++) {
        struct og_pair_rule rule = uniform;
        struct og_pairs p, again;
        struct og_pair_key key = {true, OG__TRAIN, 2, 9, NULL};
        rule.in_batch = how & 1;
        rule.symmetric = how & 2;
        assert_int_equal(og__pairs_open(&p, &rule, BATCH, NULL, NULL), 0);
        assert_int_equal(og__pairs_open(&again, &rule, BATCH, NULL, NULL), 0);
        og__pairs_make(&p, &rule, ends, place, BATCH, &key);
        check_seeds(&p, ends, place);
        check_negatives(&p, &rule);
        assert_int_equal(p.n_rank_negatives, 0);
        assert_true(p.n_seeds <= og__pairs_most_seeds(&rule, BATCH));
        assert_int_equal(p.n, og__pairs_most(&rule, BATCH, true));
        og__pairs_make(&again, &rule, ends, place, BATCH, &key);
        assert_memory_equal(p.b, again.b, p.n * sizeof(*p.b));
        assert_memory_equal(p.seeds, again.seeds, p.n_seeds * sizeof(*p.seeds));
        key.epoch = 3;
        og__pairs_make(&again, &rule, ends, place, BATCH, &key);
        assert_memory_not_equal(p.b, again.b, p.n * sizeof(*p.b));
        og__pairs_close(&p);
        og__pairs_close(&again);
    }
}

static void a_batch_of_one_edge_has_negatives_too(void **state)
{
    (void)state;
    struct og_pair_rule rule = uniform;
    struct og_pair_key key = {true, OG__TRAIN, 1, 0, NULL};
    const uint32_t ends[2] = {4, 9};
    const uint64_t place[1] = {0};
    struct og_pairs p;
    rule.in_batch = true;
    rule.negatives = 200;
    assert_int_equal(og__pairs_open(&p, &rule, 1, NULL, NULL), 0);
    og__pairs_make(&p, &rule, ends, place, 1, &key);
    assert_int_equal(p.n, 201);
    assert_true(p.n_seeds > 100 && p.n_seeds <= og__pairs_most_seeds(&rule, 1));
    og__pairs_close(&p);
}

static void too_many_pairs_are_refused(void **state)
{
    (void)state;
    struct og_pair_rule rule = uniform;
    struct og_pairs p;
    struct og_err err = {0};
    rule.rank_negatives = 1 << 20;
    assert_int_equal(og__pairs_open(&p, &rule, 1 << 12, NULL, &err), -EOVERFLOW);

    /* With trees and given pairs, seeds are twice as many: every end at its time. */
    rule = uniform;
    rule.trees = true;
    rule.negatives = 2;
    rule.rank_negatives = 1;
    rule.given[OG__TRAIN] = (struct og_given_negatives){.ids = (uint32_t[2]){0}, .n = 2};
    const uint32_t edges = 1 << 29;
    assert_true(og__pairs_most(&rule, edges, true) == 3 * (uint64_t)edges);
    assert_true(og__pairs_most_seeds(&rule, edges) == 6 * (uint64_t)edges);
    assert_int_equal(og__pairs_open(&p, &rule, edges, NULL, &err), -EOVERFLOW);
    rule.negatives = 1 << 16; /* the largest of all options */
    assert_true(og__pairs_most_seeds(&rule, 1 << 30) == UINT32_MAX);
    assert_int_equal(og__pairs_open(&p, &rule, 1 << 30, NULL, &err), -EOVERFLOW);
    assert_non_null(strstr(err.hint, "--eval-negatives"));
    og__pairs_close(&p);
}

/* Chi-square over many batches; 99.9 % of a chi-square of 19 degrees is below 43.8. */
static void uniform_negatives_are_uniform(void **state)
{
    (void)state;
    enum { FEW = 22, ROUNDS = 400 };
    struct og_pair_rule rule = {.seed = 8, .n_nodes = FEW, .negatives = 1, .rank_negatives = 1};
    const uint32_t ends[2] = {0, 1};
    const uint64_t place[1] = {0};
    double count[FEW] = {0}, chi = 0, want = ROUNDS / (double)(FEW - 2);
    struct og_pairs p;
    assert_int_equal(og__pairs_open(&p, &rule, 1, NULL, NULL), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct og_pair_key key = {true, OG__TRAIN, 1, i, NULL};
        og__pairs_make(&p, &rule, ends, place, 1, &key);
        count[p.seeds[p.b[1]]]++;
    }
    assert_true(count[0] == 0 && count[1] == 0);
    for (int v = 2; v < FEW; v++)
        chi += (count[v] - want) * (count[v] - want) / want;
    assert_true(chi < 43.8);
    og__pairs_close(&p);
}

static void evaluation_shares_its_rivals(void **state)
{
    (void)state;
    uint32_t ends[2 * BATCH];
    uint64_t place[BATCH];
    struct og_pairs p;
    struct og_pair_key key = {false, OG__TEST, 0, 4, NULL};
    draw_ends(ends, place, BATCH, uniform.n_nodes);
    assert_int_equal(og__pairs_open(&p, &uniform, BATCH, NULL, NULL), 0);
    og__pairs_make(&p, &uniform, ends, place, BATCH, &key);
    check_seeds(&p, ends, place);
    assert_int_equal(p.n_negatives, BATCH);
    assert_int_equal(p.n_rank_negatives, uniform.rank_negatives);
    assert_int_equal(p.n, BATCH * (2 + uniform.rank_negatives));
    assert_true(p.n_seeds <= og__pairs_most_seeds(&uniform, BATCH));
    for (uint32_t i = 0; i < BATCH; i++) {
        assert_true(p.a[BATCH + i] != p.b[BATCH + i]);
        for (uint32_t r = 0; r < uniform.rank_negatives; r++) {
            uint32_t at = 2 * BATCH + i * uniform.rank_negatives + r;
            assert_int_equal(p.a[at], p.a[i]);
            assert_int_equal(p.b[at], p.b[2 * BATCH + r]);
        }
    }
    og__pairs_close(&p);
}

/* ==== blocks do not reveal the pairs ==== */

static bool requested(const struct og_pairs *p, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < p->n_edges; i++) {
        uint32_t a = p->seeds[p->a[i]], b = p->seeds[p->b[i]];
        if ((a == src && b == dst) || (a == dst && b == src))
            return true;
    }
    return false;
}

static void *copy(const void *x, size_t bytes)
{
    void *y = malloc(bytes + 1);
    memcpy(y, x, bytes);
    return y;
}

/* Thinned by hand, edge by edge; returns how many went. */
static uint32_t check_block(const struct og_pairs *p, const struct og_batch *batch,
                            const struct og_block *before, const struct og_block *after)
{
    uint32_t gone = 0;
    uint64_t at = 0;
    assert_int_equal(before->n_dst, after->n_dst);
    for (uint32_t v = 0; v < before->n_dst; v++) {
        assert_int_equal(after->indptr[v], at);
        for (uint32_t e = before->indptr[v]; e < before->indptr[v + 1]; e++) {
            if (requested(p, batch->ids[before->src[e]], batch->ids[v])) {
                gone++;
                continue;
            }
            assert_int_equal(after->src[at], before->src[e]);
            assert_true(after->weight[at] == before->weight[e]);
            assert_int_equal(after->edge[at], before->edge[e]);
            at++;
        }
    }
    assert_int_equal(after->indptr[after->n_dst], at);
    assert_int_equal(after->n_edges, at);
    return gone;
}

static void the_edges_of_a_batch_are_not_in_its_blocks(void **state)
{
    (void)state;
    static const int fanouts[][2] = {{-1, -1}, {5, 3}, {1, 1}};
    struct split_graph *s = split_graph(true, "100/0/0");
    struct og_topology t;
    struct og_pair_rule rule = {
        .seed = 2, .n_nodes = NODES, .symmetric = true, .negatives = 1, .rank_negatives = 1};
    struct og_pairs p;
    uint64_t place[BATCH];
    uint32_t gone = 0;
    assert_int_equal(og__topology_load(s->ds, OG__NO_WEIGHTS, NULL, &t, NULL), 0);
    assert_int_equal(og__pairs_open(&p, &rule, BATCH, NULL, NULL), 0);
    for (uint32_t round = 0; round < 30; round++) {
        struct og_sampler *sampler;
        struct og_batch_memory m;
        struct og_block before[2];
        struct og_pair_key key = {true, OG__TRAIN, 1, round, NULL};
        const struct og_edge_unit unit = {.rows = 7};
        const struct og_sampling how = {.once = round / 3 % 2, .edges = &unit};
        for (uint32_t i = 0; i < BATCH; i++)
            place[i] = (round * BATCH + i) % (uint64_t)s->n[OG__TRAIN];
        og__batch_init(&m, NULL);
        assert_int_equal(og__sampler_open(&sampler, &t, fanouts[round % 3], 2, 1, NULL, NULL), 0);
        assert_int_equal(og__sampler_choose(sampler, &how, NULL), 0);
        og__pairs_make(&p, &rule, s->ends[OG__TRAIN], place, BATCH, &key);
        assert_int_equal(og__sample(sampler, p.seeds, p.n_seeds,
                                    &(struct og_sample_key){
                                        .stream = OG__STREAM_SAMPLE, .epoch = 1, .batch = round},
                                    &m, NULL),
                         0);
        float *weight[2] = {random_floats(m.batch.hop[0].n_edges),
                            random_floats(m.batch.hop[1].n_edges)};
        for (int h = 0; h < 2; h++) {
            struct og_block *b = &m.batch.hop[h];
            b->weight = weight[how.once ? 1 : h];
            before[h] = *b;
            before[h].indptr = copy(b->indptr, (b->n_dst + 1) * sizeof(*b->indptr));
            before[h].src = copy(b->src, b->n_edges * sizeof(*b->src));
            before[h].weight = copy_floats(b->weight, b->n_edges);
            before[h].edge = copy(b->edge, b->n_edges * sizeof(*b->edge));
        }
        og__pairs_exclude(&p, &m.batch);
        for (int h = 0; h < 2; h++) {
            gone += check_block(&p, &m.batch, &before[h], &m.batch.hop[h]);
            free(weight[h]);
            free((float *)before[h].weight);
            free(before[h].edge);
            free_block(&before[h]);
        }
        og__sampler_close(sampler);
        og__batch_release(&m);
    }
    assert_true(gone > 30 * BATCH); /* all neighbours hold each edge and its reverse in each hop */
    og__pairs_close(&p);
    og__topology_release(&t);
    free_split(s);
}

/* ==== the same in a run ==== */

struct witness {
    const struct og_session *s;
    bool held_out[NODES][NODES];
    uint64_t edges, batches;
};

/* Every edge of every block. */
static int look(void *arg, struct og_work *w, struct og_err *err)
{
    struct witness *seen = arg;
    const struct og_batch *batch = &w->sampled.batch;
    const struct og_pairs *p = &w->seeds.pairs;
    static bool target[NODES][NODES];
    (void)err;
    memset(target, 0, sizeof(target));
    assert_int_equal(batch->n_seeds, p->n_seeds);
    assert_memory_equal(batch->ids, p->seeds, p->n_seeds * sizeof(*p->seeds));
    assert_int_equal(p->n_edges, w->descriptor.n_seeds);
    for (uint32_t i = 0; w->descriptor.split == OG__TRAIN && i < p->n_edges; i++) {
        uint32_t a = p->seeds[p->a[i]], b = p->seeds[p->b[i]];
        target[a][b] = target[b][a] = true;
    }
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *block = &batch->hop[h];
        for (uint32_t v = 0; v < block->n_dst; v++)
            for (uint32_t e = block->indptr[v]; e < block->indptr[v + 1]; e++) {
                uint32_t src = batch->ids[block->src[e]], dst = batch->ids[v];
                assert_false(target[src][dst]);
                assert_false(seen->held_out[src][dst]);
                seen->edges++;
            }
    }
    seen->batches++;
    return 0;
}

static void note_held_out(struct witness *w)
{
    for (int i = OG__VALID; i <= OG__TEST; i++)
        for (int64_t e = 0; e < w->s->workload.split[i].n; e++) {
            const uint32_t *ends = w->s->workload.split[i].ids + 2 * e;
            w->held_out[ends[0]][ends[1]] = w->held_out[ends[1]][ends[0]] = true;
        }
}

static void watch(const char *folder, const char *scratch, const char *const *pairs)
{
    static struct witness w;
    struct og_options opt;
    struct og_session *s;
    struct og_err err = {0};
    og__options_init(&opt);
    for (const char *const *p = pairs; *p; p += 2)
        assert_int_equal(og_options_set(&opt, p[0], p[1], NULL), 0);
    assert_int_equal(og_options_set(&opt, "scratch", scratch, NULL), 0);
    if (og__session_open(&s, folder, &opt, OG__WANT_FEATURES, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    memset(&w, 0, sizeof(w));
    w.s = s;
    note_held_out(&w);
    uint64_t items = og__schedule_items(&s->workload.schedule);
    if (og__run_batches(&s->path, OG__SPLITS, 0, items, look, &w, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(w.batches, items);
    assert_true(w.edges > 1000);
    og__session_close(s);
    og__options_release(&opt);
}

static void no_run_is_told_what_it_is_asked(void **state)
{
    (void)state;
    static const char *const ways[][17] = {
        {"fanout", "-1,-1"},
        {"fanout", "4,3", "threads", "3"},
        {"fanout", "4,3", "policy", "none"},
        {"fanout", "4,3", "topology", "disk", "neighbor-cache", "0"},
        {"fanout", "5,5", "policy", "belady", "cache", "10%", "superbatch", "3"},
        {"fanout", "-1,-1", "preset", "ginex", "cache", "10%"},
    };
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        struct graph *g = draw_graph(symmetric);
        char folder[64];
        char scratch[64]; /* caches of neighbours stay there for the next run */
        snprintf(folder, sizeof(folder), "%s/whole", root);
        snprintf(scratch, sizeof(scratch), "%s/scratch", root);
        og__graph_close(write_graph(g, folder));
        for (size_t i = 0; i < OG_COUNT(ways); i++) {
            const char *pairs[32] = {"task", "link",   "batch", "200",        "epochs",
                                     "2",    "memory", "96M",   "edge-split", "70/10/20"};
            memcpy(pairs + 10, ways[i], sizeof(ways[i]));
            watch(folder, scratch, pairs);
        }
        og__remove_tree(scratch);
        remove_dataset(folder);
        free(g);
    }
}

static int try_link(const char *folder, const char *disk, struct og_err *err)
{
    const char *const pairs[] = {"task", "link", "memory", "96M", "scratch", root, "disk", disk};
    struct og_options opt;
    struct og_session *s = NULL;
    *err = (struct og_err){0};
    og__options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i += 2)
        assert_int_equal(og_options_set(&opt, pairs[i], pairs[i + 1], NULL), 0);
    int rc = og__session_open(&s, folder, &opt, OG__WANT_FEATURES, NULL, NULL, err);
    og__session_close(s);
    og__options_release(&opt);
    return rc;
}

/* A full disk, a node that is none, lists that go astray; remove_root finds files that are left. */
static void a_split_that_fails_leaves_nothing(void **state)
{
    (void)state;
    struct graph *g = draw_graph(true);
    char folder[64];
    struct og_err err;
    snprintf(folder, sizeof(folder), "%s/whole", root);
    og__graph_close(write_graph(g, folder));
    assert_int_equal(try_link(folder, "1M", &err), -ENOSPC);
    assert_non_null(strstr(err.hint, "--disk"));
    assert_int_equal(try_link(folder, "1G", &err), 0);
    static const struct {
        const char *file, *says;
        long at; /* byte of the array, within it */
    } harm[] = {{"indices.npy", "node", 2000 * 4}, {"indptr.npy", "entry", 200 * 8}};
    for (size_t i = 0; i < OG_COUNT(harm); i++) {
        char path[160];
        const int64_t wrong = -2;
        int64_t was;
        snprintf(path, sizeof(path), "%s/%s", folder, harm[i].file);
        FILE *f = fopen(path, "r+e");
        assert_non_null(f);
        assert_int_equal(fseek(f, 128 + harm[i].at, SEEK_SET), 0);
        assert_int_equal(fread(&was, sizeof(was), 1, f), 1);
        assert_int_equal(fseek(f, 128 + harm[i].at, SEEK_SET), 0);
        assert_int_equal(fwrite(&wrong, sizeof(wrong), 1, f), 1);
        fclose(f);
        assert_int_equal(try_link(folder, "1G", &err), -EINVAL);
        assert_non_null(strstr(err.message, harm[i].file));
        assert_non_null(strstr(err.message, harm[i].says));
        f = fopen(path, "r+e");
        assert_non_null(f);
        assert_int_equal(fseek(f, 128 + harm[i].at, SEEK_SET), 0);
        assert_int_equal(fwrite(&was, sizeof(was), 1, f), 1);
        fclose(f);
    }
    remove_dataset(folder);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_held_out_with_their_reverses),
        cmocka_unit_test(a_split_is_three_percentages),
        cmocka_unit_test(negatives_keep_one_end),
        cmocka_unit_test(a_batch_of_one_edge_has_negatives_too),
        cmocka_unit_test(too_many_pairs_are_refused),
        cmocka_unit_test(uniform_negatives_are_uniform),
        cmocka_unit_test(evaluation_shares_its_rivals),
        cmocka_unit_test(the_edges_of_a_batch_are_not_in_its_blocks),
        cmocka_unit_test(no_run_is_told_what_it_is_asked),
        cmocka_unit_test(a_split_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
