/* Runs that are stopped, killed, begun twice, or made longer. */
#include "support/whole_tensors.h"
#include "train/train_fixture.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static void an_interrupted_run_ends_with_the_same_bytes(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const int moments[] = {1, 4, 5, 6, 11, 17};
    struct outcome whole = train("whole", none);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", none, moments[i]);
        /* resumes elsewhere: other memory, policy and threads */
        static const char *const policies[] = {"random", "belady", "hybrid"};
        const char *on[] = {"resume",        "true",    "cache", "20%", "policy",
                            policies[i % 3], "threads", "1",     NULL};
        struct outcome resumed = train("cut", on);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

static void reused_batches_are_resumed(void **state)
{
    (void)state;
    static const char *const reuse[] = {"resample-every", "2", NULL};
    static const char *const diskgnn[] = {"resample-every", "2",   "preset", "diskgnn",
                                          "cache",          "10%", NULL};
    static const char *const on[] = {"resample-every", "2",    "preset", "diskgnn", "cache", "20%",
                                     "resume",         "true", NULL};
    static const int moments[] = {2, 6, 9, 13, 16, 17, 18, 23}; /* some while it validates */
    struct outcome whole = train("whole", reuse);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        interrupt("cut", diskgnn, moments[i]);
        struct outcome resumed = train("cut", on);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

static void a_run_is_not_overwritten_nor_resumed_as_another(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const other[] = {"resume", "true", "lr", "0.02", NULL};
    static const char *const same[] = {"resume", "true", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, "kept", none);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), 0);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EEXIST);
    assert_true(err.hint[0]);
    og__options_release(&opt);
    err = (struct og_err){0};
    set_options(&opt, "kept", other);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "started with another --lr (0.01, this run has 0.02)"));
    og__options_release(&opt);
    set_options(&opt, "kept", same); /* nothing is left to do: the same summary again */
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    in_root(path, "kept");
    og__remove_tree(path);
}

static void two_processes_do_not_train_in_one_folder(void **state)
{
    (void)state;
    static const char *const on[] = {"resume", "true", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    in_root(path, "shared");
    assert_int_equal(mkdir(path, 0777), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    set_options(&opt, "shared", on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.message, path));
    assert_true(err.hint[0]);
    close(fd);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    og__remove_tree(path);
}

/* How often a batch of an epoch, or 0, its own line, stands in metrics.jsonl. Negative when a line
 * is broken. */
static int lines_of(const char *run, int epoch, int batch)
{
    char path[160];
    char *text;
    size_t len;
    int found = 0;
    snprintf(path, sizeof(path), "%s/%s/metrics.jsonl", root, run);
    assert_int_equal(og__read_text(path, 1 << 20, &text, &len, NULL), 0);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *row = json_loads(line, 0, NULL);
        if (!row)
            found = -100;
        found += json_integer_value(json_object_get(row, "epoch")) == epoch &&
                 json_integer_value(json_object_get(row, "batch")) == batch;
        json_decref(row);
    }
    free(text);
    return found;
}

/* A kill comes at any time after the last checkpoint: what was written since is written again. */
static void files_of_a_killed_run_follow_its_checkpoint(void **state)
{
    (void)state;
    static const char *const log[] = {"log-every", "1", NULL};
    static const char *const on[] = {"log-every", "1", "resume", "true", NULL};
    static const char *const files[] = {"best.safetensors", "checkpoint.safetensors",
                                        "plan.json.tmp-77-0", "resume.safetensors.tmp-77-0"};
    char path[160];
    interrupt("cut", log, 12);
    snprintf(path, sizeof(path), "%s/cut/metrics.jsonl", root);
    FILE *f = fopen(path, "a");
    fputs("{\"epoch\": 2, \"batch\": 4}\n{\"epoch\": 2, \"loss\": 1, \"valid_metrics\": {}}\n"
          "{\"epoch\": 3, \"batch\": 1}\n{\"epo",
          f);
    fclose(f);
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/cut/%s", root, files[i]);
        f = fopen(path, "w");
        fputs("torn", f);
        fclose(f);
    }
    interrupt("cut", on, 1);
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        char *text;
        size_t len;
        snprintf(path, sizeof(path), "%s/cut/%s", root, files[i]);
        int rc = og__read_text(path, 1 << 24, &text, &len, NULL);
        assert_int_equal(rc, i < 2 ? 0 : -ENOENT);
        if (rc == 0) {
            assert_true(len > 100);
            free(text);
        }
    }
    struct og_options opt;
    set_options(&opt, "cut", on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    for (int epoch = 1; epoch <= 3; epoch++)
        for (int batch = 0; batch <= 5; batch++)
            assert_int_equal(lines_of("cut", epoch, batch), 1);
    in_root(path, "cut");
    og__remove_tree(path);
}

/* Without an option: what the summary has of each epoch, validated or not. */
static void every_epoch_is_logged(void **state)
{
    (void)state;
    static const char *const odd[] = {"epochs", "3", "eval-every", "2", NULL};
    static const char *const same[] = {"epoch", "loss",          "train_acc", "valid_acc",
                                       "rows",  "valid_metrics", "hits",      "bytes_read"};
    char path[160];
    struct og_options opt;
    set_options(&opt, "logged", odd);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    snprintf(path, sizeof(path), "%s/logged/summary.json", root);
    json_t *summary = json_load_file(path, 0, NULL);
    const json_t *epochs = json_object_get(summary, "epochs");
    snprintf(path, sizeof(path), "%s/logged/metrics.jsonl", root);
    FILE *f = fopen(path, "r");
    for (size_t i = 0; i < 3; i++) {
        json_t *line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(line);
        for (size_t k = 0; k < OG_COUNT(same); k++) {
            const json_t *logged = json_object_get(line, same[k]);
            assert_non_null(logged);
            assert_true(json_equal(logged, json_object_get(json_array_get(epochs, i), same[k])));
        }
        assert_int_equal(json_is_null(json_object_get(line, "valid_acc")), i == 0);
        json_decref(line);
    }
    assert_int_equal(fgetc(f), '\n');
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    json_decref(summary);
    in_root(path, "logged");
    og__remove_tree(path);
}

static void a_run_may_be_made_longer_where_its_batches_stay(void **state)
{
    (void)state;
    static const char *const three[] = {"epochs", "3", NULL};
    static const char *const two[] = {"epochs", "2", NULL};
    static const char *const on[] = {"epochs", "3", "resume", "true", NULL};
    static const char *const odd[] = {"epochs", "3", "eval-every", "2", NULL};
    static const char *const odd_on[] = {"epochs", "5", "resume", "true", "eval-every", "2", NULL};
    char path[128];
    struct og_options opt;
    struct og_err err = {0};
    struct outcome whole = train("whole", three);
    set_options(&opt, "longer", two);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    struct outcome longer = train("longer", on);
    assert_same(&whole, &longer);
    drop(&whole);
    drop(&longer);
    set_options(&opt, "odd", odd); /* it was evaluated once more, at its end */
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    set_options(&opt, "odd", odd_on);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "--epochs"));
    og__options_release(&opt);
    in_root(path, "odd");
    og__remove_tree(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupted_run_ends_with_the_same_bytes),
        cmocka_unit_test(reused_batches_are_resumed),
        cmocka_unit_test(a_run_is_not_overwritten_nor_resumed_as_another),
        cmocka_unit_test(two_processes_do_not_train_in_one_folder),
        cmocka_unit_test(files_of_a_killed_run_follow_its_checkpoint),
        cmocka_unit_test(every_epoch_is_logged),
        cmocka_unit_test(a_run_may_be_made_longer_where_its_batches_stay),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_dataset, remove_all);
}
