/* One or several runs as one self-contained page, without network and scripts. The input is
 * summary.json and, if the run wrote one, the timeline. */
#include "figure.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct og_option own[] = {
    OWN_TEXT("out", "FILE",
             "new file for the page; default: report.html in the folder of a single run"),
    {0},
};

/* ---- by epoch ---- */

/* Draws a line per run and key that has a number. */
static void write_lines(const struct report_page *p, const char *title, const char *unit,
                        const char *const *keys, const char *const *words)
{
    struct series s[2 * MAX_ARGS];
    char name[2 * MAX_ARGS][SHOWN_MAX];
    size_t n = 0;
    for (size_t r = 0; r < p->n; r++) {
        const json_t *epochs = json_object_get(p->run[r].summary, "epochs");
        for (size_t k = 0; keys[k]; k++) {
            size_t n_epochs = json_array_size(epochs);
            double *y = calloc(n_epochs + 1, sizeof(*y));
            size_t known = 0;
            if (!y)
                abort();
            for (size_t e = 0; e < n_epochs; e++) {
                y[e] = report_number(json_array_get(epochs, e), keys[k]);
                known += !isnan(y[e]);
            }
            snprintf(name[n], SHOWN_MAX, "%.*s%s%s",
                     p->several ? report_folder_length(&p->run[r]) : 0, p->run[r].folder,
                     p->several ? " " : "", words[k]);
            s[n] = (struct series){.name = name[n], .y = y, .n = n_epochs};
            if (known > 0)
                n++;
            else
                free(y);
        }
    }
    const struct axes axes = {unit, "epoch", "epoch"};
    if (n > 0) {
        figure_open(p->file);
        figure_lines(p->file, title, &axes, s, n);
        figure_close(p->file, title);
    }
    for (size_t i = 0; i < n; i++)
        free((void *)s[i].y);
}

/* Chief metrics: runs of a task are compared by the first that they have. A unit of "" is a scale
 * of its own. */
static const struct chief {
    const char *key, *unit, *title;
} chiefs[] = {
    {"acc", "acc", "Accuracy by epoch"}, {"micro_f1", "acc", "Micro-F1 by epoch"},
    {"ndcg@10", "", "NDCG@10 by epoch"}, {"r2", "", "R^2 by epoch"},
    {"auc", "", "AUC by epoch"},         {NULL, "", "Accuracy by epoch"}, /* no evaluation */
};

static const struct chief *find_chief(const struct report_run *run)
{
    const json_t *metrics = final_metrics(run->summary);
    const struct chief *c = chiefs;
    while (c->key && !json_object_get(metrics, c->key))
        c++;
    return c;
}

/* Draws a figure per chief metric, with its runs. */
static void write_progress(const struct report_page *p)
{
    for (size_t c = 0; c < sizeof(chiefs) / sizeof(*chiefs); c++) {
        struct report_page alike = {.file = p->file, .several = p->several};
        for (size_t r = 0; r < p->n; r++)
            if (find_chief(&p->run[r]) == &chiefs[c])
                alike.run[alike.n++] = p->run[r];
        write_lines(&alike, chiefs[c].title, chiefs[c].unit, WORDS("train_acc", "valid_acc"),
                    WORDS("training", "validation"));
    }
}

/* ---- where rows came from, where time and memory went ---- */

static void write_rows(const struct report_page *p)
{
    char name[2 * MAX_ARGS][SHOWN_MAX];
    struct bar bar[2 * MAX_ARGS];
    for (size_t r = 0; r < p->n; r++) {
        const char *folder = p->run[r].folder;
        const int length = p->several ? report_folder_length(&p->run[r]) : 0;
        snprintf(name[2 * r], SHOWN_MAX, "%.*s memory", length, folder);
        snprintf(name[2 * r + 1], SHOWN_MAX, "%.*s disk", length, folder);
        bar[2 * r] = (struct bar){name[2 * r], report_sum(p->run[r].summary, "hits"), 2};
        bar[2 * r + 1] = (struct bar){name[2 * r + 1], report_sum(p->run[r].summary, "misses"), 1};
    }
    static const char title[] = "Rows of the batches, by where they came from";
    figure_open(p->file);
    figure_bars(p->file, title, "rows", bar, 2 * p->n);
    figure_close(p->file, title);
}

static void write_stages(const struct report_page *p, const struct report_run *run)
{
    static const struct {
        const char *key, *name;
    } stages[] = {{"train_seconds", "training"},     {"stall_seconds", "waiting for data"},
                  {"sample_seconds", "sampling *"},  {"plan_seconds", "planning *"},
                  {"gather_seconds", "gathering *"}, {"eval_seconds", "evaluating"}};
    enum { N = sizeof(stages) / sizeof(*stages) };
    char title[2 * SHOWN_MAX];
    struct bar bar[N];
    for (int i = 0; i < N; i++)
        bar[i] =
            (struct bar){stages[i].name, report_sum(run->summary, stages[i].key), i < 2 ? i : 5};
    snprintf(title, sizeof(title),
             "%.*s: seconds by stage; * in parallel with training, summed over threads",
             report_folder_length(run), run->folder);
    figure_open(p->file);
    figure_bars(p->file, title, "seconds", bar, N);
    figure_close(p->file, title);
}

static void write_memory(const struct report_page *p, const struct report_run *run)
{
    struct bar bar[MOST_PARTS];
    char title[2 * SHOWN_MAX];
    const size_t n = memory_bars(json_object_get(run->summary, "plan"), bar);
    snprintf(title, sizeof(title), "%.*s: memory as planned, by part", report_folder_length(run),
             run->folder);
    if (n == 0)
        return;
    figure_open(p->file);
    figure_bars(p->file, title, "bytes", bar, n);
    figure_close(p->file, title);
}

/* Why it took its time, and the command of a run that takes less. */
static void write_explanation(const struct report_page *p, const struct report_run *run)
{
    json_t *told = explain_run(run->summary, run->folder);
    const char *command = json_string_value(json_object_get(told, "command"));
    size_t i;
    json_t *sentence;
    json_t *remedy;
    fputs("<p>", p->file);
    if (p->several)
        html_text(p->file, run->folder);
    fputs(p->several ? ": " : "", p->file);
    json_array_foreach(json_object_get(told, "sentences"), i, sentence)
    {
        html_text(p->file, json_string_value(sentence));
        fputs(" ", p->file);
    }
    fputs("</p>\n", p->file);
    if (command) {
        fputs("<pre>", p->file);
        html_text(p->file, command);
        fputs("</pre>\n", p->file);
    }
    json_array_foreach(json_object_get(told, "further"), i, remedy)
    {
        fputs(i ? "<br>" : "<p>What else would help:<br>", p->file);
        html_text(p->file, json_string_value(json_object_get(remedy, "sentence")));
    }
    fputs(i ? "</p>\n" : "", p->file);
    json_decref(told);
}

/* ---- predicted and measured ---- */

/* Mean over steady epochs: all except the first, if there are two. */
static double measured(const json_t *summary, const char *key)
{
    const json_t *epochs = json_object_get(summary, "epochs");
    size_t n = json_array_size(epochs);
    double sum = 0;
    for (size_t e = n > 1; e < n; e++)
        sum += report_number(json_array_get(epochs, e), key);
    return sum / (double)(n > 1 ? n - 1 : n);
}

static void write_predicted(const struct report_page *p)
{
    static const struct {
        const char *title, *predicted, *measured;
        bool whole;
    } rows[] = {
        {"rows", "rows", "rows", true},
        {"hits", "hits", "hits", true},
        {"misses", "misses", "misses", true},
        {"reads", "reads", "reads", true},
        {"bytes read", "bytes_read", "bytes_read", true},
        {"bytes that fill the cache", "fill_bytes_read", "prepare_bytes_read", true},
        {"seconds", "seconds", "seconds", false},
    };
    fputs("<h2>Predicted and measured</h2>\n<p>The plan's prediction of one steady epoch, and the "
          "mean of the epochs after the first. Measured bytes that fill the cache include those "
          "for evaluation. Predicted seconds include training, but no evaluation. They are a guess "
          "if <code>outgrow bench io</code> has not measured the disk.</p>\n<table><thead><tr><th "
          "scope=\"col\">an epoch</th>",
          p->file);
    for (size_t r = 0; r < p->n; r++) {
        fputs("<th scope=\"col\">", p->file);
        html_text(p->file, p->run[r].folder);
        fputs(": predicted</th><th scope=\"col\">measured</th>", p->file);
    }
    fputs("</tr></thead><tbody>\n", p->file);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        table_row(p, rows[k].title, false);
        for (size_t r = 0; r < p->n; r++) {
            const json_t *summary = p->run[r].summary;
            double told = report_number(
                json_object_get(json_object_get(summary, "plan"), "predicted"), rows[k].predicted);
            double was = measured(summary, rows[k].measured);
            table_cell(p, isnan(told) ? "not known" : shown_number(rows[k].predicted, told));
            table_cell(p, isnan(was)
                              ? "-"
                              : shown_number(rows[k].measured, rows[k].whole ? round(was) : was));
        }
        table_row_end(p);
    }
    table_end(p);
}

/* ---- the timeline ---- */

enum { MOST_LANES = 8, MOST_SPANS = 4000 };

struct timeline {
    const char *lane[MOST_LANES];
    size_t n_lanes;
    struct span span[MOST_SPANS];
    size_t n;
};

static size_t find_lane(struct timeline *t, const char *name)
{
    size_t l = 0;
    while (l < t->n_lanes && strcmp(t->lane[l], name) != 0)
        l++;
    if (l == t->n_lanes && l < MOST_LANES)
        t->lane[t->n_lanes++] = name;
    return l;
}

/* Chrome's trace events; times are microseconds. */
static void collect_spans(const json_t *events, struct timeline *t)
{
    size_t i;
    json_t *e;
    double origin = INFINITY;
    json_array_foreach((json_t *)events, i, e) origin = fmin(origin, report_number(e, "ts"));
    json_array_foreach((json_t *)events, i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        double start = (report_number(e, "ts") - origin) / 1e6;
        double duration = report_number(e, "dur") / 1e6;
        if (!name || isnan(start) || isnan(duration) || t->n == MOST_SPANS)
            continue;
        size_t lane = find_lane(t, name);
        if (lane < MOST_LANES)
            t->span[t->n++] = (struct span){lane, start, start + duration};
    }
}

/* Draws the timeline, if the run wrote one and it still exists. */
static void write_timeline(const struct report_page *p, const struct report_run *run)
{
    const json_t *config = json_object_get(run->summary, "config");
    const char *path = json_string_value(json_object_get(config, "trace-timeline"));
    json_t *events = path ? json_load_file(path, 0, NULL) : NULL;
    struct timeline *t = calloc(1, sizeof(*t));
    char title[2 * SHOWN_MAX];
    if (!t)
        abort();
    collect_spans(events, t);
    snprintf(title, sizeof(title), "%.*s: timeline of the stages, the first %zu of %zu spans",
             report_folder_length(run), run->folder, t->n, json_array_size(events));
    if (t->n > 0) {
        figure_open(p->file);
        figure_lanes(p->file, title, t->lane, t->n_lanes, t->span, t->n);
        figure_close(p->file, title);
    }
    free(t);
    json_decref(events);
}

/* ---- the configuration ---- */

static void write_config(const struct report_page *p)
{
    const json_t *first = json_object_get(p->run[0].summary, "config");
    char text[SHOWN_MAX];
    const char *key;
    json_t *value;
    fputs("<details><summary>Configuration</summary>\n", p->file);
    table_begin(p, "Every option as resolved", "option");
    json_object_foreach((json_t *)first, key, value)
    {
        bool differs = false;
        for (size_t r = 1; r < p->n; r++)
            differs |= !json_equal(
                value, json_object_get(json_object_get(p->run[r].summary, "config"), key));
        table_row(p, key, differs);
        for (size_t r = 0; r < p->n; r++)
            table_cell(
                p, show_value(text, key,
                              json_object_get(json_object_get(p->run[r].summary, "config"), key)));
        table_row_end(p);
    }
    table_end(p);
    fputs("</details>\n", p->file);
}

/* ---- the page ---- */

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td{text-align:right}th[scope=row]{text-align:left;font-weight:normal}"
    "td,th{padding:.15rem .8rem;border-bottom:1px solid #8884}"
    ".differs{font-weight:bold}.differs th{font-weight:bold}"
    "figure{margin:1.5rem 0}svg{width:100%;max-width:48rem;height:auto;display:block}"
    "pre{white-space:pre-wrap}"
    "figcaption{font-size:.9rem;opacity:.8}";

static const char *dataset_of(const struct report_run *run)
{
    const char *name = json_string_value(json_object_get(run->summary, "dataset"));
    return name ? name : "a dataset";
}

/* Whether an earlier run has the dataset of run `r`. */
static bool is_named(const struct report_page *p, size_t r)
{
    for (size_t i = 0; i < r; i++)
        if (strcmp(dataset_of(&p->run[i]), dataset_of(&p->run[r])) == 0)
            return true;
    return false;
}

static void write_datasets(const struct report_page *p)
{
    for (size_t r = 0; r < p->n; r++) {
        if (is_named(p, r))
            continue;
        fputs(r ? ", " : "", p->file);
        html_text(p->file, dataset_of(&p->run[r]));
    }
}

/* "a, b on x", or "a on x, b on y". */
static void write_heading(const struct report_page *p)
{
    bool one = true;
    for (size_t r = 1; r < p->n; r++)
        one &= is_named(p, r);
    fputs("<h1>", p->file);
    for (size_t r = 0; r < p->n; r++) {
        fputs(r ? ", " : "", p->file);
        html_text(p->file, p->run[r].folder);
        if (one && r + 1 < p->n)
            continue;
        fputs(" on ", p->file);
        html_text(p->file, dataset_of(&p->run[r]));
    }
    fputs("</h1>\n", p->file);
}

static void write_page(const struct report_page *p)
{
    fprintf(p->file, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                     "<link rel=\"icon\" href=\"data:,\"><title>outgrow: ");
    write_datasets(p);
    fprintf(p->file, "</title><style>%s%s</style></head><body>\n", figure_style, style);
    write_heading(p);
    report_results(p);
    report_classes(p);
    fputs("<h2>Learning</h2>\n", p->file);
    write_lines(p, "Loss, the mean of an epoch", "loss", WORDS("loss"), WORDS("loss"));
    write_progress(p);
    fputs("<h2>Where rows came from</h2>\n", p->file);
    write_rows(p);
    write_lines(p, "Read in each epoch", "bytes", WORDS("bytes_read"), WORDS("read"));
    write_predicted(p);
    fputs("<h2>Where time went</h2>\n", p->file);
    for (size_t r = 0; r < p->n; r++)
        write_explanation(p, &p->run[r]);
    write_lines(p, "Seconds of each epoch", "seconds", WORDS("seconds"), WORDS("seconds"));
    for (size_t r = 0; r < p->n; r++)
        write_stages(p, &p->run[r]);
    for (size_t r = 0; r < p->n; r++)
        write_timeline(p, &p->run[r]);
    fputs("<h2>Where memory went</h2>\n", p->file);
    for (size_t r = 0; r < p->n; r++)
        write_memory(p, &p->run[r]);
    write_config(p);
    fprintf(p->file, "<p><small>outgrow %s</small></p>\n</body></html>\n", og_version());
}

/* ---- the command ---- */

static int open_page(const struct invocation *in, struct output *page, struct og_err *err)
{
    const char *out = own_text(in, "out");
    char *path;
    if (out)
        return output_open(page, out, err);
    if (asprintf(&path, "%s/report.html", in->arg[0]) < 0)
        return no_result(err);
    int rc = output_replace(page, path, err);
    free(path);
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct report_page p = {.n = (size_t)in->n_args, .several = in->n_args > 1};
    struct output page = {0};
    int rc;
    if (in->n_args > 1 && !own_text(in, "out"))
        return usage_error(err, NULL, "report: --out FILE expected with several runs");
    for (size_t r = 0; r < p.n; r++)
        p.run[r].folder = in->arg[r];
    for (size_t r = 0; r < p.n; r++)
        TRY(load_summary(&p.run[r].summary, p.run[r].folder, err));
    TRY(open_page(in, &page, err));
    p.file = page.file;
    write_page(&p);
    TRY(output_commit(&page, err));
    if (in->json)
        rc = print_json(json_pack("{s:s}", "report", page.path), err);
    else
        puts(page.path);
out:
    output_abandon(&page);
    for (size_t r = 0; r < p.n; r++)
        json_decref(p.run[r].summary);
    return rc;
}

const struct command cmd_report = {
    .name = "report",
    .group = "Models",
    .args = "RUN [RUN ...]",
    .min_args = 1,
    .max_args = MAX_ARGS,
    .summary = "show one or several runs as a page",
    .text =
        "Writes one HTML file that needs no network: losses and metrics, where rows came from, "
        "predictions and measurements, seconds by stage, and memory by part. It says what would "
        "make a run faster. It also shows the timeline of --trace-timeline, and the "
        "configuration, with differences between runs in bold. Figures contain their numbers as "
        "text.",
    .own = own,
    .run = run,
};
