/* What the command makes of runs once they are there: their page, several summed up, figures. */
#include "cli/cli_fixture.h"

/* Text of a file that is kept. */
static char *text_of(const char *name)
{
    static char text[1 << 18];
    FILE *f = fopen(name, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    return text;
}

/* One page that needs nothing else, and says in words what its figures show. */
static void a_run_becomes_a_page(void **state)
{
    (void)state;
    char wanted[128];
    json_t *s = json_of("train d --json --run paged --epochs 2 --hidden 16 --fanout 5,5 "
                        "--trace-timeline told.json --cache 5% --policy degree");
    assert_string_equal(outgrow("report paged")->out, "paged/report.html\n");
    assert_string_equal(outgrow("report paged --quiet")->out, "paged/report.html\n"); /* again */
    const char *page = text_of("paged/report.html");
    assert_null(strstr(page, "http"));
    assert_null(strstr(page, "<script"));
    const json_t *epochs = json_object_get(s, "epochs");
    snprintf(wanted, sizeof(wanted), "loss: %.6g at epoch 1, %.6g at epoch 2.",
             json_real_value(json_object_get(json_array_get(epochs, 0), "loss")),
             json_real_value(json_object_get(json_array_get(epochs, 1), "loss")));
    assert_says(page, wanted);
    snprintf(wanted, sizeof(wanted), "<td>%.2f %%</td>",
             100 * json_real_value(json_object_get(s, "test_acc")));
    assert_says(page, wanted);
    assert_says(page, "Predicted and measured");
    assert_says(page, "timeline of the stages");
    assert_says(page, "feature cache");
    assert_says(page, "</html>");
    json_decref(s);

    /* a name that is markup stays a name; what differs stands out */
    assert_int_equal(
        outgrow("train d --run '<b>&' --epochs 1 --hidden 8 --fanout 5,5 --quiet")->status, 0);
    json_t *told = json_of("report paged '<b>&' --out both.html --json");
    assert_string_equal(json_string_value(json_object_get(told, "report")), "both.html");
    json_decref(told);
    page = text_of("both.html");
    assert_null(strstr(page, "<b>"));
    assert_says(page, "&lt;b&gt;&amp;");
    assert_says(page, "<tr class=\"differs\"><th scope=\"row\">hidden</th><td>16</td><td>8</td>");
    assert_says(page, "<tr><th scope=\"row\">fanout</th><td>5, 5</td><td>5, 5</td>");
    const struct outcome *o = outgrow("report paged --out both.html");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "both.html: exists already");
}

static double value_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Mean and deviation are those of the runs, which are what single runs of their seeds are. */
static void several_runs_are_summed_up(void **state)
{
    (void)state;
    static const char common[] = "--epochs 2 --hidden 16 --fanout 5,5 --quiet";
    char line[256];
    snprintf(line, sizeof(line), "train d --runs 3 --seed 7 --run many %s --json", common);
    json_t *told = json_of(line);
    double test[3];
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof(line), "many/seed%d/summary.json", 7 + i);
        json_t *one = json_load_file(line, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(one, "seed")), 7 + i);
        test[i] = value_of(one, "test_acc");
        json_decref(one);
    }
    const double mean = (test[0] + test[1] + test[2]) / 3;
    const double squares = (test[0] - mean) * (test[0] - mean) +
                           (test[1] - mean) * (test[1] - mean) +
                           (test[2] - mean) * (test[2] - mean);
    const json_t *spread = json_object_get(told, "test_acc");
    assert_true(fabs(value_of(spread, "mean") - mean) < 1e-12);
    assert_true(fabs(value_of(spread, "deviation") - sqrt(squares / 2)) < 1e-12);
    assert_true(squares > 0);
    const json_t *metrics = json_object_get(told, "test_metrics");
    assert_true(fabs(value_of(json_object_get(metrics, "acc"), "mean") - mean) < 1e-12);
    /* [16,16] twice and 16, [4,16] twice and 4 */
    assert_int_equal(json_integer_value(json_object_get(told, "parameters")),
                     2 * 16 * 16 + 16 + 2 * 4 * 16 + 4);
    json_t *file = json_load_file("many/summary.json", 0, NULL);
    assert_true(json_equal(told, file));
    json_decref(file);
    json_decref(told);
    snprintf(line, sizeof(line), "train d --seed 8 --run eighth %s", common);
    assert_int_equal(outgrow(line)->status, 0);
    assert_int_equal(system("cmp many/seed8/checkpoint.safetensors eighth/checkpoint.safetensors"),
                     0);
    /* weight and bias of the norm between them; what it keeps of the batches is not trained */
    snprintf(line, sizeof(line), "train d --norm batch --run normed %s --json", common);
    told = json_of(line);
    assert_int_equal(json_integer_value(json_object_get(told, "parameters")), 660 + 2 * 16);
    json_decref(told);
    snprintf(line, sizeof(line), "train d --runs 2 --run pair %s", common);
    const struct outcome *o = outgrow(line);
    assert_says(o->out, " +- ");
    assert_says(o->out, "parameters      660");
    assert_int_equal(outgrow(line)->status, 1); /* it is there */

    /* what is whole stays, what is missing is made */
    assert_int_equal(system("cp many/summary.json before.json && rm -r many/seed9"), 0);
    snprintf(line, sizeof(line), "train d --runs 3 --seed 7 --run many %s --resume --json", common);
    json_t *again = json_of(line);
    json_t *before = json_load_file("before.json", 0, NULL);
    assert_true(json_equal(json_object_get(again, "test_metrics"),
                           json_object_get(before, "test_metrics")));
    json_decref(before);
    json_decref(again);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* What would be lost, or block the summary, is reported before anything is trained. */
static void several_runs_spare_what_is_there(void **state)
{
    (void)state;
    static const char *const files[] = {"summary.json", "resume.safetensors", "plan.json"};
    static const char train[] = "train d --runs 2 --epochs 1 --hidden 4 --fanout 2,2 --quiet";
    char line[256];
    for (size_t i = 0; i < 6; i++) {
        const char *resume = i < 3 ? "" : " --resume";
        assert_int_equal(system("rm -rf one && mkdir one"), 0);
        snprintf(line, sizeof(line), "one/%s", files[i % 3]);
        write_text(line, "{\"epochs\": []}");
        snprintf(line, sizeof(line), "%s --run one%s", train, resume);
        const struct outcome *o = outgrow(line);
        assert_int_equal(o->status, 1);
        assert_says(o->err, "one: has a single run");
        assert_says(o->err, "hint: choose another --run");
        snprintf(line, sizeof(line), "one/%s", files[i % 3]);
        assert_string_equal(text_of(line), "{\"epochs\": []}");
        assert_int_equal(access("one/seed1", F_OK), -1);
    }
    assert_int_equal(system("rm -rf one && mkdir one"), 0);
    write_text("one/summary.json", "{\"folders\": []}");
    snprintf(line, sizeof(line), "%s --run one", train);
    const struct outcome *o = outgrow(line);
    assert_int_equal(o->status, 1);
    assert_says(o->err, "one/summary.json: exists already");
    assert_int_equal(access("one/seed1", F_OK), -1);
    snprintf(line, sizeof(line), "%s --run one --resume", train);
    assert_int_equal(outgrow(line)->status, 0);
    assert_says(text_of("one/summary.json"), "seed2");
}

/* The line of an epoch has one form, with validation or without. */
static void epochs_without_validation_have_the_same_form(void **state)
{
    (void)state;
    static const char *const options[] = {"", "--task link"};
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        char line[256];
        snprintf(line, sizeof(line),
                 "train d %s --epochs 3 --eval-every 2 --hidden 8 --fanout 3,3 --run form%zu",
                 options[i], i);
        const struct outcome *o = outgrow(line);
        assert_int_equal(o->status, 0);
        snprintf(line, sizeof(line), "form%zu/summary.json", i);
        json_t *s = json_load_file(line, 0, NULL);
        size_t k;
        json_t *row;
        json_array_foreach(json_object_get(s, "epochs"), k, row)
        {
            const double x = value_of(row, "train_acc");
            snprintf(line, sizeof(line), i == 0 ? "  train %.2f%%  " : "  train %.4f  ",
                     i == 0 ? 100 * x : x);
            assert_says(o->err, line);
        }
        assert_int_equal(k, 3);
        json_decref(s);
    }
}

/* Where nothing is right or wrong, percents say nothing: metrics go by their names. */
static void metrics_go_by_their_names(void **state)
{
    (void)state;
    static const char links[] = "d --task link --epochs 2 --hidden 8 --fanout 3,3 --quiet";
    char line[256];
    char wanted[512];
    snprintf(line, sizeof(line), "train %s --runs 2 --run scored", links);
    char *told = strdup(outgrow(line)->out);
    json_t *s = json_load_file("scored/summary.json", 0, NULL);
    static const char *const parts[] = {"test", "valid"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof(line), "%s_metrics", parts[i]);
        const json_t *auc = json_object_get(json_object_get(s, line), "auc");
        snprintf(line, sizeof(line), "%s auc", parts[i]);
        snprintf(wanted, sizeof(wanted), "%-15s %.4f +- %.4f\n", line, value_of(auc, "mean"),
                 value_of(auc, "deviation"));
        assert_says(told, wanted);
    }
    assert_null(strstr(told, "%"));
    free(told);
    json_decref(s);

    const struct outcome *o = outgrow("train d --task link --epochs 1 --hidden 8 --fanout 3,3 "
                                      "--run scored/alone");
    s = json_load_file("scored/alone/summary.json", 0, NULL);
    const json_t *row = json_array_get(json_object_get(s, "epochs"), 0);
    snprintf(wanted, sizeof(wanted), "  train %.4f  valid auc %.4f  ", value_of(row, "train_acc"),
             value_of(row, "valid_acc"));
    assert_says(o->err, wanted);
    json_decref(s);

    s = json_load_file("scored/seed1/summary.json", 0, NULL);
    assert_int_equal(outgrow("report scored/seed1 --out scored.html")->status, 0);
    const char *page = text_of("scored.html");
    snprintf(wanted, sizeof(wanted), "<th scope=\"row\">test auc</th><td>%.6g</td>",
             value_of(json_object_get(s, "test_metrics"), "auc"));
    assert_says(page, wanted);
    assert_null(strstr(page, "<th scope=\"row\">test</th>"));
    assert_says(page, "<title>AUC by epoch");
    snprintf(wanted, sizeof(wanted), "validation: %.6g at epoch 1",
             value_of(json_array_get(json_object_get(s, "epochs"), 0), "valid_acc"));
    assert_says(page, wanted);
    json_decref(s);

    /* next to a run that has an accuracy */
    assert_int_equal(outgrow("report scored/seed1 paged --out mixed.html")->status, 0);
    page = text_of("mixed.html");
    assert_says(page, "<th scope=\"row\">test</th><td>-</td>");
    assert_says(page, "<title>Accuracy by epoch</title><desc>paged training");
    assert_says(page, "<title>AUC by epoch</title><desc>scored/seed1 training");
}

/* 59 bytes, and a letter of two: what is cut is cut between letters. Whose dataset is which. */
static void pages_name_folders_and_datasets(void **state)
{
    (void)state;
    char name[80] = "";
    char line[256];
    memset(name, 'x', 59);
    snprintf(name + 59, sizeof(name) - 59, "\303\244\303\244");
    snprintf(line, sizeof(line), "cp -r paged %s", name);
    assert_int_equal(system(line), 0);
    assert_int_equal(outgrow("generate other --nodes 500")->status, 0);
    assert_int_equal(
        outgrow("train other --run farther --epochs 1 --hidden 8 --fanout 2,2 --quiet")->status, 0);
    snprintf(line, sizeof(line), "report %s farther --out named.html", name);
    assert_int_equal(outgrow(line)->status, 0);
    const char *page = text_of("named.html");
    json_t *text = json_string(page); /* NULL where it is no UTF-8 */
    assert_non_null(text);
    json_decref(text);
    snprintf(line, sizeof(line), "<h1>%s on d, farther on other</h1>", name);
    assert_says(page, line);
    assert_says(page, "<title>outgrow: d, other</title>");
    assert_int_equal(outgrow("train d --run r --epochs 1 --hidden 8 --fanout 2,2 --quiet")->status,
                     0);
    assert_int_equal(outgrow("report paged r --out same.html")->status, 0);
    assert_says(text_of("same.html"), "<h1>paged, r on d</h1>");
}

/* With a name that a shell could take for more than a name; without any other program. */
static void hit_rates_are_drawn(void **state)
{
    (void)state;
    struct stat there;
    const char *before = getenv("PATH");
    char *path = strdup(before ? before : "");
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(outgrow("simulate d --policy degree,lru,lru --cache 10%,1% --epochs 1 "
                             "--fanout 5,5 --plot \"it's; \\`touch got\\` 'drawn'.svg\"")
                         ->status,
                     0);
    assert_int_equal(
        outgrow("simulate d --policy none --cache 1% --epochs 1 --plot s.html")->status, 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    const char *text = text_of("it's; `touch got` 'drawn'.svg");
    assert_int_equal(strncmp(text, "<svg xmlns", 10), 0);
    assert_says(text, "<desc>degree: ");
    assert_says(text, " at cached rows, of all rows 1.00 %, ");
    assert_says(text, " at cached rows, of all rows 10.00 %. lru: ");
    assert_says(text, "</svg>");
    assert_null(strstr(text, "<figure"));
    assert_int_equal(stat("got", &there), -1);
    assert_int_equal(strncmp(text_of("s.html"), "<!DOCTYPE html>", 15), 0);
}

/* The figures of a plan have its numbers. */
static void plans_are_drawn(void **state)
{
    (void)state;
    static const char options[] = "d --fanout 5,5 --cache 2% --epochs 2";
    char line[128];
    char wanted[256];
    snprintf(line, sizeof(line), "plan %s --json --plot plan.svg", options);
    json_t *plan = json_loads(outgrow(line)->out, 0, NULL);
    assert_non_null(plan);
    const json_t *told = json_object_get(plan, "predicted");
    const json_t *best = json_array_get(json_object_get(plan, "candidates"), 0);
    const char *text = text_of("plan.svg");
    snprintf(wanted, sizeof(wanted), "by policy and layout</title><desc>%s, %s",
             json_string_value(json_object_get(best, "policy")),
             json_string_value(json_object_get(best, "layout")));
    assert_says(text, wanted);
    assert_true(value_of(told, "misses") > 0 && value_of(told, "misses") < 1000000);
    long misses = (long)value_of(told, "misses");
    snprintf(wanted, sizeof(wanted), misses < 1000 ? "disk: %ld. " : "disk: %ld,%03ld. ",
             misses < 1000 ? misses : misses / 1000, misses % 1000);
    assert_says(text, wanted);
    assert_says(text, "<title>Memory, by part</title><desc>");
    snprintf(line, sizeof(line), "plan %s --plot plan.svg", options);
    const struct outcome *o = outgrow(line);
    assert_int_equal(o->status, 1);
    assert_says(o->err, "plan.svg: exists already");
    json_decref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_becomes_a_page),
        cmocka_unit_test(several_runs_are_summed_up),
        cmocka_unit_test(several_runs_spare_what_is_there),
        cmocka_unit_test(metrics_go_by_their_names),
        cmocka_unit_test(epochs_without_validation_have_the_same_form),
        cmocka_unit_test(pages_name_folders_and_datasets),
        cmocka_unit_test(hit_rates_are_drawn),
        cmocka_unit_test(plans_are_drawn),
    };
    return cmocka_run_group_tests(tests, enter_with_graph, leave);
}
