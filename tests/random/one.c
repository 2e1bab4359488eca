/* A run: its files, its call, and what must hold of its counts and numbers. */
#include "one.h"

#include "../support/runs.h"
#include "workers.h"

#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

void path_in(const struct one *c, char out[MOST_PATH], const char *name, int number)
{
    if (number < 0)
        snprintf(out, MOST_PATH, "%s/%s", c->folder, name);
    else
        snprintf(out, MOST_PATH, "%s/%s-%d", c->folder, name, number);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

struct file file_read(const char *folder, const char *name)
{
    char path[MOST_PATH + 64];
    struct file f = {0};
    struct stat st;
    snprintf(path, sizeof(path), "%s%s%s", folder, *name ? "/" : "", name);
    FILE *in = fopen(path, "r");
    if (!in)
        return f;
    if (fstat(fileno(in), &st) == 0 && (f.data = malloc((size_t)st.st_size + 1)))
        f.size = fread(f.data, 1, (size_t)st.st_size, in);
    fclose(in);
    return f;
}

bool same_file(const struct file *a, const struct file *b)
{
    return !a->data == !b->data && a->size == b->size &&
           (!a->data || memcmp(a->data, b->data, a->size) == 0);
}

/* ---- calls ---- */

void apply(struct og_options **out, const struct settings *s)
{
    struct og_err err = {0};
    int rc = og_options_new(out, &err);
    for (int i = 0; i < s->n && rc == 0; i++)
        rc = og_options_set(*out, s->at[i].name, s->at[i].value, &err);
    if (rc == 0)
        return;
    fprintf(stderr, "random_runs: %s\n", err.message);
    exit(2);
}

struct settings both(const struct settings *numbers, const struct settings *way)
{
    struct settings all = *numbers;
    for (int i = 0; i < way->n; i++)
        settings_put(&all, way->at[i].name, "%s", way->at[i].value);
    return all;
}

struct stopper {
    volatile sig_atomic_t stop;
    int batches, training, at;
};

static void count_batch(void *arg, const struct og_progress *p)
{
    struct stopper *s = arg;
    s->training += strcmp(p->stage, "train") == 0;
    if (++s->batches == s->at)
        test_ask_stop(&s->stop);
}

static json_t *numbers_of(const json_t *summary)
{
    static const char *const kept[] = {"loss", "train_acc", "valid_acc", "valid_metrics"};
    static const char *const ends[] = {"best_epoch",    "valid_acc",    "test_acc",
                                       "valid_metrics", "test_metrics", "stopped_epoch",
                                       "stopped_by"};
    json_t *all = json_object();
    json_t *epochs = json_array();
    size_t i;
    json_t *epoch;
    json_array_foreach(json_object_get(summary, "epochs"), i, epoch)
    {
        json_t *e = json_object();
        for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
            json_object_set(e, kept[k], json_object_get(epoch, kept[k]));
        json_array_append_new(epochs, e);
    }
    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
        json_object_set(all, ends[k], json_object_get(summary, ends[k]));
    json_object_set_new(all, "epochs", epochs);
    return all;
}

void outcome_free(struct outcome *o)
{
    json_decref(o->summary);
    json_decref(o->numbers);
    free(o->checkpoint.data);
    free(o->best.data);
}

static json_t *summary_of(const char *run)
{
    char path[MOST_PATH + 64];
    snprintf(path, sizeof(path), "%s/summary.json", run);
    return json_load_file(path, 0, NULL);
}

static int train_here(struct one *c, const struct settings *all, int stop_at, struct og_err *err)
{
    struct stopper s = {.at = stop_at};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = count_batch, .stop = &s.stop};
    struct og_options *opt;
    apply(&opt, all);
    int rc = og_train(c->dataset, opt, &seen, NULL, err);
    if (!c->first) {
        c->n_batches = s.batches;
        c->n_training = s.training;
    }
    og_options_free(opt);
    return rc;
}

int train(struct one *c, const struct settings *way, const char *run, int stop_at,
          struct outcome *o)
{
    struct settings all = both(&c->numbers, way);
    struct og_err err = {0};
    settings_put(&all, "run", "%s", run);
    command_text(o->command, "train", c->dataset, &all);
    report_calling(c->number, o->command);
    c->report->runs++;
    int rc = settings_get(&all, "workers") || stop_at < 0 ? apart_train(c, &all, stop_at, &err)
                                                          : train_here(c, &all, stop_at, &err);
    if (rc == 0) {
        o->summary = summary_of(run);
        o->numbers = numbers_of(o->summary);
        o->checkpoint = file_read(run, "checkpoint.safetensors");
        o->best = file_read(run, "best.safetensors");
    } else if (rc != OG_INTERRUPTED) {
        report_refusal(c->report, &err, c->number, o->command);
    }
    return rc;
}

/* ---- what must hold ---- */

int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

void compare_numbers(struct one *c, const struct outcome *o)
{
    const struct outcome *first = c->first;
    if (!json_equal(o->numbers, first->numbers)) {
        char *a = json_dumps(first->numbers, JSON_COMPACT | JSON_REAL_PRECISION(17));
        char *b = json_dumps(o->numbers, JSON_COMPACT | JSON_REAL_PRECISION(17));
        report_wrong(c->report, c->number, o->command, first->command,
                     "losses or metrics:\n  %s\n  %s", a, b);
        free(a);
        free(b);
    }
    if (!same_file(&o->checkpoint, &first->checkpoint))
        report_wrong(c->report, c->number, o->command, first->command, "checkpoint.safetensors");
    if (!same_file(&o->best, &first->best))
        report_wrong(c->report, c->number, o->command, first->command, "best.safetensors");
}

static void check_epoch(struct one *c, const struct outcome *o, const json_t *e,
                        const json_t *first)
{
    const int64_t bytes = number(e, "feature_bytes_read") + number(e, "topology_bytes_read") +
                          number(e, "trace_bytes_read");
    if (number(e, "rows") != number(e, "hits") + number(e, "misses"))
        report_wrong(c->report, c->number, o->command, NULL, "rows are not hits + misses");
    if (number(e, "rows") != number(first, "rows"))
        report_wrong(c->report, c->number, o->command, c->first->command, "rows: %lld and %lld",
                     (long long)number(first, "rows"), (long long)number(e, "rows"));
    if (number(e, "bytes_read") != bytes)
        report_wrong(c->report, c->number, o->command, NULL,
                     "bytes_read is not the sum of its kinds");
}

void check_epochs(struct one *c, const struct outcome *o)
{
    const json_t *theirs = json_object_get(c->first->summary, "epochs");
    size_t i;
    json_t *epoch;
    json_array_foreach(json_object_get(o->summary, "epochs"), i, epoch)
        check_epoch(c, o, epoch, json_array_get(theirs, i));
}

static bool among(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

void check_prediction(struct one *c, const struct outcome *o)
{
    static const char *const keys[] = {"rows", "hits", "misses"};
    static const char *const prepare[] = {"frequency", "belady", "hybrid", "sweep", NULL};
    const json_t *plan = json_object_get(o->summary, "plan");
    const json_t *predicted = json_object_get(plan, "predicted");
    const json_t *epochs = json_object_get(o->summary, "epochs");
    const json_t *e = json_array_get(epochs, 0);
    const char *policy = json_string_value(json_object_get(plan, "policy"));
    if (json_is_array(json_object_get(o->summary, "workers")) || json_array_size(epochs) != 1 ||
        !json_is_integer(json_object_get(predicted, "rows")) || !among(policy, prepare) ||
        number(plan, "superbatch") < c->n_training)
        return;
    tally_add(&c->report->ways, "a prediction that is exact", c->number, o->command);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (number(predicted, keys[i]) != number(e, keys[i]))
            report_wrong(c->report, c->number, o->command, NULL, "%s: %lld predicted, %lld found",
                         keys[i], (long long)number(predicted, keys[i]),
                         (long long)number(e, keys[i]));
}

/* No intermediate file is left. */
static char leftover[MOST_PATH];

static int find_leftover(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *name = path + at->base;
    (void)st;
    (void)type;
    const bool left =
        strstr(name, ".tmp-") || strstr(name, ".part") || strncmp(name, "outgrow-", 8) == 0;
    if (left)
        snprintf(leftover, sizeof(leftover), "%s", path);
    return left;
}

void check_leftovers(struct one *c, const char *folder, const char *command)
{
    if (nftw(folder, find_leftover, 16, FTW_PHYS) > 0)
        report_wrong(c->report, c->number, command, NULL, "left: %s", leftover);
}
