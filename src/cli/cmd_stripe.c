#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("over", "DIR,DIR,...",
             "folders that are there, two or more, each on a disk of its own"),
    OWN_FLAG("keep", "do not remove the file, or the parts, that features lie in now"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    const char *over = own_text(in, "over");
    char *text = NULL;
    if (!over)
        return usage_error(err, "outgrow stripe DATASET --over /disk1/dir,/disk2/dir",
                           "stripe: --over is missing");
    int rc = og_stripe(in->arg[0], over, own_flag(in, "keep"), screen_observer(in->screen, 0), err);
    if (rc < 0)
        return rc;
    rc = og_info(in->arg[0], &text, err);
    return rc < 0 ? rc : deliver(in, text, show_dataset, err);
}

const struct command cmd_stripe = {
    .name = "stripe",
    .group = "Datasets",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "lay the features of a dataset over several disks",
    .text =
        "Features then lie in parts, one in each folder: units of about 1 MiB of whole rows, in "
        "turn, each part a .npy file. All disks are read side by side, so rows arrive as many "
        "times faster as there are equal disks; numbers do not change. Parts are written and "
        "read back before meta.json names them, and what they replace is removed after that; "
        "so there must be room for both. Killed, it is started again with the same words. A "
        "dataset in parts may be laid over other folders the same way.",
    .own = own,
    .run = run,
};
