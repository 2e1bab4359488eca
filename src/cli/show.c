/* Text of results, made from the JSON. Units follow from the names of keys
 * (docs/reference/json.md), so new keys are shown with their unit. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one value ---- */

static void bytes_text(char *out, size_t size, double x, const char *per)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t u = 0;
    for (; x >= 1024 && u < 5; u++)
        x /= 1024;
    snprintf(out, size, u ? "%.2f %s%s" : "%.0f %s%s", x, units[u], per);
}

/* 1234567 -> "1,234,567" */
static void count_text(char *out, size_t size, long long x)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%lld", x < 0 ? -x : x);
    size_t used = 0;
    if (x < 0)
        out[used++] = '-';
    for (int i = 0; i < n && used + 2 < size; i++) {
        out[used++] = digits[i];
        if ((n - i - 1) % 3 == 0 && i + 1 < n)
            out[used++] = ',';
    }
    out[used] = 0;
}

static void rate_text(char *out, size_t size, double x, const char *what)
{
    static const char *const units[] = {"", " k", " M", " G"};
    size_t u = 0;
    for (; x >= 1000 && u < 3; u++)
        x /= 1000;
    snprintf(out, size, "%.4g%s%s%s/s", x, units[u], *what ? " " : "", what);
}

const char *show_rate(char buf[SHOWN_MAX], double per_second, const char *unit)
{
    if (strcmp(unit, "bytes") == 0)
        bytes_text(buf, SHOWN_MAX, per_second, "/s");
    else
        rate_text(buf, SHOWN_MAX, per_second, unit);
    return buf;
}

static bool is_share(const char *key)
{
    return ends_with(key, "acc") || strstr(key, "hit_rate") || ends_with(key, "share") ||
           strstr(key, "share_") == key || ends_with(key, "fraction");
}

static void seconds_text(char *out, size_t size, double x)
{
    const double minute = 60, hour = 60 * minute, day = 24 * hour;
    if (x >= 2 * day)
        snprintf(out, size, "%.0f days", x / day);
    else if (x >= 2 * hour)
        snprintf(out, size, "%.1f hours", x / hour);
    else if (x >= 10 * minute)
        snprintf(out, size, "%.0f minutes", x / minute);
    else if (x > 0 && x < 0.1)
        snprintf(out, size, "%.3g ms", 1000 * x);
    else
        snprintf(out, size, "%.2f s", x);
}

static void number_text(char *out, size_t size, const char *key, const json_t *value)
{
    double x = json_number_value(value);
    if (strstr(key, "bytes_per_second"))
        bytes_text(out, size, x, "/s");
    else if (strstr(key, "per_second") || ends_with(key, "iops"))
        rate_text(out, size, x, "");
    else if (strstr(key, "bytes") || strcmp(key, "memory") == 0)
        bytes_text(out, size, x, "");
    else if (ends_with(key, "seconds"))
        seconds_text(out, size, x);
    else if (is_share(key))
        snprintf(out, size, "%.2f %%", 100 * x);
    else if (json_is_integer(value) && strcmp(key, "seed") != 0)
        count_text(out, size, json_integer_value(value));
    else
        snprintf(out, size, "%.6g", x);
}

static void list_text(char *out, size_t size, const char *key, const json_t *list)
{
    size_t used = 0;
    snprintf(out, size, "none");
    for (size_t i = 0; i < json_array_size(list) && used < size; i++) {
        char item[SHOWN_MAX];
        show_value(item, key, json_array_get(list, i));
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", item);
    }
}

int whole_characters(const char *text, int most)
{
    int n = (int)strnlen(text, (size_t)most);
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* within a character */
        n--;
    return n;
}

/* Replaces control characters: names may come from foreign files. */
static void show_text(char buf[SHOWN_MAX], const char *text)
{
    snprintf(buf, SHOWN_MAX, "%.*s", whole_characters(text, SHOWN_MAX - 1), text);
    for (char *p = buf; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

const char *show_value(char buf[SHOWN_MAX], const char *key, const json_t *value)
{
    if (json_is_string(value))
        show_text(buf, json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(buf, SHOWN_MAX, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_number(value))
        number_text(buf, SHOWN_MAX, key, value);
    else if (json_is_array(value))
        list_text(buf, SHOWN_MAX, key, value);
    else
        snprintf(buf, SHOWN_MAX, "-");
    return buf;
}

double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* One of the texts that `shown` and its like return in turn. */
static char *next_text(void)
{
    static char text[8][SHOWN_MAX];
    static size_t n;
    return text[n++ % 8];
}

const char *shown_as(const json_t *object, const char *key, const char *unit)
{
    return show_value(next_text(), unit, json_object_get(object, key));
}

const char *shown_number(const char *key, double x)
{
    json_t *value = x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
    const char *text = show_value(next_text(), key, value);
    json_decref(value);
    return text;
}

const char *shown(const json_t *object, const char *key)
{
    return shown_as(object, key, key);
}

/* ---- any object ---- */

/* "bytes_read" -> "bytes read", or what says more to people. */
static void label_text(char *out, size_t size, const char *key)
{
    static const struct {
        const char *key, *words;
    } plain[] = {
        {"acc", "accuracy"},
        {"baseline_rss_bytes", "memory of the program alone"},
        {"bytes_least", "if read once"},
        {"confusion", "confusion: a row per class, a column per predicted class"},
        {"labelled", "nodes with a label"},
        {"memory_budget_bytes", "memory limit"},
        {"needed", "needed for --nodes"},
        {"nodes_a_block", "nodes at a time"},
        {"out", "written to"},
        {"peak_rss_bytes", "peak memory"},
        {"prefill", "rows read in advance"},
        {"prepare", "preparation"},
        {"prepare_bytes_read", "bytes read in advance"},
        {"prepare_reads", "reads in advance"},
        {"read_amplification", "times as much"},
        {"rows_kept", "rows in memory"},
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (strcmp(plain[i].key, key) == 0)
            key = plain[i].words;
    snprintf(out, size, "%s", key);
    for (char *p = out; *p; p++)
        if (*p == '_')
            *p = ' ';
}

/* Under "memory" and "bytes" all values are bytes. */
static const char *unit_key(const char *parent, const char *key)
{
    bool bytes = strcmp(parent, "memory") == 0 || strcmp(parent, "bytes") == 0;
    return bytes ? "bytes" : key;
}

static bool is_table(const json_t *value)
{
    return json_is_object(json_array_get(value, 0));
}

/* Whether a column has only zeros. */
static bool is_idle(const json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)rows, i, row)
    {
        const json_t *value = json_object_get(row, key);
        if (!json_is_number(value) || json_number_value(value) != 0)
            return false;
    }
    return true;
}

/* Prints an array of objects, a row each, with the first one's keys as columns. Words are
 * left-aligned, numbers right-aligned. */
static void show_table(const json_t *rows, int indent)
{
    const char *key;
    json_t *value;
    size_t r;
    json_t *row;
    for (int line = -1; line < (int)json_array_size(rows); line++) {
        int blanks = indent; /* before the next word, so that no line ends with blanks */
        json_object_foreach(json_array_get(rows, 0), key, value)
        {
            char text[SHOWN_MAX];
            if (json_is_object(value) || is_idle(rows, key))
                continue;
            label_text(text, sizeof(text), key);
            int width = (int)strlen(text);
            json_array_foreach(rows, r, row)
            {
                char cell[SHOWN_MAX];
                show_value(cell, key, json_object_get(row, key));
                width = (int)strlen(cell) > width ? (int)strlen(cell) : width;
            }
            if (line >= 0)
                show_value(text, key, json_object_get(json_array_get(rows, (size_t)line), key));
            width -= (int)strlen(text);
            printf("%*s%s", blanks + (json_is_string(value) ? 0 : width), "", text);
            blanks = 2 + (json_is_string(value) ? width : 0);
        }
        putchar('\n');
    }
}

static bool is_matrix(const json_t *value)
{
    return json_is_array(json_array_get(value, 0));
}

/* Prints an array of arrays of counts, a line a row, right-aligned. */
static void show_matrix(const json_t *rows, int indent)
{
    int width = 0;
    size_t i, k;
    json_t *row, *value;
    char text[SHOWN_MAX];
    json_array_foreach((json_t *)rows, i, row) json_array_foreach(row, k, value)
    {
        const int n = (int)strlen(show_value(text, "", value));
        width = n > width ? n : width;
    }
    json_array_foreach((json_t *)rows, i, row)
    {
        printf("%*s", indent, "");
        json_array_foreach(row, k, value)
            printf("%s%*s", k ? "  " : "", width, show_value(text, "", value));
        putchar('\n');
    }
}

static void show_object(const json_t *object, const char *name, int indent)
{
    const char *key;
    json_t *value;
    int width = 0;
    char label[SHOWN_MAX];
    char text[SHOWN_MAX];
    json_object_foreach((json_t *)object, key, value)
    {
        label_text(label, sizeof(label), key);
        if (!json_is_object(value) && !is_table(value) && !is_matrix(value) &&
            (int)strlen(label) > width)
            width = (int)strlen(label);
    }
    json_object_foreach((json_t *)object, key, value)
    {
        label_text(label, sizeof(label), key);
        if (json_is_object(value)) {
            printf("%*s%s\n", indent, "", label);
            show_object(value, key, indent + 2);
        } else if (is_table(value)) {
            printf("%*s%s\n", indent, "", label);
            show_table(value, indent + 2);
        } else if (is_matrix(value)) {
            printf("%*s%s\n", indent, "", label);
            show_matrix(value, indent + 2);
        } else {
            printf("%*s%-*s  %s\n", indent, "", width, label,
                   show_value(text, unit_key(name, key), value));
        }
    }
}

void show_any(const json_t *root)
{
    if (is_table(root))
        show_table(root, 0);
    else
        show_object(root, "", 0);
}

/* ---- a dataset, in one line ---- */

void show_dataset(const json_t *root)
{
    static const char *const keys[] = {"num_nodes",   "num_edges",  "feature_dim",
                                       "num_classes", "node_types", "relations"};
    static const char *const labels[] = {"nodes", "edges", "features", NULL, "types", "relations"};
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *const targets = json_is_true(json_object_get(root, "shares"))        ? "shares"
                                : json_is_true(json_object_get(root, "regression"))  ? "values"
                                : json_is_true(json_object_get(root, "multi_label")) ? "labels"
                                                                                     : "classes";
    char printable[SHOWN_MAX];
    show_text(printable, name ? name : "dataset");
    printf("%s:", printable);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        char text[SHOWN_MAX];
        const json_t *value = json_object_get(root, keys[i]);
        if (!value)
            continue; /* each type has its own, or there are none */
        if (json_is_array(value))
            snprintf(text, sizeof(text), "%zu", json_array_size(value));
        else
            show_value(text, keys[i], value);
        printf("%s %s %s", i ? "," : "", text, labels[i] ? labels[i] : targets);
    }
    putchar('\n');
}

/* ---- training ---- */

/* Formats "  valid 80.12%", or "  valid auc 0.9184" for other metrics, or nothing if it was not
 * measured. */
static void acc_text(char out[48], const char *label, const char *metric, double of,
                     const json_t *x)
{
    out[0] = 0;
    if (json_is_number(x))
        snprintf(out, 48, of == 100 ? "  %s%s %.2f%%" : "  %s%s %.4f", label, metric,
                 of * json_number_value(x));
}

void epoch_line(char *out, size_t size, const json_t *epoch, int epochs)
{
    char train[48];
    char valid[48];
    char bytes[32];
    char filled[32];
    char name[16] = "";
    const double fills = number_of(epoch, "prepare_bytes_read");
    const char *metric = json_string_value(json_object_get(epoch, "metric"));
    const bool share = metric && (strcmp(metric, "acc") == 0 || strcmp(metric, "micro_f1") == 0);
    double rows = number_of(epoch, "rows");
    if (metric && !share)
        snprintf(name, sizeof(name), " %s", metric);
    acc_text(train, "train", "", share ? 100 : 1, json_object_get(epoch, "train_acc"));
    acc_text(valid, "valid", name, share ? 100 : 1, json_object_get(epoch, "valid_acc"));
    bytes_text(bytes, sizeof(bytes), number_of(epoch, "bytes_read"), "");
    bytes_text(filled, sizeof(filled), fills, "");
    snprintf(out, size, "epoch %d/%d  loss %.6f%s%s  %.2f s  hits %.2f%%  read %s%s%s",
             (int)number_of(epoch, "epoch"), epochs, number_of(epoch, "loss"), train, valid,
             number_of(epoch, "seconds"), rows > 0 ? 100 * number_of(epoch, "hits") / rows : 0,
             bytes, fills > 0 ? "  in advance " : "", fills > 0 ? filled : "");
}

static double sum_over(const json_t *epochs, const char *key)
{
    double sum = 0;
    size_t i;
    json_t *epoch;
    json_array_foreach((json_t *)epochs, i, epoch) sum += number_of(epoch, key);
    return sum;
}

static void tier_line(const char *tier, double rows, double of, const char *reads,
                      const char *bytes)
{
    char count[32];
    count_text(count, sizeof(count), (long long)rows);
    printf("  %-12s %15s %8.2f %% %15s %14s\n", tier, count, of > 0 ? 100 * rows / of : 0, reads,
           bytes);
}

/* With rows of several widths on a device, their bytes are unknown. */
static void held_text(char out[32], double rows, double row_bytes)
{
    if (rows > 0 && row_bytes == 0)
        snprintf(out, 32, "-");
    else
        bytes_text(out, 32, rows * row_bytes, "");
}

/* Prints the tiers that rows of all epochs came from; several devices read from one another. */
static void show_tiers(const json_t *epochs, double row_bytes, bool several)
{
    char reads[32];
    char from_disk[32];
    char from_host[32];
    char from_device[32];
    const bool on_device = json_object_get(json_array_get(epochs, 0), "device_hits");
    const double rows = sum_over(epochs, "rows");
    const double in_host = sum_over(epochs, "hits") - sum_over(epochs, "device_hits");
    count_text(reads, sizeof(reads), (long long)sum_over(epochs, "reads"));
    bytes_text(from_disk, sizeof(from_disk), sum_over(epochs, "feature_bytes_read"), "");
    held_text(from_host, in_host, row_bytes);
    printf("  %-12s %15s %10s %15s %14s\n", "rows from", "rows", "share", "reads", "bytes");
    if (on_device) {
        held_text(from_device, sum_over(epochs, "device_hits"), row_bytes);
        tier_line("device", sum_over(epochs, "device_hits"), rows, "0", from_device);
    }
    if (several) {
        held_text(from_device, sum_over(epochs, "peer_hits"), row_bytes);
        tier_line("  another's", sum_over(epochs, "peer_hits"), rows, "0", from_device);
    }
    tier_line("host cache", in_host, rows, "0", from_host);
    tier_line("disk", sum_over(epochs, "misses"), rows,
              sum_over(epochs, "misses") > 0 ? reads : "0", from_disk);
}

/* The cache has whole rows; without a cache there were no hits. */
static double row_bytes(const json_t *plan)
{
    double slots = number_of(plan, "cache_rows");
    const json_t *device = json_object_get(plan, "device");
    if (json_is_object(device))
        return number_of(device, "row_bytes");
    return slots > 0 ? number_of(json_object_get(plan, "memory"), "feature cache") / slots : 0;
}

bool tell_share(const json_t *metrics)
{
    return json_object_size(metrics) == 0 || json_object_get(metrics, "acc") ||
           json_object_get(metrics, "micro_f1");
}

const json_t *final_metrics(const json_t *summary)
{
    const json_t *test = json_object_get(summary, "test_metrics");
    return json_object_size(test) > 0 ? test : json_object_get(summary, "valid_metrics");
}

/* "auc 0.9184  ap 0.9162  ..." */
static void show_metrics(const char *label, const json_t *metrics)
{
    const char *key;
    json_t *value;
    printf("%-15s", label);
    json_object_foreach((json_t *)metrics, key, value) if (json_is_number(value))
        printf(" %s %.4f ", key, json_number_value(value));
    putchar('\n');
}

/* Prints the best epoch and its metric, "4, by auc 0.9184". */
static void show_best(const json_t *root)
{
    const json_t *epoch = json_object_get(root, "best_epoch");
    const json_t *value = json_object_get(root, "best_value");
    if (!json_is_integer(epoch))
        return;
    printf("best epoch      %d, by %s", (int)json_integer_value(epoch),
           json_string_value(json_object_get(root, "best_by")));
    if (json_is_number(value))
        printf(" %.4f", json_number_value(value));
    putchar('\n');
}

/* Prints accuracy for tasks that have it, else all metrics. */
static void show_accuracy(const json_t *root)
{
    const char *by = json_string_value(json_object_get(root, "best_by"));
    const bool by_acc = by && strcmp(by, "acc") == 0;
    char text[SHOWN_MAX];
    const json_t *metrics = json_object_get(root, "test_metrics");
    if (json_is_object(metrics) && !json_object_get(metrics, "acc")) {
        show_metrics("test", metrics);
        show_metrics("validation", json_object_get(root, "valid_metrics"));
        show_best(root);
        return;
    }
    const json_t *test = json_object_get(root, "test_acc");
    if (json_is_number(test))
        printf("test accuracy   %s\n", show_value(text, "test_acc", test));
    const json_t *valid = json_object_get(root, "valid_acc");
    if (json_is_number(valid))
        printf(by_acc ? "validation      %s, best at epoch %d\n" : "validation      %s\n",
               show_value(text, "valid_acc", valid), (int)number_of(root, "best_epoch"));
    if (!by_acc)
        show_best(root);
}

/* Prints the metrics of each node type, where several have labels. */
static void show_types(const json_t *types)
{
    const char *name;
    json_t *metrics;
    json_object_foreach((json_t *)types, name, metrics)
    {
        char label[SHOWN_MAX];
        snprintf(label, sizeof(label), "test, %s", name);
        show_metrics(label, metrics);
    }
}

/* Prints why a run ended before --epochs. */
static void show_stop(const json_t *root)
{
    const char *by = json_string_value(json_object_get(root, "stopped_by"));
    const json_t *config = json_object_get(root, "config");
    if (by && strcmp(by, "patience") == 0)
        printf("stopped         after epoch %d of %d: no better %s in %d validation%s\n",
               (int)number_of(root, "stopped_epoch"), (int)number_of(config, "epochs"),
               json_string_value(json_object_get(root, "best_by")),
               (int)number_of(config, "patience"), number_of(config, "patience") > 1 ? "s" : "");
}

void show_training(const json_t *root)
{
    char a[SHOWN_MAX];
    char b[SHOWN_MAX];
    char text[SHOWN_MAX];
    const json_t *epochs = json_object_get(root, "epochs");
    const json_t *prepare = json_object_get(root, "prepare");
    const json_t *plan = json_object_get(root, "plan");
    show_accuracy(root);
    show_types(json_object_get(root, "test_types"));
    show_stop(root);
    printf("peak memory     %s of %s\n", shown(root, "peak_rss_bytes"),
           shown(root, "memory_budget_bytes"));
    printf("time            %.2f s, %.2f s of it before the first batch\n",
           number_of(root, "seconds"), number_of(prepare, "seconds"));
    show_tiers(epochs, row_bytes(plan), number_of(json_object_get(plan, "device"), "devices") > 1);
    count_text(a, sizeof(a),
               (long long)(number_of(prepare, "prefill") + sum_over(epochs, "prefill")));
    bytes_text(b, sizeof(b),
               number_of(prepare, "bytes_read") + sum_over(epochs, "prepare_bytes_read"), "");
    bytes_text(text, sizeof(text), sum_over(epochs, "eval_bytes_read"), "");
    printf("in advance      %s rows into the cache; %s read to prepare, %s to evaluate\n", a, b,
           text);
    if (json_object_get(root, "run"))
        printf("results in      %s\n", json_string_value(json_object_get(root, "run")));
}

/* ---- delivery ---- */

int print_json(json_t *root, struct og_err *err)
{
    int printed = json_dumpf(root, stdout, JSON_INDENT(2));
    json_decref(root);
    if (printed < 0)
        return no_result(err);
    putchar('\n');
    return 0;
}

/* A message may quote a part of what was given, cut inside a character. */
static json_t *message_json(const char *message)
{
    json_t *text = json_string(message);
    char *ascii = text ? NULL : strdup(message);
    for (char *p = ascii; p && *p; p++)
        *p = *p & 0x80 ? '?' : *p;
    text = ascii ? json_string(ascii) : text;
    free(ascii);
    return text;
}

json_t *error_json(const struct og_err *err)
{
    return json_pack("{s:i s:o s:o}", "code", err->code, "error", message_json(err->message),
                     "hint", message_json(err->hint));
}

int deliver(const struct invocation *in, char *text, void (*human)(const json_t *root),
            struct og_err *err)
{
    int rc = 0;
    if (in->quiet && !in->json && in->command->delivers_files) {
        /* what was written is the result */
    } else if (in->json) {
        puts(text);
    } else {
        json_t *root = json_loads(text, 0, NULL);
        if (root)
            human(root);
        else
            rc = no_result(err);
        json_decref(root);
    }
    free(text);
    return rc;
}
