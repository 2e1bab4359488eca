/* Whole runs on a small generated graph: bit-identical however bytes move. */
#include "train/train_fixture.h"

#include "dataset/graph.h"
#include "support/files.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static void bytes_move_values_do_not(void **state)
{
    (void)state;
    static const char *const models[] = {"sage", "gcn"};
    static const char *const moves[][9] = {
        {"cache", "5%"},
        {"policy", "none"},
        {"policy", "random", "cache", "10%"},
        {"io", "pread", "cache", "5%"},
        {"io", "mmap", "policy", "none"},
        {"preset", "pyg+"},
        {"preset", "memory"},
        {"threads", "1", "cache", "30%"},
        {"threads", "3", "cache", "30%"},
        {"memory", "48M"},
        {"policy", "presc:2", "cache", "10%"},
        {"policy", "pagerank", "cache", "10%"},
        {"policy", "frequency", "cache", "10%"},
        {"policy", "lru", "cache", "10%"},
        {"policy", "rr", "cache", "10%"},
        {"policy", "hybrid", "cache", "10%"},
        {"policy", "belady", "cache", "5%"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "belady", "cache", "10%", "superbatch", "all"},
        {"policy", "belady", "cache", "10%", "alternate", "true"},
        {"policy", "belady", "memory", "48M", "alternate", "true"},
        {"policy", "frequency", "cache", "7%", "superbatch", "5", "io", "mmap"},
        {"policy", "sweep", "cache", "50%"},
        {"policy", "sweep", "cache", "10%"},
        {"policy", "sweep", "cache", "50%", "superbatch", "7", "io", "mmap"},
        {"policy", "sweep", "memory", "48M", "alternate", "true", "io", "pread"},
        {"topology", "disk", "cache", "10%"},
        {"topology", "disk", "neighbor-cache", "0", "io", "pread"},
        {"preset", "ali+pg", "cache", "10%"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "ginex", "superbatch", "4", "memory", "52M"},
        {"preset", "fgnn", "cache", "10%"},
        {"preset", "lsm-gnn", "cache", "10%"},
        {"preset", "helios", "cache", "10%"},
        {"policy", "none", "threads", "3"},
        {"cache", "10%", "io", "mmap"},
        {"layout", "packed", "cache", "10%"},
        {"layout", "packed", "policy", "none", "superbatch", "3", "io", "mmap"},
        {"layout", "packed", "policy", "belady", "cache", "5%", "superbatch", "4"},
        {"layout", "packed", "policy", "belady", "memory", "84M", "alternate", "true"},
        {"preset", "diskgnn", "cache", "10%", "io", "pread"},
        {"layout", "segmented", "policy", "belady", "disk", "600K", "superbatch", "all"},
        {"layout", "segmented", "policy", "none", "disk", "900K", "io", "mmap"},
        {"layout", "segmented", "policy", "degree", "cache", "10%", "superbatch", "3"},
        {"layout", "segmented", "policy", "belady", "memory", "96M", "alternate", "true"},
        {"preset", "diskgnn", "layout", "segmented", "disk", "700K", "cache", "10%"},
    };
    for (size_t m = 0; m < OG_COUNT(models); m++) {
        const char *plain[] = {"model", models[m], NULL};
        struct outcome first = train("first", plain);
        assert_true(loss_of(&first, 2) < loss_of(&first, 0));
        for (size_t i = 0; i < OG_COUNT(moves); i++) {
            const char *pairs[12] = {"model", models[m]};
            memcpy(pairs + 2, moves[i], sizeof(moves[i]));
            struct outcome other = train("other", pairs);
            assert_same(&first, &other);
            check_counts(&other);
            drop(&other);
        }
        const char *another[] = {"model", models[m], "seed", "2", NULL};
        struct outcome other = train("other", another);
        assert_true(loss_of(&first, 0) != loss_of(&other, 0));
        drop(&other);
        drop(&first);
    }
}

static void reused_batches_give_the_same_in_any_way(void **state)
{
    (void)state;
    static const char *const moves[][9] = {
        {"policy", "none"},
        {"policy", "belady", "cache", "10%"},
        {"policy", "belady", "cache", "10%", "layout", "packed", "superbatch", "4"},
        {"policy", "frequency", "cache", "5%"},
        {"policy", "frequency", "cache", "5%", "io", "mmap", "topology", "disk"},
        {"policy", "degree", "cache", "10%", "layout", "packed"},
        {"policy", "none", "layout", "packed", "threads", "1"},
        {"policy", "none", "layout", "segmented", "disk", "700K"},
        {"policy", "belady", "cache", "10%", "layout", "segmented", "disk", "500K"},
        {"preset", "diskgnn", "layout", "segmented", "disk", "800K", "cache", "5%"},
        {"preset", "diskgnn", "cache", "10%"},
        {"preset", "diskgnn", "memory", "84M", "threads", "3"},
        {"preset", "ginex", "cache", "10%"},
    };
    static const char *const reuse[] = {"resample-every", "2", "model", "gcn", NULL};
    static const char *const fresh[] = {"resample-every", "1", "model", "gcn", NULL};
    struct outcome first = train("first", reuse);
    struct outcome other = train("other", fresh);
    assert_true(loss_of(&first, 0) == loss_of(&other, 0));
    assert_true(loss_of(&first, 1) != loss_of(&other, 1));
    drop(&other);
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[14] = {"resample-every", "2", "model", "gcn"};
        memcpy(pairs + 4, moves[i], sizeof(moves[i]));
        other = train("other", pairs);
        assert_same(&first, &other);
        check_counts(&other);
        drop(&other);
    }
    drop(&first);
}

/* ---- every sampler ---- */

static char weighted[64]; /* the same graph with weights */

static void link_file(const char *name)
{
    char from[128];
    char to[128];
    snprintf(from, sizeof(from), "%s/%s", dataset, name);
    snprintf(to, sizeof(to), "%s/%s", weighted, name);
    assert_int_equal(symlink(from, to), 0);
}

/* Weights that make a difference, in a second folder. */
static void make_weighted(void)
{
    static const char *const names[] = {"meta.json",  "indptr.npy", "indices.npy", "features.npy",
                                        "labels.npy", "train.npy",  "valid.npy",   "test.npy"};
    char path[128];
    struct og_graph *ds;
    char head[4096];
    snprintf(weighted, sizeof(weighted), "%s/weighted", root);
    assert_int_equal(mkdir(weighted, 0755), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        link_file(names[i]);
    assert_int_equal(og__graph_open(dataset, &ds, NULL), 0);
    const int64_t shape[2] = {ds->n_edges, 1};
    snprintf(path, sizeof(path), "%s/weights.npy", weighted);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    size_t n = og__npy_header(head, OG__NPY_F32, 1, shape, 4096);
    assert_int_equal(fwrite(head, 1, n, f), n);
    for (int64_t e = 0; e < ds->n_edges; e++)
        assert_int_equal(fwrite(&(float){(float)(e % 9)}, 4, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    og__graph_close(ds);
}

static void every_sampler_trains_the_same_in_any_way(void **state)
{
    (void)state;
    static const char *const kinds[][6] = {
        {"sampler", "weighted"},
        {"sampler", "walk", "model", "pinsage"},
        {"sampler", "walk", "model", "gcn", "walks", "6"},
        {"sampler", "labor"},
        {"sampler", "labor", "model", "gcn"},
        {"sampler", "ladies", "model", "pinsage"},
    };
    static const char *const moves[][8] = {
        {"cache", "5%", "threads", "1"},
        {"policy", "presc:2", "cache", "10%"},
        {"policy", "hybrid", "cache", "10%"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "belady", "cache", "10%", "alternate", "true"},
        {"policy", "frequency", "cache", "7%", "superbatch", "5", "io", "mmap"},
        {"policy", "sweep", "cache", "50%", "alternate", "true"},
        {"topology", "disk", "cache", "5%", "neighbor-cache", "20%"},
        {"preset", "ginex", "cache", "10%", "neighbor-cache", "0"},
    };
    static const char *const none[] = {NULL};
    make_weighted();
    char plain[64];
    memcpy(plain, dataset, sizeof(plain));
    memcpy(dataset, weighted, sizeof(dataset));
    struct outcome uniform = train("uniform", none);
    for (size_t k = 0; k < OG_COUNT(kinds); k++) {
        const char *pairs[16] = {NULL};
        size_t n = 0;
        for (; n < 6 && kinds[k][n]; n++)
            pairs[n] = kinds[k][n];
        struct outcome first = train("first", pairs);
        assert_true(loss_of(&first, 2) < loss_of(&first, 0));
        assert_true(loss_of(&first, 0) != loss_of(&uniform, 0));
        for (size_t i = 0; i < OG_COUNT(moves); i++) {
            memcpy(pairs + n, moves[i], sizeof(moves[i]));
            struct outcome other = train("other", pairs);
            assert_same(&first, &other);
            check_counts(&other);
            drop(&other);
        }
        drop(&first);
    }
    drop(&uniform);
    memcpy(dataset, plain, sizeof(dataset));
    og__remove_tree(weighted);
}

static void refused(const char *const *pairs, const char *says)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, "refused", pairs);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, says));
    assert_true(err.hint[0]);
    og__options_release(&opt);
}

static void samplers_say_what_they_need(void **state)
{
    (void)state;
    static const char *const unweighted[] = {"sampler", "weighted", NULL};
    refused(unweighted, "no edge weights");
}

/* ---- every model ---- */

static void every_model_learns_the_same_in_any_way(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(model_kinds); k++) {
        const char *pairs[14] = {NULL};
        size_t n = 0;
        for (; model_kinds[k][n]; n++)
            pairs[n] = model_kinds[k][n];
        struct outcome whole = train("whole", pairs);
        assert_true(loss_of(&whole, 2) < loss_of(&whole, 0));
        interrupt("cut", pairs, 12);
        static const char *const on[] = {"resume", "true", "cache", "20%", "threads", "1", NULL};
        memcpy(pairs + n, on, sizeof(on));
        struct outcome resumed = train("cut", pairs);
        assert_same(&whole, &resumed);
        drop(&resumed);
        drop(&whole);
    }
}

/* ---- links ---- */

/* All that the test was measured by, and the losses. */
static void assert_same_metrics(const struct outcome *a, const struct outcome *b)
{
    assert_same(a, b);
    assert_true(json_equal(json_object_get(a->summary, "test_metrics"),
                           json_object_get(b->summary, "test_metrics")));
    assert_true(json_equal(json_object_get(a->summary, "valid_metrics"),
                           json_object_get(b->summary, "valid_metrics")));
}

static const char *const links[] = {
    "task",      "link", "batch",          "256", "model",      "gcn",      "loss", "margin",
    "negatives", "3",    "eval-negatives", "30",  "edge-split", "60/20/20", NULL};

static void links_with(const char *pairs[32], const char *const *more)
{
    size_t n = 0;
    for (; links[n]; n++)
        pairs[n] = links[n];
    while ((pairs[n++] = *more++))
        ;
}

static void links_are_the_same_however_bytes_move(void **state)
{
    (void)state;
    static const char *const moves[][9] = {
        {"policy", "none", "threads", "3"},
        {"cache", "10%", "io", "pread", "threads", "1"},
        {"topology", "disk", "cache", "10%", "neighbor-cache", "0"},
        {"policy", "belady", "cache", "10%", "superbatch", "7"},
        {"policy", "presc:1", "cache", "10%"},
        {"policy", "pagerank", "cache", "10%"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "helios", "cache", "10%"},
    };
    struct outcome first = train("first", links);
    assert_true(loss_of(&first, 2) < loss_of(&first, 0));
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[32];
        links_with(pairs, moves[i]);
        struct outcome other = train("other", pairs);
        assert_same_metrics(&first, &other);
        check_counts(&other);
        drop(&other);
    }
    static const char *const others[][3] = {{"edge-split", "60/21/19"}, {"eval-negatives", "31"}};
    for (size_t i = 0; i < OG_COUNT(others); i++) {
        const char *pairs[32];
        links_with(pairs, others[i]);
        struct outcome other = train("other", pairs);
        assert_false(json_equal(json_object_get(first.summary, "test_metrics"),
                                json_object_get(other.summary, "test_metrics")));
        drop(&other);
    }
    drop(&first);
}

/* In training, in the midst of an evaluation, whose scores are made again, and at its ends. */
static void an_interrupted_run_of_links_ends_with_the_same_bytes(void **state)
{
    (void)state;
    struct outcome whole = train("whole", links);
    const json_t *epochs = json_object_get(whole.summary, "epochs");
    assert_int_equal(json_array_size(epochs), 3);
    static const int moments[] = {3, 34, 35, 38, 41, 46, 47, 48};
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", links, moments[i]);
        static const char *const on[] = {"resume", "true", "threads", "1", NULL};
        const char *pairs[32];
        links_with(pairs, on);
        struct outcome resumed = train("cut", pairs);
        assert_same_metrics(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

/* ---- values and labels ---- */

enum { N_VALUES = 3000, WIDE = 3 };

static void write_labels(const char *folder, const float *labels)
{
    char path[256];
    char head[4096];
    const int64_t shape[2] = {N_VALUES, WIDE};
    snprintf(path, sizeof(path), "%s/labels.npy", folder);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t n = og__npy_header(head, OG__NPY_F32, 2, shape, 64);
    assert_int_equal(fwrite(head, 1, n, f), n);
    assert_int_equal(fwrite(labels, sizeof(float), N_VALUES * WIDE, f), N_VALUES * WIDE);
    fclose(f);
}

/* The same graph with other labels: the first features of a node, or whether they are positive. */
static void relabel(char folder[64], bool values)
{
    static const char *const arrays[] = {"indptr", "indices", "features", "train", "valid", "test"};
    struct og_graph *ds;
    char path[256];
    snprintf(folder, 64, "%s/%s", root, values ? "values" : "labels");
    assert_int_equal(og__make_dirs(folder, NULL), 0);
    assert_int_equal(og__graph_open(dataset, &ds, NULL), 0);
    float *x = calloc((size_t)ds->group->dim, sizeof(*x)), *y = calloc(N_VALUES * WIDE, sizeof(*y));
    for (int64_t v = 0; v < N_VALUES; v++) {
        assert_int_equal(og__npy_read(&ds->group->rows, v, 1, x, NULL), 0);
        for (int j = 0; j < WIDE; j++)
            y[v * WIDE + j] = !values ? x[j] > 0 : (v + j) % 11 ? 5 + 2 * x[j] - x[j + 1] : NAN;
    }
    og__graph_close(ds);
    write_labels(folder, y);
    free(x);
    free(y);
    json_t *files = json_object();
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        snprintf(path, sizeof(path), "%s/%s.npy", dataset, arrays[i]);
        json_object_set_new(files, arrays[i], json_pack("{s:s}", "path", path));
    }
    json_t *meta = json_pack("{s:i s:i s:s s:o}", "format", 1, "num_classes", WIDE, "task",
                             values ? "node regression" : "node classification", "files", files);
    snprintf(path, sizeof(path), "%s/meta.json", folder);
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

static double metric(const struct outcome *o, const char *key)
{
    const json_t *value = json_object_get(json_object_get(o->summary, "test_metrics"), key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Trained whole and cut short in the evaluation: 5 + 5 batches an epoch. */
static struct outcome train_other(bool values, const char *const *pairs)
{
    char own[64];
    char graph[64];
    memcpy(graph, dataset, sizeof(graph));
    relabel(own, values);
    memcpy(dataset, own, sizeof(dataset));
    struct outcome whole = train("whole", pairs);
    interrupt("cut", pairs, 28);
    const char *on[16] = {"resume", "true", "threads", "3", "policy", "lru", "cache", "10%"};
    for (size_t i = 0; pairs[i]; i++)
        on[8 + i] = pairs[i];
    struct outcome resumed = train("cut", on);
    assert_same_metrics(&whole, &resumed);
    drop(&resumed);
    memcpy(dataset, graph, sizeof(graph));
    og__remove_tree(own);
    return whole;
}

static void values_are_learnt(void **state)
{
    (void)state;
    static const char *const mse[] = {"epochs", "20", "dropout", "0", NULL};
    static const char *const mae[] = {"epochs", "20", "dropout", "0", "loss", "mae", NULL};
    struct outcome a = train_other(true, mse);
    struct outcome b = train_other(true, mae);
    assert_true(metric(&a, "r2") > 0.8 && metric(&b, "r2") > 0.8);
    assert_true(metric(&a, "loss") == metric(&a, "mse"));
    assert_true(metric(&b, "loss") == metric(&b, "mae"));
    assert_true(json_number_value(json_object_get(a.summary, "test_acc")) == metric(&a, "r2"));
    drop(&a);
    drop(&b);
}

static void labels_are_learnt(void **state)
{
    (void)state;
    static const char *const some[] = {"epochs", "8", "dropout", "0", NULL};
    struct outcome a = train_other(false, some);
    assert_true(metric(&a, "micro_f1") > 0.8 && metric(&a, "auc") > 0.85 && metric(&a, "ap") > 0.8);
    assert_true(json_number_value(json_object_get(a.summary, "test_acc")) ==
                metric(&a, "micro_f1"));
    drop(&a);
}

/* Two classes have an area, and it is the same however bytes move. */
static void two_classes_have_an_area(void **state)
{
    (void)state;
    static const char *const plain[] = {"epochs", "6", NULL};
    static const char *const moved[] = {"epochs", "6",       "policy", "lru", "cache",
                                        "5%",     "threads", "1",      NULL};
    char graph[64];
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = 1500;
    g.dim = 16;
    g.classes = 2;
    g.train_fraction = 0.3;
    memcpy(graph, dataset, sizeof(graph));
    snprintf(dataset, sizeof(dataset), "%s/two", root);
    assert_int_equal(og_generate(dataset, &g, NULL, NULL), 0);
    struct outcome a = train("a", plain);
    struct outcome b = train("b", moved);
    assert_same_metrics(&a, &b);
    assert_true(metric(&a, "auc") > 0.8 && metric(&a, "auc") < 1);
    assert_true(metric(&a, "acc") > 0.7 && metric(&a, "ap") > 0.7);
    drop(&a);
    drop(&b);
    og__remove_tree(dataset);
    memcpy(dataset, graph, sizeof(graph));
}

/* One node in forty is of the second class. A model that calls none so is right in most epochs
 * alike. */
static void of_epochs_that_tie_the_one_with_the_smallest_loss_is_kept(void **state)
{
    (void)state;
    static const char *const rare[] = {"epochs", "8", "dropout", "0", "lr", "0.002", NULL};
    static int64_t labels[1500];
    char graph[64];
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = (int64_t)OG_COUNT(labels);
    g.dim = 16;
    g.classes = 2;
    g.train_fraction = 0.3;
    memcpy(graph, dataset, sizeof(graph));
    snprintf(dataset, sizeof(dataset), "%s/rare", root);
    assert_int_equal(og_generate(dataset, &g, NULL, NULL), 0);
    for (size_t v = 0; v < OG_COUNT(labels); v++)
        labels[v] = v % 40 == 0;
    test_write_npy(dataset, "labels.npy", OG__NPY_I64, 1, g.nodes, 1, labels);
    struct outcome o = train("rare-run", rare);
    const double best = json_number_value(json_object_get(o.summary, "valid_acc"));
    double least = INFINITY;
    int tied = 0;
    json_int_t wanted = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(o.summary, "epochs"), i, row)
    {
        const json_t *metrics = json_object_get(row, "valid_metrics");
        const double loss = json_number_value(json_object_get(metrics, "loss"));
        if (json_number_value(json_object_get(row, "valid_acc")) != best)
            continue;
        tied++;
        if (loss < least)
            wanted = (json_int_t)i + 1;
        least = fmin(loss, least);
    }
    assert_true(tied > 1 && wanted > 1);
    assert_int_equal(json_integer_value(json_object_get(o.summary, "best_epoch")), wanted);
    drop(&o);
    og__remove_tree(dataset);
    memcpy(dataset, graph, sizeof(graph));
}

static void losses_are_those_of_the_task(void **state)
{
    (void)state;
    static const char *const bad[][5] = {{"loss", "mse"},
                                         {"loss", "bce"},
                                         {"task", "link", "loss", "mae"},
                                         {"task", "regression"},
                                         {"task", "link", "edge-split", "80/10/20"}};
    for (size_t i = 0; i < OG_COUNT(bad); i++) {
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, "refused", bad[i]);
        assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
        assert_true(err.hint[0]);
        og__options_release(&opt);
    }
}

/* ---- memory ---- */

static void the_budget_named_does(const char *const *kind)
{
    const char *little[9] = {"memory", "4M"};
    for (size_t i = 0; kind[i]; i++)
        little[2 + i] = kind[i];
    struct og_options opt;
    struct og_err err = {0};
    char path[128];
    set_options(&opt, "small", little);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    og__options_release(&opt);
    in_root(path, "small");
    assert_int_not_equal(access(path, F_OK), 0); /* nothing was begun */
    const char *number = strstr(err.hint, "--memory ");
    assert_non_null(number);
    char named[32];
    snprintf(named, sizeof(named), "%.*s", (int)strcspn(number + 9, ";"), number + 9);
    const char *enough[9];
    memcpy(enough, little, sizeof(enough));
    enough[1] = named;
    struct outcome o = train("small", enough);
    drop(&o);
    snprintf(named, sizeof(named), "%ldM", strtol(number + 9, NULL, 10) - 1);
    set_options(&opt, "small", enough);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), -ENOMEM);
    og__options_release(&opt);
}

static void a_budget_that_cannot_do_is_refused_and_the_named_one_does(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL};
    the_budget_named_does(plain);
    for (size_t k = 0; k < OG_COUNT(model_kinds); k++)
        the_budget_named_does(model_kinds[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_move_values_do_not),
        cmocka_unit_test(reused_batches_give_the_same_in_any_way),
        cmocka_unit_test(every_sampler_trains_the_same_in_any_way),
        cmocka_unit_test(samplers_say_what_they_need),
        cmocka_unit_test(every_model_learns_the_same_in_any_way),
        cmocka_unit_test(links_are_the_same_however_bytes_move),
        cmocka_unit_test(an_interrupted_run_of_links_ends_with_the_same_bytes),
        cmocka_unit_test(values_are_learnt),
        cmocka_unit_test(labels_are_learnt),
        cmocka_unit_test(two_classes_have_an_area),
        cmocka_unit_test(of_epochs_that_tie_the_one_with_the_smallest_loss_is_kept),
        cmocka_unit_test(losses_are_those_of_the_task),
        cmocka_unit_test(a_budget_that_cannot_do_is_refused_and_the_named_one_does),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_dataset, remove_all);
}
