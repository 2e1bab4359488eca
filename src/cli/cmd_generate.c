#include "cli.h"

#include <string.h>

static int set(void *g, const char *name, const char *value, struct og_err *err)
{
    return og_generate_set(g, name, value, err);
}

/* Refuses options that make nothing of the requested graph. */
static int check(const struct invocation *in, struct og_err *err)
{
    const char *model = own_text(in, "model");
    const bool by_group = own_text(in, "types") != NULL;
    if (own_text(in, "homophily") && model && strcmp(model, "rmat") == 0)
        return usage_error(err, "leave it out",
                           "generate: --homophily is of --model planted; rmat has no communities");
    if (by_group && own_text(in, "nodes"))
        return usage_error(err, "leave it out: --types NAME:NODES has the numbers",
                           "generate: --nodes: not with --types");
    if (by_group && own_text(in, "dim"))
        return usage_error(err, "leave it out: --types NAME:NODES:FEATURES has the numbers",
                           "generate: --dim: not with --types");
    return 0;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_generate *g;
    char *text = NULL;
    int rc;
    rc = check(in, err);
    if (rc < 0)
        return rc;
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
