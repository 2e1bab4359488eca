#include "cli.h"

#include <stdlib.h>

static const struct own_option own[] = {
    {"model", "KIND",
     "planted: communities that features and labels follow; rmat: the skewed graph of "
     "Graph500 [planted]"},
    {"nodes", "N", "number of nodes [100000]"},
    {"degree", "D", "mean number of in-neighbours [15]"},
    {"dim", "F", "features of a node [128]"},
    {"classes", "C", "classes of nodes [16]"},
    {"dtype", "TYPE", "how features are stored: f32, f16, bf16, u8 [f32]"},
    {"train-fraction", "P", "share of the nodes to train on; valid and test are as large [0.1]"},
    {"homophily", "H", "planted: share of edges inside a class [0.8]"},
    {"seed", "N", "start of every random choice [1]"},
    {"memory", "SIZE", "bound on what generation holds; unless given, 90% of what is free"},
    {"threads", "N", "processor threads; 0 = all [0]"},
    {0},
};

static int read_options(const struct invocation *in, struct og_generate *g, struct og_err *err)
{
    static const char *const models[] = {"planted", "rmat", NULL};
    int rc = own_choice(in, "model", models, &g->model, err);
    if (rc == 0)
        rc = own_integer(in, "nodes", 1, UINT32_MAX - 2, &g->nodes, err);
    if (rc == 0)
        rc = own_real(in, "degree", 0, 1e6, &g->degree, err);
    if (rc == 0)
        rc = own_int(in, "dim", 1, 1 << 20, &g->dim, err);
    if (rc == 0)
        rc = own_int(in, "classes", 1, 1 << 20, &g->classes, err);
    if (rc == 0)
        rc = own_choice(in, "dtype", dtype_names, &g->dtype, err);
    if (rc == 0)
        rc = own_real(in, "train-fraction", 0, 1, &g->train_fraction, err);
    if (rc == 0)
        rc = own_real(in, "homophily", 0, 1, &g->homophily, err);
    if (rc == 0)
        rc = own_integer(in, "seed", 0, INT64_MAX, &g->seed, err);
    if (rc == 0)
        rc = own_amount(in, "memory", &g->memory, err);
    return rc == 0 ? own_int(in, "threads", 0, 1024, &g->threads, err) : rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_generate g;
    char *text = NULL;
    og_generate_init(&g);
    int rc = read_options(in, &g, err);
    if (rc == 0)
        rc = og_generate(in->arg[0], &g, screen_observer(in->screen, 0), err);
    if (rc == 0)
        rc = og_info(in->arg[0], &text, err);
    return rc == 0 ? deliver(in, text, show_dataset, err) : rc;
}

const struct command cmd_generate = {
    .name = "generate",
    .args = "OUT",
    .min_args = 1,
    .max_args = 1,
    .summary = "make a synthetic dataset",
    .text =
        "Writes a dataset into the new folder OUT, in bounded memory. On a planted graph accuracy "
        "means something: features tell the class only noisily, and neighbours help as far as "
        "--homophily says.",
    .own = own,
    .run = run,
};
