/* The command through a whole life, generate, train, evaluate: the promise that results on standard
 * output are JSON and nothing else with --json, and that what docs show runs. */
#include "cli_fixture.h"

static void a_dataset_is_made_and_checked(void **state)
{
    (void)state;
    static const char *const keys[] = {"name",          "num_nodes",   "num_edges", "feature_dim",
                                       "feature_dtype", "num_classes", NULL};
    json_t *info =
        json_of("generate d --nodes 2000 --degree 8 --dim 16 --classes 4 --seed 3 --json");
    assert_keys(info, keys);
    assert_int_equal(json_integer_value(json_object_get(info, "num_nodes")), 2000);
    json_decref(info);
    assert_int_equal(symlink("d", "graph"), 0); /* as examples in docs/ call it */
    struct outcome *o = outgrow("generate d");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "d: exists already");
    o = outgrow("verify d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "nothing wrong");
    o = outgrow("info d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "2,000");

    /* one bit of the features */
    assert_int_equal(system("cp -r d e"), 0);
    int fd = open("e/features.npy", O_RDWR | O_CLOEXEC);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 5000), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 5000), 1);
    close(fd);
    o = outgrow("verify e");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "features.npy");
    assert_null(strstr(o->out, "hint: "));
    o = outgrow("verify e --repair-hints");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "hint: copy the file from a sound copy");
    json_error_t why;
    json_t *root = json_loads(outgrow("verify e --json")->out, 0, &why);
    assert_int_equal(json_array_size(json_object_get(root, "findings")), 1);
    json_decref(root);
}

static const char *const run_keys[] = {"version",
                                       "dataset",
                                       "config",
                                       "seed",
                                       "plan",
                                       "prepare",
                                       "epochs",
                                       "best_epoch",
                                       "valid_acc",
                                       "test_acc",
                                       "peak_rss_bytes",
                                       "baseline_rss_bytes",
                                       "seconds",
                                       "memory_budget_bytes",
                                       NULL};
static const char *const epoch_keys[] = {"epoch",
                                         "loss",
                                         "train_acc",
                                         "valid_acc",
                                         "seconds",
                                         "sample_seconds",
                                         "plan_seconds",
                                         "gather_seconds",
                                         "train_seconds",
                                         "stall_seconds",
                                         "eval_seconds",
                                         "eval_bytes_read",
                                         "rows",
                                         "hits",
                                         "misses",
                                         "prefill",
                                         "reads",
                                         "bytes_read",
                                         "feature_bytes_read",
                                         "topology_bytes_read",
                                         "trace_bytes_read",
                                         "bytes_written",
                                         "prepare_reads",
                                         "prepare_bytes_read",
                                         NULL};
static const char *const plan_keys[] = {"policy", "layout",    "topology",
                                        "memory", "predicted", NULL};

static void a_run_is_summed_up(void **state)
{
    (void)state;
    json_t *s = json_of("train d --json --run r --epochs 3 --batch 50 --hidden 16 --fanout 5,5 "
                        "--cache 5% --log-every 1");
    assert_keys(s, run_keys);
    assert_keys(json_object_get(s, "plan"), plan_keys);
    json_t *epochs = json_object_get(s, "epochs");
    assert_int_equal(json_array_size(epochs), 3);
    size_t i;
    json_t *e;
    json_array_foreach(epochs, i, e)
    {
        assert_keys(e, epoch_keys);
        assert_int_equal(json_integer_value(json_object_get(e, "epoch")), i + 1);
        assert_int_equal(json_integer_value(json_object_get(e, "rows")),
                         json_integer_value(json_object_get(e, "hits")) +
                             json_integer_value(json_object_get(e, "misses")));
    }
    assert_string_equal(json_string_value(json_object_get(json_object_get(s, "config"), "cache")),
                        "5%");
    json_t *file = json_load_file("r/summary.json", 0, NULL);
    assert_true(json_equal(s, file));
    json_decref(file);
    json_decref(s);
    json_t *v = json_of("eval d --checkpoint r/best.safetensors --split valid --json");
    assert_true(json_is_real(json_object_get(v, "acc")));
    json_decref(v);
    v = json_of("eval d --checkpoint r/best.safetensors --full --json");
    assert_true(json_is_real(json_object_get(v, "acc")));
    json_decref(v);
    v = json_of("predict d --checkpoint r/best.safetensors --out p.npy --embeddings e.npy --json");
    assert_true(json_is_array(json_object_get(v, "layers")));
    json_decref(v);
    assert_int_equal(access("p.npy", F_OK), 0);
    assert_int_equal(access("e.npy", F_OK), 0);
    const struct outcome *o = outgrow("predict d --checkpoint r/best.safetensors --out p.npy");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "p.npy: exists already");
    assert_says(o->err, "hint: remove it or choose another name");
    o = outgrow("predict d --checkpoint r/best.safetensors --out p.npy --resume");
    assert_int_equal(o->status, 0);
    assert_says(o->err, "nothing to resume");
    o = outgrow("train d --run r");
    assert_int_equal(o->status, 1); /* a finished run is not overwritten */
    /* a run of several: its options serve what is the work of one */
    assert_int_equal(system("sed 's/^workers: 1$/workers: 2/' r/config.yaml >two.yaml"), 0);
    assert_int_equal(system("grep -q '^workers: 2$' two.yaml"), 0);
    o = outgrow("eval d --config two.yaml --checkpoint r/best.safetensors");
    assert_int_equal(o->status, 0);
}

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
    assert_says(page, "Told beforehand, and measured");
    assert_says(page, "when each stage worked");
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

/* What would be lost, or stand in the way of the summary, is told before anything is trained. */
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
        assert_says(o->err, "one: holds a run of its own");
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
    assert_says(page, "How well it does, AUC by epoch");
    snprintf(wanted, sizeof(wanted), "validation: %.6g at epoch 1",
             value_of(json_array_get(json_object_get(s, "epochs"), 0), "valid_acc"));
    assert_says(page, wanted);
    json_decref(s);

    /* beside a run that has an accuracy */
    assert_int_equal(outgrow("report scored/seed1 paged --out mixed.html")->status, 0);
    page = text_of("mixed.html");
    assert_says(page, "<th scope=\"row\">test</th><td>-</td>");
    assert_says(page, "<title>How well it does, by epoch</title><desc>paged training");
    assert_says(page, "<title>How well it does, AUC by epoch</title><desc>scored/seed1 training");
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
    assert_int_equal(outgrow("report paged r --out same.html")->status, 0);
    assert_says(text_of("same.html"), "<h1>paged, r on d</h1>");
}

/* A sentence each on what is kept, what is read and why, before the tables; no line ends blank. */
static void a_plan_begins_with_its_reasons(void **state)
{
    (void)state;
    const struct outcome *o = outgrow("plan d --fanout 5,5 --hidden 16 --cache 5%");
    assert_int_equal(o->status, 0);
    assert_int_equal(strncmp(o->out, "Memory holds 100 feature rows by policy ", 40), 0);
    assert_says(o->out, "of them in memory and reads ");
    assert_says(o->out, "ways that were counted it is the fastest");
    assert_says(o->out, "; the next, ");
    assert_null(strstr(o->out, " \n"));
    assert_true(strstr(strstr(o->out, "\ncandidates"), " MiB  ") != NULL); /* what each way holds */
    o = outgrow("plan d --fanout 5,5 --hidden 16 --cache 5% --policy degree --layout raw");
    assert_says(
        o->out,
        "by policy degree, the others are read from the feature file; the graph's structure "
        "is in memory.\nAn epoch needs ");
    assert_null(strstr(o->out, "fastest"));
    assert_null(strstr(o->out, " \n"));
    assert_null(strstr(o->out, "candidates"));
    assert_null(strstr(o->out, " 0 B\n")); /* a table of what is there */
    assert_null(strstr(o->out, "superbatch"));
    o = outgrow("plan d --fanout 5,5 --hidden 16");
    assert_says(o->out, "Memory holds all feature rows that are needed, 2,000; the graph's "
                        "structure is in memory.\nAn epoch needs ");
    assert_null(strstr(outgrow("info d")->out, " \n"));

    /* counted, but there is no room on the disk for them */
    json_t *plan = json_of("plan d --fanout 5,5 --hidden 16 --cache 5% --disk 50K --json");
    char wanted[64];
    size_t possible = 0;
    const json_t *ways = json_object_get(plan, "candidates");
    for (size_t i = 0; i < json_array_size(ways); i++)
        possible += json_is_true(json_object_get(json_array_get(ways, i), "possible"));
    assert_true(possible > 1 && possible < json_array_size(ways));
    snprintf(wanted, sizeof(wanted), "Of %zu ways that were counted", possible);
    assert_says(outgrow("plan d --fanout 5,5 --hidden 16 --cache 5% --disk 50K")->out, wanted);
    json_decref(plan);
}

static void people_get_text(void **state)
{
    (void)state;
    struct outcome *o =
        outgrow("train d --config r/config.yaml --epochs 2 --run q --memory 200M --preset memory");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "test accuracy");
    assert_says(o->out, "peak memory");
    assert_says(o->out, "host cache");
    assert_says(o->out, "disk");
    assert_says(o->err, "epoch 2/2");
    o = outgrow("train d --config r/config.yaml --epochs 1 --run p --quiet");
    assert_int_equal(o->status, 0);
    assert_string_equal(o->err, "");
    o = outgrow("plan d --fanout 5,5");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "feature cache");
    o = outgrow("sample d --out t --epochs 1 --fanout 5,5");
    assert_int_equal(o->status, 0);
    assert_string_equal(o->out, "t\n");
    assert_int_equal(access("t/trace.json", F_OK), 0);
    json_t *made = json_of("sample d --out told --epochs 1 --fanout 5,5 --json");
    assert_string_equal(json_string_value(json_object_get(made, "trace")), "told");
    json_decref(made);
}

/* What docs/samplers.md shows, on a graph without weights. */
static void samplers_train_as_shown(void **state)
{
    static const char *const shown[] = {
        "--sampler walk --model pinsage",
        "--sampler walk --walks 8 --walk-length 2 --walk-restart 0.3 --neighbors 10 --fanout 1,1",
        "--sampler labor", "--sampler ladies --model pinsage --fanout 5,5,5"};
    char line[300];
    (void)state;
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
        snprintf(line, sizeof(line), "train d --run s%zu --epochs 1 --hidden 16 --json %s", i,
                 shown[i]);
        json_t *s = json_of(line);
        assert_non_null(json_object_get(s, "best_epoch"));
        json_decref(s);
    }
    assert_int_equal(outgrow("sample d --out w --epochs 1 --sampler walk")->status, 0);
    assert_int_equal(access("w/hop1_weight.npy", F_OK), 0);
    static const char *const others[] = {
        "simulate d --policy degree,belady --cache 10% --epochs 1 --sampler labor",
        "plan d --sampler ladies --topology disk",
        "predict d --checkpoint s0/best.safetensors --out walked.npy --seed 3",
        "predict d --checkpoint s0/best.safetensors --out all.npy --sampler uniform",
        "eval d --checkpoint s0/best.safetensors --neighbors 8",
        "train d --model pinsage --hidden 16 --init s0/best.safetensors --run again --epochs 1",
        "bench epoch d --epochs 1 --sampler walk --json"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(outgrow(others[i])->status, 0);
    const struct outcome *o = outgrow("train d --run s --sampler weighted");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "no edge weights");
}

/* Every line of the file that is a command runs as it stands there and tells of `what`. Returns how
 * many there are. */
static int run_documented(const char *path, const char *what)
{
    static const char prefix[] = "    outgrow ";
    char line[512];
    int n = 0;
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        const struct outcome *o = outgrow(line + strlen(prefix));
        if (o->status != 0)
            fail_msg("%s: %s", line, o->err);
        assert_says(o->out, strncmp(line + strlen(prefix), "predict", 7) ? what : "nodes");
        n++;
    }
    fclose(f);
    return n;
}

static void documented_tasks_run(void **state)
{
    (void)state;
    assert_true(run_documented(TEST_DOCS "/tasks.md", "mrr") >= 5);
}

static void documented_models_run(void **state)
{
    (void)state;
    const struct outcome *o =
        outgrow("generate typed --types paper:900:12,author:500:8 --classes 5 --relations "
                "paper:cites:paper:4,author:writes:paper:3,paper:rev_writes:author:3");
    assert_int_equal(o->status, 0);
    assert_true(run_documented(TEST_DOCS "/models.md", "acc") >= 13);
}

/* Every command of docs/presets.md that has to do with narrower rows runs as it stands there. */
static void documented_narrow_rows_run(void **state)
{
    (void)state;
    static const char prefix[] = "      outgrow ";
    char line[512];
    int n = 0;
    FILE *f = fopen(TEST_DOCS "/presets.md", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0 || !strstr(line, "narrow"))
            continue;
        line[strcspn(line, "\n")] = 0;
        const struct outcome *o = outgrow(line + strlen(prefix));
        if (o->status != 0)
            fail_msg("%s: %s", line, o->err);
        assert_null(strstr(o->err, "left alone"));
        n++;
    }
    fclose(f);
    assert_int_equal(n, 3);
}

/* Sampled and packed here, trained there. */
static void samples_are_made_beforehand(void **state)
{
    (void)state;
    static const char *const keys[] = {"pack",       "draws",         "cache_rows", "rows",
                                       "bytes_read", "bytes_written", NULL};
    struct outcome *o =
        outgrow("sample d --out samples --epochs 4 --resample-every 2 --fanout 5,5 --quiet");
    assert_int_equal(o->status, 0);
    json_t *packed = json_of("pack d --samples samples --cache 10% --json");
    assert_keys(packed, keys);
    assert_int_equal(json_integer_value(json_object_get(packed, "draws")), 2);
    json_decref(packed);
    assert_int_equal(system("mv samples elsewhere"), 0);
    o = outgrow("train d --samples elsewhere --epochs 4 --resample-every 2 --fanout 5,5 "
                "--hidden 16 --preset diskgnn --cache 10% --run with");
    assert_int_equal(o->status, 0);
    assert_int_equal(strstr(o->err, "packs for itself") == NULL, 1);
    o = outgrow("train d --epochs 4 --resample-every 2 --fanout 5,5 --hidden 16 --quiet "
                "--run without");
    assert_int_equal(o->status, 0);
    assert_int_equal(system("cmp with/checkpoint.safetensors without/checkpoint.safetensors"), 0);
    o = outgrow("train d --samples elsewhere --epochs 4 --fanout 5,5 --run never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "hint: --resample-every 2 would do");
    o = outgrow("bench epoch d --samples elsewhere --epochs 1 --fanout 5,5 --json");
    assert_int_equal(o->status, 0);
    o = outgrow("verify elsewhere --dataset d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "elsewhere: nothing wrong");
    assert_int_equal(outgrow("verify d --dataset d")->status, 2);
    assert_int_equal(truncate("elsewhere/pack/draw1_cached.npy", 4000), 0);
    o = outgrow("verify elsewhere --repair-hints");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "draw1_cached.npy: not what was written");
    assert_says(o->out, "make it anew with `outgrow pack`");
    json_t *found = json_loads(outgrow("verify elsewhere --json")->out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(found, "findings")), 1);
    json_decref(found);
}

static void policies_are_compared(void **state)
{
    (void)state;
    static const char *const keys[] = {"policy", "cache",      "hit_rate", "hit_rate_with_prefill",
                                       "rows",   "hits",       "misses",   "prefill",
                                       "reads",  "bytes_read", NULL};
    struct outcome *o = outgrow("simulate d --policy degree,presc:2,lru --cache 1%,20K --epochs 2 "
                                "--fanout 5,5 --batch 50 --json j.json");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "hit rate");
    assert_says(o->out, "presc:2");
    assert_says(o->out, "20K");
    json_t *file = json_load_file("j.json", 0, NULL);
    const json_t *results = json_object_get(file, "results");
    assert_int_equal(json_array_size(results), 6);
    for (size_t i = 0; i < 6; i++)
        assert_keys(json_array_get(results, i), keys);
    o = outgrow("simulate d --policy lru --cache 1% --json j.json");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "j.json: exists already");
    assert_says(o->err, "hint: remove it or choose another name");
    json_t *printed = json_of("simulate d --policy degree,presc:2,lru --cache 1%,20K --epochs 2 "
                              "--fanout 5,5 --batch 50 --json -");
    assert_true(json_equal(results, json_object_get(printed, "results")));
    json_decref(printed);
    json_decref(file);
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

static void too_little_memory_is_refused(void **state)
{
    (void)state;
    const struct outcome *o = outgrow("train d --run m --memory 1M");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "hint: ");
    assert_int_equal(access("m", F_OK), -1);
}

static void an_interrupted_run_goes_on(void **state)
{
    (void)state;
    char line[1024];
    snprintf(line, sizeof(line),
             "'%s' train d --run i --epochs 100000 --fanout 5,5 --hidden 16 --quiet 2>err.txt & "
             "p=$!; n=0; while ! [ -e i ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done; "
             "sleep 0.3; kill -INT $p; wait $p",
             TEST_COMMAND);
    int status = system(line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_int_equal(access("i/resume.safetensors", F_OK), 0);
}

/* Node v has v neighbours, of eleven. */
static void degrees_are_told(void **state)
{
    (void)state;
    static const char *const names[] = {"min", "median", "p90", "p99", "max"};
    static const int wanted[] = {0, 5, 9, 9, 10};
    assert_int_equal(system("for v in 0 1 2 3 4 5 6 7 8 9 10; do u=0; while [ $u -lt $v ]; do "
                            "echo $u $v; u=$((u + 1)); done; done >steps.txt"),
                     0);
    assert_int_equal(outgrow("import edgelist steps.txt steps --quiet")->status, 0);
    json_t *info = json_of("info steps --json");
    const json_t *degree = json_object_get(info, "in_degree");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(json_integer_value(json_object_get(degree, names[i])), wanted[i]);
    assert_true(json_real_value(json_object_get(degree, "mean")) == 5);
    assert_true(json_real_value(json_object_get(degree, "share_of_zero")) == 1.0 / 11);
    json_decref(info);
}

static void parts_of_a_run_are_measured(void **state)
{
    (void)state;
    static const char *const sampled[] = {"batches", "rows", "edges", "edges_per_second", NULL};
    static const char *const trained[] = {"batches",       "rows",  "train_seconds",
                                          "floor_seconds", "ratio", NULL};
    json_t *b = json_of("bench sample d --fanout 3,2 --batch 32 --json");
    assert_keys(b, sampled);
    assert_true(json_integer_value(json_object_get(b, "edges")) > 0);
    json_decref(b);
    b = json_of("bench train d --fanout 3,2 --batch 32 --hidden 8 --json");
    assert_keys(b, trained);
    assert_true(json_integer_value(json_object_get(b, "rows")) > 0);
    assert_true(json_real_value(json_object_get(b, "floor_seconds")) > 0);
    json_decref(b);
}

/* Whether it is seen by its size or by a page that is gone, is chance; see test_lost_file.c. */
static void features_cut_while_mapped_end_with_1(void **state)
{
    (void)state;
    char line[1024], said[4096];
    static const char options[] = "--io mmap --policy belady --superbatch 3 --cache 5% --scratch . "
                                  "--fanout 5,5 --hidden 16 --quiet";
    snprintf(line, sizeof(line),
             "cp -r d cut && { '%s' train cut --run z --epochs 100000 %s 2>err.txt & "
             "p=$!; n=0; while ! [ -e z ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done; "
             "sleep 0.3; truncate -s 4096 cut/features.npy; wait $p; }",
             TEST_COMMAND, options);
    int status = system(line);
    slurp("err.txt", said, sizeof(said));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(strncmp(said, "outgrow: ", 9), 0);
    assert_says(said, "cut/features.npy");
    assert_int_equal(system("cp d/features.npy cut/features.npy"), 0);
    snprintf(line, sizeof(line), "train cut --run y --epochs 1 %s", options);
    assert_int_equal(outgrow(line)->status, 0);
    assert_int_equal(system("test -z \"$(ls -d outgrow-scratch-* z/*.tmp-* 2>/dev/null)\""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_is_made_and_checked),
        cmocka_unit_test(a_run_is_summed_up),
        cmocka_unit_test(a_run_becomes_a_page),
        cmocka_unit_test(several_runs_are_summed_up),
        cmocka_unit_test(several_runs_spare_what_is_there),
        cmocka_unit_test(metrics_go_by_their_names),
        cmocka_unit_test(pages_name_folders_and_datasets),
        cmocka_unit_test(a_plan_begins_with_its_reasons),
        cmocka_unit_test(people_get_text),
        cmocka_unit_test(samplers_train_as_shown),
        cmocka_unit_test(documented_tasks_run),
        cmocka_unit_test(documented_narrow_rows_run),
        cmocka_unit_test(documented_models_run),
        cmocka_unit_test(samples_are_made_beforehand),
        cmocka_unit_test(policies_are_compared),
        cmocka_unit_test(hit_rates_are_drawn),
        cmocka_unit_test(plans_are_drawn),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(an_interrupted_run_goes_on),
        cmocka_unit_test(degrees_are_told),
        cmocka_unit_test(parts_of_a_run_are_measured),
        cmocka_unit_test(features_cut_while_mapped_end_with_1),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
