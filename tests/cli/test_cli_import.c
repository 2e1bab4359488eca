/* outgrow import as it is typed: where the dataset lands, and formats that are known by their
 * files. */
#include "cli/cli_fixture.h"

static void an_import_lands_where_it_was_told_to(void **state)
{
    (void)state;
    assert_int_equal(system("printf '0 1\\n1 2\\n2 2\\n2 2\\n' >edges.txt"), 0);
    assert_int_equal(outgrow("import edgelist edges.txt imported --quiet")->status, 0);
    assert_says(outgrow("info imported --json")->out, "\"num_edges\": 4");
    assert_int_equal(outgrow("import edgelist edges.txt less --drop-self-loops --quiet")->status,
                     0);
    assert_says(outgrow("info less --json")->out, "\"num_edges\": 2");
    assert_int_equal(outgrow("import edgelist edges.txt once --drop-duplicates --quiet")->status,
                     0);
    assert_says(outgrow("info once --json")->out, "\"num_edges\": 3");
    assert_int_equal(outgrow("import edgelist edges.txt imported --quiet")->status, 1);
    assert_int_equal(outgrow("export npy imported exported --quiet")->status, 0);
    assert_int_equal(access("exported/edges.npy", F_OK), 0);
}

/* A format is known by its files; a hint names what is missing in one that almost fits. */
static void an_import_knows_the_format(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p srcs/e srcs/m srcs/o srcs/n && "
                            "printf '0 1\n1 0\n' >srcs/alone && cp srcs/alone srcs/e/edges.csv && "
                            "printf '%%%%MatrixMarket matrix coordinate pattern general\n"
                            "2 2 1\n1 2\n' >srcs/matrix && cp srcs/matrix srcs/m/graph.mtx && "
                            "touch srcs/o/edge.npy srcs/o/features.npy"),
                     0);
    assert_int_equal(outgrow("export npy d srcs/full")->status, 0);
    static const struct {
        const char *src, *taken;
    } cases[] = {
        {"srcs/alone", "taken as edgelist"},
        {"srcs/matrix", "taken as mtx"},
        {"srcs/full", "taken as npy, because of edges.npy"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char line[128];
        snprintf(line, sizeof(line), "import %s guessed%zu", cases[i].src, i);
        const struct outcome *o = outgrow(line);
        if (o->status != 0)
            fail_msg("%s: %s", line, o->err);
        assert_says(o->err, cases[i].taken);
    }
    assert_int_equal(system("cp -r srcs/e mtx"), 0); /* named like another format */
    assert_says(outgrow("import mtx g5")->err, "mtx: taken as edgelist, because of edges.csv");
    const struct outcome *n = outgrow("import npy g6");
    assert_int_equal(n->status, 2);
    assert_says(n->err, "import: npy SRC OUT expected");
    assert_says(outgrow("import srcs/e g3")->err, "taken as edgelist, because of edges.csv");
    assert_says(outgrow("import srcs/m g4")->err, "taken as mtx, because of graph.mtx");
    const struct outcome *o = outgrow("import srcs/o never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "hint: rename edge.npy to edges.npy, features.npy to feat.npy");
    o = outgrow("import srcs/n never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "a folder of no known format");
    o = outgrow("import d/indptr.npy never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "d/indptr.npy: not a text file");
    o = outgrow("import d never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "d: already a dataset");
    assert_says(o->err, "`outgrow export`");
    assert_null(strstr(o->err, "rename "));
    assert_int_equal(access("never", F_OK), -1);
}

/* Arrays by other names would be left out: that is said, unless the format is named. */
static void an_import_leaves_no_array_out_unsaid(void **state)
{
    (void)state;
    static const char *const folders[] = {"text", "matrix", "arrays"};
    assert_int_equal(outgrow("export npy d named --quiet")->status, 0);
    assert_int_equal(
        system("mkdir text matrix && printf '0 1\n1 0\n' >text/edges.csv && "
               "printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n' "
               ">matrix/graph.mtx && cp -r named arrays && rm arrays/feat.npy arrays/label.npy && "
               "for f in text matrix arrays; do cp named/feat.npy $f/features.npy && "
               "cp named/label.npy $f/labels.npy; done"),
        0);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        char line[128];
        snprintf(line, sizeof(line), "import %s never", folders[i]);
        const struct outcome *o = outgrow(line);
        assert_int_equal(o->status, 1);
        assert_says(o->err, "would be left out");
        assert_says(o->err, "hint: rename features.npy to feat.npy, labels.npy to label.npy");
    }
    assert_int_equal(access("never", F_OK), -1);
    /* next to arrays of the right names, others are nobody's */
    assert_int_equal(system("cp named/feat.npy named/x.npy && touch named/edge_index.npy"), 0);
    assert_int_equal(outgrow("import named both --quiet")->status, 0);
    assert_null(strstr(outgrow("import edgelist text given")->err, "would be left out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_lands_where_it_was_told_to),
        cmocka_unit_test(an_import_knows_the_format),
        cmocka_unit_test(an_import_leaves_no_array_out_unsaid),
    };
    return cmocka_run_group_tests(tests, enter_with_graph, leave);
}
