#include "cli.h"

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    if (!option_is_set(in, "samples"))
        return usage_error(err, NULL, "pack: --samples DIR expected");
    int rc = og_pack(in->arg[0], in->options, screen_observer(in->screen, 0), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_pack = {
    .name = "pack",
    .group = "Batches and caches",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "pack offline what batches sampled beforehand will read",
    .text =
        "For each epoch of batches in --samples DIR, made by `outgrow sample`: chooses the rows "
        "that the cache is to hold, as many as --memory and --cache allow a run with the same "
        "options, and writes those that its batches read besides in one piece a batch, into "
        "DIR/pack. `outgrow train --samples DIR` then reads those pieces and packs nothing. "
        "Options that decide the batches and the model are DIR's unless they are given.",
    .training = true,
    .often = WORDS("samples", "memory", "cache", "policy", "preset"),
    .without = WORDS("workers"),
    .run = run,
};
