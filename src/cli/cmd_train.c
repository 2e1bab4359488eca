#include "cli.h"

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    if (in->runs > 1)
        return train_many(in, err);
    int rc = og_train(in->arg[0], &in->options, screen_observer(in->screen, in->options.epochs),
                      &text, err);
    return rc < 0 ? rc : deliver(in, text, show_training, err);
}

const struct command cmd_train = {
    .name = "train",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "train a model",
    .text =
        "Reads features from disk as --memory demands and writes summary.json, checkpoints and, "
        "with --log-every, metrics.jsonl into the folder of the run. Ctrl-C ends it after the "
        "batch under way; --resume goes on from there to the same numbers. --runs N trains N times "
        "with different seeds and tells mean and deviation.",
    .training = true,
    .often = WORDS("model", "fanout", "hidden", "batch", "epochs", "lr", "memory", "policy", "run",
                   "resume"),
    .run = run,
};
