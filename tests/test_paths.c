/* Outputs where somebody has put symbolic links: nothing they lead to is touched. */
#include "small_run.h"

#include "base/file.h"
#include "base/temporary.h"

#include <outgrow/outgrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/og-paths-XXXXXX";
static const char secret[] = "not yours\n";

static int set_up(void **state)
{
    (void)state;
    const struct og_generate g = small_graph(OG_PLANTED);
    assert_non_null(mkdtemp(root));
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

static int train(const char *run, struct og_err *err)
{
    struct og_options opt;
    small_run(&opt, run);
    opt.log_every = 1;
    int rc = og_train("graph", &opt, NULL, NULL, err);
    og_options_release(&opt);
    return rc;
}

static void files_of_a_run_take_the_place_of_links(void **state)
{
    (void)state;
    static const char *const names[] = {"run/checkpoint.safetensors", "run/best.safetensors",
                                        "run/plan.json", "run/config.yaml"};
    assert_int_equal(mkdir("run", 0777), 0);
    for (size_t i = 0; i < OG_COUNT(names); i++)
        assert_int_equal(symlink("../victim", names[i]), 0);
    assert_int_equal(train("run", NULL), 0);
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
    assert_true(train("linked", &err) < 0);
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
    og_options_init(&opt);
    assert_int_equal(og_options_set(&opt, "memory", "64M", NULL), 0);
    assert_int_equal(og_options_set(&opt, "run", "spared", NULL), 0);
    assert_int_equal(og_options_set(&opt, "trace-timeline", "graph/../graph/features.npy", NULL),
                     0);
    assert_true(og_train("graph", &opt, NULL, NULL, &err) < 0);
    assert_non_null(strstr(err.message, "a file of the dataset"));
    og_options_release(&opt);
    assert_int_equal(og__file_checksum("graph/features.npy", &after, NULL), 0);
    assert_int_equal(before, after);
}

static void new_folders_are_not_made_through_links(void **state)
{
    (void)state;
    static const char *const names[] = {"dangling", "to-victim"};
    struct og_generate g;
    og_generate_init(&g);
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

static void predictions_take_the_place_of_links(void **state)
{
    (void)state;
    struct og_options opt;
    og_options_init(&opt);
    assert_int_equal(og_options_set(&opt, "memory", "64M", NULL), 0);
    assert_int_equal(train("model", NULL), 0);
    assert_int_equal(symlink("victim", "pred.npy"), 0);
    assert_int_equal(symlink("victim", "pred.npy.part"), 0);
    struct og_err err = {0};
    if (og_predict("graph", "model/checkpoint.safetensors", "pred.npy", NULL, &opt, NULL, NULL,
                   &err) < 0)
        fail_msg("%s", err.message);
    assert_false(is_link("pred.npy"));
    check_victim();
    og_options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_run_take_the_place_of_links),
        cmocka_unit_test(metrics_are_not_written_through_a_link),
        cmocka_unit_test(the_dataset_is_no_output),
        cmocka_unit_test(new_folders_are_not_made_through_links),
        cmocka_unit_test(predictions_take_the_place_of_links),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
