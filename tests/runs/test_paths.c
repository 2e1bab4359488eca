/* Outputs where somebody has put symbolic links: nothing they lead to is touched. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/small_run.h"

#include "base/file.h"
#include "base/temporary.h"
#include "bench/bench.h"
#include "support/folder.h"
#include "support/runs.h"

#include <outgrow/outgrow.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[TEST_PATH];
static const char secret[] = "not yours\n";

static int set_up(void **state)
{
    (void)state;
    const struct og_generate g = small_graph(OG_PLANTED);
    assert_non_null(test_folder(root, "paths"));
    assert_int_equal(chdir(root), 0);
    setenv("XDG_CACHE_HOME", root, 1);
    assert_int_equal(og_generate("graph", &g, NULL, NULL), 0);
    return og__write_text("victim", secret, strlen(secret), NULL);
}

static int tear_down(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

static void check_victim(void)
{
    char *text;
    size_t len;
    assert_int_equal(og__read_text("victim", 4096, &text, &len, NULL), 0);
    assert_string_equal(text, secret);
    free(text);
}

static bool is_link(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return S_ISLNK(st.st_mode);
}

static int train_on(const char *run, bool resume, struct og_err *err)
{
    struct og_options opt;
    small_run(&opt, run);
    opt.log_every = 1;
    opt.resume = resume;
    int rc = og_train("graph", &opt, NULL, NULL, err);
    og__options_release(&opt);
    return rc;
}

static int train(const char *run, struct og_err *err)
{
    return train_on(run, false, err);
}

/* Links are somebody's, as files are; --resume says that they are of a run. */
static void files_of_a_run_take_the_place_of_links(void **state)
{
    (void)state;
    static const char *const names[] = {"run/checkpoint.safetensors", "run/best.safetensors",
                                        "run/plan.json", "run/config.yaml"};
    assert_int_equal(mkdir("run", 0777), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        assert_int_equal(symlink("../victim", names[i]), 0);
    assert_int_equal(train("run", NULL), -EEXIST);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        assert_true(is_link(names[i]));
    assert_int_equal(train_on("run", true, NULL), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        assert_false(is_link(names[i]));
    check_victim();
}

/* It is written in place. */
static void metrics_are_not_written_through_a_link(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(mkdir("linked", 0777), 0);
    assert_int_equal(symlink("../victim", "linked/metrics.jsonl"), 0);
    assert_int_equal(train("linked", &err), -EEXIST);
    assert_non_null(strstr(err.message, "metrics.jsonl"));
    err = (struct og_err){0};
    assert_int_equal(og__write_text("linked/plan.json", "{}", 2, NULL), 0); /* a run began */
    assert_true(train_on("linked", true, &err) < 0);
    assert_non_null(strstr(err.message, "metrics.jsonl"));
    assert_non_null(strstr(err.hint, "symbolic link"));
    check_victim();
}

/* What is read is not written. */
static void the_dataset_is_no_output(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    uint64_t before, after;
    assert_int_equal(og__file_checksum("graph/features.npy", &before, NULL), 0);
    og__options_init(&opt);
    assert_int_equal(og_options_set(&opt, "memory", "64M", NULL), 0);
    assert_int_equal(og_options_set(&opt, "run", "spared", NULL), 0);
    assert_int_equal(og_options_set(&opt, "trace-timeline", "graph/../graph/features.npy", NULL),
                     0);
    assert_true(og_train("graph", &opt, NULL, NULL, &err) < 0);
    assert_non_null(strstr(err.message, "a file of the dataset"));
    og__options_release(&opt);
    assert_int_equal(og__file_checksum("graph/features.npy", &after, NULL), 0);
    assert_int_equal(before, after);
}

static void new_folders_are_not_made_through_links(void **state)
{
    (void)state;
    static const char *const names[] = {"dangling", "to-victim"};
    struct og_generate g;
    og__generate_init(&g);
    assert_int_equal(symlink("nowhere", names[0]), 0);
    assert_int_equal(symlink("victim", names[1]), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct og_err err = {0};
        assert_int_equal(og_generate(names[i], &g, NULL, &err), -EEXIST);
        assert_true(err.hint[0]);
        assert_int_equal(og_export("npy", "graph", names[i], NULL, NULL), -EEXIST);
        assert_true(is_link(names[i]));
    }
    assert_int_not_equal(access("nowhere", F_OK), 0);
    check_victim();
}

/* Whatever it is that a run would write: it is named, and stays what it is. */
static void files_of_the_user_are_no_place_for_a_run(void **state)
{
    (void)state;
    static const char *const names[] = {
        "checkpoint.safetensors", "best.safetensors", "resume.safetensors", "summary.json",
        "metrics.jsonl",          "plan.json",        "config.yaml"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct og_err err = {0};
        char path[64], *text;
        size_t len;
        assert_int_equal(mkdir("mine", 0777), 0);
        snprintf(path, sizeof(path), "mine/%s", names[i]);
        assert_int_equal(og__write_text(path, "mine", 4, NULL), 0);
        assert_int_equal(train("mine", &err), -EEXIST);
        assert_non_null(strstr(err.message, "mine"));
        assert_non_null(strstr(err.hint, "--run"));
        assert_int_equal(og__read_text(path, 64, &text, &len, NULL), 0);
        assert_string_equal(text, "mine");
        free(text);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir("mine"), 0); /* nothing else was made there */
    }
}

/* With --resume neither, where nothing but that says that a run began here. */
static void settings_of_the_user_are_no_run_to_go_on_with(void **state)
{
    (void)state;
    struct og_err err = {0};
    char *text;
    size_t len;
    assert_int_equal(mkdir("settings", 0777), 0);
    assert_int_equal(og__write_text("settings/config.yaml", "mine", 4, NULL), 0);
    assert_int_equal(train_on("settings", true, &err), -EEXIST);
    assert_non_null(strstr(err.message, "settings/config.yaml"));
    assert_int_equal(og__read_text("settings/config.yaml", 64, &text, &len, NULL), 0);
    assert_string_equal(text, "mine");
    free(text);
    assert_int_equal(og__write_text("settings/plan.json", "{}", 2, NULL), 0); /* a run began */
    assert_int_equal(train_on("settings", true, &err), 0);
}

/* Features that are no numbers: the first batch fails. */
static void make_sick_graph(void)
{
    const struct og_generate g = small_graph(OG_PLANTED);
    const unsigned char nan[4096] = {[0 ... 4095] = 0xff};
    struct stat st;
    assert_int_equal(og_generate("sick", &g, NULL, NULL), 0);
    FILE *f = fopen("sick/features.npy", "r+");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    assert_int_equal(fseek(f, 8, SEEK_SET), 0);
    const int low = fgetc(f), header = 10 + low + 256 * fgetc(f); /* of version 1 */
    for (off_t at = header; at < st.st_size; at += (off_t)sizeof(nan)) {
        assert_int_equal(fseek(f, at, SEEK_SET), 0);
        assert_int_equal(fwrite(nan, 1, (size_t)OG_MIN(st.st_size - at, (off_t)sizeof(nan)), f),
                         OG_MIN(st.st_size - at, (off_t)sizeof(nan)));
    }
    assert_int_equal(fclose(f), 0);
}

/* A folder that was there stays, with what was in it, and the next run may have it. */
static void a_run_that_fails_at_once_leaves_nothing(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    const char *const runs[] = {"begun/new", "begun"};
    make_sick_graph();
    assert_int_equal(mkdir("begun", 0777), 0);
    for (size_t i = 0; i < OG_COUNT(runs); i++) {
        small_run(&opt, runs[i]);
        opt.log_every = 1;
        if (og_train("sick", &opt, NULL, NULL, &err) != -EDOM)
            fail_msg("%s", err.message);
        og__options_release(&opt);
    }
    assert_int_equal(rmdir("begun"), 0); /* nothing in it */
    assert_int_equal(mkdir("begun", 0777), 0);
    assert_int_equal(train("begun", NULL), 0);
}

static void a_file_of_options_tells_what_is_gone(void **state)
{
    (void)state;
    static const char file[] = "early-reads: true\n";
    struct test_said said = {{0}};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &said, .message = test_note_message};
    struct og_options opt;
    small_run(&opt, "old");
    assert_int_equal(og__write_text("old.yaml", file, strlen(file), NULL), 0);
    assert_int_equal(og_options_load(&opt, "old.yaml", NULL), 0);
    assert_int_equal(og_train("graph", &opt, &seen, NULL, NULL), 0);
    assert_non_null(strstr(said.text, "early-reads in the file of options has no effect any more"));
    og__options_release(&opt);
}

/* Not even where the rest of the folder may be written again. */
static void initial_parameters_are_only_read(void **state)
{
    (void)state;
    static const char best[] = "started/best.safetensors";
    struct og_options opt;
    struct og_err err = {0};
    uint64_t before, after;
    assert_int_equal(train("started", NULL), 0);
    assert_int_equal(unlink("started/resume.safetensors"), 0);
    assert_int_equal(og__file_checksum(best, &before, NULL), 0);
    small_run(&opt, "started");
    opt.resume = true;
    assert_int_equal(og_options_set(&opt, "init", best, NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EEXIST);
    assert_non_null(strstr(err.message, best));
    assert_int_equal(og__file_checksum(best, &after, NULL), 0);
    assert_int_equal(before, after);
    og__options_release(&opt);
}

/* One is not drawn over another, and a run that is refused leaves none. */
static void a_timeline_that_exists_is_refused(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    char *text;
    size_t len;
    assert_int_equal(og__write_text("spans.json", "mine", 4, NULL), 0);
    small_run(&opt, "timed");
    assert_int_equal(og_options_set(&opt, "trace-timeline", "spans.json", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EEXIST);
    assert_non_null(strstr(err.message, "spans.json"));
    assert_int_equal(og__bench_epoch("graph", &opt, NULL, &text, NULL), -EEXIST);
    assert_int_equal(og_options_set(&opt, "resume", "true", NULL), 0); /* of nothing */
    assert_int_equal(og_train("graph", &opt, NULL, NULL, NULL), -EEXIST);
    assert_int_equal(og_options_set(&opt, "resume", "false", NULL), 0);
    assert_int_equal(og__read_text("spans.json", 64, &text, &len, NULL), 0);
    assert_string_equal(text, "mine");
    free(text);
    assert_int_not_equal(access("timed", F_OK), 0);
    assert_int_equal(unlink("spans.json"), 0);
    assert_int_equal(og_options_set(&opt, "init", "nowhere", NULL), 0);
    assert_true(og_train("graph", &opt, NULL, NULL, &err) < 0);
    assert_int_not_equal(access("spans.json", F_OK), 0);
    og__options_release(&opt);
}

/* A list of spans that other programs read, of each stage at least one for each batch. */
static void a_timeline_is_whole(void **state)
{
    (void)state;
    struct og_options opt;
    size_t sampled = 0, i;
    json_t *span;
    small_run(&opt, "timed");
    assert_int_equal(og_options_set(&opt, "trace-timeline", "spans.json", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, NULL), 0);
    json_t *spans = json_load_file("spans.json", 0, NULL);
    assert_true(json_array_size(spans) > 0);
    json_array_foreach(spans, i, span)
    {
        const char *name = json_string_value(json_object_get(span, "name"));
        assert_true(json_number_value(json_object_get(span, "ts")) >= 0);
        assert_true(json_number_value(json_object_get(span, "dur")) >= 0);
        assert_true(json_integer_value(json_object_get(span, "tid")) >= 0);
        sampled += strcmp(name, "sample") == 0;
    }
    assert_true(sampled >= 2); /* 51 seeds in batches of 32 */
    json_decref(spans);
    assert_int_equal(unlink("spans.json"), 0);
    og__options_release(&opt);
}

static void predictions_do_not_take_the_place_of_links(void **state)
{
    (void)state;
    struct og_options opt;
    og__options_init(&opt);
    assert_int_equal(og_options_set(&opt, "memory", "64M", NULL), 0);
    assert_int_equal(train("model", NULL), 0);
    assert_int_equal(symlink("victim", "pred.npy"), 0);
    assert_int_equal(symlink("victim", "pred.npy.part"), 0);
    struct og_err err = {0};
    assert_int_equal(og_predict("graph", "model/checkpoint.safetensors", "pred.npy", NULL, &opt,
                                NULL, NULL, NULL),
                     -EEXIST);
    assert_true(is_link("pred.npy") && is_link("pred.npy.part"));
    assert_int_equal(unlink("pred.npy"), 0);
    if (og_predict("graph", "model/checkpoint.safetensors", "pred.npy", NULL, &opt, NULL, NULL,
                   &err) < 0)
        fail_msg("%s", err.message);
    assert_false(is_link("pred.npy"));
    check_victim();
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_run_take_the_place_of_links),
        cmocka_unit_test(metrics_are_not_written_through_a_link),
        cmocka_unit_test(the_dataset_is_no_output),
        cmocka_unit_test(new_folders_are_not_made_through_links),
        cmocka_unit_test(files_of_the_user_are_no_place_for_a_run),
        cmocka_unit_test(settings_of_the_user_are_no_run_to_go_on_with),
        cmocka_unit_test(a_run_that_fails_at_once_leaves_nothing),
        cmocka_unit_test(a_file_of_options_tells_what_is_gone),
        cmocka_unit_test(initial_parameters_are_only_read),
        cmocka_unit_test(a_timeline_that_exists_is_refused),
        cmocka_unit_test(a_timeline_is_whole),
        cmocka_unit_test(predictions_do_not_take_the_place_of_links),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
