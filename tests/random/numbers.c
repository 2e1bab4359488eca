/* Options that decide numbers: of all runs on a graph. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ON_DEVICE = 24, TREES = 70 }; /* percent of the graphs; TREES: of those with times */

/* ---- numbers ---- */

/* Which graphs a model takes. */
static const struct {
    const char *model;
    bool plain, typed;
    bool alike; /* heterogeneous graphs whose features have one width */
    bool edges; /* with features of edges; */
    bool sees;  /* uses them if there are some */
    bool host;  /* not on devices */
} models[] = {
    {.model = "gcn", .plain = true, .typed = true},
    {.model = "sage", .plain = true, .typed = true},
    {.model = "sage", .plain = true, .typed = true},
    {.model = "gat", .plain = true, .typed = true, .sees = true},
    {.model = "gin", .plain = true, .typed = true, .alike = true},
    {.model = "pinsage", .plain = true, .typed = true},
    {.model = "rgcn", .typed = true},
    {.model = "rgcn", .typed = true},
    {.model = "gatv2", .plain = true, .typed = true, .sees = true},
    {"gine", true, true, true, true, true, true},
    {.model = "transformer", .plain = true, .typed = true, .sees = true, .host = true},
};

static const char *draw_model_word(const struct settings *s, struct draw *d, const struct graph *g)
{
    const bool sees = g->edges_have_rows && !settings_get(s, "device") && draw_chance(d, 50);
    for (;;) {
        const uint64_t k = draw_below(d, sizeof(models) / sizeof(models[0]));
        if ((g->n_types == 0 ? models[k].plain : models[k].typed) &&
            (g->n_types == 0 || g->alike || !models[k].alike) &&
            (g->edges_have_rows || !models[k].edges) &&
            !(models[k].host && settings_get(s, "device")) && (!sees || models[k].sees))
            return models[k].model;
    }
}

/* Relational models alone. */
static void draw_rows(struct settings *s, struct draw *d, const struct graph *g)
{
    if (g->bare)
        settings_put(s, "embedding", "%d", g->alike ? g->dim : draw_from(d, 1, 20));
    if (g->bare && draw_chance(d, 40)) {
        settings_put(s, "embedding-optimizer", "%s",
                     DRAW_WORD(d, "sparse-adam", "adagrad", "row-adagrad"));
        settings_drop(s, "weight-decay");
        if (draw_chance(d, 40))
            settings_put(s, "embedding-lr", "0.02");
    }
    if (settings_are(s, "model", "rgcn") && draw_chance(d, 50))
        settings_put(s, "bases", "%d", draw_from(d, 1, 3));
}

static void draw_model(struct settings *s, struct draw *d, const struct graph *g)
{
    const char *model = draw_model_word(s, d, g);
    const int heads = draw_from(d, 1, 4);
    settings_put(s, "model", "%s", model);
    if (strcmp(model, "sage") == 0)
        settings_put(s, "aggregator", "%s",
                     DRAW_WORD(d, "mean", "max", g->n_types > 0 ? "mean" : "gcn"));
    const bool attends = strcmp(model, "gat") == 0 || strcmp(model, "gatv2") == 0 ||
                         strcmp(model, "transformer") == 0;
    if (attends)
        settings_put(s, "heads", "%d", heads);
    if (attends && draw_chance(d, 40))
        settings_put(s, "attention-dropout", "0.3");
    settings_put(s, "hidden", "%d", heads * draw_from(d, 1, 9));
    if (draw_chance(d, 40))
        settings_put(s, "norm", "%s", DRAW_WORD(d, "batch", "layer"));
    if (draw_chance(d, 30))
        settings_put(s, "residual", "true");
    if (draw_chance(d, 20) && __builtin_cpu_supports("avx512bf16"))
        settings_put(s, "compute", "bf16");
    settings_put(s, "dropout", "%s", DRAW_WORD(d, "0", "0.2", "0.5"));
    if (draw_chance(d, 20))
        settings_put(s, "input-dropout", "0.25");
    if (draw_chance(d, 40))
        settings_put(s, "optimizer", "%s", DRAW_WORD(d, "sgd", "adamw"));
    if (draw_chance(d, 20))
        settings_put(s, "beta1", "0.7");
    if (draw_chance(d, 20))
        settings_put(s, "weight-decay", "0.01");
    settings_put(s, "lr", "%s", DRAW_WORD(d, "0.01", "0.003"));
}

static void draw_rate(struct settings *s, struct draw *d)
{
    if (draw_chance(d, 25))
        settings_put(s, "clip", "%s", DRAW_WORD(d, "0.1", "1"));
    if (draw_chance(d, 25))
        settings_put(s, "warmup", "%d", draw_from(d, 2, 12));
    if (draw_chance(d, 40))
        settings_put(
            s, "lr-schedule", "%s",
            DRAW_WORD(d, "cosine", "cosine", "step:1,0.5", "plateau:0.5,0", "plateau:0.3,1"));
    if (settings_are(s, "lr-schedule", "cosine") && draw_chance(d, 50))
        settings_put(s, "lr-steps", "%d", draw_from(d, 1, 30));
    if (draw_chance(d, 25))
        settings_put(s, "patience", "%d", draw_from(d, 1, 2));
    if (settings_are(s, "lr-schedule", "plateau:0.5,0") && draw_chance(d, 50))
        settings_put(s, "min-delta", "0.5");
}

static bool needs_edges(const struct settings *s)
{
    return settings_are(s, "model", "gine");
}

/* Classes of unequal size. */
static void draw_classes(struct settings *s, struct draw *d, const struct graph *g)
{
    if (g->several && !settings_get(s, "task") && !g->type[g->target].left_out &&
        draw_chance(d, 40))
        settings_put(s, "type-weights", "t%d=2.5", g->target);
    const bool one = settings_get(s, "task") && g->labels == LABELS_SEVERAL && g->classes == 1;
    if (g->labels >= LABELS_VALUES || one) /* one column of edges' labels has values */
        return;
    if (draw_chance(d, 25))
        settings_put(s, "class-weights", "balanced");
    if (draw_chance(d, 20))
        settings_put(s, "loss", "focal:%s", DRAW_WORD(d, "0.5", "2"));
    else if (g->labels == LABELS_CLASSES && draw_chance(d, 20))
        settings_put(s, "label-smoothing", "0.1");
    if (g->labels == LABELS_CLASSES && draw_chance(d, 25))
        settings_put(s, "oversample", "balanced");
}

static void draw_task(struct settings *s, struct draw *d, const struct graph *g)
{
    char name[16];
    if (g->labels >= LABELS_VALUES && draw_chance(d, 40))
        settings_put(s, "loss", "mae");
    const bool takes = g->own_rows == 0 || !settings_get(s, "device");
    if (g->edge_labels && takes && draw_chance(d, 50))
        settings_put(s, "task", "%s", g->labels >= LABELS_VALUES ? "edge_regression" : "edge");
    if (settings_get(s, "task") || !draw_chance(d, g->edge_lists ? 50 : 25)) {
        draw_classes(s, d, g);
        return;
    }
    settings_put(s, "task", "link");
    settings_put(s, "loss", "%s", DRAW_WORD(d, "auto", "bce", "margin"));
    const char *decoder = DRAW_WORD(d, "dot", "mlp", "distmult", "complex", "transe");
    const bool odd = strtol(settings_get(s, "hidden"), NULL, 10) % 2 != 0;
    settings_put(s, "decoder", "%s", odd && strcmp(decoder, "complex") == 0 ? "dot" : decoder);
    if (g->n_types > 0 && draw_chance(d, 30)) {
        relation_name(g, (int)draw_below(d, (uint64_t)g->n_relations), name);
        settings_put(s, "relation", "%s", name);
    }
    if (g->negatives > 0 && draw_chance(d, 80)) {
        settings_put(s, "negative", "given");
    } else {
        settings_put(s, "negatives", "%d", draw_from(d, 1, 3));
        settings_put(s, "negative", "%s", DRAW_WORD(d, "uniform", "batch"));
    }
    settings_put(s, "eval-negatives", "%d", draw_from(d, 1, 12));
    if (!g->edge_lists && draw_chance(d, 60))
        settings_put(s, "edge-split", "%s", DRAW_WORD(d, "60/20/20", "98/1/1", "100/0/0"));
}

/* One relation or two; without any nothing is sampled in some hop. */
static void draw_relation_fanout(struct settings *s, struct draw *d, const struct graph *g,
                                 int hops)
{
    char text[MOST_VALUE] = "";
    for (int r = draw_from(d, 0, 2); r < g->n_relations && strlen(text) < 60; r += 2) {
        char name[16];
        size_t n = strlen(text);
        relation_name(g, r, name);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=", n ? ";" : "", name);
        for (int h = 0; h < hops; h++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", h ? "," : "",
                                  draw_from(d, -1, 5));
    }
    if (*text)
        settings_put(s, "relation-fanout", "%s", text);
}

/* Not with gcn, whose degrees at a time are not known. */
static const char *draw_time(const struct settings *s, struct draw *d, const struct graph *g)
{
    const bool listed = g->list_times && !settings_get(s, "edge-split");
    const bool has = (g->node_times || g->edge_times) && (!settings_get(s, "task") || listed);
    if (!has || settings_are(s, "model", "gcn") || draw_chance(d, 20))
        return NULL;
    bool edges = g->n_types == 0 && g->edge_times; /* relations may all be without */
    for (int r = 0; r < g->n_relations; r++)
        edges |= g->has_times[r];
    if (g->node_times && edges)
        return DRAW_WORD(d, "node", "edge");
    return g->node_times ? "node" : edges ? "edge" : NULL;
}

/* A neighbourhood of its own for each seed. */
static void draw_trees(struct settings *s, struct draw *d, const struct graph *g)
{
    const char *time = draw_time(s, d, g);
    if (time)
        settings_put(s, "time", "%s", time);
    if (time && draw_chance(d, 50))
        settings_put(s, "time-strategy", "last");
    if (time && draw_chance(d, 40))
        settings_put(s, "time-window", "%d", draw_from(d, 1, 40));
    if (!time && draw_chance(d, 50))
        settings_put(s, "sampler", "disjoint");
    else if (!time || draw_chance(d, 30))
        settings_put(s, "disjoint", "true");
    if (draw_chance(d, 40))
        settings_put(s, "draw", "once");
    if (draw_chance(d, 25))
        settings_put(s, "replace", "true");
}

static bool takes_trees(const struct settings *s, const struct graph *g)
{
    return !g->bare || !settings_get(s, "device");
}

static void draw_sampler(struct settings *s, struct draw *d, const struct graph *g)
{
    char fanout[64] = "";
    const char *sampler = DRAW_WORD(d, "uniform", "uniform", needs_edges(s) ? "labor" : "walk",
                                    "labor", "ladies", "weighted");
    const int hops = draw_from(d, 1, 3);
    for (int h = 0; h < hops; h++) {
        size_t n = strlen(fanout);
        snprintf(fanout + n, sizeof(fanout) - n, "%s%d", h ? "," : "",
                 draw_chance(d, 15) ? -1 : draw_from(d, 1, 7));
    }
    settings_put(s, "fanout", "%s", fanout);
    if (g->n_types > 0 && draw_chance(d, 35))
        draw_relation_fanout(s, d, g, hops);
    if (takes_trees(s, g) && draw_chance(d, g->node_times || g->edge_times ? TREES : 15)) {
        draw_trees(s, d, g);
        return;
    }
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
    if (settings_are(s, "sampler", "labor") && draw_chance(d, 50))
        settings_put(s, "batch-dependency", "%d", draw_from(d, 2, 9));
    if (settings_are(s, "sampler", "labor") && draw_chance(d, 30))
        settings_put(s, "layer-dependency", "true");
    if (settings_are(s, "sampler", "uniform") && draw_chance(d, 25))
        settings_put(s, "replace", "true");
}

/* Walks draw no edges, and two models have no use for them. */
static void draw_edge_weights(struct settings *s, struct draw *d, const struct graph *g)
{
    const bool takes = !settings_are(s, "model", "pinsage") && !settings_are(s, "model", "rgcn") &&
                       !settings_are(s, "model", "gine") &&
                       !settings_are(s, "model", "transformer");
    const bool means = settings_are(s, "model", "sage") && settings_are(s, "aggregator", "mean");
    if (g->weighted && takes && !settings_are(s, "sampler", "walk") && draw_chance(d, 60))
        settings_put(s, "edge-weights", "%s",
                     means ? DRAW_WORD(d, "multiply", "mean") : "multiply");
}

/* What a model that needs them does not go with was not drawn. */
static void draw_edge_features(struct settings *s, struct draw *d, const struct graph *g)
{
    const bool attends = settings_get(s, "heads") != NULL;
    bool some = g->rows.dim > 0;
    for (int r = 0; r < g->n_relations; r++)
        some |= g->relation[r].rows.dim > 0;
    const bool obstructed = settings_get(s, "device") || settings_are(s, "sampler", "walk");
    if (needs_edges(s))
        settings_put(s, "edge-features", "on");
    else if (attends && some && !obstructed)
        settings_put(s, "edge-features", "%s", DRAW_WORD(d, "on", "on", "on", "off"));
}

/* Not more than a dozen or two an epoch: of a virtual device, which is slow, a few. */
static int draw_batch(const struct settings *s, struct draw *d, const struct graph *g)
{
    const int seeds = settings_get(s, "task") ? g->edges : g->n_train;
    const int least = 1 + seeds / (settings_get(s, "device") ? 5 : 16);
    switch (draw_from(d, 0, 5)) {
    case 0:
        return seeds;
    case 1:
        return 1000;
    case 2:
        return least;
    default:
        return draw_from(d, least, 4 * least);
    }
}

/* Chunks of seeds. Links that are held out leave at least two edges. */
static void draw_locality(struct settings *s, struct draw *d, const struct graph *g)
{
    const bool nodes = settings_get(s, "task") == NULL;
    const int most = nodes ? g->n_train : 2;
    if (most < 2 || !draw_chance(d, 25))
        return;
    settings_put(s, "locality", "%d", draw_from(d, 2, most < 12 ? most : 12));
    if (nodes && draw_chance(d, 50))
        settings_put(s, "order", "minhash");
}

static bool edges_are_f32(const struct graph *g)
{
    bool all = g->rows.dim == 0 || g->rows.dtype == OG_ELEMENT_F32;
    for (int r = 0; r < g->n_relations; r++)
        all &= g->relation[r].rows.dim == 0 || g->relation[r].rows.dtype == OG_ELEMENT_F32;
    return all;
}

static bool all_f32(const struct settings *s, const struct graph *g)
{
    bool all = (g->n_types > 0 || g->dtype == OG_ELEMENT_F32) && !is_sparse(g);
    all &= !settings_are(s, "edge-features", "on") || edges_are_f32(g);
    for (int t = 0; t < g->n_types; t++)
        all &= g->type[t].dim == 0 || g->type[t].dtype == OG_ELEMENT_F32;
    return all;
}

void options_numbers(struct settings *s, struct draw *d, const struct graph *g)
{
    if (draw_chance(d, ON_DEVICE) && !is_sparse(g))
        settings_put(s, "device", "virtual");
    draw_model(s, d, g);
    draw_rate(s, d);
    draw_rows(s, d, g);
    draw_task(s, d, g);
    draw_sampler(s, d, g);
    draw_edge_weights(s, d, g);
    draw_edge_features(s, d, g);
    settings_put(s, "batch", "%d", draw_batch(s, d, g));
    const bool learnt = settings_get(s, "embedding-optimizer");
    if (!learnt && draw_chance(d, 75))
        settings_put(s, "accumulate", "%s", DRAW_WORD(d, "2", "3", "4", "5", "6", "6", "12"));
    if (!learnt && draw_chance(d, 20))
        settings_put(s, "staleness", "%d", draw_from(d, 1, 4));
    settings_put(s, "epochs", "%d",
                 draw_chance(d, 3) ? 0 : draw_from(d, 1, settings_get(s, "device") ? 2 : 3));
    settings_put(s, "seed", "%d", draw_from(d, 0, 1000));
    if (draw_chance(d, 20))
        settings_put(s, "no-shuffle", "true");
    else
        draw_locality(s, d, g);
    if (draw_chance(d, 30))
        settings_put(s, "eval-every", "%d", draw_from(d, 0, 2));
    if (draw_chance(d, 15))
        settings_put(s, "resample-every", "%d", draw_from(d, 2, 3));
    if (all_f32(s, g) && draw_chance(d, 20))
        settings_put(s, "pack-dtype", "%s", DRAW_WORD(d, "f16", "bf16", "f32"));
}
