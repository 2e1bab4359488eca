#include "cli.h"

static int run(struct invocation *in, struct og_err *err)
{
    return og_export(in->arg[0], in->arg[1], in->arg[2], screen_observer(in->screen, 0), err);
}

const struct command cmd_export = {
    .name = "export",
    .group = "Datasets",
    .args = "FORMAT DATASET OUT",
    .min_args = 3,
    .max_args = 3,
    .summary = "write a dataset in another format",
    .text = "FORMAT is npy: the files that `outgrow import npy` takes, for NumPy, DGL, PyTorch "
            "Geometric; or graphbolt: metadata.yaml and .npy files, for DGL's OnDiskDataset. OUT "
            "appears only when complete.",
    .run = run,
};
