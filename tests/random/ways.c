/* Other ways to the numbers of the first run. */
#include "one.h"
#include "workers.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- ways ---- */

json_t *plan_of(struct one *c, const struct settings *way)
{
    struct settings all = both(&c->numbers, way);
    struct og_options *opt;
    struct og_err err = {0};
    char command[MOST_COMMAND];
    char *text = NULL;
    json_t *plan = NULL;
    apply(&opt, &all);
    command_text(command, "plan", c->dataset, &all);
    report_calling(c->number, command);
    c->report->others++;
    if (og_plan(c->dataset, opt, NULL, &text, &err) == 0)
        plan = json_loads(text, 0, NULL);
    else
        report_refusal(c->report, &err, c->number, command);
    og_options_free(opt);
    free(text);
    return plan;
}

/* The least memory that the plan says would do: worker 0's. Batches of others may be larger. */
static void take_least_memory(struct one *c, struct settings *way)
{
    enum { MIB = 1 << 20 };
    json_t *plan = plan_of(c, way);
    const int workers = settings_int(way, "workers");
    const long long least =
        plan ? (long long)number(json_object_get(plan, "memory"), "smallest") : 0;
    if (plan && workers > 1)
        settings_put(way, "memory", "%lld", workers * (least + least / 32 + MIB));
    else if (plan)
        settings_put(way, "memory", "%lld", least);
    json_decref(plan);
}

void make_samples(struct one *c)
{
    struct settings plain = {0};
    struct og_options *opt;
    struct og_err err = {0};
    char path[MOST_PATH];
    char arguments[2 * MOST_PATH + 16];
    char command[MOST_COMMAND];
    path_in(c, path, "samples", -1);
    options_plain(&plain, &c->graph);
    struct settings all = both(&c->numbers, &plain);
    apply(&opt, &all);
    snprintf(arguments, sizeof(arguments), "%s --out %s", c->dataset, path);
    command_text(command, "sample", arguments, &all);
    report_calling(c->number, command);
    c->report->others++;
    c->sampled = og_sample(c->dataset, path, false, opt, NULL, NULL, &err) == 0;
    if (!c->sampled)
        report_refusal(c->report, &err, c->number, command);
    og_options_free(opt);
}

void pack_samples(struct one *c)
{
    struct settings way = {0};
    struct og_options *opt;
    struct og_err err = {0};
    char command[MOST_COMMAND];
    char path[MOST_PATH];
    char *text = NULL;
    path_in(c, path, "samples", -1);
    settings_put(&way, "cache", "%s", DRAW_WORD(&c->draw, "0", "5%", "20%", "60%"));
    settings_put(&way, "samples", "%s", path);
    settings_put(&way, "memory", "%dM", plenty_of(&c->graph));
    struct settings all = both(&c->numbers, &way);
    apply(&opt, &all);
    command_text(command, "pack", c->dataset, &all);
    report_calling(c->number, command);
    c->report->others++;
    c->packed = og_pack(c->dataset, opt, NULL, &text, &err) == 0;
    if (!c->packed)
        report_refusal(c->report, &err, c->number, command);
    og_options_free(opt);
    free(text);
}

/* What the program refuses together: of a row, `left_out` is dropped where `with` is there. A value
 * of NULL is any. */
static const struct {
    const char *with, *value, *left_out, *of_value;
} apart[] = {
    {"exchange", NULL, "device-memory", NULL},
    {"workers", NULL, "samples", NULL},
    {"sample-on", NULL, "samples", NULL},
    {"sample-on", NULL, "topology", "disk"},
    {"sample-on", NULL, "preset", "ali+pg"}, /* they have the topology on disk */
    {"sample-on", NULL, "preset", "ginex"},
    {"sample-on", "pinned", "alternate", NULL},
    {"sample-on", "pinned", "preset", "diskgnn"},
    {"policy", "sweep", "device-memory", NULL},
    {"embedding-optimizer", NULL, "executors", NULL},
    {"embedding-optimizer", NULL, "device-memory", NULL},
    {"embedding-optimizer", NULL, "alternate", NULL},
    {"embedding-optimizer", NULL, "samples", NULL},
    {"embedding-optimizer", NULL, "layout", "packed"},
    {"embedding-optimizer", NULL, "layout", "segmented"},
    {"embedding-optimizer", NULL, "policy", "sweep"},
    {"embedding-optimizer", NULL, "preset", "ginex"},
    {"embedding-optimizer", NULL, "preset", "diskgnn"},
    {"embedding-optimizer", NULL, "preset", "fgnn"},
    {"embedding-optimizer", NULL, "preset", "helios"},
    {"embedding-optimizer", NULL, "preset", "lsm-gnn"},
};

static void keep_apart(const struct settings *numbers, struct settings *way)
{
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        const char *own = settings_get(way, apart[i].with);
        const char *with = own ? own : settings_get(numbers, apart[i].with);
        const char *other = settings_get(way, apart[i].left_out);
        if (with && (!apart[i].value || strcmp(with, apart[i].value) == 0) && other &&
            (!apart[i].of_value || strcmp(other, apart[i].of_value) == 0))
            settings_drop(way, apart[i].left_out);
    }
    if (settings_get(way, "device-memory"))
        return;
    settings_drop(way, "device-policy");
    settings_drop(way, "victim");
}

/* Where bytes go, and where batches come from. */
static void draw_folders(struct one *c, struct settings *way)
{
    char path[MOST_PATH];
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
}

static void draw_way(struct one *c, struct settings *way)
{
    *way = (struct settings){0};
    options_strategy(way, &c->draw, &c->graph, c->dataset);
    draw_workers(c, way);
    draw_device(c, way);
    draw_folders(c, way);
    keep_apart(&c->numbers, way);
    if (c->packed && settings_get(way, "samples")) /* packs are of the host's cache alone */
        settings_drop(way, "device-memory");
    keep_apart(&c->numbers, way);
    take_device_memory(c, way);
    if (draw_chance(&c->draw, 85) || settings_are(way, "preset", "memory"))
        return;
    settings_drop(way, "cache"); /* caches get what is left */
    settings_drop(way, "neighbor-cache");
    take_least_memory(c, way);
}

/* After so many batches; one in four is killed. */
static int draw_stop(struct one *c, int most)
{
    const int at = draw_from(&c->draw, 1, most);
    const bool kills = draw_chance(&c->draw, 25);
    c->killed |= kills;
    return kills ? -at : at;
}

/* Stopped once or more, and resumed in another way each time. */
static int train_with_stops(struct one *c, const struct settings *way, const char *run,
                            struct outcome *o)
{
    struct settings other;
    int rc = train(c, way, run, draw_stop(c, c->n_batches), o);
    for (int tries = 0; tries < 4 && rc == OG_INTERRUPTED; tries++) {
        draw_way(c, &other);
        settings_put(&other, "resume", "true");
        rc = train(c, &other, run, tries < 2 ? draw_stop(c, 2 * c->n_batches) : 0, o);
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
    const char *topology = json_string_value(json_object_get(plan, "topology"));
    const bool of[SHARES] = {[SHARE_TYPES] = c->graph.n_types > 0,
                             [SHARE_DISK] = strcmp(topology, "disk") == 0,
                             [SHARE_TIMED_EDGES] = settings_get(&c->numbers, "task") &&
                                                   settings_get(&c->numbers, "time"),
                             [SHARE_SPARSE] = is_sparse(&c->graph),
                             [SHARE_SEVERAL] =
                                 c->graph.several && !settings_get(&c->numbers, "task")};
    report_shares(c->report, o->command, of);
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
    if (rc != OG_INTERRUPTED && !c->killed)
        check_leftovers(c, c->folder, o.command);
    outcome_free(&o);
}
