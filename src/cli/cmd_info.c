#include "cli.h"

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_info(in->arg[0], &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_info = {
    .name = "info",
    .group = "Datasets",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "show the contents of a dataset",
    .text = "Prints counts, dtypes, sizes, the degree distribution, and what fits in which memory.",
    .run = run,
};
