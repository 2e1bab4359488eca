#include "cli.h"

static const struct og_option own[] = {
    OWN_NUMBER("runs", "N", "1",
               "train so many times, with seeds --seed, --seed + 1, ..., each in a folder of its "
               "own below --run, whose summary.json then has means and standard deviations",
               1, 10000),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int runs;
    int rc = own_number(in, "runs", &runs, err);
    if (rc < 0)
        return rc;
    const int workers = (int)option_number(in, "workers");
    if (runs > 1 && (workers > 1 || og_worker() >= 0))
        return usage_error(err, "train with one process", "--runs %d: not with several workers",
                           runs);
    if (runs > 1)
        return train_many(in, runs, err);
    if (workers > 1 && og_worker() < 0)
        return og_workers_run(workers, in->argv, err);
    rc = og_train(in->arg[0], in->options,
                  screen_observer(in->screen, (int)option_number(in, "epochs")), &text, err);
    return rc < 0 || og_worker() > 0 ? rc : deliver(in, text, show_training, err);
}

const struct command cmd_train = {
    .name = "train",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "train a model",
    .text =
        "Reads features from disk as --memory demands and writes summary.json, checkpoints and "
        "metrics.jsonl, a line an epoch, into the folder of the run. Ctrl-C ends it after the "
        "batch under way; --resume goes on from there to the same numbers. --runs N trains N times "
        "with different seeds and tells mean and deviation.",
    .own = own,
    .training = true,
    .often = WORDS("model", "fanout", "hidden", "batch", "epochs", "lr", "memory", "policy", "run",
                   "resume"),
    .run = run,
};
