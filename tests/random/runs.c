/* Random tiny graphs, each trained on in several ways that must not change a bit.
 *
 *   random_runs SEED COUNT [--first GRAPH] [--keep DIR] [--all]
 *
 * COUNT runs at least, on graphs GRAPH [0], GRAPH + 1, ...; graph number i of a seed is the same
 * whatever came before. A graph's first run has everything in memory; the others draw a policy, a
 * cache, a layout, an engine, threads, a place for the structure, a preset, batches sampled
 * beforehand, or are stopped and resumed in another way. Losses, metrics and checkpoints must be
 * those of the first, and counts must add up. On a part of the graphs predictions and evaluations
 * in several ways, and the simulation beside a run. What is refused must say why and what to do; it
 * is counted. Exit status 1 if anything was wrong; then --keep DIR leaves the graphs and the runs
 * for the commands that are printed. */
#include "graph.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PATH = 400 };

/* A graph under way. */
struct one {
    struct report *report;
    uint64_t number;
    struct draw draw;
    struct graph graph;
    char folder[256];
    char dataset[MOST_PATH];
    struct settings numbers;
    bool sampled; /* is there a folder of samples? */
    int n_runs;
    int n_batches, n_training; /* of the first run, with those of evaluations and without */
    struct outcome *first;
};

struct file {
    char *data;
    size_t size;
};

struct outcome {
    json_t *summary;
    json_t *numbers;
    struct file checkpoint, best;
    char command[MOST_COMMAND];
};

/* ---- files ---- */

static void path_in(const struct one *c, char out[MOST_PATH], const char *name, int number)
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

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Nothing where there is no such file. */
static struct file file_read(const char *folder, const char *name)
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

static bool same_file(const struct file *a, const struct file *b)
{
    return !a->data == !b->data && a->size == b->size &&
           (!a->data || memcmp(a->data, b->data, a->size) == 0);
}

/* ---- calls ---- */

static void apply(struct og_options *opt, const struct settings *s)
{
    struct og_err err = {0};
    og_options_init(opt);
    for (int i = 0; i < s->n; i++) {
        if (og_options_set(opt, s->at[i].name, s->at[i].value, &err) < 0) {
            fprintf(stderr, "random_runs: %s: %s\n", s->at[i].name, err.message);
            exit(2);
        }
    }
}

static struct settings both(const struct settings *numbers, const struct settings *way)
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
        s->stop = 1;
}

static json_t *numbers_of(const json_t *summary)
{
    static const char *const kept[] = {"loss", "train_acc", "valid_acc", "valid_metrics"};
    static const char *const ends[] = {"best_epoch", "valid_acc", "test_acc", "valid_metrics",
                                       "test_metrics"};
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

static void outcome_free(struct outcome *o)
{
    json_decref(o->summary);
    json_decref(o->numbers);
    free(o->checkpoint.data);
    free(o->best.data);
}

/* 0, OG_INTERRUPTED or another code, which is counted as refused. stop_at: after so many batches;
 * 0 = never. */
static int train(struct one *c, const struct settings *way, const char *run, int stop_at,
                 struct outcome *o)
{
    struct stopper s = {.at = stop_at};
    const struct og_observer seen = {.arg = &s, .progress = count_batch, .stop = &s.stop};
    struct settings all = both(&c->numbers, way);
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    settings_put(&all, "run", "%s", run);
    apply(&opt, &all);
    command_text(o->command, "train", c->dataset, &all);
    report_calling(c->number, o->command);
    c->report->runs++;
    int rc = og_train(c->dataset, &opt, &seen, &text, &err);
    if (!c->first) {
        c->n_batches = s.batches;
        c->n_training = s.training;
    }
    og_options_release(&opt);
    if (rc == 0) {
        o->summary = json_loads(text, 0, NULL);
        o->numbers = numbers_of(o->summary);
        o->checkpoint = file_read(run, "checkpoint.safetensors");
        o->best = file_read(run, "best.safetensors");
    } else if (rc != OG_INTERRUPTED) {
        report_refusal(c->report, &err, c->number, o->command);
    }
    free(text);
    return rc;
}

/* ---- what must hold ---- */

static int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void compare_numbers(struct one *c, const struct outcome *o)
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

static void check_epochs(struct one *c, const struct outcome *o)
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

/* Of a single epoch, planned as a whole before it begins, everything is known. */
static void check_prediction(struct one *c, const struct outcome *o)
{
    static const char *const keys[] = {"rows", "hits", "misses"};
    static const char *const prepare[] = {"frequency", "belady", "hybrid", "sweep", NULL};
    const json_t *plan = json_object_get(o->summary, "plan");
    const json_t *predicted = json_object_get(plan, "predicted");
    const json_t *epochs = json_object_get(o->summary, "epochs");
    const json_t *e = json_array_get(epochs, 0);
    const char *policy = json_string_value(json_object_get(plan, "policy"));
    if (json_array_size(epochs) != 1 || !json_is_integer(json_object_get(predicted, "rows")) ||
        !among(policy, prepare) || number(plan, "superbatch") < c->n_training)
        return;
    tally_add(&c->report->ways, "a prediction that is exact", c->number, o->command);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (number(predicted, keys[i]) != number(e, keys[i]))
            report_wrong(c->report, c->number, o->command, NULL, "%s: %lld predicted, %lld found",
                         keys[i], (long long)number(predicted, keys[i]),
                         (long long)number(e, keys[i]));
}

/* Of what is made on the way nothing is left. */
static int find_leftover(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *name = path + at->base;
    (void)st;
    (void)type;
    return strstr(name, ".tmp-") || strstr(name, ".part") || strncmp(name, "outgrow-", 8) == 0;
}

static void check_leftovers(struct one *c, const char *folder, const char *command)
{
    if (nftw(folder, find_leftover, 16, FTW_PHYS) > 0)
        report_wrong(c->report, c->number, command, NULL, "something is left in %s", folder);
}

/* ---- ways ---- */

/* The least memory that the plan says would do. */
static void take_least_memory(struct one *c, struct settings *way)
{
    struct settings all = both(&c->numbers, way);
    struct og_options opt;
    struct og_err err = {0};
    char command[MOST_COMMAND];
    char *text = NULL;
    apply(&opt, &all);
    command_text(command, "plan", c->dataset, &all);
    report_calling(c->number, command);
    c->report->others++;
    if (og_plan(c->dataset, &opt, NULL, &text, &err) == 0) {
        json_t *plan = json_loads(text, 0, NULL);
        int64_t least = number(json_object_get(plan, "memory"), "smallest");
        settings_put(way, "memory", "%lld", (long long)least);
        json_decref(plan);
    } else {
        report_refusal(c->report, &err, c->number, command);
    }
    og_options_release(&opt);
    free(text);
}

/* Samples of the graph's batches, made once, and what their caches miss beside them. */
static void make_samples(struct one *c)
{
    struct settings plain = {0};
    struct og_options opt;
    struct og_err err = {0};
    char path[MOST_PATH];
    char arguments[2 * MOST_PATH + 16];
    char command[MOST_COMMAND];
    path_in(c, path, "samples", -1);
    options_plain(&plain);
    struct settings all = both(&c->numbers, &plain);
    apply(&opt, &all);
    snprintf(arguments, sizeof(arguments), "%s --out %s", c->dataset, path);
    command_text(command, "sample", arguments, &all);
    report_calling(c->number, command);
    c->report->others++;
    c->sampled = og_sample(c->dataset, path, false, &opt, NULL, &err) == 0;
    if (!c->sampled)
        report_refusal(c->report, &err, c->number, command);
    og_options_release(&opt);
}

static void pack_samples(struct one *c)
{
    struct settings way = {0};
    struct og_options opt;
    struct og_err err = {0};
    char command[MOST_COMMAND];
    char path[MOST_PATH];
    char *text = NULL;
    path_in(c, path, "samples", -1);
    settings_put(&way, "cache", "%s", DRAW_WORD(&c->draw, "0", "5%", "20%", "60%"));
    settings_put(&way, "samples", "%s", path);
    settings_put(&way, "memory", "160M");
    struct settings all = both(&c->numbers, &way);
    apply(&opt, &all);
    command_text(command, "pack", c->dataset, &all);
    report_calling(c->number, command);
    c->report->others++;
    if (og_pack(c->dataset, &opt, NULL, &text, &err) < 0)
        report_refusal(c->report, &err, c->number, command);
    og_options_release(&opt);
    free(text);
}

static void draw_way(struct one *c, struct settings *way)
{
    char path[MOST_PATH];
    *way = (struct settings){0};
    options_strategy(way, &c->draw);
    if (draw_chance(&c->draw, 50)) {
        path_in(c, path, "scratch", -1);
        mkdir(path, 0777);
        settings_put(way, "scratch", "%s", path);
    }
    if (c->sampled && draw_chance(&c->draw, 40)) {
        path_in(c, path, "samples", -1);
        settings_put(way, "samples", "%s", path);
    }
    if (draw_chance(&c->draw, 15))
        settings_put(way, "log-every", "1");
    if (draw_chance(&c->draw, 10))
        settings_put(way, "checkpoint-every", "0");
    if (draw_chance(&c->draw, 80))
        return;
    if (draw_chance(&c->draw, 80)) { /* then caches get what is left */
        settings_drop(way, "cache");
        settings_drop(way, "neighbor-cache");
    }
    take_least_memory(c, way);
}

/* Stopped once or more, and resumed in another way each time. */
static int train_with_stops(struct one *c, const struct settings *way, const char *run,
                            struct outcome *o)
{
    struct settings other;
    int rc = train(c, way, run, draw_from(&c->draw, 1, c->n_batches), o);
    for (int tries = 0; tries < 4 && rc == OG_INTERRUPTED; tries++) {
        draw_way(c, &other);
        settings_put(&other, "resume", "true");
        rc = train(c, &other, run, tries < 2 ? draw_from(&c->draw, 1, 2 * c->n_batches) : 0, o);
        if (rc < 0 && rc != OG_INTERRUPTED) /* refused: on as at first */
            rc = OG_INTERRUPTED;
    }
    return rc;
}

static void note_way(struct one *c, const struct outcome *o)
{
    const json_t *plan = json_object_get(o->summary, "plan");
    char text[160];
    snprintf(text, sizeof(text), "%s, %s, topology %s%s",
             json_string_value(json_object_get(plan, "policy")),
             json_string_value(json_object_get(plan, "layout")),
             json_string_value(json_object_get(plan, "topology")),
             json_is_true(json_object_get(plan, "alternates")) ? ", in turns" : "");
    tally_add(&c->report->ways, text, c->number, o->command);
    if (strstr(o->command, "--resume"))
        tally_add(&c->report->ways, "a run that was resumed", c->number, o->command);
    if (strstr(o->command, "--samples"))
        tally_add(&c->report->ways, "a run on samples", c->number, o->command);
}

static void train_another_way(struct one *c)
{
    struct settings way;
    struct outcome o = {0};
    char run[MOST_PATH];
    const bool stopped = c->n_batches > 0 && draw_chance(&c->draw, 25);
    path_in(c, run, "run", c->n_runs++);
    draw_way(c, &way);
    int rc = stopped ? train_with_stops(c, &way, run, &o) : train(c, &way, run, 0, &o);
    if (rc == 0) {
        note_way(c, &o);
        compare_numbers(c, &o);
        check_epochs(c, &o);
        if (!stopped)
            check_prediction(c, &o);
    }
    if (rc != OG_INTERRUPTED)
        check_leftovers(c, c->folder, o.command);
    outcome_free(&o);
}

/* ---- checking ---- */

struct findings {
    struct one *c;
    const char *command;
};

static void note_finding(void *arg, const char *text, const char *hint)
{
    const struct findings *f = arg;
    (void)hint;
    if (strstr(text, "another split") || strstr(text, "more like it"))
        return; /* they are drawn to be */
    report_wrong(f->c->report, f->c->number, f->command, NULL, "%s", text);
}

/* Nothing is wrong with the graph, nor with what was sampled and packed of it. */
static void verify(struct one *c)
{
    char samples[MOST_PATH];
    char command[MOST_COMMAND];
    const struct settings none = {0};
    struct findings f = {c, command};
    struct og_err err = {0};
    path_in(c, samples, "samples", -1);
    command_text(command, "verify", c->sampled ? samples : c->dataset, &none);
    report_calling(c->number, command);
    c->report->others++;
    int n = c->sampled ? og_verify_samples(samples, c->dataset, note_finding, &f, NULL, &err)
                       : og_verify_hints(c->dataset, note_finding, &f, NULL, &err);
    if (n < 0)
        report_refusal(c->report, &err, c->number, command);
}

/* ---- simulation ---- */

static void compare_simulation(struct one *c, const struct outcome *o, const json_t *result,
                               const char *command)
{
    static const char *const keys[] = {"rows", "hits", "misses", "prefill"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        int64_t sum = 0;
        size_t i;
        json_t *epoch;
        json_array_foreach(json_object_get(o->summary, "epochs"), i, epoch) sum +=
            number(epoch, keys[k]);
        if (sum != number(result, keys[k]) && strcmp(keys[k], "prefill") != 0)
            report_wrong(c->report, c->number, o->command, command,
                         "%s: %lld in the run, %lld simulated", keys[k], (long long)sum,
                         (long long)number(result, keys[k]));
    }
}

static void simulate(struct one *c)
{
    struct settings way = {0};
    struct outcome o = {0};
    struct og_options opt;
    struct og_err err = {0};
    char run[MOST_PATH];
    char command[MOST_COMMAND];
    char *text = NULL;
    const char *policy = DRAW_WORD(&c->draw, "random", "degree", "presc:2", "pagerank", "frequency",
                                   "lru", "rr", "belady", "hybrid", "sweep");
    const char *cache = DRAW_WORD(&c->draw, "0", "3%", "10%", "40%", "100%");
    settings_put(&way, "eval-every", "0");
    settings_put(&way, "memory", "160M");
    settings_put(&way, "superbatch", "%s", DRAW_WORD(&c->draw, "all", "2", "5"));
    struct settings all = both(&c->numbers, &way);
    command_text(command, "simulate", c->dataset, &all);
    snprintf(command + strlen(command), sizeof(command) - strlen(command),
             " --policy %s --cache %s", policy, cache);
    apply(&opt, &all);
    report_calling(c->number, command);
    c->report->others++;
    int rc = og_simulate(c->dataset, policy, cache, &opt, NULL, &text, &err);
    og_options_release(&opt);
    settings_put(&way, "policy", "%s", policy);
    settings_put(&way, "cache", "%s", cache);
    settings_put(&way, "layout", "raw");
    path_in(c, run, "run", c->n_runs++);
    if (rc < 0) {
        report_refusal(c->report, &err, c->number, command);
    } else if (train(c, &way, run, 0, &o) == 0) {
        json_t *results = json_loads(text, 0, NULL);
        compare_simulation(c, &o, json_array_get(json_object_get(results, "results"), 0), command);
        json_decref(results);
    }
    outcome_free(&o);
    free(text);
}

/* ---- a trained model ---- */

struct prediction {
    struct file out, embeddings;
    char command[MOST_COMMAND];
};

/* Of links, and of a single layer, there are no further embeddings. */
static bool predict_once(struct one *c, const char *checkpoint, int number, struct prediction *p)
{
    struct settings way = {0};
    struct og_options opt;
    struct og_err err = {0};
    char out[MOST_PATH];
    char embeddings[MOST_PATH];
    char arguments[4 * MOST_PATH];
    const bool links = settings_are(&c->numbers, "task", "link");
    const bool two = !links && strchr(settings_get(&c->numbers, "fanout"), ',');
    path_in(c, out, "out", number);
    path_in(c, embeddings, "embeddings", number);
    options_of_inference(&way, &c->draw);
    snprintf(arguments, sizeof(arguments), "%s --checkpoint %s --out %s", c->dataset, checkpoint,
             out);
    command_text(p->command, "predict", arguments, &way);
    report_calling(c->number, p->command);
    c->report->others++;
    apply(&opt, &way);
    int rc =
        og_predict(c->dataset, checkpoint, out, two ? embeddings : NULL, &opt, NULL, NULL, &err);
    og_options_release(&opt);
    if (rc < 0)
        report_refusal(c->report, &err, c->number, p->command);
    else
        p->out = file_read(out, "");
    if (rc == 0 && two)
        p->embeddings = file_read(embeddings, "");
    return rc == 0;
}

static void prediction_free(struct prediction *p)
{
    free(p->out.data);
    free(p->embeddings.data);
}

/* The same bytes each time. */
static void predict(struct one *c, const char *checkpoint)
{
    struct prediction first = {0};
    for (int i = 0; i < 3; i++) {
        struct prediction now = {0};
        if (predict_once(c, checkpoint, i, &now) && !first.out.data) {
            first = now;
            continue;
        }
        if (now.out.data &&
            (!same_file(&first.out, &now.out) || !same_file(&first.embeddings, &now.embeddings)))
            report_wrong(c->report, c->number, now.command, first.command, "predictions");
        prediction_free(&now);
    }
    prediction_free(&first);
}

struct evaluation {
    const char *checkpoint, *split;
    bool full;
};

static json_t *evaluate_once(struct one *c, const struct evaluation *e, const struct settings *all,
                             char command[MOST_COMMAND])
{
    struct og_options opt;
    struct og_err err = {0};
    char arguments[4 * MOST_PATH];
    char *text = NULL;
    snprintf(arguments, sizeof(arguments), "%s --checkpoint %s --split %s%s", c->dataset,
             e->checkpoint, e->split, e->full ? " --full" : "");
    command_text(command, "eval", arguments, all);
    report_calling(c->number, command);
    c->report->others++;
    apply(&opt, all);
    int rc = (e->full ? og_eval_full : og_eval)(c->dataset, e->checkpoint, e->split, &opt, NULL,
                                                &text, &err);
    og_options_release(&opt);
    if (rc < 0)
        report_refusal(c->report, &err, c->number, command);
    json_t *told = rc == 0 ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return told;
}

static void evaluate(struct one *c, const struct evaluation *e)
{
    static const char *const keys[] = {"loss", "acc", "metrics", "nodes", "labelled"};
    json_t *first = NULL;
    char beside[MOST_COMMAND];
    char command[MOST_COMMAND];
    for (int i = 0; i < 3; i++) {
        struct settings way = {0};
        if (e->full)
            options_of_inference(&way, &c->draw);
        else
            options_strategy(&way, &c->draw);
        struct settings all = e->full ? way : both(&c->numbers, &way);
        json_t *now = evaluate_once(c, e, &all, command);
        for (size_t k = 0; first && now && k < sizeof(keys) / sizeof(keys[0]); k++)
            if (json_object_get(first, keys[k]) &&
                !json_equal(json_object_get(first, keys[k]), json_object_get(now, keys[k])))
                report_wrong(c->report, c->number, command, beside, "%s of the evaluation",
                             keys[k]);
        if (now && !first) {
            first = json_incref(now);
            memcpy(beside, command, sizeof(beside));
        }
        json_decref(now);
    }
    json_decref(first);
}

static void use_model(struct one *c)
{
    char checkpoint[MOST_PATH + 64];
    const bool links = settings_are(&c->numbers, "task", "link");
    snprintf(checkpoint, sizeof(checkpoint), "%s/run-0/checkpoint.safetensors", c->folder);
    const struct evaluation e = {checkpoint, DRAW_WORD(&c->draw, "valid", "test"), false};
    const struct evaluation full = {checkpoint, e.split, true};
    if (draw_chance(&c->draw, 40))
        predict(c, checkpoint);
    if (draw_chance(&c->draw, 40))
        evaluate(c, &e);
    if (draw_chance(&c->draw, 40) && !links)
        evaluate(c, &full);
}

/* ---- a graph ---- */

static void try_graph(struct one *c)
{
    struct settings plain = {0};
    struct outcome first = {0};
    char run[MOST_PATH];
    options_plain(&plain);
    path_in(c, run, "run", c->n_runs++);
    if (train(c, &plain, run, 0, &first) == 0) {
        c->first = &first;
        check_epochs(c, &first);
        if (draw_chance(&c->draw, 25))
            make_samples(c);
        if (c->sampled && draw_chance(&c->draw, 60))
            pack_samples(c);
        verify(c);
        for (int ways = draw_from(&c->draw, 4, 9); ways > 0; ways--)
            train_another_way(c);
        if (draw_chance(&c->draw, 40) && !settings_are(&c->numbers, "epochs", "0"))
            simulate(c);
        use_model(c);
    }
    outcome_free(&first);
}

static void graph_run(struct report *r, const char *folder, uint64_t number)
{
    struct one c = {.report = r, .number = number};
    draw_start(&c.draw, r->seed, number);
    snprintf(c.folder, sizeof(c.folder), "%.200s/%llu", folder, (unsigned long long)number);
    if (mkdir(c.folder, 0777) < 0) {
        perror(c.folder);
        exit(2);
    }
    setenv("XDG_CACHE_HOME", c.folder, 1);
    path_in(&c, c.dataset, "graph", -1);
    graph_write(&c.graph, &c.draw, c.dataset);
    options_numbers(&c.numbers, &c.draw, &c.graph);
    r->graphs++;
    try_graph(&c);
    if (!r->kept)
        remove_tree(c.folder);
}

/* ---- the program ---- */

static void usage(void)
{
    fprintf(stderr, "usage: random_runs SEED COUNT [--first GRAPH] [--keep DIR] [--all]\n");
    exit(2);
}

/* Where files are synced at once, for on a disk that is most of a run; TMPDIR names another place.
 */
static char *own_folder(char out[128])
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp)
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(out, 128, "%.100s/og-random-XXXXXX", tmp);
    return mkdtemp(out);
}

int main(int argc, char **argv)
{
    static struct report r;
    char own[128];
    const char *folder = NULL;
    uint64_t number = 0;
    bool all = false;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            number = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            usage();
    }
    if (argc < 3)
        usage();
    r.seed = strtoull(argv[1], NULL, 10);
    r.kept = folder != NULL;
    const long count = strtol(argv[2], NULL, 10);
    if (r.kept ? mkdir(folder, 0777) < 0 && errno != EEXIST : !(folder = own_folder(own))) {
        perror("random_runs: its folder");
        return 2;
    }
    report_deaths();
    while (r.runs < count && r.wrong < 20)
        graph_run(&r, folder, number++);
    if (!r.kept)
        remove_tree(folder);
    report_print(&r, all);
    return r.wrong > 0;
}
