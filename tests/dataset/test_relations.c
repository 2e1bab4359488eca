/* The topology of a heterogeneous graph in memory. It takes the predicted bytes, releases all of
 * them, and leaves nothing where memory ends on the way. */
#include "dataset/generate/options.h"
#include "support/testing.h"

#include "base/bits.h"
#include "base/shared_memory.h"
#include "base/temporary.h"
#include "dataset/convert.h"
#include "dataset/on_disk.h"
#include "io/io.h"
#include "support/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char root[TEST_PATH];
static char graph[TEST_PATH + 16];

static int open_root(void **state)
{
    (void)state;
    struct og_generate g;
    struct og_err err = {0};
    if (!test_folder(root, "relations"))
        return -1;
    snprintf(graph, sizeof(graph), "%s/graph", root);
    og__generate_init(&g);
    g.types = "a:300:4,b:200,c:50:2";
    g.relations = "b:x:a:3,a:y:a:2,a:z:b:5,c:w:a:0.1";
    g.classes = 3;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    return og_generate(graph, &g, NULL, &err);
}

static int close_root(void **state)
{
    (void)state;
    og__remove_tree(graph);
    return rmdir(root); /* fails when anything was left */
}

static void all_of_it_is_given_back(void **state)
{
    (void)state;
    struct og_graph *g;
    struct og_topology t;
    assert_int_equal(og__graph_open(graph, &g, NULL), 0);
    const size_t told = og__topology_bytes(g, OG__NO_WEIGHTS);
    struct og_budget *b = og__budget_new(told);
    assert_int_equal(og__topology_load(g, OG__NO_WEIGHTS, b, &t, NULL), 0);
    assert_int_equal(og__budget_used(b), told);
    for (uint32_t r = 0; r < t.n_relations; r++)
        for (uint32_t v = 0; t.relation[r].listed && v < t.relation[r].lists.n_nodes; v++)
            assert_int_equal(og__bits_has(t.relation[r].listed, v),
                             og__degree(&t.relation[r].lists, v) > 0);
    og__topology_release(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__graph_close(g);
}

/* From next to nothing to almost enough. */
static void nothing_is_left_where_memory_ends(void **state)
{
    (void)state;
    struct og_graph *g;
    assert_int_equal(og__graph_open(graph, &g, NULL), 0);
    const size_t told = og__topology_bytes(g, OG__NO_WEIGHTS);
    size_t refused = 0;
    for (size_t limit = 1; limit < told; limit += OG_MAX(told / 97, (size_t)1)) {
        struct og_topology t;
        struct og_err err = {0};
        struct og_budget *b = og__budget_new(limit);
        assert_int_equal(og__topology_load(g, OG__NO_WEIGHTS, b, &t, &err), -ENOMEM);
        assert_non_null(strstr(err.message, "topology"));
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        refused++;
    }
    assert_true(refused >= 97);
    og__graph_close(g);
}

static int64_t id_at(const struct og_topology *t, int64_t edge)
{
    return t->indices32 ? t->indices32[edge] : t->indices64[edge];
}

static void assert_same_lists(const struct og_related_lists *a, const struct og_related_lists *b)
{
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->first_source, b->first_source);
    assert_int_equal(a->lists.n_edges, b->lists.n_edges);
    if (a->lists.n_edges == 0)
        return;
    assert_int_equal(og__most_ids(&a->lists), og__most_ids(&b->lists));
    for (int64_t v = 0; v < a->lists.n_nodes; v++) {
        assert_int_equal(a->lists.indptr[v + 1], b->lists.indptr[v + 1]);
        assert_int_equal(og__bits_has(a->listed, (uint64_t)v),
                         og__bits_has(b->listed, (uint64_t)v));
    }
    for (int64_t e = 0; e < a->lists.n_edges; e++)
        assert_int_equal(id_at(&a->lists, e), id_at(&b->lists, e));
}

/* Two share a topology: both have the same lists, which the first alone reads. Each is charged
 * half. */
static void what_is_shared_is_the_same(void **state)
{
    (void)state;
    struct og_graph *g;
    struct og_topology own, first, second;
    struct og_shared_memory *common;
    struct og_budget *b = og__budget_new(64 << 20);
    assert_int_equal(og__graph_open(graph, &g, NULL), 0);
    assert_int_equal(og__shared_memory_make(&common, NULL), 0);
    const struct og_sharing two = {common, 2};
    assert_int_equal(og__topology_load(g, OG__NO_WEIGHTS, b, &own, NULL), 0);
    assert_int_equal(og__topology_share(g, OG__NO_WEIGHTS, &two, b, &first, NULL), 0);
    const struct og_io_counts before = og__io_made();
    struct og_io_counts read = {0};
    const size_t used = og__budget_used(b);
    assert_int_equal(og__topology_share(g, OG__NO_WEIGHTS, &two, b, &second, NULL), 0);
    og__io_add_since(&read, before);
    assert_int_equal(read.bytes, 0);
    assert_int_equal(og__budget_used(b) - used, og__topology_part_bytes(g, OG__NO_WEIGHTS, 2));
    assert_true(og__topology_part_bytes(g, OG__NO_WEIGHTS, 2) <
                og__topology_bytes(g, OG__NO_WEIGHTS) * 6 / 10);
    assert_ptr_equal(first.relation[0].lists.indptr, first.shared.at);
    for (uint32_t r = 0; r < own.n_relations; r++)
        assert_same_lists(&own.relation[r], &second.relation[r]);
    og__topology_release(&first);
    assert_same_lists(&own.relation[1], &second.relation[1]);
    og__topology_release(&own);
    og__topology_release(&second);
    assert_int_equal(og__budget_used(b), 0);
    og__shared_memory_close(common);
    og__budget_free(b);
    og__graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_it_is_given_back),
                                       cmocka_unit_test(what_is_shared_is_the_same),
                                       cmocka_unit_test(nothing_is_left_where_memory_ends)};
    return cmocka_run_group_tests(tests, open_root, close_root);
}
