/* Figures of a model are means over seeds, values or edges. Batches of any size give the same but
 * for rounding. With all neighbours, no dropout and a learning rate of 0 nothing else depends on
 * them. */
#include "options/fields.h"
#include "support/own_folder.h"

#include "base/file.h"
#include "base/random.h"
#include "dataset/graph.h"
#include "nn/nn.h"
#include "support/files.h"
#include "support/runs.h"

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <math.h>
#include <unistd.h>

enum { NODES = 600, DIM = 6, WIDE = 3, TRAIN = 211, VALID = 103, TEST = 157 };

static const char *const sizes[] = {"7", "1",
                                    "1000"}; /* the first is what others are compared with */

static void in_folder(char out[300], const char *name)
{
    snprintf(out, 300, "%s/%s", folder, name);
}

/* ---- a graph whose nodes lack labels here and there, in some places more than in others ---- */

static void write_meta(const char *task, int classes)
{
    char path[300];
    json_t *meta = json_pack("{s:i s:i s:s}", "format", 1, "num_classes", classes, "task", task);
    in_folder(path, "meta.json");
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

static void write_splits(void)
{
    static const char *const names[] = {"train.npy", "valid.npy", "test.npy"};
    static const int counts[] = {TRAIN, VALID, TEST};
    int64_t ids[NODES], at = 0;
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < counts[s]; i++)
            ids[i] = at++;
        test_write_npy(folder, names[s], OG__NPY_I64, 1, counts[s], 1, ids);
    }
}

static void write_graph(void)
{
    static int64_t indptr[NODES + 1];
    static int32_t indices[NODES * 8];
    static float features[NODES * DIM];
    struct og_rng r;
    og__rng_at(&r, 12, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int64_t v = 0; v < NODES; v++) {
        int64_t n = v % 9;
        indptr[v + 1] = indptr[v] + n;
        for (int64_t i = 0; i < n; i++)
            indices[indptr[v] + i] = (int32_t)(i * (NODES / 9) + og__rng_below(&r, NODES / 9));
    }
    for (int i = 0; i < NODES * DIM; i++)
        features[i] = og__rng_normal(&r);
    test_write_npy(folder, "indptr.npy", OG__NPY_I64, 1, NODES + 1, 1, indptr);
    test_write_npy(folder, "indices.npy", OG__NPY_I32, 1, indptr[NODES], 1, indices);
    test_write_npy(folder, "features.npy", OG__NPY_F32, 2, NODES, DIM, features);
    write_splits();
}

static void label_classes(int classes)
{
    int64_t labels[NODES];
    for (int64_t v = 0; v < NODES; v++)
        labels[v] = v % 40 < 13 ? -1 : v * 7 % classes;
    test_write_npy(folder, "labels.npy", OG__NPY_I64, 1, NODES, 1, labels);
    write_meta("node classification", classes);
}

static void label_rows(bool values)
{
    static float y[NODES * WIDE];
    for (int i = 0; i < NODES * WIDE; i++) {
        int v = i / WIDE;
        bool known = v % 50 < 20 ? i % WIDE == 0 : v % 7 > 0;
        y[i] = !known ? NAN : values ? (float)(i * 13 % 37) / 4 : (float)(i * 5 % 11 < 4);
    }
    test_write_npy(folder, "labels.npy", OG__NPY_F32, 2, NODES, WIDE, y);
    write_meta(values ? "node regression" : "node classification", WIDE);
}

/* ---- runs ---- */

static void options(struct og_options *opt, const char *batch, const char *const *more)
{
    char run[300];
    in_folder(run, "run");
    og__options_init(opt);
    static const char *const pairs[][2] = {{"fanout", "-1,-1"}, {"hidden", "8"}, {"lr", "0"},
                                           {"dropout", "0"},    {"epochs", "1"}, {"memory", "128M"},
                                           {"threads", "1"}};
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        test_set(opt, pairs[i][0], pairs[i][1]);
    for (; more && *more; more += 2)
        test_set(opt, more[0], more[1]);
    test_set(opt, "batch", batch);
    test_set(opt, "run", run);
    test_set(opt, "scratch", folder);
}

/* The summary of a run whose checkpoint stays in the folder. */
static json_t *train(const char *batch, const char *const *more)
{
    struct og_options opt;
    struct og_err err = {0};
    char run[300], *text = NULL;
    in_folder(run, "run");
    og__remove_tree(run);
    options(&opt, batch, more);
    if (og_train(folder, &opt, NULL, &text, &err) < 0)
        fail_msg("--batch %s: %s", batch, err.message);
    json_t *summary = json_loads(text, 0, NULL);
    assert_non_null(summary);
    free(text);
    og__options_release(&opt);
    return summary;
}

static json_t *evaluate(const char *batch, const char *const *more, bool full)
{
    struct og_options opt;
    struct og_err err = {0};
    char checkpoint[300], *text = NULL;
    in_folder(checkpoint, "run/checkpoint.safetensors");
    options(&opt, batch, more);
    int rc = full ? og_eval_full(folder, checkpoint, "test", &opt, NULL, &text, &err)
                  : og_eval(folder, checkpoint, "test", &opt, NULL, &text, &err);
    if (rc < 0)
        fail_msg("--batch %s: %s", batch, err.message);
    json_t *said = json_loads(text, 0, NULL);
    assert_non_null(said);
    free(text);
    og__options_release(&opt);
    return said;
}

/* ---- comparing ---- */

static void assert_near(const char *what, const char *key, double a, double b)
{
    if (!(fabs(a - b) <= 2e-6 * (fabs(a) + fabs(b))))
        fail_msg("%s: %s is %.9g and %.9g", what, key, a, b);
}

/* Every number of the first is in the second too, and the same; there is one at least. */
static void assert_same(const char *what, json_t *a, json_t *b)
{
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach(a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        if (!json_is_number(value) || !json_is_number(other))
            fail_msg("%s: %s is no number", what, key);
        assert_near(what, key, json_number_value(value), json_number_value(other));
        n++;
    }
    assert_true(n > 0);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void assert_same_number(const char *what, const json_t *a, const json_t *b, const char *key)
{
    assert_near(what, key, number(a, key), number(b, key));
}

static json_t *metrics(const json_t *of, const char *key)
{
    json_t *found = json_object_get(of, key);
    assert_true(json_is_object(found));
    return found;
}

/* Training, its validation and its test, `eval`, and `eval --full` where there is one. */
static json_t *compare(const char *what, const char *const *more, bool full)
{
    json_t *first = train(sizes[0], more);
    const json_t *epoch = json_array_get(json_object_get(first, "epochs"), 0);
    for (size_t i = 1; i < OG_COUNT(sizes); i++) {
        json_t *other = train(sizes[i], more), *same = evaluate(sizes[i], more, false);
        const json_t *row = json_array_get(json_object_get(other, "epochs"), 0);
        if (full) { /* in link prediction a batch hides its own edges */
            assert_same_number(what, epoch, row, "loss");
            assert_same_number(what, epoch, row, "train_acc");
        }
        assert_same_number(what, epoch, row, "valid_acc");
        assert_same_number(what, first, other, "test_acc");
        assert_same(what, metrics(epoch, "valid_metrics"), metrics(row, "valid_metrics"));
        assert_same(what, metrics(first, "test_metrics"), metrics(other, "test_metrics"));
        assert_same(what, metrics(first, "test_metrics"), metrics(same, "metrics"));
        json_decref(other);
        json_decref(same);
    }
    if (full) {
        json_t *whole = evaluate(sizes[0], more, true), *areas = metrics(first, "test_metrics");
        assert_same(what, areas, metrics(whole, "metrics"));
        json_decref(whole);
    }
    return first;
}

static void values_are_averaged_over_values(void **state)
{
    (void)state;
    static const char *const losses[] = {"mse", "mae", "huber"};
    for (size_t i = 0; i < OG_COUNT(losses); i++) {
        const char *const more[] = {"loss", losses[i], NULL};
        write_graph();
        label_rows(true);
        json_t *summary = compare(losses[i], more, true);
        const json_t *test = metrics(summary, "test_metrics");
        if (i < 2) /* a loss that is a metric as well */
            assert_true(number(test, "loss") == number(test, losses[i]));
        json_decref(summary);
    }
}

static void classes_are_averaged_over_labelled_nodes(void **state)
{
    (void)state;
    static const char *const more[] = {"model", "gcn", NULL};
    for (int classes = 2; classes <= 5; classes += 3) {
        write_graph();
        label_classes(classes);
        json_decref(compare(classes == 2 ? "two classes" : "five classes", more, true));
    }
}

static void labels_are_averaged_over_pairs(void **state)
{
    (void)state;
    write_graph();
    label_rows(false);
    json_decref(compare("labels", NULL, true));
}

/* Pairs against edges are drawn for each batch. Here they are nearly all of nodes that have neither
 * features nor edges and so one embedding: which of them were drawn makes no difference. */
static void write_links(void)
{
    enum { KNOWN = 12, UNKNOWN = 200000, DIRECTED = KNOWN * (KNOWN - 1) };
    static const char *const names[] = {"train_edges.npy", "valid_edges.npy", "test_edges.npy"};
    static const int counts[] = {DIRECTED - VALID / 3 - TEST / 3, VALID / 3, TEST / 3};
    static int64_t indptr[KNOWN + UNKNOWN + 1], edges[2 * DIRECTED];
    static float features[(KNOWN + UNKNOWN) * DIM];
    int32_t indices[DIRECTED];
    struct og_rng r;
    int n = 0;
    og__rng_at(&r, 13, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int64_t v = 0; v < KNOWN; v++)
        for (int64_t u = 0; u < KNOWN; u++) {
            int64_t at = 2 * ((v * 5 + u * 7 + v * u * 3) % DIRECTED); /* nearly any order */
            if (u == v)
                continue;
            while (edges[at] + edges[at + 1] > 0)
                at = (at + 2) % (2 * (int64_t)DIRECTED);
            edges[at] = u;
            edges[at + 1] = v;
        }
    for (int64_t v = 0; v < KNOWN; v++) {
        for (int e = 0; e < counts[0]; e++)
            if (edges[2 * e + 1] == v)
                indices[n++] = (int32_t)edges[2 * e];
        indptr[v + 1] = n;
    }
    for (int64_t v = KNOWN; v < KNOWN + UNKNOWN; v++)
        indptr[v + 1] = n;
    for (int i = 0; i < KNOWN * DIM; i++)
        features[i] = og__rng_normal(&r);
    test_write_npy(folder, "indptr.npy", OG__NPY_I64, 1, KNOWN + UNKNOWN + 1, 1, indptr);
    test_write_npy(folder, "indices.npy", OG__NPY_I32, 1, n, 1, indices);
    test_write_npy(folder, "features.npy", OG__NPY_F32, 2, KNOWN + UNKNOWN, DIM, features);
    for (int s = 0, first = 0; s < 3; first += counts[s++])
        test_write_npy(folder, names[s], OG__NPY_I64, 2, counts[s], 2, edges + 2 * (size_t)first);
    write_meta("link prediction", 0);
}

static void links_are_averaged_over_edges(void **state)
{
    (void)state;
    static const char *const losses[] = {"bce", "margin"};
    char path[300];
    in_folder(path, "labels.npy");
    unlink(path);
    write_links();
    for (size_t i = 0; i < OG_COUNT(losses); i++) {
        const char *const more[] = {
            "task", "link", "eval-negatives", "3", "loss", losses[i], "fanout", "-1", NULL};
        json_t *summary = compare(losses[i], more, false);
        const json_t *test = metrics(summary, "test_metrics");
        assert_true(number(test, "auc") > 0 && number(test, "auc") < 1);
        assert_true(number(test, "mrr") < 1 && number(test, "hits@1") < 1);
        json_decref(summary);
    }
}

/* From sums that were made by hand. */
static void each_task_has_its_own_measure(void **state)
{
    (void)state;
    const struct og_metrics m = {.counted = 8,
                                 .correct = 2,
                                 .true_positive = 3,
                                 .false_positive = 1,
                                 .false_negative = 1,
                                 .compared = 5,
                                 .twice_ordered = 9,
                                 .values = 4, /* 1, 2, 3, 4: their squares from the mean are 5 */
                                 .squared = 1,
                                 .value_sum = 10,
                                 .value_squares = 30};
    struct og_model_config c = {.task = OG_TASK_NODE};
    assert_true(og__metrics_acc(&m, &c) == 2.0 / 8);
    c.multi_label = true;
    assert_true(og__metrics_acc(&m, &c) == 6.0 / 8);
    c.task = OG_TASK_REGRESSION;
    assert_true(og__metrics_acc(&m, &c) == 1 - 1.0 / 5);
    c.task = OG_TASK_LINK;
    assert_true(og__metrics_acc(&m, &c) == 9.0 / 10);
    const struct og_metrics none = {0};
    for (int task = OG_TASK_NODE; task <= OG_TASK_REGRESSION; task++)
        for (int multi = 0; multi < 2; multi++) {
            c = (struct og_model_config){.task = task, .multi_label = multi};
            assert_true(og__metrics_acc(&none, &c) == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_averaged_over_values),
        cmocka_unit_test(classes_are_averaged_over_labelled_nodes),
        cmocka_unit_test(labels_are_averaged_over_pairs),
        cmocka_unit_test(links_are_averaged_over_edges),
        cmocka_unit_test(each_task_has_its_own_measure),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
