/* Several runs with consecutive seeds, as leaderboards require. Each has its own folder; a summary
 * has means and standard deviations. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the summary ---- */

/* Mean and sample standard deviation (n - 1) over the runs that have the number; null = none. */
static json_t *spread_of(const json_t *summaries, const char *part, const char *key)
{
    json_t *values = json_array();
    double sum = 0;
    double squares = 0;
    size_t i;
    json_t *run;
    json_array_foreach((json_t *)summaries, i, run)
    {
        const json_t *x = json_object_get(part ? json_object_get(run, part) : run, key);
        if (!json_is_number(x))
            continue;
        sum += json_number_value(x);
        json_array_append_new(values, json_real(json_number_value(x)));
    }
    const size_t n = json_array_size(values);
    if (n == 0) {
        json_decref(values);
        return json_null();
    }
    for (i = 0; i < n; i++) {
        double away = json_real_value(json_array_get(values, i)) - sum / (double)n;
        squares += away * away;
    }
    return json_pack("{s:f, s:f, s:o}", "mean", sum / (double)n, "deviation",
                     n > 1 ? sqrt(squares / (double)(n - 1)) : 0.0, "values", values);
}

static json_t *metrics_of(const json_t *summaries, const char *part)
{
    const json_t *first = json_object_get(json_array_get(summaries, 0), part);
    json_t *all = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)first, key, value)
        json_object_set_new(all, key, spread_of(summaries, part, key));
    return all;
}

static json_t *sum_up(const struct invocation *in, const json_t *summaries, const json_t *folders)
{
    static const char *const keys[] = {"test_acc",   "valid_acc", "best_epoch",
                                       "best_value", "seconds",   "peak_rss_bytes"};
    const json_t *first = json_array_get(summaries, 0);
    json_t *root =
        json_pack("{s:s, s:O, s:i, s:I, s:O, s:O}", "version", og_version(), "dataset",
                  json_object_get(first, "dataset"), "runs", (int)json_array_size(summaries),
                  "seed", (json_int_t)option_number(in, "seed"), "folders", folders, "parameters",
                  json_object_get(first, "parameters"));
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        json_object_set_new(root, keys[i], spread_of(summaries, NULL, keys[i]));
    json_object_set(root, "best_by", json_object_get(first, "best_by"));
    json_object_set_new(root, "valid_metrics", metrics_of(summaries, "valid_metrics"));
    json_object_set_new(root, "test_metrics", metrics_of(summaries, "test_metrics"));
    return root;
}

static void show_spread(const char *title, const char *key, const json_t *root)
{
    const json_t *spread = json_object_get(root, key);
    if (json_is_object(spread))
        printf("%-15s %s +- %s\n", title, shown_as(spread, "mean", key),
               shown_as(spread, "deviation", key));
}

/* Prints a line per metric, "test auc        0.9184 +- 0.0012". */
static void show_metrics(const char *part, const json_t *metrics)
{
    const char *key;
    json_t *spread;
    json_object_foreach((json_t *)metrics, key, spread)
    {
        char title[SHOWN_MAX];
        snprintf(title, sizeof(title), "%s %s", part, key);
        if (json_is_object(spread))
            printf("%-15s %.4f +- %.4f\n", title, number_of(spread, "mean"),
                   number_of(spread, "deviation"));
    }
}

static void show_runs(const json_t *root)
{
    long long first = json_integer_value(json_object_get(root, "seed"));
    long long runs = json_integer_value(json_object_get(root, "runs"));
    if (tell_share(final_metrics(root))) {
        show_spread("test", "test_acc", root);
        show_spread("validation", "valid_acc", root);
    } else {
        show_metrics("test", json_object_get(root, "test_metrics"));
        show_metrics("valid", json_object_get(root, "valid_metrics"));
    }
    show_spread("time", "seconds", root);
    printf("parameters      %s\n", shown(root, "parameters"));
    printf("seeds           %lld to %lld\n", first, first + runs - 1);
}

/* ---- running ---- */

static int set_seed(struct invocation *in, long long seed, struct og_err *err)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%lld", seed);
    return og_options_set(in->options, "seed", digits, err);
}

static int train_one(struct invocation *in, const char *folder, long long seed, json_t *summaries,
                     struct og_err *err)
{
    const int epochs = (int)option_number(in, "epochs");
    char *text = NULL;
    int rc;
    TRY(set_seed(in, seed, err));
    TRY(og_options_set(in->options, "run", folder, err));
    TRY(og_train(in->arg[0], in->options, screen_observer(in->screen, epochs), &text, err));
    json_t *summary = json_loads(text, 0, NULL);
    rc = summary && json_array_append_new(summaries, summary) == 0 ? 0 : no_result(err);
out:
    free(text);
    return rc;
}

static int train_all(struct invocation *in, int runs, const char *parent, json_t *summaries,
                     json_t *folders, struct og_err *err)
{
    const long long first = option_number(in, "seed");
    for (int i = 0; i < runs; i++) {
        char *folder;
        if (asprintf(&folder, "%s/seed%lld", parent, first + i) < 0)
            return no_result(err);
        if (!in->quiet)
            fprintf(stderr, "run %d of %d: seed %lld\n", i + 1, runs, first + i);
        int rc = train_one(in, folder, first + i, summaries, err);
        json_array_append_new(folders, json_string(folder));
        free(folder);
        if (rc < 0)
            return rc;
    }
    return set_seed(in, first, err);
}

static int write_summary(const json_t *root, const char *parent, bool replaces, struct og_err *err)
{
    struct output file = {0};
    char *path;
    int rc;
    if (asprintf(&path, "%s/summary.json", parent) < 0)
        return no_result(err);
    TRY(replaces ? output_replace(&file, path, err) : output_open(&file, path, err));
    if (json_dumpf(root, file.file, JSON_INDENT(1) | JSON_PRESERVE_ORDER) < 0)
        TRY(no_result(err));
    fputc('\n', file.file);
    TRY(output_commit(&file, err));
out:
    output_abandon(&file);
    free(path);
    return rc;
}

/* Whether the file exists, dangling links included. */
static int find_file(const char *parent, const char *name, bool *there, struct og_err *err)
{
    struct stat st;
    char *path;
    if (asprintf(&path, "%s/%s", parent, name) < 0)
        return no_result(err);
    *there = lstat(path, &st) == 0;
    free(path);
    return 0;
}

static int is_of_several(const char *parent, bool *several, struct og_err *err)
{
    char *path;
    if (asprintf(&path, "%s/summary.json", parent) < 0)
        return no_result(err);
    json_t *root = json_load_file(path, 0, NULL);
    *several = json_is_array(json_object_get(root, "folders"));
    json_decref(root);
    free(path);
    return 0;
}

/* Checks before training that the summary can be written, and what it replaces. */
static int spare_parent(const struct invocation *in, const char *parent, struct og_err *err)
{
    bool summary = false;
    bool plan = false;
    bool state = false;
    bool several = false;
    int rc;
    TRY(find_file(parent, "summary.json", &summary, err));
    TRY(find_file(parent, "plan.json", &plan, err));
    TRY(find_file(parent, "resume.safetensors", &state, err));
    TRY(is_of_several(parent, &several, err));
    if (plan || state || (summary && !several))
        TRY(failure(err, -EEXIST, "choose another --run", "%s: has a single run", parent));
    if (summary && !option_flag(in, "resume"))
        TRY(failure(err, -EEXIST, "choose another --run, or add --resume",
                    "%s/summary.json: exists already", parent));
out:
    return rc;
}

static int check_many(const struct invocation *in, const char *parent, struct og_err *err)
{
    if (!parent)
        return usage_error(err, NULL,
                           "train: --run DIR expected with --runs: the folder of all runs");
    if (option_is_set(in, "trace-timeline"))
        return usage_error(err, NULL, "train: --trace-timeline: not with --runs");
    if (option_is_set(in, "samples"))
        return usage_error(err, NULL,
                           "train: --samples: not with --runs; the samples have one seed");
    return spare_parent(in, parent, err);
}

int train_many(struct invocation *in, int runs, struct og_err *err)
{
    json_t *summaries = json_array();
    json_t *folders = json_array();
    json_t *root = NULL;
    char *parent = option_text(in, "run");
    char *text = NULL;
    int rc;
    TRY(check_many(in, parent, err));
    TRY(train_all(in, runs, parent, summaries, folders, err));
    root = sum_up(in, summaries, folders);
    TRY(root ? write_summary(root, parent, option_flag(in, "resume"), err) : no_result(err));
    text = json_dumps(root, JSON_INDENT(1));
    rc = text ? deliver(in, text, show_runs, err) : no_result(err);
out:
    free(parent);
    json_decref(root);
    json_decref(folders);
    json_decref(summaries);
    return rc;
}
