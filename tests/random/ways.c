/* Other ways to the numbers of the first run. */
#include "one.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

void make_samples(struct one *c)
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

void pack_samples(struct one *c)
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

void train_another_way(struct one *c)
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
