#include "cli.h"

static int set(void *g, const char *name, const char *value, struct og_err *err)
{
    return og_generate_set(g, name, value, err);
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_generate *g;
    char *text = NULL;
    int rc;
    TRY(og_generate_new(&g, err));
    TRY(own_set(in, set, g, err));
    TRY(og_generate(in->arg[0], g, screen_observer(in->screen, 0), err));
    TRY(og_info(in->arg[0], &text, err));
    rc = deliver(in, text, show_dataset, err);
out:
    og_generate_free(g);
    return rc;
}

const struct command cmd_generate = {
    .name = "generate",
    .group = "Datasets",
    .args = "OUT",
    .min_args = 1,
    .max_args = 1,
    .summary = "make a synthetic dataset",
    .text = "Writes a dataset into the new folder OUT, in bounded memory. On a planted graph "
            "accuracy is meaningful: features are noisy, and neighbours help to the degree of "
            "--homophily. With --types and --relations the graph is heterogeneous: --types "
            "paper:1000:128,author:5000 --relations author:writes:paper:3,paper:cites:paper.",
    .takes = og_generate_option,
    .run = run,
};
