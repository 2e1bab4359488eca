/* Checks of results other than runs: the simulation, predictions and evaluations. */
#include "one.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void simulate(struct one *c)
{
    struct settings way = {0};
    struct outcome o = {0};
    struct og_options *opt;
    struct og_err err = {0};
    char run[MOST_PATH];
    char command[MOST_COMMAND];
    char *text = NULL;
    const char *policy = DRAW_WORD(&c->draw, "random", "degree", "presc:2", "pagerank", "frequency",
                                   "lru", "rr", "belady", "hybrid", "sweep");
    const char *cache = DRAW_WORD(&c->draw, "0", "3%", "10%", "40%", "100%");
    if (settings_get(&c->numbers, "embedding-optimizer") && strcmp(policy, "sweep") == 0)
        policy = "belady";
    settings_put(&way, "eval-every", "0");
    settings_put(&way, "memory", "%dM", plenty_of(&c->graph));
    settings_put(&way, "superbatch", "%s", DRAW_WORD(&c->draw, "all", "2", "5"));
    struct settings all = both(&c->numbers, &way);
    command_text(command, "simulate", c->dataset, &all);
    snprintf(command + strlen(command), sizeof(command) - strlen(command),
             " --policy %s --cache %s", policy, cache);
    apply(&opt, &all);
    report_calling(c->number, command);
    c->report->others++;
    int rc = og_simulate(c->dataset, policy, cache, NULL, opt, NULL, &text, &err);
    og_options_free(opt);
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

static bool of_labelled_edges(const struct one *c)
{
    const char *task = settings_get(&c->numbers, "task");
    return task && strncmp(task, "edge", 4) == 0;
}

static bool in_batches(const struct one *c)
{
    return c->graph.n_types > 0 || of_labelled_edges(c) || settings_get(&c->numbers, "time");
}

/* With several types batches are sampled, or made of all neighbours, also for predictions. So they
 * are of edges. */
static void put_batches(const struct one *c, struct settings *way, bool sampled)
{
    static const char *const names[] = {"batch",           "device", "pack-dtype", "fanout",
                                        "relation-fanout", "draw",   "replace",    "seed"};
    for (int i = 0; i < (sampled ? 8 : 3); i++) {
        const char *value = settings_get(&c->numbers, names[i]);
        if (value && (in_batches(c) || i == 1))
            settings_put(way, names[i], "%s", value);
    }
}

struct prediction {
    struct file out, embeddings;
    char command[MOST_COMMAND];
};

/* Links, and a single layer, have no further embeddings. */
static bool predict_once(struct one *c, const char *checkpoint, int number, struct prediction *p)
{
    struct settings way = {0};
    struct og_options *opt;
    struct og_err err = {0};
    char out[MOST_PATH];
    char embeddings[MOST_PATH];
    char arguments[4 * MOST_PATH];
    const bool pairs = settings_get(&c->numbers, "task") != NULL;
    const bool reads = c->graph.n_types == 0 || !(settings_are(&c->numbers, "model", "gcn") ||
                                                  settings_are(&c->numbers, "model", "gat"));
    const bool two =
        !pairs && reads && !c->graph.several && strchr(settings_get(&c->numbers, "fanout"), ',');
    path_in(c, out, "out", number);
    path_in(c, embeddings, "embeddings", number);
    options_of_inference(&way, &c->draw, &c->graph, in_batches(c));
    put_batches(c, &way, true);
    snprintf(arguments, sizeof(arguments), "%s --checkpoint %s --out %s", c->dataset, checkpoint,
             out);
    command_text(p->command, "predict", arguments, &way);
    report_calling(c->number, p->command);
    c->report->others++;
    apply(&opt, &way);
    int rc =
        og_predict(c->dataset, checkpoint, out, two ? embeddings : NULL, opt, NULL, NULL, &err);
    og_options_free(opt);
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

/* Equal bytes each time. */
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
    struct og_options *opt;
    struct og_err err = {0};
    char arguments[4 * MOST_PATH];
    char *text = NULL;
    snprintf(arguments, sizeof(arguments), "%s --checkpoint %s --split %s%s", c->dataset,
             e->checkpoint, e->split, e->full ? " --full" : "");
    command_text(command, "eval", arguments, all);
    report_calling(c->number, command);
    c->report->others++;
    apply(&opt, all);
    int rc = (e->full ? og_eval_full : og_eval)(c->dataset, e->checkpoint, e->split, opt, NULL,
                                                &text, &err);
    og_options_free(opt);
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
        if (e->full) {
            options_of_inference(&way, &c->draw, &c->graph, in_batches(c));
            put_batches(c, &way, false);
        } else {
            options_strategy(&way, &c->draw, &c->graph, c->dataset);
        }
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

void use_model(struct one *c)
{
    char checkpoint[MOST_PATH + 64];
    const bool pairs = settings_get(&c->numbers, "task") != NULL;
    const bool timeless = settings_are(&c->numbers, "time", "edge"); /* nodes have none */
    snprintf(checkpoint, sizeof(checkpoint), "%s/run-0/checkpoint.safetensors", c->folder);
    const struct evaluation e = {checkpoint, DRAW_WORD(&c->draw, "valid", "test"), false};
    const struct evaluation full = {checkpoint, e.split, true};
    if (draw_chance(&c->draw, 20) && !timeless)
        predict(c, checkpoint);
    if (draw_chance(&c->draw, 20))
        evaluate(c, &e);
    if (draw_chance(&c->draw, 20) && !pairs)
        evaluate(c, &full);
}
