#include "options.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

static void draw_model(struct settings *s, struct draw *d)
{
    const char *model = DRAW_WORD(d, "gcn", "sage", "sage", "gat", "gin", "pinsage");
    const int heads = draw_from(d, 1, 4);
    settings_put(s, "model", "%s", model);
    if (strcmp(model, "sage") == 0)
        settings_put(s, "aggregator", "%s", DRAW_WORD(d, "mean", "max", "gcn"));
    if (strcmp(model, "gat") == 0)
        settings_put(s, "heads", "%d", heads);
    if (strcmp(model, "gat") == 0 && draw_chance(d, 40))
        settings_put(s, "attention-dropout", "0.3");
    settings_put(s, "hidden", "%d", heads * draw_from(d, 1, 9));
    if (draw_chance(d, 40))
        settings_put(s, "norm", "%s", DRAW_WORD(d, "batch", "layer"));
    if (draw_chance(d, 30))
        settings_put(s, "residual", "true");
    settings_put(s, "dropout", "%s", DRAW_WORD(d, "0", "0.2", "0.5"));
    if (draw_chance(d, 20))
        settings_put(s, "input-dropout", "0.25");
    if (draw_chance(d, 20))
        settings_put(s, "optimizer", "sgd");
    if (draw_chance(d, 20))
        settings_put(s, "weight-decay", "0.01");
    settings_put(s, "lr", "%s", DRAW_WORD(d, "0.01", "0.003"));
}

static void draw_task(struct settings *s, struct draw *d, const struct graph *g)
{
    if (g->labels == LABELS_VALUES && draw_chance(d, 40))
        settings_put(s, "loss", "mae");
    if (!draw_chance(d, 25))
        return;
    settings_put(s, "task", "link");
    settings_put(s, "loss", "%s", DRAW_WORD(d, "auto", "bce", "margin"));
    settings_put(s, "decoder", "%s", DRAW_WORD(d, "dot", "mlp"));
    settings_put(s, "negatives", "%d", draw_from(d, 1, 3));
    settings_put(s, "negative", "%s", DRAW_WORD(d, "uniform", "batch"));
    settings_put(s, "eval-negatives", "%d", draw_from(d, 1, 12));
    if (!g->edge_lists && draw_chance(d, 60))
        settings_put(s, "edge-split", "%s", DRAW_WORD(d, "60/20/20", "98/1/1", "100/0/0"));
}

static void draw_sampler(struct settings *s, struct draw *d, const struct graph *g)
{
    char fanout[64] = "";
    const char *sampler = DRAW_WORD(d, "uniform", "uniform", "walk", "labor", "ladies", "weighted");
    const int hops = draw_from(d, 1, 3);
    for (int h = 0; h < hops; h++) {
        size_t n = strlen(fanout);
        snprintf(fanout + n, sizeof(fanout) - n, "%s%d", h ? "," : "",
                 draw_chance(d, 15) ? -1 : draw_from(d, 1, 7));
    }
    settings_put(s, "fanout", "%s", fanout);
    if (g->weighted || strcmp(sampler, "weighted") != 0)
        settings_put(s, "sampler", "%s", sampler);
    if (settings_are(s, "sampler", "walk") && draw_chance(d, 60)) {
        settings_put(s, "walks", "%d", draw_from(d, 1, 6));
        settings_put(s, "walk-length", "%d", draw_from(d, 1, 4));
        settings_put(s, "walk-restart", "%s", DRAW_WORD(d, "0", "0.3", "1"));
        settings_put(s, "neighbors", "%d", draw_from(d, 1, 6));
    }
    if (!settings_are(s, "sampler", "ladies") && draw_chance(d, 40))
        settings_put(s, "draw", "once");
}

/* Not more than a few dozen batches an epoch. */
static int draw_batch(struct draw *d, const struct graph *g)
{
    const int least = 1 + (g->n_train > g->edges ? g->n_train : g->edges) / 24;
    switch (draw_from(d, 0, 3)) {
    case 0:
        return least;
    case 1:
        return draw_from(d, least, 4 * least);
    case 2:
        return g->n_train;
    default:
        return 1000;
    }
}

void options_numbers(struct settings *s, struct draw *d, const struct graph *g)
{
    draw_model(s, d);
    draw_task(s, d, g);
    draw_sampler(s, d, g);
    settings_put(s, "batch", "%d", draw_batch(d, g));
    if (draw_chance(d, 30))
        settings_put(s, "accumulate", "%d", draw_from(d, 2, 9));
    if (draw_chance(d, 20))
        settings_put(s, "staleness", "%d", draw_from(d, 1, 4));
    settings_put(s, "epochs", "%d", draw_chance(d, 3) ? 0 : draw_from(d, 1, 3));
    settings_put(s, "seed", "%d", draw_from(d, 0, 1000));
    if (draw_chance(d, 20))
        settings_put(s, "no-shuffle", "true");
    if (draw_chance(d, 30))
        settings_put(s, "eval-every", "%d", draw_from(d, 0, 2));
    if (draw_chance(d, 30))
        settings_put(s, "resample-every", "%d", draw_from(d, 2, 3));
    if (g->dtype == OG_F32 && draw_chance(d, 20))
        settings_put(s, "pack-dtype", "%s", DRAW_WORD(d, "f16", "bf16", "f32"));
}

/* ---- ways ---- */

void options_plain(struct settings *s)
{
    settings_put(s, "policy", "degree");
    settings_put(s, "topology", "memory");
    settings_put(s, "cache", "100%%");
    settings_put(s, "threads", "1");
    settings_put(s, "io", "pread");
    settings_put(s, "memory", "160M");
}

static const char *draw_size(struct draw *d)
{
    return DRAW_WORD(d, "0", "1", "500", "1%", "5%", "10%", "30%", "70%", "100%", "1M");
}

static void draw_policy(struct settings *s, struct draw *d)
{
    settings_put(s, "policy", "%s",
                 DRAW_WORD(d, "none", "random", "degree", "presc", "presc:3", "pagerank",
                           "frequency", "lru", "rr", "belady", "belady", "hybrid", "hybrid:static",
                           "hybrid:dynamic", "sweep", "sweep", "auto"));
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
        settings_put(s, "trainers", "%d", draw_from(d, 2, 5));
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

static void draw_resources(struct settings *s, struct draw *d)
{
    settings_put(s, "io", "%s", DRAW_WORD(d, "uring", "pread", "mmap", "auto"));
    settings_put(s, "threads", "%d", draw_from(d, 1, 4));
    settings_put(s, "memory", "160M");
    if (draw_chance(d, 15))
        settings_put(s, "disk", "%s", DRAW_WORD(d, "100K", "300K", "1M", "0"));
    if (draw_chance(d, 85))
        settings_put(s, "cache", "%s", draw_size(d));
}

void options_strategy(struct settings *s, struct draw *d)
{
    draw_resources(s, d);
    if (draw_chance(d, 25)) {
        settings_put(s, "preset", "%s",
                     DRAW_WORD(d, "pyg+", "ali+pg", "ginex", "diskgnn", "fgnn", "lsm-gnn", "helios",
                               "memory", "auto"));
        if (settings_are(s, "preset", "pyg+"))
            settings_drop(s, "io");
        return;
    }
    draw_policy(s, d);
    draw_place(s, d);
    draw_trainers(s, d);
    draw_ahead(s, d);
    draw_pipeline(s, d);
}

void options_of_inference(struct settings *s, struct draw *d)
{
    settings_put(s, "threads", "%d", draw_from(d, 1, 4));
    settings_put(s, "io", "%s", DRAW_WORD(d, "uring", "pread", "mmap", "auto"));
    settings_put(s, "memory", "%s", DRAW_WORD(d, "30M", "64M", "200M"));
    settings_put(s, "topology", "%s", DRAW_WORD(d, "memory", "disk", "auto"));
}
