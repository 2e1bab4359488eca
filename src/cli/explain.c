/* Why a run was slow: the stage with the largest share, and what would help. All
 * figures are those of its summary.json. */
#include "explain.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_MAX = 4096 };

static const struct {
    const char *key, *object;
} stage_name[STAGES] = {
    [PREPARING] = {"preparing", "Preparing"},
    [COMPUTING] = {"computing", "Computing"},
    [EVALUATING] = {"evaluating", "Evaluating"},
    [SAMPLING] = {"sampling", "sampling"},
    [PLANNING] = {"planning", "plans of the cache"},
    [READING] = {"reading", "rows"},
    [EXCHANGING] = {"exchanging", "rows of other workers"},
};

/* ---- the summary ---- */

static int no_summary(struct og_err *err, const char *folder, const char *why)
{
    return failure(err, -EINVAL,
                   "use the folder of a finished `outgrow train`: its --run, or runs/<date>-<n>",
                   "%.200s/summary.json: %.200s", folder, why);
}

int load_summary(json_t **summary, const char *folder, struct og_err *err)
{
    json_error_t why;
    char *path;
    if (asprintf(&path, "%s/summary.json", folder) < 0)
        return no_result(err);
    *summary = json_load_file(path, 0, &why);
    free(path);
    if (!*summary)
        return no_summary(err, folder, why.text);
    return json_is_array(json_object_get(*summary, "epochs"))
               ? 0
               : no_summary(err, folder, "no summary of a run");
}

/* ---- figures ---- */

static double total_of(const struct measured *m, const char *key)
{
    double sum = 0;
    size_t i;
    json_t *epoch;
    json_array_foreach(json_object_get(m->summary, "epochs"), i, epoch) sum +=
        number_of(epoch, key);
    return sum;
}

/* Mean over steady epochs: all except the first, if there are two. */
double steady_figure(const struct measured *m, const char *key)
{
    const json_t *epochs = json_object_get(m->summary, "epochs");
    const size_t n = json_array_size(epochs);
    const double first = n > 1 ? number_of(json_array_get(epochs, 0), key) : 0;
    return n > 0 ? (total_of(m, key) - first) / (double)(n > 1 ? n - 1 : n) : 0;
}

double memory_figure(const struct measured *m, const char *part)
{
    return number_of(json_object_get(m->plan, "memory"), part);
}

/* Counters of an epoch are sums over workers, and over the threads of a stage. */
static void measure_stages(struct measured *m)
{
    const json_t *executors = json_object_get(m->summary, "executors");
    const double trainers = fmax(1, number_of(executors, "trainers"));
    const double epochs = total_of(m, "seconds");
    const double stalled = total_of(m, "stall_seconds") / m->processes;
    double *s = m->seconds;
    s[PREPARING] = number_of(json_object_get(m->summary, "prepare"), "seconds");
    s[EVALUATING] = total_of(m, "eval_seconds");
    s[COMPUTING] = fmin(total_of(m, "train_seconds") / m->processes / trainers, epochs - stalled);
    s[SAMPLING] =
        total_of(m, "sample_seconds") / m->processes / fmax(1, number_of(m->plan, "samplers"));
    s[PLANNING] = total_of(m, "plan_seconds") / m->processes;
    s[READING] = total_of(m, "gather_seconds") / m->processes;
    s[EXCHANGING] = total_of(m, "exchange_seconds") / m->processes;
    /* nothing overlaps with what is done before the batches of a superbatch */
    m->waiting = epochs - s[COMPUTING];
    if (number_of(m->plan, "superbatch") == 0)
        m->waiting = fmin(m->waiting, stalled + s[EXCHANGING]);
}

static enum stage longest(const struct measured *m, enum stage first, enum stage last)
{
    enum stage best = first;
    for (enum stage k = first; k <= last; k++)
        best = m->seconds[k] > m->seconds[best] ? k : best;
    return best;
}

static void measure_run(struct measured *m, const json_t *summary)
{
    *m = (struct measured){.summary = summary,
                           .plan = json_object_get(summary, "plan"),
                           .config = json_object_get(summary, "config"),
                           .requested = json_object_get(summary, "requested"),
                           .total = number_of(summary, "seconds")};
    m->processes = fmax(1, (double)json_array_size(json_object_get(summary, "workers")));
    m->threads = number_of(m->config, "threads");
    measure_stages(m);
    m->largest = longest(m, PREPARING, EVALUATING);
    m->waited_for = longest(m, SAMPLING, EXCHANGING);
    if (m->waiting > m->seconds[m->largest])
        m->largest = m->waited_for;
    m->reads_to_evaluate = m->largest == EVALUATING &&
                           ((m->waited_for == READING && m->waiting > m->seconds[COMPUTING] / 4) ||
                            total_of(m, "eval_bytes_read") > 2 * rows_bytes(m));
}

double rows_bytes(const struct measured *m)
{
    double sum = 0;
    size_t i;
    json_t *type;
    json_array_foreach(json_object_get(m->plan, "types"), i, type) sum +=
        number_of(type, "nodes") * number_of(type, "row_bytes");
    return sum;
}

/* For its rows and their places in the batches. */
double bytes_read(const struct measured *m)
{
    return steady_figure(m, "feature_bytes_read") + steady_figure(m, "prepare_bytes_read") +
           steady_figure(m, "trace_bytes_read");
}

/* ---- the command ---- */

struct line {
    char text[COMMAND_MAX];
    size_t used;
};

static void add_text(struct line *l, const char *text)
{
    const int n = snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s", text);
    l->used = l->used + (size_t)n < sizeof(l->text) ? l->used + (size_t)n : sizeof(l->text) - 1;
}

/* In quotes, unless the shell takes it as it is. */
static void add_word(struct line *l, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./,:=%+@-";
    add_text(l, " ");
    if (*word && word[strspn(word, plain)] == 0) {
        add_text(l, word);
        return;
    }
    add_text(l, "'");
    for (; *word; word++)
        add_text(l, *word == '\'' ? "'\\''" : (char[]){*word, 0});
    add_text(l, "'");
}

static void value_text(char out[TEXT_MAX], const struct og_option *row, const json_t *value)
{
    size_t used = 0;
    size_t i;
    json_t *item;
    out[0] = 0;
    if (json_is_string(value))
        snprintf(out, TEXT_MAX, "%s", json_string_value(value));
    else if (json_is_integer(value) && row->type == OG_OPTION_AMOUNT &&
             json_integer_value(value) % MIB == 0)
        snprintf(out, TEXT_MAX, "%lldM", (long long)json_integer_value(value) / MIB);
    else if (json_is_integer(value))
        snprintf(out, TEXT_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, TEXT_MAX, "%.12g", json_real_value(value));
    json_array_foreach((json_t *)value, i, item) used += (size_t)snprintf(
        out + used, TEXT_MAX - used, "%s%lld", i ? "," : "", (long long)json_integer_value(item));
}

/* Remedies first to last of a run, each after those before it. */
struct remedies {
    const struct advice *all;
    int n;
};

/* Parameters of a choice go with it. */
static bool is_changed(const struct remedies *r, const struct og_option *row)
{
    for (int i = 0; i < r->n; i++) {
        const struct advice *a = &r->all[i];
        const bool has = a->option && (strcmp(row->name, a->option) == 0 ||
                                       (row->of && strcmp(row->of, a->option) == 0));
        if (has || (a->drops && strcmp(row->name, a->drops) == 0))
            return true;
    }
    return false;
}

static bool is_left_out(const struct remedies *r, const struct og_option *row)
{
    static const char *const own_of_a_run[] = {"run", "resume", "trace-timeline"};
    for (size_t i = 0; i < sizeof(own_of_a_run) / sizeof(*own_of_a_run); i++)
        if (strcmp(row->name, own_of_a_run[i]) == 0)
            return true;
    return is_changed(r, row);
}

static void add_option(struct line *l, const char *name, const char *value)
{
    add_text(l, " --");
    add_text(l, name);
    if (value)
        add_word(l, value);
}

static void add_requested(struct line *l, const struct measured *m, const struct remedies *r)
{
    char text[TEXT_MAX];
    const struct og_option *row;
    for (size_t i = 0; (row = og_option(i)); i++) {
        const json_t *value = json_object_get(m->requested, row->name);
        if (!value || json_is_null(value) || json_is_false(value) || is_left_out(r, row))
            continue;
        value_text(text, row, value);
        add_option(l, row->name, json_is_true(value) ? NULL : text);
    }
}

/* --run of a folder that does not exist: DIR-2, DIR-3, ... */
static void add_new_folder(struct line *l, const char *folder)
{
    char name[TEXT_MAX];
    int n = (int)strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    for (int i = 2; i < 1000; i++) {
        snprintf(name, sizeof(name), "%.*s-%d", n, folder, i);
        if (access(name, F_OK) != 0)
            break;
    }
    add_option(l, "run", name);
}

/* Earlier versions recorded no requested options: then config.yaml has them all. */
static void write_command(struct line *l, const struct measured *m, const struct remedies *r,
                          const char *folder)
{
    char config[TEXT_MAX];
    const char *subcommand = r->all[r->n - 1].subcommand;
    const char *path = text_of(m->summary, "dataset_path");
    add_text(l, "outgrow ");
    add_text(l, subcommand ? subcommand : "train");
    add_word(l, *path ? path : text_of(m->summary, "dataset"));
    if (subcommand)
        return;
    snprintf(config, sizeof(config), "%s/config.yaml", folder);
    if (m->requested)
        add_requested(l, m, r);
    else
        add_option(l, "config", config);
    for (int i = 0; i < r->n; i++)
        if (*r->all[i].value)
            add_option(l, r->all[i].option, r->all[i].value);
    add_new_folder(l, folder);
}

/* ---- in words ---- */

static void write_share(const struct measured *m, char out[TEXT_MAX])
{
    const bool waits = m->largest >= SAMPLING;
    const double seconds = waits ? m->waiting : m->seconds[m->largest];
    snprintf(out, TEXT_MAX, "%s%s took the largest share: %s of %s (%.0f %%).",
             waits ? "Waiting for " : "", stage_name[m->largest].object,
             shown_number("seconds", seconds), shown_number("seconds", m->total),
             100 * seconds / m->total);
}

static void write_cause(const struct measured *m, char out[TEXT_MAX])
{
    const json_t *prepare = json_object_get(m->summary, "prepare");
    if (m->largest == PREPARING)
        snprintf(out, TEXT_MAX, "It read %s and wrote %s before the first batch.",
                 shown_number("bytes", number_of(prepare, "bytes_read")),
                 shown_number("bytes", number_of(prepare, "bytes_written")));
    else if (m->largest == READING && bytes_read(m) > 0)
        snprintf(out, TEXT_MAX, "An epoch reads %s for its rows. Memory holds %.0f %% of all rows.",
                 shown_number("bytes", bytes_read(m)),
                 100 * fmin(1, memory_figure(m, "feature cache") / rows_bytes(m)));
    else if (m->largest == SAMPLING && has_topology_on_disk(m))
        snprintf(out, TEXT_MAX, "An epoch reads %s of adjacency lists. The topology is on disk.",
                 shown_number("bytes", steady_figure(m, "topology_bytes_read")));
    else if (m->largest >= SAMPLING)
        snprintf(out, TEXT_MAX, "That stage was busy for %s in each thread.",
                 shown_number("seconds", m->seconds[m->largest]));
    else
        snprintf(out, TEXT_MAX, "Training waited %s for its batches, mostly for %s.%s",
                 shown_number("seconds", m->waiting), stage_name[m->waited_for].object,
                 m->reads_to_evaluate ? " Evaluating reads rows from disk too." : "");
}

/* Signs of features with large scales; "" where there are none. */
static void write_doubt(const json_t *summary, char out[TEXT_MAX])
{
    static const char remedy[] = "Have features large scales? `import --standardize` mends that.";
    const json_t *const classes = json_object_get(summary, "test_classes");
    const double loss = number_of(json_array_get(json_object_get(summary, "epochs"), 0), "loss");
    const double chance = log((double)json_array_size(classes));
    const json_t *only = NULL;
    size_t n = 0;
    out[0] = 0;
    if (json_array_size(json_object_get(summary, "test_confusion")) < 2)
        return; /* not one class a node */
    for (size_t i = 0; i < json_array_size(classes); i++)
        if (number_of(json_array_get(classes, i), "predicted") > 0) {
            only = json_array_get(classes, i);
            n++;
        }
    if (n == 1)
        snprintf(out, TEXT_MAX, "All test nodes are predicted as class %.0f%s%.64s. %s",
                 number_of(only, "class"), *text_of(only, "name") ? ", " : "",
                 text_of(only, "name"), remedy);
    else if (loss > 3 * chance)
        snprintf(out, TEXT_MAX, "The first epoch has a loss of %.3g, guesses have %.3g. %s", loss,
                 chance, remedy);
}

static json_t *seconds_json(const struct measured *m)
{
    json_t *all = json_object();
    for (int k = PREPARING; k <= EVALUATING; k++)
        json_object_set_new(all, stage_name[k].key, json_real(m->seconds[k]));
    json_object_set_new(all, "waiting", json_real(m->waiting));
    return all;
}

static json_t *busy_json(const struct measured *m)
{
    json_t *all = json_object();
    for (int k = SAMPLING; k < STAGES; k++)
        json_object_set_new(all, stage_name[k].key, json_real(m->seconds[k]));
    return all;
}

/* The run with remedies 0 to i. */
static json_t *command_json(const struct measured *m, const struct advice *remedies, int i,
                            const char *folder)
{
    struct line l = {0};
    if (!remedies[i].option && !remedies[i].subcommand)
        return json_null();
    write_command(&l, m, &(struct remedies){remedies, i + 1}, folder);
    return json_string(l.text);
}

static json_t *further_json(const struct measured *m, const struct advice *remedies, int n,
                            const char *folder)
{
    json_t *all = json_array();
    for (int i = 1; i < n; i++)
        json_array_append_new(all, json_pack("{s:s, s:s?, s:o}", "sentence", remedies[i].text,
                                             "option", remedies[i].option, "command",
                                             command_json(m, remedies, i, folder)));
    return all;
}

json_t *explain_run(const json_t *summary, const char *folder)
{
    struct measured m;
    struct advice remedies[REMEDIES_MAX];
    char share[TEXT_MAX];
    char cause[TEXT_MAX];
    char doubt[TEXT_MAX];
    measure_run(&m, summary);
    const int n = find_remedies(&m, remedies);
    write_share(&m, share);
    write_cause(&m, cause);
    write_doubt(summary, doubt);
    return json_pack("{s:s, s:s?, s:s, s:f, s:o, s:o, s:[s, s, s], s:s?, s:o, s:o}", "run", folder,
                     "doubt", *doubt ? doubt : NULL, "stage", stage_name[m.largest].key, "seconds",
                     m.total, "seconds_by_stage", seconds_json(&m), "busy_seconds", busy_json(&m),
                     "sentences", share, cause, remedies[0].text, "option", remedies[0].option,
                     "command", command_json(&m, remedies, 0, folder), "further",
                     further_json(&m, remedies, n, folder));
}
