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
    .summary = "pack the rows that pre-sampled batches will read",
    .text =
        "For each epoch in --samples DIR, made by `outgrow sample`: selects the rows to cache, "
        "as many as --memory and --cache allow a run with the same options. Copies the rows that "
        "miss the cache into DIR/pack, one contiguous run per batch. `outgrow train --samples "
        "DIR` then reads these runs instead of packing. Defaults of the options that decide "
        "batches and model are DIR's.",
    .training = true,
    .often = WORDS("samples", "memory", "cache", "policy", "preset"),
    .without = WORDS("workers"),
    .run = run,
};
