/* Pairs of heterogeneous graphs, against an exhaustive search. Tested are which triples there are,
 * the negatives of an edge, who it is ranked among, and what its blocks must not reveal. */
#include "nn/links_fixture.h"

#include <stdlib.h>

enum {
    USERS = 60,
    THINGS = 90,
    TAGS = 5,
    NODES = USERS + THINGS + TAGS,
    RELATIONS = 3,
    PART = 200
};

static struct og_graph_type type[] = {
    {.name = "user", .end = USERS, .dim = 4, .trained = true},
    {.name = "thing", .end = USERS + THINGS, .dim = 4, .trained = true},
    {.name = "tag", .end = NODES, .dim = 4, .trained = true}};
static struct og_graph_relation relation[RELATIONS] = {
    {.name = "likes", .source = 0, .destination = 1},
    {.name = "has", .source = 1, .destination = 2},
    {.name = "alike", .source = 1, .destination = 1}};
static const struct og_graph_types types = {
    .n_types = 3, .n_relations = RELATIONS, .type = type, .relation = relation};

struct known {
    struct og_triples triples;
    uint32_t ends[OG__SPLITS][2 * PART], relation[OG__SPLITS][PART];
    bool has[RELATIONS][NODES][NODES]; /* [source][destination] */
};

static uint32_t draw_of(uint32_t t)
{
    const uint32_t first = og__first_id(&types, t);
    return first + og__rng_below(&rng, type[t].end - first);
}

static struct known *make_known(void)
{
    struct known *k = calloc(1, sizeof(*k));
    start();
    k->triples.types = &types;
    for (int s = 0; s < OG__SPLITS; s++) {
        for (uint32_t i = 0; i < PART; i++) {
            const uint32_t r = k->relation[s][i] = og__rng_below(&rng, RELATIONS);
            const uint32_t u = k->ends[s][2 * i] = draw_of(relation[r].source);
            const uint32_t v = k->ends[s][2 * i + 1] = draw_of(relation[r].destination);
            k->has[r][u][v] = true;
        }
        k->triples.split[s] = (struct og_triple_list){k->ends[s], k->relation[s], PART};
    }
    assert_int_equal(og__triples_open(&k->triples, NULL, NULL), 0);
    return k;
}

static void free_known(struct known *k)
{
    og__triples_close(&k->triples);
    free(k);
}

static void triples_are_found(void **state)
{
    (void)state;
    struct known *k = make_known();
    for (uint32_t r = 0; r < RELATIONS; r++)
        for (uint32_t u = 0; u < NODES; u++)
            for (uint32_t v = 0; v < NODES; v++)
                assert_int_equal(og__triples_has(&k->triples, u, r, v), k->has[r][u][v]);
    free_known(k);
}

/* ---- pairs ---- */

static struct og_pair_rule rule_of(const struct known *k, uint32_t rank_negatives, bool in_batch)
{
    return (struct og_pair_rule){.seed = 5,
                                 .n_nodes = NODES,
                                 .in_batch = in_batch,
                                 .negatives = 3,
                                 .rank_negatives = rank_negatives,
                                 .of = &k->triples};
}

static void make(struct og_pairs *p, const struct known *k, const struct og_pair_rule *rule,
                 enum og__split split)
{
    const struct og_pair_key key = {split == OG__TRAIN, split, 2, 7, NULL};
    uint64_t place[BATCH];
    for (uint32_t i = 0; i < BATCH; i++)
        place[i] = (i * 37 + 11) % PART;
    assert_int_equal(og__pairs_open(p, rule, BATCH, NULL, NULL), 0);
    og__pairs_make(p, rule, k->ends[split], place, BATCH, &key);
    assert_true(p->n_seeds <= og__pairs_most_seeds(rule, BATCH));
    assert_int_equal(p->n, og__pairs_most(rule, BATCH, split == OG__TRAIN));
    for (uint32_t i = 0; i < BATCH; i++) {
        assert_int_equal(p->seeds[p->a[i]], k->ends[split][2 * place[i]]);
        assert_int_equal(p->seeds[p->b[i]], k->ends[split][2 * place[i] + 1]);
        assert_int_equal(p->relation[i], k->relation[split][place[i]]);
    }
}

static bool is_like(uint32_t node, uint32_t other)
{
    return og__graph_type(&types, node) == og__graph_type(&types, other);
}

static void negatives_are_of_the_type(void **state)
{
    (void)state;
    struct known *k = make_known();
    for (int in_batch = 0; in_batch < 2; in_batch++) {
        const struct og_pair_rule rule = rule_of(k, 4, in_batch);
        struct og_pairs p;
        uint32_t sources = 0;
        make(&p, k, &rule, OG__TRAIN);
        assert_int_equal(p.n_negatives, BATCH * rule.negatives);
        for (uint32_t j = BATCH; j < p.n; j++) {
            const uint32_t i = (j - BATCH) / rule.negatives;
            const bool keeps_a = p.a[j] == p.a[i], keeps_b = p.b[j] == p.b[i];
            assert_int_equal(p.relation[j], p.relation[i]);
            assert_true(keeps_a != keeps_b || p.seeds[p.a[i]] == p.seeds[p.b[i]]);
            assert_true(is_like(p.seeds[p.a[j]], p.seeds[p.a[i]]));
            assert_true(is_like(p.seeds[p.b[j]], p.seeds[p.b[i]]));
            sources += keeps_b;
        }
        assert_true(sources > p.n_negatives / 3 && sources < p.n_negatives * 2 / 3);
        og__pairs_close(&p);
    }
    free_known(k);
}

/* How often each node is a ranking negative of an end of edge i. Nodes that do not count are left
 * out. */
static void count_rank_negatives(const struct og_pairs *p, uint32_t i, bool of_source,
                                 uint32_t *times)
{
    const uint32_t turn = of_source ? BATCH + i : i;
    const uint32_t first = p->n_edges + p->n_negatives + turn * p->n_rank_negatives;
    memset(times, 0, NODES * sizeof(*times));
    for (uint32_t j = first; j < first + p->n_rank_negatives; j++) {
        assert_int_equal(p->relation[j], p->relation[i]);
        assert_int_equal((of_source ? p->b : p->a)[j], (of_source ? p->b : p->a)[i]);
        const uint32_t replaced = (of_source ? p->a : p->b)[j];
        if (replaced != p->a[i] && replaced != p->b[i])
            times[p->seeds[replaced]]++;
    }
}

static void check_rank_negatives(const struct known *k, const struct og_pairs *p, uint32_t i,
                                 bool of_source, bool all)
{
    uint32_t times[NODES];
    const uint32_t a = p->seeds[p->a[i]], b = p->seeds[p->b[i]], r = p->relation[i];
    count_rank_negatives(p, i, of_source, times);
    for (uint32_t v = 0; v < NODES; v++) {
        const bool edge = of_source ? k->has[r][v][b] : k->has[r][a][v];
        const bool may = is_like(v, of_source ? a : b) && !edge && v != a && v != b;
        assert_true(may || times[v] == 0);
        if (all)
            assert_int_equal(times[v], may);
    }
}

static void rivals_are_no_edges(void **state)
{
    (void)state;
    struct known *k = make_known();
    static const uint32_t rank_negatives[] = {20, NODES}; /* of five tags all in both */
    for (size_t n = 0; n < OG_COUNT(rank_negatives); n++) {
        const struct og_pair_rule rule = rule_of(k, rank_negatives[n], false);
        struct og_pairs p;
        make(&p, k, &rule, OG__TEST);
        assert_true(p.both_ends);
        assert_int_equal(p.n_negatives, BATCH);
        for (uint32_t i = 0; i < BATCH; i++) {
            const bool few = relation[p.relation[i]].destination == 2;
            assert_true(is_like(p.seeds[p.a[BATCH + i]], p.seeds[p.a[i]]));
            assert_true(is_like(p.seeds[p.b[BATCH + i]], p.seeds[p.b[i]]));
            check_rank_negatives(k, &p, i, false, n > 0 || few);
            check_rank_negatives(k, &p, i, true, n > 0);
        }
        og__pairs_close(&p);
    }
    free_known(k);
}

/* ---- blocks ---- */

enum { MOST_EDGES = 4000 };
struct lists {
    struct og_block block;
    uint32_t relation[RELATIONS + 1], dst[MOST_EDGES], indptr[MOST_EDGES + 1], src[MOST_EDGES];
};

/* Some lists of seeds' banned edges, of random sources. */
static void draw_lists(struct lists *l, const struct og_pairs *p, uint32_t n_ids)
{
    l->block = (struct og_block){.n_dst = p->n_seeds,
                                 .n_src = n_ids,
                                 .n_relations = RELATIONS,
                                 .relation = l->relation,
                                 .dst = l->dst,
                                 .indptr = l->indptr,
                                 .src = l->src};
    for (uint32_t r = 0; r < RELATIONS; r++) {
        l->relation[r] = l->block.n_lists;
        for (uint32_t v = 0; v < p->n_seeds; v++) {
            const uint32_t n = og__rng_below(&rng, 4);
            const uint64_t first = l->block.n_edges;
            for (uint32_t e = 0; e < n; e++)
                l->src[l->block.n_edges++] = og__rng_below(&rng, n_ids);
            for (uint32_t i = 0; i < BATCH; i++)
                if (p->b[i] == v && og__rng_below(&rng, 2))
                    l->src[l->block.n_edges++] = p->a[i];
            if (l->block.n_edges == first)
                continue;
            l->dst[l->block.n_lists] = v;
            l->indptr[l->block.n_lists++] = (uint32_t)first;
        }
    }
    l->relation[RELATIONS] = l->block.n_lists;
    l->indptr[l->block.n_lists] = (uint32_t)l->block.n_edges;
}

static bool asks(const struct og_pairs *p, uint32_t u, uint32_t v)
{
    for (uint32_t i = 0; i < BATCH; i++)
        if ((p->a[i] == u && p->b[i] == v) || (p->a[i] == v && p->b[i] == u))
            return true;
    return false;
}

static void blocks_do_not_tell(void **state)
{
    (void)state;
    struct known *k = make_known();
    const struct og_pair_rule rule = rule_of(k, 4, false);
    struct og_pairs p;
    struct lists *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
    make(&p, k, &rule, OG__TRAIN);
    draw_lists(before, &p, p.n_seeds + 30);
    *after = *before;
    after->block.relation = after->relation;
    after->block.dst = after->dst;
    after->block.indptr = after->indptr;
    after->block.src = after->src;
    struct og_batch batch = {.n_hops = 1, .hop = {after->block}};
    og__pairs_exclude(&p, &batch);
    const struct og_block *got = &batch.hop[0];
    uint32_t list = 0, edge = 0;
    for (uint32_t r = 0; r < RELATIONS; r++) {
        assert_int_equal(got->relation[r], list);
        for (uint32_t i = before->relation[r]; i < before->relation[r + 1]; i++) {
            const uint32_t first = edge;
            for (uint32_t e = before->indptr[i]; e < before->indptr[i + 1]; e++)
                if (!asks(&p, before->src[e], before->dst[i]))
                    assert_int_equal(got->src[edge++], before->src[e]);
            if (edge == first)
                continue;
            assert_int_equal(got->dst[list], before->dst[i]);
            assert_int_equal(got->indptr[list++], first);
        }
    }
    assert_int_equal(got->n_lists, list);
    assert_int_equal(got->relation[RELATIONS], list);
    assert_int_equal(got->indptr[list], edge);
    assert_int_equal(got->n_edges, edge);
    assert_true(list < before->block.n_lists && edge < before->block.n_edges);
    free(before);
    free(after);
    og__pairs_close(&p);
    free_known(k);
}

/* Where no other edge of the batch has an end of the type, negatives are drawn. Each is a node
 * more. */
static void a_lonely_relation_fits_in_its_batch(void **state)
{
    (void)state;
    enum { EACH = 5000, NEGATIVES = 1000, EDGES = 2 };
    struct og_graph_type large[] = {{.name = "left", .end = EACH, .dim = 4, .trained = true},
                                    {.name = "right", .end = 2 * EACH, .dim = 4, .trained = true}};
    struct og_graph_relation within[] = {{.name = "near", .source = 0, .destination = 0},
                                         {.name = "far", .source = 1, .destination = 1}};
    const struct og_graph_types both = {
        .n_types = 2, .n_relations = 2, .type = large, .relation = within};
    const uint32_t ends[] = {1, 2, EACH + 1, EACH + 2}, number[] = {0, 1};
    const uint64_t place[] = {0, 1};
    struct og_triples triples = {.types = &both, .split[OG__TRAIN] = {ends, number, EDGES}};
    const struct og_pair_rule rule = {
        .n_nodes = 2 * EACH, .negatives = NEGATIVES, .in_batch = true, .of = &triples};
    const struct og_pair_key key = {true, OG__TRAIN, 1, 0, NULL};
    struct og_pairs p;
    assert_int_equal(og__triples_open(&triples, NULL, NULL), 0);
    assert_int_equal(og__pairs_open(&p, &rule, EDGES, NULL, NULL), 0);
    og__pairs_make(&p, &rule, ends, place, EDGES, &key);
    assert_true(p.n_seeds > NEGATIVES && p.n_seeds <= og__pairs_most_seeds(&rule, EDGES));
    og__pairs_close(&p);
    og__triples_close(&triples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triples_are_found),
        cmocka_unit_test(negatives_are_of_the_type),
        cmocka_unit_test(rivals_are_no_edges),
        cmocka_unit_test(a_lonely_relation_fits_in_its_batch),
        cmocka_unit_test(blocks_do_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
