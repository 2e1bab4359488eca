/* Inference with all neighbours: any memory, evaluation, and what is refused. */
#include "infer/infer_fixture.h"

/* ==== memory ==== */

/* Every model in the least memory, in a little more, and by as many threads as others have. */
static void any_memory_and_threads_give_the_same_bytes(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "3"};
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(models); i += test_ways_step_of(3)) {
        struct og_model_config c = shaped(i, 2, HIDDEN);
        const char *few = threads[i % OG_COUNT(threads)],
                   *other = threads[(i + 1) % OG_COUNT(threads)];
        char memory[16];
        size_t n;
        write_model(&c);
        must_predict("1G", NULL, NULL);
        char *wanted = file_bytes(logits, &n);
        const int least = least_memory(few);
        assert_true(is_enough(few, least));
        assert_same_logits(wanted, n);
        snprintf(memory, sizeof(memory), "%dM", least + 2);
        assert_int_equal(predict_with(few, memory, NULL, NULL, NULL), 0);
        assert_same_logits(wanted, n);
        assert_int_equal(predict_with(other, "1G", NULL, NULL, NULL), 0);
        assert_same_logits(wanted, n);
        free(wanted);
    }
}

/* A refusal names the smallest that would do: it does, and one MiB less does not. */
static void the_memory_that_is_named_is_enough(void **state)
{
    (void)state;
    static const char words[] = "use --memory ";
    int named = 0;
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(models); i += test_ways_step_of(3)) {
        struct og_model_config c = shaped(i, 2, HIDDEN);
        struct og_err err = {0};
        char memory[16];
        write_model(&c);
        const int least = least_memory("1");
        snprintf(memory, sizeof(memory), "%dM", least - 1);
        assert_int_equal(predict_with("1", memory, NULL, NULL, &err), -ENOMEM);
        const char *at = strstr(err.hint, words);
        if (at && strtol(at + strlen(words), NULL, 10) != least)
            fail_msg("%s: %s: %s; %dM is", models[i].name, err.message, err.hint, least);
        named += at != NULL;
    }
    assert_true(named > 0);
    print_message("named by %d of %zu models\n", named, OG_COUNT(models));
}

static void little_memory_makes_more_blocks(void **state)
{
    (void)state;
    struct og_model_config c = shaped(2, 2, HIDDEN);
    char memory[16], *text;
    make_larger_graph();
    write_model(&c);
    snprintf(memory, sizeof(memory), "%dM", least_memory("2"));
    must_predict(memory, NULL, &text);
    json_t *said = json_loads(text, 0, NULL);
    assert_non_null(said);
    const json_t *layer = json_array_get(json_object_get(said, "layers"), 0);
    assert_true(json_integer_value(json_object_get(layer, "nodes_a_block")) < 40000);
    assert_true(json_integer_value(json_object_get(layer, "bytes_read")) >=
                json_integer_value(json_object_get(layer, "bytes_least")));
    json_decref(said);
    free(text);
}

/* ==== eval ==== */

/* Sampled evaluation by all neighbours, of the model at `checkpoint`. */
static void compare_evaluations(const char *what, const char *topology)
{
    struct og_options opt;
    struct og_err err = {0};
    char *full, *sampled;
    og__options_init(&opt);
    test_set(&opt, "fanout", "-1,-1");
    test_set(&opt, "batch", "100");
    test_set(&opt, "memory", "1G");
    test_set(&opt, "topology", topology);
    if (og_eval_full(graph, checkpoint, "test", &opt, NULL, &full, &err) < 0 ||
        og_eval(graph, checkpoint, "test", &opt, NULL, &sampled, &err) < 0)
        fail_msg("%s: %s", what, err.message);
    assert_true(key(full, "labelled") == key(sampled, "nodes"));
    if (!(fabs(key(full, "loss") - key(sampled, "loss")) < 1e-4))
        fail_msg("%s: loss %g, of samples %g", what, key(full, "loss"), key(sampled, "loss"));
    assert_true(fabs(key(full, "acc") - key(sampled, "acc")) < 2e-3);
    free(full);
    free(sampled);
    og__options_release(&opt);
}

static void full_evaluation_is_sampled_evaluation_of_all_neighbours(void **state)
{
    (void)state;
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(models); i++) {
        struct og_model_config c = shaped(i, 2, HIDDEN);
        write_model(&c);
        compare_evaluations(models[i].name, "memory");
    }
}

/* The same graph with values, those of some nodes missing, or several labels a node. */
static void relabel(const char *task)
{
    char path[256];
    char head[4096];
    json_error_t error;
    snprintf(path, sizeof(path), "%s/meta.json", graph);
    json_t *meta = json_load_file(path, 0, &error);
    const int64_t n = json_integer_value(json_object_get(meta, "num_nodes"));
    const int64_t shape[2] = {n, CLASSES};
    const bool values = strcmp(task, "node regression") == 0;
    json_object_del(meta, "checksums");
    json_object_set_new(meta, "task", json_string(task));
    json_object_set_new(meta, "multi_label", json_boolean(!values));
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
    snprintf(path, sizeof(path), "%s/labels.npy", graph);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t bytes = og__npy_header(head, OG__NPY_F32, 2, shape, 64);
    assert_int_equal(fwrite(head, 1, bytes, f), bytes);
    for (int64_t i = 0; i < n * CLASSES; i++) {
        float value = i / CLASSES % 11 ? (float)(i % 17) / 8 : NAN;
        float label = values ? value : (float)(i % 3 == 0);
        assert_int_equal(fwrite(&label, sizeof(label), 1, f), 1);
    }
    fclose(f);
}

static double value_of(const char *text, const char *name)
{
    json_t *said = json_loads(text, 0, NULL);
    const json_t *x = json_object_get(json_object_get(said, "metrics"), name);
    double value = x ? json_number_value(x) : NAN;
    json_decref(said);
    return value;
}

static void full_evaluation_knows_every_task_of_nodes(void **state)
{
    (void)state;
    static const char *const keys[] = {"loss", "mse", "mae", "r2", "micro_f1"};
    static const char *const tasks[] = {"node regression", "node classification"};
    for (size_t t = 0; t < OG_COUNT(tasks); t++) {
        struct og_model_config c = shaped(0, 2, HIDDEN);
        struct og_options opt;
        char *full, *sampled;
        make_larger_graph();
        relabel(tasks[t]);
        c.task = t == 0 ? OG_TASK_REGRESSION : OG_TASK_NODE;
        c.loss = t == 0 ? OG_LOSS_MSE : OG_LOSS_AUTO;
        c.multi_label = t > 0;
        write_model(&c);
        compare_evaluations(tasks[t], "memory");
        og__options_init(&opt);
        test_set(&opt, "fanout", "-1,-1");
        test_set(&opt, "batch", "4000");
        assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, NULL, &full, NULL), 0);
        assert_int_equal(og_eval(graph, checkpoint, "test", &opt, NULL, &sampled, NULL), 0);
        int n = 0;
        for (size_t i = 0; i < OG_COUNT(keys); i++) {
            double a = value_of(full, keys[i]), b = value_of(sampled, keys[i]);
            assert_int_equal(isnan(a), isnan(b));
            assert_true(isnan(a) || fabs(a - b) < 1e-3 * (1 + fabs(b)));
            n += !isnan(a);
        }
        assert_int_equal(n, t == 0 ? 4 : 2);
        free(full);
        free(sampled);
        og__options_release(&opt);
    }
}

/* Nodes at the rim of a block have degrees as all others: without their edges to themselves. */
static void edges_of_a_node_to_itself_are_no_neighbours(void **state)
{
    (void)state;
    static const char *const places[] = {"memory", "disk"};
    make_awkward_graph();
    for (size_t i = 0; i < OG_COUNT(places); i++) {
        struct og_model_config c = shaped(GCN, 2, HIDDEN);
        write_model(&c);
        compare_evaluations("gcn", places[i]);
    }
}

/* ==== what cannot be ==== */

static void refusals_leave_nothing(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_model_config c = shaped(2, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    unlink(logits);
    assert_int_equal(predict("2M", NULL, NULL, &err), -ENOMEM);
    assert_non_null(strstr(err.hint, "--memory"));
    assert_int_equal(predict("1G", logits, NULL, NULL), -EINVAL); /* one file for both */
    c = shaped(2, 1, HIDDEN);
    write_model(&c);
    assert_int_equal(predict("1G", embeddings, NULL, NULL), -EINVAL);
    c.in_dim = DIM + 1;
    write_model(&c);
    assert_int_equal(predict("1G", NULL, NULL, NULL), -EINVAL);
    unlink(checkpoint);
    assert_int_equal(predict("1G", NULL, NULL, NULL), -ENOENT);
    assert_true(access(logits, F_OK) < 0);
    assert_int_equal(left_behind(), 0);
}

/* An index out of range is found before any output is begun. */
static void damaged_indices_are_refused(void **state)
{
    (void)state;
    struct og_model_config c = shaped(2, 2, HIDDEN);
    struct og_err err = {0};
    struct og_npy a;
    char path[LONGEST_PATH];
    int32_t wrong = N + 5;
    make_awkward_graph();
    write_model(&c);
    unlink(logits);
    snprintf(path, sizeof(path), "%s/indices.npy", graph);
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)a.offset + 400, SEEK_SET), 0);
    assert_int_equal(fwrite(&wrong, sizeof(wrong), 1, f), 1);
    fclose(f);
    og__npy_close(&a);
    assert_true(predict("1G", NULL, NULL, &err) < 0);
    assert_non_null(strstr(err.message, "indices"));
    assert_true(access(logits, F_OK) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_memory_and_threads_give_the_same_bytes),
        cmocka_unit_test(the_memory_that_is_named_is_enough),
        cmocka_unit_test(little_memory_makes_more_blocks),
        cmocka_unit_test(full_evaluation_is_sampled_evaluation_of_all_neighbours),
        cmocka_unit_test(full_evaluation_knows_every_task_of_nodes),
        cmocka_unit_test(edges_of_a_node_to_itself_are_no_neighbours),
        cmocka_unit_test(refusals_leave_nothing),
        cmocka_unit_test(damaged_indices_are_refused),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
