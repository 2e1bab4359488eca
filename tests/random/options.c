/* Options that must not decide numbers: of one process, whatever computes. */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* ---- ways ---- */

int plenty_of(const struct graph *g)
{
    return g->n_types > 0 ? 600 : 240;
}

void options_plain(struct settings *s, const struct graph *g)
{
    settings_put(s, "policy", "degree");
    settings_put(s, "topology", "memory");
    settings_put(s, "cache", "100%%");
    settings_put(s, "threads", "1");
    settings_put(s, "io", "pread");
    settings_put(s, "memory", "%dM", plenty_of(g));
}

static const char *draw_size(struct draw *d)
{
    return DRAW_WORD(d, "0", "1", "500", "5%", "10%", "20%", "30%", "40%", "60%", "100%");
}

static void draw_policy(struct settings *s, struct draw *d, const char *dataset)
{
    settings_put(s, "policy", "%s",
                 DRAW_WORD(d, "none", "random", "degree", "presc", "presc:3", "pagerank",
                           "frequency", "lru", "rr", "belady", "belady", "belady", "belady",
                           "hybrid", "hybrid:static", "hybrid:dynamic", "sweep", "sweep", "sieve",
                           "tinylfu", "s3fifo", "clock", "file", "auto"));
    if (settings_are(s, "policy", "file"))
        settings_put(s, "scores", "%s/scores.npy", dataset);
    if (draw_chance(d, 30))
        settings_put(s, "ways", "%d", draw_from(d, 1, 40));
    if (draw_chance(d, 30))
        settings_put(s, "window", "%d", draw_from(d, 1, 12));
    if (draw_chance(d, 30))
        settings_put(s, "update", "%d", draw_from(d, 1, 5));
    if (draw_chance(d, 30))
        settings_put(s, "threshold", "%d", draw_from(d, 0, 5));
}

static void draw_trainers(struct settings *s, struct draw *d)
{
    if (draw_chance(d, 30))
        settings_put(s, "executors", "%d", draw_from(d, 2, 5));
    else if (draw_chance(d, 30))
        settings_put(s, "executors", "%d:%d", draw_from(d, 1, 3), draw_from(d, 0, 3));
}

static void draw_pipeline(struct settings *s, struct draw *d)
{
    if (draw_chance(d, 20))
        settings_put(s, "pipeline", "none");
}

static void draw_place(struct settings *s, struct draw *d)
{
    settings_put(s, "topology", "%s", DRAW_WORD(d, "memory", "disk", "disk", "auto"));
    if (draw_chance(d, 50))
        settings_put(s, "neighbor-cache", "%s", DRAW_WORD(d, "0", "1", "100", "1K", "5%", "100K"));
    if (draw_chance(d, 25))
        settings_put(s, "together", "%d", draw_from(d, 1, 6));
}

static void draw_ahead(struct settings *s, struct draw *d)
{
    if (draw_chance(d, 40))
        settings_put(s, "layout", "%s", DRAW_WORD(d, "raw", "packed", "packed", "segmented"));
    if (draw_chance(d, 40))
        settings_put(s, "superbatch", "%s",
                     DRAW_WORD(d, "auto", "all", "1", "2", "3", "5", "9", "100"));
    if (draw_chance(d, 25))
        settings_put(s, "alternate", "true");
}

static void draw_resources(struct settings *s, struct draw *d, const struct graph *g)
{
    settings_put(s, "io", "%s", DRAW_WORD(d, "uring", "pread", "mmap", "auto"));
    settings_put(s, "threads", "%d", draw_from(d, 1, 4));
    settings_put(s, "memory", "%dM", plenty_of(g));
    if (draw_chance(d, 15))
        settings_put(s, "disk", "%s", DRAW_WORD(d, "100K", "300K", "1M", "0"));
    if (draw_chance(d, 85))
        settings_put(s, "cache", "%s", draw_size(d));
}

void options_strategy(struct settings *s, struct draw *d, const struct graph *g,
                      const char *dataset)
{
    draw_resources(s, d, g);
    if (draw_chance(d, 25)) {
        settings_put(s, "preset", "%s",
                     DRAW_WORD(d, "pyg+", "ali+pg", "ginex", "diskgnn", "fgnn", "lsm-gnn", "helios",
                               "memory", "auto"));
        if (settings_are(s, "preset", "pyg+"))
            settings_drop(s, "io");
        return;
    }
    draw_policy(s, d, dataset);
    draw_place(s, d);
    draw_trainers(s, d);
    draw_ahead(s, d);
    draw_pipeline(s, d);
}

void options_of_inference(struct settings *s, struct draw *d, const struct graph *g,
                          bool in_batches)
{
    settings_put(s, "threads", "%d", draw_from(d, 1, 4));
    settings_put(s, "io", "%s", DRAW_WORD(d, "uring", "pread", "mmap", "auto"));
    settings_put(s, "memory", "%dM",
                 in_batches ? plenty_of(g) : (int[]){30, 64, 200}[draw_below(d, 3)]);
    settings_put(s, "topology", "%s", DRAW_WORD(d, "memory", "disk", "auto"));
}
