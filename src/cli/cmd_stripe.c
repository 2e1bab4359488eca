#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("over", "DIR,DIR,...", "two or more existing folders, each on its own disk"),
    OWN_FLAG("keep", "do not remove the old file or parts of the features"),
    OWN_NUMBER("parts", "W", "0",
               "machines that train with --exchange, one worker each; requires --part and OUT", 0,
               64),
    OWN_NUMBER("part", "P", "0", "machine that OUT is for, from 0", 0, 63),
    {0},
};

static int lay_over(struct invocation *in, const char *over, struct og_err *err)
{
    char *text = NULL;
    int rc = og_stripe(in->arg[0], over, own_flag(in, "keep"), screen_observer(in->screen, 0), err);
    if (rc < 0)
        return rc;
    rc = og_info(in->arg[0], &text, err);
    return rc < 0 ? rc : deliver(in, text, show_dataset, err);
}

static int run(struct invocation *in, struct og_err *err)
{
    const char *over = own_text(in, "over");
    int parts;
    int part;
    int rc = own_number(in, "parts", &parts, err);
    rc = rc < 0 ? rc : own_number(in, "part", &part, err);
    if (rc < 0)
        return rc;
    const bool for_machine = own_flag(in, "parts") || own_flag(in, "part") || in->n_args > 1;
    if (for_machine && (over || in->n_args < 2 || !own_flag(in, "parts") || !own_flag(in, "part")))
        return usage_error(err, "outgrow stripe DATASET OUT --parts 4 --part 0",
                           "stripe: --parts, --part and OUT are required together, without --over");
    if (for_machine && own_flag(in, "keep"))
        return usage_error(err, "leave it out", "stripe: --keep is of --over; a part is a copy");
    if (for_machine)
        return og_stripe_part(in->arg[0], in->arg[1], parts, part, screen_observer(in->screen, 0),
                              err);
    if (!over)
        return usage_error(err, "outgrow stripe DATASET --over /disk1/dir,/disk2/dir",
                           "stripe: --over expected");
    return lay_over(in, over, err);
}

const struct command cmd_stripe = {
    .name = "stripe",
    .group = "Datasets",
    .args = "DATASET [OUT]",
    .min_args = 1,
    .max_args = 2,
    .summary = "stripe features over several disks, or partition them among machines",
    .text =
        "--over stripes the features over the folders, in units of about 1 MiB of whole rows; "
        "each part is a .npy file. All disks are read in parallel, so throughput grows with the "
        "number of equal disks; results do not change. Parts are written and verified before "
        "meta.json names them, and the old file is removed after that, so both must fit. After a "
        "kill, run the same command again. A striped dataset can be striped again over other "
        "folders. --parts W and --part P write the dataset of machine P of W into OUT, for "
        "--exchange (docs/guides/workers-and-machines.md). It has the feature rows of nodes with "
        "number P modulo W only.",
    .own = own,
    .run = run,
};
