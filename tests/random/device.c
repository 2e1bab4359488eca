/* The axis of devices: how many, rows that stay on them, who samples, and with how little memory.
 * Numbers of two kinds of devices differ, so the kind is drawn with the graph (numbers.c). */
#include "one.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Policies of the device's cache: those from `admits` on let rows in, so rows are evicted. */
static const char *const policies[] = {"none",      "random", "degree", "presc",  "pagerank",
                                       "frequency", "lru",    "rr",     "clock",  "tinylfu",
                                       "sieve",     "s3fifo", "belady", "belady", "hybrid"};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]), ADMITS = 6 };

/* A preset chooses the device's policy itself; lsm-gnn has rings, larger than memory unless
 * limited. */
static void draw_rows(struct settings *way, struct draw *d)
{
    const uint64_t k = draw_below(d, POLICIES);
    settings_put(way, "device-memory", "1G");
    if (settings_are(way, "preset", "lsm-gnn"))
        settings_put(way, "victim", "pvp:depth=%d", draw_from(d, 1, 40));
    if (settings_get(way, "preset") || settings_are(way, "policy", "auto") || draw_chance(d, 25))
        return;
    settings_put(way, "device-policy", "%s", policies[k]);
    if (k >= ADMITS && draw_chance(d, 35))
        settings_put(way, "victim", "pvp:depth=%d", draw_from(d, 1, 40));
}

void draw_device(struct one *c, struct settings *way)
{
    struct draw *d = &c->draw;
    const char *sampler = settings_get(&c->numbers, "sampler");
    const bool trees = settings_get(&c->numbers, "time") || settings_get(&c->numbers, "disjoint") ||
                       (sampler && strcmp(sampler, "disjoint") == 0);
    if (!settings_are(&c->numbers, "device", "virtual"))
        return;
    if (draw_chance(d, 30))
        settings_put(way, "device", "virtual:%d", draw_from(d, 1, 3));
    if (draw_chance(d, 25) && !trees && (!sampler || strcmp(sampler, "uniform") == 0) &&
        !settings_get(&c->numbers, "replace"))
        settings_put(way, "sample-on", "%s", DRAW_WORD(d, "device", "pinned"));
    if (draw_chance(d, 80) && !trees)
        draw_rows(way, d);
}

static int64_t bytes_of_rows(const struct graph *g)
{
    int64_t all = g->n_types > 0 ? 0 : (int64_t)g->nodes * g->dim;
    for (int t = 0; t < g->n_types; t++)
        all += (int64_t)g->type[t].count * g->type[t].dim;
    return 4 * all;
}

void take_device_memory(struct one *c, struct settings *way)
{
    if (!settings_get(way, "device-memory"))
        return;
    json_t *plan = plan_of(c, way);
    const json_t *device = json_object_get(plan, "device");
    const int64_t least = number(json_object_get(device, "memory"), "smallest");
    const int quarters = draw_chance(&c->draw, 10)
                             ? 0
                             : draw_from(&c->draw, 2, 9); /* of all rows; batches have half */
    const int64_t slack = quarters > 0 ? least / 30 : 0;
    if (least > 0)
        settings_put(way, "device-memory", "%lld",
                     (long long)(least + slack + quarters * bytes_of_rows(&c->graph) / 4));
    json_decref(plan);
}
