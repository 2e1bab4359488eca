#include "cli.h"

#include <stdlib.h>

#define FIELD(f) offsetof(struct og_generate, f)
static const char *const models[] = {"planted", "rmat", NULL};

static const struct og_option own[] = {
    OWN("model", "KIND", "planted",
        "communities that features and labels follow, or the skewed graph of Graph500", models,
        OG_OPTION_CHOICE, FIELD(model), 0, 0),
    OWN("nodes", "N", "100000", "number of nodes", NULL, OG_OPTION_INT64, FIELD(nodes), 1,
        UINT32_MAX - 2),
    OWN_TEXT("types", "T,...",
             "planted: types of nodes, NAME:NODES[:FEATURES] each; the first one has classes"),
    OWN_TEXT("relations", "R,...", "between types: SOURCE:NAME:DESTINATION[:DEGREE] each"),
    OWN("degree", "D", "15", "mean number of in-neighbours", NULL, OG_OPTION_REAL, FIELD(degree), 0,
        1e6),
    OWN("dim", "F", "128", "features of a node", NULL, OG_OPTION_INT, FIELD(dim), 1, 1 << 20),
    OWN("classes", "C", "16", "classes of nodes", NULL, OG_OPTION_INT, FIELD(classes), 1, 1 << 20),
    OWN("dtype", "TYPE", "f32", "how features are stored", dtype_names, OG_OPTION_CHOICE,
        FIELD(dtype), 0, 0),
    OWN("train-fraction", "P", "0.1", "share of the nodes to train on; valid and test are as large",
        NULL, OG_OPTION_REAL, FIELD(train_fraction), 0, 1),
    OWN("homophily", "H", "0.8", "planted: share of edges inside a class", NULL, OG_OPTION_REAL,
        FIELD(homophily), 0, 1),
    OWN("seed", "N", "1", "start of every random choice", NULL, OG_OPTION_INT64, FIELD(seed), 0,
        0x1p63),
    OWN("memory", "SIZE", "", "bound on what generation holds; unless given, 90% of what is free",
        NULL, OG_OPTION_AMOUNT, FIELD(memory), 0, MOST_BYTES),
    OWN("threads", "N", "0", "processor threads; 0 = all", NULL, OG_OPTION_INT, FIELD(threads), 0,
        1024),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    struct og_generate g;
    char *text = NULL;
    og_generate_init(&g);
    g.types = own_text(in, "types");
    g.relations = own_text(in, "relations");
    int rc = own_fields(in, &g, err);
    if (rc < 0)
        return rc;
    rc = og_generate(in->arg[0], &g, screen_observer(in->screen, 0), err);
    if (rc < 0)
        return rc;
    rc = og_info(in->arg[0], &text, err);
    return rc < 0 ? rc : deliver(in, text, show_dataset, err);
}

const struct command cmd_generate = {
    .name = "generate",
    .group = "Datasets",
    .args = "OUT",
    .min_args = 1,
    .max_args = 1,
    .summary = "make a synthetic dataset",
    .text =
        "Writes a dataset into the new folder OUT, in bounded memory. On a planted graph accuracy "
        "means something: features tell the class only noisily, and neighbours help as far as "
        "--homophily says. With --types and --relations it has types of nodes: "
        "--types paper:1000:128,author:5000 --relations author:writes:paper:3,paper:cites:paper.",
    .own = own,
    .run = run,
};
