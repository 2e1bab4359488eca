#include "cli.h"

static const struct og_option own[] = {
    OWN_NUMBER(
        "runs", "N", "1",
        "train N times, with seeds --seed, --seed + 1, ..., each in its own folder below --run; "
        "summary.json in --run has means and standard deviations",
        1, 10000),
    OWN_FLAG("json-epochs", "with --json, first a line {\"progress\": ...} per epoch"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int runs;
    int rc = own_number(in, "runs", &runs, err);
    if (rc < 0)
        return rc;
    if (own_flag(in, "json-epochs") && !in->json)
        return usage_error(err, "add --json", "--json-epochs: the result is text");
    if (own_flag(in, "json-epochs"))
        screen_print_epochs(in->screen);
    const int workers = (int)option_number(in, "workers");
    if (runs > 1 && (workers > 1 || og_worker() >= 0))
        return usage_error(err, "use --workers 1", "--runs %d: not with several workers", runs);
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
    .text = "Reads features that exceed --memory from disk. Writes summary.json, checkpoints and "
            "metrics.jsonl (one line per epoch) into the folder of the run. Ctrl-C stops after the "
            "current batch; --resume continues to the same results. --runs N trains N times with "
            "different seeds and prints mean and deviation.",
    .own = own,
    .training = true,
    .often = WORDS("model", "fanout", "hidden", "batch", "epochs", "lr", "memory", "policy", "run",
                   "resume"),
    .run = run,
};
