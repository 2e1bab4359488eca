/* Why a run was slow: the stage with the largest share, and the option that would help. All figures
 * are those of its summary.json. */
#include "figure.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 512, COMMAND_MAX = 4096, MIB = 1 << 20 };

/* Where the time of a run goes. Training waits for the stages from SAMPLING to EXCHANGING, which
 * run in other threads. */
enum stage { PREPARING, COMPUTING, EVALUATING, SAMPLING, PLANNING, READING, EXCHANGING, STAGES };

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

struct measured {
    const json_t *summary, *plan, *config, *requested;
    double total, waiting;
    double seconds[STAGES]; /* of one thread; waiting of training is that of the longest */
    enum stage largest, waited_for;
    double processes, threads;
};

struct advice {
    char text[TEXT_MAX];
    const char *option;     /* the one to change; NULL = none */
    char value[SHOWN_MAX];  /* "" = leave it out */
    const char *drops;      /* a requested option that contradicts it; NULL = none */
    const char *subcommand; /* another command that helps, for the dataset; NULL = train */
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

static double figure_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}

static double total_of(const struct measured *m, const char *key)
{
    double sum = 0;
    size_t i;
    json_t *epoch;
    json_array_foreach(json_object_get(m->summary, "epochs"), i, epoch) sum +=
        figure_of(epoch, key);
    return sum;
}

/* Mean over steady epochs: all except the first, if there are two. */
static double steady(const struct measured *m, const char *key)
{
    const json_t *epochs = json_object_get(m->summary, "epochs");
    const size_t n = json_array_size(epochs);
    const double first = n > 1 ? figure_of(json_array_get(epochs, 0), key) : 0;
    return n > 0 ? (total_of(m, key) - first) / (double)(n > 1 ? n - 1 : n) : 0;
}

static double memory_of(const struct measured *m, const char *part)
{
    return figure_of(json_object_get(m->plan, "memory"), part);
}

/* Counters of an epoch are sums over workers, and over the threads of a stage. */
static void measure_stages(struct measured *m)
{
    const json_t *executors = json_object_get(m->summary, "executors");
    const double trainers = fmax(1, figure_of(executors, "trainers"));
    const double epochs = total_of(m, "seconds");
    const double stalled = total_of(m, "stall_seconds") / m->processes;
    double *s = m->seconds;
    s[PREPARING] = figure_of(json_object_get(m->summary, "prepare"), "seconds");
    s[EVALUATING] = total_of(m, "eval_seconds");
    s[COMPUTING] = fmin(total_of(m, "train_seconds") / m->processes / trainers, epochs - stalled);
    s[SAMPLING] =
        total_of(m, "sample_seconds") / m->processes / fmax(1, figure_of(m->plan, "samplers"));
    s[PLANNING] = total_of(m, "plan_seconds") / m->processes;
    s[READING] = total_of(m, "gather_seconds") / m->processes;
    s[EXCHANGING] = total_of(m, "exchange_seconds") / m->processes;
    /* nothing overlaps with what is done before the batches of a superbatch */
    m->waiting = epochs - s[COMPUTING];
    if (figure_of(m->plan, "superbatch") == 0)
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
                           .total = figure_of(summary, "seconds")};
    m->processes = fmax(1, (double)json_array_size(json_object_get(summary, "workers")));
    m->threads = figure_of(m->config, "threads");
    measure_stages(m);
    m->largest = longest(m, PREPARING, EVALUATING);
    m->waited_for = longest(m, SAMPLING, EXCHANGING);
    if (m->waiting > m->seconds[m->largest])
        m->largest = m->waited_for;
}

/* ---- what would help ---- */

static double rows_bytes(const struct measured *m)
{
    double sum = 0;
    size_t i;
    json_t *type;
    json_array_foreach(json_object_get(m->plan, "types"), i, type) sum +=
        figure_of(type, "nodes") * figure_of(type, "row_bytes");
    return sum;
}

/* The --memory that workers share, with so much more for each. */
static double with_more(const struct measured *m, double bytes)
{
    return m->processes * (memory_of(m, "limit") + bytes);
}

static double most_memory(void)
{
    return 0.9 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static int own_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static bool always(const struct measured *m)
{
    (void)m;
    return true;
}

static bool has_idle_cores(const struct measured *m)
{
    return m->threads > 0 && m->threads * m->processes < own_cores();
}

/* Besides the test after the last epoch. */
static bool validates(const struct measured *m)
{
    const double every = figure_of(m->config, "eval-every");
    return every > 0 && 2 * every <= figure_of(m->config, "epochs");
}

static bool is_serial(const struct measured *m)
{
    return strcmp(word_of(m->config, "pipeline"), "none") == 0;
}

static bool is_on_disk(const struct measured *m)
{
    return strcmp(word_of(m->plan, "topology"), "disk") == 0;
}

static bool fits_topology(const struct measured *m)
{
    return is_on_disk(m) &&
           memory_of(m, "smallest") + figure_of(m->plan, "topology_bytes") <= memory_of(m, "limit");
}

static bool may_hold_topology(const struct measured *m)
{
    return is_on_disk(m) && with_more(m, figure_of(m->plan, "topology_bytes")) <= most_memory();
}

/* For its rows and their places in the batches. */
static double bytes_read(const struct measured *m)
{
    return steady(m, "feature_bytes_read") + steady(m, "prepare_bytes_read") +
           steady(m, "trace_bytes_read");
}

static bool reads_nothing(const struct measured *m)
{
    return bytes_read(m) == 0;
}

static bool has_engine(const struct measured *m)
{
    return *word_of(m->requested, "io") && strcmp(word_of(m->requested, "io"), "auto") != 0;
}

/* Memory that --cache leaves to no use. */
static bool is_capped(const struct measured *m)
{
    const char *key;
    json_t *part;
    double left = memory_of(m, "limit");
    if (json_is_null(json_object_get(m->requested, "cache")) ||
        !json_object_get(m->requested, "cache"))
        return false;
    json_object_foreach(json_object_get(m->plan, "memory"), key, part) left -=
        strcmp(key, "limit") != 0 && strcmp(key, "smallest") != 0 ? json_number_value(part) : 0;
    return left > rows_bytes(m) / 20;
}

static bool has_policy(const struct measured *m)
{
    return *word_of(m->requested, "policy") &&
           json_array_size(json_object_get(m->plan, "candidates")) == 0;
}

static bool is_misjudged(const struct measured *m)
{
    const double predicted = figure_of(json_object_get(m->plan, "predicted"), "seconds");
    return !json_is_true(json_object_get(m->plan, "disk_measured")) && predicted > 0 &&
           steady(m, "seconds") > 2 * predicted;
}

/* Memory for all rows, or what there is. */
static double memory_for_rows(const struct measured *m)
{
    const double missing = rows_bytes(m) - memory_of(m, "feature cache");
    return fmin(with_more(m, fmax(0, missing)), most_memory());
}

static bool may_hold_more(const struct measured *m)
{
    return memory_for_rows(m) > 1.1 * with_more(m, 0);
}

static bool is_adaptive(const struct measured *m)
{
    return strcmp(word_of(m->plan, "policy"), "degree") != 0;
}

static __attribute__((format(printf, 3, 4))) void advise(struct advice *a, const char *option,
                                                         const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof(a->text), fmt, ap);
    va_end(ap);
    a->option = option;
}

static void put_mebibytes(struct advice *a, double bytes)
{
    snprintf(a->value, sizeof(a->value), "%.0fM", ceil(bytes / MIB));
}

static void use_cores(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "%.0f", floor(own_cores() / m->processes));
    advise(a, "threads", "The run used %.0f of %d CPU cores.", m->threads * m->processes,
           own_cores());
}

static void overlap(const struct measured *m, struct advice *a)
{
    (void)m;
    snprintf(a->value, sizeof(a->value), "batches");
    advise(a, "pipeline", "With --pipeline none no stage overlaps with training.");
}

static void hold_topology(const struct measured *m, struct advice *a)
{
    char bytes[SHOWN_MAX];
    snprintf(a->value, sizeof(a->value), "memory");
    advise(a, "topology", "The topology takes %s. It fits in --memory.",
           shown_number(bytes, "bytes", figure_of(m->plan, "topology_bytes")));
}

static void add_memory_for_topology(const struct measured *m, struct advice *a)
{
    put_mebibytes(a, with_more(m, figure_of(m->plan, "topology_bytes")));
    a->drops = "topology";
    advise(a, "memory", "With --memory %s the topology fits in memory too.", a->value);
}

static void add_memory_for_rows(const struct measured *m, struct advice *a)
{
    const double more = memory_for_rows(m) / m->processes - memory_of(m, "limit");
    const double share = (memory_of(m, "feature cache") + more) / rows_bytes(m);
    put_mebibytes(a, memory_for_rows(m));
    if (share >= 1)
        advise(a, "memory", "With --memory %s every feature row fits in memory.", a->value);
    else
        advise(a, "memory", "With --memory %s %.0f %% of the rows fit.", a->value, 100 * share);
}

static void reuse_batches(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "%.0f",
             2 * fmax(1, figure_of(m->config, "resample-every")));
    advise(a, "resample-every",
           "With --resample-every %s epochs share batches. This changes the results.", a->value);
}

static void plan_once(const struct measured *m, struct advice *a)
{
    (void)m;
    snprintf(a->value, sizeof(a->value), "degree");
    advise(a, "policy", "--policy degree selects the rows to cache once.");
}

static void uncap(const struct measured *m, struct advice *a)
{
    char value[SHOWN_MAX];
    advise(a, "cache", "--cache %s leaves a part of --memory unused.",
           show_value(value, "bytes", json_object_get(m->requested, "cache")));
}

static void choose_engine(const struct measured *m, struct advice *a)
{
    advise(a, "io", "--io %s reads rows in random order slower than io_uring.",
           word_of(m->requested, "io"));
}

static void choose_policy(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "auto");
    advise(a, "policy", "--policy auto compares execution plans. %s was requested.",
           word_of(m->requested, "policy"));
}

static void measure_disk(const struct measured *m, struct advice *a)
{
    char predicted[SHOWN_MAX];
    char seconds[SHOWN_MAX];
    a->subcommand = "bench io --path";
    advise(a, NULL,
           "An epoch took %s, not %s: the plan assumed a common NVMe disk. Measure this one first.",
           shown_number(seconds, "seconds", steady(m, "seconds")),
           shown_number(predicted, "seconds",
                        figure_of(json_object_get(m->plan, "predicted"), "seconds")));
}

static void share_disks(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, NULL, "A faster disk helps, or several: see `outgrow help stripe`.");
}

static void validate_seldom(const struct measured *m, struct advice *a)
{
    const double often = fmax(5, 2 * figure_of(m->config, "eval-every"));
    snprintf(a->value, sizeof(a->value), "%.0f", fmin(often, figure_of(m->config, "epochs")));
    advise(a, "eval-every", "With --eval-every %s fewer epochs are validated.", a->value);
}

static void read_own_rows(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, "exchange", "Without --exchange each worker reads all of its rows itself.");
}

static void train_longer(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, NULL, "This happens once a run: its share is smaller with more epochs.");
}

static void leave_model(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, NULL, "No option helps. A smaller model or a faster device would.");
}

static void leave(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, NULL, "No option helps.");
}

/* The first rule of a stage that holds counts. */
static const struct rule {
    enum stage stage;
    bool (*holds)(const struct measured *m);
    void (*advise)(const struct measured *m, struct advice *a);
} rules[] = {
    {PREPARING, always, train_longer},
    {EVALUATING, validates, validate_seldom},
    {EVALUATING, always, train_longer},
    {COMPUTING, has_idle_cores, use_cores},
    {COMPUTING, always, leave_model},
    {SAMPLING, is_serial, overlap},
    {SAMPLING, fits_topology, hold_topology},
    {SAMPLING, may_hold_topology, add_memory_for_topology},
    {SAMPLING, is_on_disk, share_disks},
    {SAMPLING, has_idle_cores, use_cores},
    {SAMPLING, always, reuse_batches},
    {PLANNING, is_adaptive, plan_once},
    {PLANNING, always, leave},
    {READING, is_serial, overlap},
    {READING, reads_nothing, leave},
    {READING, is_capped, uncap},
    {READING, has_engine, choose_engine},
    {READING, has_policy, choose_policy},
    {READING, is_misjudged, measure_disk},
    {READING, may_hold_more, add_memory_for_rows},
    {READING, always, share_disks},
    {EXCHANGING, always, read_own_rows},
};

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

/* Parameters of a choice go with it. */
static bool is_left_out(const struct advice *a, const struct og_option *row)
{
    const char *name = row->name;
    static const char *const own_of_a_run[] = {"run", "resume", "trace-timeline"};
    for (size_t i = 0; i < sizeof(own_of_a_run) / sizeof(*own_of_a_run); i++)
        if (strcmp(name, own_of_a_run[i]) == 0)
            return true;
    return (a->option &&
            (strcmp(name, a->option) == 0 || (row->of && strcmp(row->of, a->option) == 0))) ||
           (a->drops && strcmp(name, a->drops) == 0);
}

static void add_option(struct line *l, const char *name, const char *value)
{
    add_text(l, " --");
    add_text(l, name);
    if (value)
        add_word(l, value);
}

static void add_requested(struct line *l, const struct measured *m, const struct advice *a)
{
    char text[TEXT_MAX];
    const struct og_option *row;
    for (size_t i = 0; (row = og_option(i)); i++) {
        const json_t *value = json_object_get(m->requested, row->name);
        if (!value || json_is_null(value) || json_is_false(value) || is_left_out(a, row))
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
static void write_command(struct line *l, const struct measured *m, const struct advice *a,
                          const char *folder)
{
    char config[TEXT_MAX];
    const char *path = word_of(m->summary, "dataset_path");
    add_text(l, "outgrow ");
    add_text(l, a->subcommand ? a->subcommand : "train");
    add_word(l, *path ? path : word_of(m->summary, "dataset"));
    if (a->subcommand)
        return;
    snprintf(config, sizeof(config), "%s/config.yaml", folder);
    if (m->requested)
        add_requested(l, m, a);
    else
        add_option(l, "config", config);
    if (*a->value)
        add_option(l, a->option, a->value);
    add_new_folder(l, folder);
}

/* ---- in words ---- */

static void write_share(const struct measured *m, char out[TEXT_MAX])
{
    char total[SHOWN_MAX];
    char part[SHOWN_MAX];
    const bool waits = m->largest >= SAMPLING;
    const double seconds = waits ? m->waiting : m->seconds[m->largest];
    snprintf(out, TEXT_MAX, "%s%s took the largest share: %s of %s (%.0f %%).",
             waits ? "Waiting for " : "", stage_name[m->largest].object,
             shown_number(part, "seconds", seconds), shown_number(total, "seconds", m->total),
             100 * seconds / m->total);
}

static void write_cause(const struct measured *m, char out[TEXT_MAX])
{
    char a[SHOWN_MAX];
    char b[SHOWN_MAX];
    const json_t *prepare = json_object_get(m->summary, "prepare");
    if (m->largest == PREPARING)
        snprintf(out, TEXT_MAX, "It read %s and wrote %s before the first batch.",
                 shown_number(a, "bytes", figure_of(prepare, "bytes_read")),
                 shown_number(b, "bytes", figure_of(prepare, "bytes_written")));
    else if (m->largest == READING && !reads_nothing(m))
        snprintf(out, TEXT_MAX, "An epoch reads %s for its rows. Memory holds %.0f %% of all rows.",
                 shown_number(a, "bytes", bytes_read(m)),
                 100 * fmin(1, memory_of(m, "feature cache") / rows_bytes(m)));
    else if (m->largest == SAMPLING && is_on_disk(m))
        snprintf(out, TEXT_MAX, "An epoch reads %s of adjacency lists. The topology is on disk.",
                 shown_number(a, "bytes", steady(m, "topology_bytes_read")));
    else if (m->largest >= SAMPLING)
        snprintf(out, TEXT_MAX, "That stage was busy for %s in each thread.",
                 shown_number(a, "seconds", m->seconds[m->largest]));
    else
        snprintf(out, TEXT_MAX, "Training waited %s for its batches, mostly for %s.",
                 shown_number(a, "seconds", m->waiting), stage_name[m->waited_for].object);
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

/* Waiting can be spared where computing cannot. */
static const struct rule *find_rule(const struct measured *m)
{
    const struct rule *rule = rules;
    const bool waits = m->largest == COMPUTING && m->waiting > 0.25 * m->seconds[COMPUTING];
    const enum stage stage = waits ? m->waited_for : m->largest;
    while (rule->stage != stage || !rule->holds(m))
        rule++;
    return rule;
}

json_t *explain_run(const json_t *summary, const char *folder)
{
    struct measured m;
    struct advice a = {0};
    struct line l = {0};
    char share[TEXT_MAX];
    char cause[TEXT_MAX];
    measure_run(&m, summary);
    find_rule(&m)->advise(&m, &a);
    write_share(&m, share);
    write_cause(&m, cause);
    if (a.option || a.subcommand)
        write_command(&l, &m, &a, folder);
    return json_pack("{s:s, s:s, s:f, s:o, s:o, s:[s, s, s], s:s?, s:s?}", "run", folder, "stage",
                     stage_name[m.largest].key, "seconds", m.total, "seconds_by_stage",
                     seconds_json(&m), "busy_seconds", busy_json(&m), "sentences", share, cause,
                     a.text, "option", a.option, "command", l.used > 0 ? l.text : NULL);
}
