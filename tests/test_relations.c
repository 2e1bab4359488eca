/* The structure of a typed graph in memory: it takes what was told, gives all of it back, and
 * leaves nothing where memory ends on the way. */
#include "testing.h"

#include "base/bits.h"
#include "base/temporary.h"
#include "dataset/convert.h"
#include "dataset/relations.h"
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
    og_generate_init(&g);
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
    struct og_typed *g;
    struct og_topology t;
    assert_int_equal(og__typed_open(graph, &g, NULL), 0);
    const size_t told = og__relations_bytes(g);
    struct og_budget *b = og__budget_new(told);
    assert_int_equal(og__relations_load(g, b, &t, NULL), 0);
    assert_int_equal(og__budget_used(b), told);
    for (uint32_t r = 0; r < t.n_relations; r++)
        for (uint32_t v = 0; t.relation[r].listed && v < t.relation[r].lists.n_nodes; v++)
            assert_int_equal(og__bits_has(t.relation[r].listed, v),
                             og__degree(&t.relation[r].lists, v) > 0);
    og__topology_release(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__typed_close(g);
}

/* From next to nothing to almost enough. */
static void nothing_is_left_where_memory_ends(void **state)
{
    (void)state;
    struct og_typed *g;
    assert_int_equal(og__typed_open(graph, &g, NULL), 0);
    const size_t told = og__relations_bytes(g);
    size_t refused = 0;
    for (size_t limit = 1; limit < told; limit += OG_MAX(told / 97, (size_t)1)) {
        struct og_topology t;
        struct og_err err = {0};
        struct og_budget *b = og__budget_new(limit);
        assert_int_equal(og__relations_load(g, b, &t, &err), -ENOMEM);
        assert_non_null(strstr(err.message, "topology"));
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        refused++;
    }
    assert_true(refused >= 97);
    og__typed_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_it_is_given_back),
                                       cmocka_unit_test(nothing_is_left_where_memory_ends)};
    return cmocka_run_group_tests(tests, open_root, close_root);
}
