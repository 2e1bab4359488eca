#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("over", "DIR,DIR,...",
             "folders that are there, two or more, each on a disk of its own"),
    OWN_FLAG("keep", "do not remove the file, or the parts, that features lie in now"),
    OWN_NUMBER("parts", "W", "0",
               "machines that train with --exchange, a worker each; with --part and OUT", 0, 64),
    OWN_NUMBER("part", "P", "0", "the one that OUT is for, from 0", 0, 63),
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
                           "stripe: --parts, --part and OUT go together, without --over");
    if (for_machine)
        return og_stripe_part(in->arg[0], in->arg[1], parts, part, screen_observer(in->screen, 0),
                              err);
    if (!over)
        return usage_error(err, "outgrow stripe DATASET --over /disk1/dir,/disk2/dir",
                           "stripe: --over is missing");
    return lay_over(in, over, err);
}

const struct command cmd_stripe = {
    .name = "stripe",
    .group = "Datasets",
    .args = "DATASET [OUT]",
    .min_args = 1,
    .max_args = 2,
    .summary = "lay the features of a dataset over several disks, or machines",
    .text =
        "With --over features then lie in parts, one in each folder: units of about 1 MiB of whole "
        "rows, in turn, each part a .npy file. All disks are read side by side, so rows arrive as "
        "many times faster as there are equal disks; numbers do not change. Parts are written and "
        "read back before meta.json names them, and what they replace is removed after that; "
        "so there must be room for both. Killed, it is started again with the same words. A "
        "dataset in parts may be laid over other folders the same way. With --parts W and --part P "
        "folder OUT is made for machine P of W that train with --exchange "
        "(docs/guides/workers-and-machines.md): the "
        "dataset with the feature rows alone of nodes whose number is P modulo W.",
    .own = own,
    .run = run,
};
