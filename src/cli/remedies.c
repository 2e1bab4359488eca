/* What would shorten a run: rules over its figures, a table, the best remedy of a stage first. */
#include "explain.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* The --memory that workers share, with so much more for each. */
static double with_more(const struct measured *m, double bytes)
{
    return m->processes * (memory_figure(m, "limit") + bytes);
}

/* What is free on the machine, or in a control group with less. */
static double most_memory(void)
{
    struct og_import *defaults;
    struct og_err err = {0};
    if (og_import_new(&defaults, &err) < 0)
        return 0;
    const double bytes = (double)og_import_memory(defaults);
    og_import_free(defaults);
    return bytes;
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
    const double every = number_of(m->config, "eval-every");
    return every > 0 && every <= number_of(m->config, "epochs");
}

/* --patience counts validations. */
static bool may_validate_less(const struct measured *m)
{
    return validates(m) && number_of(m->config, "patience") == 0;
}

static bool is_serial(const struct measured *m)
{
    return strcmp(text_of(m->config, "pipeline"), "none") == 0;
}

bool has_topology_on_disk(const struct measured *m)
{
    return strcmp(text_of(m->plan, "topology"), "disk") == 0;
}

static bool fits_topology(const struct measured *m)
{
    return has_topology_on_disk(m) &&
           memory_figure(m, "smallest") + number_of(m->plan, "topology_bytes") <=
               memory_figure(m, "limit");
}

static bool may_hold_topology(const struct measured *m)
{
    return has_topology_on_disk(m) && !fits_topology(m) &&
           with_more(m, number_of(m->plan, "topology_bytes")) <= most_memory();
}

static bool reads_nothing(const struct measured *m)
{
    return bytes_read(m) == 0;
}

static bool has_engine(const struct measured *m)
{
    return *text_of(m->requested, "io") && strcmp(text_of(m->requested, "io"), "auto") != 0;
}

/* Memory of the limit that the plan uses for nothing. */
static double unused_memory(const struct measured *m)
{
    const char *key;
    json_t *part;
    double left = memory_figure(m, "limit");
    json_object_foreach(json_object_get(m->plan, "memory"), key, part) left -=
        strcmp(key, "limit") != 0 && strcmp(key, "smallest") != 0 ? json_number_value(part) : 0;
    return left;
}

/* Memory that --cache leaves to no use. */
static bool is_capped(const struct measured *m)
{
    const json_t *cache = json_object_get(m->requested, "cache");
    return cache && !json_is_null(cache) && unused_memory(m) > rows_bytes(m) / 20;
}

/* No policy helps where batches and activations leave no memory for a cache. */
static bool has_no_cache(const struct measured *m)
{
    return unused_memory(m) + memory_figure(m, "feature cache") < rows_bytes(m) / 20 &&
           number_of(m->config, "batch") > 1;
}

static bool has_policy(const struct measured *m)
{
    return *text_of(m->requested, "policy") && !has_no_cache(m) &&
           json_array_size(json_object_get(m->plan, "candidates")) == 0;
}

static bool is_misjudged(const struct measured *m)
{
    const double predicted = number_of(json_object_get(m->plan, "predicted"), "seconds");
    return !json_is_true(json_object_get(m->plan, "disk_measured")) && predicted > 0 &&
           steady_figure(m, "seconds") > 2 * predicted;
}

static double memory_for_rows(const struct measured *m)
{
    const double missing = rows_bytes(m) - memory_figure(m, "feature cache");
    return fmin(with_more(m, fmax(0, missing)), most_memory());
}

static bool may_hold_more(const struct measured *m)
{
    return !is_capped(m) && memory_for_rows(m) > 1.1 * with_more(m, 0);
}

static bool is_adaptive(const struct measured *m)
{
    return strcmp(text_of(m->plan, "policy"), "degree") != 0;
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
    snprintf(a->value, sizeof(a->value), "memory");
    advise(a, "topology", "The topology takes %s. It fits in --memory.",
           shown_number("bytes", number_of(m->plan, "topology_bytes")));
}

static void add_memory_for_topology(const struct measured *m, struct advice *a)
{
    put_mebibytes(a, with_more(m, number_of(m->plan, "topology_bytes")));
    a->drops = "topology";
    advise(a, "memory", "With --memory %s the topology fits in memory too.", a->value);
}

static void add_memory_for_rows(const struct measured *m, struct advice *a)
{
    const double more = memory_for_rows(m) / m->processes - memory_figure(m, "limit");
    const double share = (memory_figure(m, "feature cache") + more) / rows_bytes(m);
    put_mebibytes(a, memory_for_rows(m));
    if (share >= 1)
        advise(a, "memory", "With --memory %s every feature row fits in memory.", a->value);
    else
        advise(a, "memory", "With --memory %s %.0f %% of the rows fit.", a->value, 100 * share);
}

static void reuse_batches(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "%.0f",
             2 * fmax(1, number_of(m->config, "resample-every")));
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
    advise(a, "cache", "--cache %s leaves a part of --memory unused.",
           shown_as(m->requested, "cache", "bytes"));
}

static void choose_engine(const struct measured *m, struct advice *a)
{
    advise(a, "io", "--io %s reads rows in random order slower than io_uring.",
           text_of(m->requested, "io"));
}

static void shrink_batches(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "%.0f", floor(number_of(m->config, "batch") / 2));
    a->drops = "policy";
    advise(a, "batch",
           "Batches leave memory for %.0f %% of the rows. --batch %s leaves more, and changes the "
           "results.",
           100 * fmax(0, unused_memory(m) + memory_figure(m, "feature cache")) / rows_bytes(m),
           a->value);
}

static void choose_policy(const struct measured *m, struct advice *a)
{
    snprintf(a->value, sizeof(a->value), "auto");
    advise(a, "policy", "--policy auto compares execution plans. %s was requested.",
           text_of(m->requested, "policy"));
}

static void measure_disk(const struct measured *m, struct advice *a)
{
    a->subcommand = "bench io --path";
    advise(a, NULL,
           "An epoch took %s, not %s: the plan assumed a common NVMe disk. Measure this one, then "
           "train again.",
           shown_number("seconds", steady_figure(m, "seconds")),
           shown_number("seconds", number_of(json_object_get(m->plan, "predicted"), "seconds")));
}

static void share_disks(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, NULL, "A faster disk helps, or several: see `outgrow help stripe`.");
}

static void validate_seldom(const struct measured *m, struct advice *a)
{
    const double every = number_of(m->config, "eval-every");
    const double epochs = number_of(m->config, "epochs");
    const bool less = 2 * every <= epochs;
    snprintf(a->value, sizeof(a->value), "%.0f", less ? fmin(fmax(5, 2 * every), epochs) : 0);
    advise(a, "eval-every",
           less ? "With --eval-every %s fewer epochs are validated."
                : "With --eval-every %s no epoch is validated. The last is tested.",
           a->value);
}

static void read_own_rows(const struct measured *m, struct advice *a)
{
    (void)m;
    advise(a, "exchange", "Without --exchange each worker reads all of its rows itself.");
}

static void train_longer(const struct measured *m, struct advice *a)
{
    (void)m;
    a->is_none = true;
    advise(a, NULL, "This happens once a run: its share is smaller with more epochs.");
}

static void leave_model(const struct measured *m, struct advice *a)
{
    (void)m;
    a->is_none = true;
    advise(a, NULL, "No option shortens that. A smaller model or a faster device would.");
}

static void leave(const struct measured *m, struct advice *a)
{
    (void)m;
    a->is_none = true;
    advise(a, NULL, "No option shortens that.");
}

/* The first rule of a stage that holds is the best remedy. Others that hold come after it. */
static const struct rule {
    enum stage stage;
    bool (*holds)(const struct measured *m);
    void (*advise)(const struct measured *m, struct advice *a);
} rules[] = {
    {PREPARING, always, train_longer},
    {EVALUATING, may_validate_less, validate_seldom},
    {EVALUATING, always, train_longer},
    {COMPUTING, has_idle_cores, use_cores},
    {COMPUTING, always, leave_model},
    {SAMPLING, is_serial, overlap},
    {SAMPLING, fits_topology, hold_topology},
    {SAMPLING, may_hold_topology, add_memory_for_topology},
    {SAMPLING, has_topology_on_disk, share_disks},
    {SAMPLING, has_idle_cores, use_cores},
    {SAMPLING, always, reuse_batches},
    {PLANNING, is_adaptive, plan_once},
    {PLANNING, always, leave},
    {READING, is_serial, overlap},
    {READING, reads_nothing, leave},
    {READING, is_capped, uncap},
    {READING, has_engine, choose_engine},
    {READING, has_policy, choose_policy},
    {READING, has_no_cache, shrink_batches},
    {READING, is_misjudged, measure_disk},
    {READING, may_hold_more, add_memory_for_rows},
    {READING, always, share_disks},
    {EXCHANGING, always, read_own_rows},
};

/* The stage to shorten. Waiting can be spared where computing cannot. */
static enum stage stage_to_shorten(const struct measured *m)
{
    const bool waits = m->largest == COMPUTING && m->waiting > 0.25 * m->seconds[COMPUTING];
    return waits ? m->waited_for : m->reads_to_evaluate ? READING : m->largest;
}

static bool is_listed(const struct advice *a, const struct advice *out, int n)
{
    for (int i = 0; a->option && i < n; i++)
        if (out[i].option && strcmp(out[i].option, a->option) == 0)
            return true;
    return false;
}

/* The remedies of a stage from number n on, the best first. Without any, the text that says so is
 * the first. */
static int add_remedies(const struct measured *m, enum stage stage, struct advice *out, int n)
{
    const int first = n;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && n < REMEDIES_MAX; i++) {
        struct advice a = {0};
        if (rules[i].stage != stage || !rules[i].holds(m))
            continue;
        rules[i].advise(m, &a);
        if ((!a.is_none || n == 0) && !is_listed(&a, out, n))
            out[n++] = a;
        if (a.is_none)
            break;
    }
    return n - first;
}

/* The longest of the stages that are not `done` and take a tenth of the run; STAGES = none. */
static enum stage next_stage(const struct measured *m, const bool done[STAGES])
{
    enum stage next = STAGES;
    for (enum stage k = PREPARING; k < STAGES; k++) {
        const bool waited_for = k < SAMPLING || (k == m->waited_for && m->waiting > 0.1 * m->total);
        if (!done[k] && waited_for && m->seconds[k] > 0.1 * m->total &&
            (next == STAGES || m->seconds[k] > m->seconds[next]))
            next = k;
    }
    return next;
}

/* All remedies of the stage to shorten. Then those of the longest other stage that has any. */
int find_remedies(const struct measured *m, struct advice *out)
{
    enum stage stage = stage_to_shorten(m);
    bool done[STAGES] = {false};
    const int n = add_remedies(m, stage, out, 0);
    int more = 0;
    while (stage != STAGES && n < REMEDIES_MAX && more == 0) {
        done[stage] = true;
        stage = next_stage(m, done);
        if (stage != STAGES)
            more = add_remedies(m, stage, out, n);
    }
    return n + (more > 0);
}
