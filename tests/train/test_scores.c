/* --policy file: a user's scores make a static cache, for training and for simulate. A file that
 * has no scores is refused with what to do. */
#include "support/own_folder.h"
#include "support/small_run.h"

#include "base/file.h"
#include "choose/hotness.h"
#include "dataset/graph.h"

#include <jansson.h>
#include <math.h>
#include <unistd.h>

enum { NODES = 256 };

static char graph[300], scores[300], run[300];

static void write_npy(enum og__npy_type type, int64_t n, const void *data)
{
    char head[4096];
    const int64_t shape[2] = {n, 1};
    const size_t len = og__npy_header(head, type, 1, shape, 64);
    FILE *f = fopen(scores, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, len, f), len);
    assert_int_equal(fwrite(data, og__npy_size(type), (size_t)n, f), n);
    fclose(f);
}

static struct og_options by_scores(void)
{
    char word[320];
    struct og_options opt;
    small_run(&opt, run);
    snprintf(word, sizeof(word), "file:%s", scores);
    assert_int_equal(og_options_set(&opt, "policy", word, NULL), 0);
    return opt;
}

/* ---- in the order of the numbers ---- */

static void assert_ordered(enum og__npy_type type, const void *data, int n)
{
    uint32_t hotness[8];
    struct og_options opt = by_scores();
    write_npy(type, n, data);
    assert_int_equal(og__hotness_scores_check(&opt, (uint64_t)n, NULL), 0);
    assert_int_equal(og__hotness_scores(&opt, (uint64_t)n, hotness, NULL), 0);
    for (int i = 1; i < n; i++)
        if (hotness[i] <= hotness[i - 1])
            fail_msg("type %d: number %d is not above number %d", type, i, i - 1);
    og__options_release(&opt);
}

static void numbers_keep_their_order(void **state)
{
    (void)state;
    assert_ordered(OG__NPY_F32, (float[]){-INFINITY, -2, -1e-30f, 0, 1e-30f, 1, INFINITY}, 7);
    assert_ordered(OG__NPY_F64, (double[]){-1e300, -2.5, -2, 0, 3e-9, 4e-9, 1e300}, 7);
    assert_ordered(OG__NPY_I8, (int8_t[]){-128, -1, 0, 1, 127}, 5);
    assert_ordered(OG__NPY_U32, (uint32_t[]){0, 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX}, 5);
    assert_ordered(OG__NPY_I64, (int64_t[]){-5, 0, 1, 2000000000}, 4);
    assert_ordered(OG__NPY_I64, (int64_t[]){INT64_MIN, -1, 1ll << 40, INT64_MAX}, 4);
    assert_ordered(OG__NPY_U64, (uint64_t[]){0, 1ull << 62, 1ull << 63, UINT64_MAX}, 4);
}

static void zeros_are_equal(void **state)
{
    (void)state;
    uint32_t hotness[2];
    struct og_options opt = by_scores();
    write_npy(OG__NPY_F32, 2, (float[]){-0.0f, 0.0f});
    assert_int_equal(og__hotness_scores(&opt, 2, hotness, NULL), 0);
    assert_int_equal(hotness[0], hotness[1]);
    og__options_release(&opt);
}

/* ---- a cache by them ---- */

static double hit_rate(const char *policy)
{
    struct og_options opt;
    char *text = NULL;
    small_run(&opt, run);
    assert_int_equal(og_simulate(graph, policy, "20%", NULL, &opt, NULL, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *result = json_array_get(json_object_get(root, "results"), 0);
    double rate = json_number_value(json_object_get(result, "hit_rate"));
    json_decref(root);
    free(text);
    og__options_release(&opt);
    return rate;
}

/* By out-degrees it is the policy degree, by their opposites far from it. */
static void scores_decide_what_is_cached(void **state)
{
    (void)state;
    uint32_t degree[NODES] = {0};
    int32_t opposite[NODES];
    char word[320];
    struct og_graph *ds;
    struct og_topology t;
    assert_int_equal(og__graph_open(graph, &ds, NULL), 0);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t, NULL), 0);
    for (int64_t e = 0; e < t.n_edges; e++)
        degree[t.indices32 ? (int64_t)t.indices32[e] : t.indices64[e]]++;
    og__topology_release(&t);
    og__graph_close(ds);
    snprintf(word, sizeof(word), "file:%s", scores);
    write_npy(OG__NPY_U32, NODES, degree);
    const double by_degree = hit_rate(word);
    assert_true(by_degree == hit_rate("degree"));
    for (int i = 0; i < NODES; i++)
        opposite[i] = -(int32_t)degree[i];
    write_npy(OG__NPY_I32, NODES, opposite);
    assert_true(hit_rate(word) < by_degree);
}

static void training_takes_them(void **state)
{
    (void)state;
    float score[NODES];
    struct og_options opt = by_scores();
    char *text = NULL;
    for (int i = 0; i < NODES; i++)
        score[i] = (float)i;
    write_npy(OG__NPY_F32, NODES, score);
    assert_int_equal(og_options_set(&opt, "cache", "10%", NULL), 0);
    assert_int_equal(og_train(graph, &opt, NULL, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *plan = json_object_get(root, "plan");
    assert_string_equal(json_string_value(json_object_get(plan, "policy")), "file");
    const json_t *epoch = json_array_get(json_object_get(root, "epochs"), 0);
    assert_true(json_integer_value(json_object_get(epoch, "hits")) > 0);
    json_decref(root);
    free(text);
    og__options_release(&opt);
}

/* ---- refused ---- */

static void assert_refused(int code, const char *why)
{
    struct og_options opt = by_scores();
    struct og_err err = {0};
    assert_int_equal(og_plan(graph, &opt, NULL, NULL, &err), code);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
    assert_true(code == -ENOENT || err.hint[0]);
    og__options_release(&opt);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    float score[NODES + 1] = {0};
    unlink(scores);
    assert_refused(-ENOENT, "scores.npy");
    write_npy(OG__NPY_F32, NODES + 1, score);
    assert_refused(-EINVAL, "257 scores, there are 256 nodes");
    write_npy(OG__NPY_BOOL, NODES, score);
    assert_refused(-EINVAL, "type bool");
    score[NODES - 1] = NAN;
    write_npy(OG__NPY_F32, NODES, score);
    assert_refused(-EINVAL, "node 255 is NaN");
    struct og_options opt;
    struct og_err err = {0};
    small_run(&opt, run);
    assert_int_equal(og_options_set(&opt, "policy", "file", NULL), 0);
    assert_int_equal(og_plan(graph, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.hint, "file:SCORES.npy"));
    og__options_release(&opt);
}

static int start(void **state)
{
    struct og_generate g = small_graph(OG_RMAT);
    if (make_folder(state) < 0)
        return -1;
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    snprintf(scores, sizeof(scores), "%s/scores.npy", folder);
    snprintf(run, sizeof(run), "%s/run", folder);
    return og_generate(graph, &g, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_order),     cmocka_unit_test(zeros_are_equal),
        cmocka_unit_test(scores_decide_what_is_cached), cmocka_unit_test(training_takes_them),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, start, remove_folder);
}
