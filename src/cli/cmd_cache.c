#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("scratch", "DIR,...", "folders of runs with this --scratch [the user's cache]"),
    OWN_FLAG("clear", "remove the files that no process uses"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_cache(own_text(in, "scratch"), own_flag(in, "clear"), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_cache = {
    .name = "cache",
    .group = "This machine",
    .args = "",
    .min_args = 0,
    .max_args = 0,
    .summary = "show or clear the files that runs keep for later runs",
    .text =
        "Lists neighbour caches of --topology disk, one per path of a dataset, and layers of "
        "interrupted inference, which --resume uses. Each has its dataset, size and last use. "
        "Runs remove neighbour caches that were unused for two months. Where the caches take "
        "more than a tenth of the disk, runs remove the longest unused ones too. All of them are "
        "made again when needed; files in use stay. Disk profiles of `outgrow bench io` are "
        "never removed.",
    .own = own,
    .run = run,
};
