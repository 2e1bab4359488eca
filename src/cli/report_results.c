/* Tables of a report: metrics and classes. */
#include "figure.h"
#include "report.h"

#include <math.h>
#include <string.h>

enum { LONGEST_FOLDER = 60 };

int report_folder_length(const struct report_run *run)
{
    return whole_characters(run->folder, LONGEST_FOLDER);
}

double report_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double report_sum(const json_t *summary, const char *key)
{
    double sum = 0;
    size_t i;
    json_t *epoch;
    json_array_foreach(json_object_get(summary, "epochs"), i, epoch)
    {
        double x = report_number(epoch, key);
        sum += isnan(x) ? 0 : x;
    }
    return sum;
}

/* ---- tables: a row per item, a column per run ---- */

void table_begin(const struct report_page *p, const char *title, const char *what)
{
    fprintf(p->file, "<h2>%s</h2>\n<table><thead><tr><th scope=\"col\">%s</th>", title, what);
    for (size_t r = 0; r < p->n; r++) {
        fputs("<th scope=\"col\">", p->file);
        html_text(p->file, p->run[r].folder);
        fputs("</th>", p->file);
    }
    fputs("</tr></thead><tbody>\n", p->file);
}

void table_end(const struct report_page *p)
{
    fputs("</tbody></table>\n", p->file);
}

void table_row(const struct report_page *p, const char *name, bool marked)
{
    fprintf(p->file, "<tr%s><th scope=\"row\">", marked ? " class=\"differs\"" : "");
    html_text(p->file, name);
    fputs("</th>", p->file);
}

void table_cell(const struct report_page *p, const char *text)
{
    fputs("<td>", p->file);
    html_text(p->file, text);
    fputs("</td>", p->file);
}

void table_row_end(const struct report_page *p)
{
    fputs("</tr>\n", p->file);
}

/* ---- results ---- */

static double share_of_hits(const json_t *summary)
{
    return report_sum(summary, "hits") / report_sum(summary, "rows");
}

static double of_top(const json_t *summary, const char *key)
{
    return report_number(summary, key);
}

static double of_prepare(const json_t *summary, const char *key)
{
    return report_number(json_object_get(summary, "prepare"), key);
}

static double shared_rows(const json_t *summary, const char *key)
{
    (void)key;
    return share_of_hits(summary);
}

static const struct result {
    const char *title, *key, *unit;
    double (*of)(const json_t *summary, const char *key);
} results[] = {
    {"best epoch", "best_epoch", "epoch", of_top},
    {"last epoch", "stopped_epoch", "epoch", of_top},
    {"time", "seconds", "seconds", of_top},
    {"before the first batch", "seconds", "seconds", of_prepare},
    {"peak memory", "peak_rss_bytes", "bytes", of_top},
    {"of --memory", "memory_budget_bytes", "bytes", of_top},
    {"rows requested by batches", "rows", "rows", report_sum},
    {"found in memory", "hits", "share", shared_rows},
    {"read for training", "bytes_read", "bytes", report_sum},
    {"read to fill the cache", "prepare_bytes_read", "bytes", report_sum},
    {"read before training", "bytes_read", "bytes", of_prepare},
    {"read for evaluation", "eval_bytes_read", "bytes", report_sum},
};

/* Writes accuracies, for runs of tasks with accuracy. */
static void write_shares(const struct report_page *p, const char *title, const char *key)
{
    bool any = false;
    for (size_t r = 0; r < p->n; r++)
        any |= tell_share(final_metrics(p->run[r].summary));
    if (!any)
        return;
    table_row(p, title, false);
    for (size_t r = 0; r < p->n; r++) {
        const json_t *summary = p->run[r].summary;
        double x = tell_share(final_metrics(summary)) ? report_number(summary, key) : NAN;
        table_cell(p, isnan(x) ? "-" : shown_number("acc", x));
    }
    table_row_end(p);
}

static void write_metric(const struct report_page *p, const char *title, const char *part,
                         const char *key)
{
    char text[SHOWN_MAX];
    snprintf(text, sizeof(text), "%s %s", title, key);
    table_row(p, text, false);
    for (size_t r = 0; r < p->n; r++) {
        double x = report_number(json_object_get(p->run[r].summary, part), key);
        table_cell(p, isnan(x) ? "-" : shown_number(key, x));
    }
    table_row_end(p);
}

/* Whether one of the first `n` runs has written its row of this metric. */
static bool is_written(const struct report_page *p, size_t n, const char *part, const char *key)
{
    for (size_t r = 0; r < n; r++) {
        const json_t *metrics = json_object_get(p->run[r].summary, part);
        if (!tell_share(metrics) && json_object_get(metrics, key))
            return true;
    }
    return false;
}

/* Writes a row per metric of other tasks. */
static void write_metrics(const struct report_page *p, const char *title, const char *part)
{
    const char *key;
    json_t *value;
    for (size_t r = 0; r < p->n; r++) {
        json_t *metrics = json_object_get(p->run[r].summary, part);
        if (tell_share(metrics))
            continue;
        json_object_foreach(metrics, key, value) if (!is_written(p, r, part, key))
            write_metric(p, title, part, key);
    }
}

/* Has one of the first `n` runs this type? */
static bool has_type(const struct report_page *p, size_t n, const char *type)
{
    for (size_t r = 0; r < n; r++)
        if (json_object_get(json_object_get(p->run[r].summary, "test_types"), type))
            return true;
    return false;
}

static void write_type(const struct report_page *p, const char *type, const char *key)
{
    char text[SHOWN_MAX];
    snprintf(text, sizeof(text), "test of %s, %s", type, key);
    table_row(p, text, false);
    for (size_t r = 0; r < p->n; r++) {
        const json_t *all = json_object_get(p->run[r].summary, "test_types");
        const double x = report_number(json_object_get(all, type), key);
        table_cell(p, isnan(x) ? "-" : shown_number(key, x));
    }
    table_row_end(p);
}

/* Writes a row per node type and metric, where several types have labels. */
static void write_types(const struct report_page *p)
{
    const char *type, *key;
    json_t *metrics, *value;
    for (size_t r = 0; r < p->n; r++) {
        json_t *all = json_object_get(p->run[r].summary, "test_types");
        json_object_foreach(all, type, metrics) if (!has_type(p, r, type))
            json_object_foreach(metrics, key, value) write_type(p, type, key);
    }
}

/* What ended each run; a summary of an earlier version does not have it. */
static void write_stops(const struct report_page *p)
{
    table_row(p, "stopped by", false);
    for (size_t r = 0; r < p->n; r++) {
        const json_t *by = json_object_get(p->run[r].summary, "stopped_by");
        table_cell(p, json_is_string(by) ? json_string_value(by) : "-");
    }
    table_row_end(p);
}

void report_results(const struct report_page *p)
{
    table_begin(p, "Results", "");
    write_shares(p, "test", "test_acc");
    write_metrics(p, "test", "test_metrics");
    write_types(p);
    write_shares(p, "validation, best epoch", "valid_acc");
    write_metrics(p, "validation", "valid_metrics");
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        table_row(p, results[i].title, false);
        for (size_t r = 0; r < p->n; r++) {
            double x = results[i].of(p->run[r].summary, results[i].key);
            table_cell(p, isnan(x) ? "-" : shown_number(results[i].unit, x));
        }
        table_row_end(p);
    }
    write_stops(p);
    table_end(p);
}

/* ---- by class ---- */

static void write_class_table(const struct report_page *p, const json_t *classes)
{
    const char *key;
    json_t *value, *row;
    char text[SHOWN_MAX];
    size_t i;
    fputs("<table><thead><tr>", p->file);
    json_object_foreach(json_array_get(classes, 0), key, value)
        fprintf(p->file, "<th scope=\"col\">%s</th>", key);
    fputs("</tr></thead><tbody>\n", p->file);
    json_array_foreach((json_t *)classes, i, row)
    {
        fputs("<tr>", p->file);
        json_object_foreach(row, key, value) table_cell(p, show_value(text, key, value));
        table_row_end(p);
    }
    table_end(p);
}

static void write_confusion(const struct report_page *p, const json_t *rows)
{
    char text[SHOWN_MAX];
    json_t *row, *value;
    size_t i, k;
    fputs("<table><caption>Nodes by class (row) and prediction "
          "(column)</caption><thead><tr><th></th>",
          p->file);
    for (k = 0; k < json_array_size(rows); k++)
        fprintf(p->file, "<th scope=\"col\">%zu</th>", k);
    fputs("</tr></thead><tbody>\n", p->file);
    json_array_foreach((json_t *)rows, i, row)
    {
        fprintf(p->file, "<tr><th scope=\"row\">%zu</th>", i);
        json_array_foreach(row, k, value) table_cell(p, show_value(text, "", value));
        table_row_end(p);
    }
    table_end(p);
}

/* The test of each run whose task has classes or labels. */
void report_classes(const struct report_page *p)
{
    for (size_t r = 0; r < p->n; r++) {
        const json_t *classes = json_object_get(p->run[r].summary, "test_classes");
        const json_t *confusion = json_object_get(p->run[r].summary, "test_confusion");
        if (json_array_size(classes) == 0)
            continue;
        fputs("<details><summary>Test by class: ", p->file);
        html_text(p->file, p->run[r].folder);
        fputs("</summary>\n", p->file);
        write_class_table(p, classes);
        if (json_is_array(confusion))
            write_confusion(p, confusion);
        fputs("</details>\n", p->file);
    }
}
