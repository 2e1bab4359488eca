#include "cli.h"

#include <stdio.h>

static const struct og_option own[] = {
    OWN_TEXT("out", "DIR", "new folder for the trace"),
    OWN_FLAG("with-features", "write the feature rows of the input nodes too"),
    {0},
};

/* Prints the folder, for scripts. */
static void show_trace(const json_t *root)
{
    puts(json_string_value(json_object_get(root, "trace")));
}

static int run(struct invocation *in, struct og_err *err)
{
    const char *out = own_text(in, "out");
    if (!out)
        return usage_error(err, NULL, "sample: --out DIR expected");
    char *text = NULL;
    int rc = og_sample(in->arg[0], out, own_flag(in, "with-features"), in->options,
                       screen_observer(in->screen, (int)option_number(in, "epochs")), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_trace, err);
}

const struct command cmd_sample = {
    .name = "sample",
    .group = "Batches and caches",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "write the mini-batches of training to files",
    .text = "Samples the batches of training with the same options and writes them as .npy files, "
            "one after another. Batches that several epochs reuse are written once. `outgrow train "
            "--samples DIR` reads them, on this machine or another.",
    .own = own,
    .training = true,
    .often = WORDS("fanout", "sampler", "batch", "epochs", "seed", "memory"),
    .without = WORDS("workers"),
    .run = run,
};
