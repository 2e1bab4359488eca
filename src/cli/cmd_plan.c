#include "cli.h"

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_plan(in->arg[0], &in->options, screen_observer(in->screen, in->options.epochs),
                     &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_plan = {
    .name = "plan",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "say what training would keep where and read",
    .text = "Takes the options of train and runs nothing: which memory each part takes, how many "
            "rows an epoch will find in it and how many bytes it will read.",
    .training = true,
    .often = WORDS("fanout", "hidden", "batch", "memory", "cache", "policy", "layout", "topology",
                   "preset"),
    .run = run,
};
