/* A checkpoint of links says which edges were held out of its training. Who evaluates it, or trains
 * on from it, holds out the same, or is refused. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/whole_tensors.h"

#include "dataset/graph.h"

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <unistd.h>

static char graph[300], other_graph[300], run[300], checkpoint[340], bare[340];

static const char *const none[] = {NULL};
static const char *const seventh[] = {"seed", "7", "edge-split", "70/10/20", NULL};

static void make_graphs(void)
{
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = 600;
    g.dim = 8;
    g.degree = 8;
    g.threads = 1;
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    snprintf(other_graph, sizeof(other_graph), "%s/other", folder);
    snprintf(run, sizeof(run), "%s/run", folder);
    snprintf(checkpoint, sizeof(checkpoint), "%s/model.safetensors", folder);
    snprintf(bare, sizeof(bare), "%s/bare.safetensors", folder);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    assert_int_equal(og_generate(other_graph, &g, NULL, NULL), 0);
}

static int make_all(void **state)
{
    int rc = make_folder(state);
    if (rc == 0)
        make_graphs();
    return rc;
}

static void options(struct og_options *opt, const char *task, const char *const *more)
{
    static const char *const pairs[][2] = {
        {"hidden", "8"},  {"fanout", "4,4"}, {"epochs", "1"},          {"memory", "96M"},
        {"threads", "1"}, {"batch", "300"},  {"eval-negatives", "10"}, {"dropout", "0"}};
    struct og_err err = {0};
    og__options_init(opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(opt, pairs[i][0], pairs[i][1], NULL), 0);
    for (; *more; more += 2)
        if (og_options_set(opt, more[0], more[1], &err) < 0)
            fail_msg("%s", err.message);
    assert_int_equal(og_options_set(opt, "task", task, NULL), 0);
    assert_int_equal(og_options_set(opt, "run", run, NULL), 0);
    assert_int_equal(og_options_set(opt, "scratch", folder, NULL), 0);
}

/* The summary; what the run found best is at `checkpoint`. NULL where it was refused. */
static json_t *try_train(const char *dataset, const char *task, const char *const *more,
                         struct og_err *err)
{
    struct og_options opt;
    char best[340], *text = NULL, *bytes;
    size_t n;
    og__remove_tree(run);
    options(&opt, task, more);
    int rc = og_train(dataset, &opt, NULL, &text, err);
    og__options_release(&opt);
    if (rc < 0)
        return NULL;
    snprintf(best, sizeof(best), "%s/best.safetensors", run);
    assert_int_equal(og__read_text(best, 1 << 24, &bytes, &n, NULL), 0);
    assert_int_equal(og__write_text(checkpoint, bytes, n, NULL), 0);
    json_t *summary = json_loads(text, 0, NULL);
    assert_non_null(summary);
    free(bytes);
    free(text);
    return summary;
}

static json_t *train(const char *dataset, const char *const *more)
{
    struct og_err err = {0};
    json_t *summary = try_train(dataset, "link", more, &err);
    if (!summary)
        fail_msg("%s", err.message);
    return summary;
}

static void on_message(void *arg, int level, const char *text)
{
    if (level == 0)
        snprintf(arg, 400, "%s", text);
}

/* Its metrics; NULL where it was refused. `warned` has room for 400. */
static json_t *try_eval(const char *dataset, const char *file, const char *const *more,
                        char *warned, struct og_err *err)
{
    struct og_options opt;
    char *text = NULL, ignored[400];
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = warned ? warned : ignored, .message = on_message};
    options(&opt, "node", more); /* the file says that it is of links */
    int rc = og_eval(dataset, file, "test", &opt, &seen, &text, err);
    og__options_release(&opt);
    assert_int_equal(rc, rc < 0 ? -EINVAL : 0);
    if (rc < 0)
        return NULL;
    json_t *said = json_loads(text, 0, NULL);
    json_t *metrics = json_incref(json_object_get(said, "metrics"));
    json_decref(said);
    free(text);
    return metrics;
}

static json_t *evaluate(const char *dataset, const char *file, const char *const *more,
                        char *warned)
{
    struct og_err err = {0};
    json_t *metrics = try_eval(dataset, file, more, warned, &err);
    if (!metrics)
        fail_msg("%s", err.message);
    return metrics;
}

static void assert_equal(const json_t *a, const json_t *b)
{
    if (json_equal(a, b))
        return;
    json_dumpf(a, stderr, 0);
    json_dumpf(b, stderr, 0);
    fail_msg("these differ");
}

static void assert_same_metrics(const json_t *summary, json_t *found)
{
    assert_equal(json_object_get(summary, "test_metrics"), found);
    json_decref(found);
}

/* `bare`: the checkpoint that says nothing of its edges, as one of an earlier version. */
static void forget_edges(void)
{
    struct og_tensors t;
    char *bytes = whole_tensors(checkpoint, &t);
    struct og_tensors old = t;
    struct og_metadata kept[32];
    old.metadata = kept;
    old.n_metadata = 0;
    for (size_t i = 0; i < t.n_metadata; i++)
        if (strcmp(t.metadata[i].key, "seed") != 0 && strcmp(t.metadata[i].key, "edge-split") != 0)
            kept[old.n_metadata++] = t.metadata[i];
    assert_int_equal(og__tensors_write(bare, &old, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
}

static void said(const char *key, char out[32])
{
    struct og_tensors t;
    char *bytes = whole_tensors(checkpoint, &t);
    out[0] = 0;
    for (size_t i = 0; i < t.n_metadata; i++)
        if (strcmp(t.metadata[i].key, key) == 0)
            snprintf(out, 32, "%s", t.metadata[i].value);
    og__tensors_release(&t);
    free(bytes);
}

static void assert_said(const char *seed, const char *split)
{
    char text[32];
    said("seed", text);
    assert_string_equal(text, seed);
    said("edge-split", text);
    assert_string_equal(text, split);
}

/* ---- eval ---- */

static void eval_holds_out_what_training_held_out(void **state)
{
    (void)state;
    static const char *const same[] = {"seed", "7", "edge-split", "70.0/10/2e1", NULL};
    json_t *summary = train(graph, seventh);
    assert_same_metrics(summary, evaluate(graph, checkpoint, none, NULL));
    assert_same_metrics(summary, evaluate(graph, checkpoint, seventh, NULL));
    assert_same_metrics(summary, evaluate(graph, checkpoint, same, NULL));
    json_decref(summary);
    assert_said("7", "70/10/20");
    summary = train(graph, none);
    assert_same_metrics(summary, evaluate(graph, checkpoint, none, NULL));
    json_decref(summary);
    assert_said("1", "85/5/10");
}

static void another_split_is_refused(void **state)
{
    (void)state;
    static const char *const others[][3] = {
        {"seed", "1"}, {"edge-split", "70/15/15"}, {"edge-split", "dataset"}};
    json_decref(train(graph, seventh));
    assert_int_equal(rename(checkpoint, bare), 0);
    for (size_t i = 0; i < OG_COUNT(others); i++) {
        struct og_err err = {0};
        char option[32];
        const char *const more[] = {others[i][0], others[i][1], "init", bare, NULL};
        snprintf(option, sizeof(option), "--%s", others[i][0]);
        assert_null(try_eval(graph, bare, others[i], NULL, &err));
        assert_non_null(strstr(err.message, option));
        assert_non_null(strstr(err.hint, option));
        err = (struct og_err){0};
        assert_null(try_train(graph, "link", more, &err));
        assert_non_null(strstr(err.message, option));
    }
}

static void a_checkpoint_that_does_not_say_is_taken_with_a_warning(void **state)
{
    (void)state;
    char warned[400] = "";
    json_t *summary = train(graph, seventh);
    forget_edges();
    assert_same_metrics(summary, evaluate(graph, bare, seventh, warned));
    assert_non_null(strstr(warned, bare));
    assert_non_null(strstr(warned, "--edge-split"));
    json_t *found = evaluate(graph, bare, none, NULL);
    assert_false(json_equal(found, json_object_get(summary, "test_metrics")));
    json_decref(found);
    json_decref(summary);
}

static void nodes_have_no_edges_held_out(void **state)
{
    (void)state;
    struct og_err err = {0};
    static const char *const other[] = {"seed", "3", NULL};
    json_decref(try_train(graph, "node", seventh, &err));
    assert_said("", "");
    json_decref(evaluate(graph, checkpoint, other, NULL));
}

/* ---- training on ---- */

static void training_goes_on_with_the_same_edges(void **state)
{
    (void)state;
    json_decref(train(graph, seventh));
    forget_edges();
    char start[340];
    snprintf(start, sizeof(start), "%s/start.safetensors", folder);
    assert_int_equal(rename(checkpoint, start), 0);
    const char *const told[] = {"init", start, NULL};
    const char *const given[] = {"init", bare, "seed", "7", "edge-split", "70/10/20", NULL};
    json_t *a = train(graph, told);
    assert_said("7", "70/10/20");
    json_t *b = train(graph, given);
    assert_equal(json_object_get(a, "test_metrics"), json_object_get(b, "test_metrics"));
    const json_t *config = json_object_get(a, "config");
    assert_int_equal(json_integer_value(json_object_get(config, "seed")), 7);
    assert_string_equal(json_string_value(json_object_get(config, "edge-split")), "70/10/20");
    json_decref(a);
    json_decref(b);
}

/* ---- a dataset's own lists ---- */

static void write_lists(void)
{
    static const char *const names[] = {"train_edges.npy", "valid_edges.npy", "test_edges.npy"};
    for (int s = 0; s < 3; s++) {
        char path[340];
        char head[4096];
        const int64_t shape[2] = {200, 2};
        snprintf(path, sizeof(path), "%s/%s", other_graph, names[s]);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        size_t n = og__npy_header(head, OG__NPY_I64, 2, shape, 64);
        assert_int_equal(fwrite(head, 1, n, f), n);
        for (int64_t i = 0; i < 200; i++) {
            const int64_t edge[2] = {(i * 7 + s) % 600, (i * 11 + 5 + s) % 600};
            assert_int_equal(fwrite(edge, sizeof(edge), 1, f), 1);
        }
        assert_int_equal(fclose(f), 0);
    }
}

static void the_lists_of_a_dataset_are_said_too(void **state)
{
    (void)state;
    static const char *const drawn[] = {"edge-split", "85/5/10", NULL};
    static const char *const own[] = {"edge-split", "dataset", "seed", "7", NULL};
    static const char *const seed[] = {"seed", "9", NULL};
    struct og_err err = {0};
    write_lists();
    json_t *summary = train(other_graph, own);
    assert_said("7", "dataset");
    assert_same_metrics(summary, evaluate(other_graph, checkpoint, none, NULL));
    json_decref(evaluate(other_graph, checkpoint, seed, NULL)); /* draws, but no edges */
    assert_null(try_eval(other_graph, checkpoint, drawn, NULL, &err));
    assert_non_null(strstr(err.message, "--edge-split"));
    err = (struct og_err){0};
    assert_null(try_eval(graph, checkpoint, none, NULL, &err)); /* it has none */
    assert_non_null(strstr(err.message, graph));
    json_decref(summary);
    summary = train(other_graph, drawn); /* not by its lists */
    assert_same_metrics(summary, evaluate(other_graph, checkpoint, none, NULL));
    json_decref(summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eval_holds_out_what_training_held_out),
        cmocka_unit_test(another_split_is_refused),
        cmocka_unit_test(a_checkpoint_that_does_not_say_is_taken_with_a_warning),
        cmocka_unit_test(nodes_have_no_edges_held_out),
        cmocka_unit_test(training_goes_on_with_the_same_edges),
        cmocka_unit_test(the_lists_of_a_dataset_are_said_too),
    };
    return cmocka_run_group_tests(tests, make_all, remove_folder);
}
