#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("out", "FILE", "new file [order_train.npy in DATASET]"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_order(in->arg[0], own_text(in, "out"), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_order = {
    .name = "order",
    .group = "Datasets",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "order the training nodes by their neighbours",
    .text = "Sorts the training nodes by MinHash of their in-neighbours. Nodes with neighbours in "
            "common are then near each other. The file has places in train.npy. --order FILE "
            "uses it for --locality. --order minhash computes the same order in each run.",
    .own = own,
    .run = run,
};
