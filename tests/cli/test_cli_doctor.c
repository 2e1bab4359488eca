/* outgrow doctor: what it finds of a machine, and that what it says fits does. */
#include "cli/cli_fixture.h"

static const json_t *find_check(const json_t *root, const char *name)
{
    const json_t *checks = json_object_get(root, "checks");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        if (strcmp(json_string_value(json_object_get(check, "check")), name) == 0)
            return check;
    }
    fail_msg("no check of %s", name);
    return NULL;
}

static const char *said_of(const json_t *root, const char *name, const char *key)
{
    return json_string_value(json_object_get(find_check(root, name), key));
}

static json_t *ask_doctor(const char *limits, const char *arguments, int status)
{
    char line[1024];
    static char text[1 << 14];
    snprintf(line, sizeof(line), "%s; '%s' doctor %s --json >out.txt 2>err.txt", limits,
             TEST_COMMAND, arguments);
    int ended = system(line);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), status);
    slurp("out.txt", text, sizeof(text));
    unlink("err.txt");
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    return root;
}

/* Limits of the machine are reported, with what to do; exit status 1 where nothing can be
 * trained. */
static void a_doctor_looks_at_the_machine(void **state)
{
    (void)state;
    json_t *root = ask_doctor("ulimit -l 64", "", 0);
    assert_string_equal(said_of(root, "locked memory", "verdict"), "note");
    assert_says(said_of(root, "locked memory", "found"), "64.00 KiB");
    assert_says(said_of(root, "locked memory", "advice"), "ulimit -l unlimited");
    assert_string_equal(said_of(root, "open files", "verdict"), "fine");
    assert_string_equal(said_of(root, "open files", "advice"), "");
    assert_true(json_is_null(json_object_get(root, "fits")));
    json_decref(root);
    root = ask_doctor("ulimit -n 64", "", 1);
    assert_string_equal(said_of(root, "open files", "verdict"), "stops");
    json_decref(root);
    root = ask_doctor("true", "nowhere", 1);
    assert_string_equal(said_of(root, "dataset", "verdict"), "stops");
    json_decref(root);
}

/* The sizes of memory that it names do what it says. */
static void a_doctor_knows_what_fits(void **state)
{
    (void)state;
    char line[160];
    json_t *root = ask_doctor("true", "d", 0);
    assert_string_equal(said_of(root, "dataset", "verdict"), "fine");
    const json_t *fits = json_object_get(root, "fits");
    size_t n = json_array_size(fits);
    assert_true(n >= 1);
    for (size_t i = 1; i < n; i++)
        assert_true(json_integer_value(json_object_get(json_array_get(fits, i), "bytes_read")) <=
                    json_integer_value(json_object_get(json_array_get(fits, i - 1), "bytes_read")));
    assert_true(json_real_value(json_object_get(json_array_get(fits, n - 1), "hit_rate")) == 1);
    json_int_t least = json_integer_value(json_object_get(json_array_get(fits, 0), "memory_bytes"));
    snprintf(line, sizeof(line), "plan d --policy degree --layout raw --memory %lld",
             (long long)least);
    assert_int_equal(outgrow(line)->status, 0);
    snprintf(line, sizeof(line), "plan d --policy degree --layout raw --memory %lld",
             (long long)least - (2 << 20));
    assert_int_equal(outgrow(line)->status, 1);
    json_decref(root);
    const struct outcome *o = outgrow("doctor d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "rows from memory");
    assert_null(strstr(o->out, " \n"));
}

/* Free space is that of ./runs, not of the dataset. A link to itself is no folder that could be
 * measured, and /proc has no space. */
static void a_doctor_measures_where_runs_go(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir free && ln -s ../d free/d"), 0);
    assert_int_equal(chdir("free"), 0);
    json_t *root = ask_doctor("true", "/proc", 1);
    assert_string_not_equal(said_of(root, "free disk", "verdict"), "stops");
    json_decref(root);
    assert_int_equal(symlink("/proc", "runs"), 0);
    root = ask_doctor("true", "d", 1);
    assert_string_equal(said_of(root, "free disk", "verdict"), "stops");
    assert_says(said_of(root, "free disk", "advice"), "--run");
    json_decref(root);
    assert_int_equal(unlink("runs"), 0);
    assert_int_equal(symlink("runs", "runs"), 0);
    root = ask_doctor("true", "d", 0);
    assert_string_equal(said_of(root, "free disk", "verdict"), "note");
    assert_says(said_of(root, "free disk", "found"), "unknown for ");
    json_decref(root);
    assert_int_equal(chdir(".."), 0);
}

/* A graph without labels is planned for links, and the size that it names is what these need. */
static void a_doctor_plans_links_without_labels(void **state)
{
    (void)state;
    char line[160];
    assert_int_equal(outgrow("export npy d labelled --quiet")->status, 0);
    assert_int_equal(system("mkdir unlabelled && cp labelled/feat.npy unlabelled && "
                            "n=0; while [ $n -lt 2000 ]; do echo $n $(((n * 7 + 1) % 2000)); "
                            "n=$((n + 1)); done >unlabelled/edges.txt"),
                     0);
    assert_int_equal(outgrow("import unlabelled l --quiet")->status, 0);
    json_t *root = ask_doctor("true", "l", 0);
    assert_string_equal(said_of(root, "dataset", "verdict"), "fine");
    assert_says(said_of(root, "dataset", "found"), "l has no labels: it trains with --task link");
    const json_t *fits = json_object_get(root, "fits");
    assert_true(json_array_size(fits) >= 1);
    json_int_t least = json_integer_value(json_object_get(json_array_get(fits, 0), "memory_bytes"));
    snprintf(line, sizeof(line), "plan l --task link --policy degree --layout raw --memory %lld",
             (long long)least);
    assert_int_equal(outgrow(line)->status, 0);
    snprintf(line, sizeof(line), "plan l --task link --policy degree --layout raw --memory %lld",
             (long long)least - (2 << 20));
    assert_int_equal(outgrow(line)->status, 1);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_doctor_looks_at_the_machine),
        cmocka_unit_test(a_doctor_knows_what_fits),
        cmocka_unit_test(a_doctor_measures_where_runs_go),
        cmocka_unit_test(a_doctor_plans_links_without_labels),
    };
    return cmocka_run_group_tests(tests, enter_with_graph, leave);
}
